"""Finds the declared secrets in a text, in each of the spellings in which a service may give one back."""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import product
from typing import Any
from urllib.parse import quote

Found = tuple[int, int, str]
"""Start, end and the name of the secret."""

SHORTEST_WITHIN = 6
"""A shorter secret is masked only as a whole value: inside of longer texts it occurs by chance."""
_SHORTEST_LINE, _SHORTEST_MIXED_LINE, _SHORTEST_COOKIE = 6, 4, 8

# The spellings of a secret.


def _parts(secret: str) -> Iterator[str]:
    """Yield the secret, also on one line; its lines, as in a diff; and the values in it if it is a header of
    several cookies. Each of them may come back alone."""
    yield secret
    if len(one_line := " ".join(secret.split())) >= SHORTEST_WITHIN:
        yield one_line
    for line in map(str.strip, re.split(r"[\r\n]+", secret) if "\n" in secret or "\r" in secret else ()):
        letters = re.sub(r"[\W_]+", "", line)
        is_mixed = re.search(r"(?=.*[A-Za-z])(?=.*\d)|[a-z].*[A-Z]", letters)
        shortest = _SHORTEST_MIXED_LINE if is_mixed else _SHORTEST_LINE
        if len(letters) >= shortest and not re.fullmatch("-----[A-Z ]+-----", line):
            yield line
    if re.fullmatch(r"[\w.-]+=[^;\s]*(?:; [\w.-]+=[^;\s]*)+", secret):
        values = (pair.partition("=")[2] for pair in secret.split("; "))
        yield from (value for value in values if len(value) >= _SHORTEST_COOKIE)


def _escaped(text: str) -> Iterator[str]:
    """Yield a text as it is, and as JSON, a URL, a form or HTML escape it."""
    yield text
    for ascii_only in (True, False):
        written = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        signs = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}
        for spelling in (written, written.replace("/", "\\/"), written.translate(signs)):
            yield spelling
            yield re.sub(r"\\u[0-9a-f]{4}", lambda code: f"\\u{code[0][2:].upper()}", spelling)
    for unescaped in ("", "/", "!'()*", "!$&'()*+,;=:@", "!$&'()*+,;=:@/"):
        for spelling in (
            quote(text, unescaped, errors="surrogatepass"),
            quote(text, unescaped.replace("+", "") + " ", errors="surrogatepass").replace(" ", "+"),
        ):
            yield spelling
            yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), spelling)
    markup = escape(text, quote=False)
    yield markup
    for double, single in (("quot", "#x27"), ("#34", "#39"), ("quot", "#39"), ("quot", "apos")):
        yield markup.replace('"', f"&{double};").replace("'", f"&{single};")


def _hexadecimal(secret: str) -> Iterator[str]:
    """Yield a secret of hexadecimal digits in small letters, with its hyphens, without them, and as a GUID: a
    service may write it in another way."""
    written = secret.strip("{} \t\r\n").lower()
    digits = written.replace("-", "")
    if re.fullmatch(r"[0-9a-f]+(?:-[0-9a-f]+)*", written) and (len(digits) == 32 or not digits.isdigit()):
        yield from (written, digits)
        if len(digits) == 32:
            yield "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _in_base64(text: str) -> Iterator[str]:
    """Yield the characters that the text alone determines in base64, at each of three offsets, in both
    alphabets."""
    raw = text.encode("utf-8", "surrogatepass")
    whole = base64.b64encode(raw).decode()
    shifted = ((n, base64.b64encode(b"\0" * n + raw).decode()) for n in range(3))
    determined = (text[n + (n > 0) : (n + len(raw)) * 4 // 3] for n, text in shifted)
    for spelling in (whole, whole.rstrip("="), *determined):
        yield from (spelling, spelling.replace("+", "-").replace("/", "_"))


# Secrets of few characters, which are found only where they are a whole value.

_NAME = r"[\w.%$\[\]-]{1,80}"
_QUOTE = r"\\{0,3}[\"']"
_QUOTES = rf"(?:{_QUOTE})?"
_LINE = r"(?:\A|\n|\\[nr])"
_LINE_END = r"[ \t\r]{0,40}(?:\n|\\{1,3}[nr]|\Z)"
_WHOLE = (
    # a pair of a query, a form or a cookie; a word of a command line
    (rf"(?:\A|[?&;,\s(\[{{<]|\\n|[\"']){_NAME}={_QUOTES}", rf"{_QUOTES}(?:[&;,\s)#\]}}<\"']|\\[nrt]|\Z)"),
    # the password, the user or both of an address; of a command line
    (r"://[^\s/@:\"'<>]{0,100}:", "@"),
    ("://", r"(?::[^\s/@\"'<>]{0,100})?@"),
    (rf"(?:\A|\s)(?:-u|--user)[ =]?{_QUOTES}[^\s:\"']{{0,100}}:", rf"{_QUOTES}(?:\s|\Z)"),
    # credentials after their scheme
    (
        r"(?i:\b(?:bearer|basic)|\A(?:token|api-?key|key|digest|negotiate)"
        rf"|\bauthorization{_QUOTES}\s?[:=]\s?{_QUOTES}[\w-]{{1,40}})\s{{1,40}}",
        r"(?:[\s,;\"'\\<>)]|\Z)",
    ),
    # a scalar in JSON, but not a key
    (rf"[:\[,]\s{{0,40}}{_QUOTE}", rf"{_QUOTE}\s{{0,40}}(?:[,\]}}]|\Z)"),
    (rf"{_QUOTE}\s?:\s{{0,40}}", r"\s{0,40}(?:[,}\n]|\Z)"),
    # a line of YAML, a header; a whole line, including an item of a YAML list
    (
        rf"(?:{_LINE}|[\"'])[\s>|+-]{{0,40}}{_QUOTES}[\w.-]{{1,80}}{_QUOTES}:\s{{1,40}}{_QUOTES}",
        rf"(?:{_QUOTES}{_LINE_END}|{_QUOTE})",
    ),
    (rf"{_LINE}[\s>|+-]{{0,40}}{_QUOTES}", rf"{_QUOTES}{_LINE_END}"),
    # an element
    (r"<[\w:.-]{1,80}(?:\s[^<>]{0,100})?>", "</"),
)
"""What is before and after a whole value."""
_BASIC = r"(?i:\bbasic)\s{1,40}([A-Za-z0-9+/_-]{2,400}={0,2})(?![A-Za-z0-9+/_=-])"


class Declared:
    """Searches texts for the declared secrets."""

    def __init__(self, secrets: Mapping[str, str], others: "Declared | None" = None):
        """`others`: secrets that are searched for as well."""
        self._plain: dict[str, str] = dict(others._plain) if others else {}
        self._hex: dict[str, str] = dict(others._hex) if others else {}
        self._short: dict[str, str] = dict(others._short) if others else {}
        for name, value in sorted(secrets.items(), key=lambda pair: -len(pair[1])):
            if len(value) < SHORTEST_WITHIN:
                self._short |= dict.fromkeys(filter(None, _short_spellings(value)), name)
                continue
            for part in _parts(value):
                self._plain = dict.fromkeys((*_escaped(part), *_in_base64(part)), name) | self._plain
                raw = part.encode("utf-8", "surrogatepass")
                self._hex = dict.fromkeys((raw.hex(), *_hexadecimal(part)), name) | self._hex
        longest_first = "|".join(map(re.escape, sorted(self._short, key=len, reverse=True)))
        self._whole = [f"(?:{before})({longest_first})(?={after})" for before, after in _WHOLE]

    def find(self, text: str) -> list[Found]:
        """Return every place, in order; overlapping ones are merged."""
        places = [*self._find_short(text)] if self._short else []
        small = (text if text.isascii() else text.encode("ascii", "replace").decode()).lower()
        for reading, names in ((text, self._plain), (small, self._hex)):
            for spelling in [spelling for spelling in names if spelling in reading]:
                start = reading.find(spelling)
                while start >= 0:
                    places.append((start, start + len(spelling), names[spelling]))
                    start = reading.find(spelling, start + 1)
        return merge_spans(places)

    def is_short(self, text: str) -> bool:
        """Whether a text is, as a whole, a secret of few characters."""
        return text.strip() in self._short

    def _find_short(self, text: str) -> Iterator[Found]:
        if any(spelling in text for spelling in self._short):
            for pattern in self._whole:
                yield from ((*match.span(1), self._short[match[1]]) for match in re.finditer(pattern, text))
        for match in re.finditer(_BASIC, text):
            encoded = match[1].rstrip("=").replace("-", "+").replace("_", "/")
            try:
                raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4))
            except binascii.Error:
                continue
            user, _, password = raw.decode("utf-8", "replace").partition(":")
            if name := self._short.get(password) or self._short.get(user):
                yield *match.span(1), name


def _short_spellings(secret: str) -> Iterator[str]:
    yield from _escaped(secret)
    for digits in _hexadecimal(secret):
        yield from map("".join, product(*zip(digits, digits.upper(), strict=True)))
    encoded = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode()
    yield from (encoded, encoded.rstrip("="), encoded.replace("+", "-").replace("/", "_"))


def merge_spans(places: Iterable[Found]) -> list[Found]:
    """Return the places in order, with overlapping ones merged."""
    merged: list[Found] = []
    for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end), merged[-1][2])
        else:
            merged.append((start, end, name))
    return merged


def replaced(text: str, parts: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with another one in each of these places, which are in order; the same text if there
    are none."""
    result, position = "", 0
    for start, end, new in parts:
        result += text[position:start] + new
        position = end
    return result + text[position:] if position else text


# Variables in place of their values.


class KnownValues:
    """Finds the values of variables in a text as they are. Secrets of few characters count only as whole
    values."""

    def __init__(self, values: Mapping[str, str], secrets: Mapping[str, str]):
        self._names = {value: name for name, value in (*values.items(), *secrets.items()) if value}
        short = {name: value for name, value in secrets.items() if len(value) < SHORTEST_WITHIN}
        self._short = Declared(short)
        long = sorted(self._names.keys() - set(short.values()), key=len, reverse=True)
        self._long = re.compile("|".join(map(re.escape, long)) or r"(?!)")

    def find(self, text: str) -> list[Found]:
        matches = ((*match.span(), self._names[match[0]]) for match in self._long.finditer(text))
        short_places = (place for place in self._short.find(text) if text[place[0] : place[1]] in self._names)
        return merge_spans((*matches, *short_places))


def with_variables(value: Any, known: KnownValues, name: str = "") -> Any:
    """Return a recipe with such values replaced by `{{name}}`. `name`: the key of the value."""
    if isinstance(value, str):
        # so that a scheme may be before the secret
        prefix = "authorization: " if name.lower().endswith("authorization") else ""
        found = known.find(prefix + value)
        parts = ((start, end, f"{{{{{variable}}}}}") for start, end, variable in found)
        return replaced(prefix + value, parts).removeprefix(prefix)
    if isinstance(value, list):
        return [with_variables(item, known) for item in value]
    if isinstance(value, dict):
        return {key: with_variables(item, known, str(key)) for key, item in value.items()}
    return value
