"""Compiles a text with placeholders: a single placeholder stands for a whole value, several for parts of a
text."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import (
    Bindings,
    Kind,
    Piece,
    Token,
    agrees_with_binding,
    has_marker,
    split,
)
from baselinekit.placeholders.table import PlaceholderContext, RegexBudget, kind_of
from baselinekit.structs import Struct
from baselinekit.values.texts import mask_and_clip, no_mask

# Where the placeholders of a text begin and end, when the first way to split it is refused. A regular
# expression finds one candidate for each placeholder, but it cannot express all that a placeholder requires:
# bounds of numbers, days that exist, bindings. So every way to split the text is tried, place by place, which
# takes polynomial time; beyond a limit it is an error, since a guess would be no verdict.


_MOST_WORK = 400_000
_CHARACTERS = 100
"""Matching this many characters takes about as much work as starting a match."""

_NULL = "null"


class Slot(Struct):
    """A placeholder inside a text."""

    token: Token
    kind: Kind

    def read(self, text: str | None, bindings: Bindings) -> bool:
        """Whether a part of a text (None: absent) is accepted here. Binds the key of the placeholder."""
        if text is None:
            return True
        if self.token.nullable and text == _NULL:
            return agrees_with_binding(self.token, Piece(text), bindings)
        value: Json = self.kind.read(text)
        if not self.kind.accepts(value):
            return False
        return self.token.key is None or agrees_with_binding(
            self.token, Piece(value) if isinstance(value, str) else value, bindings
        )


Part = str | Slot


def split_by(
    parts: Sequence[Part], text: str, bindings: Bindings, regex_budget: RegexBudget
) -> Bindings | None:
    """The bindings after some way to split the text into these parts; None if there is none."""
    start = regex_budget.clock()
    splitting = _Splitting(parts, text)
    after = splitting.bindings_after(bindings)
    if regex_budget.is_over(start):
        raise splitting.limit_error("takes too long to split")
    return after


class _Splitting:
    def __init__(self, parts: Sequence[Part], text: str):
        self._parts, self._text = parts, text
        self._work = 0
        self._binds = any(isinstance(part, Slot) and part.token.key for part in parts)
        self._edges: list[dict[int, list[int]]] = [{} for _ in parts]
        """For each placeholder, and each place where it can begin, the places where it can end."""

    def bindings_after(self, bindings: Bindings) -> Bindings | None:
        if len(self._text) not in self.reachable():
            return None
        return self.bindings_of_split(dict(bindings), self.live_places()) if self._binds else dict(bindings)

    def reachable(self) -> set[int]:
        """The places where all parts together can end, without regard to bindings."""
        text = self._text
        reached = {0}
        for number, part in enumerate(self._parts):
            if isinstance(part, str):
                self.count_work(len(reached))
                reached = {start + len(part) for start in reached if text.startswith(part, start)}
                continue
            allowed = self.allowed_ends(number)
            edges = self._edges[number]
            following: set[int] = set()
            if part.kind.any_text is not None and not self._binds:
                following = self.ends_of_any_text(part, sorted(reached), allowed)
            else:
                for start in reached:
                    edges[start] = list(self.ends(part, start, allowed))
                    following.update(edges[start])
            reached = following
        return reached

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

    def ends_of_any_text(self, slot: Slot, starts: list[int], allowed: Sequence[int]) -> set[int]:
        """Where a placeholder that accepts any text of some lengths can end, for all its starts at once."""
        assert slot.kind.any_text is not None
        least, most = slot.kind.any_text
        self.count_work(len(starts) + len(allowed))
        ends = set()
        for end in allowed:
            latest = bisect_right(starts, end - least)  # the last start that is far enough is the nearest
            if latest and (most is None or end - starts[latest - 1] <= most):
                ends.add(end)
        for start in starts:
            ends.update(self.ends_if_absent(slot, start, allowed))
        return ends

    def ends_if_absent(self, slot: Slot, start: int, allowed: Sequence[int]) -> Iterator[int]:
        """Where an optional placeholder ends if it is absent, and a nullable one if it is null."""
        if slot.token.optional and _contains_sorted(allowed, start):
            yield start
        if (
            slot.token.nullable
            and self._text.startswith(_NULL, start)
            and _contains_sorted(allowed, start + 4)
        ):
            yield start + 4

    def ends(self, slot: Slot, start: int, allowed: Sequence[int]) -> Iterator[int]:
        special = set(self.ends_if_absent(slot, start, allowed))
        yield from special
        text, kind = self._text, slot.kind
        self.count_work(1)
        furthest = len(text)
        if kind.furthest is not None:
            match = _compile(kind.furthest).match(text, start)
            if match is None:
                return
            furthest = match.end()
        inline = None if kind.timed else _compile(kind.inline or "")
        for end in allowed[bisect_left(allowed, start) : bisect_right(allowed, furthest)]:
            if end in special:
                continue
            self.count_work(1 + (end - start) // _CHARACTERS)
            if (inline is None or inline.fullmatch(text, start, end)) and kind.accepts(
                kind.read(text[start:end])
            ):
                yield end

    def live_places(self) -> list[set[int]]:
        """For each part, the places from which the end of the text can be reached."""
        alive: list[set[int]] = [{len(self._text)}]
        for number in range(len(self._parts) - 1, -1, -1):
            part, after = self._parts[number], alive[-1]
            if isinstance(part, str):
                alive.append({end - len(part) for end in after})
            else:
                edges = self._edges[number]
                alive.append({start for start, ends in edges.items() if not after.isdisjoint(ends)})
        alive.reverse()
        return alive

    def bindings_of_split(self, bindings: Bindings, alive: list[set[int]]) -> Bindings | None:
        """The bindings of the first split without contradictions; shorter parts are tried first."""
        waiting = [(0, 0, bindings)]
        while waiting:
            number, start, current = waiting.pop()
            if number == len(self._parts):
                return current
            part = self._parts[number]
            if isinstance(part, str):
                waiting.append((number + 1, start + len(part), current))
                continue
            for end in sorted(self._edges[number].get(start, ()), reverse=True):
                self.count_work(1)
                if end in alive[number + 1]:
                    waiting += [
                        (number + 1, end, after) for after in self.bindings_of_slot(part, start, end, current)
                    ]
        return None

    def bindings_of_slot(self, slot: Slot, start: int, end: int, current: Bindings) -> Iterator[Bindings]:
        """The bindings after a part, for each way to read it; the one to try first comes last."""
        if slot.token.key is None:
            yield current
            return
        after = dict(current)
        if slot.read(self._text[start:end], after):
            yield after
        if slot.token.optional and end == start:
            yield current

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


def _contains_sorted(places: Sequence[int], place: int) -> bool:
    index = bisect_left(places, place)
    return index < len(places) and places[index] == place


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# Compiled texts: a single placeholder stands for a value of any type, several match parts of a text.


_OPEN_ENDED = lazy_pattern(r"[*+]|\{[0-9]+,\}")
_GROUP = "baselinekit_{}"


class Placeholder(Struct):
    """A single placeholder: it stands for a value of any type."""

    token: Token
    kind: Kind

    @property
    def optional(self) -> bool:
        return self.token.optional

    @property
    def alone(self) -> Callable[[Json], bool] | None:
        """The test of a value alone; None if a binding or null matters too."""
        return None if self.token.key or self.token.nullable else self.kind.accepts

    def accepts(self, value: Json, bindings: Bindings) -> bool:
        if value is None and self.token.nullable:
            return agrees_with_binding(self.token, None, bindings)
        return self.kind.accepts(value) and agrees_with_binding(self.token, value, bindings)


class Inline(Struct):
    """Placeholders inside a text. `match` finds one candidate split, with a group for each placeholder: if
    there is none, no split can be right. If it is refused, another split may be right if there are several
    placeholders."""

    tokens: tuple[Token, ...]
    parts: tuple[Part, ...]
    match: Callable[[str], Any]
    regex_budget: RegexBudget
    optional: bool = False
    alone: None = None

    def accepts(self, value: Json, bindings: Bindings) -> bool:
        match = self.match(value) if isinstance(value, str) else None
        if match is None or not isinstance(value, str):
            return False
        slots = [part for part in self.parts if isinstance(part, Slot)]
        after: Bindings | None = dict(bindings)
        for index, slot in enumerate(slots):
            if after is not None and not slot.read(match[_GROUP.format(index)], after):
                after = None
        if after is None and len(slots) > 1:
            after = split_by(self.parts, value, bindings, self.regex_budget)
        if after is not None:
            bindings.update(after)
        return after is not None


def binds(template: str | Placeholder | Inline) -> bool:
    """Whether a template has a binding."""
    if isinstance(template, Inline):
        return any(token.key for token in template.tokens)
    return isinstance(template, Placeholder) and template.token.key is not None


def compile_text(text: str, words: PlaceholderContext) -> str | Placeholder | Inline:
    """Compile a text: return the literal text (unescaped), or what it stands for."""
    if not has_marker(text):
        return text
    parts = split(text)
    if len(parts) == 1:
        only = parts[0]
        return only if isinstance(only, str) else Placeholder(only, kind_of(only, words))
    tokens = [part for part in parts if isinstance(part, Token)]
    kinds = [kind_of(token, words) for token in tokens]
    for token, kind in zip(tokens, kinds, strict=True):
        if kind.inline is None:
            raise InvalidInput(
                Problem(
                    "BK216", f"the placeholder {token.text} cannot stand inside a text", "let it stand alone"
                )
            )
    slots = iter([Slot(token, kind) for token, kind in zip(tokens, kinds, strict=True)])
    compiled_parts = tuple(part if isinstance(part, str) else next(slots) for part in parts)
    return Inline(
        tuple(tokens), compiled_parts, _compile_matcher(parts, kinds, words.regex_budget), words.regex_budget
    )


def _compile_matcher(
    parts: list[str | Token], kinds: list[Kind], regex_budget: RegexBudget
) -> Callable[[str], Any]:
    pattern = ""
    index = 0
    for part in parts:
        if isinstance(part, str):
            pattern += re.escape(part)
            continue
        alternatives = f"{kinds[index].inline}{'|null' if part.nullable else ''}"
        pattern += f"(?P<{_GROUP.format(index)}>{alternatives}){'?' if part.optional else ''}"
        index += 1
    # Several open-ended repeats can backtrack against each other, so they get the time limit too.
    if any(kind.timed for kind in kinds) or sum(len(_OPEN_ENDED.findall(k.inline or "")) for k in kinds) > 1:
        from baselinekit.placeholders.table import compiled, full_match

        expression = compiled(pattern, longest=None, flags=())
        return lambda text: full_match(expression, text, regex_budget)
    return re.compile(pattern).fullmatch
