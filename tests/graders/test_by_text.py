"""Graders of texts and of JSON by rules: verdicts, reasons and problems."""

import json
from typing import Any

import pytest
from cases import case, exactly, graded

from baselinekit.graders.base import GradeClients
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import Contains, ExactMatch, MustInclude, RegexMatch
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Grader
from baselinekit.placeholders.table import RegexBudget

PATIENT = GradeClients(regex_budget=RegexBudget)


@pytest.mark.parametrize(
    ("output", "expected", "how", "passed"),
    [
        (" olleh\n", "olleh", {}, True),
        (" olleh", "olleh", {"trim_whitespace": False}, False),
        ("a\r\nb", "a\nb", {}, True),
        ("a\rb", "a\nb", {}, False),  # a lone CR is no line end
        ("OLLEH", "olleh", {"case_sensitive": False}, True),
        ('Here:\n```json\n{"a": 1}\n```\n', {"a": 1}, {}, True),
        ({"a": True}, {"a": 1}, {}, False),
        ({"a": 1}, '{"a": 1}', {}, False),
    ],
)
def test_h20_exact_match_normalizes(output: Any, expected: Any, how: dict[str, Any], passed: bool) -> None:
    found = graded(output, ExactMatch(**how), exactly(expected))
    assert (found.outcome, found.score) == (("passed", 1.0) if passed else ("failed", 0.0))
    details = graded(" A\r\nB ", ExactMatch(case_sensitive=False), exactly("X")).details
    assert details == {"expected": "x", "actual": "a\nb"}


LISTS = MustInclude((Contains(all=["a", "b"]), Contains(all=["d"]), Contains(all=["c"], none=["z"])))


@pytest.mark.parametrize(
    ("method", "expected", "output", "outcome", "alternative"),
    [
        (ExactMatch(), exactly("a", "b", "c"), "c", "passed", 2),
        (Contains(), exactly(["one", "two"], ["two", "three"]), "two three", "passed", 1),
        (Contains(), exactly(["one", "two"], ["two", "three"]), "one three", "failed", None),
        (RegexMatch(), exactly("^x", "^a", type="pattern"), "abc", "passed", 1),
        (LISTS, None, "c", "passed", 2),
        (LISTS, None, "c z", "failed", None),
    ],
)
def test_h2_h3_alternative_that_matches_passes_and_is_named(
    method: Any, expected: Any, output: str, outcome: str, alternative: int | None
) -> None:
    found = graded(output, method, expected, PATIENT)
    assert (found.outcome, found.details.get("alternative")) == (outcome, alternative)


@pytest.mark.parametrize(
    ("output", "how", "passed", "captures"),
    [
        ("function add(a, b) {", {"pattern": r"^function\s+\w+\s*\([^)]*\)\s*\{"}, True, None),
        ("x\nFUNCTION f() {", {"pattern": r"^function", "flags": ["multiline", "ignorecase"]}, True, None),
        ("the password", {"pattern": "password", "must_match": False}, False, None),
        ("v1.2", {"pattern": r"v(\d)\.(\d)", "capture_groups": ["major", "minor"]}, True, ["1", "2"]),
        ("v1.2", {"pattern": r"v(?P<minor>\d)\.(?P<major>\d)", "capture_groups": ["major"]}, True, ["2"]),
    ],
)
def test_h21_h22_regex_with_flags_and_captures(
    output: str, how: dict[str, Any], passed: bool, captures: list[str] | None
) -> None:
    found = graded(output, RegexMatch(**how), clients=PATIENT)
    assert (found.outcome, found.score) == (("passed", 1.0) if passed else ("failed", 0.0))
    details = {"pattern": how["pattern"], "matched": passed == how.get("must_match", True)}
    assert {key: value for key, value in found.details.items() if key != "captures"} == details
    assert list(found.details.get("captures", {}).values()) == (captures or [])


@pytest.mark.slow
def test_f22_h22_regex_that_takes_too_long_is_an_error() -> None:
    found = graded("a" * 500 + "b", RegexMatch(pattern="(a|a)*$"), clients=PATIENT)
    assert (found.outcome, found.score, found.code) == ("error", None, "BK215")


@pytest.mark.parametrize(
    ("how", "expected", "passed", "missing"),
    [
        ({"all": ["one", "six"]}, None, False, ["six"]),
        ({"any": ["six", "ten"]}, None, False, ["six", "ten"]),
        ({"none": ["one"]}, None, False, None),
        ({"all": ["TWO"], "case_sensitive": False}, None, True, None),
        ({}, exactly("six", "ten"), False, ["six"]),
    ],
)
def test_h2_h3_contains_texts(
    how: dict[str, Any], expected: Any, passed: bool, missing: list[str] | None
) -> None:
    found = graded("one Two three", Contains(**how), expected)
    assert (found.outcome, found.details.get("missing")) == ("passed" if passed else "failed", missing)


def test_h5_must_include_names_missing_and_unwanted_texts() -> None:
    how = MustInclude((Contains(all=["PostgreSQL 14+", "/api/v1/users"], none=["deprecated"]),))
    found = graded("PostgreSQL 14+ is needed; MySQL is deprecated", how)
    lists = {"found": ["PostgreSQL 14+"], "missing": ["/api/v1/users"], "unwanted": ["deprecated"]}
    assert (found.outcome, found.details) == ("failed", lists)


ID = {"type": "string", "pattern": "^[0-9]+$"}
SCHEMA = {"required": ["id"], "properties": {"id": ID}, "patternProperties": {"^x-": {"type": "integer"}}}
LINE = {"type": "object", "required": ["sku", "count"], "properties": {"count": {"minimum": 1}}}
ORDER = {
    "required": ["lines"],
    "additionalProperties": False,
    "properties": {"lines": {"maxItems": 40, "items": {"anyOf": [LINE, {"type": "string"}]}}},
}


@pytest.mark.parametrize(
    ("output", "schema", "reason"),
    [
        ('```json\n{"id": "12", "x-n": 1}\n```', SCHEMA, ""),
        ({"id": "1", "x-n": "1"}, SCHEMA, "x-n: '1' is not of type 'integer'"),
        ('{"lines": ["a", {"sku": "b", "count": 1}]}', ORDER, ""),
        ("{}", ORDER, "$: 'lines' is a required property"),
        (
            '{"lines": ["a", {"sku": "b", "count": 0}]}',
            ORDER,
            "lines[1]: {'sku': 'b', 'count': 0} is not valid under any of the given schemas "
            "(nearest: lines[1].count: 0 is less than the minimum of 1)",
        ),
        ('{"lines": [\n"a",\n"b"\n"c"]}', ORDER, "it is not JSON: line 4: Expecting ',' delimiter"),
    ],
)
def test_e4_json_schema_names_each_violation_with_its_place(output: Any, schema: Any, reason: str) -> None:
    found = graded(output, JsonSchema(schema=schema), clients=PATIENT)
    assert (found.outcome, found.reason) == ("failed" if reason else "passed", reason)


def test_e4_json_schema_violations_are_in_order_and_cut() -> None:
    output = {"lines": [True] * 12 + [None] * 12 + ["x" * 100_000] * 30}
    violations = graded(output, JsonSchema(schema=ORDER), clients=PATIENT).details["violations"]
    places = ["lines", *(f"lines[{n}]" for n in range(19)), "and more"]
    assert [line.partition(":")[0] for line in violations] == places
    assert max(map(len, violations)) < 600


def test_json_schema_from_a_file_is_read_and_a_remote_one_is_never_fetched() -> None:
    files = {"user.schema.json": json.dumps(SCHEMA)}
    clients = GradeClients(text=files.__getitem__, regex_budget=RegexBudget)
    found = graded({"id": "1"}, JsonSchema(schema_file="user.schema.json"), clients=clients)
    assert found.outcome == "passed"
    elsewhere = {"$ref": "http://127.0.0.1:9/schema.json"}
    found = graded({"id": "1"}, JsonSchema(schema=elsewhere), clients=PATIENT)
    assert (found.outcome, found.code) == ("error", "BK702")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (RegexMatch("("), "not a regular expression"),
        (RegexMatch(r"^function\s+\w+", capture_groups=["name"]), "has no group for 'name'"),
        (RegexMatch(), "without a pattern"),
        (JsonSchema({"type": "objekt"}), "objekt"),
        (JsonSchema({}, "x.json"), "one schema"),
        (JsonSchema({"pattern": "("}), "'('"),
    ],
)
def test_h22_regex_and_json_schema_problems(method: Any, message: str) -> None:
    grader = Grader("g", "code", method)
    assert message in "; ".join(problem.message for problem in problems_of(grader, case(grader)))
