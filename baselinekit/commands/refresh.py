"""refresh: the new output of a failed compare becomes the known-good one, as far as it is approved."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from baselinekit.changes.changes import group_changes
from baselinekit.commands.context import RunContext
from baselinekit.commands.executor import in_threads
from baselinekit.commands.judging import check, compare_settled, observe
from baselinekit.commands.loading import load, locate_problems, relative_to_root
from baselinekit.commands.pending import expected_hash, seen_of
from baselinekit.commands.planning import STORED, compare_command, covers, plan_of, stale_problem
from baselinekit.commands.project import CaptureEnvironment, Project, without_branch
from baselinekit.commands.selection import Selection, list_names, select
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem, suggest
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline
from baselinekit.model.changes import (
    NO_RULES,
    KeptOutput,
    LostPlaceholder,
    NewRules,
    RefreshPlan,
    RefreshProposal,
    RefreshRefusal,
)
from baselinekit.model.recipes import Observation
from baselinekit.model.results import Report, Result
from baselinekit.model.values import ABSENT, Json, Path, parse_time
from baselinekit.placeholders.grammar import escape_value, has_marker
from baselinekit.store.discovery import discover, holds_baselines
from baselinekit.store.reading import locate_each
from baselinekit.store.results import drop_pending, load_pending, pending_ids
from baselinekit.structs import Struct, field, replace
from baselinekit.values.equality import identical
from baselinekit.values.paths import parse, render

# The sources of new outputs for a refresh: a failed compare, a result file, or the targets themselves.


Pairs = list[tuple[Baseline, KeptOutput]]


def pending_answers(
    project: Project, chosen: Iterable[Baseline], named: Collection[str], refusals: list[RefreshRefusal]
) -> Pairs:
    """Return the outputs that compares have kept. For an id that was `named` there should be one."""
    ids = pending_ids(project.root)
    pairs: Pairs = []
    for baseline in chosen:
        try:
            seen = load_pending(project.root, baseline.id) if baseline.id in ids else None
        except InvalidInput as error:
            refusals += refusals_of(baseline, error)
            continue
        if seen is not None:
            pairs.append((baseline, seen))
        elif baseline.id in named:
            reason = "it passed when it was last compared, or none could be kept"
            text = f"no answer of {baseline.id} is kept: {reason}"
            hint = f"{compare_command(project, baseline)}, or refresh --replay"
            refusals.append(RefreshRefusal(baseline.id, baseline.source.file, Problem("BK530", text, hint)))
    return pairs


def answers_in_results(
    project: Project,
    chosen: Iterable[Baseline],
    results: tuple[str, str],
    narrowed: bool,
    now: str,
    refusals: list[RefreshRefusal],
    passing: list[str],
) -> Pairs:
    """Return the outputs of another machine, from the name and the text of its result file. Only those of
    failed results are used, with their environment. Those that pass by the rules of this checkout are
    `passing`."""
    from baselinekit.report import resultfile

    name, text = results
    report = resultfile.read(text, name)
    baselines = {baseline.id: baseline for baseline in chosen}
    pairs: Pairs = []
    for result in report.results:
        if result.outcome != "failed":
            continue
        baseline = baselines.get(result.id)
        reason = _reason_against(result, baseline)
        if baseline is None and narrowed:
            continue
        if baseline is None or reason:
            refusals.append(RefreshRefusal(result.id, name, Problem("BK535", f"{result.id}: {reason}", "")))
            continue
        try:
            resolved = _resolve_here(project, baseline, result, name)
        except BaselinekitError as error:
            refusals += refusals_of(baseline, error)
            continue
        stored = baseline.baseline.output if baseline.baseline else None
        if identical(resolved, stored) and not identical(result.resolved, stored):
            passing.append(baseline.id)
            continue
        seen = _seen_from_result(replace(result, resolved=resolved), report, name, now)
        pairs.append((baseline, replace(seen, environment=_run_environment(result, report, baseline))))
    return pairs


def _reason_against(result: Result, baseline: Baseline | None) -> str:
    if baseline is None:
        return "there is no such baseline in this checkout"
    if baseline.baseline is None:
        return "it has no stored output here"
    if baseline.baseline.variants:
        return "a result file does not say which of its variants was compared"
    return "its output is not in the file: it is over 1 MB" if result.resolved is ABSENT else ""


def _resolve_here(project: Project, baseline: Baseline, result: Result, name: str) -> Json:
    """Return the output of a failed result as this checkout sees it: by the rules and the placeholders that
    the baseline has now. Raises if the result was compared with another stored output."""
    stored = baseline.baseline.output if baseline.baseline else None
    differing = {spot.path: spot.expected for spot in result.differences if spot.kind in ("value", "type")}
    then = _without_new_placeholders(stored, result.resolved, differing, ())
    if result.expected_hash not in (expected_hash(stored), expected_hash(then)):
        part = (
            "its stored output"
            if result.expected_hash
            else f"{name} does not state its stored output, which may have"
        )
        raise InvalidInput(stale_problem(project, baseline, part))
    matcher = compile_baseline(baseline, project.words_of(baseline))
    comparison = matcher.compare(Observation(result.resolved, result.seconds))
    return result.resolved if comparison.questions else _escaped_once(comparison.resolved, result.resolved)


def _escaped_once(seen: Json, new: Json) -> Json:
    """Return what a comparison has left of an output whose texts were those of a file already."""
    if isinstance(seen, str) and isinstance(new, str):
        return new if seen == escape_value(new) else seen
    if isinstance(seen, dict) and isinstance(new, dict) and seen.keys() == new.keys():
        return {key: _escaped_once(value, new[key]) for key, value in seen.items()}
    if isinstance(seen, list) and isinstance(new, list) and len(seen) == len(new):
        return [_escaped_once(*pair) for pair in zip(seen, new, strict=True)]
    return seen


def _without_new_placeholders(stored: Json, new: Json, differing: Mapping[Path, Json], path: Path) -> Json:
    """Return a stored output as it was before placeholders came into it. `differing`: the stored value of
    each place that differed then; elsewhere `new` holds the stored value."""
    if isinstance(stored, str):
        return differing.get(path, new) if has_marker(stored) else stored
    if isinstance(stored, dict) and isinstance(new, dict):
        return {
            key: _without_new_placeholders(value, new[key], differing, (*path, key)) if key in new else value
            for key, value in stored.items()
        }
    if isinstance(stored, list) and isinstance(new, list) and len(stored) == len(new):
        return [
            _without_new_placeholders(*pair, differing, (*path, n))
            for n, pair in enumerate(zip(stored, new, strict=True))
        ]
    return stored


def _seen_from_result(result: Result, report: Report, name: str, now: str) -> KeptOutput:
    """Return a failed result as an output to approve. The time of its run, if valid and not in the future, is
    stored."""
    time = parse_time(report.started)
    return KeptOutput(
        id=result.id,
        recipe_hash=result.recipe_hash,
        resolved=result.resolved,
        captured_at=min(time.strftime("%Y-%m-%dT%H:%M:%SZ"), now) if time else now,
        environment=report.environment,
        origin=name,
    )


def _run_environment(result: Result, report: Report, baseline: Baseline) -> dict[str, Json]:
    """Return the environment of that run, with the address that this result asked: a run has one environment,
    but each result its own address."""
    endpoint = kind_of(baseline.current).endpoint(baseline.current)
    url = result.target.partition(" ")[2]
    environment = without_branch(report.environment)
    if not endpoint or "base_url" in environment or not url.endswith(endpoint):
        return environment
    return {**environment, "base_url": url.removesuffix(endpoint)}


def replayed_answers(
    here: CaptureEnvironment,
    chosen: Sequence[Baseline],
    jobs: int,
    context: RunContext,
    refusals: list[RefreshRefusal],
) -> tuple[Pairs, list[str]]:
    """Return what the targets answer now, and the ids of the baselines that pass."""
    pairs: Pairs = []
    passing: list[str] = []

    def work(baseline: Baseline) -> Baseline | KeptOutput | BaselinekitError:
        try:
            return replay_baseline(here, baseline, context) or baseline
        except BaselinekitError as error:
            return error

    advance = context.advance(len(chosen))

    def finished(
        baseline: Baseline, result: Baseline | KeptOutput | BaselinekitError
    ) -> tuple[Baseline, ...]:
        advance("error" if isinstance(result, BaselinekitError) else "passed")
        return ()

    with context.stop.heard():
        answers = in_threads(
            *(chosen, work, jobs, context.stop, context.cancel, finished),
            claim=lambda baseline: here.project.claim(baseline.current),
        )
    if context.stop.is_set():
        raise KeyboardInterrupt
    for baseline, answer in zip(chosen, answers, strict=True):
        if isinstance(answer, BaselinekitError):
            refusals += refusals_of(baseline, answer)
        elif isinstance(answer, KeptOutput):
            pairs.append((baseline, answer))
        else:
            passing.append(baseline.id)
    return pairs, passing


def replay_baseline(here: CaptureEnvironment, baseline: Baseline, context: RunContext) -> KeptOutput | None:
    """Return the new output of a baseline; None if it passes. A skipped one is replayed as well: the user has
    named it."""
    if baseline.baseline is None:
        hint = f"baselinekit capture from {baseline.source.file}"
        raise InvalidInput(Problem("BK223", f"{baseline.id} has no stored output yet", hint))
    chosen_variant = here.chosen(baseline)
    setting = here.project.setting_of(baseline, context.clients)
    matcher = compile_baseline(chosen_variant, here.project.words_of(baseline))
    check(baseline, setting)
    observation = observe(baseline.current, setting)
    comparison = compare_settled(matcher, observation, setting)
    if comparison.passed:
        drop_pending(here.project.root, baseline.id)
        return None
    seen = seen_of(here, chosen_variant, comparison, observation, context.clock.timestamp())
    return replace(seen, origin="replay")


def refusals_of(baseline: Baseline, error: BaselinekitError) -> list[RefreshRefusal]:
    return [RefreshRefusal(baseline.id, baseline.source.file, problem) for problem in error.problems]


# refresh: the new output of a failed compare becomes the known-good one, as far as it is approved.

_WILDCARDS = "*?["


class RefreshScope(Struct):
    """What a refresh covers: `words` are ids (with wildcards) or paths. `results`: the name and the text of
    each result file. `replay`: replay the baselines now. `rules`: what is written instead of the new
    outputs."""

    words: Sequence[str] = ()
    selection: Selection = field(default_factory=Selection)
    all_failed: bool = False
    results: tuple[tuple[str, str], ...] = ()
    replay: bool = False
    jobs: int = 8
    rules: NewRules = NO_RULES

    @property
    def names_something(self) -> bool:
        chosen = self.selection
        criteria = (*self.words, *chosen.ids, *chosen.tags, *chosen.exclude_tags, chosen.expression)
        return self.all_failed or bool(self.results) or any(criteria)


def propose(project: Project, scope: RefreshScope, context: RunContext) -> RefreshProposal:
    """Return what would change, in everything that is selected. Nothing is replayed unless that is
    requested."""
    if not scope.names_something:
        kept_ids = pending_ids(project.root)
        number = f"{len(kept_ids):,} answer{'s are' if len(kept_ids) != 1 else ' is'}"
        kept_names = f" ({list_names(sorted(kept_ids))})" if kept_ids else ""
        message = f"refresh which baselines? {number} kept from failed compares{kept_names}"
        raise InvalidInput(Problem("BK508", message, "name ids or paths, or pass --all-failed"))
    chosen = select(find_baselines(project, scope.words), scope.selection)
    refusals: list[RefreshRefusal] = []
    passing: list[str] = []
    if scope.replay:
        pairs, passing = replayed_answers(
            CaptureEnvironment(project, context.clients), chosen, scope.jobs, context, refusals
        )
    elif scope.results:
        narrowed, now = bool(scope.words) or scope.selection != Selection(), context.clock.timestamp()
        found = {
            baseline.id: (baseline, seen)
            for file in scope.results
            for baseline, seen in answers_in_results(project, chosen, file, narrowed, now, refusals, passing)
        }
        pairs = list(found.values())
    else:
        named = {word for word in scope.words if not set(_WILDCARDS) & set(word)}
        pairs = pending_answers(project, chosen, named, refusals)
    if scope.rules:
        for path in scope.rules.paths:
            parse(path)
        without_answer = [refusal.id for refusal in refusals if refusal.problem.code == "BK530"]
        pairs += stored_outputs(chosen, [*passing, *without_answer])
        refusals, passing = [one for one in refusals if one.id not in without_answer], []
    planned, elsewhere = [], None
    for baseline, seen in pairs:
        try:
            planned.append(plan_of(project, baseline, seen, scope.rules))
        except BaselinekitError as error:
            if scope.rules and [problem.code for problem in error.problems] == ["BK523"]:
                elsewhere = error  # the rules may be about other baselines
                continue
            placed = locate_problems(baseline, error.problems, project.root)
            refusals += refusals_of(baseline, type(error)(*placed))
    if elsewhere is not None and not planned:
        raise elsewhere
    plans = tuple(locate_lost(planned, project.root))
    if not (plans or refusals or passing):
        raise NothingSelected(Problem("BK530", *_describe_nothing(project, chosen, scope)))
    return RefreshProposal(plans, group_changes(plans), tuple(refusals), tuple(passing))


def stored_outputs(chosen: Sequence[Baseline], ids: Collection[str]) -> Pairs:
    """Return the stored outputs as what came, for rules that are written without a new answer."""
    return [
        (one, KeptOutput(one.id, recipe_hash(one.current), one.baseline.output, "", origin=STORED))
        for one in chosen
        if one.id in ids and one.baseline is not None
    ]


def accepted_by(plans: Sequence[RefreshPlan], paths: Sequence[str]) -> list[frozenset[int]]:
    """Return for each plan the changes that are below one of the paths; without paths, all, or with rules of
    the operator only those that are one of the placeholders."""
    if not paths and any(plan.ruled for plan in plans):
        return [plan.placed for plan in plans]
    if not paths:
        return [frozenset(range(len(plan.changes))) for plan in plans]
    patterns = [parse(text) for text in paths]
    accepted = [
        frozenset(
            change.number
            for change in plan.changes
            if change.number in plan.placed or any(covers(pattern, change, plan) for pattern in patterns)
        )
        for plan in plans
    ]
    for pattern in patterns:
        if not any(covers(pattern, change, plan) for plan in plans for change in plan.changes):
            paths_changed = [render(change.path) for plan in plans for change in plan.changes]
            hint = (
                suggest(pattern.text, paths_changed)
                or f"what changes is {', '.join(dict.fromkeys(paths_changed[:5]))}"
            )
            raise InvalidInput(Problem("BK536", f"--path {pattern.text}: nothing changes there", hint))
    return accepted


def find_baselines(project: Project, words: Sequence[str]) -> list[Baseline]:
    """Return the baselines below the paths among the words, and those with the ids among them."""
    paths = [word for word in words if os.path.lexists(os.path.join(project.cwd, word))]
    # an id may also be the name of a file or a folder: if that has no baselines, the id was meant
    if doubtful := [word for word in paths if not _leads_to_baselines(project, word)]:
        known_ids = {baseline.id for baseline in load(project, ())}
        paths = [word for word in paths if word not in doubtful or word not in known_ids]
    pending = pending_ids(project.root) if paths else ()
    globs = [word for word in words if word not in paths or word in pending]  # or both were meant
    in_paths = load(project, paths) if paths or not globs else []
    if not globs:
        return in_paths
    everything = load(project, ())
    ids = [baseline.id for baseline in everything]
    for glob in globs:
        if not any(fnmatchcase(id, glob) for id in ids):
            hint = suggest(glob, ids) or (f"the ids are {list_names(ids)}" if ids else "")
            raise NothingSelected(Problem("BK509", f"there is no baseline and no path {glob!r}", hint))
    path_ids = {baseline.id for baseline in in_paths}
    matching = [baseline for baseline in everything if any(fnmatchcase(baseline.id, glob) for glob in globs)]
    return [*in_paths, *(baseline for baseline in matching if baseline.id not in path_ids)]


def _leads_to_baselines(project: Project, path: str) -> bool:
    name = relative_to_root(os.path.join(project.cwd, path), project.root)
    try:
        files = discover([name], project.root)
    except BaselinekitError:  # its name is not that of a baseline file
        return False
    return any(holds_baselines(project.root, file) for file in files)


def locate_lost(plans: Sequence[RefreshPlan], root: str) -> list[RefreshPlan]:
    """Return the plans with the lines of the placeholders that would be lost."""
    losing = [plan for plan in plans if any(change.lost for change in plan.changes)]
    to_locate = [
        (
            plan.baseline.source,
            [(*plan.baseline.output_path, *lost.path) for change in plan.changes for lost in change.lost],
        )
        for plan in losing
    ]
    placed = {
        id(plan): iter(places) for plan, places in zip(losing, locate_each(to_locate, root), strict=True)
    }

    def with_lines(plan: RefreshPlan) -> RefreshPlan:
        if id(plan) not in placed:
            return plan
        places = placed[id(plan)]

        def with_place(lost: LostPlaceholder) -> LostPlaceholder:
            place = next(places)
            return replace(lost, file=place.file, line=place.line)

        changes = [replace(change, lost=tuple(map(with_place, change.lost))) for change in plan.changes]
        return replace(plan, changes=tuple(changes))

    return [with_lines(plan) for plan in plans]


def _describe_nothing(project: Project, chosen: Sequence[Baseline], scope: RefreshScope) -> tuple[str, str]:
    if scope.results:
        names = " and ".join(name for name, _ in scope.results)
        return f"nothing failed in {names}", "it has no answer to accept"
    message = (
        "no answer of it is kept"
        if len(chosen) == 1
        else f"no answers are kept of these {len(chosen):,} baselines"
    )
    command = compare_command(project, chosen[0]) if len(chosen) == 1 else "baselinekit compare"
    kept_ids = sorted(pending_ids(project.root))
    kept_hint = f"; what is kept is of {list_names(kept_ids)}" if kept_ids else ""
    return (
        f"{message}: none has failed since, or what came could not be kept{kept_hint}",
        f"{command}, or refresh --replay",
    )
