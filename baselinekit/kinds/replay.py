"""A target that is not asked again: earlier answers are read from a file, by the id of the case."""

import os
from collections.abc import Iterator
from typing import Any, Literal

from baselinekit.errors import InvalidInput, Place, Problem, cannot_replay, suggest
from baselinekit.files.jsontext import NotJson, decode
from baselinekit.kinds import messages
from baselinekit.kinds.files import parse_document, read_text
from baselinekit.kinds.kind import current_form
from baselinekit.kinds.settings import EXECUTION, Setting, is_named
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import Struct, TimeLimit, replace

_IDS = ("id", "eval_id", "test_id", "case")
_STORED_ANSWERS = ("output", "candidate_answer", "answer")
StoredAnswers = tuple[dict[str, list[Json]], dict[str, str]]
"""By case id: the answers in the order of the attempts; why a case in the file has no answer."""


class ReplayExecution(Struct):
    """The file with the answers: JSON Lines with the id of a case and its answer, or the results of a run."""

    type: Literal["replay"]
    file: str
    timeout: TimeLimit | None = None
    target: str = ""


def read_stored(file: str, text: str) -> StoredAnswers:
    """Read answers from JSON Lines, a list in JSON or YAML, or the results of a run. An unusable row is
    InvalidInput, with its line: no answer is left out."""
    stored, flaws = dict[str, list[Json]](), dict[str, str]()

    def attempt(numbered_row: tuple[int, dict[str, Any]]) -> int:  # they may be written in any order
        number = numbered_row[1].get("attempt")
        return number if isinstance(number, int) else 0

    for number, row in sorted(_rows_of(file, text), key=attempt):
        name = next((row[key] for key in _IDS if isinstance(row.get(key), str) and row[key]), None)
        if name is None:
            raise _unusable(file, number, "the answer does not say whose it is", "give each an `id`")
        dataset, error = row.get("dataset"), row.get("error")
        name = f"{dataset}/{name}" if isinstance(dataset, str) and dataset else name
        if (answer := _answer_of(row)) is not ABSENT:
            stored.setdefault(name, []).append(answer)
        else:
            flaws[name] = f"the run had an error: {error}" if error else "the row holds no answer"
    if not stored:
        raise _unusable(file, 1, "there is no answer in it", "a line is {id, text} or {id, output_messages}")
    return stored, flaws


def _rows_of(file: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each row with its line, which is known for JSON Lines only."""
    try:
        content = parse_document(text, file) if file.lower().endswith((".yaml", ".yml")) else decode(text)
    except NotJson:
        for number, line in enumerate(text.split("\n"), 1):
            try:
                row = decode(line) if line.strip() else {}
            except NotJson as error:
                raise _unusable(file, number, f"not JSON: {error}", "a line is {id, text}") from None
            if not isinstance(row, dict):
                raise _unusable(file, number, "the line is not an object", "a line is {id, text}") from None
            if line.strip():
                yield number, row
        return
    if isinstance(content, dict) and isinstance(content.get("results"), list):
        content = content["results"]
    for row in content if isinstance(content, list) else [content]:
        if not isinstance(row, dict):
            raise _unusable(file, 1, "an answer is not a mapping", "a row is {id, text}")
        yield 1, row


def _answer_of(row: dict[str, Any]) -> Json:
    """Return the answer; ABSENT if there is none."""
    if messages.is_structured(row):
        summary = row.get("trace_summary")
        known = {**(summary if isinstance(summary, dict) else {}), **row}
        return {key: known[key] for key in messages.READ_KEYS if key in known}
    answer = next((row[key] for key in _STORED_ANSWERS if row.get(key, ABSENT) is not ABSENT), ABSENT)
    return ABSENT if answer is None and row.get("error") else answer


def _unusable(file: str, line: int, message: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK795", message, hint, Place(file, line, 1)))


class ReplayKind(messages.ConversationKind):
    name = "replay"
    execution = ReplayExecution
    currents = (current_form("Replay", messages.StatedConversation | str, ReplayExecution),)
    names_target = "file: …"

    def whom(self, recipe: Recipe) -> str:
        return f"replay {recipe.execution.target or recipe.execution.file}"

    def only_reads(self, recipe: Recipe) -> bool:
        return True

    def files(self, recipe: Recipe, setting: Setting) -> Iterator[str]:
        """Yield the text of the file of answers. A path of the operator or the configuration may lead
        anywhere, and is relative to the project's root."""
        file, surroundings = setting.scope.expand(recipe.execution.file, EXECUTION), setting.surroundings
        if is_named(recipe, setting):
            folder, file = os.path.split(os.path.realpath(os.path.join(surroundings.root, file)))
            surroundings = replace(surroundings, root=folder, folder=folder)
        yield read_text(surroundings, file)

    def stored(self, recipe: Recipe, setting: Setting) -> StoredAnswers:
        """Return the answers of the file, which is read once in a run."""

        def read() -> StoredAnswers:
            file = setting.scope.expand(recipe.execution.file, EXECUTION)
            return read_stored(file, next(self.files(recipe, setting)))

        folders = setting.surroundings.root, setting.surroundings.folder
        key = ("stored", recipe.execution.file, is_named(recipe, setting), *folders)
        stored: StoredAnswers = setting.clients.once.get(key, read)
        return stored

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        stored, flaws = self.stored(recipe, setting)
        source, case = self.whom(recipe), recipe.input.case
        matches = [name for name in (*stored, *flaws) if case and name.endswith(f"/{case}")]
        for name in filter(None, (setting.asker, case, *(matches if len(matches) == 1 else ()))):
            if answers := stored.get(name):
                number = setting.turn + 1
                if setting.turn and 1 < len(answers) < number:
                    message = (
                        f"{source} holds {len(answers)} answers for {name}, and this is attempt {number}"
                    )
                    raise cannot_replay("BK795", message, "make fewer attempts, or store more answers")
                answer = answers[min(setting.turn, len(answers) - 1)]
                return replace(messages.answer_of_value(answer, 0.0, source), recorded=True)
            if name in flaws:
                raise cannot_replay("BK795", f"{source} holds no answer for {name}: {flaws[name]}")
        name = case or setting.asker
        hint = suggest(name, stored) or "store one, a line {id, text} or {id, output_messages}"
        raise cannot_replay("BK795", f"{source} holds no answer for {name}", hint)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and a file that cannot be read."""
        super().check_replay(recipe, setting)
        self.stored(recipe, setting)


REPLAY = ReplayKind()
