"""The lines of a difference in HTML, laid out so that one structure serves two readings: one column under the
other, or old and new beside each other. The style alone decides which."""

from collections.abc import Sequence
from itertools import groupby

from baselinekit.report.differences import DiffLine
from baselinekit.report.html.markup import Markup, element, joined

_SIGN = 2
"""`- ` or `+ `, with which each line begins."""

_ALIKE = 6
"""Lines that share less are simply different."""


def lines(shown: Sequence[DiffLine]) -> Markup:
    """What was expected stands before what came instead; lines that both have are said once."""
    rows: list[Markup] = []
    gone: list[str] = []
    for tone, group in groupby(shown, key=lambda line: line.tone):
        texts = [line.text for line in group]
        if tone == "gone":
            gone = texts
            continue
        if tone == "came":
            rows.append(_pair(gone, texts))
        else:
            rows += [_pair(gone, [])] if gone else []
            rows += [_between(text) for text in texts]
        gone = []
    rows += [_pair(gone, [])] if gone else []
    return element("div", rows, class_="lines")


def _pair(gone: list[str], came: list[str]) -> Markup:
    left: Sequence[Markup | str] = gone
    right: Sequence[Markup | str] = came
    if len(gone) == len(came):
        both = [_marked(old, new) for old, new in zip(gone, came, strict=True)]
        left, right = [old for old, _ in both], [new for _, new in both]
    sides = [
        element("div", [element("div", text) for text in texts], class_=tone)
        for tone, texts in (("gone", left), ("came", right))
    ]
    return element("div", sides, class_="pair")


def _between(text: str) -> Markup:
    if text.startswith("| "):
        again = element("div", text, class_="again", aria_hidden="true")
        return element("div", element("div", text), again, class_="pair both")
    return element("div", text, class_="at" if text.startswith("@@") else "said")


def _marked(old: str, new: str) -> tuple[Markup, Markup]:
    """Two lines with the part in which they differ marked, unless that is all of them."""
    start = _SIGN + _alike(old[_SIGN:], new[_SIGN:])
    rest = min(len(old), len(new)) - start
    end = min(rest, _alike(old[_SIGN:][::-1], new[_SIGN:][::-1]))
    if start + end < _ALIKE:
        return joined(old), joined(new)
    while start > _SIGN and _within_word(old, new, start):
        start -= 1
    while end and _within_word(old[::-1], new[::-1], end):
        end -= 1
    return _with_mark(old, start, end), _with_mark(new, start, end)


def _within_word(old: str, new: str, place: int) -> bool:
    """Whether what is alike ends within a word or a number, of which a part alone says little."""
    return old[place - 1].isalnum() and any(text[place : place + 1].isalnum() for text in (old, new))


def _with_mark(text: str, start: int, end: int) -> Markup:
    stop = len(text) - end
    middle = element("mark", text[start:stop]) if start < stop else None
    return joined(text[:start], middle, text[stop:])


def _alike(old: str, new: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(old), len(new)))
