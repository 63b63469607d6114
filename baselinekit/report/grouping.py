"""Groups the same change in many baselines, so that it is reported once: a changed service may change a
thousand of them in the same way. Every form of report, and the plan of a refresh, group and word it here."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from baselinekit.escape import one_line
from baselinekit.model.results import ReportedDifference, Result
from baselinekit.report.differences import REMARKS, DiffLine, sides_of
from baselinekit.report.values import cut_line
from baselinekit.report.wording import count_differences, list_first
from baselinekit.structs import Struct, replace
from baselinekit.values.changes import group_alike, row_pattern, same_change
from baselinekit.values.texts import count_noun

SHOWN_ONCE = 3
"""A change in at least this many baselines is shown once."""

_SAMPLES = 3
MOST_NAMES = 4


class SharedChange(Struct):
    """A change that several results have. `count`: the number of differences in it."""

    path: str
    remark: str
    lines: tuple[DiffLine, ...]
    results: tuple[Result, ...]
    count: int

    @property
    def headline(self) -> str:
        return f"the same change in {len(self.results):,} baselines"

    def names(self, most: int = MOST_NAMES) -> str:
        return name_baselines([result.id for result in self.results], most)


def share(results: Sequence[Result]) -> tuple[list[SharedChange], list[Result | None]]:
    """Return the changes that several failed baselines share, and each result with its remaining differences,
    or None if nothing remains to be said of it."""
    members = (
        ((*same_change(spot.path, spot.kind, spot.expected, spot.actual), spot.rule), n, (number, spot))
        for n, result in enumerate(results)
        if result.outcome == "failed" and result.case is None and result.repeats is None
        for number, spot in enumerate(result.differences)
    )
    shared: list[SharedChange] = []
    shared_numbers: dict[int, set[int]] = {}
    for _, alike in group_alike(members):
        owners = list(dict.fromkeys(n for n, _ in alike))
        if len(owners) < SHOWN_ONCE:
            break
        for n, (number, _) in alike:
            shared_numbers.setdefault(n, set()).add(number)
        shared.append(_shared([spot for _, (_, spot) in alike], [results[n] for n in owners]))
    return shared, [_without(result, shared_numbers.get(n)) for n, result in enumerate(results)]


def _shared(spots: Sequence[ReportedDifference], results: Sequence[Result]) -> SharedChange:
    first = spots[0]
    remark = REMARKS[first.kind]
    if len(spots) > len(results):
        remark = f"{remark} in {len(spots):,} places".strip()
    lines = [*variant_lines([sides_of(spot) for spot in spots])]
    note = first.note if {spot.note for spot in spots} == {first.note} else None
    rule = f"rule {first.rule}" if first.rule else ""
    if because := ", ".join(cut_line(part, 200) for part in (note, rule) if part):
        lines.append(DiffLine("dim", f"({because})"))
    return SharedChange(one_line(row_pattern(first.path)), remark, tuple(lines), tuple(results), len(spots))


def _without(result: Result, shared_numbers: set[int] | None) -> Result | None:
    if not shared_numbers:
        return result
    remaining = tuple(spot for number, spot in enumerate(result.differences) if number not in shared_numbers)
    count = count_differences(result) - len(shared_numbers)
    return replace(result, differences=remaining, difference_count=count) if count or result.notes else None


def format_counts(result: Result, unshared: Result) -> str:
    """Return `3 differences, 2 of them above`, if there are some above."""
    number, above = count_differences(result), count_differences(result) - count_differences(unshared)
    return (
        count_noun(number, "difference") + (f", {above:,} of them above" if above else "") if number else ""
    )


def variant_lines(changes: Sequence[tuple[DiffLine, ...]], hint: str = "") -> Iterator[DiffLine]:
    """Yield the values of the same change in each place, and how often they occur. `hint`: how to see the
    others."""
    counts = Counter(changes)
    for lines, times in list(counts.items())[:_SAMPLES]:
        yield from lines
        if len(counts) > 1 and times > 1:
            yield DiffLine("dim", f"{times:,} times")
    if len(counts) > _SAMPLES:
        yield DiffLine("dim", f"… and {count_noun(len(counts) - _SAMPLES, 'other pair')} of values{hint}")


def name_baselines(ids: Iterable[str], most: int = MOST_NAMES) -> str:
    """Return the names of the first baselines, and how many more there are."""
    return f"in {list_first([one_line(id) for id in dict.fromkeys(ids)], most)}"
