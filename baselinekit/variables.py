"""Variables: `{{name}}` in a recipe, expanded once; and secrets, which never come back out.

A file can only use what the configuration or the command line declares, never the whole environment.
"""

import base64
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from baselinekit.errors import InvalidInput, Place, Problem, nearest
from baselinekit.model.values import Json, Path

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
MASK = "***"

_TOKEN = re.compile(r"(\\?)\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SHORTEST_SECRET = 4
_SHORTEST_FRAGMENT = 8
_SHORT = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}

_QUOTED = re.compile(r"""(?:'(?P<raw>[^']*)'|"(?P<text>(?:[^"\\]|\\.)*)")(?:\s+\#.*)?""")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
_REFERENCE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\}")
_ESCAPE_OR_REFERENCE = re.compile(rf"\\(?P<escaped>.)|{_REFERENCE.pattern}")

_SECRET_HEADERS = re.compile(
    r"(?i)^(proxy-)?authorization$|^(set-)?cookie$"
    r"|(^|[-_])(token|secret|password|passwd|api-?key|access-?key|subscription-key|functions-key)$"
)
_SECRET_KEYS = re.compile(
    r"(?i)(^|[-_]|(?<=[a-z]))(token|secret|password|passwd|api[-_]?key|access[-_]?key|private[-_]?key)$"
)
_PAGING = re.compile(r"(?i)page|next|cursor|sync|continuation")
_SECRET_SHAPES = (
    (
        "a JSON Web Token",
        re.compile(r"\beyJ[A-Za-z0-9_-]{8,1000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{8}"),
    ),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("an API key", re.compile(r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)[-_][A-Za-z0-9_-]{16,}")),
    ("an API key", re.compile(r"\bsk-[A-Za-z0-9]{32,}|\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{36}")),
    ("a GitHub token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})")),
    ("an AWS key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a Slack token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("a Google API key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    (
        "a URL with a password",
        re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@"),
    ),
    ("a GitLab token", re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}")),
)


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that is sent, and shown to nobody. `hosts`: where else it may be sent."""

    value: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables that a recipe may use."""

    values: Mapping[str, Json] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    unset: Mapping[str, str] = field(default_factory=dict)
    """Variables that the configuration takes from an environment variable which is not there."""

    def with_saved(self, saved: Mapping[str, Json]) -> "Scope":
        """The scope of the next step: what earlier steps saved goes before what was declared."""
        if not saved:
            return self
        return Scope({**self.values, **saved}, self.secrets, self.unset)

    def lookup(self, name: str, at: Path = ()) -> Json:
        if name in self.secrets and name not in self.values:
            return self.secrets[name].value
        if name in self.unset and name not in self.values:
            what = f"the variable {{{{{name}}}}} comes from the environment variable {self.unset[name]}"
            raise InvalidInput(Problem("BK504", f"{what}, which is not set", "set it, or pass --var", at=at))
        if name not in self.values:
            known = sorted({*self.values, *self.secrets})
            mend = (
                nearest(name, known)
                or f"pass --var {name}=… (or --secret {name}), or declare it under `variables:`"
            )
            raise InvalidInput(Problem("BK501", f"the variable {{{{{name}}}}} is not defined", mend, at=at))
        return self.values[name]

    def expand(self, value: Any, at: Path = ()) -> Any:
        """The value with every `{{name}}` in its texts replaced, once: what a variable brings in is not
        looked at again. A text that is nothing but `{{name}}` takes the variable's type."""
        if isinstance(value, str):
            return self._expand_text(value, at) if "{{" in value else value
        if not value or isinstance(value, bool | int | float):
            return value
        if isinstance(value, dict):
            return {self._key(key, at): self.expand(item, (*at, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.expand(item, (*at, index)) for index, item in enumerate(value)]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [(name, getattr(value, name)) for name in _field_names(type(value))]
            changed = {
                name: new for name, old in fields if old and (new := self.expand(old, (*at, name))) != old
            }
            return dataclasses.replace(value, **changed) if changed else value
        return value

    def _key(self, key: Any, at: Path) -> Any:
        return str(self._expand_text(key, at)) if isinstance(key, str) and "{{" in key else key

    def _expand_text(self, text: str, at: Path) -> Json:
        whole = _TOKEN.fullmatch(text)
        if whole and not whole[1]:
            return self.lookup(whole[2], at)

        def one(match: re.Match[str]) -> str:
            if match[1]:
                return match[0][1:]
            return as_text(self.lookup(match[2], at))

        return _TOKEN.sub(one, text)


def unexpanded(text: str) -> str:
    """The text as it is written, so that `expand` gives it back."""
    return _TOKEN.sub(lambda match: "\\" + match[0], text) if "{{" in text else text


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def as_text(value: Json) -> str:
    """A value as it reads inside a text."""
    return (
        str(value) if isinstance(value, str | Decimal) else json.dumps(value, ensure_ascii=False, default=str)
    )


def names_in(value: Any) -> Iterator[str]:
    """Every variable that a value's texts would expand."""
    if isinstance(value, str):
        if "{{" in value:
            yield from (match[2] for match in _TOKEN.finditer(value) if not match[1])
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from names_in(key)
            yield from names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from names_in(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name in _field_names(type(value)):
            if field := getattr(value, name):
                yield from names_in(field)


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


class Redactor:
    """Keeps the secrets out of whatever is written or shown. One of fewer than four characters cannot be
    kept: it is everywhere."""

    def __init__(self, secrets: Mapping[str, Secret]):
        longest_first = sorted(secrets.items(), key=lambda item: len(item[1].value), reverse=True)
        sources = {
            name: spelling(secret.value)
            for name, secret in longest_first
            if len(secret.value) >= _SHORTEST_SECRET
        }
        self._patterns = {name: re.compile(source) for name, source in sources.items()}
        self._any = re.compile("|".join(sources.values())) if sources else None
        self._numeric = any(_NUMBER.fullmatch(secret.value) for secret in secrets.values())

    def mask(self, text: str) -> str:
        return self._any.sub(MASK, text) if self._any else text

    def mask_value(self, value: Any) -> Any:
        """The value with every secret in its texts, keys and numbers masked."""
        if self._any is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            return {self.mask_value(key): self.mask_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.mask_value(item) for item in value)
        if self._numeric and isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return MASK if self._any.search(str(value)) else value
        return value

    def found_in(self, text: str) -> set[str]:
        """The names of the secrets that a text gives away."""
        return {name for name, pattern in self._patterns.items() if pattern.search(text)}


def is_secret_header(name: str) -> bool:
    """Whether a header carries credentials by what it is called."""
    return bool(_SECRET_HEADERS.search(name))


def is_secret_key(name: str) -> bool:
    """Whether what stands under a key is a secret by what the key is called; a page token is none."""
    return bool(_SECRET_KEYS.search(name)) and not _PAGING.search(name)


def secret_shape(text: str) -> str | None:
    """What kind of secret a text looks like, if it looks like one."""
    return next((what for what, shape in _SECRET_SHAPES if shape.search(text)), None)


def parse_env_file(text: str, file: str) -> dict[str, str]:
    """`KEY=value` lines: comments, `export`, quotes, and `${OTHER}` from the lines above. A line that is
    none of these is named, but not shown: it may hold a secret."""
    values: dict[str, str] = {}
    problems = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        stripped = re.sub(r"^export\s+", "", line.strip())
        if not stripped or stripped.startswith("#"):
            continue
        key, equals, value = stripped.partition("=")
        what = "is not KEY=value"
        if equals and NAME.fullmatch(key.strip()):
            found, what = _env_value(value, values)
            if not what:
                values[key.strip()] = found
                continue
        mend = "quote a value with blanks or a # in it: KEY='value'"
        problems.append(Problem("BK502", f"line {number} {what}", mend, Place(file, number, 1)))
    if problems:
        raise InvalidInput(*problems)
    return values


def _env_value(written: str, values: Mapping[str, str]) -> tuple[str, str]:
    """The value, and what is wrong with it."""
    quoted = _QUOTED.fullmatch(written.strip())
    pieces = _REFERENCE
    if quoted and quoted["raw"] is not None:
        return quoted["raw"], ""
    if quoted:
        value, pieces = quoted["text"], _ESCAPE_OR_REFERENCE
    elif written.strip()[:1] in ("'", '"'):
        return "", "has a quote that is not closed, or something after it"
    else:
        value = re.split(r"(?:^|\s)#", written, maxsplit=1)[0].strip() if written[:1] != "#" else written
    unknown = [
        match["name"] for match in pieces.finditer(value) if (match["name"] or "") not in ("", *values)
    ]
    if unknown:
        return "", f"uses ${{{unknown[0]}}}, which no line above it defines"

    def one(match: re.Match[str]) -> str:
        return values[match["name"]] if match["name"] else _ESCAPES.get(match["escaped"], match[0])

    return pieces.sub(one, value), ""
