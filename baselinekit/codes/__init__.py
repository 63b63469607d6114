"""What each error code means and how to fix it: the texts of `baselinekit explain BK101`.

They are Markdown pages beside this file, one for each family of codes. A page is read only when one of its
codes is explained: raising an error needs none of these texts."""

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
"""The prefixes of the families of codes, and the names of their pages."""


class Code(NamedTuple):
    """`title` names the error in a few words; `text` explains why it is one and what to do, with an example."""

    title: str
    text: str


def explain(code: str) -> Code | None:
    """Return the meaning of a code, None if it does not exist."""
    code = code.upper()
    family = FAMILIES.get(code[:3])
    return read(family).get(code) if family else None


@cache
def read(family: str) -> dict[str, Code]:
    """Read all codes of a page. tests/test_codes.py checks the form of the pages: `## CODE`, `**title**`,
    text."""
    page = Path(__file__).with_name(f"{family}.md").read_text("utf-8")
    sections = [section.split("\n\n", 2) for section in page.split("\n## ")[1:]]
    return {code: Code(title.strip("*"), text.rstrip("\n")) for code, title, text in sections}
