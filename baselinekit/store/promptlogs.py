"""What is noted of a prompt folder in the folder itself: a line for each run of its cases (`.eval.jsonl`) and
for each time that the prompt was sent (`.usage.jsonl`).

A row is one line, appended by one write under the lock of the file and synced: there is never half of one
between two others. Lines of other tools are read too: keys that are not known are left alone, and a line that
cannot be read is told with its place and hides no other."""

import os
import stat
from collections.abc import Callable
from dataclasses import asdict
from typing import Generic, TypeVar

from baselinekit.documents import jsontext
from baselinekit.errors import BaselinekitError, NotRecorded, Place, Problem
from baselinekit.frozen import frozen
from baselinekit.model.prompts import EvalRow, UsageRow
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.project import MAX_OUTPUT_BYTES, read, resolve
from baselinekit.trust import check_inside

EVALS, USES = ".eval.jsonl", ".usage.jsonl"

Row = TypeVar("Row", EvalRow, UsageRow)

_OPTIONAL = ("graders", "inputs", "interrupted")
"""Keys of a row that are written only where they say something."""


# Written.


def note_evals(root: str, folder: str, row: EvalRow, hurry: atomic.Hurry | None = None) -> list[str]:
    """Append what came of a run of the folder's cases. Given back is what should be known of the file, or why
    nothing was noted: the verdict of the run stands anyhow."""
    written = {key: value for key, value in asdict(row).items() if value or key not in _OPTIONAL}
    return _noted(root, os.path.join(folder, EVALS), written, "this run", hurry)


def note_use(root: str, folder: str, row: UsageRow, hurry: atomic.Hurry | None = None) -> list[str]:
    """The same for one time that the prompt was sent."""
    return _noted(root, os.path.join(folder, USES), asdict(row), "this use", hurry)


def _noted(root: str, file: str, row: Json, what: str, hurry: atomic.Hurry | None) -> list[str]:
    try:
        with atomic.lock(root, file, hurry=hurry):
            return _append(root, file, jsontext.to_bytes(row) + b"\n")
    except BaselinekitError as error:
        why = "; ".join(one.message + (f" ({one.hint})" if one.hint else "") for one in error.problems)
        return [f"{what} of {os.path.dirname(file) or 'the prompt'} is not noted: {why}"]


def _append(root: str, file: str, line: bytes) -> list[str]:
    """One write. What a full disk took only a part of is taken back."""
    try:
        handle, is_new = _opened(root, file)
    except OSError as error:
        raise NotRecorded(atomic.cannot_write(file, error)) from None
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        data = b"\n" + line if torn else line
        try:
            rest = memoryview(data)[os.write(handle, data) :]
            while rest:  # as on a disk that is nearly full: the next write says why
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise
        if is_new:
            _sync_folder(resolve(root, os.path.dirname(file)))
    except OSError as error:
        raise NotRecorded(atomic.cannot_write(file, error)) from None
    finally:
        os.close(handle)
    what = "the last line had no line end, as when whoever wrote it was killed; the new row begins its own"
    return [f"{file}: {what}"] if torn else []


def _opened(root: str, file: str) -> tuple[int, bool]:
    """The file, and whether it was made. It is never a link, wherever that leads: what stands in a checkout
    is not to choose which file grows."""
    folder, name = os.path.split(file)
    path = os.path.join(resolve(root, folder), name)
    is_new = not os.path.lexists(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    if not is_new and not stat.S_ISREG(os.lstat(path).st_mode):
        raise NotRecorded(Problem("BK120", f"{file} is a link, or no regular file", "remove it"))
    handle = os.open(path, flags, 0o666)
    try:  # asked of the system, so that nobody can change a link to a folder in between
        opened = os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        opened = os.path.realpath(path)
    try:
        if not os.path.isabs(file):
            check_inside(os.path.realpath(root), opened, file)
    except BaseException:
        os.close(handle)
        raise
    return handle, is_new


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# Read.


@frozen
class Log(Generic[Row]):
    """The rows of a file, the oldest first; None for a line that cannot be read, of which a note says why."""

    file: str
    rows: tuple[Row | None, ...] = ()
    notes: tuple[Problem, ...] = ()

    @property
    def known(self) -> list[Row]:
        return [row for row in self.rows if row is not None]


def read_evals(root: str, folder: str) -> Log[EvalRow]:
    return _read(root, os.path.join(folder, EVALS), _eval_row)


def read_uses(root: str, folder: str) -> Log[UsageRow]:
    return _read(root, os.path.join(folder, USES), _usage_row)


class _NotARow(Exception):
    """Not an error: what is wrong with one line, of which the others know nothing."""


def _read(root: str, file: str, row_of: Callable[[Json], Row]) -> Log[Row]:
    """A file that is not there has no rows."""
    if not os.path.lexists(os.path.join(root, file)):
        return Log(file)
    rows: list[Row | None] = []
    notes: list[Problem] = []
    for number, line in enumerate(read(root, file, MAX_OUTPUT_BYTES).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = jsontext.decode(line.decode("utf-8"))
            rows.append(row_of(value))
        except (_NotARow, jsontext.NotJson, UnicodeDecodeError) as error:
            why = str(error) if isinstance(error, _NotARow) else "it is no JSON, or not all of it"
            rows.append(None)
            hint = "remove the line, or mend it; it counts for nothing"
            notes.append(Problem("BK768", f"a row that cannot be read: {why}", hint, Place(file, number)))
    return Log(file, tuple(rows), tuple(notes))


def _eval_row(value: Json) -> EvalRow:
    row = _mapping(value)
    scope = row.get("scope")
    if not (scope is None or isinstance(scope, str)):
        scope = _texts(row, "scope")
    return EvalRow(
        ts=_text(row, "ts") or "",
        all_passed=_flag(row, "all_passed"),
        total=_number(row, "total"),
        passed=_number(row, "passed"),
        failed_cases=_texts(row, "failed_cases"),
        scope=scope,
        content=_text(row, "content"),
        attempts=_number(row, "attempts") or 1,
        graders=_text(row, "graders"),
        inputs=_texts(row, "inputs"),
        interrupted=row.get("interrupted") is True,
    )


def _usage_row(value: Json) -> UsageRow:
    row = _mapping(value)
    verified = None if row.get("verified") is None else _flag(row, "verified")
    case, model, content = (_text(row, key) for key in ("case", "model", "content"))
    return UsageRow(_text(row, "ts") or "", _flag(row, "sent"), verified, case, model, content)


def _mapping(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _NotARow("it is no mapping")
    return value


def _flag(row: dict[str, Json], key: str) -> bool:
    """What decides: nobody guesses it."""
    if not isinstance(row.get(key), bool):
        raise _NotARow(f"`{key}` is " + ("neither true nor false" if key in row else "missing"))
    return bool(row[key])


def _number(row: dict[str, Json], key: str) -> int:
    value = row.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _NotARow(f"`{key}` is no count")
    return value


def _text(row: dict[str, Json], key: str) -> str | None:
    """What only explains may be anything: what is no text says nothing."""
    value = row.get(key)
    return value if isinstance(value, str) else None


def _texts(row: dict[str, Json], key: str) -> list[str]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _NotARow(f"`{key}` is no list of texts")
    return value
