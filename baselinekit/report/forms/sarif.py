"""SARIF 2.1.0, as code scanning and editors read it: a result for each difference, at the line of the
expected value.

A fingerprint identifies the subject of a difference, without its line or values: code scanning then
recognizes it on the next run, even if lines were added above it."""

from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import quote

from baselinekit.codes import explain
from baselinekit.escape import escape_controls
from baselinekit.model.results import Report, ReportedDifference, Result
from baselinekit.model.values import Json
from baselinekit.report.blocks import Heading, Note
from baselinekit.report.details import line_of
from baselinekit.report.differences import pair
from baselinekit.report.sections import WEAKENED, run_blocks, weakened_results
from baselinekit.report.values import cut_line, encode, page
from baselinekit.report.wording import count_differences, describe_reason, format_place, from_repository
from baselinekit.structs import asdict
from baselinekit.values.paths import render as render_path

MOST = 5_000
"""Results of a run that code scanning shows; it refuses more than 25,000."""

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"failed": "error", "error": "error", "unscored": "warning"}
_RULES = {
    "difference/missing": "A part of the baseline is missing in the output.",
    "difference/extra": "The output has a part that the baseline does not have.",
    "difference/value": "A value differs from the baseline.",
    "difference/type": "A value has another type than in the baseline.",
    "difference/order": "Rows or keys are in another order than in the baseline.",
    "difference/count": "An array has another length than in the baseline.",
    "difference/tolerance": "A number is outside its tolerance.",
    "difference/similarity": "A text is not similar enough to the baseline.",
    WEAKENED: "A baseline accepts more than at the commit it was compared with, or was removed.",
}


def render(report: Report) -> str:
    """Return one run of the tool as SARIF."""
    report = from_repository(report)
    notable = [result for result in (*report.results, *weakened_results(report)) if result.outcome in _LEVELS]
    documents: list[dict[str, Json]] = []
    for result in notable:
        if len(documents) < MOST:
            documents += _result_documents(result)
    del documents[MOST:]
    rules = {document["ruleId"]: _rule(document["ruleId"]) for document in documents}
    name, _, version = report.tool.partition(" ")
    driver = {"name": name, "version": version, "semanticVersion": version, "rules": list(rules.values())}
    texts = [*report.warnings, *report.not_recorded]
    if left_out := sum(max(1, count_differences(result)) for result in notable) - len(documents):
        texts.append(f"{left_out:,} more differences are not in this file; the result file counts them all")
    notes = [{"level": "warning", "message": _text(text)} for text in texts]
    beside = [block.text for block in run_blocks(report) if isinstance(block, Heading | Note)]
    notes += [{"level": "note", "message": _text(text)} for text in beside]
    invocation = {
        "executionSuccessful": not report.interrupted and report.complete,
        "exitCode": report.exit_code,
        "commandLine": report.command,
        "startTimeUtc": report.started,
        "toolExecutionNotifications": notes,
        "properties": asdict(report.summary),
    }
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
        "invocations": [invocation],
        "results": documents,
    }
    return page({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _result_documents(result: Result) -> Iterator[dict[str, Json]]:
    """Yield each difference of a result; or the result as a whole if it has none."""
    facts: dict[str, Json] = {"id": result.id, "outcome": result.outcome, "recipe": format_place(result)}
    facts["target"] = result.target
    for spot in result.differences:
        path = render_path(spot.path)
        further = {"path": path, "rule": spot.rule}
        rule, text = f"difference/{spot.kind}", f"{result.id}: {_describe(spot)}"
        yield _document(result, rule, text, (spot.file, spot.line), path, facts | further)
    if not result.differences:
        rule = result.code or (WEAKENED if result.verdict == WEAKENED else result.outcome)
        text = f"{result.id}: {describe_reason(result) or result.outcome}"
        facts |= {"verdict": result.verdict} if result.verdict else {}
        yield _document(result, rule, text, (result.file, line_of(result)), "", facts)


def _document(
    result: Result, rule: str, text: str, place: tuple[str, int | None], path: str, facts: dict[str, Json]
) -> dict[str, Json]:
    file, line = place
    uri = quote(file.encode("utf-8", "surrogatepass"))
    physical: dict[str, Json] = {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}}
    if line is not None:
        physical["region"] = {"startLine": line}
    identity = encode([result.file, result.id, rule, path]).encode("utf-8")
    return {
        "ruleId": rule,
        "level": _LEVELS[result.outcome],
        "message": _text(text),
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {"baselinekit/v1": sha256(identity).hexdigest()[:32]},
        "properties": facts,
    }


def _describe(spot: ReportedDifference) -> str:
    expected, actual = pair(spot.expected, spot.actual, with_types=spot.kind == "type")
    path = escape_controls(render_path(spot.path))
    sentence = {
        "missing": f"{path} is missing, expected {expected}",
        "extra": f"{path} is not in the baseline: {actual}",
    }.get(spot.kind, f"{path} is {actual}, expected {expected}")
    return sentence + (f" ({cut_line(spot.note)})" if spot.note else "")


def _rule(rule: str) -> dict[str, Json]:
    code = explain(rule)
    short = _RULES.get(rule) or (code.title if code else f"A baseline ended as {rule}.")
    document: dict[str, Json] = {"id": rule, "shortDescription": _text(short)}
    return document | ({"help": _text(code.text)} if code else {})


def _text(text: str) -> dict[str, Json]:
    return {"text": escape_controls(text) or "-"}
