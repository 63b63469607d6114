"""The reference's own regression examples, as they are written, against services that answer well and ill."""

import shutil
from pathlib import Path

import pytest
from console import ROOT, Console, console

pytestmark = pytest.mark.slow

REFERENCE = ROOT / "tests" / "reference"


@pytest.fixture
def here(tmp_path: Path):
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselines").mkdir()
        yield terminal


def given(here: Console, name: str) -> Path:
    return Path(shutil.copy(REFERENCE / name, here.folder / "baselines"))


@pytest.mark.slow
@pytest.mark.parametrize(("specificity", "exit_code"), [(3.9, 0), (3.89, 1), ("4.2", 1)])
def test_the_quality_of_comments(here: Console, specificity: object, exit_code: int) -> None:
    file = given(here, "regression-quality.yaml")
    scores = {"specificity": specificity, "actionability": 4.5, "correctness": 4.8, "tone": 4.3}
    (here.folder / "skill.py").write_text(
        "import json, sys\n"
        "given = json.load(sys.stdin)\n"
        "assert given['skill'] == 'code-review' and given['parameters'] == {'depth': 'thorough'}, given\n"
        "assert given['input']['code_diff'] == 'path/to/test-diff.patch', given\n"
        f"print(json.dumps({{'quality_scores': {scores!r}}}))\n"
    )
    (here.folder / "baselinekit.yaml").write_text("skills: {code-review: {command: [python, skill.py]}}\n")
    ran = here.run("baselinekit compare")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    assert ("failure_count: 2" in file.read_text()) == (exit_code == 1), "it stood at 1"
