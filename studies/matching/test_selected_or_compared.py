"""A leaf that no rule selects is compared, whatever selects its neighbours; what is selected is not. Which
places a selector selects is what the published cases of tests/values hold."""

import copy
from typing import Any

import pytest
import ruled
from hypothesis import assume, given, settings, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.model.baselines import Comparison
from baselinekit.model.values import Json, Path
from baselinekit.values.paths import find, parse

TERMS = ["@.a", "!@.a", "@.a == 1", "@.a != 'x'", "@.b < 2", "@.b <= @.a", "@.a == @.b", "@.a != @.b"]
TERMS += [
    "@.a == true",
    "@.b == null",
    "(@.a == 1) && (@.b == 'x')",
    "(@.c) || (@.a != @.b)",
    "!@.b || @.a < 1",
]
FILTERS = [f"[?({term})]" for term in TERMS]
BY_PLACE = ["[0]", "[-1]", "[7]", "[0,2]", "[-1,0]", "[1:]", "[:-1]", "[::2]", "[::-1]"]
ENDS = ["", "", ".a", ".in.b", ".in", "['a','b']", "..b"]
BEGINS = ["$.rows", "$.rows", "$.more", "$..rows", "$.", "$.more.c"]

scalars = st.sampled_from([0, 1, 1.0, 2, True, False, None, "x", "y", "1"])
members = st.dictionaries(st.sampled_from("abc"), scalars)
rows = st.lists(st.builds(lambda row, inner: {**row, "in": inner}, members, members), min_size=1, max_size=5)
documents = st.fixed_dictionaries({"rows": rows, "more": st.dictionaries(st.sampled_from("abc"), members)})
kinds = st.sampled_from(["ignore_fields", "ignore_values"])
orders: st.SearchStrategy[dict[str, Any]] = st.sampled_from([{}, {"arrays": {"**": "unordered"}}])


def selectors(*steps: str) -> st.SearchStrategy[list[str]]:
    parts = (st.sampled_from(options) for options in (BEGINS, ["", *steps], ENDS))
    texts = st.tuples(*parts).map("".join).filter(lambda text: text[-1] != "." and "...." not in text)
    return st.lists(texts.map(lambda text: text.replace("...", "..")), min_size=1, max_size=3)


def selected(texts: list[str], document: Json) -> list[set[Path]]:
    """The places that each rule selects."""
    try:
        return [{path for path, _ in find(parse(text), document)} for text in texts]
    except InvalidInput:
        assume(False)
        raise


def compared(stored: Json, came: Json, rules: dict[str, Any]) -> Comparison:
    try:
        return ruled.compare(stored, came, rules)
    except InvalidInput:  # such a baseline could never fail
        assume(False)
        raise


def leaves(value: Json, path: Path = ()) -> list[Path]:
    if not isinstance(value, dict | list) or not value:
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [leaf for key, item in items for leaf in leaves(item, (*path, key))]


def with_changed(document: Json, path: Path) -> Json:
    changed = copy.deepcopy(document)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = "changed"
    return changed


@pytest.mark.slow
@settings(max_examples=2_000)
@given(documents, selectors("[*]", *FILTERS, *BY_PLACE), kinds, orders, st.data())
def test_changed_leaf_fails_unless_a_rule_selects_it_on_both_sides(
    stored: Json, texts: list[str], kind: str, order: dict[str, Any], data: st.DataObject
) -> None:
    leaf = data.draw(st.sampled_from(leaves(stored)))
    came = with_changed(stored, leaf)
    above = {leaf[:count] for count in range(len(leaf) + 1)}
    sides = [[places & above for places in selected(texts, value)] for value in (stored, came)]
    found = compared(stored, came, {kind: texts, **order})
    if any(before & after for before, after in zip(*sides, strict=True)):
        assert found.passed, ruled.shown(found)
    elif not any(map(any, sides)):
        assert not found.passed


@pytest.mark.slow
@settings(max_examples=2_000)
@given(documents, selectors(*FILTERS), kinds, orders, rows, st.data())
def test_added_or_removed_row_fails_unless_it_is_selected(
    stored: Json, texts: list[str], kind: str, order: dict[str, Any], more: list[Json], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(stored["rows"])))
    longer = {**stored, "rows": [*stored["rows"][:at], more[0], *stored["rows"][at:]]}
    above = {("rows", at), ("rows",)}
    is_selected = any(places & above for places in selected(texts, longer))
    came = compared(stored, longer, {kind: texts, **order})
    assert came.passed == is_selected, ruled.shown(came)
    went = compared(longer, stored, {kind: texts, **order})
    if kind == "ignore_fields" or not is_selected:
        assert went.passed == is_selected, ruled.shown(went)
    for found, actual in ((came, longer), (went, stored)):
        assert found.passed or compared(found.resolved, actual, {kind: texts, **order}).passed
