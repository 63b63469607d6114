"""SARIF 2.1.0, as code scanning and editors read it: a result for each difference, at the line of the
expected value.

A fingerprint identifies the subject of a difference, without its line or values: code scanning then
recognizes it on the next run, even if lines were added above it."""

from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import quote

from baselinekit.codes import explain
from baselinekit.escape import escape_controls
from baselinekit.model.baselines import Kind
from baselinekit.model.results import Report, ReportedDifference, Result
from baselinekit.model.values import Json
from baselinekit.report import sections
from baselinekit.report.blocks import Table
from baselinekit.report.differences import pair
from baselinekit.report.evals.evalreport import describe_parts, line_of
from baselinekit.report.values import cut_line, encode, page
from baselinekit.report.wording import count_differences, describe_reason, format_place, in_repository
from baselinekit.structs import asdict
from baselinekit.values.paths import render as render_path

MOST = 5_000
"""Results of a run that code scanning shows; it refuses more than 25,000."""

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
    """Return one run of the tool as SARIF."""
    documents: list[Json] = []
    rules: dict[str, Json] = {}
    total = 0
    for result in report.results:
        if result.outcome not in _LEVELS:
            continue
        total += max(1, count_differences(result))
        if len(documents) < MOST:
            documents += result_documents(report.folder, result)
    documents += weakened_documents(report)
    total += len(report.against.weakened) if report.against else 0
    del documents[MOST:]
    for result_document in documents:
        rule = result_document["ruleId"]
        rules.setdefault(rule, _rule(rule))
    name, _, version = report.tool.partition(" ")
    driver = {"name": name, "version": version, "semanticVersion": version, "rules": list(rules.values())}
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(report, total - len(documents))],
        "results": documents,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(report: Report, left_out: int) -> dict[str, Json]:
    texts = [*report.warnings, *report.not_recorded]
    if left_out:
        texts.append(f"{left_out:,} more differences are not in this file; the result file counts them all")
    notes = [{"level": "warning", "message": _text(text)} for text in texts]
    beside = [block.text for block in sections.beside_blocks(report) if not isinstance(block, Table)]
    notes += [{"level": "note", "message": _text(text)} for text in beside]
    return {
        "executionSuccessful": not report.interrupted and report.complete,
        "exitCode": report.exit_code,
        "commandLine": report.command,
        "startTimeUtc": report.started,
        "toolExecutionNotifications": notes,
        "properties": asdict(report.summary),
    }


def result_documents(folder: str, result: Result) -> Iterator[dict[str, Json]]:
    """Yield each difference of a result; or the result as a whole if it has none."""
    facts = {
        "id": result.id,
        "outcome": result.outcome,
        "recipe": format_place(result),
        "target": result.target,
    }
    level = _LEVELS[result.outcome]
    for spot in result.differences:
        rule, path = f"difference/{spot.kind}", render_path(spot.path)
        identity = [result.file, result.id, rule, path]
        place = _location(folder, spot.file, spot.line)
        properties = facts | {"path": path, "rule": spot.rule}
        yield _document(rule, level, _sentence(result, spot), place, identity, properties)
    if not result.differences:
        rule = result.code or result.outcome
        text = f"{result.id}: {describe_reason(result) or result.outcome}"
        identity = [result.file, result.id, rule, ""]
        facts |= {"verdict": result.verdict} if result.verdict else {}
        parts = describe_parts(result)
        facts |= {"graders": "; ".join(parts)} if parts else {}
        yield _document(rule, level, text, _location(folder, result.file, line_of(result)), identity, facts)


def weakened_documents(report: Report) -> Iterator[dict[str, Json]]:
    """Yield each weakened baseline, at the place where it is, or was."""
    against = report.against
    for revised in against.weakened if against else ():
        rule = f"weakened/{revised.change}"
        details = "; ".join(cut_line(text) for text in revised.how)
        text = f"{revised.id}: {sections.describe_revised(report, revised)}" + (
            f": {details}" if details else ""
        )
        level = "error" if against and against.strict else "warning"
        place = _location(report.folder, revised.file, revised.line)
        properties = {"id": revised.id, "change": revised.change}
        yield _document(rule, level, text, place, [revised.file, revised.id, rule], properties)


def _document(
    rule: str, level: str, text: str, location: Json, identity: list[Json], properties: dict[str, Json]
) -> dict[str, Json]:
    """Return one result of SARIF. `identity`: the values from which the fingerprint is made."""
    fingerprint = sha256(encode(identity).encode("utf-8")).hexdigest()[:32]
    return {
        "ruleId": rule,
        "level": level,
        "message": _text(text),
        "locations": [location],
        "partialFingerprints": {"baselinekit/v1": fingerprint},
        "properties": properties,
    }


def _sentence(result: Result, spot: ReportedDifference) -> str:
    expected, actual = pair(spot.expected, spot.actual, with_types=spot.kind == "type")
    path = escape_controls(render_path(spot.path))
    sentence = {
        "missing": f"{path} is missing, expected {expected}",
        "extra": f"{path} is not in the baseline: {actual}",
    }.get(spot.kind, f"{path} is {actual}, expected {expected}")
    note = f" ({cut_line(spot.note)})" if spot.note else ""
    return f"{result.id}: {sentence}{note}"


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
    document: dict[str, Json] = {"id": rule, "shortDescription": _text(short)}
    if code:
        document["help"] = _text(code.text)
    return document


def _text(text: str) -> dict[str, Json]:
    return {"text": escape_controls(text) or "-"}
