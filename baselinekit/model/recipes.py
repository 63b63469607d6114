"""Recipe: how to obtain an output again. These classes are also the schema of a file's `current:`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from baselinekit.model.questions import Message, Model, Tool
from baselinekit.model.values import ABSENT, STRICT, Json

Scalar = str | int | float | bool
Seconds = int | float


@dataclass(frozen=True, slots=True)
class Auth:
    """Credentials for the `Authorization` header."""

    __pydantic_config__: ClassVar[Any] = STRICT

    type: Literal["basic", "bearer", "digest"]
    username: str | None = None
    password: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request, and as a step of a flow what it hands on to the next (`save`)."""

    __pydantic_config__: ClassVar[Any] = STRICT

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
    name: str | None = None
    save: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpFlow:
    """Requests in order. The last output is compared, or what `collect` names: steps by their name, or
    `{key: "step.path"}`."""

    __pydantic_config__: ClassVar[Any] = STRICT

    steps: list[HttpRequest]
    collect: list[str] | dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class HttpExecution:
    """What all requests of a recipe share; a request's own setting goes before it."""

    __pydantic_config__: ClassVar[Any] = STRICT

    type: Literal["http"]
    base_url: str | None = None
    headers: dict[str, Scalar] = field(default_factory=dict)
    auth: Auth | None = None
    cookies: dict[str, str] = field(default_factory=dict)
    timeout: Seconds | None = None
    redirects: int | bool | None = None
    retries: int | None = None
    keep_headers: list[str] | None = None
    verify: bool | str | None = None
    cert: str | None = None
    http2: bool | None = None
    max_body: int | None = None


@dataclass(frozen=True, slots=True)
class CommandInput:
    """A program and what it is given. `argv[0]` is a name under `commands:` in the configuration, or any
    program when the operator allows it (`--allow-exec`)."""

    __pydantic_config__: ClassVar[Any] = STRICT

    argv: list[str]
    stdin: Json = ABSENT
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    files: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CommandExecution:
    __pydantic_config__: ClassVar[Any] = STRICT

    type: Literal["command"]
    timeout: Seconds | None = None
    parse: Literal["text", "json"] | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """A text graded by a model into `quality_scores`: each criterion with what is meant by it, or the file
    that says so, on a scale."""

    __pydantic_config__: ClassVar[Any] = STRICT

    rubric: dict[str, str] | str
    model: str = "judge"
    scale: list[int | float] = field(default_factory=lambda: [1, 5])


@dataclass(frozen=True, slots=True)
class SkillExecution:
    """A skill by the name that the configuration gives it; `input` is handed to it verbatim."""

    __pydantic_config__: ClassVar[Any] = STRICT

    type: Literal["skill"]
    skill_name: str
    parameters: dict[str, Json] = field(default_factory=dict)
    timeout: Seconds | None = None
    collect: list[Literal["output", "tool_calls"]] | None = None
    scores: Scores | None = None


@dataclass(frozen=True, slots=True)
class PromptInput:
    """What a model is asked: a template file, a text or messages, with `{{name}}` for the inputs, which stand
    here (`{file: path}` for what is in a file) or in a file of their own."""

    __pydantic_config__: ClassVar[Any] = STRICT

    prompt: str | None = None
    text: str | None = None
    messages: list[Message] | None = None
    inputs: dict[str, Json] = field(default_factory=dict)
    inputs_from: str | None = None
    tools: list[Tool] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PromptExecution:
    """Which model is asked, by the name that the configuration gives it, and what becomes of its answer: a
    text, JSON (`parse: json`), or what `collect` names."""

    __pydantic_config__: ClassVar[Any] = STRICT

    type: Literal["prompt"]
    model: str = "default"
    system: str | None = None
    temperature: int | float | None = None
    max_tokens: int | None = None
    json: bool = False
    parse: Literal["text", "json"] | None = None
    collect: list[Literal["text", "tool_calls"]] | None = None
    timeout: Seconds | None = None
    scores: Scores | None = None


Execution = HttpExecution | CommandExecution | SkillExecution | PromptExecution


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to obtain an output again: `input` is what is asked, `execution` how and whom."""

    input: Any
    execution: Execution

    @property
    def kind(self) -> str:
        return self.execution.type


@dataclass(frozen=True, slots=True)
class Skill:
    """What the configuration says a skill is: a program, a Python callable (`module:function`), a request
    that gets the question as JSON, or a folder with a SKILL.md for a model. `output: trace`: it answers with
    `{output, tool_calls, usage}`."""

    __pydantic_config__: ClassVar[Any] = STRICT

    command: list[str] | None = None
    python: str | None = None
    http: HttpRequest | None = None
    folder: str | None = None
    model: str = "default"
    output: Literal["plain", "trace"] = "plain"
    env: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    timeout: Seconds | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A program that the configuration allows baselines to run, under the name that they use."""

    __pydantic_config__: ClassVar[Any] = STRICT

    argv: list[str]
    env: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a recipe finds around it: where its file stands, and what the configuration provides. A
    `base_url` of the recipe goes before the configured one, and the operator's override before both."""

    root: str
    folder: str
    base_url: str | None = None
    override_base_url: str | None = None
    skills: Mapping[str, Skill] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
