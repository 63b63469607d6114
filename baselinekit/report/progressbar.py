"""The line of a progress bar, as text. Who draws it, and where, is cli/progress.py."""

from collections.abc import Mapping

from baselinekit.model.grades import Outcome
from baselinekit.report import wording
from baselinekit.report.style import Style

_WIDEST, _NARROWEST = 40, 5


def frame(
    doing: str, total: int, tally: Mapping[Outcome, int], seconds: float, style: Style, cells: str
) -> str:
    """The line, which leaves the last column free: some terminals begin a new line with it. Where it is too
    narrow, what matters least is left out."""
    done = sum(tally.values())
    count, rest = f"{done:,}/{total:,}", _remaining(done, total, seconds)
    bad = ", ".join(wording.count_outcome(word, number) for word, number in tally.items() if word != "passed")
    room = style.width - 2 - len(_line(doing, count, bad, rest))
    if room >= _NARROWEST:
        length = min(room, _WIDEST)
        full = length * min(done, total) // total
        bar = style.paint(cells[0] * full, "cyan") + style.paint(cells[1] * (length - full), "dim")
        return _line(doing, bar, count, style.paint(bad, "red"), rest)
    for parts in ((count, bad, rest), (count, bad), (count,)):
        if len(_line(*parts)) < style.width:
            return _line(*(style.paint(part, "red") if part == bad else part for part in parts))
    return ""


def _line(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _remaining(done: int, total: int, seconds: float) -> str:
    if not done:
        return "-:--"
    minutes, second = divmod(round(seconds / done * max(total - done, 0)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
