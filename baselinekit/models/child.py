"""Models that are programs: how they are started, and what they may give back."""

import os
from collections.abc import Iterator

from baselinekit.documents.strictjson import NotJson, decode
from baselinekit.errors import Problem, cannot
from baselinekit.model.asking import Answer, ToolCall, Usage
from baselinekit.model.observation import Finished, Run
from baselinekit.model.values import ABSENT, Json
from baselinekit.models.cost import count, dollars
from baselinekit.models.prompt import as_prompt
from baselinekit.models.setting import Question
from baselinekit.programs import call
from baselinekit.programs.children import child_environment, configured_argv, said_last

__all__ = ["CALL", "configured_argv"]

CALL = os.path.abspath(call.__file__)


def run_of(question: Question, argv: list[str], stdin: bytes | None = None) -> Run:
    """The program, with the question as one text on its standard input."""
    return Run(
        tuple(argv),
        as_prompt(question.ask.messages).encode("utf-8", "replace") if stdin is None else stdin,
        child_environment(question.model.env),
        question.world.root,
        question.seconds,
        mask=question.world.mask,
    )


def succeed(question: Question, finished: Finished) -> None:
    if finished.exit_code:
        what = f"{question.name} ended with exit code {finished.exit_code}"
        raise cannot("BK615", what + said_last(finished.stderr, question.world.mask))


def refuse_tools(question: Question) -> None:
    if question.ask.tools:
        mend = "ask one of the form `openai` or `anthropic`"
        raise cannot("BK616", f"{question.name} is a program, which cannot be handed tools", mend)


def text_of(question: Question, raw: bytes) -> str:
    try:
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise cannot("BK612", f"{question.name} wrote something that is no UTF-8 text") from None


def json_in(text: str) -> Json:
    try:
        return decode(text)
    except NotJson:
        return ABSENT


def is_answer(value: Json) -> bool:
    """Whether a value is meant to be more than the answer's text."""
    return isinstance(value, dict) and ("text" in value or "tool_calls" in value)


def answer_of(question: Question, value: Json, seconds: float) -> Answer:
    """`{text, tool_calls: [{name, input, output}], usage: {tokens_in, tokens_out, cost_usd}, model}`: all but
    one of the first two may be missing."""
    problems = list(_faults(value))
    if problems:
        mend = "give back {text, tool_calls, usage, model}, or a text alone"
        raise cannot("BK612", f"{question.name} gave back {problems[0]}", mend)
    usage = value.get("usage") or {}
    return Answer(
        text=value.get("text") or "",
        tool_calls=_calls(value.get("tool_calls")),
        usage=Usage(
            count(usage.get("tokens_in")), count(usage.get("tokens_out")), dollars(usage.get("cost_usd"))
        ),
        served=value.get("model"),
        seconds=seconds,
    )


def _calls(told: list[dict[str, Json]] | None) -> tuple[ToolCall, ...] | None:
    """An object without them says nothing of tools; an empty list says that none was called."""
    if told is None:
        return None
    return tuple(ToolCall(str(one["name"]), one.get("input", {}), one.get("output", ABSENT)) for one in told)


def _faults(value: dict[str, Json]) -> Iterator[str]:
    unknown = sorted(set(value) - {"text", "tool_calls", "usage", "model"})
    if unknown:
        yield f"an unknown key {unknown[0]!r}"
    kinds = (("text", str), ("tool_calls", list), ("usage", dict), ("model", str))
    for name, kind in kinds:
        if not isinstance(value.get(name), kind | None):
            yield f"a {name!r} of another type"
            return
    for one in value.get("tool_calls") or ():
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            yield "a tool call without a name"


def not_installed(package: str) -> Problem:
    mend = f"pip install 'baselinekit[{package}]'"
    return Problem("BK604", f"the package {package!r} is not installed", mend)
