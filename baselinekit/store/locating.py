"""From a path in a baseline to file, line and column: the file is parsed again, but only when asked."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from baselinekit.documents.jsontext import json_events
from baselinekit.documents.languages import language
from baselinekit.documents.text import Marks, decode, mark, mark_each, place
from baselinekit.errors import BaselinekitError, Place
from baselinekit.model.baselines import Source, known_path
from baselinekit.model.values import Path
from baselinekit.schema.validate import position
from baselinekit.store import files, records

_LISTS = ("ignore_values", "require_keys")


def locate(source: Source, path: Path, root: str) -> Place:
    """Where the value at a path of the baseline stands, or the nearest thing above it that is there."""
    return locate_all(source, [path], root)[0]


def locate_all(source: Source, paths: Sequence[Path], root: str) -> list[Place]:
    """The same for many paths of one baseline, at the price of one."""
    return locate_each([(source, paths)], root)[0]


def locate_each(wanted: Sequence[tuple[Source, Sequence[Path]]], root: str) -> list[list[Place]]:
    """The same for many baselines: each file is parsed once, however many of them it holds."""
    found = [[Place(source.file)] * len(paths) for source, paths in wanted]
    of_file: dict[str, list[int]] = {}
    for number, (source, _) in enumerate(wanted):
        of_file.setdefault(source.file, []).append(number)
    for file, numbers in of_file.items():
        with suppress(BaselinekitError):
            body = decode(files.read(root, file), file).body
            steps: dict[int, list[Path]] = {}
            for number in numbers:
                steps.setdefault(wanted[number][0].document, []).extend(_steps(*wanted[number]))
            marks = mark_each(language(file).events(body), steps)
            for number in numbers:
                there = marks.get(wanted[number][0].document)
                if there and there.root:
                    found[number] = _places(there, body, *wanted[number], root)
    return found


def _steps(source: Source, paths: Sequence[Path]) -> Iterator[Path]:
    """Every way into the document that finding these paths may take."""
    for path in paths:
        if of := _output_of(path):
            yield records.place_in(source, (*of, "output_file"))
        yield records.place_in(source, path)
        yield _in_options(source, path)


def _places(marks: Marks, body: str, source: Source, paths: Sequence[Path], root: str) -> list[Place]:
    of_file = {of: _file_of(marks, source, of) for of in {_output_of(path) for path in paths} if of}
    there = {
        of: iter(_in_output(source, name, [p[len(of) + 1 :] for p in paths if _output_of(p) == of], root))
        for of, name in of_file.items()
        if name
    }
    places = []
    for path in paths:
        beside = there.get(_output_of(path) or ())
        if beside is not None:
            places.append(next(beside))
            continue
        nodes, rest = marks.reach(records.place_in(source, path))
        if rest and not marks.reach(_in_options(source, path))[1]:
            nodes = marks.reach(_in_options(source, path))[0]
        places.append(place(source.file, body, position(nodes[-1])))
    return places


def _output_of(path: Path) -> Path | None:
    """Where the known-good output stands that a path leads into: the record's own, or a variant."""
    own, variant = known_path(None), 3
    if path[:2] == (*own, "output"):
        return own
    return path[:variant] if path[:2] == (*own, "variants") and path[variant:][:1] == ("output",) else None


def _file_of(marks: Marks, source: Source, of: Path) -> str | None:
    found, rest = marks.reach(records.place_in(source, (*of, "output_file")))
    return None if rest else found[-1].value


def _in_options(source: Source, path: Path) -> Path:
    """Two lists of the comparison may also stand in its options."""
    if path[:1] == ("comparison",) and len(path) > 1 and path[1] in _LISTS:
        path = ("comparison", "options", *path[1:])
    return records.place_in(source, path)


def _in_output(source: Source, name: str, paths: Sequence[Path], root: str) -> list[Place]:
    folder, file = records.beside(root, source.file, name)
    try:
        body = decode(files.read(folder, file, files.MAX_OUTPUT_BYTES), file).body
    except BaselinekitError:
        return [Place(file)] * len(paths)
    if not file.endswith(".json"):
        return [Place(file, 1, 1)] * len(paths)
    marks = mark(json_events(body), 0, paths)
    return [place(file, body, position(marks.reach(path)[0][-1])) for path in paths]
