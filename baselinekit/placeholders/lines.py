"""Sets a text with placeholders against one that it does not accept, line by line: which placeholders still
match, and what."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.grammar import escape, read_number
from baselinekit.placeholders.table import ANYTHING, PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, Slot, compile_text
from baselinekit.values.alignment import Pairs, pair_equal, pair_in_order

_MOST_TRIED = 200_000
"""How often a line is tried against a template, so that a long text takes no quadratic time."""

_MOST_PAIRED = 10_000
_MOST_WAYS = 2_000
_NO_WORDS = PlaceholderContext()
_PIECE = lazy_pattern(r"\w+|\s+|.", re.DOTALL)

Line = str | Placeholder | Inline


def with_placeholders(stored: str, actual: str, words: PlaceholderContext = _NO_WORDS) -> str:
    """The actual text to store, with every placeholder that still matches in its place."""
    return _matched(stored, actual, words)[0]


def with_values(stored: str, actual: str, words: PlaceholderContext = _NO_WORDS) -> str:
    """The stored text with its placeholders replaced by what they matched: compared to the actual text, only
    real differences are left."""
    return _matched(stored, actual, words)[1]


def _matched(stored: str, actual: str, words: PlaceholderContext) -> tuple[str, str]:
    """The actual text with the placeholders that still match, and the stored one with what these matched. A
    placeholder that is written over several lines matches nothing."""
    stored_lines, actual_lines = stored.split("\n"), actual.split("\n")
    try:
        lines = [compile_text(line, words) for line in stored_lines]
    except BaselinekitError:
        return escape(actual), stored
    templates = {}
    for e, a in _pair_lines(stored_lines, lines, actual_lines):
        template, line = lines[e], actual_lines[a]
        if isinstance(template, str):
            continue
        if _accepts(template, line):
            templates[a], stored_lines[e] = stored_lines[e], line
        elif isinstance(template, Inline) and (matched := _match_within_line(template, line, words)):
            templates[a], stored_lines[e] = matched
    if not templates:
        return escape(actual), stored
    written = (templates.get(a) or escape(line) for a, line in enumerate(actual_lines))
    return "\n".join(written), "\n".join(stored_lines)


def _accepts(template: Line, text: str) -> bool:
    if isinstance(template, str):
        return template == text
    try:
        return template.accepts(text, {})
    except BaselinekitError:
        return False


def _pair_lines(stored: Sequence[str], lines: Sequence[Line], actual_lines: Sequence[str]) -> Pairs:
    """Pair equal lines, and lines with the template that accepts them; those between them by their words, or
    one after the other where there are as many."""
    literal = {line for line in lines if isinstance(line, str)}
    templates = deque(
        {text: line for text, line in zip(stored, lines, strict=True) if not isinstance(line, str)}.items()
    )
    keys: list[str | tuple[str]] = []
    tried = 0
    for line in actual_lines:
        key: str | tuple[str] = line
        for _ in range(len(templates) if line not in literal and tried < _MOST_TRIED else 0):
            tried += 1
            templates.rotate(-1)  # the next line is often like the next template
            if _accepts(templates[-1][1], line):
                key = (templates[-1][0],)
                break
        keys.append(key)
    stored_keys = [
        line if isinstance(line, str) else (text,) for text, line in zip(stored, lines, strict=True)
    ]
    pairs, gaps = pair_equal(stored_keys, keys)
    for e1, e2, a1, a2 in gaps:
        if e2 - e1 == a2 - a1 or (e2 - e1) * (a2 - a1) > _MOST_PAIRED:
            inner = [(n, n) for n in range(min(e2 - e1, a2 - a1))]
        else:
            inner = pair_in_order(
                [[_likeness(line, actual) for actual in actual_lines[a1:a2]] for line in lines[e1:e2]]
            )
        pairs += [(e1 + e, a1 + a) for e, a in inner]
    return pairs


def _likeness(line: Line, actual: str) -> float:
    parts = line.parts if isinstance(line, Inline) else [line]
    words = [word for part in parts if isinstance(part, str) for word in re.findall(r"\w+", part)]
    return SequenceMatcher(None, words, re.findall(r"\w+", actual), autojunk=False).ratio()


# Within a line: what lies between the words that are the same on both sides. A placeholder is looked for in
# its gap; one that accepts nearly anything needs unchanged neighbours.


def _match_within_line(template: Inline, line: str, words: PlaceholderContext) -> tuple[str, str] | None:
    """Rewrite a line that a template does not accept: the line with the placeholders that still match, and
    the template with what these matched; None if no placeholder still matches."""
    old: list[str | Slot] = []
    for part in template.parts:
        old += [part] if isinstance(part, Slot) else _PIECE.findall(part)
    new = _PIECE.findall(line)
    written, filled, position = "", [part if isinstance(part, str) else part.token.text for part in old], 0
    for number, slot, start, end in _spans(old, new):
        filled[number] = "".join(new[start:end])
        written += escape("".join(new[position:start]), followed=True) + slot.token.text
        position = end
    written += escape("".join(new[position:]))
    try:
        rewritten = compile_text(written, words)
    except BaselinekitError:
        return None
    is_kept = not isinstance(rewritten, str) and _accepts(rewritten, line)
    return (written, "".join(filled)) if is_kept else None


def _spans(old: Sequence[str | Slot], new: Sequence[str]) -> Iterator[tuple[int, Slot, int, int]]:
    """The placeholders that still match: the number of each, and the start and end of the words it takes."""
    before = [part if isinstance(part, str) and part.isalnum() else n for n, part in enumerate(old)]
    after = [piece if piece.isalnum() else -1 - n for n, piece in enumerate(new)]
    for i1, i2, j1, j2 in pair_equal(before, after)[1]:
        for i in range(i1, i2):
            slot = old[i]
            if isinstance(slot, str) or slot.token.key or slot.token.optional:
                continue
            ways = ((start, end) for start in range(j1, j2) for end in range(j2, start, -1))
            fitting = (span for span in islice(ways, _MOST_WAYS) if _fits(slot, old, i, new, *span))
            if span := next(fitting, None):
                yield i, slot, *span
                j1 = span[1]


def _fits(slot: Slot, old: Sequence[str | Slot], i: int, new: Sequence[str], start: int, end: int) -> bool:
    """Whether a placeholder may take these words: by what it accepts, and by its neighbours."""
    before, after = _is_same(old, i - 1, new, start - 1, -1), _is_same(old, i + 1, new, end, 1)
    if slot.kind.inline == ANYTHING or slot.kind.any_text is not None:
        is_anchored = before and after
    else:
        is_anchored = before or after or slot.kind.read is not read_number
    text = "".join(new[start:end])
    pattern = f"{slot.kind.inline}{'|null' * slot.token.nullable}"
    return is_anchored and bool(re.fullmatch(pattern, text)) and slot.read(text, {})


def _is_same(old: Sequence[str | Slot], i: int, new: Sequence[str], j: int, step: int) -> bool:
    """Whether the neighbours on one side are the same: the next word or sign, ignoring blanks, or the end of
    both lines."""
    while 0 <= i < len(old) and 0 <= j < len(new) and old[i] == new[j] and new[j].isspace():
        i, j = i + step, j + step
    if 0 <= i < len(old) and 0 <= j < len(new):
        return old[i] == new[j]
    return not 0 <= i < len(old) and not 0 <= j < len(new)
