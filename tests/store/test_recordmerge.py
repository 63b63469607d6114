"""The record in two branches: one value for both, no count lost, and everything else left to git."""

import subprocess
from pathlib import Path

import pytest

from baselinekit.files.languages import language
from baselinekit.store.record import merge_records, without_record

BLOCK = """\
# what the team says
id: {id}
baseline:
  output:
    status: 200   # as ever
    body: {{name: Ada, n: 1}}
  captured_at: "2025-12-01T10:00:00Z"
current:
  input: {{method: GET, endpoint: /users}}
  execution: {{type: http}}
metadata:
  criticality: high
  tags: [a, 'b']
  last_passed: {last}    # the record
  failure_count: {count}
"""
IN_JSON = """\
{
  "id": "a",
  "baseline": {
    "output": {"status": 200, "body": {"name": "Ada", "n": 1}},
    "captured_at": "2025-12-01T10:00:00Z"
  },
  "current": {"input": {"endpoint": "/users"}, "execution": {"type": "http"}},
  "metadata": {
    "last_passed": null,
    "failure_count": 1
  }
}
"""
OLD, NEW, NEWER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"


def text_merge(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> tuple[int, bytes]:
    """Git's own merge of three texts."""
    for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    words = ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    return done.returncode, done.stdout


def merged(folder: Path, base: bytes, ours: bytes, theirs: bytes, name: str = "x.yaml") -> tuple[int, bytes]:
    return text_merge(folder, *merge_records([base, ours, theirs], name))


def yaml(last: str = "null", count: int = 0, captured: str = "2025-12-01T10:00:00Z") -> bytes:
    text = BLOCK.format(id="a", last=last, count=count)
    return text.replace("2025-12-01T10:00:00Z", captured).encode()


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "last", "count"),
    [
        (yaml(), yaml(OLD), yaml(NEW), NEW, 0),  # the later one
        (yaml(OLD, 2), yaml(OLD, 3), yaml(OLD, 5), OLD, 6),  # the failures of both
        (yaml(OLD, 4), yaml(NEW, 0), yaml(OLD, 5), NEW, 1),  # begun anew by hand, and one more meanwhile
        (yaml(OLD, 4), yaml(OLD, 1), yaml(OLD, 2), OLD, 3),  # both have begun anew
        (yaml(OLD, 4), yaml(OLD, 0, NEW), yaml(NEWER, 9), NEWER, 5),  # a refresh begins anew, too
        (b"", yaml(OLD, 1), yaml(NEW, 2), NEW, 3),  # added on both sides
        (yaml('"2026-01-01T01:00:00+01:00"', 0), yaml(OLD, 0), yaml(NEW, 0), NEW, 0),
    ],
)
def test_merge_records(
    tmp_path: Path, base: bytes, ours: bytes, theirs: bytes, last: str, count: int
) -> None:
    for left, right in ((ours, theirs), (theirs, ours)):
        conflicts, text = merged(tmp_path, base, left, right)
        assert conflicts == 0, text.decode()
        about = language("x.yaml").load(text.decode(), "x.yaml")[0]["metadata"]
        assert (about["last_passed"], about["failure_count"]) == (last, count)


def test_merge_records_of_two_refreshes_is_a_conflict(tmp_path: Path) -> None:
    left, right = yaml(OLD, 1, NEW).replace(b"Ada", b"Ada L"), yaml(OLD, 2, NEWER).replace(b"Ada", b"A. L")
    conflicts, text = merged(tmp_path, yaml(OLD, 7), left, right)
    assert conflicts >= 1
    assert b"failure_count: 3\n" in text  # both have begun anew
    assert text.count(b"failure_count") == 1


@pytest.mark.parametrize("broken", [b"a: [1", b"\xff\xfe", b"<<<<<<< x\na: 1\n=======\n>>>>>>> y\n"])
def test_merge_records_leaves_unreadable_texts_to_git(broken: bytes) -> None:
    texts = (yaml(OLD), yaml(NEW), yaml(NEWER))
    for place in range(3):
        some = [broken if n == place else text for n, text in enumerate(texts)]
        assert merge_records(some, "x.yaml") == some


def test_merge_records_leaves_a_repeated_id() -> None:
    twice = [text + b"---\n" + text for text in (yaml(OLD, 1), yaml(NEW, 2), yaml(NEWER, 3))]
    assert merge_records(twice, "x.yaml") == twice


def test_merge_records_of_the_json_form(tmp_path: Path) -> None:
    form = '{"metadata": {"id": "a", "failure_count": %d}, "test_case": {"input": {}}, "baseline": {}}\n'
    texts = ((form % count).encode() for count in (1, 2, 4))
    assert merged(tmp_path, *texts, "x.json") == (0, (form % 5).encode())


CAPTURED = """\
id: a
baseline_version: v1.2
baseline:
  output:
    status: 200
    body:
      name: Ada   # she
      captured_at: "2026-01-01T00:00:00Z"
      n: 1
      environment:
        git: 2
  captured_at: "2026-01-01T00:00:00Z"
  environment:
    tool: baselinekit 0.1.0
    git:
      commit: abc
      dirty: false
current:
  input:
    endpoint: /users
  execution:
    type: http
metadata:
  last_passed: null
  failure_count: 0
"""
"""As `capture` writes it, with keys in the output that are called like those of the provenance."""

FOLDED_LINES = (
    "baseline_version: v1.2\n",
    '\n  captured_at: "2026-01-01T00:00:00Z"',
    "\n  environment:\n    tool: baselinekit 0.1.0\n    git:\n      commit: abc\n      dirty: false",
    "metadata:\n  last_passed: null\n  failure_count: 0\n",
)
CAPTURED_FOLDED = CAPTURED
for lines in FOLDED_LINES:
    CAPTURED_FOLDED = CAPTURED_FOLDED.replace(lines, "")
IN_LIST = CAPTURED_FOLDED.replace("\n", "\n  ").rstrip(" ")
SHORT_FORM = "id: a\nbaseline: {output: 1, captured_at: 2026-01-01, environment: {git: {commit: abc}}}\n"
ALONE = "id: a\nmetadata:\n  last_passed: null\n  failure_count: 3\n"
SHARED = "id: a\nmetadata: {tags: [x], failure_count: 3}\n"
NOT_OURS = "id: a\nbaseline:\n  output: {failure_count: 3}\n"


@pytest.mark.parametrize(
    ("text", "name", "shown"),
    [
        (ALONE.replace("  last", "  tags: [x]\n  last"), "x.yaml", "id: a\nmetadata:\n  tags: [x]\n"),
        ("id: a\nmetadata: {failure_count: 3}\n", "x.yaml", "id: a\n"),
        (SHARED, "x.yaml", SHARED.replace(": 3", ": …")),
        (ALONE.replace(": 3", ": 3  # why"), "x.yaml", "id: a\nmetadata:\n  …  # why\n"),
        (NOT_OURS, "x.yaml", NOT_OURS),
        (
            IN_JSON,
            "x.json",
            IN_JSON.replace(
                '  "metadata": {\n    "last_passed": null,\n    "failure_count": 1\n  }\n', ""
            ).replace('    "captured_at": "2025-12-01T10:00:00Z"\n', ""),
        ),
        (CAPTURED, "x.yaml", CAPTURED_FOLDED),
        ("- " + CAPTURED.replace("\n", "\n  ").rstrip(" "), "x.yaml", "- " + IN_LIST),
        (SHORT_FORM, "x.yaml", SHORT_FORM.replace("2026-01-01", "…").replace("{git: {commit: abc}}", "…")),
    ],
)
def test_without_record_leaves_out_record_and_provenance(text: str, name: str, shown: str) -> None:
    assert without_record(text.encode(), name).decode() == shown


def test_merge_records_drops_what_one_side_removed(tmp_path: Path) -> None:
    pair = BLOCK.format(id="a", last="null", count=0) + "---\n" + BLOCK.format(id="b", last="null", count=3)
    alone = BLOCK.format(id="a", last="null", count=0)
    failed = pair.replace("failure_count: 3", "failure_count: 4")
    for one, other in ((alone, failed), (failed, alone)):
        assert merged(tmp_path, pair.encode(), one.encode(), other.encode()) == (0, alone.encode())
    bare = pair.replace("  failure_count: 3\n", "")
    assert merged(tmp_path, pair.encode(), bare.encode(), failed.encode()) == (0, bare.encode())
