"""Texts that may be worded otherwise: their similarity, and the words that may make their facts differ.

Where no model reads the texts, numbers, identifiers and negations must agree before any score counts: no
score tells `allowed` from `not allowed`, or user 17 from user 18. A word that carries a fact by itself must
not be replaced by another of its kind either: a unit, a name, a day, `all` by `some`, `rose` by `fell`. Other
changes are not noticed: tests/matching/test_semantic_fact_pairs.py counts them.

A judge is asked about these words instead: it alone can tell that `closed` and `does not open` are the
same."""

import math
import re
from collections import Counter
from collections.abc import Iterator

from baselinekit.lazy import lazy_pattern
from baselinekit.matching.rules import Mode
from baselinekit.matching.walk import Walk, WalkPlace, same_scalar
from baselinekit.model.baselines import SimilarityQuestion
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import escape

_WORD = lazy_pattern(r"\w+(?:['’]\w+)*")
_NUMBER = lazy_pattern(r"[-+]?\d+(?:[.,]\d+)*%?")
_CODE = lazy_pattern(r"`[^`]+`|\b\w*(?:_\w+|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z])\w*\b|\S+/\S+|\b\w+\.\w+\b")
_NEGATION = lazy_pattern(
    r"\b(?:not|no|never|none|nothing|neither|nor|cannot|hardly|barely|scarcely|seldom|without|false|fail(?:s|ed|ure)?|den(?:y|ies|ied)"
    r"|\w+n['’]t)\b",
    re.IGNORECASE,
)
_NAME = lazy_pattern(r"(?<![.!?:])(?<![.!?:]\s)(?<!\n)(?<!^)\b[A-Z]\w+")
_MOST_WORDS = 20_000

_KINDS = {
    kind: frozenset(words.split())
    for kind, words in {
        "amount": "once twice thrice half third quarter double doubled triple tripled halved dozen",
        "unit": (
            "mg g kg t gram grams kilogram kilograms ton tons tonnes mm cm m km inch inches foot feet"
            " yard yards mile miles meter meters metre metres kilometer kilometers kilometre kilometres"
            " ml l litre litres liter liters gallon gallons ms s sec min h second seconds minute minutes"
            " hour hours day days week weeks month months year years b kb mb gb tb pb kib mib gib tib"
            " bit bits byte bytes w kw mw kwh mwh v mv kv hz khz mhz ghz celsius fahrenheit kelvin"
            " degrees percent euro euros dollar dollars pound pounds yen franc francs cent cents eur usd"
            " gbp jpy chf"
        ),
        "day": (
            "monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays"
            " saturday saturdays sunday sundays january february march april may june july august"
            " september october november december today tomorrow yesterday tonight morning noon"
            " afternoon evening midnight night spring summer autumn fall winter am pm daily weekly"
            " monthly yearly hourly"
        ),
        "scope": (
            "all every each both some any most many few several one only even just always often"
            " sometimes rarely never usually must may might can should shall could optional required"
            " mandatory"
        ),
        "direction": (
            "rose fell rise rises rising risen falling fallen fall falls up down upward downward"
            " increase increases increased increasing decrease decreases decreased decreasing grow grew"
            " grown shrink shrank shrunk gain gained lose lost before after earlier later left right"
            " above below over under in out into inside outside north south east west on off open opened"
            " opens close closed closes start started starts stop stopped stops begin began end ended"
            " higher lower high low more less most least faster slower fast slow better worse best worst"
            " first last new old max min maximum minimum allow allowed allows deny denied refuse refused"
            " enable enabled disable disabled include included includes exclude excluded excludes cover"
            " covers covered accept accepted reject rejected add added remove removed send sent receive"
            " received buy bought sell sold win won pass passed passes fail failed fails succeed"
            " succeeded true false yes no valid invalid available unavailable safe unsafe possible"
            " impossible able unable known unknown to from"
        ),
    }.items()
}
"""Words that carry a fact by themselves, by their kind."""

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve"
    " thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_RANKS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPELT = {word: number for words in (_ONES, _RANKS) for number, word in enumerate(words.split())}
_SPELT |= {word: 20 + 10 * place for place, word in enumerate(_TENS.split())}
_SPELT |= {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_NUMBER_WORD = lazy_pattern(rf"\b(?:({'|'.join(_TENS.split())})-)?({'|'.join(_SPELT)})\b", re.IGNORECASE)


def disagreements(expected: str, actual: str) -> Iterator[str]:
    """The numbers, identifiers and negations in which the texts differ."""
    before, after = Counter(_CODE.findall(expected)), Counter(_CODE.findall(actual))
    identifiers = sorted((before - after) + (after - before))
    for subject, changed in (("numbers", other_numbers(expected, actual)), ("identifiers", identifiers)):
        if changed:
            yield f"the {subject} differ: {', '.join(changed[:5])}"
    if len(_NEGATION.findall(expected)) != len(_NEGATION.findall(actual)):
        yield "one of them negates what the other affirms"


def replacements(expected: str, actual: str) -> Iterator[str]:
    """The words that carry a fact and replace another one of their kind. (A word that was only added or only
    removed may be another way to say the same.)"""
    before, after = _casefolded_words(expected), _casefolded_words(actual)
    for kind, members in _KINDS.items():
        removed, added = (before - after) & members, (after - before) & members
        if removed and added:
            yield f"another {kind}: {', '.join(sorted(removed))} -> {', '.join(sorted(added))}"
    removed, added = _find_names(expected) - after, _find_names(actual) - before
    if removed and added:
        yield f"another name: {', '.join(sorted(removed)[:3])} -> {', '.join(sorted(added)[:3])}"


def differing_words(expected: str, actual: str) -> Iterator[str]:
    """Both: each may be another fact, or the same one in other words."""
    yield from disagreements(expected, actual)
    yield from replacements(expected, actual)


def _casefolded_words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _find_names(text: str) -> set[str]:
    """Words with a capital that do not begin a sentence."""
    return {word.casefold() for word in _NAME.findall(text)}


def other_numbers(expected: str, actual: str) -> list[str]:
    """The numbers that only one of the texts has. 3 and three are the same. Number words count only where
    each text has a different one: `one of them`, or `First,` at the beginning, states no number."""
    before, after = Counter(_NUMBER.findall(expected)), Counter(_NUMBER.findall(actual))
    spelt_before, spelt_after = _count_spelt_numbers(expected), _count_spelt_numbers(actual)
    less, more = before - after, after - before
    less_spelt, more_spelt = spelt_before - spelt_after, spelt_after - spelt_before
    if changed := (less - more_spelt) + (more - less_spelt):
        return sorted(changed)
    less_spelt, more_spelt = less_spelt - more, more_spelt - less
    return sorted(less_spelt + more_spelt) if less_spelt and more_spelt else []


def _count_spelt_numbers(text: str) -> Counter[str]:
    """Count the numbers that are written in words; the keys are digits."""
    matches = _NUMBER_WORD.findall(text)
    return Counter(str(_SPELT.get(tens.lower(), 0) + _SPELT[word.lower()]) for tens, word in matches)


def similarity(expected: str, actual: str) -> float:
    """From 0 to 1, by words in their order; case and punctuation do not count."""
    before = [word.casefold() for word in _WORD.findall(expected)][:_MOST_WORDS]
    after = [word.casefold() for word in _WORD.findall(actual)][:_MOST_WORDS]
    if before == after:
        return 1.0
    places: dict[str, int] = {}  # the longest common subsequence, a bit for each word
    for place, word in enumerate(before):
        places[word] = places.get(word, 0) | 1 << place
    all_bits = row = (1 << len(before)) - 1
    for word in after:
        matched = row & places.get(word, 0)
        row = ((row + matched) | (row - matched)) & all_bits
    return 2 * (len(before) - row.bit_count()) / (len(before) + len(after))


def compare_wording(walk: Walk, e: Json, literal: str, a: Json, place: WalkPlace) -> Json:
    """Compare a text that may be worded otherwise."""
    mode = place.mode
    if not isinstance(a, str):
        return walk.replaced(e, a, place)
    if same_scalar(literal, a, mode):
        return e
    note = None if mode.method == "judge" else next(differing_words(literal, a), None)
    if note is None:
        score, reason = find_similarity(walk, literal, a, mode)
        if score >= mode.min_similarity:
            return e
        note = f"similarity {score:.2f}, at least {mode.min_similarity:g} is required{reason}"
    walk.differ(place.path, "similarity", e, a, place.at, note=note)
    return escape(a)


def find_similarity(walk: Walk, literal: str, a: str, mode: Mode) -> tuple[float, str]:
    """The similarity of two texts, and its source. Where a question is asked first, they count as similar
    until it is answered."""
    if mode.method == "words":
        return similarity(literal, a), ""
    question = SimilarityQuestion(literal, a, mode.method)
    if question in walk.answers:
        score, reason = walk.answers[question]
        return score, f" ({mode.method}: {reason})" if reason else f" ({mode.method})"
    if walk.collecting_questions:
        walk.questions[question] = None
        return math.inf, ""
    walk.deferred += 1
    return 0.0, ""
