"""Values from the answers of a flow: those that a step saves for later steps, those that the flow collects,
and those that are computed from them."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from operator import add
from typing import Any

from baselinekit.errors import CannotReplay, InvalidInput, Problem, cannot_replay, suggest
from baselinekit.kinds.settings import INPUT, invalid
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import HttpRequest
from baselinekit.model.values import Json, Path
from baselinekit.structs import Struct, replace
from baselinekit.values.paths import Pattern, find, parse, roots, suggest_path
from baselinekit.values.texts import mask_and_clip, no_mask


class HttpFlow(Struct):
    """Requests in order. The last output is compared, or the outputs that `collect` names: steps by their
    name, or `{key: "step.path"}`."""

    steps: list[HttpRequest]
    collect: list[str] | dict[str, str] | None = None


def step_names(flow: HttpFlow) -> dict[str, int]:
    """Return the index of each step by its number (from 1), and by its name if it has one."""
    names = {str(index + 1): index for index in range(len(flow.steps))}
    return names | {step.name: index for index, step in enumerate(flow.steps) if step.name}


def split_step(text: str, names: Mapping[str, int]) -> tuple[str, str]:
    """Split `step.path` of a `collect` into both; the name of a step may contain dots."""
    matching = [name for name in names if text == name or text.startswith(f"{name}.")]
    if not matching:
        return text.partition(".")[0], ""
    name = max(matching, key=len)
    return name, text[len(name) + 1 :]


# Computed values of a flow, which no path can select: a count, a part of a text or a sum. jsonpath-ng
# evaluates them (``$.body.items.`len` ``, ``$.body.price * 2``), where `save` and `collect` take a value
# from an answer. Rules of a comparison are not read here: what they select must not change with the
# installed version of jsonpath-ng.

_LONGEST = 200
_LONGEST_TEXT = 1_000_000
_QUOTED = lazy_pattern(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_FUNCTION = lazy_pattern(r"`([^`]*)`")
_KNOWN_FUNCTION = lazy_pattern(r"len|keys|sorted|str\(\)|split\([^`]*\)")
_ARITHMETIC = lazy_pattern(r"\s[-+*]\s")
_HINT = "`len`, `keys`, `sorted`, `str()`, `split(-, 0, 1)` and + - * with blanks around them are known"


def compute(text: str, output: Json, step: str) -> Json:
    """Return the single value of an expression over a step's output."""
    expression = parse_expression(text)
    try:
        values = [match.value for match in expression.find(output)]
    except Exception as error:  # the library raises errors of many types for unexpected answers
        reason = (
            mask_and_clip(str(error), _LONGEST, no_mask)
            if isinstance(error, _UnfitOperands)
            else "the values have other types"
        )
        raise cannot_replay("BK313", f"{step}: {text!r} cannot be computed: {reason}") from None
    if len(values) != 1:
        message = f"{step}: {text!r} gives {len(values)} values in its output, but exactly one is needed"
        raise cannot_replay("BK313", message, "look at the output; select one value before computing")
    value: Json = values[0]
    if isinstance(value, float) and not math.isfinite(value):
        raise cannot_replay("BK313", f"{step}: {text!r} gives {value}, which is not a JSON number")
    return value


class _UnfitOperands(ValueError):
    """Operands that arithmetic does not accept."""


@lru_cache(maxsize=256)
def parse_expression(text: str) -> Any:
    unknown = [name for name in _FUNCTION.findall(text) if not _KNOWN_FUNCTION.fullmatch(name)]
    flaws = {
        f"is longer than {_LONGEST} characters": len(text) > _LONGEST,
        "has more than one `..`": text.count("..") > 1,
        "has a regular expression, which could take for ever": "=~" in text,
        f"has the function `{''.join(unknown[:1])}`, which is not known": bool(unknown),
    }
    if reason := next((flaw for flaw, is_there in flaws.items() if is_there), ""):
        raise _bad_expression(text, reason)
    from baselinekit.values.jsonpath import parsed  # jsonpath-ng, which few recipes need

    try:
        expression = parsed(text)
    except Exception:  # its lexer, its parser and its functions raise types of their own
        raise _bad_expression(text, "cannot be read") from None
    _restrict_arithmetic(expression)
    return expression


def _bad_expression(text: str, reason: str) -> InvalidInput:
    return InvalidInput(
        Problem(
            "BK201", f"the expression {mask_and_clip(text, 80, no_mask, counted=False)!r} {reason}", _HINT
        )
    )


def _restrict_arithmetic(node: Any) -> None:
    """Restrict arithmetic to numbers, and to two texts for `+`: a text times a number would fill the
    memory."""
    if hasattr(node, "op_symbol"):
        node.op = _restrict_operator(node.op)
    for side in ("left", "right", "child"):
        if hasattr(node, side):
            _restrict_arithmetic(getattr(node, side))


def _restrict_operator(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def restricted(left: Any, right: Any) -> Any:
        if isinstance(left, str) and isinstance(right, str) and operate is add:
            if len(left) + len(right) > _LONGEST_TEXT:
                raise _UnfitOperands("the text is too long")
        elif not all(
            isinstance(operand, int | float) and not isinstance(operand, bool) for operand in (left, right)
        ):
            raise _UnfitOperands("it takes numbers, or two strings for +")
        try:
            return operate(left, right)
        except ArithmeticError as error:
            raise _UnfitOperands(str(error)) from None

    return restricted


def pick(text: str, output: Json, step: str, at: Path, full_output: Json = None) -> Json:
    """Return the value at a path in a step's output: from `$`, or from whichever of the whole output and its
    body has it. A path with wildcards that matches several values gives a list of them. An expression is
    computed from the whole output. `full_output`: the output with every header of the answer, in lower case;
    what `output` lacks is looked up there."""
    if is_computed(text):
        return compute(text, output if full_output is None else full_output, step)
    pattern = parse(text)
    values = values_at(pattern, output, at)
    if not values and full_output is not None:
        values = values_at(with_lower_case_header(pattern), full_output, at)
    if not values:
        body = output["body"]
        keys = ", ".join(list(body)[:10]) if isinstance(body, dict) else ""
        suggestion = suggest_path(pattern, output if full_output is None else full_output) or suggest_path(
            pattern, body
        )
        hint = suggestion or (f"its body has {keys}" if keys else f"its status was {output['status']}")
        raise CannotReplay(Problem("BK313", f"{step}: nothing at {text!r} in its output", hint, at=at))
    return values[0] if len(values) == 1 else values


def values_at(pattern: Pattern, output: Json, at: Path) -> list[Json]:
    starts = roots(pattern, output)
    if len(starts) > 1:
        hint = f"write $.{pattern.text} or body.{pattern.text}"
        raise invalid("BK312", f"{pattern.text!r} is both in the whole output and in its body", hint, at)
    return [value for start in starts for _, value in find(pattern, output["body"] if start else output)]


def with_lower_case_header(pattern: Pattern) -> Pattern:
    """Return a path to a header with the header's name in lower case."""
    first, *rest = pattern.segments
    if first != "headers" or not rest or not isinstance(rest[0], str):
        return pattern
    return replace(pattern, segments=(first, rest[0].lower(), *rest[1:]))


def headers_used(flow: HttpFlow) -> dict[int, set[str]]:
    """Return for each step the headers that the flow uses from its answer, in lower case."""
    names, used = step_names(flow), dict[int, set[str]]()
    paths = [(index, path) for index, step in enumerate(flow.steps) for path in step.save.values()]
    if isinstance(flow.collect, dict):
        parts = [split_step(text, names) for text in flow.collect.values()]
        paths += [(names[name], path) for name, path in parts if path and name in names]
    for index, path in paths:
        if not is_computed(path):
            first, *rest = parse(path).segments
            if first == "headers" and rest and isinstance(rest[0], str):
                used.setdefault(index, set()).add(rest[0].lower())
    return used


def is_computed(text: str) -> bool:
    """Whether a text is a computation. A text that can be read as a path is one."""
    try:
        parse(text)
    except InvalidInput:
        return text.startswith("$") and ("`" in text or bool(_ARITHMETIC.search(_QUOTED.sub("", text))))
    return False


def collect_outputs(flow: HttpFlow, outputs: list[Json], full_outputs: list[Json]) -> Json:
    """Return the output to compare: that of the last step, or the values that `collect` names."""
    if flow.collect is None:
        return outputs[-1]
    names = step_names(flow)
    if isinstance(flow.collect, list):
        return {name: outputs[names[name]] for name in flow.collect}
    values = {}
    for key, text in flow.collect.items():
        name, path = split_step(text, names)
        output, full_output = outputs[names[name]], full_outputs[names[name]]
        values[key] = (
            pick(path, output, f"step {name}", (*INPUT, "collect", key), full_output) if path else output
        )
    return values


def problems_of_flow(flow: HttpFlow) -> Iterator[Problem]:
    """Yield the problems of a flow: unknown steps in `collect`, invalid paths, no steps at all."""
    names = step_names(flow)
    at: Path = (*INPUT, "collect")
    if isinstance(flow.collect, dict):
        named_steps = [((*at, key), *split_step(text, names)) for key, text in flow.collect.items()]
    else:
        named_steps = [((*at, index), name, "") for index, name in enumerate(flow.collect or [])]
    for place, name, path in named_steps:
        if name not in names:
            hint = suggest(name, names) or f"there are {', '.join(names)}"
            yield Problem("BK312", f"no step is called {name!r}", hint, at=place)
        elif path:
            yield from problems_of_path(path, place)
    if not flow.steps:
        yield Problem("BK311", "a flow without steps", "add one", at=(*INPUT, "steps"))


def problems_of_path(text: str, at: Path) -> list[Problem]:
    try:
        parse_expression(text) if is_computed(text) else parse(text)
    except InvalidInput as error:
        return [replace(problem, at=at) for problem in error.problems]
    return []
