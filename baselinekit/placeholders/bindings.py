"""Bindings: `<<name as key>>` is one value wherever the same key stands."""

from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import Token
from baselinekit.placeholders.kinds import same
from baselinekit.variables import as_text

Bindings = dict[str, Json]


class Piece(str):
    """A bound part of a text, of which nobody has said yet whether it is a text, a number or null."""

    __slots__ = ()


def bound(token: Token, value: Json, bindings: Bindings) -> bool:
    """Whether a value is the one that its binding already has; the first value met is the one."""
    if token.key is None:
        return True
    known = bindings.setdefault(token.key, value)
    if isinstance(known, Piece) and not isinstance(value, Piece):
        bindings[token.key] = value  # now it is known what the part of a text was
    if isinstance(known, Piece) or isinstance(value, Piece):
        return as_text(known) == as_text(value)
    return same(known, value)
