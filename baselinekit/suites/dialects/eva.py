"""The eval file of a prompt folder, as eva has it: `defaults, cases, triggering`. A query that should trigger
the prompt is a case without a run; other cases ask the template with their inputs."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from baselinekit.errors import BaselinekitError, Problem, suggest
from baselinekit.files.text import decode
from baselinekit.graders import graders
from baselinekit.kinds.given import EchoExecution
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case, Scripts
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json, Path
from baselinekit.schema import (
    Parts,
    Schema,
    add_part,
    closed_object,
    move_to_name,
    or_null,
    prefix_paths,
    read_as,
    read_right_keys,
    ref,
)
from baselinekit.secrets.variables import as_text, escape_variables
from baselinekit.store.project import TEMPLATE, read
from baselinekit.structs import NotBlank, NotEmpty, Struct, field, replace
from baselinekit.suites import promptfolders, promptmeta
from baselinekit.suites.dialects.assertions import (
    MISSING,
    OPS,
    AssertionContext,
    PromptAssertion,
    PromptJudge,
    judge_by_rubric,
    read_assertions,
)
from baselinekit.suites.dialects.dialect import FORMS_BY_KEY, CaseTimeLimit, Defaults, EvalDocument, EvalItem
from baselinekit.suites.dialects.triggering import (
    PromptTriggering,
    TriggerQuery,
    read_queries,
)
from baselinekit.suites.promptfolders import TemplateFile

KEYS = ("cases", "triggering")
PREFIX = "EVA_"
_TIMEOUT = 60
_NOT_IN_IDS = lazy_pattern(r"[^\w.-]+")
_OTHER_FORMS = {
    **FORMS_BY_KEY,
    "evalcases": "an AgentV eval file",
    "input": "a case",
    "current": "a baseline",
}
"""Other forms that a file could have, by a key that only they have."""


class PromptDefaults(Struct):
    """Its `defaults`. `json_schema: refuse`: a case with a schema fails, as it does in eva."""

    model: NotBlank | None = None
    timeout_s: CaseTimeLimit = _TIMEOUT
    json_schema: Literal["check", "refuse"] = "check"
    judge_after_failure: bool = False


class PromptCase(Struct):
    """A case: its inputs and checks."""

    name: NotBlank
    inputs: dict[str, Json] | None = None
    inputs_from: str | None = None
    assertions: NotEmpty[PromptAssertion] | None = field(default=None, name="assert")
    rubric: NotBlank | None = None
    judge: PromptJudge | None = None
    model: NotBlank | None = None
    timeout_s: CaseTimeLimit | None = None


class PromptEvals(Struct):
    """The whole file. Its parts are read one by one: a mistake in one does not hide those of others."""

    defaults: Json = None
    cases: NotEmpty[Json] = MISSING
    triggering: Json = None


@dataclasses.dataclass(slots=True)
class _EvalFileReading:
    """The state of reading an eval file. `folder` and `template`: those next to it; `defaults`: its settings
    for cases that state none themselves. `problems` have paths into the document, `other_problems` places in
    other files."""

    document: EvalDocument
    outer: Defaults
    folder: PromptFolder
    template: TemplateFile | None
    defaults: PromptDefaults
    problems: list[Problem] = dataclasses.field(default_factory=list)
    other_problems: list[Problem] = dataclasses.field(default_factory=list)
    taken_ids: set[str] = dataclasses.field(default_factory=set)

    @property
    def root(self) -> str:
        return self.outer.root

    @property
    def known_inputs(self) -> list[str] | None:
        """The names that an input may have; None if they are not known."""
        if self.folder.meta.inputs:
            return [*self.folder.meta.inputs]
        return self.template.names if self.template is not None else None

    def id_of(self, name: str, number: int) -> str:
        """Return an id for a name, made unique by a number."""
        word = stem = as_id(name) or f"case-{number + 1}"
        suffix = 1
        while word.casefold() in self.taken_ids:
            suffix += 1
            word = f"{stem}-{suffix}"
        self.taken_ids.add(word.casefold())
        return f"{as_id(self.folder.id) or 'prompt'}/{word}"


def as_id(name: str) -> str:
    return _NOT_IN_IDS.sub("-", name).strip("-.")


def recognises(raw: dict[str, Json]) -> bool:
    return any(key in raw for key in KEYS) or raw.keys() == {"defaults"}


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    loading, raw = document.loading, item.raw
    if item.at or document.number:
        message = "an eval file of a prompt is one mapping, in a file of its own"
        return [
            Problem(
                "BK750", message, "write `defaults`, `cases` and `triggering` at the top of it", at=item.at
            )
        ]
    folder, folder_problems = promptfolders.read_folder(
        loading.root, _folder_of(document.file), document.file
    )
    template, _ = promptfolders.read_template(loading.root, folder.path)
    loading.problems += folder_problems
    prompt_defaults, problems = _read_defaults(raw.get("defaults"))
    reading = _EvalFileReading(document, defaults, folder, template, prompt_defaults, problems)
    reading.problems += _check_keys(raw)
    reading.problems += promptmeta.bare_booleans(
        decode(read(loading.root, document.file), document.file).body, document.file, raw
    )
    cases = [
        *(_read_triggering(raw["triggering"], reading) if "triggering" in raw else ()),
        *_read_cases(raw.get("cases"), reading),
    ]
    loading.problems += reading.other_problems
    if not (reading.problems or reading.other_problems or folder_problems):
        document.cases.extend(cases)
    return reading.problems


def _folder_of(file: str) -> str:
    return file.rpartition("/")[0] or ("/" if file.startswith("/") else "")


def _check_keys(raw: dict[str, Json]) -> list[Problem]:
    """Return the problems of its keys."""
    problems = []
    own_key = next((key for key in KEYS if key in raw), KEYS[0])
    other_keys = [key for key in raw if key in _OTHER_FORMS]
    for key in other_keys:
        message = (
            f"this could be the eval file of a prompt (by {own_key!r}) and {_OTHER_FORMS[key]} (by {key!r})"
        )
        problems.append(Problem("BK750", message, "split it into two files", at=(key,)))
    problems += read_as(PromptEvals, {key: value for key, value in raw.items() if key not in other_keys})[1]
    if not any(key in raw for key in KEYS):
        hint = "write `cases:` or `triggering:`"
        problems.append(Problem("BK750", "neither `cases` nor `triggering` is here", hint, at=()))
    return problems


def _read_defaults(raw: Json) -> tuple[PromptDefaults, list[Problem]]:
    if raw is None:
        return PromptDefaults(), []
    prompt_defaults, problems = read_right_keys(PromptDefaults, _without_nulls(raw))
    return prompt_defaults or PromptDefaults(), prefix_paths(problems, ("defaults",))


def _without_nulls(raw: Json) -> Json:
    """Drop keys with null, which count as missing."""
    return {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw


# Its cases.


def _read_cases(raw: Json, reading: _EvalFileReading) -> list[Case]:
    cases, names = [], dict[str, int]()
    for number, entry in enumerate(raw if isinstance(raw, list) else ()):
        at: Path = ("cases", number)
        case, problems = _read_case(entry, number, reading)
        reading.problems += prefix_paths(problems, at)
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and names.setdefault(name, number) != number:
            message = f"the name {name!r} occurs twice: case {names[name] + 1} has it already"
            reading.problems.append(Problem("BK750", message, "rename one of the two", at=(*at, "name")))
        cases += [case] if case is not None else []
    return cases


def _read_case(raw: Json, number: int, reading: _EvalFileReading) -> tuple[Case | None, list[Problem]]:
    stated_values = _without_nulls(raw)
    prompt_case, problems = read_right_keys(PromptCase, stated_values)
    if not isinstance(raw, dict):
        return None, problems
    problems += _check_required(raw)
    values, new_problems = _read_inputs(raw, reading)
    problems += new_problems
    case_graders, new_problems = _read_graders(stated_values.get("assert"), prompt_case, reading)
    problems += new_problems
    if prompt_case is None or reading.template is None:
        return None, problems
    template_inputs = {name: value for name, value in values.items() if name in reading.template.names}
    typed_target, outer_target = reading.outer.target, reading.outer.target_for()
    target: Any = (  # a model keeps its other settings
        outer_target if KINDS[outer_target.type].asks_models == "always" else PromptExecution("prompt")
    )
    if typed_target is not None and typed_target.type != target.type:
        message = f"a prompt folder is for a model, not for {typed_target.type}"
        problems.append(Problem("BK715", message, "name a model: --target MODEL", at=("name",)))
    stated_model = prompt_case.model or reading.defaults.model if typed_target is None else None
    model = stated_model or target.model
    folder = reading.folder
    environment = {f"{PREFIX}PROMPT_ID": folder.id, f"{PREFIX}CASE": prompt_case.name}
    environment |= {
        f"{PREFIX}VAR_{name}": _as_plain_text(value)
        for name, value in values.items()
        if name not in template_inputs
    }
    has_scripts = folder.guard is not None or folder.verify is not None
    case = reading.outer.case(
        reading.id_of(prompt_case.name, number),
        Recipe(PromptInput(TEMPLATE, inputs=template_inputs), replace(target, model=model)),
        case_graders,
        name=prompt_case.name,
        timeout=reading.defaults.timeout_s if prompt_case.timeout_s is None else prompt_case.timeout_s,
        timeout_key="timeout_s",
        judge_after_failure=reading.defaults.judge_after_failure,
        pass_rule=PassRule(),
        scripts=Scripts(folder.guard, folder.verify, environment, PREFIX) if has_scripts else Scripts(),
        folder=folder,
        source=replace(reading.document.source(("cases", number), raw), form="native"),
    )
    return case, [*problems, *_check_graders(case)]


def _check_required(raw: dict[str, Json]) -> list[Problem]:
    """Return the problems of a case that its types do not show."""
    problems = []
    name = raw.get("name")
    if isinstance(name, str) and not name.isprintable():
        message = f"the name {name!r} is not one line of visible signs"
        problems.append(Problem("BK750", message, "rename the case", at=("name",)))
    if raw.get("inputs") is None and raw.get("inputs_from") is None:
        hint = "add `inputs: {name: value}`, or `inputs_from: examples/…`; {} where there are none"
        problems.append(Problem("BK750", "neither `inputs` nor `inputs_from` is given", hint, at=()))
    if raw.get("assert") is None and raw.get("rubric") is None:
        hint = "add `assert:` or `rubric:`"
        problems.append(Problem("BK750", "neither `assert` nor `rubric` says what is right", hint, at=()))
    if raw.get("judge") is not None and raw.get("rubric") is None:
        hint = "add `rubric:`, or remove `judge:`"
        problems.append(Problem("BK750", "`judge` without `rubric` is never asked", hint, at=("judge",)))
    return problems


def _check_graders(case: Case) -> list[Problem]:
    """Return the problems that the graders themselves find, each at its assertion."""
    return [
        replace(problem, at=grader.at, hint=problem.hint or "say it otherwise")
        for grader in case.graders
        for problem in graders.problems_of(grader, case)
    ]


# The inputs of a case.


def _read_inputs(raw: dict[str, Json], reading: _EvalFileReading) -> tuple[dict[str, Json], list[Problem]]:
    """Return the declared defaults, overridden by the values of a file, then by those of the case."""
    declared = reading.folder.meta.inputs
    values: dict[str, Json] = {
        name: "" if variable.default is None else variable.default
        for name, variable in declared.items()
        if variable.default is not None or not variable.required
    }
    problems: list[Problem] = []
    inputs_from = raw.get("inputs_from")
    if isinstance(inputs_from, str):
        try:
            file = promptfolders.find_inputs(reading.root, reading.folder.path, inputs_from)
        except BaselinekitError as error:
            problems += [move_to_name(problem, ("inputs_from",)) for problem in error.problems]
        else:
            data = promptmeta.read_mapping(reading.root, file, "BK752", "write one: name: value")
            reading.other_problems += [*data.broken, *data.placed(_check_inputs(data.raw, reading))]
            values |= data.raw
    own_inputs = raw.get("inputs")
    if isinstance(own_inputs, dict):
        problems += prefix_paths(_check_inputs(own_inputs, reading), ("inputs",))
        values |= own_inputs
    return {name: _as_literal(value) for name, value in values.items()}, problems


def _check_inputs(values: Mapping[str, Json], reading: _EvalFileReading) -> list[Problem]:
    known_inputs = reading.known_inputs
    problems = []
    for name, value in values.items():
        if known_inputs is not None and name not in known_inputs:
            hint = suggest(name, known_inputs) or (
                f"it has {', '.join(known_inputs)}" if known_inputs else "it has none"
            )
            message = f"the prompt has no variable {name!r}"
            problems.append(Problem("BK753", message, hint, at=(name,)))
        if value is None:
            message = f"the input {name!r} has no value"
            problems.append(Problem("BK753", message, 'write "" for the empty text', at=(name,)))
    return problems


def _as_literal(value: Json) -> Json:
    """Return a value for the template that is taken literally, not expanded again."""
    if isinstance(value, dict | list):
        value = as_text(value)
    return escape_variables(value) if isinstance(value, str) else value


def _as_plain_text(value: Json) -> str:
    """Return the same value as a script receives it."""
    return as_text(value).replace("\\{{", "{{")


# Its graders: the assertions, then the judge.


def _read_graders(
    raw_assertions: Json, prompt_case: PromptCase | None, reading: _EvalFileReading
) -> tuple[tuple[Grader, ...], list[Problem]]:
    defaults = reading.defaults
    context = AssertionContext(reading.root, reading.folder.path, defaults.json_schema, defaults.model)
    graders, problems, file_problems = read_assertions(raw_assertions, context)
    reading.other_problems += file_problems
    if prompt_case is not None and prompt_case.rubric is not None:
        graders.append(judge_by_rubric(prompt_case.rubric, prompt_case.judge or PromptJudge(), context))
    return tuple(graders), prefix_paths(problems, ("assert",))


# Its queries.


def _read_triggering(raw: Json, reading: _EvalFileReading) -> list[Case]:
    queries, problems = read_queries(raw, reading.folder, reading.defaults.model)
    reading.problems += prefix_paths(problems, ("triggering",))
    cases = [_query_case(query, raw, reading) for query in queries]
    if not problems:
        reading.problems += [
            replace(problem, at=case.source.at) for case in cases for problem in _check_graders(case)
        ]
    return cases


def _query_case(query: TriggerQuery, raw: dict[str, Json], reading: _EvalFileReading) -> Case:
    """Return a query as a case: the query itself is judged, nothing is requested."""
    return reading.outer.case(
        f"{as_id(reading.folder.id) or 'prompt'}/triggering/{query.name}",
        Recipe(escape_variables(query.text), EchoExecution("echo")),
        (Grader("triggering", "model", query.decides),),
        name=query.text,
        timeout=reading.defaults.timeout_s,
        timeout_key="timeout_s",
        judge_after_failure=True,
        pass_rule=PassRule(),
        folder=reading.folder,
        source=replace(reading.document.source(query.at, raw), form="native"),
    )


# For editors.


def schema(parts: Parts) -> list[Schema]:
    add_part(parts, "PromptDefaults", PromptDefaults)
    add_part(parts, "PromptCase", PromptCase)
    add_part(parts, "PromptTriggering", PromptTriggering)
    values = parts["PromptAssertion"]["properties"]
    ops = [{**closed_object({op: values[op]}), "required": [op]} for op in OPS]
    parts["PromptAssertion"] = {"anyOf": ops}
    add_part(
        parts,
        "PromptEvals",
        PromptEvals,
        defaults=or_null(ref("PromptDefaults")),
        cases={"type": "array", "minItems": 1, "items": ref("PromptCase")},
        triggering=ref("PromptTriggering"),
    )
    return [{**ref("PromptEvals"), "anyOf": [{"required": [key]} for key in KEYS]}]
