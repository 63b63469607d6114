"""Recipes, questions to models, the resulting observations, and the configuration."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC
from decimal import Decimal
from typing import Annotated, Any, Literal, Protocol

from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import (
    AtLeastOne,
    Count,
    Dollars,
    Meta,
    NotNegative,
    Struct,
    TimeLimit,
    UpTo100Million,
    UpToMillion,
    field,
    replace,
)

# Questions to a model and its answers.


class Prices(Struct):
    """US dollars per million tokens. `cached`: those of the input that were read from a cache; None: as any
    others."""

    input: NotNegative = 0
    output: NotNegative = 0
    cached: NotNegative | None = None


class Retry(Struct):
    """Retries of a model request: after `wait` seconds, then `factor` times as long, at most `longest`."""

    wait: NotNegative = 1
    longest: NotNegative = 60
    factor: NotNegative = 2
    statuses: list[int] | None = None


class Model(Struct):
    """A model in the configuration. One of the first six fields is how it is asked: a wire form with the id
    that the server knows, a program, a callable (`module:function`), a name of the `llm` package, or a form
    that an installed package provides. `key` names a variable; `settings` go into the request as they are.
    `folder` is for the entry `embedding`: a model that compares texts."""

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
    max_tokens: AtLeastOne | None = None
    settings: dict[str, Json] = field(default_factory=dict)
    prices: Prices | None = None
    concurrency: AtLeastOne | None = None
    per_minute: AtLeastOne | None = None
    timeout: NotNegative | None = None
    retries: Count | None = None
    retry: Retry | None = None
    output: Literal["text", "json", "claude"] | None = None
    env: list[str] = field(default_factory=list)


class Limits(Struct):
    """Limits: for the use of models in a run, for replays, and for the number and size of files."""

    calls: Count | None = None
    tokens: Count | None = None
    usd: NotNegative | None = None
    timeout: TimeLimit | None = None
    max_body: Count | None = None
    retries: Count | None = None
    redirects: Count | None = None
    files: UpToMillion | None = None
    file_size: UpTo100Million | None = None


class Message(Struct):
    """One message of a conversation. What tools answered cannot be sent yet: that takes the ids of calls."""

    role: Literal["system", "user", "assistant"]
    content: str


class Tool(Struct):
    """A tool that a model may call; its parameters as a JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, Json] = field(default_factory=dict)


class ModelQuestion(Struct):
    """One question to one model, with everything expanded. Fields that are None, and a missing system
    message, are taken from the model's own entry. `turn` distinguishes repetitions of the same question;
    `asker` (the id of a baseline or a case) is not part of the question: it is for stores of answers."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    temperature: int | float | None = None
    max_tokens: int | None = None
    json: bool = False
    turn: int = 0
    timeout: float | None = None
    asker: str = ""


class Usage(Struct, forbid_unknown_fields=False):
    """The tokens and cost of an answer. None: unknown. `tokens_cached`: those of `tokens_in` from a cache."""

    tokens_in: Count | None = None
    tokens_out: Count | None = None
    cost_usd: Dollars | None = None
    tokens_cached: Count | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Add two usages; a value that only one of them states is kept."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in Usage.__struct_fields__)
        return Usage(*(b if a is None else a if b is None else a + b for a, b in pairs))


class Answer(Struct):
    """The answer of a model. `served`: the model that answered, by its own account; `tool_calls`: None if the
    answer does not say whether there were any."""

    text: str
    tool_calls: tuple[ToolCall, ...] | None = ()
    usage: Usage = Usage()
    served: str | None = None
    seconds: float = 0.0
    attempts: int = 1
    recorded: bool = False


class ModelUsage(Struct):
    """The use of models in a run so far, estimated if an answer does not state it. Some calls had no answer
    (`unanswered`): what these may have used is counted separately (`may_tokens`, `may_usd`)."""

    calls: Count = 0
    tokens: Count = 0
    usd: Dollars = field(default=Decimal(0), name="cost_usd")
    unanswered: Count = 0
    may_tokens: Count = 0
    may_usd: Dollars = Decimal(0)

    @property
    def at_most(self) -> "ModelUsage":
        """The upper limit of the use, which counts for a budget."""
        return ModelUsage(self.calls, self.tokens + self.may_tokens, self.usd + self.may_usd)


def added_usage(one: ModelUsage, other: ModelUsage, sign: int = 1) -> ModelUsage:
    """The sum of two usages, or their difference (`sign` -1)."""
    fields = ModelUsage.__struct_fields__
    return ModelUsage(*(getattr(one, name) + sign * getattr(other, name) for name in fields))


# Recipe: how to obtain an output again, and what the configuration provides for it. The contents of a recipe
# of one kind, and so the schema of a file's `current:`, are in kinds/; a request is here, as the
# configuration has requests too.

Scalar = str | int | float | bool
Seconds = int | float
Parse = Literal["json", "ndjson", "sse", "prometheus", "text", "bytes"]
"""How a body is parsed (kinds/bodies.py)."""


class Auth(Struct):
    """Credentials for the `Authorization` header."""

    type: Literal["basic", "bearer", "digest"]
    username: str | None = None
    password: str | None = None
    token: str | None = None


class HttpRequest(Struct):
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
    timeout: TimeLimit | None = None
    redirects: Count | bool | None = None
    retries: Count | None = None
    parse: Parse | None = None
    take: AtLeastOne | None = None
    name: str | None = None
    save: dict[str, str] = field(default_factory=dict)


class Scores(Struct):
    """A text graded by a model into `quality_scores`: each criterion with what is meant by it, or the file
    with it, on a scale. `at_least`: what each of them must be, for a text to be known-good. `form`: what
    the judge replies with: JSON, or for a single criterion from 1 to 5 the one line SCORE=… REASON=…"""

    rubric: dict[str, str] | str
    model: str = "judge"
    scale: Annotated[tuple[int | float, int | float], Meta(description="two numbers")] = (1, 5)
    at_least: int | float | None = None
    form: Literal["json", "line"] = "json"


class Execution(Protocol):  # every kind's `execution:` states its kind
    @property
    def type(self) -> str: ...


class Recipe(Struct):
    """How to obtain an output again: the input and its execution, in the classes of its kind (kinds/)."""

    input: Any
    execution: Any

    @property
    def kind(self) -> str:
        kind: str = self.execution.type
        return kind

    @property
    def scores(self) -> Scores | None:
        """How its text is graded, if it is."""
        return getattr(self.execution, "scores", None)

    @property
    def checks(self) -> "list[dict[str, Json]]":
        """The checks of its text."""
        return getattr(self.execution, "checks", None) or []


class Skill(Struct):
    """A skill in the configuration: a program, a Python callable (`module:function`), a request that gets the
    question as JSON, or a folder with a SKILL.md for a model. `output: trace`: it answers with
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


class Command(Struct):
    """A program that the configuration allows baselines to run by name."""

    argv: list[str]
    env: list[str] = field(default_factory=list)


class Surroundings(Struct):
    """The folder of a recipe's file, and what the configuration provides. Its own `base_url` takes precedence
    over the configured one, the override over both. `within`: the folder that no path may leave, if not the
    root."""

    root: str
    folder: str
    base_url: str | None = None
    override_base_url: str | None = None
    skills: Mapping[str, Skill] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    targets: Mapping[str, Any] = field(default_factory=dict)
    within: str = ""


# Observation: the result of a recipe, and the requests and responses of the clients.


class Observation(Struct):
    """An output and what it took to get it. `tool_calls`: None if it is unknown whether there were any;
    `environment`: what only the answer tells about its origin (the model that was served); `flaw`: why it
    must not become known-good; `notes`: possible mistakes; `saved`: the values that a flow saved from
    answers to its writes, and from later answers, each as name, path and value; `failed_checks`: the reason
    of each failing check; `messages`: the conversation that led to the output, if known; `loss`: why
    the output does not hold the tool calls, although no `collect` leaves them out; `exchanges`: each HTTP
    request as it was sent, with the name or number of its step (empty without steps), and with its answer,
    all headers included."""

    output: Json
    seconds: float
    attempts: int = 1
    tool_calls: tuple[ToolCall, ...] | None = None
    usage: Usage = field(default_factory=Usage)
    environment: Mapping[str, Json] = field(default_factory=dict)
    flaw: str | None = None
    notes: tuple[str, ...] = ()
    saved: tuple[tuple[str, str, Json], ...] = ()
    recorded: bool = False
    failed_checks: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[TraceMessage, ...] = ()
    loss: str | None = None
    exchanges: tuple[tuple[str, "Request", Json], ...] = ()

    @property
    def reason_not_to_store(self) -> str | None:
        return self.flaw or self.loss

    def with_output(self, output: Json) -> "Observation":
        return replace(self, output=output)


IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"))
"""The methods of requests that may be sent twice."""


class BodyWatcher(Protocol):
    """Watches a body while it arrives: whether it holds enough with this chunk, and the error if it did not
    end in time, where there is more to say than that."""

    def has_enough(self, chunk: bytes) -> bool: ...
    def too_late(self, seconds: float) -> Exception | None: ...


class Request(Struct):
    """One request as it is sent, with everything expanded. `parse`: how the body of its answer is parsed;
    `take`: the number of rows to wait for. `admit` is called with the address to connect to, and raises to
    refuse it; None is the host as it is written. `watch`: who watches a body of this media type while
    it arrives."""

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
    admit: Callable[[str | None], None] | None = None
    watch: Callable[[str], BodyWatcher] | None = None


class Response(Struct):
    """One response as received: decompressed within its limit, not yet interpreted."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float = 0.0

    def header(self, name: str) -> str:
        """The value of the first header of this name, in any case; empty if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def asked_wait(self, now: float | None = None) -> float | None:
        """The seconds after which the server asks to retry. A date is compared with the server's own clock,
        as clocks differ, and only with `now` if the server does not state its time."""
        text = self.header("retry-after").strip()
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
            return float(text)
        moment, sent_at = http_date(text), http_date(self.header("date"))
        sent_at = now if sent_at is None else sent_at
        return None if moment is None or sent_at is None else max(0.0, moment - sent_at)


_LONGEST_DATE = 100


def http_date(text: str) -> float | None:
    """Return a date in a header as seconds since 1970; None if it is none. A date without a zone is UTC,
    whatever the zone of this machine."""
    if not 0 < len(text) < _LONGEST_DATE:
        return None
    from email.utils import parsedate_to_datetime  # seldom needed

    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


class ProcessSpec(Struct):
    """One program as it is started."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = "."
    timeout: float = 60.0
    max_stdout: int = 1_000_000
    max_stderr: int = 64_000
    mask: Callable[[str], str] | None = None
    """Masks secrets in the end of its output, if an error quotes it."""


class ProcessResult(Struct):
    """The result of one program."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    seconds: float


# A generated program, run in a sandbox: its results, and what the sandbox kept it from.


class CallResult(Struct):
    """One call of its function: the value, or why there is none (`timeout`, an exception, an early exit).
    `inexact`: the text of a value that is not JSON (a set, a NaN, a bytes). `printed`: the end of what it
    printed meanwhile."""

    value: Json = ABSENT
    error: str = ""
    inexact: str = ""
    printed: str = ""
    seconds: float = 0.0


class SandboxResult(Struct):
    """All calls in order. `contained`: what the sandbox kept the program from; `not_contained`: what it could
    not prevent on this machine. `flaw`: why nothing of it can be judged."""

    calls: tuple[CallResult, ...]
    contained: tuple[str, ...] = ()
    not_contained: tuple[str, ...] = ()
    flaw: str = ""


# Config: the contents of `baselinekit.yaml`.

Record = Literal["always", "daily", "never"]
"""Which verdicts are written to the files."""


class Variable(Struct):
    """A variable with more than a value: its origin, and whether it is a secret."""

    value: Json = None
    from_env: str | None = None
    secret: bool = False
    hosts: list[str] = field(default_factory=list)


class Environment(Struct):
    """One of the environments that the same baselines run against."""

    base_url: str | None = None
    variables: dict[str, Json] = field(default_factory=dict)


class HttpDefaults(Struct):
    headers: dict[str, str | int | float | bool] = field(default_factory=dict)
    timeout: TimeLimit | None = None
    redirects: Count | bool | None = None
    retries: Count | None = None
    keep_headers: list[str] | None = None
    verify: bool | str | None = None
    cert: str | None = None
    http2: bool | None = None
    max_body: Count | None = None
    serial: bool | None = None


class Notify(Struct):
    """Who is notified when a run or a gate fails (`always`: also when it passes): a program, which gets the
    notification as JSON on its standard input, or an address to which it is sent."""

    command: list[str] | None = None
    webhook: str | None = None
    always: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    env: list[str] = field(default_factory=list)


class GitHosts(Struct):
    """Files in git that are named by the addresses of their web pages. `hosts`: further hosts, each with the
    host whose addresses it imitates. `offline`: use only files that were fetched before."""

    hosts: dict[str, Literal["github", "gitlab", "bitbucket"]] = field(default_factory=dict)
    offline: bool = False


class Config(Struct):
    version: Literal[1] = 1
    base_url: str | None = None
    baselines: str | list[str] = "baselines"
    evals: str | list[str] = "evals"
    record: Record = "always"
    inline_limit: Count = 65_536
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
