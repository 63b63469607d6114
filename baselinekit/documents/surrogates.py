r"""`"\ud83d"` in YAML: JSON may escape half a character, libyaml refuses to read it.

Such escapes are moved to a stretch of Unicode that the text does not use, of the same length so that every
mark stays right, and moved back in the values. Two halves that belong together become one character, as in
JSON.
"""

import re
from collections.abc import Callable

from baselinekit.model.values import Json

Restore = Callable[[str], str]

_ESCAPED = re.compile(r"\\u([dD])([89a-fA-F])([0-9a-fA-F]{2})")
_TAKEN = re.compile(r"[\ua000-\uffff]|\\(?:u|U0000)[a-fA-F][0-9a-fA-F]{3}")
# Of 2,048 code points each, by their first five bits: private use first, then scripts that are seldom seen.
_STRETCHES = (28, 29, 30, 20, 21, 22, 23, 24, 25, 26)


def shelter(text: str) -> tuple[str, Restore | None]:
    """A text that libyaml can read, and how to restore a value read from it (None: nothing was moved)."""
    if not _ESCAPED.search(text):
        return text, None
    taken = {_code(match[0]) >> 11 for match in _TAKEN.finditer(text) if not _ESCAPED.fullmatch(match[0])}
    free = [stretch for stretch in _STRETCHES if stretch not in taken]
    if len(free) < 2:
        return text, None

    # Two stretches, so that what only looks like an escape (in a plain scalar) gets its very letters back.
    def move(match: re.Match[str]) -> str:
        first, second, rest = match.groups()
        stretch = free[1] if second.isupper() else free[0]
        digits = f"{(stretch << 11) + (int(second, 16) - 8 << 8):04x}"[:2]
        return f"\\u{digits.upper() if first == 'D' else digits}{rest}"

    def restore(value: str) -> str:
        def letters(match: re.Match[str]) -> str:
            code = _code(match[0])
            if code >> 11 not in free[:2]:
                return match[0]
            second = f"{(code >> 8 & 7) + 8:x}"
            first = "D" if match[0][2].isupper() else "d"
            return f"\\u{first}{second.upper() if code >> 11 == free[1] else second}{match[0][4:]}"

        def half(match: re.Match[str]) -> str:
            return chr(0xD800 + (ord(match[0]) & 0x7FF)) if ord(match[0]) >> 11 in free[:2] else match[0]

        halves = re.sub("[\ua000-\uffff]", half, re.sub(r"\\u[0-9a-fA-F]{4}", letters, value))
        return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    return _ESCAPED.sub(move, text), restore


def _code(char: str) -> int:
    return int(char[2:], 16) if len(char) > 1 else ord(char)


def restored(value: Json, restore: Restore) -> Json:
    """A value with all its texts restored, keys too."""
    if isinstance(value, str):
        return restore(value)
    if isinstance(value, list):
        return [restored(item, restore) for item in value]
    if isinstance(value, dict):
        return {restore(key): restored(item, restore) for key, item in value.items()}
    return value
