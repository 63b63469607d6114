"""A target that is a service: an address that receives the messages as JSON and gives the answer."""

import random
from collections.abc import Iterator
from typing import Literal

from baselinekit.errors import BaselinekitError, CannotReplay, Problem, cannot_replay
from baselinekit.kinds.http import HTTP, HttpExecution, check_headers, check_url
from baselinekit.kinds.messages import (
    ConversationKind,
    StatedConversation,
    answer_of_text,
    answer_of_value,
    question_as_json,
)
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting
from baselinekit.model.recipes import Auth, HttpRequest, Observation, Recipe, Scalar, Seconds
from baselinekit.secrets.variables import escape_variables_in
from baselinekit.structs import Struct, field, replace

_TIMEOUT = 120
_RETRIES = 2
_LONGEST_WAIT = 60.0
_RETRIED_STATUSES = frozenset((408, 429, 500, 502, 503, 504))
_UNREACHED = "BK301"


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

    def request(self, recipe: Recipe, setting: Setting) -> Recipe:
        execution: PostExecution = recipe.execution
        question = question_as_json(setting.scope.expand(recipe.input, INPUT), setting.asker)
        return Recipe(
            HttpRequest(
                "POST",
                url=execution.url,
                headers=execution.headers,
                auth=execution.auth,
                json=escape_variables_in(question),
                timeout=_TIMEOUT if execution.timeout is None else execution.timeout,
                redirects=0,
                retries=0,
            ),
            HttpExecution("http"),
        )

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        retries = _RETRIES if recipe.execution.retries is None else recipe.execution.retries
        request, source = self.request(recipe, setting), self.whom(recipe)
        for attempt in range(retries + 1):
            if attempt:  # each wait is about twice as long as the last
                spread = 0.75 + random.random() / 2
                setting.clients.sleep(min(2.0 ** (attempt - 1), _LONGEST_WAIT) * spread)
            try:
                observation = HTTP.replay(request, setting)
            except CannotReplay as error:
                if attempt == retries or all(problem.code != _UNREACHED for problem in error.problems):
                    raise
                continue
            if observation.output["status"] not in _RETRIED_STATUSES:
                break
        status, body = observation.output["status"], observation.output["body"]
        if not 200 <= status < 300:
            raise cannot_replay("BK794", f"{source} answered with status {status}", "check the service")
        read = answer_of_text if isinstance(body, str) else answer_of_value
        answer = read(body, observation.seconds, source)
        return replace(answer, attempts=attempt + 1, notes=(*observation.notes, *answer.notes))

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an address that is invalid or not allowed."""

        def in_recipe(problem: Problem) -> Problem:
            at = problem.at or ()
            is_own = at[:2] == INPUT and at[2:3] in (("url",), ("headers",), ("auth",))
            return replace(problem, at=(*EXECUTION, *at[2:])) if is_own else problem

        try:
            HTTP.check_replay(self.request(recipe, setting), setting)
        except BaselinekitError as error:
            raise type(error)(*map(in_recipe, error.problems)) from None


POST = PostKind()
