"""What a flow computes of an answer: a count, a part of a text, a sorted list."""

import pytest
from replay_world import FakeClients

from baselinekit.errors import CannotReplay, InvalidInput
from baselinekit.kinds.dispatch import check
from baselinekit.kinds.http import HttpExecution, HttpFlow, pick
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.model.values import Json
from baselinekit.structs import replace

BODY = {
    "items": [{"id": 2, "name": "b"}, {"id": 1, "name": "a"}],
    "name": "ORD-2024-17",
    "count": 4,
    "tags": ["red", "blue"],
    "on": True,
    "headers": {"X-Id": "7"},
}
OUTPUT = {"status": 200, "headers": {"location": "/orders/17"}, "body": BODY}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("items[0].id", 2),
        ("items.*.id", [2, 1]),
        ("body.name", "ORD-2024-17"),
        ("$.status", 200),
        ("tags", ["red", "blue"]),
        ("headers.X-Id", "7"),
        ("$.body.items.`len`", 2),
        ("$.body.name.`len`", 11),
        ("$.body.name.`split(-, 0, 1)`", "ORD"),
        ("$.body.name.`split(-, 2, -1)`", "17"),
        ("$.headers.Location.`split(/, 2, -1)`", "17"),
        ("$.body.tags.`sorted`", ["blue", "red"]),
        ("$.body.count.`str()`", "4"),
        ("$.body.items[?(@.id == 1)].name.`len`", 1),
        ("$.body.items[*].id.`len`", 2),
    ],
)
def test_pick_gives_a_value_or_computes_one(text: str, value: Json) -> None:
    found = pick(text, OUTPUT, "step login", ())
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        "$.body.name.`sub(/(a+)+$/, b)`", "$.body.name.`parent`", "$.body.`keys`", "$.body.`len",
        "$.body.`len`.name", "$.body.name.`split(-)`", "$.body.price * 2",
    ],
)  # fmt: skip
def test_check_flow_unknown_function_is_an_error(text: str, setting: Setting) -> None:
    fake = FakeClients()
    first = HttpRequest(endpoint="/a", name="a", save={"v": text})
    flow = HttpFlow([first, HttpRequest(endpoint="/b")], {"n": f"a.{text}"})
    recipe = Recipe(flow, HttpExecution("http", base_url="http://api.test"))
    with pytest.raises(InvalidInput) as raised:
        check(recipe, replace(setting, clients=fake.clients))
    found = [(problem.code, problem.at) for problem in raised.value.problems]
    assert ("BK201", ("current", "input", "steps", 0, "save", "v")) in found
    assert ("BK201", ("current", "input", "collect", "n")) in found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("$.body.nothing.`len`", "nothing at"),
        ("$.body.count.`len`", "cannot be computed from number"),
        ("$.body.on.`sorted`", "cannot be computed from boolean"),
        ("$.body.items.`sorted`", "cannot be computed from array"),
    ],
)
def test_pick_function_of_wrong_type_names_step_and_path(text: str, why: str) -> None:
    with pytest.raises(CannotReplay) as raised:
        pick(text, OUTPUT, "step login", ())
    (problem,) = raised.value.problems
    assert problem.code == "BK313"
    assert [part for part in ("step login", text, why) if part not in problem.message] == []
