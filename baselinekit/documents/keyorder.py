"""Where a key that is new goes among those that are there: behind the one that it follows elsewhere."""

from collections import defaultdict
from collections.abc import Iterable


def with_new_keys(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """All the old keys in their order, and each new one in its place. New ones that come before any known one
    go before the first that is known to both."""
    known = dict.fromkeys(old)
    behind: dict[str | None, list[str]] = defaultdict(list)
    first: str | None = None
    last: str | None = None
    for key in new:
        if key in known:
            first, last = key if last is None else first, key
        else:
            behind[last].append(key)
    order = [] if first is not None else [*known, *behind[None]]
    for key in known if first is not None else ():
        order += [*(behind[None] if key == first else ()), key, *behind[key]]
    return order
