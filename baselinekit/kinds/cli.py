"""A target that is a program: a command line with placeholders for the question, its files and the answer."""

from collections.abc import Iterator
from typing import Literal

from baselinekit.errors import Problem, suggest
from baselinekit.kinds.kind import EXECUTION, INPUT, Family
from baselinekit.kinds.messages import ConversationKind, StatedConversation
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.values import Path
from baselinekit.structs import Struct, field

PLACEHOLDERS = ("PROMPT", "PROMPT_FILE", "GUIDELINES", "EVAL_ID", "ATTEMPT", "FILES", "OUTPUT_FILE")
"""The placeholders that a command line may hold, in braces."""

PLACEHOLDER = lazy_pattern(r"(?!(?<=\{)\{[A-Z_]+\}\})\{([A-Z_]+)\}")
"""Matches one of them; `{{NAME}}` is a variable."""


class Healthcheck(Struct):
    """What must work before the first request to the target in a run: an address that responds with success,
    or a command that ends with exit code 0."""

    url: str | None = None
    command: str | list[str] | None = None
    cwd: str | None = None
    timeout: Seconds | None = None


class CliExecution(Struct):
    """A program: its command line as one text or word by word. `{PROMPT}` is the question, `{FILES}` each
    file as `files_format` says (`{path}`, `{basename}`), `{OUTPUT_FILE}` the file for its answer; without it,
    the answer is its standard output. `env`: variables that it gets besides the usual ones. `retries`: how
    often it is run again after a timeout. `batch`: the program is started once for all cases, and writes a
    line of JSON for each, by its id."""

    type: Literal["cli"]
    command: str | list[str]
    files_format: str = "{path}"
    cwd: str | None = None
    env: list[str] = field(default_factory=list)
    timeout: Seconds | None = None
    retries: int | None = None
    batch: bool = False
    healthcheck: Healthcheck | None = None
    serial: bool | None = None
    resource: str | None = None
    target: str = ""


class CliCurrent(Struct):
    """`current:` with a program that is sent messages."""

    input: StatedConversation | str
    execution: CliExecution


class CliKind(ConversationKind):
    name = "cli"
    execution = CliExecution
    currents = (CliCurrent,)
    asks_models = "sometimes"
    names_target = "command: …"

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from check_cli(recipe.execution, EXECUTION)
        for number, message in enumerate(recipe.input.messages):
            if message.tool_calls:
                problem = f"the tool calls of message {number + 1} cannot be sent to a program as text"
                at = (*INPUT, "messages", number, "tool_calls")
                yield Problem("BK781", problem, "write them into its content, or use a service", at=at)
        yield from super().check(recipe)

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        command = recipe.execution.command
        words = command.split() if isinstance(command, str) else command
        return "commands", words[0] if words else ""


def check_cli(execution: CliExecution, at: Path) -> Iterator[Problem]:
    """Return the problems of a command line that its types do not show."""
    lines = [(execution.command, (*at, "command"))]
    if execution.healthcheck is not None:
        place = (*at, "healthcheck")
        lines.append((execution.healthcheck.command or ["-"], (*place, "command")))
        if (execution.healthcheck.url is None) is (execution.healthcheck.command is None):
            message = "a healthcheck has a `url` or a `command`"
            yield Problem("BK108", message, "such as healthcheck: {command: mytool --version}", at=place)
    for line, place in lines:
        words = [line] if isinstance(line, str) else line
        if not words or not words[0].strip():
            yield Problem("BK108", "the command line names no program", "such as `mytool {PROMPT}`", at=place)
        for name in dict.fromkeys(name for word in words for name in PLACEHOLDER.findall(word)):
            if name not in PLACEHOLDERS:
                placeholders = f"there are {', '.join(f'{{{placeholder}}}' for placeholder in PLACEHOLDERS)}"
                hint = suggest(name, PLACEHOLDERS) or placeholders
                yield Problem("BK791", f"unknown placeholder {{{name}}} in the command line", hint, at=place)


KIND = CliKind()
