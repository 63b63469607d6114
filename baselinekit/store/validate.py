"""Raw values to the dataclasses of the model, with every error at once and in our own words.

The owner of pydantic: it validates straight into the model, which knows nothing of it.
"""

from dataclasses import dataclass, field, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Tag, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaValidator

from baselinekit.errors import Problem, nearest
from baselinekit.model.baselines import Known, Metadata, Rules
from baselinekit.model.recipes import (
    CommandExecution,
    CommandInput,
    HttpExecution,
    HttpFlow,
    HttpRequest,
    SkillExecution,
)
from baselinekit.model.values import ABSENT, STRICT, Json, Path, json_type

KINDS = ("http", "command", "skill")


@dataclass(frozen=True, slots=True)
class HttpCurrent:
    """`current:` with one HTTP request."""

    __pydantic_config__: ClassVar[Any] = STRICT

    input: HttpRequest
    execution: HttpExecution


@dataclass(frozen=True, slots=True)
class FlowCurrent:
    """`current:` with HTTP requests in order."""

    __pydantic_config__: ClassVar[Any] = STRICT

    input: HttpFlow
    execution: HttpExecution


@dataclass(frozen=True, slots=True)
class CommandCurrent:
    """`current:` with a program."""

    __pydantic_config__: ClassVar[Any] = STRICT

    input: CommandInput
    execution: CommandExecution


@dataclass(frozen=True, slots=True)
class SkillCurrent:
    """`current:` with a skill, whose input is anything."""

    __pydantic_config__: ClassVar[Any] = STRICT

    execution: SkillExecution
    input: Json = None


def _which(value: Any) -> str | None:
    """The kind of a `current:`. Unknown ones are told apart before, in better words (store/checks.py)."""
    if not isinstance(value, dict) or not isinstance(value.get("execution"), dict):
        return None
    kind = value["execution"].get("type")
    flow = kind == "http" and isinstance(value.get("input"), dict) and "steps" in value["input"]
    return "<flow>" if flow else f"<{kind}>" if kind in KINDS else None


Current = Annotated[
    Annotated[HttpCurrent, Tag("<http>")]
    | Annotated[FlowCurrent, Tag("<flow>")]
    | Annotated[CommandCurrent, Tag("<command>")]
    | Annotated[SkillCurrent, Tag("<skill>")],
    Discriminator(_which),
]


@dataclass(frozen=True, slots=True)
class Record:
    """A baseline as its file states it."""

    __pydantic_config__: ClassVar[Any] = STRICT

    id: str
    current: Current
    name: str | None = None
    description: str | None = None
    baseline_version: str | None = None
    baseline: Known | None = None
    comparison: Rules = field(default_factory=Rules)
    metadata: Metadata = field(default_factory=Metadata)


@cache
def _adapter(cls: Any) -> SchemaValidator:
    return SchemaValidator(_mappings_allowed(TypeAdapter(cls).core_schema))


def _mappings_allowed(schema: Any) -> Any:
    """The schema with its dataclasses open for mappings. Being strict, they would take instances only; what
    stands in their fields stays strict."""
    if isinstance(schema, dict):
        opened = {key: _mappings_allowed(value) for key, value in schema.items()}
        return {**opened, "strict": False} if schema.get("type") == "dataclass" else opened
    return [_mappings_allowed(item) for item in schema] if isinstance(schema, list) else schema


def check[T](cls: type[T], raw: Json) -> T | list[Problem]:
    ...
