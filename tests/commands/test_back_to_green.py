"""Whatever is captured can be brought back to green: small services, each of a kind that stayed red for
ever, and no more than two of the commands that are proposed."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from console import console
from little_api import LittleApi

PASSWORD = "admin42x"  # the user is called so as well

Answer = Callable[[int, random.Random, bool], Any]
"""What a service says, by the number of the request and whether the version is the new
one."""


def created(number: int, chance: random.Random, new: bool) -> Any:
    """What a POST has created, numbered one after the other."""
    return 201, {"id": 100 + number, "title": "note" if new else "memo"}


def grows(number: int, chance: random.Random, new: bool) -> Any:
    """A list that only grows."""
    rows = range(1, 4 + (number if new else 0))
    return {"items": [{"sku": f"S{row}", "price": row * 10} for row in rows]}


def user(number: int, chance: random.Random, new: bool) -> Any:
    """A user name that equals the password, in a new row and in a text."""
    roles = ["admin", "editor"] if new else ["admin"]
    rows = [{"user": PASSWORD, "role": role} for role in roles]
    return {"rows": rows, "title": f"{len(roles)} roles of {PASSWORD}"}


def flags(number: int, chance: random.Random, new: bool) -> Any:
    """A key that comes and goes."""
    return {"name": "Ada", **({"debug": "on"} if new and number % 2 else {})}


class Service(LittleApi):
    """What answers at /x, and whether its version is the new one."""

    def __init__(self, answer: Answer):
        chance = random.Random(1)
        self.is_new, self.says = False, answer
        super().__init__({"/x": lambda number: self.says(number, chance, self.is_new)})


SERVICES: list[tuple[Answer, str, bool]] = [
    (created, "POST", False),
    (created, "POST", True),
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
    with console(tmp_path / "project") as here, Service(answer) as server:
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


def test_list_that_only_grows_is_green_after_two_commands_and_a_changed_price_is_seen(tmp_path: Path) -> None:
    with console(tmp_path / "project") as here, Service(grows) as server:
        (here.folder / "baselinekit.yaml").write_text("version: 1\n")
        assert here.run(f"baselinekit capture http {server.url}/x --id x").exit_code == 0
        server.is_new = True
        assert bring_back(here.run) == ["baselinekit refresh x --yes", "baselinekit refresh x --learn --yes"]
        assert [here.run("baselinekit compare").exit_code for _ in range(3)] == [0, 0, 0]
        server.says = lambda number, chance, new: {
            "items": [{"sku": f"S{row}", "price": 99 if row == 2 else row * 10} for row in range(1, 9)]
        }
        assert here.run("baselinekit compare").exit_code == 1


@pytest.mark.parametrize("token_bytes", [0, 24])
def test_list_that_grows_by_what_another_baseline_creates_is_green_after_two_proposed_commands(
    tmp_path: Path, token_bytes: int
) -> None:
    """Between two compares only: all answers of one learning agree. The count of the list moves with it. What
    does not vary stays literal, also in rows that have another token in each answer."""
    rows: list[dict[str, Any]] = [{"id": 1, "price": 10}, {"id": 2, "price": 20}]

    def collection(number: int, chance: random.Random, new: bool) -> Any:
        items = [{**row, "token": chance.randbytes(token_bytes).hex()} for row in rows]
        return {"count": len(rows), "items": items}

    with console(tmp_path / "project") as here, Service(collection) as server:
        (here.folder / "baselinekit.yaml").write_text("version: 1\n")

        def run(command: str) -> Any:
            rows.append({"id": len(rows) + 1, "price": 5})
            return here.run(command)

        assert run(f"baselinekit capture http {server.url}/x --id x").exit_code == 0
        assert bring_back(run) == ["baselinekit refresh x --yes", "baselinekit refresh x --learn --yes"]
        assert [run("baselinekit compare").exit_code for _ in range(3)] == [0, 0, 0]
        rows[1]["price"] = 99
        assert run("baselinekit compare").exit_code == 1


def noise(number: int, chance: random.Random, new: bool) -> Any:
    """Other bytes in each answer."""
    return 200, "application/octet-stream", chance.randbytes(8).hex()


def two_values(number: int, chance: random.Random, new: bool) -> Any:
    """A text of two, of which the second comes once in four answers."""
    return {"name": "Ada", "region": "us" if new and number % 4 == 3 else "eu"}


@pytest.mark.parametrize(
    ("answer", "then", "rule"),
    [(noise, [], "body.sha256"), (two_values, ["refresh x --learn"], "body.region")],
)
def test_what_varies_and_is_not_learnt_is_green_after_the_proposed_rule(
    tmp_path: Path, answer: Answer, then: list[str], rule: str
) -> None:
    with console(tmp_path / "project") as here, Service(answer) as server:
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
