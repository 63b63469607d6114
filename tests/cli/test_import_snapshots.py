"""`baselinekit convert --from` with a tool of pytest: what it writes and leaves alone."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from console import Console, console
from moving.test_vcr import MADE

NAMES = ("secret", "text", "large")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselinekit.yaml").write_text("version: 1\n")
        yield terminal


def put(terminal: Console, **files: str) -> None:
    for name, text in files.items():
        file = terminal.folder / name.replace("|", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def told(terminal: Console, words: str) -> dict[str, list[str]]:
    ran = terminal.run(f"baselinekit convert --from {words} --json")
    assert ran.stdout, ran.stderr
    found: dict[str, list[str]] = json.loads(ran.stdout)
    return found


def record(terminal: Console, name: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = yaml.safe_load(
        (terminal.folder / "baselines" / name).read_text("utf-8")
    )
    return found


def interaction(path: str, body: str, status: int = 200, kind: str = "application/json") -> str:
    return f"""\
- request: {{method: GET, uri: 'https://shop.test{path}', body: null, headers: {{}}}}
  response:
    status: {{code: {status}, message: ''}}
    headers: {{Content-Type: ['{kind}']}}
    body: {{string: '{body}'}}
"""


def test_all_recorded_answers_but_those_without_a_text_become_baselines(terminal: Console) -> None:
    shutil.copytree(MADE / "cassettes", terminal.folder / "cassettes")
    found = told(terminal, "vcr cassettes --partial")
    assert (len(found["written"]), len(found["lost"])) == (20, 3)
    assert record(terminal, "127.0.0.1/get-missing.yaml")["baseline"]["output"] == {
        "status": 404,
        "headers": {"content-type": "application/json"},
        "body": {"error": "no such thing"},
    }
    everything = "".join(file.read_text() for file in (terminal.folder / "baselines").rglob("*.yaml"))
    for secret in ("hunter2", "s3cr3t", "c2lnbmF0", "ABCD1234"):
        assert secret not in everything


def test_one_request_that_was_answered_in_two_ways_is_told(terminal: Console) -> None:
    cassette = "version: 1\ninteractions:\n{}"
    put(
        terminal,
        **{
            "c|a.yaml": cassette.format(interaction("/x", '{"n": 1}')),
            "c|b.yaml": cassette.format(interaction("/x", '{"n": 2}') + interaction("/y", "1")),
            "c|c.yaml": cassette.format(interaction("/x", '{"n": 1}')),
            "c|other.yaml": "interactions of people: none\n",
            "c|picture.json": "{",
        },
    )
    found = told(terminal, "vcr c --partial")
    assert [one["at"] for one in found["lost"]] == ["c/b.yaml:3"]
    assert len(found["written"]) == 2
    again = told(terminal, "vcr c --partial")
    assert (again["written"], again["there_already"]) == ([], 2)


def test_a_broken_cassette_is_told_with_its_line(terminal: Console) -> None:
    put(
        terminal,
        **{"c|a.yaml": "interactions:\n- request: [\n", "c|b.yaml": "interactions:\n- 1\n- request: 2\n"},
    )
    found = told(terminal, "vcr c")
    assert [one["at"] for one in found["lost"]] == ["c/a.yaml:3", "c/b.yaml:2", "c/b.yaml:3"]


def test_convert_refuses_tests_outside_of_the_project(terminal: Console, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    ran = terminal.run(f"baselinekit convert {tmp_path}/outside --from pytest")
    assert ran.exit_code == 4
    assert "BK404" in ran.stderr


def test_convert_keeps_secrets_placeholder_texts_and_large_values_apart(terminal: Console) -> None:
    """A declared secret is never written, a text that looks like a placeholder stays a text, and a large
    value is stored beside its baseline."""
    test = """
        from inline_snapshot import snapshot

        def test_secret():
            assert "a correct-horse" == snapshot("a correct-horse")

        def test_text():
            assert "<<any_uuid>>" == snapshot("<<any_uuid>>")

        def test_large():
            assert "x" * 100_000 == snapshot("x" * 100_000)
    """
    put(terminal, **{"tests|test_x.py": dedent(test)})
    ran = terminal.run("baselinekit convert tests --from pytest --secret PASSWORD=correct-horse")
    assert ran.exit_code == 0, ran.stderr
    stored = {name: record(terminal, f"tests/test_x/test_{name}.yaml")["baseline"] for name in NAMES}
    assert stored["secret"]["output"] == "a <<var(PASSWORD)>>"
    assert stored["text"]["output"] == "\\<<any_uuid>>"
    file = terminal.folder / "baselines/tests/test_x" / str(stored["large"]["output_file"])
    assert file.read_text() == "x" * 100_000


def test_capture_without_an_address_ignores_values_of_tests(terminal: Console) -> None:
    test = "from inline_snapshot import snapshot\ndef test_x():\n    assert 1 == snapshot(1)\n"
    put(terminal, **{"tests|test_x.py": test, "urls.txt": "https://shop.test/orders\n"})
    terminal.run("baselinekit convert tests --from pytest")
    ran = terminal.run("baselinekit capture urls.txt --dry-run")
    assert (ran.exit_code, ran.stderr) == (0, "")
