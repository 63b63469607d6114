"""Conversations between a user, an assistant and its tools."""

from typing import Literal

from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import Struct, field

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(Struct):
    """A tool that a model or an agent called. `output`: what it was given back, and `error`: why it was given
    nothing, where that is known; `seconds`: how long it took."""

    name: str
    input: Json
    output: Json = ABSENT
    id: str | None = None
    seconds: float | None = None
    error: str | None = None


class StatedCall(Struct, forbid_unknown_fields=False):
    """A tool call as the answer of a program states it."""

    name: str
    input: Json = field(default_factory=dict)
    output: Json = ABSENT

    def as_call(self) -> ToolCall:
        return ToolCall(self.name, self.input, self.output)


class TraceMessage(Struct):
    """One message of a conversation. `content`: a text, a value, or a list of parts: `{type: text, value}`
    and `{type: file, value, path, text}`: the path as written, where it leads, its content."""

    role: Role
    content: Json = ""
    tool_calls: tuple[ToolCall, ...] = ()
    name: str | None = None
