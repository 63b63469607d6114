"""What is proposed to stand for values, and whether it does: nobody is offered what refuses a value seen."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import compile_text

Write = Callable[[str, bool], str]
"""A literal text as a stored output holds it; the flag says whether a placeholder comes right after it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text to store, and why. `says_little`: it holds on to no more than a type or a length."""

    text: str
    reason: str
    says_little: bool = False


def that_accept(candidates: Iterable[Proposal], values: Sequence[Json], words: Words) -> list[Proposal]:
    """Those that accept every value, each once: the matcher itself is asked."""
    found: dict[str, Proposal] = {}
    for candidate in candidates:
        if candidate.text not in found and accepts_all(candidate.text, values, words):
            found[candidate.text] = candidate
    return list(found.values())


_NO_WORDS = Words()


def accepts_all(text: str, values: Sequence[Json], words: Words = _NO_WORDS) -> bool:
    try:
        template = compile_text(text, words)
        if isinstance(template, str):
            return all(value == template for value in values)
        return all(template.accepts(value, {}) for value in values)
    except BaselinekitError:  # what cannot be read, or takes too long, is no proposal
        return False
