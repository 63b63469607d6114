"""What a selector selects, and what then may differ: slow, simple, and written without a look at the matcher.

A selector is a list of steps, each a tuple that begins with its kind. A place that a rule selects is left out
of the comparison if the same rule selects it in the baseline and in what came back; an element or a key that
is only on one side, if it is selected there."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

from baselinekit.model.values import Json, Path

Step = tuple[Any, ...]
Selector = list[Step]


def text_of(selector: Selector) -> str:
    text = "$"
    for kind, *told in selector:
        if kind == "deep":
            text += ".."
        elif text.endswith(".."):
            text += {"name": f"{told[0]}" if told else "", "any": "*"}.get(kind) or f"[{_chosen(kind, told)}]"
        elif kind == "name":
            text += f".{told[0]}"
        else:
            text += f"[{_chosen(kind, told)}]"
    return text


def _chosen(kind: str, told: list[Any]) -> str:
    if kind == "any":
        return "*"
    if kind == "slice":
        return ":".join("" if part is None else str(part) for part in told)
    if kind == "filter":
        return f"?({_worded(told[0])})"
    if kind == "many":
        return ",".join(f"'{one}'" if isinstance(one, str) else str(one) for one in told[0])
    return str(told[0])


def _worded(term: Step) -> str:
    kind, *told = term
    if kind == "is there":
        return f"@.{told[0]}"
    if kind == "not":
        return f"!{_worded(told[0])}"
    if kind in ("&&", "||"):
        return f"({_worded(told[0])}) {kind} ({_worded(told[1])})"
    key, other = told
    return f"@.{key} {kind} " + (f"@.{other[1]}" if isinstance(other, tuple) else json.dumps(other))


def selected(selector: Selector, document: Json) -> set[Path]:
    return set(_selected(selector, document, ()))


def _selected(selector: Selector, value: Json, path: Path) -> Iterator[Path]:
    if not selector:
        yield path
        return
    (kind, *told), rest = selector[0], selector[1:]
    if kind == "deep":
        yield from _selected(rest, value, path)
    below = list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    )
    for key, child in below:
        if kind == "deep":
            yield from _selected(selector, child, (*path, key))
        elif _meant(kind, told, key, child, len(below)):
            yield from _selected(rest, child, (*path, key))


def _meant(kind: str, told: list[Any], key: str | int, child: Json, size: int) -> bool:
    if kind == "any":
        return True
    if kind == "filter":
        return _true(told[0], child)
    if kind == "slice":
        return isinstance(key, int) and key in list(range(size))[slice(*told)]
    wanted = told[0] if kind == "many" else told
    return any(
        one == key or (isinstance(key, int) and isinstance(one, int) and one + size == key) for one in wanted
    )


def _true(term: Step, value: Json) -> bool:
    kind, *told = term
    if kind == "is there":
        return isinstance(value, dict) and told[0] in value
    if kind == "not":
        return not _true(told[0], value)
    if kind == "&&":
        return _true(told[0], value) and _true(told[1], value)
    if kind == "||":
        return _true(told[0], value) or _true(told[1], value)
    key, other = told
    left = _read(value, key)
    right = _read(value, other[1]) if isinstance(other, tuple) else [other]
    equal = json.dumps(_even(left), sort_keys=True) == json.dumps(_even(right), sort_keys=True)
    if kind in ("==", "!="):
        return equal == (kind == "==")
    numbers = all(
        isinstance(side[0], int | float) and not isinstance(side[0], bool) for side in (left, right) if side
    )
    texts = all(isinstance(side[0], str) for side in (left, right) if side)
    if left and right and (numbers or texts) and left[0] < right[0] and kind in ("<", "<="):
        return True
    return kind == "<=" and equal


def _read(value: Json, key: str) -> list[Json]:
    return [value[key]] if isinstance(value, dict) and key in value else []


def _even(value: Json) -> Json:
    """1.0 written as 1."""
    if isinstance(value, dict):
        return {key: _even(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_even(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass
class Plain:
    """Compares two documents, leaf by leaf. Elements of an array are compared by place; or what is selected
    is taken out on each side, and the rest is compared in order. `order_free`: the rows of every array may
    stand in any order."""

    selectors: list[Selector]
    keep: bool
    stored: Json
    came: Json
    order_free: bool = False

    @cached_property
    def _sets(self) -> list[tuple[set[Path], set[Path]]]:
        return [(selected(one, self.stored), selected(one, self.came)) for one in self.selectors]

    def matches(self) -> bool:
        return self._matches(self.stored, self.came, (), ())

    def selects_alike(self) -> bool:
        """Whether every rule selects the same places on both sides."""
        return all(one == other for one, other in self._sets)

    def _out(self, side: int, path: Path) -> bool:
        return any(path in both[side] for both in self._sets)

    def _matches(self, stored: Json, came: Json, at: Path, path: Path) -> bool:
        if any(at in before and path in after for before, after in self._sets):
            return True
        if isinstance(stored, dict) and isinstance(came, dict):
            return all(
                self._matches(stored[key], came[key], (*at, key), (*path, key))
                if key in stored and key in came
                else (key in stored and self._out(0, (*at, key)) and not self.keep)
                or (key in came and self._out(1, (*path, key)))
                for key in {**stored, **came}
            )
        if isinstance(stored, list) and isinstance(came, list):
            return self._any_elements(at, path) or self._rows(stored, came, at, path)
        return json.dumps(_even(stored)) == json.dumps(_even(came))

    def _any_elements(self, at: Path, path: Path) -> bool:
        """A rule that ends in a wildcard leads to all elements, whatever they are."""
        ends = [one[:-1] for one in self.selectors if one and one[-1] == ("any",)]
        ends += [one[:-2] for one in ends if one and one[-1] == ("deep",)]
        return any((at in selected(one, self.stored) and path in selected(one, self.came)) for one in ends)

    def _rows(self, stored: list[Json], came: list[Json], at: Path, path: Path) -> bool:
        fits = [
            [
                self._matches(one, other, (*at, e), (*path, a))
                or (self._out(0, (*at, e)) and self._out(1, (*path, a)))
                for a, other in enumerate(came)
            ]
            for e, one in enumerate(stored)
        ]
        loose = [self._out(0, (*at, e)) and not self.keep for e in range(len(stored))]
        free = [self._out(1, (*path, a)) for a in range(len(came))]
        if not self.order_free:
            by_place = len(stored) == len(came) and all(row[n] for n, row in enumerate(fits))
            out = [self._out(0, (*at, e)) for e in range(len(stored))]
            rows = [[fit for a, fit in enumerate(row) if not free[a]] for row in fits]
            rows = [row for e, row in enumerate(rows) if not out[e]]
            in_order = len(rows) == free.count(False) and all(row[n] for n, row in enumerate(rows))
            return by_place or (in_order and out.count(True) - loose.count(True) <= free.count(True))
        nobody = len(came)
        places = [*range(len(came)), *[nobody] * len(stored)]
        for chosen in set(permutations(places, len(stored))):
            if all(loose[e] if a == nobody else fits[e][a] for e, a in enumerate(chosen)) and all(
                free[a] for a in range(len(came)) if a not in chosen
            ):
                return True
        return not stored and all(free)
