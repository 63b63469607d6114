"""Files of recorded HTTP calls: a mapping from tests to their calls. A test only changes its own calls."""

import os
from contextlib import suppress
from typing import Any

from baselinekit.documents.languages import YAML, dump_yaml
from baselinekit.documents.renewal import replace_value
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

_MAX_RENEWED_CHARS = 2_000_000
"""Characters of a file in which comments are kept. Larger files are written as a whole, which is faster."""


def read_calls(root: str, name: str) -> Calls:
    """Return the calls by test; none if there is no file. InvalidInput if the file is no cassette."""
    if not os.path.lexists(resolve(root, name)):
        return {}
    return _check_calls(_load_document(decode(read(root, name, MAX_OUTPUT_BYTES), name).body, name), name)


def keep_calls(root: str, name: str, test: str, calls: list[Call]) -> None:
    """Replace the calls of a test. What other tests have written in the meantime stays: the file is read
    again under its lock, and replaced as a whole."""
    path = resolve(root, name)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise NotRecorded(atomic.cannot_write(os.path.dirname(name), error)) from None
    with atomic.lock(root, name):
        body, bom = "", False
        old_calls: Calls = {}
        if os.path.lexists(path):
            body, bom = decode(read(root, name, MAX_OUTPUT_BYTES), name)
            old_calls = _check_calls(_load_document(body, name), name)
        new_calls = {**old_calls, test: calls}
        new_calls = {key: new_calls[key] for key in sorted(new_calls) if new_calls[key]}
        if new_calls == old_calls:
            return
        if not new_calls:
            os.unlink(path)
            return
        atomic.replace_file(root, name, encode(_render_calls(body, old_calls, new_calls), bom))


def _render_calls(body: str, old_calls: Calls, new_calls: Calls) -> str:
    """Return the text of the file with the new calls. Comments and layout are kept where possible."""
    if old_calls and len(body) <= _MAX_RENEWED_CHARS:
        with suppress(BaselinekitError):
            return replace_value(body, 0, YAML, ("tests",), new_calls, Hints(ordered=True))
    return dump_yaml({"format": FORMAT, "tests": new_calls})


def _load_document(body: str, name: str) -> Any:
    documents = YAML.load(body, name)
    return documents[0] if len(documents) == 1 else None


def _check_calls(value: Any, name: str) -> Calls:
    tests = value.get("tests") if isinstance(value, dict) and value.get("format") == FORMAT else None
    if not isinstance(tests, dict) or not all(isinstance(calls, list) for calls in tests.values()):
        message = f"this is no cassette: `format: {FORMAT}` and `tests:` are expected"
        raise InvalidInput(Problem("BK631", message, "name another file, or remove it", Place(name)))
    for test, calls in tests.items():
        for number, call in enumerate(calls, 1):
            parts = (call.get("request"), call.get("response")) if isinstance(call, dict) else (None,)
            if not all(isinstance(part, dict) for part in parts):
                message = f"call {number} of {test} has no `request` or no `response`"
                raise InvalidInput(Problem("BK631", message, "remove it, and record it again", Place(name)))
    return tests
