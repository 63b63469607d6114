"""A change to a file is data: made by whoever decides, shown to whoever approves, applied by the store."""

from dataclasses import dataclass

from baselinekit.model.values import Json, Path


@dataclass(frozen=True, slots=True)
class Edit:
    """Set the value at `path` of the record; the key is added, and its parents, when it is not there."""

    path: Path
    value: Json
