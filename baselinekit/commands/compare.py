"""compare: replay the stored baselines, compare their outputs with the stored ones, record the verdicts."""

from collections.abc import Sequence
from functools import partial

from baselinekit import __version__
from baselinekit.commands import judging
from baselinekit.commands.context import ModelThreads, RunContext
from baselinekit.commands.executor import OUT_OF_BUDGET, Chunk, Elsewhere, Terms, in_threads
from baselinekit.commands.loading import find_files, raise_unless_variables, with_lines
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.commands.recording import Recorder, keep_seen
from baselinekit.commands.selection import Selection, select, stamp_shard, wanted
from baselinekit.errors import NothingSelected
from baselinekit.model.baselines import Entry
from baselinekit.model.results import Report, Result, Typed
from baselinekit.store.project import head_commit
from baselinekit.store.reading import find_repeated_ids, passed_over_notes
from baselinekit.structs import replace

_VERDICTS = {"passed": True, "failed": False}
_FAILURES = ("failed", "error")


OF_BASELINES = Terms[Entry, judging.JudgedBaseline](
    id=lambda entry: entry.id,
    code=lambda judged: judged.result.code,
    is_failure=lambda entry, judged: judged.result.outcome in _FAILURES,
    error=lambda one, problem: judging.JudgedBaseline(
        judging.unjudged_result(one, "error", problem.with_hint, problem.code)
    ),
)


def compare(
    project: Project,
    paths: Sequence[str],
    selection: Selection,
    policy: judging.ComparePolicy,
    context: RunContext,
    command: str = "",
    elsewhere: Elsewhere[Entry, judging.JudgedBaseline] | None = None,
) -> Report:
    """Read, select and check the baselines, judge them in threads or `elsewhere`, and record. What is wrong
    in files is reported before anything is replayed; baselines that lack a variable are errors beside the
    others."""
    started, began = context.timestamp(), context.seconds()
    at_once = ModelThreads(context.clients, policy.jobs)
    checker = judging.Checker(CaptureEnvironment(project, at_once.clients), policy, context)
    discovery, shard = find_files(project, paths), selection.shard
    found = checker.read([*discovery.files], selection)
    found.problems += find_repeated_ids(found.entries, project.root)
    try:
        selected = select(found.entries, selection)
    except NothingSelected:  # an error of its own, unless there is a worse one
        if found.error is None:
            raise
        selected = []
    notes = passed_over_notes(discovery.passed_over)
    if selection.since is not None:
        from baselinekit.clients.programs.git import Git
        from baselinekit.commands.since import select_touched

        git = Git(context.clients.execute, project.root)
        touched, more = select_touched(project, git, selection.since, checker.baselines(selected))
        notes, ids = (*notes, *more), {baseline.id for baseline in touched}
        selected = [entry for entry in selected if entry.id in ids]
    entries = list(filter(wanted(selection), selected))
    unready = [found.unready[key] for key in map(judging.key_of, entries) if key in found.unready]
    raise_unless_variables(found, unready, project.root)
    positions = {entry.id: position for position, entry in enumerate(selected)} if shard else {}
    shard = shard and stamp_shard(shard, project, selected, policy.strict_rules)
    sources, stop, advance = [entry.source for entry in entries], context.stop, context.advance(len(entries))
    recorder = Recorder(project.root, context.timestamp, policy.record == "daily", sources, stop.wait)
    by_id, failed, warnings = dict[str, Result](), list[Entry](), set[str]()

    def finished(entry: Entry, judged: judging.JudgedBaseline) -> tuple[Entry, ...]:
        """Record the verdict as soon as it is known, and keep the new output for a refresh."""
        if elsewhere is None and stop.is_set():  # it may have been cut off
            return ()
        result = judged.result
        if warning := keep_seen(project.root, judged.pending, judged.settled_id, judged.warning):
            warnings.add(warning)
        if policy.record != "never":
            noise = result.verdict == "noise"  # it has no meaning for the target
            recorder.add(entry.source, None if noise else _VERDICTS.get(result.outcome))
        by_id[entry.id] = result
        failed.extend([entry] if result.outcome in _FAILURES else [])
        advance(result.outcome)
        return ()

    def goes_on() -> bool:
        return policy.maxfail is None or len(failed) < policy.maxfail

    with stop.heard(), at_once:
        turns = sorted(entries, key=lambda entry: entry.id not in selection.first)
        try:
            if elsewhere is None:
                work = (turns, checker.judge, policy.jobs, stop, context.cancel, finished)
                in_threads(*work, claim=lambda entry: entry.claim, goes_on=goes_on)
            else:
                chunks = [Chunk((entry,), entry.claim) for entry in turns]
                elsewhere.run(chunks, checker.judge, stop, context.cancel, finished, goes_on)
        finally:
            recording_notes, not_recorded = recorder.close()
        reason = "interrupted" if stop.is_set() else f"not run: --maxfail {policy.maxfail} was reached"
        skipped = partial(judging.unjudged_result, outcome="skipped", reason=reason, verdict="limit")
        judged = [by_id.get(entry.id) or skipped(entry) for entry in entries]
        results = with_lines(judged, sources, project.root)
    return Report(
        id=f"compare-{started.replace(':', '').replace('-', '')}",
        started=started,
        seconds=context.seconds() - began,
        tool=f"baselinekit {__version__}",
        command=project.redactor.mask(command),
        results=tuple(replace(result, position=positions.get(result.id)) for result in results),
        complete=len(by_id) == len(entries) and all(result.code != OUT_OF_BUDGET for result in results),
        interrupted=stop.is_set(),
        environment=(elsewhere and elsewhere.seen) or checker.environment.seen,
        config=project.config_file,
        warnings=tuple(sorted({*recording_notes, *warnings, *notes})),
        not_recorded=not_recorded,
        commit=head_commit(project.root),
        shard=shard,
        coverage=selection.coverage(paths, len(found.entries) - len(selected)),
        typed=Typed(unkept=bool(warnings)),
    )
