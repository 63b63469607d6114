"""Writes and reads the result file (`baselinekit.results/1`), from which every other form of report can be
made. The classes of the model are its form, but for what `written` states differently.

Rare keys are written only when they have a value. A missing side of a difference has no key, since null is a
value. A file that was read is written back to the same bytes."""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.jsontext import load_json, to_bytes
from baselinekit.files.languages import JSON
from baselinekit.lazy import lazy_pattern
from baselinekit.model import results
from baselinekit.model.grades import OUTCOMES, Agreement, Attempt, JudgeFacts
from baselinekit.model.recipes import ModelUsage, Usage
from baselinekit.model.results import CaseFacts, Report, ReportedDifference, Result, Summary, Typed
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.report.values import encode, page, without_absent
from baselinekit.report.wording import count_differences
from baselinekit.schema import place_problems, read_as
from baselinekit.structs import NODEFAULT, Struct, keys_of, replace
from baselinekit.values.paths import render as render_path

FORMAT = "baselinekit.results/1"
MOST_RESOLVED = 1_000_000
"""The most bytes of an output that a failed result includes."""

DEEPER = 16
"""Levels of nesting around an output, which itself may have the full depth."""

_MOST_PROBLEMS = 20
_HINT = "use the version that wrote it, or write it again: baselinekit compare -o results.json"
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
            steps.append(int(index) if index else plain or json.loads(quoted, strict=False))
        except ValueError:
            return None
        position = match.end()
    return tuple(steps) if text else None


# What the file states differently from the model, in both directions.

_ALWAYS = {
    Report: {"config", "environment", "shard"},
    results.SuiteFacts: {"version", "metrics"},
    JudgeFacts: {"agreement"},
    Agreement: {"undecided", "kappa"},
    ModelUsage: {"calls", "tokens", "usd"},
    Result: {"reason", "code", "verdict", "differences", "attempts", "recipe_hash"},
    ReportedDifference: {"rule"},
    CaseFacts: {"attempts", "score", "fingerprint"},
    Attempt: {"grades", "seconds"},
}
"""Keys that are written although they have their default."""

_ELSEWHERE = {
    Report: {"results", "complete", "coverage", "folder"},
    Agreement: {"model"},
    ModelUsage: {"unanswered", "may_tokens", "may_usd"},
    Result: {"difference_count", "seconds", "scores", "usage", "environment_drift", "resolved", "at"},
    ReportedDifference: {"at"},
    Typed: {"results", "unkept"},
}
"""Attributes that are not keys of the file, or are below other keys."""

_UNANSWERED = {"unanswered": "calls", "may_tokens": "tokens", "may_usd": "cost_usd"}
_USAGE = Usage.__struct_fields__


def written(value: Any) -> Any:
    """Return a part of a report as the file states it."""
    if isinstance(value, tuple):
        return list(map(written, value))
    if not isinstance(value, Struct):
        return value
    kind = type(value)
    always, elsewhere = _ALWAYS.get(kind, ()), _ELSEWHERE.get(kind, ())
    document: dict[str, Json] = {}
    for name, key, default in keys_of(kind):
        if name in elsewhere:
            continue
        item = getattr(value, name)
        if name == "usage":
            document |= written(item)
            continue
        if name == "seconds":
            item = round(item, 6)
        elif key == "cost_usd" and item is not None:
            item = _amount(item)
        else:
            item = render_path(item) if name == "path" else written(item)
        is_rare = default is not NODEFAULT and name not in always
        if not (item is ABSENT or (is_rare and (item == default or item in (None, "", [], {})))):
            document[key] = item
    return document | _further_keys(value)


def _amount(usd: Decimal) -> Decimal:
    return Decimal(f"{Decimal(usd).normalize():f}")  # equal amounts are equal texts


def _further_keys(value: Any) -> dict[str, Json]:
    """Return the keys that are not attributes, or have another form there."""
    if isinstance(value, Report):
        coverage = {"coverage": written(value.coverage)} if value.coverage.chosen else {}
        return coverage | ({"classified": found} if (found := _classified(value)) else {})
    if isinstance(value, Agreement):
        return {"accuracy": value.accuracy}
    if isinstance(value, ModelUsage) and value.unanswered:
        usd = _amount(value.may_usd)
        return {"unanswered": {"calls": value.unanswered, "tokens": value.may_tokens, "cost_usd": usd}}
    if not isinstance(value, Result):
        return {}
    scores = {"scores": value.scores} if value.scores else {}
    resolved = value.resolved if value.outcome == "failed" else ABSENT
    if resolved is not ABSENT and len(encode(resolved).encode()) > MOST_RESOLVED:
        resolved = ABSENT
    document = {
        "difference_count": count_differences(value),
        "observed": {"seconds": round(value.seconds, 6), **scores, **written(value.usage)},
        "environment_drift": drift_document(value.environment_drift),
        "resolved": resolved,
    }
    return without_absent(document)


def drift_document(drift: dict[str, tuple[Json, Json]]) -> dict[str, Json]:
    return {name: without_absent({"captured": was, "now": now}) for name, (was, now) in sorted(drift.items())}


def _classified(report: Report) -> list[Json]:
    """Return the classifications by graders, which only eval cases have."""
    if all(result.case is None for result in report.results):
        return []
    from baselinekit.report.confusion import classes_documents

    return classes_documents(report)


def _maps(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def restore_usage(attempt: dict[str, Json]) -> None:
    """Put the usage of an attempt and of its grades below a key of its own."""
    waiting = [attempt]
    while waiting:
        part = waiting.pop()
        part["usage"] = {key: part.pop(key) for key in _USAGE if key in part}
        waiting += [*_maps(part.get("grades")), *_maps(part.get("parts"))]


def restore_difference(difference: dict[str, Json]) -> None:
    difference |= {"expected": ABSENT, "actual": ABSENT} | difference
    path = path_of(difference["path"]) if isinstance(difference.get("path"), str) else None
    if path is not None:
        difference["path"] = list(path)


def restore_drift(drift: Json) -> Json:
    if not isinstance(drift, dict):
        return drift
    return {
        name: [sides.get("captured", ABSENT), sides.get("now", ABSENT)] if isinstance(sides, dict) else sides
        for name, sides in drift.items()
    }


def _restore(document: dict[str, Json]) -> None:
    """Give a file the form of the classes. What has another form than ours stays, as a mistake."""
    for run in _maps([document.get("run")]):
        run.pop("classified", None)
        run["results"] = []
        for spent in _maps([run.get("spent")]):
            for unanswered in _maps([spent.pop("unanswered", None)]):
                spent |= {name: unanswered[key] for name, key in _UNANSWERED.items() if key in unanswered}
        for suite in _maps([run.get("suite")]):
            for judge in _maps(suite.get("judges")):
                for agreement in _maps([judge.get("agreement")]):
                    agreement.pop("accuracy", None)
                    agreement["model"] = judge.get("model")
    for result in _maps(document.get("results")):
        for observed in _maps([result.get("observed")]):
            result |= {key: observed.pop(key) for key in ("seconds", "scores", *_USAGE) if key in observed}
            if not observed:
                del result["observed"]
        restore_usage(result)
        result.setdefault("resolved", ABSENT)
        result["environment_drift"] = restore_drift(result.get("environment_drift", {}))
        for difference in _maps(result.get("differences")):
            restore_difference(difference)
        for case in _maps([result.get("case")]):
            for attempt in _maps(case.get("attempts")):
                restore_usage(attempt)


class ResultFile(Struct):
    format: str
    run: Report
    summary: Summary
    results: tuple[Result, ...]


def render(report: Report) -> str:
    return page(document(report))


def compact(report: Report) -> bytes:
    """Return the document on one line and without outputs, which takes a tenth of the time: for files that
    only we read."""
    return to_bytes(document(replace(report, results=tuple(map(_without_outputs, report.results)))))


def _without_outputs(result: Result) -> Result:
    if result.outcome == "failed":
        result = replace(result, resolved=ABSENT)
    if result.case is not None and any(attempt.transcript for attempt in result.case.attempts):
        attempts = tuple(
            replace(one, transcript=(), output=None if one.outcome == "passed" else one.output)
            for one in result.case.attempts
        )
        result = replace(result, case=replace(result.case, attempts=attempts))
    return result


def document(report: Report) -> dict[str, Json]:
    """Return the result file as plain values, its keys in order."""
    summary, results = written(report.summary), written(report.results)
    return {"format": FORMAT, "run": written(report), "summary": summary, "results": results}


def read(text: str, file: str) -> Report:
    """Return the report of a result file's text. Raises InvalidInput with its problems (the first ones at
    least)."""
    raw = load_json(text, file, DEEPER)
    form = raw.get("format") if isinstance(raw, dict) else None
    report: Report | None = None
    problems: Iterable[Problem] = ()
    if form == FORMAT:
        _restore(raw)
        found, problems = read_as(ResultFile, raw)
        if found is not None:
            complete = found.summary.complete
            report = replace(found.run, results=found.results, complete=complete, folder="")
            problems = _contradictions(report, found.summary)
    elif isinstance(form, str) and form.startswith("baselinekit.results/"):
        message = f"has the format {form!r}, but this version reads {FORMAT!r}"
        problems = [_wrong(("format",), message)]
    else:
        at: Path = ("format",) if form is not None else ()
        problems = [_wrong(at, f"is not a result file: its `format` is not {FORMAT!r}")]
    # people do not write result files by hand
    if shown := [replace(problem, hint=_HINT) for problem in islice(problems, _MOST_PROBLEMS)]:
        raise InvalidInput(*place_problems(text, file, {0: shown}, JSON))
    assert report is not None
    return report


def _contradictions(report: Report, summary: Summary) -> Iterator[Problem]:
    """Yield what is wrong beyond single values: duplicate ids, numbers that do not add up."""
    first: dict[str, int] = {}
    for number, result in enumerate(report.results):
        if first.setdefault(result.id, number) != number:
            message = f"{result.id!r} occurs twice: results[{first[result.id]}] has it too"
            yield _wrong(("results", number, "id"), message)
    counts = report.summary
    for outcome in OUTCOMES:
        stated, found = getattr(summary, outcome), getattr(counts, outcome)
        if stated != found:
            message = f"has {stated:,} {outcome}, and the results are {found:,}"
            yield _wrong(("summary", outcome), message)


def _wrong(at: Path, message: str) -> Problem:
    return Problem("BK130", f"{render_path(at) if at else 'it'} {message}", at=at)
