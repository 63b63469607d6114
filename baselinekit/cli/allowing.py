"""capture --allow: the configuration names the hosts of new baselines, or it is said what CI would refuse."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from baselinekit.cli import screen
from baselinekit.model.recipes import Recipe
from baselinekit.replay.http import addresses_soon
from baselinekit.store.naming import name_origin
from baselinekit.workflow import naming
from baselinekit.workflow.project import Project


def origins(project: Project, recipes: Sequence[Recipe]) -> list[str]:
    """What is not named yet of where they go."""
    return naming.unnamed(project, recipes, addresses_soon)


def offer(project: Project, recipes: Sequence[Recipe], given: dict[str, Any]) -> None:
    """Name them where the operator says so, now or at the terminal; else say how."""
    for where in origins(project, recipes):
        if given["allow"] or _is_wanted(where, given):
            written = name_origin(project.root, project.config_file, where)
            if not (given["quiet"] or given["as_json"]):
                screen.line(screen.safe_line(f"wrote {written}: CI asks it too"))
        elif not (given["quiet"] or given["as_json"]):
            what = f"note: in CI {where} is asked only where baselinekit.yaml names it"
            how = f"`variables: {{internal_url: {where}}}`"
            screen.line(screen.safe_line(f"{what}: capture --allow writes that, such as {how}"))


def _is_wanted(where: str, given: dict[str, Any]) -> bool:
    """One key, where somebody is there to press it."""
    if given["quiet"] or given["as_json"] or not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return click.confirm(
        screen.safe_line(f"in CI {where} has to be named in baselinekit.yaml: do that now?"), default=True
    )
