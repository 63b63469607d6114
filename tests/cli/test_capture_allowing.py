"""capture --allow: what CI would refuse is named in the configuration, so that an ordinary project meets no
obstacle."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from console import Console, console
from test_review import in_terminal

from baselinekit.commands.capture import unnamed_origins
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.model.recipes import HttpRequest, Recipe

pytestmark = pytest.mark.slow

LEADS = {"orders.internal": ["10.1.2.3"], "meta.test": ["169.254.169.254"], "api.test": ["8.8.8.8"]}


def look(host: str, port: int) -> Sequence[str]:
    if host not in LEADS:
        raise OSError("not known")
    return LEADS[host]


def project(folder: Path, text: str, base_url: str | None = None) -> Project:
    (folder / "baselinekit.yaml").write_text(text)
    return open_project(Operator(str(folder), base_url=base_url))


def asking(base: str | None, *urls: str) -> Recipe:
    if urls:
        return Recipe(HttpFlow([HttpRequest(url=url) for url in urls]), HttpExecution("http", base_url=base))
    return Recipe(HttpRequest(endpoint="/x"), HttpExecution("http", base_url=base))


@pytest.mark.parametrize(
    ("config", "recipe", "told"),
    [
        ("version: 1", asking("http://orders.internal"), ["http://orders.internal"]),
        ("version: 1", asking("http://10.0.0.5:8080"), ["http://10.0.0.5:8080"]),
        ("version: 1", asking("http://meta.test:81/v1"), ["http://meta.test:81"]),
        ("version: 1", asking("http://api.test"), []),
        ("version: 1", asking("http://127.0.0.1:8080"), []),
        ("version: 1", asking("http://unknown.test"), []),
        ("version: 1", asking(None), []),
        ("version: 1", asking("{{absent}}"), []),
        ("version: 1", asking(None, "http://api.test/a", "https://10.0.0.5/b"), ["https://10.0.0.5"]),
        ("base_url: http://orders.internal", asking("http://orders.internal"), []),
        ("variables: {u: 'http://orders.internal'}", asking("{{u}}"), []),
        ("variables: {u: 'http://orders.internal'}", asking("http://orders.internal"), []),
        ("environments: {e: {base_url: 'http://orders.internal'}}", asking("http://orders.internal"), []),
        (
            "environments: {e: {variables: {u: 'http://orders.internal'}}}",
            asking("http://orders.internal"),
            [],
        ),
        ("allow_hosts: ['*.internal']", asking("http://orders.internal"), []),
        ("allow_hosts: [api.test]", asking("http://127.0.0.1:8080"), ["http://127.0.0.1:8080"]),
    ],
)
def test_what_ci_would_not_ask(tmp_path: Path, config: str, recipe: Recipe, told: list[str]) -> None:
    assert unnamed_origins(project(tmp_path, config), [recipe], look) == told


def test_an_address_that_is_given_by_hand_is_given_again(tmp_path: Path) -> None:
    here = project(tmp_path, "version: 1", base_url="http://orders.internal")
    assert unnamed_origins(here, [asking("http://orders.internal")], look) == []


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project", "demo") as terminal:
        yield terminal


def test_a_capture_names_what_it_asks(here: Console) -> None:
    config = here.folder / "baselinekit.yaml"
    config.write_text("# ours\nallow_hosts:\n  - api.example  # the one\n")
    url = here.service.url
    refused = here.run(f"baselinekit capture http GET {url}/api/v1/users/1 --id user")
    assert (refused.exit_code, refused.stderr[:5]) == (4, "BK401")
    done = here.run(f"baselinekit capture http GET {url}/api/v1/users/1 --id user --allow")
    host = url.removeprefix("http://")
    assert done.exit_code == 0, done
    assert "wrote allow_hosts: 127.0.0.1:{port} in baselinekit.yaml" in done.stdout
    assert config.read_text() == f"# ours\nallow_hosts:\n  - api.example  # the one\n  - {host}\n"
    again = here.run("CI=true baselinekit compare --id user")
    assert again.exit_code in (0, 1), again


class Proxy(BaseHTTPRequestHandler):
    """Answers itself, whatever host it is asked for: so an address of a private network is asked, and nothing
    leaves this machine."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def proxy() -> Iterator[dict[str, str]]:
    with HTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"http_proxy": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


@pytest.mark.parametrize(("typed", "written"), [("\r", True), ("n\r", False)])
def test_at_a_terminal_one_key_names_it(tmp_path: Path, typed: str, written: bool) -> None:
    url = "http://10.0.0.5:8080"
    words = ("http", "GET", f"{url}/x", "--id", "lan")
    with proxy() as env, in_terminal(tmp_path, *words, command="capture", columns=200, env=env) as screen:
        screen.until(f"in CI {url} must be named in baselinekit.yaml: add it now? [Y/n]")
        screen.type(typed, f"wrote base_url: {url} in baselinekit.yaml" if written else "capture --allow")
        assert screen.end() == 0
    config = tmp_path / "baselinekit.yaml"
    assert (config.read_text() if config.exists() else "") == (
        f"version: 1\nbase_url: {url}\n" if written else ""
    )
    assert (tmp_path / "baselines/10.0.0.5/lan.yaml").exists()


def test_who_leaves_the_question_keeps_the_baseline_and_an_old_configuration(
    tmp_path: Path,
) -> None:
    words = ("http", "GET", "http://10.0.0.5:8080/x", "--id", "lan")
    with proxy() as env, in_terminal(tmp_path, *words, command="capture", columns=200, env=env) as screen:
        screen.until("add it now? [Y/n]")
        screen.leave("\x03")
        assert screen.end() == 130
        assert "Traceback" not in screen.seen
    assert not (tmp_path / "baselinekit.yaml").exists()
    assert (tmp_path / "baselines/10.0.0.5/lan.yaml").exists()
