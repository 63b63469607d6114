"""The JSON Schema, where the first line of a file that we have written says that an editor finds it."""

import json
import os
from collections.abc import Callable
from typing import Any

from baselinekit.errors import NotRecorded
from baselinekit.store import atomic, state
from baselinekit.store.validate import json_schema


def reference(
    root: str, folder: str, of: str = "baseline", schema: Callable[[], dict[str, Any]] = json_schema
) -> str:
    """The schema's path as it is written from a folder of the project; the file is brought up to date."""
    text = json.dumps(schema(), indent=1) + "\n"
    path = os.path.join(state.NAME, f"{of}.schema.json")
    try:
        state.folder(root)
        if _read(os.path.join(root, path)) != text:
            atomic.replace_file(root, path, text.encode(), sync=False)
    except NotRecorded:
        pass  # an editor without a schema is no reason not to capture
    return os.path.relpath(os.path.join(root, path), os.path.join(root, folder))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
