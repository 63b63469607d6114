"""The questions of one comparison are asked at the same time, within `-j` and what the model allows."""

import json
import threading

import pytest
from commandline import run
from console import Console
from little_api import CountedModel

pytestmark = pytest.mark.slow

CONFIG = """\
models: {{judge: {{anthropic: demo, base_url: "{url}"{more}}}}}
skills: {{says: {{python: "says:run"}}}}
"""
SAYS = """\
def run(asked):
    return {f"t{n}": f"This is a quite fine text about {word}." for n, word in enumerate(asked["words"])}
"""
WORDS = ["rivers", "mills", "bread", "stones", "trees", "roads", "boats", "songs"]


def lay(project: Console, model: CountedModel, baselines: int = 1, more: str = "") -> None:
    """Each text differs in a word from the stored one, so that a judge is asked about each."""
    (project.folder / "baselinekit.yaml").write_text(CONFIG.format(url=model.url, more=more))
    (project.folder / "says.py").write_text(SAYS)
    for number in range(baselines):
        words = [f"{word} {'abcdefghijklmnop'[number]}x" for word in WORDS]
        output = {f"t{n}": f"This is a fine text about {word}." for n, word in enumerate(words)}
        record = {
            "id": f"b{number}",
            "baseline": {"output": output},
            "current": {"input": {"words": words}, "execution": {"type": "skill", "skill_name": "says"}},
            "comparison": {"type": "semantic", "method": "judge", "min_similarity": 0.5},
        }
        (project.folder / f"baselines/b{number}.yaml").write_text(json.dumps(record) + "\n")


def test_compare_asks_all_questions_of_a_baseline_at_once(project: Console) -> None:
    all_are_asked = threading.Barrier(len(WORDS))
    with CountedModel(lambda number: 0.0 * all_are_asked.wait(20)) as model:
        lay(project, model)
        run(project, "compare --no-record -j 16")
    assert len(model.questions) == model.most_at_once == len(WORDS)


@pytest.mark.parametrize(("words", "more", "most"), [("-j 3", "", 3), ("", ", concurrency: 2", 2)])
def test_compare_asks_no_more_questions_at_once_than_allowed(
    project: Console, words: str, more: str, most: int
) -> None:
    with CountedModel(lambda number: model.pause_when_crowded(most, 0.03)) as model:
        lay(project, model, baselines=2, more=more)
        run(project, f"compare --no-record {words}")
    assert model.most_at_once == most
    assert len(model.questions) == 2 * len(WORDS)
