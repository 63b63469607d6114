"""The similarity of two texts, without a model. Numbers, identifiers and negations must agree before any
score counts: no score tells `allowed` from `not allowed`, or user 17 from user 18."""

import re
from collections import Counter

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*%?")
_IDENTIFIER = re.compile(r"`[^`]+`|\b\w*(?:_\w+|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z])\w*\b|\S+/\S+|\b\w+\.\w+\b")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|cannot|without|false|fail(?:s|ed|ure)?|den(?:y|ies|ied)"
    r"|\w+n['’]t)\b",
    re.IGNORECASE,
)
_MOST_WORDS = 20_000


def disagreement(expected: str, actual: str) -> str | None:
    """What the texts state differently beyond wording, if anything."""
    for what, pattern in (("numbers", _NUMBER), ("identifiers", _IDENTIFIER)):
        before, after = Counter(pattern.findall(expected)), Counter(pattern.findall(actual))
        if before != after:
            changed = sorted((before - after).keys() | (after - before).keys())
            return f"the {what} differ: {', '.join(changed[:5])}"
    if len(_NEGATION.findall(expected)) != len(_NEGATION.findall(actual)):
        return "one of them negates what the other does not"
    return None


def similarity(expected: str, actual: str) -> float:
    """From 0 to 1, by words in their order; case and punctuation do not count."""
    before = [word.casefold() for word in _WORD.findall(expected)][:_MOST_WORDS]
    after = [word.casefold() for word in _WORD.findall(actual)][:_MOST_WORDS]
    if before == after:
        return 1.0
    return 2 * _in_common(before, after) / (len(before) + len(after))


def _in_common(before: list[str], after: list[str]) -> int:
    """How many words both have in the same order: the longest common subsequence, a bit for each word."""
    places: dict[str, int] = {}
    for place, word in enumerate(before):
        places[word] = places.get(word, 0) | 1 << place
    every = row = (1 << len(before)) - 1
    for word in after:
        met = row & places.get(word, 0)
        row = ((row + met) | (row - met)) & every
    return len(before) - row.bit_count()
