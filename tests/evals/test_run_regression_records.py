"""Regression records as the document has them: read from their files, run, compared, recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from evalcases import World
from storehelp import EXAMPLES, write

from baselinekit.commands.context import RunContext
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import InvalidInput
from baselinekit.evals.attempts import EvalClients
from baselinekit.evals.run import RunPolicy, run
from baselinekit.evals.selection import Choice, load
from baselinekit.model.recipes import ProcessResult, ProcessSpec, Request, Response
from baselinekit.model.results import Report, Result

UUID = "123e4567-e89b-42d3-a456-426614174000"
USER = {"id": UUID, "name": "Ada", "email": "ada@example.org", "created_at": "2024-01-15T10:30:00Z"}
USERS = {"users": [USER], "pagination": {"page": 1, "per_page": 20, "total": 1}}
CONFIG = "skills: {code-review: {command: [echo], files: [code_diff]}, echo: {command: [echo]}}\n"
NAMED = {"test_token": "t-1", "api_base_url": "http://api.test", "TEST_TOKEN": "t-2"}
SKILL = "current: {input: x, execution: {type: skill, skill_name: echo}}\n"
EXAMPLE_RECORDS = ("regression-api-users.yaml", "users-endpoint.json")


class Service(World):
    """An API and a skill that both answer `body`. `ends`: how the program of the skill ends, if it does not
    answer."""

    def __init__(self, root: Path, body: Any = None, ends: ProcessResult | None = None, **operator: Any):
        write(root, "baselinekit.yaml", CONFIG)
        super().__init__(root)
        self.body, self.ends = body, ends
        self.requests: list[Request] = []
        self.operator = {"variables": NAMED, **operator}
        self.given: list[Any] = []

    def send(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(200, (("content-type", "application/json"),), json.dumps(self.body).encode(), 0.01)

    def execute(self, asked: ProcessSpec) -> ProcessResult:
        if not asked.stdin:
            return ProcessResult(1, b"", b"", 0.0)
        self.given.append(json.loads(asked.stdin))
        return self.ends or ProcessResult(0, json.dumps(self.body).encode(), b"", 0.01)

    def project(self) -> Project:
        return open_project(Operator(cwd=str(self.root), **self.operator))

    def files(self, *names: str, **policy: Any) -> Report:
        clock = (lambda: None, lambda: "2024-02-01T00:00:00Z", self.seconds)
        context = RunContext(self.clients(), *clock, stop=self.stop)
        suite = load(self.project(), names, None)
        return run(self.project(), suite, Choice(), RunPolicy(**policy), context, lambda slip: EvalClients())

    def example(self, name: str, **policy: Any) -> Report:
        write(self.root, name, (EXAMPLES / name).read_bytes())
        return self.files(name, **policy)

    def record(self, text: str, **policy: Any) -> Result:
        (result,) = self.files(write(self.root, "r.yaml", text), **policy).results
        return result


def passes(root: Path, known: Any, comparison: Any, actual: Any) -> bool:
    """Whether a skill that gave one thing at its capture and another now passes."""
    current = {"input": "x", "execution": {"type": "skill", "skill_name": "echo"}}
    record = {"id": "r", "baseline": {"output": known}, "current": current, "comparison": comparison}
    return Service(root, actual).record(json.dumps(record)).outcome == "passed"


def test_h6_h10_h12_run_of_records_of_the_document_passes(tmp_path: Path) -> None:
    first = Service(tmp_path, USERS)
    assert first.example(EXAMPLE_RECORDS[0]).results[0].outcome == "passed"
    (asked,) = first.requests
    assert (asked.method, asked.url) == ("GET", "http://api.test/api/v1/users")
    assert ("Authorization", "Bearer t-1") in asked.headers
    second = Service(tmp_path, {"data": [1, 2], "meta": {"page": 1, "per_page": 20, "total": 3}})
    second.operator["base_url"] = "http://api.test/"
    assert second.example(EXAMPLE_RECORDS[1]).results[0].outcome == "passed"
    assert second.requests[0].url == "http://api.test/api/v1/users"
    assert ("Authorization", "Bearer t-2") in second.requests[0].headers


def test_h7_skill_gets_its_parameters_and_files(tmp_path: Path) -> None:
    write(tmp_path, "path/to/test-diff.patch", "- let x\n+ const x\n")
    scores = {"specificity": 4.2, "actionability": 4.5, "correctness": 4.8, "tone": 4.6}
    world = Service(tmp_path, {"quality_scores": scores, "sample_comments": ["another"]})
    assert world.example("regression-quality.yaml").results[0].outcome == "passed"
    (given,) = world.given
    assert (given["skill"], given["parameters"]) == ("code-review", {"depth": "thorough"})
    assert given["input"] == {"code_diff": "- let x\n+ const x\n", "context": "React component refactoring"}


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ({"n": 1}, {"last_passed: null": "last_passed: '2024-02-01T00:00:00Z'"}),
        ({"n": 2}, {"failure_count: 4": "failure_count: 5"}),
        (None, {}),
    ],
)
def test_h8_run_records_passes_and_failures_and_no_errors(
    tmp_path: Path, body: Any, changed: dict[str, str]
) -> None:
    counted = "metadata:\n  last_passed: null\n  failure_count: 4\n"
    text = f"id: r # mine\nbaseline: {{output: {{n: 1}}}}\n{SKILL}{counted}"
    world = Service(tmp_path, body, ends=ProcessResult(7, b"", b"", 0.0) if body is None else None)
    world.record(text, record="always")
    for old, new in changed.items():
        text = text.replace(old, new)
    assert (tmp_path / "r.yaml").read_text().replace('"', "'") == text, "and every other byte stays"


@pytest.mark.parametrize(
    ("rules", "body", "passed"),
    [
        ({"options": {"ignore_values": ["$.body.data.*"]}}, {"data": [1, 2], "meta": {"page": 1}}, True),
        ({"ignore_fields": ["meta.page"]}, {"data": [], "meta": {}}, True),
        ({"options": {"ignore_values": ["meta.page"]}}, {"data": [], "meta": {}}, False),
        ({"options": {"ignore_values": ["meta.page"]}}, {"data": [], "meta": {"page": 9}}, True),
        ({"options": {"require_keys": ["meta.per_page"]}}, {"data": [], "meta": {"page": 1}}, False),
        ({"options": {"require_keys": ["data"]}}, {"data": [], "meta": {"page": 1}}, True),
    ],
)
def test_h10_h11_paths_of_a_record_begin_at_the_body(
    tmp_path: Path, rules: dict[str, Any], body: Any, passed: bool
) -> None:
    compared = {"type": "structural", **rules}
    record = {
        "metadata": {"id": "r"},
        "baseline": {"response": {"status": 200, "body": {"data": [], "meta": {"page": 1}}}},
        "test_case": {"input": {"method": "GET", "path": "/x"}, "comparison": compared},
        "grader": {"type": "code", "config": {"method": "structural_match", "strict": False}},
    }
    world = Service(tmp_path, body, base_url="http://api.test")
    assert (world.record(json.dumps(record)).outcome == "passed") is passed


def test_h11_record_without_an_address_is_refused(tmp_path: Path) -> None:
    world = Service(tmp_path)
    with pytest.raises(InvalidInput, match=r"no base_url: pass --base-url URL"):
        world.example(EXAMPLE_RECORDS[1])
    assert world.requests == []


@pytest.mark.parametrize("name", EXAMPLE_RECORDS)
def test_h12_record_with_an_unset_variable_sends_nothing(tmp_path: Path, name: str) -> None:
    world = Service(tmp_path, USERS, variables={"api_base_url": "http://x"}, base_url="http://api.test")
    (result,) = world.example(name).results
    assert (result.outcome, result.code) == ("error", "BK501")
    assert "{{test_token}}" in result.reason.lower()
    assert world.requests == []


def test_h12_secrets_sent_are_in_no_result_and_no_file(tmp_path: Path) -> None:
    world = Service(tmp_path, {"users": [], "echo": "Bearer hush-hush-4711"})
    secrets = {"test_token": "hush-hush-4711"}
    world.operator = {"variables": {"api_base_url": "http://api.test"}, "secrets": secrets}
    write(tmp_path, "baselinekit.yaml", "allow_hosts: [api.test]\n")
    report = world.example(EXAMPLE_RECORDS[0], record="always")
    assert report.results[0].outcome == "failed"
    assert ("Authorization", "Bearer hush-hush-4711") in world.requests[0].headers
    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert b"4711" not in repr(report).encode() + b"".join(kept)


MATCHED = {  # what a matcher accepts, and what it does not
    "any_uuid": ([UUID], ["123e4567"]),
    "any_string": (["Ada"], [5, None]),
    "any_email": (["ada@example.org"], ["ada"]),
    "any_iso_datetime": (["2024-01-15T10:30:00Z"], ["yesterday"]),
    "any_number": ([5, 5.5], [True, "5"]),
}


@pytest.mark.parametrize("matcher", MATCHED)
def test_h13_matcher_in_quotes_tells_types_apart(tmp_path: Path, matcher: str) -> None:
    for values, passed in zip(MATCHED[matcher], (True, False), strict=True):
        for value in values:
            found = passes(tmp_path, {"a": f"{{{{{matcher}}}}}"}, {"type": "structural"}, {"a": value})
            assert found is passed, value
    write(tmp_path, "baselinekit.yaml", f"variables: {{{matcher}: x}}")
    with pytest.raises(InvalidInput, match="names with any_ are placeholders"):
        open_project(Operator(cwd=str(tmp_path)))


@pytest.mark.parametrize(
    ("known", "tolerance", "actual", "passed"),
    [
        ({"a": 1}, {}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"allow_additional_fields": True}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"allow_field_reordering": False}, {"b": 2, "a": 1}, False),
        (["{{any_string}}"], {}, ["a", "b", "c"], True),
        (["{{any_string}}"], {}, ["a", 2], False),
        (["{{any_string}}"], {"allow_empty_arrays": True}, [], True),
    ],
)
def test_h14_structural_tolerance_allows_fields_order_and_empty_arrays(
    tmp_path: Path, known: Any, tolerance: Any, actual: Any, passed: bool
) -> None:
    assert passes(tmp_path, known, {"type": "structural", "tolerance": tolerance}, actual) is passed
    ignored = {"type": "structural", "options": {"ignore_values": ["data.*"]}}
    assert passes(tmp_path, {"data": [], "n": 1}, ignored, {"data": [{"a": 1}, None], "n": 1})


SCORES = {"specificity": 4.2, "actionability": 4.5, "correctness": 4.8, "tone": 4.6}
DOWN = {"type": "numeric", "tolerance": {"quality_scores": {"min_delta": -0.3, "max_delta": None}}}


@pytest.mark.parametrize(
    ("now", "passed"),
    [
        ({"specificity": 3.9}, True),  # 4.2 - 0.3 is 3.9000000000000004 as floats go
        ({"tone": 4.3}, True),
        ({"tone": 4.29999}, False),
        ({"tone": 99}, True),
        ({"tone": None}, False),
        ({"tone": True}, False),
        ({"tone": "4.6"}, False),
        ({"humour": 1}, True),
    ],
)
def test_h15_h16_score_may_fall_by_its_tolerance_exactly(
    tmp_path: Path, now: dict[str, Any], passed: bool
) -> None:
    scores = {name: score for name, score in {**SCORES, **now}.items() if score is not None}
    known, actual = (
        {"quality_scores": SCORES, "comments": ["one"]},
        {"quality_scores": scores, "comments": []},
    )
    assert passes(tmp_path, known, DOWN, actual) is passed


def test_h16_score_that_is_nan_fails(tmp_path: Path) -> None:
    world = Service(tmp_path, ends=ProcessResult(0, b'{"n": NaN}', b"", 0.0))
    text = f"id: r\nbaseline: {{output: {{n: 1}}}}\ncomparison: {{type: numeric}}\n{SKILL}"
    assert world.record(text).outcome == "failed"
