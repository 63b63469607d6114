"""`triggering` of a prompt: queries that should or should not trigger it, each with its judge."""

from typing import Literal

from baselinekit.errors import Problem
from baselinekit.graders.by_line import DecisionLine
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.values import Json, Path
from baselinekit.schema import read_as
from baselinekit.structs import NotBlank, Retries, Struct, field, replace
from baselinekit.suites.dialects.assertions import JUDGE

LISTS: dict[str, Literal["YES", "NO"]] = {"should_match": "YES", "should_not_match": "NO"}
"""The lists, and the decision that a judge must make for each of its queries."""


class TriggerJudge(Struct):
    """The model that decides whether a query triggers the prompt."""

    model: NotBlank | None = None
    retries_on_unreadable: Retries = 0


class PromptTriggering(Struct):
    """Queries that should, and should not, trigger the prompt."""

    judge: TriggerJudge | None = None
    should_match: list[NotBlank] = field(default_factory=list)
    should_not_match: list[NotBlank] = field(default_factory=list)


class TriggerQuery(Struct):
    """A query, its list and its number in the list."""

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


_QueryEntries = list[tuple[str, int, str]]
"""The list, the number and the text of each query."""


def read_queries(
    raw: Json, folder: PromptFolder, model: str | None
) -> tuple[list[TriggerQuery], list[Problem]]:
    """Return the queries of a `triggering:`, and its problems with paths below it. `model`: the model that
    judges if it names none."""
    triggering, problems = read_as(PromptTriggering, raw)
    if not isinstance(raw, dict):
        return [], problems
    if not any(key in raw for key in LISTS):
        message = "neither `should_match` nor `should_not_match` is here"
        problems.append(Problem("BK754", message, "give at least one of them: a list of queries", at=()))
    queries: _QueryEntries = [
        (key, number, query)
        for key in LISTS
        for number, query in enumerate(raw[key] if isinstance(raw.get(key), list) else ())
        if isinstance(query, str)
    ]
    problems += _find_contradictions(queries)
    meta = folder.meta
    description = meta.description or meta.summary
    if queries and not (description.strip() or meta.triggers):
        message = "a judge is asked by the description, and there is none"
        problems.append(Problem("BK754", message, f"write `description:` into {folder.meta_file}", at=()))
    judge = (triggering and triggering.judge) or TriggerJudge()
    decision = DecisionLine(
        wanted="YES",
        description=description,
        triggers=[*meta.triggers],
        not_for=[*meta.not_for],
        model=judge.model or model or JUDGE,
        retries_on_unreadable=judge.retries_on_unreadable,
    )
    return [
        TriggerQuery(key, number, text, replace(decision, wanted=LISTS[key])) for key, number, text in queries
    ], problems


def _find_contradictions(queries: _QueryEntries) -> list[Problem]:
    """Report queries that are in both lists."""
    matching = {_normalize_query(query) for key, _, query in queries if key == "should_match"}
    return [
        Problem(
            "BK754",
            "this query should match and should not match: it is in both lists",
            "keep it in one of them",
            at=(key, number),
        )
        for key, number, query in queries
        if key != "should_match" and _normalize_query(query) in matching
    ]


def _normalize_query(query: str) -> str:
    return " ".join(query.split()).casefold()
