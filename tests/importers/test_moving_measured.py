"""How much of what syrupy, pytest-regressions, inline-snapshot and vcrpy wrote themselves is carried over as
it was: 305 values and 15 answers whose originals are known. The rates of docs/coming-from-snapshots.md."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from importers.moved.values import VALUES

from baselinekit.importers import inlinesnapshots, regressions, syrupy
from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.importers.testcode import SnapshotImport, SnapshotSources
from baselinekit.importers.vcr import Cassette, read as read_cassette
from baselinekit.library.values import as_json
from baselinekit.values.equality import identical

MADE = Path(__file__).parent / "moved"
TESTS = "@pytest.mark.parametrize('number', range(305))\ndef test_value(number, {}): ...\n"


def moved(
    read: Callable[[SnapshotSources, SnapshotImport], None], files: Mapping[str, str]
) -> SnapshotImport:
    moving = SnapshotImport()
    contents = {name: text.encode() for name, text in files.items()}

    read(SnapshotSources([*files], lambda name: contents.get(name, b"")), moving)
    return moving


def counted(moving: SnapshotImport) -> tuple[int, set[int]]:
    """How many are right, and which are not."""
    right, wrong = 0, set()
    for value in moving.values:
        found = re.search(r"(\d+)\]?$", value.test)
        assert found
        number = int(found[1])
        if identical(as_json(VALUES[number]), value.value, ordered=False) and not value.placeholders:
            right += 1
        else:
            wrong.add(number)
    return right, wrong


def bundle(name: str, folder: str) -> dict[str, str]:
    files: dict[str, str] = json.loads((MADE / name).read_text("utf-8"))
    return {f"{folder}/{file}": text for file, text in files.items()}


def test_of_305_values_in_amber_all_are_carried_over() -> None:
    text = (MADE / "test_amber.ambr").read_text("utf-8")
    moving = moved(syrupy.read, {"tests/__snapshots__/test_amber.ambr": text})
    assert counted(moving) == (305, set())
    assert moving.left_out == []
    assert {value.name for value in moving.values} == {None}


def test_of_305_values_in_json_those_are_wrong_of_which_syrupy_wrote_something_else() -> None:
    """Keys that are no texts are left out there, and a set has the order of its values."""
    files = bundle("syrupy_json.json", "tests/__snapshots__/test_json")
    moving = moved(syrupy.read, files)
    right, wrong = counted(moving)
    assert right == 300
    assert [type(VALUES[number]) for number in sorted(wrong)] == [dict, dict, dict, set, dict]
    assert moving.left_out == []


def test_of_205_values_in_yaml_those_are_wrong_that_pyyaml_itself_reads_otherwise() -> None:
    """It writes U+0085 into a text that it folds, where it is a line break."""
    files = bundle("regression_yml.json", "tests/test_regression")
    files["tests/test_regression.py"] = TESTS.format("data_regression")
    moving = moved(regressions.read, files)
    right, wrong = counted(moving)
    assert (right, len(moving.values), moving.left_out) == (199, 205, [])
    assert all("\\x85" in repr(VALUES[number]) for number in wrong)


def test_of_302_values_in_a_source_all_are_carried_over() -> None:
    """inline-snapshot wrote no source of three others."""
    files = {
        "tests/test_inline.py": (MADE / "inline_source.txt").read_text("utf-8"),
        "tests/values.py": (MADE / "values.py").read_text("utf-8"),
    }
    moving = moved(inlinesnapshots.read, files)
    assert counted(moving) == (302, set())
    assert moving.left_out == []
    assert len(moving.notes) == 3


USUAL = {"n": 1.5, "name": "Zoë"}
ANSWERS: dict[str, object] = {
    "GET /json?x=1&y=a%20b": {**USUAL, "method": "GET", "path": "/json?x=1&y=a%20b", "sent": ""},
    "GET /gzip": {**USUAL, "method": "GET", "path": "/gzip", "sent": ""},
    "GET /deflate": {**USUAL, "method": "GET", "path": "/deflate", "sent": ""},
    "GET /bytes": b"\x89PNG\xff\x00",
    "GET /text": "hello\nÄ\n".encode(),
    "GET /latin": "hellö".encode("latin-1"),
    "GET /json": {**USUAL, "method": "GET", "path": "/json", "sent": ""},  # where /moved leads
    "GET /missing": {"error": "no such thing"},
    "GET /moved": b"",
    "GET /empty": b"",
    "GET /broken": b'{"a": ',
    "POST /orders": {**USUAL, "method": "POST", "path": "/orders", "sent": '{"a": [1, 2], "n": null}'},
    "POST /form": {**USUAL, "method": "POST", "path": "/form", "sent": "a=1&b=x&b=y"},
    "PUT /text": "hello\nÄ\n".encode(),
    "DELETE /orders/7": {**USUAL, "method": "DELETE", "path": "/orders/7", "sent": ""},
}


def cassette(name: str) -> Cassette:
    text = (MADE / "cassettes" / name).read_text("utf-8")
    found = read_cassette(SourceText(name, text), ImportChoices())
    assert found is not None
    return found


def test_each_recorded_answer_is_the_one_that_the_service_gave() -> None:
    found = cassette("many.yaml")
    assert found.imported.left_out == ()
    bodies = {
        f"{draft.current['input']['method']} {draft.current['input']['endpoint']}": answer.response.body
        for draft, answer in zip(found.imported.drafts, found.answers, strict=True)
    }
    assert bodies.keys() == ANSWERS.keys()
    for name, wanted in ANSWERS.items():
        body = bodies[name]
        assert (body if isinstance(wanted, bytes) else json.loads(body)) == wanted


def test_what_is_sent_is_said_as_a_recipe_says_it_best() -> None:
    asked = {draft.id: draft.current["input"] for draft in cassette("many.yaml").imported.drafts}
    assert asked["post-orders"] == {
        "method": "POST",
        "endpoint": "/orders",
        "headers": {"X-Trace": "t1"},
        "json": {"a": [1, 2], "n": None},
    }
    assert asked["post-form"] == {"method": "POST", "endpoint": "/form", "form": {"a": "1", "b": ["x", "y"]}}
    assert asked["put-text"]["body"] == "plain body"


def test_credentials_become_variables_and_stand_nowhere() -> None:
    found = cassette("secrets.yaml").imported
    written = json.dumps([draft.current for draft in found.drafts])
    for secret in ("hunter2", "s3cr3t", "c2lnbmF0", "ABCD1234"):
        assert secret not in written
    assert sorted(found.secrets) == ["API_KEY", "API_TOKEN", "PASSWORD", "SESSION"]


def test_what_cannot_be_sent_again_is_told_with_its_line() -> None:
    found = cassette("binary.yaml").imported
    assert [(one.line, one.message.partition("8765")[2]) for one in found.left_out] == [
        (2, "/bin: a body that is no text"),
        (34, "/file: a body of multipart/form-data"),
    ]
    assert [draft.current["input"]["body"] for draft in found.drafts] == ["from a buffer"]


@pytest.mark.parametrize(("name", "count"), [("again.yaml", 1), ("by_httpx.yaml", 2), ("plain.json", 2)])
def test_the_same_answer_to_the_same_request_is_one(name: str, count: int) -> None:
    assert len(cassette(name).imported.drafts) == count
