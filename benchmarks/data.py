"""The documents and files that are compared: generated, the same at every run."""

import json
import random
import shutil
import uuid
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from baselinekit.files.languages import dump_yaml
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.baselines import Baseline, Known, Rules
from baselinekit.model.recipes import Recipe

Record = dict[str, Any]

PLACEHOLDERS = {"id": "<<any_uuid>>", "created_at": "<<any_iso_datetime>>"}
IGNORED = {"updated_at": "{rows}.*.updated_at", "etag": "**.etag"}
_CITIES = ("Paris", "Lyon", "Nantes", "Brest", "Lille")
_WORDS = ("alpha", "bravo", "delta", "gamma", "kappa", "omega", "sigma", "theta")
_EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


def record(rng: random.Random, number: int) -> Record:
    """About 450 bytes, as an API answers: an id, dates, numbers, switches, something nested, two lists."""
    return {
        "id": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "email": f"user{number}@example.com",
        "name": f"User number {number}",
        "active": rng.random() < 0.8,
        "logins": rng.randrange(40),
        "balance": round(rng.uniform(0, 10_000), 2),
        "created_at": _moment(rng),
        "updated_at": _moment(rng),
        "etag": f"{rng.getrandbits(64):016x}",
        "address": {
            "street": f"{rng.randrange(1, 200)} Main Street",
            "city": rng.choice(_CITIES),
            "geo": {"lat": round(rng.uniform(-90, 90), 6), "lng": round(rng.uniform(-180, 180), 6)},
        },
        "tags": rng.sample(_WORDS, 3),
        "scores": [rng.randrange(1_000) for _ in range(4)],
    }


def _moment(rng: random.Random) -> str:
    return (_EPOCH + timedelta(seconds=rng.randrange(30_000_000))).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Case:
    """An expected and an actual document, and at how many places they differ, as each engine takes them:
    ours the expected one with its placeholders (`stored`), the others the plain one and the names that are
    not compared. Nothing is shared between the two documents: they come from different texts."""

    stored: Baseline
    plain: Any
    text: str
    actual: Any
    differences: int
    excluded: tuple[str, ...]


ROWS = "users"


def records(count: int, seed: int = 7) -> list[Record]:
    rng = random.Random(seed)
    return [record(rng, number) for number in range(count)]


def records_of_size(size: int) -> list[Record]:
    """So many records that they take about `size` bytes of JSON."""
    each = len(json.dumps(records(50))) / 50
    return records(max(2, round(size / each)))


def case(
    rows: Sequence[Record],
    change: Callable[[list[Record]], int],
    *,
    loose: bool,
    arrays: dict[str, Any] | None = None,
) -> Case:
    """`change` makes the actual rows different and says at how many places. `loose`: with two placeholders a
    record and two ignore rules, and the actual values differ there; else all is literal."""
    answered = deepcopy(list(rows))
    if loose:
        other = records(len(rows), seed=8)
        for row, values in zip(answered, other, strict=True):
            row.update({name: values[name] for name in (*PLACEHOLDERS, *IGNORED)})
    differences = change(answered)
    template = [{**row, **PLACEHOLDERS} for row in rows] if loose else rows
    rules = Rules(
        arrays=arrays or {},
        ignore_fields=[path.format(rows=ROWS) for path in IGNORED.values()] if loose else [],
    )
    text = json.dumps({ROWS: answered})
    stored = Baseline(
        "x",
        Recipe(None, SkillExecution("skill", "x")),
        baseline=Known(json.loads(json.dumps({ROWS: template}))),
        comparison=rules,
    )
    excluded = (*PLACEHOLDERS, *IGNORED) if loose else ()
    plain = json.loads(json.dumps({ROWS: list(rows)}))
    return Case(stored, plain, text, json.loads(text), differences, excluded)


def equal(rows: list[Record]) -> int:
    return 0


def renamed(one_in: int) -> Callable[[list[Record]], int]:
    """Another name in every `one_in`th row."""

    def change(rows: list[Record]) -> int:
        changed = rows[one_in - 1 :: one_in] or rows[-1:]
        for row in changed:
            row["name"] += " II"
        return len(changed)

    return change


def shuffled(rows: list[Record]) -> int:
    """The rows in another order, a tenth of them with another name."""
    number = renamed(10)(rows)
    random.Random(9).shuffle(rows)
    return number


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with baselines of an API, and what that API answers: `answers/<n>.json`."""

    root: Path
    answers: Path
    count: int

    @property
    def files(self) -> list[str]:
        return [f"baselines/api/api-{number:05}.yaml" for number in range(self.count)]

    def make_folders(self) -> None:
        for place in (self.root / "baselines" / "api", self.root / "captured", self.answers):
            place.mkdir(parents=True)

    def restore(self) -> None:
        """The files as they were captured: what a run wrote is undone."""
        for file in self.files:
            shutil.copyfile(self.root / "captured" / Path(file).name, self.root / file)


def project(folder: Path, count: int, *, loose: bool = True) -> Project:
    """`count` baselines of about 2 KB, one a file as `capture` writes them. With two placeholders and an
    ignore rule each, unless they shall be literal. `configure` names the server."""
    made = Project(folder / "project", folder / "answers", count)
    made.make_folders()
    for number, file in enumerate(made.files):
        text = dump_yaml(baseline(number, loose=loose))
        (made.root / "captured" / Path(file).name).write_text(text, "utf-8")
        answer = json.dumps(body(number, seed=2 if loose else 1))
        (made.answers / f"{number}.json").write_text(answer, "utf-8")
    made.restore()
    return made


def configure(made: Project, base_url: str) -> None:
    (made.root / "baselinekit.yaml").write_text(f"version: 1\nbase_url: {base_url}\n", "utf-8")


def body(number: int, seed: int = 1) -> Record:
    """What the API answers to request `number`. Another seed gives another id and other dates, no more."""
    rng, other = random.Random(number), record(random.Random(f"{number} {seed}"), 0)
    user = record(rng, number) | {name: other[name] for name in (*PLACEHOLDERS, *IGNORED)}
    manager, deputy = ({**record(rng, number + n), "etag": other["etag"]} for n in (1, 2))
    for name in ("id", "created_at", "updated_at", "logins", "tags"):
        del manager[name], deputy[name]
    return {"user": user, "manager": manager, "deputy": deputy}


def baseline(number: int, *, loose: bool) -> Record:
    """The record of a file. Its keys are in the order in which `capture` writes them."""
    answer = body(number)
    if loose:
        answer["user"].update(PLACEHOLDERS)
    ignored = ["user.updated_at", "**.etag"]
    return {
        "id": f"api-{number:05}",
        "baseline": {
            "output": {"status": 200, "headers": {"content-type": "application/json"}, "body": answer},
            "captured_at": "2024-01-20T14:00:00Z",
            "environment": {
                "tool": "baselinekit 0.1.0",
                "platform": "linux-x86_64",
                "git": {"commit": "0" * 40, "branch": "main", "dirty": False},
                "base_url": "http://api.example.com",
            },
        },
        "current": {"input": {"method": "GET", "endpoint": f"/{number}.json"}, "execution": {"type": "http"}},
        "comparison": {"type": "structural", **({"ignore_fields": ignored} if loose else {})},
        "metadata": {
            "criticality": "high",
            "tags": ["api", "users"],
            "last_passed": None,
            "failure_count": 0,
        },
    }
