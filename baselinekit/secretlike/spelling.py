"""The forms in which a known secret could come back."""

import base64
import re

_SHORTEST_FRAGMENT = 8
_SHORT = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_MOST_SHORT_BYTES = 6
_BASE64 = re.compile(r"(?:(?<=\\)[nrt])?([A-Za-z0-9+/_-]{6,}={0,2})")
"""Without what is left of a line end that is written as an escape."""


def spelling(secret: str) -> str:
    """A regular expression for the forms in which a secret could come back: plain, escaped or encoded
    character by character (JSON, URL, XML, shell), as hex, and as base64, also as a part of a longer base64
    text (as in basic authentication)."""
    raw = secret.encode("utf-8", "surrogatepass")
    forms = ["".join(map(_character, secret)), f"(?i:{raw.hex()})"]
    found = set()
    for shift in range(3):  # only the characters that the secret alone decides
        encoded = base64.b64encode(b"\0" * shift + raw).decode()
        end = len(encoded) if (shift + len(raw)) % 3 == 0 else encoded.index("=") - 1
        core = encoded[(0, 2, 3)[shift] : end]
        if len(core) >= _SHORTEST_FRAGMENT:
            found.add(core)
    whole = base64.b64encode(raw).decode()
    found |= {whole, whole.rstrip("=")}
    found |= {text.replace("+", "-").replace("/", "_") for text in found}
    return "|".join([*forms, *map(re.escape, sorted(found, key=len, reverse=True))])


def _character(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    percent = "".join(f"%(?:25){{0,2}}{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    units = char.encode("utf-16-be", "surrogatepass")
    escape = "".join(rf"\\{{1,4}}u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    entity = rf"&(?:#{ord(char)}|#x0*{ord(char):x}|{_ENTITIES.get(char, 'none')});"
    short = r"|\+" if char == " " else rf"|\\{{1,4}}{_SHORT[char]}" if char in _SHORT else ""
    # Encoded forms first: `%25` must not be taken for a bare `%` that leaves its 25 behind. And bounded runs
    # of backslashes: a text of nothing else must not take quadratic time.
    return rf"(?:(?i:{percent}|{escape}|{entity})|\\{{0,4}}{re.escape(char)}{short})"


def is_short(secret: str) -> bool:
    """Whether what it alone decides of a longer text in base64 is too little to be looked for."""
    return len(secret.encode("utf-8", "surrogatepass")) <= _MOST_SHORT_BYTES


def in_base64(text: str, pattern: re.Pattern[str]) -> list[str]:
    """The runs of a text that hold, decoded from their beginning, what a pattern finds; longest first."""
    found = {run for run in _BASE64.findall(text) if pattern.search(_decoded(run))}
    return sorted(found, key=len, reverse=True)


def _decoded(run: str) -> str:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    return base64.b64decode(plain + "=" * (-len(plain) % 4)).decode("utf-8", "replace")
