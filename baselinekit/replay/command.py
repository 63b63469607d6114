"""A command recipe: a program that the configuration names, run to its end; what it wrote is the output."""

import os
from typing import cast

from baselinekit.documents.jsontext import NotJson, decode, to_bytes
from baselinekit.errors import InvalidInput, Problem, Refused, cannot
from baselinekit.kinds.command import CommandExecution, CommandInput
from baselinekit.model.observation import Observation, ProcessResult, ProcessSpec
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import ABSENT, Json
from baselinekit.programs.children import child_environment, configured_argv, program_at, said_last
from baselinekit.replay.body import text_or_hash
from baselinekit.replay.files import inside, read_if_there
from baselinekit.replay.settings import Setting, invalid, undefined_in
from baselinekit.texts import Mask
from baselinekit.trust import Trust
from baselinekit.variables import as_text

_TIMEOUT = 60.0
_AT = ("current", "input")


def replay_command(recipe: Recipe, setting: Setting) -> Observation:
    """`{exit_code, stdout, stderr}`, and `files` when the recipe names some."""
    asked = cast(CommandInput, setting.scope.expand(recipe.input, _AT))
    execution = cast(CommandExecution, recipe.execution)
    run = _run_of(asked, execution, setting)
    finished = setting.clients.execute(run)
    output: dict[str, Json] = {
        "exit_code": finished.exit_code,
        "stdout": _stdout(finished, execution, asked, run.mask),
        "stderr": text_or_hash(finished.stderr),
    }
    if asked.files:
        output["files"] = {path: _file(path, run.cwd, setting) for path in asked.files}
    return Observation(output, finished.seconds)


def check_command(recipe: Recipe, setting: Setting) -> None:
    """Undefined variables, and a program that may not run or does not exist."""
    problems = list(undefined_in(recipe.input, setting.scope, _AT))
    if problems:
        raise InvalidInput(*problems)
    asked = cast(CommandInput, setting.scope.expand(recipe.input, _AT))
    _run_of(asked, cast(CommandExecution, recipe.execution), setting)


def _run_of(asked: CommandInput, execution: CommandExecution, setting: Setting) -> ProcessSpec:
    surroundings = setting.surroundings
    argv = [as_text(word) for word in asked.argv]
    if not argv or not argv[0]:
        raise invalid("BK331", "an empty `argv`", "name a program", (*_AT, "argv"))
    if "\0" in "".join(argv):
        raise invalid("BK331", "a NUL character in `argv`", "take it out", (*_AT, "argv"))
    cwd = inside(surroundings, as_text(asked.cwd or "."))
    if not os.path.isdir(cwd):
        raise cannot("BK320", f"the working folder {asked.cwd!r} does not exist", "correct `cwd`")
    known = surroundings.commands.get(argv[0])
    if known:
        hint = f"correct `commands: {argv[0]}:` in baselinekit.yaml, or install it"
        words = configured_argv(known.argv, surroundings.root, hint)
    else:
        setting.trust.check_program(argv[0])
        words = [program_at(argv[0], cwd, "install it, or correct its name")]
    passed = known.env if known else []
    own = {name: as_text(value) for name, value in asked.env.items()}
    _check_env(own, argv[0], passed, setting.trust)
    return ProcessSpec(
        argv=(*words, *argv[1:]),
        stdin=_stdin(asked.stdin),
        env=child_environment(passed, own),
        cwd=cwd,
        timeout=float(execution.timeout if execution.timeout is not None else _TIMEOUT),
        mask=setting.redactor.mask,
    )


def _check_env(own: dict[str, str], command: str, listed: list[str], trust: Trust) -> None:
    """A file sets those variables of a program that the configuration lists for it, and no other: for each
    list of dangerous names there is a program with one more (TAR_OPTIONS, LESSOPEN, GIT_SSH_COMMAND …)."""
    problems = []
    for name, value in own.items():
        if not name or "=" in name or "\0" in name + value:
            what = f"{name!r} cannot be a variable of a program"
            raise invalid("BK331", what, "a name without `=`, and no NUL character", (*_AT, "env", name))
        if name not in listed and not trust.allow_exec:
            problems.append(_unlisted(name, command, [*listed, *own]))
    if problems:
        raise Refused(*problems)


def _unlisted(name: str, command: str, wanted: list[str]) -> Problem:
    names = ", ".join(dict.fromkeys(wanted))
    what = f"the configuration does not let files set {name} for the command {command!r}"
    hint = (
        f"list it in baselinekit.yaml, commands: {{{command}: {{argv: […], env: [{names}]}}}}, "
        "or pass --allow-exec, which grants programs and their variables"
    )
    return Problem("BK340", what, hint, at=(*_AT, "env", name))


def _stdin(value: Json) -> bytes:
    if value is ABSENT:
        return b""
    return value.encode("utf-8", "replace") if isinstance(value, str) else to_bytes(value)


def _stdout(
    finished: ProcessResult, execution: CommandExecution, asked: CommandInput, mask: Mask | None
) -> Json:
    if execution.parse != "json":
        return text_or_hash(finished.stdout)
    try:
        return decode(finished.stdout.decode())
    except (NotJson, UnicodeDecodeError) as error:
        ended = f"{as_text(asked.argv[0])} (exit code {finished.exit_code})"
        what = f"{ended} did not write JSON: {error}{said_last(finished.stderr, mask)}"
        raise cannot("BK307", what, "leave out `parse: json`, if it writes text") from None


def _file(path: str, cwd: str, setting: Setting) -> Json:
    """The content of a file that the program was to write; null when there is none."""
    content = read_if_there(setting.surroundings, path, cwd)
    return None if content is None else text_or_hash(content)
