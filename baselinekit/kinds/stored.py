"""A target that is not asked again: earlier answers are read from a file, by the id of the case."""

import os
from collections.abc import Iterator
from typing import Any, Literal

from baselinekit.errors import InvalidInput, Place, Problem, cannot_replay, suggest
from baselinekit.files.jsontext import NotJson, decode
from baselinekit.files.languages import YAML
from baselinekit.kinds.files import read_text
from baselinekit.kinds.messages import (
    READ_KEYS,
    ConversationKind,
    StatedConversation,
    answer_of_value,
    is_structured,
)
from baselinekit.kinds.settings import EXECUTION, Setting, check_defined, is_named
from baselinekit.model.recipes import Observation, Recipe, Seconds
from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import Struct, replace


class ReplayExecution(Struct):
    """The file with the answers: JSON Lines with the id of a case and its answer, or the results of a run."""

    type: Literal["replay"]
    file: str
    timeout: Seconds | None = None
    target: str = ""


class ReplayCurrent(Struct):
    """`current:` whose answer is in a file."""

    input: StatedConversation | str
    execution: ReplayExecution


_IDS = ("id", "eval_id", "test_id", "case")
_ANSWERS = ("output", "candidate_answer", "answer")
_RESULTS = "baselinekit.results/1"


class StoredAnswers(Struct):
    """`answers`: by case id, in the order of the attempts. `flaws`: by case id, why a case in the file has no
    answer."""

    answers: dict[str, list[Json]]
    flaws: dict[str, str]


def stored_answers(recipe: Recipe, setting: Setting) -> StoredAnswers:
    """Return the answers of the file, which is read once in a run."""
    execution: ReplayExecution = recipe.execution
    surroundings = setting.surroundings
    key = ("stored", execution.file, is_named(recipe, setting), surroundings.root, surroundings.folder)
    stored: StoredAnswers = setting.clients.once.get(key, lambda: read_stored(*text_of_file(recipe, setting)))
    return stored


def text_of_file(recipe: Recipe, setting: Setting) -> tuple[str, str]:
    """Return the name and the text of the file. A path of the operator or the configuration may lead
    anywhere, and is relative to the project's root."""
    execution: ReplayExecution = setting.scope.expand(recipe.execution, EXECUTION)
    surroundings = setting.surroundings
    if is_named(recipe, setting):
        path = os.path.realpath(os.path.join(surroundings.root, execution.file))
        surroundings = replace(surroundings, root=os.path.dirname(path), folder=os.path.dirname(path))
        return execution.file, read_text(surroundings, os.path.basename(path))
    return execution.file, read_text(surroundings, execution.file)


def read_stored(file: str, text: str) -> StoredAnswers:
    """Read answers from JSON Lines, a list in JSON or YAML, or the results of a run. An unusable row is
    InvalidInput, with its line: no answer is left out."""
    stored = StoredAnswers({}, {})

    def attempt(numbered_row: tuple[int, dict[str, Any]]) -> int:  # they may be written in any order
        number = numbered_row[1].get("attempt")
        return number if isinstance(number, int) else 0

    for number, row in sorted(rows_of(file, text), key=attempt):
        name = next((row[key] for key in _IDS if isinstance(row.get(key), str) and row[key]), None)
        if name is None:
            raise _unusable(file, number, "the answer does not say whose it is", "give each an `id`")
        dataset = row.get("dataset")
        name = f"{dataset}/{name}" if isinstance(dataset, str) and dataset else name
        if answers := answers_of(row):
            stored.answers.setdefault(name, []).extend(answers)
        else:
            error = row.get("error")
            stored.flaws[name] = f"the run had an error: {error}" if error else "the row holds no answer"
    if not stored.answers:
        raise _unusable(file, 1, "there is no answer in it", "a line is {id, text} or {id, output_messages}")
    return stored


def rows_of(file: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each row with its line, which is known for JSON Lines only."""
    if file.lower().endswith((".yaml", ".yml")):
        documents = YAML.load(text, file)
        content = documents[0] if len(documents) == 1 else documents
    else:
        try:
            content = decode(text)
        except NotJson:
            yield from rows_of_lines(file, text)
            return
    if isinstance(content, dict) and isinstance(content.get("results"), list):
        is_ours = content.get("format") == _RESULTS
        content = [row_of_result(row) if is_ours else row for row in content["results"]]
    for row in content if isinstance(content, list) else [content]:
        if not isinstance(row, dict):
            raise _unusable(file, 1, "an answer is not a mapping", "a row is {id, text}")
        yield 1, row


def rows_of_lines(file: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each row of JSON Lines, with its line number."""
    for number, line in enumerate(text.split("\n"), 1):
        try:
            row = decode(line) if line.strip() else {}
        except NotJson as error:
            raise _unusable(file, number, f"not JSON: {error}", "a line is {id, text}") from None
        if not isinstance(row, dict):
            raise _unusable(file, number, "the line is not an object", "a line is {id, text}")
        if line.strip():
            yield number, row


def row_of_result(row: Json) -> Json:
    """Return a row of our own result file with the outputs of its attempts; passed attempts have none."""
    case = row.get("case") if isinstance(row, dict) else None
    attempts = case.get("attempts") if isinstance(case, dict) else None
    if not isinstance(attempts, list):
        return row
    outputs = [attempt.get("output") if isinstance(attempt, dict) else None for attempt in attempts]
    flaw = {"id": row.get("id"), "error": "a result file keeps no output of what passed"}
    return flaw if None in outputs else {**flaw, "attempts": outputs}


def answers_of(row: dict[str, Any]) -> list[Json]:
    """Return the answers in order: one, or one for each attempt."""
    if isinstance(row.get("attempts"), list):
        return list(row["attempts"])
    if is_structured(row):
        summary = row.get("trace_summary")
        known = {**(summary if isinstance(summary, dict) else {}), **row}
        return [{key: value for key, value in known.items() if key in READ_KEYS and key not in _ANSWERS}]
    answer = next((row[key] for key in _ANSWERS if row.get(key, ABSENT) is not ABSENT), ABSENT)
    return [] if answer is ABSENT or (answer is None and row.get("error")) else [answer]


def _unusable(file: str, line: int, message: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK795", message, hint, Place(file, line, 1)))


class ReplayKind(ConversationKind):
    name = "replay"
    execution = ReplayExecution
    currents = (ReplayCurrent,)
    names_target = "file: …"

    def whom(self, recipe: Recipe) -> str:
        return f"replay {recipe.execution.target or recipe.execution.file}"

    def only_reads(self, recipe: Recipe) -> bool:
        return True

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        stored = stored_answers(recipe, setting)
        source, case = self.whom(recipe), recipe.input.case
        matches = [name for name in (*stored.answers, *stored.flaws) if case and name.endswith(f"/{case}")]
        for name in filter(None, (setting.asker, case, *(matches if len(matches) == 1 else ()))):
            if name in stored.answers:
                answers = stored.answers[name]
                if setting.turn and 1 < len(answers) <= setting.turn:
                    number = setting.turn + 1
                    message = (
                        f"{source} holds {len(answers)} answers for {name}, and this is attempt {number}"
                    )
                    raise cannot_replay("BK795", message, "make fewer attempts, or store more answers")
                answer = answers[min(setting.turn, len(answers) - 1)]
                return replace(answer_of_value(answer, 0.0, source), recorded=True)
            if name in stored.flaws:
                raise cannot_replay("BK795", f"{source} holds no answer for {name}: {stored.flaws[name]}")
        name = case or setting.asker
        hint = suggest(name, stored.answers) or "store one, a line {id, text} or {id, output_messages}"
        raise cannot_replay("BK795", f"{source} holds no answer for {name}", hint)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and a file that cannot be read."""
        check_defined(recipe, setting)
        stored_answers(recipe, setting)

    def files(self, recipe: Recipe, setting: Setting) -> Iterator[str]:
        """Yield the text of the file of answers."""
        yield text_of_file(recipe, setting)[1]


KIND = ReplayKind()
