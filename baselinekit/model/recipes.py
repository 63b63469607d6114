"""Recipe: how to obtain an output again, and what the configuration provides for it. What a recipe of one
kind holds, and so the schema of a file's `current:`, stands in kinds/; a request stands here, as the
configuration states one too."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from baselinekit.model.questions import Model
from baselinekit.model.values import ABSENT, Json

Scalar = str | int | float | bool
Seconds = int | float


@dataclass(frozen=True, slots=True)
class Auth:
    """Credentials for the `Authorization` header."""

    type: Literal["basic", "bearer", "digest"]
    username: str | None = None
    password: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
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
    name: str | None = None
    save: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scores:
    """A text graded by a model into `quality_scores`: each criterion with what is meant by it, or the file
    that says so, on a scale."""

    rubric: dict[str, str] | str
    model: str = "judge"
    scale: list[int | float] = field(default_factory=lambda: [1, 5])


class Execution(Protocol):
    """What every kind's `execution:` has: its kind."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def type(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to obtain an output again: `input` is what is asked, `execution` how and whom. Both are of the
    classes that the recipe's kind states (kinds/)."""

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Command:
    """A program that the configuration allows baselines to run, under the name that they use."""

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
