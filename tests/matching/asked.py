"""The matcher's answer to a case of the oracle: pass, fail, refused, or error with what went wrong."""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from oracle import verdicts
from oracle_paths import Place, below, value_at
from oracle_rules import Case

from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.skill import SkillExecution
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, Known, Rules
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.schema import read_as
from baselinekit.structs import replace

HTTP = Recipe(HttpRequest(url="http://127.0.0.1/"), HttpExecution("http"))
SKILL = Recipe("question", SkillExecution("skill", "one"))


TRIES = 2_000
"""After so many smaller cases a case is small enough: a shrunken failure is to come within seconds."""


def answer(case: Case) -> tuple[str, str]:
    """The verdict, and what was said with it."""
    recipe: Any = HTTP if case.http else SKILL
    rules, _ = read_as(Rules, json.loads(json.dumps(case.rules)))
    assert rules is not None
    baseline = Baseline("one", recipe, baseline=Known(output=case.expected), comparison=rules)
    try:
        matcher = compile_baseline(baseline, PlaceholderContext())
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


def disagrees(case: Case) -> str | None:
    """How the matcher's answer is none of those that the specification allows, if so."""
    allowed = verdicts(case)
    said, why = answer(case)
    return (
        None if said in allowed else f"{' or '.join(sorted(allowed))} by the specification, but {said}: {why}"
    )


def smaller(value: Any) -> Iterator[Any]:
    """The same value with one part less, or with a simpler one in it."""
    if isinstance(value, dict):
        for key in value:
            yield {known: one for known, one in value.items() if known != key}
        for key, child in value.items():
            for less in smaller(child):
                yield {**value, key: less}
    elif isinstance(value, list):
        for at, child in enumerate(value):
            yield [*value[:at], *value[at + 1 :]]
            for less in smaller(child):
                yield [*value[:at], less, *value[at + 1 :]]


def candidates(case: Case) -> Iterator[Case]:
    """Smaller cases: a rule less, a key or an element less in one output or in both."""
    for kind, rules in case.rules.items():
        for less in smaller(rules) if kind != "type" else [None]:
            if not isinstance(rules, dict) or all(rules[key] == one for key, one in less.items()):
                kept = {**case.rules, kind: less}
                yield replace(case, rules={known: one for known, one in kept.items() if one})
    for expected in smaller(case.expected):
        yield replace(case, expected=expected)
    for actual in smaller(case.actual):
        yield replace(case, actual=actual)
    for place, value in below(case.expected)[1:]:
        for less in [*(removed(case, place)), *replaced(case, place, value)]:
            yield less


def removed(case: Case, place: Place) -> Iterator[Case]:
    with suppress(KeyError, IndexError, TypeError):
        expected, actual = copy.deepcopy(case.expected), copy.deepcopy(case.actual)
        for document in (expected, actual):
            del value_at(document, place[:-1])[place[-1]]
        yield replace(case, expected=expected, actual=actual)


def replaced(case: Case, place: Place, value: Any) -> Iterator[Case]:
    """The actual output with the stored value at this place."""
    with suppress(KeyError, IndexError, TypeError):
        if value_at(case.actual, place) != value and not isinstance(value, str):
            actual = copy.deepcopy(case.actual)
            value_at(actual, place[:-1])[place[-1]] = copy.deepcopy(value)
            yield replace(case, actual=actual)


def shrunken(case: Case, wrong: Callable[[Case], str | None] = disagrees) -> Case:
    """A case that is wrong in the same way, from which nothing more can be taken. `wrong` says how."""

    tries = iter(range(TRIES))

    def same(other: Case) -> bool:
        if next(tries, None) is None:
            return False
        with suppress(Exception):
            how = wrong(other)
            return how is not None and how.split(":")[0] == wanted.split(":")[0]
        return False

    wanted = wrong(case) or ""
    found: Case | None = case
    while found:
        case = found
        found = next((one for one in candidates(case) if same(one)), None)
    return case


def pasteable(case: Case) -> str:
    """The case as Python source."""
    http = ", http=True" if case.http else ""
    return f"Case({case.expected!r},\n     {case.actual!r},\n     {case.rules!r}{http})"
