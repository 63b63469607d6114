"""A file before and after, as the unified diff that `git apply` and `patch` read."""

from baselinekit.escape import visible
from baselinekit.model.changes import Rewritten
from baselinekit.plural import many
from baselinekit.report.differences.textdiff import CONTEXT, changes, near
from baselinekit.report.terminal.style import Style

_MOST_LINES = 10_000
_NO_NEWLINE = "\\ No newline at end of file"
_TONES = {"-": "red", "+": "green", "@": "cyan"}


def unified(rewritten: Rewritten) -> list[str]:
    """The lines of the diff; none if nothing differs."""
    old, new = _lines(rewritten.before), _lines(rewritten.after)
    hunks = _hunks(old, new)
    if not hunks:
        return []
    before = f"a/{rewritten.file}" if rewritten.before else "/dev/null"
    return [f"--- {before}", f"+++ b/{rewritten.file}", *hunks]


def painted(rewritten: Rewritten, style: Style) -> str:
    """The diff for a screen, in colours and with nothing in it that a terminal would obey: as much of it as
    anybody looks through. One that is cut is no patch any more, and `git apply` says so."""
    lines = unified(rewritten)
    more = len(lines) - _MOST_LINES
    if more > 0:
        lines[_MOST_LINES:] = [f"… and {many(more, 'more line')} of {rewritten.file}"]
    shown = [style.paint(visible(line), "bold") for line in lines[:2]]
    shown += [style.paint(visible(line), _TONES.get(line[:1], "")) for line in lines[2:]]
    return "".join(f"{line}\n" for line in shown)


def _lines(text: str) -> list[str]:
    """The lines with their ends, so that one without is another one. Only a line feed ends a line here: what
    else it may hold is a part of it."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _hunks(old: list[str], new: list[str]) -> list[str]:
    lines: list[str] = []
    for group in near(changes(old, new)):
        o1, n1 = max(0, group[0][0] - CONTEXT), max(0, group[0][2] - CONTEXT)
        o2, n2 = min(len(old), group[-1][1] + CONTEXT), min(len(new), group[-1][3] + CONTEXT)
        lines.append(f"@@ -{_range(o1, o2)} +{_range(n1, n2)} @@")
        at = o1
        for left, right, here, there in group:
            lines += _told(" ", old[at:left]) + _told("-", old[left:right]) + _told("+", new[here:there])
            at = right
        lines += _told(" ", old[at:o2])
    return lines


def _told(sign: str, lines: list[str]) -> list[str]:
    told = []
    for line in lines:
        told.append(sign + line.removesuffix("\n"))
        if not line.endswith("\n"):
            told.append(_NO_NEWLINE)
    return told


def _range(start: int, end: int) -> str:
    size = end - start
    return f"{start + 1 if size else start}" + ("" if size == 1 else f",{size}")
