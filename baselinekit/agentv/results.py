"""Read the result files of AgentV, one row per case, in JSON Lines or YAML, into the same report as our own.

A row has a score but no outcome. The outcome follows from the score, as for any case that passes by the mean;
a row with an error is an error, whatever its score. A row does not say whether chance was involved."""

import os

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.graders.base import exact_fraction, verdict_of
from baselinekit.model.grades import Attempt, Grade, PassRule
from baselinekit.model.results import CaseFacts, Report, Result
from baselinekit.model.values import Json, Path
from baselinekit.schema import place_problems, prefix_paths, read_as
from baselinekit.structs import Name, Struct, ZeroToOne, replace

_PASS_RULE = PassRule("mean")


class Row(Struct, forbid_unknown_fields=False):
    """The result of a case. Texts are Json where any other value means nothing."""

    score: ZeroToOne
    eval_id: Name | None = None
    test_id: Name | None = None
    dataset: Json = None
    target: Json = None
    error: Json = None
    reasoning: Json = None
    timestamp: Json = None

    def as_result(self, file: str) -> Result:
        """Return the result. Its id is built as in our own reader of eval files: dataset and case id."""
        name = self.eval_id or self.test_id or ""
        score = float(self.score)
        outcome, verdict = verdict_of(exact_fraction(score), _PASS_RULE)
        reason = _text(self.reasoning) if outcome == "failed" else ""
        graded: float | None = score
        if self.error:
            outcome, verdict, reason, graded = "error", None, str(self.error), None
        grade = Grade("score", "model", outcome, graded, reason, verdict)
        attempt = Attempt(1, outcome, graded, (grade,), reason, verdict=verdict)
        case = CaseFacts("capability", (attempt,), score=graded, pass_rule=_PASS_RULE)
        id = f"{self.dataset}/{name}" if _text(self.dataset) else name
        target, scores = _text(self.target), {"score": score}
        result = Result(id, file, None, "prompt", outcome, reason, verdict=verdict, name=name)
        return replace(result, target=target, scores=scores, case=case)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def read_rows(data: bytes, file: str) -> Report:
    """Return the report of a result file, or raise all of its problems."""
    body = decode(data, file).body
    problems: dict[int, list[Problem]] = {}
    results: dict[str, Result] = {}
    times: list[str] = []
    for number, document in enumerate(language(file).load(body, file)):
        at: Path = ()
        if isinstance(document, dict) and isinstance(document.get("results"), list):
            document, at = document["results"], ("results",)
        is_list = isinstance(document, list)
        for row_number, raw in enumerate(document if is_list else [] if document is None else [document]):
            row, row_problems = read_as(Row, raw)
            if row is not None and not (row.eval_id or row.test_id):
                hint = "a row has eval_id and score: agentv eval … --out results.jsonl writes them"
                row_problems = [Problem("BK130", "a result without eval_id", hint, at=())]
            elif row is not None:
                result = row.as_result(file)
                if results.setdefault(result.id, result) is not result:
                    hint = "one file for each target: an id has one result"
                    row_problems = [Problem("BK130", f"a second row for {result.id!r}", hint, at=())]
                times += [str(row.timestamp)] if row.timestamp is not None else []
            row_at = (*at, row_number) if is_list else at
            problems.setdefault(number, []).extend(prefix_paths(row_problems, row_at))
    if any(problems.values()):
        raise InvalidInput(*place_problems(body, file, problems))
    if not results:
        raise InvalidInput(Problem("BK130", f"{file} holds no result"))
    name = os.path.basename(file)
    return Report(name, min(times, default=""), 0.0, "agentv", "eval", tuple(results.values()))
