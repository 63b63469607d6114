"""Where a text comes nearest to what was looked for and is not in it, for whoever has to see why: bounded in
what is looked at, on the text without its secrets, and never a verdict."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.table import RegexBudget, compiled, search
from baselinekit.texts import Mask, already_masked, clipped

MOST_LOOKED_FOR = 3
"""Of several texts that are missing, the first ones."""

_LONGEST_TEXT = 1_000_000
_LONGEST_WANTED = 100
"""What is longer is looked for by its beginning."""

_LONGEST_SHOWN = 60
_ROUND = 20
_LEAST_BEGINNING = 12
_LEAST_LIKENESS = 0.6
_MOST_PLACES = 50
_MOST_OF_A_PART = 20
_SECONDS = 0.2
"""For one look at the text with a part of a pattern."""

_FLAGS = ("ignorecase", "multiline", "dotall")


@frozen
class NearestPlace:
    """A place by its line, what stands there, and what is to be said of it."""

    line: int
    text: str
    note: str = ""

    def __str__(self) -> str:
        return f"nearest: line {self.line}: {_shown(self.text)!r}{self.note}"


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def nearest_text(wanted: Sequence[str], text: str, mask: Mask) -> NearestPlace | None:
    """Where the text comes nearest to any of these, none of which is in it."""
    if len(text) > _LONGEST_TEXT:
        return None
    text = mask(text)
    lower = text.lower()
    lower = lower if len(lower) == len(text) else text  # else a place in it would be another one
    found = [one for each in wanted[:MOST_LOOKED_FOR] if (one := _nearest(each, text, lower))]
    if not found:
        return None
    _, place, end, note = max(found, key=lambda one: one[0])
    return NearestPlace(line_at(text, place), text[place:end], note)


_Likeness = tuple[float, int, int, str]
"""How like it is, from where to where, and what is to be said of it."""


def _nearest(wanted: str, text: str, lower: str) -> _Likeness | None:
    if len(wanted) > _LONGEST_WANTED:
        return _by_beginning(wanted, text)
    place = lower.find(wanted.lower())
    if place >= 0 and wanted.strip():
        return 1.0, place, place + len(wanted), ""
    words = wanted.lower().split()
    same = re.search(r"\s+".join(map(re.escape, words)), lower) if words else None
    if same is not None:
        return 1.0, same.start(), same.end(), ""
    return _by_likeness(wanted.lower(), lower)


def _by_beginning(wanted: str, text: str) -> _Likeness | None:
    """Of a long text: where most of its beginning stands, and what comes then."""
    low, high = 0, len(wanted)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if wanted[:middle] in text else (low, middle - 1)
    if low < _LEAST_BEGINNING:
        return None
    end = text.find(wanted[:low]) + low
    note = f", after its first {low:,} characters"
    start = max(end - _ROUND, text.rfind("\n", 0, end) + 1)
    return low / len(wanted), start, min(len(text), end + _ROUND), note


def _by_likeness(wanted: str, lower: str) -> _Likeness | None:
    """By the longest part of it that is in the text, and how much of the rest stands around that."""
    size = _longest_part(wanted, lower)
    if size < max(2, len(wanted) / 3):
        return None
    best: _Likeness | None = None
    for offset, place in islice(_places(wanted, lower, size), _MOST_PLACES):
        start = max(0, place - offset - 2)
        around = lower[start : place - offset + len(wanted) + 2]
        blocks = [
            one for one in SequenceMatcher(None, wanted, around, False).get_matching_blocks() if one.size
        ]
        first, last = start + blocks[0].b, start + blocks[-1].b + blocks[-1].size
        same = sum(one.size for one in blocks)
        like = 2 * same / (len(wanted) + last - first)
        if like >= _LEAST_LIKENESS and (best is None or like > best[0]):
            best = (like, *_whole_words(lower, first, last), "")
    return best


def _longest_part(wanted: str, lower: str) -> int:
    """How long the longest part is that is in the text. Where there is one, all shorter ones are too."""
    low, high = 0, len(wanted)
    while low < high:
        middle = (low + high + 1) // 2
        is_there = any(part in lower for part in dict.fromkeys(_parts(wanted, middle)))
        low, high = (middle, high) if is_there else (low, middle - 1)
    return low


def _parts(wanted: str, size: int) -> Iterator[str]:
    return (wanted[at : at + size] for at in range(len(wanted) - size + 1))


def _places(wanted: str, lower: str, size: int) -> Iterator[tuple[int, int]]:
    """Where the parts of this size are, the first places of each: the offset in what is wanted, the place."""
    offsets = {part: offset for offset, part in enumerate(_parts(wanted, size))}
    for part, offset in offsets.items():
        place = lower.find(part)
        for _ in range(_MOST_OF_A_PART):
            if place < 0:
                break
            yield offset, place
            place = lower.find(part, place + 1)


def _whole_words(text: str, first: int, last: int) -> tuple[int, int]:
    """With the rest of the words at both ends, if that is not much."""
    for start in range(first, max(0, first - _ROUND) - 1, -1):
        if start == 0 or not text[start - 1].isalnum() or not text[start].isalnum():
            first = start
            break
    for end in range(last, min(len(text), last + _ROUND) + 1):
        if end == len(text) or not text[end].isalnum() or not text[end - 1].isalnum():
            return first, end
    return first, last


# Patterns: how far one matches.


_TOKEN = lazy_pattern(
    r"(?P<look>\(\?<?[=!])|(?P<flags>\(\?[a-zA-Z-]+\))|(?P<open>\((?:\?(?:P?<\w+>|[:>|]|[a-zA-Z-]*:))?)|(?P<close>\))"
    r"|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<times>[*+?]|\{\d*,?\d*\})|(?P<either>\|)|.",
    re.DOTALL,
)


def nearest_match(pattern: str, flags: Sequence[str], text: str, mask: Mask) -> NearestPlace | None:
    """Where most of a pattern, which is not found, matches; or where it does with another flag. None, where
    that takes long."""
    if len(text) > _LONGEST_TEXT:
        return None
    text = mask(text)
    try:
        for flag in _FLAGS:
            if flag not in flags and (match := _match(pattern, (*flags, flag), text)):
                return NearestPlace(line_at(text, match.start()), match[0], f" with flags: [{flag}]")
        whole = _by_prefix(pattern, tuple(flags), text)
        return whole or (_by_prefix(pattern[1:], tuple(flags), text) if pattern.startswith("^") else None)
    except BaselinekitError:  # what takes too long is no help
        return None


def _match(pattern: str, flags: tuple[str, ...], text: str) -> re.Match[str] | None:
    match: re.Match[str] | None = search(compiled(pattern, flags=flags), text, RegexBudget(), _SECONDS)
    return match if match is not None and match[0].strip() else None


def _by_prefix(pattern: str, flags: tuple[str, ...], text: str) -> NearestPlace | None:
    prefixes = [one for one in beginnings(pattern) if _is_pattern(one, flags)]
    low, high, longest = 0, len(prefixes), None
    while low < high:  # if a beginning matches, so does every shorter one
        middle = (low + high + 1) // 2
        match = search(compiled(prefixes[middle - 1], flags=flags), text, RegexBudget(), _SECONDS)
        if match is None:
            high = middle - 1
        else:
            low, longest = middle, match
    if longest is None or len(longest[0].strip()) < 2:
        return None
    ends = text.find("\n", longest.end(), longest.end() + _ROUND)
    after = text[longest.end() : longest.end() + _ROUND if ends < 0 else ends]
    then = f", then comes {after!r}" if after else ", then the line ends"
    note = f" matches {_shown(prefixes[low - 1])}{then}"
    return NearestPlace(line_at(text, longest.start()), longest[0], note)


def beginnings(pattern: str) -> Iterator[str]:
    """The beginnings of a pattern that are patterns themselves, the shortest first: cut where nothing repeats
    what stands before, never within what looks around, and with the groups closed that are open there."""
    open_groups: list[bool] = []
    tokens = [*_TOKEN.finditer(pattern)]
    for number, token in enumerate(tokens[:-1]):
        if token["look"] or token["open"]:
            open_groups.append(bool(token["look"]) or any(open_groups))
            continue
        if token["close"] and open_groups:
            open_groups.pop()
        if token["either"] or token["flags"] or tokens[number + 1]["times"] or any(open_groups):
            continue
        yield pattern[: token.end()] + ")" * len(open_groups)


def _is_pattern(pattern: str, flags: tuple[str, ...]) -> bool:
    try:
        compiled(pattern, flags=flags)
    except BaselinekitError:
        return False
    return True


def _shown(text: str) -> str:
    return clipped(text, _LONGEST_SHOWN, already_masked, counted=False)
