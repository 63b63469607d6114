"""One eval case: the result that is made of its attempts, and what of them goes into the journal of a run."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field

from baselinekit import __version__
from baselinekit.documents.jsontext import encode
from baselinekit.errors import NotRecorded
from baselinekit.evals.attempts import used_by
from baselinekit.evals.checks import Prepared
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Comparison
from baselinekit.model.evals import Case, Wanted
from baselinekit.model.grades import OUTCOMES, Attempt, Outcome, PassRule, each_grade
from baselinekit.model.results import CaseFacts, Result, Spot
from baselinekit.model.values import Json
from baselinekit.replaying.dispatch import digest, recipe_hash
from baselinekit.report.resultfile import ATTEMPT, DRIFT, SPOT
from baselinekit.schema.records import Field, RecordForm, RecordReader, named, record, records
from baselinekit.store.journal import Journal, name_of
from baselinekit.texts import already_masked, clipped
from baselinekit.variables import Redactor
from baselinekit.workflow.judging import target_of
from baselinekit.workflow.project import Project

# All attempts at one eval case -> one result.


_MOST_SPOTS = 1_000
_LONGEST_SHOWN = 2_000


@frozen
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
    reason, notes = reason_with_count(telling, attempts), list[str]()
    asks_nobody = kind_of(case.recipe).asks_nobody
    if outcome == "passed":
        reason = ""
    elif retried:
        often = "both" if len(attempts) == 2 else f"all {len(attempts)}"
        alike = len({(attempt.outcome, attempt.reason) for attempt in attempts}) == 1
        reason = f"{telling.reason} (in {often} attempts)" if alike else telling.reason
    if retried and outcome == "passed":
        first = f"{attempts[0].outcome} at first ({attempts[0].reason or 'no reason'})"
        notes.append(f"flaky: {first}, and passed at attempt {len(attempts)}")
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
        target="" if outcome == "passed" or asks_nobody else target_of(case.recipe, project),
        differences=spots.spots if outcome == "failed" else (),
        difference_count=spots.count if outcome == "failed" else 0,
        explanation=() if outcome == "passed" else tuple(explain_grades(telling)),
        notes=tuple(notes),
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
            case.pass_rule,
        ),
    )


def noted(results: Sequence[Result]) -> Iterator[str]:
    """What came up in the attempts, for every form of report: the same once, however many cases have it."""
    cases: dict[str, dict[str, None]] = {}
    for result in results:
        for attempt in result.case.attempts if result.case is not None else ():
            for note in attempt.notes:
                cases.setdefault(note, {})[result.id] = None
    for note, ids in cases.items():
        first, *others = ids
        more = f" and {len(others):,} more" if others else ""
        yield f"{first}{more}: {note}"


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
    around = attempt.environment if attempt else {}
    if not prepared.digests:
        prepared.digests.update(digests_of(prepared))
    further = {"files": prepared.files, "model": around.get("model"), "judge": around.get("judge")}
    return prepared.digests | {name: str(value) for name, value in further.items() if value}


def digests_of(prepared: Prepared) -> dict[str, str]:
    """Of what is asked and what would be right, and of what judges it."""
    case = prepared.case
    meant = prepared.baseline or case.baseline
    known = meant.baseline.output if meant and meant.baseline else None
    judged_by = []
    for grader in case.graders:
        method = graders.row_of(grader).without_places(grader.method)
        if graders.row_of(grader).compares == "baseline" and meant is not None:
            method = meant.comparison
        name = type(grader.method).__name__
        judged_by.append([grader.name, name, method, grader.weight, grader.required])
    wanted = [case.wanted] if case.wanted != Wanted() else []
    rule = [case.pass_rule] if case.pass_rule != PassRule() else []
    return {
        "case": digest([case.recipe, case.expected, case.context, known, *wanted]),
        "grader": digest([*judged_by, *rule]),
    }


def explain_grades(telling: Attempt, file: str = "") -> Iterator[str]:
    """What each grader says, in words, for every form of report: `contains failed (evals/a.yaml:12): …`.
    `file`: where the graders have their lines."""
    for grade in each_grade(telling.grades):
        words = ", ".join(filter(None, (f"{grade.grader} {grade.outcome}", grade.verdict)))
        place = f" ({file}:{grade.line})" if grade.line is not None else ""
        yield ": ".join(filter(None, (f"{words}{place}", grade.reason)))
        for side in ("expected", "actual"):
            if side in grade.details:
                yield f"{side}: {_shown(grade.details[side])}"
    if telling.output is not None and all(
        "actual" not in grade.details for grade in each_grade(telling.grades)
    ):
        yield f"actual: {_shown(telling.output)}"


def _shown(value: Json) -> str:
    return clipped(value if isinstance(value, str) else encode(value), _LONGEST_SHOWN, already_masked)


def reason_with_count(telling: Attempt, attempts: Sequence[Attempt]) -> str:
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    often = f"{passed} of {len(attempts)} attempts passed" if len(attempts) > 1 else ""
    return "; ".join(filter(None, (often, telling.reason)))


def judged_scores(attempt: Attempt) -> dict[str, int | float]:
    """What those graders gave that judge, and do not only check; and what is made of several."""
    judged = [grade for grade in each_grade(attempt.grades) if grade.kind != "code" or grade.parts]
    return {grade.grader: round(grade.score, 6) for grade in judged if grade.score is not None}


def mean_score(attempts: Sequence[Attempt], retried: int) -> float | None:
    """Of the attempts that were made whatever came before; None where one of them has no score."""
    scores = [attempt.score for attempt in attempts[: len(attempts) - retried]]
    known = [score for score in scores if score is not None]
    return round(sum(known) / len(known), 6) if known and len(known) == len(scores) else None


# What of an attempt goes into the journal of a run, from which a later run takes it as its own.

Key = tuple[str, int]
"""A case by its id, and the number of the attempt."""

_FINISHED = {"finished": True}
_STEPS = Field(list, read=lambda value, at, reader: tuple(value), write=list)
_ENTRY = RecordForm(
    CaseAttempt,
    attempt=record(ATTEMPT),
    spots=records(RecordForm(Spot, **SPOT.keys, at=_STEPS), optional=True),
    count=Field(int, optional=True),
    drift=named(form=DRIFT, optional=True),
)


def key_of(
    project: Project, suite: str, cases: Sequence[Prepared], attempts: int, retries: Sequence[int]
) -> str:
    """The same for two runs that would make the same attempts: of the same cases, by the same graders, with
    the same settings and files. What a run records in a file is not among them."""
    told = [(one.case.id, one.case.judge_after_failure, fingerprint(one)) for one in cases]
    around = (
        project.override_base_url,
        project.base_url,
        project.environment,
        sorted(map(repr, project.scope.values.items())),
        sorted(map(repr, project.models.items())),
        sorted(map(repr, project.config.skills.items())),
    )
    return name_of(__version__, suite, repr(told), repr(around), str(attempts), repr(list(retries)))


class Memory:
    """What was finished before, and what is finished now. `was_finished`: all of it, as a run of a plan that
    goes on."""

    def __init__(self, journal: Journal | None, go_on: bool):
        self._journal = journal
        self._known: dict[Key, tuple[CaseAttempt, int | None]] = {}
        self.was_finished = False
        for entry in journal.begin(go_on) if journal else ():
            if entry == _FINISHED:
                self.was_finished = True
                continue
            reader = RecordReader()
            is_attempt = isinstance(entry, dict) and entry.keys() == {"id", "failures", "told"}
            told = _ENTRY.read(entry["told"], (), reader) if is_attempt else None
            if told is not None and not reader.problems:  # else it is not ours, and is made again
                self._known[entry["id"], told.attempt.number] = (told, entry["failures"])

    def __len__(self) -> int:
        return len(self._known)

    @property
    def is_torn(self) -> bool:
        """Whether the earlier run ended while it wrote down an attempt: that one is made again."""
        return self._journal is not None and self._journal.torn > 0

    def known(self, case: Case, number: int) -> CaseAttempt | None:
        """The attempt, where it was finished before."""
        found = self._known.get((case.id, number))
        return found[0] if found else None

    def is_recorded(self, case: Case) -> bool:
        """Whether the earlier run has already written a failure into the file of the case."""
        found = self._known.get((case.id, 1))
        known = case.baseline
        return found is not None and known is not None and known.metadata.failure_count != found[1]

    def add(self, case: Case, told: CaseAttempt) -> None:
        failures = None if case.baseline is None else case.baseline.metadata.failure_count
        if self._journal is not None:
            self._journal.add({"id": case.id, "failures": failures, "told": _ENTRY.write(told)})

    def finish(self) -> None:
        """The run is done, and what it belongs to is not: whoever goes on with that has it from here."""
        if self._journal is not None and not self.was_finished:
            with suppress(NotRecorded):  # then it is made again
                self._journal.add(_FINISHED)

    def forget(self) -> None:
        if self._journal is not None:
            self._journal.forget()

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()


class PlanJournals:
    """The journals of the runs of one plan. They stay until all of it is done, so that whoever goes on with
    it asks nothing of the runs that have come to their end. `taken`: the last run was had from its journal;
    `resumed`: something of the plan was."""

    def __init__(self) -> None:
        self.taken = self.resumed = False
        self._finished: list[Memory] = []

    def begun(self, memory: Memory) -> None:
        self.taken = memory.was_finished
        self.resumed |= len(memory) > 0

    def finished(self, memory: Memory) -> None:
        memory.finish()
        self._finished.append(memory)

    def forget(self) -> None:
        """All of the plan is done."""
        for memory in self._finished:
            memory.forget()
