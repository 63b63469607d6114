"""Every code that is raised can be explained, and every one that can be explained is raised."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import laws
import pytest

from baselinekit.codes.catalogue import CODES, explain

CODE = re.compile(r"BK\d{3}")
FILES = {"1": "files", "2": "rules", "3": "replay", "4": "trust", "5": "usage", "6": "models", "7": "evals"}


def used(package: laws.Package) -> Iterator[tuple[str, str]]:
    """(code, module) for every code that stands as a text of its own outside the catalogue."""
    for module, source in package.items():
        if laws.room(module) == "codes":
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                yield node.value, module


USED = dict(used(laws.package_of(Path(__file__).parent.parent)))


def test_every_code_that_is_raised_is_explained() -> None:
    assert {code: module for code, module in USED.items() if code not in CODES} == {}


def test_every_code_that_is_explained_is_raised() -> None:
    assert sorted(set(CODES) - set(USED)) == []


def test_each_code_stands_in_the_file_of_its_kind_and_once() -> None:
    package = laws.package_of(Path(__file__).parent.parent)
    for digit, file in FILES.items():
        keys = re.findall(r'^    "(BK\d{3})": Code\($', package[f"codes.{file}"], flags=re.MULTILINE)
        assert keys == sorted(set(keys)), file
        assert {key[2] for key in keys} <= {digit}, file


@pytest.mark.parametrize("code", sorted(CODES))
def test_an_explanation_says_something(code: str) -> None:
    title, text = CODES[code]
    assert CODE.fullmatch(code)
    assert 5 <= len(title) <= 80
    assert title == title.strip(" .")
    assert len(text) > 60
    assert text == text.strip()
    assert max(map(len, text.splitlines())) <= 110


def test_explain_knows_a_code_in_any_case_and_no_other() -> None:
    assert explain("bk501") is CODES["BK501"]
    assert explain("BK000") is None
