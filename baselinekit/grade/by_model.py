"""Grader that asks a model: a rubric, the text between marks, and a reply that is checked and computed again.

What the judge says of the sum is not believed: the overall score is made of its scores and the weights of the
rubric, and whether that is a pass is decided here. A judge that contradicts itself is reported."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.grade import criteria as rubrics
from baselinekit.grade.criteria import Criterion
from baselinekit.grade.judging import (
    UnreadableReply,
    contradiction,
    question,
    question_again,
    reply,
    retries_problems,
    short_digest,
    unusable,
)
from baselinekit.grade.task import (
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
from baselinekit.model.recipes import Ask, Observation, Usage
from baselinekit.model.values import Json
from baselinekit.tree.equality import decimal, is_number

OVERALL = "overall"
"""The one criterion of a rubric that names none."""

_PASSING_SHARE = 0.75
"""Of the range, where nobody says otherwise: 4 of 1 to 5."""

_SLACK = 1e-9
_SLOT = lazy_pattern(r"\{(rubric|input|output|expected)\}")
_PROMPT = """\
You are an expert evaluator. Grade the output by the rubric.

{rubric}

Compare the output with the expected one where there is one, apply each criterion, justify each score, and be
consistent: the same output deserves the same score."""


@frozen
class Scoring:
    """How a judge scores: on a range, by a word of several, or yes and no. `threshold`: from which overall
    score, category or share of the range on it is a pass."""

    type: Literal["numeric", "categorical", "boolean"] = "numeric"
    range: list[Number] = field(default_factory=lambda: [1, 5])
    categories: list[str] = field(default_factory=list)
    passing: list[str] = field(default_factory=list)
    threshold: Number | None = None


@frozen
class Sample:
    """A judgement that was right: the judge sees it beforehand."""

    output: Json
    score: Json
    input: Json = None
    justification: str = ""


@frozen
class ModelJudge:
    """A model that judges by a rubric: a text with numbered criteria, or the criteria themselves.
    `samples` of its judgement are taken, and the middle one counts."""

    rubric: str | list[Criterion] = ""
    model: str = "judge"
    temperature: Number = 0.0
    max_tokens: int = 1000
    scoring: Scoring = field(default_factory=Scoring)
    examples: list[Sample] = field(default_factory=list)
    samples: int = 1
    prompt: str | None = None
    calibration: str | None = None
    retries_on_unreadable: int = 1

    @property
    def criteria(self) -> list[Criterion]:
        """What the judge is asked to score. Weights and ranges that a text states count."""
        if not isinstance(self.rubric, str):
            return list(self.rubric)
        return list(rubrics.read(self.rubric).criteria) or [Criterion(OVERALL)]

    @property
    def passing_share(self) -> float:
        """From which share of its range on a score passes."""
        low, high = map(float, self.scoring.range)
        stated = self.scoring.threshold
        return _PASSING_SHARE if stated is None else (float(stated) - low) / (high - low)


@frozen
class Judgement:
    """What one reply amounts to. `score` is from 0 to 1; `disagrees`: how the judge contradicts itself."""

    passed: bool
    score: float
    reason: str
    details: dict[str, Json]
    disagrees: str = ""


def judge_question(how: ModelJudge, case: Case, output: Json, turn: int = 0) -> Ask:
    """What the judge is asked about one output. Every text that is not ours stands between marks."""
    asked = question(how.model, _task(how), _texts(how, case, output), _form(how))
    return Ask(
        how.model,
        asked.messages,
        temperature=how.temperature,
        max_tokens=how.max_tokens,
        json=True,
        turn=turn,
    )


def _texts(how: ModelJudge, case: Case, output: Json) -> dict[str, str]:
    texts = {"input": text_of(input_of(case)), "output": text_of(output)}
    if case.context is not None:
        texts["context"] = text_of(case.context)
    for number, value in enumerate(values_of(case.expected)):
        texts["expected" if not number else f"expected, alternative {number}"] = text_of(value)
    return texts


def _task(how: ModelJudge) -> str:
    """The rubric in words. A template of the user's gets it for {rubric}; {input}, {output} and {expected} in
    it name the texts between the marks, and nothing is filled in twice."""
    rubric = (
        how.rubric
        if isinstance(how.rubric, str)
        else "\n".join(
            f"- {criterion.name} (weight: {criterion.weight})"
            + (f": {criterion.description}" if criterion.description else "")
            for criterion in how.criteria
        )
    )
    slots = {"rubric": rubric, **{name: f"the {name} below" for name in ("input", "output", "expected")}}
    # One pass: braces that are no slot, such as those of JSON, stay as they are.
    parts = [_SLOT.sub(lambda match: slots[match[1]], how.prompt or _PROMPT)]
    if how.prompt and "{rubric}" not in how.prompt:
        parts.append(rubric)
    if how.scoring.type == "numeric":
        scales = [(criterion.name, *scale_of(criterion, how)) for criterion in how.criteria]
        parts.append(
            "\n".join(f"Score {name} from {low:g} (worst) to {high:g} (best)." for name, low, high in scales)
        )
        parts.append(describe_pass(how))
    elif how.scoring.type == "categorical":
        parts.append(f"Choose one category: {', '.join(how.scoring.categories)}")
    for sample in how.examples:
        stated = {name: getattr(sample, name) for name in ("input", "output", "score", "justification")}
        stated = {name: value for name, value in stated.items() if value not in (None, "")}
        parts.append(f"An example of a judgement that was right: {json.dumps(stated, default=str)}")
    return "\n\n".join(parts)


def describe_pass(how: ModelJudge) -> str:
    """When `passed` is true: who is not told can only guess, and would contradict the scores."""
    low, high = map(float, how.scoring.range)
    least = low + how.passing_share * (high - low)
    mean = "weighted mean" if len({criterion.weight for criterion in how.criteria}) > 1 else "mean"
    rule = f"`overall_score` is the {mean} of the scores, and `passed` is true if it is {least:g} or more"
    required = [criterion.name for criterion in how.criteria if criterion.required]
    return f"{rule}, and {', '.join(required)} too." if required else f"{rule}."


def _form(how: ModelJudge) -> dict[str, Json]:
    """What the reply has to look like. Who copies it has judged nothing, and what it says is no verdict."""
    if how.scoring.type == "categorical":
        return {"category": f"<one of: {', '.join(how.scoring.categories)}>", "justification": "…"}
    if how.scoring.type == "boolean":
        return {"passed": "<true or false>", "justification": "…"}
    ranges = {criterion.name: scale_of(criterion, how) for criterion in how.criteria}
    low, high = how.scoring.range
    return {
        "scores": {name: f"<{low:g} to {high:g}>" for name, (low, high) in ranges.items()},
        "overall_score": f"<{low:g} to {high:g}>",
        "passed": "<true or false>",
        "justification": "…",
        "specific_feedback": ["…"],
    }


def read_judgement(answer: str, how: ModelJudge, case: Case, output: Json) -> Judgement:
    """What a reply amounts to; CannotReplay for one that is not exactly what was asked for, or whose verdict
    is not that of its own scores: nobody could say which of them is meant."""
    given = reply(answer, _form(how), short_digest(*_texts(how, case, output).values()))
    justification = given["justification"]
    if not isinstance(justification, str):
        raise unusable("gives no justification", answer)
    if how.scoring.type == "categorical":
        category = given["category"]
        if category not in how.scoring.categories:
            raise unusable(f"chooses {category!r}, which is not one of the categories", answer)
        passed = category in how.scoring.passing
        return Judgement(passed, float(passed), justification, {"category": category})
    if not isinstance(given["passed"], bool):
        raise unusable(f"says passed: {given['passed']!r}, which is neither true nor false", answer)
    if how.scoring.type == "boolean":
        return Judgement(given["passed"], float(given["passed"]), justification, {})
    return by_scores(given, how, answer)


def by_scores(given: Mapping[str, Json], how: ModelJudge, answer: str) -> Judgement:
    criteria, scores = how.criteria, given["scores"]
    if not isinstance(scores, dict) or scores.keys() != {criterion.name for criterion in criteria}:
        raise unusable(f"does not score {', '.join(c.name for c in criteria)} and nothing else", answer)
    weighed = total = 0.0
    unmet = []
    for criterion in criteria:
        value, (low, high) = scores[criterion.name], scale_of(criterion, how)
        if not is_number(value) or not low <= value <= high:
            shown = f"{criterion.name} with {value!r}, which is not between {low:g} and {high:g}"
            raise unusable(f"scores {shown}", answer)
        share = float((decimal(value) - decimal(low)) / (decimal(high) - decimal(low)))
        weighed, total = weighed + share * criterion.weight, total + criterion.weight
        if criterion.required and share + _SLACK < how.passing_share:
            unmet.append(criterion.name)
    share = weighed / total
    low, high = (float(bound) for bound in how.scoring.range)
    overall = low + share * (high - low)
    passed = not unmet and share + _SLACK >= how.passing_share
    feedback = given["specific_feedback"]
    details: dict[str, Json] = {
        "scores": dict(scores),
        "overall_score": round(overall, 6),
        "justification": given["justification"],
        "specific_feedback": feedback if isinstance(feedback, list) else [],
    }
    if unmet:
        details["unmet"] = list(unmet)
    if given["passed"] is not passed:
        least = low + how.passing_share * (high - low)
        scored = f"its scores make {overall:.3g} of {high:g}, and {least:g} passes"
        scored += f", with {', '.join(unmet)} too low" if unmet else ""
        raise contradiction(f"says passed: {json.dumps(given['passed'])}, but {scored}")
    claimed, disagrees = given["overall_score"], ""
    if not is_number(claimed) or abs(decimal(claimed) - decimal(overall)) > decimal((high - low) / 20):
        disagrees = f"the judge says {claimed!r} overall, its scores make {overall:.3g}"
    reason = given["justification"] if passed else f"{overall:.3g} of {high:g}: {given['justification']}"
    return Judgement(passed, share, reason, details, disagrees)


def scale_of(criterion: Criterion, how: ModelJudge) -> tuple[float, float]:
    low, high = criterion.range or how.scoring.range
    return float(low), float(high)


def describe_criteria(how: ModelJudge) -> list[str]:
    """The criteria as they are read, a line each: the name, its share of the score, its scale."""
    if how.scoring.type != "numeric":
        return [how.scoring.type]
    criteria = how.criteria
    total = sum(criterion.weight for criterion in criteria) or 1
    lines = []
    for criterion in criteria:
        low, high = scale_of(criterion, how)
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
    """As many samples as are wanted; the middle one counts, and how often the others differ is told."""
    method: ModelJudge = task.method
    output = observation.output
    usage, judgements = Usage(), []
    complaints: list[Json] = []
    for turn in range(method.samples):
        asked = first = judge_question(method, task.case, output, turn)
        for left in range(method.retries_on_unreadable, -1, -1):
            answer = clients.ask(asked)
            usage = usage + answer.usage
            try:
                judgements.append(read_judgement(answer.text, method, task.case, output))
                break
            except UnreadableReply as error:
                problem = error.problems[0]
                complaints.append(problem.message)
                if not left:
                    details: dict[str, Json] = {"replies_that_could_not_be_read": complaints}
                    return task.grader.graded(
                        "error", None, problem.with_hint, code=problem.code, details=details, usage=usage
                    )
                asked = question_again(first, error.why, clients.mask)
    ordered = sorted(judgements, key=lambda judgement: (judgement.score, judgement.passed))
    chosen = ordered[(len(ordered) - 1) // 2]
    flips = sum(judgement.passed != chosen.passed for judgement in judgements) / len(judgements)
    details = dict(chosen.details)
    if complaints:
        details["replies_that_could_not_be_read"] = complaints
    if method.samples > 1:
        details["samples"] = {
            "scores": [round(judgement.score, 6) for judgement in judgements],
            "flip_rate": flips,
        }
    if chosen.disagrees:
        details["disagrees"] = chosen.disagrees
    reason = "" if chosen.passed else chosen.reason
    outcome: Outcome = "passed" if chosen.passed else "failed"
    return task.grader.graded(outcome, chosen.score, reason, details=details, usage=usage)


def problems(task: Task) -> Iterator[Problem]:
    how: ModelJudge = task.method
    scoring = how.scoring
    if scoring.type == "categorical" and {*scoring.categories} <= {*scoring.passing}:
        hint = "leave at least one out of `passing`"
        yield never_fails("every category passes", hint, "config", "scoring", "passing")
    elif scoring.type == "numeric" and len(scoring.range) == 2:
        yield from threshold_problems(scoring.threshold, scoring.range, ("config", "scoring", "threshold"))
    if not (how.rubric.strip() if isinstance(how.rubric, str) else how.rubric):
        yield Problem("BK702", "a model grader without a rubric", "state the criteria: `rubric: |`")
    if scoring.type == "categorical":
        if len(scoring.categories) < 2 or not scoring.passing:
            hint = "state `categories: [good, poor]` and which of them pass: `passing: [good]`"
            yield Problem("BK702", "categorical scoring is incomplete", hint)
        for unknown in sorted({*scoring.passing} - {*scoring.categories}):
            hint = f"one of {', '.join(scoring.categories)}"
            yield Problem("BK702", f"`passing` names {unknown!r}, which is not a category", hint)
    for criterion in how.criteria:
        bounds = criterion.range or scoring.range
        if len(bounds) != 2 or bounds[0] >= bounds[1]:
            yield Problem("BK702", f"{bounds} is not a range", "the lowest and the highest score: [1, 5]")
        if criterion.weight < 0:
            yield Problem("BK702", f"{criterion.name} has a negative weight", "0 or more")
    if isinstance(how.rubric, str):
        yield from rubrics.read(how.rubric).problems
    if not any(criterion.weight for criterion in how.criteria):
        yield Problem("BK702", "no criterion has any weight", "leave `weight` out, or state one above 0")
    if how.samples < 1:
        yield Problem("BK702", f"{how.samples} samples of a judgement", "1 or more; an odd number decides")
    yield from retries_problems(how.retries_on_unreadable)


_WORDS = {"passed": True, "pass": True, "failed": False, "fail": False}


def spoken_verdict(said: bool | int | float | str) -> bool | None:
    """What a person said in words; None for a score and for any other word."""
    return said if isinstance(said, bool) else _WORDS.get(said.lower()) if isinstance(said, str) else None


def human_verdict(how: ModelJudge, rule: PassRule, said: bool | int | float | str) -> bool | None:
    """Whether it passes by what a person said; None for what says neither."""
    if isinstance(said, str) and how.scoring.type == "categorical" and said in how.scoring.categories:
        return said in how.scoring.passing
    if isinstance(said, bool | str):
        return spoken_verdict(said)
    low, high = (float(bound) for bound in how.scoring.range)
    return (said - low) / (high - low) + _SLACK >= how.passing_share if low <= said <= high else None


def label_words(how: ModelJudge) -> str:
    low, high = (float(bound) for bound in how.scoring.range)
    return ", ".join(how.scoring.categories) or f"a score from {low:g} to {high:g}"


MODEL_JUDGE = GraderType(
    ModelJudge,
    model_judge,
    kind="model",
    problems=problems,
    files=lambda config: {"calibration": config.calibration},
    asks=lambda config: (config.model, max(1, config.samples)),
    criteria=describe_criteria,
    label_scale=LabelScale(human_verdict, label_words),
)
