"""Documents, help and messages are written in plain sentences: the words that do not occur in them."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from console import ROOT

WORDS = re.compile(
    r"\b(?:told|stands|said|says|of which|that of|so many|whoever|nobody|mend|on file"
    r"|(?<!there )(?:is|are) no(?! longer\b| more\b))\b",
    re.IGNORECASE,
)
ELSE = re.compile(r"(?<!thing )(?<!one )\belse\b", re.IGNORECASE)
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
    ROOT / "tests/golden/README.md",
    ROOT / "tests/checklist.md",
    *(ROOT / "baselinekit/codes").glob("*.md"),
]


def prose(markdown: str) -> str:
    """A document without its examples and code."""
    text = re.sub(r"(?ms)^(```+)[^\n`]*\n.*?^\1$", "", markdown)
    text = re.sub(r"(?m)^    .*$", "", text)
    return re.sub(r"`[^`]*`", "`code`", text)


def odd_words(text: str, *patterns: re.Pattern[str]) -> list[str]:
    """Each word that does not occur, with what is around it."""
    plain = " ".join(text.split())
    return [
        plain[max(match.start() - 30, 0) : match.end() + 20]
        for pattern in patterns
        for match in pattern.finditer(plain)
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_document_has_no_odd_word(path: Path) -> None:
    assert odd_words(prose(path.read_text("utf-8")), WORDS, ELSE) == []


@pytest.mark.parametrize("name", ["action.yml", "setup.cfg", "Makefile", ".pre-commit-hooks.yaml"])
def test_description_has_no_odd_word(name: str) -> None:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if re.search(r"#|description", line))
    assert odd_words(text, WORDS, ELSE) == []


MOST_LEFT = {"docstring": 5, "comment": 1, "message": 11}
"""What is still in the code: these numbers only fall."""


def odd_words_of_code() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in (ROOT / "baselinekit").rglob("*.py"):
        source = path.read_text("utf-8")
        found["comment"] += sum(
            len(odd_words(text, WORDS)) for text in re.findall(r"(?m)^\s*# (.*)$", source)
        )
        nodes = [*ast.walk(ast.parse(source))]
        described = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                kind = "docstring" if id(node) in described else "message"
                found[kind] += len(odd_words(node.value, WORDS))
    return found


def test_odd_words_of_code_become_fewer() -> None:
    found = odd_words_of_code()
    assert all(found[kind] <= at_most for kind, at_most in MOST_LEFT.items()), found
