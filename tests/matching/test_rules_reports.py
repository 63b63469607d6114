"""Reports about the rules themselves: those that matched nothing, hid too much, or let nothing fail."""

from typing import Any

import pytest
import ruled

from baselinekit.errors import InvalidInput
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, Known
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import PlaceholderContext

STORED = {"users": [{"id": 1, "name": "Ada"}], "meta": {"total": 1}}


def reports(rules: dict[str, Any], actual: Json = STORED, stored: Json = STORED) -> list[tuple[str, str]]:
    return [(report.rule, report.kind) for report in ruled.compare(stored, actual, rules).reports]


@pytest.mark.parametrize(
    ("rules", "is_stale"),
    [
        ({"ignore_fields": ["users.*.idd"]}, True),
        ({"ignore_fields": ["$.users[?(@.id > 1)].name"]}, True),
        ({"tolerance": {"meta.size": {"abs": 1}}}, True),
        ({"arrays": {"userz": "unordered"}}, True),
        ({"fields": {"users.*.bio": {"type": "semantic", "method": "words"}}}, True),
        ({"ignore_fields": ["users.*.id"]}, False),
        ({"tolerance": {"meta.total": {"abs": 1}, "**.total": {"abs": 2}, "*": {"abs": 3}}}, False),
        ({"require_keys": ["users"]}, False),
    ],
)
def test_reports_rule_that_matched_nothing_as_stale(rules: dict[str, Any], is_stale: bool) -> None:
    assert reports(rules) == [(path, "stale") for paths in rules.values() for path in paths if is_stale]


def test_reports_rule_that_matched_only_the_answer_not_as_stale() -> None:
    actual = {**STORED, "etag": 1, "users": [{"id": 1, "name": "Ada", "seen": 2}]}
    assert reports({"ignore_fields": ["etag", "users.*.seen"]}, actual) == []
    stale = [("etag", "stale"), ("users.*.seen", "stale")]
    assert reports({"ignore_fields": ["etag", "users.*.seen"]}) == stale


def test_stale_report_names_nearest_path_and_place_of_rule() -> None:
    found = ruled.compare(STORED, STORED, {"ignore_fields": ["meta.total", "users.*.nmae"]})
    (report,) = found.reports
    assert report.message == "ignore_fields: users.*.nmae matched nothing: did you mean 'users.*.name'?"
    assert report.at == ("comparison", "ignore_fields", 1)


@pytest.mark.parametrize(
    ("actual", "hid"),
    [({"id": "x"}, "id was number, is string"), ({"id": 2}, ""), ({"id": None}, ""), ({}, "")],
)
def test_reports_ignore_rule_that_hid_change_of_type(actual: Json, hid: str) -> None:
    for kind in ("ignore_fields", "ignore_values"):
        found = ruled.compare({"id": 1, "a": 1}, {**actual, "a": 1}, {kind: ["id"]})
        shown = [report.message for report in found.reports]
        assert shown == ([f"{kind}: id hid a change of type: {hid}"] if hid else [])


def test_reports_ignored_placeholder_hides_no_change_of_type() -> None:
    assert reports({"ignore_fields": ["id"]}, {"id": 5, "a": 1}, {"id": "<<any_uuid>>", "a": 1}) == []


def test_numeric_comparison_reports_number_of_uncompared_values() -> None:
    found = ruled.compare({"n": 1, "a": ["x", {"b": None}], "c": True}, {"n": 1}, {"type": "numeric"})
    assert [(report.kind, report.message) for report in found.reports] == [
        ("uncompared", "3 values other than numbers: not compared (type: numeric)")
    ]


@pytest.mark.parametrize(
    ("stored", "rules"),
    [
        ({"a": 1, "b": 2}, {"ignore_fields": ["a", "b"]}),
        ({"a": 1}, {"ignore_fields": ["$"]}),
        ({"a": 1}, {"ignore_values": ["$"]}),
        ({"a": "x"}, {"type": "numeric"}),
        ("x", {"type": "numeric"}),
    ],
)
def test_matcher_rules_that_ignore_everything_are_refused(stored: Json, rules: dict[str, Any]) -> None:
    """F10."""
    with pytest.raises(InvalidInput, match="BK224"):
        ruled.matcher(stored, rules)


@pytest.mark.parametrize(
    ("stored", "rules"),
    [
        ({"a": 1}, {"ignore_values": ["a"]}),
        ({"a": []}, {"ignore_values": ["a.*"]}),
        ({"a": 1}, {"ignore_fields": ["a"], "require_keys": ["a"]}),
        ({}, {}),
        ("<<any>>", {}),
    ],
)
def test_matcher_rules_that_compare_something_are_accepted(stored: Json, rules: dict[str, Any]) -> None:
    ruled.matcher(stored, rules)


FAULTY = ["".join(("<<any_", end)) for end in ("uid>>", "uid>>")]  # two equal texts, and not one
WRONG: list[tuple[Json, dict[str, Any], str, Path]] = [
    ({"a": 1}, {"ignore_fields": ["x", "a["]}, "BK201", ("comparison", "ignore_fields", 1)),
    ({"a": 1}, {"arrays": {"..": "unordered"}}, "BK201", ("comparison", "arrays", "..")),
    ({"a": 1}, {"min_similarity": 0.5}, "BK203", ("comparison", "min_similarity")),
    ({"a": 1}, {"tolerance": {"a": {"rel": float("nan")}}}, "BK108", ("comparison", "tolerance", "a", "rel")),
    ({"a": 1}, {"tolerance": {"a": {"min_delta": 1, "max_delta": 0}}}, "BK108",
     ("comparison", "tolerance", "a", "min_delta")),
    ({"a": 1}, {"fields": {"a": {"tolerance": {"abs": -1}}}}, "BK108",
     ("comparison", "fields", "a", "tolerance", "abs")),
    ({"a": ["x", {"b": "<<any_uid>>"}]}, {}, "BK212", ("baseline", "output", "a", 1, "b")),
    ({"a": FAULTY[0], "b": FAULTY[1]}, {"ignore_fields": ["a"]}, "BK212", ("baseline", "output", "b")),
    ("<<any_uuid(x>>", {}, "BK211", ("baseline", "output")),
    ({"a": [{"id": 1}, {"x": 1}]}, {"arrays": {"a": {"by": "id"}}}, "BK221", ("baseline", "output", "a")),
    ({"a": [{"id": 1}, {"id": 1}]}, {"arrays": {"a": {"by": "id"}}}, "BK221", ("baseline", "output", "a")),
    ({"a": [{"id": "<<any>>"}]}, {"arrays": {"a": {"by": "id"}}}, "BK221", ("baseline", "output", "a")),
    ({"a": [1]}, {"type": "exact", "arrays": {"a": "unordered"}}, "BK221", ("baseline", "output", "a")),
]  # fmt: skip


@pytest.mark.parametrize(("stored", "rules", "code", "at"), WRONG)
def test_matcher_mistake_has_its_place(stored: Json, rules: dict[str, Any], code: str, at: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        ruled.matcher(stored, rules)
    assert [(problem.code, problem.at) for problem in caught.value.problems] == [(code, at)]


@pytest.mark.parametrize("name", ["body", "$.body", "**"])
def test_arrays_rule_names_array_that_is_the_body(name: str) -> None:
    stored, came = {"status": 200, "body": [1, 2, 3]}, {"status": 200, "body": [3, 1, 2]}
    assert ruled.compare(stored, came, {"arrays": {name: "unordered"}}, "http").passed
    (difference,) = ruled.compare(stored, came, {}, "http").differences
    assert "arrays: {'body': unordered}" in (difference.note or "")


def test_matcher_reports_all_mistakes_at_once() -> None:
    stored = {"a": "<<any_uid>>", "b": ["<<any(>>", {"c": "<<regex('(')>>"}], "d": [1]}
    rules = {"ignore_fields": ["["], "min_similarity": 0.5}
    with pytest.raises(InvalidInput) as caught:
        ruled.matcher(stored, rules)
    assert sorted(problem.code for problem in caught.value.problems) == [
        "BK201", "BK203", "BK211", "BK212", "BK214",
    ]  # fmt: skip


def test_arrays_rule_that_names_no_array_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"BK203 .*not an array \(object\).*name the array") as raised:
        ruled.matcher({"body": [1]}, {"arrays": {"$": "unordered"}}, "http")
    assert raised.value.problems[0].at == ("comparison", "arrays", "$")


@pytest.mark.parametrize("known", [None, Known()])
def test_compile_baseline_without_output_is_refused(known: Known | None) -> None:
    with pytest.raises(InvalidInput, match="BK223"):
        compile_baseline(Baseline("x", ruled.RECIPES["http"], baseline=known), PlaceholderContext())


def test_matcher_arrays_lists_arrays_with_own_comparison() -> None:
    stored = {"a": ["<<any>>"], "b": [1, 2], "c": [{"id": 1}], "d": ["x << y"], "e": [["<<any>>", 1]]}
    ready = ruled.matcher(stored, {"arrays": {"b": "unordered", "c": {"by": "id"}}})
    assert ready.arrays == {("a",): "each", ("b",): "unordered", ("c",): "by id", ("e",): "each"}


def test_matcher_type_defaults_by_output() -> None:
    assert [ruled.matcher(stored).type for stored in ("text", {"a": 1}, ["x"], None)] == [
        "exact", "structural", "structural", "structural",
    ]  # fmt: skip
    assert ruled.matcher("text", {"type": "semantic", "method": "words"}).type == "semantic"


@pytest.mark.parametrize("output", [{}, {"headers": {}}])
def test_matcher_output_without_anything_to_compare_is_refused(output: Json) -> None:
    with pytest.raises(InvalidInput, match="BK224 the output contains nothing to compare"):
        ruled.matcher(output, {}, "http")
