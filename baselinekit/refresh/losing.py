"""The placeholders that would be gone: somebody has thought about each of them."""

from collections import Counter
from collections.abc import Iterator

from baselinekit.model.changes import Change, Lost
from baselinekit.model.values import Json, Path
from baselinekit.paths import children
from baselinekit.placeholders.grammar import has_marker, tokens_in


def lost_in(change: Change) -> tuple[Lost, ...]:
    """Every placeholder of the old side that the new one does not have. Where one row described all of them,
    each of its placeholders is lost, even if the rows hold it again: it spoke for rows to come."""
    held = Counter() if change.note else Counter(token.text for token in tokens_in(change.after))
    lost = []
    for path, text in _placeholders(change.before, change.at):
        if held[text]:
            held[text] -= 1
        else:
            lost.append(Lost(path, text))
    return tuple(lost)


def _placeholders(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str) and has_marker(value):
        for token in tokens_in(value):
            yield path, token.text
    for key, child in children(value):
        yield from _placeholders(child, (*path, key))
