"""Checks of a text, one line each (`contains: <diff>`), and the graders that they mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from baselinekit.errors import Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.grade.by_schema import JsonSchema
from baselinekit.grade.by_text import Contains, RegexMatch, TokenCount
from baselinekit.grade.task import GradeClients
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader, Method
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.schema.records import below
from baselinekit.tree.equality import canonical


@frozen
class CheckForm:
    """What a check is written with: the grader that a value means, and back."""

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


def _only(texts: Sequence[str]) -> Json:
    return texts[0] if len(texts) == 1 else None


def _texts(name: str) -> Callable[[Method], Json]:
    """The texts of one list, where it is the only one."""

    def value(how: Method) -> Json:
        is_plain = isinstance(how, Contains) and how.case_sensitive and how.of is None
        if not is_plain or [key for key in _LISTS if getattr(how, key)] != [name]:
            return None
        return list(getattr(how, name))

    return value


def _single(name: str) -> Callable[[Method], Json]:
    return lambda how: _only(texts) if isinstance(texts := _texts(name)(how), list) else None


def _pattern(must_match: bool) -> Callable[[Method], Json]:
    def value(how: Method) -> Json:
        is_plain = isinstance(how, RegexMatch) and not how.flags and how.of is None
        return how.pattern if is_plain and how.must_match is must_match else None

    return value


def _bound(name: str, other: str) -> Callable[[Method], Json]:
    def value(how: Method) -> Json:
        return getattr(how, name) if isinstance(how, TokenCount) and getattr(how, other) is None else None

    return value


def _schema(how: Method) -> Json:
    return how.schema if isinstance(how, JsonSchema) and how.of is None else None


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
    """The graders of some checks, each of a name of its own, and what is wrong with any of them."""
    found: list[Grader] = []
    problems: list[Problem] = []
    often: dict[str, int] = {}
    for number, raw in enumerate(checks):
        if len(raw) != 1:
            hint = "write each as an entry of its own: - contains: …"
            problems.append(Problem("BK712", "a check has one key", hint, at=(number,)))
            continue
        ((name, value),) = raw.items()
        form = FORMS.get(name)
        if form is None:
            hint = nearest(name, FORMS) or f"one of {', '.join(FORMS)}"
            problems.append(Problem("BK712", f"there is no check {name!r}", hint, at=(number, name)))
        elif not form.accepts(value):
            problems.append(Problem("BK712", f"{name} is not {form.hint}", "", at=(number, name)))
        else:
            often[name] = count = often.get(name, 0) + 1
            shown = name if count == 1 else f"{name} {count}"
            found.append(Grader(shown, "code", form.method(value), at=(number, name)))
    return found, problems


def problems_of_checks(recipe: Recipe, at: Path) -> list[Problem]:
    """What is wrong with the checks of a recipe before anything is asked."""
    found, problems = read_checks(recipe.checks)
    case = Case("", recipe, tuple(found))
    for grader in found:
        inner = (replace(problem, at=grader.at) for problem in graders.problems_of(grader, case))
        problems += inner
    return below(problems, at)


def checked(recipe: Recipe, observation: Observation, clients: GradeClients) -> list[Grade]:
    """What each check of a recipe says of an answer."""
    found, _ = read_checks(recipe.checks)
    case = Case("", recipe, tuple(found))
    return [graders.grade(grader, case, observation, clients) for grader in found]


# What checks ask for together, and whether that includes what another one asks for.


_MOST_PAIRS = 1_000_000
"""Of more texts only those count that are the same: to look for each in each takes too long."""


class AskedFor:
    """All that some checks ask for. Of two patterns or schemas that differ it is not known which one takes
    more."""

    def __init__(self, checks: Sequence[Mapping[str, Json]]):
        self._same = set(map(canonical, checks))
        methods = [grader.method for grader in read_checks(checks)[0]]
        lists = [how for how in methods if isinstance(how, Contains)]
        counts = [how for how in methods if isinstance(how, TokenCount)]
        self._one_of = [[text] for how in lists for text in how.all] + [how.any for how in lists if how.any]
        self._none = [text for how in lists for text in how.none]
        self._least = max((how.min for how in counts if how.min is not None), default=0)
        self._most = min((how.max for how in counts if how.max is not None), default=None)
        self._texts = len(self._none) + sum(map(len, self._one_of))

    def includes(self, check: Mapping[str, Json]) -> bool:
        """Whether no text that passes all of these fails this one."""
        if canonical(check) in self._same:
            return True
        found, _ = read_checks([check])
        how = found[0].method if found else None
        if isinstance(how, TokenCount):
            is_long = how.min is None or self._least >= how.min
            return is_long and (how.max is None or (self._most is not None and self._most <= how.max))
        return isinstance(how, Contains) and self._includes_texts(how)

    def _includes_texts(self, how: Contains) -> bool:
        if (len(how.all) + len(how.any) + len(how.none)) * self._texts > _MOST_PAIRS:
            return False
        asked = [[text] for text in how.all] + ([how.any] if how.any else [])
        return all(
            any(
                all(any(_within(text, other) for text in texts) for other in others)
                for others in self._one_of
            )
            for texts in asked
        ) and all(any(_within(other, text) for other in self._none) for text in how.none)


def _within(part: str, whole: str) -> bool:
    """Whether a text is part of another one, whatever variables stand for."""
    return part == whole or ("{{" not in part and "{{" not in whole and part in whole)
