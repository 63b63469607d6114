"""Confusion tables of graders that classify, counted from the grades of a run for each grader and group of
cases: the right class against the class given, how often they agree, and which cases get different
classes."""

from collections import Counter
from collections.abc import Iterator

from baselinekit.metrics import clustered_interval
from baselinekit.model.grades import iterate_grades
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.report.blocks import Block, Cell, Heading, Note, Tone, table
from baselinekit.report.values import cut_line
from baselinekit.structs import Struct

NO_DECISION = "no decision"
_MOST_CLASSES = 8
_MOST_TABLES = 20
_MOST_ZEROS = 20
"""Classes that have a number in each row for programs, even if it is 0: such a table grows with their
square."""

_LONGEST_CLASS = 24


class ClassifiedCase(Struct):
    """One case: the right class, and how often each class was given over its attempts. `given` has None for
    attempts without a decision."""

    id: str
    name: str
    wanted: str
    given: Counter[str | None]

    @property
    def decided(self) -> int:
        return self.given.total() - self.given[None]

    @property
    def flips(self) -> bool:
        """Whether it was given different classes. No decision is not a class."""
        return len(self.given.keys() - {None}) > 1


class Classification(Struct):
    """The classes that one grader gave to the cases of one group. `cells`: how often each right class was
    given as each class, or None for no decision."""

    group: str
    grader: str
    cases: list[ClassifiedCase]
    cells: Counter[tuple[str, str | None]]

    @property
    def classes(self) -> list[str]:
        """The classes that are right for some case, then those that were only given; in the order of the
        run."""
        return list(dict.fromkeys([*self.wanted, *(given for _, given in self.cells if given is not None)]))

    @property
    def wanted(self) -> list[str]:
        return list(dict.fromkeys(wanted for wanted, _ in self.cells))

    @property
    def decided(self) -> int:
        return sum(case.decided for case in self.cases)

    @property
    def undecided(self) -> int:
        return sum(case.given[None] for case in self.cases)

    @property
    def right(self) -> int:
        return sum(case.given[case.wanted] for case in self.cases)

    @property
    def accuracy(self) -> float | None:
        """The share of the decisions that is right."""
        return self.right / self.decided if self.decided else None

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of the accuracy. Several attempts of one case count for
        less than as many cases."""
        counts = [(case.decided, case.given[case.wanted]) for case in self.cases]
        return clustered_interval([count for count in counts if count[0]])

    @property
    def flipping(self) -> list[ClassifiedCase]:
        return [case for case in self.cases if case.flips]

    @property
    def title(self) -> str:
        return f"{cut_line(self.group, 60)}: {cut_line(self.grader, 60)}"


def classifications(report: Report) -> list[Classification]:
    """Return the classifications in the order of the run. Attempts that were only made because another one
    had failed are left out: they do not show how often a class is right."""
    by_grader: dict[tuple[str, str], Classification] = {}
    for result in report.results:
        facts = result.case
        group, _, own_id = result.id.partition("/")
        cases: dict[str, ClassifiedCase] = {}
        for attempt in facts.attempts[: len(facts.attempts) - facts.retried] if facts else ():
            for grade in iterate_grades(attempt.grades):
                if (classified := grade.classified) is None:
                    continue
                key = (group if own_id else result.file, grade.grader)
                found = by_grader.setdefault(key, Classification(*key, [], Counter()))
                if grade.grader not in cases:
                    case = ClassifiedCase(result.id, result.name or result.id, classified.wanted, Counter())
                    cases[grade.grader] = case
                    found.cases.append(case)
                cases[grade.grader].given[classified.given] += 1
                found.cells[cases[grade.grader].wanted, classified.given] += 1
    return list(by_grader.values())


def describe_accuracy(classification: Classification) -> str:
    """Return `5 of 6 right (accuracy 0.833, 0.359 to 0.996), 1 without a decision`."""
    text = "nothing decided"
    if classification.accuracy is not None:
        low, high = classification.interval
        text = f"{classification.right:,} of {classification.decided:,} right"
        text += f" (accuracy {classification.accuracy:.3f}, {low:.3f} to {high:.3f} with 95 %)"
    return text + (f", {classification.undecided:,} without a decision" if classification.undecided else "")


def classes_blocks(report: Report) -> Iterator[Block]:
    """Yield for each grader that classifies how often each class was given, in a row for each right one, and
    the cases that flip."""
    all_classifications = classifications(report)
    for classification in all_classifications[:_MOST_TABLES]:
        yield Heading(classification.title)
        yield Note(describe_accuracy(classification))
        given_classes = classification.classes[:_MOST_CLASSES]
        counts: list[tuple[str | Cell, ...]] = [
            (
                _class_name(wanted),
                *(_count(classification, wanted, given) for given in given_classes),
                _count(classification, wanted, None),
            )
            for wanted in classification.wanted[:_MOST_CLASSES]
        ]
        heads = ("should be", *(f"said {_class_name(given)}" for given in given_classes), NO_DECISION)
        yield table(heads, counts, figures=True)
        if left_out := len(classification.classes) - len(given_classes):
            yield Note(f"… and {left_out:,} more classes", "dim")
        if flipping := classification.flipping:
            rows = [
                (
                    Cell("flips", "unscored"),
                    Cell(case.name, is_code=True),
                    _describe_given(case),
                    f"should be {_class_name(case.wanted)}",
                )
                for case in flipping
            ]
            yield table(("over attempts", "case", "said", "right"), rows)
    if len(all_classifications) > _MOST_TABLES:
        yield Note(f"… and {len(all_classifications) - _MOST_TABLES:,} more graders that classify", "dim")


def _describe_given(case: ClassifiedCase) -> str:
    """Return `YES 3, NO 2, no decision 1`: the most frequent first."""
    counts = sorted(case.given.items(), key=lambda pair: (pair[0] is None, -pair[1]))
    return ", ".join(f"{_class_name(name)} {count:,}" for name, count in counts)


def _class_name(given: str | None) -> str:
    return NO_DECISION if given is None else cut_line(given, _LONGEST_CLASS)


def _count(classification: Classification, wanted: str, given: str | None) -> Cell:
    tone: Tone = "unscored" if given is None else "passed" if given == wanted else "failed"
    number = classification.cells[wanted, given]
    return Cell(f"{number:,}", tone if number else "dim")


def classes_documents(report: Report) -> list[Json]:
    """Return all classifications as values for programs."""
    documents: list[Json] = []
    for found in classifications(report):
        low, high = found.interval if found.decided else (None, None)
        zeros = dict.fromkeys(found.classes[:_MOST_ZEROS], 0)
        table: dict[str, dict[str, Json]] = {wanted: {**zeros} for wanted in found.wanted}
        for (wanted, given), count in found.cells.items():
            if given is not None:
                table[wanted][given] = count
        cases = [
            {
                "id": case.id,
                "name": case.name,
                "should": case.wanted,
                "did": {given: count for given, count in case.given.items() if given is not None},
                "no_decision": case.given[None],
                "flips": case.flips,
            }
            for case in found.cases
        ]
        documents.append(
            {
                "group": found.group,
                "grader": found.grader,
                "decided": found.decided,
                "right": found.right,
                "no_decision": found.undecided,
                "accuracy": found.accuracy,
                "low": low,
                "high": high,
                "table": [
                    {"should": wanted, "did": counts, "no_decision": found.cells[wanted, None]}
                    for wanted, counts in table.items()
                ],
                "cases": cases,
            }
        )
    return documents
