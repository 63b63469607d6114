"""An OpenAPI document as requests, and the operations that are left out."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from storehelp import write

from baselinekit.cli.main import run
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.importers import openapi
from baselinekit.importers.drafts import DraftRecipe, ImportChoices, ImportedFile, SourceText
from baselinekit.model.values import Json


def value(text: str) -> Any:
    return yaml.safe_load(text)


def read(
    paths: Json, parts: str = "", files: Mapping[str, str] | None = None, **choices: Any
) -> ImportedFile:
    """The requests of an OpenAPI 3 document: its paths, and other parts of it, as YAML."""
    stated = value(paths) if isinstance(paths, str) else paths
    document = {"openapi": "3.1.0", "servers": [{"url": "http://a.test/v1"}], "paths": stated}
    return read_document(document | (value(parts) or {}), files, **choices)


def read_document(document: Json, files: Mapping[str, str] | None = None, **choices: Any) -> ImportedFile:
    def beside(name: str, path: str) -> str:
        if path not in (files or {}):
            raise InvalidInput(Problem("BK111", "there is no such file", "correct the reference"))
        return (files or {})[path]

    text = document if isinstance(document, str) else json.dumps(document, indent=1)
    source = SourceText("specs/api.yaml", text)
    assert openapi.recognises(source)
    return openapi.read(source, ImportChoices(beside=beside, **choices))


def only(found: ImportedFile) -> DraftRecipe:
    assert not found.left_out
    (draft,) = found.drafts
    return draft


def request(found: ImportedFile) -> dict[str, Json]:
    """The one request, without its method and the usual endpoint."""
    sent = only(found).current["input"]
    return {key: part for key, part in sent.items() if key != "method" and part != "/v1/x"}


def lost(found: ImportedFile) -> list[str]:
    return [left.message for left in found.left_out]


# Values of parameters.

GIVEN = {
    "schema: {type: integer, default: 3, enum: [1, 3]}": {"q": "3"},
    "schema: {allOf: [{type: string}, {example: a}]}": {"q": "a"},
    "schema: {anyOf: [{type: 'null'}, {enum: [a]}]}": {"q": "a"},
    "schema: {type: array, items: {enum: [a, b]}}": {"q": ["a"]},
    "example: [a, b], explode: false": {"q": "a,b"},
    "content: {application/json: {example: {a: 1}}}": {"a": 1},
    "example: {a: 1}, style: deepObject": {"q[a]": 1},
    "example: '{{name}}'": {"q": "\\{{name}}"},
}


@pytest.mark.parametrize(("stated", "params"), GIVEN.items())
def test_read_of_a_required_parameter_takes_the_value_of_the_document(stated: str, params: Json) -> None:
    paths = f"/x: {{get: {{parameters: [{{name: q, in: query, required: true, {stated}}}]}}}}"
    assert request(read(paths)) == {"params": params}


SWAGGER = """
swagger: "2.0"
host: api.test
basePath: /v1
schemes: [http, https]
paths: {/x: {get: {parameters: [{name: q, in: query, required: true, %s}]}}}
"""


@pytest.mark.parametrize(
    ("stated", "q"),
    [
        ("type: array, x-example: [a, b]", "a,b"),
        ("type: array, x-example: [a, b], collectionFormat: pipes", "a|b"),
    ],
)
def test_read_of_swagger_takes_values_and_prefers_https(stated: str, q: Json) -> None:
    draft = only(read_document(SWAGGER % stated))
    assert draft.current["input"] == {"method": "GET", "endpoint": "/v1/x", "params": {"q": q}}
    assert draft.current["execution"] == {"type": "http", "base_url": "https://api.test"}


PARAMETERS = """
/users/{id}/files/{name}:
  parameters:
  - {name: id, in: path, required: true, example: of the path}
  get:
    parameters:
    - {name: id, in: path, required: true, schema: {example: 7}}
    - {name: name, in: path, required: true, example: a/b c.txt}
    - {name: X-Tenant, in: header, required: true, example: t}
    - {name: lang, in: cookie, required: true, example: en}
    - {name: page, in: query, example: 2}
    - {name: password, in: query, required: true, example: hunter2}
"""


def test_read_places_parameters_and_makes_a_secret_a_variable() -> None:
    draft = only(read(PARAMETERS))
    assert draft.current["input"] == {
        "method": "GET",
        "endpoint": "/v1/users/7/files/a%2Fb%20c.txt",
        "headers": {"X-Tenant": "t"},
        "params": {"password": "{{PASSWORD}}"},
        "cookies": {"lang": "en"},
    }
    assert draft.needs == ("PASSWORD",)


def test_read_with_params_prefers_them_also_for_one_operation() -> None:
    stated = "{operationId: %s, parameters: [{name: id, in: query, required: true}, {name: p, in: query}]}"
    paths = f"{{/a: {{get: {stated % 'a'}}}, /b: {{get: {stated % 'b'}}}}}"
    found = read(paths, params={"id": "{{pw}}", "b.id": "2", "p": "7"})
    params = [draft.current["input"]["params"] for draft in found.drafts]
    assert params == [{"id": "\\{{pw}}", "p": "7"}, {"id": "2", "p": "7"}]


# Addresses.

VARIABLES = "{region: {default: eu}, stage: {default: live}, host: {}}"


@pytest.mark.parametrize(
    ("server", "base_url", "expected"),
    [
        ("https://{region}.api.test/{stage}", None, ("https://eu.api.test", "/live/x")),
        ("http://{given}/{stage}", None, ("http://b.test:81", "/live/x")),
        ("https://api.test/v1", "http://desk/", (None, "/x")),
        ("http://{host}/{v}", "http://desk/", (None, "/x")),
        ("http://{host}/{v}", "http://desk", "the variable v of the server has no value"),
        ("/v1", None, "the document names no address to ask, but /v1"),
    ],
)
def test_read_takes_address_of_project_or_server(server: str, base_url: str | None, expected: Json) -> None:
    parts = f"servers: [{{url: '{server}', variables: {VARIABLES}}}]"
    found = read("/x: {get: {}}", parts, base_url=base_url, params={"given": "b.test:81"})
    if isinstance(expected, str):
        assert lost(found) == [f"GET /x: {expected}"]
    else:
        sent = only(found).current
        assert (sent["execution"].get("base_url"), sent["input"]["endpoint"]) == expected


# Credentials.

SCHEMES = """
components:
  securitySchemes:
    apiKey: {type: apiKey, in: header, name: X-Key}
    in query: {type: apiKey, in: query, name: key}
    session: {type: apiKey, in: cookie, name: sid}
    basicAuth: {type: http, scheme: basic}
    token: {type: http, scheme: bearer}
    oauth: {type: oauth2, flows: {}}
    odd: {type: apikey, in: header}
"""
BASIC = {"type": "basic", "username": "{{BASIC_AUTH_USERNAME}}", "password": "{{BASIC_AUTH_PASSWORD}}"}
TOKEN: dict[str, Json] = {"auth": {"type": "bearer", "token": "{{TOKEN}}"}}
KEY: dict[str, Json] = {"headers": {"X-Key": "{{API_KEY}}"}}
SECURITY: list[tuple[str, set[str], dict[str, Json]]] = [
    ("[basicAuth: []]", set(), {"auth": BASIC}),
    ("[oauth: [read]]", set(), {"auth": {"type": "bearer", "token": "{{OAUTH}}"}}),
    ("[{apiKey: [], session: []}]", set(), {**KEY, "cookies": {"sid": "{{SESSION}}"}}),
    ("[{apiKey: []}, {token: []}]", {"TOKEN"}, TOKEN),
    ("[{}, apiKey: []]", {"API_KEY"}, KEY),
]


@pytest.mark.parametrize(("security", "known", "expected"), SECURITY)
def test_read_of_security_makes_variables(security: str, known: set[str], expected: dict[str, Json]) -> None:
    found = read("/x: {get: {}}", f"security: {security}\n{SCHEMES}", known=frozenset(known))
    assert request(found) == expected


# Bodies.

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FIELDS = """
required: [name, photo]
properties:
  name: {type: string, example: a b}
  tags: {type: array, items: {type: string}, example: [x, y]}
  about: {type: object, example: {k: [1]}}
  photo: {type: string, format: binary}
  more: {type: array, items: {type: string, contentMediaType: application/octet-stream}}
  inline: {type: string, contentMediaType: image/png, contentEncoding: base64}
"""
NESTED = "G: {required: [a], properties: {a: {required: [b], properties: {b: {}}}}}"
SENT = {"name": "a b", "tags": ["x", "y"], "about": '{"k": [1]}'}
NO_FILE = "the required field photo is a file, and no document holds one"
BODIES: list[tuple[str, str, dict[str, str], Json]] = [
    ("application/json", "example: {a: 1}", {}, {"json": {"a": 1}}),
    (
        "application/json",
        "schema: {required: [a], properties: {a: {example: x}, b: {type: string}, c: {default: 1}}}",
        *({}, {"json": {"a": "x", "c": 1}}),
    ),
    (
        "application/json",
        "schema: {allOf: [{allOf: [{properties: {a: {const: 1}}}]}], properties: {b: {const: 2}}}",
        *({}, {"json": {"b": 2, "a": 1}}),
    ),
    ("text/plain", "example: x", {}, {"headers": {"Content-Type": "text/plain"}, "body": "x"}),
    (FORM, "schema: {required: [a], properties: {a: {type: string}}}", {"a": "b"}, {"form": {"a": "b"}}),
    (
        MULTIPART,
        "schema: {allOf: [{$ref: '#/F'}, {required: [name]}]}",
        {"send.photo": "me.png", "name": "b", "more": "x.bin"},
        {"form": {**SENT, "name": "b"}, "files": {"photo": "me.png", "more": "x.bin"}},
    ),
    (MULTIPART, "schema: {$ref: '#/F'}", {}, NO_FILE),
    ("application/json", "schema: {$ref: '#/G'}", {}, "the required field a.b of the body has no example"),
]


@pytest.mark.parametrize(("media", "content", "params", "expected"), BODIES)
def test_read_of_a_body_takes_its_example_or_those_of_its_properties(
    media: str, content: str, params: dict[str, str], expected: Json
) -> None:
    paths = f"/x: {{post: {{operationId: send, requestBody: {{content: {{{media}: {{{content}}}}}}}}}}}"
    found = read(value(paths), f"F: {json.dumps(value(FIELDS))}\n{NESTED}", unsafe=True, params=params)
    if isinstance(expected, str):
        assert lost(found) == [f"POST /x: {expected}"]
    else:
        assert request(found) == expected


def test_read_without_unsafe_takes_requests_that_read_only() -> None:
    methods = ("GET", "head", "options", "post", "put", "patch", "delete")
    body = value("{content: {application/json: {example: {a: 1}}}}")
    paths = {"/x": {method: {} for method in methods}, "/y": {"get": {"requestBody": body}}}
    paths["/z"] = {"get": {"requestBody": {**body, "required": True}}}
    found = read(paths)
    sent = [(draft.current["input"]["method"], "json" in draft.current["input"]) for draft in found.drafts]
    assert sent == [*((method, False) for method in ("GET", "HEAD", "OPTIONS", "GET")), ("GET", True)]
    assert (found.unsafe, len(read(paths, unsafe=True).drafts)) == (4, 9)


def test_read_of_an_operation_takes_its_id_name_and_tags() -> None:
    draft = only(read('/x: {get: {operationId: "users/list all", summary: "All\\n users", tags: [a b]}}'))
    assert (draft.id, draft.name, draft.tags) == ("users-list-all", "All users", ("a b",))


# Placeholders by the formats of the answer.

ID, TIME = "7b7e0f2e-5c1c-4b58-9d3f-8a5a4e2f9c11", "2026-01-02T03:04:05Z"
SCHEMA = """
type: object
properties:
  id: {format: uuid}
  wrong: {format: uuid}
  rows: {type: array, items: {$ref: "#/components/schemas/Row"}}
  child: {$ref: "#/components/schemas/Node"}
additionalProperties: {format: time}
"""
PARTS = """
components:
  schemas:
    Row: {allOf: [{properties: {at: {format: date-time}}}, {properties: {by: {format: email}}}]}
    Node: {properties: {day: {format: date}, child: {$ref: "#/components/schemas/Node"}}}
"""
BODY: dict[str, Any] = {
    "id": ID,
    "wrong": "none",
    "rows": [{"at": TIME, "by": "ada@a.test"}, {"at": "soon"}],
    "child": {"day": "2026-01-02", "child": {"day": "2026-01-03"}},
    "opens": "08:30:00",
}
MADE = {
    ("body", "id"): "<<any_uuid>>",
    ("body", "rows", 0, "at"): "<<any_iso_datetime>>",
    ("body", "child", "day"): "<<any_iso_date>>",
    ("body", "child", "child", "day"): "<<any_iso_date>>",
    ("body", "opens"): "<<any_time>>",
}


@pytest.mark.parametrize("key", ["2xx", "default"])
def test_formats_of_a_schema_are_placeholders_where_values_fit(key: str) -> None:
    content = {"content": {"application/json": {"schema": value(SCHEMA)}}}
    draft = only(read({"/x": {"get": {"responses": {value(key): content}}}}, PARTS))
    assert draft.formats is not None
    assert draft.formats({"status": 200, "body": BODY}) == MADE
    assert draft.formats({"status": 404, "body": BODY}) == (MADE if key == "default" else {})


def circles() -> dict[str, Json]:
    """Schemas that contain themselves, each in several ways: followed one by one they have no end."""
    again: Json = {"$ref": "#/components/schemas/A"}
    kinds: dict[str, Json] = {key: {key: [again, again, again]} for key in ("allOf", "oneOf", "anyOf")}
    kinds["items"] = {"type": "array", "items": again}
    kinds["properties"] = {"properties": {"l": again, "r": again}, "required": ["l", "r"]}
    kinds["reference"] = again
    return kinds


@pytest.mark.parametrize("schema", circles().values(), ids=circles())
def test_read_of_a_schema_that_contains_itself_ends(schema: Json) -> None:
    parts = json.dumps({"components": {"schemas": {"A": schema}}})
    form = {"properties": {"a": {"$ref": "#/components/schemas/A"}}, "required": ["a"]}
    for media in ("application/json", MULTIPART):
        body = {"requestBody": {"content": {media: {"schema": form}}}}
        (message,) = lost(read({"/x": {"post": body}}, parts, unsafe=True))
        assert "has no example" in message or "leads back to itself" in message
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}
    draft = only(read({"/x": {"get": {"responses": answer}}}, parts))
    assert draft.formats is not None
    assert draft.formats({"status": 200, "body": [{"l": [{"r": ["x"]}]}]}) == {}


# Operations that are left out.

Q = "name: q, in: query, required: true"
FLAWS = [
    ("x: {get: {}}", "x: a path without a leading /", 9),
    ("/x: {$ref: '#/paths/~1x'}", "/x: a reference that leads back to itself", 9),
    ("/x/{id}: {get: {}}", "GET /x/{id}: the required path parameter id has no example", 10),
    (f"/x: {{get: {{parameters: [{{{Q}}}]}}}}", "GET /x: the required query parameter q has no example", 12),
    (
        "/x: {get: {parameters: [{name: q, in: x, required: true}]}}",
        "GET /x: the parameter q is in 'x', not in path, query, header, cookie, body",
        12,
    ),
    (
        f"/x: {{get: {{parameters: [{{{Q}, schema: {{$ref: '#/gone'}}}}]}}}}",
        *("GET /x: refers to #/gone, which is not there", 16),
    ),
    ("/x: {get: {security: [gone: []]}}", "GET /x: the security scheme gone is not described", 10),
    ("/x: {post: {requestBody: {}}}", "POST /x: it cannot be read", 10),
    ("/x: {get: {security: [odd: []]}}", "GET /x: the security scheme odd does not say how it is sent", 48),
]


@pytest.mark.parametrize(("paths", "message", "line"), FLAWS)
def test_read_lists_a_flaw_with_its_operation_and_line(paths: str, message: str, line: int) -> None:
    found = read(paths, SCHEMES if "odd" in paths else "", unsafe=True)
    assert [(left.message, left.line) for left in found.left_out] == [(message, line)]
    assert not found.drafts
    assert all(left.hint for left in found.left_out)


def test_read_of_yaml_with_merge_keys() -> None:
    text = """openapi: 3.0.0
servers: [{url: https://api.test}]
x-common: &common {responses: {200: {description: fine}}}
paths:
  /users:
    get:
      <<: [*common]
      parameters:
        - {name: id, in: header, required: true}
  /flow: {get: {<<: *common, operationId: flow, description: "{<<: no key}"}}
"""
    found = read_document(text)
    assert [(draft.id, draft.line) for draft in found.drafts] == [("flow", 10)]
    assert [left.line for left in found.left_out] == [9]


# A document in several files.

ROOT = """\
openapi: 3.0.3
servers: [{url: http://desk}]
paths:
  /pets/{id}:
    $ref: paths/pet.yaml
  /owners:
    get:
      parameters:
        - $ref: "./shared/parameters.json#/Limit"
        - $ref: "#/components/parameters/Kind"
  /a:
    post:
      requestBody: {content: {application/json: {schema: {allOf: [{$ref: "a.yaml#/P"}], required: [name]}}}}
components:
  parameters:
    Kind: {$ref: "shared/parameters.json#/a~1b%20c"}
  schemas:
    Id: {type: string, example: p-1}
"""
FILES = {
    "paths/pet.yaml": """\
get:
  operationId: getPet
  parameters:
    - {name: id, in: path, required: true, schema: {$ref: "../api.yaml#/components/schemas/Id"}}
    - {name: size, in: query, required: true, schema: {$ref: "#/x-sizes/Size"}}
  responses: {200: {schema: {$ref: out.yaml}}}
x-sizes:
  Size: {enum: [small, large]}
""",
    "paths/out.yaml": "properties: {id: {$ref: '#/Id'}}\nId: {format: uuid}\n",
    "shared/parameters.json": """\
{"Limit": {"name": "limit", "in": "query", "required": true, "example": 5},
 "a/b c": {"name": "kind", "in": "query", "required": true, "schema": {"$ref": "deep/kinds.yaml"}}}
""",
    "shared/deep/kinds.yaml": "enum: [cat]\n",
    "a.yaml": "P: {properties: {name: {$ref: '#/Name'}}}\nName: {example: ada}\n",
}


def test_read_follows_references_from_file_to_file() -> None:
    found = read_document(ROOT, FILES, unsafe=True)
    assert not found.left_out
    assert [draft.current["input"] for draft in found.drafts] == [
        {"method": "GET", "endpoint": "/pets/p-1", "params": {"size": "small"}},
        {"method": "GET", "endpoint": "/owners", "params": {"limit": "5", "kind": "cat"}},
        {"method": "POST", "endpoint": "/a", "json": {"name": "ada"}},
    ]
    assert [draft.line for draft in found.drafts] == [4, 7, 12]
    assert found.drafts[0].formats is not None
    assert found.drafts[0].formats({"status": 200, "body": {"id": ID}}) == {("body", "id"): "<<any_uuid>>"}


NOWHERE: list[tuple[str, dict[str, str], str, str]] = [
    ("gone.yaml#/x", {}, "refers to gone.yaml, which cannot be used: there is no such file", "api.yaml:4"),
    ("https://x.test/a#/P", {}, "refers to https://x.test/a#/P, which is not followed", "api.yaml:4"),
    ("a.yaml#/Nope", {"a.yaml": "P: {}\n"}, "refers to a.yaml#/Nope, which is not there", "api.yaml:4"),
    (
        "a.yaml#/P",
        {"a.yaml": "\nP:\n  $ref: 'b.yaml#/P'\n", "b.yaml": "\n\nP: {$ref: 'a.yaml#/P'}\n"},
        *("a reference that leads back to itself", ""),
    ),
    (
        "a.yaml#/P",
        {"a.yaml": "P:\n  name: q\n  in: query\n  required: true\n"},
        *("the required query parameter q has no example", "a.yaml:1"),
    ),
]


@pytest.mark.parametrize(("reference", "files", "message", "place"), NOWHERE)
def test_read_lists_a_reference_to_nowhere_at_its_place(
    reference: str, files: dict[str, str], message: str, place: str
) -> None:
    root = "openapi: 3.1.0\nservers: [{url: http://desk}]\npaths:\n"
    root += f"  /a: {{get: {{parameters: [{{$ref: '{reference}'}}]}}}}\n  /b: {{get: {{}}}}\n"
    found = read_document(root, files)
    assert [draft.id for draft in found.drafts] == ["get-b"]
    (left,) = found.left_out
    assert left.message.startswith(f"GET /a: {message}")
    assert not place or str(Place(left.file, left.line)) == f"specs/{place}"


def test_capture_reads_references_in_the_repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of it but `.git`."""
    folder = tmp_path / "repo/specs"
    secret = "name: secret-word\nin: query\nrequired: true\nexample: 1\n"
    write(tmp_path, "outside.yaml", secret)
    write(tmp_path, "repo/shared.yaml", "name: q\nin: query\nrequired: true\nexample: 1\n")
    write(tmp_path, "repo/.git/HEAD", secret)
    write(tmp_path, "repo/baselinekit.yaml", "base_url: http://127.0.0.1:9\n")
    folder.mkdir()
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    outside = ("../../outside.yaml", "link.yaml", "../.git/HEAD", str(tmp_path / "outside.yaml"))
    references = enumerate(("../shared.yaml", *outside))
    paths = {f"/{number}": {"get": {"parameters": [{"$ref": name}]}} for number, name in references}
    write(tmp_path, "repo/specs/api.json", json.dumps({"openapi": "3.0.0", "paths": paths}, indent=1))
    config = ["--config", str(tmp_path / "repo/baselinekit.yaml")]
    assert run(["capture", str(folder / "api.json"), "--dry-run", *config]) == 3
    shown = capsys.readouterr()
    assert "get-0   GET http://127.0.0.1:9/0   (" in shown.out
    assert shown.err.count("BK551") == len(outside)
    assert "secret-word" not in shown.out + shown.err


def test_capture_of_a_too_large_document_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open(tmp_path / "api.json", "wb") as file:
        file.truncate(64_000_001)
    assert run(["capture", str(tmp_path / "api.json"), "--dry-run"]) == 2
    message = "api.json is larger than 64,000,000 bytes: split it, or leave out what is not needed"
    assert message in capsys.readouterr().err
