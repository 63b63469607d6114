"""Texts that a judge compares: words that differ are put to it as questions, and its reply is the verdict."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from counted_model import CountedModel
from meaningpairs import OTHER, PAIRS, SAME
from test_compare_prompts import results

VERDICTS = {(expected, actual): is_same for _, is_same, expected, actual in PAIRS}
ECHO = "def run(asked):\n    return asked\n"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


def texts_of(asked: dict[str, Any]) -> dict[str, str]:
    """The texts between the marks of a question."""
    shown = asked["messages"][0]["content"]
    marked = re.findall(r"<<<(.+?) [0-9a-f]{16}>>>\n(.*?)\n<<<end of \1", shown, re.DOTALL)
    return dict(marked)


def truthful(asked: dict[str, Any], version: int) -> dict[str, Any]:
    """The answer of a judge that knows the pairs."""
    texts = texts_of(asked)
    is_same = VERDICTS[texts["first text"], texts["second text"]]
    nonce = asked["messages"][0]["content"].rpartition('{"nonce": "')[2][:16]
    facts = [{"fact": "it", "verdict": "kept" if is_same else "changed"}]
    reply = {"nonce": nonce, "first_in_second": facts, "second_in_first": facts, "reason": "so"}
    content = [{"type": "text", "text": json.dumps(reply)}]
    usage = {"input_tokens": 10, "output_tokens": 4}
    return {"model": "m", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage}


def test_there_are_sixty_pairs_in_eight_kinds() -> None:
    assert len(VERDICTS) == 60
    assert len(SAME) == len(OTHER) == 8
    assert SAME.keys() == OTHER.keys()


def test_compare_by_judge_with_words_that_differ_asks_about_each_and_takes_its_verdict(
    here: Console,
) -> None:
    with CountedModel(forms={"/v1/messages": truthful}) as model:
        (here.folder / "baselinekit.yaml").write_text(
            f'version: 1\nmodels: {{judge: {{anthropic: m, base_url: "{model.url}"}}}}\n'
            'skills: {says: {python: "says:run"}}\n'
        )
        (here.folder / "says.py").write_text(ECHO)
        (here.folder / "baselines").mkdir()
        record = {
            "id": "pairs",
            "baseline": {"output": [expected for _, _, expected, _ in PAIRS]},
            "current": {
                "input": [actual for _, _, _, actual in PAIRS],
                "execution": {"type": "skill", "skill_name": "says"},
            },
            "comparison": {"type": "semantic", "method": "judge"},
        }
        (here.folder / "baselines/pairs.yaml").write_text(json.dumps(record) + "\n")
        found = results(here, "compare --no-record", 1)
    (result,) = found["results"]
    differing = {difference["path"] for difference in result["differences"]}
    assert differing == {f"[{number}]" for number, pair in enumerate(PAIRS) if not pair[1]}
    assert len(model.asked) == len(PAIRS)
    assert all(texts_of(asked)["differing words"] for asked in model.asked)
