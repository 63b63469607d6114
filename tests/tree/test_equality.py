"""What is written out as bytes: equal bytes mean equal values, types included, however they came about."""

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from baselinekit.documents.jsontext import MAX_DEPTH
from baselinekit.matching.values import literal_bytes
from baselinekit.model.values import Json
from baselinekit.tree.equality import bytes_of, is_written_as

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


def large(value: Json) -> list[Json]:
    return [*(f"row {n}" for n in range(20_000)), value]


@pytest.mark.parametrize(("one", "other"), TWINS, ids=repr)
@pytest.mark.parametrize("around", [lambda value: value, lambda value: {"a": [value]}, large])
def test_what_is_not_the_same_has_other_bytes(around: object, one: Json, other: Json) -> None:
    assert callable(around)
    left, right = around(one), around(other)
    data = bytes_of(left)
    assert data is not None
    assert data != bytes_of(right)
    assert is_written_as(left, data)
    assert is_written_as(copy.deepcopy(left), data)
    assert not is_written_as(right, data)


@pytest.mark.parametrize("at", [0, 10_000, 19_999])
def test_one_other_value_shows_wherever_it_stands(at: int) -> None:
    data = bytes_of(large(None)) or b""
    other = large(None)
    other[at] = "another"
    assert not is_written_as(other, data)
    assert not is_written_as(large(None)[:at], data)
    assert not is_written_as([*large(None), None], data)


def test_it_does_not_matter_which_objects_are_shared() -> None:
    value = [SHARED, SHARED, SHARED[0], [SHARED]]
    assert bytes_of(value) == bytes_of(json.loads(json.dumps(value)))


def test_threads_do_not_write_into_each_others_bytes() -> None:
    values = [[f"{n}"] * 2_000 for n in range(64)]
    wanted = [bytes_of(value) for value in values]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(bytes_of, values)) == wanted


@pytest.mark.parametrize("depth", [49, 50, 51, MAX_DEPTH, MAX_DEPTH + 9])
def test_what_is_as_deep_as_json_may_be_has_bytes(depth: int) -> None:
    def nested(value: Json) -> Json:
        for n in range(depth):
            value = [value, value] if n < 3 else {"key": value, "twin": SHARED}
        return value

    data = bytes_of(nested(1))
    assert data is not None
    assert is_written_as(json.loads(json.dumps(nested(1))), data)
    assert not is_written_as(nested(True), data)


@pytest.mark.slow
def test_what_is_too_deep_has_no_bytes_and_spoils_none() -> None:
    deep: Json = 1
    for _ in range(100_000):
        deep = [deep]
    before = bytes_of([1])
    assert bytes_of(deep) is None
    assert not is_written_as(deep, b"x" * 1_000_000)
    assert bytes_of([1]) == before
    while isinstance(deep, list):  # or its end would be as deep
        deep = deep.pop()


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
        assert literal_bytes(value) is None


@pytest.mark.parametrize(
    "value", ["a << b", "<<<<<<<", "<<Any>>", "<<any", "{{name}}", "\\", 0x3C3C, 0x3C3C613E3E, {"<": "<"}]
)
def test_what_only_looks_like_one_is(value: Json) -> None:
    assert literal_bytes(value) is not None
    assert literal_bytes([value, 1.5]) is not None
