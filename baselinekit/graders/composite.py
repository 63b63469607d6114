"""A grader that is made of others: their scores become one by a weighted mean, or by a judge that is given
their results.

A gate that fails in a part fails the whole, whatever its score is. A part that could not judge makes the
whole an error, unless the aggregator has another `on_error`; a part that waits for people makes it wait."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from baselinekit.errors import Problem
from baselinekit.graders import base
from baselinekit.graders.base import GradeClients, GraderType, ReadConfig, StatedPart, Task
from baselinekit.model.baselines import Number
from baselinekit.model.grades import Grade, Grader, Method, Outcome, PassRule
from baselinekit.model.recipes import Observation, Usage
from baselinekit.model.values import Json
from baselinekit.structs import NotNegative, Struct, Threshold, field, replace

AggregatorType = Literal["weighted_average", "code_judge", "llm_judge"]
OnError = Literal["error", "zero", "ignore"]


_JUDGES = {"code_judge": "code", "llm_judge": "model"}
"""The aggregators that are graders themselves, with their kind."""


class Aggregator(Struct):
    """How several scores become one: by their mean with `weights` (by the graders' names; else the weight
    that each states), or by a judge with its `config`, which is given all results. `on_error`: what a part
    does that could not judge: make the whole an error, count as 0, or not count."""

    type: AggregatorType = "weighted_average"
    weights: dict[str, NotNegative] = field(default_factory=dict)
    config: dict[str, Json] = field(default_factory=dict)
    on_error: OnError = "error"


class StatedComposite(Struct):
    """A composite as a file states it. `pass_at`: the score that passes, if it differs from the
    case's."""

    graders: list[Any]
    aggregator: Aggregator = field(default_factory=Aggregator)
    pass_at: Threshold | None = None


class Composite(Struct):
    """Graders with unique names, and their weights. `judge`: the grader that makes one score of their
    results, if that is not their mean."""

    graders: tuple[Grader, ...]
    judge: Grader | None = None
    on_error: OnError = "error"
    pass_at: Number | None = None

    @property
    def parts(self) -> tuple[Grader, ...]:
        return (*self.graders, self.judge) if self.judge is not None else self.graders

    def changed(self, change: Callable[[Grader], Grader]) -> "Composite":
        """The same composite of changed parts."""
        judge = None if self.judge is None else change(self.judge)
        return replace(self, graders=tuple(map(change, self.graders)), judge=judge)


def make_composite(
    graders: Sequence[Grader],
    aggregator: Aggregator,
    judge: Grader | None = None,
    pass_at: Number | None = None,
) -> tuple[Composite, list[Problem]]:
    """The composite of these graders, and its problems with paths below its config. `judge`: the aggregator,
    if it is a grader."""
    named = with_unique_names(graders)
    names = {grader.name for grader in named}
    at = ("aggregator", "weights")
    problems = []
    for name in aggregator.weights:
        if name not in names:
            hint = f"there are {', '.join(sorted(names))}"
            problems.append(Problem("BK702", f"there is no grader {name!r} in it", hint, at=(*at, name)))
    if judge is not None:
        judge = replace(with_unique_names([*named, judge])[-1], weight=1.0, required=False)
        if aggregator.weights:
            message = f"`weights` have no effect where the aggregator is a {aggregator.type}"
            hint = "remove them: the judge is given every score"
            problems.append(Problem("BK702", message, hint, at=at))
    weights = {**{grader.name: grader.weight for grader in named}, **aggregator.weights}
    weighted = tuple(replace(grader, weight=float(weights[grader.name])) for grader in named)
    return Composite(weighted, judge, aggregator.on_error, pass_at), problems


def without_places(method: Method) -> Method:
    """The config of a grader; of a composite, without the places of its graders in their file."""

    def without_place(part: Grader) -> Grader:
        return replace(part, at=(), config_at=(), says_required=False, method=without_places(part.method))

    return method.changed(without_place) if isinstance(method, Composite) else method


def stated_parts(stated: StatedComposite) -> list[StatedPart]:
    """The graders as they are stated, and after them the aggregator if it is one."""
    parts: list[StatedPart] = [(raw, ("graders", number)) for number, raw in enumerate(stated.graders)]
    aggregator = stated.aggregator
    if kind := _JUDGES.get(aggregator.type):
        config = {"method": aggregator.type, **aggregator.config}
        judge = {"type": kind, "name": "aggregator", "config": config, "required": False}
        parts.append((judge, ("aggregator",)))
    return parts


def compose(stated: StatedComposite, graders: Sequence[Grader]) -> ReadConfig:
    """The composite that a file states, of the graders that were read."""
    aggregator, count = stated.aggregator, len(stated.graders)
    judge = next(iter(graders[count:]), None)
    method, problems = make_composite(graders[:count], aggregator, judge, stated.pass_at)
    if aggregator.type not in _JUDGES and aggregator.config:
        hint = "remove it, or state `type: code_judge` or llm_judge"
        message = f"`config` has no effect where the aggregator is {aggregator.type}"
        problems.append(Problem("BK702", message, hint, at=("aggregator", "config")))
    return method, problems


def with_unique_names(graders: Sequence[Grader]) -> tuple[Grader, ...]:
    """The graders with unique names, which identify their grades."""
    counts: dict[str, int] = {}
    named = []
    for grader in graders:
        counts[grader.name] = count = counts.get(grader.name, 0) + 1
        named.append(grader if count == 1 else replace(grader, name=f"{grader.name}-{count}"))
    return tuple(named)


def composite(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: Composite = task.method
    parts = tuple(clients.part(number, inner, {}) for number, inner in enumerate(config.graders))
    details: dict[str, Json] = {"aggregator": "weighted_average", "on_error": config.on_error}
    if config.pass_at is not None:
        details["pass_at"] = config.pass_at
    if config.judge is not None:
        details["aggregator"] = "judge"
        details["judge"] = config.judge.name
        if parts and not base.still_open(counted_parts(parts, config.on_error)):
            parts = (*parts, clients.part(len(parts), config.judge, results_of(parts)))
    whole = task.grader.graded("unscored", None, details=details, parts=parts)
    return grade_from_parts(whole, task.case.pass_rule)


def grade_from_parts(whole: Grade, rule: PassRule) -> Grade:
    """The grade of a composite by those of its parts; also after one of them has changed."""
    on_error = whole.details.get("on_error")
    judge = whole.details.get("judge")
    rule = base.with_pass_at(replace(rule, by="mean"), whole.details.get("pass_at"))
    judge_grades = [part for part in whole.parts if judge is not None and part.grader == judge]
    members = counted_parts([part for part in whole.parts if part not in judge_grades], on_error)
    gates, undecided = base.gates_of(members), base.still_open(members)
    deciding = members if gates or undecided else judge_grades or members
    outcome: Outcome
    if not members:
        reasons = [f"{part.grader}: {part.reason}" for part in whole.parts]
        outcome, reason, verdict = "error", "; ".join(["none of its graders could judge", *reasons]), None
    elif judge is not None and deciding is members and not gates and not undecided:
        outcome, reason, verdict = "unscored", f"{judge} was not asked: run the case again", "not judged"
    else:
        outcome, _, reason, verdict = base.by_mean(deciding, rule)
    decided = outcome in ("passed", "failed") and not base.still_open(deciding)
    mean = base.mean_of([part for part in deciding if part.score is not None]) if decided else None
    codes = [part.code for part in deciding if part.outcome == outcome]
    return replace(
        whole,
        outcome=outcome,
        score=None if mean is None else float(mean),
        reason=reason,
        verdict=verdict,
        code=next(filter(None, codes), "BK675" if not members else None) if outcome == "error" else None,
        usage=sum((part.usage for part in whole.parts), Usage()),
        failed_gates=base.gates_of([*members, *judge_grades]),
    )


def counted_parts(parts: Sequence[Grade], on_error: Json) -> list[Grade]:
    """The parts as they count, with `on_error` applied to those that could not judge. A required part is
    never left out."""
    counted = []
    for part in parts:
        if part.outcome == "error" and on_error == "zero":
            counted.append(replace(part, outcome="failed", score=0.0))
        elif part.outcome != "error" or on_error != "ignore" or part.required:
            counted.append(part)
    return counted


def results_of(parts: Sequence[Grade]) -> dict[str, Json]:
    """The results that the judge of a composite is given: every grade under the name of its grader."""
    return {
        part.grader: {
            "score": part.score,
            "verdict": part.verdict or {"passed": "pass", "failed": "fail"}.get(part.outcome, part.outcome),
            "hits": part.details.get("hits", []),
            "misses": part.details.get("misses", []),
            "reasoning": part.details.get("reasoning", part.reason),
        }
        for part in parts
    }


def composite_problems(task: Task) -> Iterator[Problem]:
    config: Composite = task.method
    yield from base.threshold_problems(config.pass_at, (0, 1), ("config", "pass_at"))
    if not config.graders:
        hint = "state them: `graders: [{type: …}, …]`"
        yield base.never_fails("it is made of no graders", hint, "config", "graders")
    elif config.judge is None and not any(grader.weight for grader in config.graders):
        at = ("config", "aggregator", "weights")
        yield Problem("BK702", "none of its graders has any weight", "state one above 0", at=at)


COMPOSITE = GraderType(
    Composite,
    composite,
    "composite",
    known_by=("graders", "aggregator"),
    stated=StatedComposite,
    stated_parts=stated_parts,
    compose=compose,
    problems=composite_problems,
    parts=lambda config: config.parts,
)
