"""What came back from a replay that failed, kept so that a refresh approves exactly what was seen."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from typing import TYPE_CHECKING

from baselinekit.documents.jsontext import dump_json, load_json
from baselinekit.documents.text import decode
from baselinekit.errors import InvalidInput, NotRecorded, Problem
from baselinekit.schema.records import NULLABLE_TEXT, TEXT, Field, RecordForm, RecordReader, paths, texts
from baselinekit.store import atomic
from baselinekit.store.checks import check_id
from baselinekit.store.files import MAX_OUTPUT_BYTES, read

if TYPE_CHECKING:  # where all passes, nothing is kept
    from baselinekit.model.changes import Seen

_FOLDER = "pending"
_DEEPER = 2
"""Levels of nesting around an output."""


@cache
def _form() -> RecordForm[Seen]:
    from baselinekit.model.changes import Seen

    return RecordForm(
        Seen,
        **dict.fromkeys(("id", "recipe_hash", "compared_with", "captured_at"), TEXT),
        **dict.fromkeys(("environment", "observed"), Field(dict)),
        masked=paths(),
        unsettled=texts(),
        settled=texts(),
        troubles=texts(optional=True),  # which earlier versions did not write
        variant=Field(int, type(None)),
        flaw=NULLABLE_TEXT,
        resolved=Field(),
    )


def save(root: str, seen: Seen) -> None:
    """Keep it, in the place of what was kept before. It can be had again, so nothing waits for the disk. What
    would be too large to be read again is not kept at all."""
    name = _name(seen.id)
    atomic.state_folder(root, _FOLDER)
    data = dump_json(_form().write(seen)).encode("utf-8")
    if len(data) > MAX_OUTPUT_BYTES:
        drop(root, seen.id)
        what = f"what {seen.id} answered is larger than {MAX_OUTPUT_BYTES:,} bytes"
        raise NotRecorded(Problem("BK106", what, "make it answer with less"))
    atomic.replace_file(root, name, data, sync=False)


def load(root: str, id: str) -> Seen | None:
    """What was kept, if anything was."""
    name = _name(id)
    if not os.path.lexists(os.path.join(root, name)):
        return None
    payload = load_json(decode(read(root, name, MAX_OUTPUT_BYTES), name).body, name, _DEEPER)
    reader = RecordReader()
    seen = _form().read(payload, (), reader)
    if seen is None or reader.problems or seen.id != id:
        hint = "remove it, and run baselinekit compare again"
        raise InvalidInput(Problem("BK111", f"{name} does not hold what a compare writes", hint))
    return seen


def ids(root: str) -> frozenset[str]:
    """The ids of which something is kept."""
    try:
        names = os.listdir(os.path.join(root, atomic.STATE_FOLDER, _FOLDER))
    except OSError:
        return frozenset()
    return frozenset(name.removesuffix(".json") for name in names if name.endswith(".json"))


def drop(root: str, id: str) -> None:
    """Forget it: it is approved, or it passes again. State that cannot be touched fails nothing."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(root, _name(id)))


def _name(id: str) -> str:
    problems = list(check_id(id))
    if problems:
        raise InvalidInput(*problems)
    return os.path.join(atomic.STATE_FOLDER, _FOLDER, f"{id}.json")
