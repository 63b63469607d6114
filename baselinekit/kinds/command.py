"""A command that the configuration names, run until it ends."""

import os
import shlex
from collections.abc import Iterator
from typing import Any, Literal

from baselinekit.clients.programs import children
from baselinekit.clients.trust import Trust
from baselinekit.errors import Problem, Refused, cannot_replay, describe_exit
from baselinekit.files.jsontext import NotJson, decode, to_bytes
from baselinekit.kinds.bodies import text_or_hash
from baselinekit.kinds.files import inside, read_if_there
from baselinekit.kinds.kind import Family, OutcomePlace, RecipeKind, current_form
from baselinekit.kinds.settings import INPUT, Setting, invalid
from baselinekit.model.recipes import Observation, ProcessSpec, Recipe
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import read_as
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Name, Struct, TimeLimit, field, replace
from baselinekit.values.texts import Mask


class CommandInput(Struct):
    """A program and its input. `argv[0]` is a name under `commands:` in the configuration, or any program if
    the operator allows it (`--allow-exec`)."""

    argv: list[str]
    stdin: Json = ABSENT
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    files: list[str] = field(default_factory=list)


class CommandExecution(Struct):
    type: Literal["command"]
    timeout: TimeLimit | None = None
    parse: Literal["text", "json"] | None = None
    serial: bool | None = None
    resource: Name | None = None


class ExitCode(OutcomePlace):
    def severity(self, number: int) -> int:
        return 2 if number < 0 else int(number > 0)

    def describe(self, number: int) -> str:
        return f"the program {describe_exit(number)}"


_EVAL_CONTENT = {"anyOf": [{"$ref": "#/$defs/CommandInput"}, {"type": "array", "items": {"type": "string"}}]}
_COMMAND_TIMEOUT = 60.0


def working_folder(setting: Setting, cwd: str | None, anywhere: bool = False) -> str:
    """Return where a program is started: `cwd`, relative to the folder of the baseline's file, inside the
    project unless `anywhere`."""
    surroundings, path = setting.surroundings, cwd or "."
    path = os.path.join(surroundings.folder, path) if anywhere else inside(surroundings, path)
    if not os.path.isdir(path):
        raise cannot_replay("BK320", f"the working folder {cwd!r} does not exist", "correct `cwd`")
    return os.path.realpath(path)


def program_words(program: str, cwd: str, setting: Setting, is_path: bool = False) -> list[str]:
    """Return the words for a name under `commands:` in the configuration, unless it is a path or a program
    anyway; else the full path of the program."""
    configured = None if is_path else setting.surroundings.commands.get(program)
    if configured is None:
        return [children.program_at(program, cwd, "install it, or correct its name")]
    hint = f"correct `commands: {program}:` in baselinekit.yaml, or install it"
    return children.configured_argv(configured.argv, setting.surroundings.root, hint)


def process_of(command_input: CommandInput, execution: CommandExecution, setting: Setting) -> ProcessSpec:
    argv, commands = [as_text(word) for word in command_input.argv], setting.surroundings.commands
    if not (argv and argv[0]):
        raise invalid("BK331", "an empty `argv`", "name a program", (*INPUT, "argv"))
    cwd = working_folder(setting, command_input.cwd)
    allowed_names = commands[argv[0]].env if argv[0] in commands else []
    if argv[0] not in commands:
        setting.trust.check_program(argv[0])
    words = program_words(argv[0], cwd, setting)
    own_env = {name: as_text(value) for name, value in command_input.env.items()}
    check_env(own_env, argv[0], allowed_names, setting.trust)
    stdin = command_input.stdin
    if stdin is ABSENT:
        stdin = ""
    data = stdin.encode("utf-8", "replace") if isinstance(stdin, str) else to_bytes(stdin)
    return ProcessSpec(
        argv=(*words, *argv[1:]),
        stdin=data,
        env=children.child_environment(allowed_names, own_env),
        cwd=cwd,
        timeout=float(_COMMAND_TIMEOUT if execution.timeout is None else execution.timeout),
        mask=setting.redactor.mask,
    )


def check_env(env: dict[str, str], command: str, allowed_names: list[str], trust: Trust) -> None:
    """Refuse environment variables that the configuration does not list for this program. A list of dangerous
    names would never be complete (TAR_OPTIONS, LESSOPEN, GIT_SSH_COMMAND …)."""
    problems = []
    for name in env:
        if name not in allowed_names and not trust.allow_exec:
            names = ", ".join(dict.fromkeys([*allowed_names, *env]))
            message = f"the configuration does not allow files to set {name} for the command {command!r}"
            hint = (
                f"list it in baselinekit.yaml, commands: {{{command}: {{argv: […], env: [{names}]}}}}, "
                "or pass --allow-exec, which allows programs and their variables"
            )
            problems.append(Problem("BK340", message, hint, at=(*INPUT, "env", name)))
    if problems:
        raise Refused(*problems)


class CommandKind(RecipeKind):
    name = "command"
    execution = CommandExecution
    currents = (current_form("Command", CommandInput, CommandExecution),)
    noun = "result"
    parts = ("exit_code", "stdout", "stderr", "files")
    answer = "stdout"
    eval_input = "command"
    eval_content = _EVAL_CONTENT

    def input_of_case(self, content: Json, context: Json) -> tuple[Any, list[Problem]]:
        is_argv = isinstance(content, list)
        command_input, problems = read_as(CommandInput, {"argv": content} if is_argv else content)
        if is_argv:
            problems = [replace(problem, at=(problem.at or ())[1:]) for problem in problems]
        return command_input, problems

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        argv = recipe.input.argv
        if not (argv and argv[0]):
            yield Problem(
                "BK108", "`argv` names no program", "such as [mytool, --version]", at=(*INPUT, "argv")
            )

    def outcomes(self, recipe: Recipe) -> dict[Path, OutcomePlace]:
        return {("exit_code",): ExitCode()}

    def answers(self, recipe: Recipe) -> tuple[Path, ...]:
        return (("stdout",), ("stderr",))

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return " ".join(recipe.input.argv)

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return str(recipe.input.argv[0]).rsplit("/")[-1]

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        return "commands", recipe.input.argv[0] if recipe.input.argv else ""

    def asked(self, recipe: Recipe) -> list[str]:
        argv: list[str] = recipe.input.argv
        return argv

    def describe_input(self, recipe: Recipe) -> str:
        return shlex.join(recipe.input.argv)

    def question(self, recipe: Recipe) -> CommandInput:
        """Return the input without the program and the files that it writes, which are what is tested."""
        command_input: CommandInput = recipe.input
        return replace(command_input, argv=command_input.argv[1:], files=[])

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        """Return `{exit_code, stdout, stderr}`, and `files` where the recipe names some."""
        command_input: CommandInput = setting.scope.expand(recipe.input, INPUT)
        execution: CommandExecution = recipe.execution
        run = process_of(command_input, execution, setting)
        finished = setting.clients.execute(run)
        if execution.parse != "json":
            stdout = text_or_hash(finished.stdout)
        else:
            try:
                stdout = decode(finished.stdout.decode())
            except (NotJson, UnicodeDecodeError) as error:
                program = f"{as_text(command_input.argv[0])} (exit code {finished.exit_code})"
                last_words = children.last_error_line(finished.stderr, run.mask)
                message = f"{program} did not write JSON: {error}{last_words}"
                raise cannot_replay(
                    "BK307", message, "leave out `parse: json` to compare it as text"
                ) from None
        output: dict[str, Json] = {
            "exit_code": finished.exit_code,
            "stdout": stdout,
            "stderr": text_or_hash(finished.stderr),
        }
        if command_input.files:
            contents = {
                path: read_if_there(setting.surroundings, path, run.cwd) for path in command_input.files
            }
            output["files"] = {
                path: None if content is None else text_or_hash(content) for path, content in contents.items()
            }
        return Observation(output, finished.seconds)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and a program that may not run or does not exist."""
        super().check_replay(recipe, setting)
        process_of(setting.scope.expand(recipe.input, INPUT), recipe.execution, setting)


COMMAND = CommandKind()
