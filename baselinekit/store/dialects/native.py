"""The native form of a record (`id, name, …, baseline, current, comparison, metadata`), and its checks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from baselinekit.errors import Problem, suggest
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model import baselines as model
from baselinekit.model.recipes import Execution, Recipe
from baselinekit.model.values import ABSENT, Json, Path, parse_time
from baselinekit.placeholders.grammar import seconds
from baselinekit.schema import Tagged, describe_value, read_as, schema_of
from baselinekit.structs import Struct, asdict, replace

# Checks of a record beyond its types: names, addresses, times, and keys that exclude each other.


ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_id(text: str, at: Path = ("id",)) -> Iterator[Problem]:
    if not ID.fullmatch(text):
        message = f"{text!r} is not a valid id"
        hint = "letters, digits, `.`, `_` and `-`, the first a letter or a digit, at most 128"
        yield Problem("BK108", message, hint, at=at)


def check_known(known: model.Known | None) -> Iterator[Problem]:
    for number, version in known.versions if known else ():
        at = model.known_path(number)
        has_output, has_file = version.output is not ABSENT, version.output_file is not None
        if has_output and has_file:
            message = "both `output` and `output_file` are given"
            yield Problem("BK108", message, "keep one of them", at=(*at, "output_file"))
        yield from check_time(version.captured_at, (*at, "captured_at"))
        if isinstance(version, model.Known):
            if not (has_output or has_file or version.variants):
                hint = "add `output`, or capture it: baselinekit capture FILE"
                yield Problem("BK104", "`baseline` has no output", hint, at=at)
            continue
        if not (has_output or has_file):
            yield Problem("BK108", "a variant has no output", "add `output`", at=at)
        if not version.when:
            message = "a variant that applies everywhere is the output itself"
            hint = "say where it applies: when: {environment: staging}"
            yield Problem("BK108", message, hint, at=(*at, "when"))


def check_rules(rules: model.Rules) -> Iterator[Problem]:
    at: Path = ("comparison",)
    for name, bound in rules.tolerance.items():
        if isinstance(bound, bool):
            yield from check_flag(name, (*at, "tolerance", name))
    if rules.type == "semantic" or rules.fields:
        yield from model.method_problems(rules)
    age = rules.max_age
    limits = {"warn": age.warn, "fail": age.fail} if isinstance(age, model.Age) else {"": age}
    for name, limit in limits.items():
        if limit is not None and seconds(limit) is None:
            place = (*at, "max_age", name) if name else (*at, "max_age")
            yield Problem("BK108", f"{limit!r} is not a length of time", "such as 90d, 12h or 2.5d", at=place)
    for path, rule in rules.fields.items():
        field_path = (*at, "fields", path)
        for name, value in rule.tolerance.items():
            if isinstance(value, bool):
                yield from check_flag(name, (*field_path, "tolerance", name))
            elif isinstance(value, model.Tolerance) or name not in model.BOUNDS:
                hint = suggest(name, model.BOUNDS) or f"one of {', '.join(model.BOUNDS)}"
                yield Problem("BK108", f"{name!r} is not a bound", hint, at=(*field_path, "tolerance", name))


def check_lists(rules: model.Rules) -> Iterator[Problem]:
    """Check that two lists, which may be in the comparison or in its options, are not in both."""
    for name in ("ignore_values", "require_keys"):
        if getattr(rules, name) and rules.options and getattr(rules.options, name):
            message = f"`{name}` is given here and under `options`"
            yield Problem("BK108", message, "keep one of the two lists", at=("comparison", name))


def check_flag(name: str, at: Path) -> Iterator[Problem]:
    if name not in model.FLAGS:
        message = f"{name!r} is not an option, and a path takes a mapping"
        hint = suggest(name, model.FLAGS) or f"{name}: {{min_delta: …, max_delta: …}}"
        yield Problem("BK103", message, hint, at=at)


def check_time(text: str | None, at: Path) -> Iterator[Problem]:
    if text is not None and parse_time(text) is None:
        message = f"{text!r} is not an ISO 8601 time"
        yield Problem("BK108", message, "such as 2024-01-20T14:00:00Z", at=at)


# The native form: `id, name, …, baseline, current, comparison, metadata`.


class Current(Tagged):
    """A `current:`, whose kind decides its class."""

    @classmethod
    def forms(cls) -> Sequence[type[Struct]]:
        return [form for kind in KINDS.values() for form in kind.currents]

    @classmethod
    def form(cls, raw: Json) -> type[Struct] | None:
        if not isinstance(raw, dict) or not isinstance(raw.get("execution"), dict):
            return None
        name = raw["execution"].get("type")
        kind = KINDS.get(name) if isinstance(name, str) else None
        return kind.current_of(raw.get("input")) if kind else None

    @classmethod
    def explain(cls, raw: Json, at: Path) -> Problem:
        hint = f"one of {', '.join(KINDS)}, as in `execution: {{type: http}}`"
        for key in ("execution", "type"):
            if not isinstance(raw, dict):
                return Problem("BK105", f"expected a mapping, found {describe_value(raw)}", hint, at=at)
            at = (*at, key)
            if key not in raw:
                return Problem("BK104", f"the key {key!r} is missing", hint, at=at)
            raw = raw[key]
        hint = suggest(str(raw), KINDS) or hint
        return Problem("BK105", f"unknown type {describe_value(raw)}", hint, at=at)


class NativeRecord(model.BaselineRecord):
    """A baseline as its file states it, its recipe by its kind."""

    current: Current


_NULLABLE_KEYS = ("baseline", "comparison", "metadata")
_CHECKS: dict[str, tuple[Any, Callable[[Any], Iterable[Problem]]]] = {
    "baseline": (model.Known, check_known),
    "current": (Current, lambda current: kind_of(current).check(current)),
    "comparison": (model.Rules, check_rules),
    "metadata": (model.Metadata, lambda stated: check_time(stated.last_passed, ("metadata", "last_passed"))),
}


def read(raw: dict[str, Json], source: model.Source) -> tuple[model.Baseline | None, list[Problem]]:
    """Read a baseline, or return everything that is wrong with it."""
    if None in raw.values():  # a key without a value counts as missing
        raw = {key: value for key, value in raw.items() if value is not None or key not in _NULLABLE_KEYS}
    record, problems = read_as(NativeRecord, raw)
    if record is None:
        wrong_keys = {(problem.at or ("",))[0] for problem in problems}
        problems += check_id(raw["id"]) if isinstance(raw.get("id"), str) else ()
        for key, (kind, check_part) in _CHECKS.items():  # more problems, in the parts whose types are right
            if key in raw and key not in wrong_keys:
                part: Any = read_as(kind, raw[key])[0]
                problems += check_part(recipe(part.input, part.execution) if key == "current" else part)
        return None, problems
    current: Any = record.current
    rules = move_option_lists(record.comparison)
    parts = {"current": recipe(current.input, current.execution), "comparison": rules, "source": source}
    baseline = model.Baseline(**asdict(record) | parts)
    return baseline, [*problems_of(baseline), *check_lists(record.comparison)]


def path(path: Path) -> Path:
    return path


def recipe(input: Json, execution: Execution) -> Recipe:
    """Return a recipe with its input normalized."""
    return Recipe(KINDS[execution.type].normalize(input), execution)


def problems_of(baseline: model.Baseline) -> list[Problem]:
    """Return the problems that are not about types."""
    parts = [check_part(getattr(baseline, key)) for key, (_, check_part) in _CHECKS.items()]
    return [*check_id(baseline.id), *chain.from_iterable(parts)]


def move_option_lists(rules: model.Rules) -> model.Rules:
    """Return the rules with the two lists that may be in `options` moved out of them."""
    options = rules.options
    if options is None or (options.ignore_values is None and options.require_keys is None):
        return rules
    return replace(
        rules,
        ignore_values=rules.ignore_values or options.ignore_values or [],
        require_keys=rules.require_keys or options.require_keys or [],
        options=replace(options, ignore_values=None, require_keys=None),
    )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a baseline file: a record, a list of them, or either under
    `regression_eval`."""
    definitions = dict(schema_of(NativeRecord))
    definitions["Record"] = definitions.pop(NativeRecord.__name__)
    definitions["Record"]["properties"]["id"]["pattern"] = f"^{ID.pattern}$"
    record_ref = {"$ref": "#/$defs/Record"}
    record_list = {"type": "array", "items": record_ref}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "baselinekit baseline file",
        "anyOf": [
            record_ref,
            record_list,
            {
                "type": "object",
                "properties": {"regression_eval": {"anyOf": [record_ref, record_list]}},
                "required": ["regression_eval"],
                "additionalProperties": False,
            },
        ],
        "$defs": definitions,
    }
