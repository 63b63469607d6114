"""A target that is a service: an address that receives the messages as JSON and gives the answer."""

import random
from collections.abc import Iterator
from typing import Literal

from baselinekit.errors import BaselinekitError, CannotReplay, Problem, cannot_replay
from baselinekit.kinds.http import KIND as HTTP, HttpExecution, check_headers, check_url
from baselinekit.kinds.messages import (
    ConversationInput,
    ConversationKind,
    StatedConversation,
    answer_of_text,
    answer_of_value,
    message_as_json,
    question_of,
)
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting
from baselinekit.model.recipes import Auth, HttpRequest, Observation, Recipe, Scalar, Seconds
from baselinekit.model.values import Json
from baselinekit.secrets.variables import escape_variables_in
from baselinekit.structs import Struct, field, replace


class PostExecution(Struct):
    """The service that receives the messages, by POST. The answer is a text, or JSON: an answer as a program
    could give it (`{output_messages, token_usage, …}`), or any other value as it is. `retries`: how often the
    request is repeated if the service is unreachable or too busy."""

    type: Literal["post"]
    url: str
    headers: dict[str, Scalar] = field(default_factory=dict)
    auth: Auth | None = None
    timeout: Seconds | None = None
    retries: int | None = None
    serial: bool | None = None
    resource: str | None = None
    target: str = ""


class PostCurrent(Struct):
    """`current:` with a service that receives messages."""

    input: StatedConversation | str
    execution: PostExecution


_TIMEOUT = 120
_RETRIES = 2


_FIRST_WAIT, _LONGEST_WAIT, _SPREAD = 1.0, 60.0, 0.25
_RETRIED_STATUSES = frozenset((408, 429, 500, 502, 503, 504))
_UNREACHED = "BK301"


def _waits(retries: int) -> Iterator[float]:
    """Yield the waits before retries, each about twice as long as the last, with jitter."""
    for number in range(retries):
        wait = min(_FIRST_WAIT * 2**number, _LONGEST_WAIT)
        yield wait * (1 - _SPREAD + 2 * _SPREAD * random.random())


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


class PostKind(ConversationKind):
    name = "post"
    execution = PostExecution
    currents = (PostCurrent,)
    asks_models = "sometimes"
    names_target = "url: …"

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from check_url(recipe.execution.url, (*EXECUTION, "url"))
        yield from check_headers(recipe.execution.headers, (*EXECUTION, "headers"))
        yield from super().check(recipe)

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        yield recipe.execution.url

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        execution: PostExecution = recipe.execution
        retries = _RETRIES if execution.retries is None else execution.retries
        request = _request(recipe, setting)
        for attempt, wait in enumerate((*_waits(retries), None), 1):
            try:
                observation = HTTP.replay(request, setting)
            except CannotReplay as error:
                if wait is None or all(problem.code != _UNREACHED for problem in error.problems):
                    raise
            else:
                status = observation.output["status"]
                if wait is None or status not in _RETRIED_STATUSES:
                    return _answer(recipe, observation, attempt)
            setting.clients.sleep(wait)
        raise AssertionError("the last wait is None")

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an address that is invalid or not allowed."""
        try:
            HTTP.check_replay(_request(recipe, setting), setting)
        except BaselinekitError as error:
            raise type(error)(*map(_move_to_execution, error.problems)) from None


KIND = PostKind()
