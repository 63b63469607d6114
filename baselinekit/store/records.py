"""What a file holds: its records, each with where it stands, whatever the file's form."""

import marshal
import shlex
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Literal

from baselinekit.documents.languages import canonical, language
from baselinekit.documents.marks import Watched
from baselinekit.errors import Problem
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.values import Json, Path, json_type
from baselinekit.store.dialects import harness, native

Form = Literal["native", "response"]
SourceOf = Callable[[int, Path, dict[str, Json]], Source]
WRAPPER = "regression_eval"
RECORD_KEYS = ("last_passed", "failure_count")

_OTHERS = {
    "capability_eval": "a capability eval",
    "expected_output": "a capability eval",
    "expected_outcome": "an AgentV eval case",
    "eval_suite": "an eval suite",
    "eval_trigger": "an eval trigger",
    "test_cases": "a file of test cases",
    "evalcases": "an AgentV eval file",
    "triggering": "an eva triggering file",
    "cases": "an eva case file",
}
_CASE = {"expected", "grader", "graders"}
"""What only an eval case has; a baseline with such a key has a key that nobody knows."""
_VERBS = {"capability_eval": "run", "expected_output": "run", "eval_suite": "run", "test_cases": "run"}
_VERBS["eval_trigger"] = "gate"
_OURS = {"id", "current", "baseline", "comparison"}


class NotABaselineError(Exception):
    """A document that holds no baseline; where it begins, and what it looks like."""

    def __init__(self, document: int, problem: Problem):
        super().__init__(problem)
        self.document = document
        self.problem = problem


def sources(data: bytes, body: str, file: str) -> Iterator[tuple[Source, dict[str, Json]]]:
    """Every record of a file: its source and its raw value."""
    documents, source = opened(data, body, file)
    for number, at, raw in records(documents, file):
        yield source(number, at, raw), raw


def opened(
    data: bytes, body: str, file: str, numbered: frozenset[str] = frozenset()
) -> tuple[list[Json], SourceOf]:
    """The documents of a file, and how to make the source of what stands in one of them."""
    watched: Watched = {key: [] for key in RECORD_KEYS}
    documents = language(file).load(body, file, watched, numbered=numbered)
    spans = {(key, id(box)): span for key, found in watched.items() for box, span in found}
    whole = bytes_digest(data)

    def source(number: int, at: Path, raw: dict[str, Json]) -> Source:
        last_passed, failure_count = (spans.get((key, id(raw.get("metadata")))) for key in RECORD_KEYS)
        about = f"{whole}-{digest(raw)}"
        return Source(file, number, at, form(raw), about, (last_passed, failure_count))

    return documents, source


def records(documents: list[Json], file: str) -> Iterator[tuple[int, Path, dict[str, Json]]]:
    """Every record: its document, where it stands there, and its raw value. Empty ones are passed over."""
    for number, document in enumerate(documents):
        if document is None:
            continue
        at: Path = ()
        if isinstance(document, dict) and WRAPPER in document:
            other = next((key for key in document if key != WRAPPER), None)
            if other is not None:
                what = f"unknown key {other!r} beside {WRAPPER}"
                raise NotABaselineError(
                    number, Problem("BK103", what, f"move it below {WRAPPER}", at=(other,))
                )
            document, at = document[WRAPPER], (WRAPPER,)
        items = enumerate(document) if isinstance(document, list) else [(None, document)]
        for index, raw in items:
            here = at if index is None else (*at, index)
            if not isinstance(raw, dict) or _is_other(raw):
                raise NotABaselineError(number, _other(raw, here, file))
            yield number, here, raw


def form(raw: dict[str, Json]) -> Form:
    """Which of the forms a record is written in."""
    return "response" if harness.recognises(raw) else "native"


def id_of(raw: dict[str, Json], source: Source) -> Json:
    """What stands where a record has its id, before anyone has checked it."""
    about = raw.get("metadata") if source.form == "response" else raw
    return about.get("id") if isinstance(about, dict) else None


def read(raw: dict[str, Json], source: Source) -> tuple[Baseline | None, list[Problem]]:
    """A record by its form: the baseline, and what is wrong with it, with paths as they stand there."""
    return harness.read(raw, source) if source.form == "response" else native.read(raw, source)


def place_in(source: Source, path: Path) -> Path:
    """Where something of the model stands in the record's document."""
    here = harness.path(path) if source.form == "response" else native.path(path)
    return (*source.at, *here)


def bytes_digest(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def digest(raw: dict[str, Json]) -> str:
    """Of all of a record but the two values that a compare writes: whether it is still the same case."""
    metadata = raw.get("metadata")
    if isinstance(metadata, dict):
        rest = {key: value for key, value in metadata.items() if key not in RECORD_KEYS}
        raw = {**raw, "metadata": rest}
        if not rest:
            del raw["metadata"]
    elif metadata is None and "metadata" in raw:
        raw = {key: value for key, value in raw.items() if key != "metadata"}
    try:
        data = marshal.dumps(raw, 2)
    except ValueError:  # a number that only a Decimal holds
        data = canonical(raw).encode()
    return blake2b(data, digest_size=12).hexdigest()


def _is_other(raw: dict[str, Json]) -> bool:
    return (
        not (_OURS & raw.keys() or harness.recognises(raw))
        or ("current" not in raw and not _OTHERS.keys().isdisjoint(raw))
        or _is_case(raw)
    )


def _is_case(raw: dict[str, Json]) -> bool:
    if harness.recognises(raw) or {"current", "baseline", "comparison"} & raw.keys():
        return False
    return not _CASE.isdisjoint(raw)


def _other(raw: Json, at: Path, file: str) -> Problem:
    if not isinstance(raw, dict):
        mend = "a baseline is a mapping with id, current and baseline, or a list of such"
        return Problem("BK110", f"no baseline, but a JSON {json_type(raw)}", mend, at=at)
    key = next((key for key in _OTHERS if key in raw), "expected_output" if _is_case(raw) else "")
    if key:
        mend = "keep it outside the folder of baselines; evals are run with baselinekit run"
        if key in _VERBS:
            mend = f"baselinekit {_VERBS[key]} {shlex.quote(file)}"
        return Problem("BK110", f"no baseline: this looks like {_OTHERS[key]}", mend, at=at)
    keys = ", ".join(map(str, list(raw)[:5])) or "nothing"
    what = f"no baseline: it has neither id nor current, but {keys}"
    return Problem("BK110", what, "a baseline has id, baseline, current, comparison, metadata", at=at)
