"""All attempts at one eval case -> one result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from baselinekit.documents.jsontext import encode
from baselinekit.evals.attempts import used_by
from baselinekit.evals.checks import Prepared
from baselinekit.grade.by_matcher import BaselineMatch
from baselinekit.model.baselines import Baseline, Comparison
from baselinekit.model.evals import Case
from baselinekit.model.grades import OUTCOMES, Attempt, Grader, Outcome
from baselinekit.model.results import CaseFacts, Result, Spot
from baselinekit.model.values import Json
from baselinekit.replay.environment import digest, recipe_hash
from baselinekit.texts import already_masked, clipped
from baselinekit.variables import Redactor
from baselinekit.workflow.judging import target_of
from baselinekit.workflow.project import Project

_MOST_SPOTS = 1_000
_LONGEST_SHOWN = 2_000


@dataclass(frozen=True, slots=True)
class CaseAttempt:
    """An attempt as a result tells of it: also when it was made by an earlier run that was killed. `drift`:
    what is not as it was when its baseline was captured."""

    attempt: Attempt
    spots: tuple[Spot, ...] = ()
    count: int = 0
    drift: dict[str, tuple[Json, Json]] = field(default_factory=dict)


def outcome_of(attempts: Sequence[Attempt], retried: int) -> tuple[Outcome, str | None, Attempt]:
    """The outcome, the verdict, and the attempt that says why.

    Where failed attempts are tried again, one that passed is enough, and the case is called flaky. Where
    several attempts were asked for, all of them have to pass; flaky is then what sometimes did."""
    passed = [attempt for attempt in attempts if attempt.outcome == "passed"]
    if len(passed) == len(attempts):
        return "passed", attempts[0].verdict, attempts[0]
    if retried and passed:
        return "passed", "flaky", passed[0]
    worst = next(outcome for outcome in OUTCOMES if any(one.outcome == outcome for one in attempts))
    telling = next(attempt for attempt in attempts if attempt.outcome == worst)
    return worst, "flaky" if passed and worst == "failed" else telling.verdict, telling


def result_of(
    prepared: Prepared, told: Sequence[CaseAttempt], retried: int, wanted: int, project: Project
) -> Result:
    """`wanted`: how many attempts there should be. Of a case that was cut short nothing is said."""
    case = prepared.case
    attempts = tuple(one.attempt for one in told)
    cut = len(attempts) - retried < wanted
    outcome, verdict, telling = outcome_of(attempts, retried)
    spots = next((one for one in told if one.attempt is telling), told[0])
    if cut and outcome == "passed":
        outcome, verdict = "skipped", "limit"
    reason = _reason(telling, attempts, retried, outcome)
    if outcome == "skipped" and cut:
        reason = f"only {len(attempts)} of {wanted} attempts were made"
    return Result(
        id=case.id,
        file=case.source.file,
        line=None,
        kind=case.recipe.kind,
        outcome=outcome,
        reason=reason,
        code=telling.code if outcome == telling.outcome else None,
        verdict=verdict,
        name=case.name,
        criticality=case.criticality,
        target="" if outcome == "passed" else target_of(case.recipe, project),
        differences=spots.spots if outcome == "failed" else (),
        difference_count=spots.count if outcome == "failed" else 0,
        explanation=() if outcome == "passed" else tuple(_explained(telling)),
        notes=_notes(attempts, retried, outcome),
        attempts=len(attempts),
        seconds=sum(attempt.seconds for attempt in attempts) / len(attempts),
        usage=used_by(attempts),
        scores=judged_scores(telling),
        environment_drift=spots.drift if outcome == "failed" else {},
        recipe_hash=recipe_hash(case.recipe),
        case=CaseFacts(
            case.kind,
            attempts,
            case.category,
            case.tags,
            case.weight,
            mean_score(attempts, retried),
            fingerprint(prepared, telling),
            retried,
        ),
    )


def skipped_result(prepared: Prepared, why: str, verdict: str | None = "limit") -> Result:
    """A case that nobody ran, and why."""
    case = prepared.case
    return Result(
        case.id,
        case.source.file,
        None,
        case.recipe.kind,
        "skipped",
        reason=why,
        verdict=verdict,
        name=case.name,
        criticality=case.criticality,
        recipe_hash=recipe_hash(case.recipe),
        case=CaseFacts(case.kind, (), case.category, case.tags, case.weight, None, fingerprint(prepared)),
    )


def spots_of(comparison: Comparison, case: Case, redactor: Redactor) -> tuple[Spot, ...]:
    """The differences from a baseline, as a report shows them."""
    mask = redactor.mask_value
    path = case.baseline.output_path if case.baseline else ("expected", "value")
    return tuple(
        Spot(
            one.path,
            one.kind,
            mask(one.expected, one.path),
            mask(one.actual, one.path),
            case.source.file,
            None,
            rule=one.rule,
            note=redactor.mask_note(one.note, one.expected, one.actual),
            at=(*path, *one.at),
        )
        for one in comparison.differences[:_MOST_SPOTS]
    )


def fingerprint(prepared: Prepared, attempt: Attempt | None = None) -> dict[str, str]:
    """What the verdict hangs on, so that two runs can be told to be comparable."""
    case, around = prepared.case, attempt.environment if attempt else {}
    meant = prepared.baseline or case.baseline
    known = meant.baseline.output if meant and meant.baseline else None
    graders = [_graded_by(grader, meant) for grader in case.graders]
    found = {
        "case": digest([case.recipe, case.expected, case.context, known]),
        "grader": digest(graders),
    }
    further = {"files": prepared.files, "model": around.get("model"), "judge": around.get("judge")}
    return found | {name: str(value) for name, value in further.items() if value}


def _graded_by(grader: Grader, baseline: Baseline | None) -> list[object]:
    """All that a grader is; who compares with a baseline goes by its rules."""
    method: object = grader.method
    if isinstance(method, BaselineMatch) and baseline is not None:
        method = baseline.comparison
    return [grader.name, type(grader.method).__name__, method, grader.weight, grader.required]


def _reason(telling: Attempt, attempts: Sequence[Attempt], retried: int, outcome: Outcome) -> str:
    if outcome == "passed":
        return ""
    if retried:
        often = "both" if len(attempts) == 2 else f"all {len(attempts)}"
        return f"{telling.reason} (in {often} attempts)" if _alike(attempts) else telling.reason
    return reason_with_count(telling, attempts)


def _explained(telling: Attempt) -> Iterator[str]:
    """What each grader says, in words, for every form of report."""
    for grade in telling.grades:
        yield ": ".join(filter(None, (f"{grade.grader} {grade.outcome}", grade.reason)))
        for side in ("expected", "actual"):
            if side in grade.details:
                yield f"{side}: {_shown(grade.details[side])}"
    if telling.output is not None and all("actual" not in grade.details for grade in telling.grades):
        yield f"actual: {_shown(telling.output)}"


def _shown(value: Json) -> str:
    return clipped(value if isinstance(value, str) else encode(value), _LONGEST_SHOWN, already_masked)


def _alike(attempts: Sequence[Attempt]) -> bool:
    return len({(attempt.outcome, attempt.reason) for attempt in attempts}) == 1


def _notes(attempts: Sequence[Attempt], retried: int, outcome: Outcome) -> tuple[str, ...]:
    notes = []
    if retried and outcome == "passed":
        what = f"{attempts[0].outcome} at first ({attempts[0].reason or 'no reason'})"
        notes.append(f"flaky: {what}, and passed at attempt {len(attempts)}")
    return tuple(notes)


def reason_with_count(telling: Attempt, attempts: Sequence[Attempt]) -> str:
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    often = f"{passed} of {len(attempts)} attempts passed" if len(attempts) > 1 else ""
    return "; ".join(filter(None, (often, telling.reason)))


def judged_scores(attempt: Attempt) -> dict[str, int | float]:
    """What those graders gave that judge, and do not only check."""
    judged = [grade for grade in attempt.grades if grade.kind != "code"]
    return {grade.grader: round(grade.score, 6) for grade in judged if grade.score is not None}


def mean_score(attempts: Sequence[Attempt], retried: int) -> float | None:
    """Of the attempts that were made whatever came before; None where one of them has no score."""
    scores = [attempt.score for attempt in attempts[: len(attempts) - retried]]
    known = [score for score in scores if score is not None]
    return round(sum(known) / len(known), 6) if known and len(known) == len(scores) else None
