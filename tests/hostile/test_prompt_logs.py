"""The logs of a prompt folder while runs are killed, while many run at once, and where there is no room or no
right to write: at most one row a run, never half of one, and the verdict stands."""

import json
import random
import shutil
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from drill import THOROUGH, in_a_process, limit_files
from nobody import open_to_all
from warm import Warm

from baselinekit.demo.service import Service

pytestmark = pytest.mark.slow

KILLS = 50 if THOROUGH else 6
CASES = 6
QUERIES = 2
EVALS, USES = "prompts/p/.eval.jsonl", "prompts/p/.usage.jsonl"


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with Service() as service:
        yield service.url


def lay(folder: Path, url: str) -> None:
    """A prompt whose cases the demo's model passes, with two queries for its judge."""
    asked = f'{{openai: demo, base_url: "{url}"}}'
    cases = "".join(
        f"  - name: c{number}\n    inputs: {{text: Two apples were sent in order {number}.}}\n"
        f"    assert: [min_tokens: 1]\n"
        for number in range(CASES)
    )
    triggering = (
        'triggering:\n  should_match: ["summarize this text"]\n  should_not_match: ["is it raining"]\n'
    )
    files = {
        "baselinekit.yaml": f"models:\n  default: {asked}\n  judge: {asked}\n",
        "prompts/p/meta.yml": "id: p\nstatus: tested\ndescription: Summarizes a text.\n"
        "triggers: [summarize this text]\ninputs: [{name: text}]\n",
        "prompts/p/prompt.xml": "<task>Summarize: {{text}}</task>\n",
        "prompts/p/eval.yml": f"cases:\n{cases}{triggering}",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def project(tmp_path: Path, model: str) -> Path:
    lay(tmp_path / "project", model)
    return tmp_path / "project"


def rows(project: Path, log: str = EVALS) -> list[dict[str, Any]]:
    """Every line is a whole row, the last one too."""
    file = project / log
    if not file.exists():
        return []
    data = file.read_bytes()
    assert data.endswith(b"\n") or not data
    return [json.loads(line) for line in data.splitlines()]


def whole(row: dict[str, Any]) -> bool:
    return bool(row["scope"] == "all" and row["total"] == CASES + QUERIES and row["all_passed"])


def test_e6_run_killed_at_random_moments_logs_one_row_or_none(project: Path, runs: Warm) -> None:
    """The next run comes after it: half of them go on with the one that was killed."""
    source = random.Random(6)
    took = min(runs.run(project, "run", "p").seconds for _ in range(2))
    before, sent = len(rows(project)), len(rows(project, USES))
    assert before == 2
    seen = [0, 0]
    for number in range(KILLS):
        when = source.uniform(0.3 * took, 1.2 * took)
        ended = runs.run(project, "run", "p", "-j2", signals=[(when, signal.SIGKILL)])
        assert ended.exit_code in (-9, 0), ended.said
        found = rows(project)
        assert len(found) - before in ((0, 1) if ended.exit_code else (1,))
        assert all(map(whole, found)), "a run that did not come to its end says nothing"
        used = len(rows(project, USES)) - sent
        assert used <= CASES
        seen = [seen[0] + (ended.exit_code == -9), seen[1] + (ended.exit_code == -9 and 0 < used < CASES)]
        again = ["--resume"] if number % 2 else []
        ended = runs.run(project, "run", "p", *again)
        assert ended.exit_code == 0, ended.said
        assert "not noted" not in ended.said
        assert len(rows(project)) == len(found) + 1
        if (
            again and len(found) == before
        ):  # what was sent is noted once; of what a kill struck maybe not at all
            assert CASES - 2 <= len(rows(project, USES)) - sent <= CASES
        took *= 1.02 if seen[0] > number // 2 else 0.95  # as busy as the machine is
        before, sent = len(rows(project)), len(rows(project, USES))
    assert seen[0] > KILLS // 4, "it was hardly ever killed"
    assert seen[1] or not THOROUGH, "it was never killed between two of its cases"


def test_e6_four_runs_at_once_log_four_rows(project: Path, runs: Warm) -> None:
    for ended in runs.together(4, project, "run", "prompts/p"):
        assert ended.exit_code == 0, ended.said
        assert "not noted" not in ended.said
    assert len(rows(project)) == 4
    assert all(map(whole, rows(project)))


def test_f05_e6_row_without_room_is_taken_back_and_reported(project: Path) -> None:
    """The limit is reached by some row: the one that does not fit leaves nothing."""
    for _ in range(4):
        done = in_a_process(project, "run", "p", before=partial(limit_files, 500))
        assert done.returncode == 0, "the verdict stands"
        rows(project), rows(project, USES)
    assert (
        "this run of prompts/p is not noted: prompts/p/.eval.jsonl cannot be written: file too la"
        in done.stdout
    )
    before = len(rows(project))
    assert 0 < before < 4
    in_a_process(project, "run", "p")
    assert len(rows(project)) == before + 1


@pytest.mark.parametrize("what", ["folder", "log"])
def test_f14_e6_log_that_may_not_be_written_is_a_warning(project: Path, runs: Warm, what: str) -> None:
    runs.run(project, "run", "p")
    shutil.rmtree(project / ".baselinekit")
    open_to_all(project)
    log = project / EVALS
    if what == "log":
        log.chmod(0o444)
    else:
        log.unlink()
        (project / "prompts/p").chmod(0o555)
    try:
        done = runs.run(project, "run", "p", harmless=True)
    finally:
        (project / "prompts/p").chmod(0o777)
    assert done.exit_code == 0, done.said
    assert "this run of prompts/p is not noted: " in done.said
    assert "permission denied" in done.said
    assert len(rows(project)) == (1 if what == "log" else 0)
