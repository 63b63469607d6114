"""Questions to a model and its answers."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from baselinekit.model.values import ABSENT, Json


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    input: int | float = 0
    output: int | float = 0


@dataclass(frozen=True, slots=True)
class Model:
    """What the configuration says a model is. One of the first six says how it is asked: a wire form with
    the id that the server knows it by, a program, a callable (`module:function`), a name of the `llm`
    package, or a form that an installed package brings along. `key` names a variable; what `settings` holds
    goes into the request as it is. `folder` is for the entry `embedding`: a model that compares texts."""

    openai: str | None = None
    anthropic: str | None = None
    command: list[str] | None = None
    python: str | None = None
    llm: str | None = None
    form: str | None = None
    folder: str | None = None
    base_url: str | None = None
    key: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    system: str | None = None
    temperature: int | float | None = None
    max_tokens: int | None = None
    settings: dict[str, Json] = field(default_factory=dict)
    prices: Prices | None = None
    concurrency: int | None = None
    per_minute: int | None = None
    timeout: int | float | None = None
    retries: int | None = None
    output: Literal["text", "json", "claude"] | None = None
    env: list[str] = field(default_factory=list)

    @property
    def tells_tool_calls(self) -> bool:
        """Whether an answer can say which tools were called. A program that gives a text, or what `claude -p`
        writes, cannot: of those nobody knows whether there were any."""
        return self.llm is None and (self.command is None or self.output == "json")


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one run may ask of its models, and below it what a data file may ask of one replay."""

    calls: int | None = None
    tokens: int | None = None
    usd: int | float | None = None
    timeout: int | float | None = None
    max_body: int | None = None
    retries: int | None = None
    redirects: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model or an agent called. `output`: what it was given back, where that is known."""

    name: str
    input: Json
    output: Json = ABSENT


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call; its parameters as a JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to one model: everything expanded. What is None, and a system message that is not there,
    is as the model's own entry says. `turn` tells repetitions of the same question apart; `asker` (the id of
    a baseline or a case) is no part of the question: it is for whoever keeps answers."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    temperature: int | float | None = None
    max_tokens: int | None = None
    json: bool = False
    turn: int = 0
    timeout: float | None = None
    asker: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took. None: nobody said."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: Decimal | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Both together; what only one of them says is what is known."""
        return Usage(
            _sum(self.tokens_in, other.tokens_in),
            _sum(self.tokens_out, other.tokens_out),
            _sum(self.cost_usd, other.cost_usd),
        )


def _sum(left: Any, right: Any) -> Any:
    return right if left is None else left if right is None else left + right


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered. `served`: the model that did, by its own account; `tool_calls`: None where the
    answer does not say whether there were any."""

    text: str
    tool_calls: tuple[ToolCall, ...] | None = ()
    usage: Usage = Usage()
    served: str | None = None
    seconds: float = 0.0
    attempts: int = 1
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has taken of its models so far. Where an answer does not say how much, an estimate. Of the
    calls some had no answer (`unanswered`): what those may have taken as well stands apart."""

    calls: int = 0
    tokens: int = 0
    usd: Decimal = Decimal(0)
    unanswered: int = 0
    may_tokens: int = 0
    may_usd: Decimal = Decimal(0)

    @property
    def at_most(self) -> "Spent":
        """All of it, as a budget counts."""
        return Spent(self.calls, self.tokens + self.may_tokens, self.usd + self.may_usd)
