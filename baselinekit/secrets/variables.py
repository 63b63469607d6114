"""Variables: `{{name}}` in a recipe, expanded once; and secrets, which are masked in all output.

A file can only use variables that the configuration or the command line declares, never the whole
environment."""

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from baselinekit.errors import InvalidInput, Place, Problem, suggest
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.secrets.declared import Declared, replaced
from baselinekit.secrets.finding import has_secret_name, mask_secrets, may_be_secret, random_texts
from baselinekit.structs import Struct, asdict, field, replace
from baselinekit.values.places import children, with_texts

NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_.-]*")
MASK = "***"

_TOKEN = lazy_pattern(r"(\\?)\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")
_STAND_IN = lazy_pattern(r"<<|\{\{|\*\*\*")
_SEPARATORS = lazy_pattern(r"[\s;,=]+")
_DISTINCTIVE = lazy_pattern(r"(?=.*\d)\S{8,4000}|\S{16,4000}")

_QUOTED = lazy_pattern(r"""(?:'(?P<raw>[^']*)'|"(?P<text>(?:[^"\\]|\\.)*)")(?:\s+\#.*)?""")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
_REFERENCE = lazy_pattern(r"(?<!\\)\$\{[A-Za-z_][A-Za-z0-9_.-]*\}")


class Secret(Struct):
    """A value that is sent but never shown. `hosts`: further hosts that it may be sent to."""

    value: str
    hosts: tuple[str, ...] = ()


class Scope(Struct):
    """The variables that a recipe may use."""

    values: Mapping[str, Json] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    unset: Mapping[str, str] = field(default_factory=dict)
    """Variables that the configuration takes from an environment variable which is not set."""

    def with_saved(self, saved: Mapping[str, Json]) -> "Scope":
        """The scope of the next step: values that earlier steps saved override declared ones."""
        return Scope({**self.values, **saved}, self.secrets, self.unset)

    def declared(self, name: str) -> Json:
        """The value of a variable; None if it has none."""
        return self.secrets[name].value if name in self.secrets else self.values.get(name)

    def lookup(self, name: str, at: Path = ()) -> Json:
        if name in self.values:
            return self.values[name]
        if name in self.secrets:
            return self.secrets[name].value
        if name in self.unset:
            message = f"the variable {{{{{name}}}}} comes from the environment variable {self.unset[name]}"
            hint = f"set it, or pass --var {name}=…"
            raise InvalidInput(Problem("BK504", f"{message}, which is not set", hint, at=at))
        if name == "base_url":
            hint = "pass --base-url URL, or set base_url: in baselinekit.yaml"
            raise InvalidInput(Problem("BK310", "no base_url", hint, at=at))
        declare = f"pass --var {name}=… (or --secret {name}), or declare it under `variables:`"
        hint = suggest(name, [*self.values, *self.secrets]) or declare
        raise InvalidInput(Problem("BK501", f"the variable {{{{{name}}}}} is not defined", hint, at=at))

    def expand(self, value: Any, at: Path = ()) -> Any:
        """The value with every `{{name}}` in its texts replaced, once: the values of variables are not
        expanded again. A text that is nothing but `{{name}}` takes the variable's type."""
        if isinstance(value, str):
            return self._expand_text(value, at) if "{{" in value else value
        if not value or isinstance(value, bool | int | float):
            return value
        if isinstance(value, dict):
            return {self._key(key, at): self.expand(item, (*at, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.expand(item, (*at, index)) for index, item in enumerate(value)]
        if isinstance(value, Struct):
            fields = asdict(value).items()
            expanded = ((name, old, self.expand(old, (*at, name))) for name, old in fields if old)
            changed = {name: new for name, old, new in expanded if new != old}
            return replace(value, **changed) if changed else value
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


def replace_variables(text: str, place: Callable[[str], str]) -> str:
    """The text with each variable replaced by `place(name)`."""
    return _TOKEN.sub(lambda match: match[0][1:] if match[1] else place(match[2]), text)


def escape_variables(text: str) -> str:
    """The text with every `{{name}}` escaped, so that `expand` gives it back unchanged."""
    return _TOKEN.sub(lambda match: "\\" + match[0], text) if "{{" in text else text


def escape_variables_in(value: Json) -> Json:
    """The same for every text of a value, so that `expand` gives the value back."""
    return with_texts(value, escape_variables, keys=True)


def as_text(value: Json) -> str:
    """A value as it reads inside a text."""
    is_text = isinstance(value, str | Decimal)
    return str(value) if is_text else json.dumps(value, ensure_ascii=False, default=str)


def variables_in(value: Any, at: Path = ()) -> Iterator[tuple[str, Path]]:
    """Every variable that a value's texts would expand, with the place of its text."""
    if isinstance(value, str):
        if "{{" in value:
            yield from ((match[2], at) for match in _TOKEN.finditer(value) if not match[1])
        return
    for key, item in children(asdict(value) if isinstance(value, Struct) else value):
        yield from variables_in(key, at)
        yield from variables_in(item, (*at, key))


def names_in(value: Any) -> Iterator[str]:
    """Every variable that a value's texts would expand."""
    return (name for name, _ in variables_in(value))


class Redactor:
    """Masks secrets in everything that is written or shown: declared secrets, also encoded, and texts
    that look like secrets. A declared secret of fewer than six characters is masked only as a whole value."""

    def __init__(
        self, secrets: Mapping[str, Secret], plain: set[str] | None = None, others: "Redactor | None" = None
    ):
        """`others`: a redactor whose secrets are masked as well."""
        self._plain = set() if plain is None else plain
        """Texts that look random but were found not to be secrets where they appear: an id, an ETag."""
        values = {name: secret.value for name, secret in secrets.items()}
        self._declared: Declared = Declared(values, others._declared if others else None)

    @property
    def plain(self) -> frozenset[str]:
        """Random-looking texts that were found not to be secrets where they appear."""
        return frozenset(self._plain)

    def take_plain(self, texts: Iterable[str]) -> None:
        """Add such texts from another redactor, which has masked what this one only prints."""
        self._plain.update(texts)

    def mask_declared(self, text: str) -> str:
        """The text with only the declared secrets masked, for texts whose other differences must stay."""
        return replaced(text, ((start, end, MASK) for start, end, _ in self._declared.find(text)))

    def mask(self, text: str, path: Path = ()) -> str:
        """The text with every secret masked. `path`, if known, helps to decide what a value could be."""
        if has_secret_name(path) and not _STAND_IN.match(text):
            return MASK if may_be_secret(text) else self.mask_declared(text)
        masked = mask_secrets(self.mask_declared(text), path, MASK)
        if path and masked == text:
            self._plain.update(random_texts(text))
        return masked

    def mask_said(self, text: str) -> str:
        """Mask the final output, where the paths of values are no longer known: texts that were found not to
        be secrets stay."""
        return mask_secrets(self.mask_declared(text), (), MASK, self._plain)

    def mask_value(self, value: Any, path: Path = ()) -> Any:
        """The value with every secret in its texts, keys and numbers masked; the same object if it has
        none."""
        if isinstance(value, str):
            return self.mask(value, path)
        if isinstance(value, dict):
            masked = {
                key if self._declared.is_short(key) else self.mask(key): self.mask_value(item, (*path, key))
                for key, item in value.items()
            }
            same = masked.keys() == value.keys() and all(map(operator.is_, masked.values(), value.values()))
            return value if same else masked
        if isinstance(value, list | tuple):
            items = type(value)(self.mask_value(item, (*path, n)) for n, item in enumerate(value))
            return value if all(map(operator.is_, items, value)) else items
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        return MASK if is_number and self._declared.find(str(value)) else value

    def mask_note(self, note: str | None, *texts: Any) -> str | None:
        """Mask a note about some texts. It may quote single words of them, which are not recognised as part
        of a secret by themselves: of texts with a secret there is no note."""
        if note is None or any(isinstance(text, str) and self.mask(text) != text for text in texts):
            return None
        return self.mask(note)

    def knowing(self, value: Json) -> "Redactor":
        """A redactor that also masks, wherever they occur, the texts under secret-sounding names in a
        value."""
        texts = sorted(set(_values_under_secret_names(value, ())))
        secrets = {f"({n})": Secret(text) for n, text in enumerate(texts)}
        return Redactor(secrets, self._plain, self) if secrets else self

    def found_in(self, *texts: str) -> set[str]:
        """The names of the declared secrets in some texts."""
        return {name for text in texts for _, _, name in self._declared.find(text)}


def _values_under_secret_names(value: Json, path: Path) -> Iterator[str]:
    """The texts under the names of secrets, except words so common that they could occur anywhere."""
    if isinstance(value, str):
        if has_secret_name(path) and not _STAND_IN.match(value):
            yield from filter(_DISTINCTIVE.fullmatch, (value, *_SEPARATORS.split(value)))
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _values_under_secret_names(item, (*path, key))


def parse_env_file(text: str, file: str) -> dict[str, str]:
    """Parse `KEY=value` lines: comments, `export` and quotes. An invalid
    line is reported by its number but not shown: it may hold a secret."""
    values: dict[str, str] = {}
    problems = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        stripped = re.sub(r"^export\s+", "", line.strip())
        if not stripped or stripped.startswith("#"):
            continue
        key, equals, value = stripped.partition("=")
        try:
            if not equals or not NAME.fullmatch(key.strip()):
                raise ValueError("is not KEY=value")
            values[key.strip()] = _env_value(value)
        except ValueError as error:
            hint = "quote a value with blanks or a # in it: KEY='value'"
            problems.append(Problem("BK101", f"line {number} {error}", hint, Place(file, number, 1)))
    if problems:
        raise InvalidInput(*problems)
    return values


def _env_value(written: str) -> str:
    """The value; ValueError with the reason if it is invalid."""
    quoted = _QUOTED.fullmatch(written.strip())
    if quoted and quoted["raw"] is not None:
        return str(quoted["raw"])
    if quoted:
        value = quoted["text"]
    elif written.strip()[:1] in ("'", '"'):
        raise ValueError("has a quote that is not closed, or something after it")
    else:
        value = re.split(r"(?:^|\s)#", written, maxsplit=1)[0].strip() if written[:1] != "#" else written
    if match := _REFERENCE.search(value):
        raise ValueError(f"uses {match[0]}: write its value, or put it in single quotes to mean the text")
    return re.sub(r"\\(.)", lambda sign: _ESCAPES.get(sign[1], sign[0]), value) if quoted else value
