"""Compiles a text with placeholders: a single placeholder is for a whole value, several for parts of a
text."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import Bindings, Kind, Piece, Token, agrees, has_marker, split
from baselinekit.placeholders.table import PlaceholderContext, RegexBudget, compiled, full_match, kind_of
from baselinekit.structs import Struct
from baselinekit.values.texts import mask_and_clip, no_mask

_NULL = "null"
_OPEN_ENDED = lazy_pattern(r"[*+]|\{[0-9]+,\}")
_GROUP = "baselinekit_{}"


class Placeholder(Struct):
    """A placeholder: it is for a value of any type, or for a part of a text."""

    token: Token
    kind: Kind

    def accepts(self, value: Json, bindings: Bindings) -> bool:
        if value is None and self.token.nullable:
            return agrees(self.token, None, bindings)
        return self.kind.accepts(value) and agrees(self.token, value, bindings)

    def read(self, text: str | None, bindings: Bindings) -> bool:
        """Whether a part of a text (None: absent) is accepted here. Binds the key of the placeholder."""
        if text is None:
            return True
        if self.token.nullable and text == _NULL:
            return agrees(self.token, Piece(text), bindings)
        value: Json = self.kind.read(text)
        if not self.kind.accepts(value):
            return False
        return agrees(self.token, Piece(value) if isinstance(value, str) else value, bindings)


Part = str | Placeholder


class Inline(Struct):
    """Placeholders inside a text. `match` finds one candidate split, with a group for each placeholder: if
    there is none, no split can be right. If it is refused, another split may be right if there are several
    placeholders."""

    parts: tuple[Part, ...]
    match: Callable[[str], Any]
    regex_budget: RegexBudget

    @property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(part.token for part in self.parts if isinstance(part, Placeholder))

    def accepts(self, value: Json, bindings: Bindings) -> bool:
        if not isinstance(value, str) or (match := self.match(value)) is None:
            return False
        tried = dict(bindings)
        slots = [(part, number) for number, part in enumerate(self.parts) if isinstance(part, Placeholder)]
        is_right = all(slot.read(match[_GROUP.format(number)], tried) for slot, number in slots)
        after = tried if is_right else None
        if after is None and len(slots) > 1:
            start = self.regex_budget.clock()
            splitting = _Splitting(self.parts, value)
            after = splitting.bindings_after(bindings)
            if self.regex_budget.is_over(start):
                raise splitting.limit_error("takes too long to split")
        if after is not None:
            bindings.update(after)
        return after is not None


def binds(template: str | Placeholder | Inline) -> bool:
    """Whether a template has a binding."""
    if isinstance(template, Inline):
        return any(token.key for token in template.tokens)
    return isinstance(template, Placeholder) and template.token.key is not None


def compile_text(text: str, words: PlaceholderContext) -> str | Placeholder | Inline:
    """Compile a text: return the literal text (unescaped), or what it means."""
    if not has_marker(text):
        return text
    written = split(text)
    if len(written) == 1:
        only = written[0]
        return only if isinstance(only, str) else Placeholder(only, kind_of(only, words))
    parts = tuple(one if isinstance(one, str) else Placeholder(one, kind_of(one, words)) for one in written)
    pattern, inlines = "", []
    for number, part in enumerate(parts):
        if isinstance(part, str):
            pattern += re.escape(part)
            continue
        token, kind = part.token, part.kind
        if kind.inline is None:
            message = f"the placeholder {token.text} cannot stand inside a text"
            raise InvalidInput(Problem("BK211", message, "let it stand alone"))
        inlines.append(kind.inline)
        alternatives = f"{kind.inline}{'|null' if token.nullable else ''}"
        pattern += f"(?P<{_GROUP.format(number)}>{alternatives}){'?' if token.optional else ''}"
    # Several open-ended repeats can backtrack against each other, so they get the time limit too.
    budget = words.regex_budget
    if sum(len(_OPEN_ENDED.findall(inline)) for inline in inlines) > 1:
        expression = compiled(pattern, longest=None, flags=())
        return Inline(parts, lambda value: full_match(expression, value, budget), budget)
    return Inline(parts, re.compile(pattern).fullmatch, budget)


# Where the placeholders of a text begin and end, when the first way to split it is refused. A regular
# expression finds one candidate for each placeholder, but it cannot express all that a placeholder requires:
# bounds of numbers, days that exist, bindings. So every way to split the text is tried, shorter parts first,
# each place of each part once; beyond a limit it is an error, since a guess would be no verdict.

_MOST_WORK = 400_000
_CHARACTERS = 100
"""Matching this many characters takes about as much work as starting a match."""


class _Splitting:
    def __init__(self, parts: Sequence[Part], text: str):
        self._parts, self._text, self._work = parts, text, 0
        self._allowed: dict[int, Sequence[int]] = {}

    def bindings_after(self, bindings: Bindings) -> Bindings | None:
        """The bindings of the first split without contradictions; None if there is none."""
        keys = {part.token.key for part in self._parts if isinstance(part, Placeholder) and part.token.key}
        tried: set[Hashable] = set()
        ways = [iter([(0, bindings)])]
        """For each part that has a place, the ways to go on from the end of the part before it."""
        while ways:
            number = len(ways) - 1
            place, current = next(ways[-1], (-1, bindings))
            if place < 0:
                ways.pop()
                continue
            if number == len(self._parts):
                return dict(current)
            bound = tuple((key, current[key].__class__, repr(current[key])) for key in keys if key in current)
            if (number, place, bound) in tried:
                continue
            tried.add((number, place, bound))
            ways.append(self.ways_from(number, place, current))
        return None

    def ways_from(self, number: int, start: int, current: Bindings) -> Iterator[tuple[int, Bindings]]:
        """Where a part that begins at a place can end, with the bindings after it."""
        part, text = self._parts[number], self._text
        if number not in self._allowed:
            self._allowed[number] = self.allowed_ends(number)
        allowed = self._allowed[number]
        if isinstance(part, str):
            self.count_work(1)
            end = start + len(part)
            if text.startswith(part, start) and (number + 1 < len(self._parts) or end == len(text)):
                yield end, current
            return
        token, kind, furthest = part.token, part.kind, len(text)
        if kind.furthest is not None:
            match = re.compile(kind.furthest).match(text, start)
            furthest = match.end() if match else start
        if token.nullable and text.startswith(_NULL, start):
            furthest = max(furthest, start + len(_NULL))
        inline = re.compile(kind.inline or "")
        for end in allowed[bisect_left(allowed, start) : bisect_right(allowed, furthest)]:
            if token.optional and end == start:
                yield end, current
            self.count_work(1 + (end - start) // _CHARACTERS)
            value = text[start:end]
            if inline.fullmatch(value) or (token.nullable and value == _NULL):
                after = dict(current) if token.key else current
                if part.read(value, after):
                    yield end, after

    def allowed_ends(self, number: int) -> Sequence[int]:
        """Where a part can end, according to the part after it."""
        text = self._text
        if number + 1 == len(self._parts):
            return (len(text),)
        after = self._parts[number + 1]
        if not isinstance(after, str):
            return range(len(text) + 1)
        self.count_work(len(text) // _CHARACTERS)
        places, place = [], text.find(after)
        while place >= 0:
            places.append(place)
            place = text.find(after, place + 1)
        return places

    def count_work(self, steps: int) -> None:
        self._work += steps
        if self._work > _MOST_WORK:
            raise self.limit_error("can be split in too many ways")

    def limit_error(self, reason: str) -> CannotReplay:
        parts = "".join(part if isinstance(part, str) else part.token.text for part in self._parts)
        shown = mask_and_clip(parts, 80, no_mask, counted=False)
        message = f"a text of {len(self._text):,} characters {reason} by {shown!r}"
        hint = "put some text between the placeholders, or use one placeholder instead of several"
        return CannotReplay(Problem("BK215", message, hint))
