"""A comparer that tries everything: slow, simple, and written without a look at the real one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

from baselinekit.model.values import Json, Path
from baselinekit.structs import replace

Steps = tuple[str, ...]
"""The path of a rule: `*` is any step, a leading `**` any way there."""


def is_number(value: Json) -> bool:
    return value is not None and not isinstance(value, bool | str | list | dict)


def exactly(number: Any) -> Fraction:
    """The number that its digits say."""
    return Fraction(str(number))


def _has_numbers(value: Json) -> bool:
    """Whether a value holds anything at which a numeric comparison looks."""
    if isinstance(value, dict | list):
        return any(map(_has_numbers, value.values() if isinstance(value, dict) else value))
    return is_number(value) or (isinstance(value, str) and (value in ACCEPTS or value in BINDS))


ACCEPTS: dict[str, Callable[[Json], bool]] = {
    "<<any>>": lambda value: True,
    "<<any?>>": lambda value: True,
    "<<any_integer>>": lambda value: type(value) is int,
    "<<any_integer?>>": lambda value: type(value) is int,
    "<<any_float>>": lambda value: is_number(value) and type(value) is not int,
    "<<any_number(1, 2)>>": lambda value: is_number(value) and 1 <= exactly(value) <= 2,
    "<<number(2 ± 0.5)>>": lambda value: is_number(value) and 1.5 <= exactly(value) <= 2.5,
    "<<any_string>>": lambda value: type(value) is str,
    "<<any_string(2)?|null>>": lambda value: value is None or (type(value) is str and len(value) >= 2),
    "<<any_string|null>>": lambda value: value is None or type(value) is str,
    "<<any_null>>": lambda value: value is None,
    "<<any_object>>": lambda value: type(value) is dict,
    "<<any_array>>": lambda value: type(value) is list,
    "<<one_of(1, a)>>": lambda value: value == "a" or (is_number(value) and exactly(value) == 1),
    "<<one_of(true)>>": lambda value: value is True,
    "{{any_boolean}}": lambda value: type(value) is bool,
    "x<<any_string>>": lambda value: type(value) is str and value.startswith("x"),
    "<<any_integer>>b": lambda value: type(value) is str and value[:-1].isdigit() and value[-1] == "b",
    "<<regex('x?a')>>": lambda value: value in ("a", "xa"),
    "<<length(1)>>": lambda value: type(value) in (str, list, dict) and len(value) == 1,
}
BINDS = {"<<any as k>>": "k", "<<any_integer as k>>": "k", "<<any as m>>": "m"}
LITERAL = {r"\<<any>>": "<<any>>", r"\{{any_null}}": "{{any_null}}"}

NOWHERE = (-99, 0, 0)
Bindings = dict[str, Json]


@dataclass
class Given:
    """Rules as a file states them, the paths as steps."""

    type: str = "structural"
    options: dict[str, bool] = field(default_factory=dict)
    ignore_fields: list[Steps] = field(default_factory=list)
    ignore_values: list[Steps] = field(default_factory=list)
    arrays: dict[Steps, Any] = field(default_factory=dict)
    tolerance: dict[Steps, dict[str, Any]] = field(default_factory=dict)
    fields: dict[Steps, dict[str, Any]] = field(default_factory=dict)

    def rules(self) -> dict[str, Any]:
        stated: dict[str, Any] = {"type": self.type}
        if self.options:
            stated["options"] = self.options
        for name in ("ignore_fields", "ignore_values"):
            if paths := getattr(self, name):
                stated[name] = [_text(path) for path in paths]
        for name in ("arrays", "tolerance", "fields"):
            if rules := getattr(self, name):
                stated[name] = {_text(path): rule for path, rule in rules.items()}
        return stated


@dataclass(frozen=True)
class Way:
    """How a place is compared: the type, and what the numbers may do, set by paths so exact. Of several
    bounds all hold; None is equality."""

    type: str
    bounds: tuple[dict[str, Any] | None, ...] = (None,)
    exactness: tuple[int, int, int] = NOWHERE


@dataclass
class Brute:
    """`matches` answers whether there is any way at all to read the actual value as the expected one."""

    given: Given

    def matches(self, expected: Json, actual: Json) -> bool:
        start = Way(self.given.type)
        return next(self._ways(expected, actual, (), start, {}), None) is not None

    def _on(self, option: str) -> bool:
        return self.given.options.get(option, option in ("allow_field_reordering", "case_sensitive"))

    def _ways(
        self, expected: Json, actual: Json, path: Path, way: Way, known: Bindings
    ) -> Iterator[Bindings]:
        """Every set of bindings under which the two match."""
        if self._ignored(path):
            yield known
            return
        way = self._context(path, way)
        if isinstance(expected, str) and expected in ACCEPTS:
            if ACCEPTS[expected](actual):
                yield known
        elif isinstance(expected, str) and expected in BINDS:
            if "integer" not in expected or type(actual) is int:
                key = BINDS[expected]
                if key not in known or _same(known[key], actual):
                    yield known if key in known else {**known, key: actual}
        elif path and not self._compared(expected, path, way):
            yield known
        elif isinstance(expected, dict):
            if isinstance(actual, dict):
                yield from self._objects(expected, actual, path, way, known)
        elif isinstance(expected, list):
            if isinstance(actual, list):
                yield from self._arrays(expected, actual, path, way, known)
        elif self._scalars(expected, actual, way):
            yield known

    def _context(self, path: Path, way: Way) -> Way:
        found: list[tuple[tuple[int, int, int], dict[str, Any] | None]] = []
        fields = _most_exact(self.given.fields, path)
        if fields is not None:
            rule = self.given.fields[fields]
            way = replace(way, type=rule.get("type", way.type))
            if "tolerance" in rule or way.type == "exact":
                found.append((_exactness(fields), rule.get("tolerance")))
        tolerance = _most_exact(self.given.tolerance, path)
        if tolerance is not None:
            found.append((_exactness(tolerance), self.given.tolerance[tolerance]))
        top = max((exactness for exactness, _ in found), default=NOWHERE)
        if not found or top < way.exactness:
            return way
        return replace(way, bounds=tuple(b for exactness, b in found if exactness == top), exactness=top)

    def _scalars(self, expected: Json, actual: Json, way: Way) -> bool:
        if isinstance(expected, str):
            text = LITERAL.get(expected, expected)
            return isinstance(actual, str) and self._text(text, way) == self._text(actual, way)
        if not is_number(expected):
            return expected is actual
        if not is_number(actual):
            return False
        alike = way.type != "exact" or isinstance(expected, int) == isinstance(actual, int)
        equal = alike and exactly(expected) == exactly(actual)
        return all(
            equal if bounds is None else _tolerated(exactly(expected), exactly(actual), bounds)
            for bounds in way.bounds
        )

    def _text(self, text: str, way: Way) -> str:
        if way.type == "exact":
            text = text.replace("\r\n", "\n")
        if self._on("trim_whitespace"):
            text = text.strip()
        return text if self._on("case_sensitive") else text.casefold()

    def _objects(
        self, expected: dict[str, Json], actual: dict[str, Json], path: Path, way: Way, known: Bindings
    ) -> Iterator[Bindings]:
        for key, value in expected.items():
            may_miss = self._on("allow_missing_fields") or self._optional(value, (*path, key), way)
            if key not in actual and not may_miss:
                return
        for key in actual:
            allowed = self._on("allow_additional_fields") or way.type == "numeric"
            if key not in expected and not allowed and not self._ignored((*path, key)):
                return
        shared = [key for key in expected if key in actual]
        if not self._on("allow_field_reordering") and shared != [key for key in actual if key in expected]:
            return
        pairs = [(value, actual[key], (*path, key)) for key, value in expected.items() if key in actual]
        yield from self._all(pairs, way, known)

    def _all(self, pairs: list[tuple[Json, Json, Path]], way: Way, known: Bindings) -> Iterator[Bindings]:
        if not pairs:
            yield known
            return
        expected, actual, path = pairs[0]
        for after in self._ways(expected, actual, path, way, known):
            yield from self._all(pairs[1:], way, after)

    def _optional(self, value: Json, path: Path, way: Way) -> bool:
        optional = isinstance(value, str) and ("?>>" in value or "?|" in value)
        if self._ignored(path):
            fields = self._most_exact_of(self.given.ignore_fields, path)
            loosely = fields >= self._most_exact_of(self.given.ignore_values, path)
            return loosely or optional or (way.type == "numeric" and not _has_numbers(value))
        if isinstance(value, str) and (value in ACCEPTS or value in BINDS):
            return optional
        fields = _most_exact(self.given.fields, path)
        if fields is not None and self.given.fields[fields].get("type") == "numeric":
            return False  # a rule for how a place is compared requires a value there
        return not self._compared(value, path, way)

    def _compared(self, value: Json, path: Path, way: Way) -> bool:
        """Whether there is anything to look at in a value: a numeric comparison has no eyes for the rest."""
        if self._ignored(path):
            return way.type != "numeric" or _has_numbers(value)
        way = self._context(path, way)
        if way.type != "numeric":
            return True
        if isinstance(value, dict | list):
            steps = value.items() if isinstance(value, dict) else enumerate(value)
            all_ignored = isinstance(value, list) and self._ignored((*path, 10**9))
            return (all_ignored and _has_numbers(value)) or any(
                self._compared(item, (*path, key), way) for key, item in steps
            )
        return _has_numbers(value)

    def _ignored(self, path: Path) -> bool:
        """Unless a rule that compares is more exact."""
        given = self.given
        hiding = self._most_exact_of([*given.ignore_fields, *given.ignore_values], path)
        comparing = self._most_exact_of([*given.arrays, *given.tolerance, *given.fields], path)
        return hiding > NOWHERE and hiding >= comparing

    def _most_exact_of(self, rules: list[Steps], path: Path) -> tuple[int, int, int]:
        return max((_exactness(steps) for steps in rules if _leads(steps, path)), default=NOWHERE)

    def _arrays(
        self, expected: list[Json], actual: list[Json], path: Path, way: Way, known: Bindings
    ) -> Iterator[Bindings]:
        if self._ignored((*path, 10**9)):
            yield known
            return
        rule = _most_exact(self.given.arrays, path)
        how = self.given.arrays[rule] if rule is not None else None
        if how is None:
            template = way.type == "structural" and len(expected) == 1 and _holds_placeholder(expected)
            how = "each" if template else "ordered"
        if isinstance(how, dict):
            yield from self._by(how["by"], expected, actual, path, way, known)
        elif how == "each" and expected:
            if actual or self._on("allow_empty_arrays"):
                yield from self._each(expected, actual, path, way, known)
        else:
            if way.type == "numeric" and how == "ordered":
                yield from self._places(expected, actual, path, way, known)
            for pairs in self._pairings(how, expected, actual, path, way):
                yield from self._all(pairs, way, known)

    def _places(
        self, expected: list[Json], actual: list[Json], path: Path, way: Way, known: Bindings
    ) -> Iterator[Bindings]:
        """Each number in its place; further ones do not matter."""
        absent = range(len(actual), len(expected))
        if all(self._optional(expected[n], (*path, n), way) for n in absent):
            pairs = [(e, a, (*path, n)) for n, (e, a) in enumerate(zip(expected, actual, strict=False))]
            yield from self._all(pairs, way, known)

    def _each(
        self, templates: list[Json], rows: list[Json], path: Path, way: Way, known: Bindings
    ) -> Iterator[Bindings]:
        """The first template that fits an element is the one."""
        for row in rows:
            fitting = (
                after
                for number, template in enumerate(templates)
                for after in self._ways(template, row, (*path, number), way, known)
            )
            found = next(fitting, None)
            if found is None:
                return
            known = found
        yield known

    def _by(
        self, key: str, expected: list[Json], actual: list[Json], path: Path, way: Way, known: Bindings
    ) -> Iterator[Bindings]:
        """Each row of either side has a partner, and one alone, with an equal value under the key."""
        if len(expected) != len(actual) or not all(isinstance(row, dict) and key in row for row in actual):
            return
        pairs = []
        for number, row in enumerate(expected):
            partners = [other for other in actual if _same(row[key], other[key])]
            if len(partners) != 1:
                return
            pairs.append((row, partners[0], (*path, number)))
        yield from self._all(pairs, way, known)

    def _pairings(
        self, how: str, expected: list[Json], actual: list[Json], path: Path, way: Way
    ) -> Iterator[list[tuple[Json, Json, Path]]]:
        free = how in ("unordered", "subset")
        must = [n for n in range(len(expected)) if not self._optional(expected[n], (*path, n), way)]
        may = [n for n in range(len(expected)) if n not in must]
        for size in range(len(may) + 1):
            for some in combinations(may, size):
                chosen = sorted([*must, *some])
                if len(chosen) > len(actual) or (how != "subset" and len(chosen) != len(actual)):
                    continue
                places = range(len(actual))
                for order in permutations(places, len(chosen)) if free else [places]:
                    yield [(expected[e], actual[a], (*path, e)) for e, a in zip(chosen, order, strict=True)]


def _text(path: Steps) -> str:
    return ".".join(path) or "$"


def _same(left: Json, right: Json) -> bool:
    """Equal as JSON."""
    if is_number(left) and is_number(right):
        return exactly(left) == exactly(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and bool(left == right)


def _tolerated(expected: Fraction, actual: Fraction, bounds: dict[str, Any]) -> bool:
    change = actual - expected
    if "min_delta" in bounds and change < exactly(bounds["min_delta"]):
        return False
    if "max_delta" in bounds and change > exactly(bounds["max_delta"]):
        return False
    widths = [exactly(bounds["abs"])] if "abs" in bounds else []
    widths += [exactly(bounds["rel"]) * abs(expected)] if "rel" in bounds else []
    return not widths or abs(change) <= max(widths)


def _most_exact(rules: dict[Steps, Any], path: Path) -> Steps | None:
    leading = [steps for steps in rules if _leads(steps, path)]
    return max(leading, key=_exactness) if leading else None


def _leads(steps: Steps, path: Path) -> bool:
    if steps[:1] == ("**",):
        return any(_leads(steps[1:], path[start:]) for start in range(len(path) + 1))
    return len(steps) == len(path) and all(
        step in ("*", str(key)) for step, key in zip(steps, path, strict=True)
    )


def _exactness(steps: Steps) -> tuple[int, int, int]:
    return -steps.count("**"), sum(step not in ("*", "**") for step in steps), len(steps)


def _holds_placeholder(value: Json) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_placeholder, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and (value in ACCEPTS or value in BINDS)
