"""Where a refresh has what came back from: a failed compare, a result file, or the targets themselves."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from baselinekit.compare.dispatch import compile_baseline
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.model.changes import RefreshRefusal, Seen
from baselinekit.model.results import Report, Result
from baselinekit.model.values import ABSENT, Json, parse_time
from baselinekit.report.next_commands import check_commands
from baselinekit.store.results import drop_pending, load_pending, pending_ids
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.environment import CaptureEnvironment
from baselinekit.workflow.judging import check, compare_settled, observe
from baselinekit.workflow.pending import seen_of
from baselinekit.workflow.pool import ThreadPool
from baselinekit.workflow.project import Project

Pairs = list[tuple[Baseline, Seen]]


def kept(
    project: Project, chosen: Iterable[Baseline], named: Collection[str], refusals: list[RefreshRefusal]
) -> Pairs:
    """What compares have kept. Of an id that was `named` something should be."""
    ids = pending_ids(project.root)
    pairs: Pairs = []
    for baseline in chosen:
        try:
            seen = load_pending(project.root, baseline.id) if baseline.id in ids else None
        except InvalidInput as error:
            refusals += refused(baseline, error)
            continue
        if seen is not None:
            pairs.append((baseline, seen))
        elif baseline.id in named:
            what = f"{baseline.id} did not fail when it was last compared, so no answer of it is kept"
            hint = f"{again(project, baseline)}, or refresh --replay"
            refusals.append(RefreshRefusal(baseline.id, baseline.source.file, Problem("BK530", what, hint)))
    return pairs


def again(project: Project, baseline: Baseline) -> str:
    """The command that asks for a baseline once more, and keeps what it answers where that fails."""
    (command,) = check_commands([(baseline.id, baseline.source.file)], project.folders, project.eval_folders)
    return command


def in_results(
    chosen: Iterable[Baseline],
    results: tuple[str, str],
    narrowed: bool,
    now: str,
    refusals: list[RefreshRefusal],
) -> Pairs:
    """What another machine has seen, by the name and the text of its result file. Of that only the outputs of
    failed results are taken, and what is noted beside them."""
    from baselinekit.report import resultfile

    name, text = results
    report = resultfile.read(text, name)
    here = {baseline.id: baseline for baseline in chosen}
    pairs: Pairs = []
    for result in report.results:
        if result.outcome != "failed":
            continue
        baseline = here.get(result.id)
        why = _why_not(result, baseline)
        if baseline is None and narrowed:
            continue
        if baseline is None or why:
            refusals.append(RefreshRefusal(result.id, name, Problem("BK535", f"{result.id}: {why}", "")))
        else:
            seen = _seen_in(result, report, name, now)
            pairs.append((baseline, replace(seen, environment=_place_of(result, report, baseline))))
    return pairs


def _why_not(result: Result, baseline: Baseline | None) -> str:
    if baseline is None:
        return "there is no such baseline in this checkout"
    if baseline.baseline is None:
        return "it has no stored output here"
    if baseline.baseline.variants:
        return "a result file does not say which of its variants was compared"
    return "its output is not in the file: it is over 1 MB" if result.resolved is ABSENT else ""


def _seen_in(result: Result, report: Report, name: str, now: str) -> Seen:
    """The time of that run, if it is one and has come, is written into a file."""
    time = parse_time(report.started)
    return Seen(
        id=result.id,
        recipe_hash=result.recipe_hash,
        resolved=result.resolved,
        captured_at=min(time.strftime("%Y-%m-%dT%H:%M:%SZ"), now) if time else now,
        environment=report.environment,
        origin=name,
    )


def _place_of(result: Result, report: Report, baseline: Baseline) -> dict[str, Json]:
    """The place of that run, with the address that it asked: a run has one place, and an address each."""
    endpoint = kind_of(baseline.current).endpoint(baseline.current)
    asked = result.target.partition(" ")[2]
    if not endpoint or "base_url" in report.environment or not asked.endswith(endpoint):
        return dict(report.environment)
    return {**report.environment, "base_url": asked.removesuffix(endpoint)}


def replayed(
    here: CaptureEnvironment,
    chosen: Sequence[Baseline],
    jobs: int,
    context: RunContext,
    refusals: list[RefreshRefusal],
) -> tuple[Pairs, list[str]]:
    """What the targets answer now, and the ids of those that answer as they should."""
    found: Pairs = []
    passing: list[str] = []

    def work(baseline: Baseline) -> Baseline | Seen | BaselinekitError:
        try:
            return _asked(here, baseline, context) or baseline
        except BaselinekitError as error:
            return error

    advance = context.advance(len(chosen))

    def finished(result: Baseline | Seen | BaselinekitError) -> bool:
        advance("error" if isinstance(result, BaselinekitError) else "passed")
        return True

    with context.stop.heard():
        answers = ThreadPool(jobs, work, context.cancel, context.stop).run(chosen, finished)
    if context.stop.is_set():
        raise KeyboardInterrupt
    for baseline, answer in zip(chosen, answers, strict=True):
        if isinstance(answer, BaselinekitError):
            refusals += refused(baseline, answer)
        elif isinstance(answer, Seen):
            found.append((baseline, answer))
        else:
            passing.append(baseline.id)
    return found, passing


def _asked(here: CaptureEnvironment, baseline: Baseline, context: RunContext) -> Seen | None:
    """What is seen of a baseline; None if it is as it should be. A skipped one is asked as well: somebody has
    named it."""
    if baseline.baseline is None:
        hint = f"baselinekit capture from {baseline.source.file}"
        raise InvalidInput(Problem("BK223", f"{baseline.id} has no stored output yet", hint))
    meant = here.chosen(baseline)
    setting = here.project.setting_of(baseline, context.clients)
    matcher = compile_baseline(meant, here.project.words_of(baseline))
    check(baseline, setting)
    observation = observe(baseline.current, setting)
    comparison = compare_settled(matcher, observation, setting)
    if comparison.passed:
        drop_pending(here.project.root, baseline.id)
        return None
    seen = seen_of(here, meant, comparison, observation, context.clock.timestamp())
    return replace(seen, origin="replay")


def refused(baseline: Baseline, error: BaselinekitError) -> list[RefreshRefusal]:
    return [RefreshRefusal(baseline.id, baseline.source.file, problem) for problem in error.problems]
