"""The weight of the project in lines of code: `make size`, held to the numbers in setup.cfg by test_size.py.

A line of code holds something other than white space, a comment or a docstring. Of templates, scripts and
style sheets every line counts that is not blank. Golden files are counted in files, documents in words."""

import ast
import configparser
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALSO_CODE = {".js", ".css", ".html", ".j2"}
TEST_FOLDERS = ("tests", "drills", "studies")
WITHOUT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True, slots=True)
class Size:
    files: int = 0
    lines: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.files + other.files, self.lines + other.lines)


def lines_of_code(source: str) -> int:
    """How many lines of a Python source are neither blank nor only a comment or a docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in WITHOUT_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


def size_of(file: Path) -> Size:
    if file.suffix == ".py":
        return Size(1, lines_of_code(file.read_text("utf-8")))
    if file.suffix in ALSO_CODE:
        return Size(1, sum(bool(line.strip()) for line in file.read_text("utf-8").splitlines()))
    return Size()


def size_below(folder: Path) -> Size:
    return sum((size_of(file) for file in folder.rglob("*") if file.is_file()), Size())


def packages() -> Iterator[tuple[str, Size]]:
    """Each package of baselinekit, and the modules at its top together."""
    folder = ROOT / "baselinekit"
    for package in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"):
        yield package.name + "/", size_below(package)
    yield "modules at the top", sum(map(size_of, folder.glob("*.py")), Size())


def words_of_documents() -> int:
    files = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    return sum(len(file.read_text("utf-8").split()) for file in files)


@cache
def totals() -> dict[str, int]:
    """The numbers that setup.cfg bounds, by their names there."""
    package = sum((size for _, size in packages()), Size())
    return {
        "code": package.lines,
        "files": package.files,
        "tests": sum(size_below(ROOT / name).lines for name in TEST_FOLDERS if (ROOT / name).is_dir()),
        "golden_files": sum(path.is_file() for path in (ROOT / "tests/golden").rglob("*")),
        "benchmarks": sum(size_of(file).lines for file in (ROOT / "benchmarks").glob("*.py")),
        "documents_words": words_of_documents(),
    }


def section(name: str) -> dict[str, int]:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    return {key: int(value) for key, value in config[name].items()}


def main() -> None:
    budgets = section("baselinekit:budgets")
    print(f"{'package':<20} {'files':>6} {'lines':>7} {'budget':>7}")
    for name, size in packages():
        print(f"{name:<20} {size.files:>6} {size.lines:>7} {budgets.get(name.rstrip('/'), '-'):>7}")
    print()
    bounds = section("baselinekit:size")
    print(f"{'total':<20} {'now':>7} {'at most':>8}")
    for name, now in totals().items():
        print(f"{name:<20} {now:>7} {bounds[name]:>8}")


if __name__ == "__main__":
    main()
