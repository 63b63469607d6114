"""JSON, read strictly and written exactly."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from storehelp import same, values

from baselinekit.errors import InvalidInput
from baselinekit.files.jsontext import compact, dump_json, load_json, pretty


@pytest.mark.slow
@given(values)
def test_dump_json_reads_back_as_the_same(value: Any) -> None:
    for text in (dump_json(value), compact(value), pretty(value, "\t")):
        text.encode()
        assert same(load_json(text, "f"), value)


def test_load_json_keeps_every_digit() -> None:
    assert same(load_json("[1e400, 0.10, 9007199254740993]", "f"), [Decimal("1e400"), 0.1, 9007199254740993])
    assert compact([Decimal("1e400"), 1e16, 1, 0.5]) == "[1.0e+400, 1.0e+16, 1, 0.5]"


def test_dump_json_layout() -> None:
    assert (
        dump_json({"b": [], "a": [1, {"x": None}]})
        == '{\n  "b": [],\n  "a": [\n    1,\n    {\n      "x": null\n    }\n  ]\n}\n'
    )
    assert compact("a\u202e\ud800é") == '"a\\u202e\\ud800é"'


ERRORS = [
    ('{"a": 1,\n "a": 2}', "BK102 f:2:2: the key 'a' occurs twice: remove one of the two"),
    ('[\n{"y": 1, "\\u0079": 2}]', "BK102 f:2:10: the key 'y'"),
    ("[1,\n" + "1" * 1_100 + "]", "BK106 f:2:1: a number of more than 1,000 digits"),
    ('{"a": 1,}', "BK101 f:1:"),
    ('{"a": 1\n "b": 2}', "BK101 f:2:2: not valid JSON: expecting ',' delimiter"),
    ("", "BK101 f:1:1: not valid JSON"),
    ('{\n<<<<<<< HEAD\n"a": 1}', "BK101 f:2:1: an unresolved git conflict"),
    ("[1] 2", "BK101 f:1:5: not valid JSON: extra data"),
    ('["\x01"]', "BK101 f:1:3"),
    ("[" * 65 + "]" * 65, "BK106 f:1:65: nested deeper than 64 levels"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=[text[:20] for text, _ in ERRORS])
def test_load_json_mistake_has_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load_json(text, "f")


@pytest.mark.parametrize(
    "odd", [float("nan"), float("inf"), Decimal("NaN"), 10**1000, 10**5000], ids=range(5)
)
def test_dump_json_refuses_values_outside_json(odd: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be stored"):
        dump_json([{"a": 1}, {"a": odd}])
