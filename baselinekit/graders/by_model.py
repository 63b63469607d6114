"""Grader that asks a model: a rubric, the text between marks, and a reply that is checked and computed again.

The overall score that the judge states is not trusted: it is computed from the scores and the weights of the
rubric, and whether it passes is decided here. A judge that contradicts itself is reported."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.graders import criteria as rubrics
from baselinekit.graders.criteria import Criterion
from baselinekit.graders.judging import (
    JudgeResult,
    ask_until_readable,
    contradiction,
    nonce_of,
    question,
    reply,
    scalar,
    scores_in,
    unquoted,
    unreadable_grade,
    unusable_reply,
    words_of,
)
from baselinekit.graders.task import (
    GradeClients,
    GraderType,
    LabelScale,
    Task,
    input_of,
    never_fails,
    text_of,
    threshold_problems,
    values_of,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Number
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Outcome, PassRule
from baselinekit.model.recipes import ModelQuestion, Observation, Usage
from baselinekit.model.values import Json
from baselinekit.structs import AtLeastOne, Retries, Struct, field
from baselinekit.values.equality import decimal, is_number

OVERALL = "overall"
"""The name of the only criterion of a rubric that names none."""

_PASSING_SHARE = 0.75
"""The default threshold, as a share of the range: 4 of 1 to 5."""

_SLACK = 1e-9
_SLOT = lazy_pattern(r"\{(rubric|input|output|expected)\}")
_PROMPT = """\
You are an expert evaluator. Grade the output by the rubric.

{rubric}

Compare the output with the expected one where there is one, apply each criterion, justify each score, and be
consistent: the same output deserves the same score."""


class Scoring(Struct):
    """How a judge scores: on a range, by a category, or by yes and no. `threshold`: the lowest overall score
    that passes."""

    type: Literal["numeric", "categorical", "boolean"] = "numeric"
    range: list[Number] = field(default_factory=lambda: [1, 5])
    categories: list[str] = field(default_factory=list)
    passing: list[str] = field(default_factory=list)
    threshold: Number | None = None


class Sample(Struct):
    """An example of a right judgement, which the judge sees beforehand."""

    output: Json
    score: Json
    input: Json = None
    justification: str = ""


class ModelJudge(Struct):
    """A model that judges by a rubric: a text with numbered criteria, or the criteria themselves.
    It is asked `samples` times, and the median judgement counts."""

    rubric: str | list[Criterion] = ""
    model: str = "judge"
    temperature: Number = 0.0
    max_tokens: int = 1000
    scoring: Scoring = field(default_factory=Scoring)
    examples: list[Sample] = field(default_factory=list)
    samples: AtLeastOne = 1
    prompt: str | None = None
    calibration: str | None = None
    retries_on_unreadable: Retries = 1

    @property
    def criteria(self) -> list[Criterion]:
        """The criteria that the judge scores, with the weights and ranges that a text states."""
        if not isinstance(self.rubric, str):
            return list(self.rubric)
        return list(rubrics.read(self.rubric).criteria) or [Criterion(OVERALL)]

    @property
    def scale(self) -> tuple[float, float]:
        """The scale of the overall score and of the threshold: that of the criteria, or from 0 to 1 if these
        have different ones. Then the overall score is the mean of the shares of their ranges."""
        scales = {scale_of(criterion, self) for criterion in self.criteria}
        return scales.pop() if len(scales) == 1 else (0.0, 1.0)

    @property
    def passing_share(self) -> float:
        """The lowest share of its range with which a score passes."""
        low, high = self.scale
        threshold = self.scoring.threshold
        return _PASSING_SHARE if threshold is None else (float(threshold) - low) / (high - low)

    @property
    def threshold(self) -> float:
        """The lowest overall score that passes."""
        low, high = self.scale
        return low + self.passing_share * (high - low)


class Judgement(Struct):
    """The judgement of one reply. `score` is from 0 to 1; `disagrees`: how the judge contradicts itself."""

    passed: bool
    score: float
    reason: str
    details: dict[str, Json]
    disagrees: str = ""


def judge_question(judge: ModelJudge, case: Case, output: Json, turn: int = 0) -> ModelQuestion:
    """The question to the judge about one output. Every text that is not ours stands between marks."""
    base = question(judge.model, _describe_task(judge), _texts(judge, case, output), _reply_form(judge))
    return ModelQuestion(
        judge.model,
        base.messages,
        temperature=judge.temperature,
        max_tokens=judge.max_tokens,
        json=True,
        turn=turn,
    )


def _texts(judge: ModelJudge, case: Case, output: Json) -> dict[str, str]:
    texts = {"input": text_of(input_of(case)), "output": text_of(output)}
    if case.context is not None:
        texts["context"] = text_of(case.context)
    for number, value in enumerate(values_of(case.expected)):
        texts["expected" if not number else f"expected, alternative {number}"] = text_of(value)
    return texts


def _describe_task(judge: ModelJudge) -> str:
    """The rubric in words. In a template of the user, {rubric} is replaced by it, and {input}, {output} and
    {expected} by the names of the texts between the marks; nothing is filled in twice."""
    rubric = (
        judge.rubric
        if isinstance(judge.rubric, str)
        else "\n".join(
            f"- {criterion.name} (weight: {criterion.weight})"
            + (f": {criterion.description}" if criterion.description else "")
            for criterion in judge.criteria
        )
    )
    slots = {"rubric": rubric, **{name: f"the {name} below" for name in ("input", "output", "expected")}}
    # One pass: braces that are no slot, such as those of JSON, stay as they are.
    parts = [_SLOT.sub(lambda match: slots[match[1]], judge.prompt or _PROMPT)]
    if judge.prompt and "{rubric}" not in judge.prompt:
        parts.append(rubric)
    if judge.scoring.type == "numeric":
        scales = [(criterion.name, *scale_of(criterion, judge)) for criterion in judge.criteria]
        parts.append(
            "\n".join(f"Score {name} from {low:g} (worst) to {high:g} (best)." for name, low, high in scales)
        )
        parts.append(describe_pass(judge))
    elif judge.scoring.type == "categorical":
        parts.append(f"Choose one category: {', '.join(judge.scoring.categories)}")
    for sample in judge.examples:
        example = {name: getattr(sample, name) for name in ("input", "output", "score", "justification")}
        example = {name: value for name, value in example.items() if value not in (None, "")}
        parts.append(f"An example of a judgement that was right: {json.dumps(example, default=str)}")
    return "\n\n".join(parts)


def describe_pass(judge: ModelJudge) -> str:
    """When `passed` is true: a judge that is not told can only guess, and would contradict its scores."""
    mean = "weighted mean" if len({criterion.weight for criterion in judge.criteria}) > 1 else "mean"
    mean += " of the scores"
    if len({scale_of(criterion, judge) for criterion in judge.criteria}) > 1:
        mean += ", each as a share of its own range, from 0 (worst) to 1 (best)"
    rule = f"`overall_score` is the {mean}, and `passed` is true if it is {judge.threshold:g} or more"
    required = [criterion.name for criterion in judge.criteria if criterion.required]
    return f"{rule}, and {', '.join(required)} too." if required else f"{rule}."


def _reply_form(judge: ModelJudge) -> dict[str, Json]:
    """The form of the reply. It is no valid reply itself: a judge that copies it has judged nothing."""
    if judge.scoring.type == "categorical":
        return {"category": f"<one of: {', '.join(judge.scoring.categories)}>", "justification": "…"}
    if judge.scoring.type == "boolean":
        return {"passed": unquoted("true or false"), "justification": "…"}
    ranges = {criterion.name: scale_of(criterion, judge) for criterion in judge.criteria}
    low, high = judge.scale
    return {
        "scores": {name: unquoted(f"{low:g} to {high:g}") for name, (low, high) in ranges.items()},
        "overall_score": unquoted(f"{low:g} to {high:g}"),
        "passed": unquoted("true or false"),
        "justification": "…",
        "specific_feedback": ["…"],
    }


def read_judgement(answer: str, judge: ModelJudge, case: Case, output: Json) -> Judgement:
    """The judgement of a reply; CannotReplay if its verdict cannot be read, or contradicts its own scores: it
    is unclear then which of the two is meant."""
    decisive = {"numeric": "scores", "categorical": "category", "boolean": "passed"}[judge.scoring.type]
    fields = reply(answer, (decisive,), nonce_of(*_texts(judge, case, output).values()))
    justification = words_of(fields.get("justification"))
    if judge.scoring.type == "categorical":
        category = fields["category"]
        if category not in judge.scoring.categories:
            raise unusable_reply(f"chooses {category!r}, which is not one of the categories", answer)
        passed = category in judge.scoring.passing
        reason = f"{category}: {justification}" if justification else category
        details: dict[str, Json] = {"category": category, "justification": justification}
        return Judgement(passed, float(passed), reason, details)
    claimed = scalar(fields["passed"]) if "passed" in fields else None
    if not isinstance(claimed, bool) and "passed" in fields:
        raise unusable_reply(f"says passed: {fields['passed']!r}, which is neither true nor false", answer)
    if isinstance(claimed, bool) and judge.scoring.type == "boolean":
        return Judgement(claimed, float(claimed), justification, {})
    return by_scores({**fields, "passed": claimed, "justification": justification}, judge, answer)


def by_scores(fields: Mapping[str, Json], judge: ModelJudge, answer: str) -> Judgement:
    criteria = judge.criteria
    ranges = {criterion.name: scale_of(criterion, judge) for criterion in criteria}
    scores = scores_in(fields["scores"], ranges, answer)
    weighted_sum = total = 0.0
    unmet = []
    for criterion in criteria:
        low, high = ranges[criterion.name]
        share = float((decimal(scores[criterion.name]) - decimal(low)) / (decimal(high) - decimal(low)))
        weighted_sum, total = weighted_sum + share * criterion.weight, total + criterion.weight
        if criterion.required and share + _SLACK < judge.passing_share:
            unmet.append(criterion.name)
    share = weighted_sum / total
    low, high = judge.scale
    overall = low + share * (high - low)
    passed = not unmet and share + _SLACK >= judge.passing_share
    feedback = fields.get("specific_feedback")
    details: dict[str, Json] = {
        "scores": scores,
        "overall_score": round(overall, 6),
        "justification": fields["justification"],
        "specific_feedback": feedback if isinstance(feedback, list) else [],
    }
    if unmet:
        details["unmet"] = list(unmet)
    if fields["passed"] not in (passed, None):
        summary = f"its scores make {overall:.3g} of {high:g}, and {judge.threshold:g} passes"
        summary += f", with {', '.join(unmet)} too low" if unmet else ""
        raise contradiction(f"says passed: {json.dumps(fields['passed'])}, but {summary}")
    claimed, disagrees = scalar(fields.get("overall_score", overall)), ""
    if not is_number(claimed) or abs(decimal(claimed) - decimal(overall)) > decimal((high - low) / 20):
        disagrees = f"the judge says {claimed!r} overall, its scores make {overall:.3g}"
    reason = fields["justification"] if passed else f"{overall:.3g} of {high:g}: {fields['justification']}"
    return Judgement(passed, share, reason, details, disagrees)


def scale_of(criterion: Criterion, judge: ModelJudge) -> tuple[float, float]:
    low, high = criterion.range or judge.scoring.range
    return float(low), float(high)


def describe_criteria(judge: ModelJudge) -> list[str]:
    """The criteria in words, a line each: the name, its share of the score, its scale."""
    if judge.scoring.type != "numeric":
        return [judge.scoring.type]
    criteria = judge.criteria
    total = sum(criterion.weight for criterion in criteria) or 1
    lines = []
    for criterion in criteria:
        low, high = scale_of(criterion, judge)
        weight = (
            f"weight {criterion.weight:g} ({criterion.weight / total:.0%})"
            if len(criteria) > 1
            else "all of it"
        )
        lines.append(
            f"{criterion.name}: {weight}, {low:g} to {high:g}{', required' if criterion.required else ''}"
        )
    return lines


def model_judge(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """Take all samples; the median counts, and how often the others differ from it is reported."""
    judge: ModelJudge = task.method
    output = observation.output
    asked: JudgeResult[Judgement] = JudgeResult(None, Usage())
    judgements: list[Judgement] = []
    for turn in range(judge.samples):
        result = ask_until_readable(
            judge_question(judge, task.case, output, turn),
            clients.ask,
            clients.mask,
            lambda answer: read_judgement(answer, judge, task.case, output),
            judge.retries_on_unreadable,
        )
        asked = JudgeResult(result.value, asked.usage + result.usage, (*asked.errors, *result.errors))
        if result.value is None:
            return asked.add_to(unreadable_grade(task.grader, result))
        judgements.append(result.value)
    return asked.add_to(median_grade(task, judgements))


def median_grade(task: Task, judgements: Sequence[Judgement]) -> Grade:
    ordered = sorted(judgements, key=lambda judgement: (judgement.score, judgement.passed))
    median = ordered[(len(ordered) - 1) // 2]
    flips = sum(judgement.passed != median.passed for judgement in judgements) / len(judgements)
    details = dict(median.details)
    if len(judgements) > 1:
        details["samples"] = {
            "scores": [round(judgement.score, 6) for judgement in judgements],
            "flip_rate": flips,
        }
    if median.disagrees:
        details["disagrees"] = median.disagrees
    reason = "" if median.passed else median.reason
    outcome: Outcome = "passed" if median.passed else "failed"
    return task.grader.graded(outcome, median.score, reason, details=details)


def problems(task: Task) -> Iterator[Problem]:
    judge: ModelJudge = task.method
    scoring = judge.scoring
    if scoring.type == "categorical" and {*scoring.categories} <= {*scoring.passing}:
        hint = "leave at least one out of `passing`"
        yield never_fails("every category passes", hint, "config", "scoring", "passing")
    if not (judge.rubric.strip() if isinstance(judge.rubric, str) else judge.rubric):
        yield Problem("BK702", "a model grader without a rubric", "state the criteria: `rubric: |`")
    if scoring.type == "categorical":
        if len(scoring.categories) < 2 or not scoring.passing:
            hint = "state `categories: [good, poor]` and which of them pass: `passing: [good]`"
            yield Problem("BK702", "categorical scoring is incomplete", hint)
        for unknown in sorted({*scoring.passing} - {*scoring.categories}):
            hint = f"one of {', '.join(scoring.categories)}"
            yield Problem("BK702", f"`passing` names {unknown!r}, which is not a category", hint)
    ranges = [criterion.range or scoring.range for criterion in judge.criteria]
    unsound = [bounds for bounds in ranges if len(bounds) != 2 or bounds[0] >= bounds[1]]
    for bounds in unsound:
        yield Problem("BK702", f"{bounds} is not a range", "the lowest and the highest score: [1, 5]")
    if scoring.type == "numeric" and not unsound:
        yield from threshold_problems(scoring.threshold, judge.scale, ("config", "scoring", "threshold"))
        if scoring.range not in ([1, 5], *ranges):
            hint = "remove one of the two: the ranges of the rubric count, for the threshold too"
            message = f"`range` is {scoring.range}, and every criterion of the rubric has another one"
            yield Problem("BK702", message, hint, at=("config", "scoring", "range"))
    if isinstance(judge.rubric, str):
        yield from rubrics.read(judge.rubric).problems
    if not any(criterion.weight for criterion in judge.criteria):
        yield Problem("BK702", "no criterion has any weight", "leave `weight` out, or state one above 0")


_VERDICT_WORDS = {"passed": True, "pass": True, "failed": False, "fail": False}


def spoken_verdict(label: bool | int | float | str) -> bool | None:
    """The verdict of a label in words; None for a score and for any other word."""
    if isinstance(label, bool):
        return label
    return _VERDICT_WORDS.get(label.lower()) if isinstance(label, str) else None


def human_verdict(judge: ModelJudge, rule: PassRule, label: bool | int | float | str) -> bool | None:
    """Whether a person's label is a pass; None if it says neither."""
    if isinstance(label, str) and judge.scoring.type == "categorical" and label in judge.scoring.categories:
        return label in judge.scoring.passing
    if isinstance(label, bool | str):
        return spoken_verdict(label)
    low, high = judge.scale
    return (label - low) / (high - low) + _SLACK >= judge.passing_share if low <= label <= high else None


def label_words(judge: ModelJudge) -> str:
    low, high = judge.scale
    return ", ".join(judge.scoring.categories) or f"a score from {low:g} to {high:g}"


MODEL_JUDGE = GraderType(
    ModelJudge,
    model_judge,
    kind="model",
    problems=problems,
    files=lambda config: {"calibration": config.calibration},
    asks=lambda config: (config.model, config.samples),
    criteria=describe_criteria,
    label_scale=LabelScale(human_verdict, label_words),
)
