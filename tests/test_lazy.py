"""A regular expression that is compiled when it is first used does what a compiled one does."""

import pkgutil
import re
from importlib import import_module

import pytest

import baselinekit
from baselinekit.lazy import LazyPattern, lazy_pattern


@pytest.mark.parametrize(
    ("source", "flags", "text"),
    [
        (r"(?P<word>[a-z]+)(\d)?", 0, "ab1 c"),
        (r"(?P<word>[a-z]+)(\d)?", re.IGNORECASE, "AB1 c"),
        (r"x*", 0, "axb"),
        (r" a  b # two letters", re.VERBOSE, "xaby"),
    ],
)
def test_lazy_pattern_matches_like_compiled(source: str, flags: int, text: str) -> None:
    lazy, compiled = lazy_pattern(source, flags), re.compile(source, flags)
    for _ in range(2):  # also when it has been used before
        for find in ("match", "search", "fullmatch"):
            ours, theirs = getattr(lazy, find)(text), getattr(compiled, find)(text)
            assert (ours and (ours.span(), ours.groups())) == (theirs and (theirs.span(), theirs.groups()))
        assert (lazy.search(text, 1, 3) and compiled.search(text, 1, 3)) or not compiled.search(text, 1, 3)
        assert [match.span() for match in lazy.finditer(text)] == [
            match.span() for match in compiled.finditer(text)
        ]
        assert lazy.sub("-", text) == compiled.sub("-", text)
        assert lazy.split(text) == compiled.split(text)
        assert lazy.findall(text) == compiled.findall(text)
        assert (lazy.pattern, lazy.flags, lazy.groupindex) == (
            compiled.pattern,
            compiled.flags,
            compiled.groupindex,
        )


def test_lazy_patterns_of_package_compile() -> None:
    """A pattern that was never used could be wrong until its first use."""
    found = 0
    for module in pkgutil.walk_packages(baselinekit.__path__, "baselinekit."):
        if module.name != "baselinekit.__main__":
            for value in vars(import_module(module.name)).values():
                if isinstance(value, LazyPattern):
                    found += bool(value.pattern is not None)
    assert found > 200
