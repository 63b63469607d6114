"""The reports of a run, where its suite wants them."""

import os

from baselinekit.errors import BaselinekitError
from baselinekit.model.evals import Suite
from baselinekit.model.results import Report
from baselinekit.report import dispatch as reports
from baselinekit.suites import evalresults
from baselinekit.workflow.project import Project

_RESULTS = "results"
_ENDINGS = {"json": (".json", ".eval.json"), "markdown": (".md",), "html": (".html",)}
_FORMS = {".md": ".eval.md"}


def keep_reports(project: Project, suite: Suite, report: Report) -> tuple[list[str], str]:
    """The files that were written, or why there are none: a checkout that cannot be written fails nothing.
    `x.json` is the result file, `x.eval.json` what people pass on."""
    if suite.file is None:
        return [], ""
    beside = os.path.join(project.root, os.path.dirname(suite.file))
    folder = os.path.normpath(os.path.join(beside, suite.reporting.output_dir or _RESULTS))
    shown = report if suite.reporting.include_details else reports.without_details(report)
    wanted = dict.fromkeys(ending for form in suite.reporting.format for ending in _ENDINGS[form])
    texts = {ending: reports.render(shown, f"x{_FORMS.get(ending, ending)}") for ending in wanted}
    try:
        written = evalresults.keep(folder, report.started, texts, project.root)
    except BaselinekitError as error:
        return [], f"the reports could not be kept: {error.problems[0].what}"
    return [os.path.relpath(path, project.cwd) for path in written], ""
