"""The programs that judge: who allows them, how they are started, and what they may ask of a model.

A data file cannot start other programs: only a command of the configuration is run, possibly with further
words, or what --allow-exec allows."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256

from baselinekit.clients.models.proxy import Proxy
from baselinekit.clients.programs import children
from baselinekit.clients.trust import is_interpreted_script
from baselinekit.commands.programs import allowed_by, run_in_name, who_allows
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, NeverSent, Problem, Refused, cannot_replay
from baselinekit.graders import graders
from baselinekit.graders.base import JudgeProgram, JudgeRun, JudgeStopped
from baselinekit.kinds.files import inside, read_if_there
from baselinekit.kinds.settings import Execute
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Answer, ModelQuestion, ProcessSpec, Surroundings
from baselinekit.store.project import repository_of
from baselinekit.structs import Struct, replace
from baselinekit.values.texts import Mask

_TIMEOUT = 120
_INTERRUPTED = "BK330"
_CALLED = "the judge"


class ReadyJudge(Struct):
    """A program that may be run. `content`: 16 hex digits of the hash of its files in the project; `passed`:
    the variables of the operator that the configuration lists for it."""

    argv: tuple[str, ...]
    cwd: str
    content: str = ""
    passed: tuple[str, ...] = ()


def words_of(command: str | Sequence[str]) -> list[str] | None:
    """Split a command into words; None for a text that only a shell can read."""
    if not isinstance(command, str):
        return [*command]
    with suppress(ValueError):  # a quote that does not end
        return None if children.needs_shell(command) else shlex.split(command)
    return None


class StatedProgram(Struct):
    """A program as a data file states it. `words` is None if it needs a shell. `files`: those of its words
    that are files of the project, with their absolute paths."""

    command: str | tuple[str, ...]
    words: list[str] | None
    cwd: str
    files: Mapping[str, str]
    surroundings: Surroundings

    @property
    def text(self) -> str:
        return self.command if isinstance(self.command, str) else shlex.join(self.command)

    def from_root(self, word: str) -> str:
        """Return a word with a file as its path from the root of its repository."""
        return os.path.relpath(self.files[word], os.path.realpath(self.surroundings.root))


def ready_program(project: Project, case: Case, judge: JudgeProgram, listed: bool = False) -> ReadyJudge:
    """Make a program ready to run; Refused where nobody allows it. `listed`: it will not be run, so it need
    not be allowed or installed."""
    program = stated_program(project, case, judge)
    if listed:
        return ReadyJudge((), program.cwd)
    match = entry_that_allows(project, program)
    if match is not None:
        name, further_words = match
        command = project.commands[name]
        hint = f"correct `commands: {name}:` in baselinekit.yaml, or install it"
        argv = (*children.configured_argv(command.argv, project.root, hint), *further_words)
        return ReadyJudge(argv, program.cwd, _content_digest(program), tuple(command.env))
    if not project.trust.allow_exec:
        text = " ".join(program.text.split())
        message = f"the judge's program `{text}` is not named in {project.trust.configuration}"
        raise Refused(Problem("BK403", message, _permission_hint(program)))
    if program.words is None:
        argv = (children.SHELL, "-c", program.text)
    else:
        word, *further = program.words
        argv = (children.program_at(word, program.cwd, "install it, or correct its name"), *further)
    return ReadyJudge(argv, program.cwd, _content_digest(program))


def stated_program(project: Project, case: Case, judge: JudgeProgram) -> StatedProgram:
    """Read a program as a case states it: its words, its folder, and the words that are files."""
    folder = os.path.dirname(os.path.join(project.root, case.source.file))
    surroundings = Surroundings(root=repository_of(project.root, case.source.file), folder=folder)
    root = os.path.realpath(surroundings.root)
    cwd = inside(surroundings, judge.cwd or ".")
    if not os.path.isdir(cwd):
        raise cannot_replay("BK320", f"the working folder {judge.cwd!r} does not exist", "correct `cwd`")
    words = words_of(judge.command)
    possible_names = re.findall(r"[^\s|&;<>()$`'\"]+", str(judge.command)) if words is None else words
    paths = {word: os.path.normpath(os.path.join(cwd, word)) for word in possible_names}
    files = {word: at for word, at in paths.items() if at.startswith(root + os.sep) and os.path.isfile(at)}
    return StatedProgram(judge.command, words, cwd, files, replace(surroundings, folder=cwd))


def entry_that_allows(project: Project, program: StatedProgram) -> tuple[str, Sequence[str]] | None:
    """Find the entry under `commands:` that allows a program: by the entry's name, by its words, or by its
    script. Return the name of the entry, and the words after it."""
    root, words = os.path.realpath(project.root), program.words
    if words is None:
        for name, command in project.commands.items():
            is_shell = os.path.basename(command.argv[0]) in ("sh", "bash")
            if is_shell and command.argv[1:] == ["-c", program.command]:
                return name, ()
        return None
    if words[0] in project.commands:
        return words[0], words[1:]

    def means_same(configured_word: str, word: str) -> bool:
        """Paths are the same if they lead to the same file, even if they start at different folders."""
        if word in program.files:
            return os.path.normpath(os.path.join(root, configured_word)) == program.files[word]
        return configured_word == word

    for name, command in project.commands.items():
        if len(command.argv) <= len(words) and all(map(means_same, command.argv, words)):
            return name, words[len(command.argv) :]
    script = 1 if is_interpreted_script(words) else 0
    if words[script] not in program.files:
        return None
    allowing = allowed_by(project, os.path.relpath(program.files[words[script]], root))
    return None if allowing is None else (allowing, words[script + 1 :])


def _permission_hint(program: StatedProgram) -> str:
    if program.words is None:
        return "state its words as a list and name them under `commands:`, or pass --allow-exec"
    words = [program.from_root(word) if word in program.files else word for word in program.words]
    files = [program.from_root(word) for word in program.files]
    name = os.path.splitext(os.path.basename(next((one for one in words[:2] if one in files), words[0])))[0]
    if os.sep not in words[0] and words[0] in files:
        words[0] = f"./{words[0]}"
    entry = f"{name or 'judge'}: [{', '.join(words)}]"
    return f"add it under `commands:` in baselinekit.yaml ({entry}), or pass --allow-exec"


def _content_digest(program: StatedProgram) -> str:
    """The hash of the files of a program: a changed script may judge differently."""
    digest = sha256()
    for word in program.files:
        digest.update(word.encode() + b"\0")
        with suppress(BaselinekitError):  # a file that is too large for a script
            digest.update(read_if_there(program.surroundings, word) or b"")
    return digest.hexdigest()[:16] if program.files else ""


def describe_judges(project: Project, cases: Sequence[Case]) -> Iterator[str]:
    """Describe each program that judges in these cases, with who allows it or what is wrong with it."""
    descriptions: dict[str, None] = {}
    for case in cases:
        for grader in graders.with_parts(case.graders):
            judge = graders.row_of(grader).starts(grader.method)
            if judge is None:
                continue
            command = judge.command if isinstance(judge.command, str) else shlex.join(judge.command)
            try:
                match = entry_that_allows(project, stated_program(project, case, judge))
                state = f"allowed {who_allows(project, match[0] if match else None)}"
            except BaselinekitError as error:
                state = error.problems[0].message
            descriptions[f"judge {command}: {state}"] = None
    yield from descriptions


# Running a judge.


def run_judge(
    program: ReadyJudge,
    judge: JudgeProgram,
    execute: Execute,
    ask: Callable[[ModelQuestion], Answer],
    mask: Mask,
    models: Iterable[str] = (),
) -> JudgeRun:
    """Run a judge to its end; JudgeStopped if it does not finish. `models`: the declared ones, which it may
    ask beside its own."""
    timeout = float(_TIMEOUT if judge.timeout is None else judge.timeout)
    run = ProcessSpec(program.argv, judge.stdin, cwd=program.cwd, timeout=timeout, mask=mask)
    if judge.model_calls is None:
        finished = run_in_name(_CALLED, replace(run, env=children.child_environment(program.passed)), execute)
        return JudgeRun(finished.exit_code, finished.stdout, finished.stderr)
    with Proxy(ask, judge.model, judge.model_calls, timeout, models) as proxy:
        environment = children.child_environment(program.passed, proxy.environment)
        try:
            finished = run_in_name(_CALLED, replace(run, env=environment), execute)
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
    counts = (proxy.calls, proxy.failed, proxy.usage)
    return JudgeRun(finished.exit_code, finished.stdout, finished.stderr, *counts)
