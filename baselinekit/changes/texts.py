"""Judges a text part by part where some part differs in each answer. A part on which all answers agree, but
not the stored text, has changed, however much varies beside it."""

from collections.abc import Callable, Sequence

from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.grammar import Token, has_marker, split
from baselinekit.placeholders.lines import with_values
from baselinekit.placeholders.narrowest import (
    Column,
    TextPieces,
    is_alone,
    proposals_from_table,
    split_into_pieces,
)
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.structs import Struct

_LONGEST = 200_000
_LINE = 200
_NAME = lazy_pattern(r"(?P<name>[A-Za-z_][\w.-]*)(?:\{[^{}\n]*\})?[\s\"':=|>-]{1,6}$")


class TextPart(Struct):
    """A part of a stored text and what all answers have in its place, with the text before it on its line."""

    line: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """The word that names the part: `pid: 7`, `pid=7`, `pid{host="a"} 7`."""
        match = _NAME.search(self.line)
        return match["name"] if match else ""


class JudgedText(Struct):
    """The answers, with the stored text wherever they only differ from it by a change; and these changes."""

    answers: tuple[str, ...]
    changes: tuple[TextPart, ...]


def judge_parts(
    stored: str,
    texts: Sequence[str],
    repeats: int,
    is_natural: Callable[[TextPart], bool],
    words: PlaceholderContext,
    *,
    is_template: bool = False,
) -> JudgedText:
    """Judge each part of a stored text against the answers (`texts`). `repeats`: how many of the answers, the
    last ones, come from repeated requests. `is_natural`: whether a part may differ after a while, though the
    answers agree on it. `is_template`: whether the stored text may hold placeholders that match nothing."""
    if max(map(len, (stored, *texts))) > _LONGEST:
        return JudgedText(tuple(texts), ())
    lengths = [len(split_into_pieces(text, words)) for text in texts]
    texts = [  # an earlier answer of another length is another text
        text if length in lengths[-repeats:] else texts[-repeats]
        for text, length in zip(texts, lengths, strict=True)
    ]
    answers, changes, line = [""] * len(texts), [], ""
    for column, _ in TextPieces([stored, *texts], words).columns:
        new = column[-repeats:]
        part = TextPart(line[-_LINE:], column[0], new[0])
        is_agreed = len(set(new)) == 1
        if is_template and has_marker(column[0]):  # it accepts none of them; alone, it is replaced
            has_changed = not is_alone(column[0].strip())
        else:
            has_changed = _differs(column[0], new, words) and not (is_agreed and is_natural(part))
        changes += [part] if has_changed else []
        for number, text in enumerate(column[1:]):
            is_earlier = number < len(texts) - repeats
            is_back = is_earlier and is_agreed and new[0] == column[0]
            keeps_stored = is_back and not is_natural(TextPart(part.line, column[0], text))
            answers[number] += column[0] if has_changed or keeps_stored else text
        line = f"{line}{column[0]}".rpartition("\n")[2]
    return JudgedText(tuple(answers), tuple(changes))


def _differs(stored: str, new: Column, words: PlaceholderContext) -> bool:
    """Whether a stored part differs from all answers: in its value, or, where the answers vary without a
    recognizable form, in its number of words and signs."""
    if len(set(new)) == 1:
        return stored != new[0]
    counts = {len(split_into_pieces(text, words)) for text in new}
    is_of_form = any(proposals_from_table([stored, *new], "string", "sure", words))
    return not is_of_form and len(counts) == 1 and len(split_into_pieces(stored, words)) not in counts


def fill_placeholders(template: str, text: str, words: PlaceholderContext) -> str:
    """Return the stored text with what its placeholders match in an answer: compared with this text, the
    answer differs only by changes."""
    parts = split(with_values(template, text, words))
    return "".join(part.text if isinstance(part, Token) else part for part in parts)
