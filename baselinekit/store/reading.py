"""Find the files that hold baselines, and load them: all of them, or every problem in any of them, with file,
line and column."""

import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from typing import Any

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, suggest
from baselinekit.files.jsontext import NotJson, decode as decode_json
from baselinekit.files.languages import LINES, SUFFIXES, language
from baselinekit.files.text import MarkedNode, decode, mark, place, reach
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.values import Json, Path
from baselinekit.schema import place_problems, position, prefix_paths
from baselinekit.store import project, records
from baselinekit.store.project import MAX_OUTPUT_BYTES, name_in_project, read
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.texts import count_noun, list_first

# Which files hold baselines: the named files, and those below the named folders. Each folder is listed
# once, and no file is opened; a project may have a million files.


class Discovery(MutableStruct):
    """The files that were found, each once, in the order in which they are read. `named`: those of them that
    were named; `configs`: the configuration files in the listed folders, of projects inside this one;
    `passed_over`: files that were found and plainly hold no baselines."""

    root: str
    files: dict[str, None] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    configs: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    def pass_over_foreign(self, strict: Sequence[str]) -> None:
        """Leave out files that plainly belong to other tools. Named files stay, and so do those below the
        `strict` folders: what is wrong with them is reported."""
        below = tuple(f"{os.path.normpath(folder)}/" for folder in strict)
        unnamed = [file for file in self.files if file not in self.named and not file.startswith(below)]
        self.passed_over = [file for file in unnamed if is_foreign_json(self.root, file)]
        for file in self.passed_over:
            del self.files[file]


def discover_files(
    paths: Sequence[str],
    root: str,
    without: Collection[str] = (),
    with_prompts: bool = False,
    endings: tuple[str, ...] = SUFFIXES,
) -> Discovery:
    """Find the files, each once, sorted within each folder. Relative paths and the returned names start at
    the root. Hidden folders, output files, links to folders and folders with a name in `without` are skipped;
    whether a file can be read is not checked. Below a folder with a prompt, only files that look like
    baselines count, unless `with_prompts`. `endings` are those of the files in folders."""
    discovery, most = Discovery(root), project.limits_of(root).files
    problems, prompts = [], set[str]()
    for path in paths:
        full = os.path.join(root, path)
        if os.path.isdir(full):
            found: list[str] = []
            for folder, folders, names in os.walk(os.path.normpath(full)):
                folders[:] = [name for name in folders if not name.startswith(".") and name not in without]
                if os.path.dirname(folder) in prompts or project.is_prompt_folder(names):
                    prompts.add(folder)
                for name in names:
                    if name.startswith(".") or not name.endswith(endings) or records.MARK in name:
                        continue
                    file = os.path.normpath(os.path.join(name_in_project(root, folder), name))
                    if name == project.CONFIG_NAME:
                        discovery.configs.append(file)
                    elif with_prompts or folder not in prompts or holds_baselines(root, file):
                        found.append(file)
                if len(discovery.files) + len(found) > most:
                    message = f"more than {most:,} files, which is the most that are read at once"
                    hint = "name a folder with fewer, or state a higher number: limits: {files: …}"
                    raise InvalidInput(Problem("BK106", message, hint))
            discovery.files |= dict.fromkeys(sorted(found, key=lambda file: file.split("/")))
        elif not os.path.lexists(full):
            problems.append(_missing(path, full))
        elif not full.endswith((*SUFFIXES, LINES)):
            message = "it does not have the name of a baseline file"
            problems.append(Problem("BK110", message, f"they end in {', '.join(SUFFIXES)}", Place(path)))
        else:
            file = name_in_project(root, full)
            discovery.named.add(file)
            discovery.files[file] = None
    if problems:
        raise InvalidInput(*problems)
    return discovery


_BASELINE_KEY = lazy_pattern(rb"(?m)^(?:- )?[\"']?(?:current|baseline|comparison|test_case)[\"']?[ \t]*:")
"""Finds a key of a baseline in a file that cannot be parsed."""


def holds_baselines(root: str, file: str) -> bool:
    """Whether a file beside a prompt holds baselines, valid or not. Other files there hold its metadata, its
    evals and their inputs. A file that is too large or gone holds none."""
    if os.path.basename(file) in (*project.PROMPT_FILES, project.INPUTS):
        return False
    data = b""
    try:
        data = read(root, file)
        return records.has_records(language(file).load(decode(data, file).body, file))
    except BaselinekitError:
        return _BASELINE_KEY.search(data) is not None


_KEYS = {"current", "baseline", "comparison", "test_case", "eval_type", records.WRAPPER}
_KEYS |= {*records.OTHERS, *records.CASE}
_MAX_LISTED = 3


def is_foreign_json(root: str, file: str) -> bool:
    """Whether a file is JSON and has no key of a baseline or of an eval."""
    keys = keys_of_json(root, file)
    return keys is not None and not resemble(keys, _KEYS)


def resemble(keys: Collection[str], known: Collection[str]) -> bool:
    """Whether any of the keys is a known one, or a misspelling of one."""
    return any(get_close_matches(key, known, 1, 0.8) for key in keys)


def keys_of_json(root: str, file: str) -> set[str] | None:
    """Return the keys at the top of a JSON file, or of the rows in it; None if it is not JSON, cannot be
    read or is empty, which is reported when it is loaded. JSON that does not parse, such as JSON with
    comments, is searched as text."""
    if not file.endswith(".json"):
        return None
    try:
        body = decode(read(root, file), file).body
        document = decode_json(body)
    except BaselinekitError:
        return None
    except NotJson:
        return {*re.findall(r'"(\w+)"\s*:', body)} if body.strip() else None
    rows = document if isinstance(document, list) else [document]
    return {key for row in rows if isinstance(row, dict) for key in row}


def passed_over_notes(files: Sequence[str]) -> tuple[str, ...]:
    """Return a note that names the files; of many, only the first."""
    note = f"passed over, as nothing there is a baseline: {list_first(files, _MAX_LISTED)}"
    return (f"{count_noun(len(files), 'file')} {note}",) if files else ()


def _missing(path: str, full: str) -> Problem:
    folder = os.path.dirname(full)
    siblings = os.listdir(folder) if os.path.isdir(folder) else []
    suggestion = suggest(os.path.basename(full), siblings)
    hint = suggestion or "check the name"
    if not suggestion and not os.path.splitext(path)[1] and "/" not in path:
        hint += f" (to select an id: --id {path})"
    return Problem("BK111", f"there is no file or folder {path}", hint)


# From a path in a baseline to file, line and column. The file is parsed again, but only on demand.


_OPTION_LISTS = ("ignore_values", "require_keys")


def locate(source: Source, path: Path, root: str) -> Place:
    """Return the place of the value at a path of the baseline, or of its nearest existing parent."""
    return locate_all(source, [path], root)[0]


def locate_all(source: Source, paths: Sequence[Path], root: str) -> list[Place]:
    """Like `locate`, for many paths of one baseline: the file is parsed once."""
    return locate_each([(source, paths)], root)[0]


def locate_each(requests: Sequence[tuple[Source, Sequence[Path]]], root: str) -> list[list[Place]]:
    """Like `locate_all`, for many baselines: each file is parsed once, however many of them it holds."""
    parsed: ParsedFiles = {}
    return [[_place_of(source, path, root, parsed) for path in paths] for source, paths in requests]


ParsedFiles = dict[tuple[str, str], tuple[str, list[MarkedNode]]]
"""The text and the nodes of each file, by its folder and name."""


def _place_of(source: Source, path: Path, root: str, parsed: ParsedFiles) -> Place:
    body, marks = _parse(root, source.file, parsed)
    if source.document >= len(marks):
        return Place(source.file)
    known_at = output_of(path)
    if known_at is not None:
        at = records.place_in(source, (*known_at, "output_file"))
        nodes, missing = reach(marks, source.document, at)
        if not missing and nodes[-1].value:
            location = records.output_location(root, source.file, nodes[-1].value)
            return _place_in_output(*location, path[len(known_at) + 1 :], parsed)
    nodes, missing = reach(marks, source.document, records.place_in(source, path))
    if missing:
        elsewhere, missing = reach(marks, source.document, in_options(source, path))
        nodes = nodes if missing else elsewhere
    return place(source.file, body, position(nodes[-1]))


def _place_in_output(folder: str, file: str, path: Path, parsed: ParsedFiles) -> Place:
    if not file.endswith(".json"):
        return Place(file, 1, 1)
    body, marks = _parse(folder, file, parsed)
    return place(file, body, position(reach(marks, 0, path)[0][-1])) if marks else Place(file)


def _parse(root: str, file: str, parsed: ParsedFiles) -> tuple[str, list[MarkedNode]]:
    """Return the text and the nodes of a file; none of a file that cannot be read."""
    if (root, file) not in parsed:
        parsed[root, file] = "", []
        with suppress(BaselinekitError):
            body = decode(read(root, file, MAX_OUTPUT_BYTES), file).body
            parsed[root, file] = body, mark(language(file).events(body))
    return parsed[root, file]


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


def records_by_id(root: str, folders: Sequence[str]) -> dict[str, tuple[Source, dict[str, Json]]]:
    """Return the records of a project by their case-folded ids: ids must be unique even without regard to
    case. Files that cannot be read are skipped: loading them reports what is wrong."""
    existing = [folder for folder in folders if os.path.isdir(os.path.join(root, folder))]
    files = discover_files(existing, root).files
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
    """The baselines of several files."""

    baselines: list[Baseline] = field(default_factory=list)

    def read(self, file: str, root: str) -> None:
        try:
            self._add(read(root, file), file, root)
        except (InvalidInput, Refused) as error:
            self.fail(error)

    def _add(self, data: bytes, file: str, root: str) -> None:
        problems_by_document: dict[int, list[Problem]] = {}
        output_errors: list[tuple[Source, Path, BaselinekitError]] = []
        for source, raw in records.records_in(data, file):
            baseline, problems = records.read_record(raw, source)
            if problems or baseline is None:
                document_problems = problems_by_document.setdefault(source.document, [])
                document_problems += prefix_paths(problems, source.at)
                continue
            filled, errors = records.fill_outputs(baseline.baseline, partial(records.load, root, file))
            output_errors += [(source, at, error) for at, error in errors]
            if not errors:
                self.baselines.append(replace(baseline, baseline=filled))
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
        hint = f"{earlier.id!r} is at {earlier_place} already; rename one of the two"
        problems.append(Problem("BK109", f"the id {item.id!r} occurs twice", hint, item_place))
    return problems
