"""`baselinekit explain CODE|ID`."""

from typing import Any

import click

from baselinekit.cli import options, options as completion, screen
from baselinekit.codes import explain as meaning_of
from baselinekit.errors import InvalidInput, Problem


@click.command(short_help="Say what an error code means, or how a baseline is compared.")
@click.argument("what", metavar="CODE|ID", shell_complete=completion.ids)
@options.project_options
def explain(what: str, **given: Any) -> None:
    """Say what an error code such as BK101 means and how to mend it.

    With the id of a baseline: what is asked, from where each rule's path starts, how each array is
    compared, and which values placeholders stand for.
    """
    code = meaning_of(what)
    if code is not None:
        screen.line(f"{what.upper()}: {code.title}\n\n{code.text}")
        return
    if what.upper().startswith("BK") and what[2:].isdigit():
        raise InvalidInput(
            Problem("BK508", f"there is no code {what}", "the codes stand at the start of messages")
        )
    from baselinekit.cli.clients import real_context
    from baselinekit.cli.models import UNASKED, RecordingOptions, with_models
    from baselinekit.workflow.doctor import portrait
    from baselinekit.workflow.loading import load
    from baselinekit.workflow.selection import Selection, select

    project = options.project_of(given)
    baseline = select(load(project, ()), Selection(ids=(what,)))[0]
    with real_context() as context:
        for line in portrait(
            project, baseline, with_models(context, project, RecordingOptions(offline=UNASKED)).clients
        ):
            screen.line(screen.safe_line(line))
