"""Documents of shapes that are hard to compile to something quick: beside json.loads of what came back, and
beside a recursive walk of thirty lines, as who needs no more than that would write it. Each with what is
expected, and with one value in a hundred changed."""

import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from baselinekit.kinds.skill import SkillExecution
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, By, Comparison, Known, Rules, Tolerance
from baselinekit.model.recipes import Observation, Recipe
from benchmarks import data
from benchmarks.matcher import WORDS
from benchmarks.measure import Engine, Say, about, in_turn, inside
from benchmarks.results import Found, Note, Row, Scale, Versus

Spots = list[tuple[Any, Any]]
"""Values of which a change is one difference: what holds each, and under which key or index."""

WIDTH = 0.01
NEAR = 0.004
BROKEN = 15


@dataclass(frozen=True, slots=True)
class Shape:
    """What is stored, with its rules, and what comes back. `how` says to the walk what it needs to know of
    the rules: `near` (numbers within WIDTH), `each`, `by id`, `any order`, or the name that is left out."""

    stored: Any
    actual: Any
    spots: Spots
    rules: Rules
    how: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A shape, and what it may take of json.loads: as expected, and with changes."""

    make: Callable[[random.Random, int], Shape]
    size: int
    equal: float | None
    failing: float | None
    most_changed: int = 10**9
    any_order: bool = False
    walked: bool = True


# The peer: thirty lines.

ACCEPTS: dict[str, Callable[[Any], bool]] = {
    "<<any_uuid>>": lambda value: isinstance(value, str) and len(value) == 36 and value.count("-") == 4,
    "<<any_string>>": lambda value: isinstance(value, str),
    "<<any_integer>>": lambda value: isinstance(value, int) and not isinstance(value, bool),
}


def walk(stored: Any, actual: Any, how: str, path: str, found: list[str]) -> None:
    if isinstance(stored, dict) and isinstance(actual, dict):
        for key, value in stored.items():
            if key == how:
                continue
            if key not in actual:
                found.append(f"{path}.{key} is missing")
            else:
                walk(value, actual[key], how, f"{path}.{key}", found)
        found.extend(f"{path}.{key} is new" for key in actual if key not in stored and key != how)
    elif isinstance(stored, list) and isinstance(actual, list):
        if how == "any order":
            left = list(actual)
            for number, value in enumerate(stored):
                place = next((n for n, one in enumerate(left) if not differences(value, one, how)), None)
                if place is None:
                    found.append(f"{path}[{number}] is missing")
                else:
                    del left[place]
            return
        rows: list[Any] = stored * len(actual) if how == "each" and len(stored) == 1 else stored
        if how == "by id" and path == "$":
            places = {row["id"]: row for row in actual}
            actual = [places.get(row["id"]) for row in rows]
        if len(rows) != len(actual):
            found.append(f"{path} has {len(actual)} elements")
        for number, (value, one) in enumerate(zip(rows, actual, strict=False)):
            walk(value, one, how, f"{path}[{number}]", found)
    elif isinstance(stored, str) and stored in ACCEPTS:
        if not ACCEPTS[stored](actual):
            found.append(f"{path} is {actual!r}")
    elif how == "near" and isinstance(stored, int | float) and isinstance(actual, int | float):
        if abs(stored - actual) > WIDTH:
            found.append(f"{path} is {actual!r}")
    elif stored != actual or isinstance(stored, bool) != isinstance(actual, bool):
        found.append(f"{path} is {actual!r}")


def differences(stored: Any, actual: Any, how: str) -> list[str]:
    found: list[str] = []
    walk(stored, actual, how, "$", found)
    return found


# The shapes.


def _near(rng: random.Random, value: float) -> float:
    return round(value + rng.uniform(-NEAR, NEAR), 5)


def _spots(rows: list[dict[str, Any]], key: str) -> Spots:
    return [(row, key) for row in rows]


def numbers(rng: random.Random, size: int) -> Shape:
    stored = [round(rng.uniform(0, 1_000), 3) for _ in range(size)]
    actual = [_near(rng, value) for value in stored]
    spots: Spots = [(actual, n) for n in range(size)]
    return Shape(stored, actual, spots, Rules(tolerance={"*": Tolerance(abs=WIDTH)}), "near")


def points(rng: random.Random, size: int) -> Shape:
    stored = [[round(rng.uniform(-90, 90), 5), round(rng.uniform(-180, 180), 5)] for _ in range(size)]
    actual = [[_near(rng, value) for value in point] for point in stored]
    spots: Spots = [(point, 1) for point in actual]
    return Shape(stored, actual, spots, Rules(tolerance={"*": Tolerance(abs=WIDTH)}), "near")


def _measured(rules: dict[str, Any]) -> Callable[[random.Random, int], Shape]:
    """Rows of which four values are numbers."""

    def make(rng: random.Random, size: int) -> Shape:
        stored = [
            {
                "name": f"station {n}",
                "low": round(rng.uniform(-20, 20), 2),
                "high": round(rng.uniform(0, 40), 2),
                "wind": {"speed": round(rng.uniform(0, 30), 1), "gusts": round(rng.uniform(0, 50), 1)},
                "dry": rng.random() < 0.5,
            }
            for n in range(size)
        ]
        actual: list[dict[str, Any]] = json.loads(json.dumps(stored))
        for row in actual:
            row["low"], row["high"] = _near(rng, row["low"]), _near(rng, row["high"])
            row["wind"] = {key: _near(rng, value) for key, value in row["wind"].items()}
        return Shape(stored, actual, _spots(actual, "high"), Rules(tolerance=rules), "near")

    return make


BOUNDS = Tolerance(abs=WIDTH)
BY_COLUMN = {f"*.{key}": BOUNDS for key in ("low", "high", "wind.speed", "wind.gusts")}


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def ten_kinds(rng: random.Random, size: int) -> Shape:
    return _like(rng, size, 10)


def one_kind(rng: random.Random, size: int) -> Shape:
    return _like(rng, size, 1)


def _like(rng: random.Random, size: int, kinds: int) -> Shape:
    """Rows in any order that are placeholders but for their kind."""
    stored = [
        {"id": "<<any_uuid>>", "at": "<<any_integer>>", "note": "<<any_string>>", "kind": f"kind {n % kinds}"}
        for n in range(size)
    ]
    actual = [
        {**row, "id": _uuid(rng), "at": rng.randrange(10**6), "note": f"number {n}"}
        for n, row in enumerate(stored)
    ]
    rng.shuffle(actual)
    return Shape(stored, actual, _spots(actual, "at"), Rules(arrays={"$": "unordered"}), "any order")


def ranges(rng: random.Random, size: int) -> Shape:
    """Rows in any order that only the range of an integer tells apart."""
    stored = [{"id": "<<any_uuid>>", "at": f"<<any_integer({n}, {n + 9})>>"} for n in range(size)]
    actual = [{"id": _uuid(rng), "at": n + 5} for n in range(size)]
    rng.shuffle(actual)
    return Shape(stored, actual, _spots(actual, "id"), Rules(arrays={"$": "unordered"}))


def ragged(rng: random.Random, size: int) -> Shape:
    """Rows in which a key may be missing, with placeholders."""
    actual = data.records(size, seed=rng.randrange(10**6))
    for row in actual:
        for key in ("address", "tags", "balance", "active"):
            if rng.random() < 0.3:
                del row[key]
    stored = json.loads(json.dumps([{**row, "id": "<<any_uuid>>"} for row in actual]))
    for row in actual:
        row["id"] = _uuid(rng)
    return Shape(stored, actual, _spots(actual, "logins"), Rules())


def template(rng: random.Random, size: int) -> Shape:
    """One element that describes them all."""
    stored = [
        {
            "id": "<<any_uuid>>",
            "logins": "<<any_integer>>",
            "name": "<<any_string>>",
            "address": {"street": "<<any_string>>", "country": "FR"},
            "tags": ["new", "<<any_string>>"],
            "active": True,
        }
    ]
    actual = [
        {
            "id": _uuid(rng),
            "logins": rng.randrange(100),
            "name": f"user {n}",
            "address": {"street": f"{n} Main Street", "country": "FR"},
            "tags": ["new", "red"],
            "active": True,
        }
        for n in range(size)
    ]
    return Shape(stored, actual, _spots(actual, "logins"), Rules(), "each")


def by_id(rng: random.Random, size: int) -> Shape:
    """Literal rows that a key pairs."""
    stored = data.records(size, seed=rng.randrange(10**6))
    actual: list[dict[str, Any]] = json.loads(json.dumps(stored))
    rng.shuffle(actual)
    return Shape(stored, actual, _spots(actual, "logins"), Rules(arrays={"$": By(by="id")}), "by id")


def by_id_with_placeholders(rng: random.Random, size: int) -> Shape:
    shape = by_id(rng, size)
    stored = [{**row, "created_at": "<<any_string>>", "etag": "<<any_string>>"} for row in shape.stored]
    return Shape(stored, shape.actual, shape.spots, shape.rules, shape.how)


def _tree(rng: random.Random, size: int, spots: Spots) -> Any:
    """Objects and lists in each other, of about `size` values."""
    if rng.random() < 0.3:
        each, made = max(1, size // 6), []
        for _ in range(min(6, size)):
            made.append(_leaf(rng) if each < 3 else _tree(rng, each, spots))
        spots += [(made, n) for n, value in enumerate(made) if isinstance(value, int)]
        return made
    names = rng.sample(data._WORDS, 5)
    found = {
        name: _leaf(rng) if size < 12 or n > 2 else _tree(rng, size // 3, spots)
        for n, name in enumerate(names)
    }
    spots += [(found, name) for name, value in found.items() if isinstance(value, int)]
    return found


def _leaf(rng: random.Random) -> Any:
    return rng.choice([rng.randrange(1_000), f"text {rng.randrange(1_000)}", round(rng.random(), 3), None])


def mixed(rng: random.Random, size: int) -> Shape:
    spots: Spots = []
    actual = [_tree(rng, 200, spots) for _ in range(size)]
    return Shape(json.loads(json.dumps(actual)), actual, spots, Rules())


def mixed_with_placeholders(rng: random.Random, size: int) -> Shape:
    """One value in fifty is a placeholder."""
    shape = mixed(rng, size)
    chosen = {(id(holder), key) for holder, key in rng.sample(shape.spots, len(shape.spots) // 50)}

    def stored(value: Any) -> Any:
        if not isinstance(value, dict | list):
            return value
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        made = [(k, "<<any_integer>>" if (id(value), k) in chosen else stored(one)) for k, one in pairs]
        return dict(made) if isinstance(value, dict) else [one for _, one in made]

    return Shape(stored(shape.actual), shape.actual, shape.spots, Rules())


def names_as_texts(rng: random.Random, size: int) -> Shape:
    """`**.id` is left out, and `id` is a text in every row as well."""
    actual = [
        {"key": "id", "value": rng.randrange(1_000), "notes": [f"note {n}", {"sort": "id"}]}
        for n in range(size)
    ]
    rules = Rules(ignore_fields=["**.id"])
    return Shape(json.loads(json.dumps(actual)), actual, _spots(actual, "value"), rules, "id")


def pickled(rng: random.Random, size: int) -> Shape:
    """Integers whose bytes look like a placeholder's."""
    actual = [{"n": 15420, "m": rng.choice((1010580540, 15420)), "name": f"row {n}"} for n in range(size)]
    return Shape(json.loads(json.dumps(actual)), actual, _spots(actual, "m"), Rules())


SHAPES = {
    "tolerance on every number: a list": Asked(numbers, 30_000, 6, 8),
    "tolerance on every number: pairs": Asked(points, 15_000, 6, 8),
    "tolerance on every number: rows": Asked(_measured({"*": BOUNDS}), 4_000, 6, 8),
    "tolerance on every number: a path a column": Asked(_measured(BY_COLUMN), 4_000, 6, 8),
    "tolerance on every number: `**`": Asked(_measured({"**": BOUNDS}), 4_000, 6, 8),
    "any order: 5,000 rows of ten kinds": Asked(ten_kinds, 5_000, 20, 20, BROKEN),
    "any order: 1,500 like rows": Asked(one_kind, 1_500, 20, 20, BROKEN),
    "any order: 500 rows told apart by ranges": Asked(ranges, 500, None, None, BROKEN, True, walked=False),
    "rows without some keys": Asked(ragged, 1_000, 4, 8),
    "one element that describes all": Asked(template, 3_000, 4, 8),
    "`by: id`": Asked(by_id, 1_000, 4, 8),
    "`by: id`, with placeholders": Asked(by_id_with_placeholders, 1_000, 4, 8),
    "deep and mixed": Asked(mixed, 60, 4, 8),
    "deep and mixed, with placeholders": Asked(mixed_with_placeholders, 60, 4, 8),
    "texts equal to a name of a `**` rule": Asked(names_as_texts, 4_000, 4, 8),
    "integers written like a placeholder": Asked(pickled, 6_000, 4, 8),
}


def made(asked: Asked, size: int, changed: bool) -> tuple[Shape, int]:
    """The shape, and how many differences it has."""
    shape = asked.make(random.Random(7), size)
    count = max(1, min(len(shape.spots) // 100, asked.most_changed)) if changed else 0
    for holder, key in random.Random(5).sample(shape.spots, count):
        holder[key] = holder[key] + 7 if shape.how == "near" else "changed"
    return shape, count


def rows(scale: Scale, say: Say) -> Found:
    for name, asked in SHAPES.items():
        size = max(asked.size // 50, 4) if scale.quick else asked.size
        for changed, goal in ((False, asked.equal), (True, asked.failing)):
            what = f"{name}, {'changed' if changed else 'equal'}"
            times = in_turn(list(engines(asked, size, changed)), scale.rounds, about(say, what))
            yield from _rows(Versus(times), what, goal)
    yield Note("Changed: one value in a hundred, in any order fifteen rows. Compiling counts.")
    yield Note(
        "The walk takes floats as they are, pairs the first rows that fit, and says nothing but where."
    )


def _rows(versus: Versus, what: str, goal: float | None) -> Iterator[Row]:
    yield versus.row(what, "ours", "json.loads", goal=goal)
    if "a walk of 30 lines" in versus.times:
        yield versus.row(what, "ours", "a walk of 30 lines")


def engines(asked: Asked, size: int, changed: bool) -> Iterator[Engine]:
    shape, count = made(asked, size, changed)
    stored = Baseline(
        "x", Recipe(None, SkillExecution("skill", "x")), baseline=Known(shape.stored), comparison=shape.rules
    )
    text = json.dumps(shape.actual)
    actual = json.loads(text)

    def ours(_: Any) -> Comparison:
        return compile_baseline(stored, WORDS).compare(Observation(actual, 0.0))

    # a row in any order that has no partner may be told twice, as missing and as new
    yield inside(
        "ours", ours, lambda found: count <= found.count <= (2 * count if asked.any_order else count)
    )
    yield inside("json.loads", lambda _: json.loads(text), lambda value: bool(value == actual))
    if asked.walked:
        yield inside(
            "a walk of 30 lines",
            lambda _: differences(shape.stored, actual, shape.how),
            lambda found: len(found) == count,
        )
