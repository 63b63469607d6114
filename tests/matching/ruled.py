"""Rules, baselines and differences as tests write them down."""

from typing import Any

import msgspec

from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.programs import CommandExecution, CommandInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Comparison, Known, Observed, Rules
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.paths import render

RECIPES = {
    "skill": Recipe(None, SkillExecution("skill", "x")),
    "http": Recipe(HttpRequest(endpoint="/x"), HttpExecution("http")),
    "command": Recipe(CommandInput(["x"]), CommandExecution("command")),
}


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
        Baseline("x", chosen, baseline=known, comparison=msgspec.convert(rules or {}, Rules)),
        words or PlaceholderContext(),
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
