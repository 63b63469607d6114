"""A matcher that says that it compares everything tells another value at any place."""

from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.skill import SkillExecution
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, By, FieldRule, Known, Options, Rules, Tolerance
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.places import places, with_values

SKILL = Recipe(None, SkillExecution("skill", "x"))
HTTP = Recipe(HttpRequest(endpoint="/x"), HttpExecution("http"))

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=6))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("abcd"), inner, max_size=4)
    ),
    max_leaves=12,
)
ANSWERS = st.fixed_dictionaries(
    {
        "status": st.just(200),
        "headers": st.dictionaries(
            st.sampled_from(["content-type", "X-Request-Id", "etag"]), st.text(max_size=5), max_size=3
        ),
        "body": VALUES,
    }
)


def matcher_of(recipe: Recipe, output: Any, rules: Rules) -> Any:
    return compile_baseline(
        Baseline("x", recipe, baseline=Known(output), comparison=rules), PlaceholderContext()
    )


@given(
    st.one_of(st.tuples(st.just(SKILL), VALUES), st.tuples(st.just(HTTP), ANSWERS)),
    st.sampled_from([Rules(), Rules(type="structural"), Rules(type="exact"), Rules(require_keys=["a"])]),
    st.data(),
)
@example(
    (HTTP, {"status": 200, "headers": {"content-type": "a/b; c=d"}, "body": [{"id": "x"}] * 30}),
    Rules(),
    None,
)
@example((SKILL, {"a": [[{"a": 1}], []], "b": ""}), Rules(), None)
def test_another_value_is_told_at_every_place(asked: tuple[Recipe, Any], rules: Rules, data: Any) -> None:
    recipe, output = asked
    matcher = matcher_of(recipe, output, rules)
    leaves = [path for path, value in places(output) if not isinstance(value, dict | list)]
    chosen = (
        leaves
        if data is None
        else data.draw(st.lists(st.sampled_from(leaves), unique=True))
        if leaves
        else []
    )
    assert matcher.is_plain or any("<<" in str(value) or "{{" in str(value) for _, value in places(output))
    changed = with_values(output, dict.fromkeys(chosen, "\0"))
    told = {one.at for one in matcher.compare(Observation(changed, 0.0)).differences}
    if matcher.is_plain:
        assert told >= set(chosen)


@pytest.mark.parametrize(
    ("output", "rules"),
    [
        ({"a": "<<any>>"}, Rules()),
        ({"a": 1}, Rules(type="numeric")),
        ({"a": "x"}, Rules(type="semantic", method="words")),
        ({"a": 1, "b": 2}, Rules(ignore_fields=["a"])),
        ({"a": 1}, Rules(ignore_values=["a"])),
        ({"a": 1}, Rules(tolerance={"a": Tolerance(abs=1)})),
        ({"a": 1}, Rules(tolerance={"case_sensitive": False})),
        ({"a": 1}, Rules(options=Options())),
        ({"a": [{"id": 1}]}, Rules(arrays={"a": By("id")})),
        ({"a": "x"}, Rules(fields={"a": FieldRule(type="semantic", method="words")})),
    ],
)
def test_what_any_rule_may_leave_out_is_not_said_to_be_compared(output: Any, rules: Rules) -> None:
    assert not matcher_of(SKILL, output, rules).is_plain
