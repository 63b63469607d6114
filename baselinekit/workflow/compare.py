"""compare: replay what is on file, set it against what comes back, write down how it went."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from baselinekit import __version__
from baselinekit.errors import NothingSelected
from baselinekit.model.baselines import Baseline
from baselinekit.model.results import Coverage, Report, Result
from baselinekit.store.project import head_commit
from baselinekit.store.reading import without_collector
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.environment import CaptureEnvironment
from baselinekit.workflow.judging import OUT_OF_BUDGET, BaselineRunner, Repeating, Tried
from baselinekit.workflow.loading import Prepared, load_partly, prepare, with_lines
from baselinekit.workflow.pool import AtOnce, ThreadPool
from baselinekit.workflow.project import Project
from baselinekit.workflow.recording import Recorder
from baselinekit.workflow.selection import Selection, Share, select, stamped

_VERDICTS = {"passed": True, "failed": False}


@dataclass(frozen=True, slots=True)
class ComparePolicy:
    """How a compare is run. `record`: always, daily or never."""

    record: str = "always"
    jobs: int = 8
    maxfail: int | None = None
    strict_rules: bool = False
    explain: bool = False
    repeating: Repeating = field(default_factory=Repeating)


@dataclass(frozen=True, slots=True)
class ComparePlan:
    """What a compare is about. `coverage`: what of the project that is, for whoever finds orphans by it."""

    notes: tuple[str, ...]
    share: Share
    prepared: list[Prepared]
    coverage: Coverage


def compare(
    project: Project,
    paths: Sequence[str],
    selection: Selection,
    policy: ComparePolicy,
    context: RunContext,
    command: str = "",
) -> Report:
    """Load, select and compile; replay, compare and record in threads; find the lines of what differs. What
    is wrong in any file is reported before anything is replayed."""
    started, began = context.clock.timestamp(), context.clock.seconds()
    at_once = AtOnce(context.clients, policy.jobs)
    environment = CaptureEnvironment(project, at_once.clients)
    with without_collector():
        plan = make_plan(environment, paths, selection, policy, context)
        gc.freeze()  # all that was made stays until the end: there is no use in looking through it
    with context.stop.heard(), at_once:
        run = CompareRun(environment, plan, policy, context)
        results = with_lines(run.results(selection), plan.prepared, project.root)
    interrupted = context.stop.is_set()
    return Report(
        id=f"compare-{started.replace(':', '').replace('-', '')}",
        started=started,
        seconds=context.clock.seconds() - began,
        tool=f"baselinekit {__version__}",
        command=project.redactor.mask(command),
        results=plan.share.placed(with_not_run(results, plan.prepared, policy, interrupted)),
        complete=all(result and result.code != OUT_OF_BUDGET for result in results),
        interrupted=interrupted,
        environment=environment.seen,
        config=project.config_file,
        warnings=tuple(sorted({*run.recorder.notes, *run.runner.warnings, *plan.notes})),
        not_recorded=tuple(str(problem) for error in run.recorder.failures for problem in error.problems),
        commit=head_commit(project.root),
        shard=plan.share.shard,
        coverage=plan.coverage,
    )


def make_plan(
    environment: CaptureEnvironment,
    paths: Sequence[str],
    selection: Selection,
    policy: ComparePolicy,
    context: RunContext,
) -> ComparePlan:
    """Which baselines are compared, each compiled."""
    project = environment.project
    loaded, broken = load_partly(project, paths)
    try:
        selected = select(loaded, selection)
    except NothingSelected:  # a complaint of its own, unless there is a graver one
        if broken is None:
            raise
        selected = []
    notes: tuple[str, ...] = ()
    if selection.since is not None:
        from baselinekit.programs.git import Git
        from baselinekit.workflow.since import touched

        git = Git(context.clients.execute, project.root)
        selected, notes = touched(project, git, selection.since, selected)
    shard = selection.shard and stamped(selection.shard, project, selected, policy.strict_rules)
    share = Share(selected, shard)
    prepared = prepare(environment, share.baselines, broken)
    coverage = selection.coverage(paths, len(loaded) - len(selected))
    return ComparePlan(notes, share, prepared, coverage)


class CompareRun:
    """The work on a plan, in threads: each verdict goes to the recorder as soon as it is known."""

    def __init__(
        self, environment: CaptureEnvironment, plan: ComparePlan, policy: ComparePolicy, context: RunContext
    ):
        self.runner = BaselineRunner(
            environment, policy.strict_rules, policy.explain, context.clock.timestamp
        )
        sources = [baseline.source for baseline, _ in plan.prepared]
        root, timestamp, daily = environment.project.root, context.clock.timestamp, policy.record == "daily"
        self.recorder = Recorder(root, timestamp, daily, sources, context.stop)
        self._prepared = plan.prepared
        self._policy = policy
        self._context = context
        self._advance = context.advance(len(plan.prepared))
        self._failures = 0

    def results(self, selection: Selection) -> list[Result | None]:
        """In the order of the files; those that are wanted first are run first. None where none was run."""
        turns = selection.in_turn([baseline.id for baseline, _ in self._prepared])
        pool = ThreadPool(self._policy.jobs, self._replay, self._context.cancel, self._context.stop)
        try:
            done = pool.run([self._prepared[number] for number in turns], self._goes_on_after)
        finally:
            self.recorder.close()
        results: list[Result | None] = [None] * len(self._prepared)
        for number, result in zip(turns, done, strict=True):
            results[number] = result
        return results

    def _replay(self, prepared: Prepared) -> Result:
        """One baseline, replayed and compared, as often as the policy says; its verdict is recorded."""
        baseline, matcher = prepared
        replay_once = partial(self.runner.tried, baseline, matcher)
        result = self.runner.settled(baseline, partial(self._repeated, replay_once))
        if self._policy.record != "never":
            noise = result.verdict == "noise"  # which says nothing of the target
            self.recorder.add(baseline.source, None if noise else _VERDICTS.get(result.outcome))
        return result

    def _repeated(self, replay_once: Callable[[int], Tried]) -> Tried:
        if self._policy.repeating.times == 1:
            return replay_once(0)
        from baselinekit.workflow.verdicts import Pause, repeated  # which brings what is learnt of replays

        pause = Pause(self._context.stop.is_set, self._context.clients.sleep)
        return repeated(replay_once, self._policy.repeating, pause)

    def _goes_on_after(self, result: Result) -> bool:
        self._advance(result.outcome)
        self._failures += result.outcome in ("failed", "error")
        return self._policy.maxfail is None or self._failures < self._policy.maxfail


def with_not_run(
    results: Sequence[Result | None], prepared: Sequence[Prepared], policy: ComparePolicy, interrupted: bool
) -> list[Result]:
    """A result for each baseline: those that were not run are skipped, and say why."""
    why = "interrupted" if interrupted else f"not run: --maxfail {policy.maxfail} was reached"
    pairs = zip(results, prepared, strict=True)
    return [result or not_run(baseline, why) for result, (baseline, _) in pairs]


def not_run(baseline: Baseline, why: str) -> Result:
    return Result(
        baseline.id, baseline.source.file, None, baseline.current.kind, "skipped", reason=why, verdict="limit"
    )
