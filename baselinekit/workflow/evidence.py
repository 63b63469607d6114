"""What stands behind each placeholder that was learnt: how many replays, and which values."""

from collections.abc import Iterable

from baselinekit.model.values import Json, Path
from baselinekit.refresh.learning import Volatile
from baselinekit.report.values import short
from baselinekit.tree.paths import render
from baselinekit.variables import Redactor
from baselinekit.workflow.learning import MOST_VALUES, secrets_in

_LONGEST_VALUE = 40
_HIDDEN = "***"


def evidence_of(volatile: Iterable[Volatile], replays: int, redactor: Redactor) -> dict[str, str]:
    """One line for each place, as the file states it: paths to texts. The values are masked already; what
    looks like a secret by its form alone is left out as well, because it goes into a file."""
    lines = {}
    for one in volatile:
        values = [_evident(value, one.places[0], redactor) for value in one.values[:MOST_VALUES]]
        more = ", …" if len(one.values) > MOST_VALUES else ""
        rows = f" of {len(one.places)} rows" if len(one.places) > 1 else ""
        times = f"{replays} replay{'s' * (replays != 1)}"
        lines[render(one.path) or "$"] = f"{times}{rows}: {', '.join(values)}{more}"
    return lines


def _evident(value: Json, path: Path, redactor: Redactor) -> str:
    is_secret = next(secrets_in(value, redactor, path), None) is not None
    return _HIDDEN if is_secret else short(value, _LONGEST_VALUE)
