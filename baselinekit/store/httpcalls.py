"""The HTTP calls of tests on file: one mapping of tests to their calls, each test the owner of its own."""

import os
from contextlib import suppress
from typing import Any

from baselinekit.documents.languages import YAML, dump_yaml
from baselinekit.documents.renewal import renewed
from baselinekit.documents.text import decode, encode
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.project import MAX_OUTPUT_BYTES, read, resolve
from baselinekit.tree.changes import Hints

FORMAT = "baselinekit.http-calls/1"
FOLDER = "cassettes"

Call = dict[str, Json]
Calls = dict[str, list[Call]]

_LARGEST_RENEWED = 2_000_000
"""Characters of a file in which comments are kept: beyond it is written as a whole, which takes less time."""


def read_calls(root: str, name: str) -> Calls:
    """By test; none where there is no such file. InvalidInput for one that is no cassette."""
    if not os.path.lexists(resolve(root, name)):
        return {}
    return _checked(_loaded(decode(read(root, name, MAX_OUTPUT_BYTES), name).body, name), name)


def keep_calls(root: str, name: str, test: str, calls: list[Call]) -> None:
    """Give a test these calls. Whatever other tests have put there in the meantime stays: the file is read
    again under its lock, and replaced whole."""
    path = resolve(root, name)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise NotRecorded(atomic.cannot_write(os.path.dirname(name), error)) from None
    with atomic.lock(root, name):
        body, bom = "", False
        known: Calls = {}
        if os.path.lexists(path):
            body, bom = decode(read(root, name, MAX_OUTPUT_BYTES), name)
            known = _checked(_loaded(body, name), name)
        wanted = {**known, test: calls}
        wanted = {one: wanted[one] for one in sorted(wanted) if wanted[one]}
        if wanted == known:
            return
        if not wanted:
            os.unlink(path)
            return
        atomic.replace_file(root, name, encode(_text(body, known, wanted), bom))


def _text(body: str, known: Calls, wanted: Calls) -> str:
    """The file with these calls in it, its comments and its layout kept where they can be."""
    if known and len(body) <= _LARGEST_RENEWED:
        with suppress(BaselinekitError):
            return renewed(body, 0, YAML, ("tests",), wanted, Hints(ordered=True))
    return dump_yaml({"format": FORMAT, "tests": wanted})


def _loaded(body: str, name: str) -> Any:
    documents = YAML.load(body, name)
    return documents[0] if len(documents) == 1 else None


def _checked(value: Any, name: str) -> Calls:
    tests = value.get("tests") if isinstance(value, dict) and value.get("format") == FORMAT else None
    if not isinstance(tests, dict) or not all(isinstance(calls, list) for calls in tests.values()):
        what = f"this is no cassette: `format: {FORMAT}` and `tests:` are expected"
        raise InvalidInput(Problem("BK631", what, "name another file, or remove it", Place(name)))
    for test, calls in tests.items():
        for number, call in enumerate(calls, 1):
            parts = (call.get("request"), call.get("response")) if isinstance(call, dict) else (None,)
            if not all(isinstance(part, dict) for part in parts):
                what = f"call {number} of {test} has no `request` or no `response`"
                raise InvalidInput(Problem("BK631", what, "remove it, and record it again", Place(name)))
    return tests
