"""Write cases to files: what the writers of all forms share, and the writer of our own form, a file of test
cases."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from baselinekit.errors import Place
from baselinekit.files.languages import dump_yaml
from baselinekit.files.text import decode
from baselinekit.graders.base import Task
from baselinekit.graders.by_text import Contains, ExactMatch, MustInclude, RegexMatch
from baselinekit.graders.composite import Aggregator, Composite, StatedComposite
from baselinekit.graders.graders import row_of
from baselinekit.kinds.messages import is_parts, message_as_json, plain_text
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.traces import Role, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.finding import mask_secrets
from baselinekit.secrets.variables import Scope, escape_variables, names_in
from baselinekit.store.project import TEMPLATE, read
from baselinekit.structs import Struct, plain, replace
from baselinekit.suites.capability import (
    CapabilityRecord,
    CaseFileConfig,
    CaseFileMetadata,
    CaseMetadata,
    CasesFile,
    StatedRule,
)
from baselinekit.suites.dialect import MESSAGES, Defaults, numbered
from baselinekit.suites.loading import FetchFile, load_cases, load_evals
from baselinekit.suites.settings import InlineGrader
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
    and a list of texts becomes the texts to contain. One with alternatives stays as it is."""
    expected, method = case.expected, grader.method
    if isinstance(method, MustInclude) and len(method.choices) == 1:
        return [replace(grader, method=method.choices[0])]
    if expected is None or expected.alternatives or expected.of or getattr(method, "of", None):
        return [grader]
    value = expected.value
    if isinstance(method, ExactMatch) and isinstance(value, str):
        method = _exact_pattern(method, value)
    elif isinstance(method, Contains) and not method.states_texts:
        method = replace(method, all=[*map(str, value if isinstance(value, list) else [value])])
    elif isinstance(method, RegexMatch) and method.pattern is None and isinstance(value, str):
        method = replace(method, pattern=value)
    return [replace(grader, method=method)]


def _exact_pattern(method: ExactMatch, text: str) -> RegexMatch:
    """Return a pattern that matches exactly this text, with the same trimming."""
    blank = r"\s*" if method.trim_whitespace else ""
    escaped = re.escape(method.normalize(text))
    if method.normalize_newlines:
        escaped = escaped.replace("\\\n", r"\r?\n")
    return RegexMatch(rf"{'' if method.case_sensitive else '(?i)'}\A{blank}{escaped}{blank}\Z")


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


def write(wish: WriteRequest) -> Written:
    """Write all cases to one file. The run settings that all of them share are written once, at the top."""
    lost: list[Loss] = []
    cases: list[Case] = []
    for case in wish.cases:
        if case.baseline is not None:
            lost.append(Loss("a baseline is not a case", "keep its file: a suite can name it", case))
        elif not case.graders:
            lost.append(Loss("it is not stated what would be right", "give it a grader", case))
        else:
            cases.append(case)
    usual = replace(
        _USUAL,
        timeout=_shared([case.timeout for case in cases], None),
        retries=_shared([case.retries for case in cases], 0),
        parallel=_shared([case.parallel for case in cases], True),
        judge_after_failure=_shared([case.judge_after_failure for case in cases if judges_late(case)], True),
        pass_rule=_shared([case.pass_rule for case in cases], PassRule()),
        recipe=_shared([replace(case.recipe, input=None) for case in cases if _asks(case)], _USUAL.recipe),
    )
    settings = _settings(usual, _USUAL)
    config = CaseFileConfig(
        judge_after_failure=None if usual.judge_after_failure else False,
        pass_rule=_stated_rule(usual, _USUAL),
        execution=_stated_execution(usual, _USUAL),
        **settings,
    )
    taken_ids: set[str] = set()
    records = []
    for case in cases:
        id = unique_id(case.id.partition("/")[2] or case.id, taken_ids)  # without the prefix of its file
        records.append(_record(id, case, usual, wish, lost))
    kinds = {case.kind for case in cases}
    document = CasesFile(
        schema_version="1.0",
        eval_type=kinds.pop() if len(kinds) == 1 else "capability",
        metadata=CaseFileMetadata(as_name(wish.name), description=wish.description),
        config=None if config == CaseFileConfig() else config,
        test_cases=records,
    )
    files = {f"{document.metadata.id}.yaml": dump_yaml(plain(document))} if cases else {}
    return Written(files, tuple(cases), tuple(lost))


_USUAL = Defaults("").usual


def _shared(values: Sequence[Any], usual: Any) -> Any:
    """The value that all cases have, else the usual one."""
    return values[0] if values and all(value == values[0] for value in values) else usual


def _asks(case: Case) -> bool:
    return not kind_of(case.recipe).asks_nobody


# What a case states, where it differs from what its file has for all.


def _settings(case: Case, usual: Case) -> dict[str, Any]:
    keys = {"timeout": "timeout_seconds", "retries": "retries", "parallel": "parallel"}
    return {
        key: getattr(case, name) for name, key in keys.items() if getattr(case, name) != getattr(usual, name)
    }


def _stated_rule(case: Case, usual: Case) -> StatedRule:
    """Write a rule by its name, or with its limits."""
    rule = case.pass_rule
    if rule == usual.pass_rule:
        return None
    return rule.by if rule == PassRule(rule.by) else rule


def _stated_execution(case: Case, usual: Case) -> Any:
    return None if case.recipe.execution == usual.recipe.execution else case.recipe.execution


def _record(id: str, case: Case, usual: Case, wish: WriteRequest, lost: list[Loss]) -> CapabilityRecord:
    expected, wanted = case.expected, case.wanted
    graders = [grader for grader in case.graders if not Task(grader, case).is_derived]  # of the expectation
    stated = [found for grader in graders if (found := _stated_grader(grader, lost, case))]
    facts: dict[str, Any] = {"difficulty": case.difficulty, "criticality": case.criticality}
    metadata = CaseMetadata(tags=[*case.tags], weight=tidy(case.weight), **facts, **_settings(case, usual))
    return CapabilityRecord(
        id=id,
        name=case.name,
        description=case.description,
        category=case.category,
        skip=case.skip,
        input=_format_input(case, wish.root),
        execution=_stated_execution(case, usual) if _asks(case) else None,
        expected=ABSENT if expected is None else {"type": expected.type, **plain(expected)},
        expected_outcome=wanted.outcome,
        reference=format_messages(wanted.messages, "assistant") if wanted.messages else ABSENT,
        sidecar=dict(wanted.sidecar),
        conversation_id=wanted.conversation_id,
        pass_rule=_stated_rule(case, usual),
        graders=stated or None,
        metadata=None if metadata == CaseMetadata() else metadata,
    )


def _format_input(case: Case, root: str) -> dict[str, Json]:
    question = question_of(case, root)
    if case.wanted.asked:
        content = [message_of(message) for message in case.wanted.asked]
        id = case.target_id or received_id(case)
        return {"type": MESSAGES, "content": content} | ({"case": id} if id else {})
    if not _asks(case):
        text = question.text if question.text is not None else question.other
        return {"type": kind_of(case.recipe).eval_input, "content": text}
    if question.text is not None:
        return {"type": "prompt", "content": question.text}
    return {"type": MESSAGES, "content": [{"role": who, "content": text} for who, text in question.messages]}


def _stated_grader(grader: Grader, lost: list[Loss], case: Case) -> InlineGrader | None:
    row, method = row_of(grader), grader.method
    if row.kind == "code" and not row.method:
        lost.append(Loss(f"the grader {grader.name}", "no file of ours names one of its kind", case))
        return None
    if isinstance(method, Composite):
        aggregator = Aggregator(on_error=method.on_error)
        if method.judge is not None:
            config = plain(method.judge.method)
            aggregator = replace(aggregator, type=row_of(method.judge).method, config=config)
        parts = [_stated_grader(part, lost, case) for part in method.graders]
        method = StatedComposite(parts, aggregator, method.pass_at)
    return InlineGrader(
        type=grader.kind,
        name=None if grader.name == row.name else grader.name,
        config=({"method": row.method} if row.method else {}) | plain(method),
        weight=tidy(grader.weight),
        required=None if grader.required is (case.pass_rule.by == "all") else grader.required,
    )
