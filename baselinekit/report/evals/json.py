"""The report of an eval run for programs (`-o x.eval.json`)."""

from baselinekit.model.results import Report
from baselinekit.report.evals.evalreport import document
from baselinekit.report.values.encode import page


def render(report: Report) -> str:
    return page(document(report))
