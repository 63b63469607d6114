"""The forms of a baseline's record, one file a form. A record is of the first that recognises it."""

from collections.abc import Callable
from dataclasses import dataclass

from baselinekit.errors import Problem
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.values import Json, Path
from baselinekit.store.dialects import harness, native


@dataclass(frozen=True, slots=True)
class RecordDialect:
    """`path`: where something of the model stands in such a record; `described_in`: what holds its id;
    `write`: a `baseline:` as this form has it."""

    recognises: Callable[[dict[str, Json]], bool]
    read: Callable[[dict[str, Json], Source], tuple[Baseline | None, list[Problem]]]
    path: Callable[[Path], Path]
    described_in: Callable[[dict[str, Json]], Json]
    write: Callable[[dict[str, Json]], dict[str, Json]]


DIALECTS = {
    "response": RecordDialect(
        harness.recognises, harness.read, harness.path, lambda raw: raw.get("metadata"), harness.mapping
    ),
    "native": RecordDialect(
        lambda raw: True, native.read, lambda path: path, lambda raw: raw, lambda known: known
    ),
}
