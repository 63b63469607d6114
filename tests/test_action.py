"""What others run from our checkout: the action, the hook, and the examples. They parse, they name what
exists, no input becomes part of a script, and the script of the action does what its page promises."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from checkouts import Checkout
from console import ROOT, Console, console

from baselinekit.cli.main import cli

pytestmark = pytest.mark.slow

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.yml"))
COMMAND = re.compile(r"(?m)(?:^|^\$ |- |\brun: )baselinekit ([a-z]+)([^\n|]*)")


def step_named(name: str) -> dict[str, Any]:
    return next(step for step in STEPS if step.get("name") == name)


def scripts(document: Any) -> list[str]:
    """Everything in a workflow, an action or a pipeline that a shell runs."""
    if isinstance(document, list):
        return [text for part in document for text in scripts(part)]
    if not isinstance(document, dict):
        return []
    own = [document["run"]] if "run" in document else []
    own += document["script"] if isinstance(document.get("script"), list) else []
    return own + [text for part in document.values() for text in scripts(part)]


@pytest.mark.parametrize(
    "path",
    [ROOT / "action.yml", ROOT / "approve/action.yml", *EXAMPLES],
    ids=lambda path: path.parent.name + path.name,
)
def test_f31_action_scripts_contain_no_event_or_input(path: Path) -> None:
    found = scripts(yaml.safe_load(path.read_text("utf-8")))
    assert found or path.name in ("baselinekit.yml", "baselinekit-approve.yml")
    assert not [text for text in found if "${{" in text]


@pytest.mark.parametrize(
    "path",
    [ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml", ROOT / "docs/ci.md", *EXAMPLES],
    ids=lambda p: p.name,
)
def test_documented_commands_and_options_exist(path: Path) -> None:
    for name, rest in COMMAND.findall(path.read_text("utf-8")):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), rest.split()[0])
            assert command is not None, rest
        known = {option for item in command.params for option in (*item.opts, *item.secondary_opts)}
        used = {word.split("=")[0] for word in rest.split(" -- ")[0].split() if re.match(r"--?[a-z]", word)}
        assert used <= known, (name, used - known)


def test_example_workflows_use_inputs_of_the_action() -> None:
    document = yaml.safe_load((ROOT / "docs/examples/baselinekit.yml").read_text("utf-8"))
    used = [step for step in document["jobs"]["compare"]["steps"] if "baselinekit@" in step.get("uses", "")]
    assert used
    for step in used:
        assert set(step["with"]) <= set(ACTION["inputs"])
    page = (ROOT / "docs/ci.md").read_text("utf-8")
    assert set(re.findall(r"(?m)^\| `([a-z-]+)` \|", page)) >= set(ACTION["inputs"])
    assert document["permissions"] == {"contents": "read"}
    for example in EXAMPLES:
        assert "pull_request_target" not in example.read_text("utf-8")


def test_action_passes_every_input_by_environment() -> None:
    handed = re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", (ROOT / "action.yml").read_text("utf-8"))
    assert set(handed) == set(ACTION["inputs"])
    install = step_named("Install baselinekit")["run"]
    assert shlex.split(install)[:5] == ["python", "-I", "-m", "pip", "install"]


def test_pre_commit_hook_selects_our_files() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert hook["entry"] == "baselinekit doctor"
    assert hook["pass_filenames"] is False
    files = ["baselines/a.yaml", "services/x/baselines/b/c.json", "x/baselinekit.yaml", "evals/s.yaml"]
    others = ["src/a.py", "my-baselines.txt", "baselinekit.yaml.md"]
    assert [file for file in files + others if re.search(hook["files"], file)] == files


BASELINE = """\
id: %s
baseline: {output: {exit_code: 0, stdout: "one\\n"}}
current: {input: {argv: [echo, two]}, execution: {type: command}}
"""


class Runner:
    """The compare step, as GitHub's runner runs it."""

    def __init__(self, terminal: Console):
        self.terminal, self.folder = terminal, terminal.folder
        self.temp = self.folder.parent / "runner temp"
        self.temp.mkdir()
        self.output, self.summary = self.temp / "output", self.temp / "summary.md"
        self.base = ""

    def compare(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        step = step_named("Compare")
        given = {name: item["default"] for name, item in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        filled = {
            key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], value)
            for key, value in step["env"].items()
        }
        assert "github.event.pull_request.base.sha" in filled["BK_BASE"]
        filled["BK_BASE"] = self.base
        github = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(self.summary)}
        path = [str(self.terminal.bin), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        plain = {"PATH": os.pathsep.join(path), "HOME": str(self.temp), "LANG": "C.UTF-8"}
        files = {"RUNNER_TEMP": str(self.temp), "GITHUB_OUTPUT": str(self.output)}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / given["working-directory"],
            env={**plain, **files, **github, **filled},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def runner(tmp_path: Path) -> Any:
    with console(tmp_path / "checkout") as terminal:
        project = terminal.folder / "svc"
        (project / "baselines/with space").mkdir(parents=True)
        (project / "baselinekit.yaml").write_text("version: 1\n")
        for name in ("one", "two"):
            (project / f"baselines/with space/{name}.yaml").write_text(BASELINE % name)
        (terminal.folder / ".git").mkdir()
        (project / "shlex.py").write_text("raise SystemExit('the checkout was imported')")
        yield Runner(terminal)


def test_f31_action_compares_annotates_and_stores_results(runner: Runner) -> None:
    before = (runner.folder / "svc/baselines/with space/one.yaml").read_text()
    done = runner.compare(working_directory="svc", args="--allow-exec --id 'one'", comment_file="c d.md")
    assert done.returncode == 1, done.stderr
    assert "\n::error file=svc/baselines/with space/one.yaml,line=2,title=one%3A stdout::" in done.stdout
    assert "baselinekit review --from results.json one --allow-exec" in runner.summary.read_text("utf-8")
    outputs = dict(line.split("=", 1) for line in runner.output.read_text().splitlines())
    assert outputs["exit-code"] == "1"
    assert {path.name for path in Path(outputs["results"]).iterdir()} == {
        *("results.json", "report.html", "results.junit.xml", "review.html")
    }
    assert (runner.folder / "svc/c d.md").read_text("utf-8").startswith("## baselinekit: 1 failed")
    assert (runner.folder / "svc/baselines/with space/one.yaml").read_text() == before


def test_f31_action_executes_no_input(runner: Runner) -> None:
    shot = "$(touch shot) `touch shot`; touch shot"
    for inputs in (
        {"paths": f"{shot}\n-o x\n"},
        {"args": f"--id '{shot}' --allow-exec"},
        {"args": shot},
        {"args": "'"},
        {"record": shot},
        {"comment_file": f"{shot}/x.md"},
    ):
        runner.compare(working_directory="svc", **inputs)
    assert [str(path) for path in runner.folder.rglob("shot")] == []
    assert not (runner.folder / "svc/x").exists()


def test_action_paths_are_one_per_line_and_record_writes(runner: Runner) -> None:
    paths = "\nbaselines/with space/one.yaml\n\nbaselines/with space/two.yaml\n"
    done = runner.compare(working_directory="svc", args="--allow-exec", paths=paths, record="true")
    assert "2 failed in" in done.stdout
    assert "failure_count: 1" in (runner.folder / "svc/baselines/with space/one.yaml").read_text()


def test_action_invalid_file_is_annotated_and_ends_step(runner: Runner) -> None:
    (runner.folder / "svc/baselines/bad.yaml").write_text("id: x\nbaselin: {}\n")
    done = runner.compare(working_directory="svc", args="--allow-exec")
    assert done.returncode == 2
    assert "::error file=svc/baselines/bad.yaml,line=" in done.stderr
    assert runner.output.read_text() == "exit-code=2\nstate=failed\nresults=\n"
    assert "nothing is uploaded: baselinekit ended with exit code 2" in done.stderr


RUNS = """\
id: one
baseline: {output: {exit_code: 0, stdout: "two\\n"}}
current: {input: {argv: [says, two]}, execution: {type: command}}
"""
GRANTS = "version: 1\ncommands: {says: [echo]}\n"


class PullRequest(Runner):
    """A checkout of a pull request: `main`, and one commit of another person on top."""

    def __init__(self, terminal: Console, before: dict[str, str], after: dict[str, str]):
        super().__init__(terminal)
        self.checkout = Checkout(self.folder)
        self.base = self.checkout.commit(before)
        self.head = self.checkout.commit(after)


@pytest.fixture
def terminal(tmp_path: Path) -> Any:
    with console(tmp_path / "checkout") as terminal:
        yield terminal


EMPTY = {"baselinekit.yaml": "version: 1\n"}
OURS = {"baselinekit.yaml": GRANTS, "baselines/one.yaml": RUNS}
DECLARES = {
    "baselinekit.yaml": "version: 1\nplaceholders: {order_no: 'A-[0-9]+'}\n",
    "baselines/one.yaml": (BASELINE % "one").replace("one\\n", "<<order_no>>"),
}
DENIES = {"baselinekit.yaml": "version: 1\ncommands: {says: [rm, -rf]}\n"}


@pytest.mark.parametrize(
    ("base", "head", "exit_code", "words"),
    [
        (EMPTY, DECLARES, 2, "BK212 ; the configuration as of {base} counts (--config-from)"),
        (EMPTY, OURS, 4, "'says' is not named in the configuration as of {base} (--config-from)"),
        (OURS, DENIES, 0, ""),
        ({"README": "x"}, OURS, 4, "note: baselinekit.yaml does not exist at {base}: the defaults apply"),
    ],
)
def test_action_pull_request_uses_configuration_of_base(
    terminal: Console, base: dict[str, str], head: dict[str, str], exit_code: int, words: str
) -> None:
    pull = PullRequest(terminal, base, head)
    done = pull.compare(args="--allow-exec" if head is DECLARES else "")
    assert done.returncode == exit_code, done.stderr
    assert all(word.strip() in done.stderr for word in words.format(base=pull.base).split(";"))
    if exit_code == 4:
        assert "results=\n" in pull.output.read_text()
        assert "nothing is uploaded: baselinekit ended with exit code 4" in done.stderr
        assert pull.compare(config_from="checkout").returncode == 0, "which trusts all authors"
        assert pull.compare(config_from=pull.head).returncode == 0
        pull.base = ""
        assert pull.compare().returncode == 0, "what is pushed is in the repository already"


def test_action_fetches_missing_base(terminal: Console, tmp_path: Path) -> None:
    pull = PullRequest(terminal, EMPTY, OURS)
    pull.checkout.git("config", "uploadpack.allowAnySHA1InWant", "true")
    shallow = tmp_path / "shallow"
    pull.checkout.git("clone", "-q", "--depth=1", f"file://{pull.folder}", str(shallow))
    pull.folder = shallow
    done = pull.compare()
    assert done.returncode == 4, done.stderr
    assert pull.checkout.git("-C", str(shallow), "rev-parse", "--is-shallow-repository") == "true\n"


def test_action_unknown_base_ends_step(terminal: Console, tmp_path: Path) -> None:
    pull = PullRequest(terminal, EMPTY, OURS)
    for base in ("0" * 40, "--upload-pack=touch shot", "$(touch shot)", "no-such-branch"):
        pull.base = base
        done = pull.compare()
        assert done.returncode == 2, done.stderr
        assert "fetch-depth: 0" in done.stderr
        assert "exit-code=2" in pull.output.read_text()
    assert not list(tmp_path.rglob("shot"))


# Approving by a comment: real repositories, and a `gh` that answers as GitHub does.

GH = """\
#!/bin/sh
echo "$@" >> "{log}"
case "$*" in
    *permission*) echo {may} ;;
    *pulls/7*) printf '%s\\tfeature\\t%s\\t{origin}\\n' {head} {base} ;;
    *artifacts*) echo {run} ;;
    "run download"*) cp "{results}" "$(echo "$@" | sed 's/.*--dir //')/results.json" ;;
esac
"""
CHANGED = """\
id: one
baseline: {output: {exit_code: 1, stdout: "old\\n", stderr: ""}, captured_at: "2024-01-15T10:30:00Z"}
current: {input: {argv: [says, new]}, execution: {type: command}}
"""


class Approving(Runner):
    """A pull request whose compare has failed, and what the action does about a comment."""

    def __init__(self, terminal: Console, **facts: str):
        super().__init__(terminal)
        self.checkout = Checkout(self.folder)
        base = self.checkout.commit(
            {"baselinekit.yaml": GRANTS, ".gitignore": ".baselinekit/\nresults.json\n"}
        )
        self.checkout.git("checkout", "-qb", "feature")
        head = self.checkout.commit({"baselines/one.yaml": CHANGED, "baselinekit.yaml": "version: 1\n"})
        results = f"results.json --config-from {base}"
        assert terminal.run(f"baselinekit compare -q -o {results}").exit_code == 1
        terminal.run(f"baselinekit review --json --from {results} > pending.json")
        pending = json.loads((self.folder / "pending.json").read_text())["pending"]
        self.seen = {one["path"]: one["seen"] for one in pending}
        self.server = self.temp / "server"
        self.checkout.git("clone", "-q", "--bare", str(self.folder), str(self.server / "owner/name"))
        self.log = self.temp / "gh.log"
        given = {"may": "write", "origin": "owner/name", "run": "99", "head": head, "base": base, **facts}
        script = GH.format(log=self.log, results=self.folder / "results.json", **given)
        (self.terminal.bin / "gh").write_text(script)
        (self.terminal.bin / "gh").chmod(0o755)

    def approve(self, comment: str, actor: str = "ada") -> "subprocess.CompletedProcess[str]":
        action = yaml.safe_load((ROOT / "approve/action.yml").read_text("utf-8"))
        step = next(step for step in action["runs"]["steps"] if step.get("name") == "Approve")
        given = {
            "BK_ACTOR": actor,
            "BK_NUMBER": "7",
            "BK_COMMENT": comment.replace("SEEN", self.seen["stdout"]),
            "BK_SERVER": f"file://{self.server}",
        }
        given |= {
            "GH_TOKEN": "t",
            "GH_REPO": "owner/name",
            "BK_ARTIFACT": "baselinekit",
            "BK_FOLDER": ".",
            "BK_ARGS": "",
        }
        assert set(step["env"]) == set(given)
        path = [str(self.terminal.bin), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        plain = {"PATH": os.pathsep.join(path), "HOME": str(self.temp), "LANG": "C.UTF-8", "CI": "true"}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.temp,
            env={**plain, "RUNNER_TEMP": str(self.temp), "GITHUB_OUTPUT": str(self.output), **given},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def pushed(self, *words: str) -> str:
        return self.checkout.git("-C", str(self.server / "owner/name"), *words)


COMMENT = """/baselinekit decide

```json
{"decisions": [{"id": "one", "seen": "SEEN", "decision": "accept"}], "reason": "a new word"}
```
"""


@pytest.mark.parametrize(
    ("more", "state", "text"),
    [
        ("", "pending", "approved by ada in 1 file, 1 left"),
        (
            ', {"id": "one", "seen": "CODE", "decision": "accept", "confirm": true}',
            "success",
            "approved by ada in 1 file",
        ),
    ],
)
def test_approve_commits_the_decisions_of_a_comment_and_shows_who_approved(
    terminal: Console, more: str, state: str, text: str
) -> None:
    pull = Approving(terminal)
    comment = COMMENT.replace("}],", f"}}{more}],").replace("CODE", pull.seen["exit_code"])
    done = pull.approve(comment.replace("\n", "\r\n"))
    assert done.returncode == 0, done.stderr
    file = pull.pushed("show", "feature:baselines/one.yaml")
    assert 'stdout: "new\\n"' in file
    assert "approved_by: ada" in file
    assert "reason: a new word" in file
    assert "Baselinekit-Approved-By: ada" in pull.pushed("log", "-1", "--format=%B", "feature")
    commit = pull.pushed("rev-parse", "feature").strip()
    status = f"statuses/{commit} -f state={state} -f context=baselinekit/approval -f description={text}\n"
    assert status in pull.log.read_text()
    assert pull.output.read_text() == f"commit={commit}\n"


@pytest.mark.parametrize(
    ("facts", "comment", "actor", "why"),
    [
        ({"may": "read"}, COMMENT, "ada", "ada may not write to owner/name"),
        ({"may": "none"}, COMMENT, "ada", "ada may not write to owner/name"),
        ({"origin": "fork/name"}, COMMENT, "ada", "the branch is in fork/name"),
        ({"run": "''"}, COMMENT, "ada", "no artifact baselinekit of commit"),
        ({}, "/baselinekit decide", "ada", "the comment has no block of JSON"),
        ({}, COMMENT, "ada$(touch shot)", "has no valid name"),
        ({}, COMMENT.replace('"one"', '"two"'), "ada", "BK531"),
        ({}, COMMENT.replace("SEEN", "0"), "ada", "BK531"),
        ({}, COMMENT.replace('"seen": "SEEN", ', ""), "ada", "a decision has no `seen`"),
        ({}, COMMENT.replace('"reason"', '"reason'), "ada", "is not what review.html exports"),
        ({}, COMMENT.replace("accept", "$(touch shot)"), "ada", "BK105"),
    ],
)
def test_approve_without_right_or_reason_changes_nothing(
    terminal: Console, facts: dict[str, str], comment: str, actor: str, why: str
) -> None:
    pull = Approving(terminal, **facts)
    before = pull.pushed("rev-parse", "feature")
    done = pull.approve(comment, actor)
    assert done.returncode != 0
    assert why in done.stderr
    assert pull.pushed("rev-parse", "feature") == before
    assert not [*pull.temp.rglob("shot")]
    assert "statuses" not in (pull.log.read_text() if pull.log.exists() else "")


def test_approve_leaves_other_comments_alone(terminal: Console) -> None:
    pull = Approving(terminal)
    assert pull.approve("looks good to me").stdout == "not a decision\n"
    assert not pull.log.exists()


def test_action_state_tells_green_from_changed_and_approved(terminal: Console) -> None:
    """What a file says about its approval counts for nothing: anybody can write it."""
    claims = RUNS.replace("baseline: {", "baseline: {approved_by: ada, ").replace("two", "three")
    pull = PullRequest(terminal, OURS, OURS | {"baselines/one.yaml": claims})
    log = pull.temp / "gh.log"
    answers, logs = '*/commits/*/status*) echo "$APPROVED" ;;', f'*) echo "$@" >> "{log}" ;;'
    states = []
    by_ada = "approved by ada in 1 file"
    for approved, base in (("", pull.base), (by_ada, pull.base), ("", pull.head), (by_ada, "")):
        (terminal.bin / "gh").write_text(
            f'#!/bin/sh\nAPPROVED="{approved}"\ncase "$*" in {answers} {logs} esac\n'
        )
        (terminal.bin / "gh").chmod(0o755)
        pull.base = base
        assert pull.compare(status="true").returncode == 0
        states.append(pull.output.read_text().splitlines()[-2])
    assert states == ["state=changed", "state=approved", "state=green", "state=passed"]
    assert re.findall(r"description=(.*)", log.read_text()) == ["changed", by_ada, "green", "passed"]
