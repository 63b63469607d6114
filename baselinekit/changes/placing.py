"""Where a placeholder goes that the operator names by a path: in place of a value, or of a part of a text."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from baselinekit.errors import InvalidInput, Problem
from baselinekit.kinds.kind import RecipeKind
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import Token, escape, split
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, compile_text
from baselinekit.secrets.variables import MASK
from baselinekit.values.paths import find, parse

_MOST_ENDS = 100
"""How many ends are tried for each begin, so that a long page takes no quadratic time."""


def places_of(output: Json, text: str, kind: RecipeKind) -> list[Path]:
    """Return the places of an output to which a path leads."""
    pattern = parse(text)
    start = kind.starts(pattern, output)
    if len(start) > 1:
        message = f"{text!r} is both in the {kind.noun} and in its {kind.answer}"
        raise InvalidInput(Problem("BK204", message, f"write {kind.answer}.{text} or $.{text}"))
    part = output[kind.answer] if start == [(kind.answer,)] else output
    return [(*start[0], *path) for path, _ in find(pattern, part)] if start else []


def placed(value: Json, placeholder: str, words: PlaceholderContext) -> str | None:
    """Return what to store in place of a stored value: the placeholder if it accepts the whole value, or the
    text with the placeholder in place of the parts that it accepts; None if it accepts neither."""
    template = compile_text(placeholder, words)
    parts = split(value) if isinstance(value, str) else [value]
    if value == placeholder or (len(parts) == 1 and _accepts(template, parts[0], placeholder)):
        return placeholder
    if not isinstance(value, str) or not isinstance(template, Inline):
        return None
    spans = {part: [*_spans(part, template, placeholder)] for part in parts if isinstance(part, str)}
    if not any(spans.values()):
        return None
    return with_literals(value, lambda part, followed: with_spans(part, spans[part], followed))


def with_spans(text: str, spans: Iterable[tuple[int, int, str]], followed: bool = False) -> str:
    """Escape a text for a stored output, with placeholders in place of some spans of it, in their order."""
    result, position = "", 0
    for start, end, placeholder in spans:
        result += escape(text[position:start], followed=True) + placeholder
        position = end
    return result + escape(text[position:], followed)


def with_literals(text: str, write: Callable[[str, bool], str]) -> str:
    """Return a stored text with each of its literal parts as `write` returns it; the flag says whether a
    placeholder comes right after the part."""
    parts = split(text)
    return "".join(
        part.text if isinstance(part, Token) else write(part, number < len(parts))
        for number, part in enumerate(parts, 1)
    )


def _accepts(template: str | Placeholder | Inline, value: Json, placeholder: str) -> bool:
    """Whether a value is accepted. What a mask or another placeholder hides is not known: any may stand for
    it."""
    if isinstance(template, str) or isinstance(value, Token):
        return isinstance(value, Token)
    hidden = "".join(part if isinstance(part, str) else MASK for part in split(placeholder))
    return value == hidden or template.accepts(value, {})


def _spans(text: str, template: Inline, placeholder: str) -> Iterator[tuple[int, int, str]]:
    """Yield the parts of a text that a template accepts, each as short as possible. Without words before the
    first placeholder, or after the last one, a part begins or ends with a line."""
    first, last = template.parts[0], template.parts[-1]
    before = re.escape(first) if isinstance(first, str) else "(?m:^)"
    after = re.compile(re.escape(last) if isinstance(last, str) else "(?m:$)")
    position = 0
    for match in re.finditer(before, text):
        start = match.start()
        ends = (end.end() for end in islice(after.finditer(text, match.end()), _MOST_ENDS))
        end = next((end for end in ends if _accepts(template, text[start:end], placeholder)), 0)
        if start >= position and end > start:
            yield start, end, placeholder
            position = end
