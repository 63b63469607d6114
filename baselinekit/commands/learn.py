"""refresh --learn: replay baselines, and put placeholders where the outputs vary. Nothing else is written: a
value that has changed in the same way in all replays stays, and is reported."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from baselinekit.commands.asking import ReplayJob, Replays, observe_each
from baselinekit.commands.context import RunContext
from baselinekit.commands.evidence import evidence_of
from baselinekit.commands.judging import check, compare_settled
from baselinekit.commands.lesson import Lesson
from baselinekit.commands.lists import Ruled, with_list_rules
from baselinekit.commands.loading import locate_problems
from baselinekit.commands.pending import compared_with
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.commands.refresh import RefreshScope, find_baselines
from baselinekit.commands.selection import select
from baselinekit.commands.templating import single_element_arrays
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NothingSelected, Problem
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.learning.learning import (
    UnlearnablePlace,
    Volatile,
    select_valid_evidence,
)
from baselinekit.learning.listing import ListRule
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, By, Comparison, known_path
from baselinekit.model.changes import Applied, ApprovalNote, KeptOutput
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path, parse_time
from baselinekit.replaying.dispatch import recipe_hash
from baselinekit.replaying.settings import Setting
from baselinekit.store.results import drop_pending, load_pending, pending_ids
from baselinekit.store.writing import Renewal, preview as previewed, renew
from baselinekit.structs import replace
from baselinekit.values.paths import render
from baselinekit.values.places import with_values

REPLAYS = 3


@frozen
class LearnPlan:
    """What is learnt of one baseline: the places with their placeholders, values masked; the differences that
    stay; and the arrays of one element whose length a rule keeps. `renewal`: what is to be written, None if
    nothing is; `is_whole`: whether the baseline passes then. `kept`: the time of the compare whose answer is
    used as one more replay, None if there is none. `lists`: how lists that vary are compared."""

    baseline: Baseline
    replays: int
    volatile: tuple[Volatile, ...] = ()
    stays: tuple[UnlearnablePlace, ...] = ()
    ordered: tuple[str, ...] = ()
    lists: tuple[ListRule, ...] = ()
    renewal: Renewal | None = None
    kept: str | None = None
    is_open: bool = False
    """Whether a number has changed that may merely vary seldom, so that it is worth another request."""

    @property
    def is_whole(self) -> bool:
        return not self.stays


@frozen
class LearnProposal:
    """All plans, and why other baselines could not be replayed."""

    plans: tuple[LearnPlan, ...]
    failures: tuple[Problem, ...] = ()


def propose_learning(
    project: Project,
    scope: RefreshScope,
    times: int,
    context: RunContext,
    replaces_handwritten: bool = False,
    is_unchanged: bool = False,
) -> LearnProposal:
    """Replay what is selected, `times` times, and say what that teaches. Nothing is written.
    `replaces_handwritten`: also replace a handwritten placeholder that proves too narrow. `is_unchanged`: the
    user says that nothing was changed on the service, so that whatever differs varies."""
    if not scope.names_something:
        hint = "name ids or paths, or pass --all-failed"
        raise InvalidInput(Problem("BK508", "learn of which baselines?", hint))
    chosen = select(find_baselines(project, scope.words), scope.selection)
    if scope.all_failed:
        pending = pending_ids(project.root)
        chosen = [baseline for baseline in chosen if baseline.id in pending]
    if not chosen:
        message = "no compare has failed since" if scope.all_failed else "nothing is selected"
        raise NothingSelected(
            Problem("BK530", f"there is nothing to learn: {message}", "baselinekit compare")
        )
    here = CaptureEnvironment(project, context.clients)
    session = LearnSession(project, context, times, replaces_handwritten, is_unchanged)
    for baseline in chosen:
        session.add(here, baseline)
    return session.run(scope.jobs)


class LearnSession:
    """The baselines that are replayed, each with its matcher and setting."""

    def __init__(
        self,
        project: Project,
        context: RunContext,
        times: int,
        replaces_handwritten: bool,
        is_unchanged: bool,
    ):
        self._project = project
        self._replaces_handwritten = replaces_handwritten
        self._is_unchanged = is_unchanged
        self._context = context
        self._times = times
        self._prepared: list[tuple[Baseline, Matcher, Setting]] = []
        self._failures: list[Problem] = []

    def add(self, here: CaptureEnvironment, baseline: Baseline) -> None:
        """Prepare a baseline. One that cannot be replayed at all is reported before anything is asked."""
        try:
            if baseline.baseline is None:
                hint = f"baselinekit capture from {baseline.source.file}"
                raise InvalidInput(Problem("BK223", f"{baseline.id} has no stored output yet", hint))
            chosen_variant = here.chosen(baseline)
            setting = self._project.setting_of(baseline, self._context.clients)
            matcher = compile_baseline(chosen_variant, self._project.words_of(baseline))
            check(baseline, setting)
            self._prepared.append((chosen_variant, matcher, setting))
        except BaselinekitError as error:
            self._failures += locate_problems(baseline, error.problems, self._project.root)

    def run(self, jobs: int) -> LearnProposal:
        jobs_to_run = [
            ReplayJob(
                baseline.current, setting, self._times, pauses=True, asks_again=partial(self._is_open, n)
            )
            for n, (baseline, _, setting) in enumerate(self._prepared)
        ]
        replays = observe_each(jobs_to_run, self._context, jobs)
        plans = [
            self._plan_or_record_failure(number, observations) for number, observations in enumerate(replays)
        ]
        return LearnProposal(tuple(plan for plan in plans if plan), tuple(self._failures))

    def _is_open(self, number: int, observations: Sequence[Observation]) -> bool:
        """Whether a number may merely vary seldom, so that one more answer tells more."""
        try:
            return self._times > 1 and self._learn(*self._prepared[number], [*observations]).is_open
        except BaselinekitError:
            return False  # it is reported once all have been replayed

    def _plan_or_record_failure(self, number: int, replays: Replays) -> LearnPlan | None:
        baseline, matcher, setting = self._prepared[number]
        try:
            return self._learn(baseline, matcher, setting, replays)
        except BaselinekitError as error:
            self._failures += locate_problems(baseline, error.problems, self._project.root)
            return None

    def _learn(self, baseline: Baseline, matcher: Matcher, setting: Setting, replays: Replays) -> LearnPlan:
        if isinstance(replays, BaselinekitError):
            raise replays
        for observation in replays:
            refuse_what_went_wrong(baseline, observation)
        stored = baseline.baseline
        assert stored is not None
        kept = kept_answer(self._project, baseline)
        ruled = with_list_rules(self._project, baseline, matcher, replays, setting, kept, self._is_unchanged)
        if kept is None and not ruled.rules and all(comparison.passed for comparison in ruled.settled):
            return LearnPlan(baseline, len(replays))
        mask = self._project.redactor.knowing([replay.output for replay in replays]).mask_value
        lesson = Lesson(self._project, ruled, setting.clients.now(), mask, kept, self._is_unchanged)
        volatile, refusals = lesson.learn(self._replaces_handwritten)
        volatile = [*(item for rule in ruled.rules for item in rule.volatile), *volatile]
        masked = tuple(
            replace(item, values=tuple(mask(value, item.places[0]) for value in item.values))
            for item in volatile
        )
        written = _written(ruled, {place: item.proposal.text for item in volatile for place in item.places})
        assert written.baseline is not None
        output = written.baseline.output
        singles = [
            path
            for path in _new_singles(output, stored.output, ruled.matcher)
            if not ruled.is_rewritten(path)
        ]
        arrays: dict[str, ArrayMode] = dict.fromkeys(map(render, singles), "ordered")
        arrays |= ruled.baseline.comparison.arrays
        written = replace(written, comparison=replace(baseline.comparison, arrays=arrays))
        after = compile_baseline(written, self._project.words_of(baseline))
        stays = [*lesson.unlearnable, *refusals]
        stays += _find_remaining([compare_settled(after, replay, setting) for replay in replays], stays)
        values: dict[Path, Json] = {}
        if arrays != baseline.comparison.arrays:
            arrays_as_written = {
                path: {"by": mode.by} if isinstance(mode, By) else mode for path, mode in arrays.items()
            }
            values["comparison", "arrays"] = arrays_as_written
        if not stays:
            values["metadata", "failure_count"] = 0
        if volatile and baseline.source.form == "native":
            evidence = evidence_of(masked, len(replays) + (kept is not None), self._project.redactor)
            learnt = stored.learnt
            if not stored.variants:
                learnt = select_valid_evidence(learnt, stored.output, output)
            values["baseline", "learnt"] = {**learnt, **evidence}
        is_new = volatile or ruled.rules
        return LearnPlan(
            baseline,
            len(replays),
            masked,
            tuple(stays),
            tuple(map(render, singles)),
            ruled.rules,
            Renewal(baseline.id, baseline.source, output, baseline.variant, values) if is_new else None,
            kept.captured_at if kept else None,
            lesson.is_open and kind_of(baseline.current).only_reads(baseline.current),
        )


def _written(ruled: Ruled, texts: Mapping[Path, str]) -> Baseline:
    """Return the baseline as it is to be in its file."""
    stored = ruled.baseline.baseline
    assert stored is not None
    return replace(ruled.baseline, baseline=replace(stored, output=with_values(stored.output, texts)))


def kept_answer(project: Project, baseline: Baseline) -> KeptOutput | None:
    """Return the answer kept from the failed compare, if it is an answer to this recipe, was compared with
    what is on file, and went well."""
    stored = baseline.baseline
    try:
        seen = load_pending(project.root, baseline.id)
    except BaselinekitError:
        return None
    if stored is None or seen is None or seen.flaw is not None or seen.troubles or not seen.differing:
        return None
    is_same_recipe = seen.recipe_hash == recipe_hash(baseline.current) and seen.variant == baseline.variant
    on_file, kept_at = parse_time(stored.captured_at), parse_time(seen.captured_at)
    is_older = kept_at is None or (on_file is not None and kept_at < on_file)  # both in whole seconds
    if is_older or not (is_same_recipe and seen.compared_with == compared_with(baseline)):
        return None
    kind = kind_of(baseline.current)
    troubles_stored = {trouble.message for trouble in kind.visible_troubles(baseline.current, stored.output)}
    troubles_seen = {trouble.message for trouble in kind.visible_troubles(baseline.current, seen.resolved)}
    return seen if troubles_seen <= troubles_stored else None


def refuse_what_went_wrong(baseline: Baseline, observation: Observation) -> None:
    """Refuse an answer that went wrong, unless the one on file went wrong in the same way."""
    kind, stored = kind_of(baseline.current), baseline.baseline
    stored_troubles = kind.visible_troubles(baseline.current, stored.output if stored else None)
    expected = {trouble.message for trouble in stored_troubles}
    for trouble in kind.troubles(baseline.current, observation):
        if trouble.message not in expected:
            raise CannotReplay(Problem("BK521", f"{trouble.message}: nothing is learnt of that", "mend it"))
    if observation.reason_not_to_store is not None:
        raise CannotReplay(Problem("BK526", f"{observation.reason_not_to_store}: nothing is learnt of that"))


def _new_singles(output: Json, before: Json, matcher: Matcher) -> list[Path]:
    """Return the arrays of one element that would now describe arrays of any length: a rule keeps them."""
    known_paths = set(single_element_arrays(before))
    return [
        path
        for path in single_element_arrays(output)
        if path not in known_paths and matcher.arrays.get(path) in (None, "each") and matcher.type != "exact"
    ]


def _find_remaining(
    settled: Sequence[Comparison], reported: Sequence[UnlearnablePlace]
) -> Iterator[UnlearnablePlace]:
    """Yield what would still fail, apart from what is reported already."""
    reported_paths = {place.path for place in reported}
    for comparison in settled:
        for difference in comparison.differences:
            if not any(
                difference.at[: len(path)] == path or difference.path == path for path in reported_paths
            ):
                reported_paths.add(difference.at)
                message = "no placeholder was found that the rules accept in every replay"
                yield UnlearnablePlace(difference.at, "unresolved", message, "write a rule for it by hand")


# Writing what was learnt into the files.


def preview_learning(project: Project, plans: Sequence[LearnPlan], stamp: ApprovalNote) -> Applied:
    """Return the files as they would be. Nothing is written."""
    return previewed([_stamped(plan, stamp) for plan in plans if plan.renewal], project.root)


def apply_learning(project: Project, plans: Sequence[LearnPlan], stamp: ApprovalNote) -> Applied:
    """Write the placeholders; the answers kept from failed compares are no longer needed."""
    applied = renew([_stamped(plan, stamp) for plan in plans if plan.renewal], project.root)
    for id in applied.ids:
        drop_pending(project.root, id)
    return applied


def _stamped(plan: LearnPlan, stamp: ApprovalNote) -> Renewal:
    renewal = plan.renewal
    assert renewal is not None
    place = known_path(plan.baseline.variant)[:1]
    stamp_values = {"approved_by": stamp.by, "reason": stamp.reason}
    values = {(*place, key): value for key, value in stamp_values.items() if value is not None}
    return replace(renewal, values={**renewal.values, **values})
