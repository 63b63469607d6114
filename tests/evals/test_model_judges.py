"""Judges by a prompt and by a rubric in files of cases: mistakes are found before anything is asked, and what
the judges find reaches the report."""

import json
from pathlib import Path
from typing import Any

import pytest
from evalcases import World
from judgeforms import form_in
from storehelp import write

from baselinekit.model.recipes import Answer, ModelQuestion, Usage
from baselinekit.model.results import Report
from baselinekit.suites.loading import load_evals

CONFIG = "models: {judge: {command: [judge]}, default: {command: [m]}}\n"
ANSWER = "It halves the list again and again."


class Judged(World):
    """A model that answers, and judges what it is asked about as `verdict` says."""

    def __init__(self, root: Path, **verdict: Any):
        super().__init__(root)
        self.verdict = verdict

    def ask(self, ask: ModelQuestion) -> Answer:
        if ask.model != "judge":
            return Answer(ANSWER)
        self.asked.append(ask)
        reply = form_in(ask.messages[-1].content)
        for check in reply.get("checks", ()):
            check |= self.verdict.get(check["id"], {"reasoning": "said"})
        if "score" in reply:
            reply |= {"hits": [], "misses": [], "score": 1, "reasoning": "right"}
            reply |= {key: value for key, value in self.verdict.items() if key in reply}
        return Answer(json.dumps(reply), usage=Usage(10, 5))


def judged(root: Path, text: str, name: str = "evals/e.yaml", **verdict: Any) -> tuple[Report, list[str]]:
    """The report, and what the judge was asked."""
    write(root, "baselinekit.yaml", CONFIG)
    write(root, name, text)
    world = Judged(root, **verdict)
    report = world.run(load_evals([name], str(root)))
    return report, [ask.messages[-1].content for ask in world.asked]


RUBRICS = """\
evalcases:
- id: sort
  expected_outcome: Explains quicksort
  input: Explain quicksort
  rubrics:
  - id: split
    expected_outcome: Says that it splits
    weight: 2.0
  - id: depth
    required_min_score: 7
    score_ranges: {0: None, 3: Little, 6: Some, 9: Much}
"""
TEMPLATE = """\
evalcases:
- id: sort
  expected_outcome: Explains quicksort
  input: Explain quicksort
  sidecar: {language: python}
  execution:
    evaluators:
    - {name: depth, type: llm_judge, prompt: ./judges/depth.md}
"""


def test_a44_run_fails_by_a_gate_of_a_rubric(tmp_path: Path) -> None:
    verdicts = {
        "split": {"satisfied": True, "reasoning": "yes"},
        "depth": {"score": 6, "reasoning": "no example"},
    }
    report, asked = judged(tmp_path, RUBRICS, **verdicts)
    (result,) = report.results
    assert result.case is not None
    (grade,) = result.case.attempts[0].grades
    assert (result.outcome, result.verdict, grade.failed_gates) == ("failed", None, ("depth",))
    assert grade.score == pytest.approx(2.6 / 3)
    assert "depth (6 of 10, 7 needed): no example" in result.reason
    assert f">>>\n{ANSWER}\n<<<end of candidate_answer " in asked[0]
    assert "this:\n\nExplains quicksort\n" in asked[0]
    report, _ = judged(tmp_path, RUBRICS.replace("    required_min_score: 7\n", ""), **verdicts)
    assert report.results[0].outcome == "passed", "without the gate it is the mean"


@pytest.mark.parametrize("where", ["evals/judges/depth.md", "judges/depth.md"])
def test_a30_run_reads_a_template_in_the_search_order(tmp_path: Path, where: str) -> None:
    write(tmp_path, where, "Is it deep ({{sidecar.language}})?\r\n{{candidate_answer}}\r\n")
    text = TEMPLATE if where.startswith("evals") else TEMPLATE.replace("./judges", "judges")
    report, asked = judged(tmp_path, text, score=0.5, misses=["an example"], reasoning="shallow")
    assert asked[0].startswith("Is it deep (python)?\n<<<candidate_answer ")
    (result,) = report.results
    assert result.outcome == "failed"
    assert "it scores 0.5, and 0.8 passes: shallow; an example" in result.reason
