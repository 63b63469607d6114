"""Another tool's eval file as a file of test cases in our form, and everything of it that does not carry
over, with its file and line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy

from baselinekit.errors import BaselinekitError, Place
from baselinekit.files.languages import JSON
from baselinekit.importers.drafts import LeftOut, NotCarried, SourceText
from baselinekit.model.values import Json, Path
from baselinekit.schema import read_as
from baselinekit.structs import Struct, field
from baselinekit.suites.writing import unique_id
from baselinekit.values.places import value_at

BESIDE = "paths start at the folder of the configuration"


class EvalFiles(Struct):
    """The files beside an eval file: the text of one, by its path from that file's folder, and those that
    match a pattern."""

    read: Callable[[str], str] = lambda path: ""
    fitting: Callable[[str], Sequence[str]] = lambda pattern: ()


class DraftEvals(Struct):
    """`document`: a file of test cases; `left_out`: what it lacks; `notes`: what it states differently;
    `models`: the models that its cases ask, by their names in the configuration, each as it would be declared
    there (None: unknown)."""

    name: str
    document: dict[str, Json]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    models: Mapping[str, Json] = field(default_factory=dict)


_BESIDE = "\0beside"


def in_file(file: str) -> Path:
    """The place of another file that the eval file names. What is in it has a place below this one."""
    return (_BESIDE, file)


class Reading:
    """The reading of one file. `hints`: what to do about keys without a counterpart; `row_lines`: the line of
    each row of the files that are tables or JSON Lines; `models`: as in DraftEvals."""

    def __init__(self, source: SourceText, files: EvalFiles, hints: Mapping[str, str]):
        self.source, self.files, self._hints = source, files, hints
        self.models: dict[str, Json] = {}
        self.row_lines: dict[str, Sequence[int]] = {}
        self._sources = {"": source}
        self._notes: dict[str, None] = {}
        self._left_out: dict[LeftOut, None] = {}
        self._ids: set[str] = set()

    def leave_out(self, at: Path, message: str, hint: str = "") -> None:
        file, path = (str(at[1]), at[2:]) if at[:1] == (_BESIDE,) else ("", at)
        if rows := self.row_lines.get(file):
            line = rows[path[0]] if path and isinstance(path[0], int) else 1
        else:
            line = self._sources[file].line(path) if file in self._sources else 1
        self._left_out[LeftOut(line, message, hint, file)] = None

    @contextmanager
    def listing(self, at: Path) -> Iterator[None]:
        """What does not carry over within the block is listed with this place."""
        try:
            yield
        except NotCarried as error:
            self.leave_out(at, error.message, error.hint)

    def note(self, text: str) -> None:
        self._notes[text] = None

    def own_id(self, text: str) -> str:
        return unique_id(text, self._ids)

    def known(self, form: type[Struct], raw: Json, at: Path, what: str = "") -> dict[str, Json] | None:
        """A mapping without what its form does not have, or has otherwise, which is listed; None for another
        value. `what` it is, for people."""
        _, problems = read_as(form, raw)
        kept = deepcopy(raw)
        for problem in reversed(problems):
            path = problem.at or ()
            name = f"`{path[-1]}`{what and f' of {what}'}" if path else what
            if problem.code == "BK103":
                self.leave_out((*at, *path), name, self._hints.get(str(path[-1]), ""))
            else:
                self.leave_out((*at, *path), f"{name}: {problem.message}", problem.hint)
            if path:
                del value_at(kept, path[:-1])[path[-1]]
        return kept if isinstance(kept, dict) else None

    def text(self, path: str) -> str:
        """The text of a file that this one names."""
        try:
            return self.files.read(path)
        except BaselinekitError:
            raise NotCarried(f"there is no file {path!r}", BESIDE) from None

    def data(self, path: str) -> Json:
        """The value of such a file: YAML, JSON or JSON Lines."""
        source = self._sources[path] = SourceText(path, self.text(path), path.endswith(".json"))
        number = 0
        try:
            if not path.endswith(".jsonl"):
                return source.value
            rows: dict[int, Json] = {}
            for number, line in enumerate(source.text.split("\n"), 1):
                if line.strip():
                    rows[number] = JSON.load(line, path)[0]
            self.row_lines[path] = [*rows]
            return [*rows.values()]
        except BaselinekitError as error:
            problem = error.problems[0]
            place = Place(path, number) if number else problem.place or path
            raise NotCarried(f"{place} cannot be read: {problem.message}", problem.hint) from None

    def draft(self, name: str, document: dict[str, Json]) -> DraftEvals:
        left_out = sorted(self._left_out, key=lambda left: (left.file, left.line))
        return DraftEvals(name, document, tuple(left_out), tuple(self._notes), self.models)
