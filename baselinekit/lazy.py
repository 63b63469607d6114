"""Regular expressions that are compiled when they are first used.

A command uses few of those that its modules state. To compile them all took a sixth of the time in which it
starts: as long as to import half of the modules."""

import re
from typing import Any, AnyStr, cast


def lazy_pattern(source: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """What re.compile gives, for whoever calls its methods and reads its attributes."""
    return cast(re.Pattern[AnyStr], LazyPattern(source, flags))


class LazyPattern:
    """Finds a method in the compiled pattern when it is first asked for, and keeps it: a second call costs
    what it costs of a compiled one. Threads that come at the same time find the same."""

    def __init__(self, source: str | bytes, flags: int | re.RegexFlag) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what copying and the like look for: no pattern has anything of such a name
            raise AttributeError(name)
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found
