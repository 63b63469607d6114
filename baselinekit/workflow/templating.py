"""What came back, as a stored output: texts that look like placeholders escaped, declared values named."""

import re
from collections.abc import Iterator
from decimal import Decimal

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json, Path
from baselinekit.paths import children
from baselinekit.placeholders.grammar import describes_many, escape, has_marker, split
from baselinekit.secretlike.finding import BY_NAME, likeness
from baselinekit.variables import Redactor, Scope, names_in

DECLARED = "the secret"
IN_A_NAME = ", in its name"
_SHORTEST_VALUE = 8


class Templating:
    """Writes `<<var(name)>>` where the value of a declared variable, or a secret, occurs in a text. Short
    values are left alone: they occur by chance."""

    def __init__(self, scope: Scope):
        named = {
            value: name
            for name, value in scope.values.items()
            if isinstance(value, str) and len(value) >= _SHORTEST_VALUE
        }
        named |= {secret.value: name for name, secret in scope.secrets.items() if secret.value}
        self._names = named
        longest_first = sorted(named, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if named else None
        self._used: set[str] = set()

    def template(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.template(item) for item in value]
        if isinstance(value, dict):
            return {key: self.template(item) for key, item in value.items()}
        return value

    def notes(self) -> list[str]:
        return [f"the value of {name} is stored as <<var({name})>>" for name in sorted(self._used)]

    def text(self, text: str, followed: bool = False) -> str:
        """`followed`: a placeholder comes right after it."""
        if self._pattern is None or not self._pattern.search(text):
            return escape(text, followed)
        result, position = "", 0
        for match in self._pattern.finditer(text):
            before = escape(text[position : match.start()], followed=True)
            name = self._names[match[0]]
            self._used.add(name)
            result += f"{before}<<var({name})>>"
            position = match.end()
        return result + escape(text[position:], followed)


def arrays_of_one(output: Json, path: Path = ()) -> Iterator[Path]:
    """Arrays of one element that holds a placeholder: on file they would describe arrays of any length."""
    if isinstance(output, list) and len(output) == 1 and describes_many(output[0]):
        yield path
    for key, child in children(output):
        yield from arrays_of_one(child, (*path, key))


def with_names(value: Json, scope: Scope) -> Json:
    """A recipe with `{{name}}` wherever the value of a secret was typed."""
    named = {secret.value: name for name, secret in scope.secrets.items() if secret.value}
    if not named:
        return value
    typed = re.compile("|".join(map(re.escape, sorted(named, key=len, reverse=True))))
    return _with_names(value, typed, named)


def _with_names(value: Json, typed: re.Pattern[str], named: dict[str, str]) -> Json:
    if isinstance(value, str):
        return typed.sub(lambda match: f"{{{{{named[match[0]]}}}}}", value)
    if isinstance(value, list):
        return [_with_names(item, typed, named) for item in value]
    if isinstance(value, dict):
        return {key: _with_names(item, typed, named) for key, item in value.items()}
    return value


def secrets_in(
    value: Json, redactor: Redactor, path: Path = (), lookalikes: bool = True
) -> Iterator[tuple[Path, str]]:
    """Where a recipe or an output would give something away if it were stored: a declared secret in any
    spelling, or with `lookalikes` what looks like a secret. Placeholders and variables give nothing away."""
    if isinstance(value, str | int | float | Decimal) and not isinstance(value, bool):
        what = _given_away(value, redactor, path, lookalikes)
        if what is not None:
            yield path, what
    for key, child in children(value):
        if isinstance(key, str) and (what := _given_away(key, redactor, (), lookalikes)) is not None:
            yield (*path, key), f"{what}{IN_A_NAME}"
        yield from secrets_in(child, redactor, (*path, key), lookalikes)


def _given_away(value: Json, redactor: Redactor, path: Path, lookalikes: bool) -> str | None:
    names = redactor.found_in(str(value))
    if names:
        return f"{DECLARED} {', '.join(sorted(names))}"
    if not isinstance(value, str) or not lookalikes:
        return None
    literals = _literals(value)
    is_whole = literals == [value] and not any(names_in(value))
    found = (likeness(text, path) for text in literals)
    return next((what for what in found if what and (what != BY_NAME or is_whole)), None)


def _literals(text: str) -> list[str]:
    """What stands in a text beside its placeholders."""
    if not has_marker(text):
        return [text]
    try:
        return [part for part in split(text) if isinstance(part, str)]
    except InvalidInput:
        return [text]
