"""Reads rows of a YAML list that are written alike, line for line: the same line of all rows is read at once,
by functions of Python that are written in C. A step for every line would take three times as long. The first
row of each shape is read line by line; its lines and its value determine how the others are read."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, repeat
from operator import attrgetter, itemgetter
from typing import Any, Protocol

from baselinekit.documents.yamlscalars import NO_KEYS, LineStart, NotPlainYaml, Scalars, block_text
from baselinekit.frozen import frozen
from baselinekit.model.values import Json


class YamlLines(Protocol):
    """A text that is read line by line."""

    lines: list[str]

    def parse(self, line: str) -> tuple[LineStart | None, str]: ...

    def extent(self, header: str, start: int, column: int) -> tuple[int, int]:
        """Return where the block that starts on a line ends, and its indentation. `column` is that of its
        entry."""


Read = Callable[[Scalars, Sequence[str], int], Sequence[Json]]
"""Returns the values of a number of rows. For each line of a row it gets the remainders of that line in all
rows."""


@frozen
class _RowLine:
    """A line that each row has: its first characters, or all of it. `is_block_start`: whether it is the first
    line of a block, which determines the block's indentation."""

    text: str
    is_whole: bool = True
    is_block_start: bool = False

    def remainders(self, lines: list[str]) -> str | None:
        """Return what follows `text` in these lines, one per line; None if one of them is a different
        line."""
        if self.is_whole:
            return "" if lines.count(self.text) == len(lines) else None
        prefix = f"\n{self.text}"
        text = "\n" + "\n".join(lines)
        if text.count(prefix) != len(lines):
            return None
        text = text.replace(prefix, "\n")
        if self.is_block_start and (text[-1] == "\n" or any(map(text.count, ("\n\n", "\n ", "\n\t")))):
            return None
        return text[1:]


@frozen
class RowShape:
    """The shape of rows. `nodes`: how many values and keys each has; `keys`: the keys in it."""

    lines: tuple[_RowLine, ...]
    read: Read
    nodes: int
    keys: frozenset[str]

    def values(self, scalars: Scalars, lines: list[str]) -> Sequence[Json] | None:
        """Return the values of the rows in these lines; None if any of them has another shape."""
        size = len(self.lines)
        remainders = []
        for number, line in enumerate(self.lines):
            remainder = line.remainders(lines[number::size])
            if remainder is None:
                return None
            remainders.append(remainder)
        return self.read(scalars, remainders, len(lines) // size)

    def fits(self, lines: list[str]) -> bool:
        """Whether a row with as many lines may have this shape."""
        pairs = zip(self.lines, lines, strict=True)
        return all(line == part.text if part.is_whole else line.startswith(part.text) for part, line in pairs)


_SHAPES: dict[int, list[RowShape]] = {}
"""The latest shapes from all texts, by their number of lines: the files of one API have the same ones. Rows
that start alike are read alike."""
_MAX_SHAPES_PER_SIZE, _MAX_SIZES = 4, 64


def shape_of(text: YamlLines, start: int, end: int, value: Json) -> RowShape | None:
    """Return the shape of the row in these lines, which has this value."""
    row = text.lines[start:end]
    if shape := next((known for known in _SHAPES.get(len(row), ()) if _certainly_fits(known, row)), None):
        return shape
    shape = _make_shape(text, start, end, value)
    if shape is not None and len(shape.lines) == len(row):
        if len(_SHAPES) >= _MAX_SIZES:
            _SHAPES.clear()
        _SHAPES[len(row)] = [shape, *_SHAPES.get(len(row), ())][:_MAX_SHAPES_PER_SIZE]
    return shape


def _certainly_fits(shape: RowShape, row: list[str]) -> bool:
    """Whether these lines certainly are a row of a shape from elsewhere: their remainders are just
    scalars."""
    if not shape.fits(row):
        return False
    remainders = [
        line[len(part.text) :] for part, line in zip(shape.lines, row, strict=True) if not part.is_whole
    ]
    return not any(
        remainder[:1] in _NOT_SCALAR_STARTS
        or remainder[:2] == "- "
        or remainder[-1] == ":"
        or ": " in remainder
        for remainder in remainders
    )


_NOT_SCALAR_STARTS = ("", " ", "\t", "|")


def _make_shape(text: YamlLines, start: int, end: int, value: Json) -> RowShape | None:
    try:
        lines, sources = _split_row(text, start, end)
        maker = _ReaderMaker(iter(sources))
        read = maker.reader(value)
    except (StopIteration, NotPlainYaml):
        return None
    if next(maker.sources, None) is not None:
        return None
    return RowShape(tuple(lines), read, maker.nodes, frozenset(maker.keys))


_Source = tuple[str, list[int | str]]
"""Where the value of an entry is: after it, on this line of the row; in a block with this header and these
lines, or blank lines as they are; or below it."""
_ON_LINE, _BELOW = "behind", "below"


def _split_row(text: YamlLines, start: int, end: int) -> tuple[list[_RowLine], list[_Source]]:
    """Return the lines of a row, and the sources of its entries, in order."""
    lines: list[_RowLine] = []
    sources: list[_Source] = []
    number = start
    while number < end:
        line = text.lines[number]
        head, scalar = text.parse(line)
        number += 1
        if head is None or not scalar:  # a comment or a blank line; a key
            lines.append(_RowLine(line))
            sources += [(_BELOW, [])] if head is not None else []
        elif scalar[0] != "|":
            sources.append((_ON_LINE, [len(lines)]))
            lines.append(_RowLine(line[: len(line) - len(scalar)], is_whole=False))
        else:
            lines.append(_RowLine(line))
            block_end, indent = text.extent(scalar, number, head[2] + 2 * (len(head[3]) - 1))
            parts: list[int | str] = []
            for content in text.lines[number:block_end]:
                is_block_start = not parts and not scalar[1:2].isdigit()
                is_blank = not content.strip(" ")
                parts.append(content[indent:] if is_blank else len(lines))
                lines.append(_RowLine(content) if is_blank else _RowLine(" " * indent, False, is_block_start))
            sources.append((scalar, parts))
            number = block_end
    return lines, sources


class _ReaderMaker:
    """Makes the function that reads rows like a given one, whose values come from its sources in order."""

    def __init__(self, sources: Iterator[_Source]):
        self.sources = sources
        self.nodes = 0
        self.keys: set[str] = set()

    def reader(self, value: Json) -> Read:
        """NotPlainYaml or StopIteration if these are not the sources of the value."""
        if not value or not isinstance(value, dict | list):
            return _leaf_reader(next(self.sources), value)
        if isinstance(value, list):
            self.nodes += len(value)
            return self.items(value)
        self.nodes += 2 * len(value)
        self.keys |= value.keys()
        parts = []
        for item in value.values():
            if item and isinstance(item, dict | list) and next(self.sources)[0] != _BELOW:
                raise NotPlainYaml
            parts.append(self.reader(item))
        return _mapping_reader(tuple(value), parts)

    def items(self, value: list[Json]) -> Read:
        if any(item and isinstance(item, dict | list) for item in value):
            return _list_reader([*map(self.reader, value)])
        sources = [next(self.sources) for _ in value]
        if {kind for kind, _ in sources} == {_ON_LINE}:
            return _scalar_list_reader([int(line) for _, (line,) in sources])
        return _list_reader([*map(_leaf_reader, sources, value)])


def _leaf_reader(source: _Source, value: Json) -> Read:
    kind, parts = source
    if kind == _BELOW:
        if value is not None:
            raise NotPlainYaml
        return lambda scalars, remainders, count: [None] * count
    if kind != _ON_LINE:
        return _block_reader(kind, parts)
    line = int(parts[0])
    return lambda scalars, remainders, count: scalars.column(remainders[line])


def _scalar_list_reader(lines: Sequence[int]) -> Read:
    """Read lists of scalars as one column, since most are of one type."""

    def read(scalars: Scalars, remainders: Sequence[str], count: int) -> Sequence[Json]:
        values = scalars.column("\n".join([remainders[line] for line in lines]))
        columns = [values[number * count : (number + 1) * count] for number in range(len(lines))]
        return [*map(list, zip(*columns, strict=True))]

    return read


def _mapping_reader(names: tuple[str, ...], parts: Sequence[Read]) -> Read:
    def read(scalars: Scalars, remainders: Sequence[str], count: int) -> Sequence[Json]:
        columns = [part(scalars, remainders, count) for part in parts]
        return [*map(dict, map(zip, repeat(names), zip(*columns, strict=True)))]

    return read


def _list_reader(parts: Sequence[Read]) -> Read:
    def read(scalars: Scalars, remainders: Sequence[str], count: int) -> Sequence[Json]:
        return [*map(list, zip(*[part(scalars, remainders, count) for part in parts], strict=True))]

    return read


def _block_reader(header: str, parts: Sequence[int | str]) -> Read:
    if not parts or isinstance(parts[0], str):
        raise NotPlainYaml

    def read(scalars: Scalars, remainders: Sequence[str], count: int) -> Sequence[Json]:
        lines = [[part] * count if isinstance(part, str) else remainders[part].split("\n") for part in parts]
        return [block_text(header, text) for text in map("\n".join, zip(*lines, strict=True))]

    return read


# The rows of one list, and the entries of one mapping.

MIN_ROWS = 8
"""Fewer rows are read line by line."""
_BATCH = 64
"""Rows in the first batch. Each further one has four times as many: what follows may not belong to the
list."""
_MIN_LINES = 60
_MAX_SHAPES = 8
"""Of rows with the same number of lines: each row is compared with all of them."""
_nodes_of = attrgetter("nodes")
_MISSING: Any = object()


class Rows:
    """The rows of a list after the first one, with their dashes in one column. `position` returns where a
    line starts in the text; `read_row` reads the row in some lines by itself, and finds its shape."""

    def __init__(
        self,
        scalars: Scalars,
        body: str,
        column: int,
        position: Callable[[int], int],
        read_row: Callable[[int, int], tuple[Json, RowShape]],
    ):
        self.scalars = scalars
        self.body = body
        self.dash, self.inner = _RowLine(f"{' ' * column}- ", is_whole=False), " " * (column + 1)
        self.position = position
        self.read_row = read_row
        self.shapes: dict[int, list[RowShape]] = {}
        self.values: list[Json] = []
        self.lines = 0
        self.nodes = 0
        self.remaining_shapes = _MAX_SHAPES

    @property
    def keys(self) -> set[str]:
        return {key for shapes in self.shapes.values() for shape in shapes for key in shape.keys}

    def sizes(self, lines: list[str], line: int, count: int, usual: int) -> list[int]:
        """Return the numbers of lines of the rows from this line on that seem to belong to this list.
        `usual`: the number of lines of the row before."""
        starts = lines[line : line + usual * (count + 1) : usual]
        if len(starts) > count and self.dash.remainders(starts) is not None:
            return [usual] * count
        start, inner = f"\n{self.dash.text}", self.inner
        alike = next((n for n, text in enumerate(starts) if not text.startswith(start[1:])), len(starts))
        sizes = [usual] * min(alike - 1, count)  # where the last one ends is still unknown
        line += sum(sizes)
        seen_sizes, position = {*sizes}, self.position(line)
        search_length = 50 * len(lines[line]) + 5_000
        while len(sizes) < count:
            end = self.body.find(start, position, position + search_length)
            if end < 0:
                break
            size = self.body.count("\n", position, end) + 1
            if size not in seen_sizes:
                if any(text and not text.startswith(inner) for text in lines[line + 1 : line + size]):
                    break  # the list ends
                seen_sizes.add(size)
            sizes.append(size)
            line += size
            position = end + 1
        return sizes

    def read(
        self, lines: list[str], line: int, usual: int, find_shape: Callable[[], RowShape | None]
    ) -> None:
        """Read the rows from this line on, if there are many. `usual`: the number of lines of the row before;
        `find_shape` returns its shape."""
        batch_size = _BATCH
        while True:
            sizes = self.sizes(lines, line, batch_size, usual)
            if not self.shapes:
                shape = find_shape() if _are_worth_it(sizes) else None
                if shape is None:
                    return
                self.shapes[usual] = [shape]
            count = self.read_batch(lines, line, sizes)
            line += sum(sizes[:count])
            if count < batch_size:
                return
            self.remaining_shapes += count // _MAX_SHAPES
            batch_size *= 4

    def read_batch(self, lines: list[str], line: int, sizes: list[int]) -> int:
        """Read rows of these sizes from a line on. Returns how many of them could be read."""
        batch = _Batch(self, lines, [*accumulate(sizes, initial=line)])
        numbers_by_size: dict[int, list[int]] = {}
        if len({*sizes}) == 1:
            numbers_by_size[sizes[0]] = [*range(len(sizes))]
        else:
            for number, size in enumerate(sizes):
                numbers_by_size.setdefault(size, []).append(number)
        count = min([batch.read(size, numbers) for size, numbers in numbers_by_size.items()], default=0)
        self.values += batch.values[:count]
        self.nodes += sum(map(_nodes_of, batch.shapes[:count]))
        self.lines += batch.starts[count] - line
        return count


def _are_worth_it(sizes: list[int]) -> bool:
    """Whether there are enough rows, and their sizes do not differ too much."""
    are_alike = len({*sizes}) <= 1 + len(sizes) // 32
    return are_alike and len(sizes) >= MIN_ROWS and sum(sizes) >= _MIN_LINES


class _Batch:
    """Some rows, which start at these lines."""

    def __init__(self, rows: Rows, lines: list[str], starts: list[int]):
        self.rows = rows
        self.lines = lines
        self.starts = starts
        self.values: list[Json] = [None] * (len(starts) - 1)
        self.shapes: list[Any] = [None] * (len(starts) - 1)

    def read(self, size: int, numbers: list[int]) -> int:
        """Read these rows, which have `size` lines. Returns the first row that cannot be read this way."""
        shapes = self.rows.shapes.setdefault(size, [])
        attempt = 0
        while numbers:
            try:
                if attempt == len(shapes):
                    numbers = self.read_alone(size, numbers, shapes)
                    continue
                shape = shapes[attempt]
                attempt += 1
                if self.take(shape, numbers):
                    break
                fitting = [n for n in numbers if shape.fits(self.lines_of(size, [n]))]
                if fitting and self.take(shape, fitting):
                    numbers = sorted({*numbers}.difference(fitting))
            except NotPlainYaml:
                return numbers[0]
        return len(self.values)

    def read_alone(self, size: int, numbers: list[int], shapes: list[RowShape]) -> list[int]:
        """Read the first of these rows by itself, for its shape. Returns the remaining ones."""
        self.rows.remaining_shapes -= 1
        if self.rows.remaining_shapes < 0 or len(shapes) == _MAX_SHAPES:
            raise NotPlainYaml
        number, *remaining = numbers
        start = self.starts[number]
        self.values[number], self.shapes[number] = self.rows.read_row(start, start + size)
        shapes.append(self.shapes[number])
        return remaining

    def take(self, shape: RowShape, numbers: list[int]) -> bool:
        """Read these rows, if they have this shape."""
        values = shape.values(self.rows.scalars, self.lines_of(len(shape.lines), numbers))
        if values is None:
            return False
        if len(numbers) == len(self.values):
            self.values, self.shapes = [*values], [shape] * len(values)
            return True
        for number, value in zip(numbers, values, strict=True):
            self.values[number] = value
            self.shapes[number] = shape
        return True

    def lines_of(self, size: int, numbers: list[int]) -> list[str]:
        first, last = numbers[0], numbers[-1]
        if last - first + 1 == len(numbers):
            return self.lines[self.starts[first] : self.starts[last] + size]
        starts = [self.starts[number] for number in numbers]
        return [*chain.from_iterable(self.lines[start : start + size] for start in starts)]


# Entries with one line each.


_NAME_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ -\n"
_NAME_STARTS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_MAX_NAME_LENGTH = 100


def items_of(scalars: Scalars, lines: list[str], start: int, column: int) -> list[Json]:
    """Return the items of a list from a line on, as long as they are scalars with one line each."""
    dash, items = _RowLine(f"{' ' * column}- ", is_whole=False), list[Json]()

    def take(batch: list[str]) -> None:
        remainder = dash.remainders(batch)
        if remainder is None:
            raise NotPlainYaml
        items.extend(scalars.column(remainder))

    _take_lines(lines, start, take)
    return items


def entries_of(scalars: Scalars, lines: list[str], start: int, column: int) -> tuple[dict[str, Json], int]:
    """Return the entries of a mapping from a line on, as long as their keys are simple and their values
    scalars on one line; and the number of lines, which is larger if a key occurs twice."""
    indent, entries = _RowLine(" " * column, is_whole=False), dict[str, Json]()

    def take(batch: list[str]) -> None:
        remainder = indent.remainders(batch) if column else "\n".join(batch)
        if remainder is None:
            raise NotPlainYaml
        names, texts = _split_entries(remainder, batch)
        entries.update(zip(names, scalars.column("\n".join(texts)), strict=True))

    return entries, _take_lines(lines, start, take)


def _take_lines(lines: list[str], start: int, take: Callable[[list[str]], None]) -> int:
    """Call `take` with lines from the first one on, many at once, until it fails. Returns how many it
    took."""
    line, batch_size = start, 2 * MIN_ROWS
    while batch := lines[line : line + batch_size]:
        try:
            take(batch)
        except NotPlainYaml:
            if len(batch) <= MIN_ROWS:
                break
            batch_size = len(batch) // 2
            continue
        line += len(batch)
        batch_size *= 4
    return line - start


def _split_entries(entries: str, lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the keys and the texts of entries with one line each. NotPlainYaml if they are not simple."""
    if any(": " not in line for line in lines):
        raise NotPlainYaml
    if entries.count(": ") > len(lines):
        pairs = [entry.partition(": ") for entry in entries.split("\n")]
        names, texts = [pair[0] for pair in pairs], [pair[2] for pair in pairs]
    else:
        parts = entries.replace(": ", "\n").split("\n")
        names, texts = parts[::2], parts[1::2]
    joined = "\n".join([*names, ""])
    is_simple = (
        joined[0] != "\n"
        and "\n\n" not in joined
        and {*map(itemgetter(0), names)} <= _NAME_STARTS
        and not joined.encode().translate(None, _NAME_CHARACTERS)
        and " \n" not in joined
        and "-\n" not in joined
        and max(map(len, names)) <= _MAX_NAME_LENGTH
    )
    if not is_simple or not NO_KEYS.isdisjoint(names):
        raise NotPlainYaml
    return names, texts
