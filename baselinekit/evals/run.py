"""run: every eval case attempted, graded, and counted."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext

from baselinekit import __version__
from baselinekit.commands.context import ModelThreads, RunContext
from baselinekit.commands.executor import OUT_OF_BUDGET, Elsewhere
from baselinekit.commands.loading import with_lines
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.commands.recording import Recorder
from baselinekit.errors import BaselinekitError, NotRecorded
from baselinekit.evals.attempts import EvalClients, Examiner
from baselinekit.evals.cases import (
    CaseAttempt,
    Memory,
    PlanJournals,
    explain_grades,
    key_of,
    noted,
    result_of,
    skipped_result,
)
from baselinekit.evals.checks import Prepared, check_reachable, prepare_cases
from baselinekit.evals.gating import measure
from baselinekit.evals.judges import facts_of
from baselinekit.evals.notifying import notification_warnings
from baselinekit.evals.promptlogs import RunFacts, misspelt_inputs, note_runs, typed_inputs
from baselinekit.evals.selection import Choice, choose
from baselinekit.evals.workers import Attempts, CaseOrder, CaseTurn, CaseWorker, JudgedAttempt, turns_of
from baselinekit.graders import graders
from baselinekit.kinds.dispatch import batches
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Grade, Grader, iterate_grades
from baselinekit.model.results import Report, Result, SuiteFacts
from baselinekit.model.values import Path
from baselinekit.store.journal import Journal
from baselinekit.store.project import head_commit
from baselinekit.store.reading import locate_each
from baselinekit.structs import Struct, field, replace

_JOBS = 8
_COMPACT = str.maketrans({"-": "", ":": "", "Z": "", "T": "-"})
"""Turns a time into its form in the id of a run."""

_NOTHING_OUTSIDE = EvalClients()
_VERDICTS = {"passed": True, "failed": False}


class RunPolicy(Struct):
    """How cases are run. None means as the suite says. `attempts`: how many are made of each case, whatever
    their outcome; with several nothing is tried again. `record`: always, daily or never. `first`: the first
    case that does not pass ends the run. `lasting`: the journals of the plan that the run is a part of."""

    record: str = "never"
    jobs: int | None = None
    attempts: int | None = None
    resume: bool = False
    first: bool = False
    thresholds: dict[str, float] = field(default_factory=dict)
    lasting: PlanJournals | None = None


class _RunPlan(Struct):
    """The attempts that are to be made at each case, in the order of the files."""

    cases: dict[str, Prepared]
    turns: list[CaseTurn]
    attempts: int

    def prepared(self, case: Case) -> Prepared:
        return self.cases[case.id]


def run(
    project: Project,
    suite: Suite,
    choice: Choice,
    policy: RunPolicy,
    context: RunContext,
    outside: EvalClients = _NOTHING_OUTSIDE,
    command: str = "",
    elsewhere: Callable[[CaseOrder], Elsewhere[CaseTurn, JudgedAttempt] | None] = lambda order: None,
) -> Report:
    """Check all cases, run them, and report. Everything that is wrong is reported before anything is run.
    `elsewhere`: makes the attempts, if not threads of this process."""
    started, began = context.timestamp(), context.seconds()
    thresholds = {**suite.thresholds, **policy.thresholds}
    check_reachable(suite, policy.thresholds, policy.attempts, project.root)
    # a suite that forbids parallel runs overrides the operator, as its cases would disturb each other
    jobs = (policy.jobs or suite.config.max_workers or _JOBS) if suite.config.parallel_execution else 1
    at_once = ModelThreads(context.clients, jobs)
    chosen = choose(suite.cases, choice)
    together = batches((case.id, case.recipe) for case in chosen if case.skip is None)
    here = CaptureEnvironment(project, replace(at_once.clients, batches=together))
    judges = facts_of(project.root, chosen)
    prepared = prepare_cases(here, chosen, outside.check)
    made = policy.attempts or suite.config.attempts
    retries = _retries(suite, made)
    turns = [turn for one in prepared for turn in turns_of(project, one.case, made, retries(one.case))]
    plan = _RunPlan({one.case.id: one for one in prepared}, turns, made)
    memory, notes = _memory(project, suite, plan, policy)
    notes += suite.notes
    order = CaseOrder(jobs, together, policy.first, frozenset(case.source.file for case in chosen))
    others = elsewhere(order)
    attempts = Attempts(project, context, memory, outside.take, order)
    worker = CaseWorker(here, Examiner(here, outside, context.seconds), context, plan.prepared)
    with closing(memory):
        with context.stop.heard(), at_once, _deadline(suite, context) as overtime, others or nullcontext():
            attempts_by_turn = attempts.run(plan.turns, worker.judge, others)
            results = _results(plan, attempts_by_turn, chosen, context, overtime(), project)
            recorder = _recorded(project, policy, context, chosen, results, memory)
            if not memory.was_finished:  # else everything is from an earlier run, which has its row
                inputs, interrupted = typed_inputs(project, prepared), context.stop.is_set()
                facts = RunFacts(context.timestamp(), plan.attempts, choice.grader, inputs, interrupted)
                notes += note_runs(project, suite, chosen, results, facts)
        if complete := is_complete(attempts_by_turn):
            policy.lasting.finished(memory) if policy.lasting else memory.forget()
    messages = [f"only {choice.grader} graders were used"] if choice.grader else []
    messages += misspelt_inputs(project, prepared)
    messages += [*notification_warnings(project, suite), *noted(results)]
    return Report(
        id=f"eval-{started.translate(_COMPACT)}",
        started=started,
        seconds=context.seconds() - began,
        tool=f"baselinekit {__version__}",
        command=project.redactor.mask(command),
        results=tuple(results),
        complete=complete,
        interrupted=context.stop.is_set() and not overtime(),
        environment={**((others and others.seen) or here.seen), **_served(results)},
        config=project.config_file,
        warnings=tuple(sorted({*notes, *recorder.notes, *attempts.warnings, *messages})),
        not_recorded=recorder.not_recorded,
        commit=head_commit(project.root),
        coverage=choice.coverage([suite.file] if suite.file else [], len(suite.cases) - len(chosen)),
        suite=SuiteFacts(suite.name, suite.version, measure(results, thresholds), judges=judges),
    )


def is_complete(attempts_by_turn: Sequence[tuple[CaseAttempt, ...] | None]) -> bool:
    """Whether every attempt was made, and none left out because the budget was used up."""
    return all(
        attempts is not None and all(made.attempt.code != OUT_OF_BUDGET for made in attempts)
        for attempts in attempts_by_turn
    )


def _retries(suite: Suite, attempts: int) -> Callable[[Case], int]:
    """How often a failed attempt of a case is tried again: never if several attempts are made anyway."""
    retry_count = suite.config.retry_count if suite.config.retry_failed else 0
    return lambda case: 0 if attempts > 1 else max(case.retries, retry_count)


def _memory(project: Project, suite: Suite, plan: _RunPlan, policy: RunPolicy) -> tuple[Memory, list[str]]:
    """Open the journal of this run, with notes. If it cannot be kept the run goes on without one, but a run
    that is to be resumed needs it."""
    cases = list(plan.cases.values())
    retries_of = _retries(suite, plan.attempts)
    retries = [retries_of(prepared.case) for prepared in cases]
    key = key_of(project, suite.file or suite.name, cases, plan.attempts, retries)
    try:
        memory = Memory(Journal(project.root, key), policy.resume)
    except BaselinekitError as error:
        if policy.resume and not isinstance(error, NotRecorded):
            raise
        return Memory(None, False), [f"this run cannot be resumed: {error.problems[0].message}"]
    if policy.lasting:
        policy.lasting.begun(memory)
    if policy.resume and not len(memory) and not (policy.lasting and policy.lasting.resumed):
        return memory, ["there was nothing to resume: everything is run again"]
    return memory, []


def _recorded(
    project: Project,
    policy: RunPolicy,
    context: RunContext,
    cases: Sequence[Case],
    results: Sequence[Result],
    memory: Memory,
) -> Recorder:
    """Write the outcomes of regression cases into the files of their baselines, as compare does."""
    pairs = [
        (case, case.baseline, result)
        for case, result in zip(cases, results, strict=True)
        if policy.record != "never"
        and case.baseline
        and case.recipe is case.baseline.current  # not --target's
    ]
    sources = [baseline.source for _, baseline, _ in pairs]
    recorder = Recorder(project.root, context.timestamp, policy.record == "daily", sources, context.stop.wait)
    for case, baseline, result in pairs:
        verdict = _VERDICTS.get(result.outcome)
        is_recorded = verdict is False and memory.is_recorded(case)
        recorder.add(baseline.source, None if is_recorded else verdict)
    recorder.close()
    return recorder


@contextmanager
def _deadline(suite: Suite, context: RunContext) -> Iterator[Callable[[], bool]]:
    """End the run when the time of the suite is over, as a signal would; finished attempts are kept. Yields
    whether that happened."""
    limit, over = suite.config.timeout_global, threading.Event()

    def end() -> None:
        if not context.stop.is_set():
            over.set()
            context.stop.ask()

    timer = threading.Timer(limit, end) if limit else None
    if timer:
        timer.daemon = True
        timer.start()
    try:
        yield over.is_set
    finally:
        if timer:
            timer.cancel()


def _results(
    plan: _RunPlan,
    attempts_by_turn: Sequence[tuple[CaseAttempt, ...] | None],
    cases: Sequence[Case],
    context: RunContext,
    overtime: bool,
    project: Project,
) -> list[Result]:
    """One result for each case, in the order of the cases, with the lines of the cases."""
    reason = "interrupted" if context.stop.is_set() else "not run: an earlier case did not pass (-x)"
    reason = "not run: the time limit of the suite was reached" if overtime else reason
    attempts_by_case: dict[str, list[CaseAttempt]] = {}
    retried: Counter[str] = Counter()
    for turn, attempts in zip(plan.turns, attempts_by_turn, strict=True):
        attempts_by_case.setdefault(turn.case.id, []).extend(attempts or ())
        retried[turn.case.id] += max(0, len(attempts or ()) - 1)
    results = []
    for id, case_attempts in attempts_by_case.items():
        prepared = plan.cases[id]
        if prepared.case.skip is not None:
            results.append(skipped_result(prepared, prepared.case.skip, None))
        elif not case_attempts:
            results.append(skipped_result(prepared, reason))
        else:
            results.append(result_of(prepared, case_attempts, retried[id], plan.attempts, project))
    if not all(case.source.file for case in cases):  # cases that are in no file have no lines
        return results
    sources = [case.source for case in cases]
    return with_grader_lines(with_lines(results, sources, project.root), cases, project.root)


def with_grader_lines(results: Sequence[Result], cases: Sequence[Case], root: str) -> list[Result]:
    """Add the lines of the graders to the grades that did not pass, so that the failed one of several checks
    in a file is found."""
    placed = list(results)
    located = []
    for number, (result, case) in enumerate(zip(results, cases, strict=True)):
        attempts = result.case.attempts if result.case and result.outcome not in ("passed", "skipped") else ()
        failed = {
            grade.grader
            for attempt in attempts
            for grade in iterate_grades(attempt.grades)
            if grade.outcome != "passed"
        }
        if paths := {name: at for name, at in ways_to(case.graders) if at and name in failed}:
            located.append((number, case.source, paths))
    found = locate_each([(source, list(paths.values())) for _, source, paths in located], root)
    for (number, _, paths), places in zip(located, found, strict=True):
        lines = {name: place.line for name, place in zip(paths, places, strict=True)}
        placed[number] = _at_lines(results[number], lines)
    return placed


def ways_to(graders_in_record: Sequence[Grader], within: str = "") -> Iterator[tuple[str, Path]]:
    """The name of each grader's grade in a report, with the path of the grader in its record."""
    for grader in graders_in_record:
        yield within + grader.name, grader.at
        yield from ways_to(graders.row_of(grader).parts(grader.method), f"{within}{grader.name}/")


def _at_lines(result: Result, lines: Mapping[str, int | None]) -> Result:
    assert result.case is not None
    attempts = []
    for attempt in result.case.attempts:
        grades = tuple(grade_at_line(grade, lines) for grade in attempt.grades)
        attempts.append(replace(attempt, grades=grades))
    result = replace(result, case=replace(result.case, attempts=tuple(attempts)))
    deciding = next((attempt for attempt in attempts if attempt.outcome == result.outcome), attempts[0])
    return replace(result, explanation=tuple(explain_grades(deciding, result.file)))


def grade_at_line(grade: Grade, lines: Mapping[str, int | None], within: str = "") -> Grade:
    """The grade and its parts, with the lines of their graders where they did not pass."""
    name = within + grade.grader
    parts = tuple(grade_at_line(part, lines, f"{name}/") for part in grade.parts)
    grade = replace(grade, parts=parts) if parts else grade
    return grade if grade.outcome == "passed" else replace(grade, line=lines.get(name))


def _served(results: Sequence[Result]) -> dict[str, str]:
    """The models that answered, as they named themselves."""
    attempts = [attempt for result in results if result.case for attempt in result.case.attempts]
    names = sorted(
        {str(attempt.environment["model"]) for attempt in attempts if "model" in attempt.environment}
    )
    return {"model": ", ".join(names)} if names else {}


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
    outside: EvalClients,
    is_only_listed: bool = False,
) -> list[Planned]:
    """What would be run, in order. `is_only_listed`: nothing is run afterwards."""
    check_reachable(suite, policy.thresholds, policy.attempts, project.root)
    chosen = choose(suite.cases, choice)
    prepare_cases(CaptureEnvironment(project, clients), chosen, outside.check, is_only_listed)
    places = locate_each([(case.source, [()]) for case in chosen], project.root)
    attempts = policy.attempts or suite.config.attempts
    planned = []
    for case, (place,) in zip(chosen, places, strict=True):
        attempts_made = 0 if case.skip is not None else attempts
        by_model = kind_of(case.recipe).asks_model(case.recipe, project.config.skills)
        asking = filter(None, map(graders.model_calls_of, case.graders))
        calls = int(by_model) + sum(questions for _, questions in asking)
        all_graders = graders.with_parts(case.graders)
        by_grader = {grader.name: graders.row_of(grader).criteria(grader.method) for grader in all_graders}
        criteria = {name: lines for name, lines in by_grader.items() if lines}
        planned.append(
            Planned(case, f"{place.file}:{place.line}", attempts_made, attempts_made * calls, criteria)
        )
    return planned
