"""JUnit XML, as CI systems read it: one testcase for each result.

The output is valid by the schemas that CI systems check (of Jenkins, and of Ant's JUnit task): a
testcase has at most one element and no file, so verdicts are properties of the suite, notes are its output,
and the place of a baseline is in the text of its failure.

JUnit knows three ways not to pass. An unscored result is `skipped` with its own type there, as it did not
fail; the properties of the suite keep all five counts apart."""

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from baselinekit.escape import escape_ci_commands, escape_controls, one_line, xml
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result
from baselinekit.report import wording
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.details import plain_text
from baselinekit.report.differences import describe_in_brief
from baselinekit.report.sections import run_blocks, verdicts_by_id, weakened_results
from baselinekit.structs import replace

_ELEMENTS = {"failed": "failure", "error": "error", "unscored": "skipped", "skipped": "skipped"}


def render(report: Report) -> str:
    report = wording.from_repository(report)
    weakened = [result for result in weakened_results(report) if result.outcome == "failed"]
    report = replace(report, results=(*report.results, *weakened))
    suites, summary = Element("testsuites"), report.summary
    attributes = {
        "name": "baselinekit",
        "tests": summary.total,
        "failures": summary.failed,
        "errors": summary.error,
        "skipped": summary.skipped + summary.unscored,
        "time": f"{report.seconds:.3f}",
        "timestamp": report.started.removesuffix("Z"),  # the schema allows no zone
        "hostname": "localhost",
        "package": "baselinekit",
        "id": 0,
    }
    suite = _add(suites, "testsuite", attributes)
    properties = _add(suite, "properties", {})
    for name, value in dict(_figures(report)).items():
        _add(properties, "property", {"name": name, "value": value})
    for result in report.results:
        _add_result(suite, result)
    notes = [f"{result.id}: {note}" for result in report.results for note in result.notes]
    _add(suite, "system-out", {}, "\n".join((*terminal_lines(run_blocks(report), wording.PLAIN), *notes)))
    _add(suite, "system-err", {}, "\n".join(wording.collect_warnings(report)))
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _figures(report: Report) -> Iterator[tuple[str, object]]:
    """Yield the counts, and the verdicts of results, now and against an earlier run."""
    for outcome in OUTCOMES:
        yield outcome, getattr(report.summary, outcome)
    if borderline := wording.count_borderline(report.results):
        yield "borderline", borderline
    yield "complete", str(report.complete).lower()
    since = verdicts_by_id(report)
    for result in report.results:
        if result.verdict:
            yield f"{result.id}: verdict", result.verdict
        if changed := since.get(result.id):
            yield f"{result.id}: since", changed


def _add(parent: Element, tag: str, attributes: Mapping[str, object], text: str | None = None) -> Element:
    """Add an element, without characters that XML or a log cannot hold."""
    element = SubElement(parent, tag, {name: _clean(str(value)) for name, value in attributes.items()})
    element.text = None if text is None else _clean(text)
    return element


def _clean(text: str) -> str:
    return xml(escape_ci_commands(escape_controls(text)))


def _add_result(suite: Element, result: Result) -> None:
    stem = result.file.rpartition(".")[0] if "." in result.file.rsplit("/", 1)[-1] else result.file
    name = stem.strip("./").replace("/", ".")
    attributes = {"classname": name, "name": result.id, "time": f"{result.seconds:.3f}"}
    case = _add(suite, "testcase", attributes)
    if result.outcome in _ELEMENTS:
        head = f"{one_line(wording.format_place(result))}  {one_line(result.target)}".rstrip()
        attributes = {"type": result.code or result.outcome, "message": describe_in_brief(result)}
        text = "\n".join(filter(None, (head, plain_text(result))))
        _add(case, _ELEMENTS[result.outcome], attributes, text)
