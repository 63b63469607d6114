"""Large outputs moved out of their baseline's file into a file beside it, as `capture` writes them: of the
file only the output goes, and its name comes in its place."""

import os
from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy

from baselinekit.documents.languages import Language, language
from baselinekit.documents.text import ALIAS, Splice, decode, encode, mark, place, spliced
from baselinekit.errors import BaselinekitError, NotRecorded, Place, Problem
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Known, Source, Variant, known_path
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.store import atomic, records
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.writing import is_large
from baselinekit.tree.equality import canonical
from baselinekit.tree.places import value_at


@frozen
class MovedOutput:
    """An output that was moved: of which baseline, from where, to which file, and how large that is."""

    id: str
    file: str
    output_file: str
    size: int


class _Unmovable(Exception):
    """Why an output stays where it is, and what to do about it."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.message, self.hint = message, hint


def has_large(known: Known, limit: int) -> bool:
    """Whether a known-good output, or that of a variant, stands in the file of its baseline and is large."""
    stated: list[Known | Variant] = [known, *known.variants]
    inline = (one.output for one in stated if one.output_file is None and one.output is not ABSENT)
    return any(is_large(output, limit) for output in inline)


def move_outputs(
    root: str, file: str, ids: Collection[str], limit: int
) -> tuple[list[MovedOutput], list[Problem]]:
    """Move what is large of the records with these ids in a file; and why some of it stays. The files beside
    are written first, so that nobody reads a name that leads nowhere."""
    moved: list[MovedOutput] = []
    left: list[tuple[Source, int | None, Problem]] = []
    with atomic.lock(root, file):
        data = read(root, file)
        body, bom = decode(data, file)
        text = body
        for source, raw in list(records.sources(data, body, file)):
            id = records.id_of(raw, source)
            if not isinstance(id, str) or id not in ids:
                continue
            for variant, output in _inline(raw, source):
                if not is_large(output, limit):
                    continue
                suffix, content = records.file_form(output)
                number = "" if variant is None else f".{variant + 1}"
                name = f"{id}{number}{records.MARK}{suffix}"
                folder, path = records.beside(root, file, name)
                try:
                    changed = _with_name(text, file, source, variant, name)
                    _refuse_other(folder, path, content)
                except _Unmovable as reason:
                    problem = Problem("BK116", f"{id}: {reason.message}", reason.hint)
                    left.append((source, variant, problem))
                    continue
                if not os.path.lexists(os.path.join(folder, path)):
                    atomic.replace_file(folder, path, content, new=True)
                text = changed
                moved.append(MovedOutput(id, file, path, len(content)))
        if moved:
            atomic.replace_file(root, file, encode(text, bom))
    return moved, [
        problem.placed(place(file, text, _index(text, source, variant))) for source, variant, problem in left
    ]


def _inline(raw: dict[str, Json], source: Source) -> Iterator[tuple[int | None, Json]]:
    """The outputs that stand in a record: its own, and those of its variants by their numbers."""
    known = raw.get("baseline")
    variants = known.get("variants") if isinstance(known, dict) else None
    for variant in (None, *range(len(variants) if isinstance(variants, list) else 0)):
        try:
            yield variant, value_at(raw, _path(source, variant))
        except (LookupError, TypeError):
            continue


def _path(source: Source, variant: int | None) -> Path:
    """Where a known-good output stands in the record, as its form has it."""
    return records.DIALECTS[source.form].path((*known_path(variant), "output"))


def _index(text: str, source: Source, variant: int | None) -> int:
    at = (*source.at, *_path(source, variant))
    nodes, _ = mark(language(source.file).events(text), source.document, [at]).reach(at)
    return nodes[-1].key if nodes and nodes[-1].key >= 0 else 0


def _with_name(text: str, file: str, source: Source, variant: int | None, name: str) -> str:
    """The text with the name of a file in the place of an output. It is read again: all else must be as it
    was."""
    spoken = language(file)
    at = (*source.at, *_path(source, variant))
    nodes, rest = mark(spoken.events(text), source.document, [at]).reach(at)
    if rest or nodes[-1].key < 0 or nodes[-1].kind == ALIAS:
        raise _Unmovable("its output is an alias", "write the value out, or capture the baseline again")
    node = nodes[-1]
    end = node.start + len(text[node.start : node.end].rstrip())
    if _has_comment(text, spoken, node.key, end):
        what = "its output has comments in it, which a JSON file cannot hold"
        raise _Unmovable(what, "remove them, or move them above `baseline:`, then run again")
    key = spoken.key("output_file", text[node.key] == '"')
    changed = spliced(text, [Splice(node.key, end, f"{key}: {spoken.flow(name)}")])
    wanted = deepcopy(spoken.load(text, file))
    around = value_at(wanted[source.document], at[:-1])
    del around[at[-1]]
    around["output_file"] = name
    try:
        is_same = canonical(spoken.load(changed, file)) == canonical(wanted)
    except BaselinekitError:
        is_same = False
    if not is_same:
        what = "its output cannot be cut out: an anchor, a tag or a key with `?` is in the way"
        raise _Unmovable(what, "write it without them, or capture the baseline again")
    return changed


def _has_comment(text: str, spoken: Language, start: int, end: int) -> bool:
    """Whether anything stands between the values of a stretch of YAML that somebody wrote for people."""
    if not spoken.blocks or "#" not in text[start:end]:
        return False
    behind = start
    for _, begin, stop, *_ in spoken.events(text):
        if begin >= end:
            break
        if stop > start:
            if "#" in text[behind : max(begin, behind)]:
                return True
            behind = max(behind, stop)
    return "#" in text[behind:end]


def _refuse_other(folder: str, path: str, content: bytes) -> None:
    """A file that is there already may be only the one that a killed run has left."""
    if os.path.lexists(os.path.join(folder, path)) and read(folder, path, MAX_OUTPUT_BYTES) != content:
        raise _Unmovable(f"{path} is there already", "remove it, then run again")


def move_all(
    root: str, chosen: Sequence[tuple[str, str]], limit: int
) -> tuple[list[MovedOutput], list[Problem]]:
    """The same for many: pairs of a file and the id of one of its records."""
    ids: dict[str, set[str]] = {}
    for file, id in chosen:
        ids.setdefault(file, set()).add(id)
    moved: list[MovedOutput] = []
    left: list[Problem] = []
    for file, of_file in ids.items():
        try:
            done, stay = move_outputs(root, file, of_file, limit)
        except NotRecorded as error:
            left += [problem if problem.place else problem.placed(Place(file)) for problem in error.problems]
        else:
            moved += done
            left += stay
    return moved, left
