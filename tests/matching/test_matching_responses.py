"""Outputs with parts: what is stated is compared, headers as HTTP means them, and paths from either root."""

from typing import Any

import pytest
import ruled

from baselinekit.errors import InvalidInput
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.model.values import Json

ACTUAL = {
    "status": 200,
    "headers": {"content-type": "application/json; charset=utf-8", "date": "Mon", "x-id": "7"},
    "body": {
        "users": [{"id": 1, "email": "a@b.cd"}, {"id": 2, "email": "c@d.ef"}],
        "total": 2,
        "status": "ok",
    },
}
BODY = ACTUAL["body"]


def differences(expected: Json, actual: Json = ACTUAL, **rules: Any) -> list[list[str]]:
    return ruled.shown(ruled.compare(expected, actual, rules, "http"))


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"status": 201}, [["status", "value"]]),
        ({"status": "<<any_integer(200, 299)>>"}, []),
        ({"status": True}, [["status", "type"]]),
        ({"body": {**BODY, "total": 3}}, [["body.total", "value"]]),
        ({"body": {"total": 2}}, [["body.users", "extra"], ["body.status", "extra"]]),
        ({"headers": {"X-ID": "7", "DATE": "<<any>>"}}, []),
        ({"headers": {"X-Id": "8"}}, [["headers.X-Id", "value"]]),
        ({"headers": {"x-other": "8"}}, [["headers.x-other", "missing"]]),
        ({"headers": {"x-other": "<<any?>>"}}, []),
        ({"headers": {"Content-Type": "application/json"}}, []),
        ({"headers": {"content-type": "application/json;charset=UTF-8"}}, []),
        ({"headers": {"content-type": 'application/json; charset="utf-8"'}}, []),
        ({"headers": {"content-type": "<<starts_with('application/')>>"}}, []),
        ({"headers": {"content-type": "application/json; charset=x"}}, [["headers.content-type", "value"]]),
    ],
)  # fmt: skip
def test_compare_response_compares_only_stated_parts(expected: Json, found: list[list[str]]) -> None:
    assert differences(expected) == found


def test_compare_response_missing_part_is_a_difference() -> None:
    assert differences(ACTUAL, {"status": 200}) == [["headers", "missing"], ["body", "missing"]]
    assert differences(ACTUAL, "text") == [["$", "type"]]


def test_ignore_rule_matches_header_in_any_case() -> None:
    stored = {"headers": {"Date": "x", "X-Id": "7"}}
    assert differences(stored, ignore_fields=["headers.date"], require_keys=["headers.X-ID"]) == []
    assert differences(stored, ignore_fields=["$.headers.DATE"]) == []
    assert differences(stored, ignore_values=['headers."dAtE"'], require_keys=["headers.Location"]) == [
        ["headers.Location", "missing"]
    ]


def test_ignore_rule_covers_content_type() -> None:
    stored = {"status": 200, "headers": {"content-type": "text/html"}}
    for rules in ({"ignore_values": ["headers.content-type"]}, {"ignore_fields": ["headers.*"]}):
        assert differences(stored, **rules) == []
    assert differences(stored, {"status": 200, "headers": {}}, ignore_values=["headers.content-type"]) == [
        ["headers.content-type", "missing"]
    ]


STORED = {
    "status": 200,
    "headers": {"date": "x"},
    "body": {"users": [{"id": 9, "email": "<<any_email>>"}], "total": 5, "status": "ok"},
}


@pytest.mark.parametrize(
    "paths",
    [
        ["users.*.id", "total", "date.x", "headers.date"],
        ["body.users.*.id", "body.total", "headers.date"],
        ["$.body.users[*].id", "$.body.total", "$.headers.date"],
        ["body", "headers"],
    ],
)
def test_rule_path_starts_at_body_or_response(paths: list[str]) -> None:
    assert differences(STORED, ignore_fields=paths) == []


def test_rule_path_found_in_body_and_response_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        ruled.matcher(STORED, {"ignore_fields": ["status"], "require_keys": ["status"]}, "http")
    assert [(problem.code, problem.at) for problem in caught.value.problems] == [
        ("BK204", ("comparison", "ignore_fields", 0)),
        ("BK204", ("comparison", "require_keys", 0)),
    ]
    assert "body.status or $.status" in caught.value.problems[0].hint
    stored = {"status": 404, "body": {"status": "x"}}
    actual = {"status": 200, "body": {"status": "x"}}
    assert differences(stored, actual, ignore_fields=["$.status"]) == []
    assert differences(stored, actual, ignore_fields=["body.status"]) == [["status", "value"]]


def test_ignore_rule_matches_key_of_the_answer_only() -> None:
    stored = {"status": 200, "body": {"a": 1}}
    for path in ("etag", "body.etag", "$.body.etag"):
        assert differences(stored, {"status": 200, "body": {"a": 1, "etag": 5}}, ignore_fields=[path]) == []


def test_default_tolerance_does_not_apply_to_status() -> None:
    stored = {"status": 200, "body": {"n": 5}}
    wide = {"*": {"abs": 1000}}
    assert differences(stored, {"status": 201, "body": {"n": 500}}, tolerance=wide) == [["status", "value"]]


def test_require_keys_paths_start_at_body_or_response() -> None:
    stored = {"status": 200, "body": {"data": [], "meta": {"page": 1}}}
    required = ["data", "meta.page", "body.meta", "$.status", "meta.total"]
    loose = {"allow_missing_fields": True, "allow_additional_fields": True}
    actual = {"status": 200, "body": {"data": None, "meta": {"page": None, "total": 0}}}
    rules: dict[str, Any] = {"require_keys": required, "options": loose}
    assert differences(stored, actual, ignore_values=["data", "meta.*"], **rules) == []
    lacking = ("body.data", "body.meta.page", "body.meta.total")
    actual = {"status": 200, "body": {"meta": {}}}
    assert differences(stored, actual, **rules) == [[path, "missing"] for path in lacking]


@pytest.mark.parametrize(
    ("output", "kind", "what"),
    [
        ("text", "http", "not string"),
        ({"body": 1, "stats": 200}, "http", "'stats' is not a part of a response"),
        ({"exit": 0}, "command", "'exit' is not a part of a result"),
        ([], "command", "not array"),
    ],
)
def test_matcher_output_of_wrong_form_is_refused(output: Json, kind: str, what: str) -> None:
    with pytest.raises(InvalidInput, match="BK225") as caught:
        ruled.matcher(output, {}, kind)
    assert what in str(caught.value)


def test_compare_command_compares_only_stated_parts() -> None:
    stored = {"exit_code": 0, "stdout": "a\r\n"}
    actual = {"exit_code": 0, "stdout": "a\n", "stderr": "x", "files": {}}
    assert ruled.compare(stored, actual, {"type": "exact"}, "command").passed
    assert not ruled.compare(stored, {**actual, "exit_code": 1}, {"type": "exact"}, "command").passed


STEPS = [HttpRequest(endpoint="/login", name="login"), HttpRequest(endpoint="/me")]


@pytest.mark.parametrize("collect", [["login", "2"], {"login": "login", "2": "2"}])
def test_compare_collected_responses_as_responses(collect: Any) -> None:
    recipe = Recipe(HttpFlow(STEPS, collect), HttpExecution("http"))
    stored = {"login": {"status": 200, "headers": {"X-A": "1"}}, "2": {"body": {"me": "<<any>>"}}}
    actual = {
        "login": {"status": 200, "headers": {"x-a": "1", "x-b": "2"}, "body": 1},
        "2": {"status": 1, "body": {"me": 5}},
    }
    assert ruled.shown(ruled.compare(stored, actual, {}, recipe)) == []
    actual["2"]["body"] = {"you": 1}
    assert ruled.shown(ruled.compare(stored, actual, {"ignore_fields": ["login.headers.x-a"]}, recipe)) == [
        ['"2".body.me', "missing"],
        ['"2".body.you', "extra"],
    ]


def test_matcher_output_without_collected_answer_is_refused() -> None:
    recipe = Recipe(HttpFlow(STEPS, ["login", "2"]), HttpExecution("http"))
    with pytest.raises(InvalidInput, match="BK225 the answer of '2' is missing: `collect` names it"):
        ruled.matcher({"login": {"status": 200}}, {}, recipe)


def test_compare_collected_values_by_name() -> None:
    recipe = Recipe(HttpFlow(STEPS, {"status": "login.status", "me": "2.body.me"}), HttpExecution("http"))
    came: Json = {"status": 200, "me": {"n": 1}}
    assert ruled.compare(came, came, {}, recipe).passed
    assert ruled.shown(ruled.compare({"me": {"n": 1}}, came, {}, recipe)) == [["status", "extra"]]
