"""Edits, applied to the text of a file: only what changes is rewritten, every other byte stays.

The plain case, one scalar for another, is exact by itself. Whatever is harder is read again and compared
with what it should be; when the nicest way to write it fails that test, a plainer one is tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from baselinekit.documents.languages import Language, canonical
from baselinekit.documents.layout import Layout, Splice, Unplannable, without_anchor
from baselinekit.documents.marks import ALIAS, MAPPING, SCALAR, Marks, Node, mark
from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.model.edits import Edit
from baselinekit.model.values import Json, Path


def apply(
    body: str,
    edits: Sequence[Edit],
    document: int,
    language: Language,
    siblings: Sequence[str] = (),
    marks: Marks | None = None,
) -> str:
    """The text with the edits in it. A new key goes before the first of the `siblings` after it that is
    there, else to the end of its mapping. `marks`: of these paths, if they are known already."""
    if marks is None:
        boxes = {edit.path[:depth] for edit in edits for depth in range(len(edit.path))}
        beside = [(*box, name) for box in boxes for name in siblings]
        marks = mark(language.events(body), document, [*(edit.path for edit in edits), *beside])
    chains = [marks.reach(edit.path)[0] for edit in edits]
    if all(_is_simple(body, chain, edit) for chain, edit in zip(chains, edits, strict=True)):
        layout = Layout(body, language, siblings)
        pairs = zip(chains, edits, strict=True)
        return spliced(body, [layout.replace(chain, edit.value) for chain, edit in pairs])
    documents = language.load(body, "")
    for plainly in (False, True):
        layout = Layout(body, language, siblings, plainly)
        text = _attempt(edits, documents, document, marks, layout)
        if text is not None:
            return text
    paths = ", ".join(".".join(map(str, edit.path)) for edit in edits)
    raise NotRecorded(
        Problem(
            "BK122",
            f"{paths} cannot be changed without touching something else",
            "write that part of the file without anchors, tags or `?` keys",
        )
    )


def _is_simple(body: str, chain: list[Node], edit: Edit) -> bool:
    """One scalar on one line for another, which nothing else in the file means."""
    node = chain[-1]
    return (
        len(chain) == len(edit.path) + 1
        and node.kind == SCALAR
        and node.style in ("", '"', "'")
        and node.start < node.end
        and "\n" not in body[node.start : node.end]
        and not any(step.anchor for step in chain)
        and not isinstance(edit.value, dict | list)
        and "\n" not in str(edit.value)
    )


def _attempt(
    edits: Sequence[Edit], documents: Sequence[Json], document: int, marks: Marks, layout: Layout
) -> str | None:
    """The edited text, if it reads back as the file with exactly these edits."""
    wanted = list(documents)
    try:
        for edit in edits:
            wanted[document] = with_value(wanted[document], edit.path, edit.value)
        text = spliced(layout.body, _plan(marks, edits, documents[document], layout))
        after = layout.language.load(text, "")
    except (BaselinekitError, Unplannable):
        return None
    return text if canonical(after) == canonical(wanted) else None


@dataclass(slots=True)
class _Growth:
    """What several edits add below one node."""

    chain: list[Node]
    path: Path
    value: dict[str, Json] = field(default_factory=dict)


def _plan(marks: Marks, edits: Sequence[Edit], value: Json, layout: Layout) -> list[Splice]:
    splices: list[Splice] = []
    grown: dict[int, _Growth] = {}
    for edit in edits:
        chain, rest = marks.reach(edit.path)
        splices.extend(_freed(marks, chain, edit.path, value, layout))
        if not rest:
            splices.append(layout.replace(chain, edit.value))
            continue
        path = edit.path[: len(edit.path) - len(rest)]
        growth = grown.setdefault(id(chain[-1]), _Growth(chain, path))
        growth.value = with_value(growth.value, rest, edit.value)
    for growth in grown.values():
        node = growth.chain[-1]
        if node.kind == MAPPING:
            splices.extend(layout.insert(node, growth.value))
        elif node.kind == ALIAS or node.is_null:
            old = value_at(value, growth.path)
            splices.append(layout.replace(growth.chain, {**(old or {}), **growth.value}))
        else:
            raise Unplannable
    return splices


def _freed(marks: Marks, chain: list[Node], path: Path, value: Json, layout: Layout) -> list[Splice]:
    """An anchor on the way to the edit, when others mean the same value: the first of them gets the old
    value and the anchor, so that the edit is seen by this one alone."""
    splices = []
    for depth, node in enumerate(chain):
        inside = range(node.start, node.end)
        others = [a for a in marks.aliases if a.value == node.anchor and a.start not in inside]
        if node.anchor and others and node.start not in layout.freed:
            layout.freed.add(node.start)
            old = layout.language.flow(value_at(value, path[:depth]))
            splices.append(Splice(others[0].start, others[0].end, f"&{node.anchor} {old}"))
            if depth < len(path):
                splices.append(without_anchor(layout.body, node.start))
    return splices


def spliced(body: str, splices: Sequence[Splice]) -> str:
    """The text with other texts in the place of some of its parts."""
    parts = []
    end = len(body)
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end), reverse=True):
        if splice.end > end:
            raise Unplannable
        parts += [body[splice.end : end], splice.text]
        end = splice.start
    return body[:end] + "".join(reversed(parts))


def value_at(value: Json, path: Path) -> Json:
    for step in path:
        value = value[step]
    return value


def with_value(value: Json, path: Path, new: Json) -> Json:
    """A copy of a value with another one at a path; mappings on the way are made."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(step, int):
        return [*value[:step], with_value(value[step], rest, new), *value[step + 1 :]]
    if not isinstance(value, dict | None):
        raise Unplannable
    return {**(value or {}), step: with_value((value or {}).get(step), rest, new)}
