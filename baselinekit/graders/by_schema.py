"""Graders of structure: by a JSON Schema, by an expected value with placeholders, or by a stored baseline.

A `$ref` of a schema to another document is never fetched, and patterns have a time limit that holds."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from baselinekit.errors import InvalidInput, Problem, cannot_replay
from baselinekit.files.jsontext import NotJson, decode
from baselinekit.files.languages import language
from baselinekit.graders import base
from baselinekit.graders.base import GradeClients, GraderType, Task
from baselinekit.graders.by_text import line_at, nothing_to_compare
from baselinekit.model.baselines import Options, Rules, Type
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.table import RegexBudget, compiled, search
from baselinekit.structs import Struct, field, replace
from baselinekit.values.paths import render
from baselinekit.values.texts import Mask, count_noun, mask_and_clip

_MOST_SHOWN = 20
_LONGEST_SHOWN = 200
_ONE_SCHEMA = ("items", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems")


class JsonSchema(Struct):
    """The output is JSON that a schema allows: the schema in place, or the path of its file."""

    schema: Json = None
    schema_file: str | None = None
    of: str | None = None


def json_schema(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: JsonSchema = task.method
    file = config.schema_file
    schema = config.schema if file is None else schema_in(clients.text(file), file)
    top_level = schema if isinstance(schema, dict) else {}
    keys = {*base.keys_of(top_level.get("properties")), *(top_level.get("required") or ())}
    output = task.look(observation.output, keys)
    part = task.part(observation.output, keys)
    value = base.parse_json_output(output)
    if value is ABSENT:
        quoted = mask_and_clip(base.text_of(output), _LONGEST_SHOWN, clients.mask)
        return task.decide(False, _describe_bad_json(base.text_of(output)), {"actual": quoted}, part)
    messages = violations(value, schema, clients.regex_budget(), clients.mask)
    details: dict[str, Json] = {"violations": messages} if messages else {}
    return task.decide(not messages, "; ".join(messages), details, part)


def schema_in(text: str, file: str) -> Json:
    documents = language(file).load(text, file)
    if len(documents) != 1:
        message = f"{file} holds {len(documents)} documents, and a schema is one"
        raise InvalidInput(Problem("BK702", message, "split it"))
    return documents[0]


def _describe_bad_json(text: str) -> str:
    """Why a text is not JSON, with the line of the error if it begins as JSON."""
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] not in ("{", "["):
        return "it is not JSON"
    try:
        decode(text.strip())
    except NotJson as fault:
        return f"it is not JSON: line {line_at(text, start + fault.position)}: {fault.message}"
    return "it is not JSON: it holds more than one block of it"


def problems(task: Task) -> Iterator[Problem]:
    config: JsonSchema = task.method
    if (config.schema is None) == (config.schema_file is None):
        yield Problem("BK702", "a json_schema grader has one schema", "state `schema` or `schema_file`")
    elif config.schema is not None:
        yield from schema_problems(config.schema)


JSON_SCHEMA = GraderType(
    JsonSchema,
    json_schema,
    "json_schema",
    problems=problems,
    files=lambda config: {"schema_file": config.schema_file},
    texts=lambda config: tuple(filter(None, (config.schema_file,))),
    text_problems=lambda task, text: schema_problems(schema_in(text, task.method.schema_file)),
)


class SchemaRefused(Struct):
    """A schema check in a file that refuses them: the case fails, as with a tool that knows only the
    keyword."""


def refused(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    return task.decide(False, "json_schema is refused here, as `defaults: {json_schema: refuse}` wants", {})


SCHEMA_REFUSED = GraderType(SchemaRefused, refused, called="json_schema")


def violations(value: Json, schema: Json, regex_budget: RegexBudget, mask: Mask) -> list[str]:
    """The first violations of the schema, one sentence each with its path."""
    from referencing.exceptions import Unresolvable

    try:
        errors = [*islice(_validator(schema, regex_budget).iter_errors(value), _MOST_SHOWN + 1)]
        messages = [_describe(error, mask) for error in errors[:_MOST_SHOWN]]
    except Unresolvable as error:
        message = f"the schema refers to {error.ref}, which is not in it"
        raise cannot_replay("BK702", message, "copy that part into the schema: nothing is fetched") from None
    return [*messages, "and more"] if len(errors) > _MOST_SHOWN else messages


def _describe(error: Any, mask: Mask) -> str:
    """A violation with its path; if it is that no alternative fits, also what is wrong with the nearest
    one."""
    from jsonschema.exceptions import best_match

    texts = [
        f"{render(tuple(one.absolute_path))}: {mask_and_clip(one.message, _LONGEST_SHOWN, mask)}"
        for one in (error, best_match([error]))
    ]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} (nearest: {texts[1]})"


def schema_problems(schema: Json) -> Iterator[Problem]:
    """The problems of the schema itself."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    if not isinstance(schema, dict | bool):
        yield Problem("BK702", "a schema is a mapping", "such as {type: object, required: [id]}")
        return
    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        path = render(tuple(error.absolute_path))
        yield Problem("BK702", f"{path + ': ' if path else ''}{error.message}", "fix the JSON Schema")
        return
    for pattern in _patterns(schema):
        try:
            compiled(pattern)
        except InvalidInput as error:
            yield from error.problems
    if schema is not True and allows_all(schema):
        hint = "say what it has to be, in known keywords, or write `true` in its place if any JSON will do"
        yield Problem("BK708", "this fails only for text that is not JSON: the schema allows any JSON", hint)


def allows_all(schema: Json) -> bool:
    """Whether a schema allows any JSON. A keyword that is not known restricts nothing."""
    from jsonschema.validators import validator_for

    if not isinstance(schema, dict):
        return schema is True
    keywords = validator_for(schema).VALIDATORS
    for key, value in schema.items():
        parts = [False]
        if key in ("properties", "patternProperties", "dependentSchemas"):
            parts = value.values()
        elif key in _ONE_SCHEMA:
            parts = [value]
        elif key in ("required", "allOf", "prefixItems"):
            parts = value
        if key in keywords and not all(map(allows_all, parts)):
            return False
    return True


def _patterns(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]
        for part in schema.values():
            yield from _patterns(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _patterns(part)


def _validator(schema: Json, regex_budget: RegexBudget) -> Any:
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend, validator_for
    from referencing import Registry

    def pattern(_: Any, expression: str, value: Json, __: Any) -> Iterator[Any]:
        if isinstance(value, str) and search(compiled(expression), value, regex_budget) is None:
            yield ValidationError(f"{value!r} does not match {expression!r}")

    def pattern_properties(validator: Any, patterns: dict[str, Any], value: Json, _: Any) -> Iterator[Any]:
        for expression, subschema in patterns.items() if isinstance(value, dict) else ():
            for key, item in value.items():
                if search(compiled(expression), key, regex_budget) is not None:
                    yield from validator.descend(item, subschema, path=key, schema_path=expression)

    kind = extend(validator_for(schema), {"pattern": pattern, "patternProperties": pattern_properties})
    return kind(schema, registry=Registry())


# The matcher of compare: by an expected value with placeholders, or a stored baseline.

_ANYTHING = frozenset(("<<any>>", "<<any?>>", "<<any|null>>", "{{any}}"))
_MOST_DIFFERENCES = 50


class StructuralMatch(Struct):
    """The matcher of compare: the expected value with its placeholders, or the record's baseline.
    `strict: false` allows further keys."""

    strict: bool | None = None
    type: Type = "structural"
    options: Options | None = None
    ignore_fields: list[str] = field(default_factory=list)
    of: str | None = None

    @property
    def rules(self) -> Rules:
        options = self.options
        if self.strict is not None:
            options = replace(options or Options(), allow_additional_fields=not self.strict)
        return Rules(type=self.type, options=options, ignore_fields=list(self.ignore_fields))


class BaselineMatch(Struct):
    """A regression record: the output is compared with its baseline, as `compare` does."""


def compare_output(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    comparison, alternative = clients.compare(task.case, task.grader, observation)
    differences: list[Json] = []
    for difference in comparison.differences[:_MOST_DIFFERENCES]:
        values = {"expected": difference.expected, "actual": difference.actual}
        stated = {name: value for name, value in values.items() if value is not ABSENT}
        differences.append({"path": render(difference.path), "kind": difference.kind, **stated})
    details: dict[str, Json] = {"differences": differences} if differences else {}
    if comparison.passed and alternative:
        details["alternative"] = alternative
    return task.decide(comparison.passed, count_noun(comparison.count, "difference"), details)


def structural_problems(task: Task) -> Iterator[Problem]:
    if any(value in _ANYTHING for value in task.expected if isinstance(value, str)):
        yield base.never_fails("anything at all fits <<any>>", "state at least its type: <<any_string>>")
    yield from nothing_to_compare(task)


STRUCTURAL_MATCH = GraderType(
    StructuralMatch,
    compare_output,
    "structural_match",
    problems=structural_problems,
    compares="expected",
    goes_by_expectation=lambda config: True,
)
BASELINE_MATCH = GraderType(BaselineMatch, compare_output, compares="baseline")
