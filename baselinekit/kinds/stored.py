"""A target that is not asked again: earlier answers are read from a file, by the id of the case."""

from typing import Literal

from baselinekit.kinds.messages import ConversationKind, StatedConversation
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.structs import Struct


class ReplayExecution(Struct):
    """The file with the answers: JSON Lines with the id of a case and its answer, or the results of a run."""

    type: Literal["replay"]
    file: str
    timeout: Seconds | None = None
    target: str = ""


class ReplayCurrent(Struct):
    """`current:` whose answer is in a file."""

    input: StatedConversation | str
    execution: ReplayExecution


class ReplayKind(ConversationKind):
    name = "replay"
    execution = ReplayExecution
    currents = (ReplayCurrent,)
    names_target = "file: …"

    def whom(self, recipe: Recipe) -> str:
        return f"replay {recipe.execution.target or recipe.execution.file}"

    def only_reads(self, recipe: Recipe) -> bool:
        return True


KIND = ReplayKind()
