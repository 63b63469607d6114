"""The exceptions: what could not be done, where, and how to fix it.

BaselinekitError
├── InvalidInput       exit 2   a file, a rule or an option that cannot be used
├── CannotReplay       exit 3   the target could not be asked, or its answer cannot be judged
│   ├── OutOfBudget    exit 3   not asked at all: a limit of the run was reached
│   └── NeverSent      exit 3   not asked at all: the run was interrupted before the request went out
├── NotRecorded        exit 3   the verdict holds, but it could not be written down
├── Refused            exit 4   only the operator or the configuration may allow it
└── NothingSelected    exit 5   no baseline matched: a run that compares nothing is not a pass

A *failed* comparison is not an exception but a value (model/results.py). An exception carries
one or more problems, so that every error of every file is reported at once.
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

WITHOUT_VARIABLE = frozenset(("BK501", "BK504"))
"""A variable without a value in this run: an error of the baselines and cases that need it."""

MAX_SHOWN = 20
"""How many problems of one file are shown in a terminal."""


class Place(NamedTuple):
    """A position in a file. Lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        file = self.file.replace("\n", "\\n").replace("\r", "\\r")  # a file name must not start a new line
        return ":".join(str(part) for part in (file, self.line, self.column) if part is not None)


class Problem(NamedTuple):
    """One thing that is wrong. `at` is a path inside the record; the code that knows the file turns it
    into a `place`."""

    code: str
    message: str
    hint: str = ""
    place: Place | None = None
    at: tuple[str | int, ...] | None = None

    def __str__(self) -> str:
        where = f" {self.place}:" if self.place else ""
        return f"{self.code}{where} {self.with_hint}"

    @property
    def with_hint(self) -> str:
        """The message and the hint as one text."""
        return f"{self.message}: {self.hint}" if self.hint else self.message

    @property
    def facts(self) -> dict[str, str]:
        """The problem without its place, as JSON output has it."""
        return {"code": self.code, "what": self.message, "fix": self.hint}

    def placed(self, place: Place | None) -> "Problem":
        return self._replace(place=place) if self.place is None else self


def describe_exit(exit_code: int) -> str:
    """Describe how a program ended, as the end of a sentence about it."""
    if exit_code < 0:
        return f"was killed by signal {-exit_code}"
    return f"ended with exit code {exit_code}"


def first_of_each_file(problems: Iterable[Problem], noun: str = "problem") -> list[Problem]:
    """The first problems of each file, and the number of its others, for a terminal: JSON lists all."""
    shown: list[Problem] = []
    omitted: dict[str, list[Problem]] = {}
    numbers: Counter[str] = Counter()
    for problem in problems:
        file = problem.place.file if problem.place else ""
        numbers[file] += 1
        (shown if not file or numbers[file] <= MAX_SHOWN else omitted.setdefault(file, [])).append(problem)
    for file, rest in omitted.items():
        message = f"… and {len(rest):,} more {noun}{'s' * (len(rest) > 1)} in this file"
        shown.append(Problem(rest[-1].code, message, "fix the first ones, and look again", Place(file)))
    return shown


class BaselinekitError(Exception):
    """Something that could not be done."""

    exit_code = 2

    def __init__(self, *problems: Problem):
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        """One line per problem; of many in one file only the first few."""
        return "\n".join(map(str, first_of_each_file(self.problems)))


def lacks_variables(error: BaselinekitError) -> bool:
    """Whether nothing is wrong but variables that have no value in this run."""
    return all(problem.code in WITHOUT_VARIABLE for problem in error.problems)


class InvalidInput(BaselinekitError):
    """A file, a rule or an option that cannot be used."""

    exit_code = 2


class CannotReplay(BaselinekitError):
    """The target could not be asked, or its answer cannot be judged."""

    exit_code = 3


def cannot_replay(code: str, message: str, hint: str = "") -> CannotReplay:
    """The error, ready to be raised."""
    return CannotReplay(Problem(code, message, hint))


def internal_error(error: Exception) -> BaselinekitError:
    """Turn an unexpected exception into the error of the one baseline or case that met it, so that the
    others are still judged. An expected one stays as it is."""
    if isinstance(error, BaselinekitError):
        return error
    raise_interrupt(error)
    message = f"internal error: {type(error).__name__}: {error}".rstrip(": ")
    return CannotReplay(Problem("BK399", message, "please report it"))


def find_interrupt(error: Exception) -> KeyboardInterrupt | None:
    """The KeyboardInterrupt that caused an error: Python wraps one that arrives while a class is created."""
    return error.__cause__ if isinstance(error.__cause__, KeyboardInterrupt) else None


def raise_interrupt(error: Exception) -> None:
    """Raise the interrupt behind an error, if there is one, rather than report an internal error."""
    if (interrupt := find_interrupt(error)) is not None:
        raise interrupt


class OutOfBudget(CannotReplay):
    """Not asked: the run has reached a limit that its owner set. The baseline or case is skipped, not
    failed."""


class NeverSent(CannotReplay):
    """The run was interrupted before the request went out, so it has cost nothing."""


class NotRecorded(BaselinekitError):
    """The verdict holds, but it could not be written down."""

    exit_code = 3


class Refused(BaselinekitError):
    """Only the operator or the configuration may allow it."""

    exit_code = 4


class NothingSelected(BaselinekitError):
    """No baseline matched what was asked for."""

    exit_code = 5


def suggest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or an empty text if nothing is similar."""
    match = _nearest(word, tuple(sorted(known)))
    return f"did you mean {match!r}?" if match else ""


@lru_cache(maxsize=1_024)
def _nearest(word: str, candidates: tuple[str, ...]) -> str:
    """The most similar candidate. Cached, since a file that makes a mistake makes it in every record."""
    from difflib import get_close_matches

    matches = get_close_matches(word, candidates, n=1, cutoff=0.6)
    return matches[0] if matches else ""
