"""What the plugin's other files share of a session of pytest."""

from typing import Literal, Protocol

import pytest

Use = Literal["compared", "written", "updated"]
Used = tuple[str, str, Use, list[str]]
"""A file that a test used: the project's folder, the path from there, and lines for the end of the run. Plain
data, as xdist's workers send it in the reports of their tests."""

_WIDTH = 100


class Covered(Protocol):
    """What a run covered: `Run` of hooks.py, which imports none of this."""

    began: float
    looked: dict[str, str]
    collected: set[str]
    ended: set[str]
    unproven: set[str]
    left_out: str
    used: list[Used]


class BaselineWarning(pytest.PytestWarning):
    """Something to look at although nothing failed: a rule in code that the file contradicts, or one that
    matches nothing."""


def terminal_of(config: pytest.Config) -> tuple[int, int]:
    """Return the width of the terminal and the number of -v options. Works also with `-p no:terminal`."""
    has_terminal = config.pluginmanager.get_plugin("terminalreporter") is not None
    width = config.get_terminal_writer().fullwidth if has_terminal else _WIDTH
    return width, config.getoption("verbose", 0)
