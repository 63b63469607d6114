"""notify: who is notified of a run and how; the run does not depend on it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evalcases import CONFIG, World, case, suite
from evalreports import report, result
from server import HostileServer, kept, whole

from baselinekit.clients.http import Client
from baselinekit.clients.programs.process import Processes
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.evals import gating
from baselinekit.evals.notifying import is_wanted, notice, notify
from baselinekit.kinds.settings import Clients
from baselinekit.model.evals import Gate, Reporting
from baselinekit.structs import replace

RUN = report(result("a", "+"), result("b", "-"))
GITHUB = {"GITHUB_RUN_ID": "7", "GITHUB_REPOSITORY": "o/r"}
JOB = "https://github.com/o/r/actions/runs/7"


@pytest.fixture
def hook() -> Iterator[HostileServer]:
    """A webhook on a real socket."""
    with HostileServer(otherwise=kept(whole(b""))) as server:
        yield server


@pytest.fixture
def clients() -> Iterator[Clients]:
    client = Client({})
    yield Clients(client.send, Processes().execute, lambda seconds: None)
    client.close()


def project(folder: Path, config: str, **operator: Any) -> Project:
    (folder / "baselinekit.yaml").write_text(config)
    return open_project(Operator(str(folder), **operator))


def test_notify_with_webhook_sends_failures(tmp_path: Path, hook: HostileServer, clients: Clients) -> None:
    config = f"notify: {{webhook: '{hook.url}/x', headers: {{X-Team: qa}}}}\n"
    sent = notice(RUN, 1, [gating.judge(Gate("g", {"pass rate": 0.9}), RUN)], GITHUB)
    assert notify(project(tmp_path, config), sent, clients) == ""
    (request,) = hook.seen
    headers, body = request.headers, json.loads(request.body)
    assert (request.target, headers["x-team"], headers["content-type"]) == ("/x", "qa", "application/json")
    assert body["text"] == f"baselinekit s: 1 failed, 1 passed; g is not met {JOB}"
    assert body["failures"] == [{"id": "b", "outcome": "failed", "reason": "it is not the expected output"}]
    assert (body["summary"]["failed"], body["exit_code"], body["link"]) == (1, 1, JOB)
    allowed = f"allow_hosts: [api.example.com]\n{config}"
    assert "BK401" in notify(project(tmp_path, allowed), sent, clients)
    assert len(hook.seen) == 1


def test_notify_with_secret_address_shows_the_host_only(
    tmp_path: Path, hook: HostileServer, clients: Clients
) -> None:
    config = "variables: {chat: {from_env: CHAT, secret: true}}\nnotify: {webhook: '{{chat}}'}\n"
    opened = project(tmp_path, config, environ={"CHAT": f"{hook.url}/token-abcdefgh123"})
    assert notify(opened, {"text": f"see {hook.url}/token-abcdefgh123"}, clients) == ""
    assert hook.seen[0].target == "/token-abcdefgh123"
    assert "token-abcdefgh123" not in hook.seen[0].body.decode()
    hook.otherwise = kept(whole(b"", status="404 Not Found"))
    warning = notify(opened, {"text": ""}, clients)
    assert "BK735 127.0.0.1:" in warning
    assert "answered 404" in warning
    assert "token" not in warning


PYTHON = json.dumps(sys.executable)
FAILS = "import sys; print('no network', file=sys.stderr); sys.exit(3)"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("{webhook: 'http://127.0.0.1:9/x'}", ["no notification was sent: BK735 127.0.0.1:9: "]),
        ("{webhook: '{{chat}}'}", ["BK501"]),
        (f'{{command: [{PYTHON}, -c, "{FAILS}"]}}', ["ended with exit code 3", "no network"]),
        ("{command: [no-such-program-at-all]}", ["is not found"]),
    ],
)
def test_notify_that_fails_is_a_warning(
    tmp_path: Path, clients: Clients, config: str, words: list[str]
) -> None:
    warning = notify(project(tmp_path, f"notify: {config}\n"), {"text": ""}, clients)
    assert all(word in warning for word in words), warning


def test_notify_with_program_writes_to_its_standard_input(tmp_path: Path, clients: Clients) -> None:
    (tmp_path / "save.py").write_text("import sys\nopen('saved.json', 'w').write(sys.stdin.read())\n")
    opened = project(tmp_path, f"notify: {{command: [{PYTHON}, save.py]}}\n")
    many = report(*(result(f"c{n}", "-") for n in range(60)))
    assert notify(opened, notice(many, 1, (), {"CI_JOB_URL": "https://gitlab/x"}), clients) == ""
    saved = json.loads((tmp_path / "saved.json").read_text())
    assert (saved["format"], saved["link"]) == ("baselinekit.notice/1", "https://gitlab/x")
    assert (len(saved["failures"]), saved["more_failures"]) == (50, 10)


@pytest.mark.parametrize(
    ("config", "by_suite", "exit_code", "wanted"),
    [
        ("notify: {command: [x]}", True, 3, True),
        ("notify: {command: [x]}", True, 0, False),
        ("notify: {command: [x]}", False, 1, False),
        ("notify: {command: [x], always: true}", False, 1, True),
        ("notify: {command: [x], always: true}", None, 130, False),
    ],
)
def test_h60_is_wanted_by_suite_configuration_and_exit_code(
    tmp_path: Path, config: str, by_suite: bool | None, exit_code: int, wanted: bool
) -> None:
    assert is_wanted(project(tmp_path, config), exit_code, by_suite) is wanted


@pytest.mark.parametrize(
    ("config", "by_suite", "warned"),
    [("version: 1", True, 1), ("version: 1", None, 0), ("notify: {command: [x]}", True, 0)],
)
def test_h60_run_that_cannot_notify_warns_once(
    tmp_path: Path, config: str, by_suite: bool | None, warned: int
) -> None:
    (tmp_path / "baselinekit.yaml").write_text(f"{CONFIG}{config}\n")
    cases = replace(suite(case("a", "no"), case("b")), reporting=Reporting(notify_on_failure=by_suite))
    warnings = World(tmp_path).run(cases).warnings
    assert sum("s asks to notify on failure" in warning for warning in warnings) == warned
