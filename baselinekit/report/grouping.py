"""The same change in many baselines, told once: what a service that moves on does to a thousand of them is
one thing to read. Every form of report, and the plan of a refresh, group and word it here."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from baselinekit.escape import one_line
from baselinekit.frozen import frozen
from baselinekit.model.results import Result, Spot
from baselinekit.report.differences import REMARKS, DiffLine, sides_of
from baselinekit.report.values import cut_line
from baselinekit.report.wording import count_differences
from baselinekit.texts import many
from baselinekit.tree.changes import group_alike, row_pattern, same_change

SHOWN_ONCE = 3
"""In so many baselines a change is shown once."""

_SAMPLES = 3
MOST_NAMES = 4


@frozen
class SharedChange:
    """A change that several results have. `count`: the differences that it stands for."""

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
    """What several failed baselines have in common, and of each result what else there is to say of it: it
    with its own differences, or nothing."""
    members = (
        ((*same_change(spot.path, spot.kind, spot.expected, spot.actual), spot.rule), n, (number, spot))
        for n, result in enumerate(results)
        if result.outcome == "failed" and result.case is None and result.repeats is None
        for number, spot in enumerate(result.differences)
    )
    shared: list[SharedChange] = []
    told: dict[int, set[int]] = {}
    for _, alike in group_alike(members):
        owners = list(dict.fromkeys(n for n, _ in alike))
        if len(owners) < SHOWN_ONCE:
            break
        for n, (number, _) in alike:
            told.setdefault(n, set()).add(number)
        shared.append(_shared([spot for _, (_, spot) in alike], [results[n] for n in owners]))
    return shared, [_without(result, told.get(n)) for n, result in enumerate(results)]


def _shared(spots: Sequence[Spot], results: Sequence[Result]) -> SharedChange:
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


def _without(result: Result, told: set[int] | None) -> Result | None:
    if not told:
        return result
    left = tuple(spot for number, spot in enumerate(result.differences) if number not in told)
    count = count_differences(result) - len(told)
    return replace(result, differences=left, difference_count=count) if count or result.notes else None


def count_told(result: Result, own: Result) -> str:
    """`3 differences, 2 of them above`, where there are some above."""
    number, above = count_differences(result), count_differences(result) - count_differences(own)
    return many(number, "difference") + (f", {above:,} of them above" if above else "") if number else ""


def variant_lines(changes: Sequence[tuple[DiffLine, ...]], more: str = "") -> Iterator[DiffLine]:
    """What the same change is in each place: how often which values. `more`: what shows the others."""
    often = Counter(changes)
    for lines, times in list(often.items())[:_SAMPLES]:
        yield from lines
        if len(often) > 1 and times > 1:
            yield DiffLine("dim", f"{times:,} times")
    if len(often) > _SAMPLES:
        yield DiffLine("dim", f"… and {many(len(often) - _SAMPLES, 'other pair')} of values{more}")


def name_baselines(ids: Iterable[str], most: int = MOST_NAMES) -> str:
    """The first of them by name, and how many more."""
    named = list(dict.fromkeys(ids))
    more = f" and {len(named) - most:,} more" if len(named) > most else ""
    return f"in {', '.join(one_line(id) for id in named[:most])}{more}"
