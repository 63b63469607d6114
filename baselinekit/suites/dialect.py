"""The base of all forms of eval files, and the inputs that cases of all forms have."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from baselinekit import schema
from baselinekit.clients.programs.gitfiles import FetchedFile
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Place, Problem, Refused, suggest
from baselinekit.files.languages import LINES
from baselinekit.files.text import decode
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Execution, Recipe
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.schema import Parts, Schema
from baselinekit.secrets.variables import escape_variables
from baselinekit.store import records
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.reading import find_repeated_ids
from baselinekit.store.records import output_location
from baselinekit.structs import Meta, MutableStruct, NotEmpty, Struct, field, replace
from baselinekit.suites import targets
from baselinekit.suites.messages import USER, NamedFiles, read_messages, recipe_of
from baselinekit.suites.settings import NUMBERED, Settings
from baselinekit.suites.targets import DEFAULT, TargetName, Targets, add_discovered_targets

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
    """The settings of a case that states none itself. `usual`: a case without question and graders; its
    other facts belong to all cases; `target`: the operator's target; `execution`: the one of the file or the
    suite; `targets`: the named targets; `judge`: the model that judges the answers of the operator's target;
    `workers`: collects the limits of the named targets that are used."""

    root: str
    target: Execution | None = None
    targets: Targets = targets.NO_TARGETS
    workers: list[int] = field(default_factory=list)
    judge: str | None = None
    execution: Execution | None = None
    usual: Case = Case("", Recipe(None, PromptExecution("prompt")), ())
    id_prefix: str = ""
    graders: tuple[Json, ...] = ()
    named_graders: Mapping[str, Grader] = field(default_factory=dict)

    def target_for(self, own: Execution | None = None) -> Execution:
        """The target of a case with this one of its own. The operator's takes precedence; how an answer is
        asked for and read (`system`, `parse`, `collect` …) is the case's where that target leaves it open."""
        target, stated = self.target, own or self.execution
        if target is None or stated is None or target.type != stated.type:
            return target or stated or PromptExecution("prompt")
        settings = {name: getattr(target, name, ABSENT) for name in _OF_THE_CASE}
        open_names = [name for name, value in settings.items() if value is None or value is False]
        changes: dict[str, Any] = {name: getattr(stated, name) for name in open_names}
        return replace(target, **changes)

    def case(
        self, id: str, recipe: Recipe, graders: Sequence[Grader], tags: Sequence[str] = (), **stated: Any
    ) -> Case:
        """Return a case with what its file states; None leaves open what these settings decide."""
        own = {name: value for name, value in stated.items() if value is not None}
        all_tags = tuple(dict.fromkeys((*self.usual.tags, *tags)))
        return replace(self.usual, id=id, recipe=recipe, graders=tuple(graders), tags=all_tags, **own)


_OF_THE_CASE = ("system", "temperature", "max_tokens", "json", "parse", "collect", "checks", "scores")


# The items of an eval file, each with its form, at any place.


BESIDE = ("baselines", "config", "fixtures", "results")
"""Folders below a named one that hold no evals: known outputs, graders and thresholds, files that cases name,
and the output of runs."""

_REPORT_KEYS = ("eval_report", "format")
NOT_A_CASE = "a case is a mapping with id, input, expected and grader"


class EvalItem(Struct):
    """An item of a document: its form (the name of a dialect, "report" or "nothing"), and its path.
    `problem`: why it cannot be run."""

    form: str
    at: Path
    raw: Json
    problem: Problem | None = None


def items(document: Json, dialects: Sequence[Dialect]) -> Iterator[EvalItem]:
    """Return the items of a document, in order."""
    by_wrapper = {dialect.wrapper: dialect for dialect in dialects if dialect.wrapper}
    wrappers = [key for key in document if key in by_wrapper] if isinstance(document, dict) else []
    if not wrappers and document is not None:
        yield from _items(document, (), dialects)
    for key in document if wrappers else ():
        dialect = by_wrapper.get(key)
        if dialect is None:
            message = f"unknown key {key!r} beside {wrappers[0]}"
            problem = Problem("BK103", message, f"move it below {wrappers[0]}", at=(key,))
            yield EvalItem("nothing", (key,), None, problem)
        elif dialect.in_lists:
            yield from _items(document[key], (key,), dialects, dialect.name)
        else:
            yield EvalItem(dialect.name, (key,), document[key])


def _items(value: Json, at: Path, dialects: Sequence[Dialect], form: str | None = None) -> Iterator[EvalItem]:
    if value == []:
        yield EvalItem("nothing", at, None, Problem("BK710", "an empty list", "add a case", at=at))
    for number, raw in enumerate(value if isinstance(value, list) else [value]):
        path = (*at, number) if isinstance(value, list) else at
        if not isinstance(raw, dict):
            problem = Problem("BK710", f"not a case but a JSON {json_type(raw)}", NOT_A_CASE, at=path)
            yield EvalItem("nothing", path, None, problem)
        else:
            yield EvalItem(form, path, raw) if form else _recognise(raw, path, dialects)


def _recognise(raw: dict[str, Json], at: Path, dialects: Sequence[Dialect]) -> EvalItem:
    """Recognise an item by keys that only one form has."""
    for dialect in reversed(dialects):
        if dialect.recognises and dialect.recognises(raw):
            return EvalItem(dialect.name, at, raw)
    if any(key in raw for key in _REPORT_KEYS):
        message, hint = "not a case: this looks like the report of a run", "reports belong in results/"
        return EvalItem("report", at, None, Problem("BK710", message, hint, at=at))
    message = f"not a case: it has {', '.join(map(str, list(raw)[:5])) or 'nothing'}"
    return EvalItem("nothing", at, None, Problem("BK710", message, NOT_A_CASE, at=at))


# A load of eval files: what was read so far, the references between files, and all problems.


class Loading(MutableStruct):
    """A load of eval files. What it reads with: `fetch_file` reads a file named by the address of a git
    repository, `targets` are the named targets, `files` are all files to read, and the `discovered` ones
    among them were found in a folder, not named. What it has read, besides cases, suites and problems: the
    limits of `workers` that targets state, `descriptions` by file, and what a file beside a file of cases
    states for all of them (`shared_facts`). And about suites: `open_suites` are those on the way to the
    current file, `references` the files that suites refer to, with the top suite and the file of the first
    reference, and `defaults` those of each suite for its cases."""

    root: str
    dialects: Sequence[Dialect]
    fetch_file: Callable[[str], FetchedFile] | None = None
    targets: Targets = targets.NO_TARGETS
    files: frozenset[str] = frozenset()
    discovered: set[str] = field(default_factory=set)
    cases: list[Case] = field(default_factory=list)
    suites: list[Suite] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    workers: list[int] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    shared_facts: dict[str, Any] = field(default_factory=dict)
    open_suites: list[str] = field(default_factory=list)
    references: dict[str, tuple[str, str]] = field(default_factory=dict)
    defaults: dict[str, Defaults] = field(default_factory=dict)

    def all_problems(self) -> list[Problem]:
        """Return all problems, each once, as a suite may be read twice."""
        repeated = find_repeated_ids(self.cases, self.root)
        return list(dict.fromkeys([*self.settings.problems, *self.problems, *repeated]))

    def finish(self) -> None:
        """Raise all problems at once, if there are any."""
        if problems := self.all_problems():
            raise error_for(problems)(*problems)

    def file(self, file: str, defaults: Defaults) -> None:
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
        found = [[*items(document, self.dialects)] for document in documents]
        if not any(found):
            hint = "write a case into it, or remove it"
            self.problems.append(Problem("BK710", "not a case: the file is empty", hint, Place(file, 1, 1)))
        forms = {dialect.name for dialect in self.dialects if dialect.in_lines and file.endswith(LINES)}
        form_of_lines = next((item.form for line in found for item in line if item.form in forms), "case")
        problems: dict[int, list[Problem]] = {}
        for number, items_of_document in enumerate(found):
            document = EvalDocument(self, file, number, source)
            for item in items_of_document:
                item = replace(item, form=form_of_lines) if item.form == "case" else item
                problems.setdefault(number, []).extend(document.item(item, defaults))
        self.problems += schema.place_problems(body, file, problems)

    def with_targets(self, file: str, defaults: Defaults) -> Defaults:
        """Return the defaults with the targets that this file can name, and the operator's choice."""
        targets = add_discovered_targets(self.targets, self.root, file)
        defaults = replace(defaults, targets=targets, workers=self.workers)
        if targets.chosen is None or targets.chosen == DEFAULT:
            return defaults
        target, problems = targets.find(targets.chosen)
        if target is None:
            self.problems += problems
            return defaults
        if target.workers is not None:
            self.workers.append(target.workers)
        return replace(defaults, target=target.execution, judge=target.judge)


def error_for(problems: Sequence[Problem]) -> type[BaselinekitError]:
    """Return Refused if all problems are refusals, CannotReplay if all fetches failed, else InvalidInput."""
    if all(problem.code.startswith("BK4") for problem in problems):
        return Refused
    return CannotReplay if all(problem.code == "BK681" for problem in problems) else InvalidInput


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


class TextInput(Struct):
    """The `input:` of a case that is a text, or the path of a file with one."""

    type: Literal["prompt", "file"]
    content: str
    context: Json = None


class ConversationInput(Struct):
    """Messages. `case`: the id that the target gets, if it is another than the case's own."""

    type: Literal["messages"]
    content: NotEmpty[Json]
    context: Json = None
    case: str = ""


class OtherInput(Struct):
    """An input that only one kind takes."""

    type: str
    content: Json
    context: Json = None


def execution(stated: Any, defaults: Defaults) -> tuple[Execution | None, list[Problem]]:
    """Return a stated execution, or the target that it names."""
    if not isinstance(stated, TargetName):
        return stated, []
    target, problems = defaults.targets.find(stated.target)
    if target is None:
        return None, [schema.move_to_name(problem, ("target",)) for problem in problems]
    if target.workers is not None:
        defaults.workers.append(target.workers)
    return target.execution, []


def recipe(raw: Json, own_target: Execution | None, defaults: Defaults, file: str) -> ReadRecipe:
    """Return the recipe of a case, or the problems of its input. `own_target`: the case's own target. A text
    is a prompt."""
    if isinstance(raw, str):
        raw = {"content": raw}
    if isinstance(raw, dict) and isinstance(raw.get("content"), str):
        raw = {"type": "prompt", **raw}
    type = raw.get("type") if isinstance(raw, dict) else "prompt"
    if not isinstance(type, str) or type not in INPUTS:
        message = f"expected one of {', '.join(INPUTS)}, found {schema.describe_value(type)}"
        return None, [Problem("BK105", message, suggest(str(type), INPUTS), at=("type",))]
    stated, problems = schema.read_as(INPUTS[type], raw)
    if stated is None:
        return None, problems
    made, problems = _READERS[INPUTS[type]](stated, own_target, defaults, file)
    if made is None or problems:
        return None, schema.prefix_paths(problems, ("content",))
    for problem in kind_of(made).check(made):  # the recipe's input is the content in the file
        at = problem.at or ()
        problems.append(replace(problem, at=("content", *at[2:]) if at[:2] == ("current", "input") else ()))
    return (None if problems else made), problems


def _read_conversation(
    stated: ConversationInput, own_target: Execution | None, defaults: Defaults, file: str
) -> ReadRecipe:
    """Read a question that is a conversation. No `{{name}}` in it is a variable."""
    files = NamedFiles.of(defaults.root, file)
    messages, problems = read_messages(stated.content, USER, files)
    if problems:
        return None, problems
    return recipe_of(messages, files, defaults.target_for(own_target), stated.case)


def _read_text(stated: TextInput, own_target: Execution | None, defaults: Defaults, file: str) -> ReadRecipe:
    """Read a question as a text, or the text of a file, in which no `{{name}}` is a variable."""
    content, target = stated.content, defaults.target_for(own_target)
    if stated.type == "file":
        try:
            content = escape_variables(_text_of_file(defaults.root, file, content))
        except BaselinekitError as error:
            return None, [schema.move_to_name(problem, ()) for problem in error.problems]
    question = KINDS[target.type].input_of_text(content, stated.context)
    if question is not None:
        return Recipe(question, target), []
    message = f"a {stated.type} is for a model or a skill, not for {target.type}"
    return None, [Problem("BK715", message, "`execution: {type: skill, skill_name: …}`", at=())]


def _read_input_of_kind(
    stated: OtherInput, own_target: Execution | None, defaults: Defaults, file: str
) -> ReadRecipe:
    """Read an input that only one kind takes. A request or a program is sent as it is, whatever the target of
    the others; a case that names a target of another kind is wrong."""
    kind, target = _KINDS_BY_INPUT[stated.type], defaults.target_for(own_target)
    question, problems = kind.input_of_case(stated.content, stated.context)
    is_own_usable = own_target is None or own_target.type == kind.name
    if target.type != kind.name and is_own_usable and not kind.names_target:
        target = own_target or kind.execution(kind.name)
    if target.type != kind.name:
        message = f"an input of `type: {stated.type}` cannot be sent to an execution of `type: {target.type}`"
        settings = ", ".join(filter(None, (f"type: {kind.name}", kind.names_target)))
        hint = f"its `execution`, or --target, has to be {{{settings}}}"
        problems.append(Problem("BK715", message, hint, at=()))
    return (None if problems else Recipe(question, target)), problems


def _text_of_file(root: str, file: str, name: str) -> str:
    """Return the text of a file that an eval file names, relative to its folder."""
    folder, path = output_location(root, file, name)
    try:
        return read(folder, path, MAX_OUTPUT_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(Problem("BK101", f"{path} is not UTF-8 text", "name a text file")) from None


_KINDS_BY_INPUT = {kind.eval_input: kind for kind in KINDS.values() if kind.eval_input}
INPUTS: dict[str, type[Struct]] = {
    "prompt": TextInput,
    "file": TextInput,
    MESSAGES: ConversationInput,
    **dict.fromkeys(_KINDS_BY_INPUT, OtherInput),
}
"""The types of an input, each with its form."""

_READERS: dict[type[Struct], Callable[[Any, Execution | None, Defaults, str], ReadRecipe]] = {
    TextInput: _read_text,
    ConversationInput: _read_conversation,
    OtherInput: _read_input_of_kind,
}


def add_inputs(parts: Parts) -> None:
    """Add the schemas of inputs. Those of one kind get the schema of its content."""
    schema.add_part(parts, "TextInput", TextInput)
    schema.add_part(parts, "ConversationInput", ConversationInput)
    for name, kind in _KINDS_BY_INPUT.items():
        content = {**kind.eval_content}
        schema.add_part(parts, f"Asked_{name}", OtherInput, type={"const": name}, content=content)
    text = {"type": "string"}
    names = ("TextInput", "ConversationInput", *(f"Asked_{name}" for name in _KINDS_BY_INPUT))
    bare = schema.closed_object({"content": text, "context": {}}, 1)
    parts["Input"] = {"anyOf": [text, bare, *map(schema.ref, names)]}


# Ids and names that are unique in a file.


def numbered(name: str, taken: set[str], join: str = "-") -> str:
    """Return the name, with a number if it is taken, whatever its case; from now on it is taken."""
    unique, number = name, 1
    while unique.casefold() in taken:
        number += 1
        unique = f"{name}{join}{number}"
    taken.add(unique.casefold())
    return unique
