"""Declared secrets of few characters: found only where one of them is a whole value, because inside of longer
texts they occur by chance."""

import base64
import binascii
import json
import re
import string
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from baselinekit.lazy import lazy_pattern
from baselinekit.secrets.declared import SHORTEST_WITHIN, Found, merged

_FURTHEST = 200
_NAME = r"[\w.%$\[\]-]{1,80}"
_QUOTE = r"\\{0,3}[\"']"
_QUOTES = rf"(?:{_QUOTE})?"
_LINE = r"(?:\A|\n|\\[nr])"
_LINE_END = r"[ \t\r]{0,40}(?:\n|\\{1,3}[nr]|\Z)"
"""Also where it is written as an escape."""
_BEFORE_VALUE = r"(?:(?<![^\s=:\"'@/<>\[,(])|(?<=\\[nrt]))"
_BEHIND_VALUE = r"(?![^\s&;,)\]}#<\"'\\@:])"
"""What stands right beside any whole value: the first look, which most places do not pass."""

_PLACES = tuple(
    (last, lazy_pattern(rf"(?:{before})\Z"), lazy_pattern(after))
    for last, before, after in (
        # a pair of a query, a form or a cookie; a word of a command line
        (
            "=",
            rf"(?:\A|[?&;,\s(\[{{<]|\\n|[\"']){_NAME}={_QUOTES}",
            rf"{_QUOTES}(?:[&;,\s)#\]}}<\"']|\\[nrt]|\Z)",
        ),
        # the password, the user or both of an address
        (":", r"://[^\s/@:\"'<>]{0,100}:", r"@"),
        ("/", r"://", r"(?::[^\s/@\"'<>]{0,100})?@"),
        (":", rf"(?:\A|\s)(?:-u|--user)[ =]?{_QUOTES}[^\s:\"']{{0,100}}:", rf"{_QUOTES}(?:\s|\Z)"),
        # credentials after their scheme
        (
            string.ascii_letters + string.digits + "-_",
            r"(?i:\b(?:bearer|basic)|\A(?:token|api-?key|key|digest|negotiate)"
            rf"|\bauthorization{_QUOTES}\s?[:=]\s?{_QUOTES}[\w-]{{1,40}})\s+",
            r"(?=[\s,;\"'\\<>)]|\Z)",
        ),
        # a scalar of a JSON text, but no key of one
        (":[,", rf"[:\[,]\s{{0,40}}{_QUOTE}", rf"{_QUOTE}\s{{0,40}}(?:[,\]}}]|\Z)"),
        (":", rf"{_QUOTE}\s?:\s{{0,40}}", r"\s{0,40}(?:[,}\n]|\Z)"),
        # a line of YAML, or a header
        (
            ":",
            rf"(?:{_LINE}|[\"'])[\s>|+-]{{0,40}}{_QUOTES}[\w.-]{{1,80}}{_QUOTES}:\s{{1,40}}{_QUOTES}",
            rf"(?:{_QUOTES}{_LINE_END}|{_QUOTE})",
        ),
        # a line alone, an item of a list in YAML among them
        ("\nnr>|+-", rf"{_LINE}[\s>|+-]{{0,40}}{_QUOTES}", rf"{_QUOTES}{_LINE_END}"),
        # an element or an attribute
        (">", r"<[\w:.-]{1,80}(?:\s[^<>]{0,100})?>", r"</"),
    )
)
"""Where a value is whole: the last character before it (blanks and quotes left out), what stands before it,
and what follows."""
_ALONE = lazy_pattern(rf"\s*{_QUOTES}\s*")
_ENCODED_PAIR = lazy_pattern(r"(?i:\bbasic)\s+([A-Za-z0-9+/_-]{2,400}={0,2})(?![A-Za-z0-9+/_=-])")


class ShortSecrets:
    """The declared secrets of few characters, each in the spellings in which a whole value may come back."""

    def __init__(self, secrets: Mapping[str, str], others: "ShortSecrets | None" = None):
        self._names: dict[str, str] = dict(others._names) if others else {}
        for name, value in secrets.items():
            if value and len(value) < SHORTEST_WITHIN:
                self._names |= dict.fromkeys(_spellings(value), name)
        longest_first = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        pattern = f"{_BEFORE_VALUE}(?:{longest_first}){_BEHIND_VALUE}"
        self._pattern = re.compile(pattern) if longest_first else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def name_of(self, text: str) -> str | None:
        """The secret that a whole value is."""
        return self._names.get(text) or self._names.get(text.strip())

    def find(self, text: str) -> list[Found]:
        """Every whole value in a text that is such a secret, the text itself among them."""
        if self._pattern is None:
            return []
        found = list(self._in_pairs(text)) if "asic" in text.lower() else []
        for match in self._pattern.finditer(text):
            if _is_whole(text, *match.span()):
                found.append((*match.span(), self._names[match[0]]))
        return merged(found)

    def _in_pairs(self, text: str) -> Iterator[Found]:
        """The user or the password in credentials that are encoded as one."""
        for match in _ENCODED_PAIR.finditer(text):
            raw = match[1].rstrip("=").replace("-", "+").replace("_", "/")
            try:
                pair = base64.b64decode(raw + "=" * (-len(raw) % 4)).decode("utf-8", "replace")
            except binascii.Error:
                continue
            user, _, password = pair.partition(":")
            name = self._names.get(password) or self._names.get(user)
            if name is not None:
                yield *match.span(1), name


def _is_whole(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _FURTHEST) : start]
    if len(before) == start and _ALONE.fullmatch(before) and _ALONE.fullmatch(text, end):
        return True
    line = before.rstrip(" \t\r\"'\\")
    ends = (line[-1:], line.rstrip()[-1:])
    return any(
        right.match(text, end) and left.search(before)
        for last, left, right in _PLACES
        if ends[0] in last or ends[1] in last
    )


def _spellings(secret: str) -> Iterator[str]:
    """As it is, and as it comes back as a value of a URL, a form, a JSON or XML text, or in base64."""
    from html import escape  # which most runs have no use for

    encoded = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode()
    for text in (
        secret,
        quote(secret.encode("utf-8", "surrogatepass"), safe=""),
        quote_plus(secret.encode("utf-8", "surrogatepass")),
        json.dumps(secret)[1:-1],
        escape(secret),
        encoded,
        encoded.rstrip("="),
        encoded.replace("+", "-").replace("/", "_"),
    ):
        yield text
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text)


class KnownValues:
    """Where the values of variables stand in a text, as they are. Those of secrets of few characters count
    only as whole values."""

    def __init__(self, values: Mapping[str, str], secrets: Mapping[str, str]):
        secret = {value: name for name, value in secrets.items() if value}
        short = {value: name for value, name in secret.items() if len(value) < SHORTEST_WITHIN}
        self._names = {**{value: name for name, value in values.items()}, **secret}
        self._short = ShortSecrets({name: value for value, name in short.items()})
        longest_first = sorted(self._names.keys() - short.keys(), key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def may_be_in(self, data: bytes) -> bool:
        """Whether any of them may stand in texts of which these are the bytes, in UTF-8, among others."""
        long = (value.encode("utf-8", "surrogatepass") for value in self._names)
        return bool(self._short) or any(value in data for value in long)

    def find(self, text: str) -> list[Found]:
        if not self._short and not (self._pattern and self._pattern.search(text)):
            return []
        matches = self._pattern.finditer(text) if self._pattern else ()
        short = (one for one in self._short.find(text) if text[one[0] : one[1]] in self._names)
        return merged((*((*match.span(), self._names[match[0]]) for match in matches), *short))


def with_variables(value: Any, known: KnownValues, name: str = "") -> Any:
    """A recipe with `{{name}}` wherever such a value was typed. `name`: of what stands there."""
    if isinstance(value, str):
        lead = (
            "authorization: " if name.lower().endswith("authorization") else ""
        )  # any scheme goes before it
        text, written, position = lead + value, "", 0
        for start, end, variable in known.find(text):
            written += f"{text[position:start]}{{{{{variable}}}}}"
            position = end
        return (written + text[position:]).removeprefix(lead)
    if isinstance(value, list):
        return [with_variables(item, known) for item in value]
    if isinstance(value, dict):
        return {key: with_variables(item, known, str(key)) for key, item in value.items()}
    return value
