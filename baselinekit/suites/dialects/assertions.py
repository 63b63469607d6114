"""`assert`, `rubric` and `judge` of a prompt's case, as graders: one per assertion, then the judge."""

from collections.abc import Callable, Sequence
from typing import Literal

from baselinekit.errors import BaselinekitError, Place, Problem, suggest
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.graders.by_line import ScoreLine
from baselinekit.graders.by_schema import JsonSchema, SchemaRefused
from baselinekit.graders.checks import FORMS
from baselinekit.model.grades import Grader, Method
from baselinekit.model.values import Json
from baselinekit.schema import describe_value, move_to_name, prefix_paths, read_as
from baselinekit.store.project import read
from baselinekit.structs import Retries, Struct, replace
from baselinekit.suites.promptfolders import beside_or_below_root

SCALE = (1, 5)
JUDGE = "judge"

ReadMethod = tuple[Method | None, list[Problem]]
"""The method that checks an assertion, or the problems of its value."""


class PromptJudge(Struct):
    """The model that scores by the rubric, and the least score that passes."""

    model: str | None = None
    pass_threshold: Json = 4
    retries_on_unreadable: Retries = 0


class AssertionContext(Struct):
    """What an assertion needs to know of its file: where paths start, whether schemas are checked, and the
    model that judges if a case names none."""

    root: str
    folder: str
    schemas: Literal["check", "refuse"] = "check"
    model: str | None = None


# The values of assertions.


def _read_text(make_method: Callable[[str], Method], value: Json) -> ReadMethod:
    if isinstance(value, str):
        return make_method(value), []
    return None, [Problem("BK751", f"expected a text, found {describe_value(value)}", "put it in quotes")]


def _read_texts(make_method: Callable[[list[str]], Method], value: Json) -> ReadMethod:
    if not isinstance(value, list):
        message = f"expected a list of texts, found {describe_value(value)}"
        return None, [Problem("BK751", message, 'such as ["one", "two"]')]
    if not value:
        return None, [Problem("BK751", "an empty list of texts", "say at least one")]
    problems = [
        Problem("BK751", f"expected a text, found {describe_value(item)}", "put it in quotes", at=(number,))
        for number, item in enumerate(value)
        if not isinstance(item, str)
    ]
    return (None if problems else make_method(value)), problems


def _read_count(make_method: Callable[[int], Method], value: Json) -> ReadMethod:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return make_method(value), []
    message = f"expected a number of words, found {describe_value(value)}"
    return None, [Problem("BK751", message, "a whole number, 0 or more")]


_VALUE_READERS: dict[str, Callable[[Callable[..., Method], Json], ReadMethod]] = {
    **dict.fromkeys(("contains", "not_contains"), _read_text),
    **dict.fromkeys(("contains_any", "contains_all"), _read_texts),
    **dict.fromkeys(("matches", "not_matches"), _read_text),
    **dict.fromkeys(("min_tokens", "max_tokens"), _read_count),
}
"""How the value of each is read; its meaning is a check (graders/checks.py)."""

SCHEMA = "json_schema"
OPS = (*_VALUE_READERS, SCHEMA)


def read_assertions(
    raw: Json, context: AssertionContext
) -> tuple[list[Grader], list[Problem], list[Problem]]:
    """Return the graders of an `assert:`, its problems with paths below it, and the problems of the schemas
    that it names."""
    if not isinstance(raw, list):
        message = f"expected a list of assertions, found {describe_value(raw)}"
        return [], [Problem("BK751", message, 'such as - contains: "total"', at=())], []
    if not raw:
        return (
            [],
            [Problem("BK751", "an empty list of assertions", "add one, or remove `assert:`", at=())],
            [],
        )
    graders: list[Grader] = []
    problems: list[Problem] = []
    file_problems: list[Problem] = []
    counts: dict[str, int] = {}
    for number, entry in enumerate(raw):
        problem = _shape_problem(entry)
        if problem is not None:
            problems.append(replace(problem, at=(number, *(problem.at or ()))))
            continue
        ((op, value),) = entry.items()
        if op == SCHEMA:
            (method, new_problems), schema_problems = _read_schema(value, context)
            file_problems += schema_problems
        else:
            method, new_problems = _VALUE_READERS[op](FORMS[op].method, value)
        problems += prefix_paths(new_problems, (number, op))
        counts[op] = count = counts.get(op, 0) + 1
        if method is not None:
            name = op if count == 1 else f"{op} {count}"
            graders.append(Grader(name, "code", method, at=("assert", number, op)))
    return graders, [*problems, *_find_contradictions(raw)], file_problems


def _shape_problem(entry: Json) -> Problem | None:
    """Return why an entry is not an assertion, or None."""
    ops_hint = f"one of {', '.join(OPS)}"
    if not isinstance(entry, dict):
        message = f"expected an assertion, found {describe_value(entry)}"
        return Problem("BK751", message, f'such as contains: "total"; {ops_hint}', at=())
    if len(entry) != 1:
        if not entry:
            return Problem("BK751", "an assertion that says nothing", ops_hint, at=())
        message = f"an assertion has one key, and this one has {' and '.join(map(repr, entry))}"
        return Problem("BK751", message, "write each in an entry of its own, with a dash", at=())
    (op,) = entry
    if op not in OPS:
        return Problem("BK103", f"there is no assertion {op!r}", suggest(op, OPS) or ops_hint, at=(op,))
    return None


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


def _read_schema(value: Json, context: AssertionContext) -> tuple[ReadMethod, list[Problem]]:
    """Read an inline schema, or one in the file at this path: relative to the project's root, else to the
    folder."""
    if context.schemas == "refuse":
        return (SchemaRefused(), []), []
    if not isinstance(value, str):
        return (JsonSchema(value), []), []
    try:
        file, places = beside_or_below_root(context.root, context.folder, value)
    except BaselinekitError as error:
        return (None, [move_to_name(problem, ()) for problem in error.problems]), []
    if file is None:
        message = f"there is no {' and no '.join(places)}"
        hint = "a schema stands in place, or in a file inside the project"
        return (None, [Problem("BK751", message, hint, at=())]), []
    try:
        documents = language(file).load(decode(read(context.root, file), file).body, file)
    except BaselinekitError as error:
        return (None, []), [problem.placed(Place(file)) for problem in error.problems]
    if len(documents) != 1:
        message = f"{len(documents)} documents, and a schema is one"
        return (None, []), [Problem("BK751", message, "split it", Place(file, 1, 1))]
    return (JsonSchema(documents[0]), []), []


# Its judge.


def read_judge(rubric: Json, raw: Json, context: AssertionContext) -> tuple[list[Grader], list[Problem]]:
    """Return the grader that judges by a rubric; none without a rubric."""
    if isinstance(raw, str):
        message = f"expected a mapping, found {describe_value(raw)}"
        return [], [Problem("BK105", message, f"write judge: {{model: {raw}}}", at=("judge",))]
    stated_values = (
        {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw
    )
    judge, problems = read_as(PromptJudge, {} if raw is None else stated_values)
    problems += [*(_check_threshold(judge) if judge else ()), *unnamed_model(raw)]
    problems = prefix_paths(problems, ("judge",))
    if rubric is None:
        return [], problems
    if not isinstance(rubric, str) or not rubric.strip():
        is_empty = isinstance(rubric, str)
        message = "an empty rubric" if is_empty else f"expected a text, found {describe_value(rubric)}"
        return [], [*problems, Problem("BK750", message, "say by what the answer is scored", at=("rubric",))]
    if judge is None or problems:
        return [], problems
    model = judge.model or context.model or JUDGE
    method = ScoreLine(
        rubric=rubric,
        model=model,
        pass_threshold=judge.pass_threshold,
        retries_on_unreadable=judge.retries_on_unreadable,
    )
    return [Grader(JUDGE, "model", method, at=("rubric",))], []


def unnamed_model(raw: Json) -> list[Problem]:
    """Report a `model:` with an empty name."""
    model = raw.get("model") if isinstance(raw, dict) else None
    if not isinstance(model, str) or model.strip():
        return []
    return [Problem("BK750", "an empty name of a model", "name one, or remove `model:`", at=("model",))]


def _check_threshold(judge: PromptJudge) -> list[Problem]:
    least, most = SCALE
    value = judge.pass_threshold
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return []
    message = (
        f"a threshold of {describe_value(value)}: a judge scores with whole numbers from {least} to {most}"
    )
    return [Problem("BK750", message, f"such as {most - 1}", at=("pass_threshold",))]
