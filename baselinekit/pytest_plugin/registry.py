"""What the tests of a run did with baselines: which files each used, which were written, and the lines for
the summary. Plain data, as xdist's workers send it in the reports of their tests."""

import os
from collections.abc import Iterable, Iterator
from typing import Literal

import pytest

from baselinekit.structs import MutableStruct, Struct, field

Use = Literal["compared", "written", "updated"]
_MOST_NAMED = 8
_WIDTH = 100
_REPORTED_USES: tuple[Use, ...] = ("written", "updated")


class BaselineWarning(pytest.PytestWarning):
    """Something to look at although nothing failed: a rule in code that the file contradicts, or one that
    matches nothing."""


def terminal_of(config: pytest.Config) -> tuple[int, int]:
    """Return the width of the terminal and the number of -v options. Works also with `-p no:terminal`."""
    has_terminal = config.pluginmanager.get_plugin("terminalreporter") is not None
    width = config.get_terminal_writer().fullwidth if has_terminal else _WIDTH
    return width, config.getoption("verbose", 0)


class UsedFile(Struct):
    """`root`: the project's folder; `file`: the path from there; `notes`: lines for the summary."""

    root: str
    file: str
    use: Use
    notes: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return os.path.join(self.root, self.file)

    def as_json(self) -> list[object]:
        return [self.root, self.file, self.use, list(self.notes)]


class Registry(MutableStruct):
    """`tests`: by node id the files that a test used. A rerun of a test adds to them."""

    tests: dict[str, list[UsedFile]] = field(default_factory=dict)

    def add(self, nodeid: str, rows: Iterable[tuple[str, str, Use, list[str]]]) -> None:
        used = (UsedFile(root, file, use, tuple(notes)) for root, file, use, notes in rows)
        self.tests.setdefault(nodeid, []).extend(used)

    def files(self) -> dict[str, set[str]]:
        """Return each used file with the tests that used it."""
        tests: dict[str, set[str]] = {}
        for nodeid, files in self.tests.items():
            for used_file in files:
                tests.setdefault(used_file.path, set()).add(nodeid)
        return tests

    def lines(self, folder: "os.PathLike[str]") -> Iterator[str]:
        """Yield the lines of the summary, with paths relative to `folder`."""
        used_files = [used_file for files in self.tests.values() for used_file in files]
        for use in _REPORTED_USES:
            names = list(
                dict.fromkeys(
                    os.path.relpath(used_file.path, folder)
                    for used_file in used_files
                    if used_file.use == use
                )
            )
            if names:
                count = "1 baseline" if len(names) == 1 else f"{len(names):,} baselines"
                yield f"{count} {use}: {names[0]}" if len(names) == 1 else f"{count} {use}:"
                yield from (f"  {name}" for name in names[:_MOST_NAMED] if len(names) > 1)
                if len(names) > _MOST_NAMED:
                    yield f"  … and {len(names) - _MOST_NAMED:,} more"
        for used_file in used_files:
            yield from (f"{os.path.relpath(used_file.path, folder)}: {note}" for note in used_file.notes)
