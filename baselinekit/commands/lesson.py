"""What the replays of one baseline show, compared with its stored output place by place: what varies, and
what has changed and stays."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from baselinekit.changes.alternatives import unescaped
from baselinekit.changes.texts import TextPart, fill_placeholders, judge_parts
from baselinekit.commands.lists import Ruled
from baselinekit.commands.pending import span_of
from baselinekit.commands.project import Project
from baselinekit.commands.templating import OutputTemplater
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.learning.learning import ReplayView, UnlearnablePlace, Volatile, is_handwritten, learn_places
from baselinekit.model.baselines import Difference
from baselinekit.model.changes import KeptOutput
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.counters import (
    counts_running,
    is_among_metrics,
    is_amount,
    is_counted,
    path_with_row_name,
    with_fraction,
)
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.narrowest import PlaceholderProposal, accepts_all, is_alone, narrowest
from baselinekit.placeholders.nature import are_numbers, is_hash, nature_of_change
from baselinekit.report.values import short, short_words
from baselinekit.values.equality import same_json
from baselinekit.values.paths import render
from baselinekit.values.places import children, value_at, with_values

ACCEPT = "if it is right: baselinekit compare, then baselinekit refresh"
_ANY_AMOUNT = "<<any_number>>"
_DEFINITION = "what the metrics are called and divided by is no value: if it is right, baselinekit refresh"
REPLACE = "widen it, or have it replaced: --learn --drop-placeholders"
_MOST_VALUES = 3
_LONGEST_PART = 40
_SEPARATOR = lazy_pattern(r"\S\s+\S|[,;&?]")
_MESSAGES: Mapping[str, str] = {
    "missing": "it is gone",
    "extra": "it is new",
    "order": "its elements come in another order",
    "count": "it has another number of elements",
    "type": "it is of another type",
    "tolerance": "it is further off than its tolerance",
    "similarity": "it says something else",
}


def is_learnable_if_unchanged(place: UnlearnablePlace) -> bool:
    """Whether a difference that stays would be learnt if the service is known to be unchanged: all but a key
    that is gone or new."""
    is_key = bool(place.path) and isinstance(place.path[-1], str)
    return place.hint == ACCEPT and not (
        is_key and place.message in (_MESSAGES["missing"], _MESSAGES["extra"])
    )


def _row_values(stored: Json, table: Path) -> Iterator[tuple[Path, Json]]:
    """Yield the leaves of the rows of a table."""
    for number, row in children(value_at(stored, table)):
        yield from (((*table, number, key), value) for key, value in children(row))


def _are_in_parts(written: str, values: Sequence[Json]) -> bool:
    """Whether these are texts of several words or lines, and not single values."""
    if is_alone(written) or not all(isinstance(value, str) for value in values):
        return False
    return any(map(_SEPARATOR.search, map(str, values)))


def _output_with(path: Path, siblings: Json) -> Json:
    """Return an output in which these values are beside a place."""
    for key in reversed(path[:-1]):
        siblings = {key: siblings}
    return siblings


def _leaf_or_absent(stored: Json, path: Path) -> Json:
    try:
        value = value_at(stored, path)
    except (LookupError, TypeError):
        return ABSENT
    return ABSENT if isinstance(value, dict | list) else value


def _has(output: Json, path: Path) -> bool:
    try:
        value_at(output, path)
    except (LookupError, TypeError):
        return False
    return True


class Lesson:
    """What the replays of one baseline show, compared with its stored output: the values at each place that
    differs, in the order of the replays. `kept` is the answer of an earlier compare."""

    def __init__(
        self,
        project: Project,
        ruled: Ruled,
        now: float,
        mask: Callable[[Json, Path], Json],
        kept: KeptOutput | None = None,
        is_unchanged: bool = False,
    ):
        self._mask, self._is_unchanged, self._outputs = mask, is_unchanged, ruled.outputs
        self._project, self._baseline, self._matcher = project, ruled.baseline, ruled.matcher
        stored_baseline = ruled.baseline.baseline
        assert stored_baseline is not None
        self._stored, self._replay_count, self._span = (
            stored_baseline.output,
            len(ruled.settled),
            span_of(ruled.baseline, now),
        )
        self._evidence, self._moving = stored_baseline.learnt, stored_baseline.output
        self.unlearnable: list[UnlearnablePlace] = []
        self._changed_parts: list[UnlearnablePlace] = []
        self.is_open = False
        """Whether a number has changed on which all answers agree."""
        self._words = project.words_of(ruled.baseline)
        self._templating = OutputTemplater(self._words.scope)
        self._has_kept = kept is not None
        self._varied = kept.varied if kept else ()
        self._known = (self._stored, *([kept.resolved] if kept else []))
        self._kept = {
            path: value
            for path, value in (kept.differing if kept else ())
            if _leaf_or_absent(self._stored, path) is not ABSENT
            and not (ruled.is_rewritten(path) or self._is_definition(path))
        }
        self._values_by_replay: dict[Path, dict[int, Json]] = {}
        differing = [{spot.path for spot in comparison.differences} for comparison in ruled.settled]
        for number, comparison in enumerate(ruled.settled):
            for difference in comparison.differences:
                self._note(number, difference)
        self.unlearnable = [
            self._coming_and_going(place, sum(place.path in paths for paths in differing))
            for place in self.unlearnable
        ]

    def _coming_and_going(self, place: UnlearnablePlace, number: int) -> UnlearnablePlace:
        """Return the place of a key that differs in only some of the answers with the rule that settles
        it."""
        is_key = bool(place.path) and isinstance(place.path[-1], str)
        if not is_key or place.hint != ACCEPT or number == self._replay_count:
            return place
        path = render(place.path)
        message = f"{place.message} in {number} of {self._replay_count} answers"
        hint = f"if it does not matter, `ignore_fields: [{path}]` (--ignore)"
        is_known = any(_has(output, place.path) for output in self._known)
        rule = ("--ignore", path) if is_known else ()  # a path that leads to nothing is refused
        return UnlearnablePlace(place.path, "structural", message, hint, rule)

    def _note(self, number: int, difference: Difference) -> None:
        value = _leaf_or_absent(self._stored, difference.at)
        is_leaf = value is not ABSENT and difference.kind in ("value", "type")
        if self._is_definition(difference.at):
            message = _MESSAGES.get(difference.kind, "it says something else")
            self.unlearnable.append(UnlearnablePlace(difference.path, "structural", message, _DEFINITION))
        elif is_leaf and not isinstance(difference.actual, dict | list):
            self._values_by_replay.setdefault(difference.at, {})[number] = difference.actual
        elif all(place.path != difference.path for place in self.unlearnable):
            message = _MESSAGES.get(difference.kind, "it differs")
            self.unlearnable.append(UnlearnablePlace(difference.path, "structural", message, ACCEPT))

    def _is_definition(self, path: Path) -> bool:
        current = self._baseline.current
        return kind_of(current).is_definition(current, path)

    def learn(self, replaces_handwritten: bool) -> tuple[list[Volatile], list[UnlearnablePlace]]:
        """Return the placeholders, and the places that vary and cannot be learnt. A value that is the same in
        every answer, but not the stored one, is a change, unless by nature it changes after a while."""
        self._moving = self._mark_moving_numbers()
        first: dict[Path, Json] = {}
        later_values: list[dict[Path, Json]] = [{} for _ in range(self._replay_count + self._has_kept)]
        for path in dict.fromkeys((*self._kept, *self._values_by_replay)):
            values = self._values_at(path, replaces_handwritten)
            if values:
                first[path] = values[0]
                for number, value in enumerate(values[1:]):
                    later_values[number][path] = value
        kind = kind_of(self._baseline.current)
        view = ReplayView(
            outcomes=kind.outcomes(self._baseline.current),
            wholes=kind.answers(self._baseline.current),
            numeric=self._matcher.type == "numeric",
            arrays=self._matcher.arrays,
            write=self._templating.text,
            words=self._words,
        )
        outputs = [with_values(self._stored, values) for values in (first, *later_values)] if first else []
        lesson = learn_places(outputs, view) if outputs else None
        if lesson is None:
            self.unlearnable += self._changed_parts
            return [], []
        volatile = list(lesson.volatile)
        placed = lesson.placeholders
        # a row may be covered by what others taught
        self.unlearnable = [item for item in self.unlearnable if item.path not in placed]
        self.unlearnable += self._changed_parts
        return [*volatile, *self._find_counters_beside(volatile)], list(lesson.refusals)

    def _values_at(self, path: Path, replaces_handwritten: bool) -> list[Json]:
        """Return the value on file at a place, and the values of each answer, that of the compare first.
        Empty if nothing is to be learnt: a change is reported."""
        new_values = self._values_by_replay.get(path, {})
        written = _leaf_or_absent(self._stored, path)
        if not replaces_handwritten and is_handwritten(written, path, self._evidence):
            if new_values:
                self.unlearnable.append(self._too_narrow(path, written, list(new_values.values())))
            return []
        stored = self._plain_stored(written)
        is_literal = stored != written or not (isinstance(written, str) and has_marker(written))
        default = stored if is_literal else ABSENT
        values = [new_values.get(number, default) for number in range(self._replay_count)]
        if not new_values and not is_literal:
            values = [_leaf_or_absent(output, path) for output in self._outputs] if self._is_unchanged else []
            if not values or ABSENT in values:
                return []
        elif not new_values and not self._varies(path, stored, [self._kept[path]]):
            return []
        if self._has_kept:
            values.insert(0, self._kept.get(path, default))
        present = [value for value in values if value is not ABSENT]
        values = [present[0] if value is ABSENT else value for value in values]
        if (
            new_values
            and not self._is_unchanged
            and isinstance(written, str)
            and _are_in_parts(written, values)
        ):
            return self._judge_text(path, written, is_literal, values)
        if new_values and not self._varies(
            path, stored, [new_values.get(number, default) for number in range(self._replay_count)]
        ):
            sides = [self._mask(value, path) for value in (stored, values[-1])]
            before, after = map(short, sides)
            if before == after:  # 29 and "29"
                before, after = (
                    f"{text} ({json_type(side)})" for text, side in zip((before, after), sides, strict=True)
                )
            message = f"it changed from {before} (on file) to {after} (in {self._all_answers})"
            self.unlearnable.append(UnlearnablePlace(path, "unresolved", message, ACCEPT))
            self.is_open |= are_numbers(stored, values[-1])
            return []
        return [stored if is_literal else present[0], *values]

    def _judge_text(self, path: Path, written: str, is_literal: bool, values: list[Json]) -> list[Json]:
        """Do the same for a text, part by part: a part on which all answers agree stays as it is on file,
        however much varies beside it, unless by nature it changes after a while."""
        texts = [str(value) for value in values]
        stored = (
            str(self._plain_stored(written))
            if is_literal
            else fill_placeholders(written, texts[0], self._words)
        )

        def is_natural(part: TextPart) -> bool:
            return self._is_natural_part(path, stored, part)

        judged = judge_parts(
            stored, texts, self._replay_count, is_natural, self._words, is_template=not is_literal
        )
        for part in judged.changes:
            before, after = (
                short_words(str(self._mask(text, path)), _LONGEST_PART) for text in (part.before, part.after)
            )
            name = f'the part after "{part.name}"' if part.name else "a part of it"
            message = f'{name} changed from "{before}" (on file) to "{after}" (in {self._all_answers})'
            self._changed_parts.append(UnlearnablePlace(path, "unresolved", message, ACCEPT))
            self.is_open |= are_numbers(part.before, part.after)
        if not is_literal and any(has_marker(part.before) for part in judged.changes):
            return []  # words have changed beside a placeholder: its place in the answers is unknown
        answers: list[Json] = list(judged.answers)
        is_new = (
            any(text != stored for text in answers)
            if is_literal
            else not accepts_all(written, answers, self._words)
        )
        return [stored if is_literal else answers[0], *answers] if is_new else []

    def _is_natural_part(self, path: Path, whole: str, part: TextPart) -> bool:
        if part.is_peer_port:
            return True
        place = (*path, part.name) if part.name else path
        siblings = {str(number): _ANY_AMOUNT for number in range(part.moved)}
        nature = nature_of_change(place, part.before, part.after, self._span, _output_with(place, siblings))
        return nature is not None and not (nature == "id" and is_hash(path, whole))

    def _plain_stored(self, written: Json) -> Json:
        """Return a stored value without its escapes, and with the values of its variables. One with another
        placeholder stays as it is."""
        if not (isinstance(written, str) and has_marker(written)):
            return written
        expanded = self._templating.expanded(written)
        return unescaped(written) if expanded is None else expanded

    def _too_narrow(self, path: Path, written: Json, new_values: Sequence[Json]) -> UnlearnablePlace:
        """Report a handwritten placeholder that is too narrow: it is replaced only if the user says so."""
        shown_values = list(dict.fromkeys(short(self._mask(value, path)) for value in new_values))
        values = ", ".join(shown_values[:_MOST_VALUES]) + (", …" if len(shown_values) > _MOST_VALUES else "")
        message = f"{written}, written by hand, does not accept {values}"
        return UnlearnablePlace(path, "unresolved", message, REPLACE)

    def _find_counters_beside(self, volatile: Sequence[Volatile]) -> Iterator[Volatile]:
        """In a table of named rows in which numbers moved, yield the other rows whose name says that they
        count, or measure a process: a processor that was idle in three replays will not be idle for ever."""
        output = with_values(
            self._stored, {place: item.proposal.text for item in volatile for place in item.places}
        )
        tables = {place[:-2] for item in volatile for place in item.places if is_among_metrics(place, output)}
        taken_places = {*self._values_by_replay, *(place for item in volatile for place in item.places)}
        for path, value in (pair for table in tables for pair in _row_values(self._stored, table)):
            name_path = path_with_row_name(path, output)
            is_counting = is_amount(value) and (is_counted(name_path, value) or counts_running(name_path))
            if (
                name_path != path
                and is_counting
                and path not in taken_places
                and is_among_metrics(path, output)
            ):
                proposal = narrowest(with_fraction(path, [value]), words=self._words)[0]
                reason = f"{proposal.reason}, which its name counts in a table of such"
                yield Volatile(path, (path,), (value,), PlaceholderProposal(proposal.text, reason))

    @property
    def _all_answers(self) -> str:
        return "the answer" if self._replay_count == 1 else f"all {self._replay_count} answers"

    def _varies(self, path: Path, stored: Json, values: Sequence[Json]) -> bool:
        if (
            self._is_unchanged
            or path in self._varied
            or any(value is ABSENT or not same_json(value, values[0]) for value in values)
        ):
            return True
        place = kind_of(self._baseline.current).named_place(self._baseline.current, path)
        return nature_of_change(place, stored, values[0], self._span, self._moving) is not None

    def _mark_moving_numbers(self) -> Json:
        """Return the stored output with a placeholder for each number that was different in each answer: a
        row beside it may have moved only once."""
        moving: dict[Path, Json] = {
            path: _ANY_AMOUNT
            for path, values in self._values_by_replay.items()
            if len(set(map(str, values.values()))) > 1 and all(map(is_amount, values.values()))
        }
        return with_values(self._stored, moving)
