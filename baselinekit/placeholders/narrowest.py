"""Finds the narrowest placeholders that accept all seen values."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.grammar import escape, whole
from baselinekit.placeholders.pieces import WIDE, Column, TextPieces, Write, hides_a_day
from baselinekit.placeholders.table import TABLE, PlaceholderContext, Table
from baselinekit.placeholders.template import compile_text
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import EXACT, decimal, is_number

# Proposals for seen values: a placeholder that accepts all of them, or a text with placeholders in it.


class PlaceholderProposal(Struct):
    """A text to store, and the reason. `says_little`: it requires no more than a type or a length."""

    text: str
    reason: str
    says_little: bool = False


def select_accepting(
    candidates: Iterable[PlaceholderProposal], values: Sequence[Json], words: PlaceholderContext
) -> list[PlaceholderProposal]:
    """The candidates that accept every value according to the matcher, without duplicates."""
    accepted: dict[str, PlaceholderProposal] = {}
    for candidate in candidates:
        if candidate.text not in accepted and accepts_all(candidate.text, values, words):
            accepted[candidate.text] = candidate
    return list(accepted.values())


_NO_WORDS = PlaceholderContext()


def accepts_all(text: str, values: Sequence[Json], words: PlaceholderContext = _NO_WORDS) -> bool:
    try:
        template = compile_text(text, words)
        if isinstance(template, str):
            return all(value == template for value in values)
        return all(template.accepts(value, {}) for value in values)
    except BaselinekitError:  # a text that cannot be parsed, or takes too long, is no proposal
        return False


# Proposals from the table of placeholders.


def proposals_from_table(
    values: Sequence[Json], type: str, when: str, words: PlaceholderContext = _NO_WORDS
) -> Iterator[PlaceholderProposal]:
    """The placeholders of the table that are learnt from such values; with a narrowing argument first. Only
    the first format; all placeholders that say hardly more than a type."""
    for row in words.table.values():
        rule = row.learnt
        if rule is None or (rule.of, rule.when) != (type, when):
            continue
        if not (accepts_all(f"<<{row.name}>>", values, words) and rule.fits(values)):
            continue
        argument = rule.argument(values)
        if argument is not None:
            yield PlaceholderProposal(f"<<{row.name}({argument})>>", rule.narrowed.format(argument))
        yield PlaceholderProposal(f"<<{row.name}>>", rule.describe(values), when == "type")
        if when != "type":
            return


def for_rows(table: Table = TABLE) -> tuple[str, ...]:
    """The placeholders that may stand for a key of a row that describes many rows, the narrowest first."""
    return tuple(f"<<{row.name}>>" for row in table.values() if row.learnt and row.learnt.in_rows)


# Texts of which only a part varies: the parts that are the same in all texts stay (pieces.py).


_LONGEST = 200_000
_MOST_PARTS = 500
_MOST_WIDE = 2


def template_around_varying_parts(
    texts: Sequence[str], write: Write, words: PlaceholderContext
) -> PlaceholderProposal | None:
    """The template that keeps what is the same in all texts, if that is worth keeping; else None. It
    `says_little` where a part of it could be any text."""
    if max(map(len, texts)) > _LONGEST:
        return None

    def sure(column: Column) -> str | None:
        return next(
            (proposal.text for proposal in proposals_from_table(column, "string", "sure", words)), None
        )

    template, placeholders, fixed_text = TextPieces(texts, words, sure).rendered(write)
    wide = sum(text in WIDE for text in placeholders)
    most_wide = _MOST_WIDE if any(char.isalnum() for char in fixed_text) else 0
    if not fixed_text or not placeholders or len(placeholders) > _MOST_PARTS or wide > most_wide:
        return None
    if hides_a_day(placeholders, fixed_text):
        return None
    reason = f"the text around {'it' if len(placeholders) == 1 else 'them'} stays"
    return PlaceholderProposal(template, reason, wide > 0)


# Numbers. Two or three of them say nothing about the next thousand: a counter grows and restarts at zero, and
# a size or a duration may be a hundred times as large on a slow day. So the only bound is zero, for counts
# and measurements: a negative one is a fault.


def propose_for_numbers(values: Sequence[Json], words: PlaceholderContext) -> Iterator[PlaceholderProposal]:
    """Candidates for numbers, the narrowest first."""
    wider = list(proposals_from_table(values, "number", "type", words))
    for moments in proposals_from_table(values, "number", "sure", words):
        yield moments
        yield from wider[-1:]
        return
    numbers = [decimal(value) for value in values]
    least, most = min(numbers), max(numbers)
    if least != most and wider and stays_above_zero(numbers, all(map(whole, values))):
        described = f"{wider[0].reason} from {_format_rounded(least)} to {_format_rounded(most)}"
        text = wider[0].text.replace(">>", "(0)>>")
        yield PlaceholderProposal(text, f"{described}, and no negative ones")
    yield from wider


_TIMES_THE_SPREAD = 10


_ENOUGH = 3
"""Two deviations have the same sign and are close to each other once in thirty cases."""


def stays_above_zero(numbers: Sequence[Decimal], integers: bool) -> bool:
    """Whether such numbers are never negative. Counts never are. Measurements with a fraction may be
    deviations: they stay above zero if the smallest is at least ten times the spread."""
    least, most = min(numbers), max(numbers)
    room = EXACT.multiply(EXACT.subtract(most, least), Decimal(_TIMES_THE_SPREAD))
    return least >= 0 and (integers or (len(numbers) >= _ENOUGH and least >= room))


_MOST_DIGITS = 30
_READ = Context(prec=6, traps=[])


def _format_rounded(number: Decimal) -> str:
    """Format a number with as many digits as people read."""
    return _format_number(number if number == number.to_integral_value() else _READ.plus(number))


def _format_number(number: Decimal) -> str:
    if not number:
        return "0"
    plain = number.normalize(EXACT)
    return f"{plain:f}" if -_MOST_DIGITS < plain.adjusted() < _MOST_DIGITS else f"{plain}".replace("E", "e")


# Values of any type. Each proposal of the list accepts whatever the one before it does, and the last one says
# hardly more than the type: the first is the one to store, unless the user knows better.


_MOST_ALTERNATIVES = 5
_LONGEST_ALTERNATIVE = 40
_BARE = lazy_pattern(r"[A-Za-z][A-Za-z0-9_.-]*")
_SPACED = "<<any_iso_datetime>>"
"""Its values may contain a blank, which a URL may not."""

_WORDS_OF_JSON = ("true", "false", "null")
_ANYTHING = PlaceholderProposal("<<any>>", "values of different types", True)


def narrowest(
    values: Sequence[Json], write: Write = escape, words: PlaceholderContext | None = None
) -> list[PlaceholderProposal]:
    """The proposals, best first; none for no values. `values` are in the order in which they were seen;
    `write` escapes a literal part of a text for storing; `words` are those of the project."""
    if not values:
        return []
    words = words or PlaceholderContext()
    non_null = [value for value in values if value is not None]
    candidates = list(_candidates_for(non_null or values, write, words))
    if non_null and len(non_null) < len(values):
        candidates = [
            replace(candidate, text=f"{candidate.text[:-2]}|null>>", reason=f"{candidate.reason}, or null")
            for candidate in candidates
            if is_alone(candidate.text)
        ]
    return select_accepting(candidates, values, words) or [_ANYTHING]


def _candidates_for(
    values: Sequence[Json], write: Write, words: PlaceholderContext
) -> Iterator[PlaceholderProposal]:
    types = {json_type(value) for value in values}
    type = types.pop()
    if types:
        return
    if type == "number" and all(map(is_number, values)):
        yield from propose_for_numbers(values, words)
    elif type == "string":
        proposals = list(proposals_from_table(values, "string", "sure", words)) or list(
            propose_by_parts(values, write, words)
        )
        if not proposals:
            yield from _propose_one_of(values)
        yield from proposals
        yield from proposals_from_table(values, "string", "type", words)
    else:
        yield from proposals_from_table(values, type, "sure", words)
        yield from proposals_from_table(values, type, "type", words)


def propose_by_parts(
    texts: Sequence[str], write: Write, words: PlaceholderContext
) -> Iterator[PlaceholderProposal]:
    """Proposals for texts that have no format as a whole: a template for their parts, or a likely format."""
    template = template_around_varying_parts(texts, write, words)
    likely = list(proposals_from_table(texts, "string", "likely", words))
    if template is None or (template.says_little and likely):
        yield from likely
        return
    yield replace(template, says_little=False)
    if not template.says_little and _SPACED not in template.text:
        yield from (proposal for proposal in likely if proposal.text == "<<any_url>>")


def _propose_one_of(values: Sequence[Json]) -> Iterator[PlaceholderProposal]:
    """Propose `one_of` for a few texts that were each seen more than once: they are likely to be all there
    are. For numbers that would be chance: two clients were connected, then three."""
    counted = Counter(values)
    are_few = 1 < len(counted) <= _MOST_ALTERNATIVES and min(counted.values()) > 1
    if are_few and all(len(str(value)) <= _LONGEST_ALTERNATIVE for value in counted):
        args = [
            "'" + value.replace("'", "''") + "'"
            if isinstance(value, str) and (not _BARE.fullmatch(value) or value in _WORDS_OF_JSON)
            else str(value)
            for value in counted
        ]
        reason = f"{len(counted)} values, each seen more than once"
        yield PlaceholderProposal(f"<<one_of({', '.join(args)})>>", reason)


def is_alone(text: str) -> bool:
    """Whether a text is a single placeholder, to which `|null` can be added."""
    return text.startswith("<<") and text.endswith(">>") and text.count("<<") == 1
