"""Graders that ask a model: a rubric, the text between marks, and a reply that is checked and computed again.

What the judge says of the sum is not believed: the overall score is made of its scores and the weights of the
rubric, and whether that is a pass is decided here. A judge that contradicts itself is reported."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from baselinekit.grade.by_code import text_of, values_of
from baselinekit.grade.criteria import criteria_of, scale_of
from baselinekit.grade.judging import contradiction, nonce_of, question, reply, unusable
from baselinekit.model.evals import Case
from baselinekit.model.graders import (
    Criterion,
    ModelJudge,
)
from baselinekit.model.questions import Ask
from baselinekit.model.values import Json
from baselinekit.tree.equality import decimal, is_number

_PASSING_SHARE = 0.75
"""Of the range, where nobody says otherwise: 4 of 1 to 5."""

_SLACK = 1e-9
_SLOT = re.compile(r"\{(rubric|input|output|expected)\}")
_PROMPT = """\
You are an expert evaluator. Grade the output by the rubric.

{rubric}

Compare the output with the expected one where there is one, apply each criterion, justify each score, and be
consistent: the same output deserves the same score."""


@dataclass(frozen=True, slots=True)
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
    texts = {"input": text_of(asked_of(case)), "output": text_of(output)}
    if case.context is not None:
        texts["context"] = text_of(case.context)
    for number, value in enumerate(values_of(case.expected)):
        texts["expected" if not number else f"expected, alternative {number}"] = text_of(value)
    return texts


def asked_of(case: Case) -> Json:
    asked = case.recipe.input
    for name in ("text", "messages", "argv"):
        value = getattr(asked, name, None)
        if value is not None:
            return [message.content for message in value] if name == "messages" else value
    return asked if isinstance(asked, str | dict | list) else str(getattr(asked, "prompt", "") or "")


def _task(how: ModelJudge) -> str:
    """The rubric in words. A template of the user's gets it for {rubric}; {input}, {output} and {expected} in
    it name the texts between the marks, and nothing is filled in twice."""
    criteria = criteria_of(how)
    rubric = how.rubric if isinstance(how.rubric, str) else "\n".join(map(_in_words, criteria))
    slots = {"rubric": rubric, **{name: f"the {name} below" for name in ("input", "output", "expected")}}
    parts = [_filled(how.prompt or _PROMPT, slots)]
    if how.prompt and "{rubric}" not in how.prompt:
        parts.append(rubric)
    if how.scoring.type == "numeric":
        parts.append("\n".join(_asked_for(criterion, how) for criterion in criteria))
        parts.append(_what_passes(criteria, how))
    elif how.scoring.type == "categorical":
        parts.append(f"Choose one category: {', '.join(how.scoring.categories)}")
    parts += [f"An example of a judgement that was right: {_sample(sample)}" for sample in how.examples]
    return "\n\n".join(parts)


def _filled(template: str, slots: Mapping[str, str]) -> str:
    """One pass: braces that are no slot, such as those of JSON, stay as they are."""
    return _SLOT.sub(lambda match: slots[match[1]], template)


def _in_words(criterion: Criterion) -> str:
    about = f": {criterion.description}" if criterion.description else ""
    return f"- {criterion.name} (weight: {criterion.weight}){about}"


def _asked_for(criterion: Criterion, how: ModelJudge) -> str:
    low, high = scale_of(criterion, how)
    return f"Score {criterion.name} from {low:g} (worst) to {high:g} (best)."


def _what_passes(criteria: Sequence[Criterion], how: ModelJudge) -> str:
    """When `passed` is true: who is not told can only guess, and would contradict the scores."""
    low, high = (float(bound) for bound in how.scoring.range)
    least = low + passing_share(how) * (high - low)
    mean = "weighted mean" if len({criterion.weight for criterion in criteria}) > 1 else "mean"
    told = f"`overall_score` is the {mean} of the scores, and `passed` is true if it is {least:g} or more"
    must = [criterion.name for criterion in criteria if criterion.required]
    return f"{told}, and {', '.join(must)} too." if must else f"{told}."


def _sample(sample: object) -> str:
    said = {name: getattr(sample, name) for name in ("input", "output", "score", "justification")}
    return json.dumps({name: value for name, value in said.items() if value not in (None, "")}, default=str)


def _form(how: ModelJudge) -> dict[str, Json]:
    """What the reply has to look like. Who copies it has judged nothing, and what it says is no verdict."""
    if how.scoring.type == "categorical":
        return {"category": f"<one of: {', '.join(how.scoring.categories)}>", "justification": "…"}
    if how.scoring.type == "boolean":
        return {"passed": "<true or false>", "justification": "…"}
    ranges = {criterion.name: scale_of(criterion, how) for criterion in criteria_of(how)}
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
    nonce = nonce_of(*_texts(how, case, output).values())
    given = reply(answer, _form(how), nonce)
    if not isinstance(given["justification"], str):
        raise unusable("justifies nothing", answer)
    if how.scoring.type == "categorical":
        return _by_category(given, how, answer)
    if not isinstance(given["passed"], bool):
        raise unusable(f"says passed: {given['passed']!r}, which is neither true nor false", answer)
    if how.scoring.type == "boolean":
        passed = given["passed"]
        return Judgement(passed, float(passed), given["justification"], {})
    return _by_scores(given, how, answer)


def _by_category(given: Mapping[str, Json], how: ModelJudge, answer: str) -> Judgement:
    category = given["category"]
    if category not in how.scoring.categories:
        raise unusable(f"chooses {category!r}, which is none of the categories", answer)
    passed = category in how.scoring.passing
    return Judgement(passed, float(passed), given["justification"], {"category": category})


def _by_scores(given: Mapping[str, Json], how: ModelJudge, answer: str) -> Judgement:
    criteria, scores = criteria_of(how), given["scores"]
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
        if criterion.required and share + _SLACK < passing_share(how):
            unmet.append(criterion.name)
    share = weighed / total
    low, high = (float(bound) for bound in how.scoring.range)
    overall = low + share * (high - low)
    passed = not unmet and share + _SLACK >= passing_share(how)
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
        least = low + passing_share(how) * (high - low)
        scored = f"its scores make {overall:.3g} of {high:g}, and {least:g} passes"
        scored += f", with {', '.join(unmet)} too low" if unmet else ""
        raise contradiction(f"says passed: {json.dumps(given['passed'])}, but {scored}")
    disagrees = _disagreement(given, overall, (high - low) / 20)
    reason = given["justification"] if passed else f"{overall:.3g} of {high:g}: {given['justification']}"
    return Judgement(passed, share, reason, details, disagrees)


def passing_share(how: ModelJudge) -> float:
    low, high = (float(bound) for bound in how.scoring.range)
    stated = how.scoring.threshold
    return _PASSING_SHARE if stated is None else (float(stated) - low) / (high - low)


def _disagreement(given: Mapping[str, Json], overall: float, slack: float) -> str:
    """A slip in the sum, which is made here anyway."""
    claimed = given["overall_score"]
    if not is_number(claimed) or abs(decimal(claimed) - decimal(overall)) > decimal(slack):
        return f"the judge says {claimed!r} overall, its scores make {overall:.3g}"
    return ""


def middle(judgements: Sequence[Judgement]) -> tuple[Judgement, float]:
    """The judgement that counts of several, the middle one by its score and its verdict, and the share of
    the others that came to another one."""
    ordered = sorted(judgements, key=lambda judgement: (judgement.score, judgement.passed))
    chosen = ordered[(len(ordered) - 1) // 2]
    flipped = sum(judgement.passed != chosen.passed for judgement in judgements)
    return chosen, flipped / len(judgements)
