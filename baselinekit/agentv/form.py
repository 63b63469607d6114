"""AgentV's eval files: `evalcases:` in YAML, or JSON Lines with a case per line and a YAML file of the
same name next to it. A case states what a good answer does (`expected_outcome`), the question, and an
earlier good answer; none of its values has to be equal to the answer. `evaluators:` become graders, which
all forms share."""

import os
import posixpath
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

from baselinekit import schema, structs
from baselinekit.errors import BaselinekitError, Problem
from baselinekit.files.languages import LINES, SUFFIXES
from baselinekit.graders import graders
from baselinekit.graders.base import ReadConfig
from baselinekit.graders.by_field import FieldAccuracy
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_template import TemplateJudge, Weight, names_file, read_rubric
from baselinekit.graders.by_trace import CostLimit, LatencyLimit, TokenLimit, ToolTrajectory, WantedCall
from baselinekit.graders.composite import Aggregator, make_composite
from baselinekit.graders.graders import GRADERS
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.traces import Role
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema import Parts, Schema
from baselinekit.structs import AtLeastOne, Meta, Name, NotBlank, NotNegative, Struct, Threshold
from baselinekit.suites import messages
from baselinekit.suites.dialect import FORMS_BY_KEY, Defaults, EvalDocument, EvalItem
from baselinekit.suites.messages import Messages, NamedFiles, read_messages
from baselinekit.suites.targets import DEFAULT, NamedTarget, judged_by

Type = Literal[
    "code_judge",
    "llm_judge",
    "rubric",
    "composite",
    "tool_trajectory",
    "field_accuracy",
    "latency",
    "cost",
    "token_usage",
]
TYPES: tuple[str, ...] = get_args(Type)
JUDGE, PROGRAM, RUBRIC = "llm_judge", "code_judge", "rubric"


class Evaluator(Struct, forbid_unknown_fields=False):
    """What every evaluator states. Its other keys are those of its type."""

    name: Name
    type: Type
    weight: Weight = 1
    required: bool = False


# The types whose config has other keys or units than our grader has.

_ABOVE_ZERO = Meta(gt=0, description="a number of milliseconds above 0")
Milliseconds = Annotated[int, _ABOVE_ZERO] | Annotated[float, _ABOVE_ZERO]


class ExpectedCall(Struct):
    tool: Name
    args: Json = "any"
    args_match: Literal["partial", "exact"] = "partial"
    max_duration_ms: Milliseconds | None = None

    def as_call(self) -> WantedCall:
        seconds = None if self.max_duration_ms is None else self.max_duration_ms / 1000
        return WantedCall(self.tool, self.args, self.args_match, seconds)


class StatedTrajectory(Struct):
    mode: Literal["any_order", "in_order", "exact"]
    minimums: dict[str, AtLeastOne] = structs.field(default_factory=dict)
    expected: list[ExpectedCall] = structs.field(default_factory=list)
    pass_at: Threshold | None = None

    def as_config(self) -> ToolTrajectory:
        calls = [call.as_call() for call in self.expected]
        return ToolTrajectory(self.mode, self.minimums, calls, self.pass_at)


class StatedLatency(Struct):
    threshold: Milliseconds

    def as_config(self) -> LatencyLimit:
        return LatencyLimit(self.threshold / 1000)


class StatedCost(Struct):
    budget: NotNegative

    def as_config(self) -> CostLimit:
        return CostLimit(self.budget)


class CompositeEvaluator(Struct):
    """Evaluators whose scores become one, by their mean or by another evaluator."""

    evaluators: list[Json]
    aggregator: dict[str, Json] = structs.field(default_factory=dict)
    pass_at: Threshold | None = None


_FORMS: dict[str, type[Any]] = {
    PROGRAM: CodeJudge,
    JUDGE: TemplateJudge,
    "tool_trajectory": StatedTrajectory,
    "field_accuracy": FieldAccuracy,
    "latency": StatedLatency,
    "cost": StatedCost,
    "token_usage": TokenLimit,
}
_OF_PROGRAMS = ("script", "cwd", "target", "timeout", "config")

DEFAULT_EVALUATOR = Grader(JUDGE, "model", TemplateJudge(), required=False)
"""The default evaluator: a model that judges by the expected outcome."""


def read_evaluators(raw: Json, at: Path, files: NamedFiles) -> tuple[list[Grader], list[Problem]]:
    """Return the graders of a list at this path of its case, and its problems with paths below it."""
    if not isinstance(raw, list) or not raw:
        message = f"expected a list of evaluators, found {schema.describe_value(raw)}"
        return [], [Problem("BK105", message, "such as - {name: quality, type: llm_judge}", at=())]
    by_name: dict[str, Grader] = {}
    problems = schema.Mistakes()
    for number, entry in enumerate(raw):
        grader = problems.take(read_evaluator(entry, (*at, number), files), number)
        if grader is not None and by_name.setdefault(grader.name, grader) is not grader:
            message = f"two evaluators are called {grader.name!r}"
            problems.append(Problem("BK780", message, "rename one of them", at=(number, "name")))
    return list(by_name.values()), problems


def read_evaluator(raw: Json, at: Path, files: NamedFiles) -> tuple[Grader | None, list[Problem]]:
    """Read an evaluator. What AgentV ignores, such as an unknown type, is a problem here."""
    stated: dict[str, Json] = {}
    if isinstance(raw, dict):
        raw = stated = {key: value for key, value in raw.items() if value is not None}
    problems = schema.Mistakes()
    head = problems.take(schema.read_as(Evaluator, raw))
    type = stated.get("type")
    if type not in TYPES:
        return None, problems
    config = {key: value for key, value in stated.items() if key not in Evaluator.__struct_fields__}
    method = problems.take(_read_config(str(type), config, at, files))
    if head is None or method is None or problems:
        return None, problems
    kind = GRADERS[method.__class__].kind
    return Grader(head.name, kind, method, float(head.weight), head.required, at, ()), []


def _read_config(type: str, config: dict[str, Json], at: Path, files: NamedFiles) -> ReadConfig:
    """Read the keys of a type as the config of our grader."""
    if type == "composite":
        return _read_composite(config, at, files)
    if type == RUBRIC or (type == JUDGE and "rubrics" in config):
        return read_rubric(config)
    problems: list[Problem] = []
    if type == PROGRAM:  # all keys that are not settings are passed to the program
        own = config.get("config", {})
        passed = {key: value for key, value in config.items() if key not in _OF_PROGRAMS}
        config = {key: value for key, value in config.items() if key in _OF_PROGRAMS}
        config["config"] = {**passed, **own} if isinstance(own, dict) else own
        problems = _find_path(config, "cwd", files, os.path.isdir)
    elif type == JUDGE:
        prompt = config.get("prompt")
        if isinstance(prompt, dict):
            prompt = config["prompt"] = {**prompt}
            problems = schema.prefix_paths(_find_path(prompt, "cwd", files, os.path.isdir), ("prompt",))
        elif isinstance(prompt, str) and names_file(prompt):
            problems = _find_path(config, "prompt", files, os.path.isfile)
    stated, new_problems = schema.read_as(_FORMS[type], config)
    if isinstance(stated, StatedTrajectory | StatedLatency | StatedCost):
        stated = stated.as_config()
    return stated, [*problems, *new_problems]


def _find_path(
    config: dict[str, Json], key: str, files: NamedFiles, is_there: Callable[[str], bool]
) -> list[Problem]:
    """Find the path under a key as other files are found, and state it from the folder of the eval file."""
    if not isinstance(config.get(key), str):
        return []
    try:
        path = files.find(config[key].strip(), is_there)
    except BaselinekitError as error:
        return [structs.replace(problem, place=None, at=(key,)) for problem in error.problems]
    config[key] = posixpath.relpath(path, posixpath.dirname(files.file) or ".")
    return []


def _read_composite(config: dict[str, Json], at: Path, files: NamedFiles) -> ReadConfig:
    problems = schema.Mistakes()
    stated = problems.take(schema.read_right_keys(CompositeEvaluator, config))
    if stated is None:
        return None, problems
    members = problems.take(read_evaluators(stated.evaluators, (*at, "evaluators"), files), "evaluators")
    raw = {key: value for key, value in stated.aggregator.items() if value is not None}
    judge = None
    if raw.get("type") in (PROGRAM, JUDGE):
        own = {key: value for key, value in raw.items() if key not in ("on_error", "weights")}
        if "path" in own and "script" not in own:
            own["script"] = own.pop("path")
        judge = problems.take(
            read_evaluator({"name": "aggregator", **own}, (*at, "aggregator"), files), "aggregator"
        )
        raw = {key: value for key, value in raw.items() if key in ("type", "on_error", "weights")}
    aggregator = problems.take(schema.read_as(Aggregator, raw), "aggregator")
    if aggregator is None or problems:
        return None, problems
    return make_composite(members, aggregator, judge, stated.pass_at)


# The file and its cases.

T = TypeVar("T")
CASES = "evalcases"
INPUTS = ("input_messages", "input")
OUTPUTS = ("expected_messages", "expected_output")
"""Two names for the same thing; the first takes precedence."""

_OUTCOMES = ("expected_outcome", "outcome", "criteria")
_NEEDED = (
    (("id",), "an id", "add `id:`, which no other case has"),
    (_OUTCOMES, "an expected outcome", "add `expected_outcome:`, what a good answer does"),
    (INPUTS, "an input", "add `input:`, what is asked"),
)
"""What every case needs: the keys that state it, its name, and what to do."""

LATER = {
    "tests": "`evalcases`",
    "criteria": "`expected_outcome`",
    "assert": "`execution: {evaluators: [...]}`",
    "assertions": "`execution: {evaluators: [...]}`",
    "metadata": "`sidecar`",
    "trials": "the option --attempts N",
    "workers": "the option -j N",
    "cache": "the option --cache",
    "cost_limit_usd": "the option --max-cost USD",
    "targets": "`target`: one a run",
    "threshold": "the option --fail-under",
    "reference_answer": "the last message of `expected_output`",
    "max_duration_ms": "in a call of `tool_trajectory`; for an answer, {type: latency, threshold: …}",
}
"""Keys of later versions of AgentV, or of other places, and what to write here instead."""

_OTHER_FORMS = {**FORMS_BY_KEY, **dict.fromkeys(("cases", "triggering"), "the eval file of a prompt")}
_HINTS = {
    **{key: f"here it is {instead}" for key, instead in LATER.items()},
    **{key: f"a key of {form}: split the file" for key, form in _OTHER_FORMS.items()},
}

_SETTINGS = ("dataset", "execution", "evaluators", "evaluator", "target")
_NOT_AGENTV = ("grader", "graders", "expected", "test_cases", "current")
LINE = r"^(?=.*\S)[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+(?!\n)$"
"""The pattern of a text of one line, without signs that are not visible."""

CaseId = Annotated[str, Meta(pattern=LINE, max_length=200, description="one line of at most 200 signs")]

_NAMED: Schema = {"type": "array", "minItems": 1}
Evaluators = Annotated[Json, Meta(extra_json_schema=_NAMED | {"items": schema.ref("Evaluator")})]
Cases = Annotated[Json, Meta(extra_json_schema=_NAMED | {"items": schema.ref("EvalCase")})]
Rubrics = Annotated[Json, Meta(extra_json_schema=_NAMED | {"items": {"type": ["string", "object"]}})]
Input = Annotated[Json, Meta(extra_json_schema={"type": ["string", "object", "array"]})]
"""Values that are read by themselves, so that one mistake does not hide others."""


class StatedExecution(Struct):
    """`execution:` of a file or a case: the target, and the evaluators."""

    target: str | None = None
    evaluators: Evaluators = None
    evaluator: Literal["llm_judge"] | None = None


class StatedFacts(Struct, kw_only=True):
    """What a file and a case can both state."""

    dataset: str | None = None
    description: str | None = None
    note: str | None = None
    tags: list[str] = structs.field(default_factory=list)
    execution: StatedExecution = structs.field(default_factory=StatedExecution)
    evaluators: Evaluators = None
    evaluator: Literal["llm_judge"] | None = None


class EvalFile(StatedFacts):
    """An eval file, or the settings file of JSON Lines, which has no cases."""

    evalcases: Cases = None
    schema: Json = structs.field(default=None, name="$schema")
    name: str | None = None
    version: str | int | float | None = None
    author: str | None = None
    license: str | None = None
    target: str | None = None


class EvalCase(StatedFacts):
    id: CaseId | None = None
    expected_outcome: NotBlank | None = None
    outcome: NotBlank | None = None
    input: Input = None
    input_messages: Input = None
    expected_output: Json = None
    expected_messages: Json = None
    rubrics: Rubrics = None
    sidecar: dict[str, Json] = structs.field(default_factory=dict)
    conversation_id: str | None = None


class SharedFacts(Struct):
    """The settings of a file for cases that state none themselves. `evaluators`: None if it states none."""

    files: NamedFiles
    dataset: str
    target: str | None = None
    evaluators: Sequence[Grader] | None = None
    tags: Sequence[str] = ()


def recognises(raw: dict[str, Json]) -> bool:
    """Whether it is a file of cases, the settings of JSON Lines, or a case as on a line of them. Cases of our
    own form may have an expected outcome too."""
    is_settings = raw.keys() <= _keys(EvalFile) and any(key in raw for key in _SETTINGS)
    if CASES in raw or is_settings or "input_messages" in raw or "expected_messages" in raw:
        return True
    case_input = raw.get("input")
    is_ours = isinstance(case_input, dict) and case_input.keys() >= {"type", "content"}
    if is_ours or any(key in raw for key in _NOT_AGENTV):
        return False
    return "expected_outcome" in raw or ("input" in raw and ("outcome" in raw or "criteria" in raw))


def _keys(form: type[Struct]) -> set[str]:
    return {"$schema", *form.__struct_fields__}


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    raw: dict[str, Json] = item.raw
    if document.file.endswith(LINES):
        return _read_line(item, document, defaults)
    if CASES not in raw:
        return _check_without_cases(item, document)
    shared, problems = _read_shared(raw, document, defaults)
    document.loading.problems += shared.files.problems
    cases = raw[CASES] if isinstance(raw[CASES], list) else []
    if not cases:
        hint = "add one: - {id: …, expected_outcome: …, input: …}"
        message = f"expected a list of cases, found {schema.describe_value(raw[CASES])}"
        problems.append(Problem("BK780", message, hint, at=(CASES,)))
    first_case = len(document.cases)
    for number, case in enumerate(cases):
        case_problems = _add_case(case, (*item.at, CASES, number), document, defaults, shared)
        problems += schema.prefix_paths(case_problems, (CASES, number))
    for grader in () if problems else shared.evaluators or ():
        problems += _shared_problems(grader, document.cases[first_case:])
    return schema.prefix_paths(problems, item.at)


def _shared_problems(grader: Grader, cases: Sequence[Case]) -> list[Problem]:
    """Return the problems that an evaluator of a file has for every case, once and at the evaluator."""
    bare = structs.replace(grader, at=())
    by_case = [[*graders.problems_of(bare, case)] for case in cases if bare in case.graders]
    common = [problem for problem in by_case[0] if all(problem in one for one in by_case)] if by_case else []
    return [structs.replace(problem, at=grader.place_of(problem.at or ())) for problem in common]


def _check_without_cases(item: EvalItem, document: EvalDocument) -> list[Problem]:
    """Return the problem of a file without cases, unless it is the settings file of JSON Lines."""
    lines = posixpath.splitext(document.file)[0] + LINES
    if item.raw.keys() <= _keys(EvalFile) and os.path.isfile(os.path.join(document.loading.root, lines)):
        if document.file in document.loading.discovered or lines in document.loading.files:
            return []
        return [Problem("BK780", "settings without cases", f"baselinekit run {lines}", at=item.at)]
    hint = f"list them below `{CASES}:`, each with id, expected_outcome and input"
    return [Problem("BK780", "an eval file without cases", hint, at=item.at)]


# The settings for all cases of a file.


def _read_form(form: type[T], raw: dict[str, Json]) -> tuple[T, schema.Mistakes]:
    """Return what is right of a mapping, and its problems: a wrong key does not affect the others."""
    value, found = schema.read_right_keys(form, {key: item for key, item in raw.items() if item is not None})
    problems = schema.Mistakes()
    for problem in found:
        hint = _HINTS.get(str((problem.at or ("",))[-1])) if problem.code == "BK103" else None
        problems.append(structs.replace(problem, hint=hint or problem.hint))
    return value or form(), problems


def _read_shared(
    raw: dict[str, Json], document: EvalDocument, defaults: Defaults
) -> tuple[SharedFacts, list[Problem]]:
    """Return the settings of a file for all of its cases, and their problems."""
    files = NamedFiles.of(defaults.root, document.file, document.loading.fetch_file)
    facts, problems = _read_form(EvalFile, raw)
    evaluators = problems.take(_read_stated_evaluators(facts, files))
    target = facts.execution.target or facts.target
    if target is not None:
        named, new_problems = _find_target(target, document, defaults)
        at = ("execution", "target") if facts.execution.target else ("target",)
        problems += schema.prefix_paths(new_problems, at)
        target = target if named else None  # reported once, not for each case
    if facts.description:
        document.loading.descriptions[document.file] = facts.description
    name = posixpath.splitext(posixpath.basename(document.file))[0].removesuffix(".eval")
    return SharedFacts(files, (facts.dataset or "").strip() or name, target, evaluators, facts.tags), problems


def _read_stated_evaluators(facts: StatedFacts, files: NamedFiles) -> schema.Read[Sequence[Grader]]:
    """Return the evaluators that a file or a case states, below `execution:` or by itself; None without."""
    at: Path = ("evaluators",) if facts.execution.evaluators is None else ("execution", "evaluators")
    raw = facts.evaluators if facts.execution.evaluators is None else facts.execution.evaluators
    if raw is None:
        return None, []
    evaluators, problems = read_evaluators(raw, at, files)
    return evaluators, schema.prefix_paths(problems, at)


def _read_line(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Read a line of JSON Lines as a case. Its settings are in the YAML file with the same name."""
    shared = document.loading.shared_facts.get(document.file)
    if not isinstance(shared, SharedFacts):
        shared = document.loading.shared_facts[document.file] = _read_beside_lines(document, defaults)
        document.loading.problems += shared.files.problems
    return schema.prefix_paths(_add_case(item.raw, item.at, document, defaults, shared), item.at)


def _read_beside_lines(document: EvalDocument, defaults: Defaults) -> SharedFacts:
    paths = [posixpath.splitext(document.file)[0] + suffix for suffix in SUFFIXES]
    path = next((path for path in paths if os.path.isfile(os.path.join(defaults.root, path))), "")
    body, raw, unreadable = messages.first_document(defaults.root, path) if path else ("", None, [])
    document.loading.problems += unreadable
    settings = raw if isinstance(raw, dict) and CASES not in raw else {}  # else an eval file of that name
    shared, problems = _read_shared(settings, document, defaults)
    if not (raw is None or isinstance(raw, dict)):
        problems.append(Problem("BK780", f"expected a mapping, found {schema.describe_value(raw)}", at=()))
    document.loading.problems += schema.place_problems(body, path, {0: problems}) if problems else []
    return shared


# A case.


def _add_case(
    raw: Json, at: Path, document: EvalDocument, defaults: Defaults, shared: SharedFacts
) -> list[Problem]:
    """Add a case of a file to the load, or return its problems with paths below it."""
    if not isinstance(raw, dict):
        message = f"not a case but a JSON {json_type(raw)}"
        return [Problem("BK780", message, "a case is a mapping with id, expected_outcome and input", at=())]
    facts, problems = _read_form(EvalCase, raw)
    for keys, name, hint in _NEEDED:
        if all(raw.get(key) is None for key in keys):
            problems.append(Problem("BK780", f"a case without {name}", hint, at=()))
    if raw.get("outcome") is not None and raw.get("expected_outcome") is not None:
        problems.append(Problem("BK780", "two expected outcomes", "keep `expected_outcome`", at=("outcome",)))
    question_at, asked, new_problems = _read_message_field(facts, INPUTS, messages.USER, shared.files)
    problems += new_problems
    _, answered, new_problems = _read_message_field(facts, OUTPUTS, messages.ASSISTANT, shared.files)
    problems += new_problems
    case_graders = problems.take(_read_graders(facts, shared))
    own_target = facts.execution.target
    target = problems.take(
        _find_target(own_target or shared.target or DEFAULT, document, defaults),
        *(("execution", "target") if own_target else ()),
    )
    if target is None or problems:
        return problems
    if target.workers is not None:
        document.loading.workers.append(target.workers)
    case_id = str(facts.id)
    recipe = problems.take(messages.recipe_of(asked, shared.files, target.execution, case_id))
    if recipe is not None:
        problems += kind_of(recipe).check(recipe)
    if recipe is None or problems:
        return [structs.replace(problem, at=question_at) for problem in problems]
    outcome = facts.expected_outcome or facts.outcome or ""
    named_files = shared.files.split(asked)
    dataset = (facts.dataset or "").strip() or shared.dataset
    case = defaults.case(
        f"{defaults.id_prefix}{dataset}/{case_id}",
        recipe,
        judged_by(case_graders, target.judge),
        (*shared.tags, *facts.tags),
        name=case_id,
        target_id=case_id,
        description=facts.description or facts.note,
        pass_rule=PassRule("mean"),
        wanted=GoodAnswer(outcome, answered, asked, facts.sidecar, facts.conversation_id, *named_files),
        source=structs.replace(document.source(at, raw), form="native"),
    )
    document.cases.append(case)
    return []


def _read_message_field(
    facts: EvalCase, keys: Sequence[str], role: Role, files: NamedFiles
) -> tuple[Path, Messages, list[Problem]]:
    key = next((key for key in keys if getattr(facts, key) is not None), None)
    if key is None:
        return (), (), []
    found, problems = read_messages(getattr(facts, key), role, files)
    return (key,), found, schema.prefix_paths(problems, (key,))


def _read_graders(facts: EvalCase, shared: SharedFacts) -> tuple[list[Grader], list[Problem]]:
    """Return the graders: those of the case, else of its file, else a model that judges by the expected
    outcome; the case's own rubrics come before them."""
    problems = schema.Mistakes()
    evaluators = problems.take(_read_stated_evaluators(facts, shared.files))
    if evaluators is None and shared.evaluators is not None:
        evaluators = [structs.replace(grader, at=()) for grader in shared.evaluators]
    if facts.rubrics is None:
        return [*([DEFAULT_EVALUATOR] if evaluators is None else evaluators)], problems
    rubric = problems.take(read_rubric({"rubrics": facts.rubrics}))
    if rubric is None:
        return [], problems
    grader = Grader(RUBRIC, "model", rubric, required=False, at=("rubrics",), config_at=())
    return [grader, *(evaluators or ())], problems


def _find_target(name: str, document: EvalDocument, defaults: Defaults) -> schema.Read[NamedTarget]:
    """Return the operator's target, else the one with this name. Problems of the target's description are
    reported at its place, others are returned."""
    if defaults.target is not None:
        return NamedTarget("", defaults.target, defaults.judge), []
    if name == DEFAULT and defaults.execution is not None:
        return NamedTarget("", defaults.execution), []
    target, problems = defaults.targets.find(name)
    if target is None:
        reported = document.loading.problems
        reported += [problem for problem in problems if problem.place and problem not in reported]
    return target, [problem for problem in problems if not problem.place]


# For editors.


def add_schema(parts: Parts) -> list[Schema]:
    for form in (Evaluator, EvalCase, EvalFile):
        schema.add_part(parts, form.__name__, form)
    parts["EvalCase"]["required"] = ["id"]
    parts["EvalFile"]["required"] = [CASES]
    return [schema.ref("EvalFile")]
