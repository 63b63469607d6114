"""Every code that is raised is explained, and every code that is explained is raised. The explanations are
pages of Markdown (baselinekit/codes/*.md), whose form and place are checked here."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from itertools import pairwise
from pathlib import Path

import architecture
import pytest

from baselinekit.codes import FAMILIES, Code, explain, read

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "baselinekit/codes"
INDEX = ROOT / "docs/codes.md"
CODE = re.compile(r"BK\d{3}")
WIDTH = 110


def used(package: architecture.Package) -> Iterator[tuple[str, str]]:
    """(code, module) for every code that stands as a text of its own in the source."""
    for module, source in package.items():
        if not CODE.search(source):
            continue
        for node in architecture.nodes(source):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                yield node.value, module


@cache
def codes_used() -> dict[str, str]:
    return dict(used(architecture.package_of(ROOT)))


CODES = {code: meaning for family in FAMILIES.values() for code, meaning in read(family).items()}


def test_every_code_that_is_raised_is_explained() -> None:
    assert {code: module for code, module in codes_used().items() if code not in CODES} == {}


def test_every_code_that_is_explained_is_raised() -> None:
    assert sorted(set(CODES) - set(codes_used())) == []


def mistakes(name: str, begins: str, page: str) -> Iterator[str]:
    """What is wrong with a page, as `files.md:12: what`. `begins` is how its codes begin, such as BK1."""
    lines = page.split("\n")
    if not re.fullmatch(rf"# {begins}xx: \S.{{10,}}", lines[0]):
        yield f"{name}:1: the first line is not `# {begins}xx: what they are about`"
    if not page.endswith("\n") or page.endswith("\n\n"):
        yield f"{name}:{len(lines)}: the page does not end with one line feed"
    for number, line in enumerate(lines, 1):
        yield from (
            f"{name}:{number}: {what}" for what in _of_a_line(line, lines[number - 2], lines[number:])
        )
    headings = [number for number, line in enumerate(lines) if line.startswith("## ")]
    if not headings:
        yield f"{name}:1: no code is explained"
    before = begins
    for start, end in pairwise([*headings, len(lines)]):
        code = lines[start].removeprefix("## ")
        if not CODE.fullmatch(code) or not code.startswith(begins):
            yield f"{name}:{start + 1}: the heading {code!r} is no code of {begins}xx"
        elif code <= before:
            yield f"{name}:{start + 1}: {code} stands after {before}"
        before = max(before, code)
        yield from (f"{name}:{start + 1 + at}: {what}" for at, what in _of_a_code(lines[start:end]))


def _of_a_line(line: str, before: str, following: list[str]) -> Iterator[str]:
    """The printed page is the Markdown itself, so a line is right for both readers."""
    if len(line) > WIDTH:
        yield f"the line has {len(line)} characters, more than {WIDTH}"
    if line != line.rstrip() or "\t" in line:
        yield "the line ends with a blank, or has a tab in it"
    example = line.startswith("    ")
    if example and before and not before.startswith("    "):
        yield "no empty line stands before the example: Markdown would take it for more of the paragraph"
    if example and following and following[0] and not following[0].startswith("    "):
        yield "no empty line stands after the example"
    if not example and line.startswith(" "):
        yield "the line is indented by less than the four blanks of an example"
    if not line and following and not following[0] and len(following) > 1:
        yield "two empty lines follow each other"


def _of_a_code(lines: list[str]) -> Iterator[tuple[int, str]]:
    """(number of lines below the heading, what is wrong)."""
    title = re.fullmatch(r"\*\*(\S.*\S)\*\*", lines[2]) if len(lines) > 4 else None
    if not title or lines[1] or lines[3]:
        yield 0, "below the heading an empty line, `**title**`, an empty line and the text are expected"
        return
    if not 5 <= len(title[1]) <= 80 or title[1].endswith(".") or "**" in title[1]:
        yield 2, "a title is 5 to 80 characters long and ends without a full stop"
    if len("\n".join(lines[4:]).strip()) <= 60:
        yield 4, "the text says too little"
    paragraph: list[str] = []
    for at, line in enumerate([*lines[4:], ""], 4):
        if line and not line.startswith("    "):
            paragraph.append(line)
            continue
        yield from ((at - len(paragraph), what) for what in _of_a_paragraph("\n".join(paragraph)))
        paragraph = []


def _of_a_paragraph(text: str) -> Iterator[str]:
    """What Markdown would not show as it stands there."""
    if text.count("`") % 2:
        yield "a ` has no second one in its paragraph"
    plain = re.sub(r"`[^`]*`", "", text)
    if odd := re.search(r"[<\\*\[\]|]|~~|\b_|_\b|(?:^|\n)(?:#+|[>+-]|\d+[.)])\s", plain):
        yield f"{odd[0].strip()!r} means something to Markdown: put it between two `"


@pytest.mark.parametrize(("begins", "family"), FAMILIES.items())
def test_a_page_is_well_formed(begins: str, family: str) -> None:
    page = (PAGES / f"{family}.md").read_text("utf-8")
    assert list(mistakes(f"baselinekit/codes/{family}.md", begins, page)) == []


def test_each_page_is_the_page_of_a_family() -> None:
    assert sorted(page.stem for page in PAGES.glob("*.md")) == sorted(FAMILIES.values())


GOOD = """# BK1xx: files that cannot be read

## BK101

**a file that is no YAML**

The place is where the reader gave up; the mistake is there, or just before it.

    name: "Users: the list"

The line itself is not shown.

## BK102

**a repeated key**

Both lines are named: remove one of the two keys, for a reader silently takes the last.
"""


def test_a_good_page_has_no_mistake() -> None:
    assert list(mistakes("a.md", "BK1", GOOD)) == []


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("# BK1xx: files", "# Files", "a.md:1: "),
        ("## BK101", "## BK201", "a.md:3: "),
        ("## BK101", "## BK101: YAML", "a.md:3: "),
        ("## BK101", "## BK103", "a.md:13: "),
        ("## BK102", "## BK101", "a.md:13: "),
        ("## BK102", "### BK102", "a.md:13: '###' means"),
        ("**a file that is no YAML**", "a file that is no YAML", "a.md:3: "),
        ("**a file that is no YAML**", "**a file.**", "a.md:5: "),
        ("YAML**\n\nThe", "YAML**\nThe", "a.md:3: "),
        ("before it.\n\n    name", "before it.\n    name", "a.md:8: no empty line"),
        ('list"\n\nThe line', 'list"\nThe line', "a.md:9: no empty line"),
        ("    name:", "  name:", "a.md:9: "),
        ("gave up;", "`gave up;", "a.md:7: a ` has"),
        ("gave up;", "<<gave>> up;", "a.md:7: '<' means"),
        ("The line itself", "- The line itself", "a.md:11: '-' means"),
        ("is not shown.", "is not shown. ", "a.md:11: the line ends"),
        ("is not shown.", "is not shown: " + 100 * "x", "a.md:11: the line has"),
        ("is not shown.\n\n", "is not shown.\n\n\n", "a.md:12: two empty"),
        ("Both lines are named: remove one of the two keys, for a reader silently", "It", "a.md:17: "),
        (GOOD[GOOD.index("\n## BK101") :], "", "a.md:1: no code"),
        ("last.\n", "last.", "a.md:17: "),
    ],
)
def test_a_malformed_page_is_told_with_file_and_line(old: str, new: str, place: str) -> None:
    assert GOOD.count(old) == 1
    told = list(mistakes("a.md", "BK1", GOOD.replace(old, new)))
    assert [line for line in told if line.startswith(place)], told


def test_explain_knows_a_code_in_any_case_and_no_other() -> None:
    code = explain("bk501")
    assert isinstance(code, Code)
    assert code == CODES["BK501"]
    assert [explain(other) for other in ("BK000", "BK999", "BK1", "BK10", "", "difference/value")] == [
        None
    ] * 6


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
    others = [path for path in package_files if path.suffix not in (".py", ".pyc")]
    assert sorted(others) == sorted(named)


EACH_IN_A_CHILD = """
import json, os, sys
from baselinekit.cli.main import main
for words, folder in json.loads(sys.stdin.read()):
    if not os.fork():
        os.chdir(folder)
        sys.argv = ["baselinekit", *words]
        opened = []
        def note(event, given):
            if event == 'open' and isinstance(given[0], (str, os.PathLike)):
                opened.append(os.fspath(given[0]))
        sys.addaudithook(note)
        try:
            main()
        except SystemExit:
            pass
        pages = [os.path.basename(name) for name in opened if name.endswith('.md')]
        print("\\npages:", json.dumps(pages), flush=True)
        os._exit(0)
    os.wait()
"""


def pages_read_by(lines: list[str], folder: Path) -> dict[str, list[str]]:
    """Which pages each command opens that is the first of its process: the imports are paid for once."""
    runs = []
    for number, line in enumerate(lines):
        (folder / f"{number}/baselines").mkdir(parents=True)
        (folder / f"{number}/baselines/says.yaml").write_text(BASELINES, "utf-8")
        runs.append((line.split(), str(folder / str(number))))
    ran = subprocess.run(
        [sys.executable, "-c", EACH_IN_A_CHILD],
        input=json.dumps(runs),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = re.findall(r"^pages: (.*)$", ran.stdout, re.MULTILINE)
    assert len(told) == len(lines), ran.stdout + ran.stderr
    return dict(zip(lines, map(json.loads, told), strict=True))


BASELINES = """
- id: differs
  current:
    input: {argv: [python, -c, 'print(1)']}
    execution: {type: command}
  baseline:
    output: {exit_code: 0, stdout: "2\\n"}
- id: nobody-answers
  current:
    input: {method: GET, url: 'http://127.0.0.1:9/'}
    execution: {type: http}
  baseline:
    output: {status: 200}
"""


@pytest.mark.slow
def test_a_page_is_read_only_where_a_code_of_it_is_explained(tmp_path: Path) -> None:
    pages: dict[str, list[str]] = {
        "explain BK301": ["replay.md"],
        "explain BK999": [],
        "compare": [],
        "compare --allow-exec": [],
        "compare --id nothing": [],
        "compare --allow-exec --id differs -o out.html -o out.sarif": [],
        "compare --allow-exec -o out.html": ["replay.md"],
        "compare --allow-exec -o out.html -o out.sarif": ["replay.md"],
    }
    assert pages_read_by(list(pages), tmp_path) == pages
