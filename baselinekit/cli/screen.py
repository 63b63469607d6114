"""What the terminal wants: colours or none, how wide, and text that any standard output can take."""

import os
import shutil
import sys

import click

from baselinekit.escape import log, visible
from baselinekit.report.terminal import Style


def color_option(command: click.decorators.FC) -> click.decorators.FC:
    choice = click.Choice(["auto", "always", "never"])
    return click.option(
        "--color", type=choice, default="auto", show_default=True, help="When to use colours."
    )(command)


def style_of(color: str) -> Style:
    width = shutil.get_terminal_size((100, 24)).columns
    if color != "auto":
        return Style(color == "always", width)
    if os.environ.get("NO_COLOR"):
        return Style(False, width)
    wanted = bool(os.environ.get("FORCE_COLOR")) or (
        sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    )
    return Style(wanted, width)


def show(text: str, err: bool = False) -> None:
    """Print, whatever the encoding of the stream: what it cannot hold is shown as an escape."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # closed by whoever started us
        return
    encoding = stream.encoding or "utf-8"
    safe = text.encode(encoding, "backslashreplace").decode(encoding)
    click.echo(safe, nl=False, file=stream, color=True)


def line(text: str = "", err: bool = False) -> None:
    show(text + "\n", err)


def safe(text: str) -> str:
    """Text that may hold what came from outside."""
    return log(visible(text))
