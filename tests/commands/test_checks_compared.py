"""A prompt with `checks:` and a least score, over a real socket: captured, compared, refreshed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console
from counted_model import CountedModel

pytestmark = pytest.mark.slow

CONFIG = """\
models:
  default: {{openai: demo, base_url: "{url}"}}
  judge: {{anthropic: demo, base_url: "{url}"}}
variables: {{word: wheel}}
"""
RECIPE = """\
id: mill
current:
  input: {{prompt: ../mill.md, inputs: {{text: "{text}"}}}}
  execution:
    type: prompt
    checks: {checks}
    scores: {{rubric: {{rubric: Is it kind?}}, at_least: 4}}
comparison:
  ignore_values: [text]
  fields: {{quality_scores: {{type: numeric, tolerance: {{min_delta: 0}}}}}}
"""
KIND = "The mill has two old wheels by the river."


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


def project(
    here: Console, url: str, checks: str = "[{contains: mill}]", text: str = KIND, recipe: str = RECIPE
) -> Path:
    (here.folder / "baselinekit.yaml").write_text(CONFIG.format(url=url))
    (here.folder / "mill.md").write_text("Say it in one sentence.\n\n{{text}}\n")
    (here.folder / "baselines").mkdir(exist_ok=True)
    file = here.folder / "baselines/mill.yaml"
    file.write_text(recipe.format(checks=checks, text=text))
    return file


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_a_score_below_the_least_is_not_stored(here: Console) -> None:
    with CountedModel() as model:
        file = project(here, model.url, "[]", "It is obviously a stupid TODO.")
        assert "the score of rubric is 3.1, below 4: it is not" in run(here, "capture baselines", 3)
        assert "baseline:" not in file.read_text()


def test_a_failed_check_is_told_with_its_reason_and_its_text_and_approved_as_a_grave_change(
    here: Console,
) -> None:
    with CountedModel() as model:
        file = project(here, model.url, "[{not_contains: In short}, {contains: '{{word}}'}]")
        run(here, "capture baselines", 0)
        model.version = 2
        failed = run(here, "compare", 1)
        assert "checks.not_contains" in failed
        assert "note not_contains: 'In short' is in it" in failed
        assert "note its text now: In short: the mill has two old wheels by the river." in failed
        assert "quality_scores" not in failed
        assert "high-risk" in run(here, "refresh mill --yes", 3)
        run(here, "refresh mill --yes --allow-high-risk", 0)
        assert "not_contains: failed" in file.read_text()
        assert "1 passed" in run(here, "compare", 0)


def test_a_prompt_that_changes_for_the_worse_is_found_by_its_score_and_approved(here: Console) -> None:
    with CountedModel() as model:
        file = project(here, model.url)
        run(here, "capture baselines", 0)
        assert "rubric: 4.6" in file.read_text()
        template = here.folder / "mill.md"
        template.write_text(
            "Say it in one sentence.\n\n{{text}} The mill by the river is obviously the oldest one.\n"
        )
        failed = run(here, "compare", 1)
        assert "quality_scores.rubric" in failed
        assert "note its text now: The mill by the river is obviously the oldest one." in failed
        assert "medium risk" in run(here, "refresh mill --yes", 0)
        assert "rubric: 4.1" in file.read_text()
        assert "1 passed" in run(here, "compare", 0)
        template.write_text(
            "Say it.\n\n{{text}} The mill by the river is obviously the stupid TODO one of all.\n"
        )
        run(here, "compare", 1)
        assert "went wrong: the score of rubric is 3.1, below 4" in run(here, "refresh mill --yes", 3)


def test_a_judge_that_replies_with_one_line_scores_as_it_does_for_a_case(here: Console) -> None:
    in_a_line = RECIPE.replace("at_least: 4}}", "at_least: 4, form: line}}")
    with CountedModel() as model:
        file = project(here, model.url, recipe=in_a_line)
        run(here, "capture baselines", 0)
        assert "rubric: 5" in file.read_text()
        assert "SCORE=<1-5>" in str(model.asked[-1])
        assert "1 passed" in run(here, "compare", 0)
        rude = "Say it.\n\n{{text}} The mill by the river is obviously the stupid TODO one of all.\n"
        (here.folder / "mill.md").write_text(rude)
        assert "quality_scores.rubric" in run(here, "compare", 1)


@pytest.mark.parametrize(
    "scores", ["{rubric: {a: x, b: y}, form: line}", "{rubric: {a: x}, scale: [0, 10], form: line}"]
)
def test_one_line_gives_one_score_from_1_to_5(here: Console, scores: str) -> None:
    with CountedModel() as model:
        stated = "{{rubric: {{rubric: Is it kind?}}, at_least: 4}}"
        braced = scores.replace("{", "{{").replace("}", "}}")
        project(here, model.url, recipe=RECIPE.replace(stated, braced))
        told = run(here, "capture baselines", 2)
        assert "BK355 baselines/mill.yaml:7:" in told
        assert "one score from 1 to 5" in told
        assert model.asked == []
