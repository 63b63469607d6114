"""Grader that asks a model: a rubric, the text between marks, and a reply that is checked and computed again.

The overall score that the judge states is not trusted: it is computed from the scores and the weights of the
rubric, and whether it passes is decided here. A judge that contradicts itself is reported."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Literal, NamedTuple

from baselinekit.errors import Problem
from baselinekit.graders import base, judging
from baselinekit.graders.base import GradeClients, GraderType, Task
from baselinekit.graders.judging import UnreadableReply, nonce_of, scalar, unquoted, unusable_reply
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Number
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, PassRule
from baselinekit.model.recipes import ModelQuestion, Observation, Usage
from baselinekit.model.values import Json
from baselinekit.structs import AtLeastOne, NotNegative, Retries, Struct, field, plain, replace
from baselinekit.values.equality import decimal, is_number
from baselinekit.values.texts import mask_and_clip, no_mask

OVERALL = "overall"
"""The name of the only criterion of a rubric that names none."""


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


class Criterion(Struct):
    """One criterion of a rubric. Weights are relative to each other; a `required` criterion must be met."""

    name: str
    description: str = ""
    weight: NotNegative = 1
    range: list[Number] | None = None
    required: bool = False


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
        return read_rubric(self.rubric)[0] or [Criterion(OVERALL)]

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        ranges = {criterion.name: criterion.range or self.scoring.range for criterion in self.criteria}
        return {name: (float(low), float(high)) for name, (low, high) in ranges.items()}

    @property
    def scale(self) -> tuple[float, float]:
        """The scale of the overall score and of the threshold: the scale of the criteria, or from 0 to 1 if
        these have different ones. Then the overall score is the mean of the shares of their ranges."""
        scales = {*self.ranges.values()}
        return scales.pop() if len(scales) == 1 else (0.0, 1.0)

    @property
    def passing_share(self) -> Fraction:
        """The lowest share of its range with which a score passes."""
        threshold = self.scoring.threshold
        return base.PASSING_SHARE if threshold is None else share_of(threshold, self.scale)

    @property
    def threshold(self) -> float:
        """The lowest overall score that passes."""
        low, high = self.scale
        return low + float(self.passing_share) * (high - low)


def share_of(score: Json, bounds: tuple[float, float]) -> Fraction:
    """A score as a share of its range, by the written digits."""
    value, low, high = (Fraction(decimal(number)) for number in (score, *bounds))
    return (value - low) / (high - low)


# The question.

_SLOT = lazy_pattern(r"\{(rubric|input|output|expected)\}")
_PROMPT = """\
You are an expert evaluator. Grade the output by the rubric.

{rubric}

Compare the output with the expected one where there is one, apply each criterion, justify each score, and be
consistent: the same output deserves the same score."""


def judge_question(judge: ModelJudge, case: Case, output: Json, turn: int = 0) -> ModelQuestion:
    """The question to the judge about one output. Every text that is not ours is between marks."""
    texts, form = _texts(case, output), _reply_form(judge)
    settings = {"temperature": judge.temperature, "max_tokens": judge.max_tokens, "json": True, "turn": turn}
    return judging.question(judge.model, _describe_task(judge), texts, form, **settings)


def _texts(case: Case, output: Json) -> dict[str, str]:
    texts = {"input": base.text_of(base.input_of(case)), "output": base.text_of(output)}
    if case.context is not None:
        texts["context"] = base.text_of(case.context)
    for number, value in enumerate(base.values_of(case.expected)):
        texts["expected" if not number else f"expected, alternative {number}"] = base.text_of(value)
    return texts


def _describe_task(judge: ModelJudge) -> str:
    """The rubric in words. In a template of the user, {rubric} is replaced by it, and {input}, {output} and
    {expected} by the names of the texts between the marks; nothing is filled in twice."""
    rubric, scoring = judge.rubric, judge.scoring
    if not isinstance(rubric, str):
        lines = (f"- {one.name} (weight: {one.weight}): {one.description}" for one in rubric)
        rubric = "\n".join(line.removesuffix(": ") for line in lines)
    slots = {"rubric": rubric, **{name: f"the {name} below" for name in ("input", "output", "expected")}}
    # One pass: braces that are not a slot, such as those of JSON, stay as they are.
    parts = [_SLOT.sub(lambda match: slots[match[1]], judge.prompt or _PROMPT)]
    if judge.prompt and "{rubric}" not in judge.prompt:
        parts.append(rubric)
    if scoring.type == "numeric":
        scales = judge.ranges.items()
        lines = (f"Score {name} from {low:g} (worst) to {high:g} (best)." for name, (low, high) in scales)
        parts += ["\n".join(lines), _describe_pass(judge)]
    elif scoring.type == "categorical":
        parts.append(f"Choose one category: {', '.join(scoring.categories)}")
    for sample in judge.examples:
        parts.append(f"An example of a judgement that was right: {json.dumps(plain(sample), default=str)}")
    return "\n\n".join(parts)


def _describe_pass(judge: ModelJudge) -> str:
    """When `passed` is true: a judge that can only guess it would contradict its scores."""
    mean = "the weighted mean of the scores"
    if len({*judge.ranges.values()}) > 1:
        mean += ", each as a share of its own range, from 0 (worst) to 1 (best)"
    rule = f"`overall_score` is {mean}, and `passed` is true if it is {judge.threshold:g} or more"
    required = [criterion.name for criterion in judge.criteria if criterion.required]
    return f"{rule}, and {', '.join(required)} too." if required else f"{rule}."


def _reply_form(judge: ModelJudge) -> dict[str, Json]:
    """The form of the reply. It is not a valid reply itself: a judge that copies it has judged nothing."""
    if judge.scoring.type == "categorical":
        return {"category": f"<one of: {', '.join(judge.scoring.categories)}>", "justification": "…"}
    if judge.scoring.type == "boolean":
        return {"passed": unquoted("true or false"), "justification": "…"}
    low, high = judge.scale
    return {
        "scores": {name: unquoted(f"{low:g} to {high:g}") for name, (low, high) in judge.ranges.items()},
        "overall_score": unquoted(f"{low:g} to {high:g}"),
        "passed": unquoted("true or false"),
        "justification": "…",
        "specific_feedback": ["…"],
    }


# The reply.


def read_judgement(answer: str, task: Task, output: Json) -> Grade:
    """The grade that a reply makes; UnreadableReply if its verdict cannot be read, or contradicts its own
    scores: it is unclear then which of the two is meant."""
    judge: ModelJudge = task.method
    scoring = judge.scoring
    decisive = {"numeric": "scores", "categorical": "category", "boolean": "passed"}[scoring.type]
    fields = judging.reply(answer, (decisive,), nonce_of(*_texts(task.case, output).values()))
    justification = judging.words_of(fields.get("justification"))
    if scoring.type == "categorical":
        category = fields["category"]
        if category not in scoring.categories:
            raise unusable_reply(f"chooses {category!r}, which is not one of the categories", answer)
        reason = f"{category}: {justification}" if justification else category
        details = {"category": category, "justification": justification}
        return task.decide(category in scoring.passing, reason, details)
    claimed = scalar(fields["passed"]) if "passed" in fields else None
    if not isinstance(claimed, bool) and "passed" in fields:
        raise unusable_reply(f"has passed: {fields['passed']!r}, which is neither true nor false", answer)
    if isinstance(claimed, bool) and scoring.type == "boolean":
        return task.decide(claimed, justification, {})
    return _by_scores(task, {**fields, "passed": claimed, "justification": justification}, answer)


def _by_scores(task: Task, fields: Mapping[str, Json], answer: str) -> Grade:
    judge: ModelJudge = task.method
    scores = judging.scores_in(fields["scores"], judge.ranges, answer)
    shares = {name: share_of(scores[name], bounds) for name, bounds in judge.ranges.items()}
    mean = base.weighted_mean((shares[one.name], one.weight) for one in judge.criteria) or Fraction(0)
    unmet = [one.name for one in judge.criteria if one.required and shares[one.name] < judge.passing_share]
    passed = not unmet and mean >= judge.passing_share
    low, high = judge.scale
    overall = low + float(mean) * (high - low)
    if fields["passed"] not in (passed, None):
        summary = f"its scores make {overall:.3g} of {high:g}, and {judge.threshold:g} passes"
        summary += f", with {', '.join(unmet)} too low" if unmet else ""
        why = f"has passed: {json.dumps(fields['passed'])}, but {summary}"
        hint = "use a stronger model, or a rubric that leaves less open"
        raise UnreadableReply(Problem("BK641", f"the judge contradicts itself: it {why}", hint), why=why)
    feedback, claimed = fields.get("specific_feedback"), scalar(fields.get("overall_score", overall))
    details: dict[str, Json] = {
        "scores": scores,
        "overall_score": round(overall, 6),
        "justification": fields["justification"],
        "specific_feedback": feedback if isinstance(feedback, list) else [],
    }
    if unmet:
        details["unmet"] = unmet
    if not is_number(claimed) or abs(share_of(claimed, judge.scale) - mean) > Fraction(1, 20):
        details["disagrees"] = f"the judge gives {claimed!r} overall, its scores make {overall:.3g}"
    reason = "" if passed else f"{overall:.3g} of {high:g}: {fields['justification']}"
    return task.grader.graded("passed" if passed else "failed", float(mean), reason, details=details)


def model_judge(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """Take all samples; the median counts, and how often the others differ from it is reported."""
    judge: ModelJudge = task.method
    output = observation.output
    read = partial(read_judgement, task=task, output=output)
    grades: list[Grade] = []
    for turn in range(judge.samples):
        asked = judge_question(judge, task.case, output, turn)
        grades.append(judging.grade_readable(task, clients, asked, read))
        if grades[-1].outcome == "error":
            break
    median, usage = grades[-1], sum((grade.usage for grade in grades), Usage())
    details = dict(median.details)
    if judge.samples > 1 and median.outcome != "error":
        ordered = sorted(grades, key=lambda grade: (grade.score or 0.0, grade.outcome == "passed"))
        median = ordered[(len(ordered) - 1) // 2]
        flips = sum(grade.outcome != median.outcome for grade in grades) / len(grades)
        scores = [round(grade.score or 0.0, 6) for grade in grades]
        details = {**median.details, "samples": {"scores": scores, "flip_rate": flips}}
    return replace(median, details=details, usage=usage)


# Problems that are known before anything is asked, and what people are shown of a judge.


def problems(task: Task) -> Iterator[Problem]:
    judge: ModelJudge = task.method
    scoring, passing, categories = judge.scoring, {*judge.scoring.passing}, {*judge.scoring.categories}
    if not (judge.rubric.strip() if isinstance(judge.rubric, str) else judge.rubric):
        yield Problem("BK702", "a model grader without a rubric", "state the criteria: `rubric: |`")
    if scoring.type == "categorical" and passing and categories <= passing:
        hint = "leave at least one out of `passing`"
        yield base.never_fails("every category passes", hint, "config", "scoring", "passing")
    elif scoring.type == "categorical" and not (passing and passing < categories):
        hint = "state `categories: [good, poor]` and which of them pass: `passing: [good]`"
        yield Problem("BK702", "`passing` names no category, or one that there is not", hint)
    ranges = [criterion.range or scoring.range for criterion in judge.criteria]
    unsound = [bounds for bounds in ranges if len(bounds) != 2 or bounds[0] >= bounds[1]]
    for bounds in unsound:
        yield Problem("BK702", f"{bounds} is not a range", "the lowest and the highest score: [1, 5]")
    if scoring.type == "numeric" and not unsound:
        yield from base.threshold_problems(scoring.threshold, judge.scale, ("config", "scoring", "threshold"))
    if isinstance(judge.rubric, str):
        yield from read_rubric(judge.rubric)[1]
    elif repeated := base.first_repeated([criterion.name for criterion in judge.rubric]):
        yield _repeated_name(repeated)
    if not any(criterion.weight for criterion in judge.criteria):
        yield Problem("BK702", "no criterion has any weight", "leave `weight` out, or state one above 0")


def describe_criteria(judge: ModelJudge) -> list[str]:
    """The criteria in words, a line each: the name, its share of the score, its scale."""
    if judge.scoring.type != "numeric":
        return [judge.scoring.type]
    criteria, lines = judge.criteria, []
    total = sum(criterion.weight for criterion in criteria) or 1
    for criterion in criteria:
        low, high = judge.ranges[criterion.name]
        weight = f"weight {criterion.weight:g} ({criterion.weight / total:.0%})"
        required = ", required" if criterion.required else ""
        lines.append(f"{criterion.name}: {weight}, {low:g} to {high:g}{required}")
    return lines


_VERDICT_WORDS = {"passed": True, "pass": True, "failed": False, "fail": False}


def spoken_verdict(label: bool | str) -> bool | None:
    """The verdict of a label in words; None for any other word."""
    return label if isinstance(label, bool) else _VERDICT_WORDS.get(label.lower())


def human_verdict(judge: ModelJudge, rule: PassRule, label: bool | int | float | str) -> bool | None:
    """Whether a person's label is a pass; None if it is neither pass nor fail."""
    if isinstance(label, str) and judge.scoring.type == "categorical" and label in judge.scoring.categories:
        return label in judge.scoring.passing
    if isinstance(label, bool | str):
        return spoken_verdict(label)
    low, high = judge.scale
    return share_of(label, judge.scale) >= judge.passing_share if low <= label <= high else None


MODEL_JUDGE = GraderType(
    ModelJudge,
    model_judge,
    kind="model",
    problems=problems,
    files=lambda config: {"calibration": config.calibration},
    asks=lambda config: (config.model, config.samples),
    criteria=describe_criteria,
    label_verdict=human_verdict,
)


# The criteria of a rubric that is a text: a numbered list with weights as `(weight: 0.4)` or `(40%)`, or
# ranges as `(0-5)`, in its lines. Whatever else looks like a weight is a problem: a lost weight changes
# verdicts and no reader sees it.

_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
_LINE = lazy_pattern(r"(?P<indent>[ \t]*)\d+[.)][ \t]+(?P<text>\S.*)")
_WEIGHT = lazy_pattern(
    rf"\(weight:\s*(?P<weight>{_NUMBER})\)|\((?:weight:\s*)?(?P<percent>{_NUMBER})\s*%\)", re.IGNORECASE
)
_RANGE = lazy_pattern(
    r"\([ \t]*(?P<low>-?\d+(?:\.\d+)?)[ \t]*(?:-|–|to)[ \t]*(?P<high>\d+(?:\.\d+)?)[ \t]*\)"
)
_BOLD = lazy_pattern(r"\s*(?:\*\*|__)(?P<name>[^*_]+?):?(?:\*\*|__)")
_NAME_ENDS = lazy_pattern(r"[:(|]|\s[-–—]+(?:\s|$)|[,;]\s*$")

_WORD = r"(?:weight(?:ing|age)?|wt\.?)"
_UNIT = r"(?:%|per[ ]?cent|points?|pts?\.?)"
_LOOKS_LIKE_WEIGHT = lazy_pattern(
    "|".join(
        (
            # [weight: 0.4], (high weight), (40% weight), (worth 40%), (w: 3)
            rf"[(\[{{]\s*(?:[\w.,%]{{1,20}}\s+)?(?:{_WORD}|worth|w(?=\s*[:=]))(?!\w)[^)\]}}\n]{{0,80}}[)\]}}]",
            # [40%], (20 points), (40% of the total), (60%, 0-5)
            rf"[(\[{{]\s*[\d.,]+\s*{_UNIT}\s*(?:of\s+(?:the\s+)?(?:total|score|grade)\s*)?"
            r"(?=[,;)\]}])[^)\]}\n]{0,80}[)\]}]?",
            # (x3), (3x)
            rf"[(\[{{]\s*(?:[x×]\s*(?:{_NUMBER})|(?:{_NUMBER})\s*[x×])\s*[)\]}}]",
            # Accuracy (0.6), Accuracy [60/100]: right?
            r"[(\[{]\s*(?:0?\.\d+|\d+\s*/\s*100)\s*[)\]}](?=\s*\**\s*(?::|$))",
            # weight: high, weight 0.4
            rf"\b{_WORD}s?\s*[:=]\s*\S+|\b{_WORD}\s+(?:{_NUMBER})(?![\w/])",
            # Accuracy — 40 %, | 40% |
            rf"[:,|–—-]\s*\**\s*(?:{_NUMBER})\s*(?:%|per[ ]?cent)(?=\s*\**\s*(?:[:.,;|)]|[–—-]\s|$))",
            # 40% Accuracy
            rf"^\s*(?:#+\s+)?(?:(?:\d+[.)]|[-*+•])\s+)?\**(?:{_NUMBER})\s*%(?!\s*of\b)",
            # a table with a column of weights
            rf"^\s*\|[^\n]*\b{_WORD}\b[^\n]*",
        )
    ),
    re.IGNORECASE,
)
_LONGEST_SHOWN = 60
_LONGEST_NAME = 60


class _Item(NamedTuple):
    """A numbered line. `name`: the name before its weight as a JSON key, which a judge can repeat; `weights`:
    the weights in it, each with whether it is a percentage."""

    row: int
    indent: int
    name: str
    weights: list[tuple[float, bool]]
    range: list[Number] | None

    @property
    def criterion(self) -> Criterion:
        weight = next((weight / 100 if is_percent else weight for weight, is_percent in self.weights), 1)
        return Criterion(self.name, weight=weight, range=self.range)


@lru_cache(maxsize=256)
def read_rubric(text: str) -> tuple[list[Criterion], list[Problem]]:
    """The criteria of a text, and their problems. They are kept, because each reply of a judge needs those of
    the same text."""
    lines = text.splitlines()
    items = [_item(row, match) for row, line in enumerate(lines) if (match := _LINE.fullmatch(line))]
    depth = min((item.indent for item in items), default=0)
    items = [item for item in items if item.indent <= depth + 1]
    if not any(item.weights or item.range for item in items):
        items = []  # numbered lines that are not criteria
    problems = [*_unread_weights(lines, {item.row for item in items}), *_item_problems(items)]
    return [item.criterion for item in items], problems


def _item(row: int, line: re.Match[str]) -> _Item:
    text = line["text"]
    matches = _WEIGHT.finditer(text)
    weights = [(float(one["percent"] or one["weight"]), bool(one["percent"])) for one in matches]
    bounds = _RANGE.search(text)
    # The name ends where a weight or a range begins, as at a colon.
    remaining = _RANGE.sub(":", _WEIGHT.sub(":", text))
    bold = _BOLD.match(remaining)
    name = bold["name"] if bold else _NAME_ENDS.split(remaining, 1)[0]
    key = re.sub(r"\W+", "_", name.lower()).strip("_")
    scale: list[Number] | None = [float(bounds["low"]), float(bounds["high"])] if bounds else None
    return _Item(row, len(line["indent"].expandtabs(4)), key, weights, scale)


def _unread_weights(lines: Sequence[str], read_rows: set[int]) -> Iterator[Problem]:
    """The problems of texts that look like a weight but were not read."""
    for row, line in enumerate(lines):
        for match in _LOOKS_LIKE_WEIGHT.finditer(_WEIGHT.sub("", line) if row in read_rows else line):
            quoted = mask_and_clip(match[0].strip(), _LONGEST_SHOWN, no_mask, counted=False)
            message = f"line {row + 1} of the rubric: {quoted!r} looks like a weight but could not be read"
            hint = "write it after the name of its criterion: 1. Accuracy (weight: 0.6)"
            yield Problem("BK702", message, hint)


def _item_problems(items: Sequence[_Item]) -> Iterator[Problem]:
    weights = [weight for item in items for weight in item.weights]
    for item in items:
        prefix = f"line {item.row + 1} of the rubric: "
        if not 0 < len(item.name) <= _LONGEST_NAME:
            hint = f"begin with a name of at most {_LONGEST_NAME} characters, then a colon"
            yield Problem("BK702", f"{prefix}a criterion without a name", hint)
        if weights and len(item.weights) != 1:
            hint = "give each criterion one weight, or none of them"
            number = "more than one weight" if item.weights else "no weight, but others do"
            yield Problem("BK702", f"{prefix}{item.name} has {number}", hint)
    if repeated := base.first_repeated([item.name for item in items]):
        yield _repeated_name(repeated)
    total = sum(weight for weight, _ in weights)
    if len({is_percent for _, is_percent in weights}) > 1:
        yield Problem("BK702", "some weights are percentages and others are not", "write all in one way")
    elif weights and weights[0][1] and abs(total - 100) > 1:
        hint = "let them add up to 100 %, or leave the sign out: (weight: 2) is relative"
        yield Problem("BK702", f"the weights make {total:g} %", hint)


def _repeated_name(name: str) -> Problem:
    """The problem of two criteria with one name, which would get one score."""
    return Problem("BK702", f"two criteria are called {name}", "give each a name of its own")
