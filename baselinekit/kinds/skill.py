"""A skill: one that the configuration declares by name, or a folder with a SKILL.md."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from baselinekit.errors import Problem
from baselinekit.kinds.kind import EMPTY, STORED, Family, RecipeKind, Trouble, is_empty
from baselinekit.model.recipes import Observation, Recipe, Scores, Seconds, Skill
from baselinekit.model.values import Json
from baselinekit.secrets.variables import escape_variables_in
from baselinekit.structs import Struct, field, replace
from baselinekit.values.texts import Mask


class SkillExecution(Struct):
    """A skill by its name in the configuration; it receives `input` verbatim."""

    type: Literal["skill"]
    skill_name: str
    parameters: dict[str, Json] = field(default_factory=dict)
    timeout: Seconds | None = None
    collect: list[Literal["output", "tool_calls"]] | None = None
    scores: Scores | None = None


class SkillCurrent(Struct):
    """`current:` with a skill, whose input may be any value."""

    execution: SkillExecution
    input: Json = None


class SkillKind(RecipeKind):
    name = "skill"
    execution = SkillExecution
    currents = (SkillCurrent,)
    asks_models = "sometimes"
    eval_input = "skill"
    names_target = "skill_name: …"

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
        asked_model = "model" in observation.environment
        if asked_model and not observation.tool_calls and is_empty(recipe, observation.output):
            yield replace(EMPTY, visible=False)

    def remarks(self, recipe: Recipe, observation: Observation, meaning: str = STORED) -> Iterator[str]:
        if is_empty(recipe, observation.output):
            yield f"the answer is empty: {meaning}"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"skill {recipe.execution.skill_name}"

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return str(recipe.execution.skill_name)

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        return "skills", recipe.execution.skill_name

    def asks_model(self, recipe: Recipe, skills: Mapping[str, Skill]) -> bool:
        """A skill that is not declared is a folder with a SKILL.md."""
        skill = skills.get(recipe.execution.skill_name)
        return skill is None or skill.folder is not None

    def with_inputs(self, recipe: Recipe, values: Mapping[str, Json]) -> Recipe:
        """A skill takes named inputs only if its input is a mapping, or none."""
        inputs = {} if recipe.input is None else recipe.input
        if not isinstance(inputs, dict):
            return recipe
        return replace(recipe, input={**inputs, **escape_variables_in(dict(values))})

    def input_of_text(self, text: Json, context: Json) -> Json:
        return text if context is None else {"content": text, "context": context}

    def input_of_case(self, content: Json, context: Json) -> tuple[Any, list[Problem]]:
        return self.input_of_text(content, context), []


KIND = SkillKind()
