"""refresh --learn: ask again, and put placeholders where the answers vary. Nothing else is written: what is
another value each time in the same way stays, and is told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from baselinekit.approval.lesson import Lesson
from baselinekit.approval.lists import Ruled, with_list_rules
from baselinekit.approval.refresh import RefreshScope, find_baselines
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NothingSelected, Problem
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, By, Comparison, known_path
from baselinekit.model.changes import Applied, Seen, Stamp
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path, parse_time
from baselinekit.refresh.learning import (
    UnlearnablePlace,
    Volatile,
    still_true,
)
from baselinekit.refresh.listing import ListRule
from baselinekit.replaying.dispatch import recipe_hash
from baselinekit.replaying.settings import Setting
from baselinekit.store.results import drop_pending, load_pending, pending_ids
from baselinekit.store.writing import Renewal, preview as previewed, renew
from baselinekit.tree.paths import render
from baselinekit.tree.places import with_values
from baselinekit.workflow.asking import ReplayJob, Replays, observe_each
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.evidence import evidence_of
from baselinekit.workflow.judging import check, compare_settled
from baselinekit.workflow.learning import (
    arrays_of_one,
)
from baselinekit.workflow.loading import locate_problems
from baselinekit.workflow.pending import compared_with
from baselinekit.workflow.project import CaptureEnvironment, Project
from baselinekit.workflow.selection import select

REPLAYS = 3
LATER = 5.0
"""Seconds after which a number on which all answers agree is asked for once more: a service may look at
itself only every few seconds."""


@frozen
class LearnPlan:
    """What is learnt of one baseline: the places with their placeholders, values masked; what differs and
    stays; and the arrays of one element that keep their length by a rule. `renewal`: what is to be written,
    None where nothing is; `is_whole`: the baseline passes then. `kept`: when the compare was whose answer is
    one more of the replays, None where no answer of one is. `lists`: how lists that move are compared."""

    baseline: Baseline
    replays: int
    volatile: tuple[Volatile, ...] = ()
    stays: tuple[UnlearnablePlace, ...] = ()
    ordered: tuple[str, ...] = ()
    lists: tuple[ListRule, ...] = ()
    renewal: Renewal | None = None
    kept: str | None = None
    is_open: bool = False
    """Whether a number has changed that may as well move seldom, and that may be asked for again."""

    @property
    def is_whole(self) -> bool:
        return not self.stays


@frozen
class LearnProposal:
    """All of them, and why others could not be asked."""

    plans: tuple[LearnPlan, ...]
    failures: tuple[Problem, ...] = ()


def propose_learning(
    project: Project,
    wanted: RefreshScope,
    times: int,
    context: RunContext,
    replaces_handwritten: bool = False,
    is_unchanged: bool = False,
) -> LearnProposal:
    """Ask what is selected again, `times` times, and say what that teaches. Nothing is written.
    `replaces_handwritten`: also a placeholder that a person wrote, where it proves too narrow.
    `is_unchanged`: a person says that nothing was changed on the service, so that whatever differs varies."""
    if not wanted.names_something:
        hint = "name ids or paths, or pass --all-failed"
        raise InvalidInput(Problem("BK508", "learn of which baselines?", hint))
    chosen = select(find_baselines(project, wanted.words), wanted.selection)
    if wanted.all_failed:
        kept = pending_ids(project.root)
        chosen = [baseline for baseline in chosen if baseline.id in kept]
    if not chosen:
        message = "no compare has failed since" if wanted.all_failed else "nothing is selected"
        raise NothingSelected(
            Problem("BK530", f"there is nothing to learn: {message}", "baselinekit compare")
        )
    here = CaptureEnvironment(project, context.clients)
    session = LearnSession(project, context, times, replaces_handwritten, is_unchanged)
    for baseline in chosen:
        session.add(here, baseline)
    return session.run(wanted.jobs)


class LearnSession:
    """The baselines that are asked again, each with what it is compared by."""

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
        self._asked: list[tuple[Baseline, Matcher, Setting]] = []
        self._failures: list[Problem] = []

    def add(self, here: CaptureEnvironment, baseline: Baseline) -> None:
        """What cannot be replayed at all is told before anything is asked."""
        try:
            if baseline.baseline is None:
                hint = f"baselinekit capture from {baseline.source.file}"
                raise InvalidInput(Problem("BK223", f"{baseline.id} has no stored output yet", hint))
            meant = here.chosen(baseline)
            setting = self._project.setting_of(baseline, self._context.clients)
            matcher = compile_baseline(meant, self._project.words_of(baseline))
            check(baseline, setting)
            self._asked.append((meant, matcher, setting))
        except BaselinekitError as error:
            self._failures += locate_problems(baseline, error.problems, self._project.root)

    def run(self, jobs: int) -> LearnProposal:
        asked = [
            ReplayJob(baseline.current, setting, self._times, pauses=True)
            for baseline, _, setting in self._asked
        ]
        replays = observe_each(asked, self._context, jobs)
        plans = [self._plan_of(number, came) for number, came in enumerate(replays)]
        open_ones = [n for n, plan in enumerate(plans) if plan and plan.is_open and self._times > 1]
        if open_ones:
            self._context.clients.sleep(LATER)
            once = [replace(asked[n], times=1) for n in open_ones]
            for n, more in zip(open_ones, observe_each(once, self._context, jobs), strict=True):
                came = replays[n]
                if isinstance(more, list) and isinstance(came, list):
                    plans[n] = self._plan_of(n, [*came, *more]) or plans[n]
        return LearnProposal(tuple(plan for plan in plans if plan), tuple(self._failures))

    def _plan_of(self, number: int, replays: Replays) -> LearnPlan | None:
        baseline, matcher, setting = self._asked[number]
        try:
            return self._plan(baseline, matcher, setting, replays)
        except BaselinekitError as error:
            self._failures += locate_problems(baseline, error.problems, self._project.root)
            return None

    def _plan(self, baseline: Baseline, matcher: Matcher, setting: Setting, replays: Replays) -> LearnPlan:
        if isinstance(replays, BaselinekitError):
            raise replays
        for observation in replays:
            refuse_what_went_wrong(baseline, observation)
        known = baseline.baseline
        assert known is not None
        kept = kept_answer(self._project, baseline)
        ruled = with_list_rules(self._project, baseline, matcher, replays, setting, kept, self._is_unchanged)
        if kept is None and not ruled.rules and all(comparison.passed for comparison in ruled.settled):
            return LearnPlan(baseline, len(replays))
        mask = self._project.redactor.knowing([one.output for one in replays]).mask_value
        lesson = Lesson(self._project, ruled, setting.clients.now(), mask, kept, self._is_unchanged)
        volatile, refusals = lesson.learn(self._replaces_handwritten)
        volatile = [*(one for rule in ruled.rules for one in rule.volatile), *volatile]
        shown = tuple(
            replace(one, values=tuple(mask(value, one.places[0]) for value in one.values)) for one in volatile
        )
        written = _written(ruled, {place: one.proposal.text for one in volatile for place in one.places})
        assert written.baseline is not None
        output = written.baseline.output
        singles = [
            path for path in _new_singles(output, known.output, ruled.matcher) if not ruled.is_rewritten(path)
        ]
        arrays: dict[str, ArrayMode] = dict.fromkeys(map(render, singles), "ordered")
        arrays |= ruled.baseline.comparison.arrays
        written = replace(written, comparison=replace(baseline.comparison, arrays=arrays))
        after = compile_baseline(written, self._project.words_of(baseline))
        stays = [*lesson.told, *refusals]
        stays += _left([compare_settled(after, one, setting) for one in replays], stays)
        values: dict[Path, Json] = {}
        if arrays != baseline.comparison.arrays:
            written_so = {
                path: {"by": how.by} if isinstance(how, By) else how for path, how in arrays.items()
            }
            values["comparison", "arrays"] = written_so
        if not stays:
            values["metadata", "failure_count"] = 0
        if volatile and baseline.source.form == "native":
            evidence = evidence_of(shown, len(replays) + (kept is not None), self._project.redactor)
            left = known.learnt if known.variants else still_true(known.learnt, known.output, output)
            values["baseline", "learnt"] = {**left, **evidence}
        is_new = volatile or ruled.rules
        return LearnPlan(
            baseline,
            len(replays),
            shown,
            tuple(stays),
            tuple(map(render, singles)),
            ruled.rules,
            Renewal(baseline.id, baseline.source, output, baseline.variant, values) if is_new else None,
            kept.captured_at if kept else None,
            lesson.is_open and kind_of(baseline.current).only_reads(baseline.current),
        )


def _written(ruled: Ruled, texts: Mapping[Path, str]) -> Baseline:
    """The baseline as it is to stand in its file."""
    known = ruled.baseline.baseline
    assert known is not None
    return replace(ruled.baseline, baseline=replace(known, output=with_values(known.output, texts)))


def kept_answer(project: Project, baseline: Baseline) -> Seen | None:
    """What the compare that failed has kept, if it is an answer to this recipe, was set against what is on
    file, and went well."""
    known = baseline.baseline
    try:
        seen = load_pending(project.root, baseline.id)
    except BaselinekitError:
        return None
    if known is None or seen is None or seen.flaw is not None or seen.troubles or not seen.differing:
        return None
    is_of_this = seen.recipe_hash == recipe_hash(baseline.current) and seen.variant == baseline.variant
    on_file, then = parse_time(known.captured_at), parse_time(seen.captured_at)
    is_older = then is None or (on_file is not None and then < on_file)  # both in whole seconds
    if is_older or not (is_of_this and seen.compared_with == compared_with(baseline)):
        return None
    kind = kind_of(baseline.current)
    stored = {trouble.message for trouble in kind.visible_troubles(baseline.current, known.output)}
    came = {trouble.message for trouble in kind.visible_troubles(baseline.current, seen.resolved)}
    return seen if came <= stored else None


def refuse_what_went_wrong(baseline: Baseline, observation: Observation) -> None:
    """An answer that went wrong teaches nothing, unless the one on file went wrong in the same way."""
    kind, known = kind_of(baseline.current), baseline.baseline
    stored = kind.visible_troubles(baseline.current, known.output if known else None)
    expected = {trouble.message for trouble in stored}
    for trouble in kind.troubles(baseline.current, observation):
        if trouble.message not in expected:
            raise CannotReplay(Problem("BK521", f"{trouble.message}: nothing is learnt of that", "mend it"))
    if observation.flaw is not None:
        raise CannotReplay(Problem("BK526", f"{observation.flaw}: nothing is learnt of that"))


def _new_singles(output: Json, before: Json, matcher: Matcher) -> list[Path]:
    """Arrays of one element that would describe arrays of any length from now on: a rule keeps them."""
    known = set(arrays_of_one(before))
    return [
        path
        for path in arrays_of_one(output)
        if path not in known and matcher.arrays.get(path) in (None, "each") and matcher.type != "exact"
    ]


def _left(settled: Sequence[Comparison], told: Sequence[UnlearnablePlace]) -> Iterator[UnlearnablePlace]:
    """What would still fail, beside what is told anyway."""
    known = {place.path for place in told}
    for comparison in settled:
        for difference in comparison.differences:
            if not any(difference.at[: len(path)] == path or difference.path == path for path in known):
                known.add(difference.at)
                message = "no placeholder was found that the rules accept in every replay"
                yield UnlearnablePlace(difference.at, "unresolved", message, "write a rule for it by hand")


# What was learnt, written into the files.


def preview_learning(project: Project, plans: Sequence[LearnPlan], stamp: Stamp) -> Applied:
    """The files as they would be. Nothing is written."""
    return previewed([_stamped(plan, stamp) for plan in plans if plan.renewal], project.root)


def apply_learning(project: Project, plans: Sequence[LearnPlan], stamp: Stamp) -> Applied:
    """Write the placeholders; what was kept of a failed compare is of no use any more."""
    applied = renew([_stamped(plan, stamp) for plan in plans if plan.renewal], project.root)
    for id in applied.ids:
        drop_pending(project.root, id)
    return applied


def _stamped(plan: LearnPlan, stamp: Stamp) -> Renewal:
    renewal = plan.renewal
    assert renewal is not None
    place = known_path(plan.baseline.variant)[:1]
    noted = {"approved_by": stamp.by, "reason": stamp.reason}
    values = {(*place, key): value for key, value in noted.items() if value is not None}
    return replace(renewal, values={**renewal.values, **values})
