"""The eval file of a prompt folder, as eva has it: `defaults, cases, triggering`. A query that should trigger
the prompt is a case without a run; other cases ask the template with their inputs."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from baselinekit import schema
from baselinekit.errors import BaselinekitError, Place, Problem, suggest
from baselinekit.eva import folders
from baselinekit.eva.folders import LISTS, TemplateFile
from baselinekit.files.text import decode
from baselinekit.graders import graders
from baselinekit.graders.by_line import DecisionLine, ScoreLine
from baselinekit.graders.by_schema import JsonSchema, SchemaRefused
from baselinekit.graders.graders import FORMS
from baselinekit.kinds.given import EchoExecution
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case, Scripts
from baselinekit.model.grades import Grader, Method, PassRule
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json, Path
from baselinekit.schema import Parts, Schema, add_part, move_to_name, or_null, prefix_paths, read_as, ref
from baselinekit.secrets.variables import as_text, escape_variables
from baselinekit.store.project import TEMPLATE, read
from baselinekit.structs import Count, Meta, NotBlank, NotEmpty, Retries, Struct, field, replace
from baselinekit.suites.dialect import FORMS_BY_KEY, CaseTimeLimit, Defaults, EvalDocument, EvalItem, numbered
from baselinekit.suites.settings import load_documents

KEYS = ("cases", "triggering")
PREFIX = "EVA_"
SCALE = (1, 5)
JUDGE = "judge"

ONE_LINE = r"^(?=.*\S)[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+(?!\n)$"
MISSING: Any = None
"""The default of keys that are missing; null is not allowed there."""

_NOT_IN_IDS = lazy_pattern(r"[^\w.-]+")
_OTHERS = {**FORMS_BY_KEY, "evalcases": "an AgentV eval file", "input": "a case", "current": "a baseline"}
"""Other forms that a file could have, by a key that only they have."""


class PromptDefaults(Struct):
    """Its `defaults`. `json_schema: refuse`: a case with a schema fails, as it does in eva."""

    model: NotBlank | None = None
    timeout_s: CaseTimeLimit = 60
    json_schema: Literal["check", "refuse"] = "check"
    judge_after_failure: bool = False


class PromptAssertion(Struct):
    """An entry of `assert`: one of these keys. Its meaning is a check (graders/graders.py)."""

    contains: str = MISSING
    not_contains: str = MISSING
    contains_any: NotEmpty[str] = MISSING
    contains_all: NotEmpty[str] = MISSING
    matches: str = MISSING
    not_matches: str = MISSING
    min_tokens: Count = MISSING
    max_tokens: Count = MISSING
    json_schema: dict[str, Json] | bool | str = MISSING


OPS = PromptAssertion.__struct_fields__
CaseName = Annotated[str, Meta(pattern=ONE_LINE, description="one line of text")]
Score = Annotated[int, Meta(ge=SCALE[0], le=SCALE[1], description="a whole number from 1 to 5")]


_NAMED: Schema = {"items": ref("PromptAssertion")}
Assertions = Annotated[list[Json], Meta(min_length=1, extra_json_schema=_NAMED)]
"""They are read one by one: a mistake in one does not hide those of others."""


class PromptJudge(Struct):
    """The model that scores by the rubric, and the least score that passes."""

    model: NotBlank | None = None
    pass_threshold: Score = 4
    retries_on_unreadable: Retries = 0


class PromptCase(Struct):
    """A case: its inputs and checks."""

    name: CaseName
    inputs: dict[str, Json] | None = None
    inputs_from: str | None = None
    assertions: Assertions | None = field(default=None, name="assert")
    rubric: NotBlank | None = None
    judge: PromptJudge | None = None
    model: NotBlank | None = None
    timeout_s: CaseTimeLimit | None = None


class TriggerJudge(Struct):
    """The model that decides whether a query triggers the prompt."""

    model: NotBlank | None = None
    retries_on_unreadable: Retries = 0


class PromptTriggering(Struct):
    """Queries that should, and should not, trigger the prompt."""

    judge: TriggerJudge | None = None
    should_match: list[NotBlank] = field(default_factory=list)
    should_not_match: list[NotBlank] = field(default_factory=list)


class PromptEvals(Struct):
    """The whole file. Its parts are read one by one: a mistake in one does not hide those of others."""

    defaults: Json = None
    cases: NotEmpty[Json] = MISSING
    triggering: Json = None


@dataclasses.dataclass(slots=True)
class _Reading:
    """The state of reading an eval file. `folder` and `template`: those next to it; `defaults`: its settings
    for cases that state none themselves. `problems` have paths into the document, `other_problems` places in
    other files."""

    document: EvalDocument
    outer: Defaults
    folder: PromptFolder
    template: TemplateFile | None
    defaults: PromptDefaults = dataclasses.field(default_factory=PromptDefaults)
    problems: schema.Mistakes = dataclasses.field(default_factory=schema.Mistakes)
    other_problems: list[Problem] = dataclasses.field(default_factory=list)
    taken_ids: set[str] = dataclasses.field(default_factory=set)

    def add(self, at: Path, code: str, message: str, hint: str) -> None:
        self.problems.append(Problem(code, message, hint, at=at))

    def case_id(self, name: str, number: int) -> str:
        """Return an id for a name, made unique by a number."""
        word = numbered(as_id(name) or f"case-{number + 1}", self.taken_ids)
        return f"{self.id_of_folder}/{word}"

    @property
    def id_of_folder(self) -> str:
        return as_id(self.folder.id) or "prompt"


def as_id(name: str) -> str:
    return _NOT_IN_IDS.sub("-", name).strip("-.")


def recognises(raw: dict[str, Json]) -> bool:
    return any(key in raw for key in KEYS) or raw.keys() == {"defaults"}


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    loading, raw = document.loading, item.raw
    if item.at or document.number:
        message = "an eval file of a prompt is one mapping, in a file of its own"
        hint = "write `defaults`, `cases` and `triggering` at the top of it"
        return [Problem("BK750", message, hint, at=item.at)]
    path = document.file.rpartition("/")[0] or ("/" if document.file.startswith("/") else "")
    files = folders.read_folder(loading.root, path, document.file)
    reading = _Reading(document, defaults, files.folder, files.template)
    _check_keys(raw, reading)
    if raw.get("defaults") is not None:
        stated, problems = schema.read_right_keys(PromptDefaults, _without_nulls(raw["defaults"]))
        reading.defaults = stated or PromptDefaults()
        reading.problems += prefix_paths(problems, ("defaults",))
    body = decode(read(loading.root, document.file), document.file).body
    reading.problems += folders.bare_booleans(body, document.file)
    cases = [*_read_triggering(raw, reading), *_read_cases(raw.get("cases"), reading)]
    loading.problems += [*files.problems, *reading.other_problems]
    if not (reading.problems or reading.other_problems or files.problems):
        document.cases.extend(cases)
    return reading.problems


def _check_keys(raw: dict[str, Json], reading: _Reading) -> None:
    own_key = next((key for key in KEYS if key in raw), None)
    if own_key is None:
        hint = "write `cases:` or `triggering:`"
        reading.add((), "BK750", "neither `cases` nor `triggering` is here", hint)
    other_keys = [key for key in raw if key in _OTHERS]
    for key in other_keys:
        message = f"this could be the eval file of a prompt (by {own_key!r}) and {_OTHERS[key]} (by {key!r})"
        reading.add((key,), "BK750", message, "split it into two files")
    reading.problems += read_as(PromptEvals, {key: raw[key] for key in raw if key not in other_keys})[1]


def _without_nulls(raw: Json) -> Json:
    """Drop keys with null, which count as missing."""
    return {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw


# Its cases.


def _read_cases(raw: Json, reading: _Reading) -> list[Case]:
    cases: list[Case] = []
    names: dict[str, int] = {}
    for number, entry in enumerate(raw if isinstance(raw, list) else ()):
        at: Path = ("cases", number)
        stated = _without_nulls(entry)
        case = reading.problems.take(schema.read_right_keys(PromptCase, stated), *at)
        if case is None:
            continue
        if names.setdefault(case.name, number) != number:
            message = f"the name {case.name!r} occurs twice: case {names[case.name] + 1} has it already"
            reading.add((*at, "name"), "BK750", message, "rename one of the two")
        _check_required(stated, at, reading)
        values, case_graders = _read_inputs(case, at, reading), _read_graders(case, at, reading)
        if reading.template is not None:
            source = replace(reading.document.source(at, stated), form="native")
            cases.append(_case(case, source, values, case_graders, reading))
    return cases


def _check_required(stated: dict[str, Json], at: Path, reading: _Reading) -> None:
    """Report the problems of a case that its types do not show."""
    if not {"inputs", "inputs_from"} & stated.keys():
        hint = "add `inputs: {name: value}`, or `inputs_from: examples/…`; {} where there are none"
        reading.add(at, "BK750", "neither `inputs` nor `inputs_from` is given", hint)
    if not {"assert", "rubric"} & stated.keys():
        hint = "add `assert:` or `rubric:`"
        reading.add(at, "BK750", "neither `assert` nor `rubric` states what is right", hint)
    if "judge" in stated and "rubric" not in stated:
        message = "`judge` without `rubric` is never asked"
        reading.add((*at, "judge"), "BK750", message, "add `rubric:`, or remove `judge:`")


def _case(
    stated: PromptCase, source: Source, values: dict[str, Json], case_graders: list[Grader], reading: _Reading
) -> Case:
    assert reading.template is not None
    at = source.at
    template_inputs = {name: value for name, value in values.items() if name in reading.template.names}
    typed_target, outer_target = reading.outer.target, reading.outer.target_for()
    asks_model = KINDS[outer_target.type].asks_models == "always"
    target: Any = outer_target if asks_model else PromptExecution("prompt")  # a model keeps other settings
    if typed_target is not None and typed_target.type != target.type:
        message = f"a prompt folder is for a model, not for {typed_target.type}"
        reading.add((*at, "name"), "BK715", message, "name a model: --target MODEL")
    stated_model = stated.model or reading.defaults.model if typed_target is None else None
    folder = reading.folder
    environment = {f"{PREFIX}PROMPT_ID": folder.id, f"{PREFIX}CASE": stated.name}
    for name in values.keys() - template_inputs.keys():  # a script gets what the template does not use
        environment[f"{PREFIX}VAR_{name}"] = as_text(values[name]).replace("\\{{", "{{")
    has_scripts = folder.guard is not None or folder.verify is not None
    case = reading.outer.case(
        reading.case_id(stated.name, int(at[-1])),
        Recipe(
            PromptInput(TEMPLATE, inputs=template_inputs), replace(target, model=stated_model or target.model)
        ),
        case_graders,
        name=stated.name,
        timeout=reading.defaults.timeout_s if stated.timeout_s is None else stated.timeout_s,
        judge_after_failure=reading.defaults.judge_after_failure,
        pass_rule=PassRule(),
        scripts=Scripts(folder.guard, folder.verify, environment, PREFIX) if has_scripts else Scripts(),
        folder=folder,
        source=source,
    )
    _add_problems(case, reading)
    return case


def _add_problems(case: Case, reading: _Reading) -> None:
    reading.problems += [
        replace(problem, at=(*case.source.at, *grader.at), hint=problem.hint or "write it in another way")
        for grader in case.graders
        for problem in graders.problems_of(grader, case)
    ]


# The inputs of a case.


def _read_inputs(case: PromptCase, at: Path, reading: _Reading) -> dict[str, Json]:
    """Return the declared defaults, overridden by the values of a file, then by those of the case."""
    values: dict[str, Json] = {
        name: "" if variable.default is None else variable.default
        for name, variable in reading.folder.meta.inputs.items()
        if variable.default is not None or not variable.required
    }
    if case.inputs_from is not None:
        try:
            file = folders.find_inputs(reading.outer.root, reading.folder.path, case.inputs_from)
        except BaselinekitError as error:
            reading.problems += [move_to_name(problem, (*at, "inputs_from")) for problem in error.problems]
        else:
            data = folders.read_mapping(reading.outer.root, file, "BK750", "write one: name: value")
            reading.other_problems += [*data.broken, *data.placed(_check_inputs(data.raw, reading))]
            values |= data.raw
    own_inputs = case.inputs or {}
    reading.problems += prefix_paths(_check_inputs(own_inputs, reading), (*at, "inputs"))
    values |= own_inputs
    return {name: _as_literal(value) for name, value in values.items()}


def _check_inputs(values: Mapping[str, Json], reading: _Reading) -> list[Problem]:
    known = [*reading.folder.meta.inputs] or (reading.template.names if reading.template else None)
    problems = []
    for name, value in values.items():
        if known is not None and name not in known:
            hint = suggest(name, known) or f"it has {', '.join(known) or 'none'}"
            problems.append(Problem("BK750", f"the prompt has no variable {name!r}", hint, at=(name,)))
        if value is None:
            message = f"the input {name!r} has no value"
            problems.append(Problem("BK750", message, 'write "" for the empty text', at=(name,)))
    return problems


def _as_literal(value: Json) -> Json:
    """Return a value for the template that is taken literally, not expanded again."""
    if isinstance(value, dict | list):
        value = as_text(value)
    return escape_variables(value) if isinstance(value, str) else value


# The graders of a case: one per assertion, then the judge.


def _read_graders(case: PromptCase, at: Path, reading: _Reading) -> list[Grader]:
    case_graders: list[Grader] = []
    counts: dict[str, int] = {}
    for number, entry in enumerate(case.assertions or ()):
        entry_at: Path = (*at, "assert", number)
        if reading.problems.take(read_as(PromptAssertion, entry), *entry_at) is None:
            continue
        if len(entry) != 1:
            keys = " and ".join(map(repr, entry)) or "none"
            message = f"an assertion has one key, and this one has {keys}"
            reading.add(entry_at, "BK750", message, "write each in an entry of its own")
            continue
        ((op, value),) = entry.items()
        is_schema = op == "json_schema"
        method = _read_schema(value, (*entry_at, op), reading) if is_schema else FORMS[op].method(value)
        counts[op] = count = counts.get(op, 0) + 1
        if method is not None:
            name = op if count == 1 else f"{op} {count}"
            case_graders.append(Grader(name, "code", method, at=("assert", number, op)))
    if case.rubric is not None:
        judge = case.judge or PromptJudge()
        model = judge.model or reading.defaults.model or JUDGE
        line = ScoreLine(case.rubric, model, judge.pass_threshold, judge.retries_on_unreadable)
        case_graders.append(Grader(JUDGE, "model", line, at=("rubric",)))
    return case_graders


def _read_schema(value: Json, at: Path, reading: _Reading) -> Method | None:
    """Read an inline schema, or one in the file at this path: relative to the project's root, else to the
    folder."""
    root = reading.outer.root
    if reading.defaults.json_schema == "refuse":
        return SchemaRefused()
    if not isinstance(value, str):
        return JsonSchema(value)
    try:
        file, places = folders.beside_or_below_root(root, reading.folder.path, value)
    except BaselinekitError as error:
        reading.problems += [move_to_name(problem, at) for problem in error.problems]
        return None
    if file is None:
        message = f"there is no {' and no '.join(places)}"
        reading.add(at, "BK750", message, "write the schema here, or in a file inside the project")
        return None
    try:
        _, documents = load_documents(root, file)
    except BaselinekitError as error:
        reading.other_problems += [problem.placed(Place(file)) for problem in error.problems]
        return None
    if len(documents) != 1:
        message = f"{len(documents)} documents, and a schema is one"
        reading.other_problems.append(Problem("BK750", message, "split it", Place(file, 1, 1)))
        return None
    return JsonSchema(documents[0])


# Its queries: each is a case whose query is judged, and nothing is requested.


def _read_triggering(raw: dict[str, Json], reading: _Reading) -> list[Case]:
    if "triggering" not in raw:
        return []
    stated, folder, meta = raw["triggering"], reading.folder, reading.folder.meta
    found = schema.read_right_keys(PromptTriggering, stated)
    triggering = reading.problems.take(found, "triggering")
    if triggering is None:
        return []
    if not any(key in stated for key in LISTS):
        message = "neither `should_match` nor `should_not_match` is here"
        reading.add(("triggering",), "BK750", message, "give at least one of them: a list of queries")
    description = meta.description or meta.summary
    has_queries = bool(triggering.should_match or triggering.should_not_match)
    if has_queries and not (description.strip() or meta.triggers):
        message = "a judge is asked by the description, and there is none"
        reading.add(("triggering",), "BK750", message, f"write `description:` into {folder.meta_file}")
        return []
    judge = triggering.judge or TriggerJudge()
    line = DecisionLine(
        wanted="YES",
        description=description,
        triggers=[*meta.triggers],
        not_for=[*meta.not_for],
        model=judge.model or reading.defaults.model or JUDGE,
        retries_on_unreadable=judge.retries_on_unreadable,
    )
    wanted = {*map(_normalized, triggering.should_match)}
    cases = []
    for key, decision in LISTS.items():
        for number, query in enumerate(getattr(triggering, key)):
            at: Path = ("triggering", key, number)
            if key != "should_match" and _normalized(query) in wanted:
                message = "this query should match and should not match: it is in both lists"
                reading.add(at, "BK750", message, "keep it in one of them")
            case = reading.outer.case(
                f"{reading.id_of_folder}/triggering/{key.replace('_', '-')}-{number + 1}",
                Recipe(escape_variables(query), EchoExecution("echo")),
                (Grader("triggering", "model", replace(line, wanted=decision)),),
                name=query,
                timeout=reading.defaults.timeout_s,
                judge_after_failure=True,
                pass_rule=PassRule(),
                folder=folder,
                source=replace(reading.document.source(at, stated), form="native"),
            )
            _add_problems(case, reading)
            cases.append(case)
    return cases


def _normalized(query: str) -> str:
    return " ".join(query.split()).casefold()


# For editors.


def add_schema(parts: Parts) -> list[Schema]:
    add_part(parts, "PromptDefaults", PromptDefaults)
    add_part(parts, "PromptAssertion", PromptAssertion)
    add_part(parts, "PromptCase", PromptCase)
    add_part(parts, "PromptTriggering", PromptTriggering)
    values = parts["PromptAssertion"]["properties"]
    ops = [{**schema.closed_object({op: values[op]}), "required": [op]} for op in OPS]
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
