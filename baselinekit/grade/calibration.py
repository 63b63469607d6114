"""What people said of an output, and what the judge said: counted side by side."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from baselinekit.errors import Problem
from baselinekit.grade.by_model import passing_share
from baselinekit.metrics import cohen_kappa
from baselinekit.model.evals import Case, Expected
from baselinekit.model.graders import ModelJudge
from baselinekit.model.ratings import Agreement, Label
from baselinekit.model.recipes import PromptExecution, PromptInput, Recipe

_WORDS = {"passed": True, "pass": True, "failed": False, "fail": False}
_SLACK = 1e-9


def rubric_hash(how: ModelJudge) -> str:
    """Of all that decides what the judge is asked and how its reply is read, but for who it is."""
    return _digest(repr(replace(how, model="", calibration=None)))


def labels_hash(labels: Sequence[Label]) -> str:
    return _digest(repr(list(labels)))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def human_verdict(label: Label, how: ModelJudge) -> bool | None:
    """Whether it passes by what the person said; None for what says neither."""
    said = label.human
    if isinstance(said, bool):
        return said
    if isinstance(said, str):
        if how.scoring.type == "categorical" and said in how.scoring.categories:
            return said in how.scoring.passing
        return _WORDS.get(said.lower())
    low, high = (float(bound) for bound in how.scoring.range)
    if not low <= said <= high:
        return None
    return (said - low) / (high - low) + _SLACK >= passing_share(how)


def label_problem(label: Label, how: ModelJudge) -> Problem | None:
    """Why a label cannot be set beside this judge."""
    if human_verdict(label, how) is not None:
        return None
    low, high = how.scoring.range
    words = ", ".join(how.scoring.categories) or f"a score from {low:g} to {high:g}"
    return Problem(
        "BK736", f"human: {label.human!r} says neither", f"passed, failed, or {words}", at=("human",)
    )


def case_of_label(label: Label, number: int) -> Case:
    """The label as a case that the judge can be asked about. Who labels sees no more than that either."""
    text = label.input if isinstance(label.input, str) else "" if label.input is None else repr(label.input)
    expected = None if label.expected is None else Expected("semantic", label.expected)
    return Case(
        f"label {number}", Recipe(PromptInput(text=text), PromptExecution("prompt")), (), expected=expected
    )


def agreement(how: ModelJudge, labels: Sequence[Label], verdicts: Sequence[bool | None]) -> Agreement:
    """All of them. `verdicts` are those of the judge; None where its reply could not be used."""
    pairs = [(human_verdict(label, how), verdict) for label, verdict in zip(labels, verdicts, strict=True)]
    both, only_judge, only_human, neither = (
        pairs.count((human, judge))
        for human, judge in ((True, True), (False, True), (True, False), (False, False))
    )
    return Agreement(
        how.model,
        rubric_hash(how),
        labels_hash(labels),
        both,
        only_judge,
        only_human,
        neither,
        sum(verdict is None for verdict in verdicts),
        cohen_kappa(both, only_human, only_judge, neither),
    )
