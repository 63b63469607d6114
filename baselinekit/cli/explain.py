"""`baselinekit explain CODE|ID`."""

from dataclasses import dataclass

import click

from baselinekit.cli import screen
from baselinekit.cli.options import (
    ProjectOptions,
    argument,
    complete_ids,
    including,
    project_of,
    takes,
)
from baselinekit.codes import explain as meaning_of
from baselinekit.errors import InvalidInput, Problem


@dataclass(frozen=True)
class ExplainOptions:
    what: str = argument(metavar="CODE|ID", shell_complete=complete_ids)
    project: ProjectOptions = including(ProjectOptions)


@click.command(short_help="Say what an error code means, or how a baseline is compared.")
@takes(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    """Say what an error code such as BK101 means and how to fix it.

    With the id of a baseline: what is requested, where the path of each rule starts, how each array is
    compared, and which values the placeholders accept.
    """
    what = options.what
    code = meaning_of(what)
    if code is not None:
        screen.line(f"{what.upper()}: {code.title}\n\n{code.text}")
        return
    if what.upper().startswith("BK") and what[2:].isdigit():
        hint = "codes are at the start of messages"
        raise InvalidInput(Problem("BK508", f"there is no code {what}", hint))
    from baselinekit.cli.clients import real_context
    from baselinekit.cli.models import with_models
    from baselinekit.workflow.doctor import describe_baseline
    from baselinekit.workflow.selection import Selection, load, select

    project = project_of(options.project)
    baseline = select(load(project, ()), Selection(ids=(what,)))[0]
    with real_context() as context:
        for line in describe_baseline(project, baseline, with_models(context, project).clients):
            screen.line(screen.safe_line(line))
