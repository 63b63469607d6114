"""JUnit XML, as CI systems read it: one testcase a result.

JUnit knows three ways not to pass. An unscored result is `skipped` with its own type there, as it did not
fail; the properties of the suite keep all five counts apart. Where a baseline that was weakened fails the run
it is a testcase as well: a page of tests that are all green would not be true."""

from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from baselinekit.escape import log, one_line, visible, xml
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result, Revised
from baselinekit.report import beside
from baselinekit.report.differences import blocks, describe_differences
from baselinekit.report.wording import (
    collect_warnings,
    count_differences,
    describe_reason,
    format_place,
    in_repository,
)

_ELEMENTS = {"failed": "failure", "error": "error", "unscored": "skipped", "skipped": "skipped"}


def render(report: Report) -> str:
    suites = Element("testsuites")
    summary, weakened = report.summary, beside.select_failing(report)
    attributes = {
        "name": "baselinekit",
        "tests": summary.total + len(weakened),
        "failures": summary.failed + len(weakened),
        "errors": summary.error,
        "skipped": summary.skipped + summary.unscored,
        "time": f"{report.seconds:.3f}",
        "timestamp": report.started,
    }
    suite = _add(suites, "testsuite", attributes)
    counts = {outcome: getattr(summary, outcome) for outcome in OUTCOMES}
    complete = str(summary.complete).lower()
    _add_properties(suite, counts | {"complete": complete} | dict(beside.list_figures(report)))
    verdicts = beside.verdicts_by_id(report)
    for result in report.results:
        _add_result(suite, report.folder, result, verdicts.get(result.id))
    for revised in weakened:
        what = beside.describe_revised(report, revised)
        case = _add_case(suite, report.folder, revised, f"{revised.id} ({what})", 0)
        said = {"type": "weakened", "message": f"{what}: --fail-on-weakened"}
        _add(case, "failure", said, "\n".join(revised.how) or what)
    if lines := beside.describe_beside(report):
        _add(suite, "system-out", {}, "\n".join(lines))
    if warnings := collect_warnings(report):
        _add(suite, "system-err", {}, "\n".join(warnings))
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add(parent: Element, tag: str, attributes: Mapping[str, object], text: str | None = None) -> Element:
    """An element with nothing in it that XML or a log would stumble over."""
    element = SubElement(parent, tag, {name: _clean(str(value)) for name, value in attributes.items()})
    element.text = None if text is None else _clean(text)
    return element


def _clean(text: str) -> str:
    return xml(log(visible(text)))


def _add_properties(parent: Element, named: Mapping[str, object]) -> None:
    properties = _add(parent, "properties", {})
    for name, value in named.items():
        _add(properties, "property", {"name": name, "value": value})


def _add_case(suite: Element, folder: str, about: Result | Revised, name: str, seconds: float) -> Element:
    file = about.file
    stem = file.rpartition(".")[0] if "." in file.rsplit("/", 1)[-1] else file
    attributes = {
        "classname": stem.strip("./").replace("/", "."),
        "name": name,
        "time": f"{seconds:.3f}",
        "file": in_repository(folder, file),
    }
    return _add(suite, "testcase", attributes | ({} if about.line is None else {"line": str(about.line)}))


def _add_result(suite: Element, folder: str, result: Result, since: str | None) -> None:
    """`since`: what became of it since an earlier run."""
    case = _add_case(suite, folder, result, result.id, result.seconds)
    if known := {name: value for name, value in (("verdict", result.verdict), ("since", since)) if value}:
        _add_properties(case, known)
    if result.outcome in _ELEMENTS:
        reason = describe_reason(result)
        message = reason.partition("\n")[0] or result.outcome
        if result.outcome == "failed" and result.differences:
            first, number = blocks(result)[0][0].path, count_differences(result)
            message = f"{number:,} differences, the first at {first}" if number > 1 else f"differs at {first}"
        head = one_line(f"{format_place(result)}  {result.target}".rstrip())
        lines = [line for line in (head, reason, *describe_differences(result)) if line]
        said = {"type": result.code or result.outcome, "message": message}
        _add(case, _ELEMENTS[result.outcome], said, "\n".join(lines))
    if result.notes:
        _add(case, "system-out", {}, "\n".join(result.notes))
