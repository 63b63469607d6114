"""The laws of a change: what it makes of the old value is the new one; all of its sites together make the new
value, none of them the old one, and some of them a value that only what is left of the change makes new."""

import copy

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.values import Json
from baselinekit.values.changes import (
    Hints,
    Rewrite,
    restrict_to_sites,
    rewrite,
    rewrite_at,
    rooted,
    sites,
    with_rewrite_at,
)
from baselinekit.values.equality import identical
from baselinekit.values.places import value_at, with_values

VALUES = st.recursive(
    st.sampled_from([None, True, 1, 1.0, 2, "x", "y"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=10,
)
HINTS = st.sampled_from([Hints(), Hints(ordered=True), Hints({(): "a", ("*",): "b"})])


def applied(whole: Rewrite | None, old: Json) -> Json:
    """The new value as a writer makes it: entry by entry from what the old value has."""
    if whole is None:
        return old
    if whole.entries is None:
        return whole.value
    made = [
        (entry.name, entry.value if entry.old is None else applied(entry.rewrite, old[entry.old]))
        for entry in whole.entries
    ]
    if not whole.rebuilt:
        return with_values(old, {(name,): value for name, value in made})
    return (
        {str(name): value for name, value in made} if isinstance(old, dict) else [value for _, value in made]
    )


@given(VALUES, VALUES, HINTS)
def test_a_change_makes_the_old_value_the_new_one(old: Json, new: Json, hints: Hints) -> None:
    before = copy.deepcopy((old, new))
    whole = rewrite(old, new, hints)
    assert (whole is None) == identical(old, new, hints.ordered)
    assert identical(applied(whole, old), new, hints.ordered)
    assert whole is None or identical(whole.value, new, hints.ordered)
    assert identical([*before], [old, new])


@given(VALUES, VALUES, HINTS, st.data())
def test_all_sites_make_the_new_value_none_the_old_and_some_what_lies_between(
    old: Json, new: Json, hints: Hints, data: st.DataObject
) -> None:
    whole = rewrite(old, new, hints)
    if whole is None:
        return
    places = list(sites(whole))
    every = restrict_to_sites(whole, old, {*places})
    assert every is not None
    assert identical(every.value, new, hints.ordered)
    assert restrict_to_sites(whole, old, set()) is None
    some = data.draw(st.sets(st.sampled_from(places)))
    part, rest = restrict_to_sites(whole, old, some), restrict_to_sites(whole, old, {*places} - some)
    between = old if part is None else part.value
    assert identical(applied(part, old), between, hints.ordered)
    assert (rest is None) == identical(between, new, hints.ordered)


@pytest.mark.parametrize(
    ("old", "new", "site", "between"),
    [
        ([None, True, True, True], [None, [], None], (3,), [None, True, True, None]),
        ([[None]], [None, []], (0,), [[]]),
    ],
)
def test_a_part_of_a_list_that_moved_is_changed_where_it_was(
    old: Json, new: Json, site: tuple[int], between: Json
) -> None:
    whole = rewrite(old, new, Hints())
    assert whole is not None
    part = restrict_to_sites(whole, old, {site})
    assert part is not None
    assert part.value == between
    assert [(entry.old, entry.name) for entry in part.entries or ()] == [(site[0], site[0])]
    assert applied(part, old) == between


@given(VALUES, VALUES, HINTS)
def test_a_change_at_a_path_of_a_document_is_found_there(old: Json, new: Json, hints: Hints) -> None:
    inner = rewrite(old, new, hints)
    if inner is None:
        return
    document = {"other": [1, 2], "list": ["first", {"value": old}]}
    path = ("list", 1, "value")
    whole = rooted(inner, document, path)
    assert rewrite_at(whole, path) == inner
    assert rewrite_at(whole, ("other",)) is None
    assert identical(applied(whole, document), with_values(document, {path: new}), hints.ordered)
    assert identical(value_at(whole.value, path), new, hints.ordered)
    plainest = with_rewrite_at(whole, path, Rewrite(new))
    assert rewrite_at(plainest, path) == Rewrite(new)
    assert identical(applied(plainest, document), with_values(document, {path: new}), hints.ordered)
