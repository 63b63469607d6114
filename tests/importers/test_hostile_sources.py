"""Files of other tools with any value at any key end in drafts and a list, or in an error of ours."""

import json
import os
import re
from collections.abc import Callable

import pytest
import yaml

from baselinekit.commands.importing import importer_of
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.importers.drafts import ImportChoices, ImportedFile, LeftOut, SourceText
from baselinekit.model.values import Json
from baselinekit.moving import vcr
from baselinekit.moving.conversion import read_draft
from baselinekit.moving.reading import EvalFiles
from baselinekit.values.places import places, with_values

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))

ONE_OF_A_KIND: list[Json] = [None, True, 7, 0.5, "a", "http://[x/y", "\ud800", [], ["a"], [{}], {}, {"a": 1}]
BESIDE = {"x.yaml": "- {vars: {x: 1}}\n- 2\n", "x.json": "3", "x.csv": "a,b\n1\n", "x.txt": "t"}

HAR: Json = yaml.safe_load("""
log:
  version: "1.2"
  entries:
  - request:
      {method: POST, url: "http://shop.test/login?token=abcdef0123456789", cookies: [], bodySize: 3,
       headers: [{name: Content-Type, value: application/json}],
       postData: {mimeType: application/json, text: '{"password": "correct-horse"}'}}
    response:
      {status: 200, headers: [{name: Set-Cookie, value: sid=0123456789abcdef; Path=/}],
       cookies: [{name: sid, value: 0123456789abcdef}],
       content: {mimeType: application/json, encoding: "", text: '{"token": "abcdef0123456789abcdef"}'}}
  - request:
      {method: POST, url: "http://shop.test/form", cookies: [{name: sid, value: 0123456789abcdef}],
       headers: [{name: Authorization, value: Bearer abcdef0123456789abcdef}],
       postData: {mimeType: multipart/form-data, params: [{name: a, value: "1", fileName: null}]}}
    response: {status: 200, headers: [], content: {mimeType: application/json, text: "{}"}}
""")
CASSETTE: Json = yaml.safe_load("""
version: 1
interactions:
- request:
    {method: POST, uri: "http://shop.test/x?token=abcdef0123456789", body: '{"a": 1}',
     headers: {Content-Type: [application/json], Cookie: [sid=0123456789abcdef]}}
  response:
    {status: {code: 200, message: OK}, body: {string: "{}"},
     headers: {Content-Encoding: [gzip], Date: ["Thu, 01 Jan 2026 00:00:00 GMT"], Content-Type: [a/b]}}
- request: {method: GET, uri: "http://shop.test/y", headers: {}, body: {string: x}}
  response: {status_code: 200, headers: {}, content: x}
""")
OPENAPI: Json = yaml.safe_load("""
openapi: "3.1.0"
servers: [{url: "http://{host}/v1", variables: {host: {default: api.test}}}]
security: [key: []]
components:
  parameters: {P: {name: p, in: query, required: true, example: 1}}
  pathItems: {R: {get: {responses: {default: {$ref: "#/components/responses/D"}}}}}
  responses: {D: {content: {}}}
  securitySchemes:
    basic: {type: http, scheme: basic}
    key: {type: apiKey, in: header, name: X-Key}
  schemas:
    S: &schema
      type: object
      required: [name]
      properties:
        name: {type: string, example: ada}
        kind: {enum: [a], default: a, const: a}
        list: {type: array, items: {type: string, examples: [x]}}
        file: {type: string, format: binary}
      allOf: [{type: object, properties: {id: {example: 1}}, required: [id]}]
paths:
  /x/{id}:
    parameters:
    - {name: id, in: path, required: true, example: 7}
    - {name: q, in: query, required: true, schema: {type: array, items: {enum: [a]}}}
    - {name: d, in: query, required: true, style: deepObject, explode: true, examples: {x: {value: {a: 1}}}}
    - {name: X-H, in: header, required: true, content: {text/plain: {example: h}}}
    - {name: sid, in: cookie, required: true}
    - {$ref: "#/components/parameters/P"}
    get:
      operationId: x
      summary: An x
      tags: [t]
      security: [basic: [], key: []]
      responses: &responses {"200": {content: {application/json: {schema: *schema}}}}
    put: {requestBody: {content: {multipart/form-data: {schema: *schema}}}}
    delete: {servers: [{url: "http://other.test"}], requestBody: {content: {text/plain: {}}}}
  /r: {$ref: "#/components/pathItems/R"}
""")
SWAGGER: Json = yaml.safe_load("""
swagger: "2.0"
host: api.test
basePath: /v1
schemes: [http]
consumes: [application/json]
paths:
  /x:
    get:
      schemes: [https]
      parameters:
      - {name: q, in: query, required: true, type: array, collectionFormat: csv, items: {enum: [a]}}
      responses: {"200": {schema: {properties: {id: {format: uuid}}}}}
      security: [key: []]
    post:
      consumes: [multipart/form-data]
      parameters: [{name: f, in: formData, required: true, x-example: x}, {name: g, in: formData, type: file}]
    put: {parameters: [{name: b, in: body, schema: {properties: {a: {example: 1}}}}]}
securityDefinitions: {key: {type: basic}}
""")
PROMPTFOO: Json = yaml.safe_load("""
description: mine
prompts: ["Ask {{x}}", {id: p, label: P, raw: "Hi {{y}}"}, '[{"role": "user", "content": "{{x}}"}]']
providers:
- openai:gpt-4o
- {id: "anthropic:messages:c", label: L, prompts: [P], config: {temperature: 0.5, max_tokens: 7, apiKey: k}}
- echo
evaluateOptions: {repeat: 2, timeoutMs: 1000}
defaultTest:
  vars: {y: d}
  assert: [{type: contains, value: a}]
  options: {provider: {text: {id: openai:judge}}}
  threshold: 0.5
  metadata: {m: 1}
tests:
- description: one
  vars: {x: [a, b], z: {k: [1]}}
  prompts: [P, prompt-1]
  metadata: {m: 2}
  threshold: 0.5
  options: {provider: openai:judge, disableVarExpansion: false}
  assert:
  - {type: equals, value: {a: 1}, weight: 2, metric: m}
  - {type: icontains-any, value: [a, b]}
  - {type: is-json, value: {type: object}}
  - {type: word-count, value: 3}
  - {type: latency, threshold: 100}
  - {type: llm-rubric, value: "ok?", provider: openai:judge, threshold: 0.5}
  - contains:a
  - {type: assert-set, threshold: 0.5, weight: 2, metric: s, assert: [contains:a, {type: equals, value: b}]}
- file://x.yaml
""")
EVALS: Json = yaml.safe_load("""
skill_name: notes
description: d
version: 1
evals:
- {id: 1, name: n, prompt: p, expected_output: o, files: [a], expectations: [a, {text: b}], assertions: [c]}
""")


def read_requests(text: str) -> ImportedFile | None:
    def beside(document: str, path: str) -> str:
        return read_beside(path)

    source = SourceText("file", text)
    importer = importer_of(source)
    if importer is None:
        return None
    imported = importer.read(source, ImportChoices(unsafe=True, beside=beside))
    for draft in imported.drafts:
        if draft.formats is not None:
            body = {"id": "0b1f2c9e-6a57-4a53-8d13-0e7a2e1f4c11", "list": ["x"], "name": "ada"}
            draft.formats({"status": 200, "headers": {}, "body": body})
    return imported


def read_beside(path: str) -> str:
    if path.removeprefix("./") not in BESIDE:
        raise InvalidInput(Problem("BK111", "there is no such file"))
    return BESIDE[path.removeprefix("./")]


def read_evals(text: str) -> tuple[LeftOut, ...]:
    source = SourceText("file", text)
    draft = read_draft(source, EvalFiles(read_beside, lambda pattern: [*BESIDE]))
    return () if draft is None else draft.left_out


FILES: dict[str, tuple[Json, Callable[[str], object]]] = {
    "har": (HAR, read_requests),
    "openapi": (OPENAPI, read_requests),
    "swagger": (SWAGGER, read_requests),
    "vcr": (CASSETTE, lambda text: vcr.read(SourceText("file", text), ImportChoices())),
    "promptfoo": (PROMPTFOO, read_evals),
    "evals.json": (EVALS, read_evals),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FILES)
def test_read_with_any_value_at_any_place_ends_in_a_list_or_an_error(form: str) -> None:
    """A sixth of all changes, each place and each value among them; BASELINEKIT_THOROUGH=1 makes all."""
    document, read = FILES[form]
    read(json.dumps(document))
    for place, (path, _) in enumerate(places(document)):
        for number, value in enumerate(ONE_OF_A_KIND):
            if THOROUGH or (place + number) % 6 == 0:
                try:
                    read(json.dumps(with_values(document, {path: value}), indent=1))
                except BaselinekitError:
                    pass
                except Exception as error:
                    raise AssertionError(f"{path}, {value}: {error!r}") from error


ODD_TEXTS = ["", "\0", "\u2028", "&x ", "!!python/object:a.B ", "<<: *x\n", "- ", "'", "[", ":", "*x"]
ODD_TEXTS += ["!!set", "nan", "1e999", "2024-99-99", "1" * 5_000, "[" * 200, "a" * 140_000, "---\n"]


@pytest.mark.slow
def test_read_of_cassette_with_a_changed_word_lists_lines_of_the_file() -> None:
    """A seventh of all changes, each word and each odd text among them; BASELINEKIT_THOROUGH=1 makes all."""
    text = yaml.safe_dump(CASSETTE)
    for place, match in enumerate(re.finditer(r"\w+|\n|[^\w\s]", text)):
        for number, odd in enumerate(ODD_TEXTS):
            if not THOROUGH and (place + number) % 7:
                continue
            changed = text[: match.start()] + odd + text[match.end() :]
            try:
                cassette = vcr.read(SourceText("c.yaml", changed), ImportChoices())
            except BaselinekitError:
                continue
            for left in cassette.imported.left_out if cassette else ():
                assert 0 < left.line <= len(changed.split("\n")), (match.start(), odd[:20], left)
