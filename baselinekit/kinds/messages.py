"""Conversations: the base of the kinds that take messages, messages as plain text and as JSON, and what a
target reports beside its answer, read in one way from programs, services, mocks and stored answers. And those
kinds that need no program and no model of ours: a written text, a mock, stored answers, a service."""

import os
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any, Literal, TypeGuard, TypeVar

from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    Place,
    Problem,
    cannot_replay,
    suggest,
)
from baselinekit.files.jsontext import NotJson, decode, pretty
from baselinekit.kinds.files import parse_document, read_text
from baselinekit.kinds.http import HTTP, HttpExecution, check_headers, check_url
from baselinekit.kinds.kind import MessageFiles, RecipeKind, Trouble, is_blank
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting, is_named
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Auth, HttpRequest, Observation, Recipe, Scalar, Seconds, Usage
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import read_as
from baselinekit.secrets.variables import as_text, escape_variables_in
from baselinekit.structs import Count, NotNegative, Struct, field, replace
from baselinekit.values.paths import render
from baselinekit.values.texts import Mask, mask_and_clip

T = TypeVar("T")
_LONGEST_SHOWN = 40


class ConversationInput(Struct):
    """The input of a target: messages, and the files that they name, as absolute paths; guidelines for the
    answer are separate. `case`: the id of the case in its file."""

    messages: list[TraceMessage]
    guideline_files: list[str] = field(default_factory=list)
    input_files: list[str] = field(default_factory=list)
    case: str = ""


class StatedConversation(Struct):
    """Messages as a record states them. A record cannot state their files: any path on the machine could then
    be passed to programs."""

    messages: list[TraceMessage]


class ConversationKind(RecipeKind):
    """A kind whose input is a conversation. A text stands for one message of the user."""

    noun = "answer"

    def normalize(self, stated_input: Any) -> Any:
        if isinstance(stated_input, StatedConversation):
            return ConversationInput(stated_input.messages)
        return (
            ConversationInput([TraceMessage("user", stated_input)])
            if isinstance(stated_input, str)
            else stated_input
        )

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        if not recipe.input.messages:
            hint = "such as - {role: user, content: What is 15 + 27?}"
            yield Problem("BK108", "a conversation without a message", hint, at=(*INPUT, "messages"))
        yield from super().check(recipe)

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"{self.whom(recipe)} {shortened(question_of(recipe.input), mask)}".rstrip()

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
        """An answer with neither text nor tool calls is a trouble, if a model may have given it."""
        if self.asks_models != "never" and not observation.tool_calls and is_blank(observation.output):
            yield Trouble("the answer is empty", "--allow-empty")

    def whom(self, recipe: Recipe) -> str:
        """Name the target in a word or two."""
        return " ".join(filter(None, (self.name, recipe.execution.target)))

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return recipe.execution.target or self.name

    def asked(self, recipe: Recipe) -> Json:
        texts = [plain_text(message.content) for message in recipe.input.messages]
        return texts[0] if len(texts) == 1 else [*texts]

    def input_of_text(self, text: str, context: Json) -> ConversationInput:
        return ConversationInput([TraceMessage("user", text_with_context(text, context))])

    def input_of_messages(
        self, messages: Sequence[TraceMessage], files: MessageFiles = ((), ()), case: str = ""
    ) -> ConversationInput:
        verbatim = [replace(message, content=escape_variables_in(message.content)) for message in messages]
        return ConversationInput(verbatim, [*files[0]], [*files[1]], case)


def shortened(text: str, mask: Mask) -> str:
    """Return the beginning of a text, on one line."""
    return mask_and_clip(" ".join(text.split()), _LONGEST_SHOWN, mask, counted=False)


def question_of(conversation: ConversationInput) -> str:
    """Return all messages of the user as one text."""
    return "\n\n".join(
        plain_text(message.content) for message in conversation.messages if message.role == "user"
    )


def prompt_of(conversation: ConversationInput) -> str:
    """Return the whole conversation as one text, for targets that take no messages: a single message of the
    user as it is, several messages each below its role."""
    if [message.role for message in conversation.messages] == ["user"]:
        return question_of(conversation)
    parts = [
        f"@[{message.role.capitalize()}]:\n{plain_text(message.content)}" for message in conversation.messages
    ]
    return "\n\n".join(parts)


def text_with_context(text: str, context: Json) -> str:
    """Return the question with the context of the case below it."""
    from baselinekit.files.languages import dump_yaml  # slow to import, and not needed to compare baselines

    return text if context is None else f"{text}\n\nContext:\n{dump_yaml(context)}"


def plain_text(content: Json) -> str:
    """Return the content of a message as one text. A file follows its name; other values are JSON."""
    if isinstance(content, str):
        return content
    if is_parts(content):
        return "\n\n".join(_part_texts(content))
    return "" if content is None else pretty(content, "  ")


def is_parts(content: Json) -> bool:
    """Whether a content is a list of texts and files, rather than a value that happens to be a list."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, dict) and part.get("type") in ("text", "file") for part in content)
    )


def _part_texts(parts: Json) -> Iterator[str]:
    for part in parts:
        text = str(part.get("text", part.get("value", "")))
        yield f"{heading_of(part.get('value', ''))}{text}" if part["type"] == "file" else text


def heading_of(name: Json) -> str:
    """Return what is above the text of a file in a question."""
    return f"=== {name} ===\n"


# Messages as JSON: as they are sent to programs and services, and stored with the answers of a target.


def message_as_json(message: TraceMessage) -> dict[str, Json]:
    """Return a message as JSON, with the fields that are known."""
    fields: dict[str, Json] = {"role": message.role}
    if message.name is not None:
        fields["name"] = message.name
    fields["content"] = message.content
    if message.tool_calls:
        fields["tool_calls"] = [call_as_json(call) for call in message.tool_calls]
    return fields


def question_as_json(conversation: ConversationInput, asker: str) -> dict[str, Json]:
    """Return the JSON by which a service, or a program that answers many cases at once, is asked about a
    case."""
    return {
        "id": conversation.case or asker,
        "question": question_of(conversation),
        "messages": [message_as_json(message) for message in conversation.messages],
        "guideline_files": conversation.guideline_files,
        "input_files": conversation.input_files,
    }


def call_as_json(call: ToolCall) -> dict[str, Json]:
    """Return a tool call as JSON. An output of null is kept: the tool did return something."""
    fields: dict[str, Json] = {"tool": call.name, "input": call.input}
    if call.output is not ABSENT:
        fields["output"] = call.output
    fields |= {key: value for key, value in (("id", call.id), ("error", call.error)) if value is not None}
    return fields if call.seconds is None else {**fields, "duration_ms": milliseconds(call.seconds)}


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


_ANSWERS = ("output_messages", "text")
"""An object with one of these keys is a structured answer."""

READ_KEYS = (*_ANSWERS, "token_usage", "cost_usd", "duration_ms")
_IGNORED_KEYS = ("id", "eval_id", "trace", "trace_ref", "metadata", "timestamp")
"""Keys that a structured answer may have, and that are ignored without a note."""

_TOKENS = {"input": "tokens_in", "output": "tokens_out", "cached": "tokens_cached"}


class AnsweredCall(Struct, forbid_unknown_fields=False):
    """A tool call of a structured answer. `name` is another name of `tool`."""

    tool: str = ""
    name: str = ""
    input: Json = None
    output: Json = ABSENT
    id: str | None = None
    duration_ms: NotNegative | None = None
    error: Json = None

    def as_call(self) -> ToolCall:
        seconds = None if self.duration_ms is None else self.duration_ms / 1000
        is_text = self.error is None or isinstance(self.error, str)
        error = self.error if is_text else plain_text(self.error)
        return ToolCall(self.tool or self.name, self.input, self.output, self.id, seconds, error)


class AnsweredMessage(Struct, forbid_unknown_fields=False):
    role: Role
    content: Json = ""
    tool_calls: list[AnsweredCall] | None = None
    name: str | None = None

    def as_message(self) -> TraceMessage:
        calls = tuple(call.as_call() for call in self.tool_calls or ())
        return TraceMessage(self.role, self.content, calls, self.name)


class AnsweredTokens(Struct, forbid_unknown_fields=False):
    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None


class StructuredAnswer(Struct, forbid_unknown_fields=False):
    """What a target may answer besides its text. Other keys are named in a note."""

    output_messages: list[AnsweredMessage] | None = None
    text: Json = ""
    token_usage: AnsweredTokens | None = None
    cost_usd: NotNegative | None = None
    duration_ms: NotNegative | None = None


_FORM = "{output_messages: [{role, content, tool_calls}], token_usage: {input, output}, cost_usd}"


def is_structured(value: Json) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a structured answer, and not the answer itself."""
    return isinstance(value, dict) and any(key in value for key in _ANSWERS)


def answer_of_text(text: str, seconds: float, source: str) -> Observation:
    """Read the answer of a program: a structured answer in JSON, else the text without its last line end."""
    if text.lstrip()[:1] == "{":
        try:
            value = decode(text)
        except NotJson:
            value = None
        if is_structured(value):
            return answer_of_value(value, seconds, source)
    return Observation(text.removesuffix("\n").removesuffix("\r"), seconds)


def answer_of_value(value: Json, seconds: float, source: str) -> Observation:
    """Read an answer in JSON: a structured answer, else the value itself. CannotReplay where a structured
    answer cannot be read: nothing in it is left out."""
    if not is_structured(value):
        return Observation(value, seconds)
    subject = f"{source} gave an answer that cannot be read"
    stated = read_stated(StructuredAnswer, value, "BK792", subject, _FORM)
    called = [call for message in stated.output_messages or () for call in message.tool_calls or ()]
    fault = "" if stated.output_messages or "text" in value else "there is neither a message nor a `text`"
    if not all(call.tool or call.name for call in called):
        fault = "a tool call does not say its `tool`"
    if fault:
        raise cannot_replay("BK792", f"{subject}: {fault}", f"such as {_FORM}")
    tokens = stated.token_usage or AnsweredTokens()
    observation = Observation(value.get("text", ""), seconds)
    if messages := tuple(message.as_message() for message in stated.output_messages or ()):
        last = next((message for message in reversed(messages) if message.role == "assistant"), None)
        calls = tuple(call for message in messages for call in message.tool_calls)
        content = None if last is None else last.content
        output = plain_text(content) if content is None or is_parts(content) else content
        observation = replace(observation, output=output, messages=messages, tool_calls=calls)
    unread_keys = [key for key in value if key not in (*READ_KEYS, *_IGNORED_KEYS)]
    return replace(
        observation,
        seconds=seconds if stated.duration_ms is None else stated.duration_ms / 1000,
        usage=Usage(tokens.input, tokens.output, exact_cost(value), tokens.cached),
        notes=(f"{source} also gave {', '.join(unread_keys)}, which is not used",) if unread_keys else (),
    )


def read_stated(kind: type[T], value: Json, code: str, subject: str, form: str) -> T:
    """Return what a program states as a struct, or raise CannotReplay with all its mistakes. They show no
    values: cut before it is masked, a secret would not be found."""
    stated, problems = read_as(kind, value)
    if stated is None:
        faults = (f"{render(one.at or ())}: {one.message.partition(', found ')[0]}" for one in problems)
        raise cannot_replay(code, f"{subject}: {'; '.join(faults)}", f"such as {form}")
    return stated


def exact_cost(usage: dict[str, Any]) -> Decimal | None:
    """Return the cost with each of its digits."""
    return None if usage.get("cost_usd") is None else Decimal(str(usage["cost_usd"]))


# A structured answer written, in the form in which it is read.


def row_of(name: str, attempt: int, observation: Observation) -> dict[str, Json]:
    """Return the answer of a target to a case, in the form that a target of stored answers reads."""
    usage, cost = observation.usage, observation.usage.cost_usd
    messages = observation.messages
    if not messages and observation.tool_calls is not None:
        messages = (TraceMessage("assistant", observation.output, observation.tool_calls),)
    row: dict[str, Json] = {"id": name, "attempt": attempt}
    row |= (
        {"output_messages": [message_as_json(message) for message in messages]}
        if messages
        else {"text": observation.output}
    )
    tokens = {written_name: getattr(usage, field) for written_name, field in _TOKENS.items()}
    token_counts = {key: count for key, count in tokens.items() if count is not None}
    row |= {"token_usage": token_counts} if token_counts else {}
    row |= {} if cost is None else {"cost_usd": cost}
    return row | {"duration_ms": round(observation.seconds * 1000)}


class EchoExecution(Struct):
    """Nothing is requested."""

    type: Literal["echo"]


class EchoCurrent(Struct):
    """`current:` whose output is its input, which may be any value."""

    execution: EchoExecution
    input: Json = None


class EchoKind(RecipeKind):
    """A written text is graded like an answer."""

    name = "echo"
    execution = EchoExecution
    currents = (EchoCurrent,)
    noun = "result"
    asks_nobody = True
    eval_input = "echo"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"echo {shortened(as_text(recipe.input), mask)}"

    def input_of_text(self, text: Json, context: Json) -> Json:
        return text if context is None else {"content": text, "context": context}

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        return Observation(setting.scope.expand(recipe.input, INPUT), 0.0)


# A target that gives a written answer, so that evals run without a service or a model.

RESPONSE = "This is the answer of a mock target. Write another one under `response:`."
_QUESTION = lazy_pattern(r"(?<!\{)\{question\}(?!\})")
_DRAWN_BYTES = 6


class MockExecution(Struct):
    """The `response`: a text, in which `{question}` is the text of the user's messages; an answer as a
    program could give it (`{output_messages, token_usage, …}`); or any other value, as it is. `delay`:
    seconds before it is given, or the fewest if `delay_max` states the most: an attempt of a case waits
    equally long in every run."""

    type: Literal["mock"]
    response: Json = RESPONSE
    delay: Seconds | None = None
    delay_max: Seconds | None = None
    timeout: Seconds | None = None
    target: str = ""


class MockCurrent(Struct):
    """`current:` that a mock answers."""

    input: StatedConversation | str
    execution: MockExecution


class MockKind(ConversationKind):
    name = "mock"
    execution = MockExecution
    currents = (MockCurrent,)

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from super().check(recipe)
        least, most = recipe.execution.delay or 0, recipe.execution.delay_max
        if most is not None and most < least:
            message = f"the longest delay, {most} s, is below the shortest, {least} s"
            yield Problem("BK108", message, "exchange the two", at=(*EXECUTION, "delay_max"))

    def only_reads(self, recipe: Recipe) -> bool:
        return True

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        conversation: ConversationInput = setting.scope.expand(recipe.input, INPUT)
        execution: MockExecution = setting.scope.expand(recipe.execution, EXECUTION)
        seconds = float(execution.delay or 0)
        if execution.delay_max is not None:  # a repeated run takes as long
            drawn = sha256(f"{setting.turn}/{conversation.case or setting.asker}".encode()).digest()
            share = int.from_bytes(drawn[:_DRAWN_BYTES]) / float(256**_DRAWN_BYTES)
            seconds += max(0.0, float(execution.delay_max) - seconds) * share
        if seconds:
            setting.clients.sleep(seconds)
        if not isinstance(recipe.execution.response, str):
            return answer_of_value(execution.response, seconds, self.whom(recipe))
        parts = (as_text(setting.scope.expand(part)) for part in _QUESTION.split(recipe.execution.response))
        return Observation(question_of(conversation).join(parts), seconds)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an answer that cannot be read."""
        super().check_replay(recipe, setting)
        self.replay(replace(recipe, execution=replace(recipe.execution, delay=None, delay_max=None)), setting)


# A target that is not asked again: earlier answers are read from a file, by the id of the case.

_IDS = ("id", "eval_id", "test_id", "case")
_STORED_ANSWERS = ("output", "candidate_answer", "answer")
_RESULTS = "baselinekit.results/1"
StoredAnswers = tuple[dict[str, list[Json]], dict[str, str]]
"""By case id: the answers in the order of the attempts; why a case in the file has no answer."""


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
        if answers := _answers_of(row):
            stored.setdefault(name, []).extend(answers)
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
        is_ours = content.get("format") == _RESULTS
        content = [_row_of_result(row) if is_ours else row for row in content["results"]]
    for row in content if isinstance(content, list) else [content]:
        if not isinstance(row, dict):
            raise _unusable(file, 1, "an answer is not a mapping", "a row is {id, text}")
        yield 1, row


def _row_of_result(row: Json) -> Json:
    """Return a row of our own result file with the outputs of its attempts; passed attempts have none."""
    case = row.get("case") if isinstance(row, dict) else None
    attempts = case.get("attempts") if isinstance(case, dict) else None
    if not isinstance(attempts, list):
        return row
    outputs = [attempt.get("output") if isinstance(attempt, dict) else None for attempt in attempts]
    flaw = {"id": row.get("id"), "error": "a result file keeps no output of what passed"}
    return flaw if None in outputs else {**flaw, "attempts": outputs}


def _answers_of(row: dict[str, Any]) -> list[Json]:
    """Return the answers in order: one, or one for each attempt."""
    if isinstance(row.get("attempts"), list):
        return list(row["attempts"])
    if is_structured(row):
        summary = row.get("trace_summary")
        known = {**(summary if isinstance(summary, dict) else {}), **row}
        return [
            {key: value for key, value in known.items() if key in READ_KEYS and key not in _STORED_ANSWERS}
        ]
    answer = next((row[key] for key in _STORED_ANSWERS if row.get(key, ABSENT) is not ABSENT), ABSENT)
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
                return replace(answer_of_value(answer, 0.0, source), recorded=True)
            if name in flaws:
                raise cannot_replay("BK795", f"{source} holds no answer for {name}: {flaws[name]}")
        name = case or setting.asker
        hint = suggest(name, stored) or "store one, a line {id, text} or {id, output_messages}"
        raise cannot_replay("BK795", f"{source} holds no answer for {name}", hint)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and a file that cannot be read."""
        super().check_replay(recipe, setting)
        self.stored(recipe, setting)


# A target that is a service: an address that receives the messages as JSON and gives the answer.

_TIMEOUT = 120
_RETRIES = 2
_LONGEST_WAIT = 60.0
_RETRIED_STATUSES = frozenset((408, 429, 500, 502, 503, 504))
_UNREACHED = "BK301"


class PostExecution(Struct):
    """The service that receives the messages, by POST. The answer is a text, or JSON: an answer as a program
    could give it (`{output_messages, token_usage, …}`), or any other value as it is. `retries`: how often the
    request is repeated if the service is unreachable or too busy."""

    type: Literal["post"]
    url: str
    headers: dict[str, Scalar] = field(default_factory=dict)
    auth: Auth | None = None
    timeout: Seconds | None = None
    retries: int | None = None
    serial: bool | None = None
    resource: str | None = None
    target: str = ""


class PostCurrent(Struct):
    """`current:` with a service that receives messages."""

    input: StatedConversation | str
    execution: PostExecution


class PostKind(ConversationKind):
    name = "post"
    execution = PostExecution
    currents = (PostCurrent,)
    asks_models = "sometimes"
    names_target = "url: …"

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from check_url(recipe.execution.url, (*EXECUTION, "url"))
        yield from check_headers(recipe.execution.headers, (*EXECUTION, "headers"))
        yield from super().check(recipe)

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        yield recipe.execution.url

    def request(self, recipe: Recipe, setting: Setting) -> Recipe:
        execution: PostExecution = recipe.execution
        question = question_as_json(setting.scope.expand(recipe.input, INPUT), setting.asker)
        return Recipe(
            HttpRequest(
                "POST",
                url=execution.url,
                headers=execution.headers,
                auth=execution.auth,
                json=escape_variables_in(question),
                timeout=_TIMEOUT if execution.timeout is None else execution.timeout,
                redirects=0,
                retries=0,
            ),
            HttpExecution("http"),
        )

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        retries = _RETRIES if recipe.execution.retries is None else recipe.execution.retries
        request, source = self.request(recipe, setting), self.whom(recipe)
        for attempt in range(retries + 1):
            if attempt:  # each wait is about twice as long as the last
                spread = 0.75 + random.random() / 2
                setting.clients.sleep(min(2.0 ** (attempt - 1), _LONGEST_WAIT) * spread)
            try:
                observation = HTTP.replay(request, setting)
            except CannotReplay as error:
                if attempt == retries or all(problem.code != _UNREACHED for problem in error.problems):
                    raise
                continue
            if observation.output["status"] not in _RETRIED_STATUSES:
                break
        status, body = observation.output["status"], observation.output["body"]
        if not 200 <= status < 300:
            raise cannot_replay("BK794", f"{source} answered with status {status}", "check the service")
        read = answer_of_text if isinstance(body, str) else answer_of_value
        answer = read(body, observation.seconds, source)
        return replace(answer, attempts=attempt + 1, notes=(*observation.notes, *answer.notes))

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an address that is invalid or not allowed."""

        def in_recipe(problem: Problem) -> Problem:
            at = problem.at or ()
            is_own = at[:2] == INPUT and at[2:3] in (("url",), ("headers",), ("auth",))
            return replace(problem, at=(*EXECUTION, *at[2:])) if is_own else problem

        try:
            HTTP.check_replay(self.request(recipe, setting), setting)
        except BaselinekitError as error:
            raise type(error)(*map(in_recipe, error.problems)) from None


ECHO, MOCK, REPLAY, POST = EchoKind(), MockKind(), ReplayKind(), PostKind()
