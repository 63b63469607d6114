"""notify: who is told, what they are told, and that nothing hangs on it."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from evalcases import CONFIG, World, case, suite
from evalreports import report, result

from baselinekit.clients.http import Client
from baselinekit.clients.programs.process import Processes
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import cannot_replay
from baselinekit.evals import gating, notifying
from baselinekit.kinds.settings import Clients
from baselinekit.model.evals import Gate, Reporting
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.structs import replace

RUN = report(result("a", "+"), result("b", "-"))


class Hook:
    """Somebody who listens on a real socket."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, str], Any]] = []
        self.status = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                hook.heard.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(hook.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *words: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def clients() -> Iterator[Clients]:
    client = Client({})
    yield Clients(client.send, Processes().execute, lambda seconds: None)
    client.close()


def project(folder: Path, config: str, **more: Any) -> Project:
    (folder / "baselinekit.yaml").write_text(config)
    return open_project(Operator(str(folder), **more))


def test_a_webhook_is_told_what_failed(tmp_path: Path, hook: Hook, clients: Clients) -> None:
    here = project(tmp_path, f"notify: {{webhook: '{hook.url}/x', headers: {{X-Team: qa}}}}\n")
    told = notifying.notice(RUN, 1, [gating.judge(Gate("g", {"pass rate": 0.9}), RUN)], "http://ci/1")
    assert notifying.notify(here, told, clients) == ""
    ((path, headers, body),) = hook.heard
    assert (path, headers["X-Team"], headers["Content-Type"]) == ("/x", "qa", "application/json")
    assert body["text"] == "baselinekit s: 1 failed, 1 passed; g is not met http://ci/1"
    assert body["summary"]["failed"] == 1
    assert body["failures"] == [{"id": "b", "outcome": "failed", "reason": "it is not the expected output"}]
    assert (body["exit_code"], body["link"]) == (1, "http://ci/1")


def test_an_address_that_is_a_secret_is_shown_to_nobody(tmp_path: Path, hook: Hook, clients: Clients) -> None:
    config = "variables: {chat: {from_env: CHAT, secret: true}}\nnotify: {webhook: '{{chat}}'}\n"
    here = project(tmp_path, config, environ={"CHAT": f"{hook.url}/token-abcdefgh123"})
    assert notifying.notify(here, {"text": f"see {hook.url}/token-abcdefgh123"}, clients) == ""
    assert hook.heard[0][0] == "/token-abcdefgh123"
    assert "token-abcdefgh123" not in json.dumps(hook.heard[0][2])
    hook.status = 404
    warning = notifying.notify(here, {"text": ""}, clients)
    assert "BK735 127.0.0.1:" in warning
    assert "answered 404" in warning
    assert "token" not in warning


def test_who_is_not_there_is_a_warning(tmp_path: Path, clients: Clients) -> None:
    here = project(tmp_path, "notify: {webhook: 'http://127.0.0.1:9/x'}\n")
    warning = notifying.notify(here, {"text": ""}, clients)
    assert warning.startswith("no notification was sent: BK735 127.0.0.1:9: ")


def test_hosts_that_are_not_allowed_are_not_told_either(tmp_path: Path, hook: Hook, clients: Clients) -> None:
    here = project(tmp_path, f"allow_hosts: [api.example.com]\nnotify: {{webhook: '{hook.url}'}}\n")
    assert "BK401" in notifying.notify(here, {"text": ""}, clients)
    assert hook.heard == []


def test_a_variable_that_is_not_set_is_a_warning(tmp_path: Path, clients: Clients) -> None:
    here = project(tmp_path, "notify: {webhook: '{{chat}}'}\n")
    assert "BK501" in notifying.notify(here, {"text": ""}, clients)


def test_a_program_gets_it_on_its_standard_input(tmp_path: Path, clients: Clients) -> None:
    (tmp_path / "tell.py").write_text("import sys\nopen('told.json', 'w').write(sys.stdin.read())\n")
    here = project(tmp_path, f"notify: {{command: [{json.dumps(sys.executable)}, tell.py]}}\n")
    assert notifying.notify(here, notifying.notice(RUN, 1), clients) == ""
    assert json.loads((tmp_path / "told.json").read_text())["format"] == "baselinekit.notice/1"


def test_a_program_that_fails_is_a_warning(tmp_path: Path, clients: Clients) -> None:
    words = "import sys; print('no network', file=sys.stderr); sys.exit(3)"
    here = project(tmp_path, f'notify: {{command: [{json.dumps(sys.executable)}, -c, "{words}"]}}\n')
    warning = notifying.notify(here, {"text": ""}, clients)
    assert "ended with exit code 3" in warning
    assert "no network" in warning
    gone = project(tmp_path, "notify: {command: [no-such-program-at-all]}\n")
    assert "is not found" in notifying.notify(gone, {"text": ""}, clients)


def test_a_program_that_takes_too_long_is_told_what_it_can_do(tmp_path: Path, clients: Clients) -> None:
    """There is no `timeout` to be raised."""

    def execute(run: ProcessSpec) -> ProcessResult:
        raise cannot_replay("BK321", "it did not end within 10 s", "raise `timeout` if it may take longer")

    here = project(tmp_path, f"notify: {{command: [{json.dumps(sys.executable)}]}}\n")
    warning = notifying.notify(here, {"text": ""}, replace(clients, execute=execute))
    assert warning.endswith(
        "BK735 it did not end within 10 s: let it end sooner, or continue in the background"
    )


@pytest.mark.parametrize(
    ("config", "exit_code", "wanted"),
    [
        ("notify: {command: [x]}", 1, True),
        ("notify: {command: [x]}", 3, True),
        ("notify: {command: [x]}", 0, False),
        ("notify: {command: [x], always: true}", 0, True),
        ("notify: {command: [x], always: true}", 130, False),
        ("version: 1", 1, False),
    ],
)
def test_who_is_told_when(tmp_path: Path, config: str, exit_code: int, wanted: bool) -> None:
    assert notifying.is_wanted(project(tmp_path, config), exit_code) is wanted


@pytest.mark.parametrize(
    ("config", "by_suite", "exit_code", "wanted"),
    [
        ("notify: {command: [x]}", None, 1, True),
        ("notify: {command: [x]}", True, 1, True),
        ("notify: {command: [x]}", True, 0, False),
        ("notify: {command: [x]}", False, 1, False),
        ("notify: {command: [x], always: true}", False, 1, True),
        ("version: 1", True, 1, False),
    ],
)
def test_h60_a_suite_may_keep_its_failures_from_who_does_not_want_to_know_all(
    tmp_path: Path, config: str, by_suite: bool | None, exit_code: int, wanted: bool
) -> None:
    assert notifying.is_wanted(project(tmp_path, config), exit_code, by_suite) is wanted


@pytest.mark.parametrize(
    ("config", "by_suite", "told"),
    [
        ("version: 1", True, 1),
        ("version: 1", None, 0),
        ("version: 1", False, 0),
        ("notify: {command: [x]}", True, 0),
    ],
)
def test_h60_a_suite_that_asks_to_notify_where_there_is_nobody_says_so_once(
    tmp_path: Path, config: str, by_suite: bool | None, told: int
) -> None:
    (tmp_path / "baselinekit.yaml").write_text(f"{CONFIG}{config}\n")
    cases = replace(suite(case("a", "no"), case("b")), reporting=Reporting(notify_on_failure=by_suite))
    warnings = World(tmp_path).run(cases).warnings
    assert sum("s asks to notify on failure" in warning for warning in warnings) == told


def test_many_failures_are_cut() -> None:
    told = notifying.notice(report(*(result(f"c{n}", "-") for n in range(60))), 1)
    assert (len(told["failures"]), told["more_failures"]) == (50, 10)


@pytest.mark.parametrize(
    ("environ", "link"),
    [
        ({"GITHUB_RUN_ID": "7", "GITHUB_REPOSITORY": "o/r"}, "https://github.com/o/r/actions/runs/7"),
        ({"CI_JOB_URL": "https://gitlab/x"}, "https://gitlab/x"),
        ({}, None),
    ],
)
def test_the_link_leads_to_the_job(environ: dict[str, str], link: str | None) -> None:
    assert notifying.link_of(environ) == link
