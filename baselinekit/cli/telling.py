"""Whoever the configuration names under `notify:` is told, when a command is done."""

import os
from collections.abc import Sequence

from baselinekit.cli import screen
from baselinekit.cli.doors import real_way
from baselinekit.evals import notifying
from baselinekit.model.gates import Judged
from baselinekit.model.results import Report
from baselinekit.workflow.project import Project


def tell(
    project: Project,
    report: Report,
    exit_code: int,
    judged: Sequence[Judged] = (),
    by_suite: bool | None = None,
) -> None:
    """What could not be told is a warning: the run is what it is. `by_suite`: what the suite says of it."""
    if not notifying.is_wanted(project, exit_code, by_suite):
        return
    told = notifying.notice(report, exit_code, judged, notifying.link_of(os.environ))
    with real_way() as way:
        warning = notifying.notify(project, told, way.doors)
    if warning:
        screen.line(f"warning {screen.safe_line(warning)}", err=True)
