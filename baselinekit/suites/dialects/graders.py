"""Read `expected:` and `grader:` of files: what would be right, and what judges it."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from baselinekit.errors import Problem, suggest
from baselinekit.graders.composite import with_unique_names
from baselinekit.graders.graders import GRADERS, Graders
from baselinekit.graders.task import GraderType, ReadConfig
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grader, Method, PassRule
from baselinekit.model.values import Json, Path
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import Meta, Struct, field, replace


class GraderContext(Struct):
    """The context of a grader: what the case expects, the path of that, and the named graders. `graders`: all
    types of graders. `required`: whether a grader is required by default; none is if the mean decides."""

    expected: Expected | None = None
    at: Path = ()
    named: Mapping[str, Grader] = field(default_factory=dict)
    graders: Graders = field(default_factory=lambda: GRADERS)
    required: bool = True

    @property
    def methods(self) -> dict[str, GraderType]:
        """The code graders by their method in files."""
        return self.methods_of("code")

    def methods_of(self, kind: str) -> dict[str, GraderType]:
        return {row.method: row for row in self.graders.values() if row.method and row.kind == kind}

    def as_method(self, name: Json) -> str:
        """Return how to write a method that was named in the wrong place; "" if it is not a method."""
        kinds = (row.kind for row in self.graders.values() if row.method == name and name)
        return next((_METHOD_HINT % (kind, name) for kind in kinds), "")

    @property
    def row_expected(self) -> GraderType | None:
        """The grader that belongs to the type of the expectation."""
        kind = self.expected.type if self.expected else None
        return next((row for row in self.graders.values() if row.expectation == kind), None)


_WEIGHT = Meta(ge=0, le=1_000_000, description="a number from 0 to 1,000,000")
Weight = Annotated[int, _WEIGHT] | Annotated[float, _WEIGHT]
_FROM_EXPECTATION = (("BK712", "config"), ("BK104", "function_name"))
_METHOD_HINT = "it is a method: {type: %s, config: {method: %s}}"


class InlineGrader(Struct):
    """A grader described inline."""

    type: Literal["code", "model", "human"]
    config: dict[str, Json] = field(default_factory=dict)
    name: str | None = None
    weight: Weight = 1
    required: bool | None = None


class NamedGrader(Struct):
    """A grader described in config/graders.yaml; the values here override those there."""

    ref: str
    name: str | None = None
    weight: Weight | None = None
    required: bool | None = None


def read_all(
    raw_graders: Sequence[tuple[Json, Path]], given: GraderContext
) -> tuple[tuple[Grader, ...], list[Problem]]:
    """Return the graders of a case, including the one of its expectation, and their problems."""
    graders: list[Grader] = []
    problems: list[Problem] = []
    for raw, at in raw_graders:
        grader, new_problems = read(raw, at, given)
        problems += new_problems
        graders += [grader] if grader else []
    row, expected = given.row_expected, given.expected
    if row is not None and expected is not None:
        method, new_problems = row.derive_config(expected, bool(raw_graders))
        problems += prefix_paths(new_problems, given.at)
        if method is not None:
            graders.insert(0, Grader(row.name, row.kind, method, at=given.at))
    if not problems and not graders:
        message = "it is not stated what would be right"
        problems.append(
            Problem("BK711", message, "add `grader`, or `expected: {type: exact, value: …}`", at=())
        )
    return with_unique_names(graders), problems


def is_by_itself(problem: Problem) -> bool:
    """Whether a problem does not depend on the expectation, so that it counts even if that cannot be read."""
    last_key = (problem.at or ("",))[-1]
    return problem.code not in ("BK711", "BK714") and (problem.code, last_key) not in _FROM_EXPECTATION


def read(raw: Json, at: Path, given: GraderContext) -> tuple[Grader | None, list[Problem]]:
    """Read a grader. None without a problem means that the expectation states all of it."""
    if isinstance(raw, str) or (isinstance(raw, dict) and "ref" in raw):
        return _read_named({"ref": raw} if isinstance(raw, str) else raw, at, given)
    raw, misplaced_problems = _move_into_config(raw, given)
    inline_grader, problems = read_as(InlineGrader, raw)
    if inline_grader is None:
        kind, config = (raw.get("type"), raw.get("config")) if isinstance(raw, dict) else (None, None)
        if hint := given.as_method(kind):  # a method was given as the type
            problems = [
                replace(problem, hint=hint) if problem.at == ("type",) else problem for problem in problems
            ]
        elif kind in ("code", "model", "human") and isinstance(config, dict):
            problems += prefix_paths(_read_config(kind, config, given, (*at, "config"))[1], ("config",))
        return None, prefix_paths([*misplaced_problems, *problems], at)
    method, config_problems = _read_config(inline_grader.type, inline_grader.config, given, (*at, "config"))
    problems = prefix_paths([*misplaced_problems, *prefix_paths(config_problems, ("config",))], at)
    if problems or method is None:
        return None, problems
    name = inline_grader.name or given.graders[type(method)].name
    says_required = inline_grader.required is not None
    required = given.required if inline_grader.required is None else inline_grader.required
    return Grader(
        name,
        inline_grader.type,
        method,
        float(inline_grader.weight),
        required,
        at,
        says_required=says_required,
    ), []


def _move_into_config(raw: Json, given: GraderContext) -> tuple[Json, list[Problem]]:
    """Return the grader with misplaced keys moved into its config, and the problems of those keys."""
    config = raw.get("config", {}) if isinstance(raw, dict) else None
    if not isinstance(config, dict):
        return raw, []
    rows = [row for row in given.graders.values() if row.method or row.kind != "code"]
    rows = [row for row in rows if row.kind == raw.get("type")] or rows
    schemas: list[Any] = [row.schema for row in rows]
    config_keys = frozenset({"method"}).union(*map(_keys_of, schemas))
    moved = {key: value for key, value in raw.items() if key in config_keys and key not in _GRADER_KEYS}
    problems = [
        Problem(
            "BK103",
            f"{key!r} is beside the grader's config",
            f"move it in there: config: {{{key}: …}}",
            at=(key,),
        )
        for key in moved
    ]
    other_values = {key: value for key, value in raw.items() if key not in moved}
    return ({**other_values, "config": {**moved, **config}} if moved else raw), problems


@cache
def _keys_of(schema: type[Any]) -> frozenset[str]:
    """Return the keys of a config of this kind."""
    return frozenset(schema.__struct_fields__)


def _read_named(raw: Json, at: Path, given: GraderContext) -> tuple[Grader | None, list[Problem]]:
    reference, problems = read_as(NamedGrader, raw)
    if reference is None:
        return None, prefix_paths(problems, at)
    if reference.ref not in given.named:
        known_names = sorted(given.named)
        hint = given.as_method(reference.ref) or suggest(reference.ref, known_names)
        hint = hint or (f"there are {', '.join(known_names)}" if known_names else "")
        hint = hint or "describe it in config/graders.yaml, beside the suite"
        return None, [Problem("BK713", f"there is no grader {reference.ref!r}", hint, at=at)]
    grader = given.named[reference.ref]
    method, problems = given.graders[type(grader.method)].complete(grader.method, given.expected)
    weight = grader.weight if reference.weight is None else float(reference.weight)
    required = reference.required
    if required is None:
        required = grader.required if grader.says_required else given.required
    named_grader = Grader(reference.name or reference.ref, grader.kind, method, weight, required, at)
    return named_grader, prefix_paths(problems, at)


def read_pass_rule(raw: Json) -> tuple[PassRule | None, list[Problem]]:
    """Read a rule by its name, `all` or `mean`, or with its limits."""
    rule_values = {"by": raw} if isinstance(raw, str) else raw
    rule, problems = read_as(PassRule, rule_values)
    if rule is None:
        return None, problems
    for name, limit in (("pass_at", rule.pass_at), ("borderline_at", rule.borderline_at)):
        if not 0 < limit <= 1:
            problems.append(Problem("BK108", f"{name} is {limit:g}", "a share above 0, up to 1", at=(name,)))
    is_stated = isinstance(rule_values, dict) and "borderline_at" in rule_values
    if rule.borderline_at > rule.pass_at and is_stated:
        message = f"borderline_at is {rule.borderline_at:g}, above pass_at, which is {rule.pass_at:g}"
        problems.append(
            Problem("BK108", message, "what is borderline does not pass yet", at=("borderline_at",))
        )
    return (None, problems) if problems else (rule, [])


def _read_config(
    kind: str, config: dict[str, Json], given: GraderContext, at: Path
) -> tuple[Method | None, list[Problem]]:
    if kind == "code":
        return read_by_method(config, given, at)
    default_row = next(row for row in given.graders.values() if row.kind == kind and not row.method)
    methods = given.methods_of(kind)
    if not methods or "method" not in config:
        return default_row.read_config(config, given.expected)
    settings = {key: value for key, value in config.items() if key != "method"}
    method = config["method"]
    if not isinstance(method, str) or method not in methods:
        methods_hint = f"one of {', '.join(methods)}; without a method it is a {default_row.name} grader"
        hint = given.as_method(method) or suggest(str(method), methods) or methods_hint
        return None, [
            Problem("BK712", f"there is no method {method!r} of a {kind} grader", hint, at=("method",))
        ]
    return _read_row_config(methods[method], settings, given, at)


def read_by_method(
    config: dict[str, Json], given: GraderContext, at: Path = ()
) -> tuple[Method | None, list[Problem]]:
    """Read a config by its stated method, else by the method that its keys or the expectation imply. `at`:
    the path of the config."""
    config, methods, row = dict(config), given.methods, given.row_expected
    method = config.pop("method", None)
    if method is None:
        matching = (row for row in methods.values() if config.keys() & {*row.known_by})
        row = next(matching, row)
        if row is not None and not row.method and not config:
            return None, []
        method = row.method or None if row else None
    if method is None:
        return None, [Problem("BK712", "the grader has no method", f"one of {', '.join(methods)}", at=())]
    if not isinstance(method, str) or method not in methods:
        hint = given.as_method(method) or suggest(str(method), methods) or f"one of {', '.join(methods)}"
        return None, [Problem("BK712", f"there is no method {method!r}", hint, at=("method",))]
    return _read_row_config(methods[method], config, given, at)


def _read_row_config(row: GraderType, config: dict[str, Json], given: GraderContext, at: Path) -> ReadConfig:
    """Read the config of a grader of this type, with the graders that it is composed of."""
    method, problems = row.read_config(config, given.expected)
    if method is None or row.compose is None:
        return method, problems
    parts: list[Grader] = []
    for raw, path in row.stated_parts(method):
        part_path = (*at, *path)
        part, new_problems = read(raw, part_path, replace(given, required=False))
        if part is None and not new_problems:
            new_problems = [Problem("BK712", "the grader has no method", "state one", at=part_path)]
        problems += [replace(problem, at=(problem.at or part_path)[len(at) :]) for problem in new_problems]
        parts += [part] if part is not None else []
    return (None, problems) if problems else row.compose(method, parts)


_GRADER_KEYS = frozenset(InlineGrader.__struct_fields__)
