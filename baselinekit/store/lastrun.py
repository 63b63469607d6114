"""Which baselines did not pass when they were last compared, and which cases when they were last run: what
`--lf` asks for."""

import json
import os

from baselinekit.documents import jsonfile
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError
from baselinekit.model.results import Report
from baselinekit.store import atomic, state
from baselinekit.store.files import MAX_OUTPUT_BYTES, read

COMPARED = os.path.join(state.NAME, "last-run.json")
TRIED = os.path.join(state.NAME, "last-evals.json")


def not_passed(root: str, file: str = COMPARED) -> frozenset[str]:
    """The ids; none when nobody has compared yet, or when what was kept cannot be read."""
    try:
        kept = jsonfile.load(decode(read(root, file, MAX_OUTPUT_BYTES), file).body, file)
    except BaselinekitError:
        return frozenset()
    return frozenset(id for id in kept if isinstance(id, str)) if isinstance(kept, list) else frozenset()


def remember(root: str, report: Report, file: str = COMPARED) -> None:
    """Those of this run, and of earlier runs those that this one did not cover. State that cannot be kept
    (a read-only checkout) fails nothing."""
    covered = {result.id for result in report.results if result.outcome != "skipped"}
    failed = {result.id for result in report.results if result.outcome in ("failed", "error", "unscored")}
    ids = sorted((not_passed(root, file) - covered) | failed)
    try:
        state.folder(root)
        atomic.replace_file(root, file, json.dumps(ids).encode(), sync=False)
    except BaselinekitError:
        return
