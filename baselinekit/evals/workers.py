"""The attempts of a run. Workers make them and write nothing; the run writes down their results, and has
failed attempts tried again."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from baselinekit.commands.context import RunContext
from baselinekit.commands.executor import ASKED_ELSEWHERE, Chunk, Elsewhere, Terms, in_threads
from baselinekit.commands.pending import kept_output_of
from baselinekit.commands.project import CaptureEnvironment, Project, drift_of
from baselinekit.commands.recording import keep_seen
from baselinekit.errors import BaselinekitError, CannotReplay, NotRecorded
from baselinekit.evals.attempts import EvalClients, Examiner, PendingWrites, without_output
from baselinekit.evals.cases import CaseAttempt, Memory
from baselinekit.evals.checks import Prepared
from baselinekit.evals.promptlogs import is_query, note_use
from baselinekit.graders import graders
from baselinekit.kinds.kind import ALONE
from baselinekit.matching.dispatch import reported
from baselinekit.model.baselines import Comparison
from baselinekit.model.evals import Case
from baselinekit.model.grades import Attempt, iterate_grades
from baselinekit.model.recipes import Observation
from baselinekit.structs import Struct, field, replace

if TYPE_CHECKING:  # only needed once something differs
    from baselinekit.model.changes import KeptOutput


_MOST_SPOTS = 1_000


class CaseTurn(Struct):
    """An attempt that is to be made: the `first` one by its number, or one of the `retries` that may follow,
    after the attempts already `tried`. No other attempt with the same `claim` runs meanwhile."""

    case: Case
    first: int
    claim: str | None = None
    retries: int = 0
    tried: int = 0

    @property
    def number(self) -> int:
        return self.first + self.tried


class JudgedAttempt(Struct):
    """The result of an attempt, and what the run has to write for it: the `pending` change of a baseline, or
    `settled_id`, the baseline that does not differ any more. `warning`: why the change cannot be kept;
    `slip`: what else is to be written, None where it is written already."""

    case_attempt: CaseAttempt
    pending: "KeptOutput | None" = None
    settled_id: str = ""
    warning: str = ""
    slip: PendingWrites | None = None


def turns_of(project: Project, case: Case, attempts: int, retries: int) -> list[CaseTurn]:
    """The turns of a case. A case that must not run in parallel claims everything."""
    claim = project.claim(case.recipe) if case.parallel else ALONE
    most = 1 if case.skip is not None else attempts
    return [CaseTurn(case, number, claim, retries) for number in range(1, most + 1)]


class CaseWorker(Struct):
    """Makes attempts, from several threads at once. It writes nothing and handles no signal. `elsewhere`:
    returns the clients for an attempt that puts what is to be written on a slip."""

    here: CaptureEnvironment
    examiner: Examiner
    context: RunContext
    prepared: Callable[[Case], Prepared]
    elsewhere: Callable[[PendingWrites], EvalClients] | None = None

    def judge(self, turn: CaseTurn) -> JudgedAttempt:
        """Make one attempt. An unexpected error becomes the outcome of its case, and the run goes on."""
        examiner, slip = self.examiner, None
        if self.elsewhere is not None:
            slip = PendingWrites()
            examiner = replace(examiner, outside=self.elsewhere(slip))
        try:
            prepared = self.prepared(turn.case)
            result = examiner.attempt(prepared, turn.number)
            if result.compared is None:
                return JudgedAttempt(CaseAttempt(result.attempt), slip=slip)
            return replace(self._judged(prepared, result.attempt, *result.compared), slip=slip)
        except Exception as error:
            return JudgedAttempt(CaseAttempt(examiner.fault(turn.number, error)), slip=slip)

    def _judged(
        self, prepared: Prepared, attempt: Attempt, comparison: Comparison, observation: Observation
    ) -> JudgedAttempt:
        """Build the result of an attempt that was compared. What differs from the baseline of the case is
        kept, so that it can be accepted as after `compare`."""
        case, baseline, here = prepared.case, prepared.baseline, self.here
        path = case.baseline.output_path if case.baseline else ("expected", "value")
        redactor = here.project.redactor.knowing(observation.output)
        found = comparison.differences[:_MOST_SPOTS]
        spots = tuple(reported(found, case.source.file, path, redactor))
        drift = {}
        if attempt.outcome == "failed" and baseline is not None:
            drift = drift_of(here, baseline, observation)
        judged = JudgedAttempt(CaseAttempt(attempt, spots, comparison.count, drift))
        is_record = any(graders.row_of(grader).compares == "baseline" for grader in case.graders)
        is_of_target = case.baseline is None or case.recipe != case.baseline.current  # of --target
        if baseline is None or is_of_target or not is_record:
            return judged
        if comparison.passed:
            return replace(judged, settled_id=baseline.id)
        try:
            now = self.context.timestamp()
            return replace(judged, pending=kept_output_of(here, baseline, comparison, observation, now))
        except BaselinekitError as error:
            return replace(judged, warning=error.problems[0].message)


class CaseOrder(Struct):
    """What the work elsewhere needs to know about a run. `jobs`: how many attempts are made at once, by all
    workers together; `together`: the questions for each target that answers many cases at a time; `first`:
    whether the first case that does not pass ends the run; `files`: those of the cases."""

    jobs: int
    together: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    first: bool = False
    files: frozenset[str] = frozenset()


def _is_wrong(made: CaseAttempt) -> bool:
    return made.attempt.outcome in ("failed", "error")


def _code_of(judged: JudgedAttempt) -> str | None:
    """The code of the attempt. That another worker must be asked may be the code of a single grade."""
    attempt = judged.case_attempt.attempt
    elsewhere = any(grade.code == ASKED_ELSEWHERE for grade in iterate_grades(attempt.grades))
    return ASKED_ELSEWHERE if elsewhere else attempt.code


OF_ATTEMPTS = Terms[CaseTurn, JudgedAttempt](
    id=lambda turn: turn.case.id,
    code=_code_of,
    is_failure=lambda turn, judged: _is_wrong(judged.case_attempt) and turn.tried == turn.retries,
    error=lambda turn, problem: JudgedAttempt(
        CaseAttempt(without_output(turn.number, "error", CannotReplay(problem)))
    ),
)


def chunks_of(turns: Sequence[CaseTurn], order: CaseOrder) -> list[Chunk[CaseTurn]]:
    """Return what must stay in one chunk: all attempts at a case, so that its questions are numbered as in
    one process, and all cases that one start of a program answers."""
    batch_of = {id: key for key, asked in order.together.items() for id, _ in asked}
    groups: dict[tuple[str | None, str, str], list[CaseTurn]] = {}
    for turn in turns:
        batch = batch_of.get(turn.case.id, "")
        groups.setdefault((turn.claim, batch, "" if batch else turn.case.id), []).append(turn)
    return [Chunk(tuple(group), claim) for (claim, *_), group in groups.items()]


# The run, which has attempts made and writes down their results.


class Attempts(Struct):
    """All attempts of a run. `take`: writes down the slip of an attempt that was made elsewhere;
    `order.first`: the first attempt that does not pass ends the run."""

    project: Project
    context: RunContext
    memory: Memory
    take: Callable[[PendingWrites], None]
    order: CaseOrder
    warnings: set[str] = field(default_factory=set)
    _made: dict[tuple[str, int], list[CaseAttempt]] = field(default_factory=dict)
    _failed: list[CaseTurn] = field(default_factory=list)

    def run(
        self,
        turns: Sequence[CaseTurn],
        judge: Callable[[CaseTurn], JudgedAttempt],
        elsewhere: Elsewhere[CaseTurn, JudgedAttempt] | None,
    ) -> list[tuple[CaseAttempt, ...] | None]:
        """Run the turns, those of trigger queries before the others. Return for each its attempt and the
        retries, or None if it was not made."""
        context, order = self.context, self.order
        advance, stop = context.advance(len(turns)), context.stop

        def goes_on() -> bool:
            return not (order.first and self._failed)

        def due(turn: CaseTurn) -> list[CaseTurn]:
            """The attempt to make next; once there is none, the turn is over."""
            if (further := self._due(turn)) is not None:
                return [further]
            made = self._made[turn.case.id, turn.first]
            advance(made[-1].attempt.outcome if made else "skipped")
            self._failed.extend([turn] if made and _is_wrong(made[-1]) else [])
            return []

        def finished(turn: CaseTurn, judged: JudgedAttempt) -> list[CaseTurn]:
            if not self._write(turn, judged):
                return []
            self._made[turn.case.id, turn.first].append(judged.case_attempt)
            return due(turn)

        queries = [turn for turn in turns if is_query(turn.case)]
        for together in (queries, [turn for turn in turns if not is_query(turn.case)]):
            some: list[CaseTurn] = []
            for turn in together:
                if not goes_on() or stop.is_set():
                    break
                self._made[turn.case.id, turn.first] = []
                some += due(turn)
            if some and goes_on() and not stop.is_set():
                if elsewhere is None:
                    in_threads(
                        *(some, judge, order.jobs, stop, context.cancel, finished),
                        claim=lambda turn: turn.claim,
                        goes_on=goes_on,
                    )
                else:
                    elsewhere.run(chunks_of(some, order), judge, stop, context.cancel, finished, goes_on)
        made = [self._made.get((turn.case.id, turn.first)) for turn in turns]
        return [
            tuple(attempts or ()) if attempts or turn.case.skip is not None else None
            for attempts, turn in zip(made, turns, strict=True)
        ]

    def _due(self, turn: CaseTurn) -> CaseTurn | None:
        """The attempt to make next, after those that the journal has; None where there is none."""
        attempts = self._made[turn.case.id, turn.first]
        while turn.case.skip is None and (not attempts or self._is_tried_again(turn, attempts)):
            turn = replace(turn, tried=len(attempts))
            if (remembered := self.memory.known(turn.case, turn.number)) is None:
                return turn
            attempts.append(remembered)
        return None

    def _is_tried_again(self, turn: CaseTurn, attempts: Sequence[CaseAttempt]) -> bool:
        last = attempts[-1]
        may_pass = _is_wrong(last) and last.attempt.verdict != "refused"
        return may_pass and len(attempts) <= turn.retries and not self.context.stop.is_set()

    def _write(self, turn: CaseTurn, judged: JudgedAttempt) -> bool:
        """Write down an attempt. Return whether it counts. One that was under way in this process when the
        run was stopped does not; it is only remembered, unless it is an error, which may be due to the
        stop."""
        case, attempt, is_stopped = turn.case, judged.case_attempt.attempt, self.context.stop.is_set()
        try:
            if judged.slip is not None:
                self.take(judged.slip)
        except NotRecorded as error:
            self._warn(error.problems[0].message)
        self._warn(keep_seen(self.project.root, judged.pending, judged.settled_id, judged.warning))
        # before it is in the journal: a resumed run does not send it again, and so does not note it
        if case.folder is not None:
            for warning in note_use(self.project, case, attempt, self.context.timestamp()):
                self._warn(warning)
        is_cut_off = is_stopped and attempt.outcome == "error"
        try:
            if attempt.outcome != "skipped" and not is_cut_off:
                self.memory.add(case, judged.case_attempt)
        except NotRecorded as error:
            self._warn(f"this run cannot be resumed: {error.problems[0].message}")
        return not is_cut_off and (judged.slip is not None or not is_stopped)

    def _warn(self, warning: str) -> None:
        if warning:
            self.warnings.add(warning)
