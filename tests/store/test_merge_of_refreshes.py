"""Two branches that each refreshed a baseline: what they approved in different places goes together, and
where it came from is told once."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from baselinekit.cli.gitcalls import call
from baselinekit.files.languages import dump_yaml, language
from baselinekit.files.renewal import replace_value
from baselinekit.model.values import Json
from baselinekit.store.mergereading import read_any
from baselinekit.store.mergesides import read_captured
from baselinekit.store.recordmerge import without_record
from baselinekit.values.places import value_at, with_values
from baselinekit.values.threeway import BothChanged, three_way

ROOT = Path(__file__).parent.parent.parent
EARLY, LATE = "2026-02-01T10:00:00Z", "2026-03-01T10:00:00Z"


def record(output: Json, **more: Json) -> dict[str, Json]:
    known = {"output": output, "captured_at": "2026-01-01T10:00:00Z", "environment": place("a1")}
    return {
        "id": "users",
        "baseline_version": "v1.0",
        "baseline": known | more,
        "current": {"input": {"method": "GET", "endpoint": "/users"}, "execution": {"type": "http"}},
        "comparison": {"type": "structural"},
        "metadata": {"tags": ["a"], "last_passed": None, "failure_count": 0},
    }


def place(commit: str, dirty: bool = False) -> Json:
    return {"tool": "baselinekit 0.1.0", "git": {"commit": commit, "dirty": dirty}, "base_url": "http://x"}


def written(value: Json, name: str) -> str:
    return dump_yaml(value) if name.endswith("yaml") else json.dumps(value, indent=2) + "\n"


def refreshed(text: str, name: str, output: Json, when: str, **more: Json) -> str:
    """As a refresh writes it: only what changes."""
    known = {"output": output, "captured_at": when, "environment": place(f"c{when[5:7]}", True), **more}
    for key, value in known.items():
        text = replace_value(text, 0, language(name), ("baseline", key), value)
    return replace_value(text, 0, language(name), ("baseline_version",), f"v{when[5:7]}")


def merged(folder: Path, base: str, ours: str, theirs: str, name: str = "x.yaml") -> tuple[int, str]:
    files = [folder / side for side in ("base", "ours", "theirs")]
    for file, text in zip(files, (base, ours, theirs), strict=True):
        file.write_bytes(text.encode())
    code = call("git-merge", [*map(str, files), "7", name, "base", "ours", "theirs"])
    return code, files[1].read_text()


def read(text: str, name: str = "x.yaml") -> Json:
    return language(name).load(text, name)[0]


BODY = {"status": 200, "body": {"name": "Ada", "n": 1, "tags": ["x", "y"], "text": "one\ntwo\nthree\n"}}


@pytest.mark.parametrize("name", ["x.yaml", "x.json"])
def test_neighbouring_values_merge_and_the_later_provenance_is_taken_whole(tmp_path: Path, name: str) -> None:
    base = written(record(BODY), name)
    one = with_values(BODY, {("body", "name"): "Grace"})
    other = with_values(BODY, {("body", "n"): 2})
    for first, second in ((EARLY, LATE), (LATE, EARLY)):
        ours, theirs = refreshed(base, name, one, first), refreshed(base, name, other, second)
        code, text = merged(tmp_path, base, ours, theirs, name)
        assert code == 0, text
        found = read(text, name)
        both = with_values(BODY, {("body", "name"): "Grace", ("body", "n"): 2})
        assert found["baseline"] == {"output": both, "captured_at": LATE, "environment": place("c03", True)}
        assert found["baseline_version"] == "v03"


def test_the_same_place_is_a_conflict_without_the_provenance_in_it(tmp_path: Path) -> None:
    base = written(record(BODY), "x.yaml")
    sides = [
        refreshed(base, "x.yaml", with_values(BODY, {("body", "name"): name}), when)
        for name, when in (("Grace", EARLY), ("Alan", LATE))
    ]
    code, text = merged(tmp_path, base, *sides)
    assert code == 1
    within = text[text.index("<<<<<<< ") : text.index(">>>>>>> ")]
    assert within == "<<<<<<< ours\n      name: Grace\n=======\n      name: Alan\n"
    assert text.count(f'captured_at: "{LATE}"') == 1


APPROVED = [
    (None, "Ada", "Grace", "Ada, Grace"),
    (None, "Ada", "Ada", "Ada"),
    (None, "Ada", None, "Ada"),
    (None, None, "Grace", "Grace"),
    ("Eve", "Ada", "Eve", "Ada"),
    ("Eve", "Ada", "Grace", "Ada, Grace"),
    ("Eve", None, "Grace", "Grace"),
    ("Eve", None, None, None),
]


@pytest.mark.parametrize(("before", "first", "second", "expected"), APPROVED)
@pytest.mark.parametrize("name", ["x.yaml", "x.json"])
def test_both_approvals_are_told(
    tmp_path: Path, name: str, before: str | None, first: str | None, second: str | None, expected: str | None
) -> None:
    base = written(record(BODY, **({"approved_by": before} if before else {})), name)
    sides = []
    for by, when, key in ((first, EARLY, "status"), (second, LATE, "more")):
        more = {"approved_by": by} if by or before else {}
        sides.append(refreshed(base, name, BODY | {key: 201}, when, **more))
    code, text = merged(tmp_path, base, *sides, name)
    assert code == 0, text
    assert read(text, name)["baseline"].get("approved_by") == expected


def test_a_comment_that_one_side_changed_there_is_left_to_people(tmp_path: Path) -> None:
    base = written(record(BODY), "x.yaml")
    ours = refreshed(base, "x.yaml", with_values(BODY, {("body", "name"): "Grace"}), EARLY)
    theirs = refreshed(base, "x.yaml", with_values(BODY, {("body", "n"): 2}), LATE)
    code, text = merged(tmp_path, base, ours, theirs.replace('"n": 2', '"n": 2  # as agreed'))
    assert code == 1
    assert "# as agreed" in text
    kept = base.replace("status: 200", "status: 200  # as ever")
    sides = (side.replace("status: 200", "status: 200  # as ever") for side in (ours, theirs))
    code, text = merged(tmp_path, kept, *sides)
    assert (code, text.count("# as ever")) == (0, 1)


def test_what_stands_behind_placeholders_merges_too(tmp_path: Path) -> None:
    learnt = {"body.id": "3 replays: 1, 2, 3", "body.name": "3 replays: a, b, c"}
    base = written(record(BODY, learnt=learnt), "x.yaml")
    sides = [
        refreshed(base, "x.yaml", BODY, when, learnt=learnt | more)
        for when, more in ((EARLY, {"body.id": "5 replays: 1"}), (LATE, {"body.name": "4 replays: a"}))
    ]
    code, text = merged(tmp_path, base, *sides)
    assert code == 0, text
    both = {"body.id": "5 replays: 1", "body.name": "4 replays: a"}
    assert read(text)["baseline"]["learnt"] == both


def test_an_output_in_a_file_of_its_own(tmp_path: Path) -> None:
    base, one, other = (
        json.dumps(value, indent=2) + "\n" for value in ({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2})
    )
    code, text = merged(tmp_path, base, one, other, "baselines/x.output.json")
    assert (code, text) == (0, '{\n  "a": 2,\n  "b": 2\n}\n')


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "together"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, {"a": 3}, {"a": 3, "b": 2}),
        ({"a": 1, "b": 1}, {"a": 1}, {"a": 2, "b": 1}, {"a": 2}),
        ({"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": 2}, None),
        ({"a": 1}, {"a": 2}, {"a": 3}, None),
        ({"a": 1}, {"a": True}, {"a": 1}, {"a": True}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, {"a": 1}, None),
        (
            {"a": 1, "c": 1},
            {"a": 1, "b": 0, "c": 1},
            {"c": 1, "a": 1, "d": 0},
            {"a": 1, "b": 0, "c": 1, "d": 0},
        ),
        (
            [{"i": 1, "v": 1}, {"i": 2, "v": 1}],
            [{"i": 1, "v": 9}, {"i": 2, "v": 1}],
            [{"i": 2, "v": 1}],
            None,
        ),
        (
            [{"i": 1, "v": 1}, {"i": 2, "v": 1}],
            [{"i": 1, "v": 9}, {"i": 2, "v": 1}],
            [{"i": 1, "v": 1}, {"i": 2, "v": 8}, {"i": 3, "v": 1}],
            [{"i": 1, "v": 9}, {"i": 2, "v": 8}, {"i": 3, "v": 1}],
        ),
        ([1, 2], [1, 2, 3], [0, 1, 2], [0, 1, 2, 3]),
        ([1, 2], [1, 2, 3], [1, 2, 4], None),
        ([1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3]),
        ([1, 2, 3], [3, 1, 2], [1, 2, 3, 4], None),
        ("a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n", "x\nb\ny\n"),
        ("a\nb\n", "x\nb\n", "y\nb\n", None),
        ("a", "b", "c", None),
    ],
)
def test_values_of_three_sides(base: Json, ours: Json, theirs: Json, together: Json) -> None:
    for one, other in ((ours, theirs), (theirs, ours)):
        if together is None:
            with pytest.raises(BothChanged):
                three_way(base, one, other)
        else:
            assert three_way(base, one, other) == together


def leaves(value: Json, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [path for key, item in items for path in leaves(item, (*at, key))]
    yield from below or [at]


def drawn_output(pick: random.Random) -> Json:
    def rows(count: int) -> Json:
        return [{"id": n, "name": f"user {n}", "tags": ["a"] * pick.randint(0, 2)} for n in range(count)]

    body = {f"key{n}": pick.choice([n, f"text {n}", None, 1.5, "a\nb\n", "yes"]) for n in range(4)}
    return {"status": 200, "body": body | {"rows": rows(pick.randint(2, 5)), "more": {"a": 1, "b": [1, 2]}}}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_disjoint_approvals_of_a_drawn_output_merge(tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    name = pick.choice(["x.yaml", "x.yaml", "x.json"])
    output = drawn_output(pick)
    base = written(record(output), name)
    paths = pick.sample(sorted(leaves(output), key=str), 2 + 2 * pick.randint(0, 1))
    new = {path: f"new {number}" for number, path in enumerate(paths)}
    mine, its = ({path: new[path] for path in paths[start::2]} for start in (0, 1))
    ours = refreshed(base, name, with_values(output, mine), EARLY)
    theirs = refreshed(base, name, with_values(output, its), LATE)
    code, text = merged(tmp_path, base, ours, theirs, name)
    assert code == 0, text
    known = read(text, name)["baseline"]
    assert known == {
        "output": with_values(output, new),
        "captured_at": LATE,
        "environment": place("c03", True),
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_what_capture_writes_is_read_alike_by_both_readers(seed: int) -> None:
    pick = random.Random(seed)
    more = pick.choice(
        [{}, {"approved_by": "Ada L."}, {"reason": "a: b # c"}, {"observed": {"seconds": 1.5}}]
    )
    texts = ["plain", 'a "b" c', "#", "a\n  captured_at: 1\n", "| x", "'", "{a", "null", "x: y", "2026-01-01"]
    drawn = record(
        drawn_output(pick) | {"text": pick.choice(texts), "captured_at": pick.choice(texts)}, **more
    )
    text = dump_yaml(drawn)
    plain, any_ = read_captured(text.encode(), "x.yaml"), read_any(text.encode(), "x.yaml")
    if plain is None:
        return
    (one,), (other,) = plain.records.values(), any_.records.values()
    assert plain.records.keys() == any_.records.keys()
    assert (one.captured, one.failures, one.when) == (other.captured, other.failures, other.when)
    assert one.values.keys() == other.values.keys()
    assert one.spans == other.spans
    for key, span in one.spans.items():
        assert text[span.start : span.end] in text
        assert value_at(drawn, ("baseline",)).get(key, "") is not None


def test_most_of_what_capture_writes_is_read_without_yaml() -> None:
    read_so = sum(
        read_captured(dump_yaml(record(drawn_output(random.Random(seed)))).encode(), "x.yaml") is not None
        for seed in range(50)
    )
    assert read_so == 50


ODD = [
    "id: a\nbaseline: {captured_at: 2026-01-01}\nmetadata:\n  failure_count: 0\n",
    'id: a\nbaseline:\n  output: "x\n  captured_at: 1"\n',
    "id: a\nbaseline:\n  output: &x 1\n",
    "id: a\n---\nid: b\n",
    "- id: a\n",
    "id: a\r\n",
    "id: a\nbaseline:\n  output: [1,\n  2]\n",
    "id: a\nmetadata:\n  failure_count: many\n",
    "id: a\nid: b\n",
    "id: 'it''s'\n",
    "baseline:\n  output: 1\n",
    "id: a\nmetadata:\n  failure_count: 1\n  failure_count: 2\n",
]


@pytest.mark.parametrize("text", ODD)
def test_what_is_written_otherwise_is_left_to_the_readers_of_yaml(text: str) -> None:
    assert read_captured(text.encode(), "x.yaml") is None


def test_whoever_types_what_git_calls_is_told_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("git-merge", ["a"]) == 2
    assert "git calls this" in capsys.readouterr().err
    assert call("git-textconv", ["/no/such/file"]) == 255
    assert "BK120 /no/such/file: no such file or directory" in capsys.readouterr().err


HEAVY = (
    "click",
    "yaml",
    "dataclasses",
    "pydantic",
    "subprocess",
    "baselinekit.files",
    "baselinekit.errors",
)
ASKED = """\
import sys
from baselinekit.cli.gitcalls import call
code = call("git-merge", sys.argv[1:4] + ["7", "x.yaml"])
print(code, *sorted(sys.modules))
"""


@pytest.mark.slow
def test_a_merge_of_two_records_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """Git asks once a file: without this a merge took ten times as long."""
    base = written(record(BODY), "x.yaml")
    sides = (base, base.replace("failure_count: 0", "failure_count: 2"), base.replace("null", EARLY))
    for name, text in zip("bot", sides, strict=True):
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{ASKED}"]
    ran = subprocess.run([*words, *"bot"], cwd=tmp_path, capture_output=True, text=True, check=True)
    code, *loaded = ran.stdout.split()
    assert code == "0"
    assert [name for name in loaded if name.startswith(HEAVY)] == []
    assert f"last_passed: {EARLY}\n  failure_count: 2\n" in (tmp_path / "o").read_text()


OLD = "2026-01-01T10:00:00Z"
SEEN = {OLD: "c1", EARLY: "f2", LATE: "a3"}
"""The commit of each time: in another order than these."""


def varied(name: str, outputs: Sequence[Json], when: Sequence[str], **more: Json) -> str:
    """A baseline whose variants, one for each of two environments, were captured at these times."""
    variants: list[Json] = [
        {"when": {"environment": where}, "output": output, "captured_at": at, "environment": place(SEEN[at])}
        for where, output, at in zip(("staging", "live"), outputs, when, strict=True)
    ]
    return written(record(BODY, variants=variants, **more), name)


@pytest.mark.parametrize("name", ["x.yaml", "x.json"])
def test_the_provenance_of_a_variant_is_that_of_its_later_refresh(tmp_path: Path, name: str) -> None:
    """Each variant has its own; neighbouring values of its output merge as those of the output do."""
    one, other = with_values(BODY, {("body", "name"): "Grace"}), with_values(BODY, {("body", "n"): 2})
    both = with_values(one, {("body", "n"): 2})
    base = varied(name, [BODY, BODY], [OLD, OLD], approved_by="Eve")
    for first, second in ((EARLY, LATE), (LATE, EARLY)):
        ours = varied(name, [one, BODY], [first, OLD], approved_by="Ada" if first == EARLY else "Grace")
        theirs = varied(
            name, [other, other], [second, EARLY], approved_by="Ada" if second == EARLY else "Grace"
        )
        code, text = merged(tmp_path, base, ours, theirs, name)
        assert code == 0, text
        expected = varied(name, [both, other], [LATE, EARLY], approved_by="Ada, Grace")
        assert read(text, name) == read(expected, name)


def test_a_variant_that_one_side_adds_hides_nothing_of_the_others(tmp_path: Path) -> None:
    base = varied("x.yaml", [BODY, BODY], [OLD, OLD])
    ours = base.replace(
        "  variants:\n", "  variants:\n    - when:\n        platform: darwin-*\n      output: new\n", 1
    )
    changed = [with_values(BODY, {("status",): status}) for status in (201, 202)]
    sides = varied("x.yaml", [changed[0], BODY], [LATE, OLD]), ours
    code, text = merged(tmp_path, base, *sides)
    assert code == 0, text
    new, staging, live = read(text)["baseline"]["variants"]
    assert (new["output"], staging["output"], live["output"]) == ("new", changed[0], BODY)
    assert (staging["captured_at"], live["captured_at"]) == (LATE, OLD)


def test_a_diff_leaves_the_provenance_of_variants_out() -> None:
    text = varied("x.yaml", [BODY, BODY], [OLD, LATE])
    shown = without_record(text.encode(), "x.yaml").decode()
    assert "captured_at" not in shown
    assert "commit" not in shown
    assert shown.count("- when:\n") == 2


def test_a_diff_of_a_file_without_a_record() -> None:
    """The provenance goes alone."""
    text = f"id: a\nbaseline:\n  output: 1\n  captured_at: {OLD}\n"
    assert without_record(text.encode(), "x.yaml") == b"id: a\nbaseline:\n  output: 1\n"


@pytest.mark.parametrize("name", ["x.yaml", "x.json"])
@pytest.mark.parametrize("alone", ["approved_by", "reason"])
def test_an_approval_that_says_less_is_no_conflict(tmp_path: Path, name: str, alone: str) -> None:
    """One side says who and why, the other one of the two."""
    base = written(record(BODY), name)
    whole = {"approved_by": "Ada", "reason": "new names"}
    sides = [
        refreshed(base, name, BODY | {"status": status}, when, **more)
        for status, when, more in ((200, EARLY, whole), (201, LATE, {alone: "Grace"}))
    ]
    for ours, theirs in (sides, sides[::-1]):
        code, text = merged(tmp_path, base, ours, theirs, name)
        assert code == 0, text
        known = read(text, name)["baseline"]
        both = ", " if alone == "approved_by" else "; "
        assert {key: known[key] for key in whole} == whole | {alone: f"{whole[alone]}{both}Grace"}
