"""A prompt recipe: a template with its inputs, asked of a model that the configuration names."""

from collections.abc import Iterator, Sequence
from typing import cast

from baselinekit.clipped import Mask, clipped
from baselinekit.documents.fenced import json_in
from baselinekit.errors import InvalidInput, Problem, cannot
from baselinekit.model.asking import Answer, Ask, ToolCall
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import PromptExecution, PromptInput, Recipe
from baselinekit.model.values import ABSENT, Json
from baselinekit.replay.files import load, read_text, texts_in
from baselinekit.replay.rubric import check_model, check_scores
from baselinekit.replay.setting import Setting
from baselinekit.replay.template import Template, template_of
from baselinekit.replay.undefined import undefined_in
from baselinekit.variables import as_text

_LONGEST_SHOWN = 40
_INPUT = ("current", "input")
_EXECUTION = ("current", "execution")


def replay_prompt(recipe: Recipe, setting: Setting) -> Observation:
    """The model's answer: a text, JSON, or what `collect` names."""
    execution = cast(PromptExecution, recipe.execution)
    template = _template(recipe, setting)
    asked = cast(PromptInput, recipe.input)
    answer = setting.doors.models.ask(
        Ask(
            model=execution.model,
            messages=template.expanded(),
            tools=tuple(asked.tools),
            temperature=execution.temperature,
            max_tokens=execution.max_tokens,
            json=execution.json,
            turn=setting.turn,
            timeout=execution.timeout,
            asker=setting.asker,
        )
    )
    output, flaw = _output(answer, execution)
    return Observation(
        output,
        answer.seconds,
        answer.attempts,
        tool_calls=answer.tool_calls,
        usage=answer.usage,
        environment={"model": answer.served or execution.model, "prompt": template.fingerprint},
        flaw=flaw,
    )


def check_prompt(recipe: Recipe, setting: Setting) -> None:
    """Everything that can be wrong before a model is asked: its name, the files, the names in them."""
    execution, asked = cast(PromptExecution, recipe.execution), cast(PromptInput, recipe.input)
    problems = [
        *undefined_in(asked.inputs, setting.scope, ("current", "input", "inputs")),
        *undefined_in(asked.prompt, setting.scope, ("current", "input", "prompt")),
        *undefined_in(asked.inputs_from, setting.scope, ("current", "input", "inputs_from")),
        *_of_models(execution, setting),
        *problems_of_collect(execution.collect, execution.model, setting),
    ]
    if not problems:
        problems += _template(recipe, setting).problems()
    if problems:
        raise InvalidInput(*problems)


def files_of_prompt(recipe: Recipe, setting: Setting) -> Iterator[str]:
    """What stands in its template, in the file of its inputs, and in those that these name."""
    asked, around = cast(PromptInput, recipe.input), setting.surroundings
    for path in filter(None, (asked.prompt, asked.inputs_from)):
        yield read_text(around, as_text(setting.scope.expand(path, _INPUT)))
    if asked.inputs_from is not None:
        yield from texts_in(load(around, as_text(setting.scope.expand(asked.inputs_from, _INPUT))), around)
    yield from texts_in(setting.scope.expand(asked.inputs, _INPUT), around)


def _of_models(execution: PromptExecution, setting: Setting) -> Iterator[Problem]:
    """What is wrong with the model that is asked, and with the one that gives the scores."""
    try:
        check_model(execution.model, (*_EXECUTION, "model"), setting)
    except InvalidInput as error:
        yield from error.problems
    try:
        check_scores(execution.scores, setting)
    except InvalidInput as error:
        yield from error.problems


def problems_of_collect(collect: Sequence[str] | None, name: str, setting: Setting) -> Iterator[Problem]:
    """Tool calls of a model that has no way to tell them."""
    model = setting.surroundings.models.get(name)
    if "tool_calls" in (collect or ()) and model is not None and not model.tells_tool_calls:
        what = f"the model {name!r} cannot tell which tools were called, and `collect` names them"
        mend = "leave `tool_calls` out, or ask over `openai` or `anthropic`, or a program with `output: json`"
        yield Problem("BK617", what, mend, at=(*_EXECUTION, "collect"))


def _template(recipe: Recipe, setting: Setting) -> Template:
    execution = cast(PromptExecution, recipe.execution)
    return template_of(cast(PromptInput, recipe.input), execution.system, setting)


def _output(answer: Answer, execution: PromptExecution) -> tuple[Json, str | None]:
    """The output, and why it is none that one would keep."""
    value: Json = answer.text
    flaw = None
    if execution.parse == "json":
        value = json_in(answer.text)
        if value is ABSENT:
            value, flaw = answer.text, "the model's answer holds no JSON, as `parse: json` wants it"
    wanted = execution.collect
    if wanted is None:
        return value, flaw_of_calls(answer) or flaw
    output: dict[str, Json] = {}
    if "text" in wanted:
        output["json" if execution.parse == "json" else "text"] = value
    if "tool_calls" in wanted:
        output["tool_calls"] = calls_as_json(answer.tool_calls, f"the model {execution.model!r}")
    return output, flaw


def flaw_of_calls(answer: Answer) -> str | None:
    """Why an answer of which only the text is kept is none: it called tools instead of saying something."""
    if answer.text.strip() or not answer.tool_calls:
        return None
    mend = "`collect: [tool_calls]` (--collect tool_calls) keeps the calls"
    return f"the model called tools and said nothing: {mend}"


def calls_as_json(calls: tuple[ToolCall, ...] | None, who: str) -> list[Json]:
    """Tool calls as an output holds them: `[{name, input}]`, with the output where it is known. An empty list
    says that none was called, so it takes somebody who said so."""
    if calls is None:
        mend = "let it answer with {text, tool_calls}: an empty list where none was called"
        raise cannot("BK617", f"{who} did not say whether it called tools, and `collect` names them", mend)
    return [
        {"name": call.name, "input": call.input} | ({} if call.output is ABSENT else {"output": call.output})
        for call in calls
    ]


def asked_for(recipe: Recipe, mask: Mask) -> str:
    """Whom a recipe asks, in a few words."""
    asked = cast(PromptInput, recipe.input)
    first = asked.text or (asked.messages[0].content if asked.messages else "")
    shown = asked.prompt or clipped(" ".join(as_text(first).split()), _LONGEST_SHOWN, mask, counted=False)
    return f"prompt {shown} ({cast(PromptExecution, recipe.execution).model})"
