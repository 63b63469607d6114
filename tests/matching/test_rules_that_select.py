"""What a filter, an index or a slice leaves out, case by case; what ranks before what; the default last."""

import itertools
from typing import Any

import pytest
import ruled
from hypothesis import given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json

ADMIN = {"id": 1, "role": "admin", "mfa": True}
USER = {"id": 2, "role": "user", "mfa": False}
GUEST = {"id": 2, "role": "guest", "mfa": None}
NOT_ADMIN = "users[?(@.role != 'admin')]"

Row = tuple[str, str, list[Json], list[Json], bool, bool]
FILTERED: list[Row] = [
    # what it shows, the path, stored, came, whether it passes as ignore_fields, and as ignore_values
    ("an admin who changed", NOT_ADMIN, [ADMIN], [{**ADMIN, "mfa": False}], False, False),
    ("nothing came", NOT_ADMIN, [ADMIN], [], False, False),
    ("a user who changed", NOT_ADMIN, [ADMIN, USER], [ADMIN, GUEST], True, True),
    ("a user who is gone", NOT_ADMIN, [ADMIN, USER], [ADMIN], True, False),
    ("a user who came", NOT_ADMIN, [ADMIN, USER], [ADMIN, USER, GUEST], True, True),
    ("a user who is elsewhere", NOT_ADMIN, [USER, ADMIN], [ADMIN, USER], True, True),
    ("an admin who became a user", NOT_ADMIN, [ADMIN], [{**ADMIN, "role": "user"}], False, False),
    ("a user who became an admin", NOT_ADMIN, [USER, ADMIN], [{**USER, "role": "admin"}, ADMIN], False,
     False),
    ("an admin who came", NOT_ADMIN, [USER], [USER, ADMIN], False, False),
    ("the field of a user", f"{NOT_ADMIN}.mfa", [USER], [{**USER, "mfa": True}], True, True),
    ("the field of an admin", f"{NOT_ADMIN}.mfa", [ADMIN], [{**ADMIN, "mfa": False}], False, False),
    ("the last of more", "users[-1]", [1, 2], [1, 3, 4], False, False),
]  # fmt: skip


@pytest.mark.parametrize("row", FILTERED, ids=[row[0] for row in FILTERED])
@pytest.mark.parametrize("free", [False, True], ids=["ordered", "unordered"])
def test_ignore_rule_with_filter_allows_only_what_it_selects(row: Row, free: bool) -> None:
    _, path, stored, came, fields, values = row
    for kind, passes in (("ignore_fields", fields), ("ignore_values", values)):
        rules: dict[str, Any] = {kind: [f"$.{path}"]}
        if free:
            rules["arrays"] = {"users": "unordered"}
        found = ruled.compare({"n": 1, "users": stored}, {"n": 1, "users": came}, rules)
        assert found.passed == passes, (kind, ruled.shown(found))


def test_ignored_row_takes_no_partner_from_compared_row() -> None:
    rules: dict[str, Any] = {"ignore_fields": ["$.rows[0]"], "arrays": {"rows": "unordered"}}
    assert ruled.compare({"n": 1, "rows": [{}, ADMIN]}, {"n": 1, "rows": [ADMIN, ADMIN]}, rules).passed
    assert ruled.compare({"n": 1, "rows": [7, "<<any>>", 3]}, {"n": 1, "rows": [3, 3, 3]}, rules).passed
    assert not ruled.compare({"n": 1, "rows": [{}, ADMIN]}, {"n": 1, "rows": [ADMIN, USER]}, rules).passed
    assert not ruled.compare({"n": 1, "rows": [{}, ADMIN]}, {"n": 1, "rows": [1, ADMIN, ADMIN]}, rules).passed


EQUAL: list[tuple[dict[str, Any], Json, bool]] = [
    ({"tolerance": {"*.b": {"abs": 5}, "a.*": {"min_delta": 1}}}, 1, False),
    ({"tolerance": {"*.b": {"abs": 5}, "a.*": {"min_delta": 1}}}, 3, True),
    ({"tolerance": {"a.b": {"abs": 5}}, "fields": {"a.b": {"tolerance": {"abs": 1}}}}, 3, False),
    ({"tolerance": {"a.b": {"abs": 5}}, "fields": {"a.b": {"tolerance": {"abs": 2}}}}, 3, True),
    ({"tolerance": {"a.b": {"abs": 5}}, "fields": {"a.b": {"type": "exact"}}}, 3, False),
    ({"tolerance": {"**.a": {"abs": 5}, "**.b": {"abs": 1}}}, 3, False),
    ({"tolerance": {"**.a": {"abs": 1}, "**.b": {"abs": 5}}}, 2, True),
    ({"tolerance": {"a.*": {"abs": 1}, "a.b": {"abs": 5}}}, 3, True),
]


@pytest.mark.parametrize(("rules", "came", "passes"), EQUAL)
def test_tolerance_equally_specific_rules_all_apply(rules: dict[str, Any], came: Json, passes: bool) -> None:
    assert ruled.compare({"a": {"b": 1}, "x": 2}, {"a": {"b": came}, "x": 2}, rules).passed == passes


@pytest.mark.parametrize("stored", [None, "text", [], {}, {"x": "y"}, ["x"]])
def test_numeric_field_without_number_must_be_present(stored: Json) -> None:
    rules = {"fields": {"m": {"type": "numeric"}, "rows.*": {"type": "numeric"}}}
    assert ruled.compare({"n": 1, "m": stored}, {"n": 1, "m": "other"}, rules).passed
    assert not ruled.compare({"n": 1, "m": stored}, {"n": 1}, rules).passed
    assert not ruled.compare({"rows": [stored, {"id": 4}]}, {"rows": [{"id": 4}]}, rules).passed


def test_subset_compared_row_must_be_present() -> None:
    for kind, absent in (("ignore_fields", True), ("ignore_values", False)):
        rules: dict[str, Any] = {kind: [f"$.{NOT_ADMIN}"], "arrays": {"users": "subset"}}
        assert ruled.compare({"users": [ADMIN, USER]}, {"users": [GUEST, ADMIN, 7]}, rules).passed
        assert ruled.compare({"users": [ADMIN, USER]}, {"users": [ADMIN]}, rules).passed == absent
        assert not ruled.compare({"users": [ADMIN, USER]}, {"users": [USER, GUEST]}, rules).passed


@pytest.mark.parametrize("how", ["ordered", "unordered", {"by": "id"}])
@pytest.mark.parametrize("kind", ["ignore_fields", "ignore_values"])
def test_resolved_keeps_ignored_rows(kind: str, how: Any) -> None:
    rules: dict[str, Any] = {kind: [f"$.{NOT_ADMIN}"], "arrays": {"users": how}}
    came = [GUEST, {**ADMIN, "mfa": False}]
    found = ruled.compare({"users": [USER, ADMIN]}, {"users": came}, rules)
    assert found.resolved == {"users": [USER, {**ADMIN, "mfa": False}]}


MEMBERS: list[tuple[Json, Json, bool]] = [
    ({"x": {"on": False, "n": 1}}, {"x": {"on": False, "n": 2}}, True),
    ({"x": {"on": True, "n": 1}}, {"x": {"on": True, "n": 2}}, False),
    ({"x": {"on": False, "n": 1}}, {"x": {"on": True, "n": 1}}, False),
    ({"x": {"on": False, "n": 1}}, {}, True),
    ({}, {"x": {"on": True, "n": 1}}, False),
]


@pytest.mark.parametrize(("stored", "came", "passes"), MEMBERS)
def test_ignore_rule_with_filter_applies_to_object_members(stored: Json, came: Json, passes: bool) -> None:
    rules = {"ignore_fields": ["$.m[?(@.on == false)]"]}
    assert ruled.compare({"n": 1, "m": stored}, {"n": 1, "m": came}, rules).passed == passes


@pytest.mark.parametrize(
    ("came", "passes"),
    [
        ({"role": "user", "n": 2}, True),
        ({"role": "admin", "n": 2}, False),
        ({"role": "admin", "n": 1}, True),
        ({"role": 7, "n": 1}, False),
    ],
)
@pytest.mark.parametrize("sign", ["!= 'admin'", "== 'user'"])
@pytest.mark.parametrize("how", ["ordered", "each", "unordered", {"by": "id"}])
def test_filter_on_placeholder_reads_actual_value(
    how: Any, sign: str, came: dict[str, Json], passes: bool
) -> None:
    stored = {"id": 1, "role": "<<any_string>>", "n": 1}
    rules = {"ignore_fields": [f"$.rows[?(@.role {sign})].n"], "arrays": {"rows": how}}
    found = ruled.compare({"rows": [stored]}, {"rows": [{"id": 1, **came}]}, rules)
    assert found.passed == passes, ruled.shown(found)


def test_index_rule_in_template_array_applies_to_its_element() -> None:
    stored = {"rows": [{"id": "<<any_integer>>", "n": 1}]}
    rules = {"ignore_fields": ["$.rows[0].n"]}
    assert ruled.compare(stored, {"rows": [{"id": 1, "n": 2}, {"id": 2, "n": 1}]}, rules).passed
    found = ruled.compare(stored, {"rows": [{"id": 1, "n": 2}, {"id": 2, "n": 2}]}, rules)
    assert ruled.shown(found) == [["rows[1].n", "value"]]


KEYED: list[tuple[list[Json], list[Json], bool, bool]] = [
    ([ADMIN, USER], [ADMIN, GUEST], True, True),
    ([ADMIN, USER], [ADMIN], True, False),
    ([ADMIN, USER], [{**ADMIN, "mfa": False}, USER], False, False),
    ([ADMIN, USER], [ADMIN, {**USER, "role": "admin"}], False, False),
    ([ADMIN], [ADMIN, {**ADMIN, "id": 3}], False, False),
    ([ADMIN, {"role": "x"}], [ADMIN, {"role": "y"}], True, True),
    ([ADMIN, USER, USER], [ADMIN, USER, USER], True, True),
    ([ADMIN], [ADMIN, "text", None], True, True),
]


@pytest.mark.parametrize(("stored", "came", "fields", "values"), KEYED)
def test_ignore_rule_with_filter_applies_to_rows_by_key(
    stored: list[Json], came: list[Json], fields: bool, values: bool
) -> None:
    for kind, passes in (("ignore_fields", fields), ("ignore_values", values)):
        rules = {kind: [f"$.{NOT_ADMIN}"], "arrays": {"users": {"by": "id"}}}
        for order in itertools.permutations(came):
            found = ruled.compare({"users": stored}, {"users": [*order]}, rules)
            assert found.passed == passes, (kind, ruled.shown(found))


def test_tolerance_element_among_ignored_ones_is_still_compared() -> None:
    rules: dict[str, Any] = {"ignore_values": ["$.n[*]"], "tolerance": {"$.n[0]": {"abs": 1}}}
    assert ruled.compare({"n": [1, 5]}, {"n": [2, 9]}, rules).passed
    assert ruled.compare({"n": [1, 5]}, {"n": [2]}, rules).passed
    assert ruled.compare({"n": [1, 5]}, {"n": [2, 7, 8, 9]}, rules).passed
    assert not ruled.compare({"n": [1, 5]}, {"n": [4, 5]}, rules).passed
    assert not ruled.compare({"n": [1, 5]}, {"n": []}, rules).passed


@pytest.mark.parametrize("body", [[], {}, "x", 1])
@pytest.mark.parametrize("kind", ["ignore_fields", "ignore_values"])
@pytest.mark.parametrize("path", ["*", "[*]", "*.*"])
def test_ignore_rule_wildcard_for_whole_response_is_refused(path: str, kind: str, body: Json) -> None:
    stored = {"status": 200, "headers": {"x": "y"}, "body": body}
    with pytest.raises(InvalidInput) as caught:
        ruled.compare(stored, stored, {kind: [path]}, "http")
    assert "BK204" in [problem.code for problem in caught.value.problems]


WIDE: dict[str, Json] = {"abs": 100}
CLOSE: dict[str, Json] = {"abs": 0.01}


@pytest.mark.parametrize(
    ("paths", "passes"),
    [
        ({"*": WIDE, "**.price": CLOSE}, False),
        ({"*": CLOSE, "**.price": WIDE}, True),
        ({"*": WIDE, "**.a.**.**.price": CLOSE}, False),
        ({"$..price": WIDE, "**.price": CLOSE}, False),
        ({"$.body.a.price": CLOSE, "body.a.price": WIDE}, False),
        ({"body.*.price": WIDE, "$.body[?(@.price > 0)].price": CLOSE}, False),
        ({"body.a.*": {"min_delta": 0}, "body.*.price": {"max_delta": 9}}, False),
        ({"body.a.*": {"min_delta": 0}, "body.*.price": {"max_delta": 90}}, True),
    ],
)
def test_tolerance_more_specific_path_wins(paths: dict[str, dict[str, Json]], passes: bool) -> None:
    stored, came = ({"status": 200, "body": {"a": {"price": price}}} for price in (1.0, 50.0))
    for order in itertools.permutations(paths.items()):
        assert ruled.compare(stored, came, {"tolerance": dict(order)}, "http").passed == passes


@pytest.mark.parametrize("path", ["**.x", "**.a.**.x", "**.a.**.**.x", "$..x", "*.x", "body.a.x"])
@pytest.mark.parametrize("kind", ["ignore_fields", "ignore_values"])
def test_default_tolerance_does_not_compare_ignored_values(kind: str, path: str) -> None:
    stored, came = ({"status": 200, "body": {"a": {"x": n, "y": 1}}} for n in (1, 900))
    rules = {kind: [path], "tolerance": {"*": {"abs": 0}}}
    assert ruled.compare(stored, came, rules, "http").passed


ADMINS_PRICE = {"$.rows[?(@.role == 'admin')].price": {"abs": 5}}


@pytest.mark.parametrize("further", [{}, {"ignore_fields": ["$.rows[?(@.role == 'nobody')].x"]}])
def test_tolerance_filter_reads_the_stored_side(further: dict[str, Any]) -> None:
    """A rule that leaves something out elsewhere does not let a tolerance hold for more."""
    stored = {"rows": [{"role": "<<any_string>>", "price": 1}]}
    came = {"rows": [{"role": "admin", "price": 3}]}
    rules = {"tolerance": ADMINS_PRICE, "arrays": {"rows": "ordered"}, **further}
    assert not ruled.compare(stored, came, rules).passed


@pytest.mark.parametrize("path", ["$.rows[?(@.on == true)].x", "$..[?(@.on == true)].x"])
@pytest.mark.parametrize("further", [[], ["$.rows[?(@.on == true)].y", "$.rows[?(@.on == false)].y"]])
def test_ignored_key_of_element_selected_on_one_side_is_compared(path: str, further: list[str]) -> None:
    on, off = {"n": 1, "rows": [{"on": True, "x": 1}]}, {"n": 1, "rows": [{"on": False}]}
    rules = {"ignore_fields": ["**.on", path, *further]}
    assert ruled.shown(ruled.compare(off, on, rules)) == [["rows[0].x", "extra"]]
    assert ruled.shown(ruled.compare(on, off, rules)) == [["rows[0].x", "missing"]]


@pytest.mark.parametrize("rules", [{"type": "exact"}, {"fields": {"tags": {"type": "exact"}}}])
def test_arrays_ordered_rule_in_exact_comparison_is_accepted(rules: dict[str, Any]) -> None:
    rules = {**rules, "arrays": {"tags": "ordered"}}
    assert ruled.compare({"tags": [1, 2]}, {"tags": [1, 2]}, rules).passed
    assert not ruled.compare({"tags": [1, 2]}, {"tags": [2, 1]}, rules).passed
    assert not ruled.compare({"tags": [1, 2]}, {"tags": [1, 2.0]}, rules).passed


PATHS = ["**.a", "**", "a.b", "*.b", "a.*", "a.**", "**.b", "$.a[?(@ > 0)]", "$..[?(@.b)]", "*", "a", "*.*"]
PATHS += ["r.*", "r[0]", "$.r[0,1]", "$.r[0:2]", "$.r[-1]", "$.r[?(@ == 1)]"]
BOUNDS: list[Json] = [{"abs": 0}, {"abs": 1}, {"abs": 9}, {"rel": 0.5}, {"min_delta": 0}]
ARRAYS = ["r", "*", "**", "**.r"]


@pytest.mark.slow
@given(st.data())
def test_compare_order_of_rules_does_not_matter(data: st.DataObject) -> None:
    def some(paths: list[str], values: list[Any]) -> dict[str, Any]:
        chosen = data.draw(st.lists(st.sampled_from(paths), max_size=3, unique=True))
        return {path: data.draw(st.sampled_from(values)) for path in chosen}

    def judged(rules: dict[str, Any]) -> Any:
        try:
            found = ruled.compare({"a": {"b": 1, "c": 2}, "b": 3, "r": [1, 2, 3]}, came, rules)
        except InvalidInput as error:
            return sorted(problem.message for problem in error.problems)
        return found.passed, ruled.shown(found)

    a, c, b, *rows = data.draw(st.lists(st.integers(-2, 9), min_size=6, max_size=6))
    came: Json = {"a": {"b": a, "c": c}, "b": b, "r": rows}
    rules: dict[str, Any] = {kind: [*some(PATHS, [None])] for kind in ("ignore_fields", "ignore_values")}
    rules["tolerance"] = some(PATHS, BOUNDS)
    rules["arrays"] = some(ARRAYS, ["unordered", "ordered", "subset"])
    rules["fields"] = some(PATHS[:8], [{"type": "exact"}, {"type": "numeric"}])
    turned = {kind: [*rule][::-1] if isinstance(rule, list) else dict(reversed(rule.items()))
              for kind, rule in rules.items()}  # fmt: skip
    assert judged(rules) == judged(turned)


NEED_NOT_BE_THERE: list[tuple[Json, Json, dict[str, Any]]] = [
    ({"names": ["x"], "n": 1}, {"n": 1}, {"type": "numeric", "ignore_fields": ["names.*"]}),
    ({"names": ["x"], "n": 1}, {"n": 1, "names": 2}, {"type": "numeric", "ignore_values": ["names.*"]}),
    ({"a": ["x", "y"], "n": 1}, {"n": 1}, {"type": "numeric", "ignore_fields": ["$.a[?(@ == 'x')]"]}),
    ({"a": "<<any?>>", "n": 1}, {"n": 1}, {"ignore_values": ["a"]}),
    ([{"n": 1, "a": "<<any?>>"}, {"n": 1, "a": "x"}], [{"n": 1}, {"n": 1, "a": "y"}],
     {"ignore_values": ["$[*].a"]}),
]  # fmt: skip


@pytest.mark.parametrize(("stored", "actual", "rules"), NEED_NOT_BE_THERE, ids=str)
def test_ignore_rule_never_makes_comparison_stricter(
    stored: Json, actual: Json, rules: dict[str, Any]
) -> None:
    assert ruled.compare(stored, actual, rules).passed
    without = {key: rule for key, rule in rules.items() if not key.startswith("ignore")}
    assert ruled.compare(stored, stored, without).passed
    rows = [{"n": 1, "a": "<<any?>>"}, {"n": 1, "a": "x"}]
    assert not ruled.compare(rows, [{"n": 1}, {"n": 1}], {"ignore_values": ["$[*].a"]}).passed
