"""promptfoo's templates: names filled in by jinja2, and printed as JavaScript prints them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, nodes
from jinja2.sandbox import SandboxedEnvironment

from baselinekit.files.jsontext import tight_json
from baselinekit.importers.drafts import NotCarried
from baselinekit.model.values import Json
from baselinekit.values.places import with_texts

_PLAIN_NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const),
    *(nodes.Getattr, nodes.Getitem, nodes.Filter),
)
"""What a template may consist of: loops and conditions mean something else in Python than in JavaScript."""

_MOST_CHARACTERS = 1_000_000
_DEEPEST = 5
_LARGEST_PLAIN = 1e21
"""From here on JavaScript prints a number with an exponent."""


def printed(value: Any) -> str:
    """The text of a value as JavaScript has it; an object or a list is written as JSON."""
    if value is None:
        return ""
    if isinstance(value, float):
        return str(_as_in_javascript(value))
    return tight_json(_as_in_javascript(value)) if isinstance(value, bool | dict | list) else str(value)


def _as_in_javascript(value: Json) -> Json:
    """The value with whole numbers without a decimal point."""
    if isinstance(value, dict):
        return {key: _as_in_javascript(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_in_javascript(item) for item in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN
    return int(value) if is_whole else value


class _Environment(SandboxedEnvironment):
    """A template sees the values of the test and nothing else, no method of theirs either."""

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, StrictUndefined):
            return obj
        try:
            if argument == "length" and isinstance(obj, str | list):
                return len(obj)
            key = int(argument) if isinstance(obj, str | list) else argument
            return obj[key] if isinstance(obj, str | list | dict) else self.undefined(obj=obj, name=argument)
        except (LookupError, TypeError, ValueError):
            return self.undefined(obj=obj, name=argument)

    getattr = getitem  # type: ignore[assignment]


def _environment(newline: Any) -> _Environment:
    environment = _Environment(
        undefined=StrictUndefined, finalize=printed, keep_trailing_newline=True, newline_sequence=newline
    )
    environment.globals.clear()
    environment.filters = {
        "upper": lambda value: printed(value).upper(),
        "lower": lambda value: printed(value).lower(),
        "trim": lambda value: printed(value).strip(),
        **dict.fromkeys(("safe", "string"), printed),
        **dict.fromkeys(("dump", "tojson"), lambda value, indent=0: tight_json(_as_in_javascript(value))),
    }
    return environment


@lru_cache(maxsize=1_000)
def _compiled(text: str) -> Template:
    environment = _environment("\r\n" if "\r\n" in text else "\n")
    for node in environment.parse(text).find_all(nodes.Node):
        if not isinstance(node, _PLAIN_NODES):
            raise TemplateError(
                f"logic ({type(node).__name__.lower()}): only names and filters are filled in"
            )
    return environment.from_string(text)


def render(text: str, values: Mapping[str, Json], where: str) -> str:
    """The text of a template. NotCarried, which says `where` it is, for one that has more than names, or
    names without a value."""
    if not any(mark in text for mark in ("{{", "{%", "{#")):
        return text
    parts, size = [], 0
    try:
        for part in _compiled(text).generate(values):
            parts.append(part)
            size += len(part)
            if size > _MOST_CHARACTERS:
                raise TemplateError(f"a text of more than {_MOST_CHARACTERS:,} characters")
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise NotCarried(f"{where}: {error}", "write the text without it, or give the name a value") from None
    return "".join(parts)


def filled(values: Mapping[str, Json]) -> Mapping[str, Json]:
    """The values of a test, with those filled in that they name, a few levels deep."""
    for _ in range(_DEEPEST):
        before = values
        values = {
            name: with_texts(value, lambda text: render(text, before, f"the value of {name!r}"))  # noqa: B023
            for name, value in before.items()
        }
        if values == before:
            break
    return values
