"""refresh --learn: ask again, and put placeholders where the answers vary. Nothing else is written: what is
another value each time in the same way stays, and is told."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from baselinekit.approval.lists import Ruled, with_list_rules
from baselinekit.approval.refresh import RefreshScope, find_baselines
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NothingSelected, Problem
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, By, Comparison, Difference, known_path
from baselinekit.model.changes import Applied, Seen, Stamp
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path, parse_time
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.narrowest import PlaceholderProposal, narrowest
from baselinekit.placeholders.nature import (
    counts_running,
    is_among_metrics,
    is_amount,
    is_counted,
    named,
    nature_of_change,
)
from baselinekit.refresh.alternatives import unescaped
from baselinekit.refresh.learning import (
    ReplayView,
    UnlearnablePlace,
    Volatile,
    is_handwritten,
    learn_places,
    still_true,
)
from baselinekit.refresh.listing import ListRule
from baselinekit.replaying.dispatch import recipe_hash
from baselinekit.replaying.settings import Setting
from baselinekit.report.values import short
from baselinekit.store.results import drop_pending, load_pending, pending_ids
from baselinekit.store.writing import Renewal, preview as previewed, renew
from baselinekit.tree.equality import same_json
from baselinekit.tree.paths import render
from baselinekit.tree.places import children, value_at, with_values
from baselinekit.workflow.asking import Asked, Replays, observe_each
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.evidence import evidence_of
from baselinekit.workflow.judging import check, compare_settled
from baselinekit.workflow.learning import (
    Templating,
    arrays_of_one,
)
from baselinekit.workflow.loading import locate_problems
from baselinekit.workflow.pending import compared_with, span_of
from baselinekit.workflow.project import CaptureEnvironment, Project
from baselinekit.workflow.selection import select

REPLAYS = 3


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
        what = "no compare has failed since" if wanted.all_failed else "nothing is selected"
        raise NothingSelected(Problem("BK530", f"there is nothing to learn: {what}", "baselinekit compare"))
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
            Asked(baseline.current, setting, self._times, pauses=True) for baseline, _, setting in self._asked
        ]
        plans: list[LearnPlan] = []
        for one, replays in zip(self._asked, observe_each(asked, self._context, jobs), strict=True):
            try:
                plans.append(self._plan(*one, replays))
            except BaselinekitError as error:
                self._failures += locate_problems(one[0], error.problems, self._project.root)
        return LearnProposal(tuple(plans), tuple(self._failures))

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
                what = "no placeholder was found that the rules accept in every replay"
                yield UnlearnablePlace(difference.at, "unresolved", what, "write a rule for it by hand")


class Lesson:
    """What the replays of one baseline say beside its stored output, place by place: the values that came at
    each place that differs, in their order. `kept` is the answer of a compare before them."""

    def __init__(
        self,
        project: Project,
        ruled: Ruled,
        now: float,
        mask: Callable[[Json, Path], Json],
        kept: Seen | None = None,
        is_unchanged: bool = False,
    ):
        self._mask, self._is_unchanged, self._outputs = mask, is_unchanged, ruled.outputs
        self._project, self._baseline, self._matcher = project, ruled.baseline, ruled.matcher
        known = ruled.baseline.baseline
        assert known is not None
        self._stored, self._times, self._span = known.output, len(ruled.settled), span_of(ruled.baseline, now)
        self._evidence, self._moving = known.learnt, known.output
        self.told: list[UnlearnablePlace] = []
        self._words = project.words_of(ruled.baseline)
        self._templating = Templating(self._words.scope)
        self._has_kept = kept is not None
        self._kept = {
            path: value
            for path, value in (kept.differing if kept else ())
            if _leaf(self._stored, path) is not ABSENT and not ruled.is_rewritten(path)
        }
        self._came: dict[Path, dict[int, Json]] = {}
        for number, comparison in enumerate(ruled.settled):
            for difference in comparison.differences:
                self._note(number, difference)

    def _note(self, number: int, difference: Difference) -> None:
        value = _leaf(self._stored, difference.at)
        is_leaf = value is not ABSENT and difference.kind in ("value", "type")
        if is_leaf and not isinstance(difference.actual, dict | list):
            self._came.setdefault(difference.at, {})[number] = difference.actual
        elif all(place.path != difference.path for place in self.told):
            what = _WHAT.get(difference.kind, "it differs")
            self.told.append(UnlearnablePlace(difference.path, "structural", what, ACCEPT))

    def learn(self, replaces_handwritten: bool) -> tuple[list[Volatile], list[UnlearnablePlace]]:
        """The placeholders, and what varies and cannot be learnt. What is the same in every answer, and not
        what is stored, is a change, unless it is by nature another one after a while."""
        self._moving = self._with_what_moves()
        first: dict[Path, Json] = {}
        later: list[dict[Path, Json]] = [{} for _ in range(self._times + self._has_kept)]
        for path in dict.fromkeys((*self._kept, *self._came)):
            came = self._came.get(path, {})
            written = _leaf(self._stored, path)
            if not replaces_handwritten and is_handwritten(written, path, self._evidence):
                if came:
                    self.told.append(self._too_narrow(path, written, list(came.values())))
                continue
            stored = self._as_it_came(written)
            is_literal = stored != written or not (isinstance(written, str) and has_marker(written))
            usual = stored if is_literal else ABSENT
            values = [came.get(number, usual) for number in range(self._times)]
            if not came and not is_literal:
                values = [_leaf(output, path) for output in self._outputs] if self._is_unchanged else []
                if not values or ABSENT in values:
                    continue
            elif not came:
                if not self._varies(path, stored, [self._kept[path]]):
                    continue
            elif not self._varies(path, stored, values):
                came_now, on_file = (short(self._mask(value, path)) for value in (values[0], stored))
                what = f"it is {came_now} in {self._each}, and {on_file} on file: a change"
                self.told.append(UnlearnablePlace(path, "unresolved", what, ACCEPT))
                continue
            if self._has_kept:
                values.insert(0, self._kept.get(path, usual))
            known = [value for value in values if value is not ABSENT]
            first[path] = stored if is_literal else known[0]
            for number, value in enumerate(values):
                later[number][path] = known[0] if value is ABSENT else value
        kind = kind_of(self._baseline.current)
        view = ReplayView(
            outcomes=kind.outcomes(self._baseline.current),
            wholes=kind.answers(self._baseline.current),
            numeric=self._matcher.type == "numeric",
            arrays=self._matcher.arrays,
            write=self._templating.text,
            words=self._words,
        )
        outputs = [with_values(self._stored, values) for values in (first, *later)] if first else []
        lesson = learn_places(outputs, view) if outputs else None
        if lesson is None:
            return [], []
        volatile = list(lesson.volatile)
        placed = lesson.placeholders
        self.told = [one for one in self.told if one.path not in placed]  # a row learns of the others
        return [*volatile, *self._counted_beside(volatile)], list(lesson.refusals)

    def _as_it_came(self, written: Json) -> Json:
        """A stored value without its escapes, and with the values of the variables in it. One with another
        placeholder stays as it is."""
        if not (isinstance(written, str) and has_marker(written)):
            return written
        expanded = self._templating.expanded(written)
        return unescaped(written) if expanded is None else expanded

    def _too_narrow(self, path: Path, written: Json, came: Sequence[Json]) -> UnlearnablePlace:
        """What a person wrote is a decision: another one needs a word."""
        seen = list(dict.fromkeys(short(self._mask(value, path)) for value in came))
        values = ", ".join(seen[:_MOST_VALUES]) + (", …" if len(seen) > _MOST_VALUES else "")
        what = f"{written}, written by hand, does not accept {values}"
        return UnlearnablePlace(path, "unresolved", what, REPLACE)

    def _counted_beside(self, volatile: Sequence[Volatile]) -> Iterator[Volatile]:
        """Of a table of named rows in which numbers moved, the other rows whose name says that they count, or
        how a process runs: a processor that was idle at each of three replays is not idle for ever."""
        output = with_values(
            self._stored, {place: one.proposal.text for one in volatile for place in one.places}
        )
        tables = {place[:-2] for one in volatile for place in one.places if is_among_metrics(place, output)}
        taken = {*self._came, *(place for one in volatile for place in one.places)}
        for path, value in (pair for table in tables for pair in _row_values(self._stored, table)):
            where = named(path, output)
            counts = is_amount(value) and (is_counted(where, value) or counts_running(where))
            if where != path and counts and path not in taken and is_among_metrics(path, output):
                proposal = narrowest([value], words=self._words)[0]
                reason = f"{proposal.reason}, which its name counts in a table of such"
                yield Volatile(path, (path,), (value,), PlaceholderProposal(proposal.text, reason))

    @property
    def _each(self) -> str:
        return "the answer" if self._times == 1 else f"all {self._times} answers"

    def _varies(self, path: Path, stored: Json, values: Sequence[Json]) -> bool:
        if self._is_unchanged or any(value is ABSENT or not same_json(value, values[0]) for value in values):
            return True
        return nature_of_change(path, stored, values[0], self._span, self._moving) is not None

    def _with_what_moves(self) -> Json:
        """The stored output with a placeholder for each number that was another one in each answer: a row
        beside it may have moved only once."""
        moving: dict[Path, Json] = {
            path: _ANY_AMOUNT
            for path, came in self._came.items()
            if len(set(map(str, came.values()))) > 1 and all(map(is_amount, came.values()))
        }
        return with_values(self._stored, moving)


ACCEPT = "if it is right: baselinekit compare, then baselinekit refresh"
_ANY_AMOUNT = "<<any_number>>"
REPLACE = "widen it, or have it replaced: --learn --drop-placeholders"
_MOST_VALUES = 3
_WHAT: Mapping[str, str] = {
    "missing": "it is gone",
    "extra": "it is new",
    "order": "its elements come in another order",
    "count": "it has another number of elements",
    "type": "it is of another type",
    "tolerance": "it is further off than its tolerance",
    "similarity": "it says something else",
}


def _row_values(stored: Json, table: Path) -> Iterator[tuple[Path, Json]]:
    """The leaves of the rows of a table."""
    for number, row in children(value_at(stored, table)):
        yield from (((*table, number, key), value) for key, value in children(row))


def _leaf(stored: Json, path: Path) -> Json:
    try:
        value = value_at(stored, path)
    except (LookupError, TypeError):
        return ABSENT
    return ABSENT if isinstance(value, dict | list) else value


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
