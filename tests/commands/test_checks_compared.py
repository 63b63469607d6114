"""Prompts with `checks:` and a least score: captured, compared and refreshed over a socket."""

from pathlib import Path

import pytest
from commandline import run
from console import Console
from little_api import CountedModel

pytestmark = pytest.mark.slow

CONFIG = """\
models:
  default: {{openai: demo, base_url: "{url}"}}
  judge: {{anthropic: demo, base_url: "{url}"}}
variables: {{word: wheel}}
"""
SCORES = "{rubric: {rubric: Is it kind?}, at_least: 4}"
RECIPE = """\
id: mill
current:
  input: {{prompt: ../mill.md, inputs: {{text: "{text}"}}}}
  execution:
    type: prompt
    checks: {checks}
    scores: {scores}
comparison:
  ignore_values: [text]
  fields: {{quality_scores: {{type: numeric, tolerance: {{min_delta: 0}}}}}}
"""
KIND = "The mill has two old wheels by the river."
TEMPLATE = "Say it in one sentence.\n\n{{text}}"
WORSE = " The mill by the river is obviously the oldest one."
RUDE = " The mill by the river is obviously the stupid TODO one of all."


def lay(
    project: Console, url: str, checks: str = "[{contains: mill}]", text: str = KIND, scores: str = SCORES
) -> Path:
    (project.folder / "baselinekit.yaml").write_text(CONFIG.format(url=url))
    (project.folder / "mill.md").write_text(TEMPLATE)
    file = project.folder / "baselines/mill.yaml"
    file.write_text(RECIPE.format(checks=checks, text=text, scores=scores))
    return file


def test_compare_reports_failed_check_and_its_refresh_needs_allow_high_risk(project: Console) -> None:
    with CountedModel() as model:
        file = lay(project, model.url, "[{not_contains: In short}, {contains: '{{word}}'}]")
        run(project, "capture baselines")
        model.version = 2
        printed = run(project, "compare", 1)
        assert "checks.not_contains" in printed
        assert "note: not_contains: 'In short' is in it" in printed
        assert "note: its text now: In short: the mill has two old wheels by the river." in printed
        assert "quality_scores" not in printed
        assert "high-risk" in run(project, "refresh mill --yes", 3)
        run(project, "refresh mill --yes --allow-high-risk")
        assert "not_contains: failed" in file.read_text()
        assert "1 passed" in run(project, "compare")


def test_capture_and_refresh_refuse_a_score_below_the_least(project: Console) -> None:
    with CountedModel() as model:
        lay(project, model.url, "[]", "It is obviously a stupid TODO.")
        assert "the score of rubric is 3.1, below 4: it is not" in run(project, "capture baselines", 3)
        file = lay(project, model.url)
        run(project, "capture baselines")
        assert "rubric: 4.6" in file.read_text()
        (project.folder / "mill.md").write_text(TEMPLATE + WORSE)
        printed = run(project, "compare", 1)
        assert "quality_scores.rubric" in printed
        assert f"note: its text now:{WORSE}" in printed
        assert "medium risk" in run(project, "refresh mill --yes")
        assert "rubric: 4.1" in file.read_text()
        (project.folder / "mill.md").write_text(TEMPLATE + RUDE)
        run(project, "compare", 1)
        assert "went wrong: the score of rubric is 3.1, below 4" in run(project, "refresh mill --yes", 3)


def test_compare_with_judge_that_replies_in_one_line_reports_a_lower_score(project: Console) -> None:
    with CountedModel() as model:
        for scores in ("{rubric: {a: x, b: y}, form: line}", "{rubric: {a: x}, scale: [0, 10], form: line}"):
            lay(project, model.url, scores=scores)
            printed = run(project, "capture baselines", 2)
            assert "BK108 baselines/mill.yaml:7:" in printed
            assert "one score from 1 to 5" in printed
        assert model.questions == []
        file = lay(project, model.url, scores=SCORES.replace("4}", "4, form: line}"))
        run(project, "capture baselines")
        assert "rubric: 5" in file.read_text()
        assert "SCORE=<1-5>" in str(model.questions[-1])
        assert "1 passed" in run(project, "compare")
        (project.folder / "mill.md").write_text(TEMPLATE + RUDE)
        assert "quality_scores.rubric" in run(project, "compare", 1)
