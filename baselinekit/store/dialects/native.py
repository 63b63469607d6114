"""The form of the reference: `id, name, …, baseline, current, comparison, metadata`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from baselinekit.errors import Problem
from baselinekit.model.baselines import Baseline, Known, Metadata, Rules, Source
from baselinekit.model.recipes import HttpFlow, HttpRequest, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.store import checks
from baselinekit.store.validate import BaselineRecord, Current, check

_MAY_BE_EMPTY = ("baseline", "comparison", "metadata")
_PARTS: dict[str, tuple[Any, Callable[[Any], Iterable[Problem]]]] = {
    "baseline": (Known, checks.check_known),
    "current": (Current, checks.check_recipe),
    "comparison": (Rules, checks.check_rules),
    "metadata": (Metadata, checks.check_metadata),
}


def read(raw: dict[str, Json], source: Source) -> tuple[Baseline | None, list[Problem]]:
    """The baseline, or everything that is wrong with it."""
    if None in raw.values():  # a key with nothing behind it is as good as none
        raw = {key: value for key, value in raw.items() if value is not None or key not in _MAY_BE_EMPTY}
    record, problems = check(BaselineRecord, raw)
    if record is None:
        return None, [*problems, *_in_what_is_right(raw, {(problem.at or ("",))[0] for problem in problems})]
    baseline = Baseline(
        id=record.id,
        current=recipe(record.current.input, record.current.execution),
        name=record.name,
        description=record.description,
        baseline_version=record.baseline_version,
        baseline=record.baseline,
        comparison=settled(record.comparison),
        metadata=record.metadata,
        source=source,
    )
    return baseline, [*problems_of(baseline), *checks.check_lists(record.comparison)]


def _in_what_is_right(raw: dict[str, Json], wrong: set[str | int]) -> Iterator[Problem]:
    """What else is wrong, in those parts of a record whose types are right."""
    if isinstance(raw.get("id"), str):
        yield from checks.check_id(raw["id"])
    for key, (kind, look) in _PARTS.items():
        if key in raw and key not in wrong:
            yield from look(check(kind, raw[key])[0])


def path(native: Path) -> Path:
    """Where something of the model stands in this form."""
    return native


def recipe(asked: Json, execution: object) -> Recipe:
    """A recipe with its methods in capitals."""
    if isinstance(asked, HttpRequest):
        asked = _in_capitals(asked)
    elif isinstance(asked, HttpFlow) and any(not step.method.isupper() for step in asked.steps):
        asked = replace(asked, steps=[_in_capitals(step) for step in asked.steps])
    return Recipe(asked, execution)  # type: ignore[arg-type]  # pydantic has chosen a member of the union


def problems_of(baseline: Baseline) -> list[Problem]:
    """What is wrong beyond the types."""
    return [
        *checks.check_id(baseline.id),
        *checks.check_known(baseline.baseline),
        *checks.check_recipe(baseline.current),
        *checks.check_rules(baseline.comparison),
        *checks.check_metadata(baseline.metadata),
    ]


def settled(rules: Rules) -> Rules:
    """The rules with the lists that may also stand in `options` where everybody looks for them."""
    options = rules.options
    if options is None or (options.ignore_values is None and options.require_keys is None):
        return rules
    return replace(
        rules,
        ignore_values=rules.ignore_values or options.ignore_values or [],
        require_keys=rules.require_keys or options.require_keys or [],
        options=replace(options, ignore_values=None, require_keys=None),
    )


def _in_capitals(request: HttpRequest) -> HttpRequest:
    if request.method.isupper() or "{{" in request.method:
        return request
    return replace(request, method=request.method.upper())
