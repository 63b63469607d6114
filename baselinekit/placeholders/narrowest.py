"""Values that were seen -> the narrowest placeholders that accept every one of them.

Each proposal of the list accepts whatever the one before it does, and the last one hardly says more than the
type. So the first is the one to store, and who knows better takes a later one."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.grammar import escape
from baselinekit.placeholders.kinds import is_number
from baselinekit.placeholders.likely import further_formats, strong_formats
from baselinekit.placeholders.proposals import Proposal, Write, that_accept
from baselinekit.placeholders.ranges import for_numbers
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.within import around_what_varies
from baselinekit.plural import many

_MOST_ALTERNATIVES = 5
_LONGEST_ALTERNATIVE = 40
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_SPACED = "<<any_iso_datetime>>"
"""It may hold a blank, which a URL may not."""

_WORDS_OF_JSON = ("true", "false", "null")
_ANYTHING = Proposal("<<any>>", "values of different types", True)


def narrowest(values: Sequence[Json], write: Write = escape, words: Words | None = None) -> list[Proposal]:
    """The proposals, best first; none for no values. `values` are in the order in which they were seen;
    `write` is how a literal part of a text is to be stored, and `words` what the project means by it."""
    if not values:
        return []
    stated = [value for value in values if value is not None]
    candidates = list(_for(stated, write))
    if len(stated) < len(values):
        candidates = [_nullable(one) for one in candidates if is_alone(one.text)]
        candidates = candidates if stated else [Proposal("<<any_null>>", "nothing but null")]
    return that_accept(candidates, values, words or Words()) or [_ANYTHING]


def _for(values: Sequence[Json], write: Write) -> Iterator[Proposal]:
    types = {json_type(value) for value in values}
    if len(types) != 1:
        return
    kind = types.pop()
    if kind == "boolean":
        yield Proposal("<<any_boolean>>", "true or false")
    elif kind == "number" and all(map(is_number, values)):
        yield from chain(_few(values), for_numbers(values))
    elif kind == "string":
        yield from _for_texts(values, write)
    elif kind == "object":
        yield Proposal("<<any_object>>", "objects, whatever is in them", True)
    elif kind == "array":
        yield Proposal("<<any_array>>", "arrays, whatever is in them", True)


def _for_texts(texts: Sequence[str], write: Write) -> Iterator[Proposal]:
    found = list(strong_formats(texts)) or list(_by_their_parts(texts, write))
    if not found:
        yield from _few(texts)
        if len(texts) > 1:
            yield _of_length(texts)
    yield from found
    if all(texts):
        yield Proposal("<<any_nonempty_string>>", "texts", True)
    yield Proposal("<<any_string>>", "texts", True)


def _by_their_parts(texts: Sequence[str], write: Write) -> Iterator[Proposal]:
    """What is known of texts that have no format as a whole: one of their parts, or a wide format."""
    template = around_what_varies(texts, write)
    further = list(further_formats(texts))
    if template is not None and (not template.says_little or not further):
        yield replace(template, says_little=False)
        if not template.says_little:
            yield from (one for one in further if one.text == "<<any_url>>" and _SPACED not in template.text)
    else:
        yield from further


def _of_length(texts: Sequence[str]) -> Proposal:
    """Texts that nothing else is known of: as long as those that were seen, with room where they differ."""
    low, high = min(map(len, texts)), max(map(len, texts))
    if low == high:
        reason = f"texts of {many(low, 'character')}"
        return Proposal(f"<<any_string({low}, {high})>>", reason, True)
    reason = f"texts of {low} to {high} characters, with room on both sides"
    low, high = max(low - (high - low), min(low, 1)), high + (high - low)
    return Proposal(f"<<any_string({low}, {high})>>", reason, True)


def _few(values: Sequence[Json]) -> Iterator[Proposal]:
    """A few values of which each was seen more than once are likely to be all there are."""
    counted = Counter(values)
    few = 1 < len(counted) <= _MOST_ALTERNATIVES and min(counted.values()) > 1
    if few and all(len(str(value)) <= _LONGEST_ALTERNATIVE for value in counted):
        args = ", ".join(map(_argument, counted))
        yield Proposal(f"<<one_of({args})>>", f"{len(counted)} values, each seen more than once")


def _argument(value: Json) -> str:
    if not isinstance(value, str) or (_BARE.fullmatch(value) and value not in _WORDS_OF_JSON):
        return str(value)
    return "'" + value.replace("'", "''") + "'"


def is_alone(text: str) -> bool:
    """Whether it is one placeholder alone, which null can be said of."""
    return text.startswith("<<") and text.endswith(">>") and text.count("<<") == 1


def _nullable(one: Proposal) -> Proposal:
    return Proposal(f"{one.text[:-2]}|null>>", f"{one.reason}, or null", one.says_little)
