"""The verbs of baselines over eval records, whoever is asked: captured, run, refreshed, and nothing lost."""

import json
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from baselinekit.cli.main import run

pytestmark = pytest.mark.slow

ANSWER = """\
import sys
from pathlib import Path
sys.stdin.read()
print(Path(__file__).with_name("answer.txt").read_text(), end="")
"""
CONFIG = f"""\
skills: {{say: {{command: [{json.dumps(sys.executable)}, say.py]}}}}
models: {{default: {{command: [{json.dumps(sys.executable)}, say.py]}}}}
commands: {{say: [{json.dumps(sys.executable)}, say.py]}}
"""
CURRENT = {
    "skill": "{input: {n: 1}, execution: {type: skill, skill_name: say}}",
    "prompt": "{input: {text: hello}, execution: {type: prompt, parse: json}}",
    "command": "{input: {argv: [say], stdin: ''}, execution: {type: command, parse: json}}",
}
RECORD = """\
# why this is guarded
id: known
current: %s
comparison:
  ignore_fields: ["**.at"]  # it changes every time
metadata: {criticality: high, last_passed: null, failure_count: 0}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "baselinekit.yaml").write_text(CONFIG)
    (tmp_path / "say.py").write_text(ANSWER)
    (tmp_path / "evals").mkdir()
    set_answer(tmp_path, 1)
    with chdir(tmp_path):
        yield tmp_path


def set_answer(folder: Path, number: int) -> None:
    (folder / "answer.txt").write_text(f'{{"n": {number}, "at": "now"}}')


@pytest.mark.parametrize("kind", CURRENT)
def test_h7_x10_record_of_any_kind_is_captured_run_and_refreshed(
    project: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project / "evals" / "known.yaml"
    file.write_text(RECORD % CURRENT[kind])
    assert run(["run"]) == 2, "there is nothing to compare with yet"
    assert "capture it: baselinekit capture evals/known.yaml" in capsys.readouterr().err
    assert run(["capture", "evals"]) == 0
    captured = file.read_text()
    for words in (
        "captured_at: ",
        "platform: ",
        "tool: baselinekit",
        "# why this is guarded",
        "# it changes",
    ):
        assert words in captured
    assert run(["run", "--no-record", "-q"]) == 0
    set_answer(project, 2)
    assert run(["run", "--no-record", "-q"]) == 1
    assert file.read_text() == captured, "a run writes nothing but its record, and here not even that"
    assert run(["refresh", "evals/known.yaml", "--dry-run"]) in (0, 1)
    assert file.read_text() == captured
    capsys.readouterr()
    assert run(["refresh", "evals/known.yaml", "--yes"]) == 0
    assert "n" in capsys.readouterr().out
    assert run(["run", "--no-record", "-q"]) == 0
    refreshed = file.read_text()
    assert refreshed != captured
    for words in (
        "# why this is guarded",
        'ignore_fields: ["**.at"]  # it changes every time',
        CURRENT[kind],
    ):
        assert words in refreshed


def test_x10_capture_of_a_failing_program_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project / "evals" / "known.yaml"
    file.write_text(RECORD % CURRENT["skill"])
    (project / "say.py").write_text("raise SystemExit('no')")
    assert run(["capture", "evals"]) == 3
    assert "BK323" in capsys.readouterr().err
    assert file.read_text() == RECORD % CURRENT["skill"]
