"""Learn from several replays of a new baseline, and check whether the stored output accepts all of them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from baselinekit.commands.project import Project
from baselinekit.commands.templating import OutputTemplater, single_element_arrays
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.learning.learning import ReplayView, UnlearnablePlace, Volatile, learn_places
from baselinekit.learning.linking import LinkView, bind_links
from baselinekit.learning.made import made_by_write
from baselinekit.learning.steady import UnchangedValues, lookalikes, moments_of_now, volatile_values
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, Comparison, Known
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.counters import (
    is_amount,
    is_counted,
    looks_measured,
    memory_statistics_above,
    path_with_row_name,
    tells_of_process,
    tells_of_space,
    with_fraction,
)
from baselinekit.placeholders.grammar import has_marker, tokens_in
from baselinekit.placeholders.narrowest import PlaceholderProposal, is_alone, narrowest
from baselinekit.placeholders.pieces import Write
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.secrets.variables import Redactor
from baselinekit.structs import replace
from baselinekit.values.equality import same_json
from baselinekit.values.paths import render
from baselinekit.values.places import children, places, value_at, with_values


@frozen
class CaptureLesson:
    """The output as it is to be stored; what varies, with masked values; what no placeholder fits; and the
    lookalikes: they look like ids, were the same each time and are in the output as they came."""

    output: Json
    volatile: tuple[Volatile, ...] = ()
    refusals: tuple[UnlearnablePlace, ...] = ()
    lookalikes: tuple[Volatile, ...] = ()

    def with_lookalikes(self) -> "CaptureLesson":
        """Return the lesson with placeholders for the lookalikes as well."""
        texts = {place: item.proposal.text for item in self.lookalikes for place in item.places}
        output = with_values(self.output, texts)
        return CaptureLesson(output, (*self.volatile, *self.lookalikes), self.refusals)


def ordered_singles(output: Json, is_exact: bool) -> list[str]:
    """Return the arrays of one element that need a rule, as they would describe arrays of any length."""
    return [] if is_exact else [render(path) for path in single_element_arrays(output)]


_MOST_PLACES = 5_000
MOST_VALUES = 3
"""How many values of each place are shown as examples."""


def learn(
    project: Project,
    draft: Baseline,
    first: Matcher,
    accepted: Comparison,
    observations: Sequence[Observation],
    write: Write,
    *,
    is_new: bool,
    now: float,
) -> CaptureLesson:
    """Learn from the replays of a draft that holds the output of the first. `first`: the draft compiled;
    `accepted`: the comparison of the first replay. A file that exists (not `is_new`) keeps its rules, so that
    no rule can keep the length of an array there."""
    words = project.words_of(draft)
    comparisons = [first.compare(observation) for observation in observations[1:]]
    outputs = [observation.output for observation in observations]
    volatile: list[Volatile] = []
    refusals: list[UnlearnablePlace] = []
    if not all(comparison.passed for comparison in comparisons):
        kind = kind_of(draft.current)
        view = ReplayView(
            outcomes=kind.outcomes(draft.current),
            wholes=kind.answers(draft.current),
            numeric=first.type == "numeric",
            agreed=_DifferingPlaces(comparisons).agreed,
            arrays=first.arrays,
            write=write,
            words=words,
        )
        lesson = learn_places(outputs, view)
        volatile, refusals = list(lesson.volatile), list(lesson.refusals)
    steady, same = _SteadyValues(draft, first, outputs, volatile, refusals, now, words), []
    wholes = ((), *kind_of(draft.current).answers(draft.current))
    moments = moments_of_now(steady.moments, now, write, words)
    volatile += [
        item
        for item in moments
        if item.places[0] not in wholes and steady.keeps_variables(item) and steady.compared(item.places)
    ]
    volatile += _find_made_values(draft, outputs, steady, volatile, now, write, words)
    volatile += _find_process_counts(outputs, steady, volatile, words)
    volatile = bind_links(volatile, outputs, _link_view(observations, steady, write, words))
    if steady.ids:
        taken = {place for item in volatile for place in item.places}
        ids = {path: id for path, id in steady.ids.items() if path not in taken and path not in wholes}
        same = list(lookalikes(ids, steady.compared, write, words))
    texts = {place: item.proposal.text for item in volatile for place in item.places}
    output = with_values(_output_of(draft), texts)
    matcher = _compile_written(project, draft, output, is_new) if texts or refusals else first
    if not is_new:
        refusals += _refuse_templates(output, _output_of(draft), matcher)
    if len(observations) > 1 or texts:
        settled = [accepted, *comparisons]
        if matcher is not first:
            settled = [matcher.compare(observation) for observation in observations]
        refusals += _find_unresolved(settled, refusals)
    redactor = project.redactor.knowing(steady.outputs) if volatile or same else project.redactor
    learnt = masked_places(volatile, redactor)
    return CaptureLesson(output, learnt, tuple(refusals), masked_places(same, redactor))


def masked_places(places: Iterable[Volatile], redactor: Redactor) -> tuple[Volatile, ...]:
    """Return the places with their first values, masked, and one more value if there are more."""
    mask, most = redactor.mask_value, MOST_VALUES + 1
    return tuple(
        replace(place, values=tuple(mask(value, place.places[0]) for value in place.values[:most]))
        for place in places
    )


def _find_made_values(
    draft: Baseline,
    outputs: Sequence[Json],
    steady: "_SteadyValues",
    learnt: Sequence[Volatile],
    now: float,
    write: Write,
    words: PlaceholderContext,
) -> list[Volatile]:
    """Return what a write that was sent once has made, if it is in the stored output as it came."""
    kind = kind_of(draft.current)
    if len(outputs) > 1 or not kind.writes(draft.current):
        return []
    taken, wholes = {place for item in learnt for place in item.places}, kind.answers(draft.current)
    values_made = [
        item
        for item in made_by_write(outputs[0], draft.current.input, now, write, words)
        if item.places[0] not in taken and _is_literal(_output_of(draft), item.places[0], item.values[0])
        if item.places[0] not in wholes or not is_alone(item.proposal.text)
    ]
    compared = steady.compared([item.places[0] for item in values_made]) if values_made else ()
    return [item for item in values_made if item.places[0] in compared]


def _find_process_counts(
    outputs: Sequence[Json], steady: "_SteadyValues", learnt: Sequence[Volatile], words: PlaceholderContext
) -> list[Volatile]:
    """Return numbers that were the same but, by their names, measure a process, beside others that varied:
    they will differ after its next start."""
    if len(outputs) == 1:
        return []
    texts = {place: item.proposal.text for item in learnt for place in item.places}
    output = with_values(outputs[0], texts)
    counted: list[Volatile] = []
    for path, value in _values_beside(texts, output):
        is_leaf = path not in texts and not isinstance(value, bool | dict | list) and is_amount(value)
        if is_leaf and (tells_of_process(path, output) or tells_of_space(path, output)):
            best = narrowest(with_fraction(path, [value]), words=words)[0]
            reason = f"{best.reason}, which its name counts beside others that vary"
            proposal = PlaceholderProposal(best.text, reason)
            if not (best.says_little and isinstance(value, str)):
                counted.append(Volatile(path, (path,), (value,), proposal))
    places = steady.literal([item.places[0] for item in counted]) if counted else ()
    return [item for item in counted if item.places[0] in places]


def may_move_later(observations: Sequence[Observation]) -> bool:
    """Whether a number that was the same in all replays looks measured: it would differ after a while. Of a
    large output, which is rarely about the service itself, the beginning is looked at."""
    first, *others = [observation.output for observation in observations]
    beginning = islice(places(first), _MOST_PLACES)
    suspects = [path for path, value in beginning if looks_measured(path, value, first)]
    return any(
        all(same_json(_value_or_absent(other, path), value_at(first, path)) for other in others)
        for path in suspects
    )


def _values_beside(learnt: Iterable[Path], output: Json) -> Iterator[tuple[Path, Json]]:
    """Yield the values beside the learnt ones, and all of what a Go program tells of its memory."""
    statistics = {place: memory_statistics_above(place, output) for place in learnt if place}
    for path in {path for path in statistics.values() if path is not None}:
        yield from places(value_at(output, path), path)
    for parent in {place[:-1] for place, path in statistics.items() if path is None}:
        yield from (((*parent, key), value) for key, value in children(value_at(output, parent)))


def counted_once(output: Json) -> Iterator[Path]:
    """Yield the places whose names say that their number counts something in the service."""
    for path, value in places(output):
        is_leaf = not isinstance(value, bool | dict | list)
        if is_leaf and is_amount(value) and is_counted(path_with_row_name(path, output), value):
            yield path


def _link_view(
    observations: Sequence[Observation], steady: "_SteadyValues", write: Write, words: PlaceholderContext
) -> LinkView:
    """Prepare the search for links. A flow that writes, and was replayed once, has made what it saves."""
    saved = [observation.saved for observation in observations]
    return LinkView(saved, len(saved) == 1 and bool(saved[0]), steady.literal, write, words)


class _SteadyValues:
    """The values that were the same in all replays and are in the stored output as they came."""

    def __init__(
        self,
        draft: Baseline,
        matcher: Matcher,
        outputs: Sequence[Json],
        volatile: Sequence[Volatile],
        refusals: Sequence[UnlearnablePlace],
        now: float,
        words: PlaceholderContext,
    ):
        settled = {place for item in volatile for place in item.places} | {item.path for item in refusals}
        self._draft = draft
        self._matcher = matcher
        self._output = outputs[0]
        self._is_plain: bool | None = None
        stored = _output_of(draft)
        steadiness = UnchangedValues(outputs, settled)
        self.outputs = steadiness.outputs
        everywhere = steadiness.is_everywhere and stored is outputs[0]  # most captures
        templating = OutputTemplater(words.scope)

        def stands(path: Path, value: Json, may_name: bool = False) -> bool:
            if everywhere:
                literal = not (isinstance(value, str) and has_marker(value))
            else:
                literal = steadiness.is_same(path, value) and (
                    _is_literal(stored, path, value)
                    or (may_name and _is_named_in(stored, path, value, templating))
                )
            return literal and not _is_of_bytes(stored, path)

        volatile_found = volatile_values(outputs[0], now)
        self.moments = [moment for moment in volatile_found.of_now if stands(*moment, may_name=True)]
        self.ids = {path: value for path, value in volatile_found.ids if stands(path, value)}

    def keeps_variables(self, item: Volatile) -> bool:
        """Whether the proposal for a place still names the variables whose values are in it."""
        stored = _value_or_absent(_output_of(self._draft), item.places[0])
        variable_texts = (
            [token.text for token in tokens_in(stored)]
            if isinstance(stored, str) and has_marker(stored)
            else ()
        )
        return all(text in item.proposal.text for text in variable_texts)

    def literal(self, paths: Collection[Path]) -> set[Path]:
        """Return those paths that are compared and stored as they came, except a whole answer."""
        stored, output = _output_of(self._draft), self._output
        wholes = kind_of(self._draft.current).answers(self._draft.current)
        literal_paths = [path for path in paths if _is_literal(stored, path, value_at(output, path))]
        return self.compared([path for path in literal_paths if path and path not in wholes])

    def compared(self, paths: Sequence[Path]) -> set[Path]:
        """Return those paths at which another value would be a difference."""
        if self._is_plain is None:
            self._is_plain = self._matcher.is_plain
        if self._is_plain:
            return set(paths)
        changed = with_values(self._output, dict.fromkeys(paths, _NO_VALUE))
        differences = self._matcher.compare(Observation(changed, 0.0)).differences
        return {difference.at for difference in differences} & set(paths)


_NO_VALUE = "\0"


def _is_of_bytes(stored: Json, path: Path) -> bool:
    """Whether it is the hash that stands for a body of bytes: another hash means another body."""
    return path[-1:] == ("sha256",) and value_at(stored, path[:-1]).keys() == {"sha256", "size"}


def _value_or_absent(stored: Json, path: Path) -> Json:
    try:
        return value_at(stored, path)
    except (LookupError, TypeError):
        return ABSENT


def _is_named_in(stored: Json, path: Path, value: Json, templating: OutputTemplater) -> bool:
    """Whether the stored text is the value, apart from escapes and names of variables."""
    stored_value = _value_or_absent(stored, path)
    return isinstance(stored_value, str) and templating.expanded(stored_value) == value


def _is_literal(stored: Json, path: Path, value: Json) -> bool:
    stored_value = _value_or_absent(stored, path)
    return stored_value == value and not (isinstance(stored_value, str) and has_marker(stored_value))


def _output_of(draft: Baseline) -> Json:
    return draft.baseline.output if draft.baseline else None


def _compile_written(project: Project, draft: Baseline, output: Json, is_new: bool) -> Matcher:
    """Compile the baseline as it will be read from its file."""
    rules = draft.comparison
    if is_new:
        singles: dict[str, ArrayMode] = dict.fromkeys(
            ordered_singles(output, rules.type == "exact"), "ordered"
        )
        rules = replace(rules, arrays={**singles, **rules.arrays})
    written = replace(draft, baseline=Known(output=output), comparison=rules)
    return compile_baseline(written, project.words_of(draft))


class _DifferingPlaces:
    """The places where replays differ by the rules of the baseline, and their parents."""

    def __init__(self, comparisons: Sequence[Comparison]):
        differences = [difference for comparison in comparisons for difference in comparison.differences]
        self._all_kept = all(comparison.count == len(comparison.differences) for comparison in comparisons)
        self._at = {difference.at for difference in differences}
        self._ways = {at[:end] for at in self._at for end in range(len(at))}

    def agreed(self, path: Path) -> bool:
        is_inside = any(path[:end] in self._at for end in range(len(path) + 1))
        return self._all_kept and not is_inside and path not in self._ways


def _refuse_templates(output: Json, before: Json, matcher: Matcher) -> Iterator[UnlearnablePlace]:
    known_paths = set(single_element_arrays(before))
    for path in single_element_arrays(output):
        if path not in known_paths and matcher.arrays.get(path) in (None, "each"):
            message = "its one element, with a placeholder in it, would describe arrays of any length"
            hint = f"add `arrays: {{{render(path)}: ordered}}` to its `comparison:`"
            yield UnlearnablePlace(path, "template", message, hint)


def _find_unresolved(
    comparisons: Sequence[Comparison], refusals: Sequence[UnlearnablePlace]
) -> list[UnlearnablePlace]:
    """Return what the baseline would reject in the replays, except what is refused already."""
    refused = {refusal.path for refusal in refusals}
    unresolved: dict[Path, UnlearnablePlace] = {}
    for comparison in comparisons:
        for difference in comparison.differences:
            path = difference.at
            if not any(path[: len(other)] == other or other[: len(path)] == path for other in refused):
                message = "no placeholder was found that the rules accept in every replay"
                unresolved.setdefault(
                    path, UnlearnablePlace(path, "unresolved", message, "write a rule for it by hand")
                )
    return list(unresolved.values())
