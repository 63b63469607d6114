"""Grader that asks a model about each item of a rubric, and computes the score and the verdict itself.

An item that the judge leaves out is not met: an omission must not raise the score. Verdicts on items that are
not in the rubric do not count, and are reported."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from baselinekit.errors import Problem
from baselinekit.graders.by_template import BY_SHARE, too_low
from baselinekit.graders.judging import (
    grade_readable,
    nonce_of,
    question,
    reply,
    scalar,
    unquoted,
    unusable_reply,
    words_of,
)
from baselinekit.graders.rubricitems import HIGHEST, RubricCriterion, RubricItem, criteria_of, item_problems
from baselinekit.graders.task import GradeClients, GraderType, ReadConfig, Task
from baselinekit.graders.verdict import weighted_mean
from baselinekit.graders.wire import texts_of
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import ModelQuestion, Observation
from baselinekit.model.values import Json
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import Retries, Struct, field, replace
from baselinekit.values.equality import is_number

_HIT_SCORE = 7
"""The lowest score of an item that is listed as a hit. It decides nothing."""

_TOKENS, _TOKENS_PER_ITEM = 800, 150
_NO_OUTCOME = "(what the items ask for)"


class RubricJudge(Struct):
    """A model says of each item of a rubric whether the answer meets it, or from 0 to 10 how well."""

    rubrics: list[str | RubricItem] = field(default_factory=list)
    model: str = "judge"
    retries_on_unreadable: Retries = 2
    calibration: str | None = None
    of: str | None = None


class ItemVerdict(Struct):
    """The verdict of a judge on one item. `share`: the part of its weight that the item earns."""

    criterion: RubricCriterion
    share: Fraction
    reasoning: str = ""
    omitted: bool = False

    @property
    def raw(self) -> int:
        return int(self.share * HIGHEST)

    @property
    def is_hit(self) -> bool:
        return self.raw >= _HIT_SCORE and not self.fails

    @property
    def fails(self) -> bool:
        """Whether the item is required and not met."""
        lowest = self.criterion.least
        return self.raw < lowest if lowest is not None else self.criterion.required and not self.share

    @property
    def line(self) -> str:
        notes = [f"{self.raw} of {HIGHEST}"] if self.criterion.is_scored else []
        if self.fails:
            notes.append("required" if self.criterion.least is None else f"{self.criterion.least} needed")
        name = f"{self.criterion.name} ({', '.join(notes)})" if notes else self.criterion.name
        reason = "the judge said nothing of it" if self.omitted else self.reasoning
        return f"{name}: {reason}" if reason else name

    @property
    def details(self) -> dict[str, Json]:
        criterion = self.criterion
        details: dict[str, Json] = {"id": criterion.id, "weight": criterion.weight}
        if criterion.text:
            details["criterion"] = criterion.text
        if criterion.is_scored:
            meaning = next(text for low, high, text in criterion.ranges if low <= self.raw <= high)
            details |= {"score": self.raw, "range": meaning}
        else:
            details |= {"satisfied": bool(self.share)}
        if criterion.least is not None:
            details["required_min_score"] = criterion.least
        elif criterion.required:
            details["required"] = True
        return {**details, "omitted": True} if self.omitted else {**details, "reasoning": self.reasoning}


def rubric_question(judge: RubricJudge, outcome: str, texts: Mapping[str, str]) -> ModelQuestion:
    """The question to the judge about one answer. Every text that is not the rubric's stands between
    marks."""
    criteria = criteria_of(judge.rubrics)
    task = (
        "Judge the candidate_answer by each item of a rubric: an answer to the question that should achieve "
        f"this:\n\n{outcome.strip() or _NO_OUTCOME}\n\nThe items, by their ids:\n\n"
        + "\n".join(map(describe_item, criteria))
        + "\n\nJudge each item by itself, and leave none out. `reasoning` says what in the answer decides it."
    )
    base = question(judge.model, task, texts, form_of(criteria))
    return replace(base, max_tokens=_TOKENS + _TOKENS_PER_ITEM * len(criteria), json=True)


def describe_item(criterion: RubricCriterion) -> str:
    """An item as the judge reads it."""
    if not criterion.is_scored:
        return f"- {criterion.id}: {criterion.text}"
    about = f"{criterion.text} " if criterion.text else ""
    lines = [f"- {criterion.id}: {about}(a whole number from 0 to {HIGHEST})"]
    for low, high, text in criterion.ranges:
        lines.append(f"  - {low if low == high else f'{low} to {high}'}: {text}")
    return "\n".join(lines)


def form_of(criteria: Sequence[RubricCriterion]) -> dict[str, Json]:
    """The form of the reply, with every id. It is no valid reply: a judge that copies it has judged
    nothing."""
    checks: list[Json] = []
    for criterion in criteria:
        verdict = ("score", f"0 to {HIGHEST}") if criterion.is_scored else ("satisfied", "true or false")
        checks.append({"id": criterion.id, verdict[0]: unquoted(verdict[1]), "reasoning": "…"})
    return {"checks": checks, "overall_reasoning": "…"}


def read_rubric_reply(answer: str, criteria: Sequence[RubricCriterion], nonce: str, task: Task) -> Grade:
    """The grade that the verdicts in a reply make; UnreadableReply if it is not what was asked for, judges an
    item twice, or judges none."""
    fields = reply(answer, ("checks",), nonce)
    checks, reasoning = fields["checks"], words_of(fields.get("overall_reasoning"))
    if not isinstance(checks, list):
        raise unusable_reply("has no list of checks", answer)
    by_id = {criterion.id: criterion for criterion in criteria}
    judged: dict[str, ItemVerdict] = {}
    unknown: list[str] = []
    for entry in checks:
        item_id = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(item_id, str):
            raise unusable_reply("has a check without an id", answer)
        if item_id not in by_id:
            unknown.append(item_id)
        elif item_id in judged:
            raise unusable_reply(f"judges {item_id} twice", answer)
        else:
            judged[item_id] = _read_check(entry, by_id[item_id], answer)
    if not judged:
        raise unusable_reply("judges no item of the rubric", answer)
    items = [
        judged.get(criterion.id) or ItemVerdict(criterion, Fraction(0), omitted=True)
        for criterion in criteria
    ]
    return rubric_grade(task, items, reasoning, list(dict.fromkeys(unknown)))


def _read_check(entry: Mapping[str, Json], criterion: RubricCriterion, answer: str) -> ItemVerdict:
    key = "score" if criterion.is_scored else "satisfied"
    if key not in entry:
        raise unusable_reply(f"has a check of {criterion.id} without `{key}`", answer)
    value, reasoning = scalar(entry[key]), words_of(entry.get("reasoning"))
    if not criterion.is_scored:
        if not isinstance(value, bool):
            raise unusable_reply(
                f"says satisfied: {value!r} of {criterion.id}, which is no true or false", answer
            )
        return ItemVerdict(criterion, Fraction(value), reasoning)
    if not is_number(value) or not 0 <= value <= HIGHEST or value != int(value):
        raise unusable_reply(
            f"scores {criterion.id} with {value!r}, no whole number from 0 to {HIGHEST}", answer
        )
    return ItemVerdict(criterion, Fraction(int(value), HIGHEST), reasoning)


def rubric_grade(task: Task, items: Sequence[ItemVerdict], reasoning: str, unknown: Sequence[str]) -> Grade:
    """The score by the weights of all items, and the verdict by it and the gates. `unknown`: ids in the reply
    that no item has."""
    score = weighted_mean((item.share, item.criterion.weight) for item in items) or Fraction(0)
    misses = [item for item in items if not item.is_hit]
    failing = [item for item in misses if item.fails]
    details: dict[str, Json] = {
        "criteria": [item.details for item in items],
        "hits": [item.criterion.name for item in items if item.is_hit],
        "misses": [item.criterion.name for item in misses],
        "reasoning": reasoning,
        **({"unknown_ids": list(unknown)} if unknown else {}),
    }
    if failing:
        reason = "; ".join(item.line for item in failing)
    else:
        reason = "; ".join((too_low(score, task.case.pass_rule), *(item.line for item in misses)))
    gates = tuple(item.criterion.name for item in failing)
    return task.scored(score, reason, failed_gates=gates, details=details)


def rubric(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    judge: RubricJudge = task.method
    texts = texts_of(task, observation)
    outcome = texts.pop("expected_outcome")
    texts = {name: text for name, text in texts.items() if text or name == "candidate_answer"}
    criteria, nonce = criteria_of(judge.rubrics), nonce_of(*texts.values())
    return grade_readable(
        task.grader,
        rubric_question(judge, outcome, texts),
        clients.ask,
        clients.mask,
        lambda answer: read_rubric_reply(answer, criteria, nonce, task),
    )


def read_config(config: dict[str, Json], expected: Expected | None) -> ReadConfig:
    """The config and the problems of its items, wherever these stand in the file."""
    judge, problems = read_as(RubricJudge, config)
    if judge is None:
        return None, problems
    problems = prefix_paths([*item_problems(judge.rubrics)], ("rubrics",))
    return (None if problems else judge), problems


def problems(task: Task) -> Iterator[Problem]:
    for problem in item_problems(task.method.rubrics):
        yield replace(problem, at=("config", "rubrics", *(problem.at or ())))


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
