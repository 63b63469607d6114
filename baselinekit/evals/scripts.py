"""The scripts around an attempt at a case: who allows them, what they are given, and what comes of them.

What one prints is masked before anybody reads it, and its values are inputs as they stand: nothing in them
is looked at again."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from baselinekit.documents.jsontext import encode
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    NeverSent,
    Place,
    Problem,
    Refused,
    cannot,
    how_ended,
)
from baselinekit.frozen import frozen
from baselinekit.model.evals import Case, Scripts
from baselinekit.model.recipes import Command, ProcessResult, ProcessSpec, Seconds
from baselinekit.model.values import Json
from baselinekit.programs.children import child_environment, configured_argv
from baselinekit.replaying.files import inside, read_if_there
from baselinekit.replaying.settings import Execute, Setting
from baselinekit.suites.promptfolders import script_files
from baselinekit.texts import Mask, clipped, end_of, many
from baselinekit.trust import is_read, runs_script
from baselinekit.variables import NAME, Redactor, as_text
from baselinekit.workflow.project import Project

_TIMEOUT = 60
_LONGEST_SAID = 600
_LONGEST_LINE = 80
_MOST_OF_ONE = 100_000
_MOST_OF_ALL = 500_000
"""Bytes of inputs in the environment of a script: a system takes little more."""

_INTERRUPTED = "BK330"


@frozen
class Script:
    """A script that may be run. `file`: from the project's root; `content`: 16 hex digits over it; `passed`:
    the variables of the operator that the configuration lists for it."""

    file: str
    argv: tuple[str, ...]
    cwd: str
    content: str = ""
    passed: tuple[str, ...] = ()


@dataclass(slots=True)
class Trace:
    """What is known of an attempt whatever becomes of it. `redactor`: knows its inputs, some of which may be
    secrets by their names; `environment`: what the answer told of where it comes from."""

    redactor: Redactor
    sent: bool = False
    verified: bool | None = None
    environment: Mapping[str, Json] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


# Who allows a script, and whether the system can run it: told before anybody is asked.


def allowed_by(project: Project, file: str) -> str | None:
    """The name under `commands:` that allows this very file. None: the configuration does not."""
    named = (name for name, one in project.commands.items() if runs_script(one.argv, file, project.root))
    return next(named, None)


def describe_scripts(project: Project) -> Iterator[str]:
    """Each script of the project with who allows it, whether its cases can be read or not."""
    try:
        files = list(script_files(project.root))
    except BaselinekitError as error:
        yield f"scripts were not looked for: {error.problems[0].message}"
        return
    for file in files:
        yield f"script {file}: allowed {who_allows(project, allowed_by(project, file))}"


def who_allows(project: Project, name: str | None) -> str:
    """In words: the entry under `commands:`, else the operator, else nobody."""
    if name is None:
        return "by --allow-exec" if project.trust.allow_exec else "by nobody: a run is refused (exit 4)"
    by = f"by `commands: {name}` in {project.config_file}"
    return by + (f" as of {project.config_from}" if project.config_from else "")


def ready_scripts(
    project: Project, case: Case, setting: Setting, listed: bool = False
) -> tuple[Script | None, Script | None]:
    """The scripts of a case; or what is wrong with any, told at the script itself, so that it is told once
    however many cases have it. `listed`: they are not going to be run, and nobody has to allow them."""
    found: list[Script | None] = []
    problems: list[Problem] = []
    refused: list[Problem] = []
    for file in (case.scripts.before, case.scripts.after):
        try:
            found.append(None if file is None else _ready(project, file, setting, listed))
        except BaselinekitError as error:
            told = [replace(one, place=Place(file or ""), at=None) for one in error.problems]
            (refused if isinstance(error, Refused) else problems).extend(told)
    if refused:
        raise Refused(*refused)
    if problems:
        raise InvalidInput(*problems)
    before, after = found
    return before, after


def _ready(project: Project, file: str, setting: Setting, listed: bool) -> Script:
    around = replace(setting.surroundings, folder=project.root)
    path = inside(around, file)
    name = allowed_by(project, file)
    if name is None and not (project.trust.allow_exec or listed):
        own, _ = os.path.splitext(os.path.basename(file))
        where = os.path.basename(os.path.dirname(file)) or "project"
        entry = f"{where}-{own}: [{file if os.sep in file else f'./{file}'}]"
        hint = f"add it under `commands:` in baselinekit.yaml ({entry}), or pass --allow-exec"
        raise Refused(Problem("BK403", "the script is not named in the configuration", hint))
    try:
        content = read_if_there(around, file)
    except CannotReplay as error:
        raise _unusable(error.problems[0].message, "replace it by a script, or remove it") from None
    if content is None:
        raise _unusable("the link leads to a file that is not there", "mend the link, or remove it")
    command = project.commands[name] if name is not None else Command([path])
    reader = [] if is_read(command.argv) else _reader(file, path, content)
    words = configured_argv(command.argv, project.root, f"correct `commands: {name}:` in baselinekit.yaml")
    folder = os.path.dirname(os.path.join(project.root, file))
    return Script(file, (*reader, *words), folder, sha256(content).hexdigest()[:16], tuple(command.env))


def _reader(file: str, path: str, content: bytes) -> list[str]:
    """What goes before a script that is run by itself: a shell, where it does not say what reads it, as any
    shell would do."""
    if not os.access(path, os.X_OK):
        hint = f"chmod +x {file} (and git update-index --chmod=+x {file})"
        raise _unusable("the script is not executable", hint)
    first, _, _ = content.partition(b"\n")
    if not first.startswith(b"#!"):
        return [] if b"\0" in first else ["/bin/sh"]
    if first.endswith(b"\r"):
        what = (
            "the script has the line ends of Windows, and so has the name of the program that is to read it"
        )
        raise _unusable(what, "save it with the line ends of Unix (LF)")
    words = first[2:].decode("utf-8", "replace").split()
    if not words or not os.access(words[0], os.X_OK):
        what = f"the first line of the script names {words[0] if words else 'nobody'!r}, which is not there"
        raise _unusable(what, "name a program that this machine has, such as #!/bin/sh")
    return []


def _unusable(what: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK760", what, hint))


# What a script is given, and how it ends.


def _environment(
    script: Script, scripts: Scripts, inputs: Mapping[str, Json], trace: Trace, output_file: str = ""
) -> dict[str, str]:
    """Named variables only: what every program gets, who is asked, and the inputs, each by its name as it is
    written and in capitals. What no environment can hold is left out and told."""
    stated, room, named = {}, _MOST_OF_ALL, f"{scripts.prefix}VAR_"
    others = {name: value for name, value in scripts.environment.items() if not name.startswith(named)}
    unused = {
        name.removeprefix(named): scripts.environment[name]
        for name in scripts.environment.keys() - others.keys()
    }
    for name, value in {**unused, **inputs}.items():
        text = as_text(value)
        size = len(text.encode("utf-8", "surrogatepass"))
        if "\0" in text or size > min(_MOST_OF_ONE, room):
            why = "holds a NUL character" if "\0" in text else f"is too long ({size:,} bytes)"
            _note(trace, f"{script.file} does not get the input {name} in its environment: it {why}")
            continue
        room -= size
        stated[re.sub(r"[^A-Za-z0-9_]", "_", name)] = text
    own = {f"{named}{name.upper()}": text for name, text in stated.items()}
    own |= {f"{named}{name}": text for name, text in stated.items()}
    own |= {f"{scripts.prefix}OUTPUT_FILE": output_file} if output_file else {}
    return child_environment(script.passed, {**own, **others})


def _note(trace: Trace, note: str) -> None:
    if note not in trace.notes:
        trace.notes.append(note)


def _run(
    script: Script, env: Mapping[str, str], execute: Execute, limit: Seconds | None, mask: Mask
) -> ProcessResult:
    timeout = float(_TIMEOUT if limit is None else limit)
    run = ProcessSpec(script.argv, env=dict(env), cwd=script.cwd, timeout=timeout, mask=mask)
    return run_in_name(script.file, run, execute)


def run_in_name(name: str, run: ProcessSpec, execute: Execute) -> ProcessResult:
    """CannotReplay, in the name of what is run, where it does not come to its end."""
    try:
        return execute(run)
    except NeverSent:
        raise
    except CannotReplay as error:
        program = f"{run.argv[0]} "
        told = (
            replace(
                one,
                message=f"{name} {one.message.removeprefix(program)}"
                if one.message.startswith(program)
                else f"{name}: {one.message}",
            )
            for one in error.problems
        )
        raise CannotReplay(*told) from None


def _how_it_ended(file: str, finished: ProcessResult, mask: Mask) -> str:
    """With the end of what it said: on its standard error, else on its standard output."""
    said = (finished.stderr.strip() or finished.stdout.strip()).decode("utf-8", "replace")
    last = "; ".join(filter(None, map(str.strip, mask(end_of(said, _LONGEST_SAID, mask)).splitlines())))
    return f"{file} {how_ended(finished.exit_code)}" + (f"; it said: {last}" if last else "")


def run_before(
    script: Script, case: Case, inputs: Mapping[str, Json], setting: Setting, trace: Trace
) -> dict[str, str]:
    """What it prints as NAME=VALUE, all of it; CannotReplay where it stops the attempt."""
    mask = trace.redactor.mask
    env = _environment(script, case.scripts, inputs, trace)
    finished = _run(script, env, setting.clients.execute, case.timeout, mask)
    if finished.exit_code:
        ended = _how_it_ended(script.file, finished, mask)
        raise cannot("BK761", f"nothing was sent: {ended}", "mend what it complains of, or the script")
    try:
        printed = finished.stdout.decode("utf-8")
    except UnicodeDecodeError:
        what = f"nothing was sent: {script.file} printed what is not UTF-8 text"
        raise cannot("BK761", what, "print NAME=VALUE lines in UTF-8") from None
    values, others = values_in(printed)
    if others:
        trace.redactor = trace.redactor.knowing(values)
        first = clipped(others[0].strip(), _LONGEST_LINE, trace.redactor.mask, counted=False)
        what = f"{many(len(others), 'line')} that {'is' if len(others) == 1 else 'are'} no NAME=VALUE"
        _note(trace, f"{script.file} printed {what}, which gives no input: {first}")
    return values


def values_in(printed: str) -> tuple[dict[str, str], list[str]]:
    """The values by their names, the later line of two first, and the lines that give none. A value is what
    stands behind the `=`, quotes and blanks included; empty lines and comments say nothing."""
    values: dict[str, str] = {}
    others = []
    for line in printed.split("\n"):
        line = line.removesuffix("\r")
        name, equals, value = line.partition("=")
        if equals and NAME.fullmatch(name):
            values[name] = value
        elif line.strip() and not line.lstrip().startswith("#"):
            others.append(line)
    return values, others


def run_after(
    script: Script, case: Case, inputs: Mapping[str, Json], output: Json, setting: Setting, trace: Trace
) -> bool:
    """Whether it accepts the answer, which stands in a file of its own as long as it runs. One that does not
    come to its end does not; only where all is ended, nobody knows."""
    mask = trace.redactor.knowing(output).mask
    text = output if isinstance(output, str) else encode(output) + "\n"
    with tempfile.TemporaryDirectory(prefix="baselinekit-") as folder:
        path = os.path.join(folder, "output.txt" if isinstance(output, str) else "output.json")
        with open(path, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        env = _environment(script, case.scripts, inputs, trace, path)
        try:
            finished = _run(script, env, setting.clients.execute, case.timeout, mask)
        except CannotReplay as error:
            (problem, *_) = error.problems
            if isinstance(error, NeverSent) or problem.code == _INTERRUPTED:
                raise
            _note(trace, f"not verified: {problem.message}")
            return False
    if finished.exit_code:
        _note(trace, f"not verified: {_how_it_ended(script.file, finished, mask)}")
    return finished.exit_code == 0
