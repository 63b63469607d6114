"""The logs in a prompt folder: a line for each run of its cases (`.eval.jsonl`) and for each time that the
prompt was sent (`.usage.jsonl`).

A row is one line, appended by one write under the lock of the file and synced, so a partial row is never
followed by another on the same line. Lines of other tools are read too: unknown keys are ignored, and a line
that cannot be read is reported with its place and does not affect others."""

import os
from contextlib import suppress
from typing import Generic, TypeVar

from baselinekit.errors import BaselinekitError, Place, Problem
from baselinekit.files import jsontext
from baselinekit.model.prompts import EvalRow, UsageRow
from baselinekit.model.values import Json
from baselinekit.schema import read_as
from baselinekit.store import atomic
from baselinekit.store.project import MAX_OUTPUT_BYTES, check_open_file, read, resolve
from baselinekit.structs import Struct, asdict

EVALS, USES = ".eval.jsonl", ".usage.jsonl"

Row = TypeVar("Row", EvalRow, UsageRow)

_FILES: dict[type[Struct], tuple[str, str]] = {EvalRow: (EVALS, "this run"), UsageRow: (USES, "this use")}
_OPTIONAL = ("graders", "inputs", "interrupted")
"""Keys of a row that are written only if they have a value."""


# Writing.


def note(root: str, folder: str, row: EvalRow | UsageRow) -> list[str]:
    """Append a row. Returns notes about the file, or the reason why nothing was appended: the verdict of the
    run does not depend on it."""
    name, subject = _FILES[type(row)]
    file = os.path.join(folder, name)
    content = {key: value for key, value in asdict(row).items() if value or key not in _OPTIONAL}
    try:
        with atomic.lock(root, file, lambda: atomic.SHORT_WAIT):
            return _append_line(root, file, jsontext.to_bytes(content) + b"\n")
    except BaselinekitError as error:
        reason = "; ".join(
            problem.message + (f" ({problem.hint})" if problem.hint else "") for problem in error.problems
        )
        return [f"{subject} of {folder or 'the prompt'} is not noted: {reason}"]


def _append_line(root: str, file: str, line: bytes) -> list[str]:
    folder, name = os.path.split(file)
    path = os.path.join(resolve(root, folder), name)
    log = atomic.open_log(path, file, 0o666)
    try:
        check_open_file(root, log, path, file)
        size = os.fstat(log).st_size
        is_torn = size > 0 and os.pread(log, 1, size - 1) != b"\n"
        atomic.append(log, file, b"\n" + line if is_torn else line)
        with atomic.reporting(file):
            os.fsync(log)
    finally:
        os.close(log)
    message = "the last line had no line end, as after a kill; the new row begins a line of its own"
    return [f"{file}: {message}"] if is_torn else []


# Reading.


class Log(Struct, Generic[Row]):
    """The rows of a file, the oldest first. A line that cannot be read is None, and a note says why."""

    file: str
    rows: tuple[Row | None, ...] = ()
    notes: tuple[Problem, ...] = ()

    @property
    def known(self) -> list[Row]:
        return [row for row in self.rows if row is not None]


def read_rows(root: str, folder: str, kind: type[Row]) -> Log[Row]:
    """Read the rows of a folder. A file that does not exist has no rows."""
    file = os.path.join(folder, _FILES[kind][0])
    if not os.path.lexists(os.path.join(root, file)):
        return Log(file)
    rows: list[Row | None] = []
    notes: list[Problem] = []
    for number, line in enumerate(read(root, file, MAX_OUTPUT_BYTES).split(b"\n"), 1):
        if not line.strip():
            continue
        row, reason = None, "it is no JSON, or not all of it"
        with suppress(jsontext.NotJson, UnicodeDecodeError):
            row, reason = _row(kind, jsontext.decode(line.decode("utf-8")))
        rows.append(row)
        if row is None:
            hint = "remove the line, or fix it; it counts for nothing"
            notes.append(Problem("BK768", f"a row that cannot be read: {reason}", hint, Place(file, number)))
    return Log(file, tuple(rows), tuple(notes))


def _row(kind: type[Row], value: Json) -> tuple[Row | None, str]:
    """Return the row, or what is wrong with it. Another tool may add keys, and leave out the time."""
    if not isinstance(value, dict):
        return None, "it is no mapping"
    known = {key: value[key] for key in kind.__struct_fields__ if value.get(key) is not None}
    row, problems = read_as(kind, {"ts": "", **known})
    return row, "; ".join(
        f"{'.'.join(map(str, problem.at or ()))}: {problem.message}" for problem in problems
    )
