"""The JSON Schema, at the path that the first line of the written files tells editors."""

import os
from collections.abc import Callable
from contextlib import suppress

from baselinekit.errors import NotRecorded
from baselinekit.store import atomic


def baseline_schema() -> str:
    """Return the schema of a baseline file from the package. Making it from the classes would take longer
    than the rest of the capture of a small output."""
    with open(os.path.join(os.path.dirname(__file__), "baseline.schema.json"), encoding="utf-8") as file:
        return file.read()


def reference(
    root: str, folder: str, subject: str = "baseline", schema: Callable[[], str] = baseline_schema
) -> str:
    """Update the schema file, and return its path relative to a folder of the project."""
    text = schema()
    path = os.path.join(atomic.STATE_FOLDER, f"{subject}.schema.json")
    full, is_current = os.path.join(root, path), False
    with suppress(OSError, UnicodeDecodeError), open(full, encoding="utf-8") as file:
        is_current = file.read() == text
    if not is_current:
        with suppress(NotRecorded):  # a capture does not fail because editors lack a schema
            atomic.write_state(root, path, text.encode())
    return os.path.relpath(full, os.path.join(root, folder))
