"""Which keys a result file has, and what stands under each: every key that results/json.py writes is here."""

import re
from decimal import Decimal

from baselinekit.model.results import OUTCOMES
from baselinekit.report.values.fields import Field, of_form, one_of

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,511}")
_KINDS = ("missing", "extra", "value", "type", "order", "count", "tolerance", "similarity")

_TEXT = Field(str)
_WORDS = Field(str, type(None))
_COUNT = Field(int, least=0)
_LINE = Field(int, type(None), least=1)
_SECONDS = Field(int, float, least=0)
_TEXTS = Field(list, optional=True)

FILE = {"format": _TEXT, "run": Field(dict), "summary": Field(dict), "results": Field(list)}
RUN = {
    "id": _TEXT,
    "started": Field(str, test=of_form(_TIME, "a time such as 2024-01-20T14:00:00Z")),
    "seconds": _SECONDS,
    "tool": _TEXT,
    "command": _TEXT,
    "config": _WORDS,
    "environment": Field(dict),
    "shard": Field(dict, type(None)),
    "commit": Field(str, optional=True),
    "coverage": Field(dict, optional=True),
    "against": Field(dict, optional=True),
    "interrupted": Field(bool, optional=True),
    "suite": Field(dict, optional=True),
    "earlier": Field(dict, optional=True),
    "spent": Field(dict, optional=True),
    "warnings": _TEXTS,
    "not_recorded": _TEXTS,
}
SHARD = {
    "number": Field(int, least=1),
    "of": Field(int, least=1),
    "total": _COUNT,
    **dict.fromkeys(("target", "configuration", "content"), Field(str, optional=True)),
}
COVERAGE = {"chosen": Field(dict), "left_out": _COUNT}
UNANSWERED = {"calls": _COUNT, "tokens": _COUNT, "cost_usd": Field(int, float, Decimal, least=0)}
SPENT = {**UNANSWERED, "unanswered": Field(dict, optional=True)}
SUMMARY: dict[str, Field] = {**dict.fromkeys(OUTCOMES, _COUNT), "complete": Field(bool)}
RESULT = {
    "id": Field(str, test=of_form(_ID, "letters, digits, `.`, `_`, `-` and `/`")),
    "file": _TEXT,
    "line": _LINE,
    "kind": _TEXT,
    "outcome": Field(str, test=one_of(OUTCOMES)),
    "verdict": _WORDS,
    "reason": _TEXT,
    "code": _WORDS,
    "difference_count": _COUNT,
    "differences": Field(list),
    "attempts": _COUNT,
    "observed": Field(dict),
    "environment_drift": Field(dict),
    "recipe_hash": _TEXT,
    "name": Field(str, optional=True),
    "criticality": Field(str, optional=True),
    "target": Field(str, optional=True),
    "notes": _TEXTS,
    "explanation": _TEXTS,
    "repeats": Field(dict, optional=True),
    "case": Field(dict, optional=True),
    "position": Field(int, least=0, optional=True),
    "resolved": Field(optional=True),
}
REPEATS = {"replays": Field(int, least=1), "passed": _COUNT, "errors": _COUNT}
USAGE = {
    "tokens_in": Field(int, least=0, optional=True),
    "tokens_out": Field(int, least=0, optional=True),
    "cost_usd": Field(int, float, Decimal, least=0, optional=True),
}
OBSERVED = {"seconds": _SECONDS, **USAGE, "scores": Field(dict, optional=True)}
DIFFERENCE = {
    "path": _TEXT,
    "kind": Field(str, test=one_of(_KINDS)),
    "expected": Field(optional=True),
    "actual": Field(optional=True),
    "file": _TEXT,
    "line": _LINE,
    "rule": _WORDS,
    "note": Field(str, optional=True),
}
SIDES = {"captured": Field(optional=True), "now": Field(optional=True)}
