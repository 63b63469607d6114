"""The law of a rewrite: what it makes of the old value is the new one."""

import copy

from hypothesis import given, strategies as st

from baselinekit.model.values import Json
from baselinekit.values.changes import Hints, Rewrite, rewrite
from baselinekit.values.equality import identical
from baselinekit.values.places import with_values

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
def test_rewrite_turns_old_value_into_new(old: Json, new: Json, hints: Hints) -> None:
    before = copy.deepcopy((old, new))
    whole = rewrite(old, new, hints)
    assert (whole is None) == identical(old, new, hints.ordered)
    assert identical(applied(whole, old), new, hints.ordered)
    assert whole is None or identical(whole.value, new, hints.ordered)
    assert identical([*before], [old, new])
