"""Every code that is raised is explained, and every code that is explained is raised. The explanations are
pages of Markdown (baselinekit/codes/*.md), and docs/codes.md lists them."""

import ast
import os
import re
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import architecture
import pytest

from baselinekit.codes import FAMILIES, Code, explain, read

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "baselinekit/codes"
INDEX = ROOT / "docs/codes.md"
CODE = re.compile(r"BK\d{3}")
TO_MARKDOWN = re.compile(r"[<\\*\[\]|]|~~|\b_|_\b|^(?:#+|[>+-]|\d+[.)])\s", re.MULTILINE)
"""What Markdown would not show as it is; the printed page is the Markdown itself."""

CODES = {code: meaning for family in FAMILIES.values() for code, meaning in read(family).items()}


@cache
def codes_used() -> dict[str, str]:
    """Each code that is a text of its own in the source, with its module."""
    return {
        node.value: module
        for module, source in architecture.package_of(ROOT).items()
        if CODE.search(source)
        for node in architecture.nodes(source)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value)
    }


def test_codes_raised_are_explained() -> None:
    assert {code: module for code, module in codes_used().items() if code not in CODES} == {}


def test_codes_explained_are_raised() -> None:
    assert sorted(set(CODES) - set(codes_used())) == []


def test_code_pages_are_the_families() -> None:
    assert sorted(page.stem for page in PAGES.glob("*.md")) == sorted(FAMILIES.values())


@pytest.mark.parametrize(("begins", "family"), FAMILIES.items())
def test_code_page_is_well_formed(begins: str, family: str) -> None:
    page = (PAGES / f"{family}.md").read_text("utf-8")
    assert re.match(rf"# {begins}xx: \S.{{10,}}\n\n## ", page)
    assert page.rstrip("\n") + "\n" == page
    codes = [*read(family)]
    assert codes == sorted(code for code in codes if re.fullmatch(begins + r"\d\d", code))
    assert codes == re.findall(r"^## (\S+)\n\n\*\*[^*\n]{5,80}(?<!\.)\*\*\n\n", page, re.MULTILINE)
    odd_lines = [
        line for line in page.split("\n") if len(line) > 110 or line != line.rstrip() or "\t" in line
    ]
    assert odd_lines == []


@pytest.mark.parametrize("code", CODES)
def test_code_text_is_shown_by_markdown_as_printed(code: str) -> None:
    assert len(CODES[code].text) > 60
    for paragraph in CODES[code].text.split("\n\n"):
        is_example = [line.startswith("    ") for line in paragraph.split("\n") if line]
        assert len(set(is_example)) == 1, "an empty line is around an example"
        if not is_example[0]:
            assert paragraph.count("`") % 2 == 0
            assert not TO_MARKDOWN.search(re.sub(r"`[^`]*`", "", paragraph)), "put it between two `"


def test_explain_code_in_any_case() -> None:
    code = explain("bk501")
    assert isinstance(code, Code)
    assert code == CODES["BK501"]
    others = ("BK000", "BK999", "BK1", "BK10", "", "difference/value")
    assert [explain(other) for other in others] == [None] * len(others)


def index(introduction: str) -> str:
    """docs/codes.md: an introduction, and every code with its title, as the pages have them."""
    text = introduction
    for family in FAMILIES.values():
        page = f"../baselinekit/codes/{family}.md"
        about = (ROOT / "docs" / page).read_text("utf-8").splitlines()[0].removeprefix("# ")
        text += f"\n## {about}\n\n"
        for code, meaning in read(family).items():
            text += f"- [{code}]({page}#{code.lower()}) {meaning.title}\n"
    return text


def test_codes_index_in_docs_is_complete() -> None:
    """BASELINEKIT_GOLDEN=write renews it."""
    shown = INDEX.read_text("utf-8")
    wanted = index(shown.partition("\n## ")[0])
    if os.environ.get("BASELINEKIT_GOLDEN") == "write":
        INDEX.write_text(wanted, "utf-8")
    else:
        assert shown == wanted, "run: BASELINEKIT_GOLDEN=write pytest tests/test_codes.py"


def test_package_data_includes_every_file() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    named: set[Path] = set()
    for package, globs in config["options.package_data"].items():
        folder = ROOT.joinpath(*package.split("."))
        named.update(path for glob in globs.split() for path in folder.glob(glob) if path.is_file())
    package_files = [path for path in (ROOT / architecture.PACKAGE).rglob("*") if path.is_file()]
    others = [path for path in package_files if path.suffix not in (".py", ".pyc")]
    assert sorted(others) == sorted(named)
