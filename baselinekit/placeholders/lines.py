"""Sets a text with placeholders against one that it does not accept, line by line: which placeholders still
match, and what."""

import re
from collections import deque
from collections.abc import Iterator, Sequence

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.grammar import escape, read_number
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Part, Placeholder, compile_text
from baselinekit.values.alignment import Pairs, pair_equal

_MOST_TRIED = 200_000
"""How often a line is tried against a template, so that a long text takes no quadratic time."""

_LONGEST_LINE = 10_000
_OF_ANYTHING = r"[\s\S]"
_NO_WORDS = PlaceholderContext()
_LAST_WORD, _FIRST_WORD = lazy_pattern(r"(?:\w+|[^\w\s])?\s*\Z"), lazy_pattern(r"\A\s*(?:\w+|[^\w\s])?")

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
    """Pair equal lines, and lines with the template that accepts them; those between them one after the
    other."""
    literal = {line for line in lines if isinstance(line, str)}
    both = [*zip(stored, lines, strict=True)]
    templates = deque({text: line for text, line in both if not isinstance(line, str)}.items())
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
    stored_keys = [line if isinstance(line, str) else (text,) for text, line in both]
    pairs, gaps = pair_equal(stored_keys, keys)
    pairs += [pair for e1, e2, a1, a2 in gaps for pair in zip(range(e1, e2), range(a1, a2), strict=False)]
    return pairs


# Within a line. A placeholder that accepts nearly anything needs the same word or sign on both sides, and a
# number on one of them.


def _match_within_line(template: Inline, line: str, words: PlaceholderContext) -> tuple[str, str] | None:
    """Rewrite a line that a template does not accept: the line with the placeholders that still match, and
    the template with what these matched; None if no placeholder still matches, or if it is very long."""
    if len(line) > _LONGEST_LINE:
        return None
    parts, written, position = template.parts, "", 0
    filled = [part if isinstance(part, str) else part.token.text for part in parts]
    for number, slot in enumerate(parts):
        if isinstance(slot, str) or slot.token.key or slot.token.optional:
            continue
        for way in _ways_to_find(slot, parts[:number], parts[number + 1 :]):
            found = re.compile(way).search(line, position)
            if found and slot.read(found["value"], {}):
                filled[number] = found["value"]
                written += escape(line[position : found.start("value")], followed=True) + slot.token.text
                position = found.end("value")
                break
    written += escape(line[position:])
    try:
        rewritten = compile_text(written, words)
    except BaselinekitError:
        return None
    is_kept = not isinstance(rewritten, str) and _accepts(rewritten, line)
    return (written, "".join(filled)) if is_kept else None


def _ways_to_find(slot: Placeholder, before: Sequence[Part], after: Sequence[Part]) -> Iterator[str]:
    """The expressions that find what a placeholder matches: between the same neighbours, then beside one of
    them, then anywhere."""
    start, end = r"\A", r"\Z"
    if before and isinstance(before[-1], str):
        start = f"(?<={re.escape(_LAST_WORD.findall(before[-1])[0])})"
    if after and isinstance(after[0], str):
        end = f"(?={re.escape(_FIRST_WORD.findall(after[0])[0])})"
    value = f"(?P<value>{slot.kind.inline}{'|null' * slot.token.nullable})"
    yield start + value + end
    if _OF_ANYTHING not in (slot.kind.inline or ""):
        yield rf"{start}{value}(?!\w)"
        yield rf"(?<!\w){value}{end}"
        if slot.kind.read is not read_number:
            yield rf"(?<!\w){value}(?!\w)"
