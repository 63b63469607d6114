"""Graders that put things into classes, where the right class is known: counted from the grades of a run, for
each grader and group of cases. What it should have said beside what it did say, how often that was the same,
and which cases it puts now into this class and now into that one."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from baselinekit.escape import markdown_code, markdown_text
from baselinekit.frozen import frozen
from baselinekit.metrics import clustered_interval
from baselinekit.model.grades import each_grade
from baselinekit.model.results import Report, Result
from baselinekit.model.values import Json
from baselinekit.report.values import cut_line
from baselinekit.report.wording import Style

NO_DECISION = "no decision"
_MOST_CLASSES = 8
_MOST_ZEROS = 20
"""Classes that have a number in each row for programs, though it may be 0."""

_MOST_TABLES = 20
_MOST_FLIPS = 10
_LONGEST_CLASS = 24
_LONGEST_NAME = 100


@dataclass(slots=True)
class ClassifiedCase:
    """One case: what is right, and how often each class was given, over its attempts. `given` has None for
    those attempts in which nothing was decided."""

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
        """Whether it is put now into this class, now into that one. No decision is no class."""
        return sum(count > 0 for given, count in self.given.items() if given is not None) > 1


@frozen
class Classification:
    """What one grader made of the cases of one group. `cells`: how often what should be one class was said to
    be another one, or nothing."""

    group: str
    grader: str
    cases: Sequence[ClassifiedCase]
    cells: Counter[tuple[str, str | None]]

    @property
    def classes(self) -> list[str]:
        """Those that are right somewhere, then those that were only said; in the order of the run."""
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
        """Of what was decided, the share that is right."""
        return self.right / self.decided if self.decided else None

    @property
    def interval(self) -> tuple[float, float]:
        """The accuracies that this leaves possible. Attempts of one case tell less than as many cases."""
        return clustered_interval([(case.decided, case.right) for case in self.cases if case.decided])

    @property
    def flipping(self) -> list[ClassifiedCase]:
        return [case for case in self.cases if case.flips]

    @property
    def repeated(self) -> bool:
        """Whether a case was tried more than once, so that it could have flipped."""
        return any(case.given.total() > 1 for case in self.cases)


def classifications(report: Report) -> list[Classification]:
    """In the order of the run. An attempt that was only made because another one had failed tells nothing
    about how often a class is right."""
    found: dict[tuple[str, str], dict[str, ClassifiedCase]] = {}
    for result in report.results:
        facts = result.case
        for attempt in facts.attempts[: len(facts.attempts) - facts.retried] if facts else ():
            for grade in each_grade(attempt.grades):
                if (entry := grade.classified) is None:
                    continue
                cases = found.setdefault((group_of(result), grade.grader), {})
                name = result.name or result.id
                case = cases.setdefault(result.id, ClassifiedCase(result.id, name, entry.wanted))
                case.given[entry.given] += 1
    return [_classification(*key, list(cases.values())) for key, cases in found.items()]


def _classification(group: str, grader: str, cases: Sequence[ClassifiedCase]) -> Classification:
    cells = Counter[tuple[str, str | None]]()
    for case in cases:
        for given, count in case.given.items():
            cells[case.wanted, given] += count
    return Classification(group, grader, cases, cells)


def group_of(result: Result) -> str:
    """What the cases of one prompt or one file have in common."""
    group, _, rest = result.id.partition("/")
    return group if rest else result.file


def describe_accuracy(one: Classification) -> str:
    """`5 of 6 right (accuracy 0.833, 0.359 to 0.996), 1 without a decision`."""
    if one.accuracy is None:
        return f"nothing decided, {one.undecided:,} without a decision"
    low, high = one.interval
    text = f"{one.right:,} of {one.decided:,} right"
    text += f" (accuracy {one.accuracy:.3f}, {low:.3f} to {high:.3f} with 95 %)"
    return text + (f", {one.undecided:,} without a decision" if one.undecided else "")


def describe_given(case: ClassifiedCase) -> str:
    """`YES 3, NO 2, no decision 1`: the most frequent first."""
    given = sorted(case.given.items(), key=lambda pair: (pair[0] is None, -pair[1]))
    return ", ".join(f"{_class(given)} {count:,}" for given, count in given if count)


def _class(given: str | None) -> str:
    return NO_DECISION if given is None else cut_line(given, _LONGEST_CLASS)


def title(one: Classification) -> str:
    return f"{cut_line(one.group, 60)}: {cut_line(one.grader, 60)}"


def table_rows(one: Classification) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """The classes that were said, as heads, and for each right class how often each was said. What there is
    no room for is counted together."""
    shown = one.classes[:_MOST_CLASSES]
    rest = one.classes[_MOST_CLASSES:]
    heads = [*map(_class, shown), *([f"{len(rest):,} others"] if rest else []), NO_DECISION]
    rows = []
    for wanted in one.wanted[:_MOST_CLASSES]:
        counts = [one.count(wanted, given) for given in shown]
        counts += [sum(one.count(wanted, given) for given in rest)] if rest else []
        rows.append((_class(wanted), [*counts, one.count(wanted, None)]))
    return heads, rows


def describe_classes(report: Report, style: Style) -> Iterator[str]:
    """For the terminal: a few lines for each grader that classifies."""
    found = classifications(report)
    for one in found[:_MOST_TABLES]:
        yield f"{style.paint(title(one), 'bold')}  {describe_accuracy(one)}"
        heads, rows = table_rows(one)
        first = max(6, *(len(wanted) for wanted, _ in rows))
        widths = [max(len(head), 4) for head in heads]
        named = "  ".join(f"{head:>{wide}}" for head, wide in zip(heads, widths, strict=True))
        yield style.paint(f"  {'should':<{first}}  {named}", "dim")
        for wanted, counts in rows:
            cells = []
            for head, count, wide in zip(heads, counts, widths, strict=True):
                colour = "green" if head == wanted else "yellow" if head == NO_DECISION else "red"
                cells.append(style.paint(f"{count:>{wide},}", colour if count else "dim"))
            yield f"  {wanted:<{first}}  {'  '.join(cells)}"
        flipping = one.flipping
        for case in flipping if style.verbose else flipping[:_MOST_FLIPS]:
            named = cut_line(case.name, _LONGEST_NAME)
            should = cut_line(case.wanted, _LONGEST_CLASS)
            yield f"  {style.paint('flips', 'yellow')} {named}: {describe_given(case)} (should be {should})"
        if len(flipping) > _MOST_FLIPS and not style.verbose:
            yield style.paint(f"  … and {len(flipping) - _MOST_FLIPS:,} more that flip: -v", "dim")
    if len(found) > _MOST_TABLES:
        yield style.paint(f"… and {len(found) - _MOST_TABLES:,} more graders that classify", "dim")


def markdown_classes(report: Report, most: int, mark: str) -> Iterator[str]:
    """For people who are handed a report, or read a comment."""
    found = classifications(report)
    for one in found[:_MOST_TABLES]:
        heads, rows = table_rows(one)
        yield from ("", f"{mark} {markdown_text(title(one))}", "", markdown_text(describe_accuracy(one)), "")
        said = [markdown_text(f"said {head}") for head in heads[:-1]]
        yield f"| should be | {' | '.join([*said, NO_DECISION])} |"
        yield "|---|" + "---:|" * len(heads)
        for wanted, counts in rows:
            yield f"| {markdown_code(wanted)} | {' | '.join(f'{count:,}' for count in counts)} |"
        flipping = one.flipping
        if flipping:
            yield ""
        for case in flipping[:most]:
            how = f"{describe_given(case)} (should be {_class(case.wanted)})"
            yield f"- flips: {markdown_code(cut_line(case.name, _LONGEST_NAME))}: {markdown_text(how)}"
        if len(flipping) > most:
            yield f"- … and {len(flipping) - most:,} more that flip"
    if len(found) > _MOST_TABLES:
        yield from ("", f"… and {len(found) - _MOST_TABLES:,} more graders that classify")


def classes_documents(report: Report) -> list[Json]:
    """For programs: all of it."""
    return [_document(one) for one in classifications(report)]


def _document(one: Classification) -> dict[str, Json]:
    low, high = one.interval if one.decided else (None, None)
    classes = one.classes
    shown = {*classes[:_MOST_ZEROS]}
    said: dict[str, dict[str, Json]] = {
        wanted: {given: 0 for given in classes if given in shown} for wanted in one.wanted
    }
    for (wanted, given), count in one.cells.items():
        if given is not None:
            said[wanted][given] = count
    return {
        "group": one.group,
        "grader": one.grader,
        "decided": one.decided,
        "right": one.right,
        "no_decision": one.undecided,
        "accuracy": one.accuracy,
        "low": low,
        "high": high,
        "table": [
            {
                "should": wanted,
                "did": did,
                "no_decision": one.count(wanted, None),
            }
            for wanted, did in said.items()
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
            for case in one.cases
        ],
    }


def class_figures(report: Report) -> Iterator[tuple[str, str]]:
    """Names and values, for forms that know properties."""
    for one in classifications(report):
        name = title(one)
        if one.accuracy is not None:
            low, high = one.interval
            yield f"{name} accuracy", f"{one.accuracy:.3f} ({low:.3f} to {high:.3f}, n={one.decided})"
        if one.undecided:
            yield f"{name} no decision", str(one.undecided)
        if one.repeated:
            yield f"{name} flips", str(len(one.flipping))
