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
    known, is_wanted = index.known(found), wanted.test
    selected = {file for file, one in known.each() if is_wanted(one)}
    chosen = [file for file in found.files if file in selected or file not in known]
    missing = [file for file in chosen if file not in known]
    now = index.begin() if len(missing) > len(found.files) // _PART else None
    stamps = {file: found.stamp(file) for file in missing} if now is not None else {}
    read = reads(chosen, wanted)
    is_known = all(known.get(file, facts) == facts for file, facts in facts_of(read.entries, chosen).items())
    others = known.ids(without=selected)
    ids = [id.casefold() for id in (*others, *(one.id for one in read.entries))]
    if not is_known or len({*ids}) < len(ids):
        read.add(reads([file for file in known if file not in selected], wanted))
        return in_order(read, found)
    if now is not None and not read.problems and not read.refused:
        index.keep(now, stamps, read.entries, {*known, *(() if is_all else index.files)})
    if selection.shard is None and any(map(wanted, read.entries)):
        read.others = len(others)
        return read
    read.entries += [one.entry(file) for file, one in known.each() if file not in selected]
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
