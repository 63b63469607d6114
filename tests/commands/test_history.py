"""What many runs say together."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from report.reports import report, result, spot

from baselinekit.commands import history
from baselinekit.commands.recording import keep_report
from baselinekit.errors import NothingSelected
from baselinekit.model.results import Appearance, KeptRun, Summary, Trend
from baselinekit.report.history import format_history as history_lines, format_history_json as history_json
from baselinekit.report.html.page import render_history as history_page
from baselinekit.report.resultfile import compact
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
        (".F", 0.5, 1, "r1"),
        ("..F.F", 0.6, 3, "r4"),
        ("F.", 0.5, 1, None),
        (".E-?F", 0.5, 1, "r4"),  # what says nothing about the target is no flip
        ("E-?", None, 0, None),
    ],
)
def test_trend_gives_pass_rate_flips_and_last_regression(
    letters: str, rate: float | None, flips: int, broke: str | None
) -> None:
    known = trend(letters)
    assert known.pass_rate == rate
    assert known.flips == flips
    assert (known.last_regression.run.id if known.last_regression else None) == broke


def keep(root: Path, number: int, *results: Any, **more: Any) -> None:
    started = f"2024-01-20T14:00:{number:02}Z"
    assert keep_report(str(root), report(*results, id=f"r{number}", started=started, **more))


def test_history_lists_kept_runs_with_scores(tmp_path: Path) -> None:
    keep(tmp_path, 1, result("a", "passed", scores={"tone": 4}), result("b", "passed"), commit="c" * 40)
    keep(tmp_path, 2, result("a", "failed", spot(("k",), "value", 1, 2), scores={"tone": 2.5}))
    known = history.load(str(tmp_path))
    assert [run.id for run in known.runs] == ["r1", "r2"]
    assert [item.id for item in known.trends] == ["a", "b"]
    assert known.trends[0].scores == {"tone": [4.0, 2.5]}
    lines = history_lines(known, Style())
    assert "score       tone: 4 at first, 2.5 now" in lines
    assert "regression  2024-01-20T14:00:02Z  in run r2" in lines
    written = json.loads(history_json(history.load(str(tmp_path), ["a"])))
    tone = {"first": 4.0, "last": 2.5, "median": 3.25, "all": [4.0, 2.5]}
    assert written["baselines"][0]["scores"]["tone"] == tone
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
    assert "cannot be read" in history_lines(known, Style())
    files[0].unlink()
    assert history.load(str(tmp_path)).unreadable == ()


def test_history_escapes_markup_and_control_characters(tmp_path: Path) -> None:
    nasty = "<script>alert(1)</script>\x1b]0;x\x07"
    raw = json.loads(compact(report(result("a", "failed"))))
    raw["run"]["commit"] = nasty
    raw["results"][0]["observed"]["scores"] = {nasty: 1}
    for second in (1, 2):
        keep_results(str(tmp_path), f"2024-01-20T14:00:0{second}Z", json.dumps(raw).encode())
    known = history.load(str(tmp_path))
    assert "<script>alert" not in history_page(known)
    shown = history_lines(known, Style(verbose=True)) + history_page(known) + history_json(known)
    assert "\x1b" not in shown
