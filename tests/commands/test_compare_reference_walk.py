"""The reference's own regression examples, as they are written, against services that answer well and ill."""

import shutil
from pathlib import Path

import pytest
from console import ROOT, Console, console
from little_api import LittleApi

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


@pytest.mark.parametrize(
    ("body", "exit_code"),
    [
        ({"data": [], "meta": {"page": 1, "per_page": 20}}, 0),
        ({"data": [{"id": 1}, {"id": 2}], "meta": {"page": 1, "per_page": 20, "total": 2}, "more": 1}, 0),
        ({"data": [], "meta": {"page": 2, "per_page": 20}}, 1),
    ],
)
def test_the_users_endpoint(here: Console, body: object, exit_code: int) -> None:
    file = given(here, "users-endpoint.json")
    before = file.read_text()
    with LittleApi({"/api/v1/users": body}) as api:
        ran = here.run(f"baselinekit compare --base-url {api.url} --secret TEST_TOKEN=a-token-of-mine")
        assert api.asked[0][2]["Authorization"] == "Bearer a-token-of-mine"
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    key = "last_passed" if exit_code == 0 else "failure_count"
    added = [line for line in file.read_text().splitlines() if line not in before.splitlines()]
    assert any(key in line for line in added)
    assert len(added) <= 2, "the new key, and the comma of the line before it"
