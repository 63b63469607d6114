"""Arrays whose order does not count, with two placeholders in every row: beside json.loads of the array, and
beside DeepDiff with ignore_order, which is asked once and not for ever."""

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

from baselinekit.model.baselines import Comparison
from benchmarks import data
from benchmarks.matcher import compiled, judged, parsing
from benchmarks.measure import Engine, Say, WrongAnswerError, about, in_turn, inside
from benchmarks.results import Found, Note, Row, Scale, Versus

CHANGES = {"shuffled": lambda size: 0, "3 changed": lambda size: 3, "10 % changed": lambda size: size // 10}
DEEPDIFF_UP_TO = 1_000


def rows(scale: Scale, say: Say) -> Found:
    sizes = (20, 200) if scale.quick else (1_000, 10_000)
    for size in sizes:
        records = data.records(size)
        for name, changed in CHANGES.items():
            case = data.case(records, data.shuffled(changed), loose=True, arrays={data.ROWS: "unordered"})
            yield from _group(f"{size:,} objects, {name}", size, case, scale, say)
    for name in CHANGES:
        yield from _growth(name, sizes, scale, say)
    yield Note(
        "DeepDiff with ignore_order is asked at 1,000 objects, once, and stopped when it takes too long."
    )


def ours(name: str, case: data.Case) -> Engine:
    def right(found: Comparison) -> bool:
        return found.passed is (case.differences == 0) and found.count >= case.differences

    return inside(name, lambda _: judged(compiled(case), case), right)


def deepdiff(name: str, case: data.Case, most_seconds: float) -> Engine:
    from deepdiff import DeepDiff

    left_out = [rf"root\['{data.ROWS}'\]\[\d+\]\['{key}'\]" for key in case.excluded]

    def run(_: Any) -> Any:
        return DeepDiff(case.plain, case.actual, ignore_order=True, exclude_regex_paths=left_out)

    return inside(
        name, run, lambda found: bool(found) is bool(case.differences), stop_after=most_seconds, at_most=0.001
    )


def _group(what: str, size: int, case: data.Case, scale: Scale, say: Say) -> Iterator[Row]:
    engines = [ours("ours", case), parsing("json.loads", case)]
    if size <= DEEPDIFF_UP_TO:
        engines.append(
            deepdiff("DeepDiff ignore_order", case, 2 if scale.quick else 120 if scale.long else 40)
        )
    times = in_turn(engines, scale.rounds, about(say, what))
    for engine in engines[1:]:
        goal = 8.0 if engine.name == "json.loads" and size == 1_000 else None
        short = f"Compare without order, with placeholders: {what}" if size == 1_000 and "%" in what else ""
        yield Versus(times).row(what, "ours", engine.name, goal=goal, short=short)


def _growth(name: str, sizes: tuple[int, int], scale: Scale, say: Say) -> Iterator[Row]:
    """Ten times the rows: neither time nor memory may grow with their square."""
    small, large = (
        data.case(
            data.records(size), data.shuffled(CHANGES[name]), loose=True, arrays={data.ROWS: "unordered"}
        )
        for size in sizes
    )
    what = f"{sizes[1]:,} objects, {name}"
    peer = f"{sizes[0]:,} objects"
    times = in_turn([ours("small", small), ours("large", large)], scale.rounds, about(say, what))
    yield Versus(times).row(what, "large", "small", called=peer, goal=12.0)
    say(f"{what}: memory")
    least, most = peak(small), peak(large)
    yield Row(f"{what}, memory", most, peer, least, most / least, "bytes", 1, 12.0)


def peak(case: data.Case) -> int:
    """The most memory that compiling and comparing holds at once, the documents aside."""
    gc.collect()
    tracemalloc.start()
    try:
        found = judged(compiled(case), case)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if found.passed is bool(case.differences):
        raise WrongAnswerError("unordered: memory")
    return most
