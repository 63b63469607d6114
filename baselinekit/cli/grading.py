"""What else is wanted of an answer, as it is typed after `capture prompt` and `capture skill`: grades for it,
and its calls of tools."""

import os
from collections.abc import Callable
from typing import Any

import click

from baselinekit.cli import options
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json
from baselinekit.workflow.project import Project


def scores_option(command: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--scores",
        metavar="RUBRIC",
        multiple=True,
        help="Have a model grade the answer: NAME=WHAT IS MEANT, again and again, or a FILE that says so.",
    )(click.option("--scored-by", metavar="MODEL", help="The model that grades; else `judge`.")(command))


def collect_option(*parts: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    return click.option(
        "--collect",
        type=click.Choice(parts),
        multiple=True,
        help="Store these, by their names, instead of the bare answer.",
    )


def graded(given: dict[str, Any], group: str, project: Project) -> dict[str, Json]:
    """The part of `execution:` that these options make."""
    wanted: dict[str, Json] = {}
    if given["collect"]:
        wanted["collect"] = list(dict.fromkeys(given["collect"]))
    if given["scores"]:
        wanted["scores"] = {"rubric": _rubric(given["scores"], group, project)}
        if given["scored_by"]:
            wanted["scores"]["model"] = given["scored_by"]
    elif given["scored_by"]:
        raise InvalidInput(Problem("BK508", "--scored-by grades nothing", "say by what: --scores RUBRIC"))
    return wanted


def _rubric(texts: tuple[str, ...], group: str, project: Project) -> Json:
    if len(texts) == 1 and os.path.isfile(os.path.join(project.cwd, texts[0])):
        return project.way_back(group, texts[0])
    if len(texts) == 1 and "=" not in texts[0]:
        mend = "name a file of criteria, or --scores 'clarity=Can a newcomer follow it?'"
        raise InvalidInput(Problem("BK508", f"there is no file {texts[0]!r}", mend))
    return options.pairs("--scores", texts, "NAME=WHAT IS MEANT")
