"""Inputs that are added to a recipe are literal: inserted once, and nothing in them is expanded."""

from typing import Any

from fake_models import answering
from hypothesis import HealthCheck, given, settings, strategies as st

from baselinekit.kinds.dispatch import replay
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.settings import Setting
from baselinekit.kinds.skill import SkillExecution
from baselinekit.kinds.table import kind_of
from baselinekit.model.recipes import Recipe
from baselinekit.secrets.variables import Scope
from baselinekit.structs import replace

PIECES = [
    *(
        "{{", "}}", "{{other}}", "\\{{other}}", "\\\\{{ other }}", "{{name}}", "\\", "{", "}", "${{ X }}",
        "{X}",
    ),
    *("<<any>>", "<<", "\\<<any_uuid>>", "{{any_uuid}}", "$name", "%s", "é", "\n", "\r\n", "\0", " ", "a=b"),
]  # fmt: skip
VALUES = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=6).map("".join)
EXAMPLES = settings().max_examples
TEMPLATE = "<a>{{name}}</a>\n<b>{{other}}</b>{{name}} \\{{name}} {{declared}}"


def content_sent(setting: Setting, recipe: Recipe) -> str:
    setting, models = answering(replace(setting, scope=Scope({"declared": "{{name}}", "name": "no"})))
    replay(recipe, setting)
    (ask,) = models.questions
    return ask.messages[0].content


@settings(
    max_examples=3 * EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=VALUES, other=VALUES)
def test_x4_e23_prompt_input_is_inserted_once_and_literally(setting: Setting, name: str, other: str) -> None:
    recipe = Recipe(PromptInput(text=TEMPLATE, inputs={"other": "before"}), PromptExecution("prompt"))
    given_both = kind_of(recipe).with_inputs(recipe, {"name": name, "other": other})
    wanted = f"<a>{name}</a>\n<b>{other}</b>{name} {{{{name}}}} {{{{name}}}}"
    assert content_sent(setting, given_both) == wanted


@settings(
    max_examples=2 * EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    value=st.recursive(
        VALUES | st.integers() | st.none(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(VALUES.filter(lambda key: key != "file"), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_x4_skill_input_of_any_type_is_passed_unchanged(setting: Setting, value: Any) -> None:
    recipe = Recipe({"kept": "{{declared}}"}, SkillExecution("skill", "s"))
    given_one = kind_of(recipe).with_inputs(recipe, {"name": value})
    scope = Scope({"declared": 1, "name": "no", "other": "no"})
    assert scope.expand(given_one.input) == {"kept": 1, "name": value}
