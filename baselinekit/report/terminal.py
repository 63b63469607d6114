"""What is printed while and after baselines are compared: only what differs, and what to do next."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from baselinekit.escape import log, one_line, visible
from baselinekit.model.results import Report, Result
from baselinekit.report import wording
from baselinekit.report.differences import Block, blocks, count
from baselinekit.report.style import Style, width
from baselinekit.report.values import cut_line, short
from baselinekit.report.wording import (
    count_outcomes,
    describe_incomplete,
    describe_reason,
    describe_unshown,
    format_duration,
    format_place,
)
from baselinekit.texts import many

_OUTCOME_COLOURS = {
    "failed": "bold red",
    "error": "bold red",
    "unscored": "bold yellow",
    "skipped": "yellow",
    "passed": "green",
}
_TONES = {"gone": "red", "came": "green", "dim": "dim"}
_MOST_DRIFTS = 10
_MOST_EXPLAINED = 40
_MOST_COMMANDS = 4
_MOST_OF_A_CODE = 5
_SHOWN_OF_A_CODE = 3
_NAMED = 6
_FAULTS = ("failed", "error", "unscored")
Tell = Callable[[Result, Style], str]


def format_failures(report: Report, style: Style, tell: Tell | None = None) -> str:
    """All that did not pass, each as `tell` does. Of many errors with one code, as a service gives that is
    down, the first ones speak for the others."""
    wrong = [result for result in report.results if result.outcome in _FAULTS]
    errors = Counter(result.code for result in wrong if result.outcome == "error")
    told: Counter[str | None] = Counter()
    more: dict[str, list[str]] = {}
    lines = []
    for result in wrong:
        code = result.code if result.outcome == "error" and not style.verbose else None
        told[code] += 1
        if code and errors[code] > _MOST_OF_A_CODE and told[code] > _SHOWN_OF_A_CODE:
            more.setdefault(code, []).append(one_line(result.id))
        else:
            lines.append((tell or format_failure)(result, style) + "\n")
    for code, ids in more.items():
        names = ", ".join(ids[:_NAMED]) + (f" and {many(len(ids) - _NAMED, 'other')}" if ids[_NAMED:] else "")
        word = style.paint("ERROR  ", _OUTCOME_COLOURS["error"])
        lines.append(log(f"{word} {len(ids):,} more with {code}: {names} (-v shows each)\n") + "\n")
    return "".join(lines)


def format_failure(result: Result, style: Style) -> str:
    """One result that did not pass: what, where, and every difference. Ends with a line break."""
    lines = [*_heading(result, style)]
    lines += [f"  {visible(line)}" for line in describe_reason(result).splitlines()]
    shown, left_out = blocks(result, fold=not style.verbose)
    if shown:
        lines.append("")
    lines += _difference_lines(shown, style)
    if left_out:
        lines.append(style.paint(f"  {describe_unshown(left_out)}", "dim"))
    lines += _drift(result, style)
    if style.verbose and result.explanation:
        lines.append(style.paint("  explained", "dim"))
        lines += [f"    {one_line(line)}" for line in result.explanation[:_MOST_EXPLAINED]]
        more = len(result.explanation) - _MOST_EXPLAINED
        lines += [f"    … and {more:,} more lines"] if more > 0 else []
    lines += [f"  {style.paint('note', 'yellow')} {cut_line(note)}" for note in result.notes]
    return log("\n".join(lines) + "\n")


def _heading(result: Result, style: Style) -> Iterator[str]:
    word = style.paint(f"{result.outcome.upper():<7} ", _OUTCOME_COLOURS[result.outcome])
    title = cut_line(result.name or "", 200)
    if result.criticality:
        title = f"{title} ({one_line(result.criticality)})".strip()
    yield f"{word}{style.paint(one_line(result.id), 'bold')}  {title}".rstrip()
    facts = [style.paint(one_line(format_place(result)), "cyan"), cut_line(result.target)]
    number = count(result)
    if number > 1:
        facts.append(f"{number:,} differences")
    yield "        " + "   ".join(fact for fact in facts if fact)


def _difference_lines(shown: Sequence[Block], style: Style) -> Iterator[str]:
    """Each place with its remark; the places in the file stand under each other."""
    widest = max((width(_left(block)) for block in shown if block.place), default=0)
    column = min(widest, max(30, style.width // 2))
    for block in shown:
        padding = " " * (column - width(_left(block)))
        head = style.paint(block.path, "bold") + (f"  {block.remark}" if block.remark else "")
        where = f"{padding}   {style.paint(block.place, 'cyan')}" if block.place else ""
        yield f"  {head}{where}"
        for line in block.lines:
            yield f"    {style.paint(line.text, _TONES[line.tone])}"


def _left(block: Block) -> str:
    return f"{block.path}  {block.remark}" if block.remark else block.path


def _drift(result: Result, style: Style) -> Iterator[str]:
    if not result.environment_drift:
        return
    if count(result):
        yield ""
    changed, commits = wording.describe_drift(result)
    if not changed:  # every commit does that: one line is enough
        yield style.paint(f"  changed since capture: {commits}", "dim")
        return
    yield style.paint("  changed since capture", "dim")
    for name, captured, now in changed[:_MOST_DRIFTS]:
        yield f"    {short(name)}: {short(captured)} -> {short(now)}"
    if len(changed) > _MOST_DRIFTS:
        yield f"    … and {len(changed) - _MOST_DRIFTS} more"
    if commits:
        yield style.paint(f"    {commits}", "dim")


def format_warnings(report: Report, style: Style) -> str:
    """What should be looked at although nothing failed over it. Empty when there is nothing."""
    word = style.paint("warning", "yellow")
    lines = [f"{word} {visible(warning)}" for warning in wording.collect_warnings(report)]
    for result in report.results:
        if result.outcome in ("passed", "skipped"):
            lines += [f"{word} {one_line(result.id)}: {cut_line(note)}" for note in result.notes]
    return log("".join(f"{line}\n" for line in lines))


def format_passed(report: Report, style: Style) -> str:
    """One line for each that passed, for those who want to see it, apart from what did not."""
    told = format_results([result for result in report.results if result.outcome == "passed"], style)
    wrong = any(result.outcome in ("failed", "error", "unscored") for result in report.results)
    return f"{told}\n" if told and wrong else told


def format_results(results: Sequence[Result], style: Style) -> str:
    """One line a result."""
    widest = max((len(one_line(result.id)) for result in results), default=0)
    lines = []
    for result in results:
        word = style.paint(f"{result.outcome:<8}", _OUTCOME_COLOURS[result.outcome])
        where = style.paint(one_line(format_place(result)), "cyan")
        line = f"{word}  {one_line(result.id):<{widest}}  {format_duration(result.seconds):>7}  {where}"
        took = wording.describe_usage(result.usage)
        lines.append(f"{line}   {took}\n" if took else f"{line}\n")
    return log("".join(lines))


def format_summary(report: Report, style: Style) -> str:
    """The last line: `1 failed, 2 passed in 0.21s`, and what was asked of models."""
    parts = [style.paint(text, _OUTCOME_COLOURS[outcome]) for outcome, text in count_outcomes(report)]
    note = describe_incomplete(report)
    line = f"{', '.join(parts) or wording.describe_nothing(report)} in {format_duration(report.seconds)}"
    line += wording.describe_shard(report)
    line += f", {wording.describe_spent(report)}" if wording.describe_spent(report) else ""
    return line + (f" ({style.paint(note, 'yellow')})" if note else "")


def format_weakened(report: Report, style: Style) -> str:
    """What became of the baselines themselves, where somebody asked."""
    if report.against is None:
        return ""
    from baselinekit.report import weakened

    told = weakened.format_weakened(report.against)
    return log("".join(f"{style.paint(line, colours)}\n" for line, colours in told))


def format_judges(report: Report, style: Style) -> str:
    """How far the judges agree with people, where somebody has measured it or wants to."""
    if report.suite is None:
        return ""
    from baselinekit.report import judges

    told = judges.describe_judges(report.suite.judges)
    return log("".join(f"{line}\n" for line in told))


def format_earlier(report: Report, style: Style) -> str:
    """How it did beside an earlier run, where somebody asked."""
    if report.earlier is None:
        return ""
    from baselinekit.report import earlier

    told = earlier.format_earlier(report.earlier, style.verbose)
    return log("".join(f"{style.paint(line, colours)}\n" for line, colours in told))
