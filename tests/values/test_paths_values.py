"""A value read at a path, and a copy with other values at some paths."""

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.values import Json, Path
from baselinekit.values.equality import identical
from baselinekit.values.places import children, value_at, with_values

VALUES = st.recursive(
    st.sampled_from([None, True, 1, 1.0, "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def places(value: Json, path: Path = ()) -> list[Path]:
    return [path, *(place for key, child in children(value) for place in places(child, (*path, key)))]


@given(VALUES, st.data())
def test_with_values_sets_chosen_places_only(value: Json, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(places(value)), unique=True, max_size=3))
    before = copy.deepcopy(value)
    after = with_values(value, {path: ["new", number] for number, path in enumerate(chosen)})
    assert identical(value, before)
    for path in places(value):
        above = [place for place in chosen if path[: len(place)] == place]
        below = [place for place in chosen if place[: len(path)] == path]
        if not above and not below:
            assert identical(value_at(after, path), value_at(before, path))
        elif path in chosen and above == [path]:
            assert value_at(after, path) == ["new", chosen.index(path)]


@pytest.mark.parametrize(
    ("value", "values", "after"),
    [
        ({"a": 1}, {("b", "c"): 2}, {"a": 1, "b": {"c": 2}}),
        (None, {("a", "b"): 1}, {"a": {"b": 1}}),
        ({"a": None}, {("a", "b"): 1}, {"a": {"b": 1}}),
        ([1, 2], {(1,): "x", (0,): "y"}, ["y", "x"]),
        ({"a": [1]}, {("a",): 2, ("a", 0): 3}, {"a": 2}),
        ([1], {(): 2}, 2),
    ],
)
def test_with_values_creates_missing_mappings(value: Json, values: dict[Path, Json], after: Json) -> None:
    assert with_values(value, values) == after


@pytest.mark.parametrize(
    ("value", "path"), [([1], (1,)), ([1], ("a",)), ("text", (0,)), (True, ("a",)), ({"a": 1}, ("a", "b"))]
)
def test_with_values_impossible_place_is_an_error(value: Any, path: Path) -> None:
    with pytest.raises(LookupError):
        with_values(value, {path: 1})
