"""The result of reading another tool's eval files: a file of test cases in our form, and everything that does
not carry over, with its file and line."""

from collections.abc import Callable, Mapping, Sequence

from baselinekit.errors import BaselinekitError
from baselinekit.importers.drafts import LeftOut, SourceText
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.structs import MutableStruct, Struct, field

_NOT_IN_IDS = lazy_pattern(r"[^A-Za-z0-9._-]+")
_LONGEST_ID = 100


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


class Reading(MutableStruct):
    """The reading of one file into test cases. `omissions`: what is left out, by its place: a path in the
    file, or below `in_file`; `row_lines`: the line of each row of the files that are tables or JSON Lines;
    `models`: as in DraftEvals."""

    source: SourceText
    files: EvalFiles
    notes: dict[str, None] = field(default_factory=dict)
    omissions: dict[tuple[Path, str, str], None] = field(default_factory=dict)
    row_lines: dict[str, Sequence[int]] = field(default_factory=dict)
    models: dict[str, Json] = field(default_factory=dict)
    used_ids: set[str] = field(default_factory=set)

    def leave_out(self, at: Path, message: str, hint: str = "") -> None:
        self.omissions[(at, message, hint)] = None

    def note(self, text: str) -> None:
        self.notes[text] = None

    def own_id(self, text: str) -> str:
        """An id for a case, with a number if it is taken."""
        return unique_id(text, self.used_ids)

    def left_out(self) -> tuple[LeftOut, ...]:
        """Everything that is left out, with its files and lines and in their order."""
        paths: dict[str, list[Path]] = {}
        for at, *_ in self.omissions:
            file, path = _split(at)
            paths.setdefault(file, []).append(path)
        lines = {file: iter(self._lines(file, inner)) for file, inner in paths.items()}
        left_out = []
        for at, message, hint in self.omissions:
            file, _ = _split(at)
            left_out.append(LeftOut(next(lines[file]), message, hint, file))
        return tuple(sorted(left_out, key=lambda left: (left.file, left.line)))

    def _lines(self, file: str, paths: Sequence[Path]) -> Sequence[int]:
        if not file:
            return self.source.lines(paths)
        if rows := self.row_lines.get(file):
            return [rows[path[0]] if path and isinstance(path[0], int) else 1 for path in paths]
        source = SourceText(file, self.text_beside(file) or "")
        source.is_json = file.endswith(".json")
        return source.lines(paths)

    def draft(self, name: str, document: dict[str, Json]) -> DraftEvals:
        return DraftEvals(name, document, self.left_out(), tuple(self.notes), self.models)

    def text_beside(self, path: str) -> str | None:
        """The text of a file that this one names; None if there is none, which the caller reports."""
        try:
            return self.files.read(path)
        except BaselinekitError:
            return None


def _split(at: Path) -> tuple[str, Path]:
    """The file of a place, empty for the eval file itself, and the path in it."""
    return (str(at[1]), at[2:]) if at[:1] == (_BESIDE,) else ("", at)


def as_name(text: str, usual: str = "cases") -> str:
    """A name that is valid as an id, made of the first words of a text."""
    name = ""
    for word in _NOT_IN_IDS.split(text):
        extended = f"{name}-{word}" if name else word.lstrip("-._")
        if len(extended) > _LONGEST_ID:
            break
        name = extended
    return name.strip("-._") or usual


def unique_id(text: str, taken: set[str], usual: str = "case") -> str:
    """An id for a file of ours, with a number if it is taken."""
    id = preferred = as_name(text, usual)
    number = 1
    while id.casefold() in taken:
        number += 1
        id = f"{preferred}-{number}"
    taken.add(id.casefold())
    return id
