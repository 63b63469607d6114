"""Graders, what they make of an output, and what people said of it."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from baselinekit.frozen import frozen
from baselinekit.model.baselines import Number
from baselinekit.model.recipes import Seconds, Usage
from baselinekit.model.values import Json, Path

# Grades: what a grader made of one output, and what became of a case over its attempts.

Outcome = Literal["passed", "failed", "error", "unscored", "skipped"]
"""Kept apart everywhere: an error is neither a failure nor a pass, and what nobody decided is no failure."""

BORDERLINE = "borderline"
"""The verdict of a score that is neither good enough nor plainly too low."""

OUTCOMES: tuple[Outcome, ...] = ("failed", "error", "unscored", "skipped", "passed")

GraderKind = Literal["code", "model", "human"]


@frozen
class Classified:
    """Into which class a grader put something whose right class is known: an entry of a confusion table.
    `given` is None where it decided nothing."""

    wanted: str
    given: str | None


@frozen
class Grade:
    """What one grader says. `score` is from 0 to 1, and None where nothing was decided. `verdict` is a word
    beside the outcome: pending, disputed, borderline, not judged, unparseable. `details` is what the report
    shows. `line`: where the grader stands in the file of its case, if somebody has to look there.
    `parts`: the grades that it is made of; `failed_gates`: what had to hold and does not, which fails the
    case whatever its mean is."""

    grader: str
    kind: GraderKind
    outcome: Outcome
    score: float | None
    reason: str = ""
    verdict: str | None = None
    details: dict[str, Json] = field(default_factory=dict)
    code: str | None = None
    weight: float = 1.0
    required: bool = True
    usage: Usage = field(default_factory=Usage)
    classified: Classified | None = None
    line: int | None = None
    parts: "tuple[Grade, ...]" = ()
    failed_gates: tuple[str, ...] = ()


def each_grade(grades: "Iterable[Grade]", within: str = "") -> "Iterator[Grade]":
    """All grades, behind each those that it is made of, which are called by their way: `gate/facts`."""
    for grade in grades:
        yield replace(grade, grader=within + grade.grader) if within else grade
        yield from each_grade(grade.parts, f"{within}{grade.grader}/")


def with_each(grade: Grade, changed: Callable[[Grade], Grade]) -> Grade:
    """The grade and all that it is made of, each changed."""
    parts = tuple(with_each(part, changed) for part in grade.parts)
    return changed(replace(grade, parts=parts) if parts else grade)


@frozen
class PassRule:
    """When a case passes. By `all`: every required grader passes. By `mean`: the mean of all scores by weight
    is `pass_at` or more and no gate fails, which are the required graders and what a grade names as such;
    from `borderline_at` on it is borderline, and that passes only where `borderline_passes`."""

    by: Literal["all", "mean"] = "all"
    pass_at: Number = 0.8
    borderline_at: Number = 0.6
    borderline_passes: bool = False


@frozen
class Attempt:
    """One attempt at a case: one observation and all its grades. `again` counts replays that were repeated
    because the surroundings failed (no connection, too many requests): they are no attempts. `output` is kept
    as it may be shown, and only as far as a report needs it. `sent`: a prompt of a prompt folder was asked
    and has been answered; `verified`: what the script that checks an answer said, None where there is none;
    `notes`: what came up on the way."""

    number: int
    outcome: Outcome
    score: float | None
    grades: tuple[Grade, ...] = ()
    reason: str = ""
    code: str | None = None
    verdict: str | None = None
    again: int = 0
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    output: Json = None
    environment: dict[str, Json] = field(default_factory=dict)
    sent: bool = False
    verified: bool | None = None
    notes: tuple[str, ...] = ()


# Graders as a case names them. The configs that other packages than grade/ act on stand here too: what
# the sandbox runs, and what people are asked. They are also the schema of a grader's `config:`.


@frozen
class Call:
    """One call of a generated function, and what it must give."""

    expected: Json
    args: list[Json] = field(default_factory=list)
    kwargs: dict[str, Json] = field(default_factory=dict)
    comparator: str = "equals"
    tolerance: Number | None = None


@frozen
class FunctionOutput:
    """The output is a program; a function in it gives what is expected. It runs in a sandbox where there is
    one. `sandbox: true`: nowhere else, whatever is allowed."""

    function_name: str
    test_cases: list[Call] = field(default_factory=list)
    executor: Literal["python"] = "python"
    timeout_per_case: Seconds = 5
    sandbox: bool | None = None
    max_memory_mb: int = 512
    of: str | None = None


@frozen
class Evaluators:
    """Who rates. `adjudicator`: whose rating decides where the others do not agree, and counts only then."""

    min_required: int = 2
    max_allowed: int = 5
    agreement_threshold: Number = 0.8
    adjudicator: str | None = None


@frozen
class Option:
    value: Json
    label: str = ""
    description: str = ""


@frozen
class RatingScale:
    type: Literal["likert", "binary", "ranking"] = "likert"
    range: list[int] = field(default_factory=lambda: [1, 5])
    labels: dict[int, str] = field(default_factory=dict)
    criteria: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    description: str = ""
    tie_allowed: bool = False
    min_items: int = 2
    max_items: int = 5
    threshold: Number | None = None


@frozen
class HumanRating:
    """People who rate: the case waits in a queue until enough of them have, and they agree. `slots`: what
    stands in the rubric for `{special_instructions}` and its like."""

    interface: Literal["web", "cli", "api"] = "cli"
    evaluators: Evaluators = field(default_factory=Evaluators)
    rating_scale: RatingScale = field(default_factory=RatingScale)
    rubric: str = ""
    time_limit_minutes: Number | None = None
    blind_evaluation: bool = False
    slots: dict[str, str] = field(default_factory=dict)


Method = Any
"""The config of a grader: of one of the classes that `grade.graders` lists."""


@frozen
class Grader:
    """A grader as a case names it, ready to be used. `at` leads to it in the record, and `config_at` from
    there to its config. What `required` means is for the case's pass rule to say; `says_required`: whether
    it is stated."""

    name: str
    kind: GraderKind
    method: Method
    weight: float = 1.0
    required: bool = True
    at: Path = ()
    config_at: Path = ("config",)
    says_required: bool = False

    def place_of(self, at: Path) -> Path:
        """Where in the record something of this grader stands: `("config", key)` for one of its config."""
        return (*self.at, *self.config_at, *at[1:]) if at[:1] == ("config",) else (*self.at, *at)

    def graded(self, outcome: Outcome, score: float | None, reason: str = "", **more: Any) -> Grade:
        """What it says: in its name, and with its weight."""
        weight, required = self.weight, self.required
        return Grade(self.name, self.kind, outcome, score, reason, weight=weight, required=required, **more)


# Ratings: what people said of an output, and what they are shown before they say it.


def same_person(rater: str) -> str:
    """By what a rater is known: Ada and ada are one."""
    return " ".join(unicodedata.normalize("NFKC", rater).casefold().split())


@frozen
class Rating:
    """What one person said. `value`: one of the options, a number of the scale, a list of them where there
    are several criteria, or a ranking: the numbers of the items, the best first, tied ones in a list.
    `seconds`: how long it took, where somebody measured it."""

    rater: str
    value: Json
    at: str
    note: str = ""
    seconds: float | None = None


@frozen
class Shown:
    """What a rater sees. `items`: what is to be ranked, in the order in which it is shown. `about`: where the
    output comes from, which a blind evaluation hides."""

    title: str
    input: str
    rubric: str
    output: Json
    expected: str = ""
    items: tuple[Json, ...] = ()
    about: Mapping[str, Json] = field(default_factory=dict)


@frozen
class RatingItem:
    """One output that waits for people: of this case, for this grader. `claims`: of a ranking, which item is
    meant to come before which, by their numbers as shown."""

    key: str
    case: str
    grader: str
    method: HumanRating
    shown: Shown
    opened_at: str
    claims: tuple[tuple[int, int], ...] = ()


def is_adjudicator(rater: str, how: HumanRating) -> bool:
    named = how.evaluators.adjudicator
    return named is not None and same_person(rater) == same_person(named)


def by_role(ratings: Sequence[Rating], how: HumanRating) -> tuple[list[Rating], Rating | None]:
    """What the raters said, and what the adjudicator did, who is none of them."""
    raters = [rating for rating in ratings if not is_adjudicator(rating.rater, how)]
    return raters, next((rating for rating in ratings if is_adjudicator(rating.rater, how)), None)


@frozen
class Queued:
    """An item with what was said of it so far, the earliest first."""

    item: RatingItem
    ratings: tuple[Rating, ...] = ()


@frozen
class Standing:
    """An item, and what its ratings come to by now."""

    queued: Queued
    grade: Grade

    @property
    def is_open(self) -> bool:
        """Whether another rating is wanted and allowed."""
        how = self.queued.item.method
        raters, decided = by_role(self.queued.ratings, how)
        if self.grade.verdict == "disputed" and how.evaluators.adjudicator is not None and decided is None:
            return True
        return self.grade.outcome == "unscored" and len(raters) < how.evaluators.max_allowed

    def wants(self, rater: str) -> bool:
        """Whether this person can say something that counts. The adjudicator is asked about disputes only."""
        how = self.queued.item.method
        if is_adjudicator(rater, how):
            return self.grade.verdict == "disputed"
        return self.is_open and len(by_role(self.queued.ratings, how)[0]) < how.evaluators.max_allowed


@frozen
class Sheet:
    """An item as one person is shown it. `questions`: each criterion, or that of the scale; `choices`: what
    can be said, with what it means; `said`: what others said, where that is not hidden, and `about` where the
    output comes from."""

    item: RatingItem
    questions: tuple[str, ...]
    choices: tuple[tuple[str, str], ...]
    said: tuple[str, ...] = ()
    about: Mapping[str, Json] = field(default_factory=dict)
    minutes: float | None = None


# Calibration: how far a judge agrees with people about the same outputs.

State = Literal["calibrated", "not calibrated", "another judge", "another rubric", "other labels"]


@frozen
class Label:
    """What a person says of one output: passed or failed, a score on the judge's scale, or a category.
    `expected_outcome`: what a good answer does, where the judge goes by that."""

    output: Json
    human: bool | int | float | str
    input: Json = None
    expected: Json = None
    note: str | None = None
    expected_outcome: str = field(default="", repr=False)


@frozen
class Agreement:
    """A judge beside people, counted. It holds for this model and this rubric, and for these labels. `both`:
    outputs that both let pass; `undecided`: those of which the judge gave no usable verdict."""

    model: str
    rubric: str
    labels: str
    both: int
    only_judge: int
    only_human: int
    neither: int
    undecided: int = 0
    kappa: float | None = None

    @property
    def decided(self) -> int:
        return self.both + self.only_judge + self.only_human + self.neither

    @property
    def accuracy(self) -> float | None:
        """The share of the same verdicts."""
        return (self.both + self.neither) / self.decided if self.decided else None


@frozen
class JudgeFacts:
    """What a report says of a judge that has a calibration file."""

    model: str
    file: str
    state: State
    agreement: Agreement | None = None
