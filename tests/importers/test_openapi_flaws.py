"""OpenAPI documents with mistakes: what is lost of an operation is told with its line, and nothing of it is
left out of a request unseen."""

import json
from typing import Any

import pytest

from baselinekit.importers import openapi
from baselinekit.importers.drafts import DraftRecipe, ImportChoices, ImportedFile, SourceText
from baselinekit.model.values import Json

UNSAFE = ImportChoices(unsafe=True)
SERVERS: list[Json] = [{"url": "http://a.test"}]


def read(item: Json, choices: ImportChoices = UNSAFE, path: str = "/x", **more: Json) -> ImportedFile:
    document: dict[str, Json] = {"openapi": "3.1.0", "servers": SERVERS, "paths": {path: item}} | more
    return openapi.read(SourceText("a.json", json.dumps(document, indent=1)), choices)


def the_request(found: ImportedFile) -> DraftRecipe:
    assert not found.left_out
    (draft,) = found.drafts
    return draft


def body(content: Json, **more: Json) -> dict[str, Json]:
    return {"post": {"requestBody": {"content": content, **more}}}


def parameter(**more: Json) -> dict[str, Json]:
    return {"get": {"parameters": [{"name": "q", "in": "query", "required": True, **more}]}}


def as_json(example: Json, schema: Json) -> dict[str, Json]:
    return body({"application/json": {"example": example, "schema": schema}})


OBJECT: Json = {"type": "object"}
FLAWS: list[tuple[Json, str, int]] = [
    (body(["a"]), "POST /x: `content` is a list", 12),
    (body("a"), "POST /x: `content` is 'a' (string)", 12),
    (body({}), "POST /x: a request body without `content`", 11),
    ({"post": {"requestBody": ["a"]}}, "POST /x: `requestBody` is a list", 11),
    ({"post": {"requestBody": {"$ref": "#/gone"}}}, "POST /x: refers to #/gone, which is not there", 11),
    (parameter(**{"in": None}), "GET /x: a parameter whose `name` or `in` is no text", 12),
    (parameter(**{"in": "query2"}, example=1), "GET /x: the parameter q is in 'query2'", 12),
    ({"get": {"parameters": ["q"]}}, "GET /x: a parameter that is 'q' (string)", 12),
    ({"get": {"parameters": [{"name": "q"}]}}, "GET /x: a parameter whose `name` or `in` is no text", 12),
    ({"get": {"parameters": [{"$ref": "#/gone"}]}}, "GET /x: refers to #/gone, which is not there", 12),
    (parameter(schema={"$ref": "#/gone"}), "GET /x: refers to #/gone, which is not there", 16),
    (
        parameter(example={"value": 1}, schema={"type": "integer"}),
        "GET /x: the example of the parameter q is a mapping, where the schema says integer",
        12,
    ),
    (
        parameter(example=["a"], schema={"type": ["string", "null"]}),
        "GET /x: the example of the parameter q is a list, where the schema says string or null",
        12,
    ),
    (
        as_json('{"a": 1}', OBJECT),
        "POST /x: the example of the body is '{\"a\": 1}' (string), where the schema says object",
        13,
    ),
    (
        as_json({"a": 1}, {"type": "array"}),
        "POST /x: the example of the body is a mapping, where the schema says array",
        13,
    ),
    ({"get": {"servers": {"url": "http://b.test"}}}, "GET /x: `servers` is a mapping", 11),
    ({"get": {"servers": ["http://b.test"]}}, "GET /x: a server that is 'http://b.test' (string)", 12),
    (
        {"servers": [{"url": "http://{host}/{v}", "variables": {"host": {}}}], "get": {}},
        "GET /x: the variable host of the server has no value",
        11,
    ),
    ({"get": {"security": ["key"]}}, "GET /x: a security requirement that is no mapping", 11),
    ({"get": {"security": [{"gone": []}]}}, "GET /x: the security scheme gone is not described", 10),
    ({"get": []}, "/x: `get` is no operation", 10),
    ({"GET": {}}, "/x: `GET` is no operation", 10),
    (["get"], "/x: the path is a list", 9),
    ({"$ref": "#/paths/~1x"}, "/x: a reference that leads back to itself", 9),
]


@pytest.mark.parametrize(("item", "what", "line"), FLAWS, ids=[what for _, what, _ in FLAWS])
def test_a_flaw_is_told_with_its_operation_and_line(item: Json, what: str, line: int) -> None:
    found = read(item)
    assert [(left.message, left.line) for left in found.left_out] == [(what, line)]
    assert not found.drafts


def test_a_path_without_its_slash_is_told() -> None:
    (left,) = read({"get": {}}, path="x").left_out
    assert left.message == "x: a path that does not begin with /"
    assert not read({"get": {}}, path="x-more").left_out


@pytest.mark.parametrize("scheme", [{"type": "apiKey"}, {"type": "apikey", "in": "header"}, {}])
def test_a_security_scheme_that_does_not_say_how_it_is_sent_is_told(scheme: Json) -> None:
    components: Json = {"securitySchemes": {"key": scheme}}
    (left,) = read({"get": {"security": [{"key": []}]}}, components=components).left_out
    assert left.message == "GET /x: the security scheme key does not say how it is sent"
    assert left.line == 21


@pytest.mark.parametrize("example", [1, "1", True, 1.5])
def test_a_text_may_stand_for_any_plain_value(example: Json) -> None:
    assert the_request(read(parameter(example=example, schema={"type": "integer"})))


def test_variables_of_servers_have_defaults_or_values_of_the_operator() -> None:
    server: Json = {"url": "http://{host}:{port}/{v}", "variables": {"host": {"default": "b.test"}}}
    choices = ImportChoices(params={"port": "81", "v": "v2"})
    request = the_request(read({"get": {}}, choices, servers=[server]))
    assert request.current["execution"]["base_url"] == "http://b.test:81"
    assert request.current["input"]["endpoint"] == "/v2/x"


@pytest.mark.parametrize(
    ("base_url", "endpoint"), [("http://c.test", None), ("http://c.test/", "/x"), ("http://c.test/v1", "/x")]
)
def test_a_base_url_with_a_path_needs_no_variable(base_url: str, endpoint: str | None) -> None:
    found = read({"get": {}}, ImportChoices(base_url=base_url), servers=[{"url": "http://{host}/{v}"}])
    assert [draft.current["input"]["endpoint"] for draft in found.drafts] == ([endpoint] if endpoint else [])
    assert [left.message for left in found.left_out] == (
        [] if endpoint else ["GET /x: the variable v of the server has no value"]
    )


def test_a_body_that_a_read_requires_is_sent_with_it() -> None:
    content: Json = {"application/json": {"example": {"a": 1}}}
    required = read({"get": {"requestBody": {"required": True, "content": content}}}, ImportChoices())
    assert the_request(required).current["input"]["json"] == {"a": 1}
    optional = read({"get": {"requestBody": {"content": content}}}, ImportChoices())
    assert "json" not in the_request(optional).current["input"]


def test_properties_of_parts_of_parts_belong_to_a_body() -> None:
    inner: Json = {"allOf": [{"properties": {"deep": {"example": 1}}, "required": ["deep"]}]}
    schema: Json = {"allOf": [inner], "properties": {"own": {"example": 2}}}
    request = the_request(read(body({"application/json": {"schema": schema}})))
    assert request.current["input"]["json"] == {"own": 2, "deep": 1}


def circles() -> dict[str, Json]:
    """Schemas that contain themselves, each in several ways: followed one by one they have no end."""
    again: Json = {"$ref": "#/components/schemas/A"}
    kinds: dict[str, Json] = {key: {key: [again, again, again]} for key in ("allOf", "oneOf", "anyOf")}
    kinds["items"] = {"type": "array", "items": again}
    kinds["properties"] = {"properties": {"l": again, "r": again}, "required": ["l", "r"]}
    kinds["reference"] = again
    return kinds


@pytest.mark.parametrize("schema", circles().values(), ids=circles())
@pytest.mark.parametrize("media", ["application/json", "multipart/form-data"])
def test_a_schema_that_contains_itself_is_told_soon(schema: Json, media: str) -> None:
    components: Json = {"schemas": {"A": schema}}
    form: Json = {"properties": {"a": {"$ref": "#/components/schemas/A"}}, "required": ["a"]}
    (left,) = read(body({media: {"schema": form}}), components=components).left_out
    assert left.message in (
        "POST /x: the required field a of the body has no example",
        "POST /x: the body has no example, and its schema contains itself",
        "POST /x: a reference that leads back to itself",
    )


@pytest.mark.parametrize("schema", circles().values(), ids=circles())
def test_an_answer_whose_schema_contains_itself_is_read_soon(schema: Json) -> None:
    responses: Json = {
        "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
    }
    request = the_request(read({"get": {"responses": responses}}, components={"schemas": {"A": schema}}))
    output: Any = {"status": 200, "body": [{"l": [{"r": ["x"]}]}]}
    assert request.formats is not None
    assert request.formats([output]) == {}


def test_the_field_of_a_body_that_has_no_example_is_named() -> None:
    inner: Json = {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}}
    schema: Json = {"type": "object", "required": ["a"], "properties": {"a": inner}}
    (left,) = read(body({"application/json": {"schema": schema}})).left_out
    assert left.message == "POST /x: the required field a.b of the body has no example"


def test_operations_of_one_reason_are_counted_each() -> None:
    shared: Json = [{"name": "q", "in": "query", "required": True}]
    found = read({"parameters": shared, "get": {}, "head": {}, "post": {}})
    assert [(left.message.partition(":")[0], left.count) for left in found.left_out] == [("3 operations", 3)]
