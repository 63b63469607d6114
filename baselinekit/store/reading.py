"""Load baselines from files: all of them, or every problem in any of them, with file, line and column."""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.files.jsontext import json_events
from baselinekit.files.languages import language
from baselinekit.files.text import MarkedNode, decode, mark, place, reach
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.values import Json, Path
from baselinekit.schema import place_problems, position, prefix_paths
from baselinekit.store import records
from baselinekit.store.atomic import sweep
from baselinekit.store.discovery import discover_files
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.structs import MutableStruct, field, replace

# From a path in a baseline to file, line and column. The file is parsed again, but only on demand.


_OPTION_LISTS = ("ignore_values", "require_keys")


def locate(source: Source, path: Path, root: str) -> Place:
    """Return the place of the value at a path of the baseline, or of its nearest existing parent."""
    return locate_all(source, [path], root)[0]


def locate_all(source: Source, paths: Sequence[Path], root: str) -> list[Place]:
    """Like `locate`, for many paths of one baseline: the file is parsed once."""
    return locate_each([(source, paths)], root)[0]


def locate_each(requests: Sequence[tuple[Source, Sequence[Path]]], root: str) -> list[list[Place]]:
    """Like `locate_all`, for many baselines: each file is parsed once, however many of them it holds. Without
    a path no file is read."""
    places = [[Place(source.file)] * len(paths) for source, paths in requests]
    numbers_by_file: dict[str, list[int]] = {}
    for number, (source, paths) in enumerate(requests):
        if paths:
            numbers_by_file.setdefault(source.file, []).append(number)
    for file, numbers in numbers_by_file.items():
        with suppress(BaselinekitError):
            body = decode(read(root, file), file).body
            marks = mark(language(file).events(body))
            for number in numbers:
                if requests[number][0].document < len(marks):
                    places[number] = _find_places(marks, body, *requests[number], root)
    return places


def _find_places(
    marks: Sequence[MarkedNode], body: str, source: Source, paths: Sequence[Path], root: str
) -> list[Place]:
    places: dict[Path, Place] = {}
    for output_path in {output_path for path in paths if (output_path := output_of(path))}:
        at = records.place_in(source, (*output_path, "output_file"))
        nodes, missing = reach(marks, source.document, at)
        if not missing and nodes[-1].value:
            inside = [path for path in paths if output_of(path) == output_path]
            below = [path[len(output_path) + 1 :] for path in inside]
            places |= zip(inside, in_output(source, nodes[-1].value, below, root), strict=True)
    for path in paths:
        nodes, missing = reach(marks, source.document, records.place_in(source, path))
        if missing and not reach(marks, source.document, in_options(source, path))[1]:
            nodes = reach(marks, source.document, in_options(source, path))[0]
        places.setdefault(path, place(source.file, body, position(nodes[-1])))
    return [places[path] for path in paths]


def output_of(path: Path) -> Path | None:
    """Return the path of the known-good state whose output contains `path`: the baseline's own or a variant;
    None if `path` is not in an output."""
    known_at = path[:3] if path[1:2] == ("variants",) else path[:1]
    return known_at if path[:1] == ("baseline",) and path[len(known_at) :][:1] == ("output",) else None


def in_options(source: Source, path: Path) -> Path:
    """Return the path in the document where two lists of the comparison may be instead: in its options."""
    if path[:1] == ("comparison",) and len(path) > 1 and path[1] in _OPTION_LISTS:
        path = ("comparison", "options", *path[1:])
    return records.place_in(source, path)


def in_output(source: Source, name: str, paths: Sequence[Path], root: str) -> list[Place]:
    folder, file = records.output_location(root, source.file, name)
    try:
        body = decode(read(folder, file, MAX_OUTPUT_BYTES), file).body
    except BaselinekitError:
        return [Place(file)] * len(paths)
    if not file.endswith(".json"):
        return [Place(file, 1, 1)] * len(paths)
    marks = mark(json_events(body))
    return [place(file, body, position(reach(marks, 0, path)[0][-1])) for path in paths]


def load(files: Sequence[str], root: str) -> list[Baseline]:
    """Load the baselines of these files, in their order."""
    baselines, error = load_partly(files, root)
    if error is not None:
        raise error
    return baselines


def load_partly(files: Sequence[str], root: str) -> tuple[list[Baseline], BaselinekitError | None]:
    """Load what can be read, and return the problems of the rest, for callers that check further."""
    loaded = LoadedFiles()
    for file in files:
        loaded.read(file, root)
    loaded.problems += find_repeated_ids(loaded.baselines, root)
    return loaded.baselines, loaded.error


def parse_record(record: dict[str, Json], source: Source | None = None) -> Baseline:
    """Load a record, by default one that is not in a file yet. It need not have an output."""
    baseline, problems = records.read_record(record, source or Source("", form=records.form(record)))
    if baseline is None or problems:
        raise InvalidInput(*problems)
    return baseline


def parse(data: bytes, file: str) -> list[Baseline]:
    """Load the baselines from bytes, which may differ from the file on the disk. Output files are not
    read."""
    return [parse_record(raw, source) for source, raw in records.records_in(data, file)]


def records_by_id(root: str, folders: Sequence[str]) -> dict[str, tuple[Source, dict[str, Json]]]:
    """Return the records of a project by their case-folded ids: ids must be unique even without regard to
    case. Files that cannot be read are skipped: loading them reports what is wrong."""
    existing = [folder for folder in folders if os.path.isdir(os.path.join(root, folder))]
    files = discover_files(existing, root).files
    sweep({os.path.join(root, os.path.dirname(file)) for file in files})
    taken: dict[str, tuple[Source, dict[str, Json]]] = {}
    for file in files:
        with suppress(BaselinekitError):
            for source, raw in records.records_in(read(root, file), file):
                id = records.id_of(raw)
                if isinstance(id, str):
                    taken.setdefault(id.casefold(), (source, raw))
    return taken


class FileProblems(MutableStruct):
    """The problems of files. What is `refused` is listed last; the error is a refusal only if nothing else is
    wrong."""

    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)

    def fail(self, error: BaselinekitError) -> None:
        (self.refused if isinstance(error, Refused) else self.problems).extend(error.problems)

    @property
    def error(self) -> BaselinekitError | None:
        if self.problems:
            return InvalidInput(*self.problems, *self.refused)
        return Refused(*self.refused) if self.refused else None


class LoadedFiles(FileProblems):
    """The baselines of several files. `sizes`: about how many bytes each baseline has in its files."""

    baselines: list[Baseline] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def read(self, file: str, root: str) -> None:
        try:
            self._add(read(root, file), file, root)
        except (InvalidInput, Refused) as error:
            self.fail(error)

    def _add(self, data: bytes, file: str, root: str) -> None:
        problems_by_document: dict[int, list[Problem]] = {}
        output_errors: list[tuple[Source, Path, BaselinekitError]] = []
        entries = records.records_in(data, file)
        for source, raw in entries:
            baseline, problems = records.read_record(raw, source)
            if problems or baseline is None:
                document_problems = problems_by_document.setdefault(source.document, [])
                document_problems += prefix_paths(problems, source.at)
                continue
            filled, errors = records.fill_outputs(baseline.baseline, partial(records.load, root, file))
            output_errors += [(source, at, error) for at, error in errors]
            if not errors:
                outputs = [records.output_location(root, file, name) for name in baseline.output_files]
                output_size = sum(os.path.getsize(os.path.join(*output)) for output in outputs)
                self.baselines.append(replace(baseline, baseline=filled))
                self.sizes.append(len(data) // len(entries) + output_size)
        if problems_by_document:
            self.problems += place_problems(decode(data, file).body, file, problems_by_document)
        if output_errors:
            places = locate_each([(source, [(*at, "output_file")]) for source, at, _ in output_errors], root)
            for (*_, error), (place,) in zip(output_errors, places, strict=True):
                self.fail(type(error)(*(placed_at(problem, place) for problem in error.problems)))


def placed_at(problem: Problem, name_place: Place) -> Problem:
    """Move a problem with an output file to the place that names the file, unless it is at a line inside."""
    if problem.place and problem.place.line:
        return problem
    message = f"{problem.place}: {problem.message}" if problem.place else problem.message
    return replace(problem, place=name_place, message=message)


def find_repeated_ids(items: Sequence[Any], root: str) -> list[Problem]:
    """Return a problem for each id that occurs twice among baselines, entries or eval cases. Ids that differ
    only in case count as the same, because files are named after them."""
    first_items: dict[str, Any] = {}
    pairs = [(item, first_items.setdefault(item.id.casefold(), item)) for item in items]
    pairs = [(item, earlier) for item, earlier in pairs if item is not earlier]
    places = iter(locate_each([(item.source, [("id",)]) for pair in pairs for item in pair], root))
    problems = []
    for (item, earlier), (item_place,), (earlier_place,) in zip(pairs, places, places, strict=True):
        message = f"the id {item.id!r} is {earlier.id!r} in different case"
        if item.id == earlier.id:
            message = f"the id {item.id!r} occurs twice"
        hint = f"it is at {earlier_place} already; rename one of the two"
        problems.append(Problem("BK109", message, hint, item_place))
    return problems
