"""Both sides of a difference, as a person sets them beside each other: a long text is cut to what changed, at
the same places on either side; and where two texts look alike, what tells them apart is shown by number."""

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from unicodedata import normalize

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.report.values import LONGEST, as_text, cut
from baselinekit.texts import end_at, many, note
from baselinekit.tree.alignment import gaps

Stretch = tuple[int, int, int, int]
"""Of the old sequence, from and to, and of the new one what stands there instead."""

_LOOKED_INTO = 2_500
_AROUND = 40
"""Characters on either side of a change that are shown with it."""

_LONG = 200
"""Of texts that are longer, only the surroundings of what changed are shown."""

_MOST_READ = 100_000
_WORDS = lazy_pattern(r"\w+|\s+|.", re.DOTALL)
_HIDDEN = "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
"""What takes no room at all."""

_DRAWN_AS = {
    "a": "\u0430\u03b1",
    "c": "\u0441",
    "e": "\u0435",
    "i": "\u0456\u0131",
    "j": "\u0458",
    "k": "\u043a",
    "o": "\u043e\u03bf",
    "p": "\u0440\u03c1",
    "s": "\u0455",
    "v": "\u03bd",
    "x": "\u0445",
    "y": "\u0443",
    "A": "\u0410\u0391",
    "B": "\u0412\u0432\u0392",
    "C": "\u0421",
    "E": "\u0415\u0395",
    "H": "\u041d\u043d\u0397",
    "I": "\u0406\u0399",
    "J": "\u0408",
    "K": "\u041a\u039a",
    "M": "\u041c\u043c\u039c",
    "N": "\u039d",
    "O": "\u041e\u039f",
    "P": "\u0420\u03a1",
    "S": "\u0405",
    "T": "\u0422\u0442\u03a4",
    "X": "\u0425\u03a7",
    "Y": "\u0423\u03a5",
    "Z": "\u0396",
    "3": "\u0417\u0437",
    "fi": "\ufb01",
    "fl": "\ufb02",
    "...": "\u2026",
    "'": "\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4\uff07",
    '"': "\u201c\u201d\u201e\u201f\u2033\uff02",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d",
    "/": "\u2044\u2215",
    "|": "\u01c0",
    ";": "\u037e",
    ":": "\ua789\u2236",
    ".": "\u2024",
    "": _HIDDEN,
}
"""Letters of other alphabets, quotes, dashes and other signs by what they are taken for."""

_ALIKE = {ord(sign): seen for seen, signs in _DRAWN_AS.items() for sign in signs}


def pair(expected: Json, actual: Json, with_types: bool = False, limit: int = LONGEST) -> tuple[str, str]:
    """Both sides of a difference as JSON, cut and told apart."""
    left, left_open = as_text(expected, template=True)
    right, right_open = as_text(actual, template=False)
    shown = list(beside(left, right, limit))
    for side, is_open in enumerate((left_open, right_open)):
        if is_open:
            shown[side] = shown[side].replace(" … and ", " … and over ")
        if with_types:
            value = actual if side else expected
            if value is not ABSENT and not (isinstance(value, str) and shown[side] == value):
                shown[side] += f" ({json_type(value)})"
    return shown[0], shown[1]


def beside(old: str, new: str, limit: int = LONGEST) -> tuple[str, str]:
    """Two texts that belong together, as far as what differs goes. What both have is left out where it is
    long, and what cannot be told apart by sight is shown as `\\u00a0`."""
    is_long = max(len(old), len(new)) > min(_LONG, limit)
    if not is_long and (old == new or (old.isascii() and new.isascii())):
        return old, new
    if old == new:
        return cut(old, False, limit), cut(new, False, limit)
    found = _stretches(old[:_MOST_READ], new[:_MOST_READ])
    if old[_MOST_READ:] != new[_MOST_READ:]:
        found.append((min(len(old), _MOST_READ), len(old), min(len(new), _MOST_READ), len(new)))
    kept = _windows(old, new, found, limit) if is_long else [(0, len(old), 0, len(new))]
    return _pieces(old, new, kept, found)


def _windows(old: str, new: str, found: list[Stretch], limit: int) -> list[Stretch]:
    """What changed with its surroundings, as much of it as there is room for."""
    around = max(2, min(_AROUND, limit // 4))
    kept: list[Stretch] = []
    rooms = [limit, limit]
    for o1, o2, n1, n2 in found:
        before, after = _whole(old, max(0, o1 - around), -1), _whole(old, min(len(old), o2 + around), 1)
        before = 0 if before <= around else before  # as long as what would stand in its place
        after = len(old) if len(old) - after <= around else after
        window = before, after, max(0, n1 - (o1 - before)), n2 + (after - o2)
        if kept and before <= kept[-1][1] + around:
            last = kept.pop()
            window = last[0], after, last[2], window[3]
            rooms = [rooms[0] + last[1] - last[0], rooms[1] + last[3] - last[2]]
        ends = [
            begin + end_at(text[begin:end], room)
            for text, begin, end, room in zip((old, new), window[::2], window[1::2], rooms, strict=True)
        ]
        kept.append((window[0], ends[0], window[2], ends[1]))
        rooms = [rooms[0] - ends[0] + window[0], rooms[1] - ends[1] + window[2]]
        if (ends[0], ends[1]) != (window[1], window[3]) or min(rooms) <= 2 * around:
            break
    return kept


def _pieces(old: str, new: str, kept: list[Stretch], found: list[Stretch]) -> tuple[str, str]:
    """The parts that are kept, with what is said of the others."""
    twins = [one for one in found if look_alike(old[one[0] : one[1]], new[one[2] : one[3]])]
    is_all = found[-1][1] <= kept[-1][1] and found[-1][3] <= kept[-1][3]
    shared = is_all and len(old) - kept[-1][1] == len(new) - kept[-1][3]

    def shown(side: int, text: str, by_number: list[Stretch]) -> str:
        told, at = "", 0
        for part in kept:
            begin, end = part[2 * side], part[2 * side + 1]
            if begin > at:
                told += f"{' ' if at else ''}… {many(begin - at, 'character')} alike … "
            told += _numbered(text, begin, end, by_number, side)
            at = end
        if rest := len(text) - at:
            told += f" … {many(rest, 'character')} alike" if shared else note(rest)
        return told

    sides = shown(0, old, twins), shown(1, new, twins)
    if look_alike(*sides):
        return shown(0, old, found), shown(1, new, found)
    return sides


def _numbered(text: str, begin: int, end: int, twins: list[Stretch], side: int) -> str:
    """A part of a text in which the letters that look like others are shown by their numbers."""
    shown, at = "", begin
    for twin in twins:
        first, last = max(begin, twin[2 * side]), min(end, twin[2 * side + 1])
        if first < last:
            shown += text[at:first] + "".join(map(_number, text[first:last]))
            at = last
    return shown + text[at:end]


def _number(character: str) -> str:
    return character if character.isascii() else json.dumps(character)[1:-1]


def look_alike(old: str, new: str) -> bool:
    if old.isascii() and new.isascii():
        return False
    return look(old) == look(new)


def apart(texts: list[str]) -> list[str]:
    """The texts, by number where others of them look the same."""
    if all(map(str.isascii, texts)):
        return texts
    drawn: dict[str, set[str]] = {}
    for text in texts:
        drawn.setdefault(look(text), set()).add(text)
    return ["".join(map(_number, text)) if len(drawn[look(text)]) > 1 else text for text in texts]


def look(text: str) -> str:
    """What a reader sees of a text: of letters, quotes and blanks that are drawn alike one for all."""
    composed = normalize("NFC", text).translate(_ALIKE)
    return "".join(" " if character.isspace() else character for character in composed)


def _stretches(old: str, new: str) -> list[Stretch]:
    """Where two texts differ, in characters: word by word, and within words that are in part the same."""
    words = [[*_WORDS.findall(text)] for text in (old, new)]
    places = [[*_ends(few)] for few in words]
    found: list[Stretch] = []
    for o1, o2, n1, n2 in changes(*words):
        found += _narrowed(old, new, (places[0][o1], places[0][o2], places[1][n1], places[1][n2]))
    return found


def _ends(words: list[str]) -> Iterator[int]:
    at = 0
    yield at
    for word in words:
        at += len(word)
        yield at


def _narrowed(old: str, new: str, stretch: Stretch) -> Iterator[Stretch]:
    """A stretch without what both sides begin and end with; where letters of it may look alike, each."""
    o1, o2, n1, n2 = stretch
    one, other = old[o1:o2], new[n1:n2]
    if not (one.isascii() and other.isascii()) and len(one) * len(other) <= _LOOKED_INTO:
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if tag != "equal":
                yield o1 + i1, o1 + i2, n1 + j1, n1 + j2
        return
    if max(len(one), len(other)) > _LONG:
        head = count_shared(one, other)
        tail = min(count_shared(one[::-1], other[::-1]), min(len(one), len(other)) - head)
        o1, o2, n1, n2 = o1 + head, o2 - tail, n1 + head, n2 - tail
    yield o1, o2, n1, n2


def count_shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (left, right) in pairs if left != right), min(len(one), len(other)))


def _whole(text: str, place: int, step: int) -> int:
    """The place, or one further on where it would cut a number in two: half a number is another one."""
    for at in range(place, place + step * _AROUND, step):
        if not (0 < at < len(text) and text[at - 1].isdigit() and text[at].isdigit()):
            return at
    return place


def changes(old: list[str], new: list[str]) -> list[Stretch]:
    """The stretches between items that both have, found from those that each has once."""
    stretches: list[Stretch] = []
    for o1, o2, n1, n2 in gaps(old, new):
        if o1 == o2 or n1 == n2 or (o2 - o1) * (n2 - n1) > _LOOKED_INTO:  # a long one is not looked into
            stretches.append((o1, o2, n1, n2))
            continue
        opcodes = SequenceMatcher(None, old[o1:o2], new[n1:n2], autojunk=False).get_opcodes()
        stretches += [
            (o1 + i1, o1 + i2, n1 + j1, n1 + j2) for tag, i1, i2, j1, j2 in opcodes if tag != "equal"
        ]
    return stretches
