"""compare: replay what is on file, set it against what comes back, write down how it went."""

import gc
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from baselinekit import __version__
from baselinekit.compare.dispatch import Matcher, compile_baseline
from baselinekit.errors import BaselinekitError, FirstOfEach, InvalidInput, NothingSelected, Problem, Refused
from baselinekit.model.baselines import Baseline
from baselinekit.model.results import Outcome, Report, Result
from baselinekit.model.values import ABSENT
from baselinekit.programs.git import Git
from baselinekit.replay.dispatch import Clients
from baselinekit.store import baselines as store
from baselinekit.store.gitfiles import head
from baselinekit.workflow.environment import CaptureEnvironment
from baselinekit.workflow.judging import OUT_OF_BUDGET, BaselineRunner, check
from baselinekit.workflow.pool import AtOnce, Stop, ThreadPool
from baselinekit.workflow.project import Project
from baselinekit.workflow.recording import Recorder
from baselinekit.workflow.selection import Selection, Share, select, stamped
from baselinekit.workflow.since import touched
from baselinekit.workflow.verdicts import Pause, Repeating, repeated

Prepared = tuple[Baseline, Matcher | None]

_VERDICTS = {"passed": True, "failed": False}
_MOST_KEPT = 1_000
"""Matchers that are kept until they are needed. Of more, each is made again then: memory is dearer."""

_MOST_LOCATED = 1_000
"""Differences of one baseline whose lines are looked for."""


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
class Clock:
    """The present, in the forms that a run writes it."""

    timestamp: Callable[[], str]
    seconds: Callable[[], float]


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run needs of the world besides the doors: how it is cancelled, the time, and whom to tell."""

    clients: Clients
    cancel: Callable[[], None]
    clock: Clock
    advance: Callable[[int], Callable[[Outcome], None]] = lambda total: lambda outcome: None
    stop: Stop = field(default_factory=Stop)


def compare(
    project: Project,
    paths: Sequence[str],
    wanted: Selection,
    policy: ComparePolicy,
    context: RunContext,
    command: str = "",
) -> Report:
    """Everything that can be wrong in any file is said before anything is replayed."""
    started, began = context.clock.timestamp(), context.clock.seconds()
    at_once = AtOnce(context.clients, policy.jobs)
    here = CaptureEnvironment(project, at_once.clients)
    with store.without_collector():
        found, broken = load_partly(project, paths)
        chosen = _chosen(found, wanted, broken)
        since = touched(project, Git(context.clients.execute, project.root), wanted.since, chosen)
        shard = wanted.shard and stamped(wanted.shard, project, since.baselines, policy.strict_rules)
        share = Share(since.baselines, shard)
        prepared = prepare(here, share.baselines, broken)
        gc.freeze()  # all that was made stays until the end: there is no use in looking through it
    judge = BaselineRunner(here, policy.strict_rules, policy.explain, context.clock.timestamp)
    recorder = _recorder(project, policy, context, prepared)
    pause = Pause(context.stop.is_set, context.clients.sleep)
    advance, failures = context.advance(len(prepared)), 0

    def finished(result: Result) -> bool:
        nonlocal failures
        advance(result.outcome)
        failures += result.outcome in ("failed", "error")
        return policy.maxfail is None or failures < policy.maxfail

    def work(pair: tuple[Baseline, Matcher | None]) -> Result:
        result = judge.settled(
            pair[0], lambda: repeated(partial(judge.tried, *pair), policy.repeating, pause)
        )
        if policy.record != "never":
            noise = result.verdict == "noise"  # which says nothing of the target
            recorder.add(pair[0].source, None if noise else _VERDICTS.get(result.outcome))
        return result

    with context.stop.heard(), at_once:
        try:
            pool = ThreadPool(policy.jobs, work, context.cancel, context.stop)
            results = _run(pool, prepared, finished, wanted)
        finally:
            recorder.close()
        results = with_lines(results, prepared, project.root)
    interrupted = context.stop.is_set()
    return Report(
        id=f"compare-{started.replace(':', '').replace('-', '')}",
        started=started,
        seconds=context.clock.seconds() - began,
        tool=f"baselinekit {__version__}",
        command=project.redactor.mask(command),
        results=share.placed(_with_those_not_run(results, prepared, policy, interrupted)),
        complete=all(result and result.code != OUT_OF_BUDGET for result in results),
        interrupted=interrupted,
        environment=here.seen,
        config=project.config_file,
        warnings=tuple(sorted({*recorder.notes, *judge.warnings, *since.notes})),
        not_recorded=tuple(str(problem) for error in recorder.failures for problem in error.problems),
        commit=head(project.root),
        shard=share.shard,
        coverage=wanted.coverage(paths, len(found) - len(since.baselines)),
    )


def _recorder(
    project: Project, policy: ComparePolicy, context: RunContext, prepared: Sequence[Prepared]
) -> Recorder:
    sources = [baseline.source for baseline, _ in prepared]
    return Recorder(project.root, context.clock.timestamp, policy.record == "daily", sources, context.stop)


def _with_those_not_run(
    results: Sequence[Result | None], prepared: Sequence[Prepared], policy: ComparePolicy, interrupted: bool
) -> list[Result]:
    why = "interrupted" if interrupted else f"not run: --maxfail {policy.maxfail} was reached"
    pairs = zip(results, prepared, strict=True)
    return [result or not_run(baseline, why) for result, (baseline, _) in pairs]


def _run(
    pool: ThreadPool[Prepared, Result],
    prepared: Sequence[Prepared],
    finished: Callable[[Result], bool],
    wanted: Selection,
) -> list[Result | None]:
    """Those that are wanted first are run first; the results stand in the order of the files."""
    turns = wanted.in_turn([baseline.id for baseline, _ in prepared])
    done = pool.run([prepared[number] for number in turns], finished)
    found: list[Result | None] = [None] * len(prepared)
    for number, result in zip(turns, done, strict=True):
        found[number] = result
    return found


def _chosen(found: list[Baseline], wanted: Selection, broken: BaselinekitError | None) -> list[Baseline]:
    """What is selected. Nothing at all is a complaint of its own, unless there is a graver one."""
    try:
        return select(found, wanted)
    except NothingSelected:
        if broken is None:
            raise
        return []


def load(project: Project, paths: Sequence[str]) -> list[Baseline]:
    """The baselines below the paths (as the user sees them), else in the project's own folders."""
    found, broken = load_partly(project, paths)
    if broken is not None:
        raise broken
    return found


def load_partly(project: Project, paths: Sequence[str]) -> tuple[list[Baseline], BaselinekitError | None]:
    """What can be read, and what is wrong with the rest. What a killed run left behind is cleared away."""
    named = [folder for folder in project.folders if os.path.isdir(os.path.join(project.root, folder))]
    if paths:
        named = [from_root(os.path.join(project.cwd, path), project.root) for path in paths]
    files = store.discover(named, project.root)
    store.sweep(project.root, {os.path.dirname(file) for file in files})
    return store.load_partly(files, project.root)


def from_root(path: str, root: str) -> str:
    """A path that the operator named, from the root. What stands in the project is called as it stands there:
    where a link in it leads is for the reader of the file to judge."""
    path = os.path.normpath(path)
    if os.path.commonpath([path, root]) != root:
        path = os.path.realpath(path)
    return os.path.relpath(path, root)


def prepare(
    here: CaptureEnvironment, chosen: Iterable[Baseline], broken: BaselinekitError | None = None
) -> list[tuple[Baseline, Matcher | None]]:
    """Compile every baseline and ask whether its recipe can work; all that is wrong, also what was `broken`
    before, is one error."""
    project = here.project
    problems: list[Problem] = []
    refused: list[Problem] = []
    if broken is not None:
        (refused if isinstance(broken, Refused) else problems).extend(broken.problems)
    prepared, wrong = _compiled(here, chosen)
    first, first_refused = FirstOfEach(), FirstOfEach()
    told = []
    for baseline, why in wrong:
        takes = (first_refused if isinstance(why, Refused) else first).takes
        told.append((baseline, [one for one in why.problems if takes(baseline.source.file, one)]))
    found = located_each([(baseline, few) for baseline, few in told if few], project.root)
    whys = (why for (_, why), (_, few) in zip(wrong, told, strict=True) if few)
    for why, placed in zip(whys, found, strict=True):
        (refused if isinstance(why, Refused) else problems).extend(placed)
    problems += first.rest()
    refused += first_refused.rest()
    if problems:
        raise InvalidInput(*problems, *refused)
    if refused:
        raise Refused(*refused)
    return prepared


def _compiled(
    here: CaptureEnvironment, chosen: Iterable[Baseline]
) -> tuple[list[Prepared], list[tuple[Baseline, BaselinekitError]]]:
    """Each with its matcher, and those with which something is wrong. First all are compiled, then all are
    asked about: to do both in turn takes a fifth longer, for the processor keeps the code of one of them at
    hand."""
    project = here.project
    prepared: list[Prepared] = []
    wrong: dict[int, tuple[Baseline, BaselinekitError]] = {}
    asked: list[tuple[int, Baseline]] = []
    for number, baseline in enumerate(chosen):
        try:
            meant = here.chosen(baseline)
            if meant.baseline is None or meant.baseline.output is ABSENT:  # told among the results
                prepared.append((meant, None))
                continue
            matcher = compile_baseline(meant, project.words_of(baseline))
            prepared.append((meant, matcher if len(prepared) < _MOST_KEPT else None))
            asked.append((number, baseline))
        except BaselinekitError as error:
            wrong[number] = baseline, error
        except Exception:  # met again where it is judged, and told as the error of this one
            prepared.append((baseline, None))
    for number, baseline in asked:
        try:
            check(baseline, project.setting_of(baseline, here.clients))
        except BaselinekitError as error:
            wrong[number] = baseline, error
        except Exception:  # likewise
            continue
    return prepared, [wrong[number] for number in sorted(wrong)]


def located(baseline: Baseline, problems: Iterable[Problem], root: str) -> list[Problem]:
    """The problems with their place in the file: the record's own, where nothing more exact is known."""
    return located_each([(baseline, problems)], root)[0]


def located_each(wrong: Sequence[tuple[Baseline, Iterable[Problem]]], root: str) -> list[list[Problem]]:
    """The same for many baselines: each file is looked into once, however many of them it holds."""
    listed = [(baseline.source, list(problems)) for baseline, problems in wrong]
    places = store.locate_each([(source, [p.at or () for p in few]) for source, few in listed], root)
    return [
        [problem.placed(place) for problem, place in zip(few, where, strict=True)]
        for (_, few), where in zip(listed, places, strict=True)
    ]


def with_lines(
    results: Sequence[Result | None], prepared: Sequence[tuple[Baseline, object]], root: str
) -> list[Result | None]:
    """The results with the lines that they are about, found once all is recorded: a record that gains its
    first `last_passed` moves what stands below it."""
    told = [n for n, result in enumerate(results) if result and result.outcome not in ("passed", "skipped")]
    wanted = []
    for n in told:
        result = results[n]
        spots = result.differences[:_MOST_LOCATED] if result else ()
        wanted.append((prepared[n][0].source, [result.at if result else (), *(spot.at for spot in spots)]))
    placed = list(results)
    for n, (own, *places) in zip(told, store.locate_each(wanted, root), strict=True):
        result = results[n]
        if result is not None:
            spots = tuple(
                replace(spot, file=place.file, line=place.line)
                for spot, place in zip(result.differences, places, strict=False)
            )
            placed[n] = replace(
                result, line=own.line, differences=(*spots, *result.differences[len(spots) :])
            )
    return placed


def not_run(baseline: Baseline, why: str) -> Result:
    return Result(
        baseline.id, baseline.source.file, None, baseline.current.kind, "skipped", reason=why, verdict="limit"
    )
