"""What AgentV writes of a run, one row a case, in JSON Lines or YAML: read into the same report as our own.

A row has a score and no outcome. From the score its outcome follows as that of any case that passes by the
mean; a row with an error is an error, whatever its score is. Nothing in it says whether chance took part."""

import os
from collections.abc import Iterator

from baselinekit.documents.languages import LINES, SUFFIXES, language
from baselinekit.documents.text import decode
from baselinekit.errors import InvalidInput, Problem
from baselinekit.grade.verdict import exact, verdict_of
from baselinekit.model.grades import Attempt, Grade, Outcome, PassRule
from baselinekit.model.results import CaseFacts, Report, Result
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema.records import place_problems
from baselinekit.tree.equality import is_number

SCORE = "score"
"""What the row states, of an error too; the case has none then."""

_RULE = PassRule("mean")
_IDS = ("eval_id", "test_id")
_HINT = "a row has eval_id and score: agentv eval … --out results.jsonl writes them"
_JSON = ".json"


def is_foreign(path: str) -> bool:
    """By its ending: our own result files are one JSON text each."""
    return path.lower().endswith((LINES, *(suffix for suffix in SUFFIXES if suffix != _JSON)))


def read_rows(data: bytes, file: str) -> Report:
    """The report of a result file; or everything that is wrong with it."""
    body = decode(data, file).body
    wrong: dict[int, list[Problem]] = {}
    results: dict[str, Result] = {}
    started: list[str] = []
    for number, document in enumerate(language(file).load(body, file)):
        for at, raw in rows_of(document):
            problems = check_row(raw, at)
            if not problems:
                assert isinstance(raw, dict)
                result = result_of(raw, file)
                if result.id in results:
                    what = f"a second row for {result.id!r}"
                    hint = "one file for each target: an id stands for one result"
                    problems = [Problem("BK691", what, hint, at=at)]
                results.setdefault(result.id, result)
                started += [str(raw["timestamp"])] if "timestamp" in raw else []
            wrong.setdefault(number, []).extend(problems)
    if any(wrong.values()):
        raise InvalidInput(*place_problems(body, file, wrong))
    if not results:
        raise InvalidInput(Problem("BK690", f"{file} holds no result", _HINT))
    name = os.path.basename(file)
    return Report(name, min(started, default=""), 0.0, "agentv", "eval", tuple(results.values()))


def rows_of(document: Json) -> Iterator[tuple[Path, Json]]:
    """A document is one row, a list of them, or a list below `results`."""
    at: Path = ()
    if isinstance(document, dict) and isinstance(document.get("results"), list):
        document, at = document["results"], ("results",)
    if isinstance(document, list):
        yield from (((*at, number), row) for number, row in enumerate(document))
    elif document is not None:
        yield at, document


def check_row(raw: Json, at: Path) -> list[Problem]:
    if not isinstance(raw, dict):
        return [Problem("BK690", f"no result but a JSON {json_type(raw)}", _HINT, at=at)]
    if not any(isinstance(raw.get(key), str) and raw[key] for key in _IDS):
        return [Problem("BK690", "a result without eval_id", _HINT, at=at)]
    score = raw.get("score")
    if not is_number(score) or not 0 <= float(str(score)) <= 1:
        what = "a result without a score" if score is None else f"the score {score!r} is not from 0 to 1"
        return [Problem("BK690", what, _HINT, at=(*at, "score") if "score" in raw else at)]
    return []


def result_of(raw: dict[str, Json], file: str) -> Result:
    """One row. Its id is that of the case in its dataset, as our own reader of eval files calls it."""
    name = next(str(raw[key]) for key in _IDS if raw.get(key))
    dataset = raw.get("dataset")
    id = f"{dataset}/{name}" if isinstance(dataset, str) and dataset else name
    score = float(str(raw["score"]))
    error = raw.get("error")
    outcome: Outcome = "error"
    verdict, reason = None, str(error or "")
    if not error:
        outcome, verdict = verdict_of(exact(score), _RULE)
        told = raw.get("reasoning")
        reason = told if isinstance(told, str) and outcome == "failed" else ""
    grade = Grade("score", "model", outcome, None if error else score, reason, verdict)
    attempt = Attempt(1, outcome, grade.score, (grade,), reason, verdict=verdict)
    facts = CaseFacts("capability", (attempt,), score=grade.score, pass_rule=_RULE)
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
