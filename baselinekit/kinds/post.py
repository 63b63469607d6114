"""A target that is a service: an address that receives the messages as JSON and gives the answer."""

from collections.abc import Iterator
from typing import Literal

from baselinekit.errors import Problem, cannot_replay
from baselinekit.kinds import http, messages
from baselinekit.kinds.kind import current_form
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting
from baselinekit.model.recipes import Auth, HttpRequest, Observation, Recipe, Request, Scalar
from baselinekit.secrets.variables import escape_variables_in
from baselinekit.structs import Count, Name, Struct, TimeLimit, field, replace

_TIMEOUT = 120
_RETRIES = 2
_RETRIED_STATUSES = frozenset((408, 429, 500, 502, 503, 504))


class PostExecution(Struct):
    """The service that receives the messages, by POST. The answer is a text, or JSON: an answer as a program
    could give it (`{output_messages, token_usage, …}`), or any other value as it is. `retries`: how often the
    request is repeated if the service is unreachable or too busy."""

    type: Literal["post"]
    url: str
    headers: dict[str, Scalar] = field(default_factory=dict)
    auth: Auth | None = None
    timeout: TimeLimit | None = None
    retries: Count | None = None
    serial: bool | None = None
    resource: Name | None = None
    target: str = ""


class PostKind(messages.ConversationKind):
    name = "post"
    execution = PostExecution
    currents = (current_form("Post", messages.StatedConversation | str, PostExecution),)
    asks_models = "sometimes"
    names_target = "url: …"

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from http.check_url(recipe.execution.url, (*EXECUTION, "url"))
        yield from http.check_headers(recipe.execution.headers, (*EXECUTION, "headers"))
        yield from super().check(recipe)

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        yield recipe.execution.url

    def request(self, recipe: Recipe, setting: Setting) -> Request:
        execution: PostExecution = recipe.execution
        question = messages.question_as_json(setting.scope.expand(recipe.input, INPUT), setting.asker)
        request = HttpRequest(
            "POST",
            url=execution.url,
            headers=execution.headers,
            auth=execution.auth,
            json=escape_variables_in(question),
            timeout=_TIMEOUT if execution.timeout is None else execution.timeout,
        )
        return http.admitted(request, http.HttpExecution("http"), setting, EXECUTION)

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        retries = _RETRIES if recipe.execution.retries is None else recipe.execution.retries
        request, source = self.request(recipe, setting), self.whom(recipe)
        response, tries = http.ask_with_retries(request, retries, setting, _RETRIED_STATUSES)
        if not 200 <= response.status < 300:
            message = f"{source} answered with status {response.status}"
            raise cannot_replay("BK794", message, "check the service")
        body = http.read_answer(response, request)
        read = messages.answer_of_text if isinstance(body.value, str) else messages.answer_of_value
        answer = read(body.value, response.seconds, source)
        notes = (body.note, *answer.notes) if body.note else answer.notes
        return replace(answer, attempts=tries, notes=notes)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an address that is invalid or not allowed."""
        super().check_replay(recipe, setting)
        self.request(recipe, setting)


POST = PostKind()
