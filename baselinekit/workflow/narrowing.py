"""What a run that is about some of many baselines reads: the files of those that it is about, and those of
which the index of the project does not know what stands in them."""

from collections.abc import Callable, Iterable, Sequence

from baselinekit.model.baselines import Entry
from baselinekit.store.discovery import Discovery
from baselinekit.store.index import FileIndex, KnownEntry
from baselinekit.workflow.chunks import ReadFiles
from baselinekit.workflow.selection import IsWanted, Selection, Test

Reads = Callable[[Sequence[str], Test | None], ReadFiles]

_PART = 64
"""The index is written again where more than one of so many files had to be read for want of it."""


def read_selected(
    index: FileIndex, found: Discovery, is_all: bool, selection: Selection, reads: Reads
) -> ReadFiles:
    """The entries of the files that were read, in their order; of all files where nothing is selected, or a
    shard has to say what it is a part of. What the index says of a file that is read has to be what stands
    there, and each id has to be there once: else all files are read. `is_all`: no other files may be known
    hereafter."""
    wanted = IsWanted(selection)
    known = index.known(found)
    chosen = [file for file in found.files if file not in known or any(map(wanted, known[file]))]
    missing = [file for file in chosen if file not in known]
    now = index.begin() if len(missing) > len(found.files) // _PART else None
    stamps = {file: found.stamp_now(file) for file in missing} if now is not None else {}
    read = reads(chosen, wanted)
    is_known = all(known.get(file, facts) == facts for file, facts in facts_of(read.entries, chosen).items())
    others = {file: entries for file, entries in known.items() if file not in {*chosen}}
    ids = [one.id.casefold() for one in read.entries]
    ids += [one.id.casefold() for entries in others.values() for one in entries]
    if not is_known or len({*ids}) < len(ids):
        read.add(reads([*others], wanted))
        return in_order(read, found)
    if now is not None and not read.problems and not read.refused:
        index.keep(now, stamps, read.entries, {*known, *(() if is_all else index.files)})
    if selection.shard is None and any(map(wanted, read.entries)):
        read.others = sum(map(len, others.values()))
        return read
    read.entries += [one.entry(file) for file, entries in others.items() for one in entries]
    return in_order(read, found)


def facts_of(entries: Iterable[Entry], files: Iterable[str]) -> dict[str, list[KnownEntry]]:
    """By file what the index would know of it."""
    found: dict[str, list[KnownEntry]] = {file: [] for file in files}
    for one in entries:
        found[one.source.file].append(KnownEntry(one.id, one.name, [*one.tags], one.content))
    return found


def in_order(read: ReadFiles, found: Discovery) -> ReadFiles:
    """With its entries in the order of the files."""
    place = {file: number for number, file in enumerate(found.files)}
    read.entries.sort(key=lambda entry: place[entry.source.file])
    return read
