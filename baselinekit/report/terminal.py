"""What is printed while and after baselines are compared and cases run: only what did not pass. Modules that
only failures need are imported when there is one."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from baselinekit.escape import escape_ci_commands, escape_controls, one_line
from baselinekit.model.grades import FAULTS
from baselinekit.model.results import Report, Result
from baselinekit.report import wording
from baselinekit.report.values import cut_line
from baselinekit.report.wording import Style, format_lines, format_place
from baselinekit.values.texts import count_noun, list_first

if TYPE_CHECKING:
    from baselinekit.report.differences import SharedChange

_SHOWN_WITH_CODE = 3
_MOST_NAMES = 6
_MOST_FAILURES = 20


def format_failures(report: Report, style: Style) -> str:
    """Format all that did not pass. A change in many baselines is shown once; of many errors with one code,
    as when a service is down, and of many failures only the first ones are shown."""
    failing = [result for result in report.results if result.outcome in FAULTS]
    shared: list[SharedChange] = []
    texts: list[str] = []
    unshared_results: Sequence[Result | None] = failing
    if not style.verbose and sum(result.outcome == "failed" for result in failing) > 1:
        from baselinekit.report.blocks import Heading, terminal_lines
        from baselinekit.report.differences import share

        shared, unshared_results = share(failing)
        for change in shared[:_MOST_FAILURES]:
            blocks = (Heading(change.headline), *change.blocks())
            texts.append(format_lines(terminal_lines(blocks, style)))
    if len(shared) > _MOST_FAILURES:
        changes = count_noun(len(shared) - _MOST_FAILURES, "other change")
        words = f"… and {changes} that several baselines have (-v shows them)"
        texts.append(style.paint(words, "dim") + "\n")
    shown_counts: Counter[str] = Counter()
    hidden_ids: dict[str, list[str]] = {}
    for result, own in zip(failing, unshared_results, strict=True):
        if own is None:
            continue
        code = (result.code or "") if result.outcome == "error" else ""
        shown_counts[code] += 1
        if not style.verbose and shown_counts[code] > (_SHOWN_WITH_CODE if code else _MOST_FAILURES):
            hidden_ids.setdefault(code, []).append(one_line(result.id))
        else:
            texts.append(format_failure(result, style, own))
    for code, ids in hidden_ids.items():
        word = style.paint("ERROR  " if code else "FAILED ", "error")
        label = f"more with {one_line(code)}" if code else "more"
        names = f"{list_first(ids, _MOST_NAMES)} (-v shows each)"
        texts.append(escape_ci_commands(f"{word} {len(ids):,} {label}: {names}\n"))
    return "".join(f"{text}\n" for text in texts)


def format_failure(result: Result, style: Style, own: Result | None = None) -> str:
    """Format one result that did not pass. `own`: the result without the differences that are shown for
    several baselines at once."""
    from baselinekit.report.blocks import terminal_lines
    from baselinekit.report.details import list_facts, result_blocks

    own = own or result
    word = style.paint(f"{result.outcome.upper():<7} ", result.outcome)
    title = cut_line(result.name or "", 200)
    if result.criticality:
        title = f"{title} ({one_line(result.criticality)})".strip()
    place = style.paint(one_line(format_place(result)), "cyan")
    facts = filter(None, (place, cut_line(result.target), *list_facts(result, own)))
    lines = [f"{word}{style.paint(one_line(result.id), 'bold')}  {title}".rstrip()]
    lines.append(f"        {'   '.join(facts)}")
    blocks = result_blocks(own, fold=not style.verbose, in_full=style.verbose)
    return format_lines([*lines, *terminal_lines(blocks, style)])


def format_warnings(report: Report, style: Style) -> str:
    """Format the warnings, which fail nothing. Empty if there are none."""
    word = style.paint("warning", "yellow")
    lines = [f"{word} {escape_controls(warning)}" for warning in wording.collect_warnings(report)]
    for result in report.results:
        if result.outcome in ("passed", "skipped"):
            lines += [f"{word} {one_line(result.id)}: {cut_line(note)}" for note in result.notes]
    return format_lines(lines)


def format_passed(report: Report, style: Style) -> str:
    """Format one line for each result that passed, and the grades of a case, for users who ask for it;
    separate from the failures."""
    passed = [result for result in report.results if style.verbose and result.outcome == "passed"]
    widest = max((len(one_line(result.id)) for result in passed), default=0)
    lines = []
    for result in passed:
        word = style.paint(f"{result.outcome:<8}", result.outcome)
        place = style.paint(one_line(format_place(result)), "cyan")
        duration, usage = wording.format_duration(result.seconds), wording.describe_usage(result.usage)
        lines.append(f"{word}  {one_line(result.id):<{widest}}  {duration:>7}  {place}   {usage}".rstrip())
        if result.case is not None:
            from baselinekit.report.blocks import terminal_lines
            from baselinekit.report.details import case_blocks

            lines += terminal_lines(case_blocks(result), style)
    has_failing = any(result.outcome in FAULTS for result in report.results)
    return format_lines(lines) + ("\n" if lines and has_failing else "")
