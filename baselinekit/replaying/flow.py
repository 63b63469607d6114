"""Values out of the answers of a flow: what a step saves for the next, what the flow collects, and what is
computed of them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from operator import add
from typing import Any

from baselinekit.errors import CannotReplay, InvalidInput, Problem, cannot, nearest
from baselinekit.kinds.http import HttpFlow, split_step, step_names
from baselinekit.kinds.kind import INPUT
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.replaying.settings import invalid
from baselinekit.texts import already_masked, clipped
from baselinekit.tree.paths import Pattern, find, parse, roots, suggest

# Computed values of a flow: what no path says, such as a count, a part of a text or a sum. jsonpath-ng
# evaluates them (``$.body.items.`len` ``, ``$.body.price * 2``), where `save` and `collect` take a value
# out of an answer. No rule of a comparison is read here: what those select must not change with the
# version that is installed.

_LONGEST = 200
_LONGEST_TEXT = 1_000_000
_QUOTED = lazy_pattern(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_FUNCTION = lazy_pattern(r"`([^`]*)`")
_KNOWN = lazy_pattern(r"len|keys|sorted|str\(\)|split\([^`]*\)")
_ARITHMETIC = lazy_pattern(r"\s[-+*]\s")
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
    unknown = [name for name in _FUNCTION.findall(text) if not _KNOWN.fullmatch(name)]
    flaws = {
        f"is longer than {_LONGEST} characters": len(text) > _LONGEST,
        "has more than one `..`": text.count("..") > 1,
        "has a regular expression, which could take for ever": "=~" in text,
        f"has the function `{''.join(unknown[:1])}`, which is not known": bool(unknown),
    }
    if why := next((why for why, is_there in flaws.items() if is_there), ""):
        raise _bad(text, why)
    from jsonpath_ng.ext.parser import parse

    try:
        expression = parse(text)
    except Exception:  # its lexer, its parser and its functions raise types of their own
        raise _bad(text, "cannot be read") from None
    _bound(expression)
    return expression


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


def pick(text: str, output: Json, step: str, at: Path, whole: Json = None) -> Json:
    """The value that a path leads to in a step's output: from `$`, or from whichever of the whole output and
    its body has it. A path with wildcards that leads to several values gives a list of them. Or the
    value that an expression computes of the whole output. `whole`: the output with every header of the
    answer, in small letters: what is not in the one is looked for in the other."""
    if _is_computed(text):
        return compute(text, output if whole is None else whole, step)
    pattern = parse(text)
    values = values_at(pattern, output, at)
    if not values and whole is not None:
        values = values_at(in_small_letters(pattern), whole, at)
    if not values:
        body = output["body"]
        keys = ", ".join(list(body)[:10]) if isinstance(body, dict) else ""
        near = suggest(pattern, output if whole is None else whole) or suggest(pattern, body)
        hint = near or (f"its body has {keys}" if keys else f"its status was {output['status']}")
        raise CannotReplay(Problem("BK313", f"{step}: nothing at {text!r} in its output", hint, at=at))
    return values[0] if len(values) == 1 else values


def values_at(pattern: Pattern, output: Json, at: Path) -> list[Json]:
    starts = roots(pattern, output)
    if len(starts) > 1:
        hint = f"write $.{pattern.text} or body.{pattern.text}"
        raise invalid("BK312", f"{pattern.text!r} is both in the whole output and in its body", hint, at)
    return [value for start in starts for _, value in find(pattern, output["body"] if start else output)]


def in_small_letters(pattern: Pattern) -> Pattern:
    """A path to a header, whose name ignores case."""
    first, *rest = pattern.segments
    if first != "headers" or not rest or not isinstance(rest[0], str):
        return pattern
    return replace(pattern, segments=(first, rest[0].lower(), *rest[1:]))


def headers_used(flow: HttpFlow) -> dict[int, set[str]]:
    """Of each step the headers that the flow takes out of its answer, in small letters."""
    names, used = step_names(flow), dict[int, set[str]]()
    taken = [(index, path) for index, step in enumerate(flow.steps) for path in step.save.values()]
    if isinstance(flow.collect, dict):
        parts = [split_step(text, names) for text in flow.collect.values()]
        taken += [(names[name], path) for name, path in parts if path and name in names]
    for index, path in taken:
        if not _is_computed(path):
            first, *rest = parse(path).segments
            if first == "headers" and rest and isinstance(rest[0], str):
                used.setdefault(index, set()).add(rest[0].lower())
    return used


def _is_computed(text: str) -> bool:
    """Whether it is no path, and calculates. What can be read as a path is one."""
    try:
        parse(text)
    except InvalidInput:
        return is_computed(text)
    return False


def collect_outputs(flow: HttpFlow, outputs: list[Json], wholes: list[Json]) -> Json:
    """What is compared: the last output, or what `collect` names."""
    if flow.collect is None:
        return outputs[-1]
    names = step_names(flow)
    if isinstance(flow.collect, list):
        return {name: outputs[names[name]] for name in flow.collect}
    values = {}
    for key, text in flow.collect.items():
        name, path = split_step(text, names)
        output, whole = outputs[names[name]], wholes[names[name]]
        values[key] = pick(path, output, f"step {name}", (*INPUT, "collect", key), whole) if path else output
    return values


def problems_of_flow(flow: HttpFlow) -> Iterator[Problem]:
    """Steps that `collect` names and that do not exist, paths that are none, and a flow without steps."""
    names = step_names(flow)
    at: Path = (*INPUT, "collect")
    if isinstance(flow.collect, dict):
        wanted = [((*at, key), *split_step(text, names)) for key, text in flow.collect.items()]
    else:
        wanted = [((*at, index), name, "") for index, name in enumerate(flow.collect or [])]
    for where, name, path in wanted:
        if name not in names:
            hint = nearest(name, names) or f"there are {', '.join(names)}"
            yield Problem("BK312", f"no step is called {name!r}", hint, at=where)
        elif path:
            yield from problems_of_path(path, where)
    if not flow.steps:
        yield Problem("BK311", "a flow without steps", "add one", at=(*INPUT, "steps"))


def problems_of_path(text: str, at: Path) -> list[Problem]:
    try:
        proven(text) if _is_computed(text) else parse(text)
    except InvalidInput as error:
        return [replace(problem, at=at) for problem in error.problems]
    return []
