"""The JSON form of the eval harness: `schema_version, eval_type, metadata, baseline{response}, test_case`.

It does not say how it is executed: always over HTTP, with a base_url from elsewhere.
"""

from typing import Any, Literal

from baselinekit.errors import Problem
from baselinekit.kinds.http import HttpExecution
from baselinekit.model.baselines import Baseline, Known, Metadata, Observed, Options, Rules, Source
from baselinekit.model.recipes import HttpRequest
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import read_as
from baselinekit.store.dialects import native
from baselinekit.store.dialects.native import check_lists
from baselinekit.structs import Struct, field, replace


class Description(Metadata, kw_only=True):
    """Its `metadata`: what is known of the case, and its record."""

    id: str
    name: str | None = None
    description: str | None = None
    category: str | None = None
    created: str | None = None
    author: str | None = None


class HarnessResponse(Struct):
    """Its `baseline`: the known-good response."""

    version: str | None = None
    captured_at: str | None = None
    response: Json = ABSENT
    output_file: str | None = None
    environment: dict[str, Json] = field(default_factory=dict)
    observed: Observed | None = None
    approved_by: str | None = None
    reason: str | None = None


class TestCase(Struct):
    """Its `test_case`: what is asked, and what counts as the same."""

    input: HttpRequest
    comparison: Rules = field(default_factory=Rules)
    id: str | None = None
    name: str | None = None


class GraderConfig(Struct):
    method: Literal["structural_match"] = "structural_match"
    strict: bool | None = None


class HarnessGrader(Struct):
    type: Literal["code"] = "code"
    config: GraderConfig = field(default_factory=GraderConfig)


class RegressionFile(Struct):
    """The whole record."""

    metadata: Description
    test_case: TestCase
    schema_version: str | int | float | None = None
    eval_type: Literal["regression"] = "regression"
    baseline: HarnessResponse | None = None
    grader: HarnessGrader = field(default_factory=HarnessGrader)


def read(raw: dict[str, Json], source: Source) -> tuple[Baseline | None, list[Problem]]:
    """Read a baseline, or return everything that is wrong with it, with paths in this form."""
    record, problems = read_as(RegressionFile, raw)
    if record is None:
        return None, problems
    metadata, known = record.metadata, record.baseline
    rules, strict = native.move_option_lists(record.test_case.comparison), record.grader.config.strict
    options = rules.options or Options()
    if strict is not None and options.allow_additional_fields is None:
        options = replace(options, allow_additional_fields=not strict)
    baseline = Baseline(
        id=metadata.id,
        current=native.recipe(record.test_case.input, HttpExecution(type="http")),
        name=metadata.name,
        description=metadata.description,
        baseline_version=known.version if known else None,
        baseline=Known(output=known.response, **_shared(known, Known)) if known else None,
        comparison=replace(rules, type=rules.type or "structural", options=options),
        metadata=Metadata(**_shared(metadata, Metadata)),
        source=source,
    )
    native_problems = [*native.problems_of(baseline), *check_lists(record.test_case.comparison)]
    return baseline, [replace(problem, at=path(problem.at or ())) for problem in native_problems]


def _shared(stated: Struct, kind: type[Struct]) -> dict[str, Any]:
    """Return the values of the fields that a class of the model has, too."""
    names = set(stated.__struct_fields__).intersection(kind.__struct_fields__)
    return {name: getattr(stated, name) for name in names}


def path(native_path: Path) -> Path:
    """Return the path in this form of a path of the model."""
    for native_prefix, prefix in _PREFIXES:
        if native_path[: len(native_prefix)] == native_prefix:
            return (*prefix, *native_path[len(native_prefix) :])
    return native_path


_PREFIXES: tuple[tuple[Path, Path], ...] = (
    (("baseline", "output"), ("baseline", "response")),
    (("baseline_version",), ("baseline", "version")),
    (("current", "input"), ("test_case", "input")),
    (("current",), ("test_case",)),
    (("comparison",), ("test_case", "comparison")),
    (("id",), ("metadata", "id")),
    (("name",), ("metadata", "name")),
    (("description",), ("metadata", "description")),
)
