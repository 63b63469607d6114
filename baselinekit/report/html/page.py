"""The HTML pages: of a run with its evals, and of the history of runs. Each is one file that loads nothing,
works without its script, and stays small enough for a browser to open: what was cut is stated.

The templates escape everything but what they made themselves, and a policy lets only our own style and script
run."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from baselinekit.escape import escape_controls, xml
from baselinekit.model.grades import OUTCOMES, Outcome
from baselinekit.model.results import History, Report, Result
from baselinekit.report import evalreport
from baselinekit.report.blocks import Block, Cell, Diffs, Heading, Note, table
from baselinekit.report.details import grades_of, page_blocks
from baselinekit.report.differences import SharedChange, share
from baselinekit.report.history import trends_table
from baselinekit.report.next_commands import review_command, select_renewable, typed_of
from baselinekit.report.sections import run_blocks, suite_title
from baselinekit.report.values import cut_line, short
from baselinekit.report.wording import (
    collect_warnings,
    count_differences,
    count_outcomes,
    describe_incomplete,
    describe_reason,
    format_duration,
    format_seconds,
    headline,
)
from baselinekit.structs import replace
from baselinekit.values.texts import count_noun

MOST_ROWS = 20_000
LONGEST = 6_000_000
"""The most characters of all details together."""

_MOST_SHOWN = 400
_MOST_OPEN = 10
_MOST_NAMED = 50
_MOST_SHARED = 200
_MOST_TRENDS = 200
_OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "error", "unscored", "skipped")


def render(report: Report) -> str:
    ordered = sorted(report.results, key=lambda result: OUTCOMES.index(result.outcome))
    shown_results = ordered[:MOST_ROWS]
    room, cut_count, rows = LONGEST, 0, []
    shared, unshared_results = share(shown_results)
    for number, (result, own) in enumerate(zip(shown_results, unshared_results, strict=True)):
        is_cut = room <= 0
        details = Markup() if is_cut else show_blocks(_details(report, result, own))
        room -= len(details)
        cut_count += is_cut and result.outcome != "passed"
        rows.append(_row(result, details, number < _MOST_OPEN))
    notes = collect_warnings(report)[:_MOST_NAMED]
    too_large = "the page would be too large (-o x.json)"
    if left_out := len(ordered) - len(shown_results):
        notes.append(f"{left_out:,} more results are not in this page: {too_large}")
    if cut_count:
        notes.append(f"the details of {cut_count:,} results are left out: {too_large}")
    total, failing = len(report.results), sum(result.outcome != "passed" for result in report.results)
    return _render(
        "run.html",
        headline(report),
        script=(_FOLDER / "page.js").read_text("utf-8"),
        suite=suite_title(report),
        verdict=f"{failing:,} of {total:,} did not pass" if failing or not total else f"All {total:,} passed",
        incomplete=describe_incomplete(report),
        counts=count_outcomes(report),
        facts=" · ".join(filter(None, (report.started, report.command, report.commit))),
        notes=notes,
        sections=[*run_blocks(report), *_group_blocks(report), *evalreport.recommendation_blocks(report)],
        shared=[block for change in shared[:_MOST_SHARED] for block in _shared_blocks(change)],
        rows=rows,
        run=_run_blocks(report),
        tool=report.tool,
    )


def _shared_blocks(change: SharedChange) -> tuple[Block, ...]:
    return Diffs((replace(change.diff, place=change.headline),)), Note(change.names(_MOST_NAMED))


def _row(result: Result, details: Markup, is_early: bool) -> dict[str, object]:
    """Return a result in the list of all. `details`: what is behind it, if there is anything; they are open
    for the first ones that did not pass."""
    difference_count, case = count_differences(result), result.case
    labels = [result.name, result.criticality, result.verdict]
    if case is not None:
        labels += [case.eval_type, case.category if case.category != case.eval_type else ""]
        labels.append(" ".join(f"#{tag}" for tag in case.tags[:5]))
        labels.append(f"score {case.score:.3f}" if case.score not in (None, 0, 1) else "")
    labels.append(count_noun(difference_count, "difference") if difference_count else "")
    return {
        "id": result.id,
        "outcome": result.outcome,
        "labels": " · ".join(cut_line(label, 200) for label in labels if label),
        "took": format_seconds(result.seconds),
        "details": details,
        "tag": "details" if details else "div",
        "is_open": bool(details) and is_early and result.outcome not in ("passed", "skipped"),
    }


def _details(report: Report, result: Result, own: Result | None) -> Iterator[Block]:
    """Yield the details of a result; of a passed one only if there is something noteworthy."""
    has_notes = result.notes or result.environment_drift or describe_reason(result) or grades_of(result)
    if result.outcome == "passed" and not has_notes:
        return
    yield from page_blocks(result, own, _MOST_SHOWN)
    if select_renewable([result]):
        yield Note("Is the new answer right?", code=review_command([result], typed_of(report)))


def _group_blocks(report: Report) -> Iterator[Block]:
    """Yield a table of the cases by their kind and by their category."""
    cases = [result for result in report.results if result.case is not None]
    groups: dict[str, list[Result]] = {}
    for result in cases:
        names = (result.case.eval_type, result.case.category) if result.case else ()
        for name in dict.fromkeys(filter(None, names)):
            groups.setdefault(name, []).append(result)
    rows: list[tuple[str | Cell, ...]] = []
    for name, results in (*groups.items(), ("all", cases)):
        counts = evalreport.count_results(results)
        rate = counts["pass_rate_of_decided"]
        cells = [Cell(f"{counts[word]:,}", word if counts[word] else "") for word in _OUTCOMES]
        rows.append((name, f"{counts['total']:,}", *cells, "none" if rate is None else f"{rate:.3f}"))
    if cases:
        yield Heading("Results by group")
        heads = (word.replace("error", "errors") for word in _OUTCOMES)
        yield table(("group", "cases", *heads, "pass rate"), rows, figures=True)


def _run_blocks(report: Report) -> Iterator[Block]:
    facts = {
        "run": report.id,
        "took": format_duration(report.seconds),
        "configuration": report.config or "none",
    }
    facts |= {short(name): short(value, 200) for name, value in sorted(report.environment.items())}
    yield Heading("The run")
    yield table(("", ""), [*facts.items()])


def render_history(history: History) -> str:
    runs = history.runs
    return _render(
        "history.html",
        f"History of {len(history.trends):,} baselines",
        verdict=f"{len(history.trends):,} baselines over {len(runs):,} runs",
        facts=f"{runs[0].started} to {runs[-1].started}",
        sections=[trends_table(history.trends)],
        most=_MOST_TRENDS,
    )


# The templates.


def _visible(value: object) -> object:
    """Show the characters that are invisible or that HTML cannot hold as escapes."""
    return value if isinstance(value, Markup) else xml(escape_controls(str(value)))


_FOLDER = Path(__file__).parent
_TEMPLATES = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    finalize=_visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"cut": cut_line, "kind": lambda block: type(block).__name__}
_MACROS: Any = _TEMPLATES.get_template("blocks.html").module


def show_blocks(blocks: Iterable[Block]) -> Markup:
    shown = [*blocks]
    return Markup(_MACROS.show(shown) if shown else "")


def _render(template: str, title: str, script: str = "", **values: object) -> str:
    style = (_FOLDER / "page.css").read_text("utf-8")
    digests = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    policy = f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
    return _TEMPLATES.get_template(template).render(
        title=title,
        style=Markup(style),
        script=Markup(script),
        policy=policy + "base-uri 'none'; form-action 'none'",
        **values,
    )
