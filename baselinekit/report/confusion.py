"""Confusion tables of graders that classify, counted from the grades of a run for each grader and group of
cases: the right class against the class given, how often they agree, and which cases get different
classes."""

from collections import Counter
from collections.abc import Iterator, Sequence

from baselinekit.metrics import clustered_interval
from baselinekit.model.grades import iterate_grades
from baselinekit.model.results import Report, Result
from baselinekit.model.values import Json
from baselinekit.report.blocks import Cell, Heading, Note, Table, Tone, Words, table
from baselinekit.report.values import cut_line
from baselinekit.structs import MutableStruct, Struct, field

NO_DECISION = "no decision"
_MOST_CLASSES = 8
_MOST_ZEROS = 20
"""Classes that have a number in each row for programs, even if it is 0."""

_MOST_TABLES = 20
_LONGEST_CLASS = 24


class ClassifiedCase(MutableStruct):
    """One case: the right class, and how often each class was given over its attempts. `given` has None for
    attempts without a decision."""

    id: str
    name: str
    wanted: str
    given: Counter[str | None] = field(default_factory=Counter)

    @property
    def decided(self) -> int:
        return self.given.total() - self.given[None]

    @property
    def right(self) -> int:
        return self.given[self.wanted]

    @property
    def flips(self) -> bool:
        """Whether it was given different classes. No decision is not a class."""
        return sum(count > 0 for given, count in self.given.items() if given is not None) > 1


class Classification(Struct):
    """The classes that one grader gave to the cases of one group. `cells`: how often each right class was
    given as each class, or None for no decision."""

    group: str
    grader: str
    cases: Sequence[ClassifiedCase]
    cells: Counter[tuple[str, str | None]]

    @property
    def classes(self) -> list[str]:
        """The classes that are right for some case, then those that were only given; in the order of the
        run."""
        return list(dict.fromkeys([*self.wanted, *(given for _, given in self.cells if given is not None)]))

    @property
    def wanted(self) -> list[str]:
        return list(dict.fromkeys(wanted for wanted, _ in self.cells))

    def count(self, wanted: str, given: str | None) -> int:
        return self.cells[wanted, given]

    @property
    def decided(self) -> int:
        return sum(case.decided for case in self.cases)

    @property
    def undecided(self) -> int:
        return sum(case.given[None] for case in self.cases)

    @property
    def right(self) -> int:
        return sum(case.right for case in self.cases)

    @property
    def accuracy(self) -> float | None:
        """The share of the decisions that is right."""
        return self.right / self.decided if self.decided else None

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of the accuracy. Attempts of one case tell less than as many cases."""
        return clustered_interval([(case.decided, case.right) for case in self.cases if case.decided])

    @property
    def flipping(self) -> list[ClassifiedCase]:
        return [case for case in self.cases if case.flips]

    @property
    def repeated(self) -> bool:
        """Whether a case had more than one attempt, so that it could have flipped."""
        return any(case.given.total() > 1 for case in self.cases)


def classifications(report: Report) -> list[Classification]:
    """Return the classifications in the order of the run. Attempts that were only made because another one
    had failed are left out: they say nothing about how often a class is right."""
    cases_by_grader: dict[tuple[str, str], dict[str, ClassifiedCase]] = {}
    for result in report.results:
        facts = result.case
        for attempt in facts.attempts[: len(facts.attempts) - facts.retried] if facts else ():
            for grade in iterate_grades(attempt.grades):
                if (classified := grade.classified) is None:
                    continue
                cases = cases_by_grader.setdefault((group_of(result), grade.grader), {})
                name = result.name or result.id
                case = cases.setdefault(result.id, ClassifiedCase(result.id, name, classified.wanted))
                case.given[classified.given] += 1
    return [_classification(*key, list(cases.values())) for key, cases in cases_by_grader.items()]


def _classification(group: str, grader: str, cases: Sequence[ClassifiedCase]) -> Classification:
    cells = Counter[tuple[str, str | None]]()
    for case in cases:
        for given, count in case.given.items():
            cells[case.wanted, given] += count
    return Classification(group, grader, cases, cells)


def group_of(result: Result) -> str:
    """Return the group of a result: its prompt or its file."""
    group, _, separator = result.id.partition("/")
    return group if separator else result.file


def describe_accuracy(classification: Classification) -> str:
    """Return `5 of 6 right (accuracy 0.833, 0.359 to 0.996), 1 without a decision`."""
    if classification.accuracy is None:
        return f"nothing decided, {classification.undecided:,} without a decision"
    low, high = classification.interval
    text = f"{classification.right:,} of {classification.decided:,} right"
    text += f" (accuracy {classification.accuracy:.3f}, {low:.3f} to {high:.3f} with 95 %)"
    return text + (f", {classification.undecided:,} without a decision" if classification.undecided else "")


def describe_given(case: ClassifiedCase) -> str:
    """Return `YES 3, NO 2, no decision 1`: the most frequent first."""
    counts = sorted(case.given.items(), key=lambda pair: (pair[0] is None, -pair[1]))
    return ", ".join(f"{_class_name(name)} {count:,}" for name, count in counts if count)


def _class_name(given: str | None) -> str:
    return NO_DECISION if given is None else cut_line(given, _LONGEST_CLASS)


def classification_title(classification: Classification) -> str:
    return f"{cut_line(classification.group, 60)}: {cut_line(classification.grader, 60)}"


def classes_blocks(report: Report) -> Iterator[Words]:
    """Yield for each grader that classifies how often each class was given, and the cases that flip."""
    all_classifications = classifications(report)
    for classification in all_classifications[:_MOST_TABLES]:
        yield Heading(classification_title(classification))
        yield Note(describe_accuracy(classification))
        yield _class_table(classification)
        if flipping := classification.flipping:
            rows = [
                (
                    Cell("flips", "unscored"),
                    Cell(case.name, is_code=True),
                    describe_given(case),
                    f"should be {_class_name(case.wanted)}",
                )
                for case in flipping
            ]
            count = f"{len(flipping):,} of {len(classification.cases):,}"
            yield table(
                ("over attempts", "case", "said", "right"), rows, f"Over several attempts, {count} flip"
            )
    if len(all_classifications) > _MOST_TABLES:
        yield Note(f"… and {len(all_classifications) - _MOST_TABLES:,} more graders that classify", "dim")


def _class_table(classification: Classification) -> Table:
    """Return how often each class was given, in a row for each right one. Classes beyond the limit are
    counted together."""
    shown_classes = classification.classes[:_MOST_CLASSES]
    others = classification.classes[_MOST_CLASSES:]
    heads = ["should be", *(f"said {_class_name(given)}" for given in shown_classes)]
    heads += [f"{len(others):,} others"] if others else []
    rows: list[Sequence[str | Cell]] = []
    for wanted in classification.wanted[:_MOST_CLASSES]:
        cells = [
            _count(classification.count(wanted, given), "passed" if given == wanted else "failed")
            for given in shown_classes
        ]
        if others:
            cells.append(_count(sum(classification.count(wanted, given) for given in others), "failed"))
        rows.append((_class_name(wanted), *cells, _count(classification.count(wanted, None), "unscored")))
    return table([*heads, NO_DECISION], rows, figures=True)


def _count(number: int, tone: Tone) -> Cell:
    return Cell(f"{number:,}", tone if number else "dim")


def classes_documents(report: Report) -> list[Json]:
    """Return all classifications as values for programs."""
    return [_document(classification) for classification in classifications(report)]


def _document(classification: Classification) -> dict[str, Json]:
    low, high = classification.interval if classification.decided else (None, None)
    classes = classification.classes
    zero_classes = {*classes[:_MOST_ZEROS]}
    table: dict[str, dict[str, Json]] = {
        wanted: {given: 0 for given in classes if given in zero_classes} for wanted in classification.wanted
    }
    for (wanted, given), count in classification.cells.items():
        if given is not None:
            table[wanted][given] = count
    return {
        "group": classification.group,
        "grader": classification.grader,
        "decided": classification.decided,
        "right": classification.right,
        "no_decision": classification.undecided,
        "accuracy": classification.accuracy,
        "low": low,
        "high": high,
        "table": [
            {
                "should": wanted,
                "did": given_counts,
                "no_decision": classification.count(wanted, None),
            }
            for wanted, given_counts in table.items()
        ],
        "cases": [
            {
                "id": case.id,
                "name": case.name,
                "should": case.wanted,
                "did": {given: count for given, count in case.given.items() if given is not None},
                "no_decision": case.given[None],
                "flips": case.flips,
            }
            for case in classification.cases
        ],
    }


def class_figures(report: Report) -> Iterator[tuple[str, str]]:
    """Yield names and values, for forms that have properties."""
    for classification in classifications(report):
        name = classification_title(classification)
        if classification.accuracy is not None:
            low, high = classification.interval
            yield (
                f"{name} accuracy",
                f"{classification.accuracy:.3f} ({low:.3f} to {high:.3f}, n={classification.decided})",
            )
        if classification.undecided:
            yield f"{name} no decision", str(classification.undecided)
        if classification.repeated:
            yield f"{name} flips", str(len(classification.flipping))
