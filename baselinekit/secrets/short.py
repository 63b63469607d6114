"""Finds declared secrets of few characters, but only as whole values, because inside of longer texts they
occur by chance."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any
from urllib.parse import quote, quote_plus

from baselinekit.lazy import lazy_pattern
from baselinekit.secrets.declared import SHORTEST_WITHIN, Found, hex_spellings, merge_spans
from baselinekit.secrets.scan import ALPHANUMERIC

_MAX_CONTEXT = 200
_NAME = r"[\w.%$\[\]-]{1,80}"
_QUOTE = r"\\{0,3}[\"']"
_QUOTES = rf"(?:{_QUOTE})?"
_LINE = r"(?:\A|\n|\\[nr])"
_LINE_END = r"[ \t\r]{0,40}(?:\n|\\{1,3}[nr]|\Z)"
"""The end of a line, also if it is written as an escape."""
_BEFORE_VALUE = r"(?:(?<![^\s=:\"'@/<>\[,(])|(?<=\\[nrt]))"
_AFTER_VALUE = r"(?![^\s&;,)\]}#<\"'\\@:])"
"""What is directly beside any whole value: a first check that most places fail."""

_CONTEXTS = tuple(
    (last_characters, lazy_pattern(rf"(?:{before})\Z"), lazy_pattern(after))
    for last_characters, before, after in (
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
            ALPHANUMERIC + "-_",
            r"(?i:\b(?:bearer|basic)|\A(?:token|api-?key|key|digest|negotiate)"
            rf"|\bauthorization{_QUOTES}\s?[:=]\s?{_QUOTES}[\w-]{{1,40}})\s+",
            r"(?=[\s,;\"'\\<>)]|\Z)",
        ),
        # a scalar in JSON, but not a key
        (":[,", rf"[:\[,]\s{{0,40}}{_QUOTE}", rf"{_QUOTE}\s{{0,40}}(?:[,\]}}]|\Z)"),
        (":", rf"{_QUOTE}\s?:\s{{0,40}}", r"\s{0,40}(?:[,}\n]|\Z)"),
        # a line of YAML, or a header
        (
            ":",
            rf"(?:{_LINE}|[\"'])[\s>|+-]{{0,40}}{_QUOTES}[\w.-]{{1,80}}{_QUOTES}:\s{{1,40}}{_QUOTES}",
            rf"(?:{_QUOTES}{_LINE_END}|{_QUOTE})",
        ),
        # a whole line, including an item of a YAML list
        ("\nnr>|+-", rf"{_LINE}[\s>|+-]{{0,40}}{_QUOTES}", rf"{_QUOTES}{_LINE_END}"),
        # an element or an attribute
        (">", r"<[\w:.-]{1,80}(?:\s[^<>]{0,100})?>", r"</"),
    )
)
"""The contexts of whole values: the last character before it (ignoring blanks and quotes), a pattern for the
text before it, and one for the text after it."""
_ONLY_QUOTES = lazy_pattern(rf"\s*{_QUOTES}\s*")
_ENCODED_PAIR = lazy_pattern(r"(?i:\bbasic)\s+([A-Za-z0-9+/_-]{2,400}={0,2})(?![A-Za-z0-9+/_=-])")


class ShortSecrets:
    """The declared secrets of few characters, each in the spellings that it may have as a whole value."""

    def __init__(self, secrets: Mapping[str, str], others: "ShortSecrets | None" = None):
        self._names: dict[str, str] = dict(others._names) if others else {}
        for name, value in secrets.items():
            if value and len(value) < SHORTEST_WITHIN:
                self._names |= dict.fromkeys(_spellings(value), name)
        longest_first = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        pattern = f"{_BEFORE_VALUE}(?:{longest_first}){_AFTER_VALUE}"
        self._pattern = re.compile(pattern) if longest_first else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def name_of(self, text: str) -> str | None:
        """Return the name of the secret that a whole value is."""
        return self._names.get(text) or self._names.get(text.strip())

    def find(self, text: str) -> list[Found]:
        """Return every whole value in a text that is such a secret, including the text itself."""
        if self._pattern is None:
            return []
        places = list(self._in_pairs(text)) if "asic" in text.lower() else []
        for match in self._pattern.finditer(text):
            if _is_whole(text, *match.span()):
                places.append((*match.span(), self._names[match[0]]))
        return merge_spans(places)

    def _in_pairs(self, text: str) -> Iterator[Found]:
        """Yield encoded credentials whose user or password is such a secret."""
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
    before = text[max(0, start - _MAX_CONTEXT) : start]
    if len(before) == start and _ONLY_QUOTES.fullmatch(before) and _ONLY_QUOTES.fullmatch(text, end):
        return True
    line = before.rstrip(" \t\r\"'\\")
    line_ends = (line[-1:], line.rstrip()[-1:])
    return any(
        after_pattern.match(text, end) and before_pattern.search(before)
        for last_characters, before_pattern, after_pattern in _CONTEXTS
        if line_ends[0] in last_characters or line_ends[1] in last_characters
    )


def _spellings(secret: str) -> Iterator[str]:
    """Yield the secret as it is, and as a value in a URL, a form, JSON, XML or base64."""
    from html import escape  # imported on demand: most runs do not need it

    encoded = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode()
    for text in (
        secret,
        *(
            "".join(cases)
            for digits in hex_spellings(secret)
            for cases in product(*map(set, zip(digits, digits.upper(), strict=True)))
        ),
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
    """Finds the values of variables in a text. Secrets of few characters count only as whole values."""

    def __init__(self, values: Mapping[str, str], secrets: Mapping[str, str]):
        secret_names = {value: name for name, value in secrets.items() if value}
        short_names = {value: name for value, name in secret_names.items() if len(value) < SHORTEST_WITHIN}
        self._names = {**{value: name for name, value in values.items()}, **secret_names}
        self._short = ShortSecrets({name: value for value, name in short_names.items()})
        longest_first = sorted(
            self._names.keys() - short_names.keys(), key=lambda value: (-len(value), value)
        )
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def find(self, text: str) -> list[Found]:
        if not self._short and not (self._pattern and self._pattern.search(text)):
            return []
        matches = self._pattern.finditer(text) if self._pattern else ()
        short_places = (place for place in self._short.find(text) if text[place[0] : place[1]] in self._names)
        return merge_spans((*((*match.span(), self._names[match[0]]) for match in matches), *short_places))


def with_variables(value: Any, known: KnownValues, name: str = "") -> Any:
    """Return a recipe with such values replaced by `{{name}}`. `name`: the key of the value."""
    if isinstance(value, str):
        prefix = (
            "authorization: " if name.lower().endswith("authorization") else ""
        )  # so that a scheme may be before the secret
        text, result, position = prefix + value, "", 0
        for start, end, variable in known.find(text):
            result += f"{text[position:start]}{{{{{variable}}}}}"
            position = end
        return (result + text[position:]).removeprefix(prefix)
    if isinstance(value, list):
        return [with_variables(item, known) for item in value]
    if isinstance(value, dict):
        return {key: with_variables(item, known, str(key)) for key, item in value.items()}
    return value
