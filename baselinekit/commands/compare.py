"""compare: replay the baselines on file, compare their outputs with the stored ones, record the verdicts."""

from collections.abc import Sequence
from contextlib import nullcontext

from baselinekit import __version__
from baselinekit.commands.checking import Checker, JudgePolicy, Key, ReadFiles, key_of, unjudged_result
from baselinekit.commands.context import ModelThreads, RunContext
from baselinekit.commands.executor import Elsewhere, Terms, in_threads
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
from baselinekit.model.baselines import Entry
from baselinekit.model.results import Coverage, Report, Result, Typed
from baselinekit.store.discovery import passed_over_notes
from baselinekit.store.project import head_commit
from baselinekit.store.reading import find_repeated_ids
from baselinekit.structs import Struct, field

_VERDICTS = {"passed": True, "failed": False}
_FAILURES = ("failed", "error")
_READ_TOGETHER = 32
"""Files that a worker reads at a time."""

_NOTED_TOGETHER = 256
"""Of how many baselines at once it is noted what they use: all of a large project need much memory."""


class ComparePolicy(Struct):
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


OF_BASELINES = Terms[Entry, JudgedBaseline](
    id=lambda entry: entry.id,
    code=lambda judged: judged.result.code,
    is_failure=lambda entry, judged: judged.result.outcome in _FAILURES,
    error=lambda entry, problem: JudgedBaseline(
        unjudged_result(entry, "error", problem.with_hint, code=problem.code)
    ),
)


class ComparePlan(Struct):
    """What a compare covers. `coverage`: which part of the project that is, needed to find orphans. `turns`:
    the entries of the share, with those that are wanted first at the front. `homes`: which worker has read a
    file."""

    notes: tuple[str, ...]
    share: Share
    turns: list[Entry]
    coverage: Coverage
    homes: dict[str, int]


def compare(
    project: Project,
    paths: Sequence[str],
    selection: Selection,
    policy: ComparePolicy,
    context: RunContext,
    command: str = "",
    elsewhere: Elsewhere[Entry, JudgedBaseline] | None = None,
) -> Report:
    """Plan the run, judge the baselines of the plan in threads or `elsewhere`, and finish. Errors in any file
    are reported before anything is replayed; baselines that lack a variable are errors beside the others."""
    started, began = context.clock.timestamp(), context.clock.seconds()
    at_once = ModelThreads(context.clients, policy.jobs)
    checker = Checker(CaptureEnvironment(project, at_once.clients), policy.judging, context)
    with elsewhere or nullcontext():
        plan = make_plan(project, paths, selection, policy, context, checker, elsewhere)
        with context.stop.heard(), at_once:
            finishing = Finishing(project, plan, policy, context)
            entries, recorder = plan.share.entries, finishing.recorder
            results = with_lines(
                finishing.run(checker, elsewhere), [entry.source for entry in entries], project.root
            )
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
        environment=(elsewhere and elsewhere.seen) or checker.environment.seen,
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
    checker: Checker,
    elsewhere: Elsewhere[Entry, JudgedBaseline] | None,
) -> ComparePlan:
    """Select the baselines, and check each of them."""
    discovery, shard = find_files(project, paths), selection.shard
    files, homes = [*discovery.files], dict[str, int]()
    if elsewhere is None or elsewhere.note is not None or selection.since is not None:
        found = checker.read(files, IsWanted(selection))
    else:
        found, homes = read_elsewhere(elsewhere, files, IsWanted(selection))
    found.problems += find_repeated_ids(found.entries, project.root)
    broken = found.error
    try:
        selected = select(found.entries, selection)
    except NothingSelected:  # an error of its own, unless there is a worse one
        if broken is None:
            raise
        selected = []
    notes = passed_over_notes(discovery.passed_over)
    if selection.since is not None:
        from baselinekit.clients.programs.git import Git
        from baselinekit.commands.since import select_touched

        git = Git(context.clients.execute, project.root)
        touched, touched_notes = select_touched(project, git, selection.since, checker.baselines(selected))
        notes += touched_notes
        ids = {baseline.id for baseline in touched}
        selected = [entry for entry in selected if entry.id in ids]
    share = Share(selected, shard and stamp_shard(shard, project, selected, policy.strict_rules))
    unfit = [found.unfit[key] for entry in share.entries if (key := key_of(entry)) in found.unfit]
    raise_unless_variables(broken, unfit, project.root)
    if elsewhere is not None and elsewhere.note is not None:
        for start in range(0, len(share.entries), _NOTED_TOGETHER):
            elsewhere.note(checker.baselines(share.entries[start : start + _NOTED_TOGETHER]))
        checker.forget()
    turns = selection.in_turn([entry.id for entry in share.entries])
    coverage = selection.coverage(paths, len(found.entries) - len(selected))
    return ComparePlan(notes, share, [share.entries[number] for number in turns], coverage, homes)


def read_elsewhere(
    elsewhere: Elsewhere[Entry, JudgedBaseline], files: Sequence[str], wanted: IsWanted
) -> tuple[ReadFiles, dict[str, int]]:
    """Have the workers read files; return also which of them has read, and so holds, which."""
    found, homes = ReadFiles(), dict[str, int]()
    parts = [files[start : start + _READ_TOGETHER] for start in range(0, len(files), _READ_TOGETHER)]
    for part, (worker, read) in zip(parts, elsewhere.call_each("read", parts, wanted), strict=True):
        found.add(read)
        homes |= dict.fromkeys(part, worker)
    return found, homes


class Finishing:
    """Handles results: each verdict goes to the recorder as soon as it is known, and the output of a failed
    baseline is kept for a refresh."""

    def __init__(self, project: Project, plan: ComparePlan, policy: ComparePolicy, context: RunContext):
        entries = plan.share.entries
        sources, daily = [entry.source for entry in entries], policy.record == "daily"
        self.recorder = Recorder(project.root, context.clock.timestamp, daily, sources, context.stop)
        self.warnings: set[str] = set()
        self._root = project.root
        self._plan = plan
        self._policy = policy
        self._context = context
        self._advance = context.advance(len(entries))
        self._failures = 0
        self._results: dict[Key, Result] = {}

    def run(
        self, checker: Checker, elsewhere: Elsewhere[Entry, JudgedBaseline] | None
    ) -> list[Result | None]:
        """Return the results in the order of the files; None for those that were not run."""
        context, policy, turns = self._context, self._policy, self._plan.turns
        stop, cancel = context.stop, context.cancel
        try:
            if elsewhere is None:
                in_threads(
                    *(turns, checker.judge, policy.jobs, stop, cancel, self._finished_here),
                    claim=lambda entry: entry.claim,
                    goes_on=lambda: policy.maxfail is None or self._failures < policy.maxfail,
                )
            elif turns:
                homes = self._plan.homes
                groups = [(entry.claim, homes.get(entry.source.file), (entry,)) for entry in turns]
                elsewhere.run(elsewhere.divide(groups), checker.judge, stop, cancel, self._finished)
        finally:
            self.recorder.close()
        return [self._results.get(key_of(entry)) for entry in self._plan.share.entries]

    def _finished_here(self, entry: Entry, judged: JudgedBaseline) -> tuple[Entry, ...]:
        return () if self._context.stop.is_set() else self._finished(entry, judged)  # it may be cut off

    def _finished(self, entry: Entry, judged: JudgedBaseline) -> tuple[Entry, ...]:
        """Record the verdict, and keep the new output."""
        settled = judged.result.id if judged.settles else ""
        if warning := keep_seen(self._root, judged.pending, settled, judged.warning):
            self.warnings.add(warning)
        if self._policy.record != "never":
            noise = judged.result.verdict == "noise"  # which says nothing about the target
            self.recorder.add(entry.source, None if noise else _VERDICTS.get(judged.result.outcome))
        self._results[key_of(entry)] = judged.result
        self._advance(judged.result.outcome)
        self._failures += judged.result.outcome in _FAILURES
        return ()


def with_not_run(
    results: Sequence[Result | None], entries: Sequence[Entry], policy: ComparePolicy, interrupted: bool
) -> list[Result]:
    """Return a result for each baseline: those that were not run are skipped, with the reason."""
    reason = "interrupted" if interrupted else f"not run: --maxfail {policy.maxfail} was reached"
    pairs = zip(results, entries, strict=True)
    return [result or unjudged_result(entry, "skipped", reason, verdict="limit") for result, entry in pairs]
