"""The experiment: each service is captured once, replayed over restarts and years, and broken place by place.

Measured are the false alarms of an unchanged service, and the changed values that nobody is told of."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

import pytest
from lasting_services import SERVICES, Running

from baselinekit.kinds.skill import SkillExecution
from baselinekit.learning.lesson import moments_of_now
from baselinekit.learning.varying import ReplayView, UnlearnablePlace, learn_places
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, Known, Rules
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json, Path as Place
from baselinekit.placeholders.grammar import escape_value, has_marker, split
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.paths import render
from baselinekit.values.places import places, with_values

NOW = 1_795_381_190.4
"""Nobody's today, and 40 seconds before midnight somewhere."""

DAY = 86_400.0
JUMPS = [1.0, DAY / 2, 40 * DAY, 3 * 365 * DAY, 97 * DAY, 3.0, DAY, 1000 * DAY, 5 * DAY / 24, 181 * DAY]
"""How far the clock of the services went on before each restart."""

PER_RESTART = 5
TOLD = {"/shuffled": {"rows": "order_ambiguous"}}
"""What a placeholder would hide: refused, and mended with the rule that the refusal names."""


def same_in_all(outputs: list[Json], known: Collection[Place]) -> list[tuple[Place, Json]]:
    """The leaves that are the same in all outputs, outside of the places that are known to vary."""
    others = [dict(places(output)) for output in outputs[1:]]
    return [
        (path, value)
        for path, value in places(outputs[0])
        if not isinstance(value, dict | list) and all(other.get(path) == value for other in others)
        if not any(path[:end] in known for end in range(len(path) + 1))
    ]


def learnt(outputs: list[Json]) -> tuple[Json, tuple[UnlearnablePlace, ...]]:
    """The stored output as a capture of two replays makes it."""
    words = PlaceholderContext(now=NOW)
    view = ReplayView(wholes=[("body",)], outcomes=[("status",)], words=words)
    found = learn_places(outputs, view)
    steady = same_in_all(outputs, {*found.placeholders, *(place.path for place in found.refusals)})
    of_now = moments_of_now(steady, NOW, view)
    texts = {place: item.proposal.text for item in of_now for place in item.places}
    return with_values(escape_value(outputs[0]), {**found.placeholders, **texts}), found.refusals


def matcher_of(stored: Json, refusal_kinds: dict[str, str]) -> Matcher:
    rules: dict[str, ArrayMode] = dict.fromkeys(refusal_kinds, "unordered")
    baseline = Baseline(
        "b",
        Recipe(None, SkillExecution("skill", "x")),
        baseline=Known(output=stored),
        comparison=Rules(arrays=rules),
    )
    return compile_baseline(baseline, PlaceholderContext())


@dataclass(frozen=True)
class Capture:
    """Two answers of a service, and what is stored of them."""

    answers: list[Json]
    stored: Json
    matcher: Matcher


@cache
def captured() -> dict[str, Capture]:
    """Each service, captured once."""
    made = {}
    with Running(0, NOW) as service:
        for path in SERVICES:
            answers = [service.ask(path), service.ask(path)]
            stored, refusals = learnt(answers)
            refusal_kinds = {f"body.{key}": kind for key, kind in TOLD.get(path, {}).items()}
            assert {render(place.path): place.kind for place in refusals} == refusal_kinds, path
            made[path] = Capture(answers, stored, matcher_of(stored, refusal_kinds))
    return made


@cache
def replayed() -> dict[str, list[Json]]:
    """What each service answered in all replays after that."""
    answers: dict[str, list[Json]] = {path: [] for path in SERVICES}
    now = NOW
    for number, jump in enumerate(JUMPS, 1):
        now += jump
        with Running(number, now) as service:
            for path in SERVICES:
                answers[path] += [service.ask(path) for _ in range(PER_RESTART)]
    return answers


@pytest.mark.parametrize("path", SERVICES)
def test_learnt_baseline_passes_over_restarts_and_years(path: str) -> None:
    """Measured: 0 false alarms in 50 replays of each service."""
    matcher = captured()[path].matcher
    answers = replayed()[path]
    assert len(answers) == 50
    false = {
        (render(difference.at), str(difference.expected), str(difference.actual)[:80])
        for answer in answers
        for difference in matcher.compare(Observation(answer, 0.0)).differences
    }
    assert not false, sorted(false)


def stated_leaves(stored: Json) -> Iterator[tuple[Place, Json]]:
    """The leaves that the stored output states, in whole or in part."""
    return ((path, value) for path, value in places(stored) if not isinstance(value, dict | list))


def breakages(path: Place, written: Json, actual: Json) -> Iterator[Json]:
    """Wrong values for a leaf: another one where the file states it, another type, nothing, an excuse."""
    if not isinstance(written, str) or not has_marker(written):
        if isinstance(actual, bool):
            yield not actual
        elif isinstance(actual, int | float):
            yield actual + 1
        elif isinstance(actual, str):
            yield f"{actual}x"
            yield actual[1:]
        yield "null" if actual is None else None
        return
    yield None
    yield [actual]
    yield "" if isinstance(actual, str) else str(actual)
    if isinstance(actual, str):
        yield "error: not available"
        for part in split(written):
            if isinstance(part, str) and part.strip() and actual.count(part) == 1:
                yield actual.replace(part, part + "?")
                yield actual.replace(part, "")
    elif isinstance(actual, int | float) and not isinstance(actual, bool):
        yield "NaN"


@pytest.mark.parametrize("path", SERVICES)
def test_learnt_baseline_reports_each_broken_value(path: str) -> None:
    """Measured: no broken value is missed, whether it is stated in whole, in part or by its form."""
    stored, matcher = captured()[path].stored, captured()[path].matcher
    answer = replayed()[path][17]
    assert matcher.compare(Observation(answer, 0.0)).passed
    tried, missed = 0, []
    actual_at = dict(places(answer))
    for at, written in stated_leaves(stored):
        for wrong in breakages(at, written, actual_at[at]):
            tried += 1
            if matcher.compare(Observation(with_values(answer, {at: wrong}), 0.0)).passed:
                missed.append((render(at), written, wrong))
    assert not missed
    assert tried >= 5


def test_learnt_baseline_keeps_steady_values() -> None:
    """Only what varied, and moments of now, have a placeholder."""
    of_now = {("body", key) for key in ("started", "since", "started_at", "boot", "banner", "today", "day")}
    for path, capture in captured().items():
        same = {at for at, _ in same_in_all(capture.answers, ())}
        varying = {
            at for at, value in stated_leaves(capture.stored) if isinstance(value, str) and has_marker(value)
        }
        assert same & varying <= of_now | {("body", "s3")}, path
