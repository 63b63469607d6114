"""Replays a service that is sent messages: one POST of JSON, sent again where it is not there or too busy."""

import random
from collections.abc import Iterator
from dataclasses import replace

from baselinekit.errors import BaselinekitError, CannotReplay, Problem, cannot
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.messages import ConversationInput, message_as_json, question_of
from baselinekit.kinds.post import KIND, PostExecution
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.replaying.http import check_http, replay_http
from baselinekit.replaying.settings import Row, Setting
from baselinekit.replaying.traces import answer_of_text, answer_of_value
from baselinekit.variables import unexpanded_in

_TIMEOUT = 120
_RETRIES = 2
_FIRST_WAIT, _LONGEST_WAIT, _SPREAD = 1.0, 60.0, 0.25
_AGAIN = frozenset((408, 429, 500, 502, 503, 504))
_UNREACHED = "BK301"


def replay_post(recipe: Recipe, setting: Setting) -> Observation:
    execution: PostExecution = recipe.execution
    retries = _RETRIES if execution.retries is None else execution.retries
    request = _request(recipe, setting)
    for tried, wait in enumerate((*_waits(retries), None), 1):
        try:
            observation = replay_http(request, setting)
        except CannotReplay as error:
            if wait is None or all(problem.code != _UNREACHED for problem in error.problems):
                raise
        else:
            status = observation.output["status"]
            if wait is None or status not in _AGAIN:
                return _answer(recipe, observation, tried)
        setting.clients.sleep(wait)
    raise AssertionError("the last wait is None")


def _waits(retries: int) -> Iterator[float]:
    """Each twice as long as the one before, and none quite alike: not all come back at once."""
    for number in range(retries):
        wait = min(_FIRST_WAIT * 2**number, _LONGEST_WAIT)
        yield wait * (1 - _SPREAD + 2 * _SPREAD * random.random())


def check_post(recipe: Recipe, setting: Setting) -> None:
    """Undefined variables, an address that cannot or may not be asked."""
    try:
        check_http(_request(recipe, setting), setting)
    except BaselinekitError as error:
        raise type(error)(*map(_at_execution, error.problems)) from None


def _at_execution(problem: Problem) -> Problem:
    """What is wrong with the request, told where the recipe says it."""
    at = problem.at or ()
    stated = at[:2] == INPUT and at[2:3] in (("url",), ("headers",), ("auth",))
    return replace(problem, at=(*EXECUTION, *at[2:])) if stated else problem


def _request(recipe: Recipe, setting: Setting) -> Recipe:
    execution: PostExecution = recipe.execution
    asked: ConversationInput = setting.scope.expand(recipe.input, INPUT)
    return Recipe(
        HttpRequest(
            "POST",
            url=execution.url,
            headers=execution.headers,
            auth=execution.auth,
            json=unexpanded_in(question_as_json(asked, setting)),
            timeout=_TIMEOUT if execution.timeout is None else execution.timeout,
            redirects=0,
            retries=0,
        ),
        HttpExecution("http"),
    )


def question_as_json(asked: ConversationInput, setting: Setting) -> dict[str, Json]:
    """What a service, or a program that is asked about many cases at once, is told of a case."""
    return {
        "id": asked.case or setting.asker,
        "question": question_of(asked),
        "messages": [message_as_json(one) for one in asked.messages],
        "guideline_files": asked.guideline_files,
        "input_files": asked.input_files,
    }


def _answer(recipe: Recipe, observation: Observation, tried: int) -> Observation:
    status, body = observation.output["status"], observation.output.get("body")
    who = KIND.whom(recipe)
    if not 200 <= status < 300:
        raise cannot("BK794", f"{who} answered with status {status}", "check the service")
    seconds = observation.seconds
    read = answer_of_text if isinstance(body, str) else answer_of_value
    told = read(body, seconds, who)
    return replace(told, attempts=tried, notes=(*observation.notes, *told.notes))


ROW = Row(check_post, replay_post)
