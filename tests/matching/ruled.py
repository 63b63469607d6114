"""Rules, baselines and differences as tests write them down."""

from typing import Any

from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.programs import CommandExecution, CommandInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import (
    Baseline,
    By,
    Comparison,
    FieldRule,
    Known,
    Latency,
    Observed,
    Options,
    Rules,
    Tolerance,
)
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.paths import render

RECIPES = {
    "skill": Recipe(None, SkillExecution("skill", "x")),
    "http": Recipe(HttpRequest(endpoint="/x"), HttpExecution("http")),
    "command": Recipe(CommandInput(["x"]), CommandExecution("command")),
}


def rules_of(stated: dict[str, Any] | None) -> Rules:
    """The rules as a file states them, without the file."""
    given = dict(stated or {})
    if "options" in given:
        given["options"] = Options(**given["options"])
    given["tolerance"] = {
        path: Tolerance(**bounds) if isinstance(bounds, dict) else bounds
        for path, bounds in given.get("tolerance", {}).items()
    }
    given["arrays"] = {
        path: By(**how) if isinstance(how, dict) else how for path, how in given.get("arrays", {}).items()
    }
    given["fields"] = {path: _field(rule) for path, rule in given.get("fields", {}).items()}
    if "latency" in given:
        given["latency"] = Latency(**given["latency"])
    return Rules(**given)


def _field(stated: dict[str, Any]) -> FieldRule:
    given = dict(stated)
    if "options" in given:
        given["options"] = Options(**given["options"])
    return FieldRule(**given)


def matcher(
    expected: Json,
    rules: dict[str, Any] | None = None,
    recipe: str | Recipe = "skill",
    words: PlaceholderContext | None = None,
    seconds: float | None = None,
) -> Matcher:
    known = Known(output=expected, observed=None if seconds is None else Observed(seconds))
    chosen = RECIPES[recipe] if isinstance(recipe, str) else recipe
    return compile_baseline(
        Baseline("x", chosen, baseline=known, comparison=rules_of(rules)), words or PlaceholderContext()
    )


def compare(
    expected: Json,
    actual: Json,
    rules: dict[str, Any] | None = None,
    recipe: str | Recipe = "skill",
    words: PlaceholderContext | None = None,
) -> Comparison:
    return matcher(expected, rules, recipe, words).compare(Observation(actual, 0.0))


def shown(comparison: Comparison) -> list[list[str]]:
    return [[render(difference.path), difference.kind] for difference in comparison.differences]
