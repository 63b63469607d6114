"""What the terminal wants: colours or none, how wide, text that any output can take, and no secrets."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from baselinekit.cli import entry
from baselinekit.escape import json_ascii, json_text, log, one_line, visible
from baselinekit.lazy import lazy_pattern

if TYPE_CHECKING:
    from baselinekit.report.wording import Style

# Everything on standard output and error passes through here: declared secrets are masked.


_mask: Callable[[str], str] | None = None


def install(mask: Callable[[str], str]) -> None:
    """From now on this keeps the secrets out."""
    global _mask
    _mask = mask


def redact(text: str) -> str:
    """The text without secrets."""
    if _mask is not None:
        return _mask(text)
    from baselinekit.secrets.finding import covered

    return covered(text)


# What the terminal wants: colours or none, how wide, and text that any standard output can take.


_SCALAR = lazy_pattern(r'"(?P<text>(?:[^"\\]|\\.)*)"(?P<colon>\s*:)?|-?\d[\d.eE+-]*|true|false|null')


def style_of(color: str, verbose: bool = False) -> Style:
    from baselinekit.report.wording import Style  # whoever asks for it has a report to show

    width = shutil.get_terminal_size((100, 24)).columns
    if color != "auto":
        return Style(color == "always", width, verbose)
    if os.environ.get("NO_COLOR"):
        return Style(False, width, verbose)
    wanted = bool(os.environ.get("FORCE_COLOR")) or (
        sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    )
    return Style(wanted, width, verbose)


def can_ask() -> bool:
    """Whether somebody sits at both ends, who can be asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def show(text: str, err: bool = False) -> None:
    """Print, whatever the encoding of the stream: what it cannot hold is shown as an escape."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # closed by whoever started us
        return
    encoding = stream.encoding or "utf-8"
    safe = redact(text).encode(encoding, "backslashreplace").decode(encoding)
    try:
        click.echo(safe, nl=False, file=stream, color=True)
    except BrokenPipeError:
        raise entry.ReaderLeft from None
    except OSError as error:  # of what is said on the side nobody needs to hear
        entry.lose(stream, error, reported=not err)


def show_json(written: str) -> None:
    """Print JSON, so that it is still JSON whatever the encoding of standard output."""
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding or "utf-8"
    shown = json_text(_SCALAR.sub(_redacted, written))
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        shown = json_ascii(shown)
    show(shown)


def _redacted(scalar: re.Match[str]) -> str:
    """A scalar of a JSON text without secrets, and still one. A key is no whole value."""
    if scalar["text"] is None:
        return scalar[0] if redact(scalar[0]) == scalar[0] else '"***"'
    if scalar["colon"]:
        key = redact(f"{scalar['text']}:").removesuffix(":")
        return f'"{key}"{scalar["colon"]}'
    return f'"{redact(scalar["text"])}"'


def line(text: str = "", err: bool = False) -> None:
    show(text + "\n", err)


def next_commands(commands: Iterable[str]) -> None:
    """What to type next, a line each."""
    for command in commands:
        line(f"next: {safe_line(command)}")


def safe(text: str) -> str:
    """Text that may hold what came from outside."""
    return log(visible(text))


def safe_line(text: str) -> str:
    """As `safe`, and on one line: a name, say, of which nobody knows who gave it."""
    return log(one_line(text))
