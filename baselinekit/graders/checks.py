"""Checks of a text, one line each (`contains: <diff>`), and the graders that they mean."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    """The form of a check: which values it accepts, the config of its grader, and how to get one from the
    other."""

    accepts: Callable[[Json], bool]
    hint: str
    config: type[Any]
    method: Callable[..., Method]
    value: Callable[[Any], Json]


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value)


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_schema(value: Json) -> bool:
    return isinstance(value, dict | bool)


_ACCEPTED: Mapping[str, tuple[Callable[[Json], bool], str]] = {
    "any": (_are_texts, "a list of texts"),
    "all": (_are_texts, "a list of texts"),
    "pattern": (_is_text, "a regular expression"),
    "min": (_is_count, "a whole number of words"),
    "max": (_is_count, "a whole number of words"),
    "schema": (_is_schema, "a JSON Schema"),
}


def _form(config: type[Any], key: str, **others: Json) -> CheckForm:
    """A check that states one key of a config."""
    accepts, hint = _ACCEPTED[key]
    return CheckForm(
        accepts,
        hint,
        config,
        lambda value: config(**{key: value}, **others),
        lambda method: getattr(method, key),
    )


def _text_form(key: str) -> CheckForm:
    """A check that states the only text of a list."""
    return CheckForm(
        _is_text,
        "a text that is not empty",
        Contains,
        lambda text: replace(Contains(), **{key: [text]}),
        lambda method: next(iter(getattr(method, key)), None),
    )


FORMS: Mapping[str, CheckForm] = {
    "contains": _text_form("all"),
    "not_contains": _text_form("none"),
    "contains_any": _form(Contains, "any"),
    "contains_all": _form(Contains, "all"),
    "matches": _form(RegexMatch, "pattern"),
    "not_matches": _form(RegexMatch, "pattern", must_match=False),
    "min_tokens": _form(TokenCount, "min"),
    "max_tokens": _form(TokenCount, "max"),
    "json_schema": _form(JsonSchema, "schema"),
}


def check_of(grader: Grader) -> dict[str, Json] | None:
    """A grader as one line; None where no line says the same."""
    for name, form in FORMS.items():
        if isinstance(grader.method, form.config):
            value = form.value(grader.method)
            if form.accepts(value) and form.method(value) == grader.method:
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
