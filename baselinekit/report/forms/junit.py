"""JUnit XML, as CI systems read it: one testcase for each result.

The output is valid by the schemas that CI systems check (that of Jenkins, and that of Ant's JUnit task): a
testcase has at most one element and no file, so verdicts are properties of the suite, notes are its output,
and the place of a baseline is in the text of its failure.

JUnit knows three ways not to pass. An unscored result is `skipped` with its own type there, as it did not
fail; the properties of the suite keep all five counts apart. A weakened baseline that fails the run is a
testcase as well: a page of green tests only would be misleading."""

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from baselinekit.escape import escape_ci_commands, escape_controls, one_line, xml
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import BaselineChange, Report, Result
from baselinekit.report import sections
from baselinekit.report.differences import describe_differences, describe_in_brief
from baselinekit.report.wording import (
    collect_warnings,
    count_borderline,
    describe_reason,
    in_repository,
)

_ELEMENTS = {"failed": "failure", "error": "error", "unscored": "skipped", "skipped": "skipped"}


def render(report: Report) -> str:
    suites = Element("testsuites")
    summary, weakened = report.summary, sections.select_failing(report)
    attributes = {
        "name": "baselinekit",
        "tests": summary.total + len(weakened),
        "failures": summary.failed + len(weakened),
        "errors": summary.error,
        "skipped": summary.skipped + summary.unscored,
        "time": f"{report.seconds:.3f}",
        "timestamp": report.started.removesuffix("Z"),  # the schema allows no zone
        "hostname": "localhost",
        "package": "baselinekit",
        "id": 0,
    }
    suite = _add(suites, "testsuite", attributes)
    counts = {outcome: getattr(summary, outcome) for outcome in OUTCOMES}
    complete = str(summary.complete).lower()
    borderline = {"borderline": number} if (number := count_borderline(report.results)) else {}
    figures = (
        counts
        | borderline
        | {"complete": complete}
        | dict(sections.list_figures(report))
        | dict(_verdicts(report))
    )
    properties = _add(suite, "properties", {})
    for name, value in figures.items():
        _add(properties, "property", {"name": name, "value": value})
    for result in report.results:
        add_result(suite, report.folder, result)
    for revised in weakened:
        change = sections.describe_revised(report, revised)
        case = add_case(suite, revised, f"{revised.id} ({change})", 0)
        failure = {"type": "weakened", "message": f"{change}: --fail-on-weakened"}
        _add(
            case, "failure", failure, "\n".join((_place(report.folder, revised), *(revised.how or (change,))))
        )
    notes = [f"{result.id}: {note}" for result in report.results for note in result.notes]
    _add(suite, "system-out", {}, "\n".join((*sections.describe_beside(report), *notes)))
    _add(suite, "system-err", {}, "\n".join(collect_warnings(report)))
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add(parent: Element, tag: str, attributes: Mapping[str, object], text: str | None = None) -> Element:
    """Add an element, without characters that XML or a log cannot hold."""
    element = SubElement(parent, tag, {name: _clean(str(value)) for name, value in attributes.items()})
    element.text = None if text is None else _clean(text)
    return element


def _clean(text: str) -> str:
    return xml(escape_ci_commands(escape_controls(text)))


def _verdicts(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the verdicts of the results, in this run and compared with an earlier one."""
    since = sections.verdicts_by_id(report)
    for result in report.results:
        if result.verdict:
            yield f"{result.id}: verdict", result.verdict
        if changed := since.get(result.id):
            yield f"{result.id}: since", changed


def add_case(suite: Element, subject: Result | BaselineChange, name: str, seconds: float) -> Element:
    file = subject.file
    stem = file.rpartition(".")[0] if "." in file.rsplit("/", 1)[-1] else file
    attributes = {
        "classname": stem.strip("./").replace("/", "."),
        "name": name,
        "time": f"{seconds:.3f}",
    }
    return _add(suite, "testcase", attributes)


def _place(folder: str, subject: Result | BaselineChange) -> str:
    """Return the path of the file in its repository, and the line."""
    file = in_repository(folder, subject.file)
    return one_line(file if subject.line is None else f"{file}:{subject.line}")


def add_result(suite: Element, folder: str, result: Result) -> None:
    case = add_case(suite, result, result.id, result.seconds)
    if result.outcome in _ELEMENTS:
        reason = describe_reason(result)
        head = f"{_place(folder, result)}  {one_line(result.target)}".rstrip()
        lines = [line for line in (head, reason, *describe_differences(result)) if line]
        attributes = {"type": result.code or result.outcome, "message": describe_in_brief(result)}
        _add(case, _ELEMENTS[result.outcome], attributes, "\n".join(lines))
