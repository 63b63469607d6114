"""Checks of a text, one line each (`contains: <diff>`), and the graders that they mean."""

from collections.abc import Callable, Mapping, Sequence

from baselinekit.errors import Problem, suggest
from baselinekit.graders import graders
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import Contains, RegexMatch, TokenCount
from baselinekit.graders.task import GradeClients
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader, Method
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.schema import prefix_paths
from baselinekit.structs import Struct, replace


class CheckForm(Struct):
    """The form of a check: which values it accepts, the grader that a value means, and the value of a
    grader."""

    accepts: Callable[[Json], bool]
    hint: str
    method: Callable[..., Method]
    value: Callable[[Method], Json]


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value)


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_LISTS = ("all", "any", "none")


def _only_text(texts: Sequence[str]) -> Json:
    return texts[0] if len(texts) == 1 else None


def _texts(name: str) -> Callable[[Method], Json]:
    """The texts of one list, where it is the only one."""

    def value(method: Method) -> Json:
        is_plain = isinstance(method, Contains) and method.case_sensitive and method.of is None
        if not is_plain or [key for key in _LISTS if getattr(method, key)] != [name]:
            return None
        return list(getattr(method, name))

    return value


def _single(name: str) -> Callable[[Method], Json]:
    return lambda method: _only_text(texts) if isinstance(texts := _texts(name)(method), list) else None


def _pattern(must_match: bool) -> Callable[[Method], Json]:
    def value(method: Method) -> Json:
        is_plain = isinstance(method, RegexMatch) and not method.flags and method.of is None
        return method.pattern if is_plain and method.must_match is must_match else None

    return value


def _bound(name: str, other: str) -> Callable[[Method], Json]:
    def value(method: Method) -> Json:
        return (
            getattr(method, name)
            if isinstance(method, TokenCount) and getattr(method, other) is None
            else None
        )

    return value


def _schema(method: Method) -> Json:
    return method.schema if isinstance(method, JsonSchema) and method.of is None else None


_TEXT, _TEXTS, _COUNT = "a text that is not empty", "a list of texts", "a whole number of words"

FORMS: Mapping[str, CheckForm] = {
    "contains": CheckForm(_is_text, _TEXT, lambda text: Contains(all=[text]), _single("all")),
    "not_contains": CheckForm(_is_text, _TEXT, lambda text: Contains(none=[text]), _single("none")),
    "contains_any": CheckForm(_are_texts, _TEXTS, lambda texts: Contains(any=texts), _texts("any")),
    "contains_all": CheckForm(_are_texts, _TEXTS, lambda texts: Contains(all=texts), _texts("all")),
    "matches": CheckForm(_is_text, "a regular expression", RegexMatch, _pattern(must_match=True)),
    "not_matches": CheckForm(
        _is_text,
        "a regular expression",
        lambda text: RegexMatch(text, must_match=False),
        _pattern(must_match=False),
    ),
    "min_tokens": CheckForm(_is_count, _COUNT, lambda least: TokenCount(min=least), _bound("min", "max")),
    "max_tokens": CheckForm(_is_count, _COUNT, lambda most: TokenCount(max=most), _bound("max", "min")),
    "json_schema": CheckForm(
        lambda value: isinstance(value, dict | bool),
        "a JSON Schema",
        lambda schema: JsonSchema(schema),
        _schema,
    ),
}


def check_of(grader: Grader) -> dict[str, Json] | None:
    """A grader as one line; None where no line says the same."""
    for name, form in FORMS.items():
        if (value := form.value(grader.method)) is not None:
            return {name: value}
    return None


def read_checks(checks: Sequence[Mapping[str, Json]]) -> tuple[list[Grader], list[Problem]]:
    """The graders of some checks, each with a name of its own, and the problems of the checks."""
    check_graders: list[Grader] = []
    problems: list[Problem] = []
    counts: dict[str, int] = {}
    for number, raw in enumerate(checks):
        if len(raw) != 1:
            hint = "write each as an entry of its own: - contains: …"
            problems.append(Problem("BK712", "a check has one key", hint, at=(number,)))
            continue
        ((name, value),) = raw.items()
        form = FORMS.get(name)
        if form is None:
            hint = suggest(name, FORMS) or f"one of {', '.join(FORMS)}"
            problems.append(Problem("BK712", f"there is no check {name!r}", hint, at=(number, name)))
        elif not form.accepts(value):
            problems.append(Problem("BK712", f"{name} is not {form.hint}", "", at=(number, name)))
        else:
            counts[name] = count = counts.get(name, 0) + 1
            grader_name = name if count == 1 else f"{name} {count}"
            check_graders.append(Grader(grader_name, "code", form.method(value), at=(number, name)))
    return check_graders, problems


def problems_of_checks(recipe: Recipe, at: Path) -> list[Problem]:
    """The problems of a recipe's checks that are known before anything is asked."""
    check_graders, problems = read_checks(recipe.checks)
    case = Case("", recipe, tuple(check_graders))
    for grader in check_graders:
        inner = (replace(problem, at=grader.at) for problem in graders.problems_of(grader, case))
        problems += inner
    return prefix_paths(problems, at)


def grade_checks(recipe: Recipe, observation: Observation, clients: GradeClients) -> list[Grade]:
    """The grade of each check of a recipe for an answer."""
    check_graders, _ = read_checks(recipe.checks)
    case = Case("", recipe, tuple(check_graders))
    return [graders.grade(grader, case, observation, clients) for grader in check_graders]
