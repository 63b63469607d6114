"""What several replays of a new baseline teach, and the stored output that is made of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from baselinekit.compare.dispatch import Matcher, compile_baseline
from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import ArrayMode, Baseline, Comparison, Known
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import describes_many, escape, has_marker, split
from baselinekit.placeholders.narrowest import Write
from baselinekit.refresh.learning import (
    TICK,
    ReplayView,
    UnlearnablePlace,
    Volatile,
    learn_places,
    tells_time,
)
from baselinekit.replay.settings import Setting
from baselinekit.secrets.finding import BY_NAME, likeness
from baselinekit.tree.paths import children, render, with_values
from baselinekit.variables import Redactor, Scope, names_in
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.judging import observe
from baselinekit.workflow.project import Project

# What came back, as a stored output: texts that look like placeholders escaped, declared values named.


DECLARED = "the secret"
IN_A_NAME = ", in its name"
_SHORTEST_VALUE = 8


class Templating:
    """Writes `<<var(name)>>` where the value of a declared variable, or a secret, occurs in a text. Short
    values are left alone: they occur by chance."""

    def __init__(self, scope: Scope):
        named = {
            value: name
            for name, value in scope.values.items()
            if isinstance(value, str) and len(value) >= _SHORTEST_VALUE
        }
        named |= {secret.value: name for name, secret in scope.secrets.items() if secret.value}
        self._names = named
        longest_first = sorted(named, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if named else None
        self._used: set[str] = set()

    def template(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.template(item) for item in value]
        if isinstance(value, dict):
            return {key: self.template(item) for key, item in value.items()}
        return value

    def notes(self) -> list[str]:
        return [f"the value of {name} is stored as <<var({name})>>" for name in sorted(self._used)]

    def text(self, text: str, followed: bool = False) -> str:
        """`followed`: a placeholder comes right after it."""
        if self._pattern is None or not self._pattern.search(text):
            return escape(text, followed)
        result, position = "", 0
        for match in self._pattern.finditer(text):
            before = escape(text[position : match.start()], followed=True)
            name = self._names[match[0]]
            self._used.add(name)
            result += f"{before}<<var({name})>>"
            position = match.end()
        return result + escape(text[position:], followed)


def arrays_of_one(output: Json, path: Path = ()) -> Iterator[Path]:
    """Arrays of one element that holds a placeholder: on file they would describe arrays of any length."""
    if isinstance(output, list) and len(output) == 1 and describes_many(output[0]):
        yield path
    for key, child in children(output):
        yield from arrays_of_one(child, (*path, key))


def with_names(value: Json, scope: Scope) -> Json:
    """A recipe with `{{name}}` wherever the value of a secret was typed."""
    named = {secret.value: name for name, secret in scope.secrets.items() if secret.value}
    if not named:
        return value
    typed = re.compile("|".join(map(re.escape, sorted(named, key=len, reverse=True))))
    return _with_names(value, typed, named)


def _with_names(value: Json, typed: re.Pattern[str], named: dict[str, str]) -> Json:
    if isinstance(value, str):
        return typed.sub(lambda match: f"{{{{{named[match[0]]}}}}}", value)
    if isinstance(value, list):
        return [_with_names(item, typed, named) for item in value]
    if isinstance(value, dict):
        return {key: _with_names(item, typed, named) for key, item in value.items()}
    return value


def secrets_in(
    value: Json, redactor: Redactor, path: Path = (), lookalikes: bool = True
) -> Iterator[tuple[Path, str]]:
    """Where a recipe or an output would give something away if it were stored: a declared secret in any
    spelling, or with `lookalikes` what looks like a secret. Placeholders and variables give nothing away."""
    if isinstance(value, str | int | float | Decimal) and not isinstance(value, bool):
        what = _given_away(value, redactor, path, lookalikes)
        if what is not None:
            yield path, what
    for key, child in children(value):
        if isinstance(key, str) and (what := _given_away(key, redactor, (), lookalikes)) is not None:
            yield (*path, key), f"{what}{IN_A_NAME}"
        yield from secrets_in(child, redactor, (*path, key), lookalikes)


def _given_away(value: Json, redactor: Redactor, path: Path, lookalikes: bool) -> str | None:
    names = redactor.found_in(str(value))
    if names:
        return f"{DECLARED} {', '.join(sorted(names))}"
    if not isinstance(value, str) or not lookalikes:
        return None
    literals = _literals(value)
    is_whole = literals == [value] and not any(names_in(value))
    found = (likeness(text, path) for text in literals)
    return next((what for what in found if what and (what != BY_NAME or is_whole)), None)


def _literals(text: str) -> list[str]:
    """What stands in a text beside its placeholders."""
    if not has_marker(text):
        return [text]
    try:
        return [part for part in split(text) if isinstance(part, str)]
    except InvalidInput:
        return [text]


# What several replays of a new baseline teach, and whether what is written accepts all of them.


@dataclass(frozen=True, slots=True)
class CaptureLesson:
    """The output as it is to be stored; what varies, its values masked; and what nothing may stand for."""

    output: Json
    volatile: tuple[Volatile, ...] = ()
    refusals: tuple[UnlearnablePlace, ...] = ()


def observe_each(recipe: Recipe, setting: Setting, times: int, context: RunContext) -> list[Observation]:
    """The recipe replayed so many times, one after the other: replays at once would disturb each other. Each
    is a turn of its own, so that no kept answer of a model is given twice. Where the output tells the time,
    a clock has to tick once in between."""
    told = context.advance(times)
    observations = []
    for turn in range(times):
        try:
            observations.append(observe(recipe, replace(setting, turn=turn)))
        except BaselinekitError as error:
            if turn == 0:
                raise
            again = f"replay {turn + 1} of {times}: "
            raise type(error)(
                *(replace(one, message=again + one.message) for one in error.problems)
            ) from None
        told("passed")
        if turn == 0 and times > 1 and tells_time(observations[0].output):
            context.clients.sleep(TICK)
    return observations


def ordered_singles(output: Json, is_exact: bool) -> list[str]:
    """Arrays of one element that would describe arrays of any length, if no rule kept them as they are."""
    return [] if is_exact else [render(path) for path in arrays_of_one(output)]


def learn(
    project: Project, draft: Baseline, observations: Sequence[Observation], write: Write, *, is_new: bool
) -> CaptureLesson:
    """What the replays have to say of a draft that holds the output of the first. A file that is there
    already keeps its rules, so that an array there cannot be told to stay as long as it is."""
    first = compile_baseline(draft, project.words_of(draft))
    comparisons = [first.compare(observation) for observation in observations[1:]]
    if all(comparison.passed for comparison in comparisons):
        return CaptureLesson(_stored(draft))
    kind = kind_of(draft.current)
    look = ReplayView(
        outcomes=kind.outcomes(draft.current),
        wholes=kind.answers(draft.current),
        numeric=first.type == "numeric",
        agreed=_Differing(comparisons).agreed,
        arrays=first.arrays,
        write=write,
        words=project.words_of(draft),
    )
    lesson = learn_places([observation.output for observation in observations], look)
    output = with_values(_stored(draft), lesson.placeholders)
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
    return CaptureLesson(output, volatile, tuple(refusals))


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


def _templates(output: Json, before: Json, matcher: Matcher) -> Iterator[UnlearnablePlace]:
    known = set(arrays_of_one(before))
    for path in arrays_of_one(output):
        if path not in known and matcher.arrays.get(path) in (None, "each"):
            what = "its one element, with a placeholder in it, would describe arrays of any length"
            hint = f"add `arrays: {{{render(path)}: ordered}}` to its `comparison:`"
            yield UnlearnablePlace(path, "template", what, hint)


def _unresolved(
    matcher: Matcher, observations: Sequence[Observation], refusals: Sequence[UnlearnablePlace]
) -> list[UnlearnablePlace]:
    """What the baseline would not accept of what was seen, beside what is refused anyway."""
    refused = {refusal.path for refusal in refusals}
    found: dict[Path, UnlearnablePlace] = {}
    for observation in observations:
        for difference in matcher.compare(observation).differences:
            path = difference.at
            if not any(path[: len(one)] == one or one[: len(path)] == path for one in refused):
                what = "no placeholder was found that the rules accept in every replay"
                found.setdefault(
                    path, UnlearnablePlace(path, "unresolved", what, "write a rule for it by hand")
                )
    return list(found.values())
