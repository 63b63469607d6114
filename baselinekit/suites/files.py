"""Eval files: which files they are, and the items that each of them holds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, Problem, nearest
from baselinekit.model.values import Json, Path, json_type
from baselinekit.store import records
from baselinekit.store.dialects import harness
from baselinekit.store.files import read
from baselinekit.store.reading import discover
from baselinekit.suites.dialects import suite, testcases
from baselinekit.suites.dialects.suite import WRAPPER

# What an eval file holds: its items, each with its form, wherever it stands.


Form = Literal["case", "test_cases", "regression", "suite", "gate", "report", "nothing"]
CAPABILITY = "capability_eval"
BESIDE = ("baselines", "config", "fixtures", "results")
"""Folders below a named one that hold what goes with evals: known outputs, graders and thresholds, files that
cases name, and what runs have written."""
NUMBERED = frozenset({"labels"})
"""Where keys are numbers: the labels of a rating scale."""

FILE = "FILE"
"""In what to do next: the file itself, whose name whoever reads it knows."""

_CASE = {"input", "expected", "expected_output", "grader", "graders"}
_GRADERS = {"grader", "graders"}
_BASELINE = {"current", "baseline", "comparison"}
_WRAPPERS = (CAPABILITY, records.WRAPPER, suite.WRAPPER)
_ELSE: dict[str, Form] = {
    "eval_trigger": "gate",
    "phase": "gate",
    "eval_report": "report",
    "format": "report",
}
_OTHERS = {
    "ref": ("a reference", "a suite writes it so: $ref: ./cases.yaml"),
    "eval_trigger": ("an eval trigger", f"give it to the gate: baselinekit gate {FILE}"),
    "phase": ("a phase of a plan", f"give it to the gate: baselinekit gate {FILE}"),
    "eval_report": ("the report of a run", "reports belong into results/"),
    "format": ("the result of a run", "results belong into results/"),
    "evalcases": ("an AgentV eval file", "it is not read as a suite"),
    "cases": ("an eva case file", "it is not read as a suite"),
    "triggering": ("an eva triggering file", "it is not read as a suite"),
}


@dataclass(frozen=True, slots=True)
class EvalItem:
    """One thing in a document, and where it stands there. `problem`: why it is nothing that could be run. A
    gate or a report may lie among the cases, but is none."""

    form: Form
    at: Path
    raw: Json
    problem: Problem | None = None


def items(document: Json) -> Iterator[EvalItem]:
    """What a document holds, in its order."""
    if document is None:
        return
    if not isinstance(document, dict):
        yield from _listed(document, ())
        return
    wrappers = [key for key in _WRAPPERS if key in document]
    if not wrappers:
        yield _item(document, ())
        return
    for key in document:
        if key not in wrappers:
            what = f"unknown key {key!r} beside {wrappers[0]}"
            yield _nothing(Problem("BK103", what, f"move it below {wrappers[0]}", at=(key,)))
    for key in wrappers:
        if key == suite.WRAPPER:
            yield EvalItem("suite", (key,), document[key])
        else:
            form: Form = "case" if key == CAPABILITY else "regression"
            yield from _listed(document[key], (key,), form)


def _listed(value: Json, at: Path, form: Form | None = None) -> Iterator[EvalItem]:
    if isinstance(value, list) and not value:
        yield _nothing(Problem("BK710", "an empty list", "add a case", at=at))
    for number, each in enumerate(value if isinstance(value, list) else [value]):
        here = (*at, number) if isinstance(value, list) else at
        if not isinstance(each, dict):
            hint = "a case is a mapping with id, input, expected and grader"
            yield _nothing(Problem("BK710", f"no case, but a JSON {json_type(each)}", hint, at=here))
        else:
            yield EvalItem(form, here, each) if form else _item(each, here)


def _item(raw: dict[str, Json], at: Path) -> EvalItem:
    """By what only one of the forms has."""
    if testcases.recognises(raw):
        return EvalItem("test_cases", at, raw)
    if {"output", "human"} <= raw.keys():
        hint = "move it into the folder config/ beside the cases, and name it there: calibration: config/…"
        return _nothing(Problem("BK710", "no case: this looks like labels for a judge", hint, at=at))
    if harness.recognises(raw) or ((_BASELINE & raw.keys()) and not (_CASE & raw.keys())):
        return EvalItem("regression", at, raw)
    if raw.keys() <= _GRADERS:
        hint = "put it into a case, beside id and input, or give it a name in config/graders.yaml"
        return _nothing(Problem("BK710", "no case: this is a grader alone", hint, at=at))
    if _CASE & raw.keys() or "id" in raw:
        return EvalItem("case", at, raw)
    looks = next(((key, words) for key, words in _OTHERS.items() if key in raw), None)
    if looks:
        key, (words, hint) = looks
        problem = Problem("BK710", f"no case: this looks like {words}", hint, at=at)
        return EvalItem(_ELSE.get(key, "nothing"), at, None, problem)
    return _nothing(Problem("BK710", *_unlike(raw), at=at))


def _unlike(raw: dict[str, Json]) -> tuple[str, str]:
    known = [*_WRAPPERS, "test_cases", "input", "expected", "grader", "current", "baseline"]
    near = next((hint for key in raw if (hint := nearest(key, known))), "")
    keys = ", ".join(map(str, list(raw)[:5])) or "nothing"
    return f"no case: it has {keys}", near or "a case has id, input, expected and grader"


def _nothing(problem: Problem) -> EvalItem:
    return EvalItem("nothing", problem.at or (), None, problem)


# Which files hold evals: those that are named, and those below the folders that are named.


def discover_evals(paths: Sequence[str], root: str) -> tuple[list[str], list[str]]:
    """The suites, those of the upper folders first, and the other files."""
    found = discover(paths, root, BESIDE)
    suites = [file for file in found if _may_be_suite(root, file)]
    return sorted(suites, key=lambda file: file.count("/")), [file for file in found if file not in suites]


def forms_in(root: str, file: str) -> set[Form]:
    """What a file holds; nothing where it cannot be read."""
    try:
        documents = language(file).load(decode(read(root, file), file).body, file, numbered=NUMBERED)
    except BaselinekitError:
        return set()
    return {item.form for document in documents for item in items(document)}


def _may_be_suite(root: str, file: str) -> bool:
    """By a look at its bytes; whether it really is one is found out when it is read."""
    try:
        return WRAPPER.encode() in read(root, file)
    except BaselinekitError:
        return False
