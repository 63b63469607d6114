"""What came back, as a stored output: texts that look like placeholders escaped, declared values named."""

import re
from collections.abc import Iterator

from baselinekit.model.values import Json, Path
from baselinekit.paths import children
from baselinekit.placeholders.grammar import describes_many, escape, has_marker
from baselinekit.variables import Redactor, Scope, is_secret_header, is_secret_key, secret_shape

_SHORTEST_VALUE = 8
_TOLD_APART = re.compile(r"(?i)^<<[\s\S]*>>$")


class Templating:
    """Writes `<<var(name)>>` where the value of a declared variable, or a secret, occurs in a text. Short
    values are left alone: they occur by chance."""

    def __init__(self, scope: Scope):
        named = {
            value: name
            for name, value in scope.values.items()
            if isinstance(value, str) and len(value) >= _SHORTEST_VALUE
        }
        named |= {secret.value: name for name, secret in scope.secrets.items()}
        self._names = named
        longest_first = sorted(named, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if named else None
        self._used: set[str] = set()

    def template(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self.template(item) for item in value]
        if isinstance(value, dict):
            return {key: self.template(item) for key, item in value.items()}
        return value

    def notes(self) -> list[str]:
        return [f"the value of {name} is stored as <<var({name})>>" for name in sorted(self._used)]

    def _text(self, text: str) -> str:
        if self._pattern is None or not self._pattern.search(text):
            return escape(text)
        result, position = "", 0
        for match in self._pattern.finditer(text):
            before = escape(text[position : match.start()], followed=True)
            name = self._names[match[0]]
            self._used.add(name)
            result += f"{before}<<var({name})>>"
            position = match.end()
        return result + escape(text[position:])


def arrays_of_one(output: Json, path: Path = ()) -> Iterator[Path]:
    """Arrays of one element that holds a placeholder: on file they would describe arrays of any length."""
    if isinstance(output, list) and len(output) == 1 and describes_many(output[0]):
        yield path
    for key, child in children(output):
        yield from arrays_of_one(child, (*path, key))


def with_names(value: Json, scope: Scope) -> Json:
    """A recipe with `{{name}}` wherever the value of a secret was typed."""
    if isinstance(value, str):
        for name, secret in scope.secrets.items():
            value = value.replace(secret.value, f"{{{{{name}}}}}")
        return value
    if isinstance(value, list):
        return [with_names(item, scope) for item in value]
    if isinstance(value, dict):
        return {key: with_names(item, scope) for key, item in value.items()}
    return value


def secrets_in(output: Json, redactor: Redactor, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Where a stored output would give something away: a declared secret in any spelling, or a text that
    looks like a secret. A placeholder gives nothing away."""
    if isinstance(output, str):
        names = redactor.found_in(output)
        stands = _TOLD_APART.match(output) and has_marker(output)
        if names:
            yield path, f"the secret {', '.join(sorted(names))}"
        elif not stands and (shape := secret_shape(output)):
            yield path, f"what looks like {shape}"
        elif not stands and len(output) >= _SHORTEST_VALUE and _says_secret(path):
            yield path, "what its name says is a secret"
    for key, child in children(output):
        yield from secrets_in(child, redactor, (*path, key))


def _says_secret(path: Path) -> bool:
    """Whether the key, or the header, is called like a secret."""
    if not path or not isinstance(path[-1], str):
        return False
    return is_secret_key(path[-1]) or (path[-2:-1] == ("headers",) and is_secret_header(path[-1]))
