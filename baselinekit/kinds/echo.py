"""A written text, graded like an answer: nothing is asked."""

from typing import Literal

from baselinekit.kinds.kind import RecipeKind, current_form
from baselinekit.kinds.messages import shortened
from baselinekit.kinds.settings import INPUT, Setting
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Struct
from baselinekit.values.texts import Mask


class EchoExecution(Struct):
    """Nothing is requested."""

    type: Literal["echo"]


class EchoKind(RecipeKind):
    """A written text is graded like an answer."""

    name = "echo"
    execution = EchoExecution
    currents = (current_form("Echo", Json, EchoExecution, None),)
    noun = "result"
    asks_nobody = True
    eval_input = "echo"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"echo {shortened(as_text(recipe.input), mask)}"

    def input_of_text(self, text: Json, context: Json) -> Json:
        return text if context is None else {"content": text, "context": context}

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        return Observation(setting.scope.expand(recipe.input, INPUT), 0.0)


ECHO = EchoKind()
