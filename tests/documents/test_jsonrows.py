"""Many rows are written together as each of them is by itself."""

from collections import OrderedDict
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from baselinekit.documents.jsontext import compact, dump_json, json_string, pretty
from baselinekit.errors import InvalidInput

NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.just(10**501))
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=30)
ODD = st.sampled_from(
    ["\x7f", "\n", "a\u200bb", "\ud800", "é", '"', "\\", "],\n[", "%s", "100%", "null", "N"]
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, DECIMALS, st.text(max_size=5), ODD)
KEYS = st.one_of(st.sampled_from(["id", "%d", "\u2028", ""]), st.text(max_size=3))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=8,
)
ONE_KEY = st.sampled_from(
    [1, 2.5, "a", 1e-9, "\x7f", None, True, 10**501, Decimal("1.10"), [], {}, [1], {"a": 1}]
)


@st.composite
def tables(draw: st.DrawFn) -> list[Any]:
    """Twenty rows and more, most of them with the same keys."""
    keys = draw(st.lists(KEYS, max_size=4, unique=True))
    choices = {key: draw(st.lists(st.one_of(ONE_KEY, VALUES), min_size=1, max_size=3)) for key in keys}
    rows = [{key: draw(st.sampled_from(choices[key])) for key in keys} for _ in range(20)]
    return [*rows, *draw(st.lists(VALUES, max_size=3))]


def slowly(value: Any, step: str, indent: str, newline: str) -> str:
    if not isinstance(value, dict | list) or not value:
        return compact(value)
    inner = f"{newline}{indent}{step}"
    if isinstance(value, list):
        items = [slowly(item, step, indent + step, newline) for item in value]
        return f"[{inner}{f',{inner}'.join(items)}{newline}{indent}]"
    items = [
        f"{json_string(key)}: {slowly(item, step, indent + step, newline)}" for key, item in value.items()
    ]
    return f"{{{inner}{f',{inner}'.join(items)}{newline}{indent}}}"


@given(st.one_of(tables(), tables().map(lambda rows: {"a": [rows, rows]})), st.sampled_from(["\n", "\r\n"]))
@example([1.5] * 30, "\n")
@example([[n, str(n)] for n in range(30)], "\n")
@example([{str(n): n} for n in range(30)], "\n")
@example([{"a": [[], [1, [2]], []][n % 3], "b": {}} for n in range(30)], "\n")
@example([OrderedDict(b=[1])] * 30, "\n")
@example([1, "x" * 501] * 30, "\n")
def test_together_they_are_written_as_each_by_itself(value: Any, newline: str) -> None:
    assert pretty(value, "  ", " ", newline) == slowly(value, "  ", " ", newline)


@pytest.mark.parametrize(
    "odd", [float("nan"), float("inf"), Decimal("NaN"), 10**1000, 10**5000], ids=range(5)
)
def test_what_no_json_can_hold_is_refused_among_many_too(odd: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be stored"):
        dump_json([{"a": 1}] * 40 + [{"a": odd}] * 40)
