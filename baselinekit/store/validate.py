"""Raw values to the dataclasses of the model, with every error at once and in our own words.

The owner of pydantic: it validates straight into the model, which knows nothing of it.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Discriminator, Tag, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaValidator

from baselinekit.errors import Problem
from baselinekit.model.baselines import Known, Metadata, Rules
from baselinekit.model.recipes import (
    CommandExecution,
    CommandInput,
    HttpExecution,
    HttpFlow,
    HttpRequest,
    SkillExecution,
)
from baselinekit.model.values import ABSENT, STRICT, Json
from baselinekit.store.complaints import KINDS, Complaint, problems_of
from baselinekit.store.schema import baseline_file_schema

T = TypeVar("T")


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
    """The kind of a `current:`. Unknown ones get better words than pydantic's (store/complaints.py)."""
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


def check(cls: type[T], raw: Json) -> tuple[T | None, list[Problem]]:
    """The value as the class states it, or everything that is wrong with it, with paths instead of places."""
    kind: Any = cls
    try:
        return _validator(kind).validate_python(raw), []
    except ValidationError as error:
        complaints = [
            Complaint(tuple(each["loc"]), each["type"], each.get("ctx", {}), each["msg"])
            for each in error.errors(include_url=False, include_input=False)
        ]
        return None, problems_of(complaints, raw, schema_of(kind))


@cache
def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a class, its parts under `$defs`."""
    return _adapter(kind).json_schema(schema_generator=_Schema)


class _Schema(GenerateJsonSchema):
    """No titles, which repeat the names, and no default where it means: not there."""

    def default_schema(self, schema: Any) -> dict[str, Any]:
        if schema.get("default") is ABSENT:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@cache
def _validator(kind: Any) -> SchemaValidator:
    return SchemaValidator(_open(_adapter(kind).core_schema))


def _open(schema: Any) -> Any:
    """The schema with its dataclasses open for mappings. Being strict, they would take instances only; what
    stands in their fields stays strict."""
    if isinstance(schema, dict):
        opened = {key: _open(value) for key, value in schema.items()}
        return {**opened, "strict": False} if schema.get("type") == "dataclass" else opened
    return [_open(item) for item in schema] if isinstance(schema, list) else schema


def json_schema() -> dict[str, Any]:
    """The schema of a baseline file, for editors."""
    return baseline_file_schema(schema_of(Record))
