"""run: every eval case attempted, graded, and counted."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from baselinekit import __version__
from baselinekit.commands.context import ModelThreads, RunContext
from baselinekit.commands.executor import OUT_OF_BUDGET, Chunk, Elsewhere, in_threads
from baselinekit.commands.loading import with_lines
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.commands.recording import Recorder, keep_seen
from baselinekit.errors import BaselinekitError, NotRecorded
from baselinekit.evals import attempts as making
from baselinekit.evals.attempts import CaseAttempt, CaseOrder, CaseTurn, CaseWorker, JudgedAttempt, Outside
from baselinekit.evals.checks import Prepared, Runnable, check_reachable, prepare_cases
from baselinekit.evals.gating import measure
from baselinekit.evals.judges import facts_of
from baselinekit.evals.notifying import notification_warnings
from baselinekit.evals.selection import Choice, choose, is_query
from baselinekit.graders import graders
from baselinekit.kinds.dispatch import batches
from baselinekit.kinds.kind import ALONE
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import FAULTS, Grade, Grader
from baselinekit.model.prompts import EvalRow
from baselinekit.model.results import Report, Result, SuiteFacts
from baselinekit.model.values import Path
from baselinekit.report.evalreport import without_details
from baselinekit.report.forms import render_report
from baselinekit.store.journal import Journal
from baselinekit.store.project import head_commit
from baselinekit.store.reading import locate_each
from baselinekit.structs import Struct, field, replace
from baselinekit.suites.settings import write_reports

_JOBS = 8
_COMPACT = str.maketrans({"-": "", ":": "", "Z": "", "T": "-"})
"""Turns a time into its form in the id of a run."""


Made = dict[tuple[str, int], list[CaseAttempt]]
"""The attempt of each turn and the retries, by the id of its case and its number."""


class RunPolicy(Struct):
    """How cases are run. None means as the suite has it. `attempts`: how many are made of each case, whatever
    their outcome; with several nothing is tried again. `record`: always, daily or never. `first`: the first
    case that does not pass ends the run; `transcripts`: what is asked and answered is kept."""

    record: str = "never"
    jobs: int | None = None
    attempts: int | None = None
    resume: bool = False
    first: bool = False
    thresholds: dict[str, float] = field(default_factory=dict)
    transcripts: bool = False


def run(
    project: Project,
    suite: Suite,
    choice: Choice,
    policy: RunPolicy,
    context: RunContext,
    outside: Outside,
    take: Callable[[making.PendingWrites], None] = lambda slip: None,
    command: str = "",
    elsewhere: Callable[[CaseOrder], Elsewhere[CaseTurn, JudgedAttempt] | None] = lambda order: None,
) -> Report:
    """Check all cases, run them, and report. Everything that is wrong is reported before anything is run.
    `take`: writes down what an attempt has noted; `elsewhere`: makes the attempts, if not threads of this
    process."""
    started, began = context.timestamp(), context.seconds()
    check_reachable(suite, policy.thresholds, policy.attempts)
    # a suite that forbids parallel runs overrides the operator, as its cases would disturb each other
    jobs = (policy.jobs or suite.config.max_workers or _JOBS) if suite.config.parallel_execution else 1
    at_once = ModelThreads(context.clients, jobs)
    chosen = choose(suite.cases, choice)
    together = batches((case.id, case.recipe) for case in chosen if case.skip is None)
    environment = CaptureEnvironment(project, replace(at_once.clients, batches=together))
    judges = facts_of(project.root, chosen)
    prepared = prepare_cases(environment, chosen, outside(making.PendingWrites()).check)
    wanted = policy.attempts or suite.config.attempts
    by_id = {one.case.id: one for one in prepared}
    turns = [turn for one in prepared for turn in _turns_of(project, one.case, wanted)]
    memory, notes = _memory(project, suite, prepared, turns, wanted, policy)
    files = frozenset(case.source.file for case in chosen)
    order = CaseOrder(jobs, together, policy.first, files, policy.transcripts)
    others = elsewhere(order)
    attempts = Attempts(project, context, memory, take, order)
    worker = CaseWorker(environment, outside, context, lambda case: by_id[case.id], policy.transcripts)
    with closing(memory):
        with context.stop.heard(), at_once, _deadline(suite, context) as overtime:
            made = attempts.run(turns, worker.judge, others)
            reason = "not run: an earlier case did not pass (-x)"
            if context.stop.is_set():
                reason = "not run: the time limit of the suite was reached" if overtime() else "interrupted"
            results = _results(project, prepared, made, wanted, reason)
            recording_notes, not_recorded = _recorded(project, policy, context, chosen, results, memory)
            names = [(one.case, one.names) for one in prepared]
            if any(case.folder for case in chosen):
                from baselinekit.eva import logs

                inputs, interrupted = logs.typed_inputs(project, names), context.stop.is_set()
                row = EvalRow(
                    context.timestamp(),
                    all_passed=False,
                    attempts=wanted,
                    graders=choice.grader,
                    interrupted=interrupted,
                )
                notes += logs.note_runs(project, suite, chosen, results, row, inputs)
        complete = all(turn.case.skip is not None or made.get(turn.key) for turn in turns) and not any(
            attempt.attempt.code == OUT_OF_BUDGET for tried in made.values() for attempt in tried
        )
        if complete:
            memory.forget()
    if choice.grader:
        notes.append(f"only {choice.grader} graders were used")
    notes += [*suite.notes, *notification_warnings(project, suite)]
    all_attempts = [attempt for result in results if result.case for attempt in result.case.attempts]
    served = {str(one.environment["model"]) for one in all_attempts if "model" in one.environment}
    models = {"model": ", ".join(sorted(served))} if served else {}
    thresholds = {**suite.thresholds, **policy.thresholds}
    return Report(
        id=f"eval-{started.translate(_COMPACT)}",
        started=started,
        seconds=context.seconds() - began,
        tool=f"baselinekit {__version__}",
        command=project.redactor.mask(command),
        results=tuple(results),
        complete=complete,
        interrupted=context.stop.is_set() and not overtime(),
        environment={**((others and others.seen) or environment.seen), **models},
        config=project.config_file,
        warnings=tuple(sorted({*notes, *making.noted(results), *recording_notes, *attempts.warnings})),
        not_recorded=not_recorded,
        commit=head_commit(project.root),
        coverage=choice.coverage([suite.file] if suite.file else [], len(suite.cases) - len(chosen)),
        suite=SuiteFacts(suite.name, suite.version, measure(results, thresholds), judges=judges),
    )


def _turns_of(project: Project, case: Case, attempts: int) -> list[CaseTurn]:
    """The turns of a case. One that must not run in parallel claims everything. A failed attempt is never
    tried again if several attempts are made anyway."""
    claim = project.claim(case.recipe) if case.parallel else ALONE
    most = 1 if case.skip is not None else attempts
    return [
        CaseTurn(case, number, claim, 0 if attempts > 1 else case.retries) for number in range(1, most + 1)
    ]


def _memory(
    project: Project,
    suite: Suite,
    prepared: Sequence[Prepared],
    turns: Sequence[CaseTurn],
    attempts: int,
    policy: RunPolicy,
) -> tuple[making.Memory, list[str]]:
    """Open the journal of this run, with notes. If it cannot be kept the run goes on without one, but a run
    that is to be resumed needs it."""
    retries = [turn.retries for turn in turns if turn.first == 1]
    key = making.key_of(project, suite.file or suite.name, prepared, attempts, retries)
    try:
        memory = making.Memory(Journal(project.root, key), policy.resume)
    except BaselinekitError as error:
        if policy.resume and not isinstance(error, NotRecorded):
            raise
        return making.Memory(None, False), [f"this run cannot be resumed: {error.problems[0].message}"]
    if policy.resume and not len(memory):
        return memory, ["there was nothing to resume: everything is run again"]
    return memory, []


class Attempts(Struct):
    """All attempts of a run. `take`: writes down the slip of an attempt; `order.first`: the first attempt
    that does not pass ends the run."""

    project: Project
    context: RunContext
    memory: making.Memory
    take: Callable[[making.PendingWrites], None]
    order: CaseOrder
    warnings: set[str] = field(default_factory=set)
    _made: Made = field(default_factory=dict)
    _failed: list[CaseTurn] = field(default_factory=list)

    def run(
        self,
        turns: Sequence[CaseTurn],
        judge: Callable[[CaseTurn], JudgedAttempt],
        elsewhere: Elsewhere[CaseTurn, JudgedAttempt] | None,
    ) -> Made:
        """Run the turns, those of trigger queries before the others."""
        context, order = self.context, self.order
        advance, stop = context.advance(len(turns)), context.stop

        def goes_on() -> bool:
            return not (order.first and self._failed)

        def due(turn: CaseTurn) -> list[CaseTurn]:
            """The attempt to make next; once there is none, the turn is over."""
            if (further := self._due(turn)) is not None:
                return [further]
            made = self._made[turn.key]
            advance(made[-1].attempt.outcome if made else "skipped")
            if made and making.is_wrong(made[-1]):
                self._failed.append(turn)
            return []

        def finished(turn: CaseTurn, judged: JudgedAttempt) -> list[CaseTurn]:
            was_stopped = elsewhere is None and stop.is_set()  # what was under way here may be cut off
            if not self._write(turn, judged) or was_stopped:
                return []
            self._made[turn.key].append(judged.case_attempt)
            return due(turn)

        some: list[CaseTurn] = []
        for turn in sorted(turns, key=lambda turn: not is_query(turn.case)):
            if not goes_on() or stop.is_set():
                break
            self._made[turn.key] = []
            some += due(turn)
        if some and goes_on() and not stop.is_set():
            if elsewhere is None:
                jobs, cancel = order.jobs, context.cancel
                in_threads(some, judge, jobs, stop, cancel, finished, lambda turn: turn.claim, goes_on)
            else:
                elsewhere.run(chunks_of(some, order), judge, stop, context.cancel, finished, goes_on)
        return self._made

    def _due(self, turn: CaseTurn) -> CaseTurn | None:
        """The attempt to make next, after those that the journal has; None where there is none."""
        attempts = self._made[turn.key]
        while turn.case.skip is None and (not attempts or self._is_tried_again(turn, attempts)):
            turn = replace(turn, tried=len(attempts))
            if (remembered := self.memory.known(turn.case, turn.number)) is None:
                return turn
            attempts.append(remembered)
        return None

    def _is_tried_again(self, turn: CaseTurn, attempts: Sequence[CaseAttempt]) -> bool:
        last = attempts[-1]
        may_pass = making.is_wrong(last) and last.attempt.verdict != "refused"
        return may_pass and len(attempts) <= turn.retries and not self.context.stop.is_set()

    def _write(self, turn: CaseTurn, judged: JudgedAttempt) -> bool:
        """Write down an attempt. Return whether it counts: an error after the run was stopped may be due to
        the stop."""
        case, attempt, is_stopped = turn.case, judged.case_attempt.attempt, self.context.stop.is_set()
        warnings = [keep_seen(self.project.root, judged.pending, judged.settled_id, judged.warning)]
        try:
            self.take(judged.slip)
        except NotRecorded as error:
            warnings.append(error.problems[0].message)
        # before it is in the journal: a resumed run does not send it again, and so does not note it
        if case.folder is not None:
            from baselinekit.eva.logs import note_use

            warnings += note_use(self.project, case, attempt, self.context.timestamp())
        is_cut_off = is_stopped and attempt.outcome == "error"
        try:
            if attempt.outcome != "skipped" and not is_cut_off:
                self.memory.add(case, judged.case_attempt)
        except NotRecorded as error:
            warnings.append(f"this run cannot be resumed: {error.problems[0].message}")
        self.warnings.update(filter(None, warnings))
        return not is_cut_off


def chunks_of(turns: Sequence[CaseTurn], order: CaseOrder) -> list[Chunk[CaseTurn]]:
    """Return what must stay in one chunk: all attempts at a case, so that its questions are numbered as in
    one process, and all cases that one start of a program answers."""
    batch_of = {id: key for key, asked in order.together.items() for id, _ in asked}
    groups: dict[tuple[str | None, str, str], list[CaseTurn]] = {}
    for turn in turns:
        batch = batch_of.get(turn.case.id, "")
        groups.setdefault((turn.claim, batch, "" if batch else turn.case.id), []).append(turn)
    return [Chunk(tuple(group), claim) for (claim, *_), group in groups.items()]


def _recorded(
    project: Project,
    policy: RunPolicy,
    context: RunContext,
    cases: Sequence[Case],
    results: Sequence[Result],
    memory: making.Memory,
) -> tuple[list[str], tuple[str, ...]]:
    """Write the outcomes of regression cases into the files of their baselines, as compare does."""
    marks = [
        (case.baseline.source, result.outcome == "passed")
        for case, result in zip(cases, results, strict=True)
        if policy.record != "never"
        and case.baseline
        and case.recipe is case.baseline.current  # not --target's
        and result.outcome in ("passed", "failed")
        and (result.outcome == "passed" or not memory.is_recorded(case))
    ]
    sources, daily = [source for source, _ in marks], policy.record == "daily"
    recorder = Recorder(project.root, context.timestamp, daily, sources, context.stop.wait)
    for source, passed in marks:
        recorder.add(source, passed)
    return recorder.close()


@contextmanager
def _deadline(suite: Suite, context: RunContext) -> Iterator[Callable[[], bool]]:
    """End the run when the time of the suite is over, as a signal would; finished attempts are kept. Yields
    whether that happened."""
    limit, over = suite.config.timeout_global, threading.Event()

    def end() -> None:
        if not context.stop.is_set():
            over.set()
            context.stop.ask()

    timer = threading.Timer(limit or 0, end)
    timer.daemon = True
    if limit:
        timer.start()
    try:
        yield over.is_set
    finally:
        timer.cancel()


def _results(
    project: Project, prepared: Sequence[Prepared], made: Made, wanted: int, reason: str
) -> list[Result]:
    """One result for each case, in the order of the cases, with the lines of the cases. `reason`: why a case
    was not run."""
    made_of: dict[str, list[list[CaseAttempt]]] = {one.case.id: [] for one in prepared}
    for (id, _), tried in made.items():
        made_of[id].append(tried)
    results = []
    for one in prepared:
        case_attempts = [attempt for attempts in made_of[one.case.id] for attempt in attempts]
        retried = sum(max(0, len(attempts) - 1) for attempts in made_of[one.case.id])
        if one.case.skip is not None:
            results.append(making.skipped_result(one, one.case.skip, None))
        elif not case_attempts:
            results.append(making.skipped_result(one, reason))
        else:
            results.append(making.result_of(one, case_attempts, retried, wanted, project))
    cases = [one.case for one in prepared]
    placed = with_lines(results, [case.source for case in cases], project.root)
    return _explained(placed, cases, project.root)


def _explained(results: Sequence[Result], cases: Sequence[Case], root: str) -> list[Result]:
    """Explain what did not pass, with the lines of the graders, so that the failed one of several checks in a
    file is found."""
    paths_by_result = [
        {name: at for name, at in _paths_of(case.graders) if at} if result.outcome in FAULTS else {}
        for result, case in zip(results, cases, strict=True)
    ]
    requests = [(case.source, [*paths.values()]) for case, paths in zip(cases, paths_by_result, strict=True)]
    explained = []
    for result, paths, places in zip(results, paths_by_result, locate_each(requests, root), strict=True):
        if result.outcome in FAULTS and result.case is not None:
            lines = {name: place.line for name, place in zip(paths, places, strict=True)}
            attempts = tuple(
                replace(attempt, grades=tuple(_at_line(grade, lines) for grade in attempt.grades))
                for attempt in result.case.attempts
            )
            deciding = next(one for one in attempts if one.outcome == result.outcome)
            explanation = tuple(making.explain_grades(deciding, result.file))
            result = replace(result, case=replace(result.case, attempts=attempts), explanation=explanation)
        explained.append(result)
    return explained


def _paths_of(graders_in_record: Sequence[Grader], within: str = "") -> Iterator[tuple[str, Path]]:
    """The name of each grader's grade in a report, with the path of the grader in its record."""
    for grader in graders_in_record:
        yield within + grader.name, grader.at
        yield from _paths_of(graders.row_of(grader).parts(grader.method), f"{within}{grader.name}/")


def _at_line(grade: Grade, lines: Mapping[str, int | None], within: str = "") -> Grade:
    """The grade and its parts, with the lines of their graders where they did not pass."""
    name = within + grade.grader
    line = grade.line if grade.outcome == "passed" else lines.get(name)
    return replace(grade, line=line, parts=tuple(_at_line(part, lines, f"{name}/") for part in grade.parts))


# The reports of a run, if its suite asks for them.


_ENDINGS = {
    "json": (".json", ".eval.json"),
    "markdown": (".md",),
    "html": (".html",),
    "junit": (".junit.xml",),
    "sarif": (".sarif",),
    "ctrf": (".ctrf.json",),
}


def keep_reports(project: Project, suite: Suite, report: Report) -> tuple[list[str], str]:
    """Write the reports. Return the files, or why there are none: a read-only checkout is not a failure.
    `x.json` is the result file, `x.eval.json` the report to pass on."""
    if suite.file is None:
        return [], ""
    shown_report = report if suite.reporting.include_details else without_details(report)
    endings = (ending for form in suite.reporting.format for ending in _ENDINGS[form])
    texts = {ending: render_report(shown_report, f"x{ending}") for ending in endings}
    try:
        output_dir = suite.reporting.output_dir
        written, reason = write_reports(project.root, suite.file, output_dir, report.started, texts)
    except BaselinekitError as error:
        return [], f"the reports could not be kept: {error.problems[0].message}"
    return [os.path.relpath(path, project.cwd) for path in written], reason


# What a run would do: for run --list, and for a gate before its first suite costs anything. All problems in
# the files are reported; a listing starts no program, so none has to be allowed.


class Planned(Struct):
    """One case: how many attempts are made of it, and how often models are asked for that if none fails.
    `criteria`: the criteria of each judge by its name, as they were read."""

    case: Case
    place: str
    attempts: int
    calls: int
    criteria: dict[str, list[str]] = field(default_factory=dict)


def plan_cases(
    project: Project,
    suite: Suite,
    choice: Choice,
    policy: RunPolicy,
    clients: Clients,
    runnable: Runnable,
    is_only_listed: bool = False,
) -> list[Planned]:
    """What would be run, in order. `is_only_listed`: nothing is run afterwards."""
    check_reachable(suite, policy.thresholds, policy.attempts)
    chosen = choose(suite.cases, choice)
    prepare_cases(CaptureEnvironment(project, clients), chosen, runnable, is_only_listed)
    places = locate_each([(case.source, [()]) for case in chosen], project.root)
    attempts = policy.attempts or suite.config.attempts
    planned = []
    for case, (place,) in zip(chosen, places, strict=True):
        made = 0 if case.skip is not None else attempts
        by_model = kind_of(case.recipe).asks_model(case.recipe, project.config.skills)
        asking = filter(None, map(graders.model_calls_of, case.graders))
        calls = int(by_model) + sum(questions for _, questions in asking)
        all_graders = graders.with_parts(case.graders)
        by_grader = {grader.name: graders.row_of(grader).criteria(grader.method) for grader in all_graders}
        criteria = {name: lines for name, lines in by_grader.items() if lines}
        planned.append(Planned(case, f"{place.file}:{place.line}", made, made * calls, criteria))
    return planned
