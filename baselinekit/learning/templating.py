"""An output as it is stored: texts that look like placeholders are escaped, declared values named, secrets
found."""

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import islice

from baselinekit.errors import InvalidInput, Problem
from baselinekit.kinds.kind import RecipeKind
from baselinekit.model.baselines import ArrayMode, Rules
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import Token, describes_many, escape, split
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, compile_text
from baselinekit.secrets.declared import KnownValues, with_variables
from baselinekit.secrets.finding import BY_NAME, likeness
from baselinekit.secrets.variables import MASK, Redactor, Scope, names_in
from baselinekit.values.paths import find, parse, render
from baselinekit.values.places import children, places, with_texts

DECLARED = "the secret"
IN_A_NAME = ", in its name"
_SHORTEST_VALUE = 8
VARIABLE = "var"


class OutputTemplater:
    """Writes `<<var(name)>>` where the value of a declared variable, or a secret, occurs in a text. Short
    values are left alone: they occur by chance."""

    def __init__(self, scope: Scope):
        texts = ((name, value) for name, value in scope.values.items() if isinstance(value, str))
        values = {name: value for name, value in texts if len(value) >= _SHORTEST_VALUE}
        secrets = {name: secret.value for name, secret in scope.secrets.items()}
        self._scope = scope
        self._declared = KnownValues(values, secrets)
        self._used: set[str] = set()

    def template(self, value: Json) -> Json:
        """Return the value with its texts as they are stored; the value itself if nothing changes."""
        templated = with_texts(value, self.text)
        return value if templated == value else templated

    def expanded(self, text: str) -> str | None:
        """Return the text that a stored text means. None if it holds a placeholder other than variables,
        or nothing but variables."""
        try:
            parts = split(text)
        except InvalidInput:
            return None
        tokens = [part for part in parts if isinstance(part, Token)]
        if len(tokens) == len(parts) or any(token.name != VARIABLE for token in tokens):
            return None
        values = {token.text: self._scope.declared(str(token.args[0])) for token in tokens}
        if not all(isinstance(value, str) for value in values.values()):
            return None
        return "".join(str(values[part.text]) if isinstance(part, Token) else part for part in parts)

    def notes(self) -> list[str]:
        return [f"the value of {name} is stored as <<var({name})>>" for name in sorted(self._used)]

    def text(self, text: str, followed: bool = False) -> str:
        """Return a text as it is stored. `followed`: a placeholder comes right after it."""
        found = self._declared.find(text)
        self._used.update(name for *_, name in found)
        return with_spans(text, [(start, end, f"<<var({name})>>") for start, end, name in found], followed)


def with_declared_names(resolved: Json, masked: Json, scope: Scope) -> Json:
    """Return a new output with `<<var(name)>>` in each text that a mask would change: what is declared has a
    name, and can be approved by it. `masked`: the same output with its secrets masked."""
    templater = OutputTemplater(scope)

    def named(value: Json, hidden: Json, path: Path) -> Json:
        return with_literals(value, templater.text) if isinstance(value, str) else value

    return with_masked_parts(resolved, masked, named)


def with_masked_parts(
    value: Json, masked: Json, change: Callable[[Json, Json, Path], Json], path: Path = ()
) -> Json:
    """Return a value with what `change` returns for each part that a mask has changed: it gets that part, the
    masked one, and their path."""
    if value is masked:
        return value
    if isinstance(value, list):
        pairs = enumerate(zip(value, masked, strict=True))
        return [with_masked_parts(*pair, change, (*path, number)) for number, pair in pairs]
    if isinstance(value, dict) and value.keys() == masked.keys():
        return {key: with_masked_parts(one, masked[key], change, (*path, key)) for key, one in value.items()}
    return change(value, masked, path)


def single_element_arrays(output: Json) -> Iterator[Path]:
    """Yield the arrays of one element with a placeholder: stored, they describe arrays of any length."""
    for path, value in places(output):
        if isinstance(value, list) and len(value) == 1 and describes_many(value[0]):
            yield path


def arrays_to_order(rules: Rules, known: Iterable[Path], output: Json) -> dict[str, ArrayMode]:
    """Return the arrays of one element that hold a placeholder only now, and are not among the `known` ones.
    No one has decided that the element describes arrays of any length, so they are compared element by
    element."""
    if rules.type == "exact":
        return {}
    excluded = {*known, *(path for text in rules.arrays for path, _ in find(parse(text), output))}
    return {render(path) or "$": "ordered" for path in single_element_arrays(output) if path not in excluded}


def with_names(value: Json, scope: Scope) -> Json:
    """Return a recipe with `{{name}}` wherever the value of a secret was typed."""
    secrets = {name: secret.value for name, secret in scope.secrets.items()}
    return with_variables(value, KnownValues({}, secrets)) if secrets else value


def secrets_in(
    value: Json, redactor: Redactor, path: Path = (), lookalikes: bool = True
) -> Iterator[tuple[Path, str]]:
    """Yield the places where a recipe or an output holds a secret: a declared one, also encoded, or with
    `lookalikes` what looks like one. Placeholders and variables are not secrets."""
    for key, child in children(value):
        at = (*path, key)
        if isinstance(key, str) and (secret := _describe_secret(key, redactor, (), lookalikes)):
            yield at, f"{secret}{IN_A_NAME}"
        yield from secrets_in(child, redactor, at, lookalikes)
    is_text = isinstance(value, str | int | float | Decimal) and not isinstance(value, bool)
    if is_text and (secret := _describe_secret(value, redactor, path, lookalikes)):
        yield path, secret


def _describe_secret(value: Json, redactor: Redactor, path: Path, lookalikes: bool) -> str | None:
    names = redactor.found_in(str(value))
    if names:
        return f"{DECLARED} {', '.join(sorted(names))}"
    if not isinstance(value, str) or not lookalikes:
        return None
    literals = _literal_parts(value)
    is_whole = literals == [value] and not any(names_in(value))
    likenesses = (likeness(text, path) for text in literals)
    return next((reason for reason in likenesses if reason and (reason != BY_NAME or is_whole)), None)


def _literal_parts(text: str) -> list[str]:
    """Return the parts of a text that are not placeholders."""
    try:
        return [part for part in split(text) if isinstance(part, str)]
    except InvalidInput:
        return [text]


# Where a placeholder goes that the operator names by a path: in place of a value, or of a part of a text.

_MOST_ENDS = 100
"""How many ends are tried for each begin, so that a long page takes no quadratic time."""


def places_of(output: Json, text: str, kind: RecipeKind) -> list[Path]:
    """Return the places of an output to which a path leads."""
    pattern = parse(text)
    start = kind.starts(pattern, output)
    if len(start) > 1:
        message = f"{text!r} is both in the {kind.noun} and in its {kind.answer}"
        raise InvalidInput(Problem("BK204", message, f"write {kind.answer}.{text} or $.{text}"))
    part = output[kind.answer] if start == [(kind.answer,)] else output
    return [(*start[0], *path) for path, _ in find(pattern, part)] if start else []


def placed(value: Json, placeholder: str, words: PlaceholderContext) -> str | None:
    """Return what to store in place of a stored value: the placeholder if it accepts the whole value, or the
    text with the placeholder in place of the parts that it accepts; None if it accepts neither."""
    template = compile_text(placeholder, words)
    parts = split(value) if isinstance(value, str) else [value]
    if value == placeholder or (len(parts) == 1 and _accepts(template, parts[0], placeholder)):
        return placeholder
    if not isinstance(value, str) or not isinstance(template, Inline):
        return None
    spans = {part: [*_spans(part, template, placeholder)] for part in parts if isinstance(part, str)}
    if not any(spans.values()):
        return None
    return with_literals(value, lambda part, followed: with_spans(part, spans[part], followed))


def with_spans(text: str, spans: Iterable[tuple[int, int, str]], followed: bool = False) -> str:
    """Escape a text for a stored output, with placeholders in place of some spans of it, in their order."""
    result, position = "", 0
    for start, end, placeholder in spans:
        result += escape(text[position:start], followed=True) + placeholder
        position = end
    return result + escape(text[position:], followed)


def with_literals(text: str, write: Callable[[str, bool], str]) -> str:
    """Return a stored text with each of its literal parts as `write` returns it; the flag is whether a
    placeholder comes right after the part."""
    parts = split(text)
    return "".join(
        part.text if isinstance(part, Token) else write(part, number < len(parts))
        for number, part in enumerate(parts, 1)
    )


def _accepts(template: str | Placeholder | Inline, value: Json, placeholder: str) -> bool:
    """Whether a value is accepted. What a mask or another placeholder hides is not known: any may stand for
    it."""
    if isinstance(template, str) or isinstance(value, Token):
        return isinstance(value, Token)
    hidden = "".join(part if isinstance(part, str) else MASK for part in split(placeholder))
    return value == hidden or template.accepts(value, {})


def _spans(text: str, template: Inline, placeholder: str) -> Iterator[tuple[int, int, str]]:
    """Yield the parts of a text that a template accepts, each as short as possible. Without words before the
    first placeholder, or after the last one, a part begins or ends with a line."""
    first, last = template.parts[0], template.parts[-1]
    before = re.escape(first) if isinstance(first, str) else "(?m:^)"
    after = re.compile(re.escape(last) if isinstance(last, str) else "(?m:$)")
    position = 0
    for match in re.finditer(before, text):
        start = match.start()
        ends = (end.end() for end in islice(after.finditer(text, match.end()), _MOST_ENDS))
        end = next((end for end in ends if _accepts(template, text[start:end], placeholder)), 0)
        if start >= position and end > start:
            yield start, end, placeholder
            position = end
