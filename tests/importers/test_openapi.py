"""An OpenAPI document as requests: each small document with what is asked for it, and what is told."""

import json
from typing import Any

import pytest

from baselinekit.importers import openapi
from baselinekit.importers.drafts import ImportChoices, ImportedFile, SourceText
from baselinekit.model.values import Json

BASE = ImportChoices(base_url="http://desk")


def three(paths: dict[str, Json], **more: Json) -> dict[str, Json]:
    servers = [{"url": "https://api.test/v1"}]
    return {"openapi": "3.0.3", "info": {}, "servers": servers, "paths": paths, **more}


def two(paths: dict[str, Json], **more: Json) -> dict[str, Json]:
    where = {"host": "api.test", "basePath": "/v1", "schemes": ["http", "https"]}
    return {"swagger": "2.0", "info": {}, **where, "paths": paths, **more}


def read(document: Json, choices: ImportChoices = BASE) -> ImportedFile:
    source = SourceText("api.json", json.dumps(document, indent=1))
    assert openapi.recognises(source)
    return openapi.read(source, choices)


def asked(document: Json, choices: ImportChoices = BASE) -> dict[str, Json]:
    """The one request of a document, without its method."""
    found = read(document, choices)
    assert not found.left_out
    (draft,) = found.drafts
    return {key: value for key, value in draft.current["input"].items() if key != "method"}


def get(*parameters: Json, **more: Json) -> dict[str, Json]:
    return {"/x": {"get": {"parameters": list(parameters), **more}}}


def query(name: str = "q", **more: Json) -> dict[str, Json]:
    return {"name": name, "in": "query", "required": True, **more}


VALUES: list[tuple[dict[str, Json], Json]] = [
    ({"example": "a"}, "a"),
    ({"example": 0}, "0"),
    ({"example": False}, "false"),
    ({"examples": {"first": {"value": "a"}, "second": {"value": "b"}}}, "a"),
    ({"schema": {"type": "string", "example": "a", "default": "b"}}, "a"),
    ({"schema": {"type": "string", "examples": ["a", "b"]}}, "a"),
    ({"schema": {"type": "integer", "default": 3, "enum": [1, 3]}}, "3"),
    ({"schema": {"enum": ["a", "b"]}}, "a"),
    ({"schema": {"const": "a"}}, "a"),
    ({"schema": {"allOf": [{"type": "string"}, {"example": "a"}]}}, "a"),
    ({"schema": {"anyOf": [{"type": "null"}, {"enum": ["a"]}]}}, "a"),
    ({"schema": {"$ref": "#/components/schemas/Word"}}, "word"),
    ({"schema": {"type": "array", "items": {"enum": ["a", "b"]}}}, ["a"]),
    ({"example": ["a", "b"]}, ["a", "b"]),
    ({"example": ["a", "b"], "explode": False}, "a,b"),
    ({"example": ["a", "b"], "style": "pipeDelimited"}, "a|b"),
    ({"content": {"application/json": {"example": {"a": 1}}}}, {"a": 1}),
    ({"example": "{{name}}"}, "\\{{name}}"),
]


@pytest.mark.parametrize(("parameter", "value"), VALUES, ids=[json.dumps(one) for one, _ in VALUES])
def test_a_required_parameter_takes_the_value_that_the_document_gives(
    parameter: dict[str, Json], value: Json
) -> None:
    document = three(get(query(**parameter)), components={"schemas": {"Word": {"default": "word"}}})
    expected = value if isinstance(value, dict) else {"q": value}
    assert asked(document) == {"endpoint": "/v1/x", "params": expected}


def test_a_parameter_that_is_a_secret_by_its_name_is_a_variable() -> None:
    (draft,) = read(three(get(query("password", example="hunter2"), query("q", example="a")))).drafts
    assert draft.current["input"]["params"] == {"password": "{{PASSWORD}}", "q": "a"}
    assert draft.needs == ("PASSWORD",)
    given = ImportChoices(base_url="http://desk", params={"password": "{{pw}}"})
    assert asked(three(get(query("password"))), given)["params"] == {"password": "\\{{pw}}"}


def test_what_is_not_required_is_asked_for_by_nobody() -> None:
    optional = {"name": "page", "in": "query", "example": 2}
    assert asked(three(get(optional))) == {"endpoint": "/v1/x"}
    given = ImportChoices(base_url="http://desk", params={"page": "7"})
    assert asked(three(get(optional)), given)["params"] == {"page": "7"}


def test_a_value_may_be_for_one_operation_alone() -> None:
    both = {path: {"get": {"operationId": path[1:], "parameters": [query("id")]}} for path in ("/a", "/b")}
    found = read(three(both), ImportChoices(base_url="http://desk", params={"id": "1", "b.id": "2"}))
    assert [draft.current["input"]["params"]["id"] for draft in found.drafts] == ["1", "2"]


def test_parameters_stand_where_they_belong() -> None:
    paths = {
        "/users/{id}/files/{name}": {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "example": "of the path"},
                {"name": "name", "in": "path", "required": True, "example": "a/b c.txt"},
            ],
            "get": {
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"example": 7}},
                    {"name": "X-Tenant", "in": "header", "required": True, "example": "t"},
                    {"name": "lang", "in": "cookie", "required": True, "example": "en"},
                ]
            },
        }
    }
    assert asked(three(paths)) == {
        "endpoint": "/v1/users/7/files/a%2Fb%20c.txt",
        "headers": {"X-Tenant": "t"},
        "cookies": {"lang": "en"},
    }


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ({"type": "string", "default": "a"}, "a"),
        ({"type": "string", "x-example": "a"}, "a"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "collectionFormat": "multi"}, ["a"]),
        ({"type": "array", "x-example": ["a", "b"]}, "a,b"),
        ({"type": "array", "x-example": ["a", "b"], "collectionFormat": "pipes"}, "a|b"),
    ],
)
def test_swagger_parameters(parameter: dict[str, Json], expected: Json) -> None:
    assert asked(two(get(query(**parameter)))) == {"endpoint": "/v1/x", "params": {"q": expected}}


@pytest.mark.parametrize(
    ("server", "base_url", "expected"),
    [
        ("https://api.test/v1", None, ("https://api.test", "/v1/x")),
        ("https://api.test/v1/", None, ("https://api.test", "/v1/x")),
        ("https://{region}.api.test/{stage}", None, ("https://eu.api.test", "/live/x")),
        ("https://api.test/v1", "http://desk", (None, "/v1/x")),
        ("https://api.test/v1", "http://desk/staging", (None, "/x")),
        ("https://api.test/v1", "http://desk/", (None, "/x")),
        ("/v1", "http://desk:8080", (None, "/v1/x")),
        ("", "http://desk", (None, "/x")),
    ],
)
def test_where_it_is_asked(server: str, base_url: str | None, expected: tuple[str | None, str]) -> None:
    variables = {"region": {"default": "eu"}, "stage": {"default": "live"}}
    document = three(get(), servers=[{"url": server, "variables": variables}])
    (draft,) = read(document, ImportChoices(base_url=base_url)).drafts
    execution, request = draft.current["execution"], draft.current["input"]
    assert (execution.get("base_url"), request["endpoint"]) == expected


def test_a_swagger_document_prefers_https() -> None:
    (draft,) = read(two(get()), ImportChoices()).drafts
    assert draft.current == {
        "input": {"method": "GET", "endpoint": "/v1/x"},
        "execution": {"type": "http", "base_url": "https://api.test"},
    }


SCHEMES: dict[str, dict[str, Json]] = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "in query": {"type": "apiKey", "in": "query", "name": "key"},
    "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basicAuth": {"type": "http", "scheme": "basic"},
    "token": {"type": "http", "scheme": "bearer"},
    "oauth": {"type": "oauth2", "flows": {}},
}
BASIC = {"type": "basic", "username": "{{BASIC_AUTH_USERNAME}}", "password": "{{BASIC_AUTH_PASSWORD}}"}
SECURITY: list[tuple[list[dict[str, Json]], set[str], dict[str, Json]]] = [
    ([{"apiKey": []}], set(), {"headers": {"X-Key": "{{API_KEY}}"}}),
    ([{"in query": []}], set(), {"params": {"key": "{{IN_QUERY}}"}}),
    ([{"session": []}], set(), {"cookies": {"sid": "{{SESSION}}"}}),
    ([{"basicAuth": []}], set(), {"auth": BASIC}),
    ([{"token": []}], set(), {"auth": {"type": "bearer", "token": "{{TOKEN}}"}}),
    ([{"oauth": ["read"]}], set(), {"auth": {"type": "bearer", "token": "{{OAUTH}}"}}),
    (
        [{"apiKey": [], "session": []}],
        set(),
        {"headers": {"X-Key": "{{API_KEY}}"}, "cookies": {"sid": "{{SESSION}}"}},
    ),
    ([{"apiKey": []}, {"token": []}], {"TOKEN"}, {"auth": {"type": "bearer", "token": "{{TOKEN}}"}}),
    ([{}, {"apiKey": []}], set(), {}),
    ([{}, {"apiKey": []}], {"API_KEY"}, {"headers": {"X-Key": "{{API_KEY}}"}}),
    ([], set(), {}),
]


@pytest.mark.parametrize(("security", "known", "expected"), SECURITY)
def test_credentials_are_variables(
    security: list[dict[str, Json]], known: set[str], expected: dict[str, Json]
) -> None:
    document = three(get(), security=security, components={"securitySchemes": SCHEMES})
    choices = ImportChoices(base_url="http://desk", known=frozenset(known))
    assert asked(document, choices) == {"endpoint": "/v1/x", **expected}


LEFT: list[tuple[dict[str, Json], str, str]] = [
    (
        get(query()),
        "the required query parameter q has no example",
        "write `example:` there, or pass --param",
    ),
    ({"/x/{id}": {"get": {}}}, "the required path parameter id has no example", "--param id=…"),
    (get({"$ref": "#/nowhere"}), "refers to #/nowhere, which is not there", "correct the reference"),
    (get({"$ref": "http://x/y.yaml#/x"}), "refers to http://x/y.yaml#/x, which is not fetched", "save it"),
    (
        get(query(schema={"$ref": "#/components/schemas/A"})),
        "a reference that leads back to itself",
        "correct",
    ),
    (get(security=[{"none": []}]), "the security scheme none is not described", "correct the document"),
]


@pytest.mark.parametrize(("paths", "what", "hint"), LEFT, ids=[what for _, what, _ in LEFT])
def test_what_cannot_be_asked_is_told_with_its_line(paths: dict[str, Json], what: str, hint: str) -> None:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    document = three({**paths, "/fine": {"get": {}}}, components={"schemas": schemas})
    found = read(document)
    assert [draft.current["input"]["endpoint"] for draft in found.drafts] == ["/v1/fine"]
    (left,) = found.left_out
    assert left.message == f"GET {next(iter(paths))}: {what}"
    assert hint in left.hint
    lines = json.dumps(document, indent=1).splitlines()
    assert left.line > 10
    assert lines[left.line - 1].strip()


def test_a_document_without_an_address_asks_for_one() -> None:
    (left,) = read(three(get(), servers=[{"url": "/v1"}]), ImportChoices()).left_out
    assert (left.message, left.hint) == (
        "GET /x: the document names no address to ask, but /v1",
        "pass --base-url http://…",
    )


def test_only_what_reads_is_asked_unless_somebody_says_so() -> None:
    methods = ("get", "head", "options", "post", "put", "patch", "delete")
    document = three({"/x": {method: {} for method in methods}})
    found = read(document)
    assert [draft.current["input"]["method"] for draft in found.drafts] == ["GET", "HEAD", "OPTIONS"]
    assert found.unsafe == 4
    assert len(read(document, ImportChoices(base_url="http://desk", unsafe=True)).drafts) == 7


BODIES: list[tuple[Json, Json, dict[str, Json]]] = [
    ("application/json", {"example": {"a": 1}}, {"json": {"a": 1}}),
    ("application/json", {"schema": {"example": {"a": 1}}}, {"json": {"a": 1}}),
    (
        "application/json",
        {
            "schema": {
                "required": ["a"],
                "properties": {
                    "a": {"type": "string", "example": "x"},
                    "b": {"type": "string"},
                    "c": {"default": 1},
                },
            }
        },
        {"json": {"a": "x", "c": 1}},
    ),
    ("application/merge-patch+json", {"example": {}}, {"json": {}}),
    ("application/x-www-form-urlencoded", {"example": {"a": "x"}}, {"form": {"a": "x"}}),
    ("text/plain", {"example": "x"}, {"body": "x"}),
]


@pytest.mark.parametrize(("media", "content", "expected"), BODIES)
def test_a_body_is_the_example_or_is_made_of_those_of_its_properties(
    media: str, content: Json, expected: dict[str, Json]
) -> None:
    document = three({"/x": {"post": {"requestBody": {"content": {media: content}}}}})
    body = asked(document, ImportChoices(base_url="http://desk", unsafe=True))
    assert {key: body[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({"text/plain": {"schema": {}}}, "the body"),
        (
            {"application/json": {"schema": {"required": ["a"], "properties": {"a": {"type": "string"}}}}},
            "the required field a of the body",
        ),
    ],
)
def test_a_body_without_an_example_is_told(content: Json, what: str) -> None:
    document = three({"/x": {"post": {"requestBody": {"content": content}}}})
    found = read(document, ImportChoices(base_url="http://desk", unsafe=True))
    assert [left.message for left in found.left_out] == [f"POST /x: {what} has no example"]


@pytest.mark.parametrize(
    ("operation", "id"),
    [
        ({"operationId": "listUsers"}, "listUsers"),
        ({"operationId": "users/list all"}, "users-list-all"),
        ({}, "get-x"),
    ],
)
def test_what_it_is_called(operation: dict[str, Json], id: str) -> None:
    (draft,) = read(three({"/x": {"get": {**operation, "summary": "All\n users", "tags": ["a b"]}}})).drafts
    assert (draft.id, draft.name, draft.tags) == (id, "All users", ("a b",))


ID, TIME = "7b7e0f2e-5c1c-4b58-9d3f-8a5a4e2f9c11", "2026-01-02T03:04:05Z"
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "wrong": {"type": "string", "format": "uuid"},
        "kind": {"type": "string", "format": "date", "enum": ["2026-01-02"]},
        "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
        "either": {"oneOf": [{"format": "date-time"}, {"format": "email"}]},
        "child": {"$ref": "#/components/schemas/Node"},
    },
    "additionalProperties": {"format": "ipv4"},
}
PARTS: dict[str, Json] = {
    "Row": {
        "allOf": [{"properties": {"at": {"format": "date-time"}}}, {"properties": {"url": {"format": "uri"}}}]
    },
    "Node": {"properties": {"day": {"format": "date"}, "child": {"$ref": "#/components/schemas/Node"}}},
}
BODY: dict[str, Any] = {
    "id": ID,
    "wrong": "none",
    "kind": "2026-01-02",
    "rows": [{"at": TIME, "url": "https://a.test/x"}, {"at": "soon", "url": "https://b.test/"}],
    "either": "a@b.test",
    "child": {"day": "2026-01-02", "child": {"day": "2026-01-03"}},
    "host": "192.0.2.1",
}
FORMATS = {
    ("body", "id"): "<<any_uuid>>",
    ("body", "rows", 0, "at"): "<<any_iso_datetime>>",
    ("body", "rows", 0, "url"): "<<any_url>>",
    ("body", "rows", 1, "url"): "<<any_url>>",
    ("body", "either"): "<<any_email>>",
    ("body", "child", "day"): "<<any_iso_date>>",
    ("body", "child", "child", "day"): "<<any_iso_date>>",
    ("body", "host"): "<<any_ip>>",
}
MADE = {"<<any_uuid>>", "<<any_iso_datetime>>", "<<any_iso_date>>", "<<any_time>>"}
OTHER = {
    **BODY,
    "rows": [{"at": TIME, "url": "https://a.test/y"}, {"at": "soon", "url": "https://c.test/"}],
    "either": "b@b.test",
    "host": "192.0.2.2",
}


@pytest.mark.parametrize("key", ["200", "2XX", "2xx", "default"])
def test_formats_are_placeholders_where_the_value_fits(key: str) -> None:
    responses = {key: {"content": {"application/json": {"schema": SCHEMA}}}}
    (draft,) = read(three(get(responses=responses), components={"schemas": PARTS})).drafts
    assert draft.formats
    answer = {"status": 200, "body": BODY}
    made = {path: text for path, text in FORMATS.items() if text in MADE}
    assert draft.formats([answer]) == made
    assert draft.formats([answer, answer]) == made
    assert draft.formats([answer, {"status": 200, "body": {**BODY, "rows": [], "host": None}}]) == made
    assert draft.formats([answer, {"status": 200, "body": OTHER}]) == FORMATS


def test_formats_of_another_answer_say_nothing() -> None:
    responses = {"200": {"schema": {"properties": {"id": {"format": "uuid"}}}}}
    (draft,) = read(two(get(responses=responses))).drafts
    assert draft.formats
    assert draft.formats([{"status": 200, "body": {"id": ID}}]) == {("body", "id"): "<<any_uuid>>"}
    assert draft.formats([{"status": 404, "body": {"id": ID}}]) == {}
    assert draft.formats([{"status": 200, "body": ID}]) == {}


def test_yaml_as_people_write_it() -> None:
    text = """# yes
openapi: 3.0.0
servers: [{url: https://api.test}]
x-common: &common
  responses:
    200: {description: fine}
paths:
  /users:
    get:
      <<: *common
      operationId: users
  /users/{id}:
    get:
      <<: [*common]
      parameters:
        - name: id
          in: path
          required: true
"""
    source = SourceText("api.yaml", text)
    assert openapi.recognises(source)
    found = openapi.read(source, ImportChoices())
    assert [(draft.id, draft.line) for draft in found.drafts] == [("users", 9)]
    assert [left.line for left in found.left_out] == [16]


@pytest.mark.parametrize("text", ["", "{}", "[]", "id: x\nopenapi: true\n", '{"swagger": 1', "openapi\n"])
def test_what_is_no_document(text: str) -> None:
    from baselinekit.importers.table import importer_of

    assert importer_of(SourceText("x", text)) is None


A_FORM = {
    "required": ["name", "photo"],
    "properties": {
        "name": {"type": "string", "example": "a b"},
        "tags": {"type": "array", "items": {"type": "string"}, "example": ["x", "y"]},
        "about": {"type": "object", "example": {"k": [1]}},
        "photo": {"type": "string", "format": "binary"},
        "more": {
            "type": "array",
            "items": {"type": "string", "contentMediaType": "application/octet-stream"},
        },
        "inline": {"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"},
    },
}
FIELDS = {"name": "a b", "tags": ["x", "y"], "about": '{"k": [1]}'}


@pytest.mark.parametrize(
    ("media", "schema", "params", "expected"),
    [
        ("multipart/form-data", A_FORM, {"photo": "me.png"}, {"form": FIELDS, "files": {"photo": "me.png"}}),
        (
            "multipart/form-data",
            {"allOf": [{"$ref": "#/components/schemas/Form"}, {"required": ["name"]}]},
            {"send.photo": "me.png", "name": "b", "more": "x.bin"},
            {"form": {**FIELDS, "name": "b"}, "files": {"photo": "me.png", "more": "x.bin"}},
        ),
        ("multipart/form-data", A_FORM, {}, "the required field photo is a file, and no document holds one"),
        (
            "multipart/form-data",
            {"properties": {"n": {"default": 1}}},
            {},
            {"form": {"n": 1}, "files": {}},
        ),
        (
            "application/x-www-form-urlencoded",
            {"required": ["a"], "properties": {"a": {"enum": ["x"]}, "b": {}}},
            {},
            {"form": {"a": "x"}},
        ),
        (
            "application/x-www-form-urlencoded",
            {"required": ["a"], "properties": {"a": {"type": "string"}}},
            {"a": "given"},
            {"form": {"a": "given"}},
        ),
        ("application/x-www-form-urlencoded", {"example": "a=b"}, {}, "a form that is no object"),
    ],
)
def test_forms(media: str, schema: Json, params: dict[str, str], expected: Json) -> None:
    operation = {"operationId": "send", "requestBody": {"content": {media: {"schema": schema}}}}
    document = three({"/x": {"post": operation}}, components={"schemas": {"Form": A_FORM}})
    choices = ImportChoices(base_url="http://desk", unsafe=True, params=params)
    if isinstance(expected, str):
        assert [left.message for left in read(document, choices).left_out] == [f"POST /x: {expected}"]
    else:
        assert asked(document, choices) == {"endpoint": "/v1/x", **expected}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"photo": "me.png"}, {"form": {"note": "hi"}, "files": {"photo": "me.png"}}),
        ({}, "the required field photo is a file, and no document holds one"),
    ],
)
def test_forms_of_swagger(params: dict[str, str], expected: Json) -> None:
    parameters = [
        {"name": "note", "in": "formData", "type": "string", "required": True, "x-example": "hi"},
        {"name": "photo", "in": "formData", "type": "file", "required": True},
    ]
    document = two({"/x": {"post": {"consumes": ["multipart/form-data"], "parameters": parameters}}})
    choices = ImportChoices(base_url="http://desk", unsafe=True, params=params)
    if isinstance(expected, str):
        assert [left.message for left in read(document, choices).left_out] == [f"POST /x: {expected}"]
    else:
        assert asked(document, choices) == {"endpoint": "/v1/x", **expected}
