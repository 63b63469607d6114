"""On what the files of a benchmark stand.

It belongs to the figures: ext4 without a journal, as some virtual machines have it, looks past all files that
were removed in the last minutes whenever it makes one. Runs that replace a thousand files one after another
measure that: it weighs on both sides, and most on the one that does little else."""

import tempfile
from collections.abc import Collection
from pathlib import Path


def file_system() -> str:
    """What holds the folder of temporary files (TMPDIR), such as `ext4`."""
    try:
        mounts = Path("/proc/self/mounts").read_text("utf-8")
    except OSError:
        return "an unknown file system"
    journals = {path.name.rpartition("-")[0] for path in Path("/proc/fs/jbd2").glob("*")}
    return below(Path(tempfile.gettempdir()).resolve(), mounts, journals)


def below(folder: Path, mounts: str, journals: Collection[str]) -> str:
    """The same, where the system says what is mounted and which devices have a journal. Of all mounts above
    a folder the one that leads furthest counts, and of several there the last."""
    found = "/", "", "an unknown file system"
    for device, place, kind, *_ in map(str.split, mounts.splitlines()):
        name = place.replace("\\040", " ")
        if folder.is_relative_to(name) and len(name) >= len(found[0]):
            found = name, device.rpartition("/")[2], kind
    _, device, kind = found
    return f"{kind} without a journal" if kind == "ext4" and device not in journals else kind
