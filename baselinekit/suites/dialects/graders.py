"""Read `expected:` and `grader:` of files: what would be right, and what judges it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from baselinekit.errors import Problem, suggest
from baselinekit.graders.composite import with_unique_names
from baselinekit.graders.graders import GRADERS, Graders
from baselinekit.graders.task import GraderType, ReadConfig
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grader
from baselinekit.model.values import Json, Path
from baselinekit.schema import Mistakes, prefix_paths, read_as, read_right_keys
from baselinekit.structs import Meta, Struct, field, replace


class GraderContext(Struct):
    """The context of a grader: what the case expects, the path of that, the named graders, and whether a
    grader is required by default; none is if the mean decides. `graders`: all types of graders."""

    expected: Expected | None = None
    at: Path = ()
    named: Mapping[str, Grader] = field(default_factory=dict)
    required: bool = True
    graders: Graders = field(default_factory=lambda: GRADERS)

    def methods_of(self, kind: str) -> dict[str, GraderType]:
        """The graders of a kind by their method in files."""
        return {row.method: row for row in self.graders.values() if row.method and row.kind == kind}

    def as_method(self, name: Json) -> str:
        """Return how to write a method that was named in the wrong place; "" if it is not a method."""
        kinds = [row.kind for row in self.graders.values() if row.method == name and name]
        return f"it is a method: {{type: {kinds[0]}, config: {{method: {name}}}}}" if kinds else ""

    @property
    def row_expected(self) -> GraderType | None:
        """The grader that belongs to the type of the expectation."""
        kind = self.expected.type if self.expected else None
        return next((row for row in self.graders.values() if row.expectation == kind), None)


_WEIGHT = Meta(ge=0, le=1_000_000, description="a number from 0 to 1,000,000")
Weight = Annotated[int, _WEIGHT] | Annotated[float, _WEIGHT]
_FROM_EXPECTATION = (("BK712", "config"), ("BK104", "function_name"))


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
    found = Mistakes()
    read_graders = [found.take(read(raw, at, given)) for raw, at in raw_graders]
    graders = [grader for grader in read_graders if grader is not None]
    row, expected = given.row_expected, given.expected
    if row is not None and expected is not None:
        method = found.take(row.derive_config(expected, bool(raw_graders)), *given.at)
        if method is not None:
            graders.insert(0, Grader(row.name, row.kind, method, at=given.at))
    if not found and not graders:
        hint = "add `grader`, or `expected: {type: exact, value: …}`"
        found.append(Problem("BK711", "it is not stated what would be right", hint, at=()))
    return with_unique_names(graders), found


def is_by_itself(problem: Problem) -> bool:
    """Whether a problem does not depend on the expectation, so that it counts even if that cannot be read."""
    last_key = (problem.at or ("",))[-1]
    return problem.code not in ("BK711", "BK714") and (problem.code, last_key) not in _FROM_EXPECTATION


def read(raw: Json, at: Path, given: GraderContext) -> tuple[Grader | None, list[Problem]]:
    """Read a grader. None without a problem means that the expectation states all of it."""
    if isinstance(raw, str) or (isinstance(raw, dict) and "ref" in raw):
        return _read_named({"ref": raw} if isinstance(raw, str) else raw, at, given)
    raw, problems = _move_into_config(raw, given)
    found, method = Mistakes(problems), None
    stated = found.take(read_right_keys(InlineGrader, raw))
    if stated is not None and isinstance(raw.get("config", {}), dict):
        method = found.take(_read_config(stated.type, stated.config, given, (*at, "config")), "config")
    elif hint := given.as_method(raw.get("type")) if isinstance(raw, dict) else "":
        found[:] = [replace(one, hint=hint) if one.at == ("type",) else one for one in found]
    if found or stated is None or method is None:
        return None, prefix_paths(found, at)
    name, says_required = stated.name or given.graders[type(method)].name, stated.required is not None
    required = given.required if stated.required is None else stated.required
    weight = float(stated.weight)
    return Grader(name, stated.type, method, weight, required, at, says_required=says_required), []


def _move_into_config(raw: Json, given: GraderContext) -> tuple[Json, list[Problem]]:
    """Return the grader with misplaced keys moved into its config, and the problems of those keys."""
    config = raw.get("config", {}) if isinstance(raw, dict) else None
    if not isinstance(config, dict):
        return raw, []
    rows = [row for row in given.graders.values() if row.method or row.kind != "code"]
    rows = [row for row in rows if row.kind == raw.get("type")] or rows
    keys = {"method"}.union(*(row.schema.__struct_fields__ for row in rows))
    keys -= {*InlineGrader.__struct_fields__}
    moved = {key: value for key, value in raw.items() if key in keys}
    problems = [
        Problem("BK103", f"{key!r} is beside the grader's config", f"move it in there: {key}", at=(key,))
        for key in moved
    ]
    others = {key: value for key, value in raw.items() if key not in moved}
    return ({**others, "config": {**moved, **config}} if moved else raw), problems


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


def _read_config(kind: str, config: dict[str, Json], given: GraderContext, at: Path) -> ReadConfig:
    """Read a config, which is at this path, by its stated method. Without one, that of a code grader follows
    from its keys or from the expectation, and model and human graders have a form of their own."""
    methods, stated = given.methods_of(kind), config.get("method")
    settings = {key: value for key, value in config.items() if key != "method"}
    row = methods.get(stated) if isinstance(stated, str) else None
    if kind != "code" and (stated is None or not methods):
        row = next(row for row in given.graders.values() if row.kind == kind and not row.method)
        return row.read_config(config, given.expected)
    if stated is None:
        by_keys = (row for row in methods.values() if settings.keys() & {*row.known_by})
        row = next(by_keys, given.row_expected)
        if row is not None and not row.method:
            if not settings:
                return None, []
            row = None
    if row is None and stated is None:
        return None, [Problem("BK712", "the grader has no method", f"one of {', '.join(methods)}", at=())]
    if row is None:
        usual = "" if kind == "code" else f"; without a method it is a {kind} grader"
        hint = given.as_method(stated) or suggest(str(stated), methods)
        hint = hint or f"one of {', '.join(methods)}{usual}"
        return None, [Problem("BK712", f"there is no method {stated!r}", hint, at=("method",))]
    method, problems = row.read_config(settings, given.expected)
    if method is None or row.compose is None:
        return method, problems
    parts: list[Grader] = []
    for raw, path in row.stated_parts(method):
        part_path = (*at, *path)
        part, part_problems = read(raw, part_path, replace(given, required=False))
        if part is not None:
            parts.append(part)
        elif not part_problems:
            part_problems = [Problem("BK712", "the grader has no method", "state one", at=part_path)]
        problems += [replace(problem, at=(problem.at or part_path)[len(at) :]) for problem in part_problems]
    return (None, problems) if problems else row.compose(method, parts)
