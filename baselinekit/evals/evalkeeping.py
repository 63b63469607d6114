"""The reports of a run, where its suite wants them."""

import os

from baselinekit.errors import BaselinekitError
from baselinekit.model.evals import Suite
from baselinekit.model.results import Report
from baselinekit.report import dispatch as reports
from baselinekit.suites import evalpaths, evalresults
from baselinekit.workflow.project import Project
from baselinekit.workflow.trends import with_trends

_ENDINGS = {
    "json": (".json", ".eval.json"),
    "markdown": (".md",),
    "html": (".html",),
    "junit": (".junit.xml",),
    "sarif": (".sarif",),
    "ctrf": (".ctrf.json",),
}
_FORMS = {".md": ".eval.md"}


def keep_reports(project: Project, suite: Suite, report: Report) -> tuple[list[str], str]:
    """The files that were written, or why there are none: a checkout that cannot be written fails nothing.
    `x.json` is the result file, `x.eval.json` what people pass on."""
    if suite.file is None:
        return [], ""
    shown = report if suite.reporting.include_details else reports.without_details(report)
    if "html" in suite.reporting.format:
        shown = with_trends(shown, project.root)
    wanted = dict.fromkeys(ending for form in suite.reporting.format for ending in _ENDINGS[form])
    texts = {ending: reports.render(shown, f"x{_FORMS.get(ending, ending)}") for ending in wanted}
    try:
        folder = evalpaths.results_of(project.root, suite.file, suite.reporting.output_dir)
        root = evalpaths.root_of(project.root, suite.file)
        written, why = evalresults.keep(folder, report.started, texts, root)
    except BaselinekitError as error:
        return [], f"the reports could not be kept: {error.problems[0].what}"
    return [os.path.relpath(path, project.cwd) for path in written], why
