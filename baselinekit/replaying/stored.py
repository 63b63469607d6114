"""Replays a stored answer: it is read from a file, by the id of the case that asks."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from baselinekit.documents.jsontext import NotJson, decode
from baselinekit.documents.languages import YAML
from baselinekit.errors import InvalidInput, Place, Problem, cannot, nearest
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import EXECUTION
from baselinekit.kinds.stored import KIND, ReplayExecution
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import ABSENT, Json
from baselinekit.replaying.files import read_text
from baselinekit.replaying.settings import Row, Setting, check_defined, is_named
from baselinekit.replaying.traces import answer_of_value, is_told, spoken

_IDS = ("id", "eval_id", "test_id", "case")
_ANSWERS = ("output", "candidate_answer", "answer")
_RESULTS = "baselinekit.results/1"


@frozen
class StoredAnswers:
    """By the id of the case: what was answered, in the order of the attempts. `flaws`: why there is nothing
    for a case that is named."""

    answers: dict[str, list[Json]]
    flaws: dict[str, str]


def replay_stored(recipe: Recipe, setting: Setting) -> Observation:
    stored = stored_answers(recipe, setting)
    who, asked = KIND.whom(recipe), recipe.input.case
    alike = [name for name in (*stored.answers, *stored.flaws) if asked and name.endswith(f"/{asked}")]
    for name in filter(None, (setting.asker, asked, *(alike if len(alike) == 1 else ()))):
        if name in stored.answers:
            answers = stored.answers[name]
            if setting.turn and 1 < len(answers) <= setting.turn:
                what = (
                    f"{who} holds {len(answers)} answers for {name}, and this is attempt {setting.turn + 1}"
                )
                raise cannot("BK795", what, "make fewer attempts, or store more answers")
            answer = answers[min(setting.turn, len(answers) - 1)]
            return replace(_observed(answer, who), recorded=True)
        if name in stored.flaws:
            raise cannot("BK795", f"{who} holds no answer for {name}: {stored.flaws[name]}")
    name = asked or setting.asker
    hint = nearest(name, stored.answers) or "store one, a line {id, text} or {id, output_messages}"
    raise cannot("BK795", f"{who} holds no answer for {name}", hint)


def check_stored(recipe: Recipe, setting: Setting) -> None:
    """Undefined variables, and a file that cannot be read."""
    check_defined(recipe, setting)
    stored_answers(recipe, setting)


def files_of_stored(recipe: Recipe, setting: Setting) -> Iterator[str]:
    """The file of the answers."""
    yield text_of_file(recipe, setting)[1]


def _observed(answer: Json, who: str) -> Observation:
    if is_told(answer):
        return answer_of_value(answer, 0.0, who)
    return spoken(answer, 0.0)


def stored_answers(recipe: Recipe, setting: Setting) -> StoredAnswers:
    """The answers of the file, which is read once in a run."""
    execution: ReplayExecution = recipe.execution
    around = setting.surroundings
    key = ("stored", execution.file, is_named(recipe, setting), around.root, around.folder)
    stored: StoredAnswers = setting.clients.once.get(key, lambda: read_stored(*text_of_file(recipe, setting)))
    return stored


def text_of_file(recipe: Recipe, setting: Setting) -> tuple[str, str]:
    """The name of the file and what it says. One that the operator or the configuration names may stand
    anywhere, and starts at the project's root."""
    execution: ReplayExecution = setting.scope.expand(recipe.execution, EXECUTION)
    around = setting.surroundings
    if is_named(recipe, setting):
        path = os.path.realpath(os.path.join(around.root, execution.file))
        around = replace(around, root=os.path.dirname(path), folder=os.path.dirname(path))
        return execution.file, read_text(around, os.path.basename(path))
    return execution.file, read_text(around, execution.file)


def read_stored(file: str, text: str) -> StoredAnswers:
    """Of JSON Lines, a list in JSON or YAML, or the results of a run. InvalidInput with the line where a row
    is none: no answer is left out."""
    stored = StoredAnswers({}, {})
    rows = sorted(rows_of(file, text), key=lambda pair: attempt_number(pair[1]))
    for number, row in rows:
        name = next((row[key] for key in _IDS if isinstance(row.get(key), str) and row[key]), None)
        if name is None:
            raise _unusable(file, number, "the answer does not say whose it is", "give each an `id`")
        dataset = row.get("dataset")
        name = f"{dataset}/{name}" if isinstance(dataset, str) and dataset else name
        answers = answers_of(row)
        if answers:
            stored.answers.setdefault(name, []).extend(answers)
        else:
            said = row.get("error")
            stored.flaws[name] = f"the run had an error: {said}" if said else "the row holds no answer"
    if not stored.answers:
        raise _unusable(file, 1, "there is no answer in it", "a line is {id, text} or {id, output_messages}")
    return stored


def attempt_number(row: dict[str, Any]) -> int:
    """Which attempt it is, where it says so: several may have been written in any order."""
    number = row.get("attempt")
    return number if isinstance(number, int) else 0


def rows_of(file: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row with the line where it begins, as far as that is known."""
    if file.lower().endswith((".yaml", ".yml")):
        documents = YAML.load(text, file)
        whole = documents[0] if len(documents) == 1 else documents
    else:
        try:
            whole = decode(text)
        except NotJson:
            yield from rows_of_lines(file, text)
            return
    if isinstance(whole, dict) and isinstance(whole.get("results"), list):
        whole = (
            [row_of_result(row) for row in whole["results"]]
            if whole.get("format") == _RESULTS
            else whole["results"]
        )
    for row in whole if isinstance(whole, list) else [whole]:
        if not isinstance(row, dict):
            raise _unusable(file, 1, "an answer is not a mapping", "a row is {id, text}")
        yield 1, row


def rows_of_lines(file: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line of JSON Lines, with its number."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = decode(line)
        except NotJson as error:
            raise _unusable(file, number, f"not JSON: {error}", "a line is {id, text}") from None
        if not isinstance(row, dict):
            raise _unusable(file, number, "the line is not an object", "a line is {id, text}")
        yield number, row


def row_of_result(row: Json) -> Json:
    """A result of our own: of each attempt what is kept, which of one that passed is nothing."""
    case = row.get("case") if isinstance(row, dict) else None
    attempts = case.get("attempts") if isinstance(case, dict) else None
    if not isinstance(attempts, list):
        return row
    kept = [one["output"] for one in attempts if isinstance(one, dict) and one.get("output") is not None]
    whole = len(kept) == len(attempts)
    return {"id": row.get("id"), "error": "a result file keeps no output of what passed"} | (
        {"attempts": kept} if whole else {}
    )


def answers_of(row: dict[str, Any]) -> list[Json]:
    """What a row holds: one answer, or that of each attempt."""
    if isinstance(row.get("attempts"), list):
        return list(row["attempts"])
    summary = row.get("trace_summary")
    if is_told(row):
        told = {key: value for key, value in row.items() if key not in _ANSWERS}
        beside = summary if isinstance(summary, dict) else {}
        known = ("text", "output_messages", "token_usage", "cost_usd", "duration_ms")
        return [{key: value for key, value in {**beside, **told}.items() if key in known}]
    answer = next((row[key] for key in _ANSWERS if row.get(key, ABSENT) is not ABSENT), ABSENT)
    return [] if answer is ABSENT or (answer is None and row.get("error")) else [answer]


def _unusable(file: str, line: int, what: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK795", what, hint, Place(file, line, 1)))


ROW = Row(check_stored, replay_stored, files_of_stored)
