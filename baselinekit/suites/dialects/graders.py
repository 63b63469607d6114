"""`expected:` and `grader:` as files state them: what would be right, and who judges it."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cache
from typing import Any, Literal

from baselinekit.errors import Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.grade.composite import told_apart
from baselinekit.grade.graders import GRADERS, Graders
from baselinekit.grade.task import GraderType, ReadConfig
from baselinekit.model.baselines import Number
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grader, Method, PassRule
from baselinekit.model.values import Json, Path
from baselinekit.schema.records import below, check


@frozen
class Given:
    """What a grader may build on: what the case expects, where that stands, and what graders have names.
    `graders`: all that there are. `required`: whether one is that does not say so; where a mean decides none
    is."""

    expected: Expected | None = None
    at: Path = ()
    named: Mapping[str, Grader] = field(default_factory=dict)
    graders: Graders = field(default_factory=lambda: GRADERS)
    required: bool = True

    @property
    def methods(self) -> dict[str, GraderType]:
        """The code graders by the method that files name."""
        return self.methods_of("code")

    def methods_of(self, kind: str) -> dict[str, GraderType]:
        return {row.method: row for row in self.graders.values() if row.method and row.kind == kind}

    def as_method(self, name: Json) -> str:
        """How a grader is written that somebody names where it cannot stand; "" for what is none."""
        kinds = (row.kind for row in self.graders.values() if row.method == name and name)
        return next((_AS_METHOD % (kind, name) for kind in kinds), "")

    @property
    def row_expected(self) -> GraderType | None:
        """The grader that the type of the expectation asks for."""
        kind = self.expected.type if self.expected else None
        return next((row for row in self.graders.values() if row.expectation == kind), None)


_HEAVIEST = 1_000_000
_FROM_EXPECTATION = (("BK712", "config"), ("BK104", "function_name"))
_AS_METHOD = "it is a method: {type: %s, config: {method: %s}}"


@frozen
class InlineGrader:
    """A grader in place."""

    type: Literal["code", "model", "human"]
    config: dict[str, Json] = field(default_factory=dict)
    name: str | None = None
    weight: Number = 1
    required: bool | None = None


@frozen
class NamedGrader:
    """A grader that config/graders.yaml describes; what is said here goes before what it says."""

    ref: str
    name: str | None = None
    weight: Number | None = None
    required: bool | None = None


def read_all(stated: Sequence[tuple[Json, Path]], given: Given) -> tuple[tuple[Grader, ...], list[Problem]]:
    """The graders of a case, and what its expectation asks for beside them; or what is wrong with them."""
    graders: list[Grader] = []
    problems: list[Problem] = []
    for raw, at in stated:
        grader, wrong = read(raw, at, given)
        problems += wrong
        graders += [grader] if grader else []
    row, expected = given.row_expected, given.expected
    if row is not None and expected is not None:
        method, wrong = row.derive_config(expected, bool(stated))
        problems += below(wrong, given.at)
        if method is not None:
            graders.insert(0, Grader(row.name, row.kind, method, at=given.at))
    if not problems and not graders:
        message = "it is not stated what would be right"
        problems.append(
            Problem("BK711", message, "add `grader`, or `expected: {type: exact, value: …}`", at=())
        )
    return told_apart(graders), problems


def is_by_itself(problem: Problem) -> bool:
    """Whether a grader is wrong whatever is expected: to be told where the expectation cannot be read."""
    last = (problem.at or ("",))[-1]
    return problem.code not in ("BK711", "BK714") and (problem.code, last) not in _FROM_EXPECTATION


def read(raw: Json, at: Path, given: Given) -> tuple[Grader | None, list[Problem]]:
    """One grader. None without a problem: the expectation says all of it."""
    if isinstance(raw, str) or (isinstance(raw, dict) and "ref" in raw):
        return _by_name({"ref": raw} if isinstance(raw, str) else raw, at, given)
    raw, misplaced = _in_its_place(raw, given)
    stated, problems = check(InlineGrader, raw)
    if stated is None:
        kind, config = (raw.get("type"), raw.get("config")) if isinstance(raw, dict) else (None, None)
        if hint := given.as_method(kind):  # a method, named as the type
            problems = [replace(one, hint=hint) if one.at == ("type",) else one for one in problems]
        elif kind in ("code", "model", "human") and isinstance(config, dict):
            problems += below(_config(kind, config, given, (*at, "config"))[1], ("config",))
        return None, below([*misplaced, *problems], at)
    problems = [*misplaced, *weight_problems(stated.weight)]
    method, more = _config(stated.type, stated.config, given, (*at, "config"))
    problems = below([*problems, *below(more, ("config",))], at)
    if problems or method is None:
        return None, problems
    name = stated.name or given.graders[type(method)].name
    says = stated.required is not None
    required = given.required if stated.required is None else stated.required
    return Grader(name, stated.type, method, float(stated.weight), required, at, says_required=says), []


def _in_its_place(raw: Json, given: Given) -> tuple[Json, list[Problem]]:
    """The grader with what stands beside its config moved into it, and what is to be said of that."""
    config = raw.get("config", {}) if isinstance(raw, dict) else None
    if not isinstance(config, dict):
        return raw, []
    rows = [row for row in given.graders.values() if row.method or row.kind != "code"]
    rows = [row for row in rows if row.kind == raw.get("type")] or rows
    schemas: list[Any] = [row.schema for row in rows]
    known = frozenset({"method"}).union(*map(_keys_of, schemas))
    moved = {key: value for key, value in raw.items() if key in known and key not in _OWN}
    problems = [
        Problem(
            "BK103",
            f"{key!r} is beside the grader's config",
            f"move it in there: config: {{{key}: …}}",
            at=(key,),
        )
        for key in moved
    ]
    rest = {key: value for key, value in raw.items() if key not in moved}
    return ({**rest, "config": {**moved, **config}} if moved else raw), problems


@cache
def _keys_of(schema: type[Any]) -> frozenset[str]:
    """What a config of this kind may state."""
    return frozenset(key.name for key in fields(schema))


def _by_name(raw: Json, at: Path, given: Given) -> tuple[Grader | None, list[Problem]]:
    stated, problems = check(NamedGrader, raw)
    if stated is None:
        return None, below(problems, at)
    if stated.ref not in given.named:
        known = sorted(given.named)
        hint = given.as_method(stated.ref) or nearest(stated.ref, known)
        hint = hint or (f"there are {', '.join(known)}" if known else "")
        hint = hint or "describe it in config/graders.yaml, beside the suite"
        return None, [Problem("BK713", f"there is no grader {stated.ref!r}", hint, at=at)]
    grader, problems = given.named[stated.ref], weight_problems(stated.weight)
    method, more = given.graders[type(grader.method)].complete(grader.method, given.expected)
    problems += more
    weight = grader.weight if stated.weight is None else float(stated.weight)
    required = stated.required
    if required is None:
        required = grader.required if grader.says_required else given.required
    named = Grader(stated.name or stated.ref, grader.kind, method, weight, required, at)
    return named, below(problems, at)


def read_pass_rule(raw: Json) -> tuple[PassRule | None, list[Problem]]:
    """A rule by its name, `all` or `mean`, or with its limits."""
    stated = {"by": raw} if isinstance(raw, str) else raw
    rule, problems = check(PassRule, stated)
    if rule is None:
        return None, problems
    for name, limit in (("pass_at", rule.pass_at), ("borderline_at", rule.borderline_at)):
        if not 0 < limit <= 1:
            problems.append(Problem("BK108", f"{name} is {limit:g}", "a share above 0, up to 1", at=(name,)))
    is_stated = isinstance(stated, dict) and "borderline_at" in stated
    if rule.borderline_at > rule.pass_at and is_stated:
        message = f"borderline_at is {rule.borderline_at:g}, above pass_at, which is {rule.pass_at:g}"
        problems.append(
            Problem("BK108", message, "what is borderline does not pass yet", at=("borderline_at",))
        )
    return (None, problems) if problems else (rule, [])


def weight_problems(weight: Number | None) -> list[Problem]:
    """What is wrong with a weight, which counts among the others."""
    if weight is None or 0 <= weight <= _HEAVIEST:
        return []
    shown = weight if weight < 0 else f"more than {_HEAVIEST:,}"
    return [Problem("BK108", f"the weight is {shown}", f"a number from 0 to {_HEAVIEST:,}", at=("weight",))]


def _config(
    kind: str, config: dict[str, Json], given: Given, at: Path
) -> tuple[Method | None, list[Problem]]:
    if kind == "code":
        return read_by_method(config, given, at)
    usual = next(row for row in given.graders.values() if row.kind == kind and not row.method)
    methods = given.methods_of(kind)
    if not methods or "method" not in config:
        return usual.read_config(config, given.expected)
    rest = {key: value for key, value in config.items() if key != "method"}
    method = config["method"]
    if not isinstance(method, str) or method not in methods:
        other = f"one of {', '.join(methods)}; without a method it is a {usual.name} grader"
        hint = given.as_method(method) or nearest(str(method), methods) or other
        return None, [
            Problem("BK712", f"there is no method {method!r} of a {kind} grader", hint, at=("method",))
        ]
    return _of_row(methods[method], rest, given, at)


def read_by_method(
    config: dict[str, Json], given: Given, at: Path = ()
) -> tuple[Method | None, list[Problem]]:
    """By the method that is stated, else by what the config or the expectation speaks of. `at`: where the
    config stands."""
    config, methods, row = dict(config), given.methods, given.row_expected
    method = config.pop("method", None)
    if method is None:
        known = (row for row in methods.values() if config.keys() & {*row.known_by})
        row = next(known, row)
        if row is not None and not row.method and not config:
            return None, []
        method = row.method or None if row else None
    if method is None:
        return None, [Problem("BK712", "the grader has no method", f"one of {', '.join(methods)}", at=())]
    if not isinstance(method, str) or method not in methods:
        hint = given.as_method(method) or nearest(str(method), methods) or f"one of {', '.join(methods)}"
        return None, [Problem("BK712", f"there is no method {method!r}", hint, at=("method",))]
    return _of_row(methods[method], config, given, at)


def _of_row(row: GraderType, config: dict[str, Json], given: Given, at: Path) -> ReadConfig:
    """The config of a grader of this row, with the graders that it is made of."""
    stated, problems = row.read_config(config, given.expected)
    if stated is None or row.compose is None:
        return stated, problems
    parts: list[Grader] = []
    for raw, where in row.stated_parts(stated):
        here = (*at, *where)
        part, wrong = read(raw, here, replace(given, required=False))
        if part is None and not wrong:
            wrong = [Problem("BK712", "the grader has no method", "state one", at=here)]
        problems += [replace(one, at=(one.at or here)[len(at) :]) for one in wrong]
        parts += [part] if part is not None else []
    return (None, problems) if problems else row.compose(stated, parts)


_OWN = frozenset(one.name for one in fields(InlineGrader))
