"""Variables: `{{name}}` in a recipe, expanded once; and secrets, which never come back out.

A file can only use what the configuration or the command line declares, never the whole environment.
"""

import base64
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

from baselinekit.errors import InvalidInput, Place, Problem, nearest
from baselinekit.model.values import Json, Path

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
MASK = "***"

_TOKEN = re.compile(r"(\\?)\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")
_SHORTEST_SECRET = 4
_SHORTEST_FRAGMENT = 8

_SECRET_HEADERS = re.compile(
    r"(?i)^(proxy-)?authorization$|^(set-)?cookie$|^x-(amz-security|vault|csrf|auth|access|session)-?token$"
    r"|(^|-)(api-?key|apikey|secret|password|auth-token|access-token)$"
)
_SECRET_SHAPES = (
    ("a JSON Web Token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("an API key", re.compile(r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)[-_][A-Za-z0-9_-]{16,}")),
    ("a GitHub token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})")),
    ("an AWS key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a Slack token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("a Google API key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
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

    def with_saved(self, saved: Mapping[str, Json]) -> "Scope":
        """The scope of the next step: what earlier steps saved goes before what was declared."""
        return Scope({**self.values, **saved}, self.secrets)

    def lookup(self, name: str, at: Path = ()) -> Json:
        if name in self.secrets and name not in self.values:
            return self.secrets[name].value
        if name not in self.values:
            known = sorted({*self.values, *self.secrets})
            mend = nearest(name, known) or f"pass --var {name}=…, or declare it under `variables:`"
            raise InvalidInput(Problem("BK501", f"the variable {{{{{name}}}}} is not defined", mend, at=at))
        return self.values[name]

    def expand(self, value: Any, at: Path = ()) -> Any:
        """The value with every `{{name}}` in its texts replaced, once: what a variable brings in is not
        looked at again. A text that is nothing but `{{name}}` takes the variable's type."""
        if isinstance(value, str):
            return self._expand_text(value, at) if "{{" in value else value
        if isinstance(value, dict):
            return {self._key(key, at): self.expand(item, (*at, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.expand(item, (*at, index)) for index, item in enumerate(value)]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            changed = {
                name: new for name, old in fields.items() if (new := self.expand(old, (*at, name))) is not old
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


def as_text(value: Json) -> str:
    """A value as it reads inside a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def names_in(value: Any) -> Iterator[str]:
    """Every variable that a value's texts would expand."""
    if isinstance(value, str):
        yield from (match[2] for match in _TOKEN.finditer(value) if not match[1])
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from names_in(key)
            yield from names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from names_in(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for f in dataclasses.fields(value):
            yield from names_in(getattr(value, f.name))


def spellings(secret: str) -> set[str]:
    """The forms in which a secret could come back: plain, URL-encoded, JSON, hex and base64, also as a part
    of a longer base64 text (as in basic authentication)."""
    raw = secret.encode("utf-8", "surrogatepass")
    found = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret)}
    found |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    found |= {raw.hex(), raw.hex().upper()}
    for shift in range(3):  # only the characters that the secret alone decides
        encoded = base64.b64encode(b"\0" * shift + raw).decode()
        start = (0, 2, 3)[shift]
        end = len(encoded) if (shift + len(raw)) % 3 == 0 else encoded.index("=") - 1
        core = encoded[start:end]
        if len(core) >= _SHORTEST_FRAGMENT:
            found |= {core, core.replace("+", "-").replace("/", "_")}
    return {text for text in found if len(text) >= _SHORTEST_SECRET}


class Redactor:
    """Keeps the secrets out of whatever is written or shown."""

    def __init__(self, secrets: Mapping[str, Secret]):
        self._names = {
            spelling: name for name, secret in secrets.items() for spelling in spellings(secret.value)
        }
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def mask(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text

    def mask_value(self, value: Any) -> Any:
        """The value with every secret in its texts and keys masked; the same object when there is none."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            return {self.mask_value(key): self.mask_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.mask_value(item) for item in value)
        return value

    def found_in(self, text: str) -> set[str]:
        """The names of the secrets that a text gives away."""
        return {self._names[hit] for hit in self._pattern.findall(text)} if self._pattern else set()


def is_secret_header(name: str) -> bool:
    """Whether a header carries credentials by what it is called."""
    return bool(_SECRET_HEADERS.search(name))


def secret_shape(text: str) -> str | None:
    """What kind of secret a text looks like, if it looks like one."""
    return next((what for what, shape in _SECRET_SHAPES if shape.search(text)), None)


def parse_env_file(text: str, file: str) -> dict[str, str]:
    """`KEY=value` lines: comments, `export`, quotes, and `${OTHER}` from the lines above."""
    values: dict[str, str] = {}
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip().removeprefix("export ").lstrip()
        if not stripped or stripped.startswith("#"):
            continue
        key, equals, value = stripped.partition("=")
        if not equals or not NAME.fullmatch(key.strip()):
            problems.append((number, stripped))
            continue
        values[key.strip()] = _env_value(value.strip(), values)
    if problems:
        raise InvalidInput(
            *(
                Problem("BK502", f"not a KEY=value line: {text!r}", "", Place(file, number, 1))
                for number, text in problems
            )
        )
    return values


def _env_value(value: str, values: Mapping[str, str]) -> str:
    quote_mark = value[:1]
    if quote_mark in ("'", '"') and (end := value.find(quote_mark, 1)) > 0:
        value = value[1:end]
        if quote_mark == "'":
            return value
        value = value.replace("\\n", "\n").replace('\\"', '"')
    else:
        value = re.split(r"\s+#", value, maxsplit=1)[0].rstrip()
    return re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", lambda match: values.get(match[1], ""), value)
