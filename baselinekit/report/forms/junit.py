"""JUnit XML, as CI systems read it: one testcase a result.

JUnit knows three ways not to pass. An unscored result is `skipped` with its own type there, as it did not
fail; the properties of the suite keep all five counts apart. Where a baseline that was weakened fails the run
it is a testcase as well: a page of tests that are all green would not be true."""

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
    suite = SubElement(suites, "testsuite", _counts(report))
    _properties(suite, report)
    verdicts = beside.verdicts_by_id(report)
    for result in report.results:
        _testcase(suite, report.folder, result, verdicts.get(result.id))
    for revised in beside.select_failing(report):
        _weakened(suite, report, revised)
    if told := list(beside.describe_beside(report)):
        SubElement(suite, "system-out").text = _clean("\n".join(told))
    if said := collect_warnings(report):
        SubElement(suite, "system-err").text = _clean("\n".join(said))
    ElementTree.indent(suites)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
    )


def _properties(suite: Element, report: Report) -> None:
    properties = SubElement(suite, "properties")
    named: list[tuple[str, str]] = [(outcome, str(getattr(report.summary, outcome))) for outcome in OUTCOMES]
    named += [("complete", str(report.summary.complete).lower()), *beside.list_figures(report)]
    for name, value in named:
        SubElement(properties, "property", {"name": _clean(name), "value": _clean(value)})


def _weakened(suite: Element, report: Report, revised: Revised) -> None:
    """A baseline that lets more pass than before, where that fails the run."""
    what = f"{revised.change} since {report.against.ref if report.against else ''}"
    attributes = {
        "classname": _clean(_classname(revised.file)),
        "name": _clean(f"{revised.id} ({what})"),
        "time": "0.000",
        "file": _clean(in_repository(report.folder, revised.file)),
    }
    if revised.line is not None:
        attributes["line"] = str(revised.line)
    said = {"type": "weakened", "message": _clean(f"{what}: --fail-on-weakened")}
    SubElement(SubElement(suite, "testcase", attributes), "failure", said).text = _clean(
        "\n".join(revised.how) or what
    )


def _counts(report: Report) -> dict[str, str]:
    summary, weakened = report.summary, len(beside.select_failing(report))
    return {
        "name": "baselinekit",
        "tests": str(summary.total + weakened),
        "failures": str(summary.failed + weakened),
        "errors": str(summary.error),
        "skipped": str(summary.skipped + summary.unscored),
        "time": f"{report.seconds:.3f}",
        "timestamp": _clean(report.started),
    }


def _testcase(suite: Element, folder: str, result: Result, since: str | None) -> None:
    """`since`: what became of it since an earlier run."""
    attributes = {
        "classname": _clean(_classname(result.file)),
        "name": _clean(result.id),
        "time": f"{result.seconds:.3f}",
        "file": _clean(in_repository(folder, result.file)),
    }
    if result.line is not None:
        attributes["line"] = str(result.line)
    case = SubElement(suite, "testcase", attributes)
    if known := {name: value for name, value in (("verdict", result.verdict), ("since", since)) if value}:
        properties = SubElement(case, "properties")
        for name, value in known.items():
            SubElement(properties, "property", {"name": name, "value": _clean(value)})
    if result.outcome in _ELEMENTS:
        said = {"type": result.code or result.outcome, "message": _clean(_message(result))}
        SubElement(case, _ELEMENTS[result.outcome], said).text = _clean(_text(result))
    if result.notes:
        SubElement(case, "system-out").text = _clean("\n".join(result.notes))


def _classname(file: str) -> str:
    stem = file.rpartition(".")[0] if "." in file.rsplit("/", 1)[-1] else file
    return stem.strip("./").replace("/", ".")


def _message(result: Result) -> str:
    if result.outcome != "failed" or not result.differences:
        return describe_reason(result).partition("\n")[0] or result.outcome
    first = blocks(result)[0][0].path
    return (
        f"{count_differences(result):,} differences, the first at {first}"
        if count_differences(result) > 1
        else f"differs at {first}"
    )


def _text(result: Result) -> str:
    lines = [one_line(f"{format_place(result)}  {result.target}".rstrip()), describe_reason(result)]
    lines += describe_differences(result)
    return "\n".join(line for line in lines if line)


def _clean(text: str) -> str:
    return xml(log(visible(text)))
