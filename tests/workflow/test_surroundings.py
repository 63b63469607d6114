"""Where a baseline was captured, and what of that is no longer so when it fails."""

from pathlib import Path

import pytest
from console import console
from little_api import LittleApi

GIT = "git -c user.name=x -c user.email=x@example.com"


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
        api.says("/x", {"n": 3})
        failed = here.run("baselinekit compare")
    assert failed.exit_code == 1
    told = failed.stdout.split("changed since capture")[1]
    assert "git.commit: " in told
    assert "release: one -> two" in told
    assert "place" not in told


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("", "/a"),
        ("--environment other", "/b"),
        ("--base-url {url}/c", "/c"),
    ],
)
def test_the_address_is_the_operators_then_the_environments(tmp_path: Path, words: str, asked: str) -> None:
    with console(tmp_path / "project") as here, LittleApi({}) as api:
        (here.folder / "baselinekit.yaml").write_text(
            f"base_url: {api.url}/a\nenvironments: {{other: {{base_url: '{api.url}/b'}}}}\n"
        )
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/x.yaml").write_text(
            "id: x\nbaseline: {output: {status: 404}}\n"
            "current: {input: {endpoint: /x}, execution: {type: http}}\n"
        )
        assert here.run(f"baselinekit compare {words.replace('{url}', api.url)}").exit_code == 0
        assert [path for _, path, _ in api.asked] == [f"{asked}/x"]


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


def test_an_output_over_the_limit_goes_to_a_file_beside_it(tmp_path: Path) -> None:
    rows = [{"n": n, "text": "x" * 50} for n in range(2_000)]
    with console(tmp_path / "project") as here, LittleApi({"/rows": rows}) as api:
        assert here.run(f"baselinekit capture {api.url}/rows --id rows --group g").exit_code == 0
        assert "output_file: rows.output.json" in (here.folder / "baselines/g/rows.yaml").read_text()
        assert here.run("baselinekit compare").exit_code == 0
        api.says("/rows", rows[1:])
        failed = here.run("baselinekit compare")
    assert failed.exit_code == 1
    assert "body[0]" in failed.stdout
    assert "missing" in failed.stdout
    assert "rows.output.json:" in failed.stdout, "the line of the expected value, in the file where it stands"
    assert failed.stdout.count("body[") == 1, "one removed row is one difference"


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
        api.says("/me", {"echo": f"you sent {secret}", "url": "?k=s3cr3t%2F%2Bvalue%3D%3D"})
        failed = here.run(command)
        assert failed.exit_code == 1
        everything = failed.stdout + failed.stderr
        for path in here.folder.rglob("*"):
            everything += path.read_text(errors="replace") if path.is_file() else ""
    assert "s3cr3t" not in everything
    assert "you sent ***" in everything
