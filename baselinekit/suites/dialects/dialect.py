"""The base of all dialects of eval files, and the inputs that cases of all dialects have."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from baselinekit.clients.programs.gitfiles import FetchedFile
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Place, Problem, Refused, suggest
from baselinekit.files.languages import LINES
from baselinekit.files.text import decode
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case, Kind, Suite
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.recipes import Execution, Recipe, Seconds
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.schema import (
    Parts,
    Schema,
    describe_value,
    move_to_name,
    place_problems,
    prefix_paths,
    read_as,
)
from baselinekit.secrets.variables import escape_variables
from baselinekit.store import records
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.reading import find_repeated_ids
from baselinekit.store.records import output_location
from baselinekit.structs import Meta, Struct, field, replace
from baselinekit.suites.messages import USER, NamedFiles, has_role, read_messages, recipe_of
from baselinekit.suites.settings import NUMBERED, Settings
from baselinekit.suites.targets import DEFAULT, NO_TARGETS, Targets, read_execution
from baselinekit.suites.targetsfile import ReadList, add_discovered_targets

Criticality = Literal["critical", "high", "medium", "low"]
_SECONDS = Meta(gt=0, le=366 * 86_400, description="a number of seconds above 0, at most a year")
CaseTimeLimit = Annotated[int, _SECONDS] | Annotated[float, _SECONDS]
Retries = Annotated[int, Meta(ge=0, le=1_000, description="an integer from 0 to 1,000")]


FORMS_BY_KEY = {
    "test_cases": "a file of test cases",
    "eval_suite": "a suite",
    "capability_eval": "a capability eval",
    "regression_eval": "a regression eval",
    "eval_trigger": "an eval trigger",
    "eval_type": "a regression record",
}
"""The kinds of eval files, by a key that only they have."""


class Dialect(Struct):
    """A form of eval files. `read`: reads an item, adds its cases to its document, and returns its problems;
    `schema`: the schemas of an item, with their parts added to the given ones. `recognises`: whether an item
    is of this form, by its keys; None if it only occurs below its `wrapper`, which may also hold items of
    other dialects. `in_lists`: whether a file may hold several; `in_lines`: whether all cases of a JSON Lines
    file are of this form if one line is."""

    name: str
    read: "Callable[[EvalItem, EvalDocument, Defaults], list[Problem]]"
    schema: Callable[[Parts], list[Schema]]
    recognises: Callable[[dict[str, Json]], bool] | None = None
    wrapper: str | None = None
    in_lists: bool = True
    in_lines: bool = False


class Defaults(Struct):
    """The settings of a case that states none itself. `target`: the operator's target; `execution`: the one
    of the file or the suite; `targets`: the named targets; `judge`: the model that judges the answers of the
    operator's target; `workers`: collects the limits of the named targets that are used."""

    root: str
    target: Execution | None = None
    targets: Targets = NO_TARGETS
    workers: list[int] = field(default_factory=list)
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
    id_prefix: str = ""
    graders: tuple[Json, ...] = ()
    named_graders: Mapping[str, Grader] = field(default_factory=dict)

    def target_for(self, own: Execution | None = None) -> Execution:
        """The target of a case with this one of its own. The operator's takes precedence; how an answer is
        asked for and read (`system`, `parse`, `collect` …) is the case's where that target leaves it open."""
        target, stated = self.target, own or self.execution
        if target is None or stated is None or target.type != stated.type:
            return target or stated or PromptExecution("prompt")
        open_names = [
            name
            for name in _OF_THE_CASE
            if any(getattr(target, name, ABSENT) is value for value in (None, False))
        ]
        changes: dict[str, Any] = {name: getattr(stated, name) for name in open_names}
        return replace(target, **changes)

    def case(
        self, id: str, recipe: Recipe, graders: Sequence[Grader], tags: Sequence[str] = (), **stated: Any
    ) -> Case:
        """Return a case with what its file states; None leaves open what these settings decide."""
        shared: dict[str, Any] = {name: getattr(self, name) for name in _SHARED_BY_CASES}
        own = {name: value for name, value in stated.items() if value is not None}
        all_tags = tuple(dict.fromkeys((*self.tags, *tags)))
        return Case(id, recipe, tuple(graders), tags=all_tags, **(shared | own))


_SHARED_BY_CASES = (
    *("kind", "category", "criticality", "timeout", "retries", "parallel", "skip"),
    *("judge_after_failure", "pass_rule"),
)
_OF_THE_CASE = ("system", "temperature", "max_tokens", "json", "parse", "collect", "checks", "scores")


# The items of an eval file, each with its form, at any place.


BESIDE = ("baselines", "config", "fixtures", "results")
"""Folders below a named one that hold no evals: known outputs, graders and thresholds, files that cases name,
and the output of runs."""

_NOT_CASES: dict[str, tuple[str, str, str]] = {
    "ref": ("nothing", "a reference", "in a suite, write: $ref: ./cases.yaml"),
    "eval_report": ("report", "the report of a run", "reports belong in results/"),
    "format": ("report", "the result of a run", "results belong in results/"),
    "tests": (
        "nothing",
        "an eval file of another tool",
        "AgentV 2.5 says `evalcases`, and its cases `input`",
    ),
}
"""Items that are not eval cases, by a key that only they have: form, description and advice."""


_KEYS_OF_CASES = ("test_cases", "input", "expected", "grader", "current", "baseline")


class EvalItem(Struct):
    """An item of a document: its form (the name of a dialect, "report" or "nothing"), and its path.
    `problem`: why it cannot be run."""

    form: str
    at: Path
    raw: Json
    problem: Problem | None = None

    @classmethod
    def nothing(cls, problem: Problem) -> "EvalItem":
        return cls("nothing", problem.at or (), None, problem)


def items(document: Json, dialects: Sequence[Dialect]) -> Iterator[EvalItem]:
    """Return the items of a document, in order."""
    if document is None:
        return
    if not isinstance(document, dict):
        yield from _items_of_list(document, (), dialects)
        return
    wrapped = {dialect.wrapper: dialect for dialect in dialects if dialect.wrapper}
    wrappers = [key for key in wrapped if key in document]
    if not wrappers:
        yield _recognise(document, (), dialects)
        return
    for key in document:
        if key not in wrappers:
            message = f"unknown key {key!r} beside {wrappers[0]}"
            yield EvalItem.nothing(Problem("BK103", message, f"move it below {wrappers[0]}", at=(key,)))
    for key in wrappers:
        dialect = wrapped[key]
        if dialect.in_lists:
            yield from _items_of_list(document[key], (key,), dialects, dialect.name)
        else:
            yield EvalItem(dialect.name, (key,), document[key])


def _items_of_list(
    value: Json, at: Path, dialects: Sequence[Dialect], form: str | None = None
) -> Iterator[EvalItem]:
    if isinstance(value, list) and not value:
        yield EvalItem.nothing(Problem("BK710", "an empty list", "add a case", at=at))
    for number, raw in enumerate(value if isinstance(value, list) else [value]):
        path = (*at, number) if isinstance(value, list) else at
        if not isinstance(raw, dict):
            hint = "a case is a mapping with id, input, expected and grader"
            yield EvalItem.nothing(Problem("BK710", f"not a case but a JSON {json_type(raw)}", hint, at=path))
        else:
            yield EvalItem(form, path, raw) if form else _recognise(raw, path, dialects)


def _recognise(raw: dict[str, Json], at: Path, dialects: Sequence[Dialect]) -> EvalItem:
    """Recognise an item by keys that only one form has."""
    message = hint = ""
    if {"output", "human"} <= raw.keys():
        message = "this looks like labels for a judge"
        hint = "move it into the folder config/ beside the cases, and name it there: calibration: config/…"
    elif raw.keys() <= {"grader", "graders"}:
        message = "this is only a grader"
        hint = "put it in a case, beside id and input, or give it a name in config/graders.yaml"
    else:
        matching = (row for row in reversed(dialects) if row.recognises and row.recognises(raw))
        dialect = next(matching, None)
        if dialect is not None:
            return EvalItem(dialect.name, at, raw)
    rows = (row for key, row in _NOT_CASES.items() if key in raw)
    form, description, advice = next(rows, ("nothing", "", ""))
    if description and not message:
        message, hint = f"this looks like {description}", advice
    if not message:
        keys = [*(candidate.wrapper for candidate in dialects if candidate.wrapper), *_KEYS_OF_CASES]
        message = f"it has {', '.join(map(str, list(raw)[:5])) or 'nothing'}"
        hint = next((suggestion for key in raw if (suggestion := suggest(key, keys))), "")
        hint = hint or "a case has id, input, expected and grader"
    return EvalItem(form, at, None, Problem("BK710", f"not a case: {message}", hint, at=at))


# A load of eval files: what was read so far, the references between files, and all problems.


@dataclasses.dataclass(slots=True)
class Loading:
    """All that was read so far. `open_suites`: the suites on the way to the current file; `references`: the
    files that suites refer to, with the top suite and the file of the first reference; `defaults`: the
    defaults of each suite for its cases; `discovered`: files that were found in a folder, not named; `files`:
    all files to read; `shared_facts`: what a file next to a file of cases states for all of them, by the
    latter; `rename_hints`: how to change the ids of a file; `descriptions`: by file. `fetch_file`: reads a
    file named by the address of a git repository; `targets`: the named targets, and `found_targets`: the
    lists of targets found near eval files; `workers`: the limits of workers that targets state."""

    root: str
    dialects: Sequence[Dialect]
    cases: list[Case] = dataclasses.field(default_factory=list)
    suites: list[Suite] = dataclasses.field(default_factory=list)
    problems: list[Problem] = dataclasses.field(default_factory=list)
    open_suites: list[str] = dataclasses.field(default_factory=list)
    references: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    defaults: dict[str, Defaults] = dataclasses.field(default_factory=dict)
    discovered: set[str] = dataclasses.field(default_factory=set)
    files: frozenset[str] = frozenset()
    shared_facts: dict[str, object] = dataclasses.field(default_factory=dict)
    settings: Settings = dataclasses.field(default_factory=Settings)
    rename_hints: dict[str, str] = dataclasses.field(default_factory=dict)
    descriptions: dict[str, str] = dataclasses.field(default_factory=dict)
    fetch_file: Callable[[str], FetchedFile] | None = None
    targets: Targets = NO_TARGETS
    found_targets: dict[str, ReadList] = dataclasses.field(default_factory=dict)
    workers: list[int] = dataclasses.field(default_factory=list)

    def all_problems(self) -> list[Problem]:
        """Return all problems, each once, as a suite may be read twice."""
        duplicate_ids = map(self._with_rename_hint, find_repeated_ids(self.cases, self.root))
        return list(dict.fromkeys([*self.settings.problems, *self.problems, *duplicate_ids]))

    def _with_rename_hint(self, problem: Problem) -> Problem:
        """Add to a duplicate id of two files how to change the ids of one of them."""
        file = problem.place.file if problem.place else ""
        if file not in self.rename_hints or f"it is at {file}:" in problem.hint:
            return problem
        return replace(problem, hint=f"{problem.hint}, or {self.rename_hints[file]}")

    def finish(self) -> None:
        """Raise all problems at once, if there are any."""
        if problems := self.all_problems():
            raise error_for(problems)(*problems)

    def file(self, file: str, defaults: Defaults, only_suite: bool = False) -> None:
        """Read a whole file."""
        try:
            data = read(self.root, file)
            body = decode(data, file).body
            documents, source = records.load_documents(data, body, file, NUMBERED)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(file)) for problem in error.problems]
            return
        named_graders = self.settings.graders(self.root, file, defaults.named_graders)
        defaults = self.with_targets(file, replace(defaults, named_graders=named_graders))
        problems_by_document: dict[int, list[Problem]] = {}
        empty = True
        items_by_document = [[*items(document, self.dialects)] for document in documents]
        form_of_lines = self._form_of_lines(file, items_by_document)
        for number, document_items in enumerate(items_by_document):
            eval_document = EvalDocument(self, file, number, source)
            for item in document_items:
                empty = False
                item = replace(item, form=form_of_lines) if form_of_lines and item.form == "case" else item
                misplaced = eval_document.no_suite(item) if only_suite else None
                problems = [misplaced] if misplaced else eval_document.item(item, defaults)
                problems_by_document.setdefault(number, []).extend(problems)
        if any(problems_by_document.values()):
            self.problems += place_problems(body, file, problems_by_document)
        if empty:
            hint = "write a case into it, or remove it"
            self.problems.append(Problem("BK710", "not a case: the file is empty", hint, Place(file, 1, 1)))

    def with_targets(self, file: str, defaults: Defaults) -> Defaults:
        """Return the defaults with the targets that this file can name, and the operator's choice."""
        targets = add_discovered_targets(self.targets, self.root, file, self.found_targets)
        defaults = replace(defaults, targets=targets, workers=self.workers)
        if targets.chosen is None or targets.chosen == DEFAULT:
            return defaults
        target, problems = targets.find(targets.chosen)
        if target is None:
            labelled = [
                problem if problem.place else replace(problem, message=f"--target: {problem.message}")
                for problem in problems
            ]
            self.problems += [problem for problem in labelled if problem not in self.problems]
            return defaults
        self.workers += [target.workers] if target.workers is not None else []
        return replace(defaults, target=target.execution, judge=target.judge)

    def _form_of_lines(self, file: str, items_by_document: Sequence[Sequence[EvalItem]]) -> str | None:
        """Return the form that all cases of a JSON Lines file have because one of them has it."""
        if not file.endswith(LINES):
            return None
        forms = {dialect.name for dialect in self.dialects if dialect.in_lines}
        forms_found = (item.form for items_of_line in items_by_document for item in items_of_line)
        return next((form for form in forms_found if form in forms), None)


_NOT_FETCHED = ("BK681", "BK682", "BK687")


def error_for(problems: Sequence[Problem]) -> type[BaselinekitError]:
    """Return Refused if all problems are refusals, CannotReplay if all fetches failed, else InvalidInput."""
    if all(problem.code.startswith("BK4") for problem in problems):
        return Refused
    return CannotReplay if all(problem.code in _NOT_FETCHED for problem in problems) else InvalidInput


class EvalDocument(Struct):
    """A document that is read into cases: they are added to the load, and its problems are returned with
    paths into the document."""

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
        """Read an item by its dialect. A report found among cases is skipped."""
        if item.problem is not None:
            is_skipped = item.form == "report" and self.file in self.loading.discovered
            return [] if is_skipped else [item.problem]
        dialect = next(dialect for dialect in self.loading.dialects if dialect.name == item.form)
        return dialect.read(item, self, defaults)


# `input:` and `execution:` of a case, the question and its target, as a recipe.


ReadRecipe = tuple[Recipe | None, list[Problem]]
"""The recipe of a case, if it could be read, and the problems of its input."""

MESSAGES = "messages"
"""The type of an input that is a conversation."""


class StatedInput(Struct):
    """The `input:` of a case. `case`: the id that the target of a conversation gets, if it is another."""

    type: Json
    content: Json
    context: Json = None
    case: str = ""


class CaseOrigin(Struct):
    """The file of a case, and its target."""

    root: str
    file: str
    target: Execution


class TargetName(Struct):
    """An `execution:` that names a target."""

    target: str


def execution(raw: Json, defaults: Defaults) -> tuple[Execution | None, list[Problem]]:
    """Read an `execution:` by its type, or by the name of a target."""
    if isinstance(raw, dict) and raw.get("type") is None and "target" in raw:
        named, problems = read_as(TargetName, raw)
        if named is None or problems:
            return None, problems
        target, problems = defaults.targets.find(named.target)
        if target is None:
            return None, [move_to_name(problem, ("target",)) for problem in problems]
        defaults.workers.extend([] if target.workers is None else [target.workers])
        return target.execution, []
    return read_execution(raw)


def recipe(raw: Json, own_target: Execution | None, origin: CaseOrigin) -> ReadRecipe:
    """Return the recipe of a case, or the problems of its input. `own_target`: the case's own target. A text,
    or one named `text` or `content`, is a prompt."""
    if isinstance(raw, str):
        raw = {"content": raw}
    if isinstance(raw, dict) and "text" in raw and "content" not in raw:
        raw = {("content" if name == "text" else name): value for name, value in raw.items()}
    if isinstance(raw, dict) and isinstance(raw.get("content"), str):
        raw = {"type": "prompt", **raw}
    if isinstance(raw, list) or has_role(raw):
        message = (
            f"expected a mapping with `type`, found {'a list' if isinstance(raw, list) else 'a message'}"
        )
        return None, [Problem("BK105", message, "write messages as {type: messages, content: […]}")]
    case_input, problems = read_as(StatedInput, raw)
    type = raw.get("type", "prompt") if isinstance(raw, dict) else "prompt"
    if not isinstance(type, str) or type not in _INPUT_READERS:
        message = f"expected one of {', '.join(_INPUT_READERS)}, found {describe_value(type)}"
        problems.insert(0, Problem("BK105", message, suggest(str(type), _INPUT_READERS), at=("type",)))
    if case_input is not None and case_input.case and type != MESSAGES:
        problems.append(
            Problem("BK108", f"`case` has no effect on `type: {type}`", "leave it out", at=("case",))
        )
    if case_input is None or problems:
        return None, problems
    result, problems = _INPUT_READERS[case_input.type](case_input, own_target, origin)
    if result is not None and not problems:
        for problem in kind_of(result).check(result):  # the recipe's input is the content in the file
            at = problem.at or ()
            at = ("content", *at[2:]) if at[:2] == ("current", "input") else ()
            problems.append(replace(problem, at=at))
    return (None if problems else result), problems


def _read_prompt(case_input: StatedInput, own_target: Execution | None, origin: CaseOrigin) -> ReadRecipe:
    if not isinstance(case_input.content, str):
        return None, [_wrong_content("a text", case_input.content)]
    return _recipe_of_text(case_input.content, case_input, origin.target)


def _read_file(case_input: StatedInput, own_target: Execution | None, origin: CaseOrigin) -> ReadRecipe:
    """Ask the text of a file as it is: a `{{name}}` in it is not a variable."""
    if not isinstance(case_input.content, str) or not case_input.content:
        return None, [_wrong_content("the path of a file", case_input.content)]
    text, problem = file_text(origin.root, origin.file, case_input.content)
    if text is None:
        return None, prefix_paths([problem] if problem else [], ("content",))
    return _recipe_of_text(escape_variables(text), case_input, origin.target)


def _read_messages(case_input: StatedInput, own_target: Execution | None, origin: CaseOrigin) -> ReadRecipe:
    """Read a conversation. Its messages are taken literally: no `{{name}}` in them is a variable."""
    if not isinstance(case_input.content, list):
        return None, [_wrong_content("a list of messages", case_input.content)]
    files = NamedFiles.of(origin.root, origin.file)
    messages, problems = read_messages(case_input.content, USER, files)
    result = None
    if not problems:
        result, problems = recipe_of(messages, files, origin.target, case_input.case)
    return result, prefix_paths(problems, ("content",))


def _recipe_of_text(text: str, case_input: StatedInput, target: Execution) -> ReadRecipe:
    question = KINDS[target.type].input_of_text(text, case_input.context)
    if question is not None:
        return Recipe(question, target), []
    message = f"a {case_input.type} is for a model or a skill, not for {target.type}"
    return None, [Problem("BK715", message, "`execution: {type: skill, skill_name: …}`", at=("type",))]


def _read_kind_input(case_input: StatedInput, own_target: Execution | None, origin: CaseOrigin) -> ReadRecipe:
    kind = _KINDS_BY_INPUT[case_input.type]
    question, problems = kind.input_of_case(case_input.content, case_input.context)
    target, target_problems = _target_of_kind(case_input, own_target, origin, kind)
    if problems or target_problems:
        return None, [*prefix_paths(problems, ("content",)), *target_problems]
    return Recipe(question, target), []


def _target_of_kind(
    case_input: StatedInput, own_target: Execution | None, origin: CaseOrigin, kind: RecipeKind
) -> tuple[Execution, list[Problem]]:
    """Return the target for an input of this kind, and a problem if the case names one of another kind."""
    target, is_own_usable = origin.target, own_target is not None and own_target.type == kind.name
    if target.type != kind.name and not kind.names_target and (own_target is None or is_own_usable):
        target = own_target or kind.execution(kind.name)  # a request, a program: sent as it is
    if target.type == kind.name:
        return target, []
    message = f"an input of `type: {case_input.type}` cannot be sent to an execution of `type: {target.type}`"
    settings = ", ".join(filter(None, (f"type: {kind.name}", kind.names_target)))
    hint = f"`--target` needs `type: {kind.name}`" if is_own_usable else f"`execution: {{{settings}}}`"
    return target, [Problem("BK715", message, hint, at=("type",))]


def _wrong_content(expected: str, content: Json) -> Problem:
    return Problem("BK105", f"expected {expected}, found {describe_value(content)}", at=("content",))


def file_text(root: str, file: str, name: str) -> tuple[str | None, Problem | None]:
    """Return the text of a file that an eval file names, relative to its folder."""
    folder, path = output_location(root, file, name)
    try:
        return read(folder, path, MAX_OUTPUT_BYTES).decode("utf-8"), None
    except UnicodeDecodeError:
        return None, Problem("BK112", f"{path} is not UTF-8 text", "name a text file", at=())
    except BaselinekitError as error:
        (problem,) = error.problems
        message = f"{path}: {problem.message}" if problem.place else problem.message
        return None, replace(problem, message=message, place=None, at=())


_KINDS_BY_INPUT = {kind.eval_input: kind for kind in KINDS.values() if kind.eval_input}
_INPUT_READERS: dict[str, Callable[[StatedInput, Execution | None, CaseOrigin], ReadRecipe]] = {
    "prompt": _read_prompt,
    "file": _read_file,
    MESSAGES: _read_messages,
    **dict.fromkeys(_KINDS_BY_INPUT, _read_kind_input),
}
INPUTS: dict[str, Mapping[str, Any]] = {
    "prompt": {"type": "string"},
    "file": {"type": "string", "description": "The path of a file, from the folder of this one."},
    MESSAGES: {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["role"]}},
    **{name: kind.eval_content for name, kind in _KINDS_BY_INPUT.items()},
}
"""The types of an input, each with the JSON Schema of its content."""
