"""The forms of a report: the ending of a path says which is meant. A new form is a file and a row."""

from collections.abc import Callable, Mapping
from importlib import import_module

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.model.results import Report

Form = Callable[[Report], str]

ANNOTATIONS = "github"
"""The one form that is no file: the runner reads it on standard output."""

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
    ".eval.json": ".evals.evalreport",
    ".eval.md": ".evals.markdown",
}
"""Each form with the module below `baselinekit.report` whose `render` makes it, imported when asked for."""


def form_of(path: str, forms: Mapping[str, str] = FORMS) -> Form:
    """The form alone, so that a path that cannot be written is refused before anything is replayed."""
    name = path.rsplit("/", 1)[-1].lower()
    endings = [form for form in forms if form != ANNOTATIONS]
    chosen = ANNOTATIONS if path == ANNOTATIONS else ""
    for ending in sorted(endings, key=len, reverse=True):
        chosen = chosen or (ending if name.endswith(ending) else "")
    if not chosen:
        ending = name[name.rindex(".") :] if "." in name else name
        hint = nearest(ending, endings) or "name it x.json, x.junit.xml, x.md or x.html"
        known = ", ".join(endings)
        raise InvalidInput(
            Problem("BK503", f"the ending of {path!r} is not that of a report ({known})", hint)
        )
    form: Form = import_module(forms[chosen], "baselinekit.report").render
    return form


def render_report(report: Report, path: str) -> str:
    """The report in the form that the path asks for."""
    return form_of(path)(report)
