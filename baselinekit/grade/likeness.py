"""A text as it looks: what a reader, or a model, may take for Latin letters, digits and equals signs,
whatever they are made of. For asking whether something stands in a text, never for showing it."""

import re
import unicodedata
from functools import lru_cache
from html import unescape

_ESCAPE = re.compile(
    r"\\u\{([0-9a-fA-F]{1,6})\}|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|(?:\\x|%)([0-9a-fA-F]{2})"
)
_TAG = re.compile(r"<[^<>]*>|\x1b\[[0-9;]*[A-Za-z]")
_POINT = re.compile(r"(?<=[0-9])\.(?=[0-9])")
_TURNS = "\u202e\u202d\u2067\u2066"
"""After these, what is shown runs in another direction."""

_NAMED_LETTER = re.compile(
    r"(?:LATIN|REGIONAL INDICATOR|.* LATIN)\b.*\bLETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?"
)
_DIGITS = {"ONE": "1", "TWO": "2", "THREE": "3", "FOUR": "4", "FIVE": "5"}
_NAMED_DIGIT = re.compile(rf".*\bDIGIT ({'|'.join(_DIGITS)})")
_OF_OTHER_SCRIPTS = {
    "a": "аАαΑаᎪꓮⲁⲀ",
    "c": "сСϲϹᏟꓚⲥⲤᑕ",
    "d": "ԁԀᎠꓓᗪ",
    "e": "еЕεΕєЄᎬꓰⲉⲈᗴ",
    "i": "іІιΙӏӀᎥꓲⲓⲒ",
    "n": "пПηΝռոꓠⲛⲚᑎ",
    "o": "оОοΟσօՕᎾꓳⲟⲞ",
    "r": "гяЯᎡꓣᖇ",
    "s": "ѕЅΣՏᏚꓢᔕ",
    "y": "уУүҮγΥᎽꓬⲩⲨ",
    "=": "᐀゠⹀꞊",
}
"""Characters by what they look like, as far as the verdicts of judges are made of it."""

_LOOKS = {character: look for look, characters in _OF_OTHER_SCRIPTS.items() for character in characters}


def as_it_looks(text: str) -> str:
    """Its letters a to z, its digits and its equals signs, and nothing of what stands between them: as it is,
    and where that is another one with its escapes read, without its tags, and from right to left."""
    readings = [text, _ESCAPE.sub(_character, unescape(text))]
    readings.append(_TAG.sub("", readings[1]))
    if any(sign in text for sign in _TURNS):
        readings.append(text[::-1])
    return " ".join(map(_folded, dict.fromkeys(readings)))


def _character(escape: re.Match[str]) -> str:
    number = int(escape[escape.lastindex or 0], 16)
    return chr(number) if number < 0x110000 else escape[0]


def _folded(text: str) -> str:
    text = _POINT.sub("p", text)  # 0.5 is no 05
    return text.translate({ord(character): _look(character) for character in set(text)})


@lru_cache(maxsize=65_536)
def _look(character: str) -> str:
    """What one character looks like; "" for what is none of these."""
    if character in _LOOKS:
        return _LOOKS[character]
    folded = unicodedata.normalize("NFKD", character).casefold()
    if folded != character:
        return "".join(map(_look, folded)) if character not in folded else ""
    if character.isascii():
        return character if character.isalnum() or character == "=" else ""
    name = unicodedata.name(character, "")
    if "EQUALS SIGN" in name:
        return "="
    value = unicodedata.numeric(character, -1.0)
    if value in range(10):
        return str(int(value))
    if digit := _NAMED_DIGIT.fullmatch(name):
        return _DIGITS[digit[1]]
    letter = _NAMED_LETTER.fullmatch(name)
    return letter[1].lower() if letter else ""
