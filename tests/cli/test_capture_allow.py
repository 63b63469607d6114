"""The addresses that CI refuses until the configuration names them; `capture --allow` adds them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from console import console
from storehelp import write

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
