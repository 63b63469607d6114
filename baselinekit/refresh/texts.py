"""A text of which a part is another one in each answer: its other parts are judged one by one. What all
answers agree on, and is not on file, has changed, however much varies beside it."""

from collections.abc import Callable, Sequence

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.placeholders.grammar import Token, split
from baselinekit.placeholders.lines import with_values
from baselinekit.placeholders.narrowest import learnt_as
from baselinekit.placeholders.pieces import Column, TextPieces, taken_apart
from baselinekit.placeholders.table import Words

_LONGEST = 200_000
_LINE = 200
_NUMBER = lazy_pattern(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NAME = lazy_pattern(r"(?P<name>[A-Za-z_][\w.-]*)(?:\{[^{}\n]*\})?[\s\"':=|>-]{1,6}$")


@frozen
class TextPart:
    """A part of a text on file and what all answers have in its place, with the text before it on its line.
    `moved`: how many numbers of the text are other ones in each answer."""

    line: str
    before: str
    after: str
    moved: int

    @property
    def name(self) -> str:
        """The word that names it: `pid: 7`, `pid=7`, `pid{host="a"} 7`."""
        found = _NAME.search(self.line)
        return found["name"] if found else ""


@frozen
class JudgedText:
    """The answers with what is on file wherever they only differ from it by a change; and these changes."""

    answers: tuple[str, ...]
    changes: tuple[TextPart, ...]


def judge_parts(
    stored: str, came: Sequence[str], asked: int, is_natural: Callable[[TextPart], bool], words: Words
) -> JudgedText:
    """`asked`: so many of the answers, the last ones, are those that were asked anew. `is_natural`: whether a
    part may be another one after a while, though the answers agree on it."""
    if max(map(len, (stored, *came))) > _LONGEST:
        return JudgedText(tuple(came), ())

    def sure(column: Column) -> str | None:
        return next((one.text for one in learnt_as(column, "string", "sure", words)), None)

    columns = _columns(stored, came, words, sure)
    if not all(_is_of_like_parts(column, asked, words, sure) for column in columns):
        came = [came[-asked]] * (len(came) - asked) + list(came[-asked:])  # what came earlier is another text
        columns = _columns(stored, came, words, sure)
    anew = [column[-asked:] for column in columns]
    moved = sum(len(set(new)) > 1 and all(map(_NUMBER.fullmatch, new)) for new in anew)
    answers, changes, line = [""] * len(came), [], ""
    for column, new in zip(columns, anew, strict=True):
        part = TextPart(line[-_LINE:], column[0], new[0], moved)
        has_changed = _differs(column, new, words, sure) and not (len(set(new)) == 1 and is_natural(part))
        changes += [part] if has_changed else []
        is_same = set(new) == {column[0]}
        for number, text in enumerate(column[1:]):
            is_earlier = number < len(came) - asked
            was = is_same and is_earlier and not is_natural(TextPart(part.line, column[0], text, moved))
            answers[number] += column[0] if has_changed or was else text
        line = f"{line}{column[0]}".rpartition("\n")[2]
    return JudgedText(tuple(answers), tuple(changes))


def _columns(
    stored: str, came: Sequence[str], words: Words, sure: Callable[[Column], str | None]
) -> list[Column]:
    return [column for column, _ in TextPieces([stored, *came], words, sure).columns]


def _is_of_like_parts(column: Column, asked: int, words: Words, sure: Callable[[Column], str | None]) -> bool:
    """Whether what came earlier has as many words and signs as what was asked anew."""
    earlier = [text for text in column[1:-asked] if text != column[-1]]
    if not earlier or sure(column) is not None:
        return True
    count = len(taken_apart(column[-1], words))
    return all(len(taken_apart(text, words)) == count for text in earlier)


def _differs(column: Column, new: Column, words: Words, sure: Callable[[Column], str | None]) -> bool:
    """Whether it is on file otherwise than in all answers: another value, or where their value varies and has
    no form of its own, one that is made of another number of words and signs."""
    if len(set(new)) == 1:
        return column[0] != new[0]
    if sure(column) is not None:
        return False
    counts = {len(taken_apart(text, words)) for text in new}
    return len(counts) == 1 and len(taken_apart(column[0], words)) not in counts


def filled(written: str, came: str, words: Words) -> str:
    """A text on file with what its placeholders match in an answer: beside it, only changes differ."""
    parts = split(with_values(written, came, words))
    return "".join(part.text if isinstance(part, Token) else part for part in parts)
