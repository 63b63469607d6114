"""What git calls, and nobody types: `git-merge` settles the record and leaves the rest to git's own merge of
texts; `git-textconv` shows a file without its record. `init --git` tells git of them."""

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from baselinekit.cli import screen
from baselinekit.cli.options import argument, takes
from baselinekit.store import recordmerge

_CONFLICTS_AT_MOST = 127
_OWN_WORDS = ("ours", "base", "theirs")


@dataclass(frozen=True)
class GitMergeOptions:
    base: Path = argument(type=click.Path(path_type=Path))
    ours: Path = argument(type=click.Path(path_type=Path))
    theirs: Path = argument(type=click.Path(path_type=Path))
    marker: str = argument(default="7")
    name: str = argument(default="baseline.yaml")
    labels: tuple[str, ...] = argument(nargs=-1)


@dataclass(frozen=True)
class GitTextconvOptions:
    file: Path = argument(type=click.Path(path_type=Path))


@click.command("git-merge", hidden=True)
@takes(GitMergeOptions)
def git_merge(options: GitMergeOptions) -> int:
    """Merge three versions of a file into the second, as git's merge drivers do.

    Exit code: 0 merged, otherwise the number of conflicts, which are marked in the file.
    """
    files = options.base, options.ours, options.theirs
    name = options.name
    before = [file.read_bytes() for file in files]
    for file, old, text in zip(files, before, _settled(before, name), strict=True):
        if text != old:
            file.write_bytes(text)
    finished = _merge_file(options)
    if finished == 0:
        wrong = recordmerge.reads(options.ours.read_bytes(), name)
        if not wrong or any(recordmerge.reads(data, name) for data in before[1:]):
            return 0
        screen.line(f"baselinekit: the two sides were merged, but: {screen.safe(wrong)}", err=True)
        return 1
    if finished > _CONFLICTS_AT_MOST:  # no text, say: ours stays, and git says that it is in conflict
        return 1
    return finished


def _settled(before: list[bytes], name: str) -> tuple[bytes, ...]:
    """Whatever goes wrong with us, git is to get its merge."""
    try:
        return recordmerge.settle(before[0], before[1], before[2], name)
    except Exception:
        return tuple(before)


def _merge_file(options: GitMergeOptions) -> int:
    from baselinekit.programs.git import Git
    from baselinekit.programs.process import Processes

    labels = [word for label in _side_names(options.labels) for word in ("-L", label)]
    size = [f"--marker-size={options.marker}"] if options.marker.isdigit() else []
    sides = map(str, (options.ours, options.base, options.theirs))
    git = Git(Processes().execute, ".")
    return git.run("merge-file", "-q", *size, *labels, "--", *sides).exit_code


def _side_names(labels: tuple[str, ...]) -> list[str]:
    """The names of the three sides: base, ours, theirs in git's order, which older ones do not give."""
    given = dict(zip(("base", "ours", "theirs"), labels, strict=False))
    names = {word: given.get(word, "") for word in _OWN_WORDS}
    return [word if name in ("", "%S", "%X", "%Y") else name for word, name in names.items()]


@click.command("git-textconv", hidden=True)
@takes(GitTextconvOptions)
def git_textconv(options: GitTextconvOptions) -> int:
    """Print a file without the record in it."""
    shown = recordmerge.without_record(options.file.read_bytes(), options.file.name)
    sys.stdout.flush()
    sys.stdout.buffer.write(shown)
    return 0
