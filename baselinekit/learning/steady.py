"""Values that were the same in every replay of a recipe and may still change: a moment of now is learnt as if
it had varied; what looks like an id is only reported."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from baselinekit.frozen import frozen
from baselinekit.learning.learning import Volatile
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.counters import ROW_VALUES, path_with_row_name
from baselinekit.placeholders.moments import (
    NEAR,
    days_in,
    is_of_now,
    may_hold_now,
    may_hold_now_among,
    moments_in,
)
from baselinekit.placeholders.narrowest import (
    PlaceholderProposal,
    accepts_all,
    narrowest,
    template_around_varying_parts,
)
from baselinekit.placeholders.nature import (
    LEAST,
    SHORTEST,
    ids_among,
    is_id_of_new,
    looks_like_id,
    moment_of,
)
from baselinekit.placeholders.pieces import Write, split_into_pieces
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.equality import identical, same_json
from baselinekit.values.paths import of_any_row
from baselinekit.values.places import value_at
from baselinekit.values.shapes import Column, Shape, document_order, leaf_columns


class UnchangedValues:
    """Tells which values are the same in all outputs, outside of the places that are known already
    (`known_paths`)."""

    def __init__(self, outputs: Sequence[Json], known_paths: Collection[Path]):
        self._first = outputs[0]
        self._others = [output for output in outputs[1:] if not identical(output, outputs[0])]
        self._known_paths = known_paths

    @property
    def outputs(self) -> list[Json]:
        """The first output, and those that differ from it."""
        return [self._first, *self._others]

    @property
    def is_everywhere(self) -> bool:
        """Whether all values are the same."""
        return not self._others and not self._known_paths

    def is_same(self, path: Path, value: Json) -> bool:
        """Whether a value of the first output stands at the same path in all."""
        if self._known_paths and any(path[:end] in self._known_paths for end in range(len(path) + 1)):
            return False
        try:
            return all(same_json(value_at(output, path), value) for output in self._others)
        except (LookupError, TypeError):
            return False


@frozen
class VolatileValues:
    """The values of an output that look like ids, and those that may be, or hold, a moment of now, with their
    paths. Ids are ordered shape by shape, each shape by its first value; moments are in document order."""

    ids: Sequence[tuple[Path, Json]] = ()
    of_now: Sequence[tuple[Path, Json]] = ()


def volatile_values(output: Json, now: float) -> VolatileValues:
    """Find the volatile values of an output. All values of one shape are checked together, and paths are made
    only for the results."""
    ids: list[list[tuple[Path, Json]]] = []
    of_now: list[tuple[Path, Json]] = []
    for column in leaf_columns(output):
        like_ids, recent = (_with_paths(column, numbers) for numbers in _find_volatile(column, output, now))
        if like_ids:
            ids.append(like_ids)
        of_now += recent
    order = document_order(output)
    ids.sort(key=lambda pairs: order(pairs[0][0]))
    of_now.sort(key=lambda pair: order(pair[0]))
    return VolatileValues(list(chain.from_iterable(ids)), of_now)


def _with_paths(column: Column, numbers: Sequence[int]) -> list[tuple[Path, Json]]:
    """Return some values of a column with their paths."""
    paths = (
        column.paths() if len(numbers) > _FEW_VALUES else {number: column.path(number) for number in numbers}
    )
    return [(paths[number], column.values[number]) for number in numbers]


_FEW_VALUES = 10


def _find_volatile(column: Column, output: Json, now: float) -> tuple[Sequence[int], Sequence[int]]:
    """Return the indexes of the values of one shape that look like ids, and of those that may be of now."""
    name = next((step for step in reversed(column.shape) if isinstance(step, str)), "")
    if name in ROW_VALUES and column.shape[-1] == name:  # the name of each value is in its row
        paths = column.paths()
        ids = [
            n
            for n, value in enumerate(column.values)
            if looks_like_id(value, path_with_row_name(paths[n], output))
        ]
        id_numbers = set(ids)
        return ids, [
            n for n, value in enumerate(column.values) if _may_be_of_now(value, n in id_numbers, now)
        ]
    texts = {value for value in column.values if value.__class__ is str and len(value) >= SHORTEST}
    like_ids = ids_among(texts, name)
    texts_of_now = {text for text in may_hold_now_among(texts, now) if text in like_ids or holds_moment(text)}
    numbers = [
        n
        for n, value in enumerate(column.values)
        if value.__class__ is not str and value.__class__ is not bool and value is not None and value >= LEAST
    ]
    large = [n for n in numbers if looks_like_id(column.values[n], (name,))]
    large += [
        n for n, value in enumerate(column.values) if n not in large and is_id_of_new(name, value, output)
    ]
    recent = [n for n in numbers if _may_be_of_now(column.values[n], False, now)]
    if like_ids:
        large += [n for n, value in enumerate(column.values) if value.__class__ is str and value in like_ids]
    if texts_of_now:
        recent += [
            n for n, value in enumerate(column.values) if value.__class__ is str and value in texts_of_now
        ]
    return sorted(large), sorted(recent)


def _may_be_of_now(value: Json, is_id: bool, now: float) -> bool:
    """Whether a value may be, or hold, a moment within minutes of now or the day of today."""
    if isinstance(value, str):
        return may_hold_now(value, now) and (is_id or holds_moment(value))
    when = moment_of(value)
    return when is not None and abs(when - now) <= NEAR


def holds_moment(value: Json) -> bool:
    """Whether a value is or holds a moment or a day."""
    if moment_of(value) is not None:
        return True
    return isinstance(value, str) and (any(moments_in(value)) or any(days_in(value)))


def moments_of_now(
    steady: Iterable[tuple[Path, Json]], now: float, write: Write, words: PlaceholderContext
) -> Iterator[Volatile]:
    """Yield the values that are a moment within minutes of now or the day of today, or texts that hold
    one."""
    words = replace(words, now=now)
    for path, value in steady:
        if isinstance(value, str) and not may_hold_now(value, now):
            continue  # most texts
        if isinstance(value, str) and not is_of_now(value, now):
            if not any(is_of_now(piece, now) for piece in split_into_pieces(value, words)):
                continue  # no part of it would vary
            template = template_around_varying_parts([value, value], write, words)
            if template is not None and not template.says_little:
                proposal = PlaceholderProposal(template.text, "a moment of now in it")
                yield Volatile(path, (path,), (value,), proposal)
            continue
        when = moment_of(value)
        if isinstance(value, str) or (when is not None and abs(when - now) <= NEAR):
            proposal = narrowest([value], write, words)[0]
            if not proposal.says_little:
                reason = f"{proposal.reason}, of now"
                yield Volatile(path, (path,), (value,), PlaceholderProposal(proposal.text, reason))


def lookalikes(
    values_by_path: Mapping[Path, Json],
    is_compared: Callable[[Sequence[Path]], Collection[Path]],
    write: Write,
    words: PlaceholderContext,
) -> Iterator[Volatile]:
    """Yield what looks like an id by its path and value, with the placeholder that could stand there: one for
    all rows if each of them has one. `is_compared` selects the paths that the rules compare."""
    compared = is_compared(list(values_by_path)) if values_by_path else ()
    by_shape: dict[Shape, list[Path]] = {}
    for path in values_by_path:
        if path in compared:
            by_shape.setdefault(of_any_row(path), []).append(path)
    for shape, paths in by_shape.items():
        values = tuple(values_by_path[path] for path in paths)
        proposal = _propose(values, write, words)
        if proposal.says_little and len(paths) > 1:
            yield from (
                Volatile(
                    path, (path,), (values_by_path[path],), narrowest([values_by_path[path]], write, words)[0]
                )
                for path in paths
            )
        else:
            yield Volatile(shape if len(paths) > 1 else paths[0], tuple(paths), values, proposal)


_SAMPLE_SIZE = 200


def _propose(values: Sequence[Json], write: Write, words: PlaceholderContext) -> PlaceholderProposal:
    """Return a placeholder for ids of one kind. For very many ids, it is made from the first ones if it
    accepts all."""
    proposal = narrowest(values[:_SAMPLE_SIZE], write, words)[0]
    if len(values) > _SAMPLE_SIZE and (proposal.says_little or not accepts_all(proposal.text, values, words)):
        return narrowest(values, write, words)[0]
    return proposal
