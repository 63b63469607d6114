"""Which of many strings can occur in a text, told in one pass over it. A text is looked at eight characters
at a time; each string that is looked for is known by the eight characters at each place where such a step
can meet it. What is named here is looked for closely; what is not, cannot be there."""

import sys
from collections.abc import Iterable
from typing import Literal

_STEPS: tuple[tuple[int, Literal["Q", "I"]], ...] = ((8, "Q"), (4, "I"))
"""How many characters a step takes, and what `memoryview` calls a number of so many bytes."""
_FEW = 12
"""So many strings are found faster one by one."""
_FOLDED = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_", b"abcdefghijklmnopqrstuvwxyz+/")


def _folded(text: str) -> bytes:
    """One byte for each character. Differences that some encodings do not make are not made here."""
    return text.encode("ascii", "replace").translate(_FOLDED)


class Index:
    """Strings that are looked for together."""

    def __init__(self, strings: Iterable[str]):
        groups: dict[int, dict[str, bytes]] = {0: {}}
        for string in strings:
            raw = _folded(string)
            width = next((width for width, _ in _STEPS if len(raw) >= 2 * width - 1), 0)
            groups.setdefault(width, {})[string] = raw
        self._single = groups.pop(0)
        self._seeds: dict[int, dict[int, list[str]]] = {}
        for width, members in groups.items():
            if len(members) <= _FEW and width == _STEPS[-1][0]:
                self._single |= members
                continue
            seeds = self._seeds.setdefault(width, {})
            for string, raw in members.items():
                for at in range(width):
                    seeds.setdefault(int.from_bytes(raw[at : at + width], sys.byteorder), []).append(string)
        self._wanted = {width: frozenset(seeds) for width, seeds in self._seeds.items()}
        self._shortest = {width: min(map(len, groups[width])) for width in self._seeds}

    def candidates(self, text: str) -> list[str]:
        """Those that may occur in a text; all that do are among them."""
        data = _folded(text)
        found = {string: None for string, raw in self._single.items() if raw in data}
        padded = memoryview(data + b"\0" * (-len(data) % 8))
        for width, kind in _STEPS:
            if width in self._wanted and len(data) >= self._shortest[width]:
                seeds = self._seeds[width]
                for hit in self._wanted[width].intersection(padded.cast(kind)):
                    found |= dict.fromkeys(seeds[hit])
        return list(found)
