"""What an import leaves out because a value has an unexpected kind: each is named where it stands, and the
rest is read."""

import json
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from baselinekit.errors import InvalidInput, Problem
from baselinekit.importers import har, lines, openapi, vcr
from baselinekit.importers.drafts import ImportChoices, ImportedFile, LeftOut, SourceText
from baselinekit.importers.evaldrafts import DraftEvals, EvalFiles
from baselinekit.importers.promptfoo import read
from baselinekit.model.values import Json
from baselinekit.suites.writing.conversion import FORMS, import_draft
from baselinekit.suites.writing.sayings import CaseReader, WriteRequest

# Addresses that cannot be read.

BAD_URLS = [
    ("http://[x/y?token=1", "http://[x/y is not a URL"),
    ("http://ada:pass@[x/y", "http://…@[x/y is not a URL"),
    ("https://[::1/y", "https://[::1/y is not a URL"),
]


def told(imported: ImportedFile) -> list[tuple[int, str]]:
    return [(left.line, left.message) for left in imported.left_out]


@pytest.mark.parametrize(("url", "what"), BAD_URLS)
def test_a_line_with_a_malformed_url_is_left_out(url: str, what: str) -> None:
    source = SourceText("urls.txt", f"GET http://a.test/x\nGET {url}\n{url}\ncurl '{url}'\n")
    found = lines.read(source, ImportChoices())
    assert [draft.id for draft in found.drafts] == ["get-x"]
    assert told(found) == [(2, what), (3, what), (4, what.replace("…@", ""))]


@pytest.mark.parametrize(("url", "what"), BAD_URLS)
def test_an_entry_with_a_malformed_url_is_left_out(url: str, what: str) -> None:
    entries = [
        {"request": {"method": "get", "url": each}, "response": {"content": {"mimeType": "application/json"}}}
        for each in ("http://a.test/x", url)
    ]
    source = SourceText("a.har", json.dumps({"log": {"entries": entries}}, indent=1))
    found = har.read(source, ImportChoices())
    assert [draft.id for draft in found.drafts] == ["get-x"]
    ((line, message),) = told(found)
    assert message == f"GET {what}"
    assert line > 10


@pytest.mark.parametrize(("url", "what"), BAD_URLS)
def test_an_interaction_with_a_malformed_url_is_left_out(url: str, what: str) -> None:
    response = {"status": {"code": 200}, "headers": {}, "body": {"string": "{}"}}
    interactions = [
        {"request": {"method": "GET", "uri": each}, "response": response} for each in ("http://a.test/x", url)
    ]
    source = SourceText("a.json", json.dumps({"interactions": interactions}, indent=1))
    cassette = vcr.read(source, ImportChoices())
    assert cassette is not None
    assert [draft.id for draft in cassette.imported.drafts] == ["get-x"]
    assert [message for _, message in told(cassette.imported)] == [f"GET {what}"]


def test_a_path_may_look_like_a_malformed_host() -> None:
    (draft,) = lines.read(SourceText("a", "GET http://a.test//[x/y?page=1#z"), ImportChoices()).drafts
    assert (draft.id, draft.current["input"]["endpoint"]) == ("get-x-y", "//[x/y?page=1#z")


# OpenAPI.


def operations(document: Json) -> list[tuple[int, str]]:
    return told(openapi.read(SourceText("a.json", json.dumps(document, indent=1)), ImportChoices()))


def document(operation: dict[str, Json], **more: Json) -> dict[str, Json]:
    item = {"get": operation}
    return {"openapi": "3.1.0", "servers": [{"url": "http://a.test"}], "paths": {"/x": item}, **more}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (document({"parameters": True}), (11, "GET /x: `parameters` is true (boolean)")),
        (document({"security": {"key": []}}), (11, "GET /x: `security` is a mapping")),
        (document({}, security="key"), (13, "GET /x: `security` is 'key' (string)")),
        (document({}, servers=[{"url": "http://[x/y"}]), (4, "GET /x: http://[x/y is not a URL")),
        (
            document({"parameters": [{"name": ["a"], "in": "query"}]}),
            (12, "GET /x: a parameter whose `name` or `in` is no text"),
        ),
    ],
)
def test_an_operation_that_cannot_be_read_is_named(stated: Json, expected: tuple[int, str]) -> None:
    assert operations(stated) == [expected]


def swagger(**more: Json) -> dict[str, Json]:
    return {"swagger": "2.0", "host": "a.test", "paths": {"/x": {"get": {}}}, **more}


@pytest.mark.parametrize("host", ["[x", "a\ud800", "a\0"])
def test_a_host_that_is_malformed_is_named(host: str) -> None:
    assert operations(swagger(host=host)) == [(3, f"GET /x: https://{host} is not a URL")]


@pytest.mark.parametrize("schemes", ["http", ["http"]])
def test_one_scheme_may_stand_without_a_list(schemes: Json) -> None:
    source = SourceText("a.json", json.dumps(swagger(schemes=schemes)))
    (draft,) = openapi.read(source, ImportChoices()).drafts
    assert draft.current["execution"]["base_url"] == "http://a.test"


def test_required_as_older_schemas_state_it_is_no_list_of_names() -> None:
    schema = {"type": "object", "properties": {"a": {"example": 1, "required": True}}, "required": True}
    body = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    source = SourceText("a.json", json.dumps(document({}) | {"paths": {"/x": {"post": body}}}))
    (draft,) = openapi.read(source, ImportChoices(unsafe=True)).drafts
    assert draft.current["input"]["json"] == {"a": 1}


def test_a_body_that_is_no_mapping_is_named() -> None:
    stated = document({}) | {"paths": {"/x": {"post": {"requestBody": {"content": {"text/plain": 1}}}}}}
    source = SourceText("a.json", json.dumps(stated))
    (left,) = openapi.read(source, ImportChoices(unsafe=True)).left_out
    assert left.message == "POST /x: `text/plain` is 1 (integer)"


# promptfoo.

IS = {"type": "contains", "value": "a"}


def imported(*assertions: Json, beside: str = "", default: Json = None, **more: Json) -> DraftEvals:
    def read_beside(path: str) -> str:
        if not beside:
            raise InvalidInput(Problem("BK111", "there is no such file"))
        return beside

    tests: Json = "file://t.yaml" if beside else [{"assert": [*assertions], **more}]
    config = {"prompts": ["Hi"], "providers": ["openai:o"], "defaultTest": default or {}, "tests": tests}
    return read(SourceText("promptfooconfig.yaml", json.dumps(config, indent=1)), EvalFiles(read_beside))


def lost(draft: DraftEvals) -> list[str]:
    return [left.message for left in draft.left_out]


@pytest.mark.parametrize(
    ("assertion", "what"),
    [
        ({"type": "assert-set", "threshold": "0.5", "assert": [IS]}, "`assert-set` whose threshold is '0.5'"),
        ({"type": "assert-set", "threshold": [1], "assert": [IS]}, "`assert-set` whose threshold is a list"),
        ({"type": "assert-set", "threshold": True, "assert": [IS]}, "`assert-set` whose threshold is true"),
        ({"type": "assert-set", "weight": "2", "assert": [IS]}, "`assert-set` whose weight is '2'"),
        ({"type": "assert-set", "threshold": 1.5, "assert": [IS]}, "an assert-set with a threshold of 1.5"),
        ({"type": "latency", "threshold": "100"}, "`latency` whose threshold is '100'"),
        ({"type": "llm-rubric", "value": "ok?", "threshold": "0.5"}, "`llm-rubric` whose threshold is '0.5'"),
        ({**IS, "weight": {}}, "`contains` whose weight is a mapping"),
        ({"type": "llm-rubric", "value": "ok?", "provider": {"text": {}}}, "`llm-rubric` whose provider has"),
    ],
)
def test_an_assertion_with_a_value_of_another_type_is_named(assertion: Json, what: str) -> None:
    (left,) = lost(imported(assertion, IS))
    assert left.startswith(what)


def test_a_provider_of_a_test_without_an_id_is_named() -> None:
    draft = imported(IS, provider={})
    assert lost(draft) == ["a provider without an id"]
    assert draft.left_out[0].line > 10


DEFAULT_LOST: list[tuple[dict[str, Any], str]] = [
    ({"assert": [{"type": "javascript", "value": "1"}]}, "`javascript` has no counterpart"),
    ({"assert": [{"value": "a"}]}, "an assertion without a type"),
    ({"assert": [{"type": "contains", "value": "{% if a %}"}]}, "{% if a %} in an assertion"),
    ({"options": {"transform": "x"}}, "`options.transform`"),
    ({"threshold": -1}, "a threshold of -1"),
    ({"provider": {"label": "x"}}, "a provider without an id"),
]


@pytest.mark.parametrize(("default", "what"), DEFAULT_LOST, ids=[what for _, what in DEFAULT_LOST])
def test_what_the_default_test_loses_is_named_there(default: dict[str, Any], what: str) -> None:
    """Also where the tests stand in another file, as often as they are."""
    draft = imported(beside=json.dumps([{"assert": [IS]}, {"assert": [IS]}]), default=default)
    (left,) = draft.left_out
    assert (left.message, left.file) == (what, "")
    assert left.line > 8
    own = imported(beside=json.dumps([{"assert": [IS], **default, "vars": {}}]))
    assert {(left.message, left.file) for left in own.left_out} >= {(what, "t.yaml")}


def test_a_further_expected_json_of_the_default_test_is_named_there() -> None:
    default = {"assert": [{"type": "equals", "value": "a"}, {"type": "equals", "value": {"a": 1}}]}
    (left,) = imported(beside=json.dumps([{"assert": [IS]}]), default=default).left_out
    assert left == LeftOut(left.line, "a further `equals` with JSON", "write a case for it")
    assert left.line > 8


# promptfoo's tests in other files: each loss is told with that file and its line there.

JAVASCRIPT = {"type": "javascript", "value": "1"}
ELSEWHERE: list[tuple[dict[str, Json], dict[str, str], tuple[str, int]]] = [
    (
        {"tests": "file://sub/t.yaml"},
        {"sub/t.yaml": "- assert:\n  - contains:a\n  - type: javascript\n"},
        ("sub/t.yaml", 3),
    ),
    (
        {"tests": ["file://t.yaml"]},
        {"t.yaml": "assert:\n- contains:a\n- {type: javascript}\n"},
        ("t.yaml", 3),
    ),
    ({"tests": "t.yaml"}, {"t.yaml": "[{assert: [contains:a,\n {type: javascript}]}]\n"}, ("t.yaml", 2)),
    (
        {"tests": "file://t.json"},
        {"t.json": json.dumps([{"assert": [IS]}, {"assert": [IS, JAVASCRIPT]}], indent=1)},
        ("t.json", 16),
    ),
    (
        {"tests": "file://t.jsonl"},
        {"t.jsonl": '{"assert": ["contains:a\u2028"]}\n\n{"assert": ["contains:a", "javascript:1"]}\n'},
        ("t.jsonl", 3),
    ),
    (
        {"tests": "file://t.csv"},
        {"t.csv": 'x,__expected,__expected2\n1,contains:a,\n"2\n3",contains:a,javascript:1\n'},
        ("t.csv", 3),
    ),
    (
        {"tests": {"path": "file://t.csv"}},
        {"t.csv": 'x,__expected,__expected2\n1\u2028,contains:a,\r\n"2\r\n3",contains:a,javascript:1\r\n'},
        ("t.csv", 3),
    ),
    ({"tests": "file://t.csv"}, {"t.csv": "x,__expected\n1,contains:a\n2,contains:a,more\n"}, ("t.csv", 3)),
    (
        {"tests": "file://t.csv"},
        {"t.csv": f"x,__expected\n1,contains:a\n{'2' * 200_000},contains:a\n"},
        ("t.csv", 3),
    ),
    ({"tests": "file://t.yaml"}, {"t.yaml": "- assert: ['contains:a']\n- 7\n"}, ("t.yaml", 2)),
    (
        {"tests": "file://t.yaml"},
        {"t.yaml": "- file://u.yaml\n", "u.yaml": "- assert: ['contains:a']\n- file://u.yaml\n"},
        ("u.yaml", 2),
    ),
    (
        {"defaultTest": "file://d.yaml", "tests": [{"vars": {}}]},
        {"d.yaml": "assert:\n- contains:a\n- type: javascript\n"},
        ("d.yaml", 3),
    ),
    (
        {"defaultTest": "file://d.yaml", "tests": [{"assert": [IS]}]},
        {"d.yaml": "vars: {}\nasert: []\n"},
        ("d.yaml", 2),
    ),
    (
        {"scenarios": ["file://s.yaml"]},
        {"s.yaml": "config:\n- {}\ntests:\n- assert:\n  - contains:a\n  - type: javascript\n"},
        ("s.yaml", 6),
    ),
    (
        {"scenarios": ["file://s.yaml"]},
        {"s.yaml": "config:\n- assert:\n  - type: javascript\ntests:\n- assert:\n  - contains:a\n"},
        ("s.yaml", 3),
    ),
    (
        {"scenarios": ["file://s.yaml"]},
        {"s.yaml": "tests:\n- assert: [equals:a,\n  {type: javascript}]\nconfig: [{assert: [equals:b]}]\n"},
        ("s.yaml", 3),
    ),
    (
        {"providers": "file://p.yaml", "tests": [{"assert": [IS]}]},
        {"p.yaml": "- openai:o\n- id: openai:p\n  config:\n    tools: []\n"},
        ("p.yaml", 4),
    ),
]


@pytest.mark.parametrize(("more", "beside", "expected"), ELSEWHERE)
def test_what_another_file_loses_is_told_at_its_line_there(
    more: dict[str, Json], beside: dict[str, str], expected: tuple[str, int]
) -> None:
    config = {"prompts": ["Hi"], "providers": ["openai:o"], **more}
    source = SourceText("promptfooconfig.yaml", json.dumps(config, indent=1))
    (left,) = read(source, EvalFiles(beside.__getitem__)).left_out
    assert (left.file, left.line) == expected


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("t.yaml", "- a\n- [\n", "t.yaml:3"),
        ("t.jsonl", "{}\n\n[\n", "t.jsonl:3"),
        ("t.json", "[\n1,\n", "t.json:3"),
    ],
)
def test_a_file_of_tests_that_cannot_be_read_is_told_with_its_line(name: str, text: str, place: str) -> None:
    config = {"prompts": ["Hi"], "tests": f"file://{name}"}
    source = SourceText("promptfooconfig.yaml", json.dumps(config, indent=1))
    (left,) = read(source, EvalFiles(lambda path: text)).left_out
    assert left.message.startswith(place)
    assert (left.file, left.line) == ("", 5)


def test_prompts_of_a_table_keep_their_lines() -> None:
    config = {"prompts": ["file://p.csv"], "tests": [{"assert": [IS]}]}
    source = SourceText("promptfooconfig.yaml", json.dumps(config))
    draft = read(source, EvalFiles(lambda path: 'prompt\n"Say\n\nhi"\n'))
    cases: Any = draft.document["test_cases"]
    assert cases[0]["input"]["content"] == "Say\n\nhi"


def test_a_table_of_prompts_that_cannot_be_read_is_told() -> None:
    config = {"prompts": ["file://p.csv"], "tests": [{"assert": [IS]}]}
    source = SourceText("promptfooconfig.yaml", json.dumps(config))
    (left,) = read(source, EvalFiles(lambda path: f"prompt\n{'a' * 200_000}\n")).left_out
    assert left.message.startswith("p.csv: a row of a table that cannot be read")


def test_another_file_is_shown_from_the_folder_of_the_project() -> None:
    source = SourceText("config.yaml", json.dumps({"prompts": ["Hi"], "tests": "file://../t.yaml"}))
    draft = read(source, EvalFiles(lambda path: "- assert:\n  - contains:a\n- 7\n"))
    with TemporaryDirectory() as root:
        wish = WriteRequest((), CaseReader(root), "x", today="2026-03-01")
        made = import_draft(draft, f"{root}/sub/config.yaml", wish, FORMS["cases"], "evals/x.yaml")
    assert [str(lost.place) for lost in made.lost] == [f"{root}/t.yaml:3"]
