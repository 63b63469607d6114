"""The work on one case, and what of it goes into the journal so that a later run can continue."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from baselinekit import __version__
from baselinekit.errors import BaselinekitError, NotRecorded
from baselinekit.evals.attempts import AttemptResult, Examiner
from baselinekit.evals.caseresults import CaseAttempt, fingerprint, spots_of
from baselinekit.evals.checks import Prepared
from baselinekit.grade.by_matcher import BaselineMatch
from baselinekit.model.evals import Case
from baselinekit.model.results import Spot
from baselinekit.model.values import Json
from baselinekit.report.attempts import ATTEMPT
from baselinekit.report.resultfile import DRIFT, SPOT
from baselinekit.schema.records import Field, RecordForm, RecordReader, named, record, records
from baselinekit.store import pending
from baselinekit.suites.journal import Journal, name_of
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.environment import CaptureEnvironment, drift_of
from baselinekit.workflow.pending import seen_of
from baselinekit.workflow.project import Project

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
    told = [(one.case.id, fingerprint(one)) for one in cases]
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
            told = _ENTRY.read(entry["told"], (), reader) if _is_attempt(entry) else None
            if told is not None and not reader.problems:  # else it is not ours, and is made again
                self._known[entry["id"], told.attempt.number] = (told, entry["failures"])

    def __len__(self) -> int:
        return len(self._known)

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


def _is_attempt(entry: Json) -> bool:
    return isinstance(entry, dict) and entry.keys() == {"id", "failures", "told"}


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


# The work on one case: attempts until one passes or no more are allowed, each in the journal at once.


@dataclass(frozen=True, slots=True)
class CaseWorker:
    """`retries`: how often a case is tried again after it failed."""

    here: CaptureEnvironment
    examiner: Examiner
    context: RunContext
    memory: Memory
    retries: Callable[[Case], int]
    warnings: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self, item: tuple[Prepared, int]) -> tuple[CaseAttempt, ...]:
        """The attempts that come of one: itself, and those that are made because it failed."""
        prepared, number = item
        if prepared.case.skip is not None:
            return ()
        told = [self._attempt(prepared, number)]
        for again in range(self.retries(prepared.case)):
            if told[-1].attempt.outcome not in ("failed", "error") or told[-1].attempt.verdict == "refused":
                break
            if self.context.stop.is_set():
                break
            told.append(self._attempt(prepared, number + again + 1))
        return tuple(told)

    def _attempt(self, prepared: Prepared, number: int) -> CaseAttempt:
        """Made, unless an earlier run has."""
        known = self.memory.known(prepared.case, number)
        if known is not None:
            return known
        try:
            told = self._told(prepared, self.examiner.attempt(prepared, number))
        except Exception as error:  # the error of this case: the others are examined
            told = CaseAttempt(self.examiner.fault(number, error))
        attempt = told.attempt
        cut_off = (
            attempt.outcome == "error" and self.context.stop.is_set()
        )  # it may only have failed because all was ended
        if attempt.outcome != "skipped" and not cut_off:
            try:
                self.memory.add(prepared.case, told)
            except NotRecorded as error:
                self._warn(f"this run cannot be resumed: {error.problems[0].message}")
        return told

    def _told(self, prepared: Prepared, made: AttemptResult) -> CaseAttempt:
        if made.comparison is None or made.observation is None:
            return CaseAttempt(made.attempt)
        redactor = self.here.project.redactor.knowing(made.observation.output)
        self._keep(prepared, made)
        spots = spots_of(made.comparison, prepared.case, redactor)
        drift = {}
        if made.attempt.outcome == "failed" and prepared.baseline is not None:
            drift = drift_of(self.here, prepared.baseline, made.observation)
        return CaseAttempt(made.attempt, spots, made.comparison.count, drift)

    def _keep(self, prepared: Prepared, made: AttemptResult) -> None:
        """What differs from a baseline is kept for whoever takes it for right, as compare does."""
        is_record = any(isinstance(grader.method, BaselineMatch) for grader in prepared.case.graders)
        comparison, observation, baseline = made.comparison, made.observation, prepared.baseline
        if not is_record or comparison is None or observation is None or baseline is None:
            return
        root = self.here.project.root
        try:
            if comparison.passed:
                pending.drop(root, baseline.id)
            else:
                now = self.context.clock.timestamp()
                pending.save(root, seen_of(self.here, baseline, comparison, observation, now))
        except BaselinekitError as error:
            self._warn(f"the new output could not be kept for a refresh: {error.problems[0].message}")

    def _warn(self, warning: str) -> None:
        with self._lock:
            self.warnings.add(warning)
