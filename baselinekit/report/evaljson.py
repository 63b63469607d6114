"""The report of an eval run for programs (`-o x.eval.json`)."""

from baselinekit.model.results import Report
from baselinekit.report.encode import encode
from baselinekit.report.evalreport import document


def render(report: Report) -> str:
    return encode(document(report), indent=2) + "\n"
