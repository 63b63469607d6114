"""Which form a report is written in: the ending of its path says it. A new form is a file and a row."""

from collections.abc import Callable

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.model.results import Report
from baselinekit.report import json, junit, markdown

Form = Callable[[Report], str]

_FORMS: dict[str, Form] = {
    ".json": json.render,
    ".junit.xml": junit.render,
    ".xml": junit.render,
    ".md": markdown.render,
}


def render(report: Report, path: str) -> str:
    """The report in the form that the path asks for."""
    return form_of(path)(report)


def form_of(path: str) -> Form:
    """The form alone, so that a path that cannot be written is refused before anything is replayed."""
    name = path.rsplit("/", 1)[-1].lower()
    for ending, form in _FORMS.items():
        if name.endswith(ending):
            return form
    ending = name[name.rindex(".") :] if "." in name else name
    mend = nearest(ending, _FORMS) or "name it x.json, x.junit.xml or x.md"
    known = ", ".join(_FORMS)
    raise InvalidInput(Problem("BK503", f"the ending of {path!r} says no form of report ({known})", mend))
