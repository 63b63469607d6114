"""Grader of a shape: JSON that a JSON Schema allows. What a `$ref` names elsewhere is never fetched, and
patterns have a time limit that holds."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from baselinekit.documents.jsontext import NotJson, decode
from baselinekit.errors import InvalidInput, Problem, cannot, nearest
from baselinekit.frozen import frozen
from baselinekit.grade.nearness import line_at
from baselinekit.grade.task import GradeClients, GraderType, Task, keys_of, parsed, text_of
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.table import RegexBudget, compiled, search
from baselinekit.texts import Mask, clipped
from baselinekit.tree.paths import render

_MOST_SHOWN = 20
_LONGEST_SHOWN = 200
_ONE_SCHEMA = ("items", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems")


@frozen
class JsonSchema:
    """The output is JSON that a schema allows: the schema in place, or the path of its file."""

    schema: Json = None
    schema_file: str | None = None
    of: str | None = None


def json_schema(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: JsonSchema = task.method
    schema = how.schema if how.schema_file is None else clients.schema(task.case, how.schema_file)
    stated = schema if isinstance(schema, dict) else {}
    keys = {*keys_of(stated.get("properties")), *(stated.get("required") or ())}
    output, part = task.look(observation.output, keys), task.part(observation.output, keys)
    value = parsed(output)
    if value is ABSENT:
        shown = clipped(text_of(output), _LONGEST_SHOWN, clients.mask)
        return task.decide((False, _why_no_json(text_of(output)), {"actual": shown}), part)
    found = violations(value, schema, clients.regex_budget(), clients.mask)
    return task.decide((not found, "; ".join(found), {"violations": found} if found else {}), part)


def _why_no_json(text: str) -> str:
    """With the line from which on a text that begins as JSON is none."""
    begins = len(text) - len(text.lstrip())
    if text[begins : begins + 1] not in ("{", "["):
        return "it is not JSON"
    try:
        decode(text.strip())
    except NotJson as fault:
        return f"it is not JSON: line {line_at(text, begins + fault.position)}: {fault.what}"
    return "it is not JSON: it holds more than one block of it"


def problems(task: Task) -> Iterator[Problem]:
    how: JsonSchema = task.method
    if (how.schema is None) == (how.schema_file is None):
        yield Problem("BK703", "a json_schema grader has one schema", "state `schema` or `schema_file`")
    elif how.schema is not None:
        yield from schema_problems(how.schema)


JSON_SCHEMA = GraderType(
    JsonSchema,
    json_schema,
    "json_schema",
    problems=problems,
    files=lambda config: {"schema_file": config.schema_file},
    document=lambda config: config.schema_file,
    with_document=lambda config, document: JsonSchema(document),
)


@frozen
class SchemaRefused:
    """A schema is asked for where none is to be looked at: the case fails, as with a tool that only knows
    the word."""


def refused(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    return task.decide((False, "json_schema is refused here, as `defaults: {json_schema: refuse}` wants", {}))


SCHEMA_REFUSED = GraderType(SchemaRefused, refused, called="json_schema")


def violations(value: Json, schema: Json, regex_budget: RegexBudget, mask: Mask) -> list[str]:
    """What the schema does not allow, one sentence each with its place, the first ones."""
    from referencing.exceptions import Unresolvable

    try:
        found = [*islice(_validator(schema, regex_budget).iter_errors(value), _MOST_SHOWN + 1)]
        told = [_describe(error, mask) for error in sorted(found[:_MOST_SHOWN], key=_in_order)]
    except Unresolvable as error:
        what = f"the schema refers to {error.ref}, which is not in it"
        raise cannot("BK703", what, "copy that part into the schema: nothing is fetched") from None
    return [*told, "and more"] if len(found) > _MOST_SHOWN else told


def _in_order(error: Any) -> list[tuple[int, int, str]]:
    """By the place in the output: entries by their number, and before keys."""
    steps = error.absolute_path
    return [(0, step, "") if isinstance(step, int) else (1, 0, str(step)) for step in steps]


def _describe(error: Any, mask: Mask) -> str:
    """A violation with its place; of several alternatives, none of which fits, also what is wrong with the
    nearest one."""
    from jsonschema.exceptions import best_match

    def told(error: Any) -> str:
        where = render(tuple(error.absolute_path))
        return f"{where}: {clipped(error.message, _LONGEST_SHOWN, mask)}"

    nearest_one = best_match([error])
    return told(error) if nearest_one is error else f"{told(error)} (nearest: {told(nearest_one)})"


def schema_problems(schema: Json) -> Iterator[Problem]:
    """What is wrong with the schema itself."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    if not isinstance(schema, dict | bool):
        yield Problem("BK703", "a schema is a mapping", "such as {type: object, required: [id]}")
        return
    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        where = render(tuple(error.absolute_path))
        yield Problem("BK703", f"{where + ': ' if where else ''}{error.message}", "fix the JSON Schema")
        return
    for pattern in _patterns(schema):
        try:
            compiled(pattern)
        except InvalidInput as error:
            yield from error.problems
    if schema is False:
        yield Problem("BK708", "this cannot pass: the schema allows nothing", "say what it allows")
    elif schema is not True and allows_all(schema):
        near = next((hint for key in schema if (hint := nearest(key, _keywords(schema)))), "")
        hint = near or "say what it has to be, or write `true` in its place if any JSON will do"
        yield Problem("BK708", "this fails only for text that is not JSON: the schema allows any JSON", hint)


def allows_all(schema: Json) -> bool:
    """Whether nothing in it asks for anything; a word that a schema does not know asks for nothing."""
    if not isinstance(schema, dict):
        return schema is True
    known = _keywords(schema)
    for key, value in schema.items():
        parts = [False]
        if key in ("properties", "patternProperties", "dependentSchemas"):
            parts = value.values()
        elif key in _ONE_SCHEMA:
            parts = [value]
        elif key in ("required", "allOf", "prefixItems"):
            parts = value
        if key in known and not all(map(allows_all, parts)):
            return False
    return True


def _keywords(schema: Json) -> Collection[str]:
    from jsonschema.validators import validator_for

    known: Collection[str] = validator_for(schema).VALIDATORS
    return known


def _patterns(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]
        for value in schema.values():
            yield from _patterns(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _patterns(value)


def _validator(schema: Json, regex_budget: RegexBudget) -> Any:
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend, validator_for
    from referencing import Registry

    def pattern(_: Any, expression: str, value: Json, __: Any) -> Iterator[Any]:
        if isinstance(value, str) and search(compiled(expression), value, regex_budget) is None:
            yield ValidationError(f"{value!r} does not match {expression!r}")

    def pattern_properties(validator: Any, stated: dict[str, Any], value: Json, _: Any) -> Iterator[Any]:
        for expression, below in stated.items() if isinstance(value, dict) else ():
            for key, item in value.items():
                if search(compiled(expression), key, regex_budget) is not None:
                    yield from validator.descend(item, below, path=key, schema_path=expression)

    kind = extend(validator_for(schema), {"pattern": pattern, "patternProperties": pattern_properties})
    return kind(schema, registry=Registry())
