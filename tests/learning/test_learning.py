"""Several replays → what varies, what placeholders_of for it, and what nothing may stand for."""

import random
import uuid
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from baselinekit.kinds.skill import SkillExecution
from baselinekit.learning.varying import LearntPlaces, ReplayView, learn_places
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, Known, Rules
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.placeholders.grammar import escape_value
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.paths import render
from baselinekit.values.places import places, with_values

U = [str(uuid.UUID(int=n, version=4)) for n in range(1, 9)]


def lesson(*outputs: Any, **look: Any) -> LearntPlaces:
    return learn_places(outputs, ReplayView(**look))


def placeholders_of(found: LearntPlaces) -> dict[str, str]:
    return {render(path): text for path, text in found.placeholders.items()}


def refused(found: LearntPlaces) -> dict[str, str]:
    return {render(first.path): first.kind for first in found.refusals}


VARIES: list[tuple[list[Any], dict[str, str]]] = [
    ([{"id": U[0], "n": 1}, {"id": U[1], "n": 1}], {"id": "<<any_uuid(4)>>"}),
    ([{"a": None}, {"a": U[0]}, {"a": U[1]}], {"a": "<<any_uuid(4)|null>>"}),
    # every row, although the second one happened to agree with itself
    (
        [{"r": [{"i": U[0]}, {"i": U[2]}, {"i": U[4]}]}, {"r": [{"i": U[1]}, {"i": U[2]}, {"i": U[5]}]}],
        {f"r[{n}].i": "<<any_uuid(4)>>" for n in range(3)},
    ),
    # one row of three varies: the others are what they are
    (
        [{"r": [{"i": U[0]}, {"i": "x"}, {"i": "y"}]}, {"r": [{"i": U[1]}, {"i": "x"}, {"i": "y"}]}],
        {"r[0].i": "<<any_uuid(4)>>"},
    ),
]


@pytest.mark.parametrize(("outputs", "expected"), VARIES)
def test_learn_places_of_varying_values(outputs: list[Any], expected: dict[str, str]) -> None:
    found = lesson(*outputs)
    assert placeholders_of(found) == expected
    assert not found.refusals


LONG = "It was the best of times, it was the worst of times. " * 3
REFUSED: list[tuple[list[Any], dict[str, Any], dict[str, str]]] = [
    ([{"a": 1, "t": 1}, {"a": 1}], {}, {"t": "structural"}),
    ([{"a": 1}, {"a": "1"}], {}, {"a": "type"}),
    ([{"r": [1]}, {"r": [1, 2]}], {}, {"r": "array_length"}),
    ([{"r": [1, 2, 3]}, {"r": [3, 1, 2]}], {}, {"r": "order_ambiguous"}),
    (["some text", "other words"], {}, {"$": "root_value"}),
    (  # the bytes of a body
        [{"body": {"sha256": first * 64, "size": 9}} for first in "ab"],
        {"wholes": [("body",)]},
        {"body.sha256": "root_value"},
    ),
    (
        [{"status": 200, "body": 1}, {"status": 404, "body": 1}],
        {"outcomes": [("status",)]},
        {"status": "outcome"},
    ),
    ([{"t": LONG + "1. " * 40}, {"t": "And " + LONG.upper()}], {}, {"t": "too_broad"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("outputs", "look", "expected"), REFUSED)
def test_f13_learn_places_refuses_what_a_placeholder_would_hide(
    outputs: list[Any], look: dict[str, Any], expected: dict[str, str]
) -> None:
    found = lesson(*outputs, **look)
    assert refused(found) == expected
    assert not found.placeholders
    assert all(first.message and first.hint for first in found.refusals)


def test_learn_places_of_a_whole_answer_uses_its_forms() -> None:
    texts = "2026-11-22T22:43:28Z 84a08ae4fe69e2195270d3cb4f11f316", "2026-11-22T22:43:36Z " + "5f" * 16
    found = lesson(*({"body": text} for text in texts), wholes=[("body",)])
    assert placeholders_of(found) == {"body": "<<any_iso_datetime>> <<any_hex>>"}


def test_learn_places_of_a_changing_order_proposes_a_rule() -> None:
    outputs = [
        {"r": [{"k": "a", "i": U[0]}, {"k": "b", "i": U[1]}]},
        {"r": [{"k": "b", "i": U[2]}, {"k": "a", "i": U[3]}]},
    ]
    (refusal,) = lesson(*outputs).refusals
    assert "--array 'r=by:k'" in refusal.hint
    for how in ("by k", "unordered"):
        found = lesson(*outputs, arrays={("r",): how})
        assert placeholders_of(found) == {"r[0].i": "<<any_uuid(4)>>", "r[1].i": "<<any_uuid(4)>>"}
    (refusal,) = lesson({"r": [1, 2]}, {"r": [2, 1]}).refusals
    assert "--array 'r=unordered'" in refusal.hint


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=4), st.uuids().map(str))
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=4),
    ),
    max_leaves=12,
)


def shaken(value: Any, dice: random.Random) -> Any:
    """The same document with some of its leaves, its lengths, its keys or its order changed."""
    if isinstance(value, dict):
        items = {key: shaken(item, dice) for key, item in value.items()}
        if items and dice.random() < 0.1:
            del items[next(iter(items))]
        return items
    if isinstance(value, list):
        items = [shaken(item, dice) for item in value]
        if dice.random() < 0.1:
            dice.shuffle(items)
        return items[1:] if dice.random() < 0.05 else items
    if dice.random() < 0.3:
        return dice.choice(
            [dice.randint(-9, 9), str(uuid.UUID(int=dice.getrandbits(128), version=4)), None, "x"]
        )
    return value


def meet(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """One lies in the other, or they are rows of one array: where a row is another now, a comparison may set
    its neighbour beside it."""
    for a, b in zip(first, second, strict=False):
        if a != b:
            return isinstance(a, int) and isinstance(b, int)
    return True


MOVED = [{"a": None, "b": None, "aa": None}, None, [], {"a": None, "b": None, "c": None, "aa": None}]


@pytest.mark.slow
@settings(deadline=None)
@given(DOCUMENTS.map(lambda value: {"steady": 1, "x": value}), st.integers(0, 2**32), st.integers(2, 4))
@example({"steady": 1, "x": MOVED}, 1, 2)
def test_learn_places_accepts_every_replay(first: Any, seed: int, times: int) -> None:
    """The matcher itself finds no difference but where something was refused."""
    dice = random.Random(seed)
    outputs = [first, *({"steady": 1, "x": shaken(first["x"], dice)} for _ in range(times - 1))]
    found = lesson(*outputs)
    stored = with_values(escape_value(first), found.placeholders)
    singles = [path for path, held in places(stored) if isinstance(held, list) and len(held) == 1]
    rules = Rules(arrays={render(path): "ordered" for path in singles})  # one element describes no others
    known = Baseline(
        "b", Recipe(None, SkillExecution("skill", "x")), baseline=Known(output=stored), comparison=rules
    )
    matcher = compile_baseline(known, PlaceholderContext())
    refused_at = [first.path for first in found.refusals]
    for output in outputs:
        for difference in matcher.compare(Observation(output, 0.0)).differences:
            at = difference.at
            assert any(meet(at, first) for first in refused_at), difference
