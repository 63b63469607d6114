"""What an importer makes of a file: draft recipes, and what could not be carried over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from baselinekit.documents.languages import JSON
from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json


@dataclass(frozen=True, slots=True)
class DraftRecipe:
    """A recipe that a file describes, and the line where it does."""

    id: str
    current: dict[str, Json]
    line: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that could not be carried over: where it stands, and what to do about it."""

    line: int
    what: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What a file gave. `secrets`: variables with the values that stood in the file in their place."""

    drafts: tuple[DraftRecipe, ...]
    left_out: tuple[LeftOut, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)


FORM_TYPE = "application/x-www-form-urlencoded"


def add_value(values: dict[str, Json], name: str, value: str) -> None:
    """A name that comes again holds a list."""
    if name not in values:
        values[name] = value
    elif isinstance(values[name], list):
        values[name].append(value)
    else:
        values[name] = [values[name], value]


def body_of(text: str, media: str) -> dict[str, Json]:
    """A body as a recipe states it best: as a value or a form where it is one, and else as it is."""
    if media == FORM_TYPE:
        form = _form(text)
        return {"body": text} if form is None else {"form": form}
    if media == "application/json" or media.endswith("+json"):
        try:
            (value,) = JSON.load(text, "")
        except (BaselinekitError, ValueError):
            return {"body": text}
        return {"json": value}
    return {"body": text}


def _form(text: str) -> dict[str, Json] | None:
    """The fields, where sending them again sends the same."""
    pieces = text.split("&")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        return None
    if len(pairs) != len(pieces) or not all("=" in piece for piece in pieces):
        return None
    fields: dict[str, Json] = {}
    for name, value in pairs:
        add_value(fields, name, value)
    return fields
