"""Checks of a text, one line each (`contains: <diff>`), and the graders that they mean."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from baselinekit.errors import Problem, suggest
from baselinekit.graders import graders
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import Contains, RegexMatch, TokenCount
from baselinekit.graders.task import GradeClients
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader, Method
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import Count, Meta, Struct, field, replace


class CheckForm(Struct):
    """The form of a check: the type of its value, the key that this becomes in the config of its grader, and
    what else the config states."""

    kind: Any
    config: type[Any]
    key: str
    others: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_in_list(self) -> bool:
        return self.kind is _Text and self.config is Contains

    def method(self, value: Json) -> Method:
        return self.config(**{self.key: [value] if self.is_in_list else value}, **self.others)

    def value(self, method: Any) -> Json:
        value = getattr(method, self.key)
        return next(iter(value), None) if self.is_in_list else value


_Text = Annotated[str, Meta(min_length=1, description="a text that is not empty")]
_Texts = Annotated[list[_Text], Meta(min_length=1, description="a list of texts")]
_Schema = dict[str, Any] | bool
FORMS: Mapping[str, CheckForm] = {
    "contains": CheckForm(_Text, Contains, "all"),
    "not_contains": CheckForm(_Text, Contains, "none"),
    "contains_any": CheckForm(_Texts, Contains, "any"),
    "contains_all": CheckForm(_Texts, Contains, "all"),
    "matches": CheckForm(_Text, RegexMatch, "pattern"),
    "not_matches": CheckForm(_Text, RegexMatch, "pattern", {"must_match": False}),
    "min_tokens": CheckForm(Count, TokenCount, "min"),
    "max_tokens": CheckForm(Count, TokenCount, "max"),
    "json_schema": CheckForm(_Schema, JsonSchema, "schema"),
}


def check_of(grader: Grader) -> dict[str, Json] | None:
    """A grader as one line; None where no line says the same."""
    for name, form in FORMS.items():
        if isinstance(grader.method, form.config):
            value = form.value(grader.method)
            if not read_as(form.kind, value)[1] and form.method(value) == grader.method:
                return {name: value}
    return None


def read_checks(checks: Sequence[Mapping[str, Json]]) -> tuple[list[Grader], list[Problem]]:
    """The graders of some checks, each with a name of its own, and the problems of the checks."""
    check_graders: list[Grader] = []
    problems: list[Problem] = []
    counts = Counter[str]()
    for number, raw in enumerate(checks):
        if len(raw) != 1:
            hint = "write each as an entry of its own: - contains: …"
            problems.append(Problem("BK712", "a check has one key", hint, at=(number,)))
            continue
        ((name, value),) = raw.items()
        if name not in FORMS:
            hint = suggest(name, FORMS) or f"one of {', '.join(FORMS)}"
            problems.append(Problem("BK712", f"there is no check {name!r}", hint, at=(number, name)))
        elif wrong := read_as(FORMS[name].kind, value)[1]:
            problems += prefix_paths(wrong, (number, name))
        else:
            counts[name] += 1
            grader_name = name if counts[name] == 1 else f"{name} {counts[name]}"
            check_graders.append(Grader(grader_name, "code", FORMS[name].method(value), at=(number, name)))
    return check_graders, problems


def problems_of_checks(recipe: Recipe, at: Path) -> list[Problem]:
    """The problems of a recipe's checks that are known before anything is asked."""
    check_graders, problems = read_checks(recipe.checks)
    case = Case("", recipe, tuple(check_graders))
    for grader in check_graders:
        problems += [replace(problem, at=grader.at) for problem in graders.problems_of(grader, case)]
    return prefix_paths(problems, at)


def grade_checks(recipe: Recipe, observation: Observation, clients: GradeClients) -> list[Grade]:
    """The grade of each check of a recipe for an answer."""
    check_graders, _ = read_checks(recipe.checks)
    case = Case("", recipe, tuple(check_graders))
    return [graders.grade(grader, case, observation, clients) for grader in check_graders]
