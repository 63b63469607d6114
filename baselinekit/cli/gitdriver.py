"""What git calls, and nobody types: `git-merge` settles the record and leaves the rest to git's own merge of
texts; `git-textconv` shows a file without its record. `init --git` tells git of them."""

import sys
from pathlib import Path

import click

from baselinekit.cli import screen
from baselinekit.store import recordmerge

_CONFLICTS_AT_MOST = 127
_OWN_WORDS = ("ours", "base", "theirs")


@click.command("git-merge", hidden=True)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("marker", default="7")
@click.argument("name", default="baseline.yaml")
@click.argument("labels", nargs=-1)
def git_merge(base: Path, ours: Path, theirs: Path, marker: str, name: str, labels: tuple[str, ...]) -> int:
    """Merge three versions of a file into the second, as git's merge drivers do.

    Exit code: 0 merged, otherwise the number of conflicts, which stand in the file.
    """
    files = base, ours, theirs
    before = [file.read_bytes() for file in files]
    for file, old, text in zip(files, before, _settled(before, name), strict=True):
        if text != old:
            file.write_bytes(text)
    finished = _merge_file(base, ours, theirs, marker, labels)
    if finished == 0:
        wrong = recordmerge.reads(ours.read_bytes(), name)
        if not wrong or any(recordmerge.reads(data, name) for data in before[1:]):
            return 0
        screen.line(f"baselinekit: the two sides went together, but: {screen.safe(wrong)}", err=True)
        return 1
    if finished > _CONFLICTS_AT_MOST:  # no text, say: ours stays, and git says that it is in conflict
        return 1
    return finished


def _settled(before: list[bytes], name: str) -> tuple[bytes, ...]:
    """Whatever goes wrong with us, git is to get its merge."""
    try:
        return recordmerge.settled(before[0], before[1], before[2], name)
    except Exception:
        return tuple(before)


def _merge_file(base: Path, ours: Path, theirs: Path, marker: str, labels: tuple[str, ...]) -> int:
    from baselinekit.programs.git import Git
    from baselinekit.programs.process import Processes

    told = [word for label in _told(labels) for word in ("-L", label)]
    size = [f"--marker-size={marker}"] if marker.isdigit() else []
    git = Git(Processes().execute, ".")
    return git.run("merge-file", "-q", *size, *told, "--", *map(str, (ours, base, theirs))).exit_code


def _told(labels: tuple[str, ...]) -> list[str]:
    """The names of the three sides: base, ours, theirs in git's order, which older ones do not give."""
    given = dict(zip(("base", "ours", "theirs"), labels, strict=False))
    named = [given.get(word, "") for word in ("ours", "base", "theirs")]
    pairs = zip(named, _OWN_WORDS, strict=True)
    return [word if name in ("", "%S", "%X", "%Y") else name for name, word in pairs]


@click.command("git-textconv", hidden=True)
@click.argument("file", type=click.Path(path_type=Path))
def git_textconv(file: Path) -> int:
    """Print a file without the record in it."""
    shown = recordmerge.without_record(file.read_bytes(), file.name)
    sys.stdout.flush()
    sys.stdout.buffer.write(shown)
    return 0
