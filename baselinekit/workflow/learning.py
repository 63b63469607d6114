"""What several replays of a new baseline teach, and whether what is written accepts all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from baselinekit.compare.dispatch import Matcher, compile_baseline
from baselinekit.errors import BaselinekitError
from baselinekit.model.baselines import ArrayMode, Baseline, Known
from baselinekit.model.comparison import Comparison
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json, Path
from baselinekit.paths import render
from baselinekit.placeholders.proposals import Write
from baselinekit.refresh.learning import Volatile, learnt, with_placeholders
from baselinekit.refresh.moments import TICK, tells_time
from baselinekit.refresh.volatile import Look, Refusal
from baselinekit.replay.dispatch import Setting
from baselinekit.responses import body_places, outcome_places
from baselinekit.workflow.compare import Way
from baselinekit.workflow.observing import observe
from baselinekit.workflow.project import Project
from baselinekit.workflow.templating import arrays_of_one


@dataclass(frozen=True, slots=True)
class Taught:
    """The output as it is to be stored; what varies, its values masked; and what nothing may stand for."""

    output: Json
    volatile: tuple[Volatile, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def observe_each(recipe: Recipe, setting: Setting, times: int, way: Way) -> list[Observation]:
    """The recipe replayed so many times, one after the other: replays at once would disturb each other. Each
    is a turn of its own, so that no kept answer of a model is given twice. Where the output tells the time,
    a clock has to tick once in between."""
    told = way.advance(times)
    observations = []
    for turn in range(times):
        try:
            observations.append(observe(recipe, replace(setting, turn=turn)))
        except BaselinekitError as error:
            if turn == 0:
                raise
            again = f"replay {turn + 1} of {times}: "
            raise type(error)(*(replace(one, what=again + one.what) for one in error.problems)) from None
        told("passed")
        if turn == 0 and times > 1 and tells_time(observations[0].output):
            way.doors.sleep(TICK)
    return observations


def ordered_singles(output: Json, is_exact: bool) -> list[str]:
    """Arrays of one element that would describe arrays of any length, if no rule kept them as they are."""
    return [] if is_exact else [render(path) for path in arrays_of_one(output)]


def taught(
    project: Project, draft: Baseline, observations: Sequence[Observation], write: Write, *, is_new: bool
) -> Taught:
    """What the replays have to say of a draft that holds the output of the first. A file that is there
    already keeps its rules, so that an array there cannot be told to stay as long as it is."""
    first = compile_baseline(draft, project.words_of(draft))
    comparisons = [first.compare(observation) for observation in observations[1:]]
    if all(comparison.passed for comparison in comparisons):
        return Taught(_stored(draft))
    look = Look(
        outcomes=outcome_places(draft.current),
        wholes=body_places(draft.current),
        numeric=first.type == "numeric",
        agreed=_Differing(comparisons).agreed,
        arrays=first.arrays,
        write=write,
        words=project.words_of(draft),
    )
    lesson = learnt([observation.output for observation in observations], look)
    output = with_placeholders(_stored(draft), lesson.placeholders)
    refusals = list(lesson.refusals)
    matcher = _compiled(project, draft, output, is_new)
    if not is_new:
        refusals += _templates(output, _stored(draft), matcher)
    refusals += _unresolved(matcher, observations, refusals)
    mask = project.redactor.knowing([observation.output for observation in observations]).mask_value
    volatile = tuple(
        replace(one, values=tuple(mask(value, one.places[0]) for value in one.values))
        for one in lesson.volatile
    )
    return Taught(output, volatile, tuple(refusals))


def _stored(draft: Baseline) -> Json:
    return draft.baseline.output if draft.baseline else None


def _compiled(project: Project, draft: Baseline, output: Json, is_new: bool) -> Matcher:
    """The baseline as it will be read."""
    rules = draft.comparison
    if is_new:
        singles: dict[str, ArrayMode] = dict.fromkeys(
            ordered_singles(output, rules.type == "exact"), "ordered"
        )
        rules = replace(rules, arrays={**singles, **rules.arrays})
    written = replace(draft, baseline=Known(output=output), comparison=rules)
    return compile_baseline(written, project.words_of(draft))


class _Differing:
    """The places where replays differ by the rules of the baseline, and those on the way to them."""

    def __init__(self, comparisons: Sequence[Comparison]):
        differences = [difference for one in comparisons for difference in one.differences]
        self._all_kept = all(one.count == len(one.differences) for one in comparisons)
        self._at = {difference.at for difference in differences}
        self._ways = {at[:end] for at in self._at for end in range(len(at))}

    def agreed(self, path: Path) -> bool:
        above = any(path[:end] in self._at for end in range(len(path) + 1))
        return self._all_kept and not above and path not in self._ways


def _templates(output: Json, before: Json, matcher: Matcher) -> Iterator[Refusal]:
    known = set(arrays_of_one(before))
    for path in arrays_of_one(output):
        if path not in known and matcher.arrays.get(path) in (None, "each"):
            what = "its one element, with a placeholder in it, describes arrays of any length"
            mend = f"add `arrays: {{{render(path)}: ordered}}` to its `comparison:`"
            yield Refusal(path, "template", what, mend)


def _unresolved(
    matcher: Matcher, observations: Sequence[Observation], refusals: Sequence[Refusal]
) -> list[Refusal]:
    """What the baseline would not accept of what was seen, beside what is refused anyway."""
    refused = {refusal.path for refusal in refusals}
    found: dict[Path, Refusal] = {}
    for observation in observations:
        for difference in matcher.compare(observation).differences:
            path = difference.at
            if not any(path[: len(one)] == one or one[: len(path)] == path for one in refused):
                what = "no placeholder was found that the rules accept in every replay"
                found.setdefault(path, Refusal(path, "unresolved", what, "write a rule for it by hand"))
    return list(found.values())
