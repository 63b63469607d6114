"""One eval case: the result of its attempts, and the journal of a run."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from baselinekit import __version__
from baselinekit.commands.judging import target_of
from baselinekit.commands.project import Project
from baselinekit.errors import NotRecorded
from baselinekit.evals.checks import Prepared
from baselinekit.files.jsontext import encode
from baselinekit.graders import graders
from baselinekit.kinds.dispatch import digest, recipe_hash
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import OUTCOMES, Attempt, Outcome, PassRule, iterate_grades
from baselinekit.model.recipes import Usage
from baselinekit.model.results import CaseFacts, ReportedDifference, Result
from baselinekit.model.values import Json
from baselinekit.report import resultfile
from baselinekit.schema import read_as
from baselinekit.store.journal import Journal, name_of
from baselinekit.structs import Struct, field, replace
from baselinekit.values.texts import mask_and_clip, no_mask

# All attempts at one eval case -> one result.


_LONGEST_SHOWN = 2_000


class CaseAttempt(Struct):
    """An attempt with what its result needs, also if an earlier run made it. `drift`: how the environment has
    changed since its baseline was captured."""

    attempt: Attempt
    spots: tuple[ReportedDifference, ...] = ()
    count: int = 0
    drift: dict[str, tuple[Json, Json]] = field(default_factory=dict)


def outcome_of(attempts: Sequence[Attempt], retried: int) -> tuple[Outcome, str | None, Attempt]:
    """The outcome, the verdict, and the attempt that says why.

    Where failed attempts are tried again, one that passed is enough, and the case is called flaky. Where
    several attempts were asked for, all of them have to pass; a case that only sometimes did is flaky."""
    passed = [attempt for attempt in attempts if attempt.outcome == "passed"]
    if len(passed) == len(attempts):
        return "passed", attempts[0].verdict, attempts[0]
    if retried and passed:
        return "passed", "flaky", passed[0]
    worst = next(outcome for outcome in OUTCOMES if any(attempt.outcome == outcome for attempt in attempts))
    deciding = next(attempt for attempt in attempts if attempt.outcome == worst)
    return worst, "flaky" if passed and worst == "failed" else deciding.verdict, deciding


def result_of(
    prepared: Prepared, case_attempts: Sequence[CaseAttempt], retried: int, wanted: int, project: Project
) -> Result:
    """The result of a case. `wanted`: how many attempts there should be. A case with fewer cannot pass."""
    attempts = tuple(case_attempt.attempt for case_attempt in case_attempts)
    count, is_cut_short = len(attempts), len(attempts) - retried < wanted
    outcome, verdict, deciding = outcome_of(attempts, retried)
    of_deciding = next((one for one in case_attempts if one.attempt is deciding), case_attempts[0])
    if is_cut_short and outcome == "passed":
        outcome, verdict = "skipped", "limit"
    reason, notes = reason_with_count(deciding, attempts), tuple[str, ...]()
    if outcome == "passed":
        reason = ""
    elif outcome == "skipped" and is_cut_short:
        reason = f"only {count} of {wanted} attempts were made"
    elif retried:
        alike = len({(attempt.outcome, attempt.reason) for attempt in attempts}) == 1
        often = f" (in {'both' if count == 2 else f'all {count}'} attempts)" if alike else ""
        reason = deciding.reason + often
    if retried and outcome == "passed":
        first = f"{attempts[0].outcome} at first ({attempts[0].reason or 'no reason'})"
        notes = (f"flaky: {first}, and passed at attempt {count}",)
    recipe, is_failed = prepared.case.recipe, outcome == "failed"
    is_explained = outcome != "passed" and not kind_of(recipe).asks_nobody
    return replace(
        skipped_result(prepared, reason, verdict),
        outcome=outcome,
        code=deciding.code if outcome == deciding.outcome else None,
        target=target_of(recipe, project) if is_explained else "",
        differences=of_deciding.spots if is_failed else (),
        difference_count=of_deciding.count if is_failed else 0,
        explanation=() if outcome == "passed" else tuple(explain_grades(deciding)),
        notes=notes,
        attempts=count,
        seconds=sum(attempt.seconds for attempt in attempts) / count,
        usage=sum((attempt.usage for attempt in attempts), Usage()),
        scores=judged_scores(deciding),
        environment_drift=of_deciding.drift if is_failed else {},
        case=_facts(prepared, attempts, mean_score(attempts, retried), deciding, retried),
    )


def skipped_result(prepared: Prepared, why: str, verdict: str | None = "limit") -> Result:
    """The result of a case that was not run."""
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
        case=_facts(prepared),
    )


def _facts(
    prepared: Prepared,
    attempts: tuple[Attempt, ...] = (),
    score: float | None = None,
    deciding: Attempt | None = None,
    retried: int = 0,
) -> CaseFacts:
    case = prepared.case
    parts, rule = fingerprint(prepared, deciding), case.pass_rule if attempts else PassRule()
    shared = (case.kind, attempts, case.category, case.tags, case.weight)
    return CaseFacts(*shared, score, parts, retried, rule)


def noted(results: Sequence[Result]) -> Iterator[str]:
    """The notes of the attempts: the same note once, however many cases have it."""
    ids_by_note: dict[str, dict[str, None]] = {}
    for result in results:
        for attempt in result.case.attempts if result.case is not None else ():
            for note in attempt.notes:
                ids_by_note.setdefault(note, {})[result.id] = None
    for note, ids in ids_by_note.items():
        first, *further = ids
        more = f" and {len(further):,} more" if further else ""
        yield f"{first}{more}: {note}"


def fingerprint(prepared: Prepared, attempt: Attempt | None = None) -> dict[str, str]:
    """What the verdict depends on, to check whether two runs are comparable: the question with its right
    values, the graders, the files, and the models that answered."""
    case, environment = prepared.case, attempt.environment if attempt else {}
    if not prepared.digests:
        baseline = prepared.baseline or case.baseline
        stored_output = baseline.baseline.output if baseline and baseline.baseline else None
        judged_by = []
        for grader in case.graders:
            row, method = graders.row_of(grader), grader.method
            name, how = type(method).__name__, row.without_places(method)
            if row.compares == "baseline" and baseline is not None:
                how = baseline.comparison
            judged_by.append([grader.name, name, how, grader.weight, grader.required])
        wanted_parts = [case.wanted] if case.wanted != GoodAnswer() else []
        rule_parts = [case.pass_rule] if case.pass_rule != PassRule() else []
        question = [case.recipe, case.expected, case.context, stored_output, *wanted_parts]
        prepared.digests.update(case=digest(question), grader=digest([*judged_by, *rule_parts]))
    changing = {"files": prepared.files, "model": environment.get("model"), "judge": environment.get("judge")}
    return prepared.digests | {name: str(value) for name, value in changing.items() if value}


def explain_grades(attempt: Attempt, file: str = "") -> Iterator[str]:
    """Explain the grades in words, for every form of report: `contains failed (evals/a.yaml:12): …`. `file`:
    the file that the lines of the graders are in."""
    for grade in iterate_grades(attempt.grades):
        words = ", ".join(filter(None, (f"{grade.grader} {grade.outcome}", grade.verdict)))
        place = f" ({file}:{grade.line})" if grade.line is not None else ""
        yield ": ".join(filter(None, (f"{words}{place}", grade.reason)))
        for side in ("expected", "actual"):
            if side in grade.details:
                yield f"{side}: {_format_value(grade.details[side])}"
    is_shown = any("actual" in grade.details for grade in iterate_grades(attempt.grades))
    if attempt.output is not None and not is_shown:
        yield f"actual: {_format_value(attempt.output)}"


def _format_value(value: Json) -> str:
    return mask_and_clip(value if isinstance(value, str) else encode(value), _LONGEST_SHOWN, no_mask)


def reason_with_count(deciding: Attempt, attempts: Sequence[Attempt]) -> str:
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    often = f"{passed} of {len(attempts)} attempts passed" if len(attempts) > 1 else ""
    return "; ".join(filter(None, (often, deciding.reason)))


def judged_scores(attempt: Attempt) -> dict[str, int | float]:
    """The scores of the graders that judge (not those of single checks), and of composite graders."""
    judged = [grade for grade in iterate_grades(attempt.grades) if grade.kind != "code" or grade.parts]
    return {grade.grader: round(grade.score, 6) for grade in judged if grade.score is not None}


def mean_score(attempts: Sequence[Attempt], retried: int) -> float | None:
    """The mean score of the attempts without retries; None if one of them has no score."""
    scores = [attempt.score for attempt in attempts[: len(attempts) - retried]]
    present = [score for score in scores if score is not None]
    return round(sum(present) / len(present), 6) if present and len(present) == len(scores) else None


# The journal of a run, from which a resumed run takes the attempts that were made already.

Key = tuple[str, int]
"""A case by its id, and the number of the attempt."""

_FINISHED = {"finished": True}


def _read_attempt(record: Json) -> CaseAttempt | None:
    """Return what `Memory.add` has written; None if it is not valid: then it is made again."""
    try:
        resultfile.restore_usage(record["attempt"])
        for spot in record["spots"]:
            resultfile.restore_difference(spot)
        record["drift"] = resultfile.restore_drift(record["drift"])
    except (AttributeError, KeyError, TypeError):
        return None
    return read_as(CaseAttempt, record)[0]


def key_of(project: Project, name: str, cases: Sequence[Prepared], tries: int, retries: Sequence[int]) -> str:
    """The key of the journal. It is the same for two runs that would make the same attempts: the same cases,
    graders, settings and files. What a run itself records in a file does not change it."""
    fingerprints = [(one.case.id, one.case.judge_after_failure, fingerprint(one)) for one in cases]
    settings = (
        project.override_base_url,
        project.base_url,
        project.operator.environment,
        sorted(map(repr, project.scope.values.items())),
        sorted(map(repr, project.models.items())),
        sorted(map(repr, project.config.skills.items())),
    )
    return name_of(__version__, name, repr(fingerprints), repr(settings), str(tries), repr(list(retries)))


class Memory:
    """The attempts that were finished before, and those that are finished now. `was_finished`: an earlier run
    of the same plan has finished all of them."""

    def __init__(self, journal: Journal | None, go_on: bool):
        self._journal = journal
        self._known: dict[Key, tuple[CaseAttempt, int | None]] = {}
        self.was_finished = False
        for entry in journal.begin(go_on) if journal else ():
            if entry == _FINISHED:
                self.was_finished = True
                continue
            is_attempt = isinstance(entry, dict) and entry.keys() == {"id", "failures", "told"}
            known = _read_attempt(entry["told"]) if is_attempt else None
            if known is not None:
                self._known[entry["id"], known.attempt.number] = known, entry["failures"]

    def __len__(self) -> int:
        return len(self._known)

    def known(self, case: Case, number: int) -> CaseAttempt | None:
        """The attempt, if it was finished before."""
        entry = self._known.get((case.id, number))
        return entry[0] if entry else None

    def is_recorded(self, case: Case) -> bool:
        """Whether the earlier run has already written a failure into the file of the case."""
        entry = self._known.get((case.id, 1))
        baseline = case.baseline
        return entry is not None and baseline is not None and baseline.metadata.failure_count != entry[1]

    def add(self, case: Case, attempt: CaseAttempt) -> None:
        failures = None if case.baseline is None else case.baseline.metadata.failure_count
        if self._journal is not None:
            record = {
                "attempt": resultfile.written(attempt.attempt),
                "spots": [resultfile.written(spot) | {"at": list(spot.at)} for spot in attempt.spots],
                "count": attempt.count,
                "drift": resultfile.drift_document(attempt.drift),
            }
            self._journal.add({"id": case.id, "failures": failures, "told": record})

    def finish(self) -> None:
        """Record that the run is done, for when the plan that it belongs to is resumed."""
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
    """The journals of the runs of one plan. They are kept until the plan is done, so that finished runs are
    not repeated when it is resumed. `taken`: the last run was taken from its journal; `resumed`: some part of
    the plan was."""

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
        """Remove all journals: the plan is done."""
        for memory in self._finished:
            memory.forget()
