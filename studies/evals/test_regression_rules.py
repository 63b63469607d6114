"""How often the two rules of `run --compare-to` call a run worse: the exact test of pairs, AgentV's mean."""

import json
from pathlib import Path
from random import Random

from baselinekit.evals.earlier import load_both, mean_delta, pair_runs

CASES, RUNS, SCATTER = 20, 300, 0.1


def write_run(path: Path, scores: list[float]) -> None:
    rows = ({"eval_id": f"c{number}", "score": score} for number, score in enumerate(scores))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_exact_rule_calls_fewer_equal_runs_worse_than_the_rule_of_the_mean(tmp_path: Path) -> None:
    """As often as benchmarks/README.md reports, by how much the later run is worse."""
    chance = Random(7)

    def scatter(base: list[float], drop: float) -> list[float]:
        return [round(min(1.0, max(0.0, score - chance.gauss(drop, SCATTER))), 3) for score in base]

    called: dict[float, tuple[int, int]] = {}
    for drop in (0.0, 0.05, 0.1, 0.2):
        by_pairs = by_mean = 0
        for _ in range(RUNS):
            base = scatter([0.85] * CASES, 0.0)
            write_run(tmp_path / "before.jsonl", scatter(base, 0.0))
            write_run(tmp_path / "now.jsonl", scatter(base, drop))
            before, now = load_both("before.jsonl", "now.jsonl", str(tmp_path))
            by_pairs += pair_runs(before, now).exit_code == 1
            by_mean += mean_delta(before, now, 0.1).exit_code == 1
        called[drop] = by_pairs, by_mean
    assert called == {0.0: (6, 148), 0.05: (28, 280), 0.1: (156, 300), 0.2: (296, 300)}
