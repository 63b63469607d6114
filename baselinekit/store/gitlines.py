"""Our lines in `.gitattributes` and `.gitignore`: between two comments, on top, so that what people wrote
below comes later, wins, and is byte for byte the same once ours are gone."""

import os
import re
from collections.abc import Iterable, Sequence

from baselinekit.documents.languages import SUFFIXES
from baselinekit.documents.text import BOM, newline
from baselinekit.store.state import NAME as STATE

ATTRIBUTES, IGNORE = ".gitattributes", ".gitignore"
DRIVER = "baselinekit"

_BEGIN = "# baselinekit (these lines: `baselinekit init --git`; without them: `baselinekit init --undo-git`)"
_END = "# baselinekit: end"
_BLOCK = re.compile(rf"^{re.escape(_BEGIN)}\r?\n(?:.*\n)*?{re.escape(_END)}(?:\r?\n|\Z)", re.MULTILINE)
_SPECIAL = re.compile(r"([\\*?\[\]])")
_IGNORED = (f"/{STATE}/", f".{DRIVER}-*.tmp")


def attributes(folders: Iterable[str]) -> list[str]:
    """The lines by which git knows the files with baselines in these folders (from the root)."""
    return [
        f"{_pattern(folder, ending)} merge={DRIVER} diff={DRIVER}"
        for folder in folders
        for ending in SUFFIXES
    ]


def ignored(text: str) -> list[str]:
    """What git is not to see, unless the file says so already in lines of its own."""
    own = {line.strip().strip("/") for line in without_block(text).splitlines()}
    return [line for line in _IGNORED if line.strip("/") not in own]


def with_block(text: str, lines: Sequence[str]) -> str:
    """The text with these lines of ours, in the place of those that were there."""
    rest = without_block(text)
    bom = BOM if rest.startswith(BOM) else ""
    end = newline(rest)
    block = "".join(f"{line}{end}" for line in (_BEGIN, *lines, _END)) if lines else ""
    return bom + block + rest.removeprefix(bom)


def without_block(text: str) -> str:
    bom = BOM if text.startswith(BOM) else ""
    return bom + _BLOCK.sub("", text.removeprefix(bom), count=1)


def names_driver(text: str) -> bool:
    return f"merge={DRIVER}" in text


def _pattern(folder: str, ending: str) -> str:
    """Every file with this ending in a folder, as git wants it written."""
    inside = os.path.normpath(folder).replace(os.sep, "/")
    escaped = _SPECIAL.sub(r"\\\1", inside)
    pattern = f"*{ending}" if inside == "." else f"/{escaped}/**/*{ending}"
    if not re.search(r'[\s"]', pattern):
        return pattern
    return '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'
