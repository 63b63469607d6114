"""The evidence for each placeholder that was learnt: how many replays, and which values."""

from collections.abc import Iterable

from baselinekit.commands.learning import MOST_VALUES
from baselinekit.commands.templating import secrets_in
from baselinekit.learning.learning import Volatile
from baselinekit.model.values import Json, Path
from baselinekit.report.values import short
from baselinekit.secrets.variables import Redactor
from baselinekit.values.paths import render

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
