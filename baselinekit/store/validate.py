"""Raw values to the dataclasses of the model, with every error at once and in our own words.

The owner of pydantic: it validates straight into the model, which knows nothing of it. It is asked, and
loaded, only when a value is not plainly right (store/plain.py).
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar

from baselinekit.errors import Problem
from baselinekit.model.baselines import Known, Metadata, Rules
from baselinekit.model.recipes import (
    CommandExecution,
    CommandInput,
    HttpExecution,
    HttpFlow,
    HttpRequest,
    PromptExecution,
    PromptInput,
    SkillExecution,
)
from baselinekit.model.values import ABSENT, STRICT, Json
from baselinekit.store.complaints import KINDS, Complaint, baseline_file_schema, problems_of
from baselinekit.store.plain import NotPlain, reader

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


@dataclass(frozen=True, slots=True)
class PromptCurrent:
    """`current:` with a prompt."""

    __pydantic_config__: ClassVar[Any] = STRICT

    input: PromptInput
    execution: PromptExecution


class _ByKind:
    """How the kind of a `current:` is told. Unknown ones get better words than pydantic's
    (store/complaints.py)."""

    choices: ClassVar[dict[str, Any]] = {
        "<http>": HttpCurrent,
        "<flow>": FlowCurrent,
        "<command>": CommandCurrent,
        "<skill>": SkillCurrent,
        "<prompt>": PromptCurrent,
    }

    def tag(self, value: Json) -> str | None:
        if not isinstance(value, dict) or not isinstance(value.get("execution"), dict):
            return None
        kind = value["execution"].get("type")
        flow = kind == "http" and isinstance(value.get("input"), dict) and "steps" in value["input"]
        return "<flow>" if flow else f"<{kind}>" if kind in KINDS else None

    def member(self, value: Json) -> Any:
        return self.choices.get(self.tag(value) or "")

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        choices = {tag: handler.generate_schema(kind) for tag, kind in self.choices.items()}
        return {"type": "tagged-union", "choices": choices, "discriminator": self.tag}


Current = Annotated[HttpCurrent | FlowCurrent | CommandCurrent | SkillCurrent | PromptCurrent, _ByKind()]


@dataclass(frozen=True, slots=True)
class BaselineRecord:
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
        return reader(kind)(raw), []
    except NotPlain:
        return _validated(kind, raw)


def _validated(kind: Any, raw: Json) -> tuple[Any, list[Problem]]:
    from pydantic_core import ValidationError

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
    """The JSON Schema of a class, its parts under `$defs`: no titles, which repeat the names, and no default
    where it means: not there."""
    from pydantic.json_schema import GenerateJsonSchema

    class Schema(GenerateJsonSchema):
        def default_schema(self, schema: Any) -> dict[str, Any]:
            if schema.get("default") is ABSENT:
                return self.generate_inner(schema["schema"])
            return super().default_schema(schema)

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    stated: dict[str, Any] = _adapter(kind).json_schema(schema_generator=Schema)
    return stated


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


@cache
def _validator(kind: Any) -> Any:
    from pydantic_core import SchemaValidator

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
    return baseline_file_schema(schema_of(BaselineRecord))
