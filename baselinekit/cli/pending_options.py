"""What `refresh` and `review` are about: the answers that failing compares have kept, and what comes after
one of them was taken into a baseline."""

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from baselinekit.approval.approving import version_of
from baselinekit.approval.refresh import Wanted
from baselinekit.cli import options
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.changes import Applied, RefreshPlan
from baselinekit.report import wording
from baselinekit.store.files import MAX_OUTPUT_BYTES
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.project import Project
from baselinekit.workflow.selection import Selection

Command = TypeVar("Command", bound=Callable[..., Any])

_MOST_NAMED = 3


def selecting(command: Command) -> Command:
    """Which of them."""
    for option in reversed(
        [
            click.option(
                "-k", "expression", metavar="EXPR", help='Words of id, name or tag: "users and not slow".'
            ),
            click.option(
                "--id",
                "ids",
                metavar="GLOB",
                multiple=True,
                shell_complete=options.ids,
                help="Only these ids.",
            ),
            click.option(
                "--tag",
                "tags",
                multiple=True,
                shell_complete=options.tags,
                help="Only with one of these tags.",
            ),
            click.option("--exclude-tag", "exclude_tags", multiple=True, help="Without these tags."),
        ]
    ):
        command = option(command)
    return command


def wanted_of(words: tuple[str, ...], given: dict[str, Any], everything: bool) -> Wanted:
    """What the words and the options say."""
    if given["results"] is not None and given["replay"]:
        raise InvalidInput(
            Problem("BK508", "--from and --replay are two answers to one question", "pass one")
        )
    selection = Selection(given["ids"], given["tags"], given["exclude_tags"], given["expression"])
    name = given["results"]
    results = (
        None if name is None else (name, read_text("--from", name, "what compare -o results.json wrote"))
    )
    return Wanted(words, selection, everything, results, given["replay"], given["jobs"])


def read_text(option: str, name: str, what_it_is: str) -> str:
    """A file that the operator named, wherever it is; `-` is standard input."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_OUTPUT_BYTES + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(MAX_OUTPUT_BYTES + 1)
        if len(data) > MAX_OUTPUT_BYTES:
            what = f"{option} {name} is larger than {MAX_OUTPUT_BYTES:,} bytes"
            raise InvalidInput(Problem("BK106", what, "write one with fewer baselines in it"))
        return data.decode("utf-8-sig")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        what = f"{option} {name} cannot be read: {why}"
        raise InvalidInput(Problem("BK111", what, "check the name")) from None
    except UnicodeDecodeError:
        what = f"{option} {name} is no text in UTF-8"
        raise InvalidInput(Problem("BK101", what, f"name {what_it_is}")) from None


def checking(project: Project, written: Sequence[tuple[str, str]], more: Sequence[str] = ()) -> list[str]:
    """The commands that see what was written pass, by ids and files."""
    return wording.checking(written, project.folders, project.eval_folders, more, _from_here(project))


def _from_here(project: Project) -> Callable[[str], str]:
    return lambda file: os.path.normpath(os.path.join(os.path.relpath(project.root), file))


def next_commands(
    project: Project, context: RunContext, applied: Applied, plans: Sequence[RefreshPlan]
) -> list[str]:
    """To look at what was written, and to see it pass."""
    if not applied.ids:
        return []
    files = [_from_here(project)(rewritten.file) for rewritten in applied.files]
    shown: Sequence[str] = files if len(files) <= _MOST_NAMED else [os.path.commonpath(files) or "."]
    of = {plan.baseline.id: plan.baseline.source.file for plan in plans}
    has_git = version_of(project, context.clients) is not None
    seen = checking(project, [(id, of[id]) for id in applied.ids])
    return [*([shlex.join(["git", "diff", *shown])] if has_git else []), *seen]
