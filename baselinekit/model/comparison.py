"""What a comparison finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from baselinekit.model.baselines import Method
from baselinekit.model.values import Json, Path

Kind = Literal["missing", "extra", "value", "type", "order", "count", "tolerance", "similarity"]


class Difference(NamedTuple):
    """One place where the actual output is not what the baseline says. `path` leads through the actual
    output (through the baseline's when nothing is there), `at` through the baseline's. A tuple: a failing
    document may have thousands, and a dataclass takes three times as long to make."""

    path: Path
    kind: Kind
    expected: Json
    actual: Json
    at: Path
    rule: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class RuleReport:
    """A rule that matched nothing (`stale`), hid more than a value (`hid`), says less than it could
    (`uncompared`), warns of an age (`aged`), or leads to better ones (`advice`). `at` leads to the rule."""

    rule: str
    kind: Literal["stale", "hid", "uncompared", "aged", "advice"]
    what: str
    at: Path


@dataclass(frozen=True, slots=True)
class Question:
    """Whether two texts say the same, which a comparison cannot tell by itself."""

    expected: str
    actual: str
    method: Method


Answers = Mapping[Question, tuple[float, str]]
"""To each question how alike the texts are, from 0 to 1, and why."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The one walk's result. `count` counts every difference, also those past the limit of what is kept.
    `resolved` is the actual output seen through the expected template: what matched keeps the author's
    text. It *is* the expected output, the same object, when nothing differs. While there are questions it is
    no verdict: compare again with the answers."""

    differences: tuple[Difference, ...]
    count: int
    resolved: Json
    reports: tuple[RuleReport, ...] = ()
    questions: tuple[Question, ...] = ()

    @property
    def passed(self) -> bool:
        return self.count == 0
