"""Answers that need no request: written in the recipe (echo), composed from it (mock), or stored in a
file and found by the id of the case (replay)."""

import os
from collections.abc import Iterator
from typing import Any, Literal

from baselinekit.errors import InvalidInput, Place, Problem, cannot_replay, suggest
from baselinekit.files.jsontext import NotJson, decode, json_or_absent
from baselinekit.kinds import messages
from baselinekit.kinds.files import parse_document, read_text
from baselinekit.kinds.kind import RecipeKind, current_form
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting, is_named
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Observation, Recipe, Seconds
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Struct, TimeLimit, replace
from baselinekit.values.texts import Mask


class EchoExecution(Struct):
    """Nothing is requested."""

    type: Literal["echo"]


class EchoKind(RecipeKind):
    """A written text is graded like an answer."""

    name = "echo"
    execution = EchoExecution
    currents = (current_form("Echo", Json, EchoExecution, None),)
    noun = "result"
    asks_nobody = True
    eval_input = "echo"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"echo {messages.shortened(as_text(recipe.input), mask)}"

    def input_of_text(self, text: Json, context: Json) -> Json:
        return text if context is None else {"content": text, "context": context}

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        return Observation(setting.scope.expand(recipe.input, INPUT), 0.0)


ECHO = EchoKind()


RESPONSE = "This is the answer of a mock target. Write another one under `response:`."
_QUESTION = lazy_pattern(r"(?<!\{)\{question\}(?!\})")


class MockExecution(Struct):
    """The `response`: a text, in which `{question}` is the text of the user's messages; an answer as a
    program could give it (`{output_messages, token_usage, …}`); or any other value, as it is. `delay`:
    seconds before it is given."""

    type: Literal["mock"]
    response: Json = RESPONSE
    delay: Seconds | None = None
    timeout: TimeLimit | None = None
    target: str = ""


class MockKind(messages.ConversationKind):
    name = "mock"
    execution = MockExecution
    currents = (current_form("Mock", messages.StatedConversation | str, MockExecution),)

    def only_reads(self, recipe: Recipe) -> bool:
        return True

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        conversation: messages.ConversationInput = setting.scope.expand(recipe.input, INPUT)
        execution: MockExecution = setting.scope.expand(recipe.execution, EXECUTION)
        seconds = float(execution.delay or 0)
        if seconds:
            setting.clients.sleep(seconds)
        if not isinstance(recipe.execution.response, str):
            return messages.answer_of_value(execution.response, seconds, self.whom(recipe))
        parts = (as_text(setting.scope.expand(part)) for part in _QUESTION.split(recipe.execution.response))
        return Observation(messages.question_of(conversation).join(parts), seconds)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an answer that cannot be read."""
        super().check_replay(recipe, setting)
        self.replay(replace(recipe, execution=replace(recipe.execution, delay=None)), setting)


MOCK = MockKind()


_STORED_ANSWERS = ("output", "candidate_answer")
StoredAnswers = dict[str, list[Json]]
"""By case id: the answers in the order of the attempts."""


class ReplayExecution(Struct):
    """The file with the answers: rows with the id of a case and its answer."""

    type: Literal["replay"]
    file: str
    timeout: TimeLimit | None = None
    target: str = ""


def read_stored(file: str, text: str) -> StoredAnswers:
    """Read answers from JSON Lines, or a list in JSON or YAML. An unusable row is InvalidInput, with its
    line: no answer is left out."""
    stored: StoredAnswers = {}

    def attempt(numbered_row: tuple[int, dict[str, Any]]) -> int:  # they may be written in any order
        number = numbered_row[1].get("attempt")
        return number if isinstance(number, int) else 0

    for number, row in sorted(_rows_of(file, text), key=attempt):
        name = row.get("id") or row.get("eval_id") or row.get("test_id")
        if not isinstance(name, str):
            raise _unusable(file, number, "the answer does not say whose it is", "give each an `id`")
        dataset = row.get("dataset")
        name = f"{dataset}/{name}" if isinstance(dataset, str) and dataset else name
        if (answer := _answer_of(row)) is not ABSENT:
            stored.setdefault(name, []).append(answer)
    if not stored:
        raise _unusable(file, 1, "there is no answer in it", "a line is {id, text} or {id, output_messages}")
    return stored


def _rows_of(file: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each row with its line, which is known for JSON Lines only."""
    is_yaml = file.lower().endswith((".yaml", ".yml"))
    content = parse_document(text, file) if is_yaml else json_or_absent(text)
    rows = ((1, row) for row in (content if isinstance(content, list) else [content]))
    for number, row in _json_lines(file, text) if content is ABSENT else rows:
        if not isinstance(row, dict):
            raise _unusable(file, number, "an answer is not an object", "one is {id, text}")
        yield number, row


def _json_lines(file: str, text: str) -> Iterator[tuple[int, Json]]:
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                yield number, decode(line)
        except NotJson as error:
            raise _unusable(file, number, f"not JSON: {error}", "a line is {id, text}") from None


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
        stored, source, case = self.stored(recipe, setting), self.whom(recipe), recipe.input.case
        name = setting.asker if setting.asker in stored else case or setting.asker
        if name not in stored:
            hint = suggest(name, stored) or "store one, a line {id, text} or {id, output_messages}"
            raise cannot_replay("BK795", f"{source} holds no answer for {name}", hint)
        answers, number = stored[name], setting.turn + 1
        if 1 < len(answers) < number:
            held = f"{source} holds {len(answers)} answers for {name}"
            hint = "make fewer attempts, or store more answers"
            raise cannot_replay("BK795", f"{held}, and this is attempt {number}", hint)
        answer = answers[min(setting.turn, len(answers) - 1)]
        return replace(messages.answer_of_value(answer, 0.0, source), recorded=True)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and a file that cannot be read."""
        super().check_replay(recipe, setting)
        self.stored(recipe, setting)


REPLAY = ReplayKind()
