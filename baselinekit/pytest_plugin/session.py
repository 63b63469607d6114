"""What the plugin's other files share of a session of pytest."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

Use = Literal["compared", "written", "updated"]
Used = tuple[str, str, Use, list[str]]
"""A file that a test used: the project's folder, the path from there, and lines for the end of the run. Plain
data, as xdist's workers send it in the reports of their tests."""

_WIDTH = 100


@dataclass(eq=False)
class Run:
    """What a run covered, by node ids.

    `looked`: the outcome of collecting each file; "skipped" for a module that is skipped as a whole.
    `collected`: the tests that were to run; `ended`: those that finished; `unproven`: those with a phase that
    failed or was skipped. `left_out`: why the run did not cover everything. `used`: the files that tests
    used."""

    looked: dict[str, str] = field(default_factory=dict)
    collected: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    unproven: set[str] = field(default_factory=set)
    left_out: str = ""
    used: list[Used] = field(default_factory=list)


class BaselineWarning(pytest.PytestWarning):
    """Something to look at although nothing failed: a rule in code that the file contradicts, or one that
    matches nothing."""


def terminal_of(config: pytest.Config) -> tuple[int, int]:
    """Return the width of the terminal and the number of -v options. Works also with `-p no:terminal`."""
    has_terminal = config.pluginmanager.get_plugin("terminalreporter") is not None
    width = config.get_terminal_writer().fullwidth if has_terminal else _WIDTH
    return width, config.getoption("verbose", 0)
