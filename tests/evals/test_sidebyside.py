"""Two runs side by side: which cases are the same, the exact tests, and the rule of the mean."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from evalreports import report, result
from hypothesis import given, strategies as st

from baselinekit.agentv.results import read_rows
from baselinekit.errors import BaselinekitError
from baselinekit.evals.earlier import MeanDelta, cases, load_both, load_run, mean_delta, pair_runs
from baselinekit.model.results import Report
from baselinekit.report import resultfile

Rows = dict[str, Any]


def lines(*found: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in found).encode()


def rows(**scores: float) -> Report:
    return read_rows(lines(*({"eval_id": id, "score": score} for id, score in scores.items())), "x.jsonl")


@pytest.mark.parametrize(
    ("row", "outcome", "score", "verdict"),
    [
        ({"score": 0.8}, "passed", 0.8, None),
        ({"score": 0.7999}, "failed", 0.7999, "borderline"),
        ({"score": 0.59}, "failed", 0.59, None),
        ({"score": 1, "error": "agent timeout"}, "error", None, None),
    ],
)
def test_a53_read_rows_gives_outcome_and_score(
    row: Rows, outcome: str, score: float | None, verdict: str | None
) -> None:
    (found,) = read_rows(lines({"eval_id": "a", **row}), "x.jsonl").results
    assert found.case is not None
    assert (found.outcome, found.case.score, found.verdict) == (outcome, score, verdict)


def test_a53_read_rows_takes_every_form() -> None:
    for file, data in {
        "x.jsonl": b'{"eval_id": "a", "score": 1}\n\n{"test_id": "b", "score": 0}\n',
        "x.yaml": b"- {eval_id: a, score: 1}\n- {eval_id: b, score: 0}\n",
        "y.yml": b"---\neval_id: a\nscore: 1\n---\neval_id: b\nscore: 0\n",
        "z.yaml": b"results:\n- {eval_id: a, score: 1}\n- {eval_id: b, score: 0}\n",
        "bom.jsonl": b'\xef\xbb\xbf{"eval_id": "a", "score": 1}\r\n{"eval_id": "b", "score": 0}',
    }.items():
        found = {item.id: item.outcome for item in read_rows(data, file).results}
        assert found == {"a": "passed", "b": "failed"}, file
    with pytest.raises(BaselinekitError, match=r"BK130 x\.jsonl holds no result"):
        read_rows(b"\n", "x.jsonl")


def test_a53_pair_runs_matches_names_across_forms(tmp_path: Path) -> None:
    named = {"maths/a": "+", "maths/b": "-", "x/same": "+", "y/same": "+"}
    ours = report(*(result(id, sign) for id, sign in named.items()))
    (tmp_path / "ours.json").write_text(resultfile.render(ours))
    theirs = tmp_path / "theirs.jsonl"
    theirs.write_bytes(lines(*({"eval_id": id, "score": 0.9} for id in ("a", "b", "same", "new"))))
    before, now = load_both("ours.json", "theirs.jsonl", str(tmp_path))
    assert [item.id for item in cases(before)] == ["a", "b", "x/same", "y/same"], (
        "a name that is not unique stays"
    )
    found = pair_runs(before, now)
    verdicts = [(case.id, case.verdict) for case in found.earlier.cases]
    assert verdicts == [("a", "unchanged"), ("b", "insufficient evidence")]
    assert (found.earlier.gone, found.earlier.added) == (("x/same", "y/same"), ("same", "new"))
    assert (found.exit_code, pair_runs(before, now, partial=True).exit_code) == (3, 0)
    theirs.write_bytes(lines({"eval_id": "nothing", "score": 1}))
    with pytest.raises(BaselinekitError, match="BK733"):
        load_both("ours.json", "theirs.jsonl", str(tmp_path))
    theirs.write_bytes(lines(*({"eval_id": "a", "dataset": name, "score": 1} for name in "xy")))
    assert {item.id for item in load_run("theirs.jsonl", str(tmp_path)).results} == {"x/a", "y/a"}
    assert pair_runs(*load_both("theirs.jsonl", "theirs.jsonl", str(tmp_path))).exit_code == 0
    (tmp_path / "ours.json").write_text(resultfile.render(report(result("x", "+"), result("a/x", "-"))))
    theirs.write_bytes(lines({"eval_id": "x", "score": 1}))
    before, _ = load_both("ours.json", "theirs.jsonl", str(tmp_path))
    assert [item.id for item in before.results] == ["x", "a/x"]


@pytest.mark.parametrize(
    ("before", "now", "partial", "code"),
    [  # a sign for each of the cases a, b, c …; a space: it is not in the run
        ("+", "+", False, 0),
        ("+", "-", False, 3),  # chance, or a regression
        ("-", "+", False, 0),
        ("++++++", "------", False, 1),
        ("+++-", "---+", False, 3),
        ("++--", "--++", False, 0),
        ("++", "+ ", False, 3),
        ("++", "+ ", True, 0),
        ("+ ", "+-", False, 0),
        ("+", "!", False, 3),
        ("++", "?+", True, 3),
        ("!", "!", False, 3),
        ("!+", "!+", False, 0),
    ],
)
def test_a53_pair_runs_exit_code(before: str, now: str, partial: bool, code: int) -> None:
    runs = [
        report(*(result(f"c{n}", sign) for n, sign in enumerate(signs) if sign != " "))
        for signs in (before, now)
    ]
    assert pair_runs(*runs, partial=partial).exit_code == code


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 40))
def test_a53_pair_runs_with_too_few_changed_pairs_is_undecided(lost: int, won: int, same: int) -> None:
    """One attempt a case: whether so many changed pairs could show a regression follows from the exact test
    alone, 2 / 2 ** 5 being more than one in twenty, and 2 / 2 ** 6 less."""
    signs = [("+", "-")] * lost + [("-", "+")] * won + [("+", "+")] * (same + 1)
    runs = [report(*(result(f"c{n}", pair[side]) for n, pair in enumerate(signs))) for side in (0, 1)]
    found = pair_runs(*runs)
    if found.earlier.regressed:
        assert found.exit_code == 1
    else:
        assert (found.exit_code == 3) == (lost > won and lost + won < 6)
    if lost and not won:
        assert found.exit_code in (1, 3)


def deltas(before: list[float], now: list[float], threshold: float) -> MeanDelta:
    runs = [rows(**{f"c{n}": score for n, score in enumerate(scores)}) for scores in (before, now)]
    return mean_delta(*runs, threshold)


@pytest.mark.parametrize(
    ("before", "now", "threshold", "counts", "mean", "code"),
    [  # threshold, wins, losses, ties, mean, exit code
        ([0.8], [0.9], 0.1, (1, 0, 0), "1/10", 0),
        ([0.3], [0.2], 0.1, (0, 1, 0), "-1/10", 1),  # .09999999999999998 in floats
        ([0.9] * 10, [0.896] + [0.9] * 9, 0.1, (0, 0, 10), "0", 0),  # -.0004 is rounded away
        ([0.9] * 10, [0.89] + [0.9] * 9, 0.1, (0, 0, 10), "-1/1000", 1),
        ([0.5, 0.5], [0.499, 0.5], 0.1, (0, 0, 2), "0", 0),  # -.0005: halves up
        ([0.9] * 10, [0.0] + [1.0] * 9, 0.1, (9, 1, 0), "0", 0),  # one total loss hides
        ([1.0, 1.0], [1.0, 0.0], 0.1, (0, 1, 1), "-1/2", 1),
    ],
)
def test_a53_mean_delta_counts_and_rounds(
    before: list[float], now: list[float], threshold: float, counts: tuple[int, ...], mean: str, code: int
) -> None:
    found = deltas(before, now, threshold)
    assert tuple(map(found.count, ("win", "loss", "tie"))) == counts
    assert (found.mean, found.exit_code) == (Fraction(mean), code)
