"""The scripts before and after an attempt at a case: who allows them, their environment, and their results.

The output of a script is masked before it is shown, and the values that it prints are taken literally as
inputs: variables in them are not expanded."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256

from baselinekit import errors
from baselinekit.clients.programs.children import child_environment, configured_argv
from baselinekit.clients.trust import is_interpreted_script
from baselinekit.commands.programs import Trace, allowed_by, run_in_name, who_allows
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Place, Problem, Refused
from baselinekit.eva.folders import script_files
from baselinekit.files.jsontext import encode
from baselinekit.kinds.files import inside, read_if_there
from baselinekit.kinds.settings import Execute, Setting
from baselinekit.model.evals import Case, Scripts
from baselinekit.model.recipes import Command, ProcessResult, ProcessSpec, Seconds
from baselinekit.model.values import Json
from baselinekit.secrets.variables import NAME, as_text
from baselinekit.structs import Struct, replace
from baselinekit.values.texts import Mask, count_noun, end_of, mask_and_clip

_TIMEOUT = 60
_LONGEST_SAID = 600
_LONGEST_LINE = 80
_MOST_BYTES = 100_000
"""Of an input in the environment of a script: a system takes little more."""

_INTERRUPTED = "BK330"


class Script(Struct):
    """A script that may be run. `file`: from the project's root; `content`: 16 hex digits of its hash;
    `passed`: the variables of the operator that the configuration lists for it."""

    file: str
    argv: tuple[str, ...]
    cwd: str
    content: str = ""
    passed: tuple[str, ...] = ()


# Who allows a script, and whether the system can run it: checked before the first request.


def describe_scripts(project: Project) -> Iterator[str]:
    """Describe each script of the project and who allows it, even if its cases cannot be read."""
    try:
        files = list(script_files(project.root))
    except BaselinekitError as error:
        yield f"scripts were not looked for: {error.problems[0].message}"
        return
    for file in files:
        yield f"script {file}: allowed {who_allows(project, allowed_by(project, file))}"


def ready_scripts(project: Project, case: Case, setting: Setting) -> tuple[Script | None, Script | None]:
    """The scripts before and after a case. A problem has the script as its place, so that it is reported once
    however many cases use the script."""
    scripts: list[Script | None] = []
    refused, unusable = list[Problem](), list[Problem]()
    for file in (case.scripts.before, case.scripts.after):
        try:
            scripts.append(None if file is None else _prepare_script(project, file, setting))
        except BaselinekitError as error:
            problems = refused if isinstance(error, Refused) else unusable
            problems += [replace(problem, place=Place(file or ""), at=None) for problem in error.problems]
    if refused or unusable:
        raise Refused(*refused) if refused else InvalidInput(*unusable)
    before, after = scripts
    return before, after


def _prepare_script(project: Project, file: str, setting: Setting) -> Script:
    around = replace(setting.surroundings, folder=project.root)
    path = inside(around, file)
    name = allowed_by(project, file)
    if name is None and not project.trust.allow_exec:
        name_of_script, _ = os.path.splitext(os.path.basename(file))
        folder_name = os.path.basename(os.path.dirname(file)) or "project"
        entry = f"{folder_name}-{name_of_script}: [{file if os.sep in file else f'./{file}'}]"
        hint = f"add it under `commands:` in baselinekit.yaml ({entry}), or pass --allow-exec"
        raise Refused(Problem("BK403", f"the script is not named in {project.trust.configuration}", hint))
    try:
        content = read_if_there(around, file)
    except CannotReplay as error:
        raise _unusable_script(error.problems[0].message, "replace it by a script, or remove it") from None
    if content is None:
        raise _unusable_script("the link leads to a file that is not there", "fix the link, or remove it")
    command = project.commands[name] if name is not None else Command([path])
    reader = [] if is_interpreted_script(command.argv) else _interpreter_words(file, path, content)
    words = configured_argv(command.argv, project.root, f"correct `commands: {name}:` in baselinekit.yaml")
    folder = os.path.dirname(os.path.join(project.root, file))
    return Script(file, (*reader, *words), folder, sha256(content).hexdigest()[:16], tuple(command.env))


def _interpreter_words(file: str, path: str, content: bytes) -> list[str]:
    """The words before a script that is run by itself: a shell if its first line names no interpreter, as
    any shell would do."""
    if not os.access(path, os.X_OK):
        hint = f"chmod +x {file} (and git update-index --chmod=+x {file})"
        raise _unusable_script("the script is not executable", hint)
    first, _, _ = content.partition(b"\n")
    if not first.startswith(b"#!"):
        return [] if b"\0" in first else ["/bin/sh"]
    name = first[2:].decode("utf-8", "replace").strip(" \t").partition(" ")[0]
    if not os.access(name, os.X_OK):  # a line that ends as on Windows names a program with "\r" at its end
        message = f"the first line of the script names {name!r}, which is not there"
        hint = "name a program that this machine has, such as #!/bin/sh, and end lines as on Unix (LF)"
        raise _unusable_script(message, hint)
    return []


def _unusable_script(message: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK320", message, hint))


# The environment of a script, and how it ends.


def _environment(
    script: Script, scripts: Scripts, inputs: Mapping[str, Json], trace: Trace, output_file: str = ""
) -> dict[str, str]:
    """The environment of a script: the variables that every program gets, those of the case, and the inputs,
    each by its name as written and in capitals. An input that no environment can hold is left out, with a
    note."""
    prefix = f"{scripts.prefix}VAR_"
    texts = scripts.environment | {f"{prefix}{name}": as_text(value) for name, value in inputs.items()}
    texts |= {f"{scripts.prefix}OUTPUT_FILE": output_file} if output_file else {}
    variables: dict[str, str] = {}
    for name, text in texts.items():
        if "\0" in text or len(text.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
            reason = "it is too long, or has a NUL character"
            input_name = name.removeprefix(prefix)
            _note(trace, f"{script.file} does not get the input {input_name} in its environment: {reason}")
            continue
        word = re.sub(r"[^A-Za-z0-9_]", "_", name)
        variables.setdefault(word.upper(), text)
        variables[word] = text
    return child_environment(script.passed, variables)


def _note(trace: Trace, note: str) -> None:
    if note not in trace.notes:
        trace.notes.append(note)


def _run(
    script: Script, env: Mapping[str, str], execute: Execute, limit: Seconds | None, mask: Mask
) -> ProcessResult:
    timeout = float(_TIMEOUT if limit is None else limit)
    run = ProcessSpec(script.argv, env=dict(env), cwd=script.cwd, timeout=timeout, mask=mask)
    return run_in_name(script.file, run, execute)


def _describe_end(file: str, finished: ProcessResult, mask: Mask) -> str:
    """Describe how a script ended, with the end of its standard error, or else of its standard output."""
    output = (finished.stderr.strip() or finished.stdout.strip()).decode("utf-8", "replace")
    lines = [line.strip() for line in mask(end_of(output, _LONGEST_SAID, mask)).splitlines()]
    printed = "; ".join(filter(None, lines))
    return f"{file} {errors.describe_exit(finished.exit_code)}{printed and f'; it wrote: {printed}'}"


def run_before(
    script: Script, case: Case, inputs: Mapping[str, Json], setting: Setting, trace: Trace
) -> dict[str, str]:
    """Run the script before an attempt. Return the values that it prints; CannotReplay if it fails."""
    mask = trace.redactor.mask
    env = _environment(script, case.scripts, inputs, trace)
    finished = _run(script, env, setting.clients.execute, case.timeout, mask)
    if finished.exit_code:
        ended = _describe_end(script.file, finished, mask)
        hint = "fix what it complains of, or the script"
        raise errors.cannot_replay("BK323", f"nothing was sent: {ended}", hint)
    try:
        printed = finished.stdout.decode("utf-8")
    except UnicodeDecodeError:
        message = f"nothing was sent: {script.file} printed what is not UTF-8 text"
        raise errors.cannot_replay("BK323", message, "print NAME=VALUE lines in UTF-8") from None
    values, others = values_in(printed)
    if others:
        trace.redactor = trace.redactor.knowing(values)
        first = mask_and_clip(others[0].strip(), _LONGEST_LINE, trace.redactor.mask, counted=False)
        _note(trace, f"{script.file} printed {count_noun(len(others), 'line')} without NAME=VALUE: {first}")
    return values


def values_in(printed: str) -> tuple[dict[str, str], list[str]]:
    """Return the values of the NAME=VALUE lines by name, where the last line of a name counts, and the lines
    that are none. A value is everything after the `=`, quotes and blanks included; empty lines and comments
    are ignored."""
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
    """Run the script after an attempt. Return whether it accepts the answer, which it can read from a file
    while it runs. A script that does not finish does not accept it; one that is interrupted raises."""
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
            if isinstance(error, errors.NeverSent) or problem.code == _INTERRUPTED:
                raise
            _note(trace, f"not verified: {problem.message}")
            return False
    if finished.exit_code:
        _note(trace, f"not verified: {_describe_end(script.file, finished, mask)}")
    return finished.exit_code == 0
