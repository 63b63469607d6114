"""Reads YAML scalars on one line, after a key or a dash: one by one, or many at once."""

import json
import re
from collections.abc import Sequence
from json import JSONDecoder
from operator import itemgetter

from baselinekit.documents.jsontext import NUMBER_STARTS, SURELY_EXACT, WORDS, number_or_text
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

LineStart = tuple[int, str | None, int, tuple[type, ...]]
"""The start of a line: its column if it starts with a key (else -2); the key; the column of its first entry;
the types of the collections that its dashes and its key are entries of."""

_TEXT_STARTS = frozenset("ABCDEGHIJKLMOPQRSUVWXYZabcdeghijklmopqrsuvwxyz_/(<$^\\")
SPECIAL_STARTS = frozenset(map(chr, range(128))) - _TEXT_STARTS
"""A scalar with any other first character is a text as it is."""
NO_KEYS = {"<<", *WORDS}
_WORD_STARTS = frozenset("tfnTFN~")
_DIGITS = frozenset("0123456789")
DOUBLE = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"')
SINGLE = lazy_pattern("'[^']*(?:''[^']*)*'")
_VALID_ESCAPES = lazy_pattern(
    r'[^\\]*(?:\\(?:["\\nrtbf]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})[^\\]*)*'
)
_ESCAPED_TEXT = JSONDecoder(strict=False)
_NOT_IN_NUMBERS = lazy_pattern(r"[^0-9.\n-]")
_MAYBE_NUMBER = lazy_pattern(r"\n(?:[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?|0[xo][0-9a-fA-F]+)\n")
"""A line that starts with a digit and may be a number."""
_first = itemgetter(0)


class NotPlainYaml(ValueError):
    """The text needs the full YAML reader, whether it is valid or not."""


class Scalars:
    """The scalars of one text."""

    def __init__(self, body: str):
        self.has_tabs_or_comments = "\t" in body or ("#" in body and " #" in body)
        self.special_values: dict[str, Json] = dict(WORDS)
        """The values of the plain texts seen so far that may not be texts."""

    def value(self, text: str) -> Json:
        """Return the value of a scalar with a special first character, which may be the text itself."""
        first = text[0]
        if first in NUMBER_STARTS:
            return self.number(text)
        if first in _WORD_STARTS:
            return text
        if first == '"' or first == "'":
            return self.quoted(text, first)
        if text == "[]" or text == "{}":
            return [] if text == "[]" else {}
        raise NotPlainYaml

    def number(self, text: str) -> Json:
        """Return the value of a text that starts like a number. Most are short numbers, or dates and the
        like."""
        integer_part, point, fraction_part = text.partition(".")
        if integer_part.isdigit() and text.isascii() and len(text) <= SURELY_EXACT:
            if fraction_part.isdigit():
                return float(text)
            if not point:
                value = self.special_values[text] = int(text)
                return value
        elif "-" in text and "e-" not in text and "E-" not in text and text[0] not in "-+.":
            return text
        elif text[0] == "-" and not text[1:2].isalnum() and text[1:2] != ".":
            raise NotPlainYaml
        return number_or_text(text)

    def quoted(self, text: str, quote: str) -> str:
        inner = text[1:-1]
        if len(text) < 2 or text[-1] != quote:
            raise NotPlainYaml
        if quote == "'":
            if quote in inner:
                if not SINGLE.fullmatch(text):
                    raise NotPlainYaml
                inner = inner.replace("''", "'")
            return inner
        if "\\" not in inner:
            if quote in inner:
                raise NotPlainYaml
            return inner
        if not DOUBLE.fullmatch(text) or not _VALID_ESCAPES.fullmatch(text):
            raise NotPlainYaml
        if "\\x" in text:
            text = re.sub(r"\\(x|.)", lambda match: "\\u00" if match[1] == "x" else match[0], text)
        return str(_ESCAPED_TEXT.raw_decode(text)[0])

    def column(self, lines: str) -> Sequence[Json]:
        """Return the values of texts, one per line, in one pass if they are alike. NotPlainYaml if one of
        them may not be a scalar on one line, after a dash or a key."""
        texts = lines.split("\n")
        try:
            starts = {*map(_first, texts)}
        except IndexError:  # an empty line
            raise NotPlainYaml from None
        if starts <= NUMBER_STARTS and (numbers := _numbers(lines, texts)):
            return numbers
        special_starts = starts & SPECIAL_STARTS
        if not special_starts.isdisjoint(_WORD_STARTS) and WORDS.keys().isdisjoint(texts):
            special_starts -= _WORD_STARTS
        if not special_starts.isdisjoint(_DIGITS) and not _MAYBE_NUMBER.search(f"\n{lines}\n"):
            special_starts -= _DIGITS
        if not special_starts:
            self._refuse_early_end(lines)
            return texts
        if special_starts == starts and (values := self._uniform_column(lines, texts, starts)):
            return values
        return self._mixed_column(lines, texts, special_starts)

    def _uniform_column(self, lines: str, texts: list[str], starts: set[str]) -> Sequence[Json]:
        """Return the values if all are words or all are in quotes; none if that is not certain."""
        if starts <= _WORD_STARTS:
            return [*map(WORDS.__getitem__, texts)] if WORDS.keys() >= {*texts} else ()
        return self._quoted_column(lines, texts) if len(starts) == 1 else ()

    def _quoted_column(self, lines: str, texts: list[str]) -> list[str]:
        """Return quoted texts without quotes or escapes inside; none if there are others."""
        quote = lines[0]
        is_plain = quote in "\"'" and lines[-1] == quote and "\\" not in lines
        separator = f"{quote}\n{quote}"
        if not is_plain or lines.count(quote) != 2 * len(texts) or lines.count(separator) != len(texts) - 1:
            return []
        return lines[1:-1].split(separator) if min(map(len, texts)) >= 2 else []

    def _mixed_column(self, lines: str, texts: list[str], special_starts: set[str]) -> list[Json]:
        """Read the texts with special first characters one by one."""
        indexes = [index for index, text in enumerate(texts) if text[0] in special_starts]
        values, known = list[Json](texts), self.special_values.get
        for index in indexes:
            text = texts[index]
            value = known(text, self)
            if value is self:
                value = self.value(text)
            values[index] = value
        plain_texts = [text for text, value in zip(texts, values, strict=True) if text is value]
        if plain_texts:
            self._refuse_early_end("\n".join(plain_texts) if len(plain_texts) < len(texts) else lines)
        return values

    def _refuse_early_end(self, lines: str) -> None:
        """Raise NotPlainYaml if a plain text ends before its line does."""
        if ": " in lines or ":\n" in lines or " \n" in lines or lines[-1] in " :":
            raise NotPlainYaml
        if self.has_tabs_or_comments and (" #" in lines or "\t" in lines):
            raise NotPlainYaml


def _numbers(lines: str, texts: list[str]) -> list[Json]:
    """Return short numbers without an exponent; none if one of the texts is anything else."""
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
    """Return the text of a block, from its lines without their indentation."""
    content = lines.rstrip("\n")
    if not content:
        raise NotPlainYaml
    if header[-1] == "+":
        return f"{lines}\n"
    return content if header[-1] == "-" else f"{content}\n"


def ends_within(text: str) -> bool:
    """Whether a plain text ends before its line does, or is not a plain text."""
    return text[-1] in " :" or ": " in text or " #" in text or "\t" in text
