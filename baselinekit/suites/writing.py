"""Write cases to files: what the writers of all forms share, and the writer of our own form, a file of test
cases."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from baselinekit.errors import Place
from baselinekit.files.languages import dump_yaml
from baselinekit.files.text import decode
from baselinekit.graders.base import Task, values_of
from baselinekit.graders.by_text import Contains, ExactMatch, MustInclude, RegexMatch
from baselinekit.graders.composite import Composite
from baselinekit.graders.graders import row_of
from baselinekit.kinds.messages import is_parts, message_as_json, plain_text
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case, Expected, Suite
from baselinekit.model.grades import Grader, Method, PassRule
from baselinekit.model.traces import Role, TraceMessage
from baselinekit.model.values import Json
from baselinekit.secrets.finding import mask_secrets
from baselinekit.secrets.variables import Scope, escape_variables, names_in
from baselinekit.store.project import TEMPLATE, read
from baselinekit.structs import Struct, plain, replace
from baselinekit.suites.dialect import MESSAGES, numbered
from baselinekit.suites.loading import FetchFile, load_cases, load_evals
from baselinekit.suites.targets import NO_TARGETS, Targets
from baselinekit.values.texts import Mask

_LONGEST_ID = 100
_NOT_IN_IDS = lazy_pattern(r"[^A-Za-z0-9._-]+")


class Loss(Struct):
    """Something that does not carry over: what it is, what to do about it, and its case; `place`: its place,
    in a file from which no case was read."""

    message: str
    hint: str = ""
    case: Case | None = None
    place: Place | None = None

    def __str__(self) -> str:
        name = f"{self.case.name or self.case.id}: " if self.case is not None else ""
        return f"{name}{self.message}" + (f": {self.hint}" if self.hint else "")


# A value of the model as a file states it: defaults are left out.


def stated_fields(record: Any) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults."""
    stated_values: dict[str, Any] = plain(record)
    return stated_values


def tidy(number: float) -> float | int:
    """Return a whole number as an int, as people write it."""
    return int(number) if float(number).is_integer() else number


# Names of files and cases.


def as_name(text: str, usual: str = "cases") -> str:
    """A name that is valid as an id, made of the first words of a text."""
    name = ""
    for word in _NOT_IN_IDS.split(text):
        extended = f"{name}-{word}" if name else word.lstrip("-._")
        if len(extended) > _LONGEST_ID:
            break
        name = extended
    return name.strip("-._") or usual


def unique_id(text: str, taken: set[str]) -> str:
    """An id for a case of ours, with a number if it is taken."""
    return numbered(as_name(text, "case"), taken)


# The question of a case, as it is sent.


class AskedText(Struct):
    """Messages with their roles, each text as in our own files: `{{name}}` is a variable of the project, and
    `\\{{name}}` is literal. `other`: the input of a case without messages."""

    messages: tuple[tuple[Role, str], ...] = ()
    other: Json = None

    @property
    def text(self) -> str | None:
        """The text of the question, if it is a single message of the user."""
        return self.messages[0][1] if len(self.messages) == 1 and self.messages[0][0] == "user" else None

    @property
    def variables(self) -> list[str]:
        return list(dict.fromkeys(name for _, text in self.messages for name in names_in(text)))


def question_of(case: Case, root: str) -> AskedText:
    """Return the question of a case, with its template filled in completely."""
    case_input = case.recipe.input
    if isinstance(case_input, str):
        return AskedText((("user", case_input),))
    if getattr(case_input, "prompt", None) == TEMPLATE and case.folder is not None:
        return AskedText((("user", _fill_template(case, root)),))
    if getattr(case_input, "text", None) is not None:
        return AskedText((("user", case_input.text),))
    if getattr(case_input, "messages", None):
        return AskedText(tuple((message.role, _message_text(message)) for message in case_input.messages))
    return AskedText(other=plain(case_input))


def received_id(case: Case) -> str | None:
    """Return the id that its target gets beside a conversation; None if it gets none."""
    id: str | None = getattr(case.recipe.input, "case", None)
    return case.id if id == "" else id


def _message_text(message: Any) -> str:
    """Return the text of a message; one with parts is taken literally."""
    content = message.content
    return content if isinstance(content, str) else escape_variables(plain_text(content))


def _fill_template(case: Case, root: str) -> str:
    """Return the template of a prompt filled with the inputs of a case."""
    assert case.folder is not None
    file = case.folder.template
    template = decode(read(root, file), file).body
    inputs = Scope().expand(case.recipe.input.inputs)
    missing = {name: f"{{{{{name}}}}}" for name in names_in(template) if name not in inputs}
    text = Scope({**missing, **inputs}).expand(template)
    return escape_variables(text if isinstance(text, str) else str(text))


# Messages as files state them.


def format_messages(messages: Sequence[TraceMessage], role: str) -> Json:
    """Write a lone text as itself, anything else as a list of messages."""
    lone = messages[0] if len(messages) == 1 else None
    if lone is not None and lone.role == role and lone == TraceMessage(lone.role, str(lone.content)):
        return lone.content
    return [message_of(message) for message in messages]


def message_of(message: TraceMessage) -> dict[str, Json]:
    content = message.content
    if is_parts(content):
        content = [{"type": part["type"], "value": part["value"]} for part in content]
    return message_as_json(replace(message, content=content))


# The checks, each complete without the expectation of its case.


Equivalent = Callable[[Grader, Case], Sequence[Grader]]
"""Returns the graders with which a form expresses a grader: the grader itself, if it has nothing better."""


def without_expectation(grader: Grader, case: Case) -> list[Grader]:
    """Return the grader made independent of the expectation of its case: an expected text becomes a pattern,
    and a list of texts becomes the texts to contain."""
    expected, method = case.expected, grader.method
    if isinstance(method, MustInclude) and len(method.choices) == 1:
        return [replace(grader, method=method.choices[0])]
    if expected is None or getattr(method, "of", None) or expected.of:
        return [grader]
    equivalent_method: Method | None = None
    if isinstance(method, ExactMatch):
        equivalent_method = _exact_pattern(method, expected)
    elif isinstance(method, Contains) and not method.states_texts:
        equivalent_method = _with_texts_to_contain(method, expected)
    elif isinstance(method, RegexMatch) and method.pattern is None:
        patterns = values_of(expected)
        if all(isinstance(text, str) for text in patterns):
            either = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{text})" for text in patterns)
            equivalent_method = replace(method, pattern=either)
    return [grader if equivalent_method is None else replace(grader, method=equivalent_method)]


def _exact_pattern(method: ExactMatch, expected: Expected) -> RegexMatch | None:
    """Return a pattern that matches exactly these texts, with the same trimming."""
    texts = values_of(expected)
    if not all(isinstance(text, str) for text in texts):
        return None
    blank = r"\s*" if method.trim_whitespace else ""
    escaped = [re.escape(method.normalize(text)) for text in texts]
    if method.normalize_newlines:
        escaped = [text.replace("\\\n", r"\r?\n") for text in escaped]
    flag = "" if method.case_sensitive else "(?i)"
    inner = escaped[0] if len(escaped) == 1 else f"(?:{'|'.join(escaped)})"
    return RegexMatch(rf"{flag}\A{blank}{inner}{blank}\Z")


def _with_texts_to_contain(method: Contains, expected: Expected) -> Contains | None:
    """Return the check with the texts to contain filled in from the expectation."""
    values = values_of(expected)
    if len(values) == 1:
        texts = expected.value if isinstance(expected.value, list) else [expected.value]
        return replace(method, all=list(map(str, texts)))
    if any(isinstance(value, list) for value in values):
        return None
    return replace(method, any=list(map(str, values)))


def judges_late(case: Case) -> bool:
    """Whether it matters for a case if models judge after a check has failed."""
    return {"code", "model"} <= {grader.kind for grader in case.graders}


# The result of a writer.


class Written(Struct):
    """Files by their names relative to their place, the one with the cases first. `cases`: the cases in them,
    in the order in which they are read back; `lost`: what the writer knows that it cannot express, and
    `notes` what it expresses differently."""

    files: dict[str, str]
    cases: tuple[Case, ...] = ()
    lost: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()


class CaseReader(Struct):
    """Reads eval files as the project does: with its root, its named targets, and a function that reads files
    of git repositories. `mask`: masks secrets in messages about them."""

    root: str
    fetch_file: FetchFile | None = None
    targets: Targets = NO_TARGETS
    mask: Mask = mask_secrets

    def suite(self, path: str) -> Suite:
        return load_evals([path], self.root, fetch_file=self.fetch_file, targets=self.targets)

    def cases(self, file: str) -> list[Case]:
        return load_cases([file], self.root, fetch_file=self.fetch_file, targets=self.targets)


class WriteRequest(Struct):
    """What to write. `name`: the name of all cases together; `today`: the date as files state it."""

    cases: tuple[Case, ...]
    reader: CaseReader
    name: str
    description: str | None = None
    today: str = ""

    @property
    def root(self) -> str:
        return self.reader.root


# The writer of our own form, a file of test cases.

_METADATA = ("difficulty", "tags", "criticality")
_KEY_NAMES = {"timeout": "timeout_seconds"}
_DEFAULTS: dict[str, Any] = {
    "timeout": None,
    "retries": 0,
    "parallel": True,
    "judge_after_failure": True,
    "pass_rule": PassRule(),
}


def write(wish: WriteRequest) -> Written:
    """Write all cases to one file. The run settings that most of them share are written once, at the top."""
    lost: list[Loss] = []
    cases: list[Case] = []
    for case in wish.cases:
        if case.baseline is not None:
            lost.append(Loss("a baseline is not a case", "keep its file: a suite can name it", case))
        elif not case.graders:
            lost.append(Loss("it is not stated what would be right", "give it a grader", case))
        else:
            cases.append(case)
    shared = {key: _most_frequent([getattr(case, key) for case in cases]) for key in _DEFAULTS}
    late_judging = [case.judge_after_failure for case in cases if judges_late(case)]
    shared["judge_after_failure"] = _most_frequent(late_judging) if late_judging else True
    executions = [_format_execution(case) for case in cases if not kind_of(case.recipe).asks_nobody]
    common_execution = _most_frequent(executions)
    config = {
        _KEY_NAMES.get(key, key): _format_rule(value) if isinstance(value, PassRule) else value
        for key, value in shared.items()
        if value != _DEFAULTS[key]
    }
    if common_execution not in (None, {"type": "prompt"}):
        config["execution"] = common_execution
    shared["execution"] = common_execution
    file_id = as_name(wish.name)
    metadata: dict[str, Json] = {"id": file_id}
    if wish.description:
        metadata["description"] = wish.description
    kinds = {case.kind for case in cases}
    document: dict[str, Json] = {
        "schema_version": "1.0",
        "eval_type": kinds.pop() if len(kinds) == 1 else "capability",
        "metadata": metadata,
    }
    if config:
        document["config"] = config
    taken_ids: set[str] = set()
    document["test_cases"] = [
        # an id without the prefix of its file
        {
            "id": unique_id(case.id.partition("/")[2] or case.id, taken_ids),
            **_format_case(case, shared, wish, lost),
        }
        for case in cases
    ]
    return Written({f"{file_id}.yaml": dump_yaml(document)} if cases else {}, tuple(cases), tuple(lost))


def _most_frequent(values: Sequence[Any]) -> Any:
    """Return the most frequent value; of several, the first."""
    counts = Counter(map(repr, values))
    return max(values, key=lambda value: counts[repr(value)], default=None)


def _format_execution(case: Case) -> dict[str, Json]:
    return {"type": case.recipe.execution.type, **stated_fields(case.recipe.execution)}


def _format_case(case: Case, shared: dict[str, Any], wish: WriteRequest, lost: list[Loss]) -> dict[str, Json]:
    keys = ("name", "description", "category", "skip")
    entry: dict[str, Json] = {key: value for key in keys if (value := getattr(case, key)) is not None}
    entry["input"] = _format_input(case, wish.root)
    execution = _format_execution(case)
    wanted = case.wanted
    if not kind_of(case.recipe).asks_nobody and execution != shared["execution"]:
        entry["execution"] = execution
    if case.expected is not None:
        entry["expected"] = {"type": case.expected.type, **stated_fields(case.expected)}
    graders = [grader for grader in case.graders if not Task(grader, case).is_derived]  # of the expectation
    metadata: dict[str, Json] = {key: plain(getattr(case, key)) for key in _METADATA}
    for key in ("timeout", "retries", "parallel"):
        if getattr(case, key) != shared[key]:
            metadata[_KEY_NAMES.get(key, key)] = getattr(case, key)
    metadata = {key: value for key, value in metadata.items() if value or key not in _METADATA}
    parts: dict[str, Json] = {
        "expected_outcome": wanted.outcome,
        "reference": format_messages(wanted.messages, "assistant") if wanted.messages else None,
        "sidecar": dict(wanted.sidecar),
        "conversation_id": wanted.conversation_id,
        "pass_rule": _format_rule(case.pass_rule) if case.pass_rule != shared["pass_rule"] else None,
        "graders": [found for grader in graders if (found := _format_grader(grader, lost, case))],
        "metadata": metadata | ({"weight": case.weight} if case.weight != 1 else {}),
    }
    return entry | {key: part for key, part in parts.items() if part}


def _format_input(case: Case, root: str) -> dict[str, Json]:
    question = question_of(case, root)
    if case.wanted.asked:
        content = [message_of(message) for message in case.wanted.asked]
        id = case.target_id or received_id(case)
        return {"type": MESSAGES, "content": content} | ({"case": id} if id else {})
    if kind_of(case.recipe).asks_nobody:
        text = question.text if question.text is not None else question.other
        return {"type": kind_of(case.recipe).eval_input, "content": text}
    if question.text is not None:
        return {"type": "prompt", "content": question.text}
    return {"type": MESSAGES, "content": [{"role": who, "content": text} for who, text in question.messages]}


def _format_rule(rule: PassRule) -> Json:
    """Write a rule by its name, or with its limits."""
    fields = stated_fields(rule)
    return rule.by if fields.keys() <= {"by"} else fields


def _format_grader(grader: Grader, lost: list[Loss], case: Case) -> dict[str, Json] | None:
    row, method = row_of(grader), grader.method
    if row.kind == "code" and not row.method:
        lost.append(Loss(f"the grader {grader.name}", "no file of ours names one of its kind", case))
        return None
    config: dict[str, Json] = {"method": row.method} if row.method else {}
    if isinstance(method, Composite):
        config["graders"] = [_format_grader(part, lost, case) for part in method.graders]
        aggregator: dict[str, Json] = {}
        if method.judge is not None:
            judged = stated_fields(method.judge.method)
            aggregator = {"type": row_of(method.judge).method, "config": judged}
        if method.on_error != Composite(()).on_error:
            aggregator["on_error"] = method.on_error
        if aggregator:
            config["aggregator"] = aggregator
        if method.pass_at is not None:
            config["pass_at"] = method.pass_at
    else:
        config |= stated_fields(method)
    entry: dict[str, Json] = {"type": grader.kind}
    if grader.name != row.name:
        entry["name"] = grader.name
    entry["config"] = config
    if grader.weight != 1:
        entry["weight"] = tidy(grader.weight)
    if grader.required is not (case.pass_rule.by == "all"):
        entry["required"] = grader.required
    return entry
