"""What looks random and is no secret where it stands is told apart on the terminal as in every report."""

from pathlib import Path

import pytest
from console import console
from little_api import LittleApi

pytestmark = pytest.mark.slow

TAGS = 'W/"44-tp3E1UXTZ2V1aJaeGnzoTeDK7Cs"', 'W/"66-Sl4puUlzZXgQNjCN/Ahsw07e5Os"'
IDS = "q7ZxP0vT4mKs9LwB2nRd8YcF", "w3NkT8bQ5xLs1HvR6dJm9YpG"
COMMANDS = (
    "compare",
    "compare -v",
    "compare --json",
    "refresh x --dry-run",
    "review",
    "review --json",
    "report r.json",
    "report r.json --json",
)


def test_ids_and_tags_are_told_apart_wherever_they_are_told(tmp_path: Path) -> None:
    with console(tmp_path / "project") as here, LittleApi({"/x": _answer(0)}) as api:
        assert here.run(f"baselinekit capture {api.url}/x --id x --group g").exit_code == 0
        api.answers["/x"] = _answer(1)
        assert here.run("baselinekit compare -v -q -o r.json").exit_code == 1
        written = (here.folder / "r.json").read_text()
        told = {words: here.run(f"baselinekit {words}").stdout for words in COMMANDS}
    for words, text in {**told, "r.json": written}.items():
        for run in (*IDS, *(tag.split('"')[1] for tag in TAGS)):
            assert run in text, words
        assert "random" not in text, words


def _answer(number: int) -> dict[str, str]:
    return {"id": IDS[number], "etag": TAGS[number]}
