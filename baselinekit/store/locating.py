"""From a path in a baseline to file, line and column: the file is parsed again, but only when asked."""

from collections.abc import Sequence
from dataclasses import replace

from baselinekit.documents import jsonfile
from baselinekit.documents.languages import language
from baselinekit.documents.marks import MAPPING, SEQUENCE, Node, mark
from baselinekit.documents.text import decode, place
from baselinekit.errors import BaselinekitError, Place, Problem
from baselinekit.model.baselines import Source
from baselinekit.model.values import Path
from baselinekit.store import files, outputs, records

_OUTPUT: Path = ("baseline", "output")
_OUTPUT_FILE: Path = ("baseline", "output_file")
_LISTS = ("ignore_values", "require_keys")


def locate(source: Source, path: Path, root: str) -> Place:
    """Where the value at a path of the baseline stands, or the nearest thing above it that is there."""
    return locate_all(source, [path], root)[0]


def locate_all(source: Source, paths: Sequence[Path], root: str) -> list[Place]:
    """The same for many paths of one baseline, at the price of one."""
    try:
        body = decode(files.read(root, source.file), source.file).body
        return _places(body, source, paths, root)
    except BaselinekitError:
        return [Place(source.file)] * len(paths)


def place_problems(
    body: str, file: str, document: int, problems: Sequence[Problem], at: Path = ()
) -> list[Problem]:
    """Problems with paths into a document as problems with places. An unknown key is at the key itself."""
    paths = [(*at, *(problem.at or ())) for problem in problems]
    marks = mark(language(file).events(body), document, paths)
    placed: list[tuple[int, Problem]] = []
    for problem, path in zip(problems, paths, strict=True):
        nodes, rest = marks.reach(path)
        index = _index(nodes[-1], at_key=problem.code == "BK103" and not rest) if nodes else 0
        placed.append((index, replace(problem, place=place(file, body, index), at=None)))
    return [problem for _, problem in sorted(placed, key=lambda pair: pair[0])]


def _places(body: str, source: Source, paths: Sequence[Path], root: str) -> list[Place]:
    wanted = [records.place_in(source, path) for path in paths]
    instead = [_in_options(source, path) for path in paths]
    output_file = records.place_in(source, _OUTPUT_FILE)
    events = language(source.file).events(body)
    marks = mark(events, source.document, [*wanted, *instead, output_file])
    if not marks.root:
        return [Place(source.file)] * len(paths)
    found = marks.reach(output_file)
    beside = found[0][-1].value if not found[1] else None
    inside = [path[2:] for path in paths if path[:2] == _OUTPUT] if beside else []
    there = iter(_in_output(source, beside, inside, root) if beside else [])
    places = []
    for path, first, second in zip(paths, wanted, instead, strict=True):
        if beside and path[:2] == _OUTPUT:
            places.append(next(there))
            continue
        nodes, rest = marks.reach(first)
        if rest and not marks.reach(second)[1]:
            nodes = marks.reach(second)[0]
        places.append(place(source.file, body, _index(nodes[-1])))
    return places


def _in_options(source: Source, path: Path) -> Path:
    """Two lists of the comparison may also stand in its options."""
    if path[:1] == ("comparison",) and len(path) > 1 and path[1] in _LISTS:
        path = ("comparison", "options", *path[1:])
    return records.place_in(source, path)


def _in_output(source: Source, name: str, paths: Sequence[Path], root: str) -> list[Place]:
    folder, file = outputs.beside(root, source.file, name)
    try:
        body = decode(files.read(folder, file, files.MAX_OUTPUT_BYTES), file).body
    except BaselinekitError:
        return [Place(file)] * len(paths)
    if not file.endswith(".json"):
        return [Place(file, 1, 1)] * len(paths)
    marks = mark(jsonfile.events(body), 0, paths)
    return [place(file, body, _index(marks.reach(path)[0][-1])) for path in paths]


def _index(node: Node, at_key: bool = False) -> int:
    """Where to point: at a value on its line, at the key of what stands on the lines below it."""
    below = node.kind in (MAPPING, SEQUENCE) and node.style != "flow"
    return node.key if node.key >= 0 and (at_key or below) else node.start
