"""What an import leaves out because a value has an unexpected kind: each is named where it stands, and the
rest is read."""

import json

import pytest

from baselinekit.importers import har, lines, openapi
from baselinekit.importers.drafts import ImportChoices, ImportedFile, SourceText
from baselinekit.model.values import Json
from baselinekit.moving import vcr

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
