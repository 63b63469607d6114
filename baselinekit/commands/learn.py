"""refresh --learn: replay baselines, and put placeholders where the outputs vary. Nothing else is written: a
value that has changed in the same way in all replays stays, and is reported."""

from collections.abc import Sequence

from baselinekit.commands.asking import ReplayJob, observe_in_groups
from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import compare_settled
from baselinekit.commands.loading import locate_problems
from baselinekit.commands.pending import compared_with
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.commands.refresh import (
    RefreshScope,
    find_baselines,
    new_trouble_messages,
    prepare_replay,
    write,
)
from baselinekit.commands.selection import select
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NothingSelected, Problem
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.kinds.settings import Setting
from baselinekit.kinds.table import kind_of
from baselinekit.learning.case import LearningCase
from baselinekit.learning.evidence import evidence_of, select_valid_evidence
from baselinekit.learning.lesson import Lesson, learn_again
from baselinekit.learning.varying import UnlearnablePlace, Volatile, masked_places
from baselinekit.matching.dispatch import Matcher
from baselinekit.model.baselines import Baseline, By, Comparison
from baselinekit.model.changes import Applied, ApprovalNote, KeptOutput
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path, parse_time
from baselinekit.store.results import drop_pending, load_pending, pending_ids
from baselinekit.store.writing import Renewal
from baselinekit.structs import Struct, replace

REPLAYS = 3


class LearnPlan(Struct):
    """What is learnt of one baseline: the lesson, values masked. `renewal`: what is to be written, None if
    nothing is. `kept`: the time of the compare whose answer is used as one more replay, None if there is
    none."""

    baseline: Baseline
    replays: int
    lesson: Lesson
    renewal: Renewal | None = None
    kept: str | None = None

    @property
    def volatile(self) -> tuple[Volatile, ...]:
        return self.lesson.volatile

    @property
    def stays(self) -> tuple[UnlearnablePlace, ...]:
        return self.lesson.refusals


class LearnProposal(Struct):
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
    here, failures = CaptureEnvironment(project, context.clients), list[Problem]()
    prepared: list[tuple[Baseline, Matcher, Setting]] = []
    for baseline in _chosen(project, scope):
        try:  # one that cannot be replayed at all is reported before anything is asked
            prepared.append(prepare_replay(here, baseline, context))
        except BaselinekitError as error:
            failures += locate_problems(baseline, error.problems, project.root)
    replay_jobs = [ReplayJob(baseline.current, setting, times) for baseline, _, setting in prepared]
    plans = []
    for number, replays in next(observe_in_groups(replay_jobs, context, scope.jobs, is_one_group=True)):
        baseline, matcher, setting = prepared[number]
        try:
            if isinstance(replays, BaselinekitError):
                raise replays
            plans.append(
                _plan(project, baseline, matcher, setting, replays, replaces_handwritten, is_unchanged)
            )
        except BaselinekitError as error:
            failures += locate_problems(baseline, error.problems, project.root)
    return LearnProposal(tuple(plans), tuple(failures))


def _chosen(project: Project, scope: RefreshScope) -> Sequence[Baseline]:
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
    return chosen


def _plan(
    project: Project,
    baseline: Baseline,
    matcher: Matcher,
    setting: Setting,
    replays: Sequence[Observation],
    replaces_handwritten: bool,
    is_unchanged: bool,
) -> LearnPlan:
    for observation in replays:
        refuse_what_went_wrong(baseline, observation)
    stored = baseline.baseline
    assert stored is not None

    def compare(matcher: Matcher, replay: Observation) -> Comparison:
        return compare_settled(matcher, replay, setting)

    kept, redactor = kept_answer(project, baseline), project.redactor.knowing([r.output for r in replays])
    settled = [compare(matcher, replay) for replay in replays]
    words, now = project.words_of(baseline), setting.clients.now()
    lesson = learn_again(
        LearningCase(baseline, matcher, replays, settled, words, now, compare),
        redactor.mask_value,
        kept,
        is_unchanged=is_unchanged,
        replaces_handwritten=replaces_handwritten,
    )
    lesson = replace(lesson, volatile=masked_places(lesson.volatile, redactor.mask_value))
    values: dict[Path, Json] = {}
    arrays = lesson.baseline.comparison.arrays
    if arrays != baseline.comparison.arrays:
        values["comparison", "arrays"] = {
            path: {"by": mode.by} if isinstance(mode, By) else mode for path, mode in arrays.items()
        }
    if not lesson.refusals:
        values["metadata", "failure_count"] = 0
    if lesson.volatile and baseline.source.form == "native":
        evidence = evidence_of(lesson.volatile, len(replays) + (kept is not None), project.redactor)
        learnt = stored.learnt
        if not stored.variants:
            learnt = select_valid_evidence(learnt, stored.output, lesson.output)
        values["baseline", "learnt"] = {**learnt, **evidence}
    is_new = lesson.volatile or lesson.lists
    renewal = (
        Renewal(baseline.id, baseline.source, lesson.output, baseline.variant, values) if is_new else None
    )
    return LearnPlan(baseline, len(replays), lesson, renewal, kept.captured_at if kept else None)


def kept_answer(project: Project, baseline: Baseline) -> KeptOutput | None:
    """Return the answer kept from the failed compare, if it is an answer to this recipe, was compared with
    what is on file, and went well."""
    stored = baseline.baseline
    try:
        seen = load_pending(project.root, baseline.id)
    except BaselinekitError:
        return None
    if stored is None or seen is None or seen.flaw is not None or not (seen.differing or seen.varied):
        return None
    is_same_recipe = seen.recipe_hash == recipe_hash(baseline.current) and seen.variant == baseline.variant
    on_file, kept_at = parse_time(stored.captured_at), parse_time(seen.captured_at)
    is_older = kept_at is None or (on_file is not None and kept_at < on_file)  # both in whole seconds
    if is_older or not (is_same_recipe and seen.compared_with == compared_with(baseline)):
        return None
    return None if any(new_trouble_messages(baseline, stored.output, seen)) else seen


def refuse_what_went_wrong(baseline: Baseline, observation: Observation) -> None:
    """Refuse an answer that went wrong, unless the one on file went wrong in the same way."""
    kind, stored = kind_of(baseline.current), baseline.baseline
    stored_troubles = kind.visible_troubles(baseline.current, stored.output if stored else None)
    expected = {trouble.message for trouble in stored_troubles}
    for trouble in kind.troubles(baseline.current, observation):
        if trouble.message not in expected:
            raise CannotReplay(Problem("BK521", f"{trouble.message}: nothing is learnt of that", "fix it"))
    if observation.reason_not_to_store is not None:
        raise CannotReplay(Problem("BK526", f"{observation.reason_not_to_store}: nothing is learnt of that"))


def apply_learning(
    project: Project, plans: Sequence[LearnPlan], stamp: ApprovalNote, dry_run: bool = False
) -> Applied:
    """Write the placeholders; the answers kept from failed compares are no longer needed."""
    notes = {"approved_by": stamp.by, "reason": stamp.reason}
    given: dict[Path, Json] = {("baseline", key): text for key, text in notes.items() if text is not None}
    renewals = [
        replace(plan.renewal, values={**plan.renewal.values, **given}) for plan in plans if plan.renewal
    ]
    applied = write(project, renewals, dry_run=dry_run)
    for id in () if dry_run else applied.ids:
        drop_pending(project.root, id)
    return applied
