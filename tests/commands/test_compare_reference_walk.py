"""The reference's own regression examples, as they are written, against services that answer well and ill."""

import shutil
from pathlib import Path

import pytest
from console import ROOT, Console, console
from little_api import LittleApi

pytestmark = pytest.mark.slow

REFERENCE = ROOT / "tests" / "reference"
UUIDS = [f"123e4567-e89b-42d3-a456-42661417400{n}" for n in range(3)]


def users(*emails: str) -> dict[str, object]:
    people = [
        {"id": UUIDS[n], "name": f"User {n}", "email": email, "created_at": "2026-11-21T10:00:00Z"}
        for n, email in enumerate(emails)
    ]
    return {"users": people, "pagination": {"page": 1, "per_page": 20, "total": len(people)}}


@pytest.fixture
def here(tmp_path: Path):
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselines").mkdir()
        yield terminal


def given(here: Console, name: str) -> Path:
    return Path(shutil.copy(REFERENCE / name, here.folder / "baselines"))


def changed_lines(before: bytes, after: bytes) -> list[tuple[bytes, bytes]]:
    old, new = before.split(b"\n"), after.split(b"\n")
    assert len(old) == len(new)
    return [(a, b) for a, b in zip(old, new, strict=True) if a != b]


def test_the_user_list(here: Console) -> None:
    file = given(here, "regression-api-users.yaml")
    before = file.read_bytes()
    good, bad = users("a@b.org", "c@d.org", "e@f.org"), users("a@b.org", "nobody", "e@f.org")
    with LittleApi({"/api/v1/users": good}) as api:
        command = f"baselinekit compare --var test_token=a-token --var api_base_url={api.url}"
        assert here.run(command).exit_code == 0
        assert api.asked[0][2]["Authorization"] == "Bearer a-token"
        passed = file.read_bytes()
        assert [a.split(b":")[0].strip() for a, _ in changed_lines(before, passed)] == [b"last_passed"]
        api.says("/api/v1/users", bad)
        failed = here.run(command)
    assert failed.exit_code == 1
    assert "body.users[1].email" in failed.stdout
    assert '"nobody"' in failed.stdout
    assert "regression-api-users.yaml:14" in failed.stdout, "the line of the expected value"
    assert changed_lines(passed, file.read_bytes()) == [(b"    failure_count: 0", b"    failure_count: 1")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("specificity", "exit_code"), [(4.2, 0), (3.9, 0), (3.89, 1), (5.0, 0), (None, 1), (True, 1), ("4.2", 1)]
)
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
        ({"data": [], "meta": {"page": 1}}, 1),
        ({"data": {}, "meta": {"page": 1, "per_page": 20}}, 1),
        ({"data": [], "meta": {"page": 2, "per_page": 20}}, 1),
        ({"meta": {"page": 1, "per_page": 20}}, 1),
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


@pytest.mark.slow
def test_in_ci_nothing_is_written(here: Console) -> None:
    file = given(here, "users-endpoint.json")
    before = file.read_bytes()
    with LittleApi({}) as api:
        command = f"baselinekit compare --base-url {api.url} --var TEST_TOKEN=x"
        assert here.run(f"CI=true {command}").exit_code == 1
        assert file.read_bytes() == before
        assert here.run(f"CI=true {command} --record").exit_code == 1
        assert file.read_bytes() != before


@pytest.mark.parametrize(
    ("changed", "exit_code"), [("let sum = 0;", 0), ("let a;\n+let b;\n+let c;\n+let d;", 1)]
)
def test_the_quality_of_comments_on_the_patch_that_it_names(
    here: Console, changed: str, exit_code: int
) -> None:
    file = given(here, "regression-quality.yaml")
    patch = here.folder / "baselines" / "path" / "to" / "test-diff.patch"
    patch.parent.mkdir(parents=True)
    patch.write_text(f"--- a/cart.js\n+++ b/cart.js\n+{changed}\n")
    config = here.folder / "baselinekit.yaml"
    config.write_text(
        'skills: {code-review: {python: "baselinekit.demo.skills:review", files: [code_diff]}}\n'
    )
    ran = here.run("baselinekit compare")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    assert ("quality_scores.specificity" in ran.stdout) == (exit_code == 1)
    patch.unlink()
    assert here.run("baselinekit compare").exit_code == 3, "a patch that is not there is an error"
    assert "failure_count: 3" not in file.read_text()
