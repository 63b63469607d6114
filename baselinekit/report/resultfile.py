"""Writes and reads the result file (`baselinekit.results/1`), from which every other form of report can be
made.

Rare keys are written only when they have a value. A missing side of a difference has no key, since null is a
value. A file that was read is written back to the same bytes."""

import json
from functools import partial
from typing import Any

from baselinekit.errors import InvalidInput
from baselinekit.files.jsontext import load_json, to_bytes
from baselinekit.files.languages import JSON
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import OUTCOMES, Agreement, Attempt, Classified, Grade, JudgeFacts, PassRule
from baselinekit.model.recipes import ModelUsage, Usage
from baselinekit.model.results import (
    VERDICTS,
    BaselineChange,
    BaselineChanges,
    CaseChange,
    CaseFacts,
    Coverage,
    EarlierComparison,
    Metric,
    MetricChange,
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
from baselinekit.report.recordform import (
    COUNT,
    LINE,
    NULLABLE_TEXT,
    NUMBER,
    OPTIONAL_TEXT,
    SECONDS,
    TEXT,
    Field,
    RecordForm,
    RecordReader,
    TupleForm,
    dollars,
    object_field,
    of_form,
    one_of,
    record,
    records,
    texts,
    view,
)
from baselinekit.report.values import iter_json, page
from baselinekit.report.wording import count_differences
from baselinekit.schema import place_problems
from baselinekit.structs import replace
from baselinekit.values.paths import render as render_path
from baselinekit.values.texts import mask_and_clip, no_mask

FORMAT = "baselinekit.results/1"
MOST_RESOLVED = 1_000_000
"""The most bytes of an output that a failed result includes."""

DEEPER = 16
"""Levels of nesting around an output, which itself may have the full depth."""

_HINT = "write it again: baselinekit compare -o results.json, or run -o results.json"
_LONGEST_PATH = 80
_STEP = lazy_pattern(r'\[(\d{1,18})\]|(?:\A|(?!\A)\.)(?:("(?:[^"\\]|\\.)*")|([^\W\d][\w-]*))')
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,511}")
_KINDS = ("missing", "extra", "value", "type", "order", "count", "tolerance", "similarity")


def path_of(text: str) -> Path | None:
    """Return the steps of a path that `tree.paths.render` wrote: of a single place, so without wildcards."""
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


def read_path(text: str, at: Path, reader: RecordReader) -> Path:
    path = path_of(text)
    if path is None:
        shown = mask_and_clip(text, _LONGEST_PATH, no_mask, counted=False)
        reader.complain(at, f"{shown!r} is not a single path", "as in body.users[1].id")
    return path or ()


def _resolved(result: Result) -> Json:
    """Return the output that a failed result includes, unless it is too long. It is written only so far."""
    size = 0
    for piece in (
        iter_json(result.resolved) if result.outcome == "failed" and result.resolved is not ABSENT else ()
    ):
        size += len(piece.encode())
        if size > MOST_RESOLVED:
            return ABSENT
    return result.resolved if result.outcome == "failed" else ABSENT


def _classified(report: Report) -> list[Json]:
    """Return the classifications by graders, which only eval cases have."""
    if all(result.case is None for result in report.results):
        return []
    from baselinekit.report.confusion import classes_documents

    return classes_documents(report)


# The keys in the order in which they are written: first attempts, grades and metrics, which the journal of a
# run contains too.

JUDGE_STATES = ("calibrated", "not calibrated", "another judge", "another rubric", "other labels")
_OUTCOME = Field(str, test=one_of(OUTCOMES))
_WEIGHT = Field(int, float, optional=True)

USAGE = RecordForm(
    Usage,
    tokens_in=Field(int, least=0, optional=True),
    tokens_out=Field(int, least=0, optional=True),
    cost_usd=dollars(optional=True),
    tokens_cached=Field(int, least=0, optional=True),
)
GRADE: RecordForm[Grade] = RecordForm(
    Grade,
    {"usage": USAGE},
    grader=TEXT,
    kind=Field(str, test=one_of(("code", "model", "human"))),
    outcome=_OUTCOME,
    score=NUMBER,
    reason=OPTIONAL_TEXT,
    verdict=OPTIONAL_TEXT,
    code=OPTIONAL_TEXT,
    details=Field(dict, optional=True),
    weight=_WEIGHT,
    required=Field(bool, optional=True),
    classified=record(
        RecordForm(Classified, wanted=TEXT, given=NULLABLE_TEXT),
        optional=True,
    ),
    line=Field(int, least=1, optional=True),
    failed_gates=texts(optional=True),
    parts=records(lambda: GRADE, optional=True),
)
ATTEMPT = RecordForm(
    Attempt,
    {"usage": USAGE},
    number=Field(int, least=1),
    outcome=_OUTCOME,
    score=NUMBER,
    grades=records(GRADE),
    seconds=SECONDS,
    reason=OPTIONAL_TEXT,
    verdict=OPTIONAL_TEXT,
    code=OPTIONAL_TEXT,
    again=Field(int, least=0, optional=True),
    environment=Field(dict, optional=True, write=dict),
    output=Field(optional=True),
    sent=Field(bool, optional=True),
    verified=Field(bool, type(None), optional=True),
    notes=texts(optional=True),
)
_LIMIT = Field(int, float, least=0, optional=True)
PASS_RULE = RecordForm(
    PassRule,
    by=Field(str, test=one_of(("all", "mean"))),
    pass_at=_LIMIT,
    borderline_at=_LIMIT,
    borderline_passes=Field(bool, optional=True),
)
CASE = RecordForm(
    CaseFacts,
    eval_type=TEXT,
    score=NUMBER,
    attempts=records(ATTEMPT),
    fingerprint=object_field(str),
    category=OPTIONAL_TEXT,
    tags=texts(optional=True),
    retried=Field(int, least=0, optional=True),
    weight=_WEIGHT,
    pass_rule=record(PASS_RULE, optional=True),
)
METRIC = RecordForm(
    Metric,
    name=TEXT,
    value=NUMBER,
    view=TEXT,
    low=NUMBER,
    high=NUMBER,
    count=COUNT,
    threshold=NUMBER,
    why=OPTIONAL_TEXT,
    estimator=OPTIONAL_TEXT,
)


def _build_judge(agreement: Agreement | None, **facts: Any) -> JudgeFacts:
    measured = None if agreement is None else replace(agreement, model=facts["model"])
    return JudgeFacts(**facts, agreement=measured)


AGREEMENT = RecordForm(
    partial(Agreement, ""),
    rubric=TEXT,
    labels=TEXT,
    both_passed=Field(int, least=0, name="both"),
    only_judge_passed=Field(int, least=0, name="only_judge"),
    only_people_passed=Field(int, least=0, name="only_human"),
    both_failed=Field(int, least=0, name="neither"),
    undecided=COUNT,
    accuracy=Field(int, float, type(None), derived=True),
    kappa=NUMBER,
)
JUDGE = RecordForm(
    _build_judge,
    model=TEXT,
    file=TEXT,
    state=Field(str, test=one_of(JUDGE_STATES)),
    agreement=record(AGREEMENT, nullable=True),
)
SUITE = RecordForm(
    SuiteFacts,
    name=TEXT,
    version=NULLABLE_TEXT,
    metrics=records(METRIC),
    judges=records(JUDGE, optional=True),
    gate=OPTIONAL_TEXT,
)

_SIDE = Field(optional=True, missing=ABSENT)
DRIFT = TupleForm(captured=_SIDE, now=_SIDE)
_SHARE = TupleForm(passed=COUNT, attempts=COUNT)
_RATE = Field(int, float, least=0)
_VERDICT = Field(str, test=one_of(VERDICTS))

AGAINST = RecordForm(
    BaselineChanges,
    ref=TEXT,
    commit=TEXT,
    strict=Field(bool),
    notes=texts(optional=True),
    changes=records(
        RecordForm(
            BaselineChange,
            id=TEXT,
            change=Field(str, test=one_of(("removed", "loosened", "changed", "added"))),
            file=TEXT,
            line=LINE,
            how=texts(optional=True),
            approved_by=OPTIONAL_TEXT,
            reason=OPTIONAL_TEXT,
        )
    ),
)
EARLIER = RecordForm(
    EarlierComparison,
    run=TEXT,
    started=TEXT,
    strict=Field(bool),
    across=texts(),
    cases=records(
        RecordForm(
            CaseChange,
            id=TEXT,
            verdict=_VERDICT,
            before=record(_SHARE),
            now=record(_SHARE),
            p=Field(int, float, type(None), name="chance"),
            why=OPTIONAL_TEXT,
        )
    ),
    metrics=records(
        RecordForm(
            MetricChange,
            name=TEXT,
            verdict=_VERDICT,
            before=_RATE,
            now=_RATE,
            pairs=COUNT,
            lost=COUNT,
            won=COUNT,
            p=Field(int, float, least=0, name="chance"),
            p_holm=Field(int, float, least=0, name="adjusted"),
        )
    ),
    added=texts(),
    gone=texts(),
)
_UNANSWERED = RecordForm(
    ModelUsage,
    calls=Field(int, least=0, name="unanswered"),
    tokens=Field(int, least=0, name="may_tokens"),
    cost_usd=dollars("may_usd"),
)
_SPENT = RecordForm(
    ModelUsage,
    calls=COUNT,
    tokens=COUNT,
    cost_usd=dollars("usd"),
    unanswered=view(_UNANSWERED, of=lambda spent: spent if spent.unanswered else None),
    full_price=Field(int, least=0, optional=True),
)
_SHARD = RecordForm(
    Shard,
    number=Field(int, least=1),
    of=Field(int, least=1),
    total=COUNT,
    target=OPTIONAL_TEXT,
    configuration=OPTIONAL_TEXT,
    content=OPTIONAL_TEXT,
)
_RUN = RecordForm(
    Report,
    id=TEXT,
    started=Field(str, test=of_form(_TIME, "a time such as 2024-01-20T14:00:00Z")),
    seconds=SECONDS,
    tool=TEXT,
    command=TEXT,
    typed=record(
        RecordForm(
            Typed,
            operator=texts(optional=True),
            asking=texts(optional=True),
            selection=texts(optional=True),
            paths=texts(optional=True),
            narrowed=Field(bool, optional=True),
        ),
        optional=True,
        of=lambda report: (
            report.typed if replace(report.typed, results=(), unkept=False) != Typed() else None
        ),
    ),
    config=NULLABLE_TEXT,
    environment=Field(dict),
    shard=record(_SHARD, nullable=True),
    commit=OPTIONAL_TEXT,
    coverage=record(
        RecordForm(Coverage, chosen=Field(dict), left_out=COUNT),
        optional=True,
        of=lambda report: report.coverage if report.coverage.chosen else None,
    ),
    against=record(AGAINST, optional=True),
    interrupted=Field(bool, optional=True),
    spent=record(_SPENT, optional=True),
    suite=record(SUITE, optional=True),
    classified=Field(list, optional=True, derived=True, of=_classified),
    earlier=record(EARLIER, optional=True),
    warnings=texts(optional=True),
    not_recorded=texts(optional=True),
)
SPOT = RecordForm(
    ReportedDifference,
    path=Field(str, read=read_path, write=render_path),
    kind=Field(str, test=one_of(_KINDS)),
    expected=_SIDE,
    actual=_SIDE,
    file=TEXT,
    line=LINE,
    rule=NULLABLE_TEXT,
    note=OPTIONAL_TEXT,
)
RESULT = RecordForm(
    Result,
    id=Field(str, test=of_form(_ID, "letters, digits, `.`, `_`, `-` and `/`")),
    file=TEXT,
    line=LINE,
    kind=TEXT,
    outcome=Field(str, test=one_of(OUTCOMES)),
    verdict=NULLABLE_TEXT,
    reason=TEXT,
    code=NULLABLE_TEXT,
    difference_count=Field(int, least=0, of=count_differences),
    differences=records(SPOT),
    attempts=COUNT,
    observed=view(
        RecordForm(Result, {"usage": USAGE}, seconds=SECONDS, scores=object_field(int, float, optional=True))
    ),
    environment_drift=object_field(
        form=DRIFT,
        of=lambda result: dict(sorted(result.environment_drift.items())),
    ),
    recipe_hash=TEXT,
    expected_hash=OPTIONAL_TEXT,
    name=OPTIONAL_TEXT,
    criticality=OPTIONAL_TEXT,
    target=OPTIONAL_TEXT,
    notes=texts(optional=True),
    explanation=texts(optional=True),
    repeats=record(
        RecordForm(Repeats, replays=Field(int, least=1), passed=COUNT, errors=COUNT), optional=True
    ),
    case=record(CASE, optional=True),
    position=Field(int, least=0, optional=True),
    resolved=Field(optional=True, missing=ABSENT, of=_resolved),
)
_FILE = {"format": TEXT, "run": Field(dict), "summary": Field(dict), "results": Field(list)}
SUMMARY: dict[str, Field] = {**dict.fromkeys(OUTCOMES, COUNT), "complete": Field(bool)}


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
        **head_document(report),
        "summary": summary_document(report.summary),
        "results": [RESULT.write(result) for result in report.results],
    }


def head_document(report: Report) -> dict[str, Json]:
    """Return the keys before the summary."""
    return {"format": FORMAT, "run": _RUN.write(report)}


def summary_document(summary: Summary) -> dict[str, Json]:
    """Return the number of results of each outcome, and whether the run is complete."""
    counts = ("passed", "failed", "error", "unscored", "skipped", "complete")
    return {name: getattr(summary, name) for name in counts}


def read(text: str, file: str) -> Report:
    """Return the report of a result file's text. Raises InvalidInput with its problems (the first one at
    least)."""
    raw = load_json(text, file, DEEPER)
    reader = RecordReader()
    report = report_of(raw, reader)
    if report is None or reader.problems:
        problems = [replace(problem, hint=problem.hint or _HINT) for problem in reader.problems]
        raise InvalidInput(*place_problems(text, file, {0: problems}, JSON))
    return report


def report_of(raw: Json, reader: RecordReader) -> Report | None:
    form = raw.get("format") if isinstance(raw, dict) else None
    if form != FORMAT:
        message, hint = f"is not a result file: its `format` is not {FORMAT!r}", _HINT
        if isinstance(form, str) and form.startswith("baselinekit.results/"):
            message, hint = (
                f"has the format {form!r}, but this version reads {FORMAT!r}",
                "use the version that wrote it",
            )
        reader.complain(("format",) if form is not None else (), message, hint)
        return None
    if not reader.mapping(raw, _FILE, ()):
        return None
    summary = raw["summary"]
    run = _RUN.values(raw["run"], ("run",), reader)
    has_counts = reader.mapping(summary, SUMMARY, ("summary",))
    results = [RESULT.read(item, ("results", number), reader) for number, item in enumerate(raw["results"])]
    valid_results = tuple(result for result in results if result is not None)
    if run is None or not has_counts or len(valid_results) < len(results):
        return None
    report = Report(**run, results=valid_results, complete=summary["complete"])
    _check(report, summary, reader)
    return report


def _check(report: Report, summary: dict[str, Json], reader: RecordReader) -> None:
    """Report what is wrong beyond single values: duplicate ids, numbers that do not add up."""
    shard = report.shard
    if shard is not None and shard.number > shard.of:
        message = f"is {shard.number}, and there are {shard.of} shards"
        reader.complain(("run", "shard", "number"), message)
    first: dict[str, int] = {}
    for number, result in enumerate(report.results):
        at: Path = ("results", number)
        if first.setdefault(result.id, number) != number:
            message = f"{result.id!r} occurs twice: results[{first[result.id]}] has it too"
            reader.complain((*at, "id"), message)
        check_result(result, at, reader)
    counts = report.summary
    for outcome in OUTCOMES:
        if summary[outcome] != getattr(counts, outcome):
            message = f"says {summary[outcome]:,} {outcome}, and the results are {getattr(counts, outcome):,}"
            reader.complain(("summary", outcome), message)


def check_result(result: Result, at: Path, reader: RecordReader) -> None:
    if result.difference_count < len(result.differences):
        message = f"is {result.difference_count}, and there are {len(result.differences)} differences"
        reader.complain((*at, "difference_count"), message)
    if result.resolved is not ABSENT and result.outcome != "failed":
        message = f"is allowed only in a failed result, and this one is {result.outcome}"
        reader.complain((*at, "resolved"), message)
