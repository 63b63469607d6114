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

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve"
    " thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_RANKS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPELT = {word: number for words in (_ONES, _RANKS) for number, word in enumerate(words.split())}
_SPELT |= {word: 20 + 10 * place for place, word in enumerate(_TENS.split())}
_SPELT |= {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_NUMBER_WORD = re.compile(rf"\b(?:({'|'.join(_TENS.split())})-)?({'|'.join(_SPELT)})\b", re.IGNORECASE)


def disagreement(expected: str, actual: str) -> str | None:
    """What the texts state differently beyond wording, if anything."""
    before, after = Counter(_IDENTIFIER.findall(expected)), Counter(_IDENTIFIER.findall(actual))
    identifiers = sorted((before - after) + (after - before))
    for what, changed in (("numbers", _other_numbers(expected, actual)), ("identifiers", identifiers)):
        if changed:
            return f"the {what} differ: {', '.join(changed[:5])}"
    if len(_NEGATION.findall(expected)) != len(_NEGATION.findall(actual)):
        return "one of them negates what the other does not"
    return None


def _other_numbers(expected: str, actual: str) -> list[str]:
    """The numbers that one text has and the other has not. 3 and three are the same. Words count only where
    each text has another one: who writes `one of them`, or begins with `First,`, states no number."""
    before, after = Counter(_NUMBER.findall(expected)), Counter(_NUMBER.findall(actual))
    spelt_before, spelt_after = _spelt(expected), _spelt(actual)
    less, more = before - after, after - before
    less_spelt, more_spelt = spelt_before - spelt_after, spelt_after - spelt_before
    if changed := (less - more_spelt) + (more - less_spelt):
        return sorted(changed)
    less_spelt, more_spelt = less_spelt - more, more_spelt - less
    return sorted(less_spelt + more_spelt) if less_spelt and more_spelt else []


def _spelt(text: str) -> Counter[str]:
    """The numbers that are written in words, in digits."""
    found = _NUMBER_WORD.findall(text)
    return Counter(str((_SPELT[tens.lower()] if tens else 0) + _SPELT[word.lower()]) for tens, word in found)


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
