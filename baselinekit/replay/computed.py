"""Computed values of a flow: what no path says, such as a count, a part of a text or a sum. jsonpath-ng
evaluates them (``$.body.items.`len` ``, ``$.body.price * 2``), where `save` and `collect` take a value out of
an answer. No rule of a comparison is read here: what those select must not change with the version that is
installed."""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from operator import add
from typing import Any

from baselinekit.errors import InvalidInput, Problem, cannot
from baselinekit.model.values import Json
from baselinekit.texts import already_masked, clipped

_LONGEST = 200
_LONGEST_TEXT = 1_000_000
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_FUNCTION = re.compile(r"`([^`]*)`")
_KNOWN = re.compile(r"len|keys|sorted|str\(\)|split\([^`]*\)")
_ARITHMETIC = re.compile(r"\s[-+*]\s")
_MEND = "`len`, `keys`, `sorted`, `str()`, `split(-, 0, 1)` and + - * with blanks around them are known"


def is_computed(text: str) -> bool:
    """Whether a text that is no path is meant to calculate."""
    return text.startswith("$") and ("`" in text or bool(_ARITHMETIC.search(_QUOTED.sub("", text))))


def proven(text: str) -> None:
    """InvalidInput, unless the expression can be evaluated."""
    _read(text)


def compute(text: str, output: Json, step: str) -> Json:
    """The one value of an expression over a step's output."""
    expression = _read(text)
    try:
        found = [each.value for each in expression.find(output)]
    except Exception as error:  # of the library, over whatever came back: of many types
        why = (
            clipped(str(error), _LONGEST, already_masked)
            if isinstance(error, _Unfit)
            else "the values have other types"
        )
        raise cannot("BK313", f"{step}: {text!r} cannot be computed: {why}") from None
    if len(found) != 1:
        what = f"{step}: {text!r} gives {len(found)} values in its output, but exactly one is needed"
        raise cannot("BK313", what, "look at the output; select one value before computing")
    value: Json = found[0]
    if isinstance(value, float) and not math.isfinite(value):
        raise cannot("BK313", f"{step}: {text!r} gives {value}, which is not a JSON number")
    return value


class _Unfit(ValueError):
    """Operands that arithmetic does not take."""


@lru_cache(maxsize=256)
def _read(text: str) -> Any:
    why = _flaw(text)
    if why:
        raise _bad(text, why)
    from jsonpath_ng.ext.parser import parse

    try:
        expression = parse(text)
    except Exception:  # its lexer, its parser and its functions raise types of their own
        raise _bad(text, "cannot be read") from None
    _bound(expression)
    return expression


def _flaw(text: str) -> str:
    if len(text) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    if text.count("..") > 1:
        return "has more than one `..`"
    if "=~" in text:
        return "has a regular expression, which could take for ever"
    unknown = [name for name in _FUNCTION.findall(text) if not _KNOWN.fullmatch(name)]
    return f"has the function `{unknown[0]}`, which is not known" if unknown else ""


def _bad(text: str, why: str) -> InvalidInput:
    return InvalidInput(
        Problem("BK201", f"the expression {clipped(text, 80, already_masked, counted=False)!r} {why}", _MEND)
    )


def _bound(node: Any) -> None:
    """Let arithmetic take numbers, and `+` texts as well: a text times a number would fill the memory."""
    if hasattr(node, "op_symbol"):
        node.op = _checked(node.op)
    for side in ("left", "right", "child"):
        if hasattr(node, side):
            _bound(getattr(node, side))


def _checked(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def checked(left: Any, right: Any) -> Any:
        if isinstance(left, str) and isinstance(right, str) and operate is add:
            if len(left) + len(right) > _LONGEST_TEXT:
                raise _Unfit("the text is too long")
        elif not all(isinstance(one, int | float) and not isinstance(one, bool) for one in (left, right)):
            raise _Unfit("it takes numbers, or two strings for +")
        try:
            return operate(left, right)
        except ArithmeticError as error:
            raise _Unfit(str(error)) from None

    return checked
