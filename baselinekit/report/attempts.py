"""Attempts, grades and metrics as records: in the result file, and in the journal of a run."""

from dataclasses import replace
from functools import partial
from typing import Any

from baselinekit.model.grades import OUTCOMES, Agreement, Attempt, Grade, JudgeFacts
from baselinekit.model.recipes import Usage
from baselinekit.model.results import CaseFacts, Metric, SuiteFacts
from baselinekit.schema.records import (
    COUNT,
    NULLABLE_TEXT,
    NUMBER,
    OPTIONAL_TEXT,
    SECONDS,
    TEXT,
    Field,
    RecordForm,
    dollars,
    named,
    one_of,
    record,
    records,
    texts,
)

JUDGE_STATES = ("calibrated", "not calibrated", "another judge", "another rubric", "other labels")
_OUTCOME = Field(str, test=one_of(OUTCOMES))
_WEIGHT = Field(int, float, optional=True)

USAGE = RecordForm(
    Usage,
    tokens_in=Field(int, least=0, optional=True),
    tokens_out=Field(int, least=0, optional=True),
    cost_usd=dollars(optional=True),
)
GRADE = RecordForm(
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
)
CASE = RecordForm(
    CaseFacts,
    eval_type=TEXT,
    score=NUMBER,
    attempts=records(ATTEMPT),
    fingerprint=named(str),
    category=OPTIONAL_TEXT,
    tags=texts(optional=True),
    retried=Field(int, least=0, optional=True),
    weight=_WEIGHT,
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
)


def _judge(agreement: Agreement | None, **stated: Any) -> JudgeFacts:
    known = None if agreement is None else replace(agreement, model=stated["model"])
    return JudgeFacts(**stated, agreement=known)


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
    _judge,
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
