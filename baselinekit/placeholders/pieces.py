"""Turns texts of which only a part varies into a text with placeholders: `/users/<<any_uuid>>/posts`."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.formats import is_random
from baselinekit.placeholders.moments import is_of_now, seconds_of
from baselinekit.placeholders.table import NUMBER_IN_TEXT, PlaceholderContext
from baselinekit.placeholders.template import compile_text

# The texts are split into pieces with a format (a moment, an id, a number), runs of characters without a
# blank, and what is between them. Pieces that are the same in all texts stay; where a run of characters
# varies, only its beginning up to a separator and its end from a separator on stay.


Write = Callable[[str, bool], str]
"""Escapes a literal text for a stored output; the flag says whether a placeholder comes right after it."""

Column = Sequence[str]
"""The same piece of every text."""

_LEAST_FORMAT = 10
_DIGITS = lazy_pattern(r"[0-9]+")
_NUMBER = lazy_pattern(NUMBER_IN_TEXT)
_LAST_SEPARATOR = lazy_pattern(r".*[-_:.~%/]", re.DOTALL)
_SEPARATOR = lazy_pattern(r"([-_:.~/])")
_BEGINS = r"(?:(?<![0-9A-Za-z])|(?<=%[0-9A-F][0-9A-F]))"
"""The position after a sign, or after an escaped one in a URL."""

_NAMED_NUMBER = lazy_pattern(r"([^\W\d_]+)([0-9]+)")
_YEAR = lazy_pattern(r"(?<![0-9])20[0-9]{2}(?![0-9])")
_WITHIN_A_YEAR = 400 * 86_400
_INTEGER, _ANY_NUMBER, _MOMENT = "<<any_integer>>", "<<any_number>>", "<<any_unix_timestamp>>"
_TOKEN, _TIME = "<<any_token>>", "<<any_time>>"
WIDE = ("<<any_nonempty_string>>", "<<any_string>>")
"""The placeholders for a part of which nothing is known; the second one if the part may be empty."""


@cache
def _compile_pieces(pieces: tuple[tuple[bool, str], ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The two expressions that split a text: the first for forms that no text has by chance, which may stand
    beside any sign; the second, for what remains, for forms that words and numbers have too, which must stand
    alone, and for runs of characters."""
    sure, others = (
        "|".join(piece for is_sure, piece in pieces if is_sure is want_sure) for want_sure in (True, False)
    )
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
    by_form = sorted(rules, key=lambda rule: rule.of != "string")  # texts first: 1.2.3 is no number
    sure, others = _compile_pieces(
        tuple((rule.when == "sure" and rule.of == "string", rule.piece) for rule in by_form)
    )
    pieces: list[str] = []
    end = 0
    for match in sure.finditer(text):
        pieces += [*others.findall(text, end, match.start()), match[0]]
        end = match.end()
    return pieces + others.findall(text, end)


class TextPieces:
    """Several texts aligned piece by piece. In a single text only pieces vary that are hardly ever the same
    in two answers, such as an id, a token, a moment."""

    def __init__(self, texts: Sequence[str], words: PlaceholderContext, sure: Callable[[Column], str | None]):
        self._words, self._find_sure, self._alone = words, sure, len(texts) == 1
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
        parts = [
            part
            for column, varies in self.columns
            for part in (self._parts_of(column) if varies else [(column[0], False)])
        ]
        if any(text == _ANY_NUMBER for text, _ in parts):  # a text with measurements: 3 may be 3.0 next time
            parts = [(_ANY_NUMBER if part == (_INTEGER, True) else part[0], part[1]) for part in parts]
        joined = [
            ("".join(text for text, _ in group), False) if not placeholder else part
            for placeholder, run in groupby(parts, key=lambda part: part[1])
            for group in [list(run)]
            for part in (group if placeholder else group[:1])
        ]
        written = "".join(
            text if placeholder else write(text, place + 1 < len(joined))
            for place, (text, placeholder) in enumerate(joined)
        )
        placeholders = [text for text, placeholder in joined if placeholder]
        return written, placeholders, "".join(text for text, placeholder in joined if not placeholder)

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
        if inner is not None:
            parts = [(inner, True)]
        else:
            parts = self._split_by_separators(middle) or [(self._wide_placeholder(middle), True)]
        around = [(before, False)] if before else []
        return [*around, *parts, *([(after, False)] if after else [])]

    def _known_placeholder(self, column: Column) -> str | None:
        """The placeholder for pieces that all have one form; None if there is none."""
        sure = self._find_sure(column)
        if sure is not None:
            return sure
        if all(map(_DIGITS.fullmatch, column)):
            return _MOMENT if self._are_moments(column) else _INTEGER
        if all(map(_NUMBER.fullmatch, column)):
            return _MOMENT if self._are_moments(column) else _ANY_NUMBER
        for row in self._words.table.values():
            rule = row.learnt
            placeholder = f"<<{row.name}>>"
            if (
                rule
                and rule.when == "likely"
                and rule.piece
                and all(map(re.compile(rule.piece).fullmatch, column))
                and rule.fits(column)
                and _accepts_all_in_text(placeholder, column, self._words)
            ):
                return placeholder
        return None

    def _are_moments(self, column: Column) -> bool:
        now = self._words.now
        moments = [seconds_of(float(text)) for text in column if len(text) < 40]
        return bool(now and moments) and all(
            moment is not None and abs(moment - now) < _WITHIN_A_YEAR for moment in moments
        )

    def _common_ends(self, column: Column) -> tuple[str, str]:
        """The common beginning up to a separator, and the common end from one on; or the name before a
        number."""
        named = [_NAMED_NUMBER.fullmatch(text) for text in column]
        names = {match[1] if match else None for match in named}
        if len(names) == 1 and None not in names:
            return str(names.pop()), ""
        before = up_to_separator(common_start(column))
        rests = [text[len(before) :] for text in column]
        after = up_to_separator(common_start([text[::-1] for text in rests]))[::-1]
        if not all(text[: len(text) - len(after)] for text in rests):
            after = ""
        return (before, after) if all(rests) else ("", "")

    def _split_by_separators(self, column: Column) -> list[tuple[str, bool]] | None:
        """The parts of texts such as `17-2026-a`, if each part between the separators is the same in all
        texts or has a known form. Otherwise None: such texts are generated, and their separators are where
        they are by chance."""
        rows = [_SEPARATOR.split(text) for text in column]
        if len({(len(row), *row[1::2]) for row in rows}) > 1 or len(rows[0]) < 3:
            return None
        parts: list[tuple[str, bool]] = []
        for number, segment in enumerate(zip(*rows, strict=True)):
            if number % 2 or not self.varies(segment):
                parts.append((segment[0], False))
                continue
            placeholder = self._known_placeholder(segment) if all(segment) else None
            if placeholder is None:
                return None
            parts.append((placeholder, True))
        return parts

    def _wide_placeholder(self, column: Column) -> str:
        random = all(map(is_random, column)) and _accepts_all_in_text(_TOKEN, column, self._words)
        return _TOKEN if random else WIDE[0] if all(column) else WIDE[1]


def common_start(texts: Sequence[str]) -> str:
    """The longest common beginning."""
    first, last = min(texts), max(texts)
    length = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]


def up_to_separator(text: str) -> str:
    match = _LAST_SEPARATOR.match(text)
    return match[0] if match else ""


def _accepts_all_in_text(placeholder: str, column: Column, words: PlaceholderContext) -> bool:
    try:
        template = compile_text(f"{placeholder} ", words)  # as a part of a text: it reads numbers there
        return not isinstance(template, str) and all(template.accepts(f"{text} ", {}) for text in column)
    except BaselinekitError:
        return False


def _columns_of(rows: list[list[str]]) -> Iterator[list[str]]:
    """Align the pieces of all texts. If some texts have more pieces than others, only the beginnings and the
    ends can be aligned."""
    length = min(map(len, rows))
    if any(len(row) != length for row in rows):
        first = rows[0]
        head = _count_shared(rows, length)
        tail = _count_shared([row[::-1] for row in rows], length - head)
        middle = ["".join(row[head : len(row) - tail]) for row in rows]
        rows = [[*first[:head], text, *first[len(first) - tail :]] for text in middle]
    yield from (list(column) for column in zip(*rows, strict=True))


def _count_shared(rows: list[list[str]], most: int) -> int:
    """Count the pieces with which all rows begin."""
    first = rows[0]
    return next((n for n in range(most) if any(row[n] != first[n] for row in rows)), most)


def hides_a_day(placeholders: Sequence[str], fixed_text: str) -> bool:
    """Whether a time of day varies beside a year that stays: then the text holds a date in an unknown form,
    whose day would be stored as it is."""
    return _TIME in placeholders and _YEAR.search(fixed_text) is not None
