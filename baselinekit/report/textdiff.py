"""Two texts of several lines side by side, as a unified diff that stays within bounds.

difflib takes time that grows with the square of the lines, so it sees only what lies between the first and
the last line that differ, and of that a bounded part."""

from difflib import SequenceMatcher

LONGEST = 2_000
"""Lines that are compared, of each text."""

_CONTEXT = 3
_NO_NEWLINE = "\\ no newline at the end"


def unified(expected: str, actual: str) -> list[str]:
    """Lines that begin with `-`, `+`, `|` (the same in both) or `@@ line 12 @@`; none if nothing differs."""
    old, new = _lines(expected, actual)
    head = _alike(old, new, 1)
    tail = _alike(old[head:], new[head:], -1)
    start = max(0, head - _CONTEXT)
    old_part = old[start : len(old) - tail + _CONTEXT if tail > _CONTEXT else len(old)]
    new_part = new[start : len(new) - tail + _CONTEXT if tail > _CONTEXT else len(new)]
    if old_part == new_part:
        return []
    lines = _hunks(old_part[:LONGEST], new_part[:LONGEST], start)
    if max(len(old_part), len(new_part)) > LONGEST:
        lines.append(f"@@ cut: only the first {LONGEST:,} lines from line {start + 1} on were compared @@")
    return lines


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
    lines = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        lines.append(f"@@ line {start + group[0][1] + 1} @@")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                lines += [f"| {line}" for line in old[old_start:old_end]]
            else:
                lines += [f"- {_ends_shown(line)}" for line in old[old_start:old_end]]
                lines += [f"+ {_ends_shown(line)}" for line in new[new_start:new_end]]
    return lines


def _ends_shown(line: str) -> str:
    """Blanks at the end of a line are often all that differs, and nobody sees them."""
    kept = line.rstrip(" ")
    return kept + "\\x20" * (len(line) - len(kept))
