"""Which form a report is written in: the ending of its path says it. A new form is a file and a row."""

from collections.abc import Callable
from importlib import import_module

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.model.results import Report

Form = Callable[[Report], str]

ANNOTATIONS = "github"
"""The one form that is no file: it is said to the runner, on standard output."""

_FORMS = {
    ".json": "results.json",
    ".junit.xml": "forms.junit",
    ".xml": "forms.junit",
    ".md": "forms.markdown",
    ".html": "html.page",
    ".sarif": "forms.sarif",
    ".sarif.json": "forms.sarif",
    ".ctrf.json": "forms.ctrf",
    ".eval.json": "evals.json",
    ".eval.md": "evals.markdown",
}


def form_of(path: str) -> Form:
    """The form alone, so that a path that cannot be written is refused before anything is replayed."""
    name = path.rsplit("/", 1)[-1].lower()
    if path == ANNOTATIONS:
        return _form("forms.annotations")
    for ending in sorted(_FORMS, key=len, reverse=True):
        if name.endswith(ending):
            return _form(_FORMS[ending])
    ending = name[name.rindex(".") :] if "." in name else name
    mend = nearest(ending, _FORMS) or "name it x.json, x.junit.xml, x.md or x.html"
    known = ", ".join(_FORMS)
    raise InvalidInput(Problem("BK503", f"the ending of {path!r} says no form of report ({known})", mend))


def _form(name: str) -> Form:
    form: Form = import_module(f"baselinekit.report.{name}").render
    return form
