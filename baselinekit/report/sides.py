"""Both sides of a difference, side by side: a long text is cut to what changed, at the same places on both
sides; where two texts look alike, the characters that differ are shown escaped."""

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from unicodedata import normalize

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.report.values import LONGEST, as_text, cut
from baselinekit.values.alignment import count_shared, pair_equal
from baselinekit.values.texts import count_noun, cut_position, note

Stretch = tuple[int, int, int, int]
"""A range of the old sequence (start, end) and the range of the new one that replaces it."""

_LOOKED_INTO = 2_500
_AROUND = 40
"""Characters on either side of a change that are shown with it."""

_LONG = 200
"""Of longer texts, only the surroundings of changes are shown."""

_MOST_READ = 100_000
_WORDS = lazy_pattern(r"\w+|\s+|.", re.DOTALL)
_HIDDEN = "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
"""Characters without any width."""

_LOOK_ALIKES = {
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
"""The letters of other alphabets, quotes, dashes and other signs that look like each plain text."""

_CONFUSABLES = {ord(sign): plain for plain, signs in _LOOK_ALIKES.items() for sign in signs}


def pair(expected: Json, actual: Json, with_types: bool = False, limit: int = LONGEST) -> tuple[str, str]:
    """Return both sides of a difference as JSON, shortened, with look-alike characters escaped."""
    left, left_open = as_text(expected, template=True)
    right, right_open = as_text(actual, template=False)
    sides = list(shorten_pair(left, right, limit))
    for side, is_open in enumerate((left_open, right_open)):
        if is_open:
            sides[side] = sides[side].replace(" … and ", " … and over ")
        if with_types:
            value = actual if side else expected
            if value is not ABSENT and not (isinstance(value, str) and sides[side] == value):
                sides[side] += f" ({json_type(value)})"
    return sides[0], sides[1]


def shorten_pair(old: str, new: str, limit: int = LONGEST) -> tuple[str, str]:
    """Return two texts cut to what differs. Long common parts are left out, and characters that look alike
    are shown escaped, as `\\u00a0`."""
    is_long = max(len(old), len(new)) > min(_LONG, limit)
    if not is_long and (old == new or (old.isascii() and new.isascii())):
        return old, new
    if old == new:
        return cut(old, False, limit), cut(new, False, limit)
    stretches = _find_stretches(old[:_MOST_READ], new[:_MOST_READ])
    if old[_MOST_READ:] != new[_MOST_READ:]:
        stretches.append((min(len(old), _MOST_READ), len(old), min(len(new), _MOST_READ), len(new)))
    windows = _select_windows(old, new, stretches, limit) if is_long else [(0, len(old), 0, len(new))]
    return _render_windows(old, new, windows, stretches)


def _select_windows(old: str, new: str, stretches: list[Stretch], limit: int) -> list[Stretch]:
    """Return the changes with their surroundings, as many as fit within the limit."""
    around = max(2, min(_AROUND, limit // 4))
    windows: list[Stretch] = []
    rooms = [limit, limit]
    for o1, o2, n1, n2 in stretches:
        before, after = (
            _move_off_number(old, max(0, o1 - around), -1),
            _move_off_number(old, min(len(old), o2 + around), 1),
        )
        before = 0 if before <= around else before  # as short as the note that would replace it
        after = len(old) if len(old) - after <= around else after
        window = before, after, max(0, n1 - (o1 - before)), n2 + (after - o2)
        if windows and before <= windows[-1][1] + around:
            last = windows.pop()
            window = last[0], after, last[2], window[3]
            rooms = [rooms[0] + last[1] - last[0], rooms[1] + last[3] - last[2]]
        ends = [
            begin + cut_position(text[begin:end], room)
            for text, begin, end, room in zip((old, new), window[::2], window[1::2], rooms, strict=True)
        ]
        windows.append((window[0], ends[0], window[2], ends[1]))
        rooms = [rooms[0] - ends[0] + window[0], rooms[1] - ends[1] + window[2]]
        if (ends[0], ends[1]) != (window[1], window[3]) or min(rooms) <= 2 * around:
            break
    return windows


def _render_windows(old: str, new: str, windows: list[Stretch], stretches: list[Stretch]) -> tuple[str, str]:
    """Return the windows of both texts, with notes on what is left out between them."""
    twins = [
        stretch
        for stretch in stretches
        if look_alike(old[stretch[0] : stretch[1]], new[stretch[2] : stretch[3]])
    ]
    is_all = stretches[-1][1] <= windows[-1][1] and stretches[-1][3] <= windows[-1][3]
    shared = is_all and len(old) - windows[-1][1] == len(new) - windows[-1][3]

    def render_side(side: int, text: str, by_number: list[Stretch]) -> str:
        shown_text, at = "", 0
        for part in windows:
            begin, end = part[2 * side], part[2 * side + 1]
            if begin > at:
                shown_text += f"{' ' if at else ''}… {count_noun(begin - at, 'character')} alike … "
            shown_text += _escape_twins(text, begin, end, by_number, side)
            at = end
        if remaining := len(text) - at:
            shown_text += f" … {count_noun(remaining, 'character')} alike" if shared else note(remaining)
        return shown_text

    sides = render_side(0, old, twins), render_side(1, new, twins)
    if look_alike(*sides):
        return render_side(0, old, stretches), render_side(1, new, stretches)
    return sides


def _escape_twins(text: str, begin: int, end: int, twins: list[Stretch], side: int) -> str:
    """Return a part of a text in which look-alike letters are escaped."""
    shown_text, at = "", begin
    for twin in twins:
        first, last = max(begin, twin[2 * side]), min(end, twin[2 * side + 1])
        if first < last:
            shown_text += text[at:first] + "".join(map(_escape_character, text[first:last]))
            at = last
    return shown_text + text[at:end]


def _escape_character(character: str) -> str:
    return character if character.isascii() else json.dumps(character)[1:-1]


def look_alike(old: str, new: str) -> bool:
    if old.isascii() and new.isascii():
        return False
    return visible_form(old) == visible_form(new)


def escape_lookalikes(texts: list[str]) -> list[str]:
    """Return the texts, escaped where two different ones look the same."""
    if all(map(str.isascii, texts)):
        return texts
    texts_by_look: dict[str, set[str]] = {}
    for text in texts:
        texts_by_look.setdefault(visible_form(text), set()).add(text)
    return [
        "".join(map(_escape_character, text)) if len(texts_by_look[visible_form(text)]) > 1 else text
        for text in texts
    ]


def visible_form(text: str) -> str:
    """Return what a reader sees of a text: letters, quotes and blanks that look alike become the same."""
    composed = normalize("NFC", text).translate(_CONFUSABLES)
    return "".join(" " if character.isspace() else character for character in composed)


def _find_stretches(old: str, new: str) -> list[Stretch]:
    """Return where two texts differ, in characters: word by word, and within words that are partly the
    same."""
    words = [[*_WORDS.findall(text)] for text in (old, new)]
    places = [[*_word_ends(words_of_side)] for words_of_side in words]
    stretches: list[Stretch] = []
    for o1, o2, n1, n2 in changes(*words):
        stretches += _narrow(old, new, (places[0][o1], places[0][o2], places[1][n1], places[1][n2]))
    return stretches


def _word_ends(words: list[str]) -> Iterator[int]:
    at = 0
    yield at
    for word in words:
        at += len(word)
        yield at


def _narrow(old: str, new: str, stretch: Stretch) -> Iterator[Stretch]:
    """Yield a stretch without the common start and end of both sides; where its letters may look alike, yield
    each differing part."""
    o1, o2, n1, n2 = stretch
    old_part, new_part = old[o1:o2], new[n1:n2]
    if not (old_part.isascii() and new_part.isascii()) and len(old_part) * len(new_part) <= _LOOKED_INTO:
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, old_part, new_part, autojunk=False).get_opcodes():
            if tag != "equal":
                yield o1 + i1, o1 + i2, n1 + j1, n1 + j2
        return
    if max(len(old_part), len(new_part)) > _LONG:
        head = count_shared(old_part, new_part)
        tail = min(count_shared(old_part[::-1], new_part[::-1]), min(len(old_part), len(new_part)) - head)
        o1, o2, n1, n2 = o1 + head, o2 - tail, n1 + head, n2 - tail
    yield o1, o2, n1, n2


def _move_off_number(text: str, place: int, step: int) -> int:
    """Return the place, or one further on if it would cut a number in two: half a number is another
    number."""
    for at in range(place, place + step * _AROUND, step):
        if not (0 < at < len(text) and text[at - 1].isdigit() and text[at].isdigit()):
            return at
    return place


def changes(old: list[str], new: list[str]) -> list[Stretch]:
    """Return the stretches that differ."""
    return pair_equal(old, new)[1]
