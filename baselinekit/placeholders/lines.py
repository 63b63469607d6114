"""A text with placeholders beside one that it does not accept: which of them still match, line by line."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.grammar import Token, escape, split
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import Inline, Placeholder, Slot, compile_text
from baselinekit.tree.alignment import Pairs, pair_equal, pair_in_order

_MOST_TRIED = 200_000
"""Lines that came times different lines with placeholders: beyond, a line stays with its place alone."""

_MOST_PIECES = 160
"""Words and signs of a line that is looked into."""

_MOST_PAIRED = 10_000
_MOST_LOOKED_INTO = 100
_IN_PLACE = 0.01
_NO_WORDS = Words()
_PIECE = lazy_pattern(r"\w+|\s+|.", re.DOTALL)


class MatchedLine(NamedTuple):
    """A line that came, with what it keeps of its partner on file. `template`: as it is to be stored, with
    each placeholder that still matches; `shown`: the partner, with what matched in the place of those."""

    template: str
    shown: str
    partner: int


@frozen
class _StoredLine:
    """A line on file. `template` is None for a literal one, which is `text` then."""

    text: str
    template: Placeholder | Inline | None

    def accepts(self, line: str) -> bool:
        if self.template is None:
            return self.text == line
        try:
            return self.template.accepts(line, {})
        except BaselinekitError:
            return False


def with_placeholders(stored: str, actual: str, words: Words = _NO_WORDS) -> str:
    """The actual text as it is to be stored: with every placeholder that still matches where it stood."""
    kept = {a: line.template for a, line in matched_lines(stored, actual, words).items()}
    if not kept:
        return escape(actual)
    return "\n".join(kept.get(a) or escape(line) for a, line in enumerate(actual.split("\n")))


def with_values(stored: str, actual: str, words: Words = _NO_WORDS) -> str:
    """The stored text with what its placeholders matched in their place: beside the actual text only what
    differs is a difference."""
    lines = stored.split("\n")
    for matched in matched_lines(stored, actual, words).values():
        lines[matched.partner] = matched.shown
    return "\n".join(lines)


def matched_lines(stored: str, actual: str, words: Words) -> dict[int, MatchedLine]:
    """The lines that keep a placeholder, by their numbers in the actual text."""
    came = actual.split("\n")
    old = _compiled(stored, words)
    if old is None or all(line.template is None for line in old):
        return {}
    result = {}
    for e, a in _pairs(old, came):
        template, text = old[e].template, old[e].text
        if template is None:
            continue
        if old[e].accepts(came[a]):
            result[a] = MatchedLine(text, came[a], e)
        elif isinstance(template, Inline) and (both := _within(template, came[a], words)) is not None:
            result[a] = MatchedLine(*both, e)
    return result


def _compiled(stored: str, words: Words) -> list[_StoredLine] | None:
    """The lines on file; None where a placeholder goes on over the end of a line, or cannot be read."""
    lines = []
    try:
        for line in stored.split("\n"):
            template = compile_text(line, words)
            if isinstance(template, str):
                lines.append(_StoredLine(template, None))
            else:
                lines.append(_StoredLine(line, template))
        whole = sum(isinstance(part, Token) for part in split(stored))
    except BaselinekitError:
        return None
    return lines if whole == sum(len(_tokens(line.template)) for line in lines) else None


def _tokens(template: Placeholder | Inline | None) -> tuple[Token, ...]:
    if template is None:
        return ()
    return template.tokens if isinstance(template, Inline) else (template.token,)


def _pairs(old: Sequence[_StoredLine], came: Sequence[str]) -> list[tuple[int, int]]:
    """Which lines belong together: those that are right from the head on and up to the tail, and of the lines
    between them the likeliest."""
    head = count_right(old, came)
    tail = count_right(old[head:][::-1], came[head:][::-1])
    e2, a2 = len(old) - tail, len(came) - tail
    inner = likely_pairs(old[head:e2], came[head:a2])
    return [
        *((n, n) for n in range(head)),
        *((head + e, head + a) for e, a in inner),
        *((e2 + n, a2 + n) for n in range(tail)),
    ]


def count_right(old: Sequence[_StoredLine], came: Sequence[str]) -> int:
    pairs = enumerate(zip(old, came, strict=False))
    return next((n for n, (line, other) in pairs if not line.accepts(other)), min(len(old), len(came)))


def likely_pairs(old: Sequence[_StoredLine], came: Sequence[str]) -> Pairs:
    """Pairs in rising order: equal lines, those that are the first to accept a line, and the likeliest."""
    literal = {line.text for line in old if line.template is None}
    templates = list({line.text: line for line in old if line.template is not None}.values())
    few = len(templates) * len(came) <= _MOST_TRIED
    keys = [
        ("", line)
        if line in literal or not few
        else next((("<<", known.text) for known in templates if known.accepts(line)), ("", line))
        for line in came
    ]
    known = [("" if line.template is None else "<<", line.text) for line in old]
    pairs, gaps = pair_equal(known, keys, _MOST_PAIRED)
    for e1, e2, a1, a2 in gaps:
        if (e2 - e1) * (a2 - a1) > _MOST_PAIRED:
            pairs += [(e1 + n, a1 + n) for n in range(min(e2 - e1, a2 - a1))]
            continue
        least = _IN_PLACE if e2 - e1 == a2 - a1 else 0.0
        closely = (e2 - e1) * (a2 - a1) <= _MOST_LOOKED_INTO
        scores = [[_likeness(line, other, closely) or least for other in came[a1:a2]] for line in old[e1:e2]]
        pairs += [(e1 + e, a1 + a) for e, a in pair_in_order(scores)]
    return sorted(pairs)


def _likeness(line: _StoredLine, other: str, closely: bool) -> float:
    """From 0 to 1, how many words and signs of a line on file are still there; 2 if it is right. Looked at
    `closely`, it is like another one that has at least what its placeholders stand for."""
    if line.accepts(other):
        return 2.0
    template = line.template
    parts = template.parts if isinstance(template, Inline) else () if template else (line.text,)
    before = [piece for part in parts if isinstance(part, str) for piece in _PIECE.findall(part)]
    after = _PIECE.findall(other)
    matcher = SequenceMatcher(None, before[:_MOST_PIECES], after[:_MOST_PIECES], autojunk=False)
    blocks = matcher.get_matching_blocks()
    same: int = sum(piece.isalnum() for block in blocks for piece in before[block.a : block.a + block.size])
    if closely and not same and isinstance(template, Inline) and _within(template, other, _NO_WORDS):
        return _IN_PLACE
    return same / max(len(before), len(after), 1)


# Within a line: the words and signs of both, set side by side so that as many as possible are the same. A
# placeholder takes the words between; one that takes nearly anything only between neighbours that stayed.


_BLANK, _SIGN, _WORD, _SURE = 0.1, 1.0, 2.0, 3.0
"""What it is worth that a blank, a sign or a word stays, and that a format is found again."""


def _within(template: Inline, line: str, words: Words) -> tuple[str, str] | None:
    """Of a line that a template does not accept what is kept, and how the template reads then; None if none
    of its placeholders still matches."""
    old: list[str | Slot] = []
    for part in template.parts:
        old += [part] if isinstance(part, Slot) else _PIECE.findall(part)
    new = _PIECE.findall(line)
    if max(len(old), len(new)) > _MOST_PIECES:
        return None
    spans = _Alignment(old, new).spans()
    written, at = "", 0
    for number, (start, end) in spans.items():
        part = old[number]
        assert isinstance(part, Slot)
        written += escape("".join(new[at:start]), followed=True) + part.token.text
        at = end
    written += escape("".join(new[at:]))
    try:
        kept = compile_text(written, words)
        if isinstance(kept, str) or not kept.accepts(line, {}):
            return None
    except BaselinekitError:
        return None
    shown = [
        part if isinstance(part, str) else "".join(new[slice(*spans[n])]) if n in spans else part.token.text
        for n, part in enumerate(old)
    ]
    return written, "".join(shown)


class _Alignment:
    def __init__(self, old: Sequence[str | Slot], new: Sequence[str]):
        self._old, self._new = old, new
        self._best: list[list[float]] = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
        self._taken: dict[tuple[int, int], int] = {}

    def spans(self) -> dict[int, tuple[int, int]]:
        """For each placeholder that matches the words that it takes: from and to."""
        old, new, best = self._old, self._new, self._best
        for i in range(len(old) - 1, -1, -1):
            for j in range(len(new), -1, -1):
                best[i][j] = max(best[i + 1][j], best[i][j + 1] if j < len(new) else 0.0)
                for end, gain in self.steps(i, j):
                    if gain + best[i + 1][end] > best[i][j]:
                        best[i][j] = gain + best[i + 1][end]
                        self._taken[i, j] = end
        return dict(self.followed())

    def followed(self) -> Iterator[tuple[int, tuple[int, int]]]:
        i = j = 0
        while i < len(self._old):
            end = self._taken.get((i, j))
            if end is not None:
                if isinstance(self._old[i], Slot):
                    yield i, (j, end)
                i, j = i + 1, end
            elif self._best[i][j] == self._best[i + 1][j]:
                i += 1
            else:
                j += 1

    def steps(self, i: int, j: int) -> Iterator[tuple[int, float]]:
        """How far a part may go from here, and what that is worth."""
        part, new = self._old[i], self._new
        if isinstance(part, str):
            if j < len(new) and new[j] == part:
                yield j + 1, _BLANK if part.isspace() else _WORD if part[0].isalnum() else _SIGN
            return
        if part.token.key or part.token.optional:
            return
        before = self.is_same(i - 1, j - 1, -1)
        loose = part.kind.any_text is not None or part.kind.timed
        sure = not loose and "number" not in part.kind.extent.types
        for end in range(j + 1, len(new) + 1):
            after = self.is_same(i + 1, end, 1)
            held = (before and after) if loose else (sure or before or after)
            if held and _takes(part, "".join(new[j:end])):
                yield end, (_SURE if sure else _SIGN) + 0.5 * (before + after) + 0.01 * (end - j)
                if loose:
                    return

    def is_same(self, i: int, j: int, step: int) -> bool:
        """Whether the neighbours on one side are the same: the next word or sign, blanks left aside; or the
        end of the line on both."""
        while 0 <= i < len(self._old) and 0 <= j < len(self._new):
            part, other = self._old[i], self._new[j]
            if part != other:
                return False
            if not other.isspace():
                return True
            i, j = i + step, j + step
        ended = not 0 <= i < len(self._old), not 0 <= j < len(self._new)
        return all(ended)


def _takes(slot: Slot, text: str) -> bool:
    if slot.kind.timed or (slot.token.nullable and text == "null"):
        return slot.read(text, {})
    return bool(re.fullmatch(slot.kind.inline or "", text)) and slot.read(text, {})
