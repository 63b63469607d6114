"""What a new row or key takes from those beside it, and what stays literal."""

import pytest

from baselinekit.changes.changes import ComparisonRules, changes_of, merge_accepted
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text
from baselinekit.values.paths import render

A = "0190163d-8694-739b-aea5-966c26f8ad91"
B = "0190163d-8694-739b-aea5-966c26f8ad92"
AT, LATER, LONG_AGO = "2026-01-02T10:14:00Z", "2027-02-03T11:15:01Z", "2019-02-03T11:15:01Z"
SEEN_AT = 1_767_348_900.0
ID = "<<any_uuid>>"


def accepts(text: str, value: Json) -> bool:
    template = compile_text(text, PlaceholderContext())
    return not isinstance(template, str) and template.accepts(value, {})


def row(n: int, **more: Json) -> Json:
    return {"n": n, "ref": ID, **more}


UUID7, MOMENT = "<<any_uuid(7)>>", "<<any_iso_datetime>>"


@pytest.mark.parametrize(
    ("old", "new", "stored"),
    [
        # a row more
        ([row(1), row(2)], [row(1), row(2), {"n": 3, "ref": A}], [row(1), row(2), row(3)]),
        ([row(1), row(2)], [row(1), row(2), {"n": 3, "ref": "no"}], [row(1), row(2), {"n": 3, "ref": "no"}]),
        (
            [row(1, at=None), row(2, at=MOMENT)],
            [row(1, at=None), row(2, at=MOMENT), {"n": 3, "ref": A, "at": AT}],
            [row(1, at=None), row(2, at=MOMENT), row(3, at=MOMENT)],
        ),
        (["<<any_integer>>"] * 2, ["<<any_integer>>", "<<any_integer>>", 7], ["<<any_integer>>"] * 3),
        (
            [row(1, of=[row(11)]), row(2, of=[])],
            [row(1, of=[row(11)]), row(2, of=[{"n": 21, "ref": A}])],
            [row(1, of=[row(11)]), row(2, of=[row(21)])],
        ),
        # a new key in every row: an id, a moment, neither
        ([{}, {}], [{"id": A}, {"id": B}], [{"id": UUID7}, {"id": UUID7}]),
        ([{}, {}], [{"at": AT}, {"at": LATER}], [{"at": MOMENT}, {"at": MOMENT}]),
        ([{}, {}], [{"size": 5}, {"size": 9}], [{"size": 5}, {"size": 9}]),
        ([{"n": 1, "at": None}], [{"n": 1, "at": AT}], [{"n": 1, "at": MOMENT}]),
        # another name
        (
            [row(1), row(2)],
            [{"n": 1, "reference": A}, {"n": 2, "reference": B}],
            [{"n": 1, "reference": ID}, {"n": 2, "reference": ID}],
        ),
        # a value that was literal, and is another one now
        ([{"at": LATER}, {"at": ID}], [{"at": AT}, {"at": ID}], [{"at": AT}, {"at": ID}]),
        ({"text": f"at {ID}\nold"}, {"text": f"at {A}\nnew"}, {"text": f"at {ID}\nnew"}),
    ],
)
def test_changes_of_new_rows_takes_placeholders_of_their_siblings(old: Json, new: Json, stored: Json) -> None:
    shape, changes, _ = changes_of(old, new, ComparisonRules(accepts=accepts, seen_at=SEEN_AT))
    assert merge_accepted(shape, changes, range(len(changes))) == stored
    assert merge_accepted(shape, changes, ()) == old


def test_changes_of_a_removed_row_loses_no_placeholder() -> None:
    for old, new in (([row(1), row(2)], [row(2)]), ([row(1)], [{"n": 1, "reference": A}])):
        assert not [
            lost
            for change in changes_of(old, new, ComparisonRules(accepts=accepts, seen_at=SEEN_AT)).changes
            for lost in change.lost
        ]
    (change,) = changes_of(row(1), {"n": 1}, ComparisonRules(accepts=accepts, seen_at=SEEN_AT)).changes
    assert [render(lost.path) for lost in change.lost] == ["ref"]
