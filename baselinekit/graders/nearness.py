"""Where a text comes nearest to what was looked for and not found, so that a reader sees why. The search is
bounded, runs on the masked text, and changes no verdict."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.table import RegexBudget, compiled, search
from baselinekit.structs import Struct
from baselinekit.values.texts import Mask, mask_and_clip, no_mask

MOST_LOOKED_FOR = 3
"""How many missing texts are looked for: the first ones."""

_LONGEST_TEXT = 1_000_000
_LONGEST_COMPARED = 100_000
"""In a longer text nothing similar is looked for: that takes a time that grows with both lengths."""

_LONGEST_TARGET = 100
"""A longer text is looked for by its beginning."""

_LONGEST_SHOWN = 60
_CONTEXT = 20
_LEAST_BEGINNING = 12
_LEAST_LIKENESS = 0.6
_SECONDS = 0.2
"""The time limit of one search for a part of a pattern."""

_FLAGS = ("ignorecase", "multiline", "dotall")


class NearestPlace(Struct):
    """A place by its line, the text there, and a note."""

    line: int
    text: str
    note: str = ""

    def __str__(self) -> str:
        return f"nearest: line {self.line}: {_clip(self.text)!r}{self.note}"


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def nearest_text(targets: Sequence[str], text: str, mask: Mask) -> NearestPlace | None:
    """Where the text comes nearest to any of these. None of them is in it."""
    if len(text) > _LONGEST_TEXT:
        return None
    text = mask(text)
    lower = text.lower()
    lower = lower if len(lower) == len(text) else text  # places must be the same in both
    places = [likeness for target in targets[:MOST_LOOKED_FOR] if (likeness := _nearest(target, text, lower))]
    if not places:
        return None
    _, place, end, note = max(places, key=lambda likeness: likeness[0])
    return NearestPlace(line_at(text, place), text[place:end], note)


_Likeness = tuple[float, int, int, str]
"""How similar a place is, its start, its end, and a note."""


def _nearest(target: str, text: str, lower: str) -> _Likeness | None:
    if len(target) > _LONGEST_TARGET:
        return _by_beginning(target, text)
    place = lower.find(target.lower())
    if place >= 0 and target.strip():
        return 1.0, place, place + len(target), ""
    words = target.lower().split()
    same = re.search(r"\s+".join(map(re.escape, words)), lower) if words else None
    if same is not None:
        return 1.0, same.start(), same.end(), ""
    return _by_likeness(target.lower(), lower)


def _by_beginning(target: str, text: str) -> _Likeness | None:
    """The place of the longest beginning of a long text, with the text around its end."""
    low, high = 0, len(target)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if target[:middle] in text else (low, middle - 1)
    if low < _LEAST_BEGINNING:
        return None
    end = text.find(target[:low]) + low
    note = f", after its first {low:,} characters"
    start = max(end - _CONTEXT, text.rfind("\n", 0, end) + 1)
    return low / len(target), start, min(len(text), end + _CONTEXT), note


def _by_likeness(target: str, lower: str) -> _Likeness | None:
    """The place around the longest part of the target that is in the text, if enough of the rest is near."""
    if len(lower) > _LONGEST_COMPARED:
        return None
    longest = SequenceMatcher(None, lower, target, False).find_longest_match()
    if longest.size < max(2, len(target) / 3):
        return None
    start = max(0, longest.a - longest.b - 2)
    around = lower[start : longest.a - longest.b + len(target) + 2]
    matcher = SequenceMatcher(None, target, around, False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    first, last = start + blocks[0].b, start + blocks[-1].b + blocks[-1].size
    likeness = 2 * sum(block.size for block in blocks) / (len(target) + last - first)
    return (likeness, *_whole_words(lower, first, last), "") if likeness >= _LEAST_LIKENESS else None


def _whole_words(text: str, first: int, last: int) -> tuple[int, int]:
    """The range with the rest of the words at both ends, if these are short."""
    for start in range(first, max(0, first - _CONTEXT) - 1, -1):
        if start == 0 or not text[start - 1].isalnum() or not text[start].isalnum():
            first = start
            break
    for end in range(last, min(len(text), last + _CONTEXT) + 1):
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
    """Where a pattern matches with another flag, else where its longest beginning does; None if the search
    takes too long."""
    if len(text) > _LONGEST_TEXT:
        return None
    text = mask(text)
    try:
        for flag in _FLAGS:
            if flag not in flags and (match := _match(pattern, (*flags, flag), text)):
                return NearestPlace(line_at(text, match.start()), match[0], f" with flags: [{flag}]")
        whole = _by_prefix(pattern, tuple(flags), text)
        return whole or (_by_prefix(pattern[1:], tuple(flags), text) if pattern.startswith("^") else None)
    except BaselinekitError:  # a search that takes too long gives no hint
        return None


def _match(pattern: str, flags: tuple[str, ...], text: str) -> re.Match[str] | None:
    match: re.Match[str] | None = search(compiled(pattern, flags=flags), text, RegexBudget(), _SECONDS)
    return match if match is not None and match[0].strip() else None


def _by_prefix(pattern: str, flags: tuple[str, ...], text: str) -> NearestPlace | None:
    prefixes = [prefix for prefix in beginnings(pattern) if _is_pattern(prefix, flags)]
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
    line_end = text.find("\n", longest.end(), longest.end() + _CONTEXT)
    after = text[longest.end() : longest.end() + _CONTEXT if line_end < 0 else line_end]
    suffix = f", then comes {after!r}" if after else ", then the line ends"
    note = f" matches {_clip(prefixes[low - 1])}{suffix}"
    return NearestPlace(line_at(text, longest.start()), longest[0], note)


def beginnings(pattern: str) -> Iterator[str]:
    """The beginnings of a pattern that are patterns themselves, the shortest first: never cut before a
    repetition or within a lookaround, and with open groups closed."""
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


def _clip(text: str) -> str:
    return mask_and_clip(text, _LONGEST_SHOWN, no_mask, counted=False)
