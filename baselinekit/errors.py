"""What could not be done: what, where, and how to mend it.

BaselinekitError
├── InvalidInput       exit 2   a file, a rule or an option that cannot be used
├── CannotReplay       exit 3   the target could not be asked, or its answer cannot be judged
│   ├── OutOfBudget    exit 3   it was not asked at all: the limit of the run is reached
│   └── NeverSent      exit 3   nor was this: the run was interrupted before it went out
├── NotRecorded        exit 3   the verdict stands, but it could not be written down
├── Refused            exit 4   allowed to nobody but the operator or the configuration
└── NothingSelected    exit 5   no baseline matched: what could not fail is not a pass

A *failed* comparison is no exception: it is a value (model/results.py). An exception carries
problems, one or many, so that every error of every file is reported at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

_MENDED_ONCE = frozenset(("BK504", "BK601", "BK602", "BK603", "BK604", "BK605"))
"""A variable that is not set, the entry of a model: wrong in one place, however many files lead there."""

_SHOWN_OF_ONE = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file. Lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        file = self.file.replace("\n", "\\n").replace("\r", "\\r")  # a name must not begin a line of its own
        return ":".join(str(part) for part in (file, self.line, self.column) if part is not None)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `at` is a path inside the record, until someone who knows the file
    turns it into a `place`."""

    code: str
    what: str
    mend: str = ""
    place: Place | None = None
    at: tuple[str | int, ...] | None = None

    def __str__(self) -> str:
        where = f" {self.place}:" if self.place else ""
        mend = f": {self.mend}" if self.mend else ""
        return f"{self.code}{where} {self.what}{mend}"

    def placed(self, place: Place | None) -> "Problem":
        return replace(self, place=place) if self.place is None else self


class BaselinekitError(Exception):
    """Something that could not be done."""

    exit_code = 2

    def __init__(self, *problems: Problem):
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        """A line each, but for what is mended in one place: there the first few say it."""
        lines: list[str] = []
        often: dict[tuple[str, str], int] = {}
        for problem in self.problems:
            same = (problem.code, problem.what)
            often[same] = often.get(same, 0) + (problem.code in _MENDED_ONCE)
            if often[same] <= _SHOWN_OF_ONE:
                lines.append(str(problem))
        lines += [
            f"{code} {what}: in {number - _SHOWN_OF_ONE:,} more place{'s' * (number > _SHOWN_OF_ONE + 1)}"
            for (code, what), number in often.items()
            if number > _SHOWN_OF_ONE
        ]
        return "\n".join(lines)


class InvalidInput(BaselinekitError):
    """A file, a rule or an option that cannot be used."""

    exit_code = 2


class CannotReplay(BaselinekitError):
    """The target could not be asked, or its answer cannot be judged."""

    exit_code = 3


def cannot(code: str, what: str, mend: str = "") -> CannotReplay:
    """The error, ready to be raised."""
    return CannotReplay(Problem(code, what, mend))


def fault_of_ours(error: Exception) -> CannotReplay:
    """What nobody expected, as the error of the one thing that met it: whatever else is judged goes on."""
    what = f"internal error: {type(error).__name__}: {error}".rstrip(": ")
    return CannotReplay(Problem("BK399", what, "please report it"))


class OutOfBudget(CannotReplay):
    """Not asked: the run has reached a limit that its owner set. What it was for is skipped, not wrong."""


class NeverSent(CannotReplay):
    """The run was interrupted before anything of it went out: whoever would have answered took nothing."""


class NotRecorded(BaselinekitError):
    """The verdict stands, but it could not be written down."""

    exit_code = 3


class Refused(BaselinekitError):
    """Allowed to nobody but the operator or the configuration."""

    exit_code = 4


class NothingSelected(BaselinekitError):
    """No baseline matched what was asked for."""

    exit_code = 5


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or nothing when nothing is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else ""
