"""A regular expression that is compiled when it is first used does what a compiled one does."""

import pkgutil
import re
from importlib import import_module

import baselinekit
from baselinekit.lazy import LazyPattern, lazy_pattern


def test_lazy_pattern_matches_like_compiled() -> None:
    for source, flags in ((r"(?P<word>[a-z]+)(\d)?", re.IGNORECASE), (r" a  b # two letters", re.VERBOSE)):
        lazy, compiled = lazy_pattern(source, flags), re.compile(source, flags)
        for _ in range(2):  # also when it has been used before
            assert str(lazy.match("ab1 C")) == str(compiled.match("ab1 C"))
            assert lazy.sub("-", "xaby AB1") == compiled.sub("-", "xaby AB1")
            assert (lazy.pattern, lazy.flags) == (compiled.pattern, compiled.flags)


def test_lazy_patterns_of_package_compile() -> None:
    """A pattern that was never used could be wrong until its first use."""
    found = 0
    for module in pkgutil.walk_packages(baselinekit.__path__, "baselinekit."):
        if module.name != "baselinekit.__main__":
            for value in vars(import_module(module.name)).values():
                if isinstance(value, LazyPattern):
                    found += bool(value.pattern is not None)
    assert found > 200
