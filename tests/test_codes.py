"""Every code that is raised is explained, and every code that is explained is raised. The explanations are
pages of Markdown (baselinekit/codes/*.md), which are printed as they are: their form is checked here."""

import ast
import os
import re
from collections.abc import Iterator
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
WIDTH = 110
CODES = {code: meaning for family in FAMILIES.values() for code, meaning in read(family).items()}


@cache
def codes_used() -> dict[str, str]:
    """Each code that is a text of its own in the source, and a module that has it."""
    found = {}
    for module, source in architecture.package_of(ROOT).items():
        for node in architecture.nodes(source) if CODE.search(source) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                found[node.value] = module
    return found


def test_every_code_that_is_raised_is_explained() -> None:
    assert {code: module for code, module in codes_used().items() if code not in CODES} == {}


def test_every_code_that_is_explained_is_raised() -> None:
    assert sorted(set(CODES) - set(codes_used())) == []


def mistakes(begins: str, page: str) -> Iterator[str]:
    """What is wrong with a page, each with its line. `begins` is how its codes begin, such as BK1."""
    lines = page.split("\n")
    if not re.fullmatch(rf"# {begins}xx: \S.{{10,}}", lines[0]):
        yield f"1: not `# {begins}xx: what they are about`"
    for number, line in enumerate(lines, 1):
        if len(line) > WIDTH or line != line.rstrip():
            yield f"{number}: longer than {WIDTH}, or with a blank at its end"
        if line.startswith("    ") and lines[number - 2] and not lines[number - 2].startswith("    "):
            yield f"{number}: no empty line before an example, which Markdown needs"
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    if headings != sorted({heading for heading in headings if re.fullmatch(rf"{begins}\d\d", heading)}):
        yield f"the headings are not codes of {begins}xx in their order"
    for section in page.split("\n## ")[1:]:
        form = re.fullmatch(
            r"(BK\d{3})\n\n\*\*(\S[^*]{3,78}[^.*])\*\*\n\n(.{60,}\n)", section + "\n", re.DOTALL
        )
        if form is None:
            yield f"{section[:5]}: not an empty line, `**title**`, an empty line and a text that says enough"
            continue
        for paragraph in re.split(r"\n\n", form[3]):
            plain = "" if paragraph.startswith("    ") else re.sub(r"`[^`]*`", "", paragraph)
            if odd := re.search(r"`|[<\\*\[\]|]|~~|\b_|_\b|(?:^|\n)(?:#+|[>+-]|\d+[.)])\s", plain):
                yield f"{section[:5]}: {odd[0].strip()!r} means something to Markdown: put it between two `"


@pytest.mark.parametrize(("begins", "family"), FAMILIES.items())
def test_a_page_is_well_formed(begins: str, family: str) -> None:
    assert list(mistakes(begins, (PAGES / f"{family}.md").read_text("utf-8"))) == []


def test_a_malformed_page_is_found() -> None:
    assert len([*mistakes("BK1", "# Files\n\n## BK201\n\ntitle\n    x \n")]) == 5


def test_each_page_is_the_page_of_a_family() -> None:
    assert sorted(page.stem for page in PAGES.glob("*.md")) == sorted(FAMILIES.values())


def test_explain_knows_a_code_in_any_case_and_no_other() -> None:
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
        rows = (f"| [{code}]({page}#{code.lower()}) | {one.title} |\n" for code, one in read(family).items())
        text += f"\n## {about}\n\n| code | what happened |\n|---|---|\n" + "".join(rows)
    return text


def test_the_index_in_the_docs_is_complete() -> None:
    """BASELINEKIT_GOLDEN=write renews it."""
    there = INDEX.read_text("utf-8")
    wanted = index(there.partition("\n## ")[0])
    if os.environ.get("BASELINEKIT_GOLDEN") == "write":
        INDEX.write_text(wanted, "utf-8")
    else:
        assert there == wanted, "run: BASELINEKIT_GOLDEN=write pytest tests/test_codes.py"


def test_every_file_of_the_package_that_is_no_python_is_in_the_wheel() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    named: set[Path] = set()
    for package, globs in config["options.package_data"].items():
        folder = ROOT.joinpath(*package.split("."))
        named.update(path for glob in globs.split() for path in folder.glob(glob) if path.is_file())
    package_files = [path for path in (ROOT / architecture.PACKAGE).rglob("*") if path.is_file()]
    assert sorted(path for path in package_files if path.suffix not in (".py", ".pyc")) == sorted(named)
