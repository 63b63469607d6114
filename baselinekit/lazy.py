"""Regular expressions that are compiled when they are first used.

A command uses few of those that its modules define. Compiling them all took a sixth of its start-up time, as
long as importing half of the modules."""

import re
from typing import Any, AnyStr, cast


def lazy_pattern(source: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """A stand-in for `re.compile(source, flags)`, which has the same methods and attributes."""
    return cast(re.Pattern[AnyStr], LazyPattern(source, flags))


class LazyPattern:
    """Takes a method from the compiled pattern when it is first used, and stores it: a second call costs the
    same as with a compiled pattern. Threads that do so at the same time get the same result."""

    def __init__(self, source: str | bytes, flags: int | re.RegexFlag) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # looked up by copy and the like: patterns have no such names
            raise AttributeError(name)
        attribute = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, attribute)
        return attribute
