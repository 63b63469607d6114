"""Two texts of several lines side by side, as a unified diff that stays within bounds.

difflib takes time that grows with the square of the lines and more, so it sees only short stretches, between
lines that stand once in either text; and of a long text only what follows the first line that differs."""

from difflib import SequenceMatcher

from baselinekit.landmarks import gaps
from baselinekit.plural import many

LONGEST = 2_000
"""Lines that are compared, of each text."""

CONTEXT = 3
"""Lines around a change that are shown with it."""

_LOOKED_INTO = 2_500
Stretch = tuple[int, int, int, int]
"""Lines of the old text, from and to, and the lines of the new one that stand there instead."""

_CUT = "@@ cut:"
_NO_NEWLINE = "\\ no newline at the end"


def unified(expected: str, actual: str) -> list[str]:
    """Lines that begin with `-`, `+`, `|` (the same in both) or `@@ line 12 @@`; none if nothing differs."""
    old, new = _lines(expected, actual)
    head = _alike(old, new, 1)
    tail = _alike(old[head:], new[head:], -1)
    start = max(0, head - CONTEXT)
    old_part = old[start : len(old) - tail + CONTEXT if tail > CONTEXT else len(old)]
    new_part = new[start : len(new) - tail + CONTEXT if tail > CONTEXT else len(new)]
    if old_part == new_part:
        return []
    lines = _hunks(old_part[:LONGEST], new_part[:LONGEST], start)
    if max(len(old_part), len(new_part)) > LONGEST:
        lines.append(f"{_CUT} only the first {LONGEST:,} lines from line {start + 1} on were compared @@")
    return lines


def more_of(changed: list[str], most: int) -> list[str]:
    """What is said of a diff of which only so many lines are shown."""
    if len(changed) <= most:
        return []
    over, rest = ("over ", 1) if changed[-1].startswith(_CUT) else ("", 0)
    left = len(changed) - most - rest
    return [f"… and {over}{many(left, 'more line')}"] if left else changed[-1:]


def _lines(expected: str, actual: str) -> tuple[list[str], list[str]]:
    old, new = expected.split("\n"), actual.split("\n")
    if (old[-1] == "") != (new[-1] == ""):
        (new if old[-1] == "" else old).append(_NO_NEWLINE)
    return (old[:-1] if old[-1] == "" else old), (new[:-1] if new[-1] == "" else new)


def _alike(old: list[str], new: list[str], step: int) -> int:
    count = 0
    for left, right in zip(old[::step], new[::step], strict=False):
        if left != right:
            break
        count += 1
    return count


def _hunks(old: list[str], new: list[str], start: int) -> list[str]:
    """What changed, each group of changes with the lines around it."""
    lines: list[str] = []
    for group in near(changes(old, new)):
        end = max(0, group[0][0] - CONTEXT)
        lines.append(f"@@ line {start + end + 1} @@")
        for o1, o2, n1, n2 in group:
            lines += [f"| {line}" for line in old[end:o1]]
            lines += [f"- {_ends_shown(line)}" for line in old[o1:o2]]
            lines += [f"+ {_ends_shown(line)}" for line in new[n1:n2]]
            end = o2
        lines += [f"| {line}" for line in old[end : end + CONTEXT]]
    return lines


def near(changes: list[Stretch]) -> list[list[Stretch]]:
    """Changes whose surroundings touch belong together."""
    groups: list[list[Stretch]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def changes(old: list[str], new: list[str]) -> list[Stretch]:
    """The stretches between lines that both texts have, found from the lines that each has once."""
    return [change for o1, o2, n1, n2 in gaps(old, new) for change in _within(old[o1:o2], new[n1:n2], o1, n1)]


def _within(old: list[str], new: list[str], o: int, n: int) -> list[Stretch]:
    """What differs in a stretch; a long one is not looked into."""
    if not old or not new or len(old) * len(new) > _LOOKED_INTO:
        return [(o, o + len(old), n, n + len(new))]
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(o + o1, o + o2, n + n1, n + n2) for tag, o1, o2, n1, n2 in opcodes if tag != "equal"]


def _ends_shown(line: str) -> str:
    """Blanks at the end of a line are often all that differs, and nobody sees them."""
    kept = line.rstrip(" ")
    return kept + "\\x20" * (len(line) - len(kept))
