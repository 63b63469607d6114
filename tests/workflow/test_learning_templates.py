"""What came back, as a stored output: it reads back as what was seen, and gives nothing away."""

import pytest
from hypothesis import given, settings, strategies as st

from baselinekit.kinds.skill import SkillExecution
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, Known
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.placeholders.table import Words
from baselinekit.variables import Redactor, Scope, Secret
from baselinekit.workflow.learning import Templating, secrets_in, with_names

SCOPE = Scope({"base_url": "http://127.0.0.1:8080", "short": "abc"}, {"token": Secret("tok-123456")})
PIECES = st.sampled_from(
    [*SCOPE.values.values(), "tok-123456", "<<", "<<any_uuid>>", "{{any_x", "\\", "<", "a"]
)
TEXTS = st.lists(PIECES, max_size=6).map("".join)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(
    st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))
)
def test_what_is_stored_accepts_what_was_seen(seen: object) -> None:
    stored = Templating(SCOPE).template(seen)
    recipe = Recipe(None, SkillExecution("skill", "x"))
    baseline = Baseline("x", recipe, baseline=Known(output=stored))
    matcher = compile_baseline(baseline, Words(scope=SCOPE))
    assert matcher.compare(Observation(seen, 0.0)).passed, stored


def test_declared_values_are_named_and_short_ones_left_alone() -> None:
    templating = Templating(SCOPE)
    stored = templating.template(
        {"next": "http://127.0.0.1:8080/users?page=2", "t": "tok-123456", "s": "abc"}
    )
    assert stored == {"next": "<<var(base_url)>>/users?page=2", "t": "<<var(token)>>", "s": "abc"}
    assert len(templating.notes()) == 2


def test_what_gives_something_away_is_found() -> None:
    output = {
        "token": "0123456789abcdef",
        "next_page_token": "0123456789abcdef",
        "password": "<<any_string>>",
        "note": "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl",
        "echo": "dG9rLTEyMzQ1Ng==",
        "headers": {"set-cookie": "session=0123456789"},
    }
    found = [path for path, _ in secrets_in(output, Redactor(SCOPE.secrets))]
    assert found == [("token",), ("note",), ("echo",), ("headers", "set-cookie")]


def test_a_secret_typed_into_a_recipe_gets_its_name() -> None:
    recipe = {"headers": {"X": "Bearer tok-123456"}, "json": ["tok-123456", 1]}
    assert with_names(recipe, SCOPE) == {"headers": {"X": "Bearer {{token}}"}, "json": ["{{token}}", 1]}
