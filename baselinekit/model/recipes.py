"""Recipes, questions to models, the observation that comes back, and what the configuration says."""

from collections.abc import Callable, Mapping
from dataclasses import Field, field, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, Protocol

from baselinekit.frozen import frozen
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json

# Questions to a model and its answers.


@frozen
class Prices:
    """US dollars for a million tokens."""

    input: int | float = 0
    output: int | float = 0


@frozen
class Retry:
    """How a model is asked again: after `wait` seconds, then `factor` times as many, `longest` at most."""

    wait: int | float = 1
    longest: int | float = 60
    factor: int | float = 2
    statuses: list[int] | None = None


@frozen
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
    retry: Retry | None = None
    output: Literal["text", "json", "claude"] | None = None
    env: list[str] = field(default_factory=list)

    @property
    def tells_tool_calls(self) -> bool:
        """Whether an answer can say which tools were called: no text can, nor what `claude -p` writes."""
        return self.llm is None and (self.command is None or self.output == "json")


@frozen
class Limits:
    """The most of what a run may ask of its models, a data file of a replay, and of files and their size."""

    calls: int | None = None
    tokens: int | None = None
    usd: int | float | None = None
    timeout: int | float | None = None
    max_body: int | None = None
    retries: int | None = None
    redirects: int | None = None
    files: int | None = None
    file_size: int | None = None


@frozen
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@frozen
class Tool:
    """A tool that a model may call; its parameters as a JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, Json] = field(default_factory=dict)


@frozen
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


@frozen
class Usage:
    """What an answer took. None: nobody said. `tokens_cached`: those of `tokens_in` that were not new."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: Decimal | None = None
    tokens_cached: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Both together; what only one of them says is what is known."""
        return Usage(
            _sum(self.tokens_in, other.tokens_in),
            _sum(self.tokens_out, other.tokens_out),
            _sum(self.cost_usd, other.cost_usd),
            _sum(self.tokens_cached, other.tokens_cached),
        )


def _sum(left: Any, right: Any) -> Any:
    return right if left is None else left if right is None else left + right


@frozen
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


@frozen
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


# Recipe: how to obtain an output again, and what the configuration provides for it. What a recipe of one
# kind holds, and so the schema of a file's `current:`, stands in kinds/; a request stands here, as the
# configuration states one too.

Scalar = str | int | float | bool
Seconds = int | float
Parse = Literal["json", "ndjson", "sse", "text", "bytes"]
"""What a body is read as (kinds/bodies.py)."""


@frozen
class Auth:
    """Credentials for the `Authorization` header."""

    type: Literal["basic", "bearer", "digest"]
    username: str | None = None
    password: str | None = None
    token: str | None = None


@frozen
class HttpRequest:
    """One request, and as a step of a flow what it hands on to the next (`save`)."""

    method: str = "GET"
    endpoint: str | None = None
    path: str | None = None
    url: str | None = None
    headers: dict[str, Scalar] = field(default_factory=dict)
    params: dict[str, Scalar | list[Scalar] | None] = field(default_factory=dict)
    json: Json = ABSENT
    body: Json = ABSENT
    form: dict[str, Scalar | list[Scalar]] | None = None
    files: dict[str, str] | None = None
    auth: Auth | None = None
    cookies: dict[str, str] = field(default_factory=dict)
    timeout: Seconds | None = None
    redirects: int | bool | None = None
    retries: int | None = None
    parse: Parse | None = None
    take: int | None = None
    name: str | None = None
    save: dict[str, str] = field(default_factory=dict)


@frozen
class Scores:
    """A text graded by a model into `quality_scores`: each criterion with what is meant by it, or the file
    that says so, on a scale. `at_least`: what each of them must be, for a text to be known-good. `form`: what
    the judge replies with: JSON, or for a single criterion from 1 to 5 the one line SCORE=… REASON=…"""

    rubric: dict[str, str] | str
    model: str = "judge"
    scale: list[int | float] = field(default_factory=lambda: [1, 5])
    at_least: int | float | None = None
    form: Literal["json", "line"] = "json"


class Execution(Protocol):  # what every kind's `execution:` has: its kind
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def type(self) -> str: ...


@frozen
class Recipe:
    """How to obtain an output again: what is asked, how and whom, in the classes of its kind (kinds/)."""

    input: Any
    execution: Any

    @property
    def kind(self) -> str:
        kind: str = self.execution.type
        return kind

    @property
    def scores(self) -> Scores | None:
        """By what its text is graded, where it is."""
        return getattr(self.execution, "scores", None)

    @property
    def checks(self) -> "list[dict[str, Json]]":
        """What its text must be like, one line each."""
        return getattr(self.execution, "checks", None) or []


@frozen
class Skill:
    """What the configuration says a skill is: a program, a Python callable (`module:function`), a request
    that gets the question as JSON, or a folder with a SKILL.md for a model. `output: trace`: it answers with
    `{output, tool_calls, usage}`."""

    command: list[str] | None = None
    python: str | None = None
    http: HttpRequest | None = None
    folder: str | None = None
    model: str = "default"
    output: Literal["plain", "trace"] = "plain"
    env: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    timeout: Seconds | None = None


@frozen
class Command:
    """A program that the configuration allows baselines to run, under the name that they use."""

    argv: list[str]
    env: list[str] = field(default_factory=list)


@frozen
class Surroundings:
    """Where the file of a recipe stands, and what the configuration provides. Its own `base_url` goes before
    the configured one, the override before both. `within`: what no path leads out of, if not the root."""

    root: str
    folder: str
    base_url: str | None = None
    override_base_url: str | None = None
    skills: Mapping[str, Skill] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    targets: Mapping[str, Any] = field(default_factory=dict)
    within: str = ""


# Observation: what a recipe gave, and what passes through the clients on the way to it.


@frozen
class Observation:
    """An output and what it took to get it. `tool_calls`: None where nobody said whether there were any;
    `environment`: what only the answer tells of where it comes from (the model that was served); `flaw`: why
    nobody should take it for known-good; `statuses`: what each step of an http recipe answered with, by the
    step's name or number (empty where there are no steps); `notes`: what may be a mistake; `saved`: what a
    flow took out of answers to what it wrote, and of those that came after: the name, the path, the value;
    `failed_checks`: why each check fails that does; `messages`: what was said on the way to the output, where
    somebody told."""

    output: Json
    seconds: float
    attempts: int = 1
    tool_calls: tuple[ToolCall, ...] | None = None
    usage: Usage = field(default_factory=Usage)
    environment: Mapping[str, Json] = field(default_factory=dict)
    flaw: str | None = None
    statuses: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    saved: tuple[tuple[str, str, Json], ...] = ()
    recorded: bool = False
    failed_checks: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[TraceMessage, ...] = ()

    def with_output(self, output: Json) -> "Observation":
        return replace(self, output=output)


@frozen
class Request:
    """One request as it goes out: everything expanded, nothing left to decide. `parse`: what the body of its
    answer is read as, `take`: how many rows of it are waited for. `admit` is asked about the
    address that is about to be connected to, and refuses it by raising; None asks about the host as it is
    written."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes = b""
    digest: Auth | None = None
    timeout: float = 30.0
    verify: bool | str = True
    cert: str | None = None
    http2: bool = False
    max_body: int = 10_000_000
    parse: Parse | None = None
    take: int | None = None
    admit: Callable[[str | None], None] | None = field(default=None, compare=False, repr=False)


@frozen
class Response:
    """One response as it came in: decompressed within its limit, not yet interpreted."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float = 0.0

    def header(self, name: str) -> str:
        """The first header of this name, in whatever case it came; empty when there is none."""
        return next((value for known, value in self.headers if known.lower() == name), "")


@frozen
class ProcessSpec:
    """One program as it is started."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = "."
    timeout: float = 60.0
    max_stdout: int = 1_000_000
    max_stderr: int = 64_000
    mask: Callable[[str], str] | None = field(default=None, compare=False, repr=False)
    """Takes the secrets out of its last words, where an error quotes them."""


@frozen
class ProcessResult:
    """One program as it ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    seconds: float


# A generated program, run where it can do no harm: what it gave, and what it was kept from.


@frozen
class Returned:
    """One call of its function: the value, or why there is none (`timeout`, an exception, an early exit).
    `inexact`: the value was no JSON (a set, a NaN, a bytes), and this is how it looks. `printed`: the end of
    what it printed meanwhile."""

    value: Json = ABSENT
    error: str = ""
    inexact: str = ""
    printed: str = ""
    seconds: float = 0.0


@frozen
class Ran:
    """All calls in their order. `contained`: from what it was kept, `not_contained`: from what it could not
    be kept on this machine. `flaw`: why nothing of it can be judged."""

    calls: tuple[Returned, ...]
    contained: tuple[str, ...] = ()
    not_contained: tuple[str, ...] = ()
    flaw: str = ""


# Config: what `baselinekit.yaml` may say.

Record = Literal["always", "daily", "never"]
"""Which verdicts are written to the files."""


@frozen
class Variable:
    """A variable that says more than its value: where it comes from, and whether it is a secret."""

    value: Json = None
    from_env: str | None = None
    secret: bool = False
    hosts: list[str] = field(default_factory=list)


@frozen
class Environment:
    """One of the places that the same baselines run against."""

    base_url: str | None = None
    variables: dict[str, Json] = field(default_factory=dict)


@frozen
class HttpDefaults:
    headers: dict[str, str | int | float | bool] = field(default_factory=dict)
    timeout: Seconds | None = None
    redirects: int | bool | None = None
    retries: int | None = None
    keep_headers: list[str] | None = None
    verify: bool | str | None = None
    cert: str | None = None
    http2: bool | None = None
    max_body: int | None = None
    serial: bool | None = None


@frozen
class Notify:
    """Who is told when a run or a gate does not come out well (`always`: also when it does): a program, which
    gets what is to be told as JSON on its standard input, or an address that it is sent to."""

    command: list[str] | None = None
    webhook: str | None = None
    always: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    env: list[str] = field(default_factory=list)


@frozen
class GitHosts:
    """Files that others name by the addresses of their pages. `hosts`: further hosts, with the one whose
    addresses theirs look like. `offline`: only what was fetched before."""

    hosts: dict[str, Literal["github", "gitlab", "bitbucket"]] = field(default_factory=dict)
    offline: bool = False


@frozen
class Config:
    version: Literal[1] = 1
    base_url: str | None = None
    baselines: str | list[str] = "baselines"
    evals: str | list[str] = "evals"
    record: Record = "always"
    inline_limit: int = 65_536
    environment: dict[str, Json] = field(default_factory=dict)
    environments: dict[str, Environment] = field(default_factory=dict)
    variables: dict[str, Json] = field(default_factory=dict)
    placeholders: dict[str, str] = field(default_factory=dict)
    allow_hosts: list[str] | None = None
    http: HttpDefaults = field(default_factory=HttpDefaults)
    skills: dict[str, Skill] = field(default_factory=dict)
    commands: dict[str, list[str] | Command] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    targets: str | dict[str, Json] | None = None
    limits: Limits = field(default_factory=Limits)
    notify: Notify | None = None
    git: GitHosts = field(default_factory=GitHosts)
