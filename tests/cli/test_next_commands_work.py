"""Every command that a screen or a report proposes is accepted where it is read, with what was typed."""

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from console import Console, console

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
        f"--environment 'at home' {KNOWN} stored/sub",
        f"{KNOWN} --var who=me elsewhere stored",
        f"{KNOWN} --var who=me -k 'two or three or four' -j 2",
        f"{KNOWN} --var who=me -kone -- stored/one.yaml",
        f"{KNOWN} --var who=me --shard 1/2",
    ],
)
def test_what_is_proposed_at_a_desk_works(here: Console, tmp_path: Path, typed: str) -> None:
    said = here.run(f"{_ENV} baselinekit compare -o r.md -o r.html -o github {typed}").stdout
    found = proposed(said + (here.folder / "r.md").read_text() + (here.folder / "r.html").read_text())
    assert [one for one in found if one.startswith(("baselinekit refresh", "baselinekit review"))]
    kept = tmp_path / "kept"
    shutil.copytree(here.folder, kept)
    further = try_all(here, found, kept)
    assert any("--yes" in one or one.startswith("baselinekit review") for one in further)
    try_all(here, [one for one in further if one not in found], kept)


@pytest.mark.parametrize(
    ("typed", "output"),
    [
        ("", "results.json"),
        (" stored/sub", "{there}/out.json"),
        (" -k two", "out/r.json"),
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


@pytest.fixture
def monorepo(tmp_path: Path) -> Iterator[Console]:
    """A terminal in the folder of one of several projects of a repository."""
    with console(tmp_path / "repo/packages/api") as terminal:
        write(terminal.folder)
        (terminal.folder / "checks.yaml").rename(terminal.folder / "baselinekit.yaml")
        for command in ("init -q", "add .", "-c user.name=a -c user.email=a@b.c commit -qm first"):
            terminal.run(f"git -C {tmp_path / 'repo'} {command}")
        yield terminal


@pytest.mark.parametrize("typed", [" stored/sub", " --var-file greeting.yml"])
def test_what_a_job_in_a_folder_of_a_repository_proposes_works_from_its_top(
    monorepo: Console, tmp_path: Path, typed: str
) -> None:
    """Its reader has a clone of the branch, without the commit whose configuration counted in the job."""
    (monorepo.folder / "greeting.yml").write_text("greeting: hello\n")
    options = f"--config-from HEAD --secret TOKEN --var who=me{typed}"
    outputs = f"-o {tmp_path}/results.json -o r.md -o r.html -o github"
    said = monorepo.run(f"CI=true {_ENV} baselinekit compare {options} {outputs}").stdout
    pages = (monorepo.folder / "r.md").read_text() + (monorepo.folder / "r.html").read_text()
    found = proposed(said + pages)
    accepting = [
        command for command in found if command.startswith(("baselinekit refresh", "baselinekit rev"))
    ]
    assert accepting
    assert all("--from results.json" in command for command in accepting)
    assert not [command for command in found if "--config-from" in command]
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "repo", kept, ignore=shutil.ignore_patterns(".git", ".baselinekit"))
    shutil.copy(tmp_path / "results.json", kept)
    with console(tmp_path / "clone") as clone:
        try_all(clone, found, kept)


@pytest.mark.parametrize(("output", "files"), [(" -o all.json", ["all.json"]), ("", ["1.json", "2.json"])])
def test_merge_proposes_to_accept_what_it_has_read(
    here: Console, tmp_path: Path, output: str, files: list[str]
) -> None:
    """Not whatever is pending where the command is typed."""
    for n in (1, 2):
        here.run(f"{_ENV} baselinekit compare {KNOWN} --var who=me --shard {n}/2 -o {n}.json")
    shutil.rmtree(here.folder / ".baselinekit")
    here.run(f"{_ENV} baselinekit report 1.json 2.json -o r.md -o r.html{output}")
    found = proposed((here.folder / "r.md").read_text() + (here.folder / "r.html").read_text())
    accepting = [command for command in found if command.startswith("baselinekit refresh")]
    assert accepting
    assert all(f"--from {' --from '.join(files)} " in command for command in accepting)
    kept = tmp_path / "kept"
    shutil.copytree(here.folder, kept)
    try_all(here, found, kept)


def test_merge_above_the_project_proposes_commands_that_name_its_configuration(
    monorepo: Console, tmp_path: Path
) -> None:
    (monorepo.folder / "greeting.yml").write_text("greeting: hello\n")
    monorepo.run(f"{_ENV} baselinekit compare --secret TOKEN --var who=me -o r.json")
    with console(tmp_path / "repo") as top:
        top.run(f"{_ENV} baselinekit report packages/api/r.json -o r.md")
        page = (top.folder / "r.md").read_text()
        kept = tmp_path / "kept"
        shutil.copytree(tmp_path / "repo", kept, ignore=shutil.ignore_patterns(".git", ".baselinekit"))
    found = proposed(page)
    assert found
    assert all("--config packages/api/baselinekit.yaml" in command for command in found)
    assert "`packages/api/" in page
    with console(tmp_path / "clone") as clone:
        try_all(clone, found, kept)


def test_review_from_a_job_proposes_to_accept_what_it_has_read(here: Console) -> None:
    here.run(f"{_ENV} baselinekit compare {KNOWN} --var who=me -o 'the results.json'")
    shutil.rmtree(here.folder / ".baselinekit")
    options = "--config checks.yaml --from 'the results.json' --var who=me --secret TOKEN"
    commands = re.findall(r"baselinekit refresh .*", here.run(f"{_ENV} baselinekit review {options}").stdout)
    assert commands
    for command in commands:
        assert here.run(f"{_ENV} {command} --dry-run").exit_code == 0, command


def test_what_stands_for_a_key_of_a_later_agentv_is_an_option_of_run() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    known = {name for one in command.params for name in one.opts}
    named = {word for hint in LATER.values() for word in re.findall(r"(?<!\S)--?[a-z][a-z-]*", hint)}
    assert {"--attempts", "-j", "--cache", "--max-cost", "--fail-under"} == named
    assert named <= known


def test_refresh_after_a_value_in_a_cluster_of_options_names_no_value(here: Console) -> None:
    here.run(f"{_ENV} baselinekit compare {KNOWN} --var who=me -qo r.md")
    commands = proposed((here.folder / "r.md").read_text())
    assert commands
    assert not [command for command in commands if "r.md" in command]


def test_commands_repeat_the_name_of_a_secret_and_never_its_value(here: Console) -> None:
    secret = "--secret TOKEN=s3cr3t-t0ken-0017 --config checks.yaml"
    for command in (
        f"compare {secret} --var who=me",
        f"refresh one {secret} --var who=me",
        "refresh --secret=TOKEN=s3cr3t-t0ken-0017 --config checks.yaml --var who=me --dry-run -- one",
    ):
        ran = here.run(f"baselinekit {command}")
        assert "--secret TOKEN " in ran.stdout + ran.stderr
        assert "TOKEN=" not in ran.stdout + ran.stderr


def test_refresh_of_a_file_that_begins_with_a_dash_proposes_a_command_that_works(here: Console) -> None:
    text = STORED.format(id="six", stdout='"bye\\n"', exit_code="0", tag="y")
    (here.folder / "-x.yaml").write_text(text)
    options = f"{KNOWN} --var who=me"
    here.run(f"{_ENV} baselinekit compare {options} -- -x.yaml")
    looked = here.run(f"{_ENV} baselinekit refresh {options} --dry-run -- -x.yaml")
    (command,) = proposed(looked.stdout)
    assert here.run(f"{_ENV} {command}").exit_code == 0
    assert here.run(f"{_ENV} baselinekit compare {options} ./-x.yaml").exit_code == 0
