"""A result file read back: the same report, and whatever is not what we write is told with its place."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st
from report.reports import report, result, spot

from baselinekit.errors import InvalidInput
from baselinekit.model.grades import OUTCOMES, Attempt, Classified, Grade
from baselinekit.model.recipes import ModelUsage, Usage
from baselinekit.model.results import (
    CaseFacts,
    Coverage,
    Metric,
    Report,
    ReportedDifference,
    Result,
    Shard,
    SuiteFacts,
)
from baselinekit.model.values import ABSENT
from baselinekit.report.forms.table import render_report
from baselinekit.report.resultfile import compact, path_of, read
from baselinekit.values.paths import render as render_path

TEXT = st.text(max_size=12)
IDS = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._/-]{0,9}\Z")
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.just(Decimal("1e400"))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
SIDES = VALUES | st.just(ABSENT)
SECONDS = st.floats(0, 1e6).map(lambda value: round(value, 6))
PATHS = st.lists(TEXT | st.integers(0, 10**12), max_size=4).map(tuple)
DOLLARS = st.decimals(0, 1000, places=7)

SPOTS = st.builds(
    ReportedDifference,
    path=PATHS,
    kind=st.sampled_from(["missing", "extra", "value", "type", "order", "count", "tolerance", "similarity"]),
    expected=SIDES,
    actual=SIDES,
    file=TEXT,
    line=st.none() | st.integers(1, 10**6),
    rule=st.none() | TEXT,
    note=st.none() | TEXT,
)
USAGES = st.builds(Usage, st.none() | st.integers(0, 99), st.none() | st.integers(0, 99), st.none() | DOLLARS)
SCORES = st.none() | st.floats(0, 1)
GRADES = st.builds(
    Grade,
    grader=TEXT,
    kind=st.sampled_from(["code", "model", "human"]),
    outcome=st.sampled_from(OUTCOMES),
    score=SCORES,
    reason=TEXT,
    verdict=st.none() | TEXT,
    details=st.dictionaries(TEXT, VALUES, max_size=2),
    code=st.none() | TEXT,
    weight=st.floats(0, 5),
    required=st.booleans(),
    usage=USAGES,
    classified=st.none() | st.builds(Classified, wanted=TEXT, given=st.none() | TEXT),
    line=st.none() | st.integers(1, 10**6),
)
ATTEMPTS = st.builds(
    Attempt,
    number=st.integers(1, 9),
    outcome=st.sampled_from(OUTCOMES),
    score=SCORES,
    grades=st.lists(GRADES, max_size=2).map(tuple),
    reason=TEXT,
    code=st.none() | TEXT,
    verdict=st.none() | TEXT,
    again=st.integers(0, 3),
    seconds=SECONDS,
    usage=USAGES,
    output=VALUES,
    environment=st.dictionaries(TEXT, VALUES, max_size=2),
)
CASES = st.builds(
    CaseFacts,
    eval_type=st.sampled_from(["capability", "regression"]),
    attempts=st.lists(ATTEMPTS, max_size=2).map(tuple),
    category=st.none() | TEXT,
    tags=st.lists(TEXT, max_size=2).map(tuple),
    weight=st.floats(0, 5),
    score=SCORES,
    fingerprint=st.dictionaries(TEXT, TEXT, max_size=2),
    retried=st.integers(0, 2),
)
SUITES = st.builds(
    SuiteFacts,
    name=TEXT,
    version=st.none() | TEXT,
    metrics=st.lists(
        st.builds(
            Metric,
            name=TEXT,
            value=SCORES,
            view=TEXT,
            low=SCORES,
            high=SCORES,
            count=st.integers(0, 9),
            threshold=SCORES,
            why=TEXT,
        ),
        max_size=2,
    ).map(tuple),
    gate=st.none() | TEXT,
)
RESULTS = st.builds(
    Result,
    id=IDS,
    file=TEXT,
    line=st.none() | st.integers(1, 10**6),
    kind=TEXT,
    outcome=st.sampled_from(OUTCOMES),
    reason=TEXT,
    code=st.none() | TEXT,
    verdict=st.none() | TEXT,
    name=st.none() | TEXT,
    criticality=st.none() | TEXT,
    target=TEXT,
    differences=st.lists(SPOTS, max_size=3).map(tuple),
    difference_count=st.integers(0, 9),
    explanation=st.lists(TEXT, max_size=2).map(tuple),
    notes=st.lists(TEXT, max_size=2).map(tuple),
    attempts=st.integers(0, 9),
    seconds=SECONDS,
    usage=USAGES,
    scores=st.dictionaries(TEXT, st.integers(0, 5) | st.floats(0, 5), max_size=2),
    environment_drift=st.dictionaries(TEXT, st.tuples(SIDES, SIDES), max_size=2),
    recipe_hash=TEXT,
    resolved=SIDES,
    position=st.none() | st.integers(0, 99),
    case=st.none() | CASES,
)
REPORTS = st.builds(
    Report,
    id=TEXT,
    started=st.just("2024-01-20T14:00:00Z"),
    seconds=SECONDS,
    tool=TEXT,
    command=TEXT,
    results=st.lists(RESULTS, max_size=3, unique_by=lambda one: one.id).map(tuple),
    complete=st.booleans(),
    interrupted=st.booleans(),
    environment=st.dictionaries(TEXT, VALUES, max_size=2),
    config=st.none() | TEXT,
    warnings=st.lists(TEXT, max_size=2).map(tuple),
    not_recorded=st.lists(TEXT, max_size=2).map(tuple),
    spent=st.none() | st.builds(ModelUsage, st.integers(0, 9), st.integers(0, 9), DOLLARS),
    commit=st.none() | TEXT,
    suite=st.none() | SUITES,
    shard=st.none() | st.builds(Shard, st.just(2), st.integers(2, 9), st.integers(0, 99)),
    coverage=st.builds(Coverage, st.dictionaries(TEXT, VALUES, max_size=2), st.integers(0, 9)),
)


@pytest.mark.slow
@given(REPORTS)
def test_what_is_read_renders_to_the_same_bytes(run: Report) -> None:
    text = render_report(run, "x.json")
    again = read(text, "x.json")
    assert render_report(again, "x.json") == text
    assert again.exit_code == run.exit_code
    assert compact(again) == compact(run)


@given(PATHS)
def test_the_path_of_a_difference_is_read_as_it_is_written(path: tuple[str | int, ...]) -> None:
    assert path_of(render_path(path)) == path


@pytest.mark.parametrize("text", ["", "a..b", "a.*", "[x]", "a b", '"a', "a[-1]", ".a", '"\\q"', "a$"])
def test_what_leads_to_no_single_place_is_no_path(text: str) -> None:
    assert path_of(text) is None


def written(**more: Any) -> dict[str, Any]:
    run = report(
        result("a", "failed", spot(("k",), "value", 1, 2), resolved={"k": 2}),
        result("b", "passed", usage=Usage(cost_usd=Decimal("0.5")), scores={"tone": 4}),
        **more,
    )
    found: dict[str, Any] = json.loads(render_report(run, "x.json"))
    return found


def told(raw: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        read(json.dumps(raw, indent=1), "ci/results.json")
    assert error.value.exit_code == 2
    assert all(
        re.match(r"BK1\d\d ci/results\.json:\d+:\d+: .+: .+", line) for line in str(error.value).splitlines()
    )
    return str(error.value)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("format",), "baselinekit.results/2", "this version reads 'baselinekit.results/1'"),
        (("format",), 1, "is not a result file"),
        (("run", "started"), "yesterday", "a time such as 2024-01-20T14:00:00Z, found 'yesterday'"),
        (("run", "seconds"), "1", "expected a number of 0 or more, found '1' (string)"),
        (("run", "seconds"), True, "found true (boolean)"),
        (("run", "seconds"), -1, "expected a number of 0 or more, found -1 (integer)"),
        (("run", "warnings"), [1], "expected a string, found 1 (integer)"),
        (("run", "shard"), {"number": 3, "of": 2, "total": 1}, "there are 2 shards"),
        (("run", "shard"), {"number": 1}, "the key 'of' is missing: write it again"),
        (
            ("run", "spent"),
            {"calls": 1, "tokens": 1, "cost_usd": None},
            "expected a number of 0 or more, found null",
        ),
        (("run", "coverage"), {}, "the key 'chosen' is missing"),
        (("run", "colour"), "red", "unknown key 'colour': a newer version may have written it"),
        (("run", "intrupted"), True, "did you mean 'interrupted'?"),
        (("summary", "passed"), 2, "says 2 passed, and the results are 1"),
        (("results",), {}, "expected a list, found a mapping"),
        (("results", 0), None, "expected a mapping, found null"),
        (("results", 0, "outcome"), "fine", "one of passed, failed, error, unscored, skipped"),
        (("results", 0, "outcome"), ["passed"], "found a list"),
        (("results", 0, "id"), "../../etc", "letters, digits"),
        (("results", 0, "id"), "b", "'b' occurs twice: results[0] has it too"),
        (("results", 0, "line"), 0, "1 or more"),
        (("results", 0, "difference_count"), 0, "there are 1 differences"),
        (("results", 0, "differences", 0, "path"), "a.*", "expected a list, found 'a.*'"),
        (("results", 0, "differences", 0, "kind"), "odd", "one of missing, extra"),
        (("results", 0, "differences", 0, "line"), 1.5, "expected an integer of 1 or more, found 1.5"),
        (("results", 0, "environment_drift"), {"os": 1}, "expected a list, found 1"),
        (("results", 0, "notes"), [None], "expected a string, found null"),
        (("results", 1, "resolved"), {}, "is allowed only in a failed result"),
        (("results", 1, "observed", "scores"), {"tone": "good"}, "expected a number, found 'good'"),
        (("results", 1, "observed", "cost_usd"), "free", "expected a number of 0 or more, found 'free'"),
    ],
)
def test_what_we_never_write_is_told_with_its_place(place: Any, value: Any, said: str) -> None:
    raw = written()
    inside = raw
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    assert said in told(raw)


def test_all_that_is_wrong_is_said_at_once_but_not_endlessly() -> None:
    raw = written()
    raw["run"]["tool"] = raw["run"]["id"] = 1
    assert len(told(raw).splitlines()) == 2
    raw["results"] = [1] * 1000
    assert len(told(raw).splitlines()) == 20


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "BK101 x.json:1:1: not valid JSON"),
        ("[1", "BK101 x.json:1:"),
        ("null", "BK130 x.json:1:1: it is not a result file"),
        ("{}", "write it again: baselinekit compare -o results.json, or run -o results.json"),
        ('{"format": 1, "format": 2}', "BK102 x.json:1:15: the key 'format' occurs twice"),
        ("[" * 5_000, "BK1"),
        ('{"a": NaN}', "BK106"),
    ],
)
def test_what_is_no_json_of_ours_is_no_traceback(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read(text, "x.json")
    assert said in str(error.value)
