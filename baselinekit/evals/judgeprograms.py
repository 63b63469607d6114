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
from baselinekit.clients.programs.children import (
    SHELL,
    child_environment,
    configured_argv,
    needs_shell,
    program_at,
)
from baselinekit.clients.trust import is_interpreted_script
from baselinekit.commands.project import Project
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    NeverSent,
    Problem,
    Refused,
    cannot_replay,
)
from baselinekit.evals.scripts import allowed_by, run_in_name, who_allows
from baselinekit.graders import graders
from baselinekit.graders.task import JudgeProgram, JudgeRun, JudgeStopped
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
    if needs_shell(command):
        return None
    try:
        return shlex.split(command)
    except ValueError:  # a quote that does not end
        return None


class StatedProgram(Struct):
    """A program as a data file states it. `words` is None if it needs a shell. `files`: those of its words
    that are files of the project, as paths from the root."""

    command: str | tuple[str, ...]
    words: list[str] | None
    cwd: str
    files: Mapping[str, str]
    surroundings: Surroundings

    def path_of(self, word: str) -> str:
        """The absolute path of one of its files."""
        return os.path.join(os.path.realpath(self.surroundings.root), self.files[word])


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
        argv = (*configured_argv(command.argv, project.root, hint), *further_words)
        return ReadyJudge(argv, program.cwd, content_digest(program), tuple(command.env))
    if not project.trust.allow_exec:
        raise Refused(
            Problem(
                "BK403",
                f"{_describe_program(program)} is not named in {project.trust.configuration}",
                permission_hint(program),
            )
        )
    if program.words is None:
        return ReadyJudge((SHELL, "-c", str(program.command)), program.cwd, content_digest(program))
    program_word, *further = program.words
    program_path = program_at(program_word, program.cwd, "install it, or correct its name")
    return ReadyJudge((program_path, *further), program.cwd, content_digest(program))


def stated_program(project: Project, case: Case, judge: JudgeProgram) -> StatedProgram:
    """Read a program as a case states it: its words, its folder, and the words that are files."""
    file = case.source.file
    folder = os.path.dirname(os.path.join(project.root, file))
    root = repository_of(project.root, file)
    surroundings = Surroundings(root=root, folder=folder)
    cwd = inside(surroundings, judge.cwd or ".")
    if not os.path.isdir(cwd):
        raise cannot_replay("BK320", f"the working folder {judge.cwd!r} does not exist", "correct `cwd`")
    words = words_of(judge.command)
    surroundings = replace(surroundings, folder=cwd)
    files = {}
    for word in words or _guessed_words(str(judge.command)):
        path = os.path.normpath(os.path.join(cwd, word))
        if path.startswith(os.path.realpath(root) + os.sep) and os.path.isfile(path):
            files[word] = os.path.relpath(path, os.path.realpath(root))
    return StatedProgram(judge.command, words, cwd, files, surroundings)


def _guessed_words(command: str) -> list[str]:
    """The parts of a shell command that may be names of files."""
    return re.findall(r"[^\s|&;<>()$`'\"]+", command)


def entry_that_allows(project: Project, program: StatedProgram) -> tuple[str, Sequence[str]] | None:
    """Find the entry under `commands:` that allows a program: by the entry's name, by its words, or by its
    script. Return the name of the entry, and the words after it."""
    commands, root = project.commands, project.root
    if program.words is None:
        shell_names = (
            name for name, command in commands.items() if command.argv[1:] == ["-c", program.command]
        )
        name = next(
            (
                shell_name
                for shell_name in shell_names
                if os.path.basename(commands[shell_name].argv[0]) in ("sh", "bash")
            ),
            None,
        )
        return None if name is None else (name, ())
    words = program.words
    if words[0] in commands:
        return words[0], words[1:]
    for name, command in commands.items():
        pairs = zip(command.argv, words, strict=False)
        if len(command.argv) <= len(words) and all(
            means_same(configured_word, word, program, root) for configured_word, word in pairs
        ):
            return name, words[len(command.argv) :]
    script = 1 if is_interpreted_script(words) else 0
    if words[script] not in program.files:
        return None
    allowing = allowed_by(project, os.path.relpath(program.path_of(words[script]), os.path.realpath(root)))
    return None if allowing is None else (allowing, words[script + 1 :])


def means_same(configured_word: str, word: str, program: StatedProgram, root: str) -> bool:
    """Whether a word of the configuration and one of a data file mean the same. Paths are the same if they
    lead to the same file, even if they start at different folders."""
    if word in program.files:
        return os.path.normpath(os.path.join(os.path.realpath(root), configured_word)) == program.path_of(
            word
        )
    return configured_word == word


def _describe_program(program: StatedProgram) -> str:
    command = program.command if isinstance(program.command, str) else shlex.join(program.command)
    return f"the judge's program `{' '.join(command.split())}`"


def permission_hint(program: StatedProgram) -> str:
    """The hint how to allow a program."""
    if program.words is None:
        return "state its words as a list and name them under `commands:`, or pass --allow-exec"
    words = [program.files.get(word, word) for word in program.words]
    main_word = next((word for word in words[:2] if word in program.files.values()), words[0])
    name = os.path.splitext(os.path.basename(main_word))[0] or "judge"
    if os.sep not in words[0] and words[0] in program.files.values():
        words[0] = f"./{words[0]}"
    return (
        f"add it under `commands:` in baselinekit.yaml ({name}: [{', '.join(words)}]), or pass --allow-exec"
    )


def content_digest(program: StatedProgram) -> str:
    """The hash of the files of a program: a changed script may judge differently."""
    digest = sha256()
    for word in program.files:
        digest.update(word.encode() + b"\0")
        with suppress(
            BaselinekitError
        ):  # a program outside of the project, or a file that is too large for a script
            digest.update(read_if_there(program.surroundings, word) or b"")
    return digest.hexdigest()[:16] if program.files else ""


def describe_judges(project: Project, cases: Sequence[Case]) -> Iterator[str]:
    """Describe each program that judges in these cases, and who allows it."""
    descriptions: dict[str, None] = {}
    for case in cases:
        for _, grader in graders.graders_with_positions(case.graders):
            judge = graders.row_of(grader).starts(grader.method)
            if judge is not None:
                descriptions[describe_judge(project, case, judge)] = None
    yield from descriptions


def describe_judge(project: Project, case: Case, judge: JudgeProgram) -> str:
    """Describe a program that judges, with who allows it or what is wrong with it."""
    command = judge.command if isinstance(judge.command, str) else shlex.join(judge.command)
    try:
        program = stated_program(project, case, judge)
    except BaselinekitError as error:
        return f"judge {command}: {error.problems[0].message}"
    match = entry_that_allows(project, program)
    return f"judge {command}: allowed {who_allows(project, None if match is None else match[0])}"


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
        finished = run_in_name(_CALLED, replace(run, env=child_environment(program.passed)), execute)
        return JudgeRun(finished.exit_code, finished.stdout, finished.stderr)
    with Proxy(ask, judge.model, judge.model_calls, timeout, models) as proxy:
        environment = child_environment(program.passed, proxy.environment)
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
