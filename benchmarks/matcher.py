"""The matcher: compiled and walked, and walked alone, beside json.loads of the same document, `==`, DeepDiff
and jsondiff. Where there are placeholders and ignore rules, DeepDiff is told to leave out the same places;
jsondiff and `==` cannot be."""

import importlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Comparison
from baselinekit.model.recipes import Observation
from baselinekit.placeholders.table import PlaceholderContext
from benchmarks import data
from benchmarks.measure import Engine, Say, about, in_turn, inside
from benchmarks.results import Found, Note, Row, Scale, Versus

SIZES = {"1 KB": 1_000, "100 KB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
WAYS = {"literal": False, "with rules": True}
WORDS = PlaceholderContext()
DEEPDIFF_UP_TO = 1_000_000
JSONDIFF_UP_TO = 100_000


def rows(scale: Scale, say: Say) -> Found:
    sizes = {"1 KB": 1_000, "10 KB": 10_000} if scale.quick else SIZES
    for size, number in sizes.items():
        for way, loose in WAYS.items():
            yield from _group(size, number, way, loose, scale, about(say, f"{size}, {way}"))
    yield from _growth(scale, say)
    yield Note("With rules: two placeholders a record and two ignore rules, given to DeepDiff as exclusions.")
    if not scale.long:
        yield Note(
            "DeepDiff is not asked at 10 MB, where a single comparison takes a minute (`LONG=1` asks it)."
        )
    yield Note("jsondiff's time grows with the square of a list's length: it is asked up to 100 KB.")
    if not _jsondiff():
        yield Note("jsondiff is not installed.")


def judged(matcher: Matcher, case: data.Case) -> Comparison:
    return matcher.compare(Observation(case.actual, 0.0))


def compiled(case: data.Case) -> Matcher:
    return compile_baseline(case.stored, WORDS)


def ours(name: str, case: data.Case) -> Engine:
    """Compiled and walked together: what one baseline costs."""

    def run(_: Any) -> Comparison:
        return judged(compiled(case), case)

    return inside(name, run, lambda found: found.count == case.differences)


def walk(name: str, case: data.Case) -> Engine:
    matcher = compiled(case)
    return inside(name, lambda _: judged(matcher, case), lambda found: found.count == case.differences)


def parsing(name: str, case: data.Case) -> Engine:
    return inside(name, lambda _: json.loads(case.text), lambda value: bool(value == case.actual))


def deepdiff(name: str, case: data.Case, regex_budget: float, **options: Any) -> Engine:
    from deepdiff import DeepDiff

    left_out = [re.compile(rf"root\['{data.ROWS}'\]\[\d+\]\['{key}'\]") for key in case.excluded]
    options |= {"exclude_regex_paths": left_out} if left_out else {}

    def run(_: Any) -> Any:
        return DeepDiff(case.plain, case.actual, **options)

    return inside(name, run, lambda found: deepdiff_count(found) == case.differences, at_most=regex_budget)


def deepdiff_count(found: Any) -> int:
    return sum(len(places) for places in found.values())


def _jsondiff() -> Callable[[Any, Any], Any] | None:
    try:
        found: Callable[[Any, Any], Any] = importlib.import_module("jsondiff").diff
    except ImportError:
        return None
    return found


def _engines(cases: dict[str, data.Case], number: int, loose: bool, scale: Scale) -> Iterator[Engine]:
    diff = _jsondiff()
    for kind, case in cases.items():
        yield ours(f"ours, {kind}", case)
        if kind == "equal":
            yield walk("walk, equal", case)
        yield parsing(f"json.loads, {kind}", case)
        if not loose:
            yield _double_equals(f"==, {kind}", case)
        if number <= DEEPDIFF_UP_TO or scale.long:
            yield deepdiff(f"DeepDiff, {kind}", case, scale.regex_budget)
        if not loose and diff and number <= JSONDIFF_UP_TO:
            yield _differ(f"jsondiff, {kind}", case, diff, scale.regex_budget)


def _double_equals(name: str, case: data.Case) -> Engine:
    return inside(name, lambda _: case.plain == case.actual, lambda same: same is (not case.differences))


def _differ(name: str, case: data.Case, diff: Callable[[Any, Any], Any], regex_budget: float) -> Engine:
    def run(_: Any) -> Any:
        return diff(case.plain, case.actual)

    return inside(name, run, lambda found: bool(found) is bool(case.differences), at_most=regex_budget)


def _group(size: str, number: int, way: str, loose: bool, scale: Scale, say: Say) -> Iterator[Row]:
    records = data.records_of_size(number)
    cases = {kind: data.case(records, change, loose=loose) for kind, change in data.CHANGES.items()}
    times = in_turn(list(_engines(cases, number, loose, scale)), scale.rounds, say)
    for ours, what, peer, called in _pairs(list(cases)):
        if peer in times:
            goal = GOALS.get((ours, peer, loose)) if size == "1 MB" else None
            line = f"{size}, {way}: {what}"
            short = f"Compile and compare an equal document, {size} {way}"
            short = short if goal and ours == "ours, equal" else ""
            yield Versus(times).row(line, ours, peer, called=called, goal=goal, short=short)


def _pairs(kinds: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    """Our engine, what it does, the peer's engine, and the peer."""
    for kind in kinds:
        engines = {
            f"ours, {kind}": kind,
            **({"walk, equal": "equal, the walk alone"} if kind == "equal" else {}),
        }
        for ours, what in engines.items():
            for peer in ("json.loads", "==", "DeepDiff", "jsondiff"):
                yield ours, what, f"{peer}, {kind}", peer
        if kind != "equal":
            yield f"ours, {kind}", kind, "ours, equal", "a pass"


GOALS = {
    ("ours, equal", "json.loads, equal", True): 1.5,
    ("ours, equal", "DeepDiff, equal", True): 1 / 120,
    ("ours, equal", "DeepDiff, equal", False): 1 / 300,
    ("walk, equal", "DeepDiff, equal", False): 1 / 800,
    **{(f"ours, {kind}", "ours, equal", loose): 5.0 for kind in ("few", "many") for loose in (True, False)},
}
"""At 1 MB: who, beside whom, with rules or without, and the most that it may take."""


def _growth(scale: Scale, say: Say) -> Iterator[Row]:
    """Ten times the size, in one group of its own."""
    small = 10_000 if scale.quick else 1_000_000
    for way, loose in WAYS.items():
        pair = [
            ours(name, data.case(data.records_of_size(size), data.equal, loose=loose))
            for name, size in (("1 MB", small), ("10 MB", 10 * small))
        ]
        times = in_turn(pair, scale.rounds, about(say, f"growth, {way}"))
        yield Versus(times).row(f"10 MB, {way}: equal", "10 MB", "1 MB", goal=12.0)
