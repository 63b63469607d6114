"""A command: a program that the configuration names, run until it ends."""

import shlex
from collections.abc import Iterator
from typing import Any, Literal

from baselinekit.errors import Problem, describe_exit
from baselinekit.kinds.kind import INPUT, Family, OutcomePlace, RecipeKind
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import read_as
from baselinekit.structs import Struct, field, replace
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
    timeout: Seconds | None = None
    parse: Literal["text", "json"] | None = None
    serial: bool | None = None
    resource: str | None = None


class CommandCurrent(Struct):
    """`current:` with a program."""

    input: CommandInput
    execution: CommandExecution


class ExitCode(OutcomePlace):
    def severity(self, number: int) -> int:
        return 2 if number < 0 else int(number > 0)

    def describe(self, number: int) -> str:
        return f"the program {describe_exit(number)}"


_EVAL_CONTENT = {"anyOf": [{"$ref": "#/$defs/CommandInput"}, {"type": "array", "items": {"type": "string"}}]}


class CommandKind(RecipeKind):
    name = "command"
    execution = CommandExecution
    currents = (CommandCurrent,)
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
        yield from super().check(recipe)

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

    def working_folder(self, recipe: Recipe) -> str | None:
        folder: str | None = recipe.input.cwd
        return folder


KIND = CommandKind()
