"""Where a baseline was captured, what of that changed, variables and secrets, and lines of files."""

import json
import shutil

import pytest
from commandline import run
from console import Console
from little_api import LittleApi

pytestmark = pytest.mark.slow

GIT = "git -c user.name=x -c user.email=x@example.com"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_compare_that_fails_reports_what_changed_since_the_capture(project: Console) -> None:
    config = project.folder / "baselinekit.yaml"
    with LittleApi({"/x": {"n": 2}}) as api:
        config.write_text("environment: {release: {command: [echo, one]}, place: test}\n")
        assert project.run(f"git init -q . && {GIT} add . && {GIT} commit -qm first").exit_code == 0
        run(project, f"capture {api.url}/x --id x --group g")
        stored = (project.folder / "baselines/g/x.yaml").read_text()
        assert [line for line in ("release: one", "place: test", "dirty: false") if line not in stored] == []
        config.write_text("environment: {release: {command: [echo, two]}, place: test}\n")
        assert project.run(f"{GIT} add . && {GIT} commit -qm second").exit_code == 0
        api.answers["/x"] = {"n": 3}
        changed = run(project, "compare", 1).split("changed since capture")[1]
    assert "git.commit " in changed
    assert "release one -> two" in changed
    assert "place" not in changed


def lay(project: Console, endpoint: str, body: str) -> None:
    (project.folder / "baselines/x.yaml").write_text(
        f"id: x\nbaseline: {{output: {body}}}\n"
        f'current: {{input: {{endpoint: "{endpoint}", headers: {{X-Key: "{{{{d}}}}"}}}},'
        " execution: {type: http}}\n"
    )


def test_compare_takes_variables_from_the_nearest_place(project: Console) -> None:
    with LittleApi({}) as api:
        (project.folder / "baselinekit.yaml").write_text(
            "variables: {a: config, b: config, c: config, d: config}\n"
            "environments: {e: {variables: {b: environment, c: environment, d: environment}}}\n"
        )
        (project.folder / "vars.env").write_text("c=file\nd=file\n")
        lay(project, "/{{a}}/{{b}}/{{c}}/{{d}}", "{status: 404}")
        run(project, f"compare --environment e --env-file vars.env --var d=line --base-url {api.url}")
        assert api.requests[0][1] == "/config/environment/file/line"


def test_compare_shows_a_secret_nowhere(project: Console) -> None:
    secret = "s3cr3t/+value=="
    with LittleApi({"/me": {"echo": f"you sent {secret}", "url": "?k=s3cr3t%2F%2Bvalue%3D%3D"}}) as api:
        lay(project, "/me", "{body: {echo: fine}}")
        words = f"compare --secret 'd={secret}' --base-url {api.url} -v -o r.json -o r.md"
        everything = run(project, words, 1)
        assert api.requests[0][2]["X-Key"] == secret
    for path in project.folder.rglob("*"):
        everything += path.read_text(errors="replace") if path.is_file() else ""
    assert "s3cr3t" not in everything
    assert "you sent ***" in everything


def test_compare_reports_the_lines_of_the_file_as_it_is_afterwards(project: Console) -> None:
    file = project.folder / "baselines/list.yaml"
    file.write_text(
        "".join(
            f"- id: r{n}\n  baseline: {{output: {{body: {{n: 1}}}}}}\n"
            "  current: {input: {endpoint: /x}, execution: {type: http}}\n"
            for n in range(6)
        )
    )
    with LittleApi({"/x": {"n": 0}}) as api:
        printed = run(project, f"compare -j 8 --json --base-url {api.url}", 1)
    lines = file.read_text().splitlines()
    for result in json.loads(printed.replace("{seconds}", "0"))["results"]:
        assert lines[result["line"] - 1] == f"- id: {result['id']}"
        assert "n: 1" in lines[result["differences"][0]["line"] - 1]


def test_compare_shows_no_difference_in_a_line_with_a_variable(project: Console) -> None:
    with LittleApi({}) as api:
        text = f"see {api.url}/a\nsame\nbefore\n"
        api.answers["/t"] = text
        run(project, f"capture {api.url}/t --id t --group g")
        assert "<<var(base_url)>>" in (project.folder / "baselines/g/t.yaml").read_text()
        api.answers["/t"] = text.replace("before", "after")
        lines = [line.strip() for line in run(project, "compare", 1).splitlines()]
    assert [line for line in lines if line[:2] in ("- ", "+ ")] == ["- before", "+ after"]
