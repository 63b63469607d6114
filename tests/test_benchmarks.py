"""The benchmarks measure what they say: both sides give the right answer on the same data, a wrong one is no
figure, and the table in benchmarks/README.md is that of the stored results."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import client, data, matcher, measure, server, tools
from benchmarks.__main__ import PAGE, RESULTS, ratio, rendered, table, with_others
from benchmarks.child import SUBJECTS
from benchmarks.measure import Engine, Spent, WrongAnswerError, in_turn, inside, process
from benchmarks.results import beside

ROOT = Path(__file__).parent.parent
LOOSE = pytest.mark.parametrize("loose", [False, True], ids=["literal", "rules"])


def quiet(text: str) -> None:
    """Progress that nobody watches."""


@pytest.mark.slow
@LOOSE
@pytest.mark.parametrize("change", [data.equal, data.renamed(3)], ids=["equal", "failing"])
def test_our_matcher_and_deepdiff_find_the_same_number_of_places(
    change: Callable[[list[data.Record]], int], loose: bool
) -> None:
    case = data.case(data.records(12), change, loose=loose)
    assert case.plain is not case.actual
    assert matcher.judged(case).count == case.differences
    for engine in (matcher.ours("ours", case), matcher.deep_diff(case)):
        assert engine.once().cpu > 0


def test_deepdiff_without_its_exclusions_sees_what_placeholders_and_rules_leave_out() -> None:
    from deepdiff import DeepDiff

    case = data.case(data.records(12), data.equal, loose=True)
    assert matcher.deepdiff_count(DeepDiff(case.plain, case.actual)) == 12 * len(case.excluded)


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
        inside("adder", lambda: 1 + 1, lambda answer: answer == 3).once()
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
    row = beside(times, "x", "ours", "peer", 2.0)
    assert (row.ratio, row.ours, row.met) == (2.0, 3, True)
    assert beside(times, "x", "ours", "peer", 1.9).met is False
    assert beside({**times, "peer": [Spent(2, 9)]}, "x", "ours", "peer", 2.0).ratio == 1.5


@pytest.mark.parametrize(
    ("number", "shown"), [(1.314, "1.31"), (0.6, "0.6"), (1 / 240, "1/240"), (581_728.0, "581,728")]
)
def test_ratio_is_written_as_a_person_says_it(number: float, shown: str) -> None:
    assert ratio(number) == shown


def _results(name: str, about: str, figure: float = 3.0) -> dict[str, object]:
    row = {"what": "x", "ours": figure, "peer": "peer", "ratio": figure, "goal": 2.0}
    return {"subjects": {name: {"about": about, "rows": [row], "notes": ["A note."]}}}


def test_a_missed_goal_is_marked_and_counted() -> None:
    shown = table(_results("matcher", "today"))
    assert "| x | 3 × peer | ≤ 2, **missed** |" in shown
    assert "0 of 1 goals are met." in shown
    assert "- A note." in shown
    assert "1 of 1 goals are met." in table(_results("matcher", "today", 1.0))


def test_what_was_measured_before_stays_and_says_where(tmp_path: Path) -> None:
    kept = tmp_path / "results.json"
    kept.write_text(json.dumps(_results("matcher", "on one machine")), "utf-8")
    found = with_others(_results("files", "on another"), kept)
    assert list(found["subjects"]) == ["matcher", "files"]
    assert "- Measured on one machine: matcher.\n- Measured on another: files." in table(found)


def test_page_shows_the_stored_results() -> None:
    results = json.loads(RESULTS.read_text("utf-8"))
    text = PAGE.read_text("utf-8")
    assert rendered(text, results) == text, "run: make bench"
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
    assert table(results) in ran.stdout


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
