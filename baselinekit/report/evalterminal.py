"""Evals on a terminal: results of a run, and the cases that wait for a rating; and gates in every form: for a
terminal, as the report of a phase in Markdown, and as JSON for programs."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import escape_ci_commands, escape_controls, markdown_text, one_line
from baselinekit.files.languages import dump_yaml
from baselinekit.model.evals import GateResult, worst_exit_code
from baselinekit.model.grades import BORDERLINE, FAULTS, Grade
from baselinekit.model.ratings import ItemStatus, Sheet
from baselinekit.model.results import Metric, Report, Result
from baselinekit.model.values import Json
from baselinekit.report import evalreport, terminal
from baselinekit.report.blocks import Cell, Note, Words, table, terminal_lines
from baselinekit.report.evalreport import all_grades_of, check_lines, count_results, evidence
from baselinekit.report.forms.markdown import format_blocks
from baselinekit.report.sections import RATE, describe_uncovered, format_interval, metric_facts, status_cell
from baselinekit.report.values import LONGEST, cut_line, first_lines, page, short
from baselinekit.report.wording import Style, cut_to_width, first_of, format_lines, wrap_lines
from baselinekit.structs import replace
from baselinekit.values.texts import list_first, mask_and_clip, no_mask

# Eval cases, their graders, metrics and gates in a terminal, and why cases were skipped.


_NOTES = {
    "disagrees": "note:",
    "reply": "it replied:",
    "replies_that_could_not_be_read": "asked again:",
    "taken": "taken:",
}
"""Details that are also shown, with the words before them."""
_MOST_GRADES = 20
_MOST_LINES = 12
_MOST_LINES_VERBOSE = 200
_LONGEST_VERBOSE = 2_000
_MOST_REASONS = 5
_MOST_IDS = 3


def format_passed(report: Report, style: Style) -> str:
    """Format as `terminal.format_passed`, each result with its grades."""
    lines = terminal.format_passed(report, style).splitlines(keepends=True)
    passed = [result for result in report.results if result.outcome == "passed"]
    grades = [format_lines(format_grades(all_grades_of(result), style)) for result in passed]
    sections = [line + below for line, below in zip(lines, grades, strict=False)]
    return "".join(sections) + "".join(lines[len(sections) :])


def format_failures(report: Report, style: Style) -> str:
    """Format all cases that did not pass."""
    return terminal.format_failures(report, style, format_failure)


def format_failure(result: Result, style: Style) -> str:
    """Format one case that did not pass."""
    text = terminal.format_failure(replace(result, explanation=()), style)
    grades = all_grades_of(result)
    if result.differences and len(grades) < 2:
        return text
    lines = list(format_grades(grades, style, not style.verbose, result.reason, result))
    most, longest = (_MOST_LINES_VERBOSE, _LONGEST_VERBOSE) if style.verbose else (_MOST_LINES, LONGEST)
    for label, side in () if result.differences else evidence(result):
        word = style.paint(f"{label.lower():<8}", "green" if label == "Expected" else "red")
        first, *others = first_lines(side, most, longest) or ['""']
        lines.append(f"    {word} {first}")
        lines += [f"             {line}" for line in others[: most - 1]]
        lines += [style.paint(f"             {line}", "dim") for line in others[most - 1 :]]
    attempts = result.case.attempts if result.case else ()
    if len(attempts) > 1:
        words = ", ".join(attempt.outcome for attempt in attempts)
        lines.append(style.paint(f"    attempts  {words}", "dim"))
        lines += [f"      {cut_line(reason)}" for reason in evalreport.other_reasons(result)]
    return text + format_lines(lines)


def format_grades(
    grades: Sequence[tuple[Grade, str]],
    style: Style,
    brief: bool = False,
    stated_reason: str = "",
    of: Result | None = None,
) -> Iterator[str]:
    """Yield each grader with its score, weight, criteria and reason; `brief` gives one line for each of
    several graders. `stated_reason`: what was already shown of the case; `of`: the result that the grades
    belong to, so that a failing grade shows its place."""
    for grade, standing in grades[:_MOST_GRADES]:
        place = one_line(evalreport.place_of(grade, of)) if of else ""
        if brief and len(grades) == 1 and not place:  # everything was shown above
            return
        score = "" if grade.score is None else f" {grade.score:.2f}"
        word = style.paint(f"{grade.outcome:<8}", grade.outcome)
        line = f"    {word} {one_line(grade.grader)} ({grade.kind}){score}"
        category = grade.details.get("category")
        for fact in (standing, grade.verdict, category if isinstance(category, str) else ""):
            line += f", {one_line(fact)}" if fact else ""
        line += f"  {cut_line(grade.reason)}" if brief and grade.reason and len(grades) > 1 else ""
        yield f"{line}  {style.paint(place, 'cyan')}" if place else line
        if not brief:
            yield from _grade_lines(grade, style, stated_reason)
    if len(grades) > _MOST_GRADES:
        yield style.paint(f"    … and {len(grades) - _MOST_GRADES:,} more graders", "dim")


def _grade_lines(grade: Grade, style: Style, stated_reason: str) -> Iterator[str]:
    criteria = grade.details.get("scores")
    if isinstance(criteria, dict):
        yield from _wrap([f"{name} {value}" for name, value in criteria.items()], style, "   ")
    for name, prefix in _NOTES.items():
        details = grade.details.get(name)
        for note in details if isinstance(details, list) else [details] if details else ():
            if str(note) not in grade.reason:
                yield from _wrap([*prefix.split(), *str(note).split()], style)
    if grade.code and grade.outcome == "error" and (not grade.reason or grade.reason not in stated_reason):
        yield from _wrap([grade.code, *grade.reason.split()], style)
    elif grade.reason not in stated_reason:
        yield from _wrap(grade.reason.split(), style)
    feedback = grade.details.get("specific_feedback")
    for advice in feedback if isinstance(feedback, list) else ():
        yield from _wrap(["-", *str(advice).split()], style)


def _wrap(words: Sequence[str], style: Style, gap: str = " ") -> Iterator[str]:
    """Yield lines that fit, up to a readable number."""
    short_words = [cut_line(word) for word in words[:_LONGEST_VERBOSE]]
    lines = list(wrap_lines(short_words, max(20, style.width - 13), gap))
    for line in first_of(lines, _MOST_GRADES, "line"):
        yield style.paint(f"             {line}", "dim")


def format_metrics(report: Report, style: Style) -> str:
    """Format the metrics that have a threshold or are informative, with their intervals. With one attempt per
    case, pass@1 is enough; the pass rate differs if cases were retried."""
    metrics = report.suite.metrics if report.suite else ()
    pass_at_1 = next((metric.value for metric in metrics if metric.name == "pass@1"), None)
    repeated = any(metric.name == "pass@1" and metric.view != "per case" for metric in metrics)
    lines = []
    for metric in metrics:
        if metric.name == BORDERLINE:
            is_informative = bool(metric.value)
        elif metric.name == RATE:
            is_informative = metric.value != pass_at_1 and not repeated
        else:
            is_informative = metric.value is not None and (repeated or metric.name == "pass@1")
        if not (style.verbose or metric.threshold is not None or is_informative):
            continue
        line = f"{metric.name:<16} "
        line += f"not available: {metric.why}" if metric.value is None else f"{metric.value:.3f}"
        if metric.value is not None and format_interval(metric):
            line += f"  ({format_interval(metric)}, {metric.basis}, n={metric.count:,})"
        if metric.threshold is not None:
            status = status_cell(metric)
            line += f"{style.paint(f'  {status.text}', status.tone)}  at least {metric.threshold:g}"
        lines.append(line)
    lines += [f"{style.paint('not met', 'bold red')} {line}" for line in describe_uncovered(report)]
    return format_lines(lines)


def format_skipped(report: Report, style: Style) -> str:
    """Format one line for each reason why cases did not run; with `verbose`, one for each case."""
    skipped = [case for case in report.results if case.outcome == "skipped" and case.reason and not case.code]
    word = style.paint("skipped", "yellow")
    if style.verbose:
        return format_lines(f"{word}   {one_line(case.id)}: {cut_line(case.reason)}" for case in skipped)
    ids_of: dict[str, list[str]] = {}
    for case in skipped:
        ids_of.setdefault(case.reason, []).append(one_line(case.id))
    lines = []
    for reason, ids in list(ids_of.items())[:_MOST_REASONS]:
        lines.append(f"{word} {len(ids):,}: {cut_line(reason)} ({list_first(ids, _MOST_IDS)})")
    if len(ids_of) > _MOST_REASONS:
        lines.append(f"{word} … for {len(ids_of) - _MOST_REASONS:,} more reasons: -v")
    return format_lines(lines)


# What a rater sees: one output with everything that belongs to it, and the list of what waits.


_LONGEST = 100_000
_KEYS = {"s": "skip", "u": "undo", "q": "quit"}


def format_sheet(sheet: Sheet, place: str, style: Style) -> str:
    """Format all that a rating is based on; it stays on the screen, to be scrolled back to."""
    item, shown = sheet.item, sheet.item.shown
    limit = f"   {sheet.minutes:g} min at most" if sheet.minutes is not None else ""
    lines = ["", f"{place}  {style.paint(one_line(item.case), 'bold')}  {one_line(item.grader)}{limit}"]
    if shown.title != item.case:
        lines.append(escape_controls(mask_and_clip(shown.title, _LONGEST, no_mask)))
    outputs = [("output", shown.output)]
    if shown.items:
        outputs = [(f"output {number}", output) for number, output in enumerate(shown.items, 1)]
    parts = [
        ("how to rate", shown.rubric),
        ("input", shown.input),
        *((name, _output_text(output)) for name, output in outputs),
        ("expected", shown.expected),
        ("origin", "\n".join(f"{name}: {short(value)}" for name, value in sheet.about.items())),
        ("said so far", "\n".join(sheet.said)),
    ]
    for heading, text in parts:
        if text:
            cut = escape_controls(mask_and_clip(text, _LONGEST, no_mask))
            lines += ["", style.paint(heading, "cyan"), *(f"  {line}" for line in cut.split("\n"))]
    return format_lines(lines)


def _output_text(value: Json) -> str:
    """Return an output for people: a text unchanged, also one within a mapping."""
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        value = value["text"]
    if isinstance(value, str):
        return value or "(empty)"
    return dump_yaml(value).rstrip("\n") if value not in ([], {}) else str(value)


def format_question(sheet: Sheet, number: int, typed: str, message: str, style: Style) -> list[str]:
    """Return the current question and the keys. `typed`: what was entered so far; `message`: on the last
    key."""
    columns = max(20, style.width - 1)
    question = sheet.questions[number]
    lines = [""]
    if len(sheet.questions) > 1:
        lines.append(f"{number + 1} of {len(sheet.questions)}  {style.paint(cut_line(question), 'bold')}")
    elif question:
        lines.append(style.paint(cut_line(question), "bold"))
    if sheet.item.method.rating_scale.type == "ranking":
        ties = "  = ties it with the next" if sheet.item.method.rating_scale.tie_allowed else ""
        lines.append(f"type the numbers, best first{ties}")
    else:
        choices = [f"{style.paint(key, 'bold')} {one_line(word)}".rstrip() for key, word in sheet.choices]
        lines += wrap_lines(choices, columns, "   ")
    if message:
        lines.append(style.paint(cut_line(message), "yellow"))
    lines += wrap_lines([f"{style.paint(key, 'bold')} {word}" for key, word in _KEYS.items()], columns)
    lines.append(f"> {one_line(typed)}")
    return [escape_ci_commands(cut_to_width(line, columns)) for line in lines]


def describe_count(count: int, least: int) -> str:
    """Describe how many people have rated, of those required; there may be more."""
    return f"{count} of {least} have rated" if count <= least else f"{count} have rated"


def format_queue(standings: Sequence[ItemStatus], style: Style) -> str:
    """Format one line for each item: how many have rated it, and the result so far."""
    rows = []
    for standing in standings:
        item, ratings = standing.item, standing.item.ratings
        state = standing.grade.verdict or standing.grade.outcome
        rated = describe_count(len(ratings), item.method.evaluators.min_required).replace("have ", "")
        names = "" if item.method.blind_evaluation else ", ".join(rating.rater for rating in ratings)
        rows.append((Cell(state, standing.grade.outcome), item.case, item.grader, rated, item.key[:8], names))
    heads = ("state", "case", "grader", "rated", "item", "by")
    return format_lines(terminal_lines([table(heads, rows)] if rows else [], replace(style, verbose=True)))


def format_queue_json(
    standings: Sequence[ItemStatus], expectations: Sequence[str], agreements: Sequence[Json]
) -> str:
    """Return the queue as JSON for programs."""
    items = [_queue_entry(standing, words) for standing, words in zip(standings, expectations, strict=True)]
    return page({"items": items, "agreement": list(agreements)})


def _queue_entry(standing: ItemStatus, expectation: str) -> dict[str, Json]:
    item, grade, people = standing.item, standing.grade, standing.item.method.evaluators
    shown, is_blind = item.shown, item.method.blind_evaluation
    outputs: dict[str, Json] = {"items": list(shown.items)} if shown.items else {"output": shown.output}
    if shown.expected:
        outputs["expected"] = shown.expected
    raters = [rating.rater for rating in item.ratings]
    return {
        "item": item.key,
        "case": item.case,
        "grader": item.grader,
        **{name: getattr(grade, name) for name in ("outcome", "verdict", "score", "reason")},
        "open": standing.is_open,
        "rated": len(raters),
        "required": people.min_required,
        "allowed": people.max_allowed,
        "wanted": expectation,
        "opened_at": item.opened_at,
        "shown": {
            **{name: getattr(shown, name) for name in ("title", "rubric", "input")},
            **outputs,
            **({} if is_blind else {"about": dict(shown.about)}),
        },
        **({} if is_blind else {"raters": raters}),
        **({"agreement": grade.details["agreement"]} if "agreement" in grade.details else {}),
    }


# Gates in every form.

FORMAT = "baselinekit.gate/1"
_STATE_TONES = {"met": "passed", "not met": "failed", "undecided": "unscored"}


def _gate_blocks(judged: GateResult) -> Iterator[Words]:
    """Yield the metrics of a gate, and why it is not met."""
    rows = [
        (
            Cell(metric.name, is_code=True),
            _format_value(metric),
            _format_threshold(metric),
            status_cell(metric),
            metric.why if metric.value is None else metric.estimator,
        )
        for metric in judged.metrics
    ]
    if rows:
        yield table(("Metric", "Value", "Threshold", "Status", "Note"), rows, figures=True)
    yield from (Note(f"not met: {reason}", "failed") for reason in judged.regressed)
    yield from (Note(f"undecided: {reason}", "unscored") for reason in judged.why)


def format_gate(judged: GateResult, style: Style) -> str:
    """Format a gate for a terminal: its metrics, why it is not met, and what did not pass."""
    blocks, results = [*_gate_blocks(judged)], judged.report.results
    failing = [(result.outcome, result.id, result.reason) for result in results if result.outcome in FAULTS]
    if failing and (judged.state != "met" or style.verbose):
        blocks.append(table(("outcome", "case", "why"), failing))
    word = style.paint(judged.state.upper(), _STATE_TONES[judged.state])
    title = f"{word}  {style.paint(one_line(judged.gate.name), 'bold')}"
    return format_lines([title, *terminal_lines(blocks, style)])


def format_gates_markdown(judged: Sequence[GateResult]) -> str:
    """Return the part of a phase report that is about evals."""
    lines = ["## Phase Completion Report"] if len(judged) == 1 else []
    for gate in judged:
        name = markdown_text(cut_line(gate.gate.name))
        lines += [] if len(judged) == 1 else [f"## {name}"]
        lines += ["", "### Eval Results", "", f"{name}: **{gate.state}**"]
        lines += format_blocks(_gate_blocks(gate)).splitlines()
        lines += check_lines(gate.report.results, "####", 2)
        lines += format_blocks(evalreport.recommendation_blocks(gate.report)).splitlines()
    return "\n".join(lines) + "\n"


def format_gates_json(judged: Sequence[GateResult]) -> str:
    """Return the results of gates as JSON for programs."""
    exit_code = worst_exit_code([gate.exit_code for gate in judged])
    return page({"format": FORMAT, "exit_code": exit_code, "gates": [*map(_gate_document, judged)]})


def _gate_document(judged: GateResult) -> dict[str, Json]:
    gate, report = judged.gate, judged.report
    failing = [result for result in report.results if result.outcome in FAULTS]
    unknown = [f"{metric.name}: {metric.why}" for metric in judged.metrics if metric.value is None]
    return {
        "name": gate.name,
        "state": judged.state,
        "blocking": gate.blocking,
        "exit_code": judged.exit_code,
        "file": gate.file or None,
        "suite": gate.suite,
        "run": report.id,
        "filters": {"categories": list(gate.categories), "tags": list(gate.tags)},
        "allow_regressions": list(gate.allow_regressions),
        "metrics": {evalreport.key_of(metric): metric_facts(metric) for metric in judged.metrics},
        "why": [*unknown, *judged.regressed, *judged.why],
        "summary": count_results(report.results),
        "failures": [{name: getattr(one, name) for name in ("id", "outcome", "reason")} for one in failing],
        "recommendations": evalreport.recommendations(report),
    }


def _format_value(metric: Metric) -> str:
    """Format the value with two or three digits; with more if they are needed to see on which side of its
    threshold it is."""
    if metric.value is None:
        return "not available"
    text = f"{metric.value:.3f}"
    for digits in range(4, 10):
        if metric.threshold is None or (float(text) >= metric.threshold) == bool(metric.met):
            break
        text = f"{metric.value:.{digits}f}"
    return text[:-1] if text.endswith("0") and len(text) == 5 else text


def _format_threshold(metric: Metric) -> str:
    """Format the threshold as it was written, with at least two digits."""
    least = metric.threshold
    return "" if least is None else f"{least:.2f}" if round(least, 2) == least else f"{least:.9g}"
