"""compare: replay the baselines on file, compare their outputs with the stored ones, record the verdicts."""

from collections.abc import Sequence
from dataclasses import field

from baselinekit import __version__
from baselinekit.commands.chunks import (
    BaselineEngine,
    Chunk,
    ChunkDone,
    ChunkWorker,
    JudgePolicy,
    Key,
    ThreadedBaselineEngine,
    key_of,
    unjudged_result,
)
from baselinekit.commands.context import ModelThreads, RunContext, ThreadPool
from baselinekit.commands.judging import OUT_OF_BUDGET, JudgedBaseline, Repeating, keep_seen
from baselinekit.commands.loading import (
    find_files,
    provide_schema,
    raise_unless_variables,
    with_lines,
)
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.commands.recording import Recorder
from baselinekit.commands.selection import IsWanted, Selection, Share, select, stamp_shard
from baselinekit.errors import NothingSelected
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Entry
from baselinekit.model.results import Coverage, Report, Result, Typed
from baselinekit.model.values import Json
from baselinekit.store.discovery import passed_over_notes
from baselinekit.store.project import head_commit
from baselinekit.store.reading import find_repeated_ids

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

    @property
    def judging(self) -> JudgePolicy:
        return JudgePolicy(self.strict_rules, self.explain, self.repeating)


@frozen
class ComparePlan:
    """What a compare covers. `coverage`: which part of the project that is, needed to find orphans. `chunks`:
    those of the share, with the ones that are wanted first at the front."""

    notes: tuple[str, ...]
    share: Share
    chunks: list[Chunk[Entry]]
    coverage: Coverage


def compare(
    project: Project,
    paths: Sequence[str],
    selection: Selection,
    policy: ComparePolicy,
    context: RunContext,
    command: str = "",
    elsewhere: BaselineEngine | None = None,
) -> Report:
    """Plan the run, work on the chunks of the plan in threads or `elsewhere`, and finish. Errors in any file
    are reported before anything is replayed; baselines that lack a variable are errors beside the others."""
    started, began = context.clock.timestamp(), context.clock.seconds()
    at_once = ModelThreads(context.clients, policy.jobs)
    environment = CaptureEnvironment(project, at_once.clients)
    worker = ChunkWorker(environment, policy.judging, context)
    with elsewhere or ThreadedBaselineEngine(worker, policy.jobs, context.cancel) as engine:
        plan = make_plan(project, paths, selection, policy, context, engine, worker)
        with context.stop.heard(), at_once:
            finishing = Finishing(project, plan, policy, context)
            entries, recorder = plan.share.entries, finishing.recorder
            results = with_lines(finishing.run(engine), [entry.source for entry in entries], project.root)
    provide_schema(project.root)
    interrupted = context.stop.is_set()
    return Report(
        id=f"compare-{started.replace(':', '').replace('-', '')}",
        started=started,
        seconds=context.clock.seconds() - began,
        tool=f"baselinekit {__version__}",
        command=project.redactor.mask(command),
        results=plan.share.placed(with_not_run(results, entries, policy, interrupted)),
        complete=all(result and result.code != OUT_OF_BUDGET for result in results),
        interrupted=interrupted,
        environment=finishing.seen or environment.seen,
        config=project.config_file,
        warnings=tuple(sorted({*recorder.notes, *finishing.warnings, *plan.notes})),
        not_recorded=recorder.not_recorded,
        commit=head_commit(project.root),
        shard=plan.share.shard,
        coverage=plan.coverage,
        typed=Typed(unkept=bool(finishing.warnings)),
    )


def make_plan(
    project: Project,
    paths: Sequence[str],
    selection: Selection,
    policy: ComparePolicy,
    context: RunContext,
    engine: BaselineEngine,
    worker: ChunkWorker,
) -> ComparePlan:
    """Select the baselines, compile and check each of them, and divide them into chunks."""
    discovery, shard = find_files(project, paths), selection.shard
    files = [*discovery.files]
    if selection.since is not None:
        files_read = worker.read(files, None)
    else:
        files_read = engine.read(files, IsWanted(selection))
    files_read.problems += find_repeated_ids(files_read.entries, project.root)
    broken = files_read.error
    try:
        selected = select(files_read.entries, selection)
    except NothingSelected:  # an error of its own, unless there is a worse one
        if broken is None:
            raise
        selected = []
    notes = passed_over_notes(discovery.passed_over)
    if selection.since is not None:
        from baselinekit.clients.programs.git import Git
        from baselinekit.commands.since import select_touched

        git = Git(context.clients.execute, project.root)
        touched, touched_notes = select_touched(project, git, selection.since, worker.baselines(selected))
        notes += touched_notes
        ids = {baseline.id for baseline in touched}
        selected = [entry for entry in selected if entry.id in ids]
    share = Share(selected, shard and stamp_shard(shard, project, selected, policy.strict_rules))
    raise_unless_variables(broken, engine.prepare(share.entries), project.root)
    turns = selection.in_turn([entry.id for entry in share.entries])
    chunks = engine.chunks([share.entries[number] for number in turns])
    coverage = selection.coverage(paths, len(files_read.entries) - len(selected))
    return ComparePlan(notes, share, chunks, coverage)


class Finishing:
    """Handles the results of chunks: each verdict goes to the recorder as soon as it is known, and the output
    of a failed baseline is kept for a refresh."""

    def __init__(self, project: Project, plan: ComparePlan, policy: ComparePolicy, context: RunContext):
        entries = plan.share.entries
        sources, daily = [entry.source for entry in entries], policy.record == "daily"
        self.recorder = Recorder(project.root, context.clock.timestamp, daily, sources, context.stop)
        self.warnings: set[str] = set()
        self.seen: dict[str, Json] = {}
        self._root = project.root
        self._plan = plan
        self._policy = policy
        self._context = context
        self._advance = context.advance(len(entries))
        self._failures = 0

    def run(self, engine: BaselineEngine) -> list[Result | None]:
        """Return the results in the order of the files; None for those that were not run."""

        def work(chunk: Chunk[Entry]) -> ChunkDone[JudgedBaseline]:
            done = engine.judge(chunk)
            for entry, judged in zip(chunk.entries, done.judged, strict=True):
                if judged is not None:
                    self._write(entry, judged)
                    results[key_of(entry)] = judged.result
            return done

        results: dict[Key, Result] = {}  # also those of a chunk whose worker was told to stop
        pool = ThreadPool(engine.slots, work, engine.cancel, self._context.stop, lambda chunk: chunk.claim)
        try:
            pool.run(self._plan.chunks, self._goes_on_after)
        finally:
            self.recorder.close()
        return [results.get(key_of(entry)) for entry in self._plan.share.entries]

    def _write(self, entry: Entry, judged: JudgedBaseline) -> None:
        """Record the verdict, and keep the new output."""
        settled = judged.result.id if judged.settles else ""
        if warning := keep_seen(self._root, judged.pending, settled, judged.warning):
            self.warnings.add(warning)
        if self._policy.record != "never":
            noise = judged.result.verdict == "noise"  # which says nothing about the target
            self.recorder.add(entry.source, None if noise else _VERDICTS.get(judged.result.outcome))

    def _goes_on_after(self, done: ChunkDone[JudgedBaseline]) -> bool:
        self.seen = self.seen or done.seen
        for judged in done.judged:
            if judged is not None:
                self._advance(judged.result.outcome)
                self._failures += judged.result.outcome in ("failed", "error")
        return self._policy.maxfail is None or self._failures < self._policy.maxfail


def with_not_run(
    results: Sequence[Result | None], entries: Sequence[Entry], policy: ComparePolicy, interrupted: bool
) -> list[Result]:
    """Return a result for each baseline: those that were not run are skipped, with the reason."""
    reason = "interrupted" if interrupted else f"not run: --maxfail {policy.maxfail} was reached"
    pairs = zip(results, entries, strict=True)
    return [result or unjudged_result(entry, "skipped", reason, verdict="limit") for result, entry in pairs]
