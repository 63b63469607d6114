"""What the replays of one baseline say beside its stored output, place by place: what varies, and what has
changed and stays."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from baselinekit.approval.lists import Ruled
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Difference
from baselinekit.model.changes import Seen
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.narrowest import PlaceholderProposal, accepts_all, is_alone, narrowest
from baselinekit.placeholders.nature import (
    are_numbers,
    counts_running,
    is_among_metrics,
    is_amount,
    is_counted,
    is_hash,
    named,
    nature_of_change,
)
from baselinekit.refresh.alternatives import unescaped
from baselinekit.refresh.learning import ReplayView, UnlearnablePlace, Volatile, is_handwritten, learn_places
from baselinekit.refresh.texts import TextPart, filled, judge_parts
from baselinekit.report.values import short
from baselinekit.tree.equality import same_json
from baselinekit.tree.places import children, value_at, with_values
from baselinekit.workflow.learning import Templating
from baselinekit.workflow.pending import span_of
from baselinekit.workflow.project import Project

ACCEPT = "if it is right: baselinekit compare, then baselinekit refresh"
_ANY_AMOUNT = "<<any_number>>"
REPLACE = "widen it, or have it replaced: --learn --drop-placeholders"
_MOST_VALUES = 3
_LONGEST_PART = 40
_SEVERAL = lazy_pattern(r"\S\s+\S|[,;&?]")
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


def _are_in_parts(written: str, values: Sequence[Json]) -> bool:
    """Whether these are texts of several words or lines, and not one value as a text."""
    if is_alone(written) or not all(isinstance(value, str) for value in values):
        return False
    return any(map(_SEVERAL.search, map(str, values)))


def _around(path: Path, beside: Json) -> Json:
    """An output in which these values stand beside a place."""
    for key in reversed(path[:-1]):
        beside = {key: beside}
    return beside


def _leaf(stored: Json, path: Path) -> Json:
    try:
        value = value_at(stored, path)
    except (LookupError, TypeError):
        return ABSENT
    return ABSENT if isinstance(value, dict | list) else value


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
        self._changed_parts: list[UnlearnablePlace] = []
        self.is_open = False
        """Whether a number has changed on which all answers agree."""
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
            message = _WHAT.get(difference.kind, "it differs")
            self.told.append(UnlearnablePlace(difference.path, "structural", message, ACCEPT))

    def learn(self, replaces_handwritten: bool) -> tuple[list[Volatile], list[UnlearnablePlace]]:
        """The placeholders, and what varies and cannot be learnt. What is the same in every answer, and not
        what is stored, is a change, unless it is by nature another one after a while."""
        self._moving = self._with_what_moves()
        first: dict[Path, Json] = {}
        later: list[dict[Path, Json]] = [{} for _ in range(self._times + self._has_kept)]
        for path in dict.fromkeys((*self._kept, *self._came)):
            values = self._values_at(path, replaces_handwritten)
            if values:
                first[path] = values[0]
                for number, value in enumerate(values[1:]):
                    later[number][path] = value
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
            self.told += self._changed_parts
            return [], []
        volatile = list(lesson.volatile)
        placed = lesson.placeholders
        self.told = [one for one in self.told if one.path not in placed]  # a row learns of the others
        self.told += self._changed_parts
        return [*volatile, *self._counted_beside(volatile)], list(lesson.refusals)

    def _values_at(self, path: Path, replaces_handwritten: bool) -> list[Json]:
        """What is on file at a place, and what came there each time, the answer of a compare first. Empty
        where nothing is to be learnt: what has changed is told."""
        came = self._came.get(path, {})
        written = _leaf(self._stored, path)
        if not replaces_handwritten and is_handwritten(written, path, self._evidence):
            if came:
                self.told.append(self._too_narrow(path, written, list(came.values())))
            return []
        stored = self._as_it_came(written)
        is_literal = stored != written or not (isinstance(written, str) and has_marker(written))
        usual = stored if is_literal else ABSENT
        values = [came.get(number, usual) for number in range(self._times)]
        if not came and not is_literal:
            values = [_leaf(output, path) for output in self._outputs] if self._is_unchanged else []
            if not values or ABSENT in values:
                return []
        elif not came and not self._varies(path, stored, [self._kept[path]]):
            return []
        if self._has_kept:
            values.insert(0, self._kept.get(path, usual))
        known = [value for value in values if value is not ABSENT]
        values = [known[0] if value is ABSENT else value for value in values]
        if came and not self._is_unchanged and isinstance(written, str) and _are_in_parts(written, values):
            return self._judged_text(path, written, is_literal, values)
        if came and not self._varies(
            path, stored, [came.get(number, usual) for number in range(self._times)]
        ):
            now, on_file = (short(self._mask(value, path)) for value in (values[-1], stored))
            message = f"it is {now} in {self._each}, and {on_file} on file: a change"
            self.told.append(UnlearnablePlace(path, "unresolved", message, ACCEPT))
            self.is_open |= are_numbers(stored, values[-1])
            return []
        return [stored if is_literal else known[0], *values]

    def _judged_text(self, path: Path, written: str, is_literal: bool, values: list[Json]) -> list[Json]:
        """The same of a text, part by part: what all answers agree on stays as it is on file, however much
        varies beside it, unless it is by nature another one after a while."""
        came = [str(value) for value in values]
        stored = str(self._as_it_came(written)) if is_literal else filled(written, came[0], self._words)

        def is_natural(part: TextPart) -> bool:
            return has_marker(part.before) or self._is_natural_part(path, stored, part)

        judged = judge_parts(stored, came, self._times, is_natural, self._words)
        for part in judged.changes:
            now, on_file = (
                short(self._mask(text, path), _LONGEST_PART) for text in (part.after, part.before)
            )
            name = f"{part.name}: " if part.name else ""
            message = f"in it, {name}{now} in {self._each}, and {on_file} on file: a change"
            self._changed_parts.append(UnlearnablePlace(path, "unresolved", message, ACCEPT))
            self.is_open |= are_numbers(part.before, part.after)
        answers: list[Json] = list(judged.answers)
        is_new = (
            any(text != stored for text in answers)
            if is_literal
            else not accepts_all(written, answers, self._words)
        )
        return [stored if is_literal else answers[0], *answers] if is_new else []

    def _is_natural_part(self, path: Path, whole: str, part: TextPart) -> bool:
        place = (*path, part.name) if part.name else path
        beside = {str(number): _ANY_AMOUNT for number in range(part.moved)}
        nature = nature_of_change(place, part.before, part.after, self._span, _around(place, beside))
        return nature is not None and not (nature == "id" and is_hash(path, whole))

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
        message = f"{written}, written by hand, does not accept {values}"
        return UnlearnablePlace(path, "unresolved", message, REPLACE)

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
