"""Judges a text part by part where some part differs in each answer. A part on which all answers agree, but
not the stored text, has changed, however much varies beside it."""

from collections.abc import Callable, Sequence

from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.grammar import Token, has_marker, split
from baselinekit.placeholders.lines import with_values
from baselinekit.placeholders.narrowest import is_alone, proposals_from_table
from baselinekit.placeholders.pieces import Column, TextPieces, split_into_pieces
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.structs import Struct

_LONGEST = 200_000
_LINE = 200
_NUMBER = lazy_pattern(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PEER = lazy_pattern(r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\]|localhost):$")
_LOWEST_DYNAMIC_PORT = 32_768
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

    @property
    def is_peer_port(self) -> bool:
        """Whether the part is the port of a connection's other end, which the system assigns anew each time:
        `addr=127.0.0.1:50546`."""
        is_port = self.before.isdecimal() and self.after.isdecimal() and _PEER.search(self.line) is not None
        return is_port and min(int(self.before), int(self.after)) >= _LOWEST_DYNAMIC_PORT


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

    def match_format(column: Column) -> str | None:
        return next(
            (proposal.text for proposal in proposals_from_table(column, "string", "sure", words)), None
        )

    columns = _columns(stored, texts, words, match_format)
    if not all(_is_of_like_parts(column, repeats, words, match_format) for column in columns):
        # the earlier answers are another text
        texts = [texts[-repeats]] * (len(texts) - repeats) + list(texts[-repeats:])
        columns = _columns(stored, texts, words, match_format)
    repeated = [column[-repeats:] for column in columns]
    answers, changes, line = [""] * len(texts), [], ""
    for column, new in zip(columns, repeated, strict=True):
        part = TextPart(line[-_LINE:], column[0], new[0])
        if is_template and has_marker(column[0]):  # it accepts none of them; alone, it is replaced
            has_changed = not is_alone(column[0].strip())
        else:
            is_agreed = len(set(new)) == 1
            has_changed = _differs(column, new, words, match_format) and not (is_agreed and is_natural(part))
        changes += [part] if has_changed else []
        is_same = set(new) == {column[0]}
        for number, text in enumerate(column[1:]):
            is_earlier = number < len(texts) - repeats
            keeps_stored = is_same and is_earlier and not is_natural(TextPart(part.line, column[0], text))
            answers[number] += column[0] if has_changed or keeps_stored else text
        line = f"{line}{column[0]}".rpartition("\n")[2]
    return JudgedText(tuple(answers), tuple(changes))


def _columns(
    stored: str, texts: Sequence[str], words: PlaceholderContext, match_format: Callable[[Column], str | None]
) -> list[Column]:
    return [column for column, _ in TextPieces([stored, *texts], words, match_format).columns]


def _is_of_like_parts(
    column: Column, repeats: int, words: PlaceholderContext, match_format: Callable[[Column], str | None]
) -> bool:
    """Whether the earlier answers have as many words and signs in this part as the repeated ones."""
    earlier = [text for text in column[1:-repeats] if text != column[-1]]
    if not earlier or match_format(column) is not None:
        return True
    count = len(split_into_pieces(column[-1], words))
    return all(len(split_into_pieces(text, words)) == count for text in earlier)


def _differs(
    column: Column, repeated: Column, words: PlaceholderContext, match_format: Callable[[Column], str | None]
) -> bool:
    """Whether the stored part differs from all answers: in its value, or, where the answers vary without a
    recognizable form, in its number of words and signs."""
    if len(set(repeated)) == 1:
        return column[0] != repeated[0]
    if match_format(column) is not None:
        return False
    counts = {len(split_into_pieces(text, words)) for text in repeated}
    return len(counts) == 1 and len(split_into_pieces(column[0], words)) not in counts


def fill_placeholders(template: str, text: str, words: PlaceholderContext) -> str:
    """Return the stored text with what its placeholders match in an answer: compared with this text, the
    answer differs only by changes."""
    parts = split(with_values(template, text, words))
    return "".join(part.text if isinstance(part, Token) else part for part in parts)
