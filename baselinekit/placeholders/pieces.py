"""Texts of which only a part varies -> the text with placeholders in it: `/users/<<any_uuid>>/posts`."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.grammar import LearningRule
from baselinekit.placeholders.moments import is_of_now, seconds_of
from baselinekit.placeholders.table import NUMBER_IN_TEXT, Words
from baselinekit.placeholders.template import compile_text
from baselinekit.placeholders.varying import is_random

# The texts are taken apart into what has a format (a moment, an id, a number), runs of characters without a
# blank, and what is between them. What is the same in all of them stays; where a run of characters varies,
# only what stands before or after a separator in it stays.


Write = Callable[[str, bool], str]
"""A literal text as a stored output holds it; the flag says whether a placeholder comes right after it."""

Column = Sequence[str]
"""The same piece of every text."""

_LEAST_FORMAT = 10
_DIGITS = lazy_pattern(r"[0-9]+")
_NUMBER = lazy_pattern(NUMBER_IN_TEXT)
_LAST_SEPARATOR = lazy_pattern(r".*[-_:.~%/]", re.DOTALL)
_SEPARATOR = lazy_pattern(r"([-_:.~/])")
_BEGINS = r"(?:(?<![0-9A-Za-z])|(?<=%[0-9A-F][0-9A-F]))"
"""After a sign, also after one that is escaped in a URL."""

_NAMED_NUMBER = lazy_pattern(r"([^\W\d_]+)([0-9]+)")
_YEAR = lazy_pattern(r"(?<![0-9])20[0-9]{2}(?![0-9])")
_WITHIN_A_YEAR = 400 * 86_400
_INTEGER, _ANY_NUMBER, _MOMENT = "<<any_integer>>", "<<any_number>>", "<<any_unix_timestamp>>"
_TOKEN, _TIME = "<<any_token>>", "<<any_time>>"
WIDE = ("<<any_nonempty_string>>", "<<any_string>>")
"""What stands for a part of which nothing is known; the second one where there may be none."""


@cache
def _expressions(pieces: tuple[tuple[bool, str], ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What a text is taken apart into: what nothing has by chance, which may stand beside any sign; then, of
    what is left, what words and numbers have as well, which must stand alone, and runs of characters."""
    sure, others = (
        " | ".join(piece for is_sure, piece in pieces if is_sure is which) for which in (True, False)
    )
    return (
        re.compile(rf"{_BEGINS}(?: {sure} )(?![0-9A-Za-z]|[.:][0-9])", re.VERBOSE),
        re.compile(
            rf"""(?<![\w.-])(?: {others} )(?![\w]|[.:-][\w])
              | (?:\w+[-:])?(?=[A-Za-z0-9/]*\+|[A-Za-z0-9+/]*=)[A-Za-z0-9+/]{{16,}}={{0,2}}(?![\w=+/])
              | \w+(?:[-%~]+\w+)*(?:={{1,2}}(?![\w=%]))?
              | \n | [^\S\n]+ | .""",
            re.VERBOSE | re.DOTALL,
        ),
    )


def taken_apart(text: str, words: Words) -> list[str]:
    rules = [row.learnt for row in words.table.values() if row.learnt and row.learnt.piece]
    by_form = sorted(rules, key=lambda rule: rule.of != "string")  # 1.2.3 is no number
    sure, others = _expressions(
        tuple((rule.when == "sure" and rule.of == "string", rule.piece) for rule in by_form)
    )
    pieces: list[str] = []
    end = 0
    for found in sure.finditer(text):
        pieces += [*others.findall(text, end, found.start()), found[0]]
        end = found.end()
    return pieces + others.findall(text, end)


class TextPieces:
    """Several texts beside each other, piece by piece. Of one text alone only what hardly two answers have in
    common can vary, such as an id, a token, a moment."""

    def __init__(self, texts: Sequence[str], words: Words, sure: Callable[[Column], str | None]):
        self._words, self._sure, self._alone = words, sure, len(texts) == 1
        lines = [text.split("\n") for text in texts]
        if len({len(one) for one in lines}) > 1:
            lines = [[text] for text in texts]
        self.columns: list[tuple[list[str], bool]] = []
        """Each piece with whether it varies."""
        for number, line in enumerate(zip(*lines, strict=True)):
            if number:
                self._add(["\n"] * len(texts), False)
            for column in _beside([taken_apart(text, words) for text in line]):
                self._add(column, self.varies(column))

    def _add(self, column: list[str], varies: bool) -> None:
        """What stays is joined, and so is what varies and has no form of its own."""
        if self.columns and self.columns[-1][1] == varies:
            before = self.columns[-1][0]
            if not varies or self._sure(before) is None or self._sure(column) is None:
                self.columns[-1] = ([a + b for a, b in zip(before, column, strict=True)], varies)
                return
        self.columns.append((column, varies))

    def varies(self, column: Column) -> bool:
        if self._alone:
            return len(column[0]) >= _LEAST_FORMAT and self._sure(column) is not None
        return any(text != column[0] for text in column) or is_of_now(column[0], self._words.now)

    def stands(self) -> list[str | Column]:
        """The parts of the template: a literal text, or the values that a placeholder has to stand for."""
        return [column if varies else column[0] for column, varies in self.columns]

    def rendered(self, write: Write) -> tuple[str, list[str], str]:
        """The template, the placeholders in it, and all that stays."""
        parts = [
            part
            for column, varies in self.columns
            for part in (self._of(column) if varies else [(column[0], False)])
        ]
        if any(text == _ANY_NUMBER for text, _ in parts):  # it counts and measures: 3 is 3.0 there
            parts = [(_ANY_NUMBER if one == (_INTEGER, True) else one[0], one[1]) for one in parts]
        joined = [
            ("".join(text for text, _ in group), False) if not placeholder else one
            for placeholder, found in groupby(parts, key=lambda part: part[1])
            for group in [list(found)]
            for one in (group if placeholder else group[:1])
        ]
        written = "".join(
            text if placeholder else write(text, place + 1 < len(joined))
            for place, (text, placeholder) in enumerate(joined)
        )
        placeholders = [text for text, placeholder in joined if placeholder]
        return written, placeholders, "".join(text for text, placeholder in joined if not placeholder)

    # What stands for a part that varies.

    def _of(self, column: Column) -> list[tuple[str, bool]]:
        if not all(column):
            return [(WIDE[1], True)]
        known = self._known(column)
        if known is not None:
            return [(known, True)]
        before, after = self._around(column)
        middle = [text[len(before) : len(text) - len(after)] for text in column]
        inner = self._known(middle) if all(middle) else None
        if inner is not None:
            parts = [(inner, True)]
        else:
            parts = self._by_segments(middle) or [(self._wide(middle), True)]
        around = [(before, False)] if before else []
        return [*around, *parts, *([(after, False)] if after else [])]

    def _known(self, column: Column) -> str | None:
        """A placeholder for pieces that have one form as a whole."""
        sure = self._sure(column)
        if sure is not None:
            return sure
        if all(map(_DIGITS.fullmatch, column)):
            return _MOMENT if self._are_moments(column) else _INTEGER
        if all(map(_NUMBER.fullmatch, column)):
            return _MOMENT if self._are_moments(column) else _ANY_NUMBER
        for row in self._words.table.values():
            rule = row.learnt
            if rule and rule.when == "likely" and (rule.part or rule.piece):
                form = f"<<{row.name}>>"
                if _is_of(rule, column) and _accept(form, column, self._words):
                    return form
        return None

    def _are_moments(self, column: Column) -> bool:
        now = self._words.now
        moments = [seconds_of(float(text)) for text in column if len(text) < 40]
        return bool(now and moments) and all(
            moment is not None and abs(moment - now) < _WITHIN_A_YEAR for moment in moments
        )

    def _around(self, column: Column) -> tuple[str, str]:
        """What all have up to a separator, and from one on; or the name before a number."""
        named = [_NAMED_NUMBER.fullmatch(text) for text in column]
        names = {found[1] if found else None for found in named}
        if len(names) == 1 and None not in names:
            return str(names.pop()), ""
        before = to_separator(common_start(column))
        rests = [text[len(before) :] for text in column]
        after = to_separator(common_start([text[::-1] for text in rests]))[::-1]
        if not all(text[: len(text) - len(after)] for text in rests):
            after = ""
        return (before, after) if all(rests) else ("", "")

    def _by_segments(self, column: Column) -> list[tuple[str, bool]] | None:
        """`17-2026-a` between its separators, where each part is the same in all or has a known form. Made by
        a generator are those of which a part has none: their separators are by chance where they are."""
        rows = [_SEPARATOR.split(text) for text in column]
        if len({(len(row), *row[1::2]) for row in rows}) > 1 or len(rows[0]) < 3:
            return None
        parts: list[tuple[str, bool]] = []
        for number, segment in enumerate(zip(*rows, strict=True)):
            if number % 2 or not self.varies(segment):
                parts.append((segment[0], False))
                continue
            known = self._known(segment) if all(segment) else None
            if known is None:
                return None
            parts.append((known, True))
        return parts

    def _wide(self, column: Column) -> str:
        random = all(map(is_random, column)) and _accept(_TOKEN, column, self._words)
        return _TOKEN if random else WIDE[0] if all(column) else WIDE[1]


def common_start(texts: Sequence[str]) -> str:
    """What all begin with."""
    first, last = min(texts), max(texts)
    length = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]


def to_separator(text: str) -> str:
    found = _LAST_SEPARATOR.match(text)
    return found[0] if found else ""


def _is_of(rule: LearningRule, column: Column) -> bool:
    """Whether the pieces look like it even where nothing surer is known of them."""
    expression = re.compile(rule.part or rule.piece, re.VERBOSE if not rule.part else 0)
    return all(map(expression.fullmatch, column)) and (bool(rule.part) or rule.fits(column))


def _accept(form: str, column: Column, words: Words) -> bool:
    try:
        template = compile_text(f"{form} ", words)  # as a part of a text: it reads numbers there
        return not isinstance(template, str) and all(template.accepts(f"{text} ", {}) for text in column)
    except BaselinekitError:
        return False


def _beside(rows: list[list[str]]) -> Iterator[list[str]]:
    """The pieces of all texts beside each other. Where texts have more pieces than others, only their
    beginnings and their ends can be set beside each other."""
    length = min(map(len, rows))
    if any(len(row) != length for row in rows):
        first = rows[0]
        head = _shared(rows, length)
        tail = _shared([row[::-1] for row in rows], length - head)
        middle = ["".join(row[head : len(row) - tail]) for row in rows]
        rows = [[*first[:head], between, *first[len(first) - tail :]] for between in middle]
    yield from (list(column) for column in zip(*rows, strict=True))


def _shared(rows: list[list[str]], most: int) -> int:
    """How many pieces all of them begin with."""
    first = rows[0]
    return next((n for n in range(most) if any(row[n] != first[n] for row in rows)), most)


def hides_a_day(placeholders: Sequence[str], kept: str) -> bool:
    """Whether a time of day varies beside a year that stays: a date in a form that nobody knows, of which the
    day would stay as it is."""
    return _TIME in placeholders and _YEAR.search(kept) is not None
