"""What `capture` asks at a terminal: whether to name an address for CI, and what looks like an id."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from console import console
from steady import Steady
from storehelp import write
from test_review import in_terminal

from baselinekit.commands.capture import unnamed_origins
from baselinekit.commands.project import Operator, open_project
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.model.recipes import HttpRequest, Recipe

ADDRESSES = {"orders.internal": ["10.1.2.3"], "meta.test": ["169.254.169.254"], "api.test": ["8.8.8.8"]}
INTERNAL = "http://orders.internal"


def look_up(host: str, port: int) -> Sequence[str]:
    if host not in ADDRESSES:
        raise OSError("not known")
    return ADDRESSES[host]


@pytest.mark.parametrize(
    ("config", "url", "unnamed"),
    [
        ("version: 1", INTERNAL, [INTERNAL]),
        ("version: 1", "http://meta.test:81/v1", ["http://meta.test:81"]),
        ("version: 1", "http://api.test", []),
        ("version: 1", "http://127.0.0.1:8080", []),
        ("version: 1", "http://unknown.test", []),
        ("version: 1", None, []),
        ("version: 1", "{{absent}}", []),
        (f"base_url: {INTERNAL}", INTERNAL, []),
        (f"variables: {{u: '{INTERNAL}'}}", "{{u}}", []),
        (f"environments: {{e: {{base_url: '{INTERNAL}'}}}}", INTERNAL, []),
        (f"environments: {{e: {{variables: {{u: '{INTERNAL}'}}}}}}", INTERNAL, []),
        ("allow_hosts: ['*.internal']", INTERNAL, []),
        ("allow_hosts: [api.test]", "http://127.0.0.1:8080", ["http://127.0.0.1:8080"]),
    ],
)
def test_unnamed_origins_lists_addresses_that_ci_refuses(
    tmp_path: Path, config: str, url: str | None, unnamed: list[str]
) -> None:
    write(tmp_path, "baselinekit.yaml", config)
    recipe = Recipe(HttpRequest(endpoint="/x"), HttpExecution("http", base_url=url))
    assert unnamed_origins(open_project(Operator(str(tmp_path))), [recipe], look_up) == unnamed


def test_unnamed_origins_of_a_flow_and_of_an_address_given_by_hand(tmp_path: Path) -> None:
    steps = [HttpRequest(url=url) for url in ("http://api.test/a", "https://10.0.0.5/b")]
    flow = Recipe(HttpFlow(steps), HttpExecution("http"))
    assert unnamed_origins(open_project(Operator(str(tmp_path))), [flow], look_up) == ["https://10.0.0.5"]
    project = open_project(Operator(str(tmp_path), base_url=INTERNAL))
    recipe = Recipe(HttpRequest(endpoint="/x"), HttpExecution("http", base_url=INTERNAL))
    assert unnamed_origins(project, [recipe], look_up) == []


@pytest.mark.slow
def test_capture_allow_names_the_address_in_the_configuration(tmp_path: Path) -> None:
    with console(tmp_path / "project", "demo") as terminal:
        config = terminal.folder / "baselinekit.yaml"
        config.write_text("# ours\nallow_hosts:\n  - api.example  # the one\n")
        capture = f"baselinekit capture http GET {terminal.service.url}/api/v1/users/1 --id user"
        refused = terminal.run(capture)
        assert (refused.exit_code, refused.stderr[:5]) == (4, "BK401")
        done = terminal.run(f"{capture} --allow")
        assert done.exit_code == 0, done
        assert "wrote allow_hosts: 127.0.0.1:{port} in baselinekit.yaml" in done.stdout
        host = terminal.service.url.removeprefix("http://")
        assert config.read_text() == f"# ours\nallow_hosts:\n  - api.example  # the one\n  - {host}\n"
        assert terminal.run("CI=true baselinekit compare --id user").exit_code in (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["\r", "\x03"], ids=["enter", "ctrl-c"])
def test_capture_of_a_private_address_offers_to_name_it(tmp_path: Path, key: str) -> None:
    """The service is a proxy that answers itself, so that nothing leaves this machine."""
    url = "http://10.0.0.5:8080"
    words = ("http", "GET", f"{url}/x", "--id", "lan")
    with Steady({}) as proxy:
        env = {"http_proxy": proxy.url}
        with in_terminal(tmp_path, *words, command="capture", columns=200, env=env) as tty:
            tty.until(f"in CI {url} must be named in baselinekit.yaml: add it now? [Y/n]")
            if key == "\r":
                tty.type(key, f"wrote base_url: {url} in baselinekit.yaml")
            else:
                tty.leave(key)
            assert tty.end() == (0 if key == "\r" else 130)
    assert "Traceback" not in tty.output
    config = tmp_path / "baselinekit.yaml"
    written = config.read_text() if config.exists() else ""
    assert written == (f"version: 1\nbase_url: {url}\n" if key == "\r" else "")
    assert (tmp_path / "baselines/10.0.0.5/lan.yaml").exists()


ID, TENANT = "3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456", "9a1c77de-04b2-4f6a-8e3b-5d0f6a7b8c9d"


@pytest.mark.slow
@pytest.mark.parametrize("key", ["y\r", "\r", "\x03"], ids=["yes", "enter", "ctrl-c"])
def test_capture_asks_once_about_all_values_that_look_like_ids(tmp_path: Path, key: str) -> None:
    write(tmp_path, "baselinekit.yaml", "version: 1\n")
    with Steady({"id": ID, "tenant": TENANT, "n": 1}) as service:
        words = ("http", f"{service.url}/order", "--id", "order")
        with in_terminal(tmp_path, *words, command="capture", columns=200) as tty:
            tty.until("2 look like ids and did not vary: store placeholders? [y/N]: ")
            assert f"  body.id  {ID}" in tty.output
            assert f"  body.tenant  {TENANT}" in tty.output
            if key == "\x03":
                tty.leave(key)
            else:
                tty.type(key, "next: ")
            assert tty.end() == (130 if key == "\x03" else 0)
    assert tty.output.count("store placeholders?") == 1
    files = [file.read_text().split("captured_at")[0] for file in tmp_path.glob("baselines/**/*.yaml")]
    found = [(ID in text, TENANT in text, text.count("<<any_uuid(4)>>")) for text in files]
    assert found == {"y\r": [(False, False, 2)], "\r": [(True, True, 0)], "\x03": []}[key]
