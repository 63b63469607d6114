"""`assert`, `rubric` and `judge` of a prompt's case, as graders: one per assertion, then the judge."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from baselinekit.errors import BaselinekitError, Place, Problem
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.graders.by_line import ScoreLine
from baselinekit.graders.by_schema import JsonSchema, SchemaRefused
from baselinekit.graders.checks import FORMS
from baselinekit.model.grades import Grader, Method
from baselinekit.model.values import Json
from baselinekit.schema import move_to_name, prefix_paths, read_as
from baselinekit.store.project import read
from baselinekit.structs import Count, Meta, NotBlank, NotEmpty, Retries, Struct
from baselinekit.suites.promptfolders import beside_or_below_root

SCALE = (1, 5)
JUDGE = "judge"

MISSING: Any = None
"""The default of keys that are missing; null is not allowed there."""


class PromptAssertion(Struct):
    """An entry of `assert`: one of these keys. Its meaning is a check (graders/checks.py)."""

    contains: str = MISSING
    not_contains: str = MISSING
    contains_any: NotEmpty[str] = MISSING
    contains_all: NotEmpty[str] = MISSING
    matches: str = MISSING
    not_matches: str = MISSING
    min_tokens: Count = MISSING
    max_tokens: Count = MISSING
    json_schema: dict[str, Json] | bool | str = MISSING


SCHEMA = "json_schema"
OPS = PromptAssertion.__struct_fields__
Score = Annotated[int, Meta(ge=SCALE[0], le=SCALE[1], description="a whole number from 1 to 5")]


class PromptJudge(Struct):
    """The model that scores by the rubric, and the least score that passes."""

    model: NotBlank | None = None
    pass_threshold: Score = 4
    retries_on_unreadable: Retries = 0


class AssertionContext(Struct):
    """What an assertion needs to know of its file: where paths start, whether schemas are checked, and the
    model that judges if a case names none."""

    root: str
    folder: str
    schemas: Literal["check", "refuse"] = "check"
    model: str | None = None


def read_assertions(
    raw: Json, context: AssertionContext
) -> tuple[list[Grader], list[Problem], list[Problem]]:
    """Return the graders of an `assert:`, the problems that its types do not show, with paths below it, and
    those of the schemas that it names."""
    graders: list[Grader] = []
    problems: list[Problem] = []
    file_problems: list[Problem] = []
    counts: dict[str, int] = {}
    entries = raw if isinstance(raw, list) else []
    for number, entry in enumerate(entries):
        assertion, _ = read_as(PromptAssertion, entry)
        if assertion is None:
            continue
        if len(entry) != 1:
            keys = " and ".join(map(repr, entry)) or "none"
            message = f"an assertion has one key, and this one has {keys}"
            problems.append(Problem("BK751", message, "write each in an entry of its own", at=(number,)))
            continue
        (op,) = entry
        method: Method | None
        if op == SCHEMA:
            method, new_problems, schema_problems = _read_schema(assertion.json_schema, context)
            problems += prefix_paths(new_problems, (number, op))
            file_problems += schema_problems
        else:
            method = FORMS[op].method(entry[op])
        counts[op] = count = counts.get(op, 0) + 1
        if method is not None:
            name = op if count == 1 else f"{op} {count}"
            graders.append(Grader(name, "code", method, at=("assert", number, op)))
    return graders, [*problems, *_find_contradictions(entries)], file_problems


def _find_contradictions(raw: Sequence[Json]) -> list[Problem]:
    """Report a least number of words above the most that are allowed, which no answer can meet."""
    entries = [entry for entry in raw if isinstance(entry, dict) and len(entry) == 1]
    most = [entry["max_tokens"] for entry in entries if isinstance(entry.get("max_tokens"), int)]
    return [
        Problem(
            "BK708",
            f"this cannot pass: at least {raw[number]['min_tokens']} words, and at most {min(most)}",
            "lower min_tokens, or raise max_tokens",
            at=(number, "min_tokens"),
        )
        for number, entry in enumerate(raw)
        if isinstance(entry, dict) and isinstance(entry.get("min_tokens"), int)
        if most and entry["min_tokens"] > min(most)
    ]


def _read_schema(
    value: Json, context: AssertionContext
) -> tuple[Method | None, list[Problem], list[Problem]]:
    """Read an inline schema, or one in the file at this path: relative to the project's root, else to the
    folder. Return it, the problems of the path, and those of the file."""
    if context.schemas == "refuse":
        return SchemaRefused(), [], []
    if not isinstance(value, str):
        return JsonSchema(value), [], []
    try:
        file, places = beside_or_below_root(context.root, context.folder, value)
    except BaselinekitError as error:
        return None, [move_to_name(problem, ()) for problem in error.problems], []
    if file is None:
        message = f"there is no {' and no '.join(places)}"
        hint = "a schema stands in place, or in a file inside the project"
        return None, [Problem("BK751", message, hint, at=())], []
    try:
        documents = language(file).load(decode(read(context.root, file), file).body, file)
    except BaselinekitError as error:
        return None, [], [problem.placed(Place(file)) for problem in error.problems]
    if len(documents) != 1:
        message = f"{len(documents)} documents, and a schema is one"
        return None, [], [Problem("BK751", message, "split it", Place(file, 1, 1))]
    return JsonSchema(documents[0]), [], []


def judge_by_rubric(rubric: str, judge: PromptJudge, context: AssertionContext) -> Grader:
    method = ScoreLine(
        rubric=rubric,
        model=judge.model or context.model or JUDGE,
        pass_threshold=judge.pass_threshold,
        retries_on_unreadable=judge.retries_on_unreadable,
    )
    return Grader(JUDGE, "model", method, at=("rubric",))
