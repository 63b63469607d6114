"""Every command that a screen or a report proposes is accepted where it is read, with what was typed."""

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from console import Console, console
from storehelp import write

from baselinekit.agentv.form import LATER
from baselinekit.cli.main import cli

pytestmark = pytest.mark.slow

STORED = """\
id: {id}
current: {{input: {{argv: [greet, "{{{{who}}}}"], stdin: "{{{{TOKEN}}}}"}}, execution: {{type: command}}}}
baseline: {{output: {{stdout: {stdout}, exit_code: {exit_code}}}}}
metadata: {{tags: [{tag}]}}
"""
FILES = {
    "checks.yaml": """\
baselines: [stored]
commands: {greet: [echo, hello]}
variables: {TOKEN: {from_env: TOKEN, secret: true}}
environments: {"at home": {variables: {who: me}}}
""",
    "stored/one.yaml": STORED.format(id="one", stdout='"hello <<any_integer>>\\n"', exit_code="0", tag="x"),
    "stored/two.yaml": STORED.format(id="two", stdout='"bye\\n"', exit_code='"0"', tag="x"),
    "stored/sub/three.yaml": STORED.format(id="three", stdout='"bye\\n"', exit_code="1", tag="y"),
    "stored/sub/four.yaml": STORED.format(id="four", stdout='"bye\\n"', exit_code="0", tag="y"),
    "elsewhere/five.yaml": STORED.format(id="five", stdout='"bye\\n"', exit_code="0", tag="y"),
}
KNOWN = "--config checks.yaml --secret TOKEN"
_TYPED = re.compile(
    r"(?:next: |`|<code>|Is the new answer right\? |accept it: |there is no terminal to ask in: )"
    r"(baselinekit (?:compare|run|gate|refresh|review|explain [a-z])[^\n`<%]*?)"
    r"(?= \(or --dry-run\)|[\n`<%]|$)"
)
_ENV = "TOKEN=s3cr3t-t0ken-0017"


EVALS = {
    "baselinekit.yaml": 'skills: {upper: {python: "skills:upper"}}\n',
    "skills.py": "def upper(input):\n    return input.upper()\n",
    "evals/cases.yaml": """\
- id: louder
  input: {type: skill, content: abc}
  execution: {type: skill, skill_name: upper}
  expected: {type: exact, value: abc}
- id: louder-too
  input: {type: skill, content: '{"a": 1}'}
  execution: {type: skill, skill_name: upper}
  expected: {value: {a: 1}}
  grader: {type: code, config: {method: structural_match}}
""",
    "evals/regression/known.yaml": """\
id: known
current: {input: abc, execution: {type: skill, skill_name: upper}}
baseline: {output: abd}
""",
    "evals/regression/new.yaml": """\
id: new
current: {input: abc, execution: {type: skill, skill_name: upper}}
""",
}


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        write_all(terminal.folder, FILES)
        yield terminal


def write_all(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        write(folder, name, text)


def proposed(text: str) -> list[str]:
    return [html.unescape(command).strip() for command in dict.fromkeys(_TYPED.findall(text))]


def try_all(terminal: Console, commands: list[str], kept: Path | None = None) -> list[str]:
    """Each in the state in which it was read. A question is answered by a look at what it would do. Gives
    back what they propose in turn."""
    further: list[str] = []
    for command in commands:
        if kept is not None:
            shutil.rmtree(terminal.folder)
            shutil.copytree(kept, terminal.folder)
        asks = command.startswith("baselinekit refresh") and not re.search("--yes|--dry-run", command)
        ran = terminal.run(f"{_ENV} {command}{' --dry-run' * asks}")
        assert ran.exit_code in (0, 1, 3), f"{command}\n{ran.stdout}{ran.stderr}"
        assert not asks or "BK53" not in ran.stderr, f"{command}\n{ran.stdout}{ran.stderr}"
        codes = re.findall("BK5..", ran.stderr)
        if asks or "--dry-run" in command:  # which says what more it takes
            codes = []
        elif "--yes" in command and ran.exit_code == 3:  # the rest is written
            codes = [code for code in codes if code not in ("BK532", "BK533")]
        assert not codes, f"{command}\n{ran.stdout}{ran.stderr}"
        assert "hello" not in command
        further += proposed(ran.stdout + ran.stderr)
    return list(dict.fromkeys(further))


@pytest.mark.parametrize(
    "typed",
    [
        f"{KNOWN} --var who='it is \"me\"' -k 'two or three or four' -j 2",
        f"--environment 'at home' {KNOWN} --shard 1/2 elsewhere stored",
        f"{KNOWN} --var who=me -kone -- stored/one.yaml",
    ],
)
def test_commands_proposed_at_a_desk_work(terminal: Console, tmp_path: Path, typed: str) -> None:
    output = terminal.run(f"{_ENV} baselinekit compare -o r.md -o r.html -o github {typed}").stdout
    found = proposed(
        output + (terminal.folder / "r.md").read_text() + (terminal.folder / "r.html").read_text()
    )
    assert [line for line in found if line.startswith(("baselinekit refresh", "baselinekit review"))]
    kept = tmp_path / "kept"
    shutil.copytree(terminal.folder, kept)
    further = try_all(terminal, found, kept)
    assert any("--yes" in line or line.startswith("baselinekit review") for line in further)
    try_all(terminal, [line for line in further if line not in found], kept)


@pytest.mark.parametrize(("typed", "file"), [(" stored/sub", "{there}/out.json"), (" -k two", "out/r.json")])
def test_commands_proposed_by_a_job_work_in_another_checkout(
    terminal: Console, tmp_path: Path, typed: str, file: str
) -> None:
    """There no answer is kept: only the result file has come from the job."""
    file = file.format(there=tmp_path / "there")
    (tmp_path / "there").mkdir()
    run = f"baselinekit compare {KNOWN} --var who=me{typed} -o {file} -o r.md -o r.html -o github"
    output = terminal.run(f"CI=true {_ENV} {run}").stdout
    pages = (terminal.folder / "r.md").read_text() + (terminal.folder / "r.html").read_text()
    name = Path(file).name if file.startswith("/") else file
    shutil.move(terminal.folder / file, tmp_path / "downloaded.json")
    kept = tmp_path / "kept"
    write_all(kept, FILES)
    (kept / name).parent.mkdir(exist_ok=True)
    shutil.copy(tmp_path / "downloaded.json", kept / name)
    found = proposed(output + pages)
    renewing = [line for line in found if line.startswith(("baselinekit refresh", "baselinekit review"))]
    assert renewing
    assert all(f"--from {name}" in line for line in renewing)
    further = try_all(terminal, found, kept)
    try_all(terminal, [line for line in further if "--yes" in line], kept)


def test_report_of_shards_proposes_to_accept_the_files_it_read(terminal: Console, tmp_path: Path) -> None:
    """Not whatever is pending where the command is typed."""
    for n in (1, 2):
        terminal.run(f"{_ENV} baselinekit compare {KNOWN} --var who=me --shard {n}/2 -o {n}.json")
    shutil.rmtree(terminal.folder / ".baselinekit")
    terminal.run(f"{_ENV} baselinekit report 1.json 2.json -o r.md -o r.html")
    found = proposed((terminal.folder / "r.md").read_text() + (terminal.folder / "r.html").read_text())
    accepting = [command for command in found if command.startswith("baselinekit refresh")]
    assert accepting
    assert all("--from 1.json --from 2.json " in command for command in accepting)
    kept = tmp_path / "kept"
    shutil.copytree(terminal.folder, kept)
    try_all(terminal, found, kept)


def test_commands_repeat_the_name_of_a_secret_and_never_its_value(terminal: Console) -> None:
    secret = "--secret TOKEN=s3cr3t-t0ken-0017 --config checks.yaml"
    for command in (
        f"compare {secret} --var who=me",
        f"refresh one {secret} --var who=me",
        "refresh --secret=TOKEN=s3cr3t-t0ken-0017 --config checks.yaml --var who=me --dry-run -- one",
    ):
        ran = terminal.run(f"baselinekit {command}")
        assert "--secret TOKEN " in ran.stdout + ran.stderr
        assert "TOKEN=" not in ran.stdout + ran.stderr


def test_refresh_of_a_file_that_begins_with_a_dash_proposes_a_command_that_works(terminal: Console) -> None:
    text = STORED.format(id="six", stdout='"bye\\n"', exit_code="0", tag="y")
    (terminal.folder / "-x.yaml").write_text(text)
    options = f"{KNOWN} --var who=me"
    terminal.run(f"{_ENV} baselinekit compare {options} -- -x.yaml")
    looked = terminal.run(f"{_ENV} baselinekit refresh {options} --dry-run -- -x.yaml")
    (command,) = proposed(looked.stdout)
    assert terminal.run(f"{_ENV} {command}").exit_code == 0
    assert terminal.run(f"{_ENV} baselinekit compare {options} ./-x.yaml").exit_code == 0


@pytest.fixture
def evals(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "evals") as terminal:
        write_all(terminal.folder, EVALS)
        yield terminal


def test_commands_proposed_by_a_run_of_evals_work(evals: Console) -> None:
    captured = proposed(evals.run("baselinekit capture evals/regression/new.yaml").stdout)
    assert captured == ["baselinekit run --id new"]
    try_all(evals, captured)
    (evals.folder / "evals/regression/new.yaml").unlink()
    ran = evals.run("baselinekit run -o r.md -o r.html -o github -o r.json")
    pages = "".join((evals.folder / name).read_text() for name in ("r.md", "r.html"))
    found = proposed(ran.stdout + pages)
    assert "baselinekit run --id louder -v" in found
    assert "baselinekit refresh evals/regression/known.yaml" in found
    assert not [line for line in found if "refresh" in line and "known" not in line]  # of a case
    assert not [line for line in found if "compare" in line or "\\" in line]
    try_all(evals, found)
    try_all(evals, proposed(evals.run("baselinekit gate r.json --preset development").stdout))
    renewed = proposed(evals.run("baselinekit refresh evals/regression/known.yaml --yes").stdout)
    assert renewed == ["baselinekit run --id known"]
    try_all(evals, renewed)
    again = evals.run("baselinekit refresh evals/regression/known.yaml").stderr
    assert "baselinekit compare or run, or refresh --replay" in again


def test_later_keys_of_agentv_are_replaced_by_options_that_run_has() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    known = {name for parameter in command.params for name in parameter.opts}
    named = {word for hint in LATER.values() for word in re.findall(r"(?<!\S)--?[a-z][a-z-]*", hint)}
    assert {"--attempts", "-j", "--cache", "--max-cost", "--fail-under"} == named
    assert named <= known
