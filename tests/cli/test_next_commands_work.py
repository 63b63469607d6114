"""Every command that a screen or a report proposes is accepted where it is read, with what was typed."""

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from console import Console, console

from baselinekit.cli.main import cli
from baselinekit.report.typed import (
    ASKING,
    NARROWING,
    OPERATOR,
    OTHERS,
    SELECTING,
    TARGETS,
    Typed,
    parse_command,
    result_file,
    without_secrets,
)
from baselinekit.suites.dialects.agentvforms import LATER

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
    r"(?:next: |`|<code>|Is the new answer right\? |there is no terminal to ask in: )"
    r"(baselinekit (?:compare|refresh|review|explain [a-z])[^\n`<%]*?)(?= \(or --dry-run\)|[\n`<%]|$)"
)
_ENV = "TOKEN=s3cr3t-t0ken-0017"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        write(terminal.folder)
        yield terminal


def write(folder: Path) -> None:
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def proposed(text: str) -> list[str]:
    return [html.unescape(one).strip() for one in dict.fromkeys(_TYPED.findall(text))]


def try_all(here: Console, commands: list[str], kept: Path) -> list[str]:
    """Each in the state in which it was read. A question is answered by a look at what it would do. Gives
    back what they propose in turn."""
    further: list[str] = []
    for command in commands:
        shutil.rmtree(here.folder)
        shutil.copytree(kept, here.folder)
        asks = (
            command.startswith("baselinekit refresh")
            and "--yes" not in command
            and "--dry-run" not in command
        )
        if asks:  # a look shows whether it has the permissions that it needs
            looked = here.run(f"{_ENV} {command} --dry-run")
            assert "BK53" not in looked.stderr, f"{command}\n{looked.stdout}{looked.stderr}"
        ran = here.run(f"{_ENV} {command}{' --dry-run' * asks}")
        assert ran.exit_code in (0, 1, 3), f"{command}\n{ran.stdout}{ran.stderr}"
        held = re.findall("BK5..", ran.stderr)
        if "--dry-run" in command:  # which says what more it takes
            held = []
        elif "--yes" in command and ran.exit_code == 3:  # the rest is written
            held = [code for code in held if code not in ("BK532", "BK533")]
        assert not held, f"{command}\n{ran.stdout}{ran.stderr}"
        assert "hello" not in command
        further += proposed(ran.stdout + ran.stderr)
    return list(dict.fromkeys(further))


@pytest.mark.parametrize(
    "typed",
    [
        f"{KNOWN} --var who=me",
        f"{KNOWN} --var who='it is \"me\"' --id one",
        "--config=checks.yaml --secret=TOKEN --var=who=me --id=t*",
        f"--environment 'at home' {KNOWN} stored/sub",
        f"{KNOWN} --var who=me elsewhere",
        f"{KNOWN} --var who=me elsewhere stored",
        f"{KNOWN} --var who=me -k 'two or three or four' -j 2",
        f"{KNOWN} --var who=me --tag y --exclude-tag z",
        f"{KNOWN} --var who=me -kone -- stored/one.yaml",
        f"{KNOWN} --var who=me --shard 1/2",
    ],
)
def test_what_is_proposed_at_a_desk_works(here: Console, tmp_path: Path, typed: str) -> None:
    said = here.run(f"{_ENV} baselinekit compare -o r.md -o r.html -o github {typed}").stdout
    found = proposed(said + (here.folder / "r.md").read_text() + (here.folder / "r.html").read_text())
    assert [one for one in found if one.startswith("baselinekit refresh")]
    kept = tmp_path / "kept"
    shutil.copytree(here.folder, kept)
    further = try_all(here, found, kept)
    assert any("--yes" in one for one in further)
    try_all(here, [one for one in further if one not in found], kept)


@pytest.mark.parametrize(
    ("typed", "output"),
    [
        ("", "results.json"),
        (" --id one", "{there}/out.json"),
        (" stored/sub", "out/results.json"),
        (" -k two", "r.json"),
    ],
)
def test_what_is_proposed_of_a_job_works_in_another_checkout(
    here: Console, tmp_path: Path, typed: str, output: str
) -> None:
    """There no answer is kept: only the result file has come from the job."""
    output = output.format(there=tmp_path / "there")
    (tmp_path / "there").mkdir()
    run = f"baselinekit compare {KNOWN} --var who=me{typed} -o {output} -o r.md -o r.html -o github"
    said = here.run(f"CI=true {_ENV} {run}").stdout
    pages = (here.folder / "r.md").read_text() + (here.folder / "r.html").read_text()
    name = Path(output).name if output.startswith("/") else output
    shutil.move(here.folder / output, tmp_path / "downloaded.json")
    kept = tmp_path / "kept"
    write(kept)
    (kept / name).parent.mkdir(exist_ok=True)
    shutil.copy(tmp_path / "downloaded.json", kept / name)
    found = proposed(said + pages)
    renewing = [one for one in found if one.startswith(("baselinekit refresh", "baselinekit review"))]
    assert renewing
    assert all(f"--from {name}" in one for one in renewing)
    further = try_all(here, found, kept)
    try_all(here, [one for one in further if "--yes" in one], kept)


def test_the_options_of_compare_are_known() -> None:
    """One that takes a value would be taken for a path otherwise."""
    command = cli.get_command(click.Context(cli), "compare")
    assert command is not None
    options = [one for one in command.params if isinstance(one, click.Option)]
    taking = {name for one in options if not one.is_flag for name in one.opts}
    assert {*OPERATOR, *ASKING, *SELECTING, *NARROWING, *OTHERS} - {*TARGETS} == taking


def test_what_stands_for_a_key_of_a_later_agentv_is_an_option_of_run() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    known = {name for one in command.params for name in one.opts}
    named = {word for hint in LATER.values() for word in re.findall(r"(?<!\S)--?[a-z][a-z-]*", hint)}
    assert {"--attempts", "-j", "--cache", "--max-cost", "--fail-under"} == named
    assert named <= known


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("compare", Typed()),
        ("baselinekit compare 'unfinished", Typed()),
        ("baselinekit compare a -j4 --json b -- -c", Typed(paths=("a", "b", "-c"))),
        (
            "baselinekit compare --secret A=1 --secret=B=2 --secret C",
            Typed(("--secret", "A", "--secret", "B", "--secret", "C")),
        ),
        ("baselinekit compare --var a=b=c --var 'd= e'", Typed(("--var", "a=b=c", "--var", "d= e"))),
        (
            "baselinekit run evals --target fixed --targets=t.yaml",
            Typed(asking=("--target", "fixed", "--targets", "t.yaml")),
        ),
        (
            "baselinekit compare --lf --cache --offline x",
            Typed(asking=("--cache", "--offline", "x"), narrowed=True),
        ),
        ("baselinekit run evals --var a=b", Typed(("--var", "a=b"))),
        ("baselinekit compare -kx --id", Typed(selection=("-k", "x", "--id", ""))),
    ],
)
def test_what_was_typed(command: str, typed: Typed) -> None:
    assert parse_command(command) == typed


def test_a_secret_is_never_said_again() -> None:
    words = ["refresh", "--secret", "a=x=y", "--secret=b=z", "--secret", "c", "d=e"]
    assert without_secrets(words) == ["refresh", "--secret", "a", "--secret=b", "--secret", "c", "d=e"]


def test_the_result_file_is_the_one_that_is_read_back() -> None:
    assert result_file(["a.html", "x.sarif.json", "y.ctrf.json", "z.eval.json", "r.json"]) == "r.json"
    assert result_file(["github", "a.md"]) == ""
