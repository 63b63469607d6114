"""What a reader of another tool's eval files gives: a file of test cases as ours state them, and everything
that does not carry over, with its line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.importers.drafts import LeftOut, SourceText
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path

_NOT_IN_IDS = lazy_pattern(r"[^A-Za-z0-9._-]+")
_LONGEST_ID = 100


@frozen
class EvalFiles:
    """What a reader may look at beside its file: the text of a file, by its way from that one's folder, and
    the files that a pattern fits."""

    read: Callable[[str], str] = lambda way: ""
    fitting: Callable[[str], Sequence[str]] = lambda pattern: ()


@frozen
class DraftEvals:
    """`document`: a file of test cases; `left_out`: what it does not say; `notes`: what it says in other
    words; `models`: whom its cases ask, by the name that the configuration gives them, each as it would stand
    there (None: nobody can tell)."""

    name: str
    document: dict[str, Json]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    models: Mapping[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class Reading:
    """One file on its way to test cases. `gone`: what is left out, by its place: the path in the file, or
    another file that it refers to; `models`: as in what comes of it."""

    source: SourceText
    files: EvalFiles
    notes: dict[str, None] = field(default_factory=dict)
    gone: dict[tuple[Path, str, str, str], None] = field(default_factory=dict)
    models: dict[str, Json] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def leave_out(self, at: Path, what: str, hint: str = "", file: str = "") -> None:
        self.gone[(at, what, hint, file)] = None

    def note(self, text: str) -> None:
        self.notes[text] = None

    def own_id(self, text: str) -> str:
        """An id for a case, told apart by a number from those that are taken."""
        return own_id(text, self.taken)

    def left_out(self) -> tuple[LeftOut, ...]:
        """All of it with its lines, in their order."""
        lines = self.source.lines([at for at, *_ in self.gone]) if self.gone else []
        found = [
            LeftOut(0 if file else line, what, hint, file)
            for line, (_, what, hint, file) in zip(lines, self.gone, strict=True)
        ]
        return tuple(sorted(found, key=lambda one: (one.file, one.line)))

    def draft(self, name: str, document: dict[str, Json]) -> DraftEvals:
        return DraftEvals(name, document, self.left_out(), tuple(self.notes), self.models)

    def text_beside(self, way: str) -> str | None:
        """The text of a file that this one names; None where there is none, which is told by who asked."""
        try:
            return self.files.read(way)
        except BaselinekitError:
            return None


def as_name(text: str, usual: str = "cases") -> str:
    """A name of the grammar of ids, of the first words of what somebody calls it."""
    name = ""
    for word in _NOT_IN_IDS.split(text):
        longer = f"{name}-{word}" if name else word.lstrip("-._")
        if len(longer) > _LONGEST_ID:
            break
        name = longer
    return name.strip("-._") or usual


def own_id(text: str, taken: set[str], usual: str = "case") -> str:
    """An id of a file of ours, told apart by a number from those that are taken."""
    word = wanted = as_name(text, usual)
    more = 1
    while word.casefold() in taken:
        more += 1
        word = f"{wanted}-{more}"
    taken.add(word.casefold())
    return word
