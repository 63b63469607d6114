"""The time of day, read in one place: whoever starts a command may hand it another clock (`main(now=…)`)."""

import time
from collections.abc import Callable

import click

Now = Callable[[], float]
"""Seconds since 1970."""


def clock() -> Now:
    """The clock of the command that runs. Asked for in its main thread, and then handed on."""
    context = click.get_current_context(silent=True)
    handed = context.find_object(_Handed) if context is not None else None
    return time.time if handed is None else handed.now


def carrying(now: Now | None) -> object:
    """The object that click gives to every command below this one."""
    return None if now is None else _Handed(now)


class _Handed:
    def __init__(self, now: Now):
        self.now = now
