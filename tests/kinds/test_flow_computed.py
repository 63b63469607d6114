"""What a flow computes of an answer: a count, a part of a text, a sum; and what it does not."""

import json
from typing import Any

import pytest
from replay_world import FakeDoors, answer

from baselinekit.errors import CannotReplay, InvalidInput
from baselinekit.kinds.dispatch import check, replay
from baselinekit.kinds.http import HttpExecution, HttpFlow, compute, is_computed, parse_expression, pick
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.model.values import Json
from baselinekit.structs import replace

BODY = {
    "items": [{"id": 2, "name": "b"}, {"id": 1, "name": "a"}],
    "name": "ORD-2024-17",
    "price": 2.5,
    "count": 4,
    "big": 10**30,
    "huge": 1e308,
    "vast": 10**400,
    "tags": ["red", "blue"],
    "on": True,
    "a-b": 7,
    "a * b": 8,
}
OUTPUT = {"status": 200, "headers": {}, "body": BODY}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$.body.items.`len`", 2),
        ("$.body.name.`len`", 11),
        ("$.body.name.`split(-, 0, 1)`", "ORD"),
        ("$.body.name.`split(-, 2, -1)`", "17"),
        ("$.body.tags.`sorted`", ["blue", "red"]),
        ("$.body.count.`str()`", "4"),
        ("$.body.items[?(@.id == 1)].name.`len`", 1),
        ("$.body.price * 2", 5.0),
        ("$.body.price * $.body.count", 10.0),
        ("$.body.count - 1", 3),
        ("$.body.count * 0.5", 2.0),
        ("$.body.big + 1", 10**30 + 1),
        ("$.body.tags[0] + $.body.name", "redORD-2024-17"),
    ],
)
def test_one_value_is_computed(text: str, value: Json) -> None:
    assert is_computed(text)
    parse_expression(text)
    found = pick(text, OUTPUT, "step login", ())
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [("$.body['a * b']", 8), ("$.body.a-b", 7), ("$.body.*.id", [2, 1]), ("items.*.id", [2, 1])],
)
def test_what_can_be_read_as_a_path_is_one(text: str, value: Json) -> None:
    output = {**OUTPUT, "body": {**BODY, "x": {"id": 2}, "y": {"id": 1}}}
    assert pick(text, output, "step login", ()) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("$.body.name.`sub(/(a+)+$/, b)`", "has the function `sub(/(a+)+$/, b)`, which is not known"),
        ("$.body.name.`parent`", "has the function `parent`, which is not known"),
        ("$.body.items[?(@.name =~ '(a+)+$')].`len`", "has a regular expression"),
        ("$..items..name.`len`", "has more than one `..`"),
        ("$.body.`len", "cannot be read"),
        ("$.body * * 2", "cannot be read"),
        ("$.body.`len` / 2", "cannot be read"),
        ("$.body.name.`split(-)`", "cannot be read"),
        ("$." + "a" * 200 + ".`len`", "is longer than 200 characters"),
    ],
)
def test_what_cannot_be_evaluated_is_found_before_anything_is_asked(
    text: str, why: str, setting: Setting
) -> None:
    fake = FakeDoors()
    first = HttpRequest(endpoint="/a", name="a", save={"v": text})
    flow = HttpFlow([first, HttpRequest(endpoint="/b")], {"n": f"a.{text}"})
    recipe = Recipe(flow, HttpExecution("http", base_url="http://api.test"))
    with pytest.raises(InvalidInput) as raised:
        check(recipe, replace(setting, clients=fake.clients))
    found = [(problem.code, problem.at) for problem in raised.value.problems]
    assert ("BK201", ("current", "input", "steps", 0, "save", "v")) in found
    assert ("BK201", ("current", "input", "collect", "n")) in found
    assert all(why in problem.message for problem in raised.value.problems)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("$.body.nothing.`len`", "gives 0 values"),
        ("$.body.items[*].id * 2", "gives 2 values"),
        ("$.body.nothing * 2", "gives 0 values"),
        ("$.body.name * 1000000000", "takes numbers"),
        ("$.body.tags * 1000000000", "takes numbers"),
        ("$.body.on + 1", "takes numbers"),
        ("$.body.huge * 10", "not a JSON number"),
        ("$.body.vast * 0.5", "too large"),
        ("$.body.items.`sorted`", "the values have other types"),
    ],
)
def test_anything_but_one_value_is_an_error_that_names_step_and_expression(text: str, why: str) -> None:
    with pytest.raises(CannotReplay) as raised:
        compute(text, OUTPUT, "step login")
    (problem,) = raised.value.problems
    assert problem.code == "BK313"
    assert [part for part in ("step login", text, why) if part not in problem.message] == []


def test_a_flow_hands_on_what_it_computed(setting: Setting) -> None:
    fake = FakeDoors(answer(json.dumps(BODY).encode()), answer(b'{"ok": true}'))
    saved = {"last": "$.body.items.`len`", "year": "$.body.name.`split(-, 1, -1)`"}
    steps = [
        HttpRequest(endpoint="/list", name="list", save=saved),
        HttpRequest(endpoint="/page/{{last}}", name="page", json={"year": "{{year}}", "last": "{{last}}"}),
    ]
    collect: dict[str, Any] = {"ok": "page.body.ok", "doubled": "list.$.body.price * 2"}
    recipe = Recipe(HttpFlow(steps, collect), HttpExecution("http", base_url="http://api.test"))
    setting = replace(setting, clients=fake.clients)
    check(recipe, setting)
    assert replay(recipe, setting).output == {"ok": True, "doubled": 5.0}
    assert fake.requests[1].url == "http://api.test/page/2"
    assert json.loads(fake.requests[1].content or b"") == {"year": "2024", "last": 2}


def test_compute_refuses_a_sum_of_texts_that_fills_the_memory() -> None:
    long_text = {"status": 200, "headers": {}, "body": {"text": "x" * 600_000}}
    with pytest.raises(CannotReplay, match="the text is too long"):
        compute("$.body.text + $.body.text", long_text, "step 1")
