"""What of an output a grader looks at: the part that it names, or the one that answers, where an output has
several: the body of a response, the standard output of a command."""

from collections.abc import Collection, Iterator

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.grade.by_code import parsed
from baselinekit.model.evals import Case
from baselinekit.model.graders import (
    Contains,
    ExactMatch,
    FunctionOutput,
    Grader,
    MustInclude,
    RegexMatch,
    StructuralMatch,
)
from baselinekit.model.values import ABSENT, Json
from baselinekit.tree.paths import Pattern, find, parse

_PARTS = {
    "http": ("body", frozenset(("status", "headers", "body"))),
    "command": ("stdout", frozenset(("exit_code", "stdout", "stderr", "files"))),
}
"""By the kind of recipe: what answers, and what else there is."""


def named_part(grader: Grader, case: Case) -> str | None:
    """The part that a grader names itself, or else what is expected, where it goes by that."""
    method, expected = grader.method, case.expected
    own: str | None = getattr(method, "of", None)
    by_expectation = isinstance(method, ExactMatch | StructuralMatch | MustInclude | FunctionOutput)
    by_expectation |= isinstance(method, RegexMatch) and method.pattern is None
    by_expectation |= isinstance(method, Contains) and not (method.all or method.any or method.none)
    return own if own is not None or expected is None or not by_expectation else expected.of


def seen(output: Json, grader: Grader, case: Case, keys: Collection[str] = ()) -> Json:
    """What a grader looks at of this output; ABSENT where there is no such part. `keys`: those that are
    asked for, which may be those of the whole."""
    of = named_part(grader, case)
    if of is not None:
        return _picked(_pattern(of), output, case.recipe.kind)
    part = part_seen(output, grader, case, keys)
    return output.get(part, "") if part else output


def part_seen(output: Json, grader: Grader, case: Case, keys: Collection[str] = ()) -> str:
    """The name of the part that a grader looks at; "" for the whole."""
    of, kind = named_part(grader, case), case.recipe.kind
    if of is not None:
        return "" if of == "$" else of
    if kind not in _PARTS or not isinstance(output, dict) or looks_at_whole(grader, case, keys):
        return ""
    answer, parts = _PARTS[kind]
    return answer if output.keys() <= parts else ""


def looks_at_whole(grader: Grader, case: Case, keys: Collection[str]) -> bool:
    """Whether a grader that asks for these keys means those of the whole output."""
    kind = case.recipe.kind
    return named_part(grader, case) is None and (
        kind not in _PARTS or (bool(keys) and {*keys} <= _PARTS[kind][1])
    )


def keys_of(value: Json) -> Collection[str]:
    return value.keys() if isinstance(value, dict) else ()


def keys_of_schema(schema: Json) -> Collection[str]:
    """The keys that a schema speaks of at its top."""
    stated = schema if isinstance(schema, dict) else {}
    return {*keys_of(stated.get("properties")), *(stated.get("required") or ())}


def problems_of(grader: Grader, case: Case) -> Iterator[Problem]:
    """With paths below the grader; of one that only stands for what is expected, below that."""
    of = named_part(grader, case)
    if of is None:
        return
    own = getattr(grader.method, "of", None) is not None
    by_itself = grader.at[-1:] in (("expected",), ("expected_output",))
    at = ("config", "of") if own else ("of",) if by_itself else ()
    try:
        first = _pattern(of).segments[:1]
    except InvalidInput as error:
        yield from (Problem(one.code, one.message, one.hint, at=at) for one in error.problems)
        return
    known = _PARTS["command"][1]
    if case.recipe.kind == "command" and not {*first} <= known:
        hint = nearest(str(first[0]), known) or f"one of {', '.join(sorted(known))}, or $ for all of it"
        yield Problem("BK709", f"a command gives no {of!r}", hint, at=at)


def _pattern(of: str) -> Pattern:
    return Pattern("$", (), True) if of == "$" else parse(of)


def _picked(pattern: Pattern, output: Json, kind: str) -> Json:
    """What is there: the one value, or the list of those that a wildcard leads to."""
    if not pattern.segments:
        return output
    output, first = parsed(output), pattern.segments[0]
    if (
        kind == "http"
        and isinstance(output, dict)
        and not pattern.absolute
        and first not in _PARTS["http"][1]
    ):
        output = output.get("body")
    found = [value for _, value in find(pattern, output)]
    if all(isinstance(step, str | int) for step in pattern.segments):
        return found[0] if found else ABSENT
    return found or ABSENT
