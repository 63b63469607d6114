"""Finds what a change to the checks and scores of a recipe lets pass that failed before.

No refresh writes checks or scores, so none of these changes is `honest`. Where it is uncertain whether a
check asks for as much as the one before, or how a judge understands other words, the change is reported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from baselinekit.commands.loosened import Loosened, short
from baselinekit.graders.checks import CheckRequirements
from baselinekit.kinds.kind import CHECKS, EXECUTION, FAILED, PASSED, SCORES
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Recipe, Scores
from baselinekit.model.values import Json, Path
from baselinekit.values.equality import canonical, is_number

CHECKS_AT, SCORES_AT = (*EXECUTION, CHECKS), (*EXECUTION, "scores")

_LISTS = {"contains_all": "-", "contains_any": "+"}
"""Checks with a list of texts: whether a removed text (-) or an added text (+) asks for less."""


def regraded(before: Baseline, after: Baseline) -> Iterator[Loosened]:
    """Compare the checks and scores of two recipes of one kind."""
    yield from _compare_checks(before, after)
    yield from _compare_scores(before.current.scores, after.current.scores)


def _compare_checks(before: Baseline, after: Baseline) -> Iterator[Loosened]:
    old, new = before.current.checks, after.current.checks
    if canonical(old) == canonical(new):
        return
    asked_for, old_checks = CheckRequirements(new), set(map(canonical, old))
    removed = [check for check in old if not asked_for.includes(check)]
    altered = [number for number, check in enumerate(new) if canonical(check) not in old_checks]
    for check in removed:
        name = next(iter(check), "")
        number = next((number for number in altered if name in new[number]), None)
        if number is None:
            yield Loosened(CHECKS_AT, f"is no longer checked: {short(check)}")
        else:
            altered.remove(number)
            message = f"{name}: {_describe_difference(name, check[name], new[number][name])}"
            yield Loosened((*CHECKS_AT, number), message)
    if old and not removed and not _all_passed(before):
        yield Loosened(CHECKS_AT, "other checks, and an answer is expected that fails one of them")


def _describe_difference(name: str, old: Json, new: Json) -> str:
    if name in _LISTS and isinstance(old, list) and isinstance(new, list):
        (shorter, longer), sign = ((old, new) if _LISTS[name] == "+" else (new, old)), _LISTS[name]
        signed = [f"{sign}{short(text)}" for text in longer if text not in shorter]
        if signed:
            return " ".join(signed)
    then, now = short(old), short(new)
    return f"{then} -> {now}" if then != now else f"another one: {now}"


def _all_passed(baseline: Baseline) -> bool:
    """Whether every check is expected to pass: where one is expected to fail, a stricter check lets more
    pass."""
    known = baseline.baseline
    outputs = [known.output, *(variant.output for variant in known.variants)] if known is not None else []
    graded = (output.get(CHECKS) for output in outputs if isinstance(output, dict))
    return all(
        result == PASSED for checks in graded if isinstance(checks, dict) for result in checks.values()
    )


def _compare_scores(old: Scores | None, new: Scores | None) -> Iterator[Loosened]:
    if old is None or old == new:
        return
    if new is None:
        yield Loosened(SCORES_AT, "the text is no longer scored")
        return
    for field in fields(Scores):
        at: Path = (*SCORES_AT, field.name)
        then, now = getattr(old, field.name), getattr(new, field.name)
        if field.name == "at_least":
            if then is not None and (now is None or now < then):
                yield Loosened(at, f"{then:g} -> {'nothing' if now is None else f'{now:g}'}")
        elif isinstance(then, dict) and isinstance(now, dict):
            yield from _compare_criteria(then, now, at)
        elif then != now:
            yield Loosened(at, f"scored otherwise: {short(then)} -> {short(now)}")


def _compare_criteria(old: Mapping[str, str], new: Mapping[str, str], at: Path) -> Iterator[Loosened]:
    """Compare criteria. A judge reads all of them at once, so a new one may change its scores for the
    others."""
    for name in {**old, **new}:
        if name not in new:
            yield Loosened(at, f"is no longer scored: {name}")
        elif name not in old:
            yield Loosened((*at, name), f"is scored now: {short(new[name])}")
        elif old[name] != new[name]:
            yield Loosened((*at, name), f"scored otherwise: {short(old[name])} -> {short(new[name])}")


def is_unmet(recipe: Recipe, at: Sequence[str | int], stored: Json) -> bool:
    """Whether the stored value at a path of an output is a failed check, or a score below the minimum."""
    value: Json = stored
    for key in at:
        value = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
    if at[:1] == (CHECKS,):
        return bool(recipe.checks) and value == FAILED
    least = recipe.scores.at_least if recipe.scores is not None else None
    return at[:1] == (SCORES,) and least is not None and is_number(value) and value < least
