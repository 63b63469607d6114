"""A model that is a Python callable of the project: `module:function(prompt, **settings)`, called in a child
of its own, gives back a text, or an answer as a mapping."""

import sys
from collections.abc import Iterator
from typing import Any

from baselinekit.documents.jsontext import to_bytes
from baselinekit.errors import Problem, cannot
from baselinekit.model.recipes import Answer, Model
from baselinekit.model.values import ABSENT
from baselinekit.models.command import (
    CALL,
    answer_of,
    is_answer,
    json_in,
    refuse_tools,
    run_of,
    succeed,
    text_of,
)
from baselinekit.models.post import as_prompt
from baselinekit.models.setting import Form, Question, Reply, World


def ask(question: Question) -> Reply:
    refuse_tools(question)
    # -P: the child's own folder holds modules with the names of standard ones
    argv = [sys.executable, "-P", CALL, question.world.root, question.model.python or ""]
    asked = {"input": as_prompt(question.ask.messages), "parameters": question.model.settings}
    finished = question.world.execute(run_of(question, argv, to_bytes(asked)))
    said: Any = json_in(text_of(question, finished.stdout))
    if isinstance(said, dict) and "error" in said:
        where = f" at {said['at']}" if isinstance(said.get("at"), str) else ""
        raise cannot("BK615", f"{question.name} raised {' '.join(str(said['error']).split())}{where}")
    succeed(question, finished)
    result = said.get("result", ABSENT) if isinstance(said, dict) else ABSENT
    if isinstance(result, str):
        return Reply(Answer(result, None, seconds=finished.seconds))
    if is_answer(result):
        return Reply(answer_of(question, result, finished.seconds))
    raise cannot("BK612", f"{question.name} returned no text", "return a text, or {text, tool_calls, usage}")


def check(model: Model, world: World) -> Iterator[Problem]:
    module, _, function = (model.python or "").partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *function.split("."))):
        yield Problem("BK602", f"`python: {model.python}`", "write module:function", at=("python",))


def _tells_cost(model: Model) -> bool:
    return True


FORM = Form(ask, frozenset(("env", "settings")), check=check, tells_cost=_tells_cost)
