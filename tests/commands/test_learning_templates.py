"""What came back, as a stored output: it reads back as what was seen, and gives nothing away."""

import pytest
from hypothesis import given, settings, strategies as st

from baselinekit.kinds.skill import SkillExecution
from baselinekit.learning.templating import OutputTemplater, secrets_in, with_names
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, Known
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.secrets.variables import Redactor, Scope, Secret

SCOPE = Scope({"base_url": "http://127.0.0.1:8080", "short": "abc"}, {"token": Secret("tok-123456")})
PIECES = st.sampled_from([*SCOPE.values.values(), "tok-123456", "<<", "<<any>>", "{{any_x", "\\", "<", "a"])
TEXTS = st.lists(PIECES, max_size=6).map("".join)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))
)
def test_template_accepts_the_output_that_it_was_made_of(output_seen: object) -> None:
    stored = OutputTemplater(SCOPE).template(output_seen)
    recipe = Recipe(None, SkillExecution("skill", "x"))
    baseline = Baseline("x", recipe, baseline=Known(output=stored))
    matcher = compile_baseline(baseline, PlaceholderContext(scope=SCOPE))
    assert matcher.compare(Observation(output_seen, 0.0)).passed, stored


def by_each_text(templating: OutputTemplater, value: object) -> object:
    if isinstance(value, str):
        return templating.text(value)
    if isinstance(value, dict):
        return {key: by_each_text(templating, item) for key, item in value.items()}
    return [by_each_text(templating, item) for item in value] if isinstance(value, list) else value


ODD = st.sampled_from(["é", "\ud800", "http://127.0.0.1:8080", 'a"b\\c\nd', "ab", "<<", "{{any_", 15420, 1.5])


@given(st.lists(st.one_of(ODD, TEXTS), max_size=4), st.text(min_size=8, max_size=10))
def test_template_of_an_output_equals_that_of_each_text(output_seen: list[object], declared: str) -> None:
    """Also where its bytes tell that nothing in it is to be written otherwise: then it is itself."""
    for value in ('a"b\\c\nd-é\ud800', declared):
        scope = Scope({"base_url": value})
        output = {"rows": [*output_seen, f"x{value}y"][: len(output_seen) + len(output_seen) % 2]}
        first, other = OutputTemplater(scope), OutputTemplater(scope)
        written = first.template(output)
        assert (written, first.notes()) == (by_each_text(other, output), other.notes())
    output = {"rows": [{"id": "a", "n": [1, None]}] * 3}
    assert OutputTemplater(SCOPE).template(output) is output


def test_template_names_declared_values_and_leaves_short_ones() -> None:
    templating = OutputTemplater(SCOPE)
    stored = templating.template({"next": "http://127.0.0.1:8080/users?n=2", "t": "tok-123456", "s": "abc"})
    assert stored == {"next": "<<var(base_url)>>/users?n=2", "t": "<<var(token)>>", "s": "abc"}
    assert len(templating.notes()) == 2


def test_secrets_in_finds_tokens_encodings_and_cookies() -> None:
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


def test_with_names_replaces_a_secret_in_a_recipe() -> None:
    recipe = {"headers": {"X": "Bearer tok-123456"}, "json": ["tok-123456", 1]}
    assert with_names(recipe, SCOPE) == {"headers": {"X": "Bearer {{token}}"}, "json": ["{{token}}", 1]}


@given(st.lists(PIECES, max_size=6).map("".join))
def test_expanded_gives_back_a_text_with_only_variables(output_seen: str) -> None:
    """The variable alone stays one: it says where its value comes from."""
    templating = OutputTemplater(SCOPE)
    stored = templating.text(output_seen)
    alone = not stored.replace("<<var(base_url)>>", "").replace("<<var(token)>>", "")
    expected = None if (alone and stored) or "<<one_of(" in stored else output_seen
    assert templating.expanded(stored) == expected
    assert templating.expanded(f"{stored} <<any_uuid>>") is None
    assert templating.expanded("a <<var(unknown)>>") is None
