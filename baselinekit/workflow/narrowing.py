"""What a run on a selection of many baselines reads: the files of the selected ones, and the files whose
content the project's index does not know."""

from collections.abc import Callable, Iterable, Sequence

from baselinekit.model.baselines import Entry
from baselinekit.store.discovery import Discovery
from baselinekit.store.index import FileIndex, KnownEntry
from baselinekit.workflow.chunks import ReadFiles
from baselinekit.workflow.selection import IsWanted, Selection, Test

Reads = Callable[[Sequence[str], Test | None], ReadFiles]

_PART = 64
"""The index is written anew if more than one of so many files had to be read because it did not know them."""


def read_selected(
    index: FileIndex, discovery: Discovery, is_all: bool, selection: Selection, reads: Reads
) -> ReadFiles:
    """Return the entries of the files that were read, in their order; of all files if nothing is selected, or
    if a shard has to say what it is part of. If the index is wrong about a file that is read, or an id is not
    unique, all files are read. `is_all`: the index may forget all other files."""
    selects = IsWanted(selection)
    indexed, is_wanted = index.known(discovery), selects.test
    selected = {file for file, entry in indexed.each() if is_wanted(entry)}
    chosen = [file for file in discovery.files if file in selected or file not in indexed]
    missing = [file for file in chosen if file not in indexed]
    began = index.begin() if len(missing) > len(discovery.files) // _PART else None
    stamps = {file: discovery.stamp(file) for file in missing} if began is not None else {}
    files_read = reads(chosen, selects)
    is_known = all(
        indexed.get(file, facts) == facts for file, facts in facts_of(files_read.entries, chosen).items()
    )
    other_ids = indexed.ids(without=selected)
    ids = [id.casefold() for id in (*other_ids, *(entry.id for entry in files_read.entries))]
    if not is_known or len({*ids}) < len(ids):
        files_read.add(reads([file for file in indexed if file not in selected], selects))
        return in_order(files_read, discovery)
    if began is not None and not files_read.problems and not files_read.refused:
        index.keep(began, stamps, files_read.entries, {*indexed, *(() if is_all else index.files)})
    if selection.shard is None and any(map(selects, files_read.entries)):
        files_read.others = len(other_ids)
        return files_read
    files_read.entries += [entry.entry(file) for file, entry in indexed.each() if file not in selected]
    return in_order(files_read, discovery)


def facts_of(entries: Iterable[Entry], files: Iterable[str]) -> dict[str, list[KnownEntry]]:
    """Return for each file what the index would store about it."""
    facts: dict[str, list[KnownEntry]] = {file: [] for file in files}
    for entry in entries:
        facts[entry.source.file].append(KnownEntry(entry.id, entry.name, [*entry.tags], entry.content))
    return facts


def in_order(files_read: ReadFiles, discovery: Discovery) -> ReadFiles:
    """Sort the entries by the order of the files."""
    order = {file: number for number, file in enumerate(discovery.files)}
    files_read.entries.sort(key=lambda entry: order[entry.source.file])
    return files_read
