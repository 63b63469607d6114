"""Which baselines did not pass when they were last compared: what `--lf` asks for."""

import json
import os

from baselinekit.errors import NotRecorded
from baselinekit.model.results import Report
from baselinekit.store import atomic, state

_NAME = "last-run.json"


def not_passed(root: str) -> frozenset[str]:
    """The ids; none when nobody has compared yet, or when what was kept cannot be read."""
    try:
        with open(os.path.join(root, state.NAME, _NAME), encoding="utf-8") as file:
            kept = json.load(file)
    except (OSError, ValueError):
        return frozenset()
    return frozenset(kept) if isinstance(kept, list) else frozenset()


def remember(root: str, report: Report) -> None:
    """Those of this run, and of earlier runs those that this one did not cover. State that cannot be kept
    (a read-only checkout) fails nothing."""
    covered = {result.id for result in report.results if result.outcome != "skipped"}
    failed = {result.id for result in report.results if result.outcome in ("failed", "error", "unscored")}
    ids = sorted((not_passed(root) - covered) | failed)
    try:
        state.folder(root)
        atomic.replace_file(root, os.path.join(state.NAME, _NAME), json.dumps(ids).encode(), sync=False)
    except NotRecorded:
        return
