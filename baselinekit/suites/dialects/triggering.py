"""`triggering` of a prompt: queries that should or should not trigger it, each with its judge."""

from typing import Literal

from baselinekit.errors import Problem
from baselinekit.graders.by_line import DecisionLine
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import describe_value, prefix_paths, read_as
from baselinekit.structs import Retries, Struct, replace
from baselinekit.suites.dialects.assertions import JUDGE, unnamed_model

LISTS: dict[str, Literal["YES", "NO"]] = {"should_match": "YES", "should_not_match": "NO"}
"""The lists, and the decision that a judge must make for each of its queries."""


class TriggerJudge(Struct):
    """The model that decides whether a query triggers the prompt."""

    model: str | None = None
    retries_on_unreadable: Retries = 0


class PromptTriggering(Struct):
    """Queries that should, and should not, trigger the prompt."""

    judge: Json = None
    should_match: Json = ABSENT
    should_not_match: Json = ABSENT


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
    if not isinstance(raw, dict):
        message = f"expected a mapping, found {describe_value(raw)}"
        hint = "write `should_match:` and `should_not_match:`, each a list of queries"
        return [], [Problem("BK754", message, hint, at=())]
    problems = read_as(PromptTriggering, raw)[1]
    judge, judge_problems = _read_judge(raw.get("judge"))
    problems += prefix_paths(judge_problems, ("judge",))
    if not any(key in raw for key in LISTS):
        message = "neither `should_match` nor `should_not_match` is here"
        problems.append(Problem("BK754", message, "give at least one of them: a list of queries", at=()))
    queries: _QueryEntries = []
    for key in LISTS:
        entries, list_problems = _read_list(raw.get(key, []), key)
        queries += entries
        problems += list_problems
    problems += _find_contradictions(queries)
    meta = folder.meta
    description = meta.description or meta.summary
    if queries and not (description.strip() or meta.triggers):
        message = "a judge is asked by the description, and there is none"
        problems.append(Problem("BK754", message, f"write `description:` into {folder.meta_file}", at=()))
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


def _read_judge(raw: Json) -> tuple[TriggerJudge, list[Problem]]:
    if raw is None:
        return TriggerJudge(), []
    if isinstance(raw, str):
        message = f"expected a mapping, found {describe_value(raw)}"
        return TriggerJudge(), [Problem("BK105", message, f"write judge: {{model: {raw}}}", at=())]
    stated_values = (
        {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw
    )
    judge, problems = read_as(TriggerJudge, stated_values)
    return judge or TriggerJudge(), [*problems, *unnamed_model(raw)]


def _read_list(raw: Json, key: str) -> tuple[_QueryEntries, list[Problem]]:
    if not isinstance(raw, list):
        message = f"expected a list of queries, found {describe_value(raw)}"
        return [], [Problem("BK754", message, 'such as - "rename this function"', at=(key,))]
    entries: _QueryEntries = []
    problems = []
    for number, query in enumerate(raw):
        if isinstance(query, str) and query.strip():
            entries.append((key, number, query))
            continue
        is_empty = query is None or isinstance(query, str)
        message = "an empty query" if is_empty else f"expected a text, found {describe_value(query)}"
        hint = "write what somebody would ask, in quotes"
        problems.append(Problem("BK754", message, hint, at=(key, number)))
    return entries, problems


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
