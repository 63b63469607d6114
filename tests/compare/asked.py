"""The matcher's answer to a case of the oracle: pass, fail, refused, or error with what went wrong."""

import json
from functools import cache
from typing import Any

from oracle import Case
from pydantic import TypeAdapter

from baselinekit.compare.dispatch import compile_baseline
from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.model.baselines import Baseline, Known, Rules
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import HttpExecution, HttpRequest, Recipe, SkillExecution
from baselinekit.placeholders.table import Words


@cache
def reader() -> TypeAdapter[Rules]:
    return TypeAdapter(Rules)


HTTP = Recipe(HttpRequest(url="http://127.0.0.1/"), HttpExecution("http"))
SKILL = Recipe("question", SkillExecution("skill", "one"))


def answer(case: Case) -> tuple[str, str]:
    """The verdict, and what was said with it."""
    recipe: Any = HTTP if case.http else SKILL
    rules = reader().validate_json(json.dumps(case.rules))
    baseline = Baseline("one", recipe, baseline=Known(output=case.expected), comparison=rules)
    try:
        matcher = compile_baseline(baseline, Words())
    except InvalidInput as error:
        return "refused", str(error)
    except Exception as error:
        return "internal", repr(error)
    try:
        comparison = matcher.compare(Observation(case.actual, 0.0))
    except BaselinekitError as error:
        return "error", str(error)
    except Exception as error:
        return "internal", repr(error)
    return ("pass" if comparison.passed else "fail"), "; ".join(map(str, comparison.differences[:3]))
