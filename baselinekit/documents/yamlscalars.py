"""Scalars of one line in YAML, as they stand behind a key or a dash: one by one, or many of them at once."""

import json
import re
from collections.abc import Sequence
from json import JSONDecoder
from operator import itemgetter

from baselinekit.documents.jsontext import NUMBER_STARTS, SURELY_EXACT, WORDS, number_or_text
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

Lead = tuple[int, str | None, int, tuple[type, ...]]
"""What a line begins with: its column, if it is a key and nothing before that (else -2); the key; its column;
what its dashes and its key are entries of."""

_TEXT_STARTS = frozenset("ABCDEGHIJKLMOPQRSUVWXYZabcdeghijklmopqrsuvwxyz_/(<$^\\")
ODD_STARTS = frozenset(map(chr, range(128))) - _TEXT_STARTS
"""What begins with any other character is a text as it stands there."""
NO_KEYS = {"<<", *WORDS}
_WORD_STARTS = frozenset("tfnTFN~")
_DIGITS = frozenset("0123456789")
DOUBLE = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"')
SINGLE = lazy_pattern("'[^']*(?:''[^']*)*'")
_SURE_ESCAPES = lazy_pattern(
    r'[^\\]*(?:\\(?:["\\nrtbf]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})[^\\]*)*'
)
_ESCAPED_TEXT = JSONDecoder(strict=False)
_NOT_IN_NUMBERS = lazy_pattern(r"[^0-9.\n-]")
_MAYBE_NUMBER = lazy_pattern(r"\n(?:[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?|0[xo][0-9a-fA-F]+)\n")
"""Of lines that begin with a digit, what may be more than a text."""
_first = itemgetter(0)


class Other(ValueError):
    """Something else stands there, be it right or wrong."""


class Scalars:
    """The scalars of one text."""

    def __init__(self, body: str):
        self.has_odd_blanks = "\t" in body or ("#" in body and " #" in body)
        self.known: dict[str, Json] = dict(WORDS)
        """What plain texts mean that may be something else."""

    def value(self, text: str) -> Json:
        """The value of a text that may be something else; if it is not, the text itself."""
        first = text[0]
        if first in NUMBER_STARTS:
            return self.number(text)
        if first in _WORD_STARTS:
            return text
        if first == '"' or first == "'":
            return self.quoted(text, first)
        if text == "[]" or text == "{}":
            return [] if text == "[]" else {}
        raise Other

    def number(self, text: str) -> Json:
        """The value of a text that begins as a number does. Most are short numbers, or dates and the like."""
        before, point, behind = text.partition(".")
        if before.isdigit() and text.isascii() and len(text) <= SURELY_EXACT:
            if behind.isdigit():
                return float(text)
            if not point:
                value = self.known[text] = int(text)
                return value
        elif "-" in text and "e-" not in text and "E-" not in text and text[0] not in "-+.":
            return text
        elif text[0] == "-" and not text[1:2].isalnum() and text[1:2] != ".":
            raise Other
        return number_or_text(text)

    def quoted(self, text: str, quote: str) -> str:
        inner = text[1:-1]
        if len(text) < 2 or text[-1] != quote:
            raise Other
        if quote == "'":
            if quote in inner:
                if not SINGLE.fullmatch(text):
                    raise Other
                inner = inner.replace("''", "'")
            return inner
        if "\\" not in inner:
            if quote in inner:
                raise Other
            return inner
        if not DOUBLE.fullmatch(text) or not _SURE_ESCAPES.fullmatch(text):
            raise Other
        if "\\x" in text:
            text = re.sub(r"\\(x|.)", lambda match: "\\u00" if match[1] == "x" else match[0], text)
        return str(_ESCAPED_TEXT.raw_decode(text)[0])

    def column(self, lines: str) -> Sequence[Json]:
        """The values of texts, a line each, in one pass where they are alike. Other: one of them may be more
        than a scalar of one line, behind a dash or a key."""
        texts = lines.split("\n")
        try:
            starts = {*map(_first, texts)}
        except IndexError:  # an empty one
            raise Other from None
        if starts <= NUMBER_STARTS and (numbers := _numbers(lines, texts)):
            return numbers
        odd = starts & ODD_STARTS
        if not odd.isdisjoint(_WORD_STARTS) and WORDS.keys().isdisjoint(texts):
            odd -= _WORD_STARTS
        if not odd.isdisjoint(_DIGITS) and not _MAYBE_NUMBER.search(f"\n{lines}\n"):
            odd -= _DIGITS
        if not odd:
            self._refuse_ended(lines)
            return texts
        if odd == starts and (values := self._like_column(lines, texts, starts)):
            return values
        return self._mixed_column(lines, texts, odd)

    def _like_column(self, lines: str, texts: list[str], starts: set[str]) -> Sequence[Json]:
        """The values of what is all words or in quotes; none if that is not sure."""
        if starts <= _WORD_STARTS:
            return [*map(WORDS.__getitem__, texts)] if WORDS.keys() >= {*texts} else ()
        return self._quoted_column(lines, texts) if len(starts) == 1 else ()

    def _quoted_column(self, lines: str, texts: list[str]) -> list[str]:
        """Texts in quotes without a quote or an escape within; none if they are not."""
        quote = lines[0]
        plain = quote in "\"'" and lines[-1] == quote and "\\" not in lines
        between = f"{quote}\n{quote}"
        if not plain or lines.count(quote) != 2 * len(texts) or lines.count(between) != len(texts) - 1:
            return []
        return lines[1:-1].split(between) if min(map(len, texts)) >= 2 else []

    def _mixed_column(self, lines: str, texts: list[str], odd: set[str]) -> list[Json]:
        """One by one what begins in an odd way."""
        places = [place for place, text in enumerate(texts) if text[0] in odd]
        values, known = list[Json](texts), self.known.get
        for place in places:
            text = texts[place]
            value = known(text, self)
            if value is self:
                value = self.value(text)
            values[place] = value
        plain = [text for text, value in zip(texts, values, strict=True) if text is value]
        if plain:
            self._refuse_ended("\n".join(plain) if len(plain) < len(texts) else lines)
        return values

    def _refuse_ended(self, lines: str) -> None:
        """Other: a plain text ends before its line does."""
        if ": " in lines or ":\n" in lines or " \n" in lines or lines[-1] in " :":
            raise Other
        if self.has_odd_blanks and (" #" in lines or "\t" in lines):
            raise Other


def _numbers(lines: str, texts: list[str]) -> list[Json]:
    """Short numbers without an exponent; none if one of the texts is something else."""
    if _NOT_IN_NUMBERS.search(lines) or max(map(len, texts)) > SURELY_EXACT:
        return []
    if "." not in lines and "-" not in lines:
        return [*map(int, texts)]
    try:
        numbers: list[Json] = json.loads("[" + lines.replace("\n", ",") + "]")
    except ValueError:
        return []
    return numbers


def block_text(header: str, lines: str) -> str:
    """The text of a block, from its lines without their indentation."""
    content = lines.rstrip("\n")
    if not content:
        raise Other
    if header[-1] == "+":
        return f"{lines}\n"
    return content if header[-1] == "-" else f"{content}\n"


def ends_within(text: str) -> bool:
    """Whether a plain text ends before its line does, or is none."""
    return text[-1] in " :" or ": " in text or " #" in text or "\t" in text
