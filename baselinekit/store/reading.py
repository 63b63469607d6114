"""Files to baselines: all of them, or everything that is wrong in any of them, with file, line and column."""

import gc
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from baselinekit.documents.languages import LINES, SUFFIXES, language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, nearest
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.values import Json, Path
from baselinekit.schema.places import place_problems
from baselinekit.store import records, records as outputs
from baselinekit.store.config import NAME as CONFIG
from baselinekit.store.files import read, shown
from baselinekit.store.locating import locate, locate_each, same_ids
from baselinekit.store.records import MARK
from baselinekit.tree.paths import value_at

# Files to baselines: all of them, or everything that is wrong in any of them, with file, line and
# column.


def load(files: Sequence[str], root: str) -> list[Baseline]:
    """The baselines of these files, in their order."""
    baselines, error = load_partly(files, root)
    if error is not None:
        raise error
    return baselines


def load_partly(files: Sequence[str], root: str) -> tuple[list[Baseline], BaselinekitError | None]:
    """What can be read, and what is wrong with the rest: for who has more to find fault with."""
    return _load_all(files, lambda file: read(root, file), root)


def parse_record(record: dict[str, Json], root: str) -> Baseline:
    """A record that no file holds yet; it need not have an output."""
    baseline, problems = records.read_record(record, Source("", form=records.form(record)))
    if baseline is None or problems:
        raise InvalidInput(*problems)
    return baseline


def parse(data: bytes, file: str) -> list[Baseline]:
    """The baselines in bytes that need not be those on the disk; what stands in files beside is left out."""
    found = []
    for source, raw in _found(data, file):
        baseline, problems = records.read_record(raw, source)
        if baseline is None or problems:
            raise InvalidInput(*problems)
        found.append(baseline)
    return found


def read_record(source: Source, root: str) -> dict[str, Json]:
    """A record as its file states it, nothing added and nothing left out."""
    body = decode(read(root, source.file), source.file).body
    document = language(source.file).load(body, source.file)[source.document]
    return dict(value_at(document, source.at))


def refuse_taken(id: str, root: str, files: Sequence[str]) -> None:
    """An id is unique in a project, also where upper and lower case are one. Files that cannot be read are
    no obstacle: what is wrong with them is said when they are loaded."""
    for file in files:
        try:
            found = _found(read(root, file), file)
        except BaselinekitError:
            continue
        for source, raw in found:
            taken = records.id_of(raw, source)
            if isinstance(taken, str) and taken.casefold() == id.casefold():
                what = (
                    f"the id {id!r} is taken"
                    if taken == id
                    else f"the id {id!r} is {taken!r} in different case"
                )
                hint = f"choose another --id, or accept its new answer: baselinekit refresh {taken} --replay"
                raise InvalidInput(Problem("BK113", what, hint, locate(source, ("id",), root)))


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


@dataclass(slots=True)
class _Loaded:
    """What the files gave, and what they did not."""

    baselines: list[Baseline] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)

    def keep(self, error: BaselinekitError) -> None:
        (self.refused if isinstance(error, Refused) else self.problems).extend(error.problems)

    def error(self) -> BaselinekitError | None:
        if self.problems:
            return InvalidInput(*self.problems, *self.refused)
        return Refused(*self.refused) if self.refused else None


def _load_all(
    files: Sequence[str], content: Callable[[str], bytes], root: str
) -> tuple[list[Baseline], BaselinekitError | None]:
    loaded = _Loaded()
    with without_collector():
        for file in files:
            try:
                _load_one(content(file), file, root, loaded)
            except (InvalidInput, Refused) as error:
                loaded.keep(error)
    loaded.problems += same_ids(loaded.baselines, root)
    return loaded.baselines, loaded.error()


def _load_one(data: bytes, file: str, root: str, loaded: _Loaded) -> None:
    wrong: dict[int, list[Problem]] = {}
    without_output: list[tuple[Source, Path, BaselinekitError]] = []
    for source, raw in _found(data, file):
        baseline, problems = records.read_record(raw, source)
        if problems or baseline is None:
            here = wrong.setdefault(source.document, [])
            here += [replace(problem, at=(*source.at, *(problem.at or ()))) for problem in problems]
            continue
        known, failed = outputs.with_files(baseline.baseline, root, file)
        without_output += [(source, at, error) for at, error in failed]
        if not failed:
            loaded.baselines.append(
                baseline if known is baseline.baseline else replace(baseline, baseline=known)
            )
    if wrong:
        loaded.problems += place_problems(decode(data, file).body, file, wrong)
    for placed in _where_they_are_named(without_output, root):
        loaded.keep(placed)


def _where_they_are_named(
    errors: Sequence[tuple[Source, Path, BaselinekitError]], root: str
) -> Iterator[BaselinekitError]:
    """What is wrong with the file of an output is told where it is named, unless the fault is inside."""
    named = locate_each([(source, [(*at, "output_file")]) for source, at, _ in errors], root)
    for (*_, error), (here,) in zip(errors, named, strict=True):
        inside = [problem.place and problem.place.line for problem in error.problems]
        yield type(error)(
            *(
                problem if known else replace(problem, place=here, message=_named(problem))
                for problem, known in zip(error.problems, inside, strict=True)
            )
        )


def _named(problem: Problem) -> str:
    return f"{problem.place}: {problem.message}" if problem.place else problem.message


def _found(data: bytes, file: str) -> list[tuple[Source, dict[str, Json]]]:
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


# Which files hold baselines: those that are named, and those below the folders that are named.


MAX_FILES = 20_000


def discover(paths: Sequence[str], root: str, without: Collection[str] = ()) -> list[str]:
    """The files, sorted within each folder, each once. Paths that are not absolute start at the root, and so
    do the names given back. Hidden folders, outputs beside their baselines, links to folders and the folders
    called as in `without` are passed over; whether the rest can be read is found out when it is."""
    found: dict[str, None] = {}
    problems = []
    for path in paths:
        full = os.path.join(root, path)
        if os.path.isdir(full):
            found.update(dict.fromkeys(shown(root, file) for file in _below(full, without)))
        elif not os.path.lexists(full):
            problems.append(_missing(path, full))
        elif not full.endswith((*SUFFIXES, LINES)):
            what = "it does not have the name of a baseline file"
            problems.append(Problem("BK110", what, f"they end in {', '.join(SUFFIXES)}", Place(path)))
        else:
            found[shown(root, full)] = None
    if len(found) > MAX_FILES:
        what = f"{len(found):,} files, and at most {MAX_FILES:,} are read at once"
        problems.append(Problem("BK106", what, "name a folder with fewer"))
    if problems:
        raise InvalidInput(*problems)
    return list(found)


def _below(folder: str, without: Collection[str]) -> Iterator[str]:
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in without:
                yield from _below(entry.path, without)
        elif _is_ours(entry.name) and not _links_to_folder(entry):
            yield entry.path


def _is_ours(name: str) -> bool:
    return name.endswith(SUFFIXES) and MARK not in name and name != CONFIG


def _links_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _missing(path: str, full: str) -> Problem:
    folder = os.path.dirname(full)
    beside = os.listdir(folder) if os.path.isdir(folder) else []
    near = nearest(os.path.basename(full), beside)
    hint = near or "check the name"
    if not near and not os.path.splitext(path)[1] and "/" not in path:
        hint += f" (to select an id: --id {path})"
    return Problem("BK111", f"there is no file or folder {path}", hint)
