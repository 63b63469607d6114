"""The forms of a report for other programs and for pull requests, chosen by the ending of a path. A new form
is a file and a row."""

from collections.abc import Callable, Mapping
from importlib import import_module

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.results import Report

Form = Callable[[Report], str]

ANNOTATIONS = "github"
"""The one form that is not a file: the runner reads it on standard output."""

FORMS = {
    ANNOTATIONS: ".forms.annotations",
    ".json": ".resultfile",
    ".junit.xml": ".forms.junit",
    ".xml": ".forms.junit",
    ".md": ".forms.markdown",
    ".html": ".html.page",
    ".sarif": ".forms.sarif",
    ".sarif.json": ".forms.sarif",
    ".ctrf.json": ".forms.ctrf",
    ".eval.json": ".evalreport",
}
"""Each form with the module below `baselinekit.report` whose `render` makes it, imported on demand."""


def form_of(path: str, forms: Mapping[str, str] = FORMS) -> Form:
    """Return the form of a path. It is found before anything is replayed, so that an unknown ending is
    refused early."""
    name = path.rsplit("/", 1)[-1].lower()
    endings = [form for form in forms if form != ANNOTATIONS]
    fitting = [ending for ending in endings if name.endswith(ending)]
    fitting = [ANNOTATIONS] if path == ANNOTATIONS else fitting
    if not fitting:
        message = f"the ending of {path!r} is not of a report ({', '.join(endings)})"
        raise InvalidInput(Problem("BK508", message, "name it x.json, x.junit.xml, x.md or x.html"))
    form: Form = import_module(forms[max(fitting, key=len)], "baselinekit.report").render
    return form


def render_report(report: Report, path: str) -> str:
    """Render the report in the form that the path asks for."""
    return form_of(path)(report)
