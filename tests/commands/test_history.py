"""What many runs say together."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from report.reports import report, result, spot

from baselinekit.commands import history
from baselinekit.commands.recording import keep_report
from baselinekit.errors import NothingSelected
from baselinekit.model.results import Appearance, KeptRun, Summary, Trend
from baselinekit.report.history import format_history as history_lines, format_history_json as history_json
from baselinekit.report.html.page import render_history as history_page
from baselinekit.report.wording import Style
from baselinekit.store.results import keep_results, result_files

LETTERS: dict[str, Any] = {".": "passed", "F": "failed", "E": "error", "?": "unscored", "-": "skipped"}


def trend(letters: str) -> Trend:
    return Trend(
        "x",
        tuple(
            Appearance(KeptRun(f"r{n}", "", 0, Summary(0, 0, 0, 0, 0, True)), LETTERS[letter], n / 10)
            for n, letter in enumerate(letters)
        ),
    )


@pytest.mark.parametrize(
    ("letters", "rate", "flips", "broke"),
    [
        ("....", 1.0, 0, None),
        ("FFF", 0.0, 0, None),
        (".F", 0.5, 1, "r1"),
        ("..F.F", 0.6, 3, "r4"),
        (".FF", 1 / 3, 1, "r1"),
        ("F.", 0.5, 1, None),
        (".E-?F", 0.5, 1, "r4"),  # what says nothing about the target is no flip
        ("E-?", None, 0, None),
    ],
)
def test_pass_rate_flips_and_the_last_regression(
    letters: str, rate: float | None, flips: int, broke: str | None
) -> None:
    known = trend(letters)
    assert known.pass_rate == rate
    assert known.flips == flips
    assert (known.last_regression.run.id if known.last_regression else None) == broke


@given(st.text("".join(LETTERS), min_size=1, max_size=40))
def test_the_numbers_of_a_trend_agree(letters: str) -> None:
    known = trend(letters)
    assert sum(known.counts.values()) == len(letters)
    assert known.flips < max(1, len(known.decided))
    assert (known.flips > 0) <= (0 < (known.pass_rate or 0) < 1)
    if known.seconds:
        assert known.median <= known.tail <= max(known.seconds)
        assert sum(value <= known.tail for value in known.seconds) >= 0.95 * len(known.seconds)


def keep(root: Path, number: int, *results: Any, **more: Any) -> None:
    started = f"2024-01-20T14:00:{number:02}Z"
    assert keep_report(str(root), report(*results, id=f"r{number}", started=started, **more))


def test_runs_that_were_kept_are_told(tmp_path: Path) -> None:
    keep(tmp_path, 1, result("a", "passed", scores={"tone": 4}), result("b", "passed"), commit="c" * 40)
    keep(tmp_path, 2, result("a", "failed", spot(("k",), "value", 1, 2), scores={"tone": 2.5}))
    known = history.load(str(tmp_path))
    assert [run.id for run in known.runs] == ["r1", "r2"]
    assert [one.id for one in known.trends] == ["a", "b"]
    assert known.trends[0].scores == {"tone": [4.0, 2.5]}
    told = history_lines(known, Style(), bars=True)
    assert "score       tone: 4 at first, 2.5 now  █▁" in told
    assert "regression  2024-01-20T14:00:02Z  in run r2" in told
    written = json.loads(history_json(history.load(str(tmp_path), ["a"])))
    assert written["baselines"][0]["scores"]["tone"] == {
        "first": 4.0,
        "last": 2.5,
        "median": 3.25,
        "all": [4.0, 2.5],
    }
    assert len(history.load(str(tmp_path), last=1).runs) == 1
    with pytest.raises(NothingSelected, match="BK509"):
        history.load(str(tmp_path), ["c*"])


def test_history_without_a_file_or_with_a_broken_one_goes_on(tmp_path: Path) -> None:
    keep(tmp_path, 1, result("a", "passed"))
    keep(tmp_path, 2, result("a", "failed"))
    files = [tmp_path / ".baselinekit/results" / name for name in result_files(str(tmp_path))]
    files[0].write_text('{"run": {}, "results": 5}')
    known = history.load(str(tmp_path))
    assert [run.id for run in known.runs] == ["r2"]
    assert known.unreadable == (os.path.relpath(files[0], tmp_path),)
    assert "cannot be read" in history_lines(known, Style(), bars=False)
    files[0].unlink()
    assert history.load(str(tmp_path)).unreadable == ()


def test_what_is_shown_cannot_do_anything(tmp_path: Path) -> None:
    nasty = "<script>alert(1)</script>\x1b]0;x\x07"
    raw = json.loads(report_text(result("a", "failed")))
    raw["results"][0]["id"] = raw["run"]["commit"] = nasty
    raw["results"][0]["observed"]["scores"] = {nasty: 1}
    for second in (1, 2):
        keep_results(str(tmp_path), f"2024-01-20T14:00:0{second}Z", json.dumps(raw).encode())
    known = history.load(str(tmp_path))
    assert "<script>alert" not in history_page(known)
    shown = history_lines(known, Style(verbose=True), True) + history_page(known) + history_json(known)
    assert "\x1b" not in shown


def report_text(*results: Any) -> str:
    from baselinekit.report.resultfile import compact

    return compact(report(*results)).decode()


def test_many_baselines_are_a_table_of_those_that_did_not_always_pass(tmp_path: Path) -> None:
    keep(tmp_path, 1, *(result(f"case-{n:03}", "passed") for n in range(200)))
    keep(tmp_path, 2, *(result(f"case-{n:03}", "failed" if n < 60 else "passed") for n in range(200)))
    told = history_lines(history.load(str(tmp_path)), Style(), bars=False)
    assert len([line for line in told.splitlines() if line.startswith("  case-")]) == 50
    assert "… and 10 more (-v shows them)" in told
    assert "140 baselines always passed" in told
    everything = history_lines(history.load(str(tmp_path)), Style(verbose=True), bars=False)
    assert len([line for line in everything.splitlines() if line.startswith("  case-")]) == 200
