"""Which form a report is written in: the ending of its path says it. A new form is a file and a row."""

from collections.abc import Callable, Iterator
from importlib import import_module

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.model.results import Metric, Report, Revised
from baselinekit.model.values import Json
from baselinekit.report import earlier, judges, weakened
from baselinekit.report.evals import evalreport

# Which form a report is written in: the ending of its path says it. A new form is a file and a row.


Form = Callable[[Report], str]

ANNOTATIONS = "github"
"""The one form that is no file: it is said to the runner, on standard output."""

_FORMS = {
    ".json": "resultfile",
    ".junit.xml": "forms.junit",
    ".xml": "forms.junit",
    ".md": "forms.markdown",
    ".html": "html.page",
    ".sarif": "forms.sarif",
    ".sarif.json": "forms.sarif",
    ".ctrf.json": "forms.ctrf",
    ".eval.json": "evals.evalreport",
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
    hint = nearest(ending, _FORMS) or "name it x.json, x.junit.xml, x.md or x.html"
    known = ", ".join(_FORMS)
    raise InvalidInput(Problem("BK503", f"the ending of {path!r} says no form of report ({known})", hint))


def _form(name: str) -> Form:
    form: Form = import_module(f"baselinekit.report.{name}").render
    return form


# What is to be said of a run beside its results, for forms that have no room of their own for it:
# baselines that were weakened, how an earlier run went, how far the judges agree with people.


def lines(report: Report) -> Iterator[str]:
    """As a terminal shows it, without colours."""
    if report.against is not None:
        yield from (line for line, _ in weakened.lines(report.against))
    if report.suite is not None:
        yield from judges.lines(report.suite.judges)
    if report.earlier is not None:
        yield from (line for line, _ in earlier.lines(report.earlier))


def document(report: Report) -> dict[str, Json]:
    """As the report of an eval run states it."""
    found: dict[str, Json] = {}
    if report.suite is not None:
        found["suite"] = report.suite.name
        found["metrics"] = [evalreport.metric_document(metric) for metric in report.suite.metrics]
        found |= {"judges": judges.document(report.suite.judges)} if report.suite.judges else {}
    if report.earlier is not None:
        found["compared_to"] = earlier.document(report.earlier)
    if report.against is not None:
        found["against"] = weakened.document(report.against)
    return found


def figures(report: Report) -> Iterator[tuple[str, str]]:
    """Names and values, for forms that know properties."""
    for metric in report.suite.metrics if report.suite else ():
        if metric.value is not None:
            yield f"{metric.name} ({metric.view})", _figure(metric)
    if report.earlier is not None:
        yield "compared_to", report.earlier.run
        for verdict, number in earlier.counts(report.earlier):
            yield verdict.replace(" ", "_"), str(number)


def _figure(metric: Metric) -> str:
    if metric.low is None or metric.high is None:
        return f"{metric.value:.3f}"
    return f"{metric.value:.3f} ({metric.low:.3f} to {metric.high:.3f})"


def failing(report: Report) -> tuple[Revised, ...]:
    """Baselines that were weakened, where that fails the run: no form may look as if all were well."""
    against = report.against
    return against.weakened if against is not None and against.strict else ()


def verdicts(report: Report) -> dict[str, str]:
    """What became of each case since the earlier run, by its id."""
    return {case.id: case.verdict for case in report.earlier.cases} if report.earlier else {}
