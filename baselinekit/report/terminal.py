"""What is printed while and after baselines are compared: only what differs. Modules that only failures need
are imported when there is one."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from baselinekit.errors import WITHOUT_VARIABLE
from baselinekit.escape import escape_ci_commands, escape_controls, one_line
from baselinekit.model.grades import FAULTS
from baselinekit.model.results import Report, Result
from baselinekit.report import wording
from baselinekit.report.values import cut_line, short
from baselinekit.report.wording import Style, format_lines, format_place, width
from baselinekit.values.texts import count_noun

if TYPE_CHECKING:
    from baselinekit.report.differences import SharedChange

_MOST_DRIFTS = 10
_MOST_EXPLAINED = 40
_MOST_WITH_CODE = 5
_SHOWN_WITH_CODE = 3
_MOST_NAMES = 6
_MOST_FAILURES = 20


def format_failures(
    report: Report, style: Style, format_result: Callable[[Result, Style], str] | None = None
) -> str:
    """Format all that did not pass. A change in many baselines is shown once; of many errors with one code,
    as when a service is down, only the first ones are shown; a variable without a value is named once."""
    failing = [result for result in report.results if result.outcome in FAULTS]
    errors = Counter(result.code for result in failing if result.outcome == "error")
    shown_counts: Counter[str | None] = Counter()
    hidden_ids: dict[str, list[str]] = {}
    named: set[str] = set()
    shared: list[SharedChange] = []
    unshared_results: Sequence[Result | None] = failing
    if not style.verbose and sum(result.outcome == "failed" for result in failing) > 1:
        from baselinekit.report.differences import share

        shared, unshared_results = share(failing)
    lines = [format_lines(_shared_lines(change, style)) + "\n" for change in shared[:_MOST_FAILURES]]
    if len(shared) > _MOST_FAILURES:
        changes = count_noun(len(shared) - _MOST_FAILURES, "other change")
        words = f"… and {changes} that several baselines have (-v shows them)"
        lines.append(style.paint(words, "dim") + "\n\n")
    for result, unshared in zip(failing, unshared_results, strict=True):
        if unshared is None:
            continue
        code = result.code if result.outcome == "error" and not style.verbose else None
        shown_counts[code] += 1
        is_named = code in WITHOUT_VARIABLE and result.reason in named
        named.add(result.reason)
        too_many = code and errors[code] > _MOST_WITH_CODE and shown_counts[code] > _SHOWN_WITH_CODE
        if code and (is_named or too_many):
            hidden_ids.setdefault(code, []).append(one_line(result.id))
        elif format_result is not None:
            lines.append(format_result(result, style) + "\n")
        elif code is None and shown_counts[None] > _MOST_FAILURES and not style.verbose:
            hidden_ids.setdefault("", []).append(one_line(result.id))
        else:
            lines.append(format_failure(unshared, style, wording.count_differences(result)) + "\n")
    for code, ids in hidden_ids.items():
        others = f" and {count_noun(len(ids) - _MOST_NAMES, 'other')}" if ids[_MOST_NAMES:] else ""
        word = style.paint("ERROR  " if code else "FAILED ", "error")
        label = f"more with {one_line(code)}" if code else "more"
        names = f"{', '.join(ids[:_MOST_NAMES])}{others} (-v shows each)"
        lines.append(escape_ci_commands(f"{word} {len(ids):,} {label}: {names}\n") + "\n")
    return "".join(lines)


def _shared_lines(shared: "SharedChange", style: Style) -> Iterator[str]:
    yield style.paint(shared.headline, "bold")
    diff = shared.diff
    yield f"  {style.paint(diff.path, 'bold')}  {diff.remark}".rstrip()
    yield from (f"    {style.paint(line.text, line.tone)}" for line in diff.lines)
    yield style.paint(f"    {shared.names()}", "cyan")


def format_failure(result: Result, style: Style, number: int | None = None) -> str:
    """Format one result that did not pass, with every difference. Ends with a line break. `number`: how many
    differences there are, including those shown with other baselines."""
    word = style.paint(f"{result.outcome.upper():<7} ", result.outcome)
    title = cut_line(result.name or "", 200)
    if result.criticality:
        title = f"{title} ({one_line(result.criticality)})".strip()
    lines = [f"{word}{style.paint(one_line(result.id), 'bold')}  {title}".rstrip()]
    facts = [style.paint(one_line(format_place(result)), "cyan"), cut_line(result.target)]
    own_count = wording.count_differences(result)
    if number is not None and number > own_count:
        facts.append(f"{count_noun(number, 'difference')}, {number - own_count:,} of them above")
    elif own_count > 1:
        facts.append(f"{own_count:,} differences")
    lines.append("        " + "   ".join(filter(None, facts)))
    lines += [f"  {escape_controls(line)}" for line in wording.describe_reason(result).splitlines()]
    lines += [*difference_lines(result, style), *_drift_lines(result, style)]
    if style.verbose and result.explanation:
        lines.append(style.paint("  in detail", "dim"))
        explanation = [*map(one_line, result.explanation)]
        lines += [f"    {line}" for line in wording.first_of(explanation, _MOST_EXPLAINED, "line")]
    lines += [f"  {style.paint('note', 'yellow')} {cut_line(note)}" for note in result.notes]
    return format_lines(lines)


def difference_lines(result: Result, style: Style) -> Iterator[str]:
    """Yield each place with its remark; the places in the file are aligned in a column."""
    from baselinekit.report.differences import diffs

    shown_diffs, left_out = diffs(result, fold=not style.verbose)
    heads = [f"{diff.path}  {diff.remark}".rstrip() for diff in shown_diffs]
    widths = [width(head) for head, diff in zip(heads, shown_diffs, strict=True) if diff.place]
    column = min(max(widths, default=0), max(30, style.width // 2))
    if shown_diffs:
        yield ""
    for head, diff in zip(heads, shown_diffs, strict=True):
        padding = " " * (column - width(head))
        place = f"{padding}   {style.paint(diff.place, 'cyan')}" if diff.place else ""
        yield f"  {style.paint(diff.path, 'bold')}{head.removeprefix(diff.path)}{place}"
        yield from (f"    {style.paint(line.text, line.tone)}" for line in diff.lines)
    if left_out:
        yield style.paint(f"  {wording.describe_unshown(left_out)}", "dim")


def _drift_lines(result: Result, style: Style) -> Iterator[str]:
    if not result.environment_drift:
        return
    if wording.count_differences(result):
        yield ""
    changed, commits = wording.describe_drift(result)
    if not changed:  # every commit changes that: one line is enough
        yield style.paint(f"  changed since capture: {commits}", "dim")
        return
    yield style.paint("  changed since capture", "dim")
    drifts = [f"{short(name)}: {short(captured)} -> {short(now)}" for name, captured, now in changed]
    yield from (f"    {drift}" for drift in wording.first_of(drifts, _MOST_DRIFTS))
    if commits:
        yield style.paint(f"    {commits}", "dim")


def format_warnings(report: Report, style: Style) -> str:
    """Format the warnings, which fail nothing. Empty if there are none."""
    word = style.paint("warning", "yellow")
    lines = [f"{word} {escape_controls(warning)}" for warning in wording.collect_warnings(report)]
    for result in report.results:
        if result.outcome in ("passed", "skipped"):
            lines += [f"{word} {one_line(result.id)}: {cut_line(note)}" for note in result.notes]
    return format_lines(lines)


def format_passed(report: Report, style: Style) -> str:
    """Format one line for each result that passed, for users who ask for it, separate from the failures."""
    text = format_results([result for result in report.results if result.outcome == "passed"], style)
    has_failing = any(result.outcome in FAULTS for result in report.results)
    return f"{text}\n" if text and has_failing else text


def format_results(results: Sequence[Result], style: Style) -> str:
    """Format one line for each result."""
    widest = max((len(one_line(result.id)) for result in results), default=0)
    lines = []
    for result in results:
        word = style.paint(f"{result.outcome:<8}", result.outcome)
        place = style.paint(one_line(format_place(result)), "cyan")
        duration = wording.format_duration(result.seconds)
        usage = wording.describe_usage(result.usage)
        line = f"{word}  {one_line(result.id):<{widest}}  {duration:>7}  {place}"
        lines.append(f"{line}   {usage}" if usage else line)
    return format_lines(lines)
