"""What a dialect of eval files is, and the questions that cases of all dialects ask."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from baselinekit.documents.languages import LINES
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Place, Problem, Refused, nearest
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case, Kind, Suite
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.recipes import Execution, Recipe, Seconds
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json, Path, json_type
from baselinekit.programs.gitaddress import FetchedFile
from baselinekit.schema.complaints import Parts, Schema, describe_value
from baselinekit.schema.records import below, check, place_problems
from baselinekit.store import records
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.reading import same_ids
from baselinekit.store.records import beside
from baselinekit.suites.dialects.agentvmessages import USER, NamedFiles, read_messages
from baselinekit.suites.settings import NUMBERED, Settings
from baselinekit.suites.targets import DEFAULT, NO_TARGETS, Targets
from baselinekit.suites.targetsfile import ReadList, with_found
from baselinekit.variables import unexpanded

# What a dialect is, and one load of eval files: what their items give, each read by its dialect.

Criticality = Literal["critical", "high", "medium", "low"]


FORMS_BY_KEY = {
    "test_cases": "a file of test cases",
    "eval_suite": "a suite",
    "capability_eval": "a capability eval",
    "regression_eval": "a regression eval",
    "eval_trigger": "an eval trigger",
    "eval_type": "a regression record",
}
"""What a file of evals is, by a key that only it has."""


@frozen
class Dialect:
    """One form of eval files. `read`: an item, whose cases are added to its document, and what is wrong with
    it; `schema`: what an item may be, its parts added to those that are there. `recognises`: by the keys of
    an item; None for what stands below its `wrapper` only, where items of other dialects may stand too.
    `in_lists`: whether a file may hold several; `in_lines`: whether a case in a file of JSON Lines is of this
    form where another line is."""

    name: str
    read: "Callable[[EvalItem, EvalDocument, Defaults], list[Problem]]"
    schema: Callable[[Parts], list[Schema]]
    recognises: Callable[[dict[str, Json]], bool] | None = None
    wrapper: str | None = None
    in_lists: bool = True
    in_lines: bool = False


@frozen
class Defaults:
    """What holds for a case that says nothing of its own. `target`: whom the operator wants asked;
    `execution`: whom the file or the suite does; `targets`: who can be asked by a name; `judge`: the model
    that judges the answers of the target of the operator."""

    root: str
    target: Execution | None = None
    targets: Targets = NO_TARGETS
    judge: str | None = None
    execution: Execution | None = None
    timeout: Seconds | None = None
    retries: int = 0
    parallel: bool = True
    category: str | None = None
    tags: tuple[str, ...] = ()
    criticality: Criticality | None = None
    skip: str | None = None
    judge_after_failure: bool = True
    pass_rule: PassRule = field(default_factory=PassRule)
    kind: Kind = "capability"
    before: str = ""
    graders: tuple[Json, ...] = ()
    named: Mapping[str, Grader] = field(default_factory=dict)

    @property
    def asked(self) -> Execution:
        return self.target or self.execution or PromptExecution("prompt")


# What an eval file holds: its items, each with its form, wherever it stands.


BESIDE = ("baselines", "config", "fixtures", "results")
"""Folders below a named one that hold what goes with evals: known outputs, graders and thresholds, files that
cases name, and what runs have written."""

_OTHERS: dict[str, tuple[str, str, str]] = {
    "ref": ("nothing", "a reference", "in a suite, write: $ref: ./cases.yaml"),
    "eval_report": ("report", "the report of a run", "reports belong in results/"),
    "format": ("report", "the result of a run", "results belong in results/"),
    "tests": (
        "nothing",
        "an eval file of another tool",
        "AgentV 2.5 says `evalcases`, and its cases `input`",
    ),
}
"""What is no eval case, by a key that only it has: its form, what it looks like, and what to do."""


_KEYS_OF_CASES = ("test_cases", "input", "expected", "grader", "current", "baseline")


@frozen
class EvalItem:
    """One thing in a document: its form (the name of a dialect, "report" or "nothing"), and where it stands.
    `problem`: why it is nothing that could be run."""

    form: str
    at: Path
    raw: Json
    problem: Problem | None = None

    @classmethod
    def nothing(cls, problem: Problem) -> "EvalItem":
        return cls("nothing", problem.at or (), None, problem)


def items(document: Json, dialects: Sequence[Dialect]) -> Iterator[EvalItem]:
    """What a document holds, in its order."""
    if document is None:
        return
    if not isinstance(document, dict):
        yield from _listed(document, (), dialects)
        return
    wrapped = {dialect.wrapper: dialect for dialect in dialects if dialect.wrapper}
    wrappers = [key for key in wrapped if key in document]
    if not wrappers:
        yield _item(document, (), dialects)
        return
    for key in document:
        if key not in wrappers:
            message = f"unknown key {key!r} beside {wrappers[0]}"
            yield EvalItem.nothing(Problem("BK103", message, f"move it below {wrappers[0]}", at=(key,)))
    for key in wrappers:
        dialect = wrapped[key]
        if dialect.in_lists:
            yield from _listed(document[key], (key,), dialects, dialect.name)
        else:
            yield EvalItem(dialect.name, (key,), document[key])


def _listed(
    value: Json, at: Path, dialects: Sequence[Dialect], form: str | None = None
) -> Iterator[EvalItem]:
    if isinstance(value, list) and not value:
        yield EvalItem.nothing(Problem("BK710", "an empty list", "add a case", at=at))
    for number, raw in enumerate(value if isinstance(value, list) else [value]):
        here = (*at, number) if isinstance(value, list) else at
        if not isinstance(raw, dict):
            hint = "a case is a mapping with id, input, expected and grader"
            yield EvalItem.nothing(Problem("BK710", f"not a case but a JSON {json_type(raw)}", hint, at=here))
        else:
            yield EvalItem(form, here, raw) if form else _item(raw, here, dialects)


def _item(raw: dict[str, Json], at: Path, dialects: Sequence[Dialect]) -> EvalItem:
    """By what only one of the forms has."""
    message = hint = ""
    if {"output", "human"} <= raw.keys():
        message = "this looks like labels for a judge"
        hint = "move it into the folder config/ beside the cases, and name it there: calibration: config/…"
    elif raw.keys() <= {"grader", "graders"}:
        message = "this is only a grader"
        hint = "put it in a case, beside id and input, or give it a name in config/graders.yaml"
    else:
        known = next((d for d in reversed(dialects) if d.recognises and d.recognises(raw)), None)
        if known is not None:
            return EvalItem(known.name, at, raw)
    form, words, todo = next((row for key, row in _OTHERS.items() if key in raw), ("nothing", "", ""))
    if words and not message:
        message, hint = f"this looks like {words}", todo
    if not message:
        keys = [*(one.wrapper for one in dialects if one.wrapper), *_KEYS_OF_CASES]
        message = f"it has {', '.join(map(str, list(raw)[:5])) or 'nothing'}"
        hint = next((near for key in raw if (near := nearest(key, keys))), "")
        hint = hint or "a case has id, input, expected and grader"
    return EvalItem(form, at, None, Problem("BK710", f"not a case: {message}", hint, at=at))


# One load of eval files: what they gave so far, where they lead, and everything that is wrong with them.


@dataclass(slots=True)
class Loading:
    """What the files gave so far. `open`: the suites that lead to where we are; `referred`: what suites have
    named, and who did first; `defaults`: what a suite says for its cases; `walked`: what nobody named, but
    was found in a folder; `files`: all that are read; `beside`: what stands beside a file for all of its
    cases, by that file; `renaming`: how the ids of a file become other ones; `described`: what a file says of
    itself. `fetch_file`: reads a file that
    is named by an address of a git repository; `targets`: who can be asked by a name, and
    `found_targets` the lists of them that stand beside eval files; `workers`: how many
    cases those are asked at once who say so."""

    root: str
    dialects: Sequence[Dialect]
    cases: list[Case] = field(default_factory=list)
    suites: list[Suite] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    referred: dict[str, tuple[str, str]] = field(default_factory=dict)
    defaults: dict[str, Defaults] = field(default_factory=dict)
    walked: set[str] = field(default_factory=set)
    files: frozenset[str] = frozenset()
    beside: dict[str, object] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    renaming: dict[str, str] = field(default_factory=dict)
    described: dict[str, str] = field(default_factory=dict)
    fetch_file: Callable[[str], FetchedFile] | None = None
    targets: Targets = NO_TARGETS
    found_targets: dict[str, ReadList] = field(default_factory=dict)
    workers: list[int] = field(default_factory=list)

    def wrong(self) -> list[Problem]:
        """All that is wrong, once: a suite may be asked for twice."""
        same = map(self._told_apart, same_ids(self.cases, self.root))
        return list(dict.fromkeys([*self.settings.problems, *self.problems, *same]))

    def _told_apart(self, problem: Problem) -> Problem:
        """An id of two files, with how the ids of one of them are made different."""
        file = problem.place.file if problem.place else ""
        if file not in self.renaming or f"it is at {file}:" in problem.hint:
            return problem
        return replace(problem, hint=f"{problem.hint}, or {self.renaming[file]}")

    def finish(self) -> None:
        """Refuse what cannot be used, all at once."""
        if problems := self.wrong():
            raise error_for(problems)(*problems)

    def file(self, file: str, defaults: Defaults, only_suite: bool = False) -> None:
        """All of a file."""
        try:
            data = read(self.root, file)
            body = decode(data, file).body
            documents, source = records.opened(data, body, file, NUMBERED)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(file)) for problem in error.problems]
            return
        defaults = replace(defaults, named=self.settings.graders(self.root, file, defaults.named))
        defaults = self._with_targets(file, defaults)
        wrong: dict[int, list[Problem]] = {}
        empty = True
        found_items = [[*items(document, self.dialects)] for document in documents]
        of_lines = self._form_of_lines(file, found_items)
        for number, found_in in enumerate(found_items):
            one = EvalDocument(self, file, number, source)
            for item in found_in:
                empty = False
                item = replace(item, form=of_lines) if of_lines and item.form == "case" else item
                found = one.no_suite(item) if only_suite else None
                wrong.setdefault(number, []).extend([found] if found else one.item(item, defaults))
        if any(wrong.values()):
            self.problems += place_problems(body, file, wrong)
        if empty:
            hint = "write a case into it, or remove it"
            self.problems.append(Problem("BK710", "not a case: the file is empty", hint, Place(file, 1, 1)))

    def _with_targets(self, file: str, defaults: Defaults) -> Defaults:
        """With those who can be asked by a name from this file on, and the one whom the operator chose."""
        here = with_found(self.targets, self.root, file, self.found_targets)
        defaults = replace(defaults, targets=here)
        if here.chosen is None or here.chosen == DEFAULT:
            return defaults
        target, problems = here.find(here.chosen)
        if target is None:
            told = [
                one if one.place else replace(one, message=f"--target: {one.message}") for one in problems
            ]
            self.problems += [one for one in told if one not in self.problems]
            return defaults
        self.workers += [target.workers] if target.workers is not None else []
        return replace(defaults, target=target.execution, judge=target.judge)

    def _form_of_lines(self, file: str, found: Sequence[Sequence[EvalItem]]) -> str | None:
        """The form that all cases of a file of JSON Lines have, because one of them has."""
        if not file.endswith(LINES):
            return None
        forms = {dialect.name for dialect in self.dialects if dialect.in_lines}
        return next((item.form for line in found for item in line if item.form in forms), None)


_NOT_FETCHED = ("BK681", "BK682", "BK687")


def error_for(problems: Sequence[Problem]) -> type[BaselinekitError]:
    """Refused where that is all that is wrong, and so for a file of others that could not be fetched."""
    if all(problem.code.startswith("BK4") for problem in problems):
        return Refused
    return CannotReplay if all(problem.code in _NOT_FETCHED for problem in problems) else InvalidInput


@frozen
class EvalDocument:
    """One document on its way to cases: they are kept in the load, and what is wrong comes back with paths
    into the document."""

    loading: Loading
    file: str
    number: int
    source_of: records.SourceOf

    @property
    def cases(self) -> list[Case]:
        return self.loading.cases

    def source(self, at: Path, raw: dict[str, Json]) -> Source:
        return self.source_of(self.number, at, raw)

    def no_suite(self, item: EvalItem) -> Problem | None:
        if item.form in ("suite", "gate") or item.problem is not None:
            return None
        message = "not a suite: it contains cases without `eval_suite:`"
        return Problem("BK710", message, f"run it as it is: baselinekit run {self.file}", at=item.at)

    def item(self, item: EvalItem, defaults: Defaults) -> list[Problem]:
        """Read an item by its dialect. A report may lie among cases, and is none."""
        if item.problem is not None:
            passed_over = item.form == "report" and self.file in self.loading.walked
            return [] if passed_over else [item.problem]
        dialect = next(dialect for dialect in self.loading.dialects if dialect.name == item.form)
        return dialect.read(item, self, defaults)


# `input:` and `execution:` of a case: what is asked, and whom, as a recipe.


ReadRecipe = tuple[Recipe | None, list[Problem]]
"""The recipe of a case, if it could be read, and what is wrong with its input."""

MESSAGES = "messages"
"""The type of an input that is a conversation."""

EXECUTIONS: dict[str, Any] = {name: kind.execution for name, kind in KINDS.items()}


@frozen
class StatedInput:
    """The `input:` of a case."""

    type: Json
    content: Json
    context: Json = None


@frozen
class CaseOrigin:
    """Where a case is written, and whom it asks when it does not say so itself. `default`: nobody did."""

    root: str
    file: str
    target: Execution


def execution(raw: Json) -> tuple[Execution | None, list[Problem]]:
    """An `execution:` by its type."""
    if not isinstance(raw, dict):
        return None, [
            Problem("BK105", f"expected a mapping, found {describe_value(raw)}", "such as {type: prompt}")
        ]
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in EXECUTIONS:
        known = f"one of {', '.join(EXECUTIONS)}"
        if kind is None:
            return None, [Problem("BK104", "the key 'type' is missing", known, at=("type",))]
        hint = nearest(str(kind), EXECUTIONS) or known
        return None, [Problem("BK105", f"unknown type {describe_value(kind)}", hint, at=("type",))]
    stated, problems = check(EXECUTIONS[kind], raw)
    return stated, problems


def recipe(raw: Json, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    """The recipe of a case, or what is wrong with its input. `own`: whom the case itself says to ask."""
    asked, problems = check(StatedInput, raw)
    type = raw.get("type", "prompt") if isinstance(raw, dict) else "prompt"
    if not isinstance(type, str) or type not in _READ:
        message = f"expected one of {', '.join(_READ)}, found {describe_value(type)}"
        problems.insert(0, Problem("BK105", message, nearest(str(type), _READ), at=("type",)))
    if asked is None or problems:
        return None, problems
    made, problems = _READ[asked.type](asked, own, where)
    if made is not None and not problems:
        for problem in kind_of(made).check(made):  # of the recipe: in the file it stands below the content
            at = problem.at or ()
            at = ("content", *at[2:]) if at[:2] == ("current", "input") else ()
            problems.append(replace(problem, at=at))
    return (None if problems else made), problems


def _prompt(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    if not isinstance(asked.content, str):
        return None, [_kind("a text", asked.content)]
    return _texted(asked.content, asked, own, where)


def _file(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    """What is in the file is asked as it is: a `{{name}}` in there is no variable."""
    if not isinstance(asked.content, str) or not asked.content:
        return None, [_kind("the path of a file", asked.content)]
    text, problem = file_text(where.root, where.file, asked.content)
    if text is None:
        return None, below([problem] if problem else [], ("content",))
    return _texted(unexpanded(text), asked, own, where)


def _messages(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    """A conversation: each message stands for itself, and no `{{name}}` in it is a variable."""
    if not isinstance(asked.content, list):
        return None, [_kind("a list of messages", asked.content)]
    messages, problems = conversation(asked.content, where)
    target = own or where.target
    question = None if problems else KINDS[target.type].input_of_messages(messages)
    if question is not None or problems:
        return (None if problems else Recipe(question, target)), below(problems, ("content",))
    message = f"messages are for a model or an agent, not for {target.type}"
    return None, [Problem("BK715", message, "`execution: {type: prompt}`", at=("type",))]


def conversation(content: Json, where: CaseOrigin) -> tuple[tuple[TraceMessage, ...], list[Problem]]:
    """Messages as a case states them; the files that they name are looked for from its own file on."""
    return read_messages(content, USER, NamedFiles.of(where.root, where.file))


def _texted(text: str, asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    target = own or where.target
    question = KINDS[target.type].input_of_text(text, asked.context)
    if question is not None:
        return Recipe(question, target), []
    message = f"a {asked.type} is for a model or a skill, not for {target.type}"
    return None, [Problem("BK715", message, "`execution: {type: skill, skill_name: …}`", at=("type",))]


def _asked(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    kind = _ASKED[asked.type]
    question, problems = kind.input_of_case(asked.content, asked.context)
    target, other = _target(asked, own, where, kind)
    if problems or other:
        return None, [*below(problems, ("content",)), *other]
    return Recipe(question, target), []


def _target(
    asked: StatedInput, own: Execution | None, where: CaseOrigin, kind: RecipeKind
) -> tuple[Execution, list[Problem]]:
    """Whom an input of one kind is asked of, and what is wrong where the case itself names another kind."""
    is_usual = where.target.type == kind.name or kind.names_target
    target: Execution = own or (where.target if is_usual else kind.execution(kind.name))
    if target.type == kind.name:
        return target, []
    message = f"an input of `type: {asked.type}` cannot be sent to an execution of `type: {target.type}`"
    words = ", ".join(filter(None, (f"type: {kind.name}", kind.names_target)))
    return target, [Problem("BK715", message, f"`execution: {{{words}}}`", at=("type",))]


def _kind(wanted: str, content: Json) -> Problem:
    return Problem("BK105", f"expected {wanted}, found {describe_value(content)}", at=("content",))


def file_text(root: str, file: str, name: str) -> tuple[str | None, Problem | None]:
    """The text of a file that an eval file names, from its own folder on."""
    folder, path = beside(root, file, name)
    try:
        return read(folder, path, MAX_OUTPUT_BYTES).decode("utf-8"), None
    except UnicodeDecodeError:
        return None, Problem("BK112", f"{path} is not UTF-8 text", "name a text file", at=())
    except BaselinekitError as error:
        (problem,) = error.problems
        message = f"{path}: {problem.message}" if problem.place else problem.message
        return None, replace(problem, message=message, place=None, at=())


_ASKED = {kind.eval_input: kind for kind in KINDS.values() if kind.eval_input}
_READ: dict[str, Callable[[StatedInput, Execution | None, CaseOrigin], ReadRecipe]] = {
    "prompt": _prompt,
    "file": _file,
    MESSAGES: _messages,
    **dict.fromkeys(_ASKED, _asked),
}
INPUTS: dict[str, Mapping[str, Any]] = {
    "prompt": {"type": "string"},
    "file": {"type": "string", "description": "The path of a file, from the folder of this one."},
    MESSAGES: {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["role"]}},
    **{name: kind.eval_content for name, kind in _ASKED.items()},
}
"""The types of an input, each with the JSON Schema of its content."""
