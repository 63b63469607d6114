"""An OpenAPI document in several files: what is followed, where a fault is told, and what is left alone."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from storehelp import write

from baselinekit.cli.main import run
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.importers import openapi
from baselinekit.importers.drafts import ImportChoices, ImportedFile, SourceText
from baselinekit.model.values import Json

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
components:
  parameters:
    Kind: {$ref: "shared/parameters.json#/a~1b%20c"}
  schemas:
    Id: {type: string, example: p-1}
"""
PET = """\
get:
  operationId: getPet
  parameters:
    - {name: id, in: path, required: true, schema: {$ref: "../api.yaml#/components/schemas/Id"}}
    - {name: size, in: query, required: true, schema: {$ref: "#/x-sizes/Size"}}
x-sizes:
  Size: {enum: [small, large]}
"""
PARAMETERS = json.dumps(
    {
        "Limit": {"name": "limit", "in": "query", "required": True, "example": 5},
        "a/b c": {"name": "kind", "in": "query", "required": True, "schema": {"$ref": "deep/kinds.yaml"}},
    }
)
FILES = {
    "paths/pet.yaml": PET,
    "shared/parameters.json": PARAMETERS,
    "shared/deep/kinds.yaml": "enum: [cat]\n",
}


def read(root: str, files: Mapping[str, str], name: str = "specs/api.yaml") -> ImportedFile:
    def beside(document: str, way: str) -> str:
        assert document == name
        if way not in files:
            raise InvalidInput(Problem("BK111", "there is no such file", "correct the reference"))
        return files[way]

    return openapi.read(SourceText(name, root), ImportChoices(beside=beside))


def test_references_lead_from_file_to_file() -> None:
    found = read(ROOT, FILES)
    assert not found.left_out
    assert [draft.current["input"] for draft in found.drafts] == [
        {"method": "GET", "endpoint": "/pets/p-1", "params": {"size": "small"}},
        {"method": "GET", "endpoint": "/owners", "params": {"limit": "5", "kind": "cat"}},
    ]
    assert [draft.line for draft in found.drafts] == [4, 7]


@pytest.mark.parametrize(
    ("reference", "files", "told", "at"),
    [
        ("gone.yaml#/x", {}, "refers to gone.yaml, which cannot be used: there is no such file", 4),
        ("https://x.test/a.yaml#/P", {}, "refers to https://x.test/a.yaml#/P, which is not fetched", 4),
        ("//x.test/a.yaml", {}, "refers to //x.test/a.yaml, which is not fetched", 4),
        ("a.yaml#/Nope", {"a.yaml": "P: {}\n"}, "refers to a.yaml#/Nope, which is not there", 4),
        ("a.yaml#Nope", {"a.yaml": "P: {}\n"}, "refers to a.yaml#Nope, which is no path", 4),
        ("a.yaml", {"a.yaml": "# nothing\n"}, "refers to a.yaml, which is empty", 4),
        ("#Pet", {}, "refers to #Pet, which is no path", 4),
        (
            "a.yaml#/P",
            {"a.yaml": "\nP:\n  $ref: 'b.yaml#/P'\n", "b.yaml": "\n\nP: {$ref: 'a.yaml#/P'}\n"},
            "a reference that leads back to itself",
            ("specs/a.yaml", "specs/b.yaml"),
        ),
        (
            "a.yaml#/P",
            {"a.yaml": "P:\n  name: q\n  in: query\n  required: true\n"},
            "the required query parameter q has no example",
            ("specs/a.yaml:1",),
        ),
        (
            "a.yaml#/P",
            {"a.yaml": "x: 1\nP:\n  $ref: c.yaml\n"},
            "refers to c.yaml, which cannot be used: there is no such file",
            ("specs/a.yaml:2",),
        ),
    ],
)
def test_what_leads_nowhere_is_told_where_it_stands(
    reference: str, files: dict[str, str], told: str, at: int | tuple[str, ...]
) -> None:
    root = f"""\
openapi: 3.1.0
servers: [{{url: http://desk}}]
paths:
  /a: {{get: {{parameters: [{{$ref: "{reference}"}}]}}}}
  /b: {{get: {{}}}}
"""
    found = read(root, files)
    assert [draft.id for draft in found.drafts] == ["get-b"]
    (left,) = found.left_out
    assert left.message.removeprefix("GET /a: ") == told
    place = str(Place(left.file, left.line))
    assert place == f"specs/api.yaml:{at}" if isinstance(at, int) else place.startswith(at)


def test_a_path_that_leads_nowhere_leaves_the_others() -> None:
    root = ROOT.replace("paths/pet.yaml", "paths/gone.yaml")
    found = read(root, FILES)
    assert [draft.id for draft in found.drafts] == ["get-owners"]
    (left,) = found.left_out
    what = "/pets/{id}: refers to paths/gone.yaml, which cannot be used: there is no such file"
    assert (left.message, left.line) == (what, 4)


def test_a_file_that_is_none_is_told_with_its_own_line() -> None:
    found = read(ROOT, {**FILES, "paths/pet.yaml": "get:\n  a: [1\n"})
    (left,) = found.left_out
    assert left.message.startswith(
        "/pets/{id}: refers to paths/pet.yaml, which cannot be used: specs/paths/pet.yaml:"
    )


def test_a_reference_in_an_example_is_sent_and_not_followed() -> None:
    root = """\
openapi: 3.0.0
servers: [{url: http://desk}]
paths:
  /a: {get: {requestBody: {required: true, content: {application/json: {example: {$ref: a.yaml}}}}}}
"""
    (draft,) = read(root, {}).drafts
    assert draft.current["input"]["json"] == {"$ref": "a.yaml"}


def test_a_property_is_resolved_in_the_file_that_states_it() -> None:
    """Also one of a part of a schema in another file, and one of a path in another file."""
    schema = '{application/json: {schema: {allOf: [{$ref: "a.yaml#/Part"}], required: [name]}}}'
    root = f"""\
openapi: 3.0.0
servers: [{{url: http://desk}}]
paths:
  /a: {{get: {{requestBody: {{required: true, content: {schema}}}}}}}
  /b: {{$ref: "sub/b.yaml"}}
"""
    part = "Part: {properties: {name: {$ref: '#/Name'}}}\nName: {example: ada}\n"
    path = "parameters: [{$ref: q.yaml}]\nget: {responses: {200: {schema: {$ref: out.yaml}}}}\n"
    files = {
        "a.yaml": part,
        "sub/b.yaml": path,
        "sub/q.yaml": "name: q\nin: query\nrequired: true\nexample: 1\n",
        "sub/out.yaml": "properties: {id: {$ref: '#/Id'}}\nId: {format: uuid}\n",
    }
    found = read(root, files)
    assert not found.left_out
    first, second = found.drafts
    assert first.current["input"]["json"] == {"name": "ada"}
    assert second.current["input"]["params"] == {"q": "1"}
    assert second.formats is not None
    output: Json = {"status": 200, "body": {"id": "7b7e0f2e-5c1c-4b58-9d3f-8a5a4e2f9c11"}}
    assert second.formats([output]) == {("body", "id"): "<<any_uuid>>"}


def test_files_are_read_in_the_repository_and_nowhere_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a repository the folder of the document is all there is; with one, all of it but `.git`."""
    here = tmp_path / "repo/specs"
    secret = "name: secret-word\nin: query\nrequired: true\nexample: 1\n"
    write(tmp_path, "outside.yaml", secret)
    write(tmp_path, "repo/shared.yaml", "name: q\nin: query\nrequired: true\nexample: 1\n")
    write(tmp_path, "repo/.git/HEAD", secret)
    write(tmp_path, "repo/baselinekit.yaml", "base_url: http://127.0.0.1:9\n")
    (here).mkdir()
    (here / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    refs = (
        "../shared.yaml",
        "../../outside.yaml",
        "link.yaml",
        "../.git/HEAD",
        str(tmp_path / "outside.yaml"),
    )
    paths = {f"/{number}": {"get": {"parameters": [{"$ref": ref}]}} for number, ref in enumerate(refs)}
    write(tmp_path, "repo/specs/api.json", json.dumps({"openapi": "3.0.0", "paths": paths}, indent=1))
    words = [
        "capture",
        str(here / "api.json"),
        "--dry-run",
        "--config",
        str(tmp_path / "repo/baselinekit.yaml"),
    ]
    code = run(words)
    told = capsys.readouterr()
    assert code == 3
    assert "get-0   GET http://127.0.0.1:9/0   (" in told.out
    assert told.err.count("BK551") == len(refs) - 1
    assert "secret-word" not in told.out + told.err
    (tmp_path / "repo/.git/HEAD").unlink()
    (tmp_path / "repo/.git").rmdir()
    assert run(words) == 3  # nothing can be asked
    assert capsys.readouterr().err.count("BK551") == len(refs)


def test_a_document_that_is_too_large_is_told_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not as a baseline that has to be split."""
    with open(tmp_path / "api.json", "wb") as file:
        file.truncate(64_000_001)
    assert run(["capture", str(tmp_path / "api.json"), "--dry-run"]) == 2
    told = capsys.readouterr().err
    assert "api.json is larger than 64,000,000 bytes: take out of it what is not to be asked" in told
