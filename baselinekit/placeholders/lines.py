"""Compares a text with placeholders to one that it does not accept: which placeholders still match, line by
line."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.grammar import Token, escape, read_number, split
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, Slot, compile_text
from baselinekit.structs import Struct
from baselinekit.values.alignment import Pairs, pair_equal, pair_in_order

_MOST_TRIED = 200_000
"""Actual lines times different lines with placeholders: beyond this, such lines are not searched for by
content."""

_MOST_PIECES = 160
"""Words and signs of a line that is compared piece by piece."""

_MOST_PAIRED = 10_000
_MOST_LOOKED_INTO = 100
_MOST_WAYS = 2_000
_IN_PLACE = 0.01
_NO_WORDS = PlaceholderContext()
_PIECE = lazy_pattern(r"\w+|\s+|.", re.DOTALL)


class MatchedLine(NamedTuple):
    """An actual line and its partner among the stored lines. `template`: the actual line to store, with each
    placeholder that still matches; `filled`: the stored line, with what these placeholders matched."""

    template: str
    filled: str
    partner: int


class _StoredLine(Struct):
    """A stored line. `template` is None for a literal line, which is `text` then."""

    text: str
    template: Placeholder | Inline | None

    def accepts(self, line: str) -> bool:
        if self.template is None:
            return self.text == line
        try:
            return self.template.accepts(line, {})
        except BaselinekitError:
            return False


def with_placeholders(stored: str, actual: str, words: PlaceholderContext = _NO_WORDS) -> str:
    """The actual text to store, with every placeholder that still matches in its place."""
    templates = {a: line.template for a, line in matched_lines(stored, actual, words).items()}
    if not templates:
        return escape(actual)
    return "\n".join(templates.get(a) or escape(line) for a, line in enumerate(actual.split("\n")))


def with_values(stored: str, actual: str, words: PlaceholderContext = _NO_WORDS) -> str:
    """The stored text with its placeholders replaced by what they matched: compared to the actual text, only
    real differences are left."""
    lines = stored.split("\n")
    for matched in matched_lines(stored, actual, words).values():
        lines[matched.partner] = matched.filled
    return "\n".join(lines)


def matched_lines(stored: str, actual: str, words: PlaceholderContext) -> dict[int, MatchedLine]:
    """The lines that keep a placeholder, by their numbers in the actual text."""
    actual_lines = actual.split("\n")
    stored_lines = _compile_lines(stored, words)
    if stored_lines is None or all(line.template is None for line in stored_lines):
        return {}
    result = {}
    for e, a in _pair_lines(stored_lines, actual_lines):
        template, text = stored_lines[e].template, stored_lines[e].text
        if template is None:
            continue
        if stored_lines[e].accepts(actual_lines[a]):
            result[a] = MatchedLine(text, actual_lines[a], e)
        elif (
            isinstance(template, Inline)
            and (rewritten := _match_within_line(template, actual_lines[a], words)) is not None
        ):
            result[a] = MatchedLine(*rewritten, e)
    return result


def _compile_lines(stored: str, words: PlaceholderContext) -> list[_StoredLine] | None:
    """The stored lines; None where a placeholder spans lines or cannot be parsed."""
    lines = []
    try:
        for line in stored.split("\n"):
            template = compile_text(line, words)
            if isinstance(template, str):
                lines.append(_StoredLine(template, None))
            else:
                lines.append(_StoredLine(line, template))
        token_count = sum(isinstance(part, Token) for part in split(stored))
    except BaselinekitError:
        return None
    return lines if token_count == sum(len(_tokens(line.template)) for line in lines) else None


def _tokens(template: Placeholder | Inline | None) -> tuple[Token, ...]:
    if template is None:
        return ()
    return template.tokens if isinstance(template, Inline) else (template.token,)


def _pair_lines(stored_lines: Sequence[_StoredLine], actual_lines: Sequence[str]) -> list[tuple[int, int]]:
    """Pair the lines: those that match from the head on and up to the tail, and the likeliest pairs of the
    lines in between."""
    head = count_matching(stored_lines, actual_lines)
    tail = count_matching(stored_lines[head:][::-1], actual_lines[head:][::-1])
    e2, a2 = len(stored_lines) - tail, len(actual_lines) - tail
    inner = likely_pairs(stored_lines[head:e2], actual_lines[head:a2])
    return [
        *((n, n) for n in range(head)),
        *((head + e, head + a) for e, a in inner),
        *((e2 + n, a2 + n) for n in range(tail)),
    ]


def count_matching(stored_lines: Sequence[_StoredLine], actual_lines: Sequence[str]) -> int:
    pairs = enumerate(zip(stored_lines, actual_lines, strict=False))
    return next(
        (n for n, (line, actual_line) in pairs if not line.accepts(actual_line)),
        min(len(stored_lines), len(actual_lines)),
    )


def likely_pairs(stored_lines: Sequence[_StoredLine], actual_lines: Sequence[str]) -> Pairs:
    """Pairs in rising order: equal lines, lines paired with the first template that accepts them, and the
    likeliest pairs of the others."""
    literal = {line.text for line in stored_lines if line.template is None}
    templates = list({line.text: line for line in stored_lines if line.template is not None}.values())
    tries_templates = len(templates) * len(actual_lines) <= _MOST_TRIED
    keys = [
        ("", line)
        if line in literal or not tries_templates
        else next((("<<", template.text) for template in templates if template.accepts(line)), ("", line))
        for line in actual_lines
    ]
    stored_keys = [("" if line.template is None else "<<", line.text) for line in stored_lines]
    pairs, gaps = pair_equal(stored_keys, keys)
    for e1, e2, a1, a2 in gaps:
        if (e2 - e1) * (a2 - a1) > _MOST_PAIRED:
            pairs += [(e1 + n, a1 + n) for n in range(min(e2 - e1, a2 - a1))]
            continue
        least = _IN_PLACE if e2 - e1 == a2 - a1 else 0.0
        closely = (e2 - e1) * (a2 - a1) <= _MOST_LOOKED_INTO
        scores = [
            [_similarity(line, actual_line, closely) or least for actual_line in actual_lines[a1:a2]]
            for line in stored_lines[e1:e2]
        ]
        pairs += [(e1 + e, a1 + a) for e, a in pair_in_order(scores)]
    return sorted(pairs)


def _similarity(line: _StoredLine, actual_line: str, closely: bool) -> float:
    """The share of the words and signs of a stored line that are still there, from 0 to 1; 2 if it accepts
    the line. With `closely`, a line in which only its placeholders match counts as slightly similar."""
    if line.accepts(actual_line):
        return 2.0
    template = line.template
    parts = template.parts if isinstance(template, Inline) else () if template else (line.text,)
    before = [piece for part in parts if isinstance(part, str) for piece in _PIECE.findall(part)]
    after = _PIECE.findall(actual_line)
    matcher = SequenceMatcher(None, before[:_MOST_PIECES], after[:_MOST_PIECES], autojunk=False)
    blocks = matcher.get_matching_blocks()
    same: int = sum(piece.isalnum() for block in blocks for piece in before[block.a : block.a + block.size])
    if (
        closely
        and not same
        and isinstance(template, Inline)
        and _match_within_line(template, actual_line, _NO_WORDS)
    ):
        return _IN_PLACE
    return same / max(len(before), len(after), 1)


# Within a line: what lies between the words that are the same on both sides. A placeholder is looked for in
# its gap; one that accepts nearly anything needs unchanged neighbours.


def _match_within_line(template: Inline, line: str, words: PlaceholderContext) -> tuple[str, str] | None:
    """Rewrite a line that a template does not accept: the line with the placeholders that still match, and
    the template with what these matched; None if no placeholder still matches."""
    old: list[str | Slot] = []
    for part in template.parts:
        old += [part] if isinstance(part, Slot) else _PIECE.findall(part)
    new = _PIECE.findall(line)
    spans = dict(_spans(old, new))
    template_text, position = "", 0
    for number, (start, end) in spans.items():
        part = old[number]
        assert isinstance(part, Slot)
        template_text += escape("".join(new[position:start]), followed=True) + part.token.text
        position = end
    template_text += escape("".join(new[position:]))
    try:
        rewritten = compile_text(template_text, words)
        if isinstance(rewritten, str) or not rewritten.accepts(line, {}):
            return None
    except BaselinekitError:
        return None
    filled = [
        part if isinstance(part, str) else "".join(new[slice(*spans[n])]) if n in spans else part.token.text
        for n, part in enumerate(old)
    ]
    return template_text, "".join(filled)


def _spans(old: Sequence[str | Slot], new: Sequence[str]) -> Iterator[tuple[int, tuple[int, int]]]:
    """The start and end of the words that each placeholder takes, if it still matches."""
    before = [part if isinstance(part, str) and part.isalnum() else n for n, part in enumerate(old)]
    after = [piece if piece.isalnum() else -1 - n for n, piece in enumerate(new)]
    for i1, i2, j1, j2 in pair_equal(before, after)[1]:
        for i in range(i1, i2):
            part = old[i]
            if not isinstance(part, Slot) or part.token.key or part.token.optional:
                continue
            ways = ((start, end) for start in range(j1, j2) for end in range(j2, start, -1))
            fitting = (span for span in islice(ways, _MOST_WAYS) if _fits(old, i, new, *span))
            if span := next(fitting, None):
                yield i, span
                j1 = span[1]


def _fits(old: Sequence[str | Slot], i: int, new: Sequence[str], start: int, end: int) -> bool:
    """Whether a placeholder may take these words: by what it accepts, and by its neighbours."""
    slot = old[i]
    assert isinstance(slot, Slot)
    before, after = _is_same(old, i - 1, new, start - 1, -1), _is_same(old, i + 1, new, end, 1)
    if slot.kind.any_text is not None or slot.kind.timed:
        is_anchored = before and after
    else:
        is_anchored = before or after or slot.kind.read is not read_number
    return is_anchored and _slot_matches(slot, "".join(new[start:end]))


def _is_same(old: Sequence[str | Slot], i: int, new: Sequence[str], j: int, step: int) -> bool:
    """Whether the neighbours on one side are the same: the next word or sign, ignoring blanks, or the end of
    both lines."""
    while 0 <= i < len(old) and 0 <= j < len(new):
        if old[i] != new[j]:
            return False
        if not new[j].isspace():
            return True
        i, j = i + step, j + step
    return not 0 <= i < len(old) and not 0 <= j < len(new)


def _slot_matches(slot: Slot, text: str) -> bool:
    if slot.kind.timed or (slot.token.nullable and text == "null"):
        return slot.read(text, {})
    return bool(re.fullmatch(slot.kind.inline or "", text)) and slot.read(text, {})
