"""An echo: nothing is requested, the output is the input. A written text is graded like an answer."""

from typing import Literal

from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.settings import INPUT, Setting
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Struct
from baselinekit.values.texts import Mask, mask_and_clip

_LONGEST_SHOWN = 40


class EchoExecution(Struct):
    """Nothing is requested."""

    type: Literal["echo"]


class EchoCurrent(Struct):
    """`current:` whose output is its input, which may be any value."""

    execution: EchoExecution
    input: Json = None


class EchoKind(RecipeKind):
    name = "echo"
    execution = EchoExecution
    currents = (EchoCurrent,)
    noun = "result"
    asks_nobody = True
    eval_input = "echo"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        words = " ".join(as_text(recipe.input).split())
        return f"echo {mask_and_clip(words, _LONGEST_SHOWN, mask, counted=False)}"

    def input_of_text(self, text: Json, context: Json) -> Json:
        return text if context is None else {"content": text, "context": context}

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        return Observation(setting.scope.expand(recipe.input, INPUT), 0.0)


KIND = EchoKind()
