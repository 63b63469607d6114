"""The questions that one comparison leaves open are asked at the same time: within `-j`, within what the
model allows, and with nobody waiting for ever."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console
from counted_model import CountedModel
from test_compare_prompts import run

pytestmark = pytest.mark.slow

QUESTIONS = 8
CONFIG = """\
version: 1
models: {{judge: {{anthropic: demo, base_url: "{url}"{more}}}}}
skills: {{says: {{python: "says:run"}}}}
"""
SAYS = """\
def run(asked):
    return {f"t{n}": f"This is a quite fine text about {word}." for n, word in enumerate(asked["words"])}
"""
WORDS = ["rivers", "mills", "bread", "stones", "trees", "roads", "boats", "songs"]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


def project(here: Console, model: CountedModel, baselines: int = 1, more: str = "") -> None:
    """Each text differs in a word from the stored one, so that a judge is asked about each."""
    (here.folder / "baselinekit.yaml").write_text(CONFIG.format(url=model.url, more=more))
    (here.folder / "says.py").write_text(SAYS)
    (here.folder / "baselines").mkdir()
    for b in range(baselines):
        words = [f"{word} {'abcdefghijklmnop'[b]}x" for word in WORDS]
        output = {f"t{n}": f"This is a fine text about {word}." for n, word in enumerate(words)}
        record = {
            "id": f"b{b}",
            "baseline": {"output": output},
            "current": {"input": {"words": words}, "execution": {"type": "skill", "skill_name": "says"}},
            "comparison": {"type": "semantic", "method": "judge", "min_similarity": 0.5},
        }
        (here.folder / "baselines" / f"b{b}.yaml").write_text(json.dumps(record) + "\n")


def test_the_questions_of_one_baseline_are_asked_at_the_same_time(here: Console) -> None:
    all_are_asked = threading.Barrier(QUESTIONS)
    with CountedModel(lambda number: 0.0 * all_are_asked.wait(20)) as model:
        project(here, model)
        run(here, "compare --no-record -j 16", 0)  # of which two processes have eight each
    assert len(model.asked) == model.most_at_once == QUESTIONS


@pytest.mark.parametrize(
    ("words", "more", "most"), [("-j 1", "", 1), ("-j 3", "", 3), ("", ", concurrency: 2", 2)]
)
def test_never_more_at_once_than_is_allowed(here: Console, words: str, more: str, most: int) -> None:
    with CountedModel(lambda number: model.crowded(most, 0.03)) as model:
        project(here, model, baselines=3, more=more)
        run(here, f"compare --no-record {words}", 0)
    assert model.most_at_once == most
    assert len(model.asked) == 3 * QUESTIONS
