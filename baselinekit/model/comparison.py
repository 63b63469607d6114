"""What a comparison finds, by which methods texts are compared, and what an edit to a file is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from baselinekit.errors import Problem
from baselinekit.model.baselines import Method, Rules
from baselinekit.model.values import Json, Path

# What a comparison finds.


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
class SimilarityQuestion:
    """Whether two texts say the same, which a comparison cannot tell by itself."""

    expected: str
    actual: str
    method: Method


Answers = Mapping[SimilarityQuestion, tuple[float, str]]
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
    questions: tuple[SimilarityQuestion, ...] = ()

    @property
    def passed(self) -> bool:
        return self.count == 0


# A change to a file is data: made by whoever decides, shown to whoever approves, applied by the store.


@dataclass(frozen=True, slots=True)
class Edit:
    """Set the value at `path` of the record; the key is added, and its parents, when it is not there."""

    path: Path
    value: Json


# How texts are compared by what they say: what each method is for, and what it cannot tell.


OLD_NAMES = {"lexical": "words"}
"""Names that files may still hold, with what they are called now."""

PURPOSE = {
    "judge": "a model says of each fact whether it is kept",
    "words": "near-verbatim text",
    "embedding": "the same topic; it says nothing about facts",
}
_CHOICE = "; ".join(f"`method: {name}` ({purpose})" for name, purpose in PURPOSE.items())
SUGGESTION = "a model words its texts differently from time to time: `--method judge` compares their meaning"
TOPIC_ONLY = "topic alike; facts not compared (method: embedding). Where facts matter: `method: judge`"


def method_problems(rules: Rules) -> list[Problem]:
    """Texts that are to be compared by what they say, and nobody says how. A field takes the method that is
    stated for the whole."""
    places: list[Path] = []
    if rules.type == "semantic" and rules.method is None:
        places.append(("comparison", "type"))
    if rules.method is None:
        fields = rules.fields.items()
        places += [
            ("comparison", "fields", path, "type")
            for path, rule in fields
            if rule.type == "semantic" and rule.method is None
        ]
    what = "`type: semantic` does not say how texts are compared"
    return [Problem("BK206", what, _CHOICE, at=at) for at in places]


def renamed(rules: Rules) -> list[tuple[Path, str]]:
    """Where an old name stands, with a word about it."""
    stated: list[tuple[Path, Method | None]] = [(("comparison", "method"), rules.method)]
    stated += [(("comparison", "fields", path, "method"), rule.method) for path, rule in rules.fields.items()]
    return [
        (at, f"`method: {name}` is called `{OLD_NAMES[name]}` now")
        for at, name in stated
        if name in OLD_NAMES
    ]
