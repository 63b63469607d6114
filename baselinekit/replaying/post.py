"""Replays a service that takes messages: one POST of JSON, retried where it is unreachable or too busy."""

import random
from collections.abc import Iterator

from baselinekit.errors import BaselinekitError, CannotReplay, Problem, cannot_replay
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.messages import ConversationInput, message_as_json, question_of
from baselinekit.kinds.post import KIND, PostExecution
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.replaying.http import check_http, replay_http
from baselinekit.replaying.settings import Row, Setting
from baselinekit.replaying.traces import answer_of_text, answer_of_value
from baselinekit.secrets.variables import escape_variables_in
from baselinekit.structs import replace

_TIMEOUT = 120
_RETRIES = 2
_FIRST_WAIT, _LONGEST_WAIT, _SPREAD = 1.0, 60.0, 0.25
_RETRIED_STATUSES = frozenset((408, 429, 500, 502, 503, 504))
_UNREACHED = "BK301"


def replay_post(recipe: Recipe, setting: Setting) -> Observation:
    execution: PostExecution = recipe.execution
    retries = _RETRIES if execution.retries is None else execution.retries
    request = _request(recipe, setting)
    for attempt, wait in enumerate((*_waits(retries), None), 1):
        try:
            observation = replay_http(request, setting)
        except CannotReplay as error:
            if wait is None or all(problem.code != _UNREACHED for problem in error.problems):
                raise
        else:
            status = observation.output["status"]
            if wait is None or status not in _RETRIED_STATUSES:
                return _answer(recipe, observation, attempt)
        setting.clients.sleep(wait)
    raise AssertionError("the last wait is None")


def _waits(retries: int) -> Iterator[float]:
    """Yield the waits before retries, each about twice as long as the last, with jitter."""
    for number in range(retries):
        wait = min(_FIRST_WAIT * 2**number, _LONGEST_WAIT)
        yield wait * (1 - _SPREAD + 2 * _SPREAD * random.random())


def check_post(recipe: Recipe, setting: Setting) -> None:
    """Refuse undefined variables, and an address that is invalid or not allowed."""
    try:
        check_http(_request(recipe, setting), setting)
    except BaselinekitError as error:
        raise type(error)(*map(_move_to_execution, error.problems)) from None


def _move_to_execution(problem: Problem) -> Problem:
    """Return a problem of the request with its place in the recipe."""
    at = problem.at or ()
    is_from_execution = at[:2] == INPUT and at[2:3] in (("url",), ("headers",), ("auth",))
    return replace(problem, at=(*EXECUTION, *at[2:])) if is_from_execution else problem


def _request(recipe: Recipe, setting: Setting) -> Recipe:
    execution: PostExecution = recipe.execution
    conversation: ConversationInput = setting.scope.expand(recipe.input, INPUT)
    return Recipe(
        HttpRequest(
            "POST",
            url=execution.url,
            headers=execution.headers,
            auth=execution.auth,
            json=escape_variables_in(question_as_json(conversation, setting)),
            timeout=_TIMEOUT if execution.timeout is None else execution.timeout,
            redirects=0,
            retries=0,
        ),
        HttpExecution("http"),
    )


def question_as_json(conversation: ConversationInput, setting: Setting) -> dict[str, Json]:
    """Return the JSON by which a service, or a program that answers many cases at once, is asked about a
    case."""
    return {
        "id": conversation.case or setting.asker,
        "question": question_of(conversation),
        "messages": [message_as_json(message) for message in conversation.messages],
        "guideline_files": conversation.guideline_files,
        "input_files": conversation.input_files,
    }


def _answer(recipe: Recipe, observation: Observation, attempt: int) -> Observation:
    status, body = observation.output["status"], observation.output.get("body")
    source = KIND.whom(recipe)
    if not 200 <= status < 300:
        raise cannot_replay("BK794", f"{source} answered with status {status}", "check the service")
    seconds = observation.seconds
    parse = answer_of_text if isinstance(body, str) else answer_of_value
    answer = parse(body, seconds, source)
    return replace(answer, attempts=attempt, notes=(*observation.notes, *answer.notes))


ROW = Row(check_post, replay_post)
