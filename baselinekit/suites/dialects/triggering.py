"""`triggering` of a prompt: queries that should call it up or should not, each with who decides."""

from dataclasses import replace
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.grade.by_line import DecisionLine
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below, check
from baselinekit.suites.dialects.assertions import JUDGE, unnamed_model

LISTS: dict[str, Literal["YES", "NO"]] = {"should_match": "YES", "should_not_match": "NO"}
"""The lists, and what a judge has to decide for each of its queries."""


@frozen
class TriggerJudge:
    """Who decides whether a query calls the prompt up."""

    model: str | None = None
    retries_on_unreadable: int = 0


@frozen
class PromptTriggering:
    """Queries of which each should call the prompt up, or should not."""

    judge: Json = None
    should_match: Json = ABSENT
    should_not_match: Json = ABSENT


@frozen
class TriggerQuery:
    """One query, its list and its number there."""

    list: str
    number: int
    text: str
    decides: DecisionLine

    @property
    def name(self) -> str:
        return f"{self.list.replace('_', '-')}-{self.number + 1}"

    @property
    def at(self) -> Path:
        return "triggering", self.list, self.number


_Stated = list[tuple[str, int, str]]
"""The list, the number and the text of each query."""


def read_queries(
    raw: Json, folder: PromptFolder, model: str | None
) -> tuple[list[TriggerQuery], list[Problem]]:
    """The queries of a `triggering:`, and what is wrong with it by paths below it. `model`: who judges where
    it does not say so itself."""
    if not isinstance(raw, dict):
        message = f"expected a mapping, found {describe_value(raw)}"
        hint = "write `should_match:` and `should_not_match:`, each a list of queries"
        return [], [Problem("BK754", message, hint, at=())]
    problems = check(PromptTriggering, raw)[1]
    judge, wrong = _judge(raw.get("judge"))
    problems += below(wrong, ("judge",))
    if not any(key in raw for key in LISTS):
        message = "neither `should_match` nor `should_not_match` is here"
        problems.append(Problem("BK754", message, "give at least one of them: a list of queries", at=()))
    queries: _Stated = []
    for key in LISTS:
        listed, more = _listed(raw.get(key, []), key)
        queries += listed
        problems += more
    problems += _twice(queries)
    meta = folder.meta
    described = meta.description or meta.summary
    if queries and not (described.strip() or meta.triggers):
        message = "a judge is asked by the description, and there is none"
        problems.append(Problem("BK754", message, f"write `description:` into {folder.meta_file}", at=()))
    decides = DecisionLine(
        wanted="YES",
        description=described,
        triggers=[*meta.triggers],
        not_for=[*meta.not_for],
        model=judge.model or model or JUDGE,
        retries_on_unreadable=judge.retries_on_unreadable,
    )
    return [
        TriggerQuery(key, number, text, replace(decides, wanted=LISTS[key])) for key, number, text in queries
    ], problems


def _judge(raw: Json) -> tuple[TriggerJudge, list[Problem]]:
    if raw is None:
        return TriggerJudge(), []
    if isinstance(raw, str):
        message = f"expected a mapping, found {describe_value(raw)}"
        return TriggerJudge(), [Problem("BK105", message, f"write judge: {{model: {raw}}}", at=())]
    said = {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw
    stated, problems = check(TriggerJudge, said)
    return stated or TriggerJudge(), [*problems, *unnamed_model(raw)]


def _listed(raw: Json, key: str) -> tuple[_Stated, list[Problem]]:
    if not isinstance(raw, list):
        message = f"expected a list of queries, found {describe_value(raw)}"
        return [], [Problem("BK754", message, 'such as - "rename this function"', at=(key,))]
    found: _Stated = []
    problems = []
    for number, query in enumerate(raw):
        if isinstance(query, str) and query.strip():
            found.append((key, number, query))
            continue
        is_empty = query is None or isinstance(query, str)
        message = "an empty query" if is_empty else f"expected a text, found {describe_value(query)}"
        hint = "write what somebody would ask, in quotes"
        problems.append(Problem("BK754", message, hint, at=(key, number)))
    return found, problems


def _twice(queries: _Stated) -> list[Problem]:
    """Queries that should call the prompt up and should not."""
    wanted = {_same(query) for key, _, query in queries if key == "should_match"}
    return [
        Problem(
            "BK754",
            "this query should match and should not match: it is in both lists",
            "keep it in one of them",
            at=(key, number),
        )
        for key, number, query in queries
        if key != "should_match" and _same(query) in wanted
    ]


def _same(query: str) -> str:
    return " ".join(query.split()).casefold()
