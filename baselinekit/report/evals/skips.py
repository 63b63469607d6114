"""Cases that nobody ran, with why, for the terminal: what is left out in silence is forgotten."""

from baselinekit.escape import log, one_line
from baselinekit.model.results import Report, Result
from baselinekit.report.terminal.style import Style
from baselinekit.report.values.shown import cut_line

_MOST_REASONS = 5
_MOST_IDS = 3


def skipped(report: Report, style: Style, verbose: bool) -> str:
    """A line for each reason; `verbose`: one for each case."""
    left_out = [one for one in report.results if one.outcome == "skipped" and not one.code and one.reason]
    word = style.paint("skipped", "yellow")
    if verbose:
        return log("".join(f"{word}   {one_line(one.id)}: {cut_line(one.reason)}\n" for one in left_out))
    by_reason: dict[str, list[Result]] = {}
    for one in left_out:
        by_reason.setdefault(one.reason, []).append(one)
    lines = [
        f"{word} {len(few):,}: {cut_line(reason)} ({_named(few)})\n"
        for reason, few in list(by_reason.items())[:_MOST_REASONS]
    ]
    if len(by_reason) > _MOST_REASONS:
        lines.append(f"{word} … for {len(by_reason) - _MOST_REASONS:,} more reasons: -v\n")
    return log("".join(lines))


def _named(results: list[Result]) -> str:
    names = ", ".join(one_line(one.id) for one in results[:_MOST_IDS])
    return names + (f", and {len(results) - _MOST_IDS:,} more" if len(results) > _MOST_IDS else "")
