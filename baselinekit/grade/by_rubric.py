"""Grader that asks a model about each item of a rubric, and makes the score and the verdict of them itself.

An item that the judge leaves out is not met: what it forgets must not raise the score. What it says of items
that are not in the rubric counts for nothing and is told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.grade.by_template import BY_SHARE, too_low
from baselinekit.grade.judging import (
    ask_until_readable,
    question,
    reply,
    retries_problems,
    short_digest,
    unusable,
)
from baselinekit.grade.rubricitems import HIGHEST, RubricCriterion, RubricItem, criteria_of, item_problems
from baselinekit.grade.task import GradeClients, GraderType, ReadConfig, Task
from baselinekit.grade.verdict import verdict_of, weighted_mean
from baselinekit.grade.wire import texts_of
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grade, PassRule
from baselinekit.model.recipes import Ask, Observation
from baselinekit.model.values import Json
from baselinekit.schema.records import below, check
from baselinekit.tree.equality import is_number

_HIT = 7
"""From this score on an item is listed as a hit. It decides nothing."""

_TOKENS, _TOKENS_AN_ITEM = 800, 150
_NO_OUTCOME = "(what the items ask for)"


@frozen
class RubricJudge:
    """A model says of each item of a rubric whether the answer meets it, or from 0 to 10 how well."""

    rubrics: list[str | RubricItem] = field(default_factory=list)
    model: str = "judge"
    retries_on_unreadable: int = 2
    calibration: str | None = None
    of: str | None = None


@frozen
class ItemFound:
    """What a judge says of one item: the `share` that it earns of its weight."""

    criterion: RubricCriterion
    share: Fraction
    reasoning: str = ""
    omitted: bool = False

    @property
    def raw(self) -> int:
        return int(self.share * HIGHEST)

    @property
    def is_hit(self) -> bool:
        return self.raw >= _HIT and not self.fails

    @property
    def fails(self) -> bool:
        """Whether it had to hold and does not."""
        least = self.criterion.least
        return self.raw < least if least is not None else self.criterion.required and not self.share

    @property
    def line(self) -> str:
        notes = [f"{self.raw} of {HIGHEST}"] if self.criterion.is_scored else []
        if self.fails:
            notes.append("required" if self.criterion.least is None else f"{self.criterion.least} needed")
        name = f"{self.criterion.name} ({', '.join(notes)})" if notes else self.criterion.name
        why = "the judge said nothing of it" if self.omitted else self.reasoning
        return f"{name}: {why}" if why else name

    @property
    def shown(self) -> dict[str, Json]:
        criterion = self.criterion
        shown: dict[str, Json] = {"id": criterion.id, "weight": criterion.weight}
        if criterion.text:
            shown["criterion"] = criterion.text
        if criterion.is_scored:
            meant = next(text for low, high, text in criterion.ranges if low <= self.raw <= high)
            shown |= {"score": self.raw, "range": meant}
        else:
            shown |= {"satisfied": bool(self.share)}
        if criterion.least is not None:
            shown["required_min_score"] = criterion.least
        elif criterion.required:
            shown["required"] = True
        return {**shown, "omitted": True} if self.omitted else {**shown, "reasoning": self.reasoning}


@frozen
class RubricReply:
    """What one reply amounts to. `unknown`: ids in it that no item has."""

    items: tuple[ItemFound, ...]
    reasoning: str
    unknown: tuple[str, ...] = ()


def rubric_question(how: RubricJudge, outcome: str, texts: Mapping[str, str]) -> Ask:
    """What the judge is asked about one answer. Every text that is not the rubric's stands between marks."""
    criteria = criteria_of(how.rubrics)
    task = (
        "Judge the candidate_answer by each item of a rubric: an answer to the question that should achieve "
        f"this:\n\n{outcome.strip() or _NO_OUTCOME}\n\nThe items, by their ids:\n\n"
        + "\n".join(map(described_item, criteria))
        + "\n\nJudge each item by itself, and leave none out. `reasoning` says what in the answer decides it."
    )
    asked = question(how.model, task, texts, form_of(criteria))
    return replace(asked, max_tokens=_TOKENS + _TOKENS_AN_ITEM * len(criteria), json=True)


def described_item(criterion: RubricCriterion) -> str:
    """An item as the judge reads it."""
    if not criterion.is_scored:
        return f"- {criterion.id}: {criterion.text}"
    about = f"{criterion.text} " if criterion.text else ""
    lines = [f"- {criterion.id}: {about}(a whole number from 0 to {HIGHEST})"]
    for low, high, text in criterion.ranges:
        lines.append(f"  - {low if low == high else f'{low} to {high}'}: {text}")
    return "\n".join(lines)


def form_of(criteria: Sequence[RubricCriterion]) -> dict[str, Json]:
    """What the reply has to look like, with every id. Who copies it has judged nothing."""
    checks: list[Json] = []
    for criterion in criteria:
        scored = {"score": f"<0 to {HIGHEST}>"} if criterion.is_scored else {"satisfied": "<true or false>"}
        checks.append({"id": criterion.id, **scored, "reasoning": "…"})
    return {"checks": checks, "overall_reasoning": "…"}


def read_rubric_reply(answer: str, criteria: Sequence[RubricCriterion], nonce: str) -> RubricReply:
    """What a reply amounts to; UnreadableReply for one that is not what was asked for, that says
    two things of one item, or that says nothing of any."""
    given = reply(answer, ("checks", "overall_reasoning"), nonce)
    checks, reasoning = given["checks"], given["overall_reasoning"]
    if not isinstance(reasoning, str):
        raise unusable("gives no overall_reasoning", answer)
    if not isinstance(checks, list):
        raise unusable("has no list of checks", answer)
    by_id = {criterion.id: criterion for criterion in criteria}
    found: dict[str, ItemFound] = {}
    unknown: list[str] = []
    for entry in checks:
        own = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(own, str):
            raise unusable("has a check without an id", answer)
        if own not in by_id:
            unknown.append(own)
        elif own in found:
            raise unusable(f"judges {own} twice", answer)
        else:
            found[own] = _item(entry, by_id[own], answer)
    if not found:
        raise unusable("judges no item of the rubric", answer)
    items = [found.get(one.id) or ItemFound(one, Fraction(0), omitted=True) for one in criteria]
    return RubricReply(tuple(items), reasoning, tuple(dict.fromkeys(unknown)))


def _item(check: Mapping[str, Json], criterion: RubricCriterion, answer: str) -> ItemFound:
    key = "score" if criterion.is_scored else "satisfied"
    if check.keys() != {"id", key, "reasoning"} or not isinstance(check["reasoning"], str):
        raise unusable(f"has a check of {criterion.id} that is no {{id, {key}, reasoning}}", answer)
    value = check[key]
    if not criterion.is_scored:
        if not isinstance(value, bool):
            raise unusable(f"says satisfied: {value!r} of {criterion.id}, which is no true or false", answer)
        return ItemFound(criterion, Fraction(value), check["reasoning"])
    if not is_number(value) or not 0 <= value <= HIGHEST or value != int(value):
        raise unusable(f"scores {criterion.id} with {value!r}, no whole number from 0 to {HIGHEST}", answer)
    return ItemFound(criterion, Fraction(int(value), HIGHEST), check["reasoning"])


def rubric_grade(task: Task, found: RubricReply, rule: PassRule) -> Grade:
    """The score by the weights of all items, and the verdict by it and the gates."""
    score = weighted_mean((item.share, item.criterion.weight) for item in found.items) or Fraction(0)
    gates = tuple(item.criterion.name for item in found.items if item.fails)
    outcome, verdict = verdict_of(score, rule, gates)
    misses = [item for item in found.items if not item.is_hit]
    details: dict[str, Json] = {
        "criteria": [item.shown for item in found.items],
        "hits": [item.criterion.name for item in found.items if item.is_hit],
        "misses": [item.criterion.name for item in misses],
        "reasoning": found.reasoning,
    }
    if found.unknown:
        details["unknown_ids"] = list(found.unknown)
    reason = ""
    if outcome != "passed":
        failing = [item.line for item in misses if item.fails]
        reason = "; ".join(failing or (too_low(score, rule), *(item.line for item in misses)))
    return task.grader.graded(
        outcome, float(score), reason, verdict=verdict, details=details, failed_gates=gates
    )


def rubric(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: RubricJudge = task.method
    texts = texts_of(task, observation)
    outcome = texts.pop("expected_outcome")
    texts = {name: text for name, text in texts.items() if text or name == "candidate_answer"}
    criteria, nonce = criteria_of(how.rubrics), short_digest(*texts.values())
    heard = ask_until_readable(
        rubric_question(how, outcome, texts),
        clients.ask,
        clients.mask,
        lambda answer: read_rubric_reply(answer, criteria, nonce),
        how.retries_on_unreadable,
    )
    if heard.value is None:
        return heard.unreadable(task.grader)
    return heard.told(rubric_grade(task, heard.value, task.case.pass_rule))


def read_config(config: dict[str, Json], expected: Expected | None) -> ReadConfig:
    """The config with what is wrong with its items, wherever these stand in the file."""
    how, problems = check(RubricJudge, config)
    if how is None:
        return None, problems
    problems = below([*item_problems(how.rubrics)], ("rubrics",))
    return (None if problems else how), problems


def problems(task: Task) -> Iterator[Problem]:
    for problem in item_problems(task.method.rubrics):
        yield replace(problem, at=("config", "rubrics", *(problem.at or ())))
    yield from retries_problems(task.method.retries_on_unreadable, "config", "retries_on_unreadable")


RUBRIC_JUDGE = GraderType(
    RubricJudge,
    rubric,
    "rubric",
    kind="model",
    read=read_config,
    problems=problems,
    files=lambda config: {"calibration": config.calibration},
    asks=lambda config: (config.model, 1),
    criteria=lambda config: [criterion.line for criterion in criteria_of(config.rubrics)],
    question_form="by a rubric",
    label_scale=BY_SHARE,
)
