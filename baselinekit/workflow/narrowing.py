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
    index: FileIndex, found: Discovery, is_all: bool, selection: Selection, reads: Reads
) -> ReadFiles:
    """Return the entries of the files that were read, in their order; of all files if nothing is selected, or
    if a shard has to say what it is part of. If the index is wrong about a file that is read, or an id is not
    unique, all files are read. `is_all`: the index may forget all other files."""
    wanted = IsWanted(selection)
    known, is_wanted = index.known(found), wanted.test
    selected = {file for file, entry in known.each() if is_wanted(entry)}
    chosen = [file for file in found.files if file in selected or file not in known]
    missing = [file for file in chosen if file not in known]
    began = index.begin() if len(missing) > len(found.files) // _PART else None
    stamps = {file: found.stamp(file) for file in missing} if began is not None else {}
    files_read = reads(chosen, wanted)
    is_known = all(
        known.get(file, facts) == facts for file, facts in facts_of(files_read.entries, chosen).items()
    )
    other_ids = known.ids(without=selected)
    ids = [id.casefold() for id in (*other_ids, *(entry.id for entry in files_read.entries))]
    if not is_known or len({*ids}) < len(ids):
        files_read.add(reads([file for file in known if file not in selected], wanted))
        return in_order(files_read, found)
    if began is not None and not files_read.problems and not files_read.refused:
        index.keep(began, stamps, files_read.entries, {*known, *(() if is_all else index.files)})
    if selection.shard is None and any(map(wanted, files_read.entries)):
        files_read.others = len(other_ids)
        return files_read
    files_read.entries += [entry.entry(file) for file, entry in known.each() if file not in selected]
    return in_order(files_read, found)


def facts_of(entries: Iterable[Entry], files: Iterable[str]) -> dict[str, list[KnownEntry]]:
    """Return for each file what the index would store about it."""
    facts: dict[str, list[KnownEntry]] = {file: [] for file in files}
    for entry in entries:
        facts[entry.source.file].append(KnownEntry(entry.id, entry.name, [*entry.tags], entry.content))
    return facts


def in_order(files_read: ReadFiles, found: Discovery) -> ReadFiles:
    """Sort the entries by the order of the files."""
    order = {file: number for number, file in enumerate(found.files)}
    files_read.entries.sort(key=lambda entry: order[entry.source.file])
    return files_read
