"""Variables: `{{name}}` in a recipe, expanded once; and secrets, which never come back out.

A file can only use what the configuration or the command line declares, never the whole environment.
"""

import dataclasses
import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from baselinekit.errors import InvalidInput, Place, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.secrets.declared import SHORTEST_WITHIN, Declared, Found, covering, merged
from baselinekit.secrets.finding import covered, long_runs, may_be_secret, says_secret
from baselinekit.secrets.together import holding, keys_in, numbers_in, says_secrets, suspects, texts_in

if TYPE_CHECKING:  # most runs have no secret of few characters
    from baselinekit.secrets.short import ShortSecrets

NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_.-]*")
MASK = "***"

_TOKEN = lazy_pattern(r"(\\?)\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")
_NUMBER = lazy_pattern(r"-?\d+(?:\.\d+)?")
_STANDS_FOR = lazy_pattern(r"<<|\{\{|\*\*\*")
_WORD = lazy_pattern(r"\w{2,}")
_BETWEEN = lazy_pattern(r"[\s;,=]+")
_TELLING = lazy_pattern(r"(?=.*\d)\S{8,4000}|\S{16,4000}")

_QUOTED = lazy_pattern(r"""(?:'(?P<raw>[^']*)'|"(?P<text>(?:[^"\\]|\\.)*)")(?:\s+\#.*)?""")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
_REFERENCE = lazy_pattern(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\}")
_ESCAPE_OR_REFERENCE = lazy_pattern(rf"\\(?P<escaped>.)|{_REFERENCE.pattern}")


@frozen
class Secret:
    """A value that is sent, and shown to nobody. `hosts`: where else it may be sent."""

    value: str
    hosts: tuple[str, ...] = ()


@frozen
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

    def declared(self, name: str) -> Json:
        """The value of a variable; None where it has none."""
        return self.secrets[name].value if name in self.secrets else self.values.get(name)

    def lookup(self, name: str, at: Path = ()) -> Json:
        if name in self.secrets and name not in self.values:
            return self.secrets[name].value
        if name in self.unset and name not in self.values:
            what = f"the variable {{{{{name}}}}} comes from the environment variable {self.unset[name]}"
            raise InvalidInput(
                Problem("BK504", f"{what}, which is not set", f"set it, or pass --var {name}=…", at=at)
            )
        if name not in self.values and name == "base_url":
            hint = "pass --base-url URL, or set base_url: in baselinekit.yaml"
            raise InvalidInput(Problem("BK310", "no base_url", hint, at=at))
        if name not in self.values:
            known = sorted({*self.values, *self.secrets})
            hint = (
                nearest(name, known)
                or f"pass --var {name}=… (or --secret {name}), or declare it under `variables:`"
            )
            raise InvalidInput(Problem("BK501", f"the variable {{{{{name}}}}} is not defined", hint, at=at))
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
            fields = [(name, getattr(value, name)) for name in field_names(type(value))]
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

        def expanded(match: re.Match[str]) -> str:
            if match[1]:
                return match[0][1:]
            return as_text(self.lookup(match[2], at))

        return _TOKEN.sub(expanded, text)


def with_places(text: str, place: Callable[[str], str]) -> str:
    """The text with something else where each variable stands, by its name."""
    return _TOKEN.sub(lambda match: match[0][1:] if match[1] else place(match[2]), text)


def unexpanded(text: str) -> str:
    """The text as it is written, so that `expand` gives it back."""
    return _TOKEN.sub(lambda match: "\\" + match[0], text) if "{{" in text else text


def unexpanded_in(value: Json) -> Json:
    """The same for every text of a value, so that `expand` gives the value back."""
    if isinstance(value, str):
        return unexpanded(value)
    if isinstance(value, dict):
        return {unexpanded(key): unexpanded_in(item) for key, item in value.items()}
    return [unexpanded_in(item) for item in value] if isinstance(value, list) else value


@cache
def field_names(kind: type) -> tuple[str, ...]:
    """Those of a dataclass."""
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
        for name in field_names(type(value)):
            if field := getattr(value, name):
                yield from names_in(field)


def _short_secrets(values: Mapping[str, str], others: "ShortSecrets | None") -> "ShortSecrets | None":
    """What finds them; None where there are none, as in most runs: then nothing is loaded for it."""
    if not any(values.values()):
        return others
    from baselinekit.secrets.short import ShortSecrets

    return ShortSecrets(values, others)


class Redactor:
    """Keeps secrets out of whatever is written or shown: the declared ones in every spelling, and what looks
    like one. A declared one of fewer than six characters is masked as a whole value alone."""

    def __init__(
        self,
        secrets: Mapping[str, Secret],
        plain: set[str] | None = None,
        others: "Redactor | None" = None,
    ):
        """`others`: knows of secrets that are looked for as well."""
        self._plain = set() if plain is None else plain
        """What looks random and was found to be no secret where it stands: an id, a tag of an edition."""
        known: Declared | None = others._declared if others else None
        long = {
            name: secret.value for name, secret in secrets.items() if len(secret.value) >= SHORTEST_WITHIN
        }
        short = {name: secret.value for name, secret in secrets.items() if name not in long}
        self._declared: Declared = Declared(long, known)
        self._short: ShortSecrets | None = _short_secrets(short, others._short if others else None)
        own = tuple(value for value in long.values() if _NUMBER.fullmatch(value))
        self._numeric: tuple[str, ...] = own + (others._numeric if others else ())

    @property
    def plain(self) -> frozenset[str]:
        """What it has found to be no secret where it stands."""
        return frozenset(self._plain)

    def take_plain(self, texts: Iterable[str]) -> None:
        """What another one has found: it has masked what this one only prints."""
        self._plain.update(texts)

    def mask_declared(self, text: str) -> str:
        """The text without the declared secrets: for what has to stay as different as it is otherwise."""
        return covering(text, self.places_in(text), MASK)

    def mask(self, text: str, path: Path = ()) -> str:
        """The text without any secret. Where it stands, if that is known, says what it could be."""
        if says_secret(path) and not _STANDS_FOR.match(text):
            return MASK if may_be_secret(text) else self.mask_declared(text)
        masked = covered(self.mask_declared(text), path, MASK)
        if path and masked == text:
            self._plain.update(long_runs(text))
        return masked

    def mask_said(self, text: str) -> str:
        """For the last look at what is printed, where nothing says any more what stands where: what was
        judged in its place stays."""
        return covered(self.mask_declared(text), (), MASK, self._plain)

    def mask_lines(self, lines: Sequence[str]) -> list[str]:
        """As `mask_said` for each line, and a secret that lies across several of them is masked in each."""
        places = holding(lines, self._declared) if self._declared else {}
        known = (merged((*places.get(line, ()), *self._short_in(line))) for line in lines)
        return [
            covered(covering(line, found, MASK), (), MASK, self._plain)
            for line, found in zip(lines, known, strict=True)
        ]

    def mask_value(self, value: Any, path: Path = ()) -> Any:
        """The value with every secret in its texts, keys and numbers masked; itself, if there is none."""
        if value is None or (not value and isinstance(value, str | dict | list | tuple)):
            return value
        if not isinstance(value, dict | list | tuple):
            return self._masked(value, path, None)
        texts, keys = texts_in(value)
        places = self._places(texts)
        dirty = suspects(texts) | places.keys()
        clean = not dirty and not self.holds_number(value) and not says_secrets((*keys, *path))
        return value if clean else self._masked(value, path, dirty, places)

    def suspected(self, texts: Sequence[str]) -> set[str]:
        """Of many texts those that hold a secret, or what looks like one wherever it stands. All are looked
        through together."""
        return suspects(texts) | self._places(texts).keys()

    def holds_number(self, value: Any) -> bool:
        """Whether a number in a value is, or holds, a declared secret."""
        looked_for = bool(self._numeric or self._short)
        return looked_for and any(map(self._is_numeric, numbers_in(value)))

    def _places(self, texts: Sequence[str]) -> dict[str, list[Found]]:
        places = holding(texts, self._declared) if self._declared else {}
        if self._short:
            short = {text: found for text in texts if (found := self._short.find(text))}
            places |= {text: merged((*places.get(text, ()), *found)) for text, found in short.items()}
        return places

    def mask_note(self, note: str | None, *about: Any) -> str | None:
        """What was said of some texts, without the words that only stand in their secrets: who tells which
        words differ does not tell whose they are."""
        if note is None:
            return None
        shown = self.mask(note)
        for text in about:
            if isinstance(text, str) and (bare := self.mask(text)) != text:
                shown = _without_lost(shown, text.casefold(), bare.casefold())
        return shown

    def _masked(
        self,
        value: Any,
        path: Path,
        dirty: set[str] | None,
        places: Mapping[str, list[Found]] = MappingProxyType({}),
    ) -> Any:
        """`dirty`: the texts that hold something, where that is known; `places`: where declared secrets are
        in them, also those that lie across several."""
        if isinstance(value, str):
            is_clean = dirty is not None and value not in dirty and not says_secret(path)
            return value if is_clean else self._text(value, path, places)
        if isinstance(value, dict):
            found = {
                self._key(key, dirty, places): self._masked(item, (*path, key), dirty, places)
                for key, item in value.items()
            }
            same = all(map(operator.is_, found.values(), value.values())) and found.keys() == value.keys()
            return value if same else found
        if isinstance(value, list | tuple):
            items = type(value)(self._masked(item, (*path, n), dirty, places) for n, item in enumerate(value))
            return value if all(map(operator.is_, items, value)) else items
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        if is_number and (self._numeric or self._short) and self._is_numeric(str(value)):
            return MASK
        return value

    def _short_in(self, text: str) -> list[Found]:
        return [] if self._short is None else self._short.find(text)

    def _is_numeric(self, text: str) -> bool:
        return any(number in text for number in self._numeric) or (
            self._short is not None and self._short.name_of(text) is not None
        )

    def _text(self, text: str, path: Path, places: Mapping[str, list[Found]]) -> str:
        if text not in places or (says_secret(path) and not _STANDS_FOR.match(text)):
            return self.mask(text, path)
        return covered(covering(text, places[text], MASK), path, MASK)

    def _key(self, key: str, dirty: set[str] | None, places: Mapping[str, list[Found]]) -> str:
        """A short secret is none as a key: that names a value, and is none."""
        if (dirty is not None and key not in dirty) or (self._short is not None and self._short.name_of(key)):
            return key
        return self._text(key, (), places)

    def knowing(self, value: Json) -> "Redactor":
        """One that masks what stands under the name of a secret in a value wherever else it turns up."""
        if isinstance(value, dict | list) and not says_secrets(keys_in(value)):
            return self
        named = {f"({n})": Secret(text) for n, text in enumerate(sorted(set(_named_in(value, ()))))}
        return Redactor(named, self._plain, self) if named else self

    def found_in(self, text: str) -> set[str]:
        """The names of the declared secrets that a text gives away."""
        return {name for _, _, name in self.places_in(text)}

    def sent_in(self, parts: Sequence[str]) -> set[str]:
        """The names of the declared secrets that go out with a request of these parts."""
        names = {name for _, _, name in self._declared.find("\n".join(parts))}
        return names.union(*({name for _, _, name in self._short_in(part)} for part in parts))

    def places_in(self, text: str) -> list[Found]:
        """Where the declared secrets are in a text."""
        found = self._declared.find(text)
        return merged((*found, *self._short.find(text))) if self._short else found


def _without_lost(note: str, before: str, after: str) -> str:
    def masked(word: re.Match[str]) -> str:
        low = word[0].casefold()
        return MASK if low in before and low not in after else word[0]

    return _WORD.sub(masked, note)


def _named_in(value: Json, path: Path) -> Iterator[str]:
    """The texts under the names of secrets, as far as they are no words that could stand anywhere."""
    if isinstance(value, str):
        if says_secret(path) and not _STANDS_FOR.match(value):
            yield from filter(_TELLING.fullmatch, (value, *_BETWEEN.split(value)))
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _named_in(item, (*path, key))


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
        hint = "quote a value with blanks or a # in it: KEY='value'"
        problems.append(Problem("BK502", f"line {number} {what}", hint, Place(file, number, 1)))
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
        return "", f"uses ${{{unknown[0]}}}, which no line before defines"

    def replaced(match: re.Match[str]) -> str:
        return values[match["name"]] if match["name"] else _ESCAPES.get(match["escaped"], match[0])

    return pieces.sub(replaced, value), ""
