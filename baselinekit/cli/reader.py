"""Whoever reads standard output may leave before it ends (`| head`), or take nothing (a full disk)."""

import os
from typing import TextIO

_lost: OSError | None = None


class ReaderLeft(Exception):
    """Not an OSError: click would take that for its affair, and end with the exit code of a regression."""


def lose(stream: TextIO, error: OSError, told: bool) -> None:
    """What is said from now on goes nowhere. The run goes on: there are files to be written, and a verdict.
    `told`: somebody should hear of it in the end."""
    global _lost
    let_go(stream)
    if told:
        _lost = _lost or error


def lost() -> OSError | None:
    """Why what was said did not reach anybody. Asked once."""
    global _lost
    error, _lost = _lost, None
    return error


def let_go(stream: TextIO | None) -> None:
    """What could not be written stays in the stream's buffer: the interpreter must not try again at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
