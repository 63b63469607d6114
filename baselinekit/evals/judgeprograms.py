"""The programs that judge: who allows them, how they are started, and what they may ask of a model.

A data file adds no capability: what is run is what the configuration names, with further words at most, or
what --allow-exec lets through."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    NeverSent,
    Problem,
    Refused,
    cannot,
)
from baselinekit.evals.scripts import allowed_by, run_in_name, who_allows
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.grade.task import JudgeProgram, JudgeRun, JudgeStopped
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Answer, Ask, ProcessSpec, Surroundings
from baselinekit.models.proxy import Proxy
from baselinekit.programs.children import SHELL, child_environment, configured_argv, needs_shell, program_at
from baselinekit.replaying.files import inside, read_if_there
from baselinekit.replaying.settings import Execute
from baselinekit.store.project import repository_of
from baselinekit.texts import Mask
from baselinekit.trust import is_read
from baselinekit.workflow.project import Project

_TIMEOUT = 120
_INTERRUPTED = "BK330"
_CALLED = "the judge"


@frozen
class ReadyJudge:
    """A program that may be run. `content`: 16 hex digits over the files of the project that it is made of;
    `passed`: the variables of the operator that the configuration lists for it."""

    argv: tuple[str, ...]
    cwd: str
    content: str = ""
    passed: tuple[str, ...] = ()


def words_of(command: str | Sequence[str]) -> list[str] | None:
    """The words of a command; None for a text that only a shell can read."""
    if not isinstance(command, str):
        return [*command]
    if needs_shell(command):
        return None
    try:
        return shlex.split(command)
    except ValueError:  # a quote that does not end
        return None


@frozen
class StatedProgram:
    """A program as a data file states it: `words` for no shell, or None. `files`: those of its words that are
    files of the project, by the word, as paths from the root."""

    command: str | tuple[str, ...]
    words: list[str] | None
    cwd: str
    files: Mapping[str, str]
    surroundings: Surroundings

    def path_of(self, word: str) -> str:
        """The whole path of one of its files."""
        return os.path.join(os.path.realpath(self.surroundings.root), self.files[word])


def ready_program(project: Project, case: Case, stated: JudgeProgram, listed: bool = False) -> ReadyJudge:
    """The program, ready to be run; Refused where nobody allows it. `listed`: it is not going to be run, and
    need neither be allowed nor be there."""
    told = stated_program(project, case, stated)
    if listed:
        return ReadyJudge((), told.cwd)
    found = entry_that_allows(project, told)
    if found is not None:
        name, rest = found
        command = project.commands[name]
        hint = f"correct `commands: {name}:` in baselinekit.yaml, or install it"
        argv = (*configured_argv(command.argv, project.root, hint), *rest)
        return ReadyJudge(argv, told.cwd, content_digest(told), tuple(command.env))
    if not project.trust.allow_exec:
        raise Refused(
            Problem("BK403", f"{_named(told)} is not named in the configuration", permission_hint(told))
        )
    if told.words is None:
        return ReadyJudge((SHELL, "-c", str(told.command)), told.cwd, content_digest(told))
    program, *further = told.words
    first = program_at(program, told.cwd, "install it, or correct its name")
    return ReadyJudge((first, *further), told.cwd, content_digest(told))


def stated_program(project: Project, case: Case, stated: JudgeProgram) -> StatedProgram:
    """A program as a case names it: its words, its folder, and the files of the project among them."""
    file = case.source.file
    folder = os.path.dirname(os.path.join(project.root, file))
    root = repository_of(project.root, file)
    around = Surroundings(root=root, folder=folder)
    cwd = inside(around, stated.cwd or ".")
    if not os.path.isdir(cwd):
        raise cannot("BK320", f"the working folder {stated.cwd!r} does not exist", "correct `cwd`")
    words = words_of(stated.command)
    around = replace(around, folder=cwd)
    files = {}
    for word in words or _guessed_words(str(stated.command)):
        path = os.path.normpath(os.path.join(cwd, word))
        if path.startswith(os.path.realpath(root) + os.sep) and os.path.isfile(path):
            files[word] = os.path.relpath(path, os.path.realpath(root))
    return StatedProgram(stated.command, words, cwd, files, around)


def _guessed_words(command: str) -> list[str]:
    """What may be the name of a file in a text for the shell."""
    return re.findall(r"[^\s|&;<>()$`'\"]+", command)


def entry_that_allows(project: Project, told: StatedProgram) -> tuple[str, Sequence[str]] | None:
    """The entry under `commands:` that allows a program, and what follows its words: named by the entry's
    name, by its words, or by the script that it is."""
    commands, root = project.commands, project.root
    if told.words is None:
        shells = (name for name, one in commands.items() if one.argv[1:] == ["-c", told.command])
        name = next(
            (one for one in shells if os.path.basename(commands[one].argv[0]) in ("sh", "bash")), None
        )
        return None if name is None else (name, ())
    words = told.words
    if words[0] in commands:
        return words[0], words[1:]
    for name, one in commands.items():
        begins = zip(one.argv, words, strict=False)
        if len(one.argv) <= len(words) and all(means_same(ours, word, told, root) for ours, word in begins):
            return name, words[len(one.argv) :]
    script = 1 if is_read(words) else 0
    if words[script] not in told.files:
        return None
    named = allowed_by(project, os.path.relpath(told.path_of(words[script]), os.path.realpath(root)))
    return None if named is None else (named, words[script + 1 :])


def means_same(ours: str, word: str, told: StatedProgram, root: str) -> bool:
    """Whether a word of the configuration and one of a data file mean the same: a file is the same file,
    whatever both start from."""
    if word in told.files:
        return os.path.normpath(os.path.join(os.path.realpath(root), ours)) == told.path_of(word)
    return ours == word


def _named(told: StatedProgram) -> str:
    shown = told.command if isinstance(told.command, str) else shlex.join(told.command)
    return f"the judge's program `{' '.join(shown.split())}`"


def permission_hint(told: StatedProgram) -> str:
    """What to do so that a program may run."""
    if told.words is None:
        return "state its words as a list and name them under `commands:`, or pass --allow-exec"
    words = [told.files.get(word, word) for word in told.words]
    own = next((word for word in words[:2] if word in told.files.values()), words[0])
    name = os.path.splitext(os.path.basename(own))[0] or "judge"
    if os.sep not in words[0] and words[0] in told.files.values():
        words[0] = f"./{words[0]}"
    return (
        f"add it under `commands:` in baselinekit.yaml ({name}: [{', '.join(words)}]), or pass --allow-exec"
    )


def content_digest(told: StatedProgram) -> str:
    """Over the files that it is made of: another script judges otherwise."""
    made = sha256()
    for word in told.files:
        made.update(word.encode() + b"\0")
        with suppress(BaselinekitError):  # a program outside, or what is too large to be a script
            made.update(read_if_there(told.surroundings, word) or b"")
    return made.hexdigest()[:16] if told.files else ""


def describe_judges(project: Project, cases: Sequence[Case]) -> Iterator[str]:
    """Each program that judges in these cases, with who allows it."""
    told: dict[str, None] = {}
    for case in cases:
        for _, grader in graders.positions(case.graders):
            stated = graders.row_of(grader).starts(grader.method)
            if stated is not None:
                told[describe_judge(project, case, stated)] = None
    yield from told


def describe_judge(project: Project, case: Case, stated: JudgeProgram) -> str:
    """A program that judges, with who allows it or what is wrong with it."""
    shown = stated.command if isinstance(stated.command, str) else shlex.join(stated.command)
    try:
        told = stated_program(project, case, stated)
    except BaselinekitError as error:
        return f"judge {shown}: {error.problems[0].message}"
    found = entry_that_allows(project, told)
    return f"judge {shown}: allowed {who_allows(project, None if found is None else found[0])}"


# How it runs.


def run_judge(
    program: ReadyJudge, stated: JudgeProgram, execute: Execute, ask: Callable[[Ask], Answer], mask: Mask
) -> JudgeRun:
    """It is run to its end; JudgeStopped where it does not come to it."""
    timeout = float(_TIMEOUT if stated.timeout is None else stated.timeout)
    run = ProcessSpec(program.argv, stated.stdin, cwd=program.cwd, timeout=timeout, mask=mask)
    if stated.model_calls is None:
        finished = run_in_name(_CALLED, replace(run, env=child_environment(program.passed)), execute)
        return JudgeRun(finished.exit_code, finished.stdout, finished.stderr)
    with Proxy(ask, stated.model, stated.model_calls, timeout) as proxy:
        own = child_environment(program.passed, proxy.environment)
        try:
            finished = run_in_name(_CALLED, replace(run, env=own), execute)
        except NeverSent:
            raise
        except CannotReplay as error:
            proxy.close()
            if error.problems[0].code == _INTERRUPTED:
                raise
            stopped = JudgeStopped(*error.problems, calls=proxy.calls, usage=proxy.usage)
            raise (proxy.ended or stopped) from None
    if proxy.ended is not None:  # by the limits of the run, or because it was interrupted
        raise proxy.ended
    asked = (proxy.calls, proxy.failed, proxy.usage)
    return JudgeRun(finished.exit_code, finished.stdout, finished.stderr, *asked)
