"""Arrays that are judged by their columns: the verdict, every difference and the resolved output are those of
a walk element by element."""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import ruled
from hypothesis import example, given, settings, strategies as st

from baselinekit.matching.arrays import ElementTemplate, Ordered
from baselinekit.matching.columnar import ColumnarArray
from baselinekit.matching.columns import leaves_of
from baselinekit.matching.dispatch import in_document_order
from baselinekit.matching.keyed import Keyed
from baselinekit.matching.objects import Object
from baselinekit.matching.rules import Automaton, Mode
from baselinekit.matching.unordered import Unordered
from baselinekit.matching.values import Node, Walk, passes
from baselinekit.model.baselines import Tolerance
from baselinekit.model.values import Json

pytestmark = pytest.mark.slow

NUMBERS = st.sampled_from([0, 1, 1.0, 1.2, 1.5, 2, 2.2, -1, 0.1, 0.3, 2**53 + 1, 1e23, 10**23, 10**400])
LEAVES = NUMBERS | st.sampled_from([True, False, None, "a", "A", "1"])
NUMERIC = st.lists(NUMBERS, min_size=4, max_size=7)
PAIRS = st.lists(st.lists(NUMBERS, min_size=2, max_size=2), min_size=4, max_size=6)
RAGGED = st.lists(st.lists(NUMBERS, max_size=3), min_size=4, max_size=6)


def objects(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.fixed_dictionaries(values), min_size=4, max_size=6)


INNER = st.fixed_dictionaries({"x": NUMBERS, "y": LEAVES})
ARRAYS = (
    NUMERIC
    | st.lists(LEAVES, min_size=4, max_size=6)
    | PAIRS
    | RAGGED
    | objects(v=NUMBERS)
    | objects(v=NUMBERS, w=LEAVES, s=st.sampled_from("ab"))
    | objects(v=NUMBERS, inner=INNER)
    | objects(v=NUMBERS, many=st.lists(NUMBERS, min_size=1, max_size=2), any=st.just("<<any_integer>>"))
    | objects(v=NUMBERS, inner=INNER, any=st.just("<<any_integer>>"))
)
BOUNDS = st.sampled_from(
    [
        {"abs": 0.25},
        {"abs": 0},
        {"rel": 0.2},
        {"rel": 0.1, "abs": 0.3},
        {"min_delta": -0.3},
        {"min_delta": -0.2, "max_delta": 0.2},
        {"min_delta": 0.1},
        {"max_delta": 1, "rel": 0.5},
    ]
)
PATHS = ["*", "**", "$[*]", "$[*].v", "$[*].inner", "$[*].inner.x", "**.x", "**.v", "$[*][*]", "$[*].many[*]"]
TOLERANCES = st.dictionaries(st.sampled_from(PATHS), BOUNDS, max_size=2)
MORE: list[dict[str, Any]] = [
    {},
    {},
    {"type": "exact"},
    {"options": {"case_sensitive": False}},
    {"ignore_fields": ["$[*].s"]},
    {"ignore_fields": ["$[1].s"]},
    {"fields": {"$[*].v": {"tolerance": {"abs": 1}}}},
    {"fields": {"$[*].w": {"options": {"case_sensitive": False}}}},
    {"arrays": {"$": "unordered"}},
    {"arrays": {"$": {"by": "id"}}},
    {"arrays": {"$": {"by": "id"}}},
    {"arrays": {"$[*].many": "unordered"}},
]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["near", "far", "leaf", "swap", "reverse", "drop", "twice", "key"]),
        st.integers(0, 5),
        st.integers(0, 5),
        LEAVES,
    ),
    max_size=4,
)


def one_by_one(node: Node) -> Node:
    """The same without columns."""
    if isinstance(node, ColumnarArray):
        return one_by_one(node.make())
    if isinstance(node, Object):
        return replace(node, nodes=tuple((key, one_by_one(inner)) for key, inner in node.nodes))
    if isinstance(node, Ordered | ElementTemplate | Keyed):
        return replace(node, items=tuple(map(one_by_one, node.items)))
    if isinstance(node, Unordered):
        return replace(node, items=tuple(map(one_by_one, node.items)))
    return node


def changed(stored: list[Any], steps: list[tuple[str, int, int, Json]]) -> list[Any]:
    """What comes back: values nearby and far off, elements that moved, went or came."""
    actual = [answered(row) for row in deepcopy(stored)]
    for what, n, m, leaf in steps:
        if not actual:
            break
        n, m = n % len(actual), m % len(actual)
        if what == "swap":
            actual[n], actual[m] = actual[m], actual[n]
        elif what == "reverse":
            actual.reverse()
        elif what == "drop":
            del actual[n]
        elif what == "twice":
            actual.insert(m, deepcopy(actual[n]))
        else:
            holder, key = place(actual, n, m)
            value = holder[key]
            if what == "key" and isinstance(holder, dict):
                holder[f"{key}{leaf}"] = holder.pop(key)
            elif isinstance(value, float) and what in ("near", "far"):
                holder[key] = value + (0.15 if what == "near" else 3.5)
            else:
                holder[key] = leaf
    return actual


def another(value: Json, n: int) -> Json:
    """One of the same form, which no other equals."""
    if isinstance(value, dict):
        return {key: another(item, n) for key, item in value.items()}
    if isinstance(value, list):
        return [another(item, n) for item in value]
    return n + 0.5 if isinstance(value, int | float) and not isinstance(value, bool) else value


def answered(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: answered(item) for key, item in value.items()}
    return 7 if value == "<<any_integer>>" else value


def place(actual: list[Any], n: int, m: int) -> tuple[Any, Any]:
    holder, key = actual, n
    while isinstance(holder[key], dict | list) and holder[key]:
        holder = holder[key]
        keys = [*holder] if isinstance(holder, dict) else [*range(len(holder))]
        key = keys[m % len(keys)]
    return holder, key


def outcome(
    stored: list[Any], actual: list[Any], rules: dict[str, Any], way: Callable[[Node], Node]
) -> tuple[int, list[str], str]:
    matcher = ruled.matcher(stored, rules)
    compiler = matcher.compiler
    walk = Walk(lambda *given: way(compiler.open(*given)), compiler.accepts, compiler.has_bindings)
    resolved = way(matcher.root).walk(actual, walk, None)
    differences = in_document_order(walk.differences, stored) if walk.shuffled else walk.differences
    return walk.count, [*map(repr, differences)], repr(resolved)


def as_it_is(node: Node) -> Node:
    return node


@given(ARRAYS, TOLERANCES, st.sampled_from(MORE), STEPS, st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None)
@example([{"v": 1}] * 3 + [{"v": 2}], {"*": {"abs": 0.25}}, {}, [("swap", 0, 3, 0)], False, False)
def test_by_columns_as_one_by_one(
    stored: list[Any], tolerance: dict[str, Any], more: dict[str, Any], steps: Any, named: bool, long: bool
) -> None:
    """`long`: of more than fifty elements nobody looks whether they came in another order."""
    if long:
        stored = [*stored, *(another(stored[0], n) for n in range(1_000, 1_060))]
    if named and isinstance(stored[0], dict):
        stored = [{"id": n, **row} for n, row in enumerate(stored)]
    if more.get("arrays", {}).get("$") == {"by": "id"} and not (named and isinstance(stored[0], dict)):
        more = {}
    rules = {**more, "tolerance": tolerance} if tolerance else more
    actual = changed(stored, steps)
    assert outcome(stored, actual, rules, as_it_is) == outcome(stored, actual, rules, one_by_one)


SIZES = st.sampled_from([0.0, 1e-320, 1e-300, 0.1, 0.3, 1.0, 4.2, 1e15, 2.0**53, 1e23, 1.7e308])
TENTHS = st.integers(-60, 60).map(lambda tenths: tenths / 10)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def beside_the_limits(draw: st.DrawFn) -> tuple[list[Any], list[Any], Mode]:
    """Numbers of all sizes, and some that are a few steps beside what their tolerance allows."""
    bounds = draw(
        st.dictionaries(
            st.sampled_from(["abs", "rel", "min_delta", "max_delta"]),
            SIZES | TENTHS.map(abs) | st.floats(0, 10),
            min_size=1,
        )
    )
    if "min_delta" in bounds:
        bounds["min_delta"] *= -1
    before, after = [], []
    for _ in range(draw(st.integers(1, 5))):
        value = draw(SIZES | TENTHS | FLOATS | st.integers() | st.sampled_from([10**400, True, "a"]))
        name = draw(st.sampled_from(sorted(bounds)))
        near = value
        if isinstance(value, float) and draw(st.booleans()):
            near = value + bounds[name] * (abs(value) if name == "rel" else 1)
            near += draw(st.integers(-3, 3)) * math.ulp(near)
        before.append(value)
        after.append(
            near
            if draw(st.integers(0, 9))
            else draw(SIZES | st.sampled_from([math.nan, math.inf, 10**400, None]))
        )
    return before, after, replace(Mode(), tolerance=Tolerance(**bounds))


@given(beside_the_limits())
@settings(max_examples=300, deadline=None)
def test_numbers_pass_together_as_each_alone(case: tuple[list[Any], list[Any], Mode]) -> None:
    before, after, mode = case
    values = leaves_of(before, mode, Automaton([]).start)
    assert values is not None
    alone = [n for n, pair in enumerate(zip(before, after, strict=True)) if not passes(*pair, mode)]
    assert values.failing(after) == alone


def test_a_huge_number_does_not_take_the_others_limit() -> None:
    """Where one limit in floats holds for all, the largest of them makes it useless."""
    stored = [1.5] * 1_000 + [1e18]
    mode = replace(Mode(), tolerance=Tolerance(abs=0.1))
    values = leaves_of(stored, mode, Automaton([]).start)
    assert values is not None
    assert [*values.doubtful([1.51] * 1_000 + [1e18])] == [1_000]
