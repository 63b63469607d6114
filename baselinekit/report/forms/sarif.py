"""SARIF 2.1.0, as code scanning and editors read it: a result for each difference, at the line of the
expected value.

A fingerprint is made of what a difference is about, not of its line or its values: code scanning then knows
it again on the next run, though the file has grown above it."""

from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import quote

from baselinekit.codes import explain
from baselinekit.escape import visible
from baselinekit.model.baselines import Kind
from baselinekit.model.results import Report, Result, Spot
from baselinekit.model.values import Json
from baselinekit.report import beside
from baselinekit.report.resultfile import summary_document
from baselinekit.report.values import cut_line, encode, page, pair
from baselinekit.report.wording import count_differences, describe_reason, format_place, in_repository
from baselinekit.tree.paths import render as render_path

MOST = 5_000
"""Results that code scanning shows of a run; it refuses more than 25,000."""

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"failed": "error", "error": "error", "unscored": "warning"}

_KINDS: dict[Kind, str] = {
    "missing": "A part of the baseline is missing in the output.",
    "extra": "The output has a part that the baseline does not have.",
    "value": "A value differs from the baseline.",
    "type": "A value has another type than in the baseline.",
    "order": "Rows or keys are in another order than in the baseline.",
    "count": "An array has another length than in the baseline.",
    "tolerance": "A number is outside its tolerance.",
    "similarity": "A text is not similar enough to the baseline.",
}


_WEAKENED = {
    "weakened/loosened": "A baseline accepts more than at the commit it was compared with.",
    "weakened/removed": "A baseline of the commit it was compared with was removed.",
}


def render(report: Report) -> str:
    return page(document(report))


def document(report: Report) -> dict[str, Json]:
    """One run of the tool, as SARIF states it."""
    found: list[Json] = []
    rules: dict[str, Json] = {}
    whole = 0
    for result in report.results:
        if result.outcome not in _LEVELS:
            continue
        whole += max(1, count_differences(result))
        for rule, stated in _stated(report.folder, result):
            if len(found) == MOST:
                break
            rules.setdefault(rule, _rule(rule))
            found.append(stated)
    for rule, stated in _weakened(report):
        whole += 1
        if len(found) < MOST:
            rules.setdefault(rule, _rule(rule))
            found.append(stated)
    name, _, version = report.tool.partition(" ")
    driver = {"name": name, "version": version, "semanticVersion": version, "rules": list(rules.values())}
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(report, whole - len(found))],
        "results": found,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(report: Report, left_out: int) -> dict[str, Json]:
    told = [*report.warnings, *report.not_recorded]
    if left_out:
        told.append(f"{left_out:,} more differences are not in this file; the result file counts them all")
    notes = [{"level": "warning", "message": _text(text)} for text in told]
    headlines = [line for line in beside.describe_beside(report) if not line.startswith(" ")]
    notes += [{"level": "note", "message": _text(line)} for line in headlines]
    return {
        "executionSuccessful": not report.interrupted and report.complete,
        "exitCode": report.exit_code,
        "commandLine": report.command,
        "startTimeUtc": report.started,
        "toolExecutionNotifications": notes,
        "properties": summary_document(report),
    }


def _stated(folder: str, result: Result) -> Iterator[tuple[str, Json]]:
    """Each difference of a result; or the result as a whole, when it has none."""
    for spot in result.differences:
        rule = f"difference/{spot.kind}"
        yield (
            rule,
            _result(result, rule, _sentence(result, spot), _location(folder, spot.file, spot.line), spot),
        )
    if not result.differences:
        rule = result.code or result.outcome
        text = f"{result.id}: {describe_reason(result) or result.outcome}"
        yield rule, _result(result, rule, text, _location(folder, result.file, result.line), None)


def _weakened(report: Report) -> Iterator[tuple[str, Json]]:
    """Each baseline that lets more pass than before, where it stands, or stood."""
    against = report.against
    for one in against.weakened if against else ():
        rule = f"weakened/{one.change}"
        said = "; ".join(cut_line(way) for way in one.how)
        text = f"{one.id}: {one.change} since {against.ref if against else ''}" + (
            f": {said}" if said else ""
        )
        known = sha256(encode([one.file, one.id, rule]).encode("utf-8")).hexdigest()
        yield (
            rule,
            {
                "ruleId": rule,
                "level": "error" if against and against.strict else "warning",
                "message": _text(text),
                "locations": [_location(report.folder, one.file, one.line)],
                "partialFingerprints": {"baselinekit/v1": known[:32]},
                "properties": {"id": one.id, "change": one.change},
            },
        )


def _result(result: Result, rule: str, text: str, location: Json, spot: Spot | None) -> Json:
    path = render_path(spot.path) if spot else ""
    known = sha256(encode([result.file, result.id, rule, path]).encode("utf-8")).hexdigest()
    stated: dict[str, Json] = {
        "ruleId": rule,
        "level": _LEVELS[result.outcome],
        "message": _text(text),
        "locations": [location],
        "partialFingerprints": {"baselinekit/v1": known[:32]},
    }
    said = {
        "id": result.id,
        "outcome": result.outcome,
        "recipe": format_place(result),
        "target": result.target,
    }
    stated["properties"] = said | ({"path": path, "rule": spot.rule} if spot else {})
    return stated


def _sentence(result: Result, spot: Spot) -> str:
    expected, actual = pair(spot.expected, spot.actual, with_types=spot.kind == "type")
    path = visible(render_path(spot.path))
    said = {
        "missing": f"{path} is missing, expected {expected}",
        "extra": f"{path} is not in the baseline: {actual}",
    }.get(spot.kind, f"{path} is {actual}, expected {expected}")
    note = f" ({cut_line(spot.note)})" if spot.note else ""
    return f"{result.id}: {said}{note}"


def _location(folder: str, file: str, line: int | None) -> dict[str, Json]:
    uri = quote(in_repository(folder, file).encode("utf-8", "surrogatepass"))
    physical: dict[str, Json] = {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}}
    if line is not None:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}


def _rule(rule: str) -> dict[str, Json]:
    kind = rule.removeprefix("difference/")
    code = explain(rule)
    texts = dict[str, str](_KINDS.items()) | _WEAKENED
    short = texts.get(kind) or (code.title if code else f"A baseline ended as {rule}.")
    stated: dict[str, Json] = {"id": rule, "shortDescription": _text(short)}
    if code:
        stated["help"] = _text(code.text)
    return stated


def _text(text: str) -> dict[str, Json]:
    return {"text": visible(text) or "-"}
