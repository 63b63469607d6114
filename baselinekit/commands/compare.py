"""compare: replay the baselines on file, compare their outputs with the stored ones, record the verdicts."""

from collections.abc import Sequence

from baselinekit import __version__
from baselinekit.commands.checking import MOST_HELD, Checker, JudgePolicy, Key, key_of, unjudged_result
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
    the entries of the share, with those that are wanted first at the front."""

    notes: tuple[str, ...]
    share: Share
    turns: list[Entry]
    coverage: Coverage


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
    room = MOST_HELD if elsewhere is None else 0
    checker = Checker(CaptureEnvironment(project, at_once.clients), policy.judging, context, room)
    plan = make_plan(project, paths, selection, policy, context, checker)
    with context.stop.heard(), at_once:
        finishing = Finishing(project, plan, policy, context)
        entries, recorder = plan.share.entries, finishing.recorder
        sources = [entry.source for entry in entries]
        results = with_lines(finishing.run(checker, elsewhere), sources, project.root)
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
) -> ComparePlan:
    """Select the baselines, and check each of them."""
    discovery, shard = find_files(project, paths), selection.shard
    found = checker.read([*discovery.files], IsWanted(selection))
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
    turns = selection.in_turn([entry.id for entry in share.entries])
    coverage = selection.coverage(paths, len(found.entries) - len(selected))
    return ComparePlan(notes, share, [share.entries[number] for number in turns], coverage)


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
                groups = [(entry.claim, (entry,)) for entry in turns]
                elsewhere.run(groups, checker.judge, stop, cancel, self._finished)
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
