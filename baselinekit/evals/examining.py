"""The work on one case: attempts until one passes or no more are allowed, each written down when it is
made."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from baselinekit.errors import BaselinekitError, NotRecorded
from baselinekit.evals.attempts import Examiner, Made
from baselinekit.evals.casechecks import Prepared
from baselinekit.evals.caseresults import Told, spots_of
from baselinekit.evals.journalling import Memory
from baselinekit.model.evals import Case
from baselinekit.model.graders import BaselineMatch
from baselinekit.store import pending
from baselinekit.workflow.compare import Way
from baselinekit.workflow.drifting import drift_of
from baselinekit.workflow.here import Here
from baselinekit.workflow.keeping import seen_of


@dataclass(frozen=True, slots=True)
class Examining:
    """`retries`: how often a case is tried again after it failed."""

    here: Here
    examiner: Examiner
    way: Way
    memory: Memory
    retries: Callable[[Case], int]
    warnings: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self, item: tuple[Prepared, int]) -> tuple[Told, ...]:
        """The attempts that come of one: itself, and those that are made because it failed."""
        prepared, number = item
        if prepared.case.skip is not None:
            return ()
        told = [self._attempt(prepared, number)]
        for again in range(self.retries(prepared.case)):
            if told[-1].attempt.outcome not in ("failed", "error") or told[-1].attempt.verdict == "refused":
                break
            if self.way.stop.is_set():
                break
            told.append(self._attempt(prepared, number + again + 1))
        return tuple(told)

    def _attempt(self, prepared: Prepared, number: int) -> Told:
        """Made, unless an earlier run has."""
        known = self.memory.known(prepared.case, number)
        if known is not None:
            return known
        try:
            told = self._told(prepared, self.examiner.attempt(prepared, number))
        except Exception as error:  # the error of this case: the others are examined
            told = Told(self.examiner.fault(number, error))
        attempt = told.attempt
        cut_off = (
            attempt.outcome == "error" and self.way.stop.is_set()
        )  # it may only have failed because all was ended
        if attempt.outcome != "skipped" and not cut_off:
            try:
                self.memory.add(prepared.case, told)
            except NotRecorded as error:
                self._warn(f"this run cannot be resumed: {error.problems[0].what}")
        return told

    def _told(self, prepared: Prepared, made: Made) -> Told:
        if made.comparison is None or made.observation is None:
            return Told(made.attempt)
        redactor = self.here.project.redactor.knowing(made.observation.output)
        self._keep(prepared, made)
        spots = spots_of(made.comparison, prepared.case, redactor)
        drift = {}
        if made.attempt.outcome == "failed" and prepared.baseline is not None:
            drift = drift_of(self.here, prepared.baseline, made.observation)
        return Told(made.attempt, spots, made.comparison.count, drift)

    def _keep(self, prepared: Prepared, made: Made) -> None:
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
                now = self.way.clock.timestamp()
                pending.save(root, seen_of(self.here, baseline, comparison, observation, now))
        except BaselinekitError as error:
            self._warn(f"what came back could not be kept for a refresh: {error.problems[0].what}")

    def _warn(self, warning: str) -> None:
        with self._lock:
            self.warnings.add(warning)
