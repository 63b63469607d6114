"""AgentV's eval files: `evalcases:` in YAML, or JSON Lines with a case a line and a YAML file of the same
name beside it. A case says what a good answer does (`expected_outcome`), what is asked, and what was once
answered well; nothing in it is a value that an answer has to be equal to."""

import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from baselinekit.documents.languages import LINES, SUFFIXES, language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, Place, Problem
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.evals import Case, Wanted
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.recipes import Execution, Recipe
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below, place_problems
from baselinekit.store.project import read
from baselinekit.suites.dialects.agentvforms import (
    CASES,
    INPUTS,
    OUTPUTS,
    EvalFileCase,
    EvalFileExecution,
    EvalFileFacts,
    read_facts,
)
from baselinekit.suites.dialects.agentvmessages import (
    ASSISTANT,
    USER,
    NamedFiles,
    files_in,
    read_messages,
    split_files,
)
from baselinekit.suites.dialects.dialect import FORMS_BY_KEY, Defaults, EvalDocument, EvalItem
from baselinekit.suites.dialects.evaluators import (
    DEFAULT_EVALUATOR,
    EvaluatorPlace,
    as_written,
    read_evaluators,
    read_rubrics,
    wrong_word,
)
from baselinekit.suites.settings import NUMBERED
from baselinekit.suites.targets import DEFAULT, NamedTarget, judged_by

_ONLY_OURS = ("input_messages", "expected_messages")
_OF_OTHER_CASES = ("grader", "graders", "expected", "test_cases", "current")
_OF_SIDECARS = ("dataset", "execution", "evaluators", "evaluator", "target")
_ENDINGS = (".eval",)
_LONGEST_ID = 200

_OTHER_FORMS = {
    "cases": "the eval file of a prompt",
    "triggering": "the eval file of a prompt",
    **FORMS_BY_KEY,
}
"""What else a file could be, by a key that only it has."""


_FILE_KEYS = frozenset(("$schema", *(one.name for one in fields(EvalFileFacts))))


@frozen
class SharedFacts:
    """What holds for the cases of a file that say nothing of their own. `evaluators`: None where nobody says
    who judges."""

    files: NamedFiles
    dataset: str
    target: str | None = None
    evaluators: tuple[Grader, ...] | None = None
    tags: tuple[str, ...] = ()


def recognises(raw: dict[str, Json]) -> bool:
    return CASES in raw or is_lone_case(raw) or is_sidecar(raw)


def is_lone_case(raw: dict[str, Json]) -> bool:
    """Whether it is a case as a line holds it. One of our own form may have an expected outcome too."""
    if any(key in raw for key in _ONLY_OURS):
        return True
    asked = raw.get("input")
    is_ours = isinstance(asked, dict) and asked.keys() >= {"type", "content"}
    if is_ours or any(key in raw for key in _OF_OTHER_CASES):
        return False
    return "expected_outcome" in raw or ("input" in raw and ("outcome" in raw or "criteria" in raw))


def is_sidecar(raw: dict[str, Json]) -> bool:
    """Whether a mapping only says what holds for the cases of another file."""
    return raw.keys() <= _FILE_KEYS and any(key in raw for key in _OF_SIDECARS)


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    raw: dict[str, Json] = item.raw
    if document.file.endswith(LINES):
        return _read_line(item, document, defaults)
    if CASES not in raw:
        return problems_without_cases(item, document)
    if problems := form_conflicts(raw):
        return below(problems, item.at)
    around, problems = shared_facts(raw, document, defaults)
    document.loading.problems += around.files.problems
    cases = raw[CASES]
    if not isinstance(cases, list) or not cases:
        message = (
            "no case" if cases in (None, []) else f"expected a list of cases, found {describe_value(cases)}"
        )
        problems.append(
            Problem("BK780", message, "add one: - {id: …, expected_outcome: …, input: …}", at=(CASES,))
        )
    before = len(document.cases)
    for number, stated in enumerate(cases if isinstance(cases, list) else ()):
        wrong = add_case(stated, (*item.at, CASES, number), document, defaults, around)
        problems += below(wrong, (CASES, number))
    problems += [] if problems else shared_problems(around, document.cases[before:])
    return below(problems, item.at)


def shared_problems(around: SharedFacts, cases: Sequence[Case]) -> list[Problem]:
    """What is wrong with the evaluators of a file whatever case they judge: told once, where they stand."""
    problems: list[Problem] = []
    for shared in around.evaluators or ():
        own = replace(shared, at=())
        found = [[*graders.problems_of(own, case)] for case in cases if own in case.graders]
        always = [one for one in found[0] if all(one in other for other in found)] if found else []
        problems += [as_written(one, shared) for one in always]
    return problems


def _files(document: EvalDocument, defaults: Defaults) -> NamedFiles:
    return NamedFiles.of(defaults.root, document.file, document.loading.fetch_file)


def problems_without_cases(item: EvalItem, document: EvalDocument) -> list[Problem]:
    """What is no file of cases: what belongs to one of JSON Lines, or a case by itself."""
    lines = _with_ending(document.file, LINES)
    if is_sidecar(item.raw):
        if os.path.isfile(os.path.join(document.loading.root, lines)):
            if document.file in document.loading.walked or lines in document.loading.files:
                return []
            message = f"this says what holds for the cases of {posixpath.basename(lines)}, and has none"
            return [Problem("BK780", message, f"baselinekit run {lines}", at=item.at)]
        return [Problem("BK780", "an eval file without cases", f"add `{CASES}:`", at=item.at)]
    hint = f"put it into a list: {CASES}: [{{id: …, expected_outcome: …, input: …}}]"
    return [Problem("BK780", f"a case that is not below `{CASES}:`", hint, at=item.at)]


def _with_ending(file: str, ending: str) -> str:
    return posixpath.splitext(file)[0] + ending


def form_conflicts(raw: dict[str, Json]) -> list[Problem]:
    """What is wrong with a file that could be of another form as well."""
    other = next((key for key in raw if key in _OTHER_FORMS), None)
    if other is None:
        return []
    message = f"this could be {_OTHER_FORMS[other]} (by {other!r}) and an AgentV eval file (by {CASES!r})"
    later = max(other, CASES, key=[*raw].index)
    return [Problem("BK710", message, "keep one of the two, or split the file", at=(later,))]


# What holds for all cases of a file.


def shared_facts(
    raw: dict[str, Json], document: EvalDocument, defaults: Defaults
) -> tuple[SharedFacts, list[Problem]]:
    """What a file says for all of its cases, and what is wrong with that."""
    files = _files(document, defaults)
    rest = {key: value for key, value in raw.items() if value is not None and key != "$schema"}
    stated, problems = read_facts(EvalFileFacts, {k: value for k, value in rest.items() if k != CASES})
    stated = stated or EvalFileFacts()
    execution, more = _execution(rest.get("execution"))
    problems += below(more, ("execution",))
    own = EvalFileFacts(evaluators=rest.get("evaluators", ABSENT), evaluator=stated.evaluator)
    judged, more = judges_of((execution, ("execution",)), (own, ()), files)
    problems += more
    target = execution.target or stated.target
    if target is not None:
        known, more = named_target(target, document, defaults)
        at = ("execution", "target") if execution.target else ("target",)
        problems += [replace(one, at=at) for one in more]
        target = target if known else None  # told once, and of no case
    dataset = (stated.dataset or "").strip() or dataset_of(document.file)
    if stated.description:
        document.loading.described[document.file] = stated.description
    document.loading.renaming[document.file] = "state a `dataset:` of its own in one of the two files"
    return SharedFacts(files, dataset, target, judged, tuple(stated.tags)), problems


def dataset_of(file: str) -> str:
    """The dataset that a file is by its name, without its endings."""
    name = posixpath.splitext(posixpath.basename(file))[0]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _execution(raw: Json) -> tuple[EvalFileExecution, list[Problem]]:
    if raw is None or raw is ABSENT:
        return EvalFileExecution(), []
    if isinstance(raw, dict):
        raw = {key: value for key, value in raw.items() if value is not None}
    stated, problems = read_facts(EvalFileExecution, raw)
    return stated or EvalFileExecution(), problems


def judges_of(
    first: tuple[Any, Path], second: tuple[Any, Path], files: NamedFiles
) -> tuple[tuple[Grader, ...] | None, list[Problem]]:
    """Who judges by `evaluators`, or `evaluator`, of the first that says so; None where neither does."""
    for stated, at in (first, second):
        if stated.evaluators is not ABSENT and stated.evaluators is not None:
            found, problems = read_evaluators(stated.evaluators, EvaluatorPlace(files, (*at, "evaluators")))
            return tuple(found), below(problems, (*at, "evaluators"))
    wrong: list[Problem] = []
    for stated, at in (first, second):
        if stated.evaluator is not None:
            wrong += below(wrong_word(stated.evaluator), (*at, "evaluator"))
    return None, wrong


# JSON Lines, and the file beside them.


def _read_line(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    loading = document.loading
    around = loading.beside.get(document.file)
    if not isinstance(around, SharedFacts):
        around = loading.beside[document.file] = facts_beside_lines(document, defaults)
    if CASES in item.raw:
        message = f"a line of JSON Lines is one case, and has no `{CASES}`"
        return [Problem("BK780", message, "write each case on a line of its own", at=(*item.at, CASES))]
    return below(add_case(item.raw, item.at, document, defaults, around), item.at)


def facts_beside_lines(document: EvalDocument, defaults: Defaults) -> SharedFacts:
    """What the YAML file of the same name says for the cases of a file of JSON Lines."""
    files = _files(document, defaults)
    problems = document.loading.problems
    problems += files.problems
    nothing = SharedFacts(files, dataset_of(document.file))
    for suffix in SUFFIXES:
        path = _with_ending(document.file, suffix)
        if not os.path.isfile(os.path.join(defaults.root, path)):
            continue
        try:
            body = decode(read(defaults.root, path), path).body
            documents = language(path).load(body, path, numbered=NUMBERED)
        except BaselinekitError as error:
            problems += [problem.placed(Place(path)) for problem in error.problems]
            return nothing
        raw = documents[0] if documents else {}
        if not isinstance(raw, dict):
            wrong = [Problem("BK780", f"expected a mapping, found {describe_value(raw)}", at=())]
        elif CASES in raw:
            return nothing  # a file of its own, which only has the same name
        else:
            nothing, wrong = shared_facts(raw, document, defaults)
        problems += place_problems(body, path, {0: wrong}) if wrong else []
        return nothing
    return nothing


# One case.


def add_case(
    raw: Json, at: Path, document: EvalDocument, defaults: Defaults, around: SharedFacts
) -> list[Problem]:
    """One case of a file, kept in the load; or what is wrong with it, by paths below it."""
    if not isinstance(raw, dict):
        message = f"not a case but a JSON {json_type(raw)}"
        return [Problem("BK780", message, "a case is a mapping with id, expected_outcome and input", at=())]
    stated, problems = stated_case(raw)
    asked, wrong = _messages(raw, INPUTS, USER, around.files)
    problems += wrong
    wanted, wrong = _messages(raw, OUTPUTS, ASSISTANT, around.files)
    problems += wrong
    execution, wrong = _execution(raw.get("execution"))
    problems += below(wrong, ("execution",))
    judges, wrong = graders_of_case(raw, stated, execution, around)
    problems += wrong
    target, wrong = target_of_case(execution.target, document, defaults, around)
    problems += wrong
    if stated is None or target is None or problems:
        return problems
    dataset = (stated.dataset or "").strip() or around.dataset
    files = split_files(asked, around.files)
    recipe, problems = recipe_of(asked, files, target.execution, raw)
    if recipe is None or problems:
        return problems
    case = Case(
        f"{defaults.before}{dataset}/{stated.id}",
        recipe,
        judged_by(judges, target.judge),
        name=stated.id,
        description=stated.description or stated.note,
        category=defaults.category,
        tags=tuple(dict.fromkeys((*defaults.tags, *around.tags, *stated.tags))),
        criticality=defaults.criticality,
        timeout=defaults.timeout,
        retries=defaults.retries,
        parallel=defaults.parallel,
        skip=defaults.skip,
        judge_after_failure=defaults.judge_after_failure,
        pass_rule=PassRule("mean"),
        wanted=Wanted(
            stated.expected_outcome or stated.outcome or "",
            wanted,
            asked,
            stated.sidecar,
            stated.conversation_id,
            *files,
        ),
        source=replace(document.source(at, raw), form="native"),
    )
    document.cases.append(case)
    return []


def stated_case(raw: dict[str, Json]) -> tuple[EvalFileCase | None, list[Problem]]:
    """What a case says beside its messages and its graders."""
    rest = {key: value for key, value in raw.items() if value is not None or key == "id"}
    stated, problems = read_facts(EvalFileCase, {"id": "", **rest})
    id = raw.get("id")
    if id is None or (isinstance(id, str) and not id.strip()):
        problems.append(Problem("BK780", "a case without an id", "add `id:`, which no other case has", at=()))
    elif isinstance(id, str) and (not id.isprintable() or len(id) > _LONGEST_ID):
        message = f"an id is one line of at most {_LONGEST_ID} visible signs"
        problems.append(Problem("BK780", message, "rename the case", at=("id",)))
    outcomes = [key for key in ("expected_outcome", "outcome") if key in rest]
    if len(outcomes) > 1:
        message = "both `expected_outcome` and `outcome` are given"
        problems.append(Problem("BK780", message, "keep `expected_outcome`", at=("outcome",)))
    elif not outcomes and "criteria" not in rest:
        hint = "add `expected_outcome:`, what a good answer does"
        problems.append(Problem("BK780", "a case without an expected outcome", hint, at=()))
    elif outcomes and isinstance(rest[outcomes[0]], str) and not rest[outcomes[0]].strip():
        message = "the expected outcome is empty"
        problems.append(Problem("BK780", message, "say what a good answer does", at=(outcomes[0],)))
    if not any(key in rest for key in INPUTS):
        problems.append(Problem("BK780", "a case without an input", "add `input:`, what is asked", at=()))
    return stated, problems


def _messages(
    raw: Mapping[str, Json], keys: Sequence[str], role: str, files: NamedFiles
) -> tuple[tuple[TraceMessage, ...], list[Problem]]:
    key = next((key for key in keys if raw.get(key) is not None), None)
    if key is None:
        return (), []
    messages, problems = read_messages(raw[key], role, files)
    return messages, below(problems, (key,))


def graders_of_case(
    raw: dict[str, Json], stated: EvalFileCase | None, execution: EvalFileExecution, around: SharedFacts
) -> tuple[tuple[Grader, ...], list[Problem]]:
    """Who judges: those of the case, else those of its file, else a model by the expected outcome; a case's
    own rubrics stand before them."""
    own = EvalFileFacts(
        evaluators=raw.get("evaluators", ABSENT), evaluator=stated.evaluator if stated else None
    )
    found, problems = judges_of((execution, ("execution",)), (own, ()), around.files)
    if found is None and around.evaluators is not None:
        found = tuple(replace(grader, at=()) for grader in around.evaluators)
    rubrics: list[Grader] = []
    if raw.get("rubrics") is not None:
        rubrics, wrong = read_rubrics(raw["rubrics"], ("rubrics",))
        problems += wrong
    elif found is None and not problems:
        found = (DEFAULT_EVALUATOR,)
    return (*rubrics, *(found or ())), problems


def target_of_case(
    own: str | None, document: EvalDocument, defaults: Defaults, around: SharedFacts
) -> tuple[NamedTarget | None, list[Problem]]:
    """Whom a case asks: whom the operator chose, else whom the case names, else its file, else `default`."""
    target, problems = named_target(own or around.target or DEFAULT, document, defaults)
    if target is not None and target.workers is not None:
        document.loading.workers.append(target.workers)
    return target, [replace(one, at=("execution", "target") if own else ()) for one in problems]


def named_target(
    name: str, document: EvalDocument, defaults: Defaults
) -> tuple[NamedTarget | None, list[Problem]]:
    """Who is asked where this one is named. What is wrong with its description is told where that stands."""
    if defaults.target is not None:
        return NamedTarget("", defaults.target, defaults.judge), []
    if name == DEFAULT and defaults.execution is not None:
        return NamedTarget("", defaults.execution), []
    target, problems = defaults.targets.find(name)
    if target is None:
        told = document.loading.problems
        told += [one for one in problems if one.place and one not in told]
    return target, [one for one in problems if not one.place]


def recipe_of(
    asked: Sequence[TraceMessage],
    files: tuple[Sequence[str], Sequence[str]],
    target: Execution,
    raw: Mapping[str, Json],
) -> tuple[Recipe | None, list[Problem]]:
    """What a case asks of a target, or why that cannot be asked."""
    kind = KINDS[target.type]
    key = next((key for key in INPUTS if raw.get(key) is not None), "input")
    question = kind.input_of_messages(asked, *files, case=str(raw["id"]))
    if question is None:
        message = f"messages are for a model or an agent, not for {kind.name}"
        return None, [Problem("BK781", message, "name another target", at=(key,))]
    no_text = next((str(part["value"]) for part in files_in(asked) if "text" not in part), "")
    if kind.asks_models == "always" and no_text:
        message = f"{no_text} is not UTF-8 text"
        return None, [Problem("BK112", message, "a model is asked with texts: name a text file", at=(key,))]
    recipe = Recipe(question, target)
    return recipe, [replace(problem, at=(key,)) for problem in kind_of(recipe).check(recipe)]
