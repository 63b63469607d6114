"""A kind of recipe that a test adds: a call of a remote procedure, answered by a code and a message."""

from collections.abc import Iterator
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.files.jsontext import decode, to_bytes
from baselinekit.kinds.kind import OutcomePlace, RecipeKind
from baselinekit.kinds.settings import INPUT, Setting
from baselinekit.model.recipes import Observation, Recipe, Request
from baselinekit.model.values import Json, Path
from baselinekit.structs import Struct, field
from baselinekit.values.texts import Mask


class GrpcInput(Struct):
    method: str
    message: dict[str, Json] = field(default_factory=dict)


class GrpcExecution(Struct):
    type: Literal["grpc"]
    base_url: str | None = None
    timeout: int | float | None = None


class GrpcCurrent(Struct):
    input: GrpcInput
    execution: GrpcExecution


class GrpcKind(RecipeKind):
    name = "grpc"
    execution = GrpcExecution
    currents = (GrpcCurrent,)
    parts = ("code", "trailers", "message")
    answer = "message"
    headers = "trailers"
    asks_address = True

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        if "/" not in recipe.input.method:
            yield Problem("BK108", "a method is SERVICE/METHOD", "", at=(*INPUT, "method"))

    def outcomes(self, recipe: Recipe) -> dict[Path, OutcomePlace]:
        return {("code",): OutcomePlace(self.judge_outcome)}

    def judge_outcome(self, number: int, step: str) -> tuple[int, str]:
        return 2 if number in (13, 14) else int(number > 0), f"the call ended with code {number}"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"grpc {base_url}/{recipe.input.method}"

    def group(self, recipe: Recipe, base_url: Json) -> str:
        service: str = recipe.input.method.partition("/")[0]
        return service

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        base = recipe.execution.base_url or setting.surroundings.base_url
        url = f"{base}/{recipe.input.method}"
        response = setting.clients.send(Request("POST", url, content=to_bytes(recipe.input.message)))
        return Observation(decode(response.body.decode()), response.seconds)


GRPC = GrpcKind()
