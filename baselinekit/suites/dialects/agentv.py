"""AgentV's eval files: `evalcases:` in YAML, or JSON Lines with a case per line and a YAML file of the same
name next to it. A case states what a good answer does (`expected_outcome`), the question, and an earlier good
answer; none of its values has to be equal to the answer."""

import os
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from baselinekit.errors import BaselinekitError, Place, Problem
from baselinekit.files.languages import LINES, SUFFIXES, language
from baselinekit.files.text import decode
from baselinekit.graders import graders
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.schema import describe_value, place_problems, prefix_paths
from baselinekit.store.project import read
from baselinekit.structs import Struct, replace
from baselinekit.suites.dialects.agentvforms import (
    CASES,
    INPUTS,
    OUTPUTS,
    EvalFileCase,
    EvalFileExecution,
    EvalFileFacts,
    read_facts,
)
from baselinekit.suites.dialects.dialect import (
    FORMS_BY_KEY,
    Defaults,
    EvalDocument,
    EvalItem,
)
from baselinekit.suites.dialects.evaluators import (
    DEFAULT_EVALUATOR,
    EvaluatorPlace,
    as_written,
    read_evaluators,
    read_rubrics,
    wrong_word,
)
from baselinekit.suites.messages import ASSISTANT, USER, NamedFiles, read_messages, recipe_of
from baselinekit.suites.settings import NUMBERED
from baselinekit.suites.targets import DEFAULT, NamedTarget, judged_by

_ONLY_AGENTV_KEYS = ("input_messages", "expected_messages")
_OTHER_CASE_KEYS = ("grader", "graders", "expected", "test_cases", "current")
_SIDECAR_KEYS = ("dataset", "execution", "evaluators", "evaluator", "target")
_ENDINGS = (".eval",)
_LONGEST_ID = 200

_OTHER_FORMS = {
    "cases": "the eval file of a prompt",
    "triggering": "the eval file of a prompt",
    **FORMS_BY_KEY,
}
"""Other forms that a file could have, by a key that only they have."""


_FILE_KEYS = frozenset(("$schema", *EvalFileFacts.__struct_fields__))


class SharedFacts(Struct):
    """The settings of a file for cases that state none themselves. `evaluators`: None if the file states
    none."""

    files: NamedFiles
    dataset: str
    target: str | None = None
    evaluators: tuple[Grader, ...] | None = None
    tags: tuple[str, ...] = ()


def recognises(raw: dict[str, Json]) -> bool:
    return CASES in raw or is_lone_case(raw) or is_sidecar(raw)


def is_lone_case(raw: dict[str, Json]) -> bool:
    """Whether it is a case as on a line of JSON Lines. Cases of our own form may have an expected outcome
    too."""
    if any(key in raw for key in _ONLY_AGENTV_KEYS):
        return True
    case_input = raw.get("input")
    is_ours = isinstance(case_input, dict) and case_input.keys() >= {"type", "content"}
    if is_ours or any(key in raw for key in _OTHER_CASE_KEYS):
        return False
    return "expected_outcome" in raw or ("input" in raw and ("outcome" in raw or "criteria" in raw))


def is_sidecar(raw: dict[str, Json]) -> bool:
    """Whether a mapping only has settings for the cases of another file."""
    return raw.keys() <= _FILE_KEYS and any(key in raw for key in _SIDECAR_KEYS)


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    raw: dict[str, Json] = item.raw
    if document.file.endswith(LINES):
        return _read_line(item, document, defaults)
    if CASES not in raw:
        return problems_without_cases(item, document)
    if problems := form_conflicts(raw):
        return prefix_paths(problems, item.at)
    file_facts, problems = shared_facts(raw, document, defaults)
    document.loading.problems += file_facts.files.problems
    cases = raw[CASES]
    if not isinstance(cases, list) or not cases:
        message = (
            "no case" if cases in (None, []) else f"expected a list of cases, found {describe_value(cases)}"
        )
        problems.append(
            Problem("BK780", message, "add one: - {id: …, expected_outcome: …, input: …}", at=(CASES,))
        )
    first_case = len(document.cases)
    for number, case in enumerate(cases if isinstance(cases, list) else ()):
        case_problems = add_case(case, (*item.at, CASES, number), document, defaults, file_facts)
        problems += prefix_paths(case_problems, (CASES, number))
    problems += [] if problems else shared_problems(file_facts, document.cases[first_case:])
    return prefix_paths(problems, item.at)


def shared_problems(file_facts: SharedFacts, cases: Sequence[Case]) -> list[Problem]:
    """Return the problems that a file's evaluators have for every case, each once and at the evaluator."""
    problems: list[Problem] = []
    for file_grader in file_facts.evaluators or ():
        grader = replace(file_grader, at=())
        problems_by_case = [[*graders.problems_of(grader, case)] for case in cases if grader in case.graders]
        common = (
            [
                problem
                for problem in problems_by_case[0]
                if all(problem in case_problems for case_problems in problems_by_case)
            ]
            if problems_by_case
            else []
        )
        problems += [as_written(problem, file_grader) for problem in common]
    return problems


def _named_files(document: EvalDocument, defaults: Defaults) -> NamedFiles:
    return NamedFiles.of(defaults.root, document.file, document.loading.fetch_file)


def problems_without_cases(item: EvalItem, document: EvalDocument) -> list[Problem]:
    """Return the problems of a file without cases: the settings file of JSON Lines, or a lone case."""
    lines = _with_ending(document.file, LINES)
    if is_sidecar(item.raw):
        if os.path.isfile(os.path.join(document.loading.root, lines)):
            if document.file in document.loading.discovered or lines in document.loading.files:
                return []
            message = f"this says what holds for the cases of {posixpath.basename(lines)}, and has none"
            return [Problem("BK780", message, f"baselinekit run {lines}", at=item.at)]
        return [Problem("BK780", "an eval file without cases", f"add `{CASES}:`", at=item.at)]
    hint = f"put it into a list: {CASES}: [{{id: …, expected_outcome: …, input: …}}]"
    return [Problem("BK780", f"a case that is not below `{CASES}:`", hint, at=item.at)]


def _with_ending(file: str, ending: str) -> str:
    return posixpath.splitext(file)[0] + ending


def form_conflicts(raw: dict[str, Json]) -> list[Problem]:
    """Report a file that could also be of another form."""
    other_key = next((key for key in raw if key in _OTHER_FORMS), None)
    if other_key is None:
        return []
    message = (
        f"this could be {_OTHER_FORMS[other_key]} (by {other_key!r}) and an AgentV eval file (by {CASES!r})"
    )
    later = max(other_key, CASES, key=[*raw].index)
    return [Problem("BK710", message, "keep one of the two, or split the file", at=(later,))]


# The settings for all cases of a file.


def shared_facts(
    raw: dict[str, Json], document: EvalDocument, defaults: Defaults
) -> tuple[SharedFacts, list[Problem]]:
    """Return the settings of a file for all of its cases, and their problems."""
    files = _named_files(document, defaults)
    stated_values = {key: value for key, value in raw.items() if value is not None and key != "$schema"}
    facts, problems = read_facts(
        EvalFileFacts, {k: value for k, value in stated_values.items() if k != CASES}
    )
    facts = facts or EvalFileFacts()
    execution, new_problems = _read_execution(stated_values.get("execution"))
    problems += prefix_paths(new_problems, ("execution",))
    own_evaluators = EvalFileFacts(
        evaluators=stated_values.get("evaluators", ABSENT), evaluator=facts.evaluator
    )
    evaluators, new_problems = judges_of((execution, ("execution",)), (own_evaluators, ()), files)
    problems += new_problems
    target = execution.target or facts.target
    if target is not None:
        named, new_problems = named_target(target, document, defaults)
        at = ("execution", "target") if execution.target else ("target",)
        problems += [replace(problem, at=at) for problem in new_problems]
        target = target if named else None  # reported once, not for each case
    dataset = (facts.dataset or "").strip() or dataset_of(document.file)
    if facts.description:
        document.loading.descriptions[document.file] = facts.description
    document.loading.rename_hints[document.file] = "state a `dataset:` of its own in one of the two files"
    return SharedFacts(files, dataset, target, evaluators, tuple(facts.tags)), problems


def dataset_of(file: str) -> str:
    """Return the name of a file without its endings, as its dataset."""
    name = posixpath.splitext(posixpath.basename(file))[0]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _read_execution(raw: Json) -> tuple[EvalFileExecution, list[Problem]]:
    if raw is None or raw is ABSENT:
        return EvalFileExecution(), []
    if isinstance(raw, dict):
        raw = {key: value for key, value in raw.items() if value is not None}
    execution, problems = read_facts(EvalFileExecution, raw)
    return execution or EvalFileExecution(), problems


def judges_of(
    first: tuple[Any, Path], second: tuple[Any, Path], files: NamedFiles
) -> tuple[tuple[Grader, ...] | None, list[Problem]]:
    """Return the graders of `evaluators`, or `evaluator`, of the first that states them; None if neither
    does."""
    for settings, at in (first, second):
        if settings.evaluators is not ABSENT and settings.evaluators is not None:
            evaluators, problems = read_evaluators(
                settings.evaluators, EvaluatorPlace(files, (*at, "evaluators"))
            )
            return tuple(evaluators), prefix_paths(problems, (*at, "evaluators"))
    word_problems: list[Problem] = []
    for settings, at in (first, second):
        if settings.evaluator is not None:
            word_problems += prefix_paths(wrong_word(settings.evaluator), (*at, "evaluator"))
    return None, word_problems


# JSON Lines, and the settings file next to them.


def _read_line(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    loading = document.loading
    file_facts = loading.shared_facts.get(document.file)
    if not isinstance(file_facts, SharedFacts):
        file_facts = loading.shared_facts[document.file] = facts_beside_lines(document, defaults)
    if CASES in item.raw:
        message = f"a line of JSON Lines is one case, and has no `{CASES}`"
        return [Problem("BK780", message, "write each case on a line of its own", at=(*item.at, CASES))]
    return prefix_paths(add_case(item.raw, item.at, document, defaults, file_facts), item.at)


def facts_beside_lines(document: EvalDocument, defaults: Defaults) -> SharedFacts:
    """Return the settings for the cases of a JSON Lines file, from the YAML file with the same name."""
    files = _named_files(document, defaults)
    problems = document.loading.problems
    problems += files.problems
    facts = SharedFacts(files, dataset_of(document.file))
    for suffix in SUFFIXES:
        path = _with_ending(document.file, suffix)
        if not os.path.isfile(os.path.join(defaults.root, path)):
            continue
        try:
            body = decode(read(defaults.root, path), path).body
            documents = language(path).load(body, path, numbered=NUMBERED)
        except BaselinekitError as error:
            problems += [problem.placed(Place(path)) for problem in error.problems]
            return facts
        raw = documents[0] if documents else {}
        if not isinstance(raw, dict):
            new_problems = [Problem("BK780", f"expected a mapping, found {describe_value(raw)}", at=())]
        elif CASES in raw:
            return facts  # a separate eval file that happens to have the same name
        else:
            facts, new_problems = shared_facts(raw, document, defaults)
        problems += place_problems(body, path, {0: new_problems}) if new_problems else []
        return facts
    return facts


# A case.


def add_case(
    raw: Json, at: Path, document: EvalDocument, defaults: Defaults, file_facts: SharedFacts
) -> list[Problem]:
    """Add a case of a file to the load, or return its problems with paths below it."""
    if not isinstance(raw, dict):
        message = f"not a case but a JSON {json_type(raw)}"
        return [Problem("BK780", message, "a case is a mapping with id, expected_outcome and input", at=())]
    case_facts, problems = stated_case(raw)
    messages, new_problems = _read_message_field(raw, INPUTS, USER, file_facts.files)
    problems += new_problems
    expected_messages, new_problems = _read_message_field(raw, OUTPUTS, ASSISTANT, file_facts.files)
    problems += new_problems
    execution, new_problems = _read_execution(raw.get("execution"))
    problems += prefix_paths(new_problems, ("execution",))
    judges, new_problems = graders_of_case(raw, case_facts, execution, file_facts)
    problems += new_problems
    target, new_problems = target_of_case(execution.target, document, defaults, file_facts)
    problems += new_problems
    if case_facts is None or target is None or problems:
        return problems
    dataset = (case_facts.dataset or "").strip() or file_facts.dataset
    recipe, problems = recipe_of(messages, file_facts.files, target.execution, case_facts.id)
    if recipe is not None:
        problems = [*kind_of(recipe).check(recipe)]
    if recipe is None or problems:
        key = next(key for key in INPUTS if raw.get(key) is not None)
        return [replace(problem, at=(key,)) for problem in problems]
    case = defaults.case(
        f"{defaults.id_prefix}{dataset}/{case_facts.id}",
        recipe,
        judged_by(judges, target.judge),
        (*file_facts.tags, *case_facts.tags),
        name=case_facts.id,
        target_id=case_facts.id,
        description=case_facts.description or case_facts.note,
        pass_rule=PassRule("mean"),
        wanted=GoodAnswer(
            case_facts.expected_outcome or case_facts.outcome or "",
            expected_messages,
            messages,
            case_facts.sidecar,
            case_facts.conversation_id,
            *file_facts.files.split(messages),
        ),
        source=replace(document.source(at, raw), form="native"),
    )
    document.cases.append(case)
    return []


def stated_case(raw: dict[str, Json]) -> tuple[EvalFileCase | None, list[Problem]]:
    """Read all of a case except its messages and its graders."""
    stated_values = {key: value for key, value in raw.items() if value is not None or key == "id"}
    case_facts, problems = read_facts(EvalFileCase, {"id": "", **stated_values})
    id = raw.get("id")
    if id is None or (isinstance(id, str) and not id.strip()):
        problems.append(Problem("BK780", "a case without an id", "add `id:`, which no other case has", at=()))
    elif isinstance(id, str) and (not id.isprintable() or len(id) > _LONGEST_ID):
        message = f"an id is one line of at most {_LONGEST_ID} visible signs"
        problems.append(Problem("BK780", message, "rename the case", at=("id",)))
    outcomes = [key for key in ("expected_outcome", "outcome") if key in stated_values]
    if len(outcomes) > 1:
        message = "both `expected_outcome` and `outcome` are given"
        problems.append(Problem("BK780", message, "keep `expected_outcome`", at=("outcome",)))
    elif not outcomes and "criteria" not in stated_values:
        hint = "add `expected_outcome:`, what a good answer does"
        problems.append(Problem("BK780", "a case without an expected outcome", hint, at=()))
    elif outcomes and isinstance(stated_values[outcomes[0]], str) and not stated_values[outcomes[0]].strip():
        message = "the expected outcome is empty"
        problems.append(Problem("BK780", message, "say what a good answer does", at=(outcomes[0],)))
    if not any(key in stated_values for key in INPUTS):
        problems.append(Problem("BK780", "a case without an input", "add `input:`, what is asked", at=()))
    return case_facts, problems


def _read_message_field(
    raw: Mapping[str, Json], keys: Sequence[str], role: str, files: NamedFiles
) -> tuple[tuple[TraceMessage, ...], list[Problem]]:
    key = next((key for key in keys if raw.get(key) is not None), None)
    if key is None:
        return (), []
    messages, problems = read_messages(raw[key], role, files)
    return messages, prefix_paths(problems, (key,))


def graders_of_case(
    raw: dict[str, Json],
    case_facts: EvalFileCase | None,
    execution: EvalFileExecution,
    file_facts: SharedFacts,
) -> tuple[tuple[Grader, ...], list[Problem]]:
    """Return the graders: those of the case, else of its file, else a model that judges by the expected
    outcome; the case's own rubrics come before them."""
    own_evaluators = EvalFileFacts(
        evaluators=raw.get("evaluators", ABSENT), evaluator=case_facts.evaluator if case_facts else None
    )
    evaluators, problems = judges_of((execution, ("execution",)), (own_evaluators, ()), file_facts.files)
    if evaluators is None and file_facts.evaluators is not None:
        evaluators = tuple(replace(grader, at=()) for grader in file_facts.evaluators)
    rubrics: list[Grader] = []
    if raw.get("rubrics") is not None:
        rubrics, new_problems = read_rubrics(raw["rubrics"], ("rubrics",))
        problems += new_problems
    elif evaluators is None and not problems:
        evaluators = (DEFAULT_EVALUATOR,)
    return (*rubrics, *(evaluators or ())), problems


def target_of_case(
    own_target: str | None, document: EvalDocument, defaults: Defaults, file_facts: SharedFacts
) -> tuple[NamedTarget | None, list[Problem]]:
    """Return the target of a case: the operator's, else the one named by the case, its file, or `default`."""
    target, problems = named_target(own_target or file_facts.target or DEFAULT, document, defaults)
    if target is not None and target.workers is not None:
        document.loading.workers.append(target.workers)
    return target, [
        replace(problem, at=("execution", "target") if own_target else ()) for problem in problems
    ]


def named_target(
    name: str, document: EvalDocument, defaults: Defaults
) -> tuple[NamedTarget | None, list[Problem]]:
    """Return the target for a name. Problems of the target's description are reported at its place, others
    are returned."""
    if defaults.target is not None:
        return NamedTarget("", defaults.target, defaults.judge), []
    if name == DEFAULT and defaults.execution is not None:
        return NamedTarget("", defaults.execution), []
    target, problems = defaults.targets.find(name)
    if target is None:
        reported = document.loading.problems
        reported += [problem for problem in problems if problem.place and problem not in reported]
    return target, [problem for problem in problems if not problem.place]
