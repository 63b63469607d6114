"""Moves large outputs out of their baseline's file into a file beside it, as `capture` writes them. The rest
of the file stays as it is; the output is replaced by the name of its file."""

import os
from collections.abc import Collection, Iterator, Sequence

from baselinekit.errors import NotRecorded, Place, Problem
from baselinekit.files.edit import edited
from baselinekit.files.languages import Language, language
from baselinekit.files.text import ALIAS, decode, encode, mark, place
from baselinekit.model.baselines import Known, Source, Variant, known_path
from baselinekit.model.values import ABSENT, Edit, Json, Path
from baselinekit.store import atomic, records
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.writing import is_large
from baselinekit.structs import Struct
from baselinekit.values.places import value_at


class MovedOutput(Struct):
    """An output that was moved: its baseline's id and file, the new file and its size."""

    id: str
    file: str
    output_file: str
    size: int


class _Unmovable(Exception):
    """Why an output cannot be moved, and what to do about it."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.message, self.hint = message, hint


def has_large(known: Known, limit: int) -> bool:
    """Whether a known-good output, or that of a variant, is large and in the file of its baseline."""
    outputs: list[Known | Variant] = [known, *known.variants]
    inline = (item.output for item in outputs if item.output_file is None and item.output is not ABSENT)
    return any(is_large(output, limit) for output in inline)


def move_outputs(
    root: str, file: str, ids: Collection[str], limit: int
) -> tuple[list[MovedOutput], list[Problem]]:
    """Move the large outputs of the records with these ids in a file. Returns the moved outputs, and problems
    that say why others stay. The output files are written first, so that no reader sees the name of a file
    that does not exist yet."""
    moved: list[MovedOutput] = []
    unmoved: list[tuple[Source, int | None, Problem]] = []
    with atomic.lock(root, file):
        data = read(root, file)
        body, bom = decode(data, file)
        text = body
        for source, raw in list(records.sources(data, body, file)):
            id = records.id_of(raw, source)
            if not isinstance(id, str) or id not in ids:
                continue
            for variant, output in _inline_outputs(raw, source):
                if not is_large(output, limit):
                    continue
                suffix, content = records.file_form(output)
                number = "" if variant is None else f".{variant + 1}"
                name = f"{id}{number}{records.MARK}{suffix}"
                folder, path = records.output_location(root, file, name)
                try:
                    changed = _replace_output(text, file, source, variant, name)
                    _refuse_different_file(folder, path, content)
                except _Unmovable as reason:
                    problem = Problem("BK116", f"{id}: {reason.message}", reason.hint)
                    unmoved.append((source, variant, problem))
                    continue
                if not os.path.lexists(os.path.join(folder, path)):
                    atomic.replace_file(folder, path, content, new=True)
                text = changed
                moved.append(MovedOutput(id, file, path, len(content)))
        if moved:
            atomic.replace_file(root, file, encode(text, bom))
    return moved, [
        problem.placed(place(file, text, _find_index(text, source, variant)))
        for source, variant, problem in unmoved
    ]


def _inline_outputs(raw: dict[str, Json], source: Source) -> Iterator[tuple[int | None, Json]]:
    """Yield the outputs inside a record: its own with None, and those of its variants with their numbers."""
    known = raw.get("baseline")
    variants = known.get("variants") if isinstance(known, dict) else None
    for variant in (None, *range(len(variants) if isinstance(variants, list) else 0)):
        try:
            yield variant, value_at(raw, _output_path(source, variant))
        except (LookupError, TypeError):
            continue


def _output_path(source: Source, variant: int | None) -> Path:
    """Return the path of a known-good output in the record, which depends on the form of the file."""
    return records.DIALECTS[source.form].path((*known_path(variant), "output"))


def _find_index(text: str, source: Source, variant: int | None) -> int:
    at = (*source.at, *_output_path(source, variant))
    nodes, _ = mark(language(source.file).events(text), source.document, [at]).reach(at)
    return nodes[-1].key if nodes and nodes[-1].key >= 0 else 0


def _replace_output(text: str, file: str, source: Source, variant: int | None, name: str) -> str:
    """Return the text with an output replaced by the name of its file. The result is parsed to make sure that
    everything else is unchanged."""
    file_language = language(file)
    at = (*source.at, *_output_path(source, variant))
    nodes, missing = mark(file_language.events(text), source.document, [at]).reach(at)
    if missing or nodes[-1].key < 0 or nodes[-1].kind == ALIAS:
        raise _Unmovable("its output is an alias", "write the value out, or capture the baseline again")
    node = nodes[-1]
    end = node.start + len(text[node.start : node.end].rstrip())
    if _has_comment(text, file_language, node.key, end):
        message = "its output has comments in it, which a JSON file cannot hold"
        raise _Unmovable(message, "remove them, or move them above `baseline:`, then run again")
    edits = [Edit(at, ABSENT), Edit((*at[:-1], "output_file"), name)]
    try:
        return edited(text, edits, file_language, source.document)
    except NotRecorded as error:
        raise _Unmovable("its output cannot be cut out", error.problems[0].hint) from None


def _has_comment(text: str, file_language: Language, start: int, end: int) -> bool:
    """Whether there is a comment between the values in a part of a YAML text."""
    if not file_language.blocks or "#" not in text[start:end]:
        return False
    previous_end = start
    for _, event_start, event_end, *_ in file_language.events(text):
        if event_start >= end:
            break
        if event_end > start:
            if "#" in text[previous_end : max(event_start, previous_end)]:
                return True
            previous_end = max(previous_end, event_end)
    return "#" in text[previous_end:end]


def _refuse_different_file(folder: str, path: str, content: bytes) -> None:
    """Refuse a different file in the place of the output file. An equal one was left by a killed run."""
    if os.path.lexists(os.path.join(folder, path)) and read(folder, path, MAX_OUTPUT_BYTES) != content:
        raise _Unmovable(f"{path} is there already", "remove it, then run again")


def move_all(
    root: str, chosen: Sequence[tuple[str, str]], limit: int
) -> tuple[list[MovedOutput], list[Problem]]:
    """Move the large outputs of many records, given as pairs of a file and an id."""
    ids: dict[str, set[str]] = {}
    for file, id in chosen:
        ids.setdefault(file, set()).add(id)
    moved: list[MovedOutput] = []
    problems: list[Problem] = []
    for file, file_ids in ids.items():
        try:
            file_moved, file_problems = move_outputs(root, file, file_ids, limit)
        except NotRecorded as error:
            problems += [
                problem if problem.place else problem.placed(Place(file)) for problem in error.problems
            ]
        else:
            moved += file_moved
            problems += file_problems
    return moved, problems
