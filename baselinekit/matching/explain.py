"""Describes failing subtrees in words, by deepdiff. It explains a verdict and never takes part in reaching
one.

It gets the expected output and the *resolved* one (the actual output seen through the template): values that
a placeholder or a rule let pass are the same on both sides, so only real differences are described."""

import json
from collections.abc import Iterator

from baselinekit.model.baselines import Comparison
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.grammar import describes_many
from baselinekit.values.equality import bytes_of
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun

_MOST_BYTES = 50_000
"""Of both sides of a subtree."""
_MOST_LINES = 40


def explain(expected: Json, comparison: Comparison) -> list[str]:
    """Lines that describe in words what changed, bounded in number and therefore in time; a last line counts
    what was cut. A line is as long as the values it quotes: the caller has to mask it before showing it."""
    lines: list[str] = []
    unexplained = 0
    for path, before, after in _failing_subtrees(expected, comparison.resolved, ()):
        if len(lines) >= _MOST_LINES:
            unexplained += 1
        elif len(bytes_of(before)) + len(bytes_of(after)) > _MOST_BYTES:
            lines.append(f"{render(path)}: too large to explain")
        else:
            lines += _describe_subtree(path, before, after)
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"… and {len(lines) - _MOST_LINES} more lines"]
    if unexplained:
        lines.append(f"… and {count_noun(unexplained, 'more place')} not explained")
    return lines


def _failing_subtrees(expected: Json, resolved: Json, path: Path) -> Iterator[tuple[Path, Json, Json]]:
    """The smallest subtrees that hold the differences: descends key by key while both sides have the same
    keys."""
    if expected is resolved:
        return
    is_template = isinstance(expected, list) and len(expected) == 1 and describes_many(expected)
    if isinstance(expected, dict) and isinstance(resolved, dict) and expected.keys() == resolved.keys():
        for key, value in expected.items():
            yield from _failing_subtrees(value, resolved[key], (*path, key))
    elif is_template and isinstance(resolved, list):
        for index, element in enumerate(resolved):
            yield from _failing_subtrees(expected[0], element, (*path, index))
    elif expected != resolved or type(expected) is not type(resolved):
        yield path, expected, resolved


def _describe_subtree(path: Path, before: Json, after: Json) -> list[str]:
    from deepdiff import DeepDiff

    differences = DeepDiff(before, after, verbose_level=2, view="tree", threshold_to_diff_deeper=0)
    lines = []
    for group in differences.values():
        for level in group:
            kind = level.report_type
            old, new = (json.dumps(value, ensure_ascii=False, default=str) for value in (level.t1, level.t2))
            if kind == "type_changes":
                old, new = f"{old} ({json_type(level.t1)})", f"{new} ({json_type(level.t2)})"
            change = f"changed from {old} to {new}"
            if kind.endswith("_added"):
                change = f"added {new}"
            elif kind.endswith("_removed"):
                change = f"removed {old}"
            lines.append(f"{render(path + tuple(level.path(output_format='list')))}: {change}")
    return sorted(lines)
