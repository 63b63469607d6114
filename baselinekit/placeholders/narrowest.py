"""Finds the narrowest placeholders that accept all seen values."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.formats import is_of_now, is_token
from baselinekit.placeholders.grammar import escape, quoted, whole
from baselinekit.placeholders.table import NUMBER_IN_TEXT, TABLE, PlaceholderContext, Table
from baselinekit.placeholders.template import compile_text
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import is_number

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
    except BaselinekitError:  # a text that cannot be parsed, or takes too long, is not proposed
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
            yield PlaceholderProposal(f"<<{row.name}({argument})>>", rule.words)
        yield PlaceholderProposal(f"<<{row.name}>>", rule.words, when == "type")
        if when != "type":
            return


def for_rows(table: Table = TABLE) -> tuple[str, ...]:
    """The placeholders that may stand for a key of a row that describes many rows, the narrowest first."""
    return tuple(f"<<{row.name}>>" for row in table.values() if row.learnt and row.learnt.in_rows)


# Texts where only a part varies: `/users/<<any_uuid>>/posts`.
#
# The texts are split into pieces with a format (a moment, an id, a number), runs of characters without a
# blank, and what is between them. Pieces that are the same in all texts stay; where a run of characters
# varies, only its beginning up to a separator and its end from a separator on stay.


Write = Callable[[str, bool], str]
"""Escapes a literal text for a stored output; the flag is whether a placeholder comes right after it."""

Column = Sequence[str]
"""The same piece of every text."""

_LEAST_FORMAT = 10
_DIGITS = lazy_pattern(r"[0-9]+")
_NUMBER = lazy_pattern(NUMBER_IN_TEXT)
_LAST_SEPARATOR = lazy_pattern(r".*[-_:.~%/]", re.DOTALL)
_BEGINS = r"(?:(?<![0-9A-Za-z])|(?<=%[0-9A-F][0-9A-F]))"
"""The position after a sign, or after an escaped one in a URL."""

_NAMED_NUMBER = lazy_pattern(r"([^\W\d_]+)([0-9]+)")
_YEAR = lazy_pattern(r"(?<![0-9])20[0-9]{2}(?![0-9])")
_INTEGER, _ANY_NUMBER = "<<any_integer>>", "<<any_number>>"
_TOKEN, _TIME = "<<any_token>>", "<<any_time>>"
WIDE = ("<<any_nonempty_string>>", "<<any_string>>")
"""The placeholders for a part about which nothing is known; the second one if the part may be empty."""


@cache
def _compile_pieces(pieces: tuple[tuple[bool, str], ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The two expressions that split a text: the first for forms that no text has by chance, which may stand
    beside any sign; the second, for what remains, for forms that words and numbers have too, which must stand
    alone, and for runs of characters."""
    sure, others = ("|".join(text for is_sure, text in pieces if is_sure is kind) for kind in (True, False))
    return (
        re.compile(rf"{_BEGINS}(?:{sure})(?![0-9A-Za-z]|[.:][0-9])"),
        re.compile(
            rf"(?<![\w.-])(?:{others})(?![\w]|[.:-][\w])"
            r"|(?:\w+[-:])?(?=[A-Za-z0-9/]*\+|[A-Za-z0-9+/]*=)[A-Za-z0-9+/]{16,}={0,2}(?![\w=+/])"
            r"|\w+(?:[-%~]+\w+)*(?:={1,2}(?![\w=%]))?"
            r"|\n|[^\S\n]+|.",
            re.DOTALL,
        ),
    )


def split_into_pieces(text: str, words: PlaceholderContext) -> list[str]:
    rules = [row.learnt for row in words.table.values() if row.learnt and row.learnt.piece]
    by_form = sorted(rules, key=lambda rule: rule.of != "string")  # texts first: 1.2.3 is not a number
    forms = ((rule.when == "sure" and rule.of == "string", rule.piece) for rule in by_form)
    sure, others = _compile_pieces(tuple(forms))
    pieces: list[str] = []
    end = 0
    for match in sure.finditer(text):
        pieces += [*others.findall(text, end, match.start()), match[0]]
        end = match.end()
    return pieces + others.findall(text, end)


class TextPieces:
    """Several texts aligned piece by piece. In a single text only pieces vary that are hardly ever the same
    in two answers, such as an id, a token, a moment."""

    def __init__(self, texts: Sequence[str], words: PlaceholderContext):
        self._words, self._alone = words, len(texts) == 1
        lines = [text.split("\n") for text in texts]
        if len({len(text_lines) for text_lines in lines}) > 1:
            lines = [[text] for text in texts]
        self.columns: list[tuple[list[str], bool]] = []
        """Each piece of all texts, and whether it varies."""
        for number, line in enumerate(zip(*lines, strict=True)):
            if number:
                self._add_column(["\n"] * len(texts), False)
            for column in _columns_of([split_into_pieces(text, words) for text in line]):
                self._add_column(column, self.varies(column))

    def _add_column(self, column: list[str], varies: bool) -> None:
        """Add a column; neighbouring ones are joined if they stay, or if they vary and one has no form."""
        if self.columns and self.columns[-1][1] == varies:
            before = self.columns[-1][0]
            if not varies or self._find_sure(before) is None or self._find_sure(column) is None:
                self.columns[-1] = ([a + b for a, b in zip(before, column, strict=True)], varies)
                return
        self.columns.append((column, varies))

    def varies(self, column: Column) -> bool:
        if self._alone:
            return len(column[0]) >= _LEAST_FORMAT and self._find_sure(column) is not None
        return any(text != column[0] for text in column) or is_of_now(column[0], self._words.now)

    def rendered(self, write: Write) -> tuple[str, list[str], str]:
        """The template, its placeholders, and all of its literal text."""
        parts: list[tuple[str, bool]] = []
        for column, varies in self.columns:
            parts += self._parts_of(column) if varies else [(column[0], False)]
        joined: list[tuple[str, bool]] = []
        for varies, group in groupby(parts, key=itemgetter(1)):
            texts = [text for text, _ in group]
            joined += [(text, True) for text in texts] if varies else [("".join(texts), False)]
        written = "".join(
            text if varies else write(text, number < len(joined))
            for number, (text, varies) in enumerate(joined, 1)
        )
        placeholders = [text for text, varies in joined if varies]
        return written, placeholders, "".join(text for text, varies in joined if not varies)

    # The placeholders for a part that varies.

    def _parts_of(self, column: Column) -> list[tuple[str, bool]]:
        if not all(column):
            return [(WIDE[1], True)]
        placeholder = self._known_placeholder(column)
        if placeholder is not None:
            return [(placeholder, True)]
        before, after = self._common_ends(column)
        middle = [text[len(before) : len(text) - len(after)] for text in column]
        inner = self._known_placeholder(middle) if all(middle) else None
        wide = _TOKEN if all(map(is_token, middle)) else WIDE[0] if all(middle) else WIDE[1]
        parts = [(before, False), (inner or wide, True), (after, False)]
        return [part for part in parts if part[0]]

    def _known_placeholder(self, column: Column) -> str | None:
        """The placeholder for pieces that all have one form; None if there is none."""
        sure = self._find_sure(column)
        if sure is not None:
            return sure
        if all(map(_NUMBER.fullmatch, column)):
            return _INTEGER if all(map(_DIGITS.fullmatch, column)) else _ANY_NUMBER
        for row in self._words.table.values():
            rule = row.learnt
            is_likely = rule and rule.piece and rule.when == "likely" and rule.fits(column)
            if rule and is_likely and all(re.fullmatch(rule.piece, text) for text in column):
                return f"<<{row.name}>>"
        return None

    def _common_ends(self, column: Column) -> tuple[str, str]:
        """The common beginning up to a separator, and the common end from one on; or the name before a
        number."""
        named = [_NAMED_NUMBER.fullmatch(text) for text in column]
        names = {match[1] if match else None for match in named}
        if len(names) == 1 and None not in names:
            return str(names.pop()), ""
        before = _up_to_separator(column)
        rests = [text[len(before) :] for text in column]
        after = _up_to_separator([text[::-1] for text in rests])[::-1]
        if not all(text[: len(text) - len(after)] for text in rests):
            after = ""
        return (before, after) if all(rests) else ("", "")

    def _find_sure(self, column: Column) -> str | None:
        proposals = proposals_from_table(column, "string", "sure", self._words)
        return next((proposal.text for proposal in proposals), None)


def _up_to_separator(texts: Column) -> str:
    """The longest common beginning that ends with a separator."""
    match = _LAST_SEPARATOR.match(texts[0], 0, _count_shared(texts))
    return match[0] if match else ""


def _count_shared(rows: Sequence[Sequence[str]]) -> int:
    """Count the characters, or the pieces, with which all begin."""
    columns = enumerate(zip(*rows, strict=False))
    return next((n for n, column in columns if len(set(column)) > 1), min(map(len, rows)))


def _columns_of(rows: list[list[str]]) -> Iterator[list[str]]:
    """Align the pieces of all texts. If some texts have more pieces than others, only the beginnings and the
    ends can be aligned."""
    length = min(map(len, rows))
    if any(len(row) != length for row in rows):
        first = rows[0]
        head = _count_shared(rows)
        tail = min(_count_shared([row[::-1] for row in rows]), length - head)
        middle = ["".join(row[head : len(row) - tail]) for row in rows]
        rows = [[*first[:head], text, *first[len(first) - tail :]] for text in middle]
    yield from (list(column) for column in zip(*rows, strict=True))


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

    template, placeholders, fixed_text = TextPieces(texts, words).rendered(write)
    wide = sum(text in WIDE for text in placeholders)
    most_wide = _MOST_WIDE if any(char.isalnum() for char in fixed_text) else 0
    if not fixed_text or not placeholders or len(placeholders) > _MOST_PARTS or wide > most_wide:
        return None
    # a time beside a year that stays: the text holds a date in an unknown form, with its day as it is
    if _TIME in placeholders and _YEAR.search(fixed_text):
        return None
    reason = f"the text around {'it' if len(placeholders) == 1 else 'them'} stays"
    return PlaceholderProposal(template, reason, wide > 0)


# Numbers. Two or three of them say nothing about the next thousand: a counter grows and restarts at zero, and
# a size or a duration may be a hundred times as large on a slow day. So the only bound is zero, for counts: a
# negative one is a fault.


def propose_for_numbers(values: Sequence[Json], words: PlaceholderContext) -> Iterator[PlaceholderProposal]:
    """Candidates for numbers, the narrowest first."""
    wider = list(proposals_from_table(values, "number", "type", words))
    for moments in proposals_from_table(values, "number", "sure", words):
        yield moments
        yield from wider[-1:]
        return
    if wider and all(map(whole, values)) and 0 <= min(values) < max(values):
        yield PlaceholderProposal(wider[0].text.replace(">>", "(0)>>"), f"{wider[0].reason}, none negative")
    yield from wider


# Values of any type. Each proposal of the list accepts whatever the one before it does, and the last one says
# hardly more than the type: the first is the one to store, unless the user knows better.


_MOST_ALTERNATIVES = 5
_LONGEST_ALTERNATIVE = 40
_BARE = lazy_pattern(r"[A-Za-z][A-Za-z0-9_.-]*")
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
        alone = ((one, f"{one.text[:-2]}|null>>") for one in candidates if is_alone(one.text))
        candidates = [replace(one, text=text, reason=f"{one.reason}, or null") for one, text in alone]
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
        sure = proposals_from_table(values, "string", "sure", words)
        proposals = [*sure] or [*propose_by_parts(values, write, words)]
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
    else:
        yield replace(template, says_little=False)


def _propose_one_of(values: Sequence[str]) -> Iterator[PlaceholderProposal]:
    """Propose `one_of` for a few texts that were each seen more than once: they are likely to be all there
    are. For numbers that would be chance: two clients were connected, then three."""
    counted = Counter(values)
    are_few = 1 < len(counted) <= _MOST_ALTERNATIVES and min(counted.values()) > 1
    if are_few and all(len(value) <= _LONGEST_ALTERNATIVE for value in counted):
        is_bare = {value: _BARE.fullmatch(value) and value not in _WORDS_OF_JSON for value in counted}
        args = [value if is_bare[value] else quoted(value) for value in counted]
        reason = f"{len(counted)} values, each seen more than once"
        yield PlaceholderProposal(f"<<one_of({', '.join(args)})>>", reason)


def is_alone(text: str) -> bool:
    """Whether a text is a single placeholder, to which `|null` can be added."""
    return text.startswith("<<") and text.endswith(">>") and text.count("<<") == 1
