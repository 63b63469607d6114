"""Texts for people: shortened only after secrets have been masked, and counts in words."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.structs import replace

# Counts in words: `1 case`, `1,204 cases`.


def count_noun(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def list_first(texts: Sequence[str], most: int) -> str:
    """Return the first texts, and how many more there are."""
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


# The beginning of a long text, and how much is left out. The text is masked first and cut afterwards,
# as half a secret would not be recognised. A text may be cut more than once: an answer when it is stored,
# and again when it is shown. What was cut off before is counted too, so the number refers to the whole text.


_LONGEST_TORN = 400
_MAX_NOTE_LENGTH = 60
_NOTE = lazy_pattern(r" … and ([0-9]{1,3}(?:,[0-9]{3})*) more characters?\Z")


Mask = Callable[[str], str]

LONGEST_MESSAGE = 1_000


def mask_and_clip(text: str, limit: int, mask: Mask, counted: bool = True) -> str:
    """At most `limit` characters of a masked text, followed by the count of the others, or with
    `counted=False` by an ellipsis."""
    if not text:
        return text
    text, omitted = split_note(mask(text))
    left_out = omitted + max(len(text) - limit, 0)
    if counted:
        return text[:limit] + note(left_out)
    return text[:limit] + "…" if left_out else text


def no_mask(text: str) -> str:
    """A mask that changes nothing, for texts whose secrets were masked earlier or that cannot hold any:
    tests/architecture.py lists the modules that may use it."""
    return text


def shown(error: BaselinekitError, mask: Mask) -> BaselinekitError:
    """The error with the secrets in its messages masked and long messages shortened. Code that raises an
    error may quote texts as they are and leave this to the place that shows it."""
    masked = copy(error)
    clip = partial(mask_and_clip, limit=LONGEST_MESSAGE, mask=mask)
    problems = (replace(one, message=clip(one.message), hint=clip(one.hint)) for one in error.problems)
    masked.problems = masked.args = tuple(problems)
    return masked


def end_of(text: str, limit: int, mask: Mask) -> str:
    """The end of a text. If it is cut, it is masked and starts with a line, if one begins near."""
    masked = mask(text) if len(text) > limit else text
    start = len(masked) - limit
    if start <= 0:
        return masked
    line = masked.find("\n", start - 1, start + _LONGEST_TORN) + 1
    return masked[line or start :]


def split_note(text: str) -> tuple[str, int]:
    """A text without the note at its end, and the number in the note."""
    match = _NOTE.search(text, max(0, len(text) - _MAX_NOTE_LENGTH))
    return (text[: match.start()], int(match[1].replace(",", ""))) if match else (text, 0)


def note(omitted: int) -> str:
    """The note in place of the characters that are left out."""
    return f" … and {count_noun(omitted, 'more character')}" if omitted else ""
