"""The evidence for each placeholder that was learnt, one line for each place: how many replays, and which
values. A placeholder without a line was written by a person."""

from collections.abc import Iterable, Mapping

from baselinekit.lazy import lazy_pattern
from baselinekit.learning.templating import secrets_in
from baselinekit.learning.varying import Volatile
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import tokens_in
from baselinekit.report.values import short
from baselinekit.secrets.variables import Redactor
from baselinekit.values.paths import of_any_row, render
from baselinekit.values.places import places

MOST_VALUES = 3
"""How many values of each place are shown as examples."""

_LONGEST_VALUE = 40
_HIDDEN = "***"


def evidence_of(volatile: Iterable[Volatile], replays: int, redactor: Redactor) -> dict[str, str]:
    """Return one line for each place, as the file holds it: paths to texts. The values are masked already; as
    these lines are stored, values that merely look like secrets are hidden as well."""
    lines = {}
    for item in volatile:
        values = [_format_value(value, item.places[0], redactor) for value in item.values[:MOST_VALUES]]
        further = ", …" if len(item.values) > MOST_VALUES else ""
        rows = f" of {len(item.places)} rows" if len(item.places) > 1 else ""
        times = f"{replays} replay{'s' * (replays != 1)}"
        lines[render(item.path) or "$"] = f"{times}{rows}: {', '.join(values)}{further}"
    return lines


def _format_value(value: Json, path: Path, redactor: Redactor) -> str:
    is_secret = next(secrets_in(value, redactor, path), None) is not None
    return _HIDDEN if is_secret else short(value, _LONGEST_VALUE)


_INDEX = lazy_pattern(r"\[[0-9]+\]")
_VARIABLE = "var"
"""The placeholder of a variable: a capture writes it, and it stands for one value only."""


def evidence_for(path: Path, learnt: Mapping[str, str]) -> str | None:
    """Return the line about a place: its own, that of all rows, or that of another row, from which a refresh
    gave this place its placeholder."""
    own_line = next((learnt[key] for key in _evidence_keys(path) if key in learnt), None)
    if own_line is not None:
        return own_line
    shape = render(of_any_row(path))
    return next((line for key, line in learnt.items() if _INDEX.sub(".*", key) == shape), None)


def evidence_below(path: Path, learnt: Mapping[str, str]) -> bool:
    """Whether any line is about a place in the rows of an array."""
    rows = tuple(f"{key}{sign}" for key in _evidence_keys(path) for sign in ("[", ".*"))
    return any(key.startswith(rows) for key in learnt)


def is_handwritten(value: Json, path: Path, learnt: Mapping[str, str]) -> bool:
    """Whether a person wrote the placeholder at a place."""
    return bool(_placeholders_of(value)) and evidence_for(path, learnt) is None


def select_valid_evidence(learnt: Mapping[str, str], before: Json, after: Json) -> dict[str, str]:
    """Return the lines whose placeholder still stands at the same place: a refreshed output may have lost or
    replaced it."""
    old, new = _placeholders_by_key(learnt, before), _placeholders_by_key(learnt, after)
    return {key: line for key, line in learnt.items() if old.get(key, set()) & new.get(key, set())}


def _placeholders_by_key(learnt: Mapping[str, str], output: Json) -> dict[str, set[str]]:
    """Return the placeholders at the places that each line is about."""
    placeholders: dict[str, set[str]] = {}
    for path, value in places(output) if learnt else ():
        for key in _evidence_keys(path):
            if key in learnt:
                placeholders.setdefault(key, set()).update(_placeholders_of(value))
    return placeholders


def _evidence_keys(path: Path) -> tuple[str, str]:
    return render(path) or "$", render(of_any_row(path))


def _placeholders_of(value: Json) -> set[str]:
    tokens = tokens_in(value) if isinstance(value, str) else ()
    return {token.text for token in tokens if token.name != _VARIABLE}
