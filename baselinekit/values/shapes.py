"""The leaves of a document by their shapes: all values at `rows.*.id`, in the order of the rows.

Examining all values of one shape takes a fraction of the time of a walk to each of them; paths are made only
for the values that need one."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, count

from baselinekit.frozen import slotted
from baselinekit.model.values import Json, Path
from baselinekit.values.places import Wild

Shape = tuple[str | int | Wild, ...]


@slotted
class Column:
    """The values at one shape. `above`: the column of the values that contain them; `step`: the key, or
    `Wild.ANY` for the elements of arrays (None: these are the values above of one kind, where there are
    several); `members`: the numbers of the values above that contain one (None: all)."""

    shape: Shape
    values: Sequence[Json]
    above: "Column | None" = None
    step: str | Wild | None = None
    members: Sequence[int] | None = None

    def paths(self) -> list[Path]:
        """The paths of all values."""
        if self.above is None:
            return [()]
        above, step = self.above.paths(), self.step
        if self.members is not None:
            above = [above[member] for member in self.members]
        if step is None:
            return above
        if isinstance(step, str):
            return [(*path, step) for path in above]
        lists = self.above.values
        return [(*path, index) for path, rows in zip(above, lists, strict=True) for index in range(len(rows))]

    def path(self, number: int) -> Path:
        """The path of one value."""
        if self.above is None:
            return ()
        if self.step is Wild.ANY:
            starts = list(accumulate(map(len, self.above.values), initial=0))
            row = bisect_right(starts, number) - 1
            return (*self.above.path(row), number - starts[row])
        path = self.above.path(number if self.members is None else self.members[number])
        return (*path, self.step) if isinstance(self.step, str) else path


def leaf_columns(value: Json) -> Iterator[Column]:
    """The columns of all scalars of a document, one for each shape, in no particular order."""
    waiting = [Column((), (value,))]
    while waiting:
        column = waiting.pop()
        kinds = set(map(type, column.values))
        if kinds.isdisjoint((dict, list)):
            yield column
        elif kinds == {dict}:
            waiting += _member_columns(column)
        elif kinds == {list}:
            elements = list(chain.from_iterable(column.values))
            if elements:
                waiting.append(Column((*column.shape, Wild.ANY), elements, column, Wild.ANY))
        else:
            waiting += _columns_by_kind(column)


def _member_columns(column: Column) -> Iterator[Column]:
    """The columns below objects, one for each key."""
    objects = column.values
    if len(set(map(tuple, objects))) == 1:  # all have the same keys in the same order
        for key, values in zip(objects[0], zip(*map(dict.values, objects), strict=True), strict=True):
            yield Column((*column.shape, key), values, column, key)
        return
    holders: dict[str, list[int]] = {}
    for number, row in enumerate(objects):
        for key in row:
            holders.setdefault(key, []).append(number)
    for key, members in holders.items():
        yield Column((*column.shape, key), [objects[number][key] for number in members], column, key, members)


def _columns_by_kind(column: Column) -> Iterator[Column]:
    """Separate columns for the objects, the arrays and the scalars of a column."""
    parts: dict[type, list[int]] = {}
    for number, value in enumerate(column.values):
        kind = dict if isinstance(value, dict) else list if isinstance(value, list) else object
        parts.setdefault(kind, []).append(number)
    for members in parts.values():
        values = [column.values[number] for number in members]
        yield Column(column.shape, values, column, None, members)


def document_order(value: Json) -> Callable[[Path], tuple[int, ...]]:
    """A key function that sorts paths in the order of their places in the document."""
    positions_by_id: dict[int, dict[str, int]] = {}

    def order(path: Path) -> tuple[int, ...]:
        places, inner = [], value
        for step in path:
            if isinstance(step, int):
                places.append(step)
            else:
                positions = positions_by_id.get(id(inner))
                if positions is None:
                    positions = positions_by_id[id(inner)] = dict(zip(inner, count(), strict=False))
                places.append(positions[step])
            inner = inner[step]
        return tuple(places)

    return order
