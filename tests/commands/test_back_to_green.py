"""Whatever is captured can be brought back to green: five small services, each of a kind that stayed red for
ever, and no more than two of the commands that are proposed."""

import base64
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from console import console

PASSWORD = "admin42x"  # the user is called so as well

Answer = Callable[[int, random.Random, bool], tuple[int, str, str]]
"""The status, the media type and the body, by the number of the request and whether the version is the new
one."""


def as_json(body: Any, status: int = 200) -> tuple[int, str, str]:
    return status, "application/json", json.dumps(body)


def form(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
    """A HTML page with a CSRF token."""
    token = base64.b64encode(chance.randbytes(32)).decode()
    title = "Log in" if new else "Sign in"
    page = f'<html>\n<h1>{title}</h1>\n<input type="hidden" name="csrf_token" value="{token}">\n</html>\n'
    return 200, "text/html", page


def created(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
    """What a POST has created, numbered one after the other."""
    return as_json({"id": 100 + number, "title": "note" if new else "memo"}, 201)


def grows(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
    """A list that only grows."""
    rows = range(1, 4 + (number if new else 0))
    return as_json({"items": [{"sku": f"S{row}", "price": row * 10} for row in rows]})


def text(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
    """A token in a text."""
    token = base64.urlsafe_b64encode(chance.randbytes(24)).decode()
    return as_json({"message": f"{'Welcome' if new else 'Hello'} Ada, your token is {token} for today"})


def user(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
    """A user name that equals the password, in a new row and in a text."""
    roles = ["admin", "editor"] if new else ["admin"]
    rows = [{"user": PASSWORD, "role": role} for role in roles]
    return as_json({"rows": rows, "title": f"{len(roles)} roles of {PASSWORD}"})


def flags(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
    """A key that comes and goes."""
    return as_json({"name": "Ada", **({"debug": "on"} if new and number % 2 else {})})


class Running(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.asked, self.is_new, self.chance = answer, 0, False, random.Random(1)
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Running

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked += 1
        status, kind, body = self.server.answer(self.server.asked, self.server.chance, self.server.is_new)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running(answer: Answer) -> Iterator[Running]:
    server = Running(answer)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


SERVICES: list[tuple[Answer, str, bool]] = [
    (form, "", True),
    (created, "POST", False),
    (created, "POST", True),
    (text, "", True),
    (user, "", True),
    (flags, "", True),
]
"""A service, the words of its capture, and whether its version changes."""


def proposed(printed: str) -> str:
    """The first command that writes, with a yes to what it asks: in a review, to all of it."""
    commands = re.findall(r"^next: baselinekit (?:refresh|review) (.*)$", printed, re.MULTILINE)
    return f"baselinekit refresh {commands[0].replace(' --dry-run', '')} --yes"


def bring_back(run: Callable[[str], Any]) -> list[str]:
    """Compare, and do what is proposed first, twice at most. Return the commands."""
    used: list[str] = []
    while len(used) < 2 and (ran := run("baselinekit compare")).exit_code:
        used.append(proposed(ran.stdout + ran.stderr))
        run(used[-1])
    return used


@pytest.mark.parametrize(("answer", "method", "changes"), SERVICES)
def test_compare_that_fails_is_green_after_two_proposed_commands(
    tmp_path: Path, answer: Answer, method: str, changes: bool
) -> None:
    with console(tmp_path / "project") as here, running(answer) as server:
        (here.folder / "baselinekit.yaml").write_text("version: 1\n")

        def run(command: str) -> Any:
            return here.run(f"PW={PASSWORD} {command}")

        options = f"--id x -u {PASSWORD}:{PASSWORD} --secret PW" if answer is user else "--id x"
        ran = run(f"baselinekit capture http {method} {server.url}/x {options}")
        assert ran.exit_code == 0, ran.stdout + ran.stderr
        server.is_new = changes
        used = bring_back(run)
        stored = (here.folder / "baselines/127.0.0.1/x.yaml").read_text()
        assert [run("baselinekit compare").exit_code for _ in range(3)] == [0, 0, 0], (used, stored)
        assert PASSWORD not in stored


def test_list_that_only_grows_is_green_after_two_proposed_commands_and_a_changed_price_is_seen(
    tmp_path: Path,
) -> None:
    with console(tmp_path / "project") as here, running(grows) as server:
        (here.folder / "baselinekit.yaml").write_text("version: 1\n")
        assert here.run(f"baselinekit capture http {server.url}/x --id x").exit_code == 0
        server.is_new = True
        assert bring_back(here.run) == ["baselinekit refresh x --yes", "baselinekit refresh x --learn --yes"]
        assert [here.run("baselinekit compare").exit_code for _ in range(3)] == [0, 0, 0]
        server.answer = lambda number, chance, new: as_json(
            {"items": [{"sku": f"S{row}", "price": 99 if row == 2 else row * 10} for row in range(1, 9)]}
        )
        assert here.run("baselinekit compare").exit_code == 1


@pytest.mark.parametrize("token_bytes", [0, 24])
def test_list_that_grows_by_what_another_baseline_creates_is_green_after_two_proposed_commands(
    tmp_path: Path, token_bytes: int
) -> None:
    """Between two compares only: all answers of one learning agree. The count of the list moves with it. What
    does not vary stays literal, also in rows that have another token in each answer."""
    rows: list[dict[str, Any]] = [{"id": 1, "price": 10}, {"id": 2, "price": 20}]

    def collection(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
        items = [{**row, "token": chance.randbytes(token_bytes).hex()} for row in rows]
        return as_json({"count": len(rows), "items": items})

    with console(tmp_path / "project") as here, running(collection) as server:
        (here.folder / "baselinekit.yaml").write_text("version: 1\n")

        def run(command: str) -> Any:
            rows.append({"id": len(rows) + 1, "price": 5})
            return here.run(command)

        assert run(f"baselinekit capture http {server.url}/x --id x").exit_code == 0
        assert bring_back(run) == ["baselinekit refresh x --yes", "baselinekit refresh x --learn --yes"]
        assert [run("baselinekit compare").exit_code for _ in range(3)] == [0, 0, 0]
        rows[1]["price"] = 99
        assert run("baselinekit compare").exit_code == 1


def noise(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
    """Other bytes in each answer."""
    return 200, "application/octet-stream", chance.randbytes(8).hex()


def two_values(number: int, chance: random.Random, new: bool) -> tuple[int, str, str]:
    """A text of two, of which the second comes once in four answers."""
    return as_json({"name": "Ada", "region": "us" if new and number % 4 == 3 else "eu"})


@pytest.mark.parametrize(
    ("answer", "then", "rule"),
    [
        (noise, [], "body.sha256"),
        (two_values, ["refresh x --learn"], "body.region"),
    ],
)
def test_what_varies_and_is_not_learnt_is_green_after_the_proposed_rule(
    tmp_path: Path, answer: Answer, then: list[str], rule: str
) -> None:
    with console(tmp_path / "project") as here, running(answer) as server:
        (here.folder / "baselinekit.yaml").write_text("version: 1\n")
        ran = here.run(f"baselinekit capture http {server.url}/x --id x")
        server.is_new = True
        while then and not here.run("baselinekit compare").exit_code:
            pass
        for command in then:
            ran = here.run(f"baselinekit {command}")
        assert proposed(ran.stdout) == f"baselinekit refresh x --ignore {rule} --yes", ran.stdout + ran.stderr
        here.run(proposed(ran.stdout))
        assert [here.run("baselinekit compare").exit_code for _ in range(4)] == [0, 0, 0, 0]


def test_capture_of_post_with_sequential_id_says_that_it_looks_like_an_id(tmp_path: Path) -> None:
    with console(tmp_path / "project") as here, running(created) as server:
        ran = here.run(f"baselinekit capture http POST {server.url}/x --id x")
        assert "note: body.id looks like an id" in ran.stdout
        assert "baselinekit refresh x --learn finds what varies" in ran.stdout
