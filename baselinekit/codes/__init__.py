"""What each error code means and how to mend it: what `baselinekit explain BK101` prints.

The texts are Markdown pages beside this file, one for each family of codes. A page is read when one of its
codes is explained, and never otherwise: raising an error needs no text of it."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

FAMILIES = {
    "BK1": "files",
    "BK2": "rules",
    "BK3": "replay",
    "BK4": "trust",
    "BK5": "usage",
    "BK6": "models",
    "BK7": "evals",
}
"""How the codes of a family begin, and the name of their page."""


class Code(NamedTuple):
    """`title` names the case in a few words; `text` says why it is an error and what to do, with an example."""

    title: str
    text: str


def explain(code: str) -> Code | None:
    """The meaning of a code, or None for one that does not exist."""
    code = code.upper()
    family = FAMILIES.get(code[:3])
    return read(family).get(code) if family else None


@cache
def read(family: str) -> dict[str, Code]:
    """All codes of a page. tests/test_codes.py holds the form of the pages: `## CODE`, `**title**`, text."""
    page = Path(__file__).with_name(f"{family}.md").read_text("utf-8")
    sections = [section.split("\n\n", 2) for section in page.split("\n## ")[1:]]
    return {code: Code(title.strip("*"), text.rstrip("\n")) for code, title, text in sections}
