"""The changes between what is on file and what came back: which they are, what they put at risk, what is
lost, and that any part of them can be accepted by itself."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.changes.changes import NOT_ONE_ROW, ComparisonRules, changes_of, merge_accepted
from baselinekit.kinds.http import HTTP
from baselinekit.kinds.kind import OutcomePlace
from baselinekit.model.changes import Change
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text
from baselinekit.values.equality import identical
from baselinekit.values.paths import render

UUID = "0190163d-8694-739b-aea5-966c26f8ad91"


def accepts(text: str, value: Json) -> bool:
    template = compile_text(text, PlaceholderContext())
    return not isinstance(template, str) and template.accepts(value, {})


def found(old: Json, new: Json, arrays: dict[Path, str] | None = None) -> list[Change]:
    shape, changes, _ = changes_of(old, new, ComparisonRules(arrays or {}, accepts, outcomes=OUTCOMES))
    assert identical(merge_accepted(shape, changes, ()), old)
    return list(changes)


def shown(changes: list[Change]) -> list[str]:
    return [f"{change.kind} {render(change.path)} {change.risk}" for change in changes]


OUTCOMES: dict[Path, OutcomePlace] = {("status",): OutcomePlace(HTTP.judge_outcome)}
ROWS = [
    {"id": 1, "n": "a", "t": "<<any>>"},
    {"id": 2, "n": "b", "t": "<<any>>"},
    {"id": 3, "n": "c", "t": "<<any>>"},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ({"a": 1}, {"a": 2}, ["value a medium"]),
        ({"a": 1}, {"a": "1"}, ["retyped a high"]),
        ({"a": 1, "b": 2}, {"b": 2}, ["removed a high"]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ["order $ medium"]),
        ([1, 2, 3], [0, 1, 2, 3], ["added [0] low"]),
        ([1, 2, 3], [3, 1, 2], ["order $ medium"]),
        (ROWS, [ROWS[0], ROWS[2]], ["removed [1] medium"]),
        (ROWS, [ROWS[0], {"id": 2, "n": "b"}, ROWS[2]], ["removed [1].t high"]),
        (ROWS, [ROWS[2], {**ROWS[0], "n": "A"}, ROWS[1]], ["value [1].n medium", "order $ medium"]),
        ({"status": 200, "body": 1}, {"status": 503, "body": 1}, ["value status high"]),
        ({"status": 200, "body": 1}, {"status": 201, "body": 1}, ["value status medium"]),
        ({"body": {"status": 200}}, {"body": {"status": 500}}, ["value body.status medium"]),
        ("<<any_integer>>", "12", ["retyped $ high"]),
        ("<<any_integer>>", 1.5, ["value $ medium"]),
    ],
)
def test_changes_of_gives_kind_path_and_risk(old: Json, new: Json, wanted: list[str]) -> None:
    assert shown(found(old, new)) == wanted


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ({"a": "<<any_integer>>"}, {"a": "x"}, ["a <<any_integer>>"]),
        ({"a": "<<any_integer>>", "b": 1}, {"a": "<<any_integer>>", "b": 2}, []),
        (
            {"a": {"b": ["<<any_uuid>>", "x {{any_string}} y"]}, "c": 1},
            {"c": 1},
            ["a.b[0] <<any_uuid>>", "a.b[1] {{any_string}}"],
        ),
        ({"a": "/u/<<any_integer>>/<<any_uuid>>"}, {"a": "/v/1/2"}, ["a <<any_uuid>>"]),
    ],
)
def test_changes_of_names_lost_placeholders(old: Json, new: Json, lost: list[str]) -> None:
    assert [f"{render(one.path)} {one.text}" for c in found(old, new) for one in c.lost] == lost


def test_changes_of_pairs_rows_by_the_declared_key() -> None:
    old = [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    new = [{"k": "b", "v": 1}, {"k": "a", "v": 2}, {"k": "c", "v": 3}]
    changes = found(old, new, {(): "by k"})
    assert shown(changes) == ["value [0].v medium", "value [1].v medium", "added [2] low", "order $ medium"]
    assert [(change.before, change.after) for change in changes[:2]] == [(2, 1), (1, 2)]


def test_changes_of_restores_placeholders_of_a_moved_row() -> None:
    old = [{"id": 1, "n": "x"}, {"id": 2, "at": "<<any_iso_datetime>>", "u": "<<any_uuid>>", "m": "y"}]
    new = [{"id": 1, "n": "x"}, {"id": 7, "at": "2026-01-01T00:00:00Z", "u": UUID, "m": "y"}]
    changes = found(old, new)
    assert shown(changes) == ["value [1].id medium"]
    assert not changes[0].lost


TEMPLATE = [{"id": "<<any_uuid>>", "n": "<<any_string>>"}]
EACH = {(): "each"}


@pytest.mark.parametrize(
    ("new", "row"),
    [
        ([{**TEMPLATE[0], "mail": f"{n}@x.org"} for n in "abc"], {**TEMPLATE[0], "mail": "<<any_email>>"}),
        (
            [{**TEMPLATE[0], "on": True}, {**TEMPLATE[0], "on": None}],
            {**TEMPLATE[0], "on": "<<any_boolean|null>>"},
        ),
        ([{**TEMPLATE[0], "on": 1}, TEMPLATE[0]], {**TEMPLATE[0], "on": "<<any_integer?>>"}),
    ],
)
def test_changes_of_each_keeps_one_row(new: Json, row: Json) -> None:
    shape, changes, _ = changes_of(TEMPLATE, new, ComparisonRules(EACH, accepts))
    assert merge_accepted(shape, changes, range(len(changes))) == [row]
    assert all(change.path[0] == 0 for change in changes)


def test_changes_of_each_with_other_rows_is_high_risk() -> None:
    new = [TEMPLATE[0], {**TEMPLATE[0], "n": 5}]
    (change,) = found(TEMPLATE, new, EACH)
    assert (change.note, change.risk) == (NOT_ONE_ROW, "high")
    assert [one.text for one in change.lost] == ["<<any_uuid>>", "<<any_string>>"]


def test_merge_accepted_of_a_part() -> None:
    old = {"a": 1, "rows": ROWS, "b": {"x": 1, "y": "<<any>>"}}
    new = {"a": 2, "rows": [{"id": 0}, ROWS[0], ROWS[2]], "b": {"y": "<<any>>", "z": 3}}
    shape, changes, _ = changes_of(old, new, ComparisonRules())
    numbers = {render(change.path): change.number for change in changes}
    assert list(numbers) == ["a", "rows[0]", "rows[1]", "b.x", "b.z"]

    def only(*paths: str) -> Json:
        return merge_accepted(shape, changes, {numbers[path] for path in paths})

    assert only("a") == {**old, "a": 2}
    assert only("rows[0]") == {**old, "rows": [{"id": 0}, *ROWS]}
    assert only("rows[1]") == {**old, "rows": [ROWS[0], ROWS[2]]}
    assert only("b.z") == {**old, "b": {"x": 1, "y": "<<any>>", "z": 3}}


LEAVES = st.sampled_from([0, 1, 2, True, False, None, 1.5, "a", "<<any>>", "x <<any_hex>>", r"\<<any>>", ""])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from(["id", "name", "a", "b", "c"]), inner, max_size=4),
    ),
    max_leaves=20,
)


@pytest.mark.slow
@given(VALUES, VALUES, st.data())
def test_merge_accepted_of_none_all_and_a_part(old: Json, new: Json, data: st.DataObject) -> None:
    shape, changes, _ = changes_of(old, new, ComparisonRules())
    assert [change.number for change in changes] == list(range(len(changes)))
    assert identical(merge_accepted(shape, changes, ()), old)
    assert identical(merge_accepted(shape, changes, range(len(changes))), new)
    part = data.draw(st.sets(st.sampled_from(range(len(changes)))) if changes else st.just(set()))
    halfway = merge_accepted(shape, changes, part)
    shape, rest, _ = changes_of(halfway, new, ComparisonRules())
    assert identical(merge_accepted(shape, rest, range(len(rest))), new)
