"""Texts for people: shortened only behind the mask that hides secrets, and counts as they are said."""

from collections.abc import Callable
from dataclasses import replace

from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern

# How many of something, as it is said: `1 case`, `1,204 cases`.


def many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


# The beginning of a long text, and how much of it that leaves out. It is masked first and cut
# afterwards: half a secret is found by nobody. A text may be cut more than once: an answer where it is
# kept, and what was kept where it is shown. What was cut off before counts as well, so that the number
# is that of the whole text.


_LONGEST_NUMBER = 40
_STEP = 400
_LONGEST_NOTE = 60
_NOTE = lazy_pattern(r" … and ([0-9]{1,3}(?:,[0-9]{3})*) more characters?\Z")


Mask = Callable[[str], str]

LONGEST_MESSAGE = 1_000


def clipped(text: str, limit: int, mask: Mask, counted: bool = True) -> str:
    """At most so many characters of a text without its secrets, and a count of the others, or where there is
    no room for that a mark."""
    if not text:
        return text
    text, gone = whole(mask(text))
    end = end_at(text, limit)
    left_out = gone + len(text) - end
    if counted:
        return text[:end] + note(left_out)
    return text[:end] + "…" if left_out else text


def already_masked(text: str) -> str:
    """For a text in which the secrets have been masked where it was taken in, or into which none can come:
    the law has a list of the modules that may say so."""
    return text


def shown(error: BaselinekitError, mask: Mask) -> BaselinekitError:
    """The error without the secrets that its messages have picked up on their way, and none of them longer
    than anybody reads. What raises an error quotes as it is, and leaves the rest to this."""
    problems = (
        replace(
            problem,
            message=clipped(problem.message, LONGEST_MESSAGE, mask),
            hint=clipped(problem.hint, LONGEST_MESSAGE, mask),
        )
        for problem in error.problems
    )
    kind = type(error)
    hidden = kind.__new__(kind)
    hidden.__dict__.update(error.__dict__)
    BaselinekitError.__init__(hidden, *problems)  # whatever else the error of its kind is made of stays
    return hidden


def beginning_of(text: str, limit: int, mask: Mask) -> str:
    """So much of a text that was cut off behind its limit, as it is: cut where no secret is torn, so that it
    reads without its secrets as the whole does."""
    hidden, end = mask(text), min(limit, len(text))
    while end > 0 and not hidden.startswith(mask(text[:end])):
        end = max(end - _STEP, text.rfind(" ", 0, end), text.rfind("\n", 0, end))
    return text[: max(0, end)]


def end_of(text: str, limit: int, mask: Mask) -> str:
    """So much of the end of a text whose beginning was cut off, as it is: it begins where no secret is torn,
    with a line or at least a word."""
    if len(text) <= limit:
        return text
    first = len(text) - limit
    hidden, start = mask(text), _next(text, first - 1, first)
    while start < len(text) and not hidden.endswith(mask(text[start:])):
        start = _next(text, start, start + _STEP)
    return text[start:]


def _next(text: str, place: int, otherwise: int) -> int:
    """Where the next line begins, or the next word, if that is not far."""
    ends = (text.find(end, place, place + _STEP) for end in ("\n", " "))
    return next((end + 1 for end in ends if end >= 0), min(len(text), otherwise))


def whole(text: str) -> tuple[str, int]:
    """A text without the note at its end, and the number that stands there."""
    found = _NOTE.search(text, max(0, len(text) - _LONGEST_NOTE))
    return (text[: found.start()], int(found[1].replace(",", ""))) if found else (text, 0)


def note(gone: int) -> str:
    """What is said where so many characters are left out."""
    return f" … and {many(gone, 'more character')}" if gone else ""


def end_at(text: str, limit: int) -> int:
    """Where to cut a text. Half a number is another number, so it goes as a whole."""
    if len(text) <= limit:
        return len(text)
    for end in range(limit, max(0, limit - _LONGEST_NUMBER), -1):
        if not (text[end - 1].isdigit() and text[end].isdigit()):
            return end
    return limit
