"""`assert`, `rubric` and `judge` of a prompt's case, as graders: one an assertion, then who judges."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, Place, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.grade.by_line import ScoreLine
from baselinekit.grade.by_schema import JsonSchema, SchemaRefused
from baselinekit.grade.checks import FORMS
from baselinekit.model.grades import Grader, Method
from baselinekit.model.values import Json
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below, check, named_at
from baselinekit.store.project import read
from baselinekit.suites.promptfolders import beside_or_below_root

SCALE = (1, 5)
JUDGE = "judge"

ReadMethod = tuple[Method | None, list[Problem]]
"""What an assertion is checked by, or what is wrong with its value."""


@frozen
class PromptJudge:
    """Who scores by the rubric, and the least score that passes."""

    model: str | None = None
    pass_threshold: Json = 4
    retries_on_unreadable: int = 0


@frozen
class Around:
    """What an assertion needs to know of its file: where paths start, what becomes of schemas, and who judges
    where a case does not say so."""

    root: str
    folder: str
    schemas: Literal["check", "refuse"] = "check"
    model: str | None = None


# The values that assertions have.


def _text(made: Callable[[str], Method], value: Json) -> ReadMethod:
    if isinstance(value, str):
        return made(value), []
    return None, [Problem("BK751", f"expected a text, found {describe_value(value)}", "put it in quotes")]


def _texts(made: Callable[[list[str]], Method], value: Json) -> ReadMethod:
    if not isinstance(value, list):
        message = f"expected a list of texts, found {describe_value(value)}"
        return None, [Problem("BK751", message, 'such as ["one", "two"]')]
    if not value:
        return None, [Problem("BK751", "an empty list of texts", "say at least one")]
    wrong = [
        Problem("BK751", f"expected a text, found {describe_value(item)}", "put it in quotes", at=(number,))
        for number, item in enumerate(value)
        if not isinstance(item, str)
    ]
    return (None if wrong else made(value)), wrong


def _count(made: Callable[[int], Method], value: Json) -> ReadMethod:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return made(value), []
    message = f"expected a number of words, found {describe_value(value)}"
    return None, [Problem("BK751", message, "a whole number, 0 or more")]


_VALUES: dict[str, Callable[[Callable[..., Method], Json], ReadMethod]] = {
    **dict.fromkeys(("contains", "not_contains"), _text),
    **dict.fromkeys(("contains_any", "contains_all"), _texts),
    **dict.fromkeys(("matches", "not_matches"), _text),
    **dict.fromkeys(("min_tokens", "max_tokens"), _count),
}
"""What is read from each; what it means is a check (grade/checks.py)."""

SCHEMA = "json_schema"
OPS = (*_VALUES, SCHEMA)


def read_assertions(raw: Json, around: Around) -> tuple[list[Grader], list[Problem], list[Problem]]:
    """The graders of an `assert:`, what is wrong with it by paths below it, and what is wrong in the schemas
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
    found: list[Grader] = []
    problems: list[Problem] = []
    elsewhere: list[Problem] = []
    seen: dict[str, int] = {}
    for number, entry in enumerate(raw):
        wrong = _shape_of(entry)
        if wrong is not None:
            problems.append(replace(wrong, at=(number, *(wrong.at or ()))))
            continue
        ((op, value),) = entry.items()
        if op == SCHEMA:
            (method, more), files = _schema(value, around)
            elsewhere += files
        else:
            method, more = _VALUES[op](FORMS[op].method, value)
        problems += below(more, (number, op))
        seen[op] = count = seen.get(op, 0) + 1
        if method is not None:
            name = op if count == 1 else f"{op} {count}"
            found.append(Grader(name, "code", method, at=("assert", number, op)))
    return found, [*problems, *_contradictions(raw)], elsewhere


def _shape_of(entry: Json) -> Problem | None:
    """Why an entry is no assertion."""
    known = f"one of {', '.join(OPS)}"
    if not isinstance(entry, dict):
        message = f"expected an assertion, found {describe_value(entry)}"
        return Problem("BK751", message, f'such as contains: "total"; {known}', at=())
    if len(entry) != 1:
        if not entry:
            return Problem("BK751", "an assertion that says nothing", known, at=())
        message = f"an assertion has one key, and this one has {' and '.join(map(repr, entry))}"
        return Problem("BK751", message, "write each in an entry of its own, with a dash", at=())
    (op,) = entry
    if op not in OPS:
        return Problem("BK103", f"there is no assertion {op!r}", nearest(op, OPS) or known, at=(op,))
    return None


def _contradictions(raw: Sequence[Json]) -> list[Problem]:
    """More words than are allowed: no answer has them."""
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


def _schema(value: Json, around: Around) -> tuple[ReadMethod, list[Problem]]:
    """A schema in place, or in the file of this path: from the project's root, else from the folder."""
    if around.schemas == "refuse":
        return (SchemaRefused(), []), []
    if not isinstance(value, str):
        return (JsonSchema(value), []), []
    try:
        file, places = beside_or_below_root(around.root, around.folder, value)
    except BaselinekitError as error:
        return (None, [named_at(one, ()) for one in error.problems]), []
    if file is None:
        message = f"there is no {' and no '.join(places)}"
        hint = "a schema stands in place, or in a file inside the project"
        return (None, [Problem("BK751", message, hint, at=())]), []
    try:
        documents = language(file).load(decode(read(around.root, file), file).body, file)
    except BaselinekitError as error:
        return (None, []), [one.placed(Place(file)) for one in error.problems]
    if len(documents) != 1:
        message = f"{len(documents)} documents, and a schema is one"
        return (None, []), [Problem("BK751", message, "split it", Place(file, 1, 1))]
    return (JsonSchema(documents[0]), []), []


# Its judge.


def read_judge(rubric: Json, raw: Json, around: Around) -> tuple[list[Grader], list[Problem]]:
    """Who judges by a rubric; nobody without one."""
    if isinstance(raw, str):
        message = f"expected a mapping, found {describe_value(raw)}"
        return [], [Problem("BK105", message, f"write judge: {{model: {raw}}}", at=("judge",))]
    said = {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw
    stated, problems = check(PromptJudge, {} if raw is None else said)
    problems += [*(_wrong_threshold(stated) if stated else ()), *unnamed_model(raw)]
    problems = below(problems, ("judge",))
    if rubric is None:
        return [], problems
    if not isinstance(rubric, str) or not rubric.strip():
        empty = isinstance(rubric, str)
        message = "an empty rubric" if empty else f"expected a text, found {describe_value(rubric)}"
        return [], [*problems, Problem("BK750", message, "say by what the answer is scored", at=("rubric",))]
    if stated is None or problems:
        return [], problems
    model = stated.model or around.model or JUDGE
    judges = ScoreLine(
        rubric=rubric,
        model=model,
        pass_threshold=stated.pass_threshold,
        retries_on_unreadable=stated.retries_on_unreadable,
    )
    return [Grader(JUDGE, "model", judges, at=("rubric",))], []


def unnamed_model(raw: Json) -> list[Problem]:
    """A `model:` that names none, wherever a model is named."""
    model = raw.get("model") if isinstance(raw, dict) else None
    if not isinstance(model, str) or model.strip():
        return []
    return [Problem("BK750", "an empty name of a model", "name one, or remove `model:`", at=("model",))]


def _wrong_threshold(stated: PromptJudge) -> list[Problem]:
    least, most = SCALE
    value = stated.pass_threshold
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return []
    message = (
        f"a threshold of {describe_value(value)}: a judge scores with whole numbers from {least} to {most}"
    )
    return [Problem("BK750", message, f"such as {most - 1}", at=("pass_threshold",))]
