"""Moves large outputs out of their baseline's file into a file beside it, as `capture` writes them. The rest
of the file stays as it is; the output is replaced by the name of its file."""

import os
from collections.abc import Iterator, Sequence

from baselinekit.errors import NotRecorded, Place, Problem
from baselinekit.files.edit import edited
from baselinekit.files.languages import Language, language
from baselinekit.files.text import decode, encode, mark
from baselinekit.model.baselines import Known, Source, Variant, known_path
from baselinekit.model.values import ABSENT, Edit, Json, Path
from baselinekit.store import atomic, records
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.reading import locate
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


def move_all(
    root: str, chosen: Sequence[tuple[str, str]], limit: int
) -> tuple[list[MovedOutput], list[Problem]]:
    """Move the large outputs of records, given as pairs of a file and an id. Returns the moved outputs, and
    problems that say why others stay. The output files are written first, so that no reader sees the name of
    a file that does not exist yet."""
    ids: dict[str, set[str]] = {}
    for file, id in chosen:
        ids.setdefault(file, set()).add(id)
    moved: list[MovedOutput] = []
    problems: list[Problem] = []

    def move(file: str) -> None:
        data = read(root, file)
        body, bom = decode(data, file)
        text = body
        for source, raw in list(records.sources(data, body, file)):
            id = records.id_of(raw, source)
            if id not in ids[file]:
                continue
            for variant, output in _inline_outputs(raw, source):
                if not is_large(output, limit):
                    continue
                try:
                    text, name, size = _move(root, text, source, f"{id}", variant, output)
                except _Unmovable as reason:
                    at = locate(source, (*known_path(variant), "output"), root)
                    problems.append(Problem("BK116", f"{id}: {reason.message}", reason.hint, at))
                else:
                    moved.append(MovedOutput(f"{id}", file, name, size))
        if text != body:
            atomic.replace_file(root, file, encode(text, bom))

    for file, error in atomic.write_locked(root, ids, move).items():
        problems += [problem if problem.place else problem.placed(Place(file)) for problem in error.problems]
    return moved, problems


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


def _move(
    root: str, text: str, source: Source, id: str, variant: int | None, output: Json
) -> tuple[str, str, int]:
    """Write an output into a file of its own. Returns the text of the baseline's file with its name, and the
    file's name and size."""
    file_language = language(source.file)
    at = (*source.at, *_output_path(source, variant))
    nodes, missing = mark(file_language.events(text), source.document, [at]).reach(at)
    if not missing and _has_comment(text, file_language, nodes[-1].start, nodes[-1].end):
        message = "its output has comments in it, which a JSON file cannot hold"
        raise _Unmovable(message, "remove them, or move them above `baseline:`, then run again")
    suffix, content = records.file_form(output)
    number = "" if variant is None else f".{variant + 1}"
    name = f"{id}{number}{records.MARK}{suffix}"
    folder, path = records.output_location(root, source.file, name)
    try:
        text = edited(text, [Edit(at, name)], file_language, source.document)
    except NotRecorded as error:
        raise _Unmovable("its output cannot be cut out", error.problems[0].hint) from None
    key = mark(file_language.events(text), source.document, [at]).reach(at)[0][-1].key
    quote = text[key] if text[key] in ("'", '"') else ""
    if not text.startswith(f"{quote}{at[-1]}", key):
        raise _Unmovable(f"the key {at[-1]!r} is written with escapes", "write it as it is")
    text = f"{text[:key]}{quote}output_file{text[key + len(f'{quote}{at[-1]}') :]}"
    if not os.path.lexists(os.path.join(folder, path)):
        atomic.replace_file(folder, path, content, new=True)
    elif read(folder, path, MAX_OUTPUT_BYTES) != content:  # an equal one was left by a killed run
        raise _Unmovable(f"{path} is there already", "remove it, then run again")
    return text, path, len(content)


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
