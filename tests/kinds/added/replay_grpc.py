"""How the kind of kinds_grpc.py is replayed: its call goes out as JSON."""

from baselinekit.errors import InvalidInput
from baselinekit.files.jsontext import decode, to_bytes
from baselinekit.kinds.kind import INPUT
from baselinekit.model.recipes import Observation, Recipe, Request
from baselinekit.replaying.settings import Row, Setting, undefined_in


def replay_grpc(recipe: Recipe, setting: Setting) -> Observation:
    base = recipe.execution.base_url or setting.surroundings.base_url
    url = f"{base}/{recipe.input.method}"
    response = setting.clients.send(Request("POST", url, content=to_bytes(recipe.input.message)))
    return Observation(decode(response.body.decode()), response.seconds)


def check_grpc(recipe: Recipe, setting: Setting) -> None:
    problems = list(undefined_in(recipe.input, setting.scope, INPUT))
    if problems:
        raise InvalidInput(*problems)


ROW = Row(check_grpc, replay_grpc)
