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
from dataclasses import replace
from functools import lru_cache

from baselinekit.frozen import frozen

_MENDED_ONCE = frozenset(("BK504", "BK601", "BK602", "BK603", "BK604", "BK605"))
"""A variable that is not set, the entry of a model: wrong in one place, however many files lead there."""

_SHOWN_OF_ONE = 3
_MOST_OF_ONE_FILE = 50
_MOST_KNOWN = 5_000
_LONGEST_WORD = 200


@frozen
class Place:
    """Where in a file. Lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        file = self.file.replace("\n", "\\n").replace("\r", "\\r")  # a name must not begin a line of its own
        return ":".join(str(part) for part in (file, self.line, self.column) if part is not None)


@frozen
class Problem:
    """One thing that is wrong. `at` is a path inside the record, until someone who knows the file
    turns it into a `place`. `counts`: for how many it stands, where a file has more than are told."""

    code: str
    message: str
    hint: str = ""
    place: Place | None = None
    at: tuple[str | int, ...] | None = None
    counts: int = 1

    def __str__(self) -> str:
        where = f" {self.place}:" if self.place else ""
        return f"{self.code}{where} {self.with_hint}"

    @property
    def with_hint(self) -> str:
        """What is wrong and what to do about it, as one text."""
        return f"{self.message}: {self.hint}" if self.hint else self.message

    def placed(self, place: Place | None) -> "Problem":
        return replace(self, place=place) if self.place is None else self


def how_ended(exit_code: int) -> str:
    """What became of a program, as the end of a sentence about it."""
    if exit_code < 0:
        return f"was killed by signal {-exit_code}"
    return f"ended with exit code {exit_code}"


def count_of(problems: Iterable[Problem]) -> int:
    """How many there are, with those that are only counted."""
    return sum(problem.counts for problem in problems)


class FirstOfEach:
    """The first problems of each file, and the number of the others. Of a file that is wrong throughout
    nobody reads thousands of lines, and to find their places takes longer than anybody waits."""

    def __init__(self, called: str = "problem"):
        self._called = called
        self._taken: dict[str, int] = {}
        self._left: dict[str, Problem] = {}

    def takes(self, file: str, problem: Problem) -> bool:
        """Whether a problem is one of the first of its file; else it is counted."""
        taken = self._taken.get(file, 0)
        if problem.counts == 1 and taken < _MOST_OF_ONE_FILE:
            self._taken[file] = taken + 1
            return True
        left = self._left.get(file)
        counts = problem.counts + (left.counts if left else 0)
        # with a code that is no refusal, if there is one: it decides the exit code
        code = (
            left.code
            if left and (problem.code.startswith("BK4") or not left.code.startswith("BK4"))
            else problem.code
        )
        self._left[file] = Problem(code, "", place=Place(file), counts=counts)
        return False

    def rest(self) -> list[Problem]:
        """One line for each file of which more is wrong."""
        return [
            replace(
                left,
                message=f"… and {left.counts:,} more {self._called}{'s' * (left.counts > 1)} in this file",
                hint="fix the first ones, and look again",
            )
            for left in self._left.values()
        ]


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
            same = (problem.code, problem.message)
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


def cannot(code: str, what: str, hint: str = "") -> CannotReplay:
    """The error, ready to be raised."""
    return CannotReplay(Problem(code, what, hint))


def fault_of_ours(error: Exception) -> CannotReplay:
    """What nobody expected, as the error of the one thing that met it: whatever else is judged goes on."""
    raise_interrupt(error)
    what = f"internal error: {type(error).__name__}: {error}".rstrip(": ")
    return CannotReplay(Problem("BK399", what, "please report it"))


def interrupt_in(error: Exception) -> KeyboardInterrupt | None:
    """Python wraps an interrupt that comes while a class is made."""
    return error.__cause__ if isinstance(error.__cause__, KeyboardInterrupt) else None


def raise_interrupt(error: Exception) -> None:
    """What is no fault of ours is not told as one."""
    if (interrupt := interrupt_in(error)) is not None:
        raise interrupt


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
    shortest, longest = len(word) * 3 / 7, len(word) * 7 / 3  # of others less than 0.6 can be the same
    similar = sorted(other for other in known if shortest <= len(other) <= longest)
    near = _nearest(word, tuple(similar[:_MOST_KNOWN]))
    return f"did you mean {near!r}?" if near else ""


@lru_cache(maxsize=1_024)
def _nearest(word: str, known: tuple[str, ...]) -> str:
    """A file that makes one mistake makes it in every record."""
    from difflib import get_close_matches

    if len(word) > _LONGEST_WORD:
        return ""
    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return found[0] if found else ""
