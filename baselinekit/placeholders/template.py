"""A text with placeholders, compiled: one alone stands for a value of any type, several match parts of
a text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json
from baselinekit.placeholders.bindings import Bindings as Bindings, bound
from baselinekit.placeholders.grammar import Token, has_marker, split
from baselinekit.placeholders.kinds import Kind
from baselinekit.placeholders.patience import Patience
from baselinekit.placeholders.splitting import Part, Slot, split_by
from baselinekit.placeholders.table import Words, kind_of

_OPEN_ENDED = re.compile(r"[*+]|\{[0-9]+,\}")
_GROUP = "baselinekit_{}"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder alone: it stands for a value of any type."""

    token: Token
    kind: Kind

    @property
    def optional(self) -> bool:
        return self.token.optional

    @property
    def alone(self) -> Callable[[Json], bool] | None:
        """The whole test, where neither a binding nor a null has a say in it."""
        return None if self.token.key or self.token.nullable else self.kind.accepts

    def accepts(self, value: Json, bindings: Bindings) -> bool:
        if value is None and self.token.nullable:
            return bound(self.token, None, bindings)
        return self.kind.accepts(value) and bound(self.token, value, bindings)


@dataclass(frozen=True, slots=True)
class Inline:
    """Placeholders inside a text. `match` finds one candidate, a group for each placeholder: where there is
    none, no split can be right. One that is refused is not the only one if there are several placeholders."""

    tokens: tuple[Token, ...]
    parts: tuple[Part, ...]
    match: Callable[[str], Any]
    patience: Patience
    optional: bool = False
    alone: None = None

    def accepts(self, value: Json, bindings: Bindings) -> bool:
        found = self.match(value) if isinstance(value, str) else None
        if found is None or not isinstance(value, str):
            return False
        slots = [part for part in self.parts if isinstance(part, Slot)]
        after: Bindings | None = dict(bindings)
        for index, slot in enumerate(slots):
            if after is not None and not slot.read(found[_GROUP.format(index)], after):
                after = None
        if after is None and len(slots) > 1:
            after = split_by(self.parts, value, bindings, self.patience)
        if after is not None:
            bindings.update(after)
        return after is not None


def binds(template: str | Placeholder | Inline) -> bool:
    """Whether a binding is in it."""
    if isinstance(template, Inline):
        return any(token.key for token in template.tokens)
    return isinstance(template, Placeholder) and template.token.key is not None


def compile_text(text: str, words: Words) -> str | Placeholder | Inline:
    """The text itself (escapes undone), or what it stands for."""
    if not has_marker(text):
        return text
    parts = split(text)
    if len(parts) == 1:
        only = parts[0]
        return only if isinstance(only, str) else Placeholder(only, kind_of(only, words))
    tokens = [part for part in parts if isinstance(part, Token)]
    kinds = [kind_of(token, words) for token in tokens]
    for token, kind in zip(tokens, kinds, strict=True):
        if kind.inline is None:
            raise InvalidInput(
                Problem(
                    "BK216", f"the placeholder {token.text} cannot stand inside a text", "let it stand alone"
                )
            )
    slots = iter([Slot(token, kind) for token, kind in zip(tokens, kinds, strict=True)])
    made = tuple(part if isinstance(part, str) else next(slots) for part in parts)
    return Inline(tuple(tokens), made, _matcher(parts, kinds, words.patience), words.patience)


def _matcher(parts: list[str | Token], kinds: list[Kind], patience: Patience) -> Callable[[str], Any]:
    pattern = ""
    index = 0
    for part in parts:
        if isinstance(part, str):
            pattern += re.escape(part)
            continue
        alternatives = f"{kinds[index].inline}{'|null' if part.nullable else ''}"
        pattern += f"(?P<{_GROUP.format(index)}>{alternatives}){'?' if part.optional else ''}"
        index += 1
    # Several open ends can backtrack against each other, so they get the time limit as well.
    if any(kind.timed for kind in kinds) or sum(len(_OPEN_ENDED.findall(k.inline or "")) for k in kinds) > 1:
        from baselinekit.placeholders.pattern import compiled, full_match

        expression = compiled(pattern, longest=None, flags=())
        return lambda text: full_match(expression, text, patience)
    return re.compile(pattern).fullmatch
