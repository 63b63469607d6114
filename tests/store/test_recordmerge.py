"""The record in two branches: one value for both, no count lost, and everything else left to git."""

import random
import subprocess
from pathlib import Path

import pytest
from histories import BLOCK, JSON, Branch, Drawn, drawn, edited, expected, record_of, recorded

from baselinekit.cli.gitcalls import call
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.store.recordmerge import merge_records, without_record
from baselinekit.values.equality import canonical

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
        (yaml(NEWER, 2), yaml(OLD, 2), yaml("null", 2), OLD, 2),
        (yaml(OLD, 2), yaml(OLD, 3), yaml(OLD, 5), OLD, 6),  # the failures of both
        (yaml(OLD, 2), yaml(OLD, 2), yaml(OLD, 5), OLD, 5),
        (yaml(OLD, 4), yaml(NEW, 0), yaml(OLD, 5), NEW, 1),  # begun anew by hand, and one more meanwhile
        (yaml(OLD, 4), yaml(OLD, 1), yaml(OLD, 2), OLD, 3),  # both have begun anew
        (yaml(OLD, 4), yaml(OLD, 0, NEW), yaml(NEWER, 9), NEWER, 5),  # a refresh begins anew, too
        (b"", yaml(OLD, 1), yaml(NEW, 2), NEW, 3),  # added on both sides
        (yaml('"2026-01-01T01:00:00+01:00"', 0), yaml(OLD, 0), yaml(NEW, 0), NEW, 0),
    ],
)
def test_the_rule(
    tmp_path: Path, base: bytes, ours: bytes, theirs: bytes, last: str | None, count: int
) -> None:
    for one, other in ((ours, theirs), (theirs, ours)):
        conflicts, text = merged(tmp_path, base, one, other)
        assert conflicts == 0, text.decode()
        about = language("x.yaml").load(text.decode(), "x.yaml")[0]["metadata"]
        assert (about["last_passed"], about["failure_count"]) == (last, count)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_branches_that_recorded_and_one_that_refreshed_merge_without_a_hand(
    tmp_path: Path, seed: int
) -> None:
    pick = random.Random(seed)
    file = drawn(pick)
    refreshing = pick.choice([None, 0, 1, 2])
    branches = [recorded(file, pick, number == refreshing) for number in range(3)]
    together = branches[0].text
    for branch in branches[1:]:
        conflicts, together = merged(tmp_path, file.text, together, branch.text, file.name)
        assert conflicts == 0, together.decode()
    for case in file.cases:
        if not any(case.id in branch.refreshed for branch in branches):
            assert record_of(file, together, case) == expected(file, branches, case.id)
    all_the_rest_is_theirs(file, branches, together)


def all_the_rest_is_theirs(file: Drawn, branches: list[Branch], together: bytes) -> None:
    """Besides the record it is the text of the branch that refreshed, or the one they began with."""
    source = next((branch.text for branch in branches if branch.refreshed), file.text)
    for case in file.cases:
        both = {("metadata", "last_passed"): "x", ("metadata", "failure_count"): 1}
        source, together = edited(file, source, case, both), edited(file, together, case, both)
    assert canonical(language(file.name).load(decode(source, file.name).body, "")) == canonical(
        language(file.name).load(decode(together, file.name).body, "")
    )
    if b"#" in file.text:
        assert together.count(b"# the record") == file.text.count(b"# the record")
    assert together.count(b"\r\n") == source.count(b"\r\n")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_a_real_conflict_stays_one(tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    file = drawn(pick)
    case = pick.choice(file.cases)
    name = ("baseline", "output", "body", "name")
    one, other = (
        edited(file, recorded(file, pick, False).text, case, {name: name_}) for name_ in ("Grace", "Alan")
    )
    conflicts, text = merged(tmp_path, file.text, one, other, file.name)
    assert conflicts >= 1
    assert all(part in text for part in (b"<<<<<<< ours", b"Grace", b"Alan"))


def test_two_different_refreshes_are_a_conflict(tmp_path: Path) -> None:
    one, other = yaml(OLD, 1, NEW).replace(b"Ada", b"Ada L"), yaml(OLD, 2, NEWER).replace(b"Ada", b"A. L")
    conflicts, text = merged(tmp_path, yaml(OLD, 7), one, other)
    assert conflicts >= 1
    assert b"failure_count: 3\n" in text  # both have begun anew
    assert text.count(b"failure_count") == 1


def test_what_one_side_took_out_is_not_kept_for_its_record(tmp_path: Path) -> None:
    pair = BLOCK.format(id="a", last="null", count=0) + "---\n" + BLOCK.format(id="b", last="null", count=3)
    alone = BLOCK.format(id="a", last="null", count=0)
    failed = pair.replace("failure_count: 3", "failure_count: 4")
    for one, other in ((alone, failed), (failed, alone)):
        assert merged(tmp_path, pair.encode(), one.encode(), other.encode()) == (0, alone.encode())
    bare = pair.replace("  failure_count: 3\n", "")
    assert merged(tmp_path, pair.encode(), bare.encode(), failed.encode()) == (0, bare.encode())


@pytest.mark.parametrize("broken", [b"a: [1", b"\xff\xfe", b"<<<<<<< x\na: 1\n=======\n>>>>>>> y\n"])
def test_what_cannot_be_read_is_left_to_git_as_it_is(broken: bytes) -> None:
    texts = (yaml(OLD), yaml(NEW), yaml(NEWER))
    for place in range(3):
        some = [broken if n == place else text for n, text in enumerate(texts)]
        assert merge_records(some, "x.yaml") == some


def test_an_id_that_is_there_twice_is_left_alone() -> None:
    twice = [text + b"---\n" + text for text in (yaml(OLD, 1), yaml(NEW, 2), yaml(NEWER, 3))]
    assert merge_records(twice, "x.yaml") == twice


def test_the_other_json_form_has_its_id_elsewhere(tmp_path: Path) -> None:
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
IN_JSON = JSON.format(id="a", last="null", count=1)


@pytest.mark.parametrize(
    ("text", "name", "shown"),
    [
        (ALONE.replace("  last", "  tags: [x]\n  last"), "x.yaml", "id: a\nmetadata:\n  tags: [x]\n"),
        (ALONE + "name: b\n", "x.yaml", "id: a\nname: b\n"),
        ("id: a\nmetadata: {failure_count: 3}\n", "x.yaml", "id: a\n"),
        (SHARED, "x.yaml", SHARED.replace(": 3", ": …")),
        (ALONE.replace(": 3", ": 3  # why"), "x.yaml", "id: a\nmetadata:\n  …  # why\n"),
        (NOT_OURS, "x.yaml", NOT_OURS),
        ("failure_count: 3\n", "x.yaml", "failure_count: 3\n"),
        (
            IN_JSON,
            "x.json",
            IN_JSON.replace(
                '  "metadata": {\n    "last_passed": null,\n    "failure_count": 1\n  }\n', ""
            ).replace('    "captured_at": "2025-12-01T10:00:00Z"\n', ""),
        ),
        (CAPTURED, "x.yaml", CAPTURED_FOLDED),
        (CAPTURED.replace("id: a", '"id": a'), "x.yaml", CAPTURED_FOLDED.replace("id: a", '"id": a')),
        ("- " + CAPTURED.replace("\n", "\n  ").rstrip(" "), "x.yaml", "- " + IN_LIST),
        (SHORT_FORM, "x.yaml", SHORT_FORM.replace("2026-01-01", "…").replace("{git: {commit: abc}}", "…")),
    ],
)
def test_a_diff_shows_the_file_without_its_record(text: str, name: str, shown: str) -> None:
    assert without_record(text.encode(), name).decode() == shown


def test_bytes_that_are_no_text_are_shown_as_they_are() -> None:
    assert without_record(b"\xff\x00", "x.yaml") == b"\xff\x00"


def test_a_diff_leaves_the_provenance_of_variants_out() -> None:
    variant = "    - when: {environment: x}\n      output: 1\n"
    seen = '      captured_at: "2026-01-01T00:00:00Z"\n      environment:\n        git: {commit: abc}\n'
    head = "id: a\nbaseline:\n  output: 1\n  variants:\n"
    assert without_record(f"{head}{variant}{seen}".encode(), "x.yaml").decode() == head + variant


def test_git_calls_typed_by_a_person_print_their_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("git-merge", ["a"]) == 2
    assert "git calls this" in capsys.readouterr().err
    assert call("git-textconv", ["/no/such/file"]) == 255
    assert "BK120 /no/such/file: no such file or directory" in capsys.readouterr().err
