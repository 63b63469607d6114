"""Raw values to dataclasses, with every error at once and in our own words.

Owns pydantic, which is imported only when a value is not plainly right (plain.py)."""

from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar

from baselinekit.errors import Problem
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema.complaints import Complaint, problems_of
from baselinekit.schema.plain import NotPlain, reader

T = TypeVar("T")


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


_CONFIG = "__pydantic_config__"
_STRICT: Any = {"extra": "forbid", "strict": True}


@cache
def _adapter(kind: Any) -> Any:
    """Without unknown keys and coercion: what a dataclass says of that holds for those in its fields too."""
    from pydantic import TypeAdapter

    if not is_dataclass(kind):
        return TypeAdapter(kind, config=_STRICT)
    setattr(kind, _CONFIG, _STRICT)
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
