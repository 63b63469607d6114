"""What the oracle reads of a case before it walks: the readings of the specification, the rules with the
places that they select, and the small comparisons of texts, numbers and bindings."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import oracle_paths as paths
from oracle_paths import Place, Refused, Undecided, number
from oracle_placeholders import Placeholder, alone, holds_one, parts_of

READINGS: dict[str, tuple[Any, ...]] = {
    # Where a pair stands at two places (in any order, each): a rule selects it when both are selected; or the
    # stored one decides; or the actual one.
    "side": ("both", "stored", "actual"),
    # An ignore rule beside an equally exact rule of another kind, or below a more exact one: ignored, or not.
    "cross": ("ignored", "compared"),
    # A further key whose value alone is ignored: an additional field, or none.
    "extra_value": ("extra", "none"),
    # A dotted path that begins with a wildcard is in the body and in the response: the body, or an error.
    "refused": (False, True),
    # What a filter or an index ignores in an array in any order may be paired with what it does not.
    "pair_ignored": (False, True),
    # `<<name?>>` where `ignore_values` wants the key to be there.
    "optional": (False, True),
    # A value that is ignored and missing, where only numbers count.
    "numeric_presence": (False, True),
    # Where only numbers count: nothing, or another type, where a value without any number was.
    "numeric_shape": (False, True),
    # The tolerance of `fields` beside a more exact path of `tolerance`: that one, or its own.
    "field_tolerance": ("exact", "own"),
    # Options of the whole comparison hold inside `fields`, or not.
    "inherit": (True, False),
    # A key that is ignored counts for the order of keys.
    "ignored_order": (True, False),
}


@dataclass(frozen=True)
class Case:
    """A stored output, an actual one, and rules as a file writes them under `comparison:`."""

    expected: Any
    actual: Any
    rules: dict[str, Any] = field(default_factory=dict)
    http: bool = False


@dataclass(frozen=True)
class How:
    """By which type a subtree is compared, and what the rule that says so brings with it."""

    type: str
    options: dict[str, bool]
    tolerance: dict[str, Any] | None = None
    rank: tuple[int, int, int, int] = (-99, 0, 0, 0)
    inner: bool = False


@dataclass(frozen=True)
class Rule:
    text: str
    steps: tuple[Any, ...]
    stored: frozenset[Place]
    actual: frozenset[Place]
    value: Any = None
    ignores: bool = False
    open: frozenset[Place] = frozenset()
    """What it may select in the stored output: a filter that compares a placeholder may hold."""
    gone: frozenset[Place] = frozenset()
    """The same, but for its last step: nothing came that could be asked in place of the placeholder."""
    stored_above: frozenset[Place] = frozenset()
    actual_above: frozenset[Place] = frozenset()
    """From where its last step leads."""

    @property
    def rank(self) -> tuple[int, int, int, int]:
        return paths.rank(self.steps)


Env = frozenset[tuple[str, Any]]
Bounds = dict[str, Any]
FLAGS = ("additional_fields", "missing_fields", "field_reordering", "empty_arrays")
TEXT_OPTIONS = ("case_sensitive", "trim_whitespace", "normalize_newlines")
OPTIONS = (*(f"allow_{flag}" for flag in FLAGS), *TEXT_OPTIONS)
PARTS = ("status", "headers", "body")


def plain_headers(output: Any) -> Any:
    """Header names ignore case."""
    if not isinstance(output, dict) or "headers" not in output:
        return output
    headers = {name.lower(): value for name, value in output["headers"].items()}
    return {key: headers if key == "headers" else value for key, value in output.items()}


def rooted(text: str, expected: Any, http: bool) -> tuple[Any, ...]:
    """The steps of a path from the whole output: a dotted one starts at the body or at the response."""
    if text.startswith("$"):
        steps = paths.jsonpath(text)
        return lowered(steps) if http else steps
    steps = paths.dotted(text)
    if not http:
        return steps
    body = {("body", *place) for place in reached(steps, expected["body"])} if "body" in expected else set()
    whole = reached(lowered(steps), expected)
    at_body = (paths.Name("body"), *steps)
    if body == whole and body and isinstance(steps[0], paths.Deep):
        return lowered(steps)  # it counts as it is written, without the body
    if body and whole and isinstance(steps[0], paths.Each):
        return at_body  # it may be refused as well, which Judge.rules asks: `refused`
    if body and whole and body != whole:
        if isinstance(steps[0], paths.Deep):
            raise Undecided("a wildcard that begins at both roots")
        raise Refused(text)
    if not body and not whole:
        if steps[0] in [paths.Name(part) for part in PARTS]:
            raise Undecided("a part that is not stored")
        return at_body
    return at_body if body else lowered(steps)


def reached(steps: tuple[Any, ...], value: Any) -> set[Place]:
    """What a path selects, and the empty array whose elements it names."""
    empty = set()
    if isinstance(steps[-1], paths.Each):
        places = paths.select(steps[:-1], value)
        empty = {place for place in places if paths.value_at(value, place) == []}
    return paths.select(steps, value) | empty


def lowered(steps: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(steps) > 1 and steps[0] == paths.Name("headers") and isinstance(steps[1], paths.Name):
        return (steps[0], paths.Name(steps[1].key.lower()), *steps[2:])
    return steps


def plain(text: str, how: How) -> str:
    """A text as the options want it compared. Line ends are normalised by default where the type is exact."""
    options = how.options
    if options.get("normalize_newlines", how.type == "exact"):
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if options.get("trim_whitespace", False):
        text = text.strip()
    return text if options.get("case_sensitive", True) else text.casefold()


def media_type(key: str, e: Any, a: Any) -> bool:
    """A media type without parameters matches any parameters."""
    texts = key == "content-type" and isinstance(e, str) and isinstance(a, str)
    return texts and ";" not in e and a.split(";")[0].strip().lower() == e.strip().lower()


def near(e: Decimal, a: Decimal, bounds: Bounds) -> bool:
    """Of `abs` and `rel` the wider one does; each of the others is a bound by itself."""
    given = {key: Decimal(repr(value)) for key, value in bounds.items() if value is not None}
    delta = a - e
    around = [given["abs"]] if "abs" in given else []
    around += [given["rel"] * abs(e)] if "rel" in given else []
    return (
        ("min_delta" not in given or delta >= given["min_delta"])
        and ("max_delta" not in given or delta <= given["max_delta"])
        and (not around or abs(delta) <= max(around))
    )


def bound(one: Placeholder, value: Any, env: Env) -> set[Env]:
    """The bindings with this one added; none where the key stands for something else."""
    if one.key is None:
        return {env}
    known = dict(env)
    if one.key not in known:
        return {env | {(one.key, frozen(value))}}
    if known[one.key] == frozen(value):
        return {env}
    if number(value) and known[one.key][0] in ("int", "float") and known[one.key][1] == value:
        raise Undecided("whether a binding to 1 is one to 1.0")
    return set()


def frozen(value: Any) -> tuple[str, Any]:
    if isinstance(value, dict):
        return "dict", frozenset((key, frozen(child)) for key, child in value.items())
    return (type(value).__name__, tuple(map(frozen, value)) if isinstance(value, list) else value)


def bindings(value: Any) -> bool:
    return any(isinstance(part, Placeholder) and part.key for part in all_parts(value))


def all_parts(value: Any) -> Iterator[str | Placeholder]:
    if isinstance(value, str):
        yield from parts_of(value)
    for _, child in paths.children(value):
        yield from all_parts(child)


def ids_of(key: str, e: Any) -> list[Any]:
    """The keys by which stored rows are paired; nothing is said of rows without one, or with the same."""
    if not isinstance(e, list):
        return []
    keyed = all(isinstance(row, dict) and not holds_one(row.get(key)) for row in e)
    ids = [row.get(key, paths.NOTHING) if keyed else None for row in e]
    if not keyed or any(known is paths.NOTHING or isinstance(known, dict | list) for known in ids):
        raise Undecided("stored rows without a plain key")
    if any(paths.equal(one, other) for n, one in enumerate(ids) for other in ids[:n]):
        raise Undecided("stored rows with the same key")
    return ids


def no_optional(e: Any) -> None:
    one = alone(e)
    if one and one.maybe:
        raise Undecided("an element that may be absent")


def same_id(known: Any, row: Any, key: str) -> bool:
    found = row.get(key, paths.NOTHING)
    if paths.equal(known, found) and type(known) is not type(found):
        raise Undecided("whether a key of 1 is one of 1.0")
    return paths.equal(known, found)
