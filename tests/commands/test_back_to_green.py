"""A capture of a service that varies is green again after at most two of the commands that are proposed."""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from console import Console
from little_api import LittleApi

PASSWORD = "admin42x"  # also the name of the user

Answer = Callable[[int, random.Random, bool], Any]
"""By the number of the request, a source of chance, and whether the new version answers."""


def created(number: int, chance: random.Random, is_new: bool) -> Any:
    return 201, {"id": 100 + number, "title": "note" if is_new else "memo"}


def grows(number: int, chance: random.Random, is_new: bool) -> Any:
    rows = range(1, 4 + (number if is_new else 0))
    return {"items": [{"sku": f"S{row}", "price": row * 10} for row in rows]}


def user(number: int, chance: random.Random, is_new: bool) -> Any:
    """A name that equals the password, in a new row and in a text."""
    roles = ["admin", "editor"] if is_new else ["admin"]
    rows = [{"user": PASSWORD, "role": role} for role in roles]
    return {"rows": rows, "title": f"{len(roles)} roles of {PASSWORD}"}


def noise(number: int, chance: random.Random, is_new: bool) -> Any:
    return 200, "application/octet-stream", chance.randbytes(8).hex()


def two_values(number: int, chance: random.Random, is_new: bool) -> Any:
    """A text that is another one in one of four answers."""
    return {"name": "Ada", "region": "us" if is_new and number % 4 == 3 else "eu"}


class Service(LittleApi):
    """It answers at /x; `is_new` is its version."""

    def __init__(self, answer: Answer):
        chance, self.is_new = random.Random(1), False
        super().__init__({"/x": lambda number: answer(number, chance, self.is_new)})


def proposed(printed: str) -> str:
    """The first proposed command that writes, with a yes to what it asks."""
    commands = re.findall(r"^next: baselinekit (?:refresh|review) (.*)$", printed, re.MULTILINE)
    return f"baselinekit refresh {commands[0].replace(' --dry-run', '')} --yes"


def bring_back(run: Callable[[str], Any]) -> list[str]:
    """Compare, and run what is proposed first, twice at most; then three compares pass."""
    used: list[str] = []
    while len(used) < 2 and (ran := run("baselinekit compare")).exit_code:
        used.append(proposed(ran.stdout + ran.stderr))
        run(used[-1])
    assert [run("baselinekit compare").exit_code for _ in range(3)] == [0, 0, 0], used
    return used


@pytest.mark.parametrize(("answer", "method"), [(created, "POST"), (user, ""), (grows, "")])
def test_compare_that_fails_is_green_after_two_proposed_commands(
    project: Console, answer: Answer, method: str
) -> None:
    with Service(answer) as server:
        options = f"--id x -u {PASSWORD}:{PASSWORD} --secret PW" if answer is user else "--id x"
        capture = f"PW={PASSWORD} baselinekit capture http {method} {server.url}/x {options}"
        assert project.run(capture).exit_code == 0
        server.is_new = True
        bring_back(lambda command: project.run(f"PW={PASSWORD} {command}"))
        assert PASSWORD not in (project.folder / "baselines/127.0.0.1/x.yaml").read_text()


@pytest.mark.parametrize(("answer", "rule"), [(noise, "body.sha256"), (two_values, "body.region")])
def test_compare_of_value_that_is_not_learnt_is_green_after_the_proposed_rule(
    project: Console, answer: Answer, rule: str
) -> None:
    with Service(answer) as server:
        ran = project.run(f"baselinekit capture http {server.url}/x --id x")
        server.is_new = True
        if answer is two_values:
            while not project.run("baselinekit compare").exit_code:
                pass
            ran = project.run("baselinekit refresh x --learn")
        assert proposed(ran.stdout) == f"baselinekit refresh x --ignore {rule} --yes", ran.stdout + ran.stderr
        project.run(proposed(ran.stdout))
        assert [project.run("baselinekit compare").exit_code for _ in range(4)] == [0, 0, 0, 0]
