"""Files to baselines: all of them, or everything that is wrong in any of them, with file, line and column."""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from baselinekit.documents.jsontext import json_events
from baselinekit.documents.languages import language
from baselinekit.documents.text import Marks, decode, mark, mark_each, place
from baselinekit.errors import BaselinekitError, FirstOfEach, InvalidInput, Place, Problem, Refused
from baselinekit.model.baselines import Baseline, Source, known_path
from baselinekit.model.values import Json, Path
from baselinekit.schema.records import place_problems, position
from baselinekit.store import records
from baselinekit.store.atomic import sweep
from baselinekit.store.discovery import discover
from baselinekit.store.project import MAX_OUTPUT_BYTES, read

# From a path in a baseline to file, line and column: the file is parsed again, but only when asked.


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
            body = decode(read(root, file), file).body
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
        if of := output_of(path):
            yield records.place_in(source, (*of, "output_file"))
        yield records.place_in(source, path)
        yield in_options(source, path)


def _places(marks: Marks, body: str, source: Source, paths: Sequence[Path], root: str) -> list[Place]:
    of_file: dict[Path, str] = {}
    for of in {output_of(path) for path in paths}:
        nodes, rest = marks.reach(records.place_in(source, (*of, "output_file"))) if of else ([], ())
        if of and not rest:
            of_file[of] = nodes[-1].value
    there = {
        of: iter(in_output(source, name, [p[len(of) + 1 :] for p in paths if output_of(p) == of], root))
        for of, name in of_file.items()
        if name
    }
    places = []
    for path in paths:
        beside = there.get(output_of(path) or ())
        if beside is not None:
            places.append(next(beside))
            continue
        nodes, rest = marks.reach(records.place_in(source, path))
        if rest and not marks.reach(in_options(source, path))[1]:
            nodes = marks.reach(in_options(source, path))[0]
        places.append(place(source.file, body, position(nodes[-1])))
    return places


def output_of(path: Path) -> Path | None:
    """Where the known-good output stands that a path leads into: the record's own, or a variant."""
    own, variant = known_path(None), 3
    if path[:2] == (*own, "output"):
        return own
    return path[:variant] if path[:2] == (*own, "variants") and path[variant:][:1] == ("output",) else None


def in_options(source: Source, path: Path) -> Path:
    """Two lists of the comparison may also stand in its options."""
    if path[:1] == ("comparison",) and len(path) > 1 and path[1] in _LISTS:
        path = ("comparison", "options", *path[1:])
    return records.place_in(source, path)


def in_output(source: Source, name: str, paths: Sequence[Path], root: str) -> list[Place]:
    folder, file = records.beside(root, source.file, name)
    try:
        body = decode(read(folder, file, MAX_OUTPUT_BYTES), file).body
    except BaselinekitError:
        return [Place(file)] * len(paths)
    if not file.endswith(".json"):
        return [Place(file, 1, 1)] * len(paths)
    marks = mark(json_events(body), 0, paths)
    return [place(file, body, position(marks.reach(path)[0][-1])) for path in paths]


def load(files: Sequence[str], root: str) -> list[Baseline]:
    """The baselines of these files, in their order."""
    baselines, error = load_partly(files, root)
    if error is not None:
        raise error
    return baselines


def load_partly(files: Sequence[str], root: str) -> tuple[list[Baseline], BaselinekitError | None]:
    """What can be read, and what is wrong with the rest: for who has more to find fault with."""
    loaded = LoadedFiles()
    with without_collector():
        for file in files:
            loaded.read(file, root)
    loaded.problems += same_ids(loaded.baselines, root)
    if loaded.problems:
        return loaded.baselines, InvalidInput(*loaded.problems, *loaded.refused)
    return loaded.baselines, Refused(*loaded.refused) if loaded.refused else None


def parse_record(record: dict[str, Json], root: str) -> Baseline:
    """A record that no file holds yet; it need not have an output."""
    baseline, problems = records.read_record(record, Source("", form=records.form(record)))
    if baseline is None or problems:
        raise InvalidInput(*problems)
    return baseline


def parse(data: bytes, file: str) -> list[Baseline]:
    """The baselines in bytes that need not be those on the disk; what stands in files beside is left out."""
    found = []
    for source, raw in records_in(data, file):
        baseline, problems = records.read_record(raw, source)
        if baseline is None or problems:
            raise InvalidInput(*problems)
        found.append(baseline)
    return found


def taken_ids(root: str, folders: Sequence[str]) -> dict[str, tuple[Source, dict[str, Json]]]:
    """The records of a project by their ids, in small letters: an id is unique also where upper and lower
    case are one. Files that cannot be read are no obstacle: what is wrong with them is said when they are
    loaded."""
    files = discover([folder for folder in folders if os.path.isdir(os.path.join(root, folder))], root)
    sweep(root, {os.path.dirname(file) for file in files})
    taken: dict[str, tuple[Source, dict[str, Json]]] = {}
    for file in files:
        with suppress(BaselinekitError):
            for source, raw in records_in(read(root, file), file):
                id = records.id_of(raw, source)
                if isinstance(id, str):
                    taken.setdefault(id.casefold(), (source, raw))
    return taken


@contextmanager
def without_collector() -> Iterator[None]:
    """Python's collector of cycles keeps still: reading makes many objects that stay and no cycles, and to
    look through them again and again takes a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


_SELDOM = 50_000


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Python's collector of cycles comes after so many new objects: an answer is a tree of thousands, without
    a cycle, and to look through it again and again while it grows takes a twentieth of a run."""
    usual = gc.get_threshold()
    gc.set_threshold(usual[0] and max(usual[0], _SELDOM), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextmanager
def settled() -> Iterator[None]:
    """What is there already stays, and the collector does not look through it again: it would as often as
    there is a quarter more."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class Locatable(Protocol):
    """A baseline, or an eval case."""

    @property
    def id(self) -> str: ...

    @property
    def source(self) -> Source: ...


@dataclass(slots=True)
class LoadedFiles:
    """The baselines of several files, and what is wrong with these. `sizes`: about how many bytes each
    baseline has in its files; `raw`: their records as they stand there, where they are asked for."""

    baselines: list[Baseline] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    raw: list[dict[str, Json]] | None = None

    def fail(self, error: BaselinekitError) -> None:
        (self.refused if isinstance(error, Refused) else self.problems).extend(error.problems)

    def read(self, file: str, root: str) -> None:
        try:
            self.add(read(root, file), file, root)
        except (InvalidInput, Refused) as error:
            self.fail(error)

    def add(self, data: bytes, file: str, root: str) -> None:
        wrong: dict[int, list[Problem]] = {}
        failed: list[tuple[Source, Path, BaselinekitError]] = []
        found = records_in(data, file)
        for source, raw in found:
            baseline, problems = records.read_record(raw, source)
            if problems or baseline is None:
                here = wrong.setdefault(source.document, [])
                here += [replace(problem, at=(*source.at, *(problem.at or ()))) for problem in problems]
                continue
            known, errors = records.with_files(baseline.baseline, root, file)
            failed += [(source, at, error) for at, error in errors]
            if not errors:
                is_whole = known is baseline.baseline
                self.baselines.append(baseline if is_whole else replace(baseline, baseline=known))
                beside = 0 if is_whole else records.size_beside(known, root, file)
                self.sizes.append(len(data) // len(found) + beside)
                if self.raw is not None:
                    self.raw.append(raw)
        if wrong:
            self.problems += place_problems(decode(data, file).body, file, wrong)
        if failed:
            named = locate_each([(source, [(*at, "output_file")]) for source, at, _ in failed], root)
            for (*_, error), (place,) in zip(failed, named, strict=True):
                self.fail(type(error)(*(placed_at(problem, place) for problem in error.problems)))


def placed_at(problem: Problem, named: Place) -> Problem:
    """What is wrong with the file of an output is told where it is named, unless the fault is inside."""
    if problem.place and problem.place.line:
        return problem
    message = f"{problem.place}: {problem.message}" if problem.place else problem.message
    return replace(problem, place=named, message=message)


def records_in(data: bytes, file: str) -> list[tuple[Source, dict[str, Json]]]:
    """The records of a file, each with its source."""
    body = decode(data, file).body
    try:
        found = list(records.sources(data, body, file))
    except records.NotABaselineError as error:
        raise InvalidInput(*place_problems(body, file, {error.document: [error.problem]})) from None
    if not found:
        hint = "write a baseline into it, or remove it"
        raise InvalidInput(Problem("BK110", "not a baseline: the file is empty", hint, Place(file, 1, 1)))
    return found


def same_ids(named: Sequence[Locatable], root: str) -> list[Problem]:
    """An id that is there twice, if only in other letters: files are named by them."""
    first: dict[str, Locatable] = {}
    pairs = [(item, first.setdefault(item.id.casefold(), item)) for item in named]
    first_of_each, twice = FirstOfEach(), Problem("BK109", "")
    pairs = [
        (item, earlier)
        for item, earlier in pairs
        if item is not earlier and first_of_each.takes(item.source.file, twice)
    ]
    if not pairs:
        return first_of_each.rest()
    places = iter(locate_each([(item.source, [("id",)]) for pair in pairs for item in pair], root))
    problems = []
    for (item, earlier), (here,), (there,) in zip(pairs, places, places, strict=True):
        what = f"the id {item.id!r} is {earlier.id!r} in different case"
        if item.id == earlier.id:
            what = f"the id {item.id!r} occurs twice"
        problems.append(Problem("BK109", what, f"it is at {there} already; rename one of the two", here))
    return [*problems, *first_of_each.rest()]
