"""Where a baseline was captured, and what of that is no longer so when it fails."""

import json
import shutil
from pathlib import Path

import pytest
from console import console
from little_api import LittleApi

pytestmark = pytest.mark.slow

GIT = "git -c user.name=x -c user.email=x@example.com"


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_a_failure_tells_what_changed_since_the_capture(tmp_path: Path) -> None:
    with console(tmp_path / "project") as here, LittleApi({"/x": {"n": 2}}) as api:
        config = here.folder / "baselinekit.yaml"
        config.write_text("environment: {release: {command: [echo, one]}, place: test}\n")
        assert here.run(f"git init -q . && {GIT} add . && {GIT} commit -qm first").exit_code == 0
        assert here.run(f"baselinekit capture {api.url}/x --id x --group g").exit_code == 0
        stored = (here.folder / "baselines/g/x.yaml").read_text()
        assert "release: one" in stored
        assert "place: test" in stored
        assert "dirty: false" in stored
        assert here.run("baselinekit compare").exit_code == 0
        config.write_text("environment: {release: {command: [echo, two]}, place: test}\n")
        assert here.run(f"{GIT} add . && {GIT} commit -qm second").exit_code == 0
        api.answers["/x"] = {"n": 3}
        failed = here.run("baselinekit compare")
    assert failed.exit_code == 1
    told = failed.stdout.split("changed since capture")[1]
    assert "git.commit " in told
    assert "release: one -> two" in told
    assert "place" not in told


def test_variables_come_from_the_nearest_that_states_them(tmp_path: Path) -> None:
    with console(tmp_path / "project") as here, LittleApi({}) as api:
        (here.folder / "baselinekit.yaml").write_text(
            "variables: {a: config, b: config, c: config, d: config}\n"
            "environments: {e: {variables: {b: environment, c: environment, d: environment}}}\n"
        )
        (here.folder / "vars.env").write_text("c=file\nd=file\n")
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/x.yaml").write_text(
            "id: x\nbaseline: {output: {status: 404}}\n"
            'current: {input: {endpoint: "/{{a}}/{{b}}/{{c}}/{{d}}"}, execution: {type: http}}\n'
        )
        words = f"--environment e --env-file vars.env --var d=line --base-url {api.url}"
        assert here.run(f"baselinekit compare {words}").exit_code == 0
        assert api.asked[0][1] == "/config/environment/file/line"


def test_a_secret_is_shown_nowhere(tmp_path: Path) -> None:
    secret = "s3cr3t/+value=="
    with console(tmp_path / "project") as here, LittleApi({"/me": {"echo": "fine"}}) as api:
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/x.yaml").write_text(
            "id: x\nbaseline: {output: {body: {echo: fine}}}\n"
            'current: {input: {endpoint: /me, headers: {X-Key: "{{key}}"}}, execution: {type: http}}\n'
        )
        command = f"baselinekit compare --secret 'key={secret}' --base-url {api.url} -v -o r.json -o r.md"
        assert here.run(command).exit_code == 0
        assert api.asked[0][2]["X-Key"] == secret
        api.answers["/me"] = {"echo": f"you sent {secret}", "url": "?k=s3cr3t%2F%2Bvalue%3D%3D"}
        failed = here.run(command)
        assert failed.exit_code == 1
        everything = failed.stdout + failed.stderr
        for path in here.folder.rglob("*"):
            everything += path.read_text(errors="replace") if path.is_file() else ""
    assert "s3cr3t" not in everything
    assert "you sent ***" in everything


@pytest.mark.parametrize("jobs", [1, 8])
def test_lines_are_those_of_the_file_as_it_is_afterwards(jobs: int, tmp_path: Path) -> None:
    with console(tmp_path / "project") as here, LittleApi({"/x": {"n": 0}}) as api:
        (here.folder / "baselines").mkdir()
        file = here.folder / "baselines/list.yaml"
        file.write_text(
            "".join(
                f"- id: r{n}\n  baseline: {{output: {{body: {{n: 1}}}}}}\n"
                "  current: {input: {endpoint: /x}, execution: {type: http}}\n"
                for n in range(6)
            )
        )
        ran = here.run(f"baselinekit compare -j {jobs} --json --base-url {api.url}")
        lines = file.read_text().splitlines()
        results = json.loads(ran.stdout.replace("{seconds}", "0"))["results"]
    for result in results:
        assert lines[result["line"] - 1] == f"- id: {result['id']}"
        assert "n: 1" in lines[result["differences"][0]["line"] - 1]


def test_what_a_variable_stands_for_is_no_line_of_a_diff(tmp_path: Path) -> None:
    def text(last: str) -> str:
        return f"see {api.url}/a\nsame\n{last}\n"

    with console(tmp_path / "project") as here, LittleApi({}) as api:
        api.answers["/t"] = text("before")
        assert here.run(f"baselinekit capture {api.url}/t --id t --group g").exit_code == 0
        assert "<<var(base_url)>>" in (here.folder / "baselines/g/t.yaml").read_text()
        api.answers["/t"] = text("after")
        failed = here.run("baselinekit compare")
    assert [line.strip() for line in failed.stdout.splitlines() if line.strip()[:2] in ("- ", "+ ")] == [
        "- before",
        "+ after",
    ]


@pytest.mark.parametrize(("group", "exit_code"), [("../../out", 4), ("a b", 2)])
def test_a_group_is_a_folder_of_the_project_and_leaves_nothing_behind(
    group: str, exit_code: int, tmp_path: Path
) -> None:
    with console(tmp_path / "project") as here, LittleApi({"/x": {"n": 1}}) as api:
        before = sorted(path for path in tmp_path.rglob("*") if ".baselinekit" not in str(path))
        ran = here.run(f"baselinekit capture {api.url}/x --id x --group '{group}'")
        after = sorted(path for path in tmp_path.rglob("*") if ".baselinekit" not in str(path))
    assert ran.exit_code == exit_code, ran.stderr
    assert after == before
