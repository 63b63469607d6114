"""Requests of a file, captured together: how often and when each is asked, what becomes of formats, and what
is left of one that fails."""

import json
from pathlib import Path
from typing import Any

import pytest
from ticking import Ticking, iso, ticking

from baselinekit.commands.capture import Captured, CaptureOptions, capture
from baselinekit.commands.importing import Batch, reader_of, summarize
from baselinekit.errors import BaselinekitError, Refused
from baselinekit.importers.drafts import DraftRecipe, ImportChoices
from baselinekit.structs import replace

pytestmark = pytest.mark.slow

FORMATS = {"id": {"format": "uuid"}, "mail": {"format": "email"}, "day": {"format": "date"}}
ID = "7b7e0f2e-5c1c-4b58-9d3f-8a5a4e2f9c11"


def document(*names: str, **security: Any) -> str:
    schema = {"schema": {"properties": FORMATS}}
    operation = {"responses": {"200": {"content": {"application/json": schema}}}}
    paths = {f"/{name}": {"get": {"operationId": name, **operation, **security}} for name in names}
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    parts = {"components": {"securitySchemes": schemes}}
    return json.dumps({"openapi": "3.1.0", "paths": paths, **parts}, indent=1)


def summary_of(desk: Ticking, text: str, **options: Any) -> Batch:
    choices = ImportChoices(base_url="http://desk", known=frozenset(desk.project.scope.secrets))
    reader = reader_of("api.json", text)
    assert reader is not None
    files = {"api.json": reader(choices)}
    return summarize(desk.project, files, plain_record, CaptureOptions(repeat=None, **options))


def batch_of(desk: Ticking, name: str, text: str, **choices: Any) -> Batch:
    """The requests of a file that is not OpenAPI."""
    reader = reader_of(name, text)
    assert reader is not None
    return summarize(desk.project, {name: reader(ImportChoices(**choices))}, plain_record, CaptureOptions())


def captured(desk: Ticking, text: str, **options: Any) -> tuple[list[Captured], list[BaselinekitError]]:
    wanted = CaptureOptions(repeat=None, **options)
    summary = summary_of(desk, text, **options)
    found = capture(summary.project, summary.new, wanted, desk.ticking())
    return [*found.done], found.errors


def curl_lines(names: list[str]) -> str:
    return "".join(f"curl http://desk/{name}\n" for name in names)


def plain_record(draft: DraftRecipe) -> dict[str, Any]:
    return {"id": draft.id, "current": draft.current, "comparison": {}, "metadata": {}}


def body(item: Captured) -> Any:
    assert isinstance(item.output, dict)
    return item.output["body"]


def test_capture_of_many_asks_twice_and_waits_once(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(20)]
    desk = ticking(tmp_path, **{name: lambda now, number: {"at": iso(now), "n": 1} for name in names})
    done, errors = captured(desk, document(*names), jobs=8)
    assert ([item.id for item in done], errors) == (names, [])
    assert set(desk.counts.values()) == {2}
    assert len(desk.slept) == 1
    assert {body(item)["at"] for item in done} == {"<<any_iso_datetime>>"}


def test_capture_uses_formats_of_openapi_as_placeholders(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: {"id": ID, "mail": "nobody", "day": "2026-01-02", "n": 1})
    ((item,), errors) = captured(desk, document("x"))
    assert not errors
    assert body(item) == {"id": "<<any_uuid>>", "mail": "nobody", "day": "<<any_iso_date>>", "n": 1}


def test_capture_of_many_stores_requests_that_do_not_fail(tmp_path: Path) -> None:
    desk = ticking(tmp_path, a=lambda now, number: {"n": 1}, b=lambda now, number: (404, {"error": "no b"}))
    captured(desk, document("b"))
    assert not (tmp_path / "baselines").exists()
    done, errors = captured(desk, document("a", "b"))
    assert [item.id for item in done] == ["a"]
    ((problem,),) = (error.problems for error in errors)
    assert (problem.code, problem.place and problem.place.file) == ("BK521", "api.json")
    assert problem.message == "b: the answer is 404: it is not stored as known-good"
    stored, none = captured(desk, document("b"), allow_error_status=True)
    assert ([item.id for item in stored], none) == (["b"], [])


def test_capture_again_passes_over_captured_requests(tmp_path: Path) -> None:
    desk = ticking(tmp_path, a=lambda now, number: {"n": 1}, b=lambda now, number: {"n": 2})
    captured(desk, document("a"))
    again = summary_of(desk, document("a", "b"))
    assert (again.known, [new.draft.id for new in again.new]) == (1, ["b"])


def test_capture_without_a_secret_names_its_variable(tmp_path: Path) -> None:
    desk = ticking(tmp_path, a=lambda now, number: {"n": 1})
    summary = summary_of(desk, document("a", "b", "c", security=[{"key": []}]))
    messages = [problem.message for error in summary.problems for problem in error.problems]
    assert messages == ["it needs the variable {{KEY}}"] * 3
    assert not summary.new


def test_capture_sends_a_secret_of_a_file_only_to_its_host(tmp_path: Path) -> None:
    desk = ticking(tmp_path, a=lambda now, number: {"n": 1})
    line = "curl http://desk/a -H 'X-Api-Key: k-998877665544aabb'\n"
    summary = batch_of(desk, "curl.txt", line, base_url="http://desk")
    (secret,) = summary.project.scope.secrets.values()
    assert (secret.value, secret.hosts) == ("k-998877665544aabb", ("desk",))
    (done,) = capture(summary.project, summary.new, CaptureOptions(), desk.ticking()).done
    text = (tmp_path / done.file).read_text("utf-8")
    assert "k-998877665544aabb" not in text
    assert "{{X_API_KEY}}" in text
    with pytest.raises(Refused):
        summary.project.trust.check_request("http://other.test/a", [("X_API_KEY", secret)])


def test_capture_of_groups_waits_once_for_each(tmp_path: Path) -> None:
    """One thread takes eight of a group."""
    names = [f"x{number:02}" for number in range(30)]
    desk = ticking(tmp_path, **{name: lambda now, number: {"id": ID} for name in names})
    summary = summary_of(desk, curl_lines(names))
    wanted = CaptureOptions(repeat=None, jobs=1, replace_lookalikes=True)
    context = replace(desk.ticking(), timestamp=lambda: "2026-11-22T10:00:00Z", seconds=lambda: desk.seconds)
    found = capture(summary.project, summary.new, wanted, context)
    assert [item.id for item in found.done] == [f"get-{name}" for name in names]
    assert (found.left, found.is_interrupted) == (0, False)
    assert {body(item)["id"] for item in found.done} == {"<<any_uuid(4)>>"}
    assert len(desk.slept) == 4
    for name in names:
        first, second = (at for at, path in desk.log if path == f"/{name}")
        assert second - first >= 1.1


def test_capture_of_equal_paths_gives_different_ids(tmp_path: Path) -> None:
    desk = ticking(tmp_path)
    lines = "".join(f"http://{host}/x?page={page}\n" for host in ("a", "b") for page in (1, 2))
    batch = batch_of(desk, "urls.txt", lines)
    assert [new.draft.id for new in batch.new] == ["get-x", "get-x-page-2", "get-x-b", "get-x-page-2-b"]


@pytest.mark.parametrize(("before", "now", "code"), [(200, 401, "BK521"), (404, 404, None)])
def test_capture_of_har_refuses_a_new_error_status(
    tmp_path: Path, before: int, now: int, code: str | None
) -> None:
    """Browsers leave cookies and tokens out of what they save, unless they are asked."""
    desk = ticking(tmp_path, a=lambda at, number: (now, {"n": 1}), b=lambda at, number: {"n": 2})
    entries = [
        {
            "request": {"method": "GET", "url": f"http://desk/{name}", "headers": []},
            "response": {"status": status, "content": {"mimeType": "application/json"}},
        }
        for name, status in (("a", before), ("b", 200))
    ]
    text = json.dumps({"log": {"entries": entries}})
    summary = batch_of(desk, "x.har", text, base_url="http://desk")
    found = capture(summary.project, summary.new, CaptureOptions(repeat=None), desk.ticking())
    assert [problem.code for error in found.errors for problem in error.problems] == [code] * bool(code)
    assert len(found.done) == (1 if code else 2)


def test_capture_sends_writes_after_reads(tmp_path: Path) -> None:
    desk = ticking(tmp_path, a=lambda now, number: {"n": 1}, b=lambda now, number: {"n": 2})
    lines = "POST http://desk/b\n" + curl_lines(["a"])
    summary = batch_of(desk, "urls.txt", lines, base_url="http://desk", unsafe=True)
    found = capture(summary.project, summary.new, CaptureOptions(repeat=None), desk.ticking())
    assert [path for _, path in desk.log] == ["/a", "/a", "/b"]
    assert [item.id for item in found.done] == ["post-b", "get-a"]
