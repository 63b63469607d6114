"""A model that is a program of the configuration: the prompt on its standard input, the answer on its
standard output. `output` says what that is: `text`; `json` (an answer as an object, else the text itself);
`claude`, what `claude -p --output-format json` writes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from baselinekit.errors import Problem, cannot
from baselinekit.model.asking import Answer, Model, Usage
from baselinekit.model.observation import Finished
from baselinekit.models.child import (
    answer_of,
    configured_argv,
    is_answer,
    json_in,
    refuse_tools,
    run_of,
    succeed,
    text_of,
)
from baselinekit.models.cost import count, dollars
from baselinekit.models.setting import Form, Question, Reply, World

_CUT = ("max_tokens", "model_context_window_exceeded", "pause_turn")
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def ask(question: Question) -> Reply:
    refuse_tools(question)
    model = question.model
    mend = f"correct `models: {question.ask.model}:` in baselinekit.yaml, or install it"
    argv = configured_argv(model.command or [], question.world.root, mend)
    finished = question.world.execute(run_of(question, argv))
    if model.output == "claude":
        return _claude(question, finished)
    succeed(question, finished)
    text = text_of(question, finished.stdout)
    said = json_in(text) if model.output == "json" else None
    if is_answer(said):
        return Reply(answer_of(question, said, finished.seconds))
    return Reply(Answer(text, None, seconds=finished.seconds))


def check(model: Model, world: World) -> Iterator[Problem]:
    if not model.command:
        yield Problem("BK602", "`command` names no program", "such as [claude, -p]", at=("command",))
        return
    configured_argv(model.command, world.root, "correct it in baselinekit.yaml, or install it")


def _tells_cost(model: Model) -> bool:
    return model.output in ("json", "claude")


FORM = Form(ask, frozenset(("env", "output")), check=check, tells_cost=_tells_cost)


def _claude(question: Question, finished: Finished) -> Reply:
    said: Any = json_in(text_of(question, finished.stdout))
    known = isinstance(said, dict)
    if known and said.get("is_error"):  # it may also end with an exit code then, and says less
        why = said.get("result") or said.get("subtype") or "an error"
        raise cannot("BK615", f"{question.name} failed: {' '.join(str(why).split())}")
    succeed(question, finished)
    if not known or not isinstance(said.get("result"), str):
        why = f" ({said['subtype']})" if known and isinstance(said.get("subtype"), str) else ""
        mend = "is its command `claude -p --output-format json`?"
        raise cannot("BK612", f"{question.name} gave no result{why}", mend)
    usage = said.get("usage") if isinstance(said.get("usage"), dict) else {}
    read = [count(usage.get(name)) for name in _READ]
    served = said.get("modelUsage")
    answer = Answer(
        said["result"],
        None,
        usage=Usage(
            None if read[0] is None else sum(tokens or 0 for tokens in read),
            count(usage.get("output_tokens")),
            dollars(said.get("total_cost_usd")),
        ),
        seconds=finished.seconds,
    )
    if isinstance(served, dict) and len(served) == 1:
        answer = replace(answer, served=next(iter(served)))
    return Reply(answer, _fault(question, said.get("stop_reason")))


def _fault(question: Question, ended: object) -> Problem | None:
    """Why it is no whole answer, where it says so."""
    if ended == "refusal":
        return Problem("BK614", f"{question.name} declined to answer", "change the question")
    if ended in _CUT:
        what = f"{question.name}: the answer was cut off ({ended})"
        return Problem("BK613", what, "ask for less")
    return None
