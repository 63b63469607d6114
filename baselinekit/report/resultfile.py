"""Writes and reads the result file (`baselinekit.results/1`), from which every other form of report can be
made.

Rare keys are written only when they have a value. A missing side of a difference has no key, since null is a
value. A file that was read is written back to the same bytes."""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Annotated, Any, ClassVar

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.jsontext import load_json, to_bytes
from baselinekit.files.languages import JSON
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Kind, Number
from baselinekit.model.grades import (
    OUTCOMES,
    Agreement,
    Attempt,
    Classified,
    Grade,
    GraderKind,
    JudgeFacts,
    Outcome,
    PassRule,
    State,
)
from baselinekit.model.recipes import ModelUsage, Usage
from baselinekit.model.results import (
    NOT_NARROWED,
    BaselineChanges,
    CaseFacts,
    Coverage,
    EarlierComparison,
    Metric,
    Repeats,
    Report,
    ReportedDifference,
    Result,
    Shard,
    SuiteFacts,
    Summary,
    Typed,
)
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.report.values import encode, page, without_absent
from baselinekit.report.wording import count_differences
from baselinekit.schema import ParsedValue, place_problems, read_as
from baselinekit.structs import (
    NODEFAULT,
    AtLeastOne,
    Count,
    Meta,
    NotNegative,
    Struct,
    asdict,
    field,
    keys_of,
    replace,
)
from baselinekit.values.paths import render as render_path

FORMAT = "baselinekit.results/1"
MOST_RESOLVED = 1_000_000
"""The most bytes of an output that a failed result includes."""

DEEPER = 16
"""Levels of nesting around an output, which itself may have the full depth."""

_MOST_PROBLEMS = 20
_NEWER = "a newer version may have written it: use that one"
_HINT = "write it again: baselinekit compare -o results.json, or run -o results.json"
_STEP = lazy_pattern(r'\[(\d{1,18})\]|(?:\A|(?!\A)\.)(?:("(?:[^"\\]|\\.)*")|([^\W\d][\w-]*))')


def path_of(text: str) -> Path | None:
    """Return the steps of a path that `values.paths.render` wrote: of one place, so without wildcards."""
    steps: list[str | int] = []
    position = 0
    while position < len(text) and text != "$":
        match = _STEP.match(text, position)
        if match is None:
            return None
        index, quoted, plain = match.groups()
        try:
            steps.append(
                int(index) if index else plain if plain is not None else json.loads(quoted, strict=False)
            )
        except ValueError:
            return None
        position = match.end()
    return tuple(steps) if text else None


# The keys of the file, in the order in which they are written. A class has a form of its own where its file
# differs: keys that every file has although the class has a default, an order, or other names.

NOTHING: Any = None
"""The default of a key that is not written if it is missing. `null` is refused there."""


class SinglePath(ParsedValue):
    words = "a single path, as in body.users[1].id"

    @classmethod
    def parse(cls, raw: Json) -> Path | None:
        return path_of(raw) if isinstance(raw, str) else None


class Dollars(ParsedValue):
    words = "a number of 0 or more"

    @classmethod
    def parse(cls, raw: Json) -> Decimal | None:
        return Decimal(str(raw)) if type(raw) in (int, float, Decimal) and raw >= 0 else None


Started = Annotated[
    str,
    Meta(
        pattern=r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z",
        description="a time such as 2024-01-20T14:00:00Z",
    ),
]
Id = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9][A-Za-z0-9._/-]{0,511}\Z",
        description="letters, digits, `.`, `_`, `-` and `/`",
    ),
]


class FileForm(Struct):
    """How the file states a `MODEL`. Keys with a default are not written if they are empty or have it."""

    MODEL: ClassVar[Any] = dict

    def __init_subclass__(cls) -> None:
        if "MODEL" in vars(cls):
            _FORMS[cls.MODEL] = cls

    @staticmethod
    def stated(value: Any) -> dict[str, Any]:
        """Return what is under keys that are no attributes of the value."""
        return {}

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        return cls.MODEL(**values)


_FORMS: "dict[type, type[FileForm]]" = {}


def written(value: Any, form: type[FileForm] | None = None) -> Any:
    """Return a part of a report as the file states it."""
    if isinstance(value, tuple):
        return list(map(written, value))
    if not isinstance(value, Struct):
        return value
    form = form or _FORMS.get(type(value))
    stated = form.stated(value) if form else {}
    document: dict[str, Json] = {}
    for name, key, default in keys_of(form or type(value)):
        item = written(stated[name] if name in stated else getattr(value, name))
        if default is not NODEFAULT and (
            item is default if default is ABSENT else item == default or item in (None, "", [], {})
        ):
            continue
        if name == "seconds":
            item = round(item, 6)
        elif isinstance(item, Decimal) and default is not ABSENT:
            item = Decimal(f"{item.normalize():f}")  # equal amounts are equal texts
        document[key] = item
    return document


def model_of(part: Any) -> Any:
    """Return the part of a report that a form stated."""
    if isinstance(part, tuple):
        return tuple(map(model_of, part))
    if not isinstance(part, FileForm):
        return part
    return part.made({name: model_of(getattr(part, name)) for name in part.__struct_fields__})


class UsageForm(FileForm, kw_only=True):
    """The usage of something is among the keys of it, the last ones."""

    tokens_in: Count = NOTHING
    tokens_out: Count = NOTHING
    cost_usd: Dollars = NOTHING
    tokens_cached: Count = NOTHING

    @staticmethod
    def stated(value: Any) -> dict[str, Any]:
        return asdict(value.usage)

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        usage = Usage(**{key: values.pop(key) for key in Usage.__struct_fields__})
        return super().made({**values, "usage": usage})


class GradeForm(UsageForm):
    MODEL = Grade

    grader: str
    kind: GraderKind
    outcome: Outcome
    score: Number | None
    reason: str = ""
    verdict: str = NOTHING
    code: str = NOTHING
    details: dict[str, Json] = field(default_factory=dict)
    weight: Number = 1.0
    required: bool = True
    classified: Classified = NOTHING
    line: AtLeastOne = NOTHING
    failed_gates: tuple[str, ...] = ()
    parts: "tuple[GradeForm, ...]" = ()


class AttemptForm(UsageForm):
    MODEL = Attempt

    number: AtLeastOne
    outcome: Outcome
    score: Number | None
    grades: tuple[GradeForm, ...]
    seconds: NotNegative
    reason: str = ""
    verdict: str = NOTHING
    code: str = NOTHING
    again: Count = 0
    environment: dict[str, Json] = field(default_factory=dict)
    output: Json = ABSENT
    sent: bool = False
    verified: bool | None = None
    notes: tuple[str, ...] = ()

    @staticmethod
    def stated(value: Attempt) -> dict[str, Any]:
        return {**UsageForm.stated(value), "output": ABSENT if value.output is None else value.output}

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        output = values["output"]
        return super().made({**values, "output": None if output is ABSENT else output})


class CaseForm(FileForm):
    MODEL = CaseFacts

    eval_type: str
    score: Number | None
    attempts: tuple[AttemptForm, ...]
    fingerprint: dict[str, str]
    category: str = NOTHING
    tags: tuple[str, ...] = ()
    retried: Count = 0
    weight: Number = 1.0
    pass_rule: PassRule = PassRule()


class AgreementForm(FileForm):
    MODEL = Agreement

    rubric: str
    labels: str
    both: Count = field(name="both_passed")
    only_judge: Count = field(name="only_judge_passed")
    only_human: Count = field(name="only_people_passed")
    neither: Count = field(name="both_failed")
    undecided: Count
    accuracy: Number | None
    kappa: Number | None

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        del values["accuracy"]
        return Agreement("", **values)


class JudgeForm(FileForm):
    MODEL = JudgeFacts

    model: str
    file: str
    state: State
    agreement: AgreementForm | None

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        agreement = values.pop("agreement")
        return JudgeFacts(**values, agreement=agreement and replace(agreement, model=values["model"]))


class SuiteForm(FileForm):
    MODEL = SuiteFacts

    name: str
    version: str | None
    metrics: tuple[Metric, ...]
    judges: tuple[JudgeForm, ...] = ()
    gate: str = NOTHING


class UnansweredForm(FileForm):
    unanswered: Count = field(name="calls")
    may_tokens: Count = field(name="tokens")
    may_usd: Dollars = field(name="cost_usd")


class SpentForm(FileForm):
    MODEL = ModelUsage

    calls: Count
    tokens: Count
    usd: Dollars = field(name="cost_usd")
    unanswered: UnansweredForm = NOTHING
    full_price: Count = NOTHING

    @staticmethod
    def stated(value: ModelUsage) -> dict[str, Any]:
        return {"unanswered": written(value, UnansweredForm) if value.unanswered else None}

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        return ModelUsage(**values | (values.pop("unanswered") or {}))


class TypedForm(FileForm):
    MODEL = Typed

    operator: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    narrowed: bool = False


class RunForm(FileForm, kw_only=True):
    MODEL = Report

    id: str
    started: Started
    seconds: NotNegative
    tool: str
    command: str
    typed: TypedForm = TypedForm()
    config: str | None
    environment: dict[str, Json]
    shard: Shard | None
    commit: str = NOTHING
    coverage: Coverage = NOT_NARROWED
    against: BaselineChanges = NOTHING
    interrupted: bool = False
    spent: SpentForm = NOTHING
    suite: SuiteForm = NOTHING
    classified: list[Json] = field(default_factory=list)
    earlier: EarlierComparison = NOTHING
    warnings: tuple[str, ...] = ()
    not_recorded: tuple[str, ...] = ()

    @staticmethod
    def stated(value: Report) -> dict[str, Any]:
        coverage = value.coverage if value.coverage.chosen else None
        return {"coverage": coverage, "classified": _classified(value)}

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        del values["classified"]
        return Report(**values, results=())


class DifferenceForm(FileForm, kw_only=True):
    MODEL = ReportedDifference

    path: SinglePath
    kind: Kind
    expected: Json = ABSENT
    actual: Json = ABSENT
    file: str
    line: AtLeastOne | None
    rule: str | None
    note: str = NOTHING

    @staticmethod
    def stated(value: ReportedDifference) -> dict[str, Any]:
        return {"path": render_path(value.path)}


class DriftForm(FileForm):
    """A value of the environment at the capture and now."""

    captured: Json = ABSENT
    now: Json = ABSENT

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        return tuple(values.values())


def drift_document(drift: dict[str, tuple[Json, Json]]) -> dict[str, Json]:
    return {name: without_absent({"captured": was, "now": now}) for name, (was, now) in drift.items()}


class ObservedForm(UsageForm):
    seconds: NotNegative
    scores: dict[str, Number] = field(default_factory=dict)


class ResultForm(FileForm):
    MODEL = Result

    id: Id
    file: str
    line: AtLeastOne | None
    kind: str
    outcome: Outcome
    verdict: str | None
    reason: str
    code: str | None
    difference_count: Count
    differences: tuple[DifferenceForm, ...]
    attempts: Count
    observed: ObservedForm
    environment_drift: dict[str, DriftForm]
    recipe_hash: str
    expected_hash: str = ""
    name: str = NOTHING
    criticality: str = NOTHING
    target: str = ""
    notes: tuple[str, ...] = ()
    explanation: tuple[str, ...] = ()
    repeats: Repeats = NOTHING
    case: CaseForm = NOTHING
    position: Count = NOTHING
    resolved: Json = ABSENT

    @staticmethod
    def stated(value: Result) -> dict[str, Any]:
        return {
            "difference_count": count_differences(value),
            "observed": written(value, ObservedForm),
            "environment_drift": drift_document(dict(sorted(value.environment_drift.items()))),
            "resolved": _resolved(value),
        }

    @classmethod
    def made(cls, values: dict[str, Any]) -> Any:
        drift = {name: model_of(sides) for name, sides in values.pop("environment_drift").items()}
        return Result(**values.pop("observed"), **values, environment_drift=drift)


class ResultFile(Struct):
    format: str
    run: RunForm
    summary: Summary
    results: tuple[ResultForm, ...]


def _resolved(result: Result) -> Json:
    """Return the output that a failed result includes, unless it is too long."""
    if result.outcome != "failed" or result.resolved is ABSENT:
        return ABSENT
    return result.resolved if len(encode(result.resolved).encode()) <= MOST_RESOLVED else ABSENT


def _classified(report: Report) -> list[Json]:
    """Return the classifications by graders, which only eval cases have."""
    if all(result.case is None for result in report.results):
        return []
    from baselinekit.report.confusion import classes_documents

    return classes_documents(report)


def render(report: Report) -> str:
    return page(document(report))


def compact(report: Report) -> bytes:
    """Return the document on one line and without outputs, which takes a tenth of the time: for files that
    only we read."""
    short = [
        replace(result, resolved=ABSENT) if result.outcome == "failed" else result
        for result in report.results
    ]
    return to_bytes(document(replace(report, results=tuple(short))))


def document(report: Report) -> dict[str, Json]:
    """Return the result file as plain values, its keys in order."""
    return {
        "format": FORMAT,
        "run": written(report),
        "summary": written(report.summary),
        "results": written(report.results),
    }


def read(text: str, file: str) -> Report:
    """Return the report of a result file's text. Raises InvalidInput with its problems (the first ones at
    least)."""
    raw = load_json(text, file, DEEPER)
    form = raw.get("format") if isinstance(raw, dict) else None
    report: Report | None = None
    problems: Iterable[Problem] = ()
    if form == FORMAT:
        found, problems = read_as(ResultFile, raw)
        if found is not None:
            run, results = model_of(found.run), model_of(found.results)
            report = replace(run, results=results, complete=found.summary.complete)
            problems = _contradictions(report, found.summary)
    elif isinstance(form, str) and form.startswith("baselinekit.results/"):
        message = f"has the format {form!r}, but this version reads {FORMAT!r}"
        problems = [_wrong(("format",), message, "use the version that wrote it")]
    else:
        at: Path = ("format",) if form is not None else ()
        problems = [_wrong(at, f"is not a result file: its `format` is not {FORMAT!r}")]
    if shown := [_with_hint(problem) for problem in islice(problems, _MOST_PROBLEMS)]:
        raise InvalidInput(*place_problems(text, file, {0: shown}, JSON))
    assert report is not None
    return report


def _with_hint(problem: Problem) -> Problem:
    """Return the problem with what to do: nobody writes a result file by hand."""
    is_good = problem.code == "BK130" or problem.hint.startswith("did you mean")
    return problem if is_good else replace(problem, hint=_NEWER if problem.code == "BK103" else _HINT)


def _contradictions(report: Report, summary: Summary) -> Iterator[Problem]:
    """Yield what is wrong beyond single values: duplicate ids, numbers that do not add up."""
    shard = report.shard
    if shard is not None and shard.number > shard.of:
        yield _wrong(("run", "shard", "number"), f"is {shard.number}, and there are {shard.of} shards")
    first: dict[str, int] = {}
    for number, result in enumerate(report.results):
        at: Path = ("results", number)
        count, kept = result.difference_count, len(result.differences)
        if first.setdefault(result.id, number) != number:
            message = f"{result.id!r} occurs twice: results[{first[result.id]}] has it too"
            yield _wrong((*at, "id"), message)
        if count < kept:
            yield _wrong((*at, "difference_count"), f"is {count}, and there are {kept} differences")
        if result.resolved is not ABSENT and result.outcome != "failed":
            message = f"is allowed only in a failed result, and this one is {result.outcome}"
            yield _wrong((*at, "resolved"), message)
    counts = report.summary
    for outcome in OUTCOMES:
        stated, found = getattr(summary, outcome), getattr(counts, outcome)
        if stated != found:
            message = f"says {stated:,} {outcome}, and the results are {found:,}"
            yield _wrong(("summary", outcome), message)


def _wrong(at: Path, message: str, hint: str = _HINT) -> Problem:
    return Problem("BK130", f"{render_path(at) if at else 'it'} {message}", hint, at=at)
