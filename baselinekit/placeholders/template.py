"""A text with placeholders, compiled: one alone stands for a value of any type, several match parts of
a text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import Token, has_marker, split
from baselinekit.placeholders.kinds import Kind, same
from baselinekit.placeholders.patience import Patience
from baselinekit.placeholders.table import Words, kind_of
from baselinekit.variables import as_text

_OPEN_ENDED = re.compile(r"[*+]|\{\d+,\}")
_GROUP = "baselinekit_{}"
Bindings = dict[str, Json]


class Piece(str):
    """A bound part of a text, of which nobody has said yet whether it is a text or a number."""

    __slots__ = ()


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
            return True
        return self.kind.accepts(value) and bound(self.token, value, bindings)


@dataclass(frozen=True, slots=True)
class Inline:
    """Placeholders inside a text. `match` finds the candidates, one group each."""

    tokens: tuple[Token, ...]
    kinds: tuple[Kind, ...]
    match: Callable[[str], Any]
    optional: bool = False
    alone: None = None

    def accepts(self, value: Json, bindings: Bindings) -> bool:
        found = self.match(value) if isinstance(value, str) else None
        if found is None:
            return False
        for index, (token, kind) in enumerate(zip(self.tokens, self.kinds, strict=True)):
            text = found[_GROUP.format(index)]
            if text is None or (token.nullable and text == "null"):
                continue
            read = kind.read(text)
            if not kind.accepts(read):
                return False
            if not bound(token, Piece(read) if isinstance(read, str) else read, bindings):
                return False
        return True


def binds(template: str | Placeholder | Inline) -> bool:
    """Whether a binding is in it."""
    if isinstance(template, Inline):
        return any(token.key for token in template.tokens)
    return isinstance(template, Placeholder) and template.token.key is not None


def bound(token: Token, value: Json, bindings: Bindings) -> bool:
    """Whether a value is the one that its binding already has; the first value seen is the one."""
    if token.key is None:
        return True
    known = bindings.setdefault(token.key, value)
    if isinstance(known, Piece) and not isinstance(value, Piece):
        bindings[token.key] = value  # now it is known what the part of a text was
    if isinstance(known, Piece) or isinstance(value, Piece):
        return as_text(known) == as_text(value)
    return same(known, value)


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
    return Inline(tuple(tokens), tuple(kinds), _matcher(parts, kinds, words.patience))


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

        expression = compiled(pattern, longest=None)
        return lambda text: full_match(expression, text, patience)
    return re.compile(pattern).fullmatch
