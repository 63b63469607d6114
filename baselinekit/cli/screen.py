"""Output to the terminal: colours, width, encoding, and masked secrets."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import click

from baselinekit.cli import entry
from baselinekit.errors import Problem
from baselinekit.escape import escape_ci_commands, escape_controls, json_ascii, json_text, one_line
from baselinekit.lazy import lazy_pattern

if TYPE_CHECKING:
    from baselinekit.model.values import Json
    from baselinekit.report.wording import Style
    from baselinekit.values.texts import Mask

# Everything on standard output and error passes through here: declared secrets are masked.


_mask: Callable[[str], str] | None = None


def install(mask: Callable[[str], str]) -> None:
    """Set the function that masks secrets from now on."""
    global _mask
    _mask = mask


def redact(text: str) -> str:
    """The text with secrets masked."""
    if _mask is not None:
        return _mask(text)
    from baselinekit.secrets.finding import mask_secrets

    return mask_secrets(text)


# Colours, width, and text that any standard output can take.


COLOR = "baselinekit.color"
"""The key of `--color` in what click keeps of a command."""

_WIDTH = 100
_SCALAR = lazy_pattern(r'"(?P<text>(?:[^"\\]|\\.)*)"(?P<colon>\s*:)?|-?\d[\d.eE+-]*|true|false|null')


def chosen_color() -> str:
    """When to use colours, the value of `--color`: auto, always or never."""
    context = click.get_current_context(silent=True)
    return "auto" if context is None else str(context.meta.get(COLOR, "auto"))


def style_of(verbose: bool = False) -> Style:
    from baselinekit.report.wording import Style  # only needed to show a report

    color = chosen_color()
    is_terminal = sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    automatic = not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or is_terminal)
    with_color = automatic if color == "auto" else color == "always"
    return Style(with_color, shutil.get_terminal_size((_WIDTH, 24)).columns, verbose)


def can_ask() -> bool:
    """Whether input and output are a terminal, so that questions can be asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def show(text: str, err: bool = False) -> None:
    """Print in any encoding: characters that the stream cannot hold are shown as escapes."""
    show_unmasked(redact(text), err)


def show_unmasked(text: str, err: bool = False) -> None:
    """Print a text with a secret that is for the reader: the token of a link."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # closed by the parent process
        return
    encoding = stream.encoding or "utf-8"
    safe = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        click.echo(safe, nl=False, file=stream, color=True)
    except BrokenPipeError:
        raise entry.ReaderLeft from None
    except OSError as error:  # a failure of standard error is not reported
        entry.record_write_error(stream, error, reported=not err)


JSON_SHOWN = "baselinekit.json_shown"


def show_document(document: Json) -> None:
    show_json(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")


def problem_document(problem: Problem) -> dict[str, Json]:
    file, line, column = problem.place or (None, None, None)
    return {**problem.facts, "file": file, "line": line, "column": column}


def show_json(written: str) -> None:
    """Print JSON that is valid in any encoding of standard output."""
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding or "utf-8"
    mask = lru_cache(maxsize=1_000)(redact)  # keys and codes are the same in each row
    escaped = json_text(_SCALAR.sub(lambda scalar: _redact_scalar(scalar, mask), written))
    try:
        escaped.encode(encoding)
    except UnicodeEncodeError:
        escaped = json_ascii(escaped)
    show(escaped)
    if (context := click.get_current_context(silent=True)) is not None:
        context.meta[JSON_SHOWN] = True


def _redact_scalar(scalar: re.Match[str], mask: Mask) -> str:
    """Mask secrets in a scalar of a JSON text, keeping it valid. A key is not masked as a whole value."""
    if scalar["text"] is None:
        return scalar[0] if mask(scalar[0]) == scalar[0] else '"***"'
    if scalar["colon"]:
        key = mask(f"{scalar['text']}:").removesuffix(":")
        return f'"{key}"{scalar["colon"]}'
    return f'"{mask(scalar["text"])}"'


def line(text: str = "", err: bool = False) -> None:
    show(text + "\n", err)


def say(*texts: object, err: bool = False) -> None:
    """Print each text as a line, whatever is in it: names, for example, may come from anywhere."""
    for text in texts:
        line(safe_line(str(text)), err)


def complain(*problems: object) -> None:
    """Print what went wrong on standard error."""
    for problem in problems:
        line(safe(str(problem)), err=True)


def next_commands(commands: Iterable[str]) -> None:
    """Print the commands to type next, a line each."""
    say(*(f"next: {command}" for command in commands))


class Output:
    """What a command prints: lines for people or, with `--json`, one document; with `--quiet` no lines."""

    def __init__(self, as_json: bool = False, quiet: bool = False):
        self.as_json, self.is_silent = as_json, as_json or quiet

    def say(self, *texts: object) -> None:
        if not self.is_silent:
            say(*texts)

    def show(self, text: str) -> None:
        if not self.is_silent:
            show(text)

    def next_commands(self, commands: Iterable[str]) -> None:
        if not self.is_silent:
            next_commands(commands)

    def document(self, document: Json) -> None:
        if self.as_json:
            show_document(document)


def safe(text: str) -> str:
    """Escape text that may come from outside."""
    return escape_ci_commands(escape_controls(text))


def safe_line(text: str) -> str:
    """As `safe`, and on one line: for names, for example, which may come from anywhere."""
    return escape_ci_commands(one_line(text))
