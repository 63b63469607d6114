"""The benchmarks measure what they say: both sides give the right answer on the same data, a wrong one is no
figure, and the tables in benchmarks/README.md and docs/performance.md are those of the results on file."""

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import (
    client,
    data,
    disk,
    matcher,
    measure,
    pytest as snapshot_rows,
    server,
    table,
    tools,
    unordered,
)
from benchmarks.__main__ import with_others
from benchmarks.child import SUBJECTS
from benchmarks.measure import Engine, Spent, WrongAnswerError, in_turn, inside, process
from benchmarks.results import Row, Scale, Versus

ROOT = Path(__file__).parent.parent
LOOSE = pytest.mark.parametrize("loose", [False, True], ids=["literal", "rules"])


def quiet(text: str) -> None:
    """Progress that nobody watches."""


def test_every_subject_is_a_file_that_gives_rows() -> None:
    for name in SUBJECTS:
        assert callable(importlib.import_module(f"benchmarks.{name}").rows)


MOUNTS = """\
/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/vdb /tmp/large\\040disk ext4 rw 0 0
/dev/vdc /srv ext4 rw 0 0
overlay /srv overlay rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("/var/tmp", "ext4 without a journal"),
        ("/tmp", "tmpfs"),
        ("/tmp/x", "tmpfs"),
        ("/tmp/large disk/x", "ext4"),
        ("/tmp/larger", "tmpfs"),
        ("/srv/x", "overlay"),
    ],
)
def test_the_table_says_what_the_files_stood_on(folder: str, found: str) -> None:
    assert disk.below(Path(folder), MOUNTS, {"vdb"}) == found


@pytest.mark.slow
@LOOSE
@pytest.mark.parametrize("kind", data.CHANGES)
def test_our_matcher_and_deepdiff_find_the_same_places(kind: str, loose: bool) -> None:
    case = data.case(data.records(12), data.CHANGES[kind], loose=loose)
    assert case.plain is not case.actual
    assert matcher.judged(matcher.compiled(case), case).count == case.differences
    for engine in (
        matcher.ours("ours", case),
        matcher.walk("walk", case),
        matcher.deepdiff("DeepDiff", case, 1.0),
    ):
        assert engine.once().cpu > 0


def test_placeholders_and_rules_have_something_to_hide() -> None:
    """Without its exclusions DeepDiff sees the places that the rules leave out: the work is not empty."""
    from deepdiff import DeepDiff

    case = data.case(data.records(12), data.equal, loose=True)
    assert matcher.deepdiff_count(DeepDiff(case.plain, case.actual)) == 12 * len(case.excluded)


@pytest.mark.slow
@pytest.mark.parametrize("name", unordered.CHANGES)
def test_arrays_without_order_get_the_same_verdict_from_both(name: str) -> None:
    change = data.shuffled(unordered.CHANGES[name])
    case = data.case(data.records(20), change, loose=True, arrays={data.ROWS: "unordered"})
    assert not unordered.ours("ours", case).once().stopped
    assert not unordered.deepdiff("DeepDiff", case, 30).once().stopped


def test_a_file_is_about_two_kilobytes_and_its_answer_passes(tmp_path: Path) -> None:
    sizes = [len(data.baseline_text(number, loose=True)) for number in range(50)]
    assert 1_800 < sum(sizes) / 50 < 2_200
    made = data.project(tmp_path, 3)
    (made.root / made.files[1]).write_text("changed", "utf-8")
    made.restore()
    assert (made.root / made.files[1]).read_text("utf-8") == data.baseline_text(1, loose=True)


@pytest.mark.slow
def test_a_wrong_answer_is_no_figure() -> None:
    with pytest.raises(WrongAnswerError, match="adder"):
        inside("adder", lambda _: 1 + 1, lambda answer: answer == 3).once()
    given_up: dict[str, str] = {}
    wrong = measure.whole(
        "false", [sys.executable, "-c", "raise SystemExit(3)"], lambda ended: ended.exit_code == 0
    )
    times = in_turn([wrong, Engine("fine", lambda: Spent(1, 1))], 2, quiet, given_up)
    assert (len(times["fine"]), len(times["false"])) == (2, 0)
    assert "exit code 3" in given_up["false"]


@pytest.mark.slow
def test_engines_take_turns_and_slow_ones_have_fewer_rounds() -> None:
    order: list[str] = []

    def engine(name: str, seconds: float, at_most: float) -> Engine:
        def once() -> Spent:
            order.append(name)
            return Spent(seconds, seconds)

        return Engine(name, once, at_most)

    in_turn([engine("a", 1, 100), engine("slow", 6, 10), engine("b", 1, 100)], 3, quiet)
    assert order == ["a", "slow", "b", "a", "slow", "b", "a", "b"]


@pytest.mark.slow
def test_what_takes_too_long_is_stopped() -> None:
    began = time.monotonic()
    spent = inside("endless", _endless, lambda _: True, stop_after=0.2).once()
    assert spent.stopped
    assert time.monotonic() - began < _ENDLESS / 2


_ENDLESS = 60


def _endless(_: Any) -> None:
    began = time.monotonic()
    while time.monotonic() - began < _ENDLESS:
        pass


@pytest.mark.slow
def test_a_process_is_measured_as_a_whole() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass\nprint('done')"
    ended = process([sys.executable, "-c", burn])
    assert (ended.exit_code, ended.output) == (0, "done\n")
    assert 0.25 < ended.spent.cpu < 5
    assert ended.spent.wall > 0.25
    assert ended.spent.peak > 1_000_000


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    """A round in which the whole machine was slow has the same ratio as the others."""
    times = {
        "ours": [Spent(2, 9), Spent(20, 9), Spent(3, 9)],
        "peer": [Spent(1, 9), Spent(10, 9), Spent(1, 9)],
    }
    row = Versus(times).row("x", "ours", "peer", goal=2.0)
    assert (row.ratio, row.ours, row.theirs, row.rounds, row.met) == (2.0, 3, 1, 3, True)
    assert Versus(times).row("x", "ours", "peer", goal=1.9).met is False
    once = {**times, "peer": [Spent(2, 9)]}
    assert Versus(once).row("x", "ours", "peer").ratio == 1.5


@pytest.mark.parametrize(
    ("number", "stopped", "shown"),
    [
        (1.314, False, "1.31"),
        (0.6, False, "0.6"),
        (1 / 240, False, "1/240"),
        (1 / 240, True, "< 1/240"),
        (581_728.0, False, "581,728"),
    ],
)
def test_a_ratio_reads_as_it_is_said(number: float, stopped: bool, shown: str) -> None:
    assert table.ratio(number, stopped) == shown


def test_a_missed_goal_is_told_in_both_tables() -> None:
    row = Row("x", 3.0, "peer", 1.0, 3.0, rounds=5, goal=2.0, short="X")
    results = {
        "about": {"date": "today", "machine": "this", "versions": {"Python": "3"}},
        "subjects": {"matcher": {"rows": [_as_json(row)], "notes": ["A note."]}},
    }
    assert "| X | 3 × peer | ≤ 2, **missed** |" in table.glance(results)
    assert "0 of 1 goals are met. Missed: x (cpu) ÷ peer." in table.glance(results)
    assert "| x | 3 s | 3 (≤ 2, **missed**) |" in table.tables(results)
    assert "- A note." in table.tables(results)


def test_what_was_measured_elsewhere_says_so(tmp_path: Path) -> None:
    """Figures of two machines are not told as those of one, and nobody need measure everything again."""
    kept = tmp_path / "results.json"

    def about(machine: str) -> dict[str, Any]:
        return {"date": "today", "machine": machine, "versions": {"Python": "3"}}

    def results(machine: str, name: str) -> dict[str, Any]:
        row = _as_json(Row("x", 3.0, "peer", 1.0, 3.0, rounds=5))
        return {"about": about(machine), "subjects": {name: {"rows": [row], "notes": []}}}

    kept.write_text(json.dumps(results("one", "matcher")), "utf-8")
    for machine, apart in (("one", False), ("other", True)):
        found = with_others(results(machine, "unordered"), kept)
        assert found["about"] == about("one")
        assert list(found["subjects"]) == ["matcher", "unordered"]
        assert ("- Measured apart: today · other · Python 3." in table.tables(found)) is apart


def _as_json(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps({name: getattr(row, name) for name in Row.__slots__}))
    return found


def test_both_pages_show_the_results_on_file() -> None:
    results = json.loads(table.RESULTS.read_text("utf-8"))
    for readme in table.READMES:
        text = readme.read_text("utf-8")
        assert (table.brief if readme == table.READMES[1] else table.glance)(results) in text
        assert table.rendered(text, results) == text, "run: python -m benchmarks.table"
    assert set(results["subjects"]) == set(SUBJECTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_quick_run_of_each_subject(name: str, tmp_path: Path) -> None:
    """A thorough one makes a second round, which finds what the first one left."""
    kept = tmp_path / "results.json"
    rounds = "2" if os.environ.get("BASELINEKIT_THOROUGH") else "1"
    words = ["--quick", "--rounds", rounds, "--only", name, "--results", str(kept)]
    argv = [sys.executable, "-m", "benchmarks", *words]
    ran = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    results = json.loads(kept.read_text("utf-8"))
    assert results["subjects"][name]["rows"]
    assert table.tables(results) in ran.stdout


def test_our_own_server_answers_the_client(tmp_path: Path) -> None:
    """What stands in for nginx where there is none."""
    made = data.project(tmp_path, 30)
    with server.serving(made.answers, None) as serving:
        assert "ours" in serving.name
        assert client.main(serving.url, 30, 4) == 30
        assert client.main(serving.url, 31, 4) == 30


@pytest.mark.parametrize("tool", tools.TOOLS, ids=lambda tool: tool.name)
def test_the_file_of_each_tool_holds_every_check(tool: tools.Tool, tmp_path: Path) -> None:
    tool.write(tmp_path, tools.Checks("http://127.0.0.1:1", [data.body(number) for number in range(3)]))
    text = "".join(file.read_text("utf-8") for file in tmp_path.iterdir())
    for number in range(3):
        assert data.body(number)["user"]["id"] in text
        assert f"/{number}.json" in text or "{{n}}" in text


def test_documents_that_are_answered_again_differ_in_what_varies() -> None:
    """What the plugins of pytest are given to compare, and what one of them must find."""
    (recorded,), (answered,), (wrong,) = (
        list(snapshot_rows.documents(1, 3_000, **facts))
        for facts in ({}, {"answered": True}, {"answered": True, "wrong": True})
    )
    assert 2_500 < len(json.dumps(recorded)) < 3_500
    differing = {
        name
        for one, other in zip(recorded["users"], answered["users"], strict=True)
        for name in one
        if one[name] != other[name]
    }
    assert differing == {"id", "created_at", "updated_at", "etag"}
    assert [a == b for a, b in zip(answered["users"], wrong["users"], strict=True)][-2:] == [True, False]


def test_the_scale_of_a_quick_run_is_small() -> None:
    picks: list[Callable[[int, int], int]] = [Scale(quick=True).pick, Scale().pick]
    assert [pick(1, 2) for pick in picks] == [1, 2]
