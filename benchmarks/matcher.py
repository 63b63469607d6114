"""The matcher, compiled and walked as for one baseline: beside json.loads of the same document, and beside
DeepDiff, which gets the places of placeholders and ignore rules as exclusions."""

import json
import re
from collections.abc import Iterator
from typing import Any

from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Comparison
from baselinekit.model.recipes import Observation
from baselinekit.placeholders.table import PlaceholderContext
from benchmarks import data
from benchmarks.measure import Engine, Say, about, in_turn, inside
from benchmarks.results import Found, Note, Row, Scale, beside

WORDS = PlaceholderContext()
LOADS, DEEPDIFF = "json.loads", "DeepDiff"


def rows(scale: Scale, say: Say) -> Found:
    for size, number in (("20 KB", 20_000), ("1 MB", scale.pick(40_000, 1_000_000))):
        records = data.records_of_size(number)
        case = data.case(records, data.equal, loose=False)
        what = f"compare an equal literal document of {size}"
        times = in_turn(_engines(case, deepdiff=size == "1 MB"), scale.rounds, about(say, what))
        yield beside(times, what, "ours", LOADS, 3)
        if size == "1 MB":
            yield beside(times, what, "ours", DEEPDIFF, 1 / 20)
    yield from _with_rules(records, scale, say)
    yield from _unordered(scale, say)
    yield Note("With rules: two placeholders a row and two ignore rules, given to DeepDiff as exclusions.")
    yield Note("Failing: a row in a hundred has another name. In any order: of the rows a tenth has.")


def _with_rules(records: list[data.Record], scale: Scale, say: Say) -> Iterator[Row]:
    for what, change, goal in (
        ("compare an equal document of 1 MB with rules", data.equal, 15),
        ("compare a failing document of 1 MB with rules", data.renamed(100), 35),
    ):
        case = data.case(records, change, loose=True)
        times = in_turn(_engines(case, deepdiff=True), scale.rounds, about(say, what))
        yield beside(times, what, "ours", LOADS, goal)
        yield beside(times, what, "ours", DEEPDIFF, 1 / 20)


def _unordered(scale: Scale, say: Say) -> Iterator[Row]:
    """Rows in any order, with placeholders in each: twice the rows may take twice the time."""
    few = scale.pick(20, 5_000)
    small, large = (
        data.case(data.records(size), data.shuffled, loose=True, arrays={data.ROWS: "unordered"})
        for size in (few, 2 * few)
    )
    what = f"compare {few:,} rows in any order"
    times = in_turn(
        [ours("small", small), ours("large", large), parsing(small)], scale.rounds, about(say, what)
    )
    yield beside(times, what, "small", LOADS, 40)
    yield beside(
        times, f"compare {2 * few:,} rows in any order", "large", "small", 2.6, called="half as many"
    )


def _engines(case: data.Case, *, deepdiff: bool) -> list[Engine]:
    return [ours("ours", case), parsing(case), *([deep_diff(case)] if deepdiff else [])]


def judged(case: data.Case) -> Comparison:
    return compile_baseline(case.stored, WORDS).compare(Observation(case.actual, 0.0))


def ours(name: str, case: data.Case) -> Engine:
    def right(found: Comparison) -> bool:
        return found.passed is (case.differences == 0) and found.count >= case.differences

    return inside(name, lambda: judged(case), right)


def parsing(case: data.Case) -> Engine:
    return inside(LOADS, lambda: json.loads(case.text), lambda value: bool(value == case.actual))


def deep_diff(case: data.Case) -> Engine:
    """One round of it is enough: it takes a hundred times as long."""
    from deepdiff import DeepDiff

    left_out = [re.compile(rf"root\['{data.ROWS}'\]\[\d+\]\['{key}'\]") for key in case.excluded]
    options: dict[str, Any] = {"exclude_regex_paths": left_out} if left_out else {}

    def run() -> Any:
        return DeepDiff(case.plain, case.actual, **options)

    def right(found: Any) -> bool:
        return sum(len(places) for places in found.values()) == case.differences

    return inside(DEEPDIFF, run, right, at_most=0.001)
