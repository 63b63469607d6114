"""Rows of a YAML list that are written alike, line for line: each of their lines is read in all rows at once,
by what Python has in C, where a step for every line takes three times as long. The first row of each shape is
read line by line; from its lines and its value follows how the others are read."""

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
        """Where the block ends whose lines begin here, and its indentation. `column`: of its entry."""


Read = Callable[[Scalars, Sequence[str], int], Sequence[Json]]
"""The values of so many rows, from what is behind the beginning of each of their lines, in all rows."""


@frozen
class _RowLine:
    """A line of each row: what it begins with, or all of it. `leads`: it is the first one of a block, whose
    indentation it tells."""

    text: str
    is_whole: bool = True
    leads: bool = False

    def rest(self, lines: list[str]) -> str | None:
        """What these lines have behind that, each on a line; None if one of them is another line."""
        if self.is_whole:
            return "" if lines.count(self.text) == len(lines) else None
        start = f"\n{self.text}"
        whole = "\n" + "\n".join(lines)
        if whole.count(start) != len(lines):
            return None
        whole = whole.replace(start, "\n")
        if self.leads and (whole[-1] == "\n" or any(map(whole.count, ("\n\n", "\n ", "\n\t")))):
            return None
        return whole[1:]


@frozen
class RowShape:
    """Rows of as many lines. `nodes`: the values and keys of each; `keys`: those that are in it."""

    lines: tuple[_RowLine, ...]
    read: Read
    nodes: int
    keys: frozenset[str]

    def values(self, scalars: Scalars, lines: list[str]) -> Sequence[Json] | None:
        """The rows that these are the lines of; None if any of them has another shape."""
        size = len(self.lines)
        rests = []
        for number, line in enumerate(self.lines):
            rest = line.rest(lines[number::size])
            if rest is None:
                return None
            rests.append(rest)
        return self.read(scalars, rests, len(lines) // size)

    def fits(self, lines: list[str]) -> bool:
        """Whether a row of as many lines may have this shape."""
        pairs = zip(self.lines, lines, strict=True)
        return all(line == one.text if one.is_whole else line.startswith(one.text) for one, line in pairs)


_KNOWN: dict[int, list[RowShape]] = {}
"""Shapes of rows that were met in any text, by their lines: the files of one API hold the same ones. Whatever
rows begin with the same is read the same way."""
_MOST_KNOWN, _MOST_KNOWN_SIZES = 4, 64


def shape_of(text: YamlLines, start: int, end: int, value: Json) -> RowShape | None:
    """The shape of the row in these lines, which was read to this value."""
    row = text.lines[start:end]
    if found := next((shape for shape in _KNOWN.get(len(row), ()) if _is_surely(shape, row)), None):
        return found
    found = _shape_made(text, start, end, value)
    if found is not None and len(found.lines) == len(row):
        if len(_KNOWN) >= _MOST_KNOWN_SIZES:
            _KNOWN.clear()
        _KNOWN[len(row)] = [found, *_KNOWN.get(len(row), ())][:_MOST_KNOWN]
    return found


def _is_surely(shape: RowShape, row: list[str]) -> bool:
    """Whether these lines are a row of a shape that was met elsewhere: behind what they begin with is no more
    than a scalar."""
    if not shape.fits(row):
        return False
    rests = [line[len(one.text) :] for one, line in zip(shape.lines, row, strict=True) if not one.is_whole]
    return not any(
        rest[:1] in _NO_SCALAR or rest[:2] == "- " or rest[-1] == ":" or ": " in rest for rest in rests
    )


_NO_SCALAR = ("", " ", "\t", "|")


def _shape_made(text: YamlLines, start: int, end: int, value: Json) -> RowShape | None:
    try:
        lines, sources = _lines_of(text, start, end)
        maker = _Maker(iter(sources))
        read = maker.reader(value)
    except (StopIteration, NotPlainYaml):
        return None
    if next(maker.sources, None) is not None:
        return None
    return RowShape(tuple(lines), read, maker.nodes, frozenset(maker.keys))


_Source = tuple[str, list[int | str]]
"""Where the value of an entry stands: behind it, on this line of its row; in a block with this header, of
which are these lines, or blank ones as they are; or below it."""
_BEHIND, _BELOW = "behind", "below"


def _lines_of(text: YamlLines, start: int, end: int) -> tuple[list[_RowLine], list[_Source]]:
    """The lines of a row, and the sources of its entries, in their order."""
    lines: list[_RowLine] = []
    sources: list[_Source] = []
    number = start
    while number < end:
        line = text.lines[number]
        lead, scalar = text.parse(line)
        number += 1
        if lead is None or not scalar:  # a comment or a blank line; a key
            lines.append(_RowLine(line))
            sources += [(_BELOW, [])] if lead is not None else []
        elif scalar[0] != "|":
            sources.append((_BEHIND, [len(lines)]))
            lines.append(_RowLine(line[: len(line) - len(scalar)], is_whole=False))
        else:
            lines.append(_RowLine(line))
            stop, indent = text.extent(scalar, number, lead[2] + 2 * (len(lead[3]) - 1))
            parts: list[int | str] = []
            for content in text.lines[number:stop]:
                leads = not parts and not scalar[1:2].isdigit()
                is_blank = not content.strip(" ")
                parts.append(content[indent:] if is_blank else len(lines))
                lines.append(_RowLine(content) if is_blank else _RowLine(" " * indent, False, leads))
            sources.append((scalar, parts))
            number = stop
    return lines, sources


class _Maker:
    """How rows are read that have the values of one, which takes them from its sources in their order."""

    def __init__(self, sources: Iterator[_Source]):
        self.sources = sources
        self.nodes = 0
        self.keys: set[str] = set()

    def reader(self, value: Json) -> Read:
        """NotPlainYaml, StopIteration: they are not its sources."""
        if not value or not isinstance(value, dict | list):
            return _leaf(next(self.sources), value)
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
        return _objects(tuple(value), parts)

    def items(self, value: list[Json]) -> Read:
        if any(item and isinstance(item, dict | list) for item in value):
            return _lists([*map(self.reader, value)])
        sources = [next(self.sources) for _ in value]
        if {kind for kind, _ in sources} == {_BEHIND}:
            return _scalars([int(line) for _, (line,) in sources])
        return _lists([*map(_leaf, sources, value)])


def _leaf(source: _Source, value: Json) -> Read:
    kind, parts = source
    if kind == _BELOW:
        if value is not None:
            raise NotPlainYaml
        return lambda scalars, rests, count: [None] * count
    if kind != _BEHIND:
        return _blocks(kind, parts)
    line = int(parts[0])
    return lambda scalars, rests, count: scalars.column(rests[line])


def _scalars(lines: Sequence[int]) -> Read:
    """Lists of scalars, most of which are of one type: a column together."""

    def read(scalars: Scalars, rests: Sequence[str], count: int) -> Sequence[Json]:
        values = scalars.column("\n".join([rests[line] for line in lines]))
        columns = [values[number * count : (number + 1) * count] for number in range(len(lines))]
        return [*map(list, zip(*columns, strict=True))]

    return read


def _objects(names: tuple[str, ...], parts: Sequence[Read]) -> Read:
    def read(scalars: Scalars, rests: Sequence[str], count: int) -> Sequence[Json]:
        columns = [part(scalars, rests, count) for part in parts]
        return [*map(dict, map(zip, repeat(names), zip(*columns, strict=True)))]

    return read


def _lists(parts: Sequence[Read]) -> Read:
    def read(scalars: Scalars, rests: Sequence[str], count: int) -> Sequence[Json]:
        return [*map(list, zip(*[part(scalars, rests, count) for part in parts], strict=True))]

    return read


def _blocks(header: str, parts: Sequence[int | str]) -> Read:
    if not parts or isinstance(parts[0], str):
        raise NotPlainYaml

    def read(scalars: Scalars, rests: Sequence[str], count: int) -> Sequence[Json]:
        lines = [[part] * count if isinstance(part, str) else rests[part].split("\n") for part in parts]
        return [block_text(header, text) for text in map("\n".join, zip(*lines, strict=True))]

    return read


# The rows of one list, and the entries of one mapping.

FEWEST = 8
"""Fewer are read line by line."""
_BATCH = 64
"""Rows that are read first; then four times as many, for what follows may be no row of this list."""
_FEWEST_LINES = 60
_MOST_SHAPES = 8
"""Of as many lines: each row is held against all of them."""
_nodes_of = attrgetter("nodes")
_MISSING: Any = object()


class Rows:
    """The rows of a list behind its first one, whose dashes stand in a column of a text. `position`: where a
    line begins in it; `read_row` reads a row by itself, which has these lines, and finds its shape."""

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
        self.left = _MOST_SHAPES

    @property
    def keys(self) -> set[str]:
        return {key for shapes in self.shapes.values() for shape in shapes for key in shape.keys}

    def sizes(self, lines: list[str], line: int, most: int, usual: int) -> list[int]:
        """How many lines the rows have that begin with this line, as far as they seem to belong to this list.
        `usual`: those of the row before."""
        starts = lines[line : line + usual * (most + 1) : usual]
        if len(starts) > most and self.dash.rest(starts) is not None:
            return [usual] * most
        start, inner = f"\n{self.dash.text}", self.inner
        alike = next((n for n, one in enumerate(starts) if not one.startswith(start[1:])), len(starts))
        sizes = [usual] * min(alike - 1, most)  # where the last of them ends is to be seen
        line += sum(sizes)
        seen, position = {*sizes}, self.position(line)
        reach = 50 * len(lines[line]) + 5_000
        while len(sizes) < most:
            end = self.body.find(start, position, position + reach)
            if end < 0:
                break
            size = self.body.count("\n", position, end) + 1
            if size not in seen:
                if any(one and not one.startswith(inner) for one in lines[line + 1 : line + size]):
                    break  # the list ends
                seen.add(size)
            sizes.append(size)
            line += size
            position = end + 1
        return sizes

    def read(self, lines: list[str], line: int, usual: int, first: Callable[[], RowShape | None]) -> None:
        """Read the rows from this line on, if there are many. `usual`: how many lines the row before them
        has, and `first`: its shape."""
        most = _BATCH
        while True:
            sizes = self.sizes(lines, line, most, usual)
            if not self.shapes:
                shape = first() if _are_worth_it(sizes) else None
                if shape is None:
                    return
                self.shapes[usual] = [shape]
            done = self.read_batch(lines, line, sizes)
            line += sum(sizes[:done])
            if done < most:
                return
            self.left += done // _MOST_SHAPES
            most *= 4

    def read_batch(self, lines: list[str], line: int, sizes: list[int]) -> int:
        """Read rows of these sizes from a line on. How many of them were rows of this list."""
        batch = _Batch(self, lines, [*accumulate(sizes, initial=line)])
        of_size: dict[int, list[int]] = {}
        if len({*sizes}) == 1:
            of_size[sizes[0]] = [*range(len(sizes))]
        else:
            for number, size in enumerate(sizes):
                of_size.setdefault(size, []).append(number)
        done = min([batch.read(size, numbers) for size, numbers in of_size.items()], default=0)
        self.values += batch.values[:done]
        self.nodes += sum(map(_nodes_of, batch.shapes[:done]))
        self.lines += batch.starts[done] - line
        return done


def _are_worth_it(sizes: list[int]) -> bool:
    """Whether rows of these sizes are many, and not too different."""
    are_alike = len({*sizes}) <= 1 + len(sizes) // 32
    return are_alike and len(sizes) >= FEWEST and sum(sizes) >= _FEWEST_LINES


class _Batch:
    """Some rows, which begin at these lines."""

    def __init__(self, rows: Rows, lines: list[str], starts: list[int]):
        self.rows = rows
        self.lines = lines
        self.starts = starts
        self.values: list[Json] = [None] * (len(starts) - 1)
        self.shapes: list[Any] = [None] * (len(starts) - 1)

    def read(self, size: int, numbers: list[int]) -> int:
        """Read these rows, which have so many lines. The first row that cannot be read so."""
        shapes = self.rows.shapes.setdefault(size, [])
        tried = 0
        while numbers:
            try:
                if tried == len(shapes):
                    numbers = self.read_alone(size, numbers, shapes)
                    continue
                shape = shapes[tried]
                tried += 1
                if self.take(shape, numbers):
                    break
                fitting = [n for n in numbers if shape.fits(self.lines_of(size, [n]))]
                if fitting and self.take(shape, fitting):
                    numbers = sorted({*numbers}.difference(fitting))
            except NotPlainYaml:
                return numbers[0]
        return len(self.values)

    def read_alone(self, size: int, numbers: list[int], shapes: list[RowShape]) -> list[int]:
        """Read the first of these rows by itself, for its shape; those that are left."""
        self.rows.left -= 1
        if self.rows.left < 0 or len(shapes) == _MOST_SHAPES:
            raise NotPlainYaml
        number, *rest = numbers
        start = self.starts[number]
        self.values[number], self.shapes[number] = self.rows.read_row(start, start + size)
        shapes.append(self.shapes[number])
        return rest

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


# Entries of a line each.


_IN_NAMES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ -\n"
_NAME_STARTS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_LONGEST_NAME = 100


def items_of(scalars: Scalars, lines: list[str], start: int, column: int) -> list[Json]:
    """The items of a list from a line on, as far as they are scalars of a line each."""
    dash, found = _RowLine(f"{' ' * column}- ", is_whole=False), list[Json]()

    def take(batch: list[str]) -> None:
        rest = dash.rest(batch)
        if rest is None:
            raise NotPlainYaml
        found.extend(scalars.column(rest))

    _take(lines, start, take)
    return found


def entries_of(scalars: Scalars, lines: list[str], start: int, column: int) -> tuple[dict[str, Json], int]:
    """The entries of a mapping from a line on, as far as their keys are simple ones and their values scalars
    of a line each; and how many lines these are: more than entries, if a key is there twice."""
    indent, found = _RowLine(" " * column, is_whole=False), dict[str, Json]()

    def take(batch: list[str]) -> None:
        rest = indent.rest(batch) if column else "\n".join(batch)
        if rest is None:
            raise NotPlainYaml
        names, texts = _split(rest, batch)
        found.update(zip(names, scalars.column("\n".join(texts)), strict=True))

    return found, _take(lines, start, take)


def _take(lines: list[str], start: int, take: Callable[[list[str]], None]) -> int:
    """Take lines from the first one on, many at once, until there are others. How many they are."""
    line, most = start, 2 * FEWEST
    while batch := lines[line : line + most]:
        try:
            take(batch)
        except NotPlainYaml:
            if len(batch) <= FEWEST:
                break
            most = len(batch) // 2
            continue
        line += len(batch)
        most *= 4
    return line - start


def _split(entries: str, lines: list[str]) -> tuple[list[str], list[str]]:
    """The keys of entries, a line each, which are in these lines, and their texts. NotPlainYaml: they are not
    simple."""
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
        and not joined.encode().translate(None, _IN_NAMES)
        and " \n" not in joined
        and "-\n" not in joined
        and max(map(len, names)) <= _LONGEST_NAME
    )
    if not is_simple or not NO_KEYS.isdisjoint(names):
        raise NotPlainYaml
    return names, texts
