"""A target that is a service: an address that receives the messages as JSON and gives the answer."""

from collections.abc import Iterator
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.kinds.http import check_headers, check_url
from baselinekit.kinds.kind import EXECUTION
from baselinekit.kinds.messages import ConversationKind, StatedConversation
from baselinekit.model.recipes import Auth, Recipe, Scalar, Seconds
from baselinekit.structs import Struct, field


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


KIND = PostKind()
