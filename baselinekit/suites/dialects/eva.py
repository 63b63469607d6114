"""The eval file of a prompt folder, as eva has it: `defaults, cases, triggering`. A query that should call
the prompt up is a case without a run; a case asks the template with its inputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.kinds.echo import EchoExecution
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case, Scripts
from baselinekit.model.grades import Grader
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema.complaints import Parts, Schema, add_part, closed, describe_value, or_null, ref
from baselinekit.schema.records import below, check, named_at
from baselinekit.store.project import TEMPLATE, read
from baselinekit.suites import promptfolders, promptmeta
from baselinekit.suites.dialects.assertions import (
    OPS,
    SCALE,
    Around,
    PromptJudge,
    read_assertions,
    read_judge,
    unnamed_model,
)
from baselinekit.suites.dialects.capability import limits
from baselinekit.suites.dialects.dialect import FORMS_BY_KEY, Defaults, EvalDocument, EvalItem
from baselinekit.suites.dialects.triggering import (
    LISTS,
    PromptTriggering,
    TriggerJudge,
    TriggerQuery,
    read_queries,
)
from baselinekit.suites.promptfolders import TemplateFile
from baselinekit.tree.equality import is_number
from baselinekit.variables import as_text, unexpanded

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
"""What else a file could be, by a key that only it has."""


@frozen
class PromptDefaults:
    """Its `defaults`. `json_schema: refuse`: a case that asks for a schema fails, as it does in eva."""

    model: str | None = None
    timeout_s: Seconds = _TIMEOUT
    json_schema: Literal["check", "refuse"] = "check"
    judge_after_failure: bool = False


@frozen
class PromptCase:
    """A case: inputs and what is checked. What has no type here is looked at by itself, so that one mistake
    hides no other."""

    name: str
    inputs: Json = None
    inputs_from: str | None = None
    assert_: Json = None
    rubric: str | None = None
    judge: Json = None
    model: str | None = None
    timeout_s: Seconds | None = None


@frozen
class PromptEvals:
    defaults: Json = None
    cases: Json = ABSENT
    triggering: Json = ABSENT


@dataclass(slots=True)
class _Reading:
    """One eval file on its way to cases. `folder` and `template`: what lies beside it; `about`: what holds
    for a case that does not say so itself. `problems` have paths into the document, `elsewhere` places in
    other files."""

    document: EvalDocument
    outer: Defaults
    folder: PromptFolder
    template: TemplateFile | None
    about: PromptDefaults
    problems: list[Problem] = field(default_factory=list)
    elsewhere: list[Problem] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    @property
    def root(self) -> str:
        return self.outer.root

    @property
    def known_inputs(self) -> list[str] | None:
        """The names that an input may have; None where nobody can tell."""
        if self.folder.meta.inputs:
            return [*self.folder.meta.inputs]
        return self.template.names if self.template is not None else None

    def id_of(self, name: str, number: int) -> str:
        """An id for what is called so: told apart by a number where two would have the same."""
        word = wanted = as_id(name) or f"case-{number + 1}"
        more = 1
        while word.casefold() in self.taken:
            more += 1
            word = f"{wanted}-{more}"
        self.taken.add(word.casefold())
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
    folder, wrong = promptfolders.read_folder(loading.root, _folder_of(document.file), document.file)
    template, _ = promptfolders.read_template(loading.root, folder.path)
    loading.problems += wrong
    about, problems = _defaults(raw.get("defaults"))
    reading = _Reading(document, defaults, folder, template, about, problems)
    reading.problems += _of_the_file(raw)
    reading.problems += promptmeta.bare_booleans(
        decode(read(loading.root, document.file), document.file).body, document.file, raw
    )
    made = [*_triggering(raw.get("triggering", ABSENT), reading), *_cases(raw.get("cases", ABSENT), reading)]
    loading.problems += reading.elsewhere
    if not (reading.problems or reading.elsewhere or wrong):
        document.cases.extend(made)
    return reading.problems


def _folder_of(file: str) -> str:
    return file.rpartition("/")[0] or ("/" if file.startswith("/") else "")


def _of_the_file(raw: dict[str, Json]) -> list[Problem]:
    """What is wrong with its keys."""
    problems = []
    own = next((key for key in KEYS if key in raw), KEYS[0])
    others = [key for key in raw if key in _OTHER_FORMS]
    for key in others:
        message = f"this could be the eval file of a prompt (by {own!r}) and {_OTHER_FORMS[key]} (by {key!r})"
        problems.append(Problem("BK750", message, "split it into two files", at=(key,)))
    problems += check(PromptEvals, {key: value for key, value in raw.items() if key not in others})[1]
    if not any(key in raw for key in KEYS):
        hint = "write `cases:` or `triggering:`"
        problems.append(Problem("BK750", "neither `cases` nor `triggering` is here", hint, at=()))
    return problems


def _defaults(raw: Json) -> tuple[PromptDefaults, list[Problem]]:
    if raw is None:
        return PromptDefaults(), []
    stated, problems = check(PromptDefaults, _without_nulls(raw))
    problems += [*_wrong_time(raw), *unnamed_model(raw)]
    return stated or PromptDefaults(), below(problems, ("defaults",))


def _wrong_time(raw: Json) -> list[Problem]:
    """What is wrong with a time limit, whatever else is wrong beside it."""
    stated = raw.get("timeout_s") if isinstance(raw, dict) else None
    return limits(stated, None, ("timeout_s",)) if is_number(stated) else []


def _without_nulls(raw: Json) -> Json:
    """A key with nothing behind it is as good as none."""
    return {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw


# Its cases.


def _cases(raw: Json, reading: _Reading) -> list[Case]:
    if raw is ABSENT:
        return []
    if not isinstance(raw, list):
        message = f"expected a list of cases, found {describe_value(raw)}"
        reading.problems.append(Problem("BK105", message, "write - name: … below `cases:`", at=("cases",)))
        return []
    if not raw:
        reading.problems.append(Problem("BK750", "an empty list of cases", "add one", at=("cases",)))
    made, names = [], dict[str, int]()
    for number, entry in enumerate(raw):
        at: Path = ("cases", number)
        case, problems = _case(entry, number, reading)
        reading.problems += below(problems, at)
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and names.setdefault(name, number) != number:
            message = f"the name {name!r} occurs twice: case {names[name] + 1} has it already"
            reading.problems.append(Problem("BK750", message, "rename one of the two", at=(*at, "name")))
        made += [case] if case is not None else []
    return made


def _case(raw: Json, number: int, reading: _Reading) -> tuple[Case | None, list[Problem]]:
    if not isinstance(raw, dict):
        message = f"expected a case, found {describe_value(raw)}"
        return None, [Problem("BK105", message, "a mapping with name, inputs, and assert or rubric", at=())]
    problems = _missing(raw)
    said = _without_nulls(raw)
    renamed = {("assert_" if key == "assert" else key): value for key, value in said.items()}
    stated, wrong = check(PromptCase, {"name": "", **renamed})
    problems += [_as_written(one) for one in wrong]
    values, wrong = _inputs(raw, reading)
    problems += wrong
    judged, wrong = _graders(said, reading)
    problems += [*wrong, *_wrong_time(raw), *unnamed_model(raw)]
    if stated is None or reading.template is None:
        return None, problems
    used = {name: value for name, value in values.items() if name in reading.template.names}
    asked = reading.outer.asked  # with its other settings, where it is a model
    target: Any = asked if KINDS[asked.type].asks_models == "always" else PromptExecution("prompt")
    model = stated.model or reading.about.model or target.model
    folder = reading.folder
    around = {f"{PREFIX}PROMPT_ID": folder.id, f"{PREFIX}CASE": stated.name}
    around |= {f"{PREFIX}VAR_{name}": _plain(value) for name, value in values.items() if name not in used}
    has_scripts = folder.guard is not None or folder.verify is not None
    case = Case(
        reading.id_of(stated.name, number),
        Recipe(PromptInput(TEMPLATE, inputs=used), replace(target, model=model)),
        judged,
        name=stated.name,
        timeout=reading.about.timeout_s if stated.timeout_s is None else stated.timeout_s,
        timeout_key="timeout_s",
        retries=reading.outer.retries,
        parallel=reading.outer.parallel,
        category=reading.outer.category,
        tags=reading.outer.tags,
        criticality=reading.outer.criticality,
        skip=reading.outer.skip,
        judge_after_failure=reading.about.judge_after_failure,
        scripts=Scripts(folder.guard, folder.verify, around, PREFIX) if has_scripts else Scripts(),
        folder=folder,
        source=replace(reading.document.source(("cases", number), raw), form="native"),
    )
    return case, [*problems, *_unusable(case)]


def _missing(raw: dict[str, Json]) -> list[Problem]:
    """What a case lacks."""
    problems = []
    name = raw.get("name")
    if name is None or (isinstance(name, str) and not name.strip()):
        problems.append(Problem("BK750", "a case without a name", "add `name:`", at=()))
    elif isinstance(name, str) and not name.isprintable():
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


def _as_written(problem: Problem) -> Problem:
    """`assert` is a word of Python's, so the class says it otherwise."""
    words = {name: getattr(problem, name).replace("assert_", "assert") for name in ("message", "hint")}
    at = tuple("assert" if step == "assert_" else step for step in problem.at or ())
    return replace(problem, at=at, **words)


def _unusable(case: Case) -> list[Problem]:
    """What the graders themselves find wrong, each told at its assertion."""
    return [
        replace(problem, at=grader.at, hint=problem.hint or "say it otherwise")
        for grader in case.graders
        for problem in graders.problems_of(grader, case)
    ]


# What a case is given.


def _inputs(raw: dict[str, Json], reading: _Reading) -> tuple[dict[str, Json], list[Problem]]:
    """What is declared, over it the file's, over that what stands in the case."""
    declared = reading.folder.meta.inputs
    values: dict[str, Json] = {
        name: "" if variable.default is None else variable.default
        for name, variable in declared.items()
        if variable.default is not None or not variable.required
    }
    problems: list[Problem] = []
    stated = raw.get("inputs_from")
    if isinstance(stated, str):
        try:
            file = promptfolders.find_inputs(reading.root, reading.folder.path, stated)
        except BaselinekitError as error:
            problems += [named_at(one, ("inputs_from",)) for one in error.problems]
        else:
            data = promptmeta.read_mapping(reading.root, file, "BK752", "write one: name: value")
            reading.elsewhere += [*data.broken, *data.placed(_not_inputs(data.raw, reading))]
            values |= data.raw
    own = raw.get("inputs")
    if isinstance(own, dict):
        problems += below(_not_inputs(own, reading), ("inputs",))
        values |= own
    elif own is not None:
        message = f"expected a mapping of names to values, found {describe_value(own)}"
        problems.append(Problem("BK105", message, "such as inputs: {constraints: none}", at=("inputs",)))
    return {name: _literal(value) for name, value in values.items()}, problems


def _not_inputs(values: Mapping[str, Json], reading: _Reading) -> list[Problem]:
    known = reading.known_inputs
    problems = []
    for name, value in values.items():
        if known is not None and name not in known:
            hint = nearest(name, known) or (f"it has {', '.join(known)}" if known else "it has none")
            message = f"the prompt has no variable {name!r}"
            problems.append(Problem("BK753", message, hint, at=(name,)))
        if value is None:
            message = f"the input {name!r} has no value"
            problems.append(Problem("BK753", message, 'write "" for the empty text', at=(name,)))
    return problems


def _literal(value: Json) -> Json:
    """A value as it goes into the template, once: nothing in it is looked at again."""
    if isinstance(value, dict | list):
        value = as_text(value)
    return unexpanded(value) if isinstance(value, str) else value


def _plain(value: Json) -> str:
    """The same as a script finds it."""
    return as_text(value).replace("\\{{", "{{")


# What is checked: its assertions, then its judge.


def _graders(raw: dict[str, Json], reading: _Reading) -> tuple[tuple[Grader, ...], list[Problem]]:
    about = reading.about
    around = Around(reading.root, reading.folder.path, about.json_schema, about.model)
    found: list[Grader] = []
    problems: list[Problem] = []
    if "assert" in raw:
        found, wrong, elsewhere = read_assertions(raw["assert"], around)
        problems += below(wrong, ("assert",))
        reading.elsewhere += elsewhere
    judges, wrong = read_judge(raw.get("rubric"), raw.get("judge"), around)
    return (*found, *judges), [*problems, *wrong]


# Its queries.


def _triggering(raw: Json, reading: _Reading) -> list[Case]:
    if raw is ABSENT:
        return []
    queries, problems = read_queries(raw, reading.folder, reading.about.model)
    reading.problems += below(problems, ("triggering",))
    made = [_query(query, raw, reading) for query in queries]
    if not problems:
        reading.problems += [replace(one, at=case.source.at) for case in made for one in _unusable(case)]
    return made


def _query(query: TriggerQuery, raw: dict[str, Json], reading: _Reading) -> Case:
    """A query as a case: what is judged is the query itself, and nobody is asked for it."""
    outer = reading.outer
    return Case(
        f"{as_id(reading.folder.id) or 'prompt'}/triggering/{query.name}",
        Recipe(unexpanded(query.text), EchoExecution("echo")),
        (Grader("triggering", "model", query.decides),),
        name=query.text,
        timeout=reading.about.timeout_s,
        timeout_key="timeout_s",
        retries=outer.retries,
        parallel=outer.parallel,
        category=outer.category,
        tags=outer.tags,
        criticality=outer.criticality,
        skip=outer.skip,
        folder=reading.folder,
        source=replace(reading.document.source(query.at, raw), form="native"),
    )


# For editors.


def schema(parts: Parts) -> list[Schema]:
    texts: Schema = {"type": "array", "minItems": 1, "items": {"type": "string"}}
    text: Schema = {"type": "string", "minLength": 1}
    count: Schema = {"type": "integer", "minimum": 0}
    values = {"contains": text, "not_contains": text, "contains_any": texts, "contains_all": texts}
    values |= {"matches": text, "not_matches": text, "min_tokens": count, "max_tokens": count}
    values["json_schema"] = {"type": ["object", "boolean", "string"]}
    ops = {op: {**closed({op: values[op]}), "required": [op]} for op in OPS}
    parts["PromptAssertion"] = {"anyOf": list(ops.values())}
    least, most = SCALE
    score: Schema = {"type": "integer", "minimum": least, "maximum": most}
    add_part(parts, "PromptDefaults", PromptDefaults)
    add_part(parts, "PromptJudge", PromptJudge, pass_threshold=score)
    add_part(parts, "TriggerJudge", TriggerJudge)
    add_part(
        parts,
        "PromptCase",
        PromptCase,
        inputs=or_null({"type": "object"}),
        judge=or_null(ref("PromptJudge")),
    )
    case = parts["PromptCase"]["properties"]
    del case["assert_"]
    case["assert"] = or_null({"type": "array", "minItems": 1, "items": ref("PromptAssertion")})
    queries: Schema = {"type": "array", "items": text}
    add_part(
        parts,
        "PromptTriggering",
        PromptTriggering,
        judge=or_null(ref("TriggerJudge")),
        **dict.fromkeys(LISTS, queries),
    )
    add_part(
        parts,
        "PromptEvals",
        PromptEvals,
        defaults=or_null(ref("PromptDefaults")),
        cases={"type": "array", "minItems": 1, "items": ref("PromptCase")},
        triggering=ref("PromptTriggering"),
    )
    return [{**ref("PromptEvals"), "anyOf": [{"required": [key]} for key in KEYS]}]
