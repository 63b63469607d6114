"""The form of the reference: `id, name, …, baseline, current, comparison, metadata`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from baselinekit.errors import Problem
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.baselines import Baseline, Known, Metadata, Rules, Source
from baselinekit.model.recipes import Execution, Recipe
from baselinekit.model.values import Json
from baselinekit.schema.complaints import schema_of
from baselinekit.schema.validate import check
from baselinekit.store import checks


class _ByKind:
    """How the form of a `current:` is told. Unknown kinds get better words than pydantic's
    (schema/complaints.py)."""

    choices: ClassVar[dict[str, Any]] = {
        f"<{form.__name__}>": form for kind in KINDS.values() for form in kind.currents
    }

    def tag(self, value: Json) -> str | None:
        form = self._form(value)
        return f"<{form.__name__}>" if form else None

    def member(self, value: Json) -> Any:
        return self._form(value)

    @staticmethod
    def _form(value: Json) -> type[Any] | None:
        if not isinstance(value, dict) or not isinstance(value.get("execution"), dict):
            return None
        name = value["execution"].get("type")
        kind = KINDS.get(name) if isinstance(name, str) else None
        return kind.current_of(value.get("input")) if kind else None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {
            "type": "tagged-union",
            "choices": {tag: handler.generate_schema(form) for tag, form in self.choices.items()},
            "discriminator": self.tag,
            "custom_error_type": "unknown_kind",
            "custom_error_message": "of no known kind",
            "custom_error_context": {"kinds": ", ".join(KINDS)},
        }


Current = Annotated[Any, _ByKind()]


@dataclass(frozen=True, slots=True)
class BaselineRecord:
    """A baseline as its file states it."""

    id: str
    current: Current
    name: str | None = None
    description: str | None = None
    baseline_version: str | None = None
    baseline: Known | None = None
    comparison: Rules = field(default_factory=Rules)
    metadata: Metadata = field(default_factory=Metadata)


_MAY_BE_EMPTY = ("baseline", "comparison", "metadata")
_PARTS: dict[str, tuple[Any, Callable[[Any], Iterable[Problem]]]] = {
    "baseline": (Known, checks.check_known),
    "current": (Current, lambda current: kind_of(current).check(current)),
    "comparison": (Rules, checks.check_rules),
    "metadata": (Metadata, checks.check_metadata),
}


def read(raw: dict[str, Json], source: Source) -> tuple[Baseline | None, list[Problem]]:
    """The baseline, or everything that is wrong with it."""
    if None in raw.values():  # a key with nothing behind it is as good as none
        raw = {key: value for key, value in raw.items() if value is not None or key not in _MAY_BE_EMPTY}
    record, problems = check(BaselineRecord, raw)
    if record is None:
        return None, [*problems, *_in_what_is_right(raw, {(problem.at or ("",))[0] for problem in problems})]
    baseline = Baseline(
        id=record.id,
        current=recipe(record.current.input, record.current.execution),
        name=record.name,
        description=record.description,
        baseline_version=record.baseline_version,
        baseline=record.baseline,
        comparison=settled(record.comparison),
        metadata=record.metadata,
        source=source,
    )
    return baseline, [*problems_of(baseline), *checks.check_lists(record.comparison)]


def _in_what_is_right(raw: dict[str, Json], wrong: set[str | int]) -> Iterator[Problem]:
    """What else is wrong, in those parts of a record whose types are right."""
    if isinstance(raw.get("id"), str):
        yield from checks.check_id(raw["id"])
    for key, (kind, look) in _PARTS.items():
        if key in raw and key not in wrong:
            yield from look(check(kind, raw[key])[0])


def recipe(asked: Json, execution: Execution) -> Recipe:
    """A recipe with its input as everybody expects it."""
    return Recipe(KINDS[execution.type].normalize(asked), execution)


def problems_of(baseline: Baseline) -> list[Problem]:
    """What is wrong beyond the types."""
    return [
        *checks.check_id(baseline.id),
        *checks.check_known(baseline.baseline),
        *kind_of(baseline.current).check(baseline.current),
        *checks.check_rules(baseline.comparison),
        *checks.check_metadata(baseline.metadata),
    ]


def settled(rules: Rules) -> Rules:
    """The rules with the lists that may also stand in `options` where everybody looks for them."""
    options = rules.options
    if options is None or (options.ignore_values is None and options.require_keys is None):
        return rules
    return replace(
        rules,
        ignore_values=rules.ignore_values or options.ignore_values or [],
        require_keys=rules.require_keys or options.require_keys or [],
        options=replace(options, ignore_values=None, require_keys=None),
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a baseline file: a record, a list of them, either under `regression_eval`."""
    record = schema_of(BaselineRecord)
    parts = {name: _without_titles(part) for name, part in record["$defs"].items()}
    whole = _without_titles({key: value for key, value in record.items() if key != "$defs"})
    if "$ref" not in whole:
        parts["Record"] = whole
    parts["Record"]["properties"]["id"]["pattern"] = f"^{checks.ID.pattern}$"
    one = {"$ref": "#/$defs/Record"}
    several = {"type": "array", "items": one}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "baselinekit baseline file",
        "anyOf": [
            one,
            several,
            {
                "type": "object",
                "properties": {"regression_eval": {"anyOf": [one, several]}},
                "required": ["regression_eval"],
                "additionalProperties": False,
            },
        ],
        "$defs": parts,
    }


def _without_titles(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_titles(value)
        for key, value in node.items()
        if key != "title" or not isinstance(value, str)
    }
