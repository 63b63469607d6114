"""Equal bytes mean equal values, types included, however they came about."""

import copy
import json
from decimal import Decimal

import pytest

from baselinekit.files.jsontext import MAX_DEPTH
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import holds_marker
from baselinekit.values.equality import bytes_of

SHARED: list[Json] = ["shared", {"key": 1}]
TWINS: list[tuple[Json, Json]] = [
    (1, True),
    (0, False),
    (1, 1.0),
    (0.0, -0.0),
    (1, Decimal(1)),
    (2**53, float(2**53)),
    ([], {}),
    ("1", 1),
    ("", None),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("é", "e\u0301"),
    ("\ud800", "\udfff"),
]


@pytest.mark.parametrize(("one", "other"), TWINS, ids=repr)
@pytest.mark.parametrize("around", [lambda value: value, lambda value: {"a": [value]}])
def test_what_is_not_the_same_has_other_bytes(around: object, one: Json, other: Json) -> None:
    assert callable(around)
    left, right = around(one), around(other)
    assert bytes_of(left) != bytes_of(right)
    assert bytes_of(left) == bytes_of(copy.deepcopy(left))


def test_it_does_not_matter_which_objects_are_shared() -> None:
    value = [SHARED, SHARED, SHARED[0], [SHARED]]
    assert bytes_of(value) == bytes_of(json.loads(json.dumps(value)))


@pytest.mark.parametrize("depth", [49, 50, 51, MAX_DEPTH, MAX_DEPTH + 9])
def test_what_is_as_deep_as_json_may_be_has_bytes(depth: int) -> None:
    def nested(value: Json) -> Json:
        for n in range(depth):
            value = [value, value] if n < 3 else {"key": value, "twin": SHARED}
        return value

    assert bytes_of(nested(1)) == bytes_of(json.loads(json.dumps(nested(1))))
    assert bytes_of(nested(1)) != bytes_of(nested(True))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "<<any>>",
            "<<any?>>",
            "<<any|null>>",
            "<<any as k>>",
            "<<any\u2003as k>>",
            "<<any(1)>>",
            "<<any}}",
        ),
        *("{{any_x}}", r"\<<any>>", r"\<< x", r"\{{any_x}}", "<<<any>>"),
    ],
)
def test_no_text_that_may_be_a_placeholder_is_literal(text: str) -> None:
    for value in (text, {"a": [f"x{text}"]}, [5.5, f"{text}x"]):
        assert holds_marker(value)


@pytest.mark.parametrize(
    "value", ["a << b", "<<<<<<<", "<<Any>>", "<<any", "{{name}}", "\\", 0x3C3C, 0x3C3C613E3E, {"<": "<"}]
)
def test_what_only_looks_like_one_is(value: Json) -> None:
    assert not holds_marker(value)
    assert not holds_marker([value, 1.5])
