"""What stands behind the placeholders that were learnt: which of them it is about, and what is left of it
when the output changes."""

import re
from collections.abc import Iterator, Mapping

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import Token, has_marker, split
from baselinekit.tree.paths import of_any_row, render
from baselinekit.tree.places import places

_INDEX = re.compile(r"\[[0-9]+\]")
_VARIABLE = "var"
"""It equals the value of a variable: a capture writes it, and it stands for one value only."""


def evidence_for(path: Path, learnt: Mapping[str, str]) -> str | None:
    """The line about a place: its own, that of all rows, or that of another row, from which a refresh gave
    this one its placeholder."""
    own = next((learnt[key] for key in _keys(path) if key in learnt), None)
    if own is not None:
        return own
    shape = render(of_any_row(path))
    return next((line for key, line in learnt.items() if _INDEX.sub(".*", key) == shape), None)


def is_handwritten(value: Json, path: Path, learnt: Mapping[str, str]) -> bool:
    """Whether a person has said what stands for the values of a place."""
    return bool(_placeholders_of(value)) and evidence_for(path, learnt) is None


def still_true(learnt: Mapping[str, str], before: Json, after: Json) -> dict[str, str]:
    """The lines of which a placeholder still stands where it stood: a refreshed output may have lost it, or
    hold another one."""
    stood, stands = _held(learnt, before), _held(learnt, after)
    return {key: line for key, line in learnt.items() if stood.get(key, set()) & stands.get(key, set())}


def _held(learnt: Mapping[str, str], output: Json) -> dict[str, set[str]]:
    """The placeholders at the places that each line is about."""
    held: dict[str, set[str]] = {}
    for path, value in _leaves(output) if learnt else ():
        for key in _keys(path):
            if key in learnt:
                held.setdefault(key, set()).update(_placeholders_of(value))
    return held


def _leaves(output: Json) -> Iterator[tuple[Path, Json]]:
    yield (), output
    yield from places(output)


def _keys(path: Path) -> tuple[str, str]:
    return render(path) or "$", render(of_any_row(path))


def _placeholders_of(value: Json) -> set[str]:
    if not isinstance(value, str) or not has_marker(value):
        return set()
    try:
        return {part.text for part in split(value) if isinstance(part, Token) and part.name != _VARIABLE}
    except InvalidInput:
        return set()
