"""Read the result files of AgentV, one row per case, in JSON Lines or YAML, into the same report as our own.

A row has a score but no outcome. The outcome follows from the score, as for any case that passes by the mean;
a row with an error is an error, whatever its score. A row does not say whether chance was involved."""

import os
from collections.abc import Iterator

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.languages import LINES, SUFFIXES, language
from baselinekit.files.text import decode
from baselinekit.graders.verdict import exact_fraction, verdict_of
from baselinekit.model.grades import Attempt, Grade, Outcome, PassRule
from baselinekit.model.results import CaseFacts, Report, Result
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema import place_problems
from baselinekit.values.equality import is_number

SCORE = "score"
"""The score as the row states it, also for an error, where the case itself has no score."""

_PASS_RULE = PassRule("mean")
_ID_KEYS = ("eval_id", "test_id")
_ROW_HINT = "a row has eval_id and score: agentv eval … --out results.jsonl writes them"
_JSON = ".json"


def is_foreign(path: str) -> bool:
    """Whether the file has another extension than our own result files, which are one JSON text each."""
    return path.lower().endswith((LINES, *(suffix for suffix in SUFFIXES if suffix != _JSON)))


def read_rows(data: bytes, file: str) -> Report:
    """Return the report of a result file, or raise all of its problems."""
    body = decode(data, file).body
    problems_by_document: dict[int, list[Problem]] = {}
    results: dict[str, Result] = {}
    timestamps: list[str] = []
    for number, document in enumerate(language(file).load(body, file)):
        for at, raw in rows_of(document):
            problems = check_row(raw, at)
            if not problems:
                assert isinstance(raw, dict)
                result = result_of(raw, file)
                if result.id in results:
                    message = f"a second row for {result.id!r}"
                    hint = "one file for each target: an id stands for one result"
                    problems = [Problem("BK691", message, hint, at=at)]
                results.setdefault(result.id, result)
                timestamps += [str(raw["timestamp"])] if "timestamp" in raw else []
            problems_by_document.setdefault(number, []).extend(problems)
    if any(problems_by_document.values()):
        raise InvalidInput(*place_problems(body, file, problems_by_document))
    if not results:
        raise InvalidInput(Problem("BK690", f"{file} holds no result", _ROW_HINT))
    name = os.path.basename(file)
    return Report(name, min(timestamps, default=""), 0.0, "agentv", "eval", tuple(results.values()))


def rows_of(document: Json) -> Iterator[tuple[Path, Json]]:
    """Return the rows of a document with their paths. It is a row, a list of rows, or has them in
    `results`."""
    at: Path = ()
    if isinstance(document, dict) and isinstance(document.get("results"), list):
        document, at = document["results"], ("results",)
    if isinstance(document, list):
        yield from (((*at, number), row) for number, row in enumerate(document))
    elif document is not None:
        yield at, document


def check_row(raw: Json, at: Path) -> list[Problem]:
    if not isinstance(raw, dict):
        return [Problem("BK690", f"no result but a JSON {json_type(raw)}", _ROW_HINT, at=at)]
    if not any(isinstance(raw.get(key), str) and raw[key] for key in _ID_KEYS):
        return [Problem("BK690", "a result without eval_id", _ROW_HINT, at=at)]
    score = raw.get("score")
    if not is_number(score) or not 0 <= float(str(score)) <= 1:
        message = "a result without a score" if score is None else f"the score {score!r} is not from 0 to 1"
        return [Problem("BK690", message, _ROW_HINT, at=(*at, "score") if "score" in raw else at)]
    return []


def result_of(raw: dict[str, Json], file: str) -> Result:
    """Return the result of a row. Its id is built as in our own reader of eval files: dataset and case id."""
    name = next(str(raw[key]) for key in _ID_KEYS if raw.get(key))
    dataset = raw.get("dataset")
    id = f"{dataset}/{name}" if isinstance(dataset, str) and dataset else name
    score = float(str(raw["score"]))
    error = raw.get("error")
    outcome: Outcome = "error"
    verdict, reason = None, str(error or "")
    if not error:
        outcome, verdict = verdict_of(exact_fraction(score), _PASS_RULE)
        reasoning = raw.get("reasoning")
        reason = reasoning if isinstance(reasoning, str) and outcome == "failed" else ""
    grade = Grade("score", "model", outcome, None if error else score, reason, verdict)
    attempt = Attempt(1, outcome, grade.score, (grade,), reason, verdict=verdict)
    facts = CaseFacts("capability", (attempt,), score=grade.score, pass_rule=_PASS_RULE)
    target = raw.get("target")
    return Result(
        id,
        file,
        None,
        "prompt",
        outcome,
        reason,
        verdict=verdict,
        name=name,
        target=target if isinstance(target, str) else "",
        scores={SCORE: score},
        case=facts,
    )
