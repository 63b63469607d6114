"""The formats that an OpenAPI document states for the texts in an answer: a placeholder for each text whose
`format` is one that varies."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from baselinekit.model.values import Json, Path
from baselinekit.placeholders.narrowest import accepts_all
from baselinekit.structs import MutableStruct, field
from baselinekit.values.places import value_at

_DEEPEST = 24

_VARYING: Mapping[str, str] = {
    "uuid": "<<any_uuid>>",
    "date-time": "<<any_iso_datetime>>",
    "datetime": "<<any_iso_datetime>>",
    "date": "<<any_iso_date>>",
    "time": "<<any_time>>",
}
"""Formats of values that are new in each answer, or written by a clock."""

_STEADY: Mapping[str, str] = {
    "duration": "<<any_duration>>",
    "email": "<<any_email>>",
    "uri": "<<any_url>>",
    "url": "<<any_url>>",
    "hostname": "<<any_hostname>>",
    "ipv4": "<<any_ip>>",
    "ipv6": "<<any_ip>>",
    "ip": "<<any_ip>>",
}
"""Formats that say what a text looks like, not that it varies: an address is the same tomorrow."""

PLACEHOLDERS: Mapping[str, str] = {**_VARYING, **_STEADY}
"""The placeholder for a text with this `format` in a schema."""


class CannotAskError(Exception):
    """An operation that cannot be turned into a request. `at`: the place in the document that is the
    reason."""

    def __init__(self, at: Path, message: str, hint: str = ""):
        super().__init__(message)
        self.at, self.message, self.hint = at, message, hint


Resolve = Callable[[Json, Path], tuple[Json, Path]]
"""The node itself, or the one that it refers to, and its place."""


def formats_of(outputs: Sequence[Json], responses: Json, at: Path, resolve: Resolve) -> Mapping[Path, str]:
    """Placeholders for the texts in the first of the outputs that vary by nature, and for those that did.
    `at`: the place of the responses."""
    output, *others = outputs
    if not isinstance(responses, dict) or not isinstance(output, dict):
        return {}
    stated_formats = _StatedFormats(resolve)
    with suppress(CannotAskError):  # where the document is broken
        schema, at = _schema_of(responses, at, str(output.get("status")), resolve)
        stated_formats.look(schema, at, output.get("body"), ("body",))
    return {
        path: text
        for path, text in stated_formats.at.items()
        if text in _VARYING.values() or any(_differs(output, other, path) for other in others)
    }


def _schema_of(responses: dict[str, Json], at: Path, status: str, resolve: Resolve) -> tuple[Json, Path]:
    """The schema of an answer with this status, and a place in its file."""
    stated = {str(key).upper(): value for key, value in responses.items()}
    response_reference = next(
        (stated[key] for key in (status, f"{status[:1]}XX", "DEFAULT") if key in stated), None
    )
    response, at = resolve(response_reference, at)
    if not isinstance(response, dict):
        return None, at
    content = response.get("content") or {}
    media: Json = next(iter(content.values()), {}) if isinstance(content, dict) else {}
    return response.get("schema") or (media.get("schema") if isinstance(media, dict) else None), at


class _StatedFormats(MutableStruct):
    """The formats that a schema states for the texts of a value."""

    resolve: Resolve
    at: dict[Path, str] = field(default_factory=dict)
    seen: set[tuple[int, Path]] = field(default_factory=set)

    def look(self, schema: Json, at: Path, value: Json, path: Path, depth: int = 0) -> None:
        """`at`: a place in the file of the schema."""
        schema, at = self.resolve(schema, at)
        if not isinstance(schema, dict) or depth > _DEEPEST or (id(schema), path) in self.seen:
            return
        self.seen.add((id(schema), path))  # parts of a schema may contain it
        for key in ("allOf", "oneOf", "anyOf"):
            parts = schema.get(key)
            for part in parts if isinstance(parts, list) else ():
                self.look(part, at, value, path, depth + 1)
        if isinstance(value, str) and len(path) > 1 and "enum" not in schema and "const" not in schema:
            text = PLACEHOLDERS.get(str(schema.get("format")))
            if text is not None and path not in self.at and accepts_all(text, [value]):
                self.at[path] = text
        elif isinstance(value, dict):
            properties = schema["properties"] if isinstance(schema.get("properties"), dict) else {}
            others = schema.get("additionalProperties")
            for key, item in value.items():
                self.look(properties.get(key, others), at, item, (*path, key), depth + 1)
        elif isinstance(value, list) and isinstance(schema.get("items"), dict):
            for number, item in enumerate(value):
                self.look(schema["items"], at, item, (*path, number), depth + 1)


def _differs(output: Json, other: Json, path: Path) -> bool:
    """Whether another output has another text at a place. A text that is missing there does not count."""
    try:
        value = value_at(other, path)
    except (LookupError, TypeError):
        return False
    return isinstance(value, str) and value != value_at(output, path)
