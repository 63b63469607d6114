"""Config: what `baselinekit.yaml` may say."""

from dataclasses import dataclass, field
from typing import Literal

from baselinekit.model.questions import Limits, Model
from baselinekit.model.recipes import Command, Seconds, Skill
from baselinekit.model.values import Json

Record = Literal["always", "daily", "never"]
"""Which verdicts are written to the files."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that says more than its value: where it comes from, and whether it is a secret."""

    value: Json = None
    from_env: str | None = None
    secret: bool = False
    hosts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Environment:
    """One of the places that the same baselines run against."""

    base_url: str | None = None
    variables: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Notify:
    """Who is told when a run or a gate does not come out well (`always`: also when it does): a program, which
    gets what is to be told as JSON on its standard input, or an address that it is sent to."""

    command: list[str] | None = None
    webhook: str | None = None
    always: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    env: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
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
    limits: Limits = field(default_factory=Limits)
    notify: Notify | None = None
