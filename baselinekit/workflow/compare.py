"""compare: replay what is on file, set it against what comes back, write down how it went."""

import gc
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import partial

from baselinekit import __version__
from baselinekit.errors import NothingSelected, NotRecorded
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.results import Coverage, Report, Result
from baselinekit.store.project import head_commit
from baselinekit.store.reading import without_collector
from baselinekit.store.record import Mark, Recorded, VerdictLog, record_all, record_left
from baselinekit.workflow.context import AtOnce, RunContext, Stop, ThreadPool
from baselinekit.workflow.judging import OUT_OF_BUDGET, BaselineRunner, Repeating, Tried
from baselinekit.workflow.project import CaptureEnvironment, Project
from baselinekit.workflow.selection import (
    Prepared,
    Selection,
    Share,
    load_partly,
    prepare,
    select,
    stamp_shard,
    with_lines,
)

# Verdicts are written down while other baselines are still being replayed: many files at once, and a
# file of many baselines not for each of them.


_GATHERING = 0.02
_GROUP = 32
_MOST_READY = 32
"""Files that may wait to be written. Whoever brings another one waits as well, however slow the disk."""

_POLL = 0.1
_LONGEST = 1.0
_SHARE = 10
"""What is known of a file whose other baselines are still open is written after `_LONGEST` seconds, and so
seldom that no more than one part in `_SHARE` of the time goes into it."""


class Recorder:
    """Takes a verdict on each of the baselines, or none, from any thread; writes in a thread of its own, and
    first what killed runs have left. `close` waits until all is written; in a `hurry` nobody waits long for a
    lock any more."""

    def __init__(
        self,
        root: str,
        now: Callable[[], str],
        daily: bool,
        sources: Iterable[Source],
        hurry: Stop | None = None,
    ):
        self._root = root
        self._now = now
        self._daily = daily
        self._open = Counter(source.file for source in sources)
        self._log = VerdictLog(root)
        self._lock = threading.Condition()
        self._waiting: dict[str, list[Mark]] = {}
        self._ready = 0
        self._some = threading.Event()
        self._closing = threading.Event()
        self._hurry = hurry
        self._writer: threading.Thread | None = None
        self._broken: BaseException | None = None
        self.notes: list[str] = []
        self.failures: list[NotRecorded] = []

    def add(self, source: Source, passed: bool | None) -> None:
        with self._lock:
            self._open[source.file] -= 1
            if passed is not None:
                self._log.note(source, passed, self._now())
                self._waiting.setdefault(source.file, []).append(Mark(source, passed))
                self._writer = self._writer or self._begun()
                self._some.set()
            if not self._open[source.file] and source.file in self._waiting:
                self._ready += 1
                if self._ready >= _GROUP:
                    self._lock.notify_all()
                while not self._has_room():
                    self._lock.wait(_POLL)

    def _has_room(self) -> bool:
        """Whoever is in a hurry waits for nobody, and nobody for a writer that is no more."""
        in_a_hurry = self._hurry is not None and self._hurry.is_set()
        return self._ready <= _MOST_READY or in_a_hurry or not (self._writer and self._writer.is_alive())

    def _begun(self) -> threading.Thread | None:
        """The writer. A busy machine may have no thread for it: the next verdict asks again."""
        writer = threading.Thread(target=self._write_all, name="record")
        try:
            writer.start()
        except RuntimeError:
            return None
        return writer

    def close(self) -> None:
        self._closing.set()
        self._some.set()
        with self._lock:
            self._lock.notify_all()
        if self._writer is not None:
            self._writer.join()
        elif self._waiting:
            self._write_all()
        if self._broken is not None:
            raise self._broken
        self._log.close()

    def _write_all(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._broken = error

    def _work(self) -> None:
        self._tell(record_left(self._root, self._daily, self._hurry))
        due = time.monotonic() + _LONGEST
        while True:
            self._some.wait(_LONGEST if self._waiting else None)
            with self._lock:
                self._lock.wait_for(self._is_enough, _GATHERING)
            last, began = self._closing.is_set(), time.monotonic()
            batches = self._take(last or began >= due)
            for start in range(0, len(batches), _GROUP):
                marks = [mark for batch in batches[start : start + _GROUP] for mark in batch]
                for file, verdicts in Counter(mark.source.file for mark in marks).items():
                    self._log.count(file, verdicts)
                timestamp = self._now()
                self._tell(record_all(marks, self._root, timestamp, self._daily, self._hurry, self._log))
            if last:
                return
            if began >= due:
                due = time.monotonic() + max(_LONGEST, _SHARE * (time.monotonic() - began))

    def _is_enough(self) -> bool:
        return self._ready >= _GROUP or self._closing.is_set()

    def _take(self, unfinished: bool) -> list[list[Mark]]:
        """What is to be written now, by file."""
        with self._lock:
            self._some.clear()
            self._ready = 0
            self._lock.notify_all()
            files = [file for file in self._waiting if unfinished or not self._open[file]]
            return [self._waiting.pop(file) for file in files]

    def _tell(self, done: Recorded) -> None:
        self.notes += done.notes
        self.failures += done.failures


_VERDICTS = {"passed": True, "failed": False}


@frozen
class ComparePolicy:
    """How a compare is run. `record`: always, daily or never."""

    record: str = "always"
    jobs: int = 8
    maxfail: int | None = None
    strict_rules: bool = False
    explain: bool = False
    repeating: Repeating = field(default_factory=Repeating)


@frozen
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
        from baselinekit.workflow.since import select_touched

        git = Git(context.clients.execute, project.root)
        selected, notes = select_touched(project, git, selection.since, selected)
    shard = selection.shard and stamp_shard(selection.shard, project, selected, policy.strict_rules)
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
        self._claim = lambda prepared: environment.project.claim(prepared[0].current)
        self._policy = policy
        self._context = context
        self._advance = context.advance(len(plan.prepared))
        self._failures = 0

    def results(self, selection: Selection) -> list[Result | None]:
        """In the order of the files; those that are wanted first are run first. None where none was run."""
        turns = selection.in_turn([baseline.id for baseline, _ in self._prepared])
        context, claim = self._context, self._claim
        pool = ThreadPool(self._policy.jobs, self._replay, context.cancel, context.stop, claim)
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
        from baselinekit.workflow.verdicts import (  # which brings what is learnt of replays
            Pause,
            replay_repeatedly,
        )

        pause = Pause(self._context.stop.is_set, self._context.clients.sleep)
        return replay_repeatedly(replay_once, self._policy.repeating, pause)

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
