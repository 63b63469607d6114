"""What `refresh` and `review` share: which answers they are about, who approves, and what comes after."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from baselinekit.approval.planning import version_of
from baselinekit.approval.refresh import Wanted
from baselinekit.cli import screen
from baselinekit.cli.options import SelectionOptions, option, path_from_here, read_text
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.changes import Applied, RefreshPlan, Stamp
from baselinekit.report.next_commands import check_commands
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.project import Project
from baselinekit.workflow.selection import Selection

_MOST_NAMED = 3


@dataclass(frozen=True)
class StampOptions:
    """What is noted in the file of who approved it."""

    version: str | None = option(
        metavar="TEXT", help="The version of the target; the default is the output of git describe."
    )
    by: str | None = option(metavar="WHO", help="Record who approved it.")
    reason: str | None = option(metavar="TEXT", help="Note why.")

    def stamp(self, described: str | None) -> Stamp:
        """`described`: the version that git describes."""
        return Stamp(self.version or described, self.by, self.reason)


def parse_wanted(
    words: Sequence[str],
    chosen: SelectionOptions,
    everything: bool,
    results: str | None,
    replay: bool,
    jobs: int,
) -> Wanted:
    """What the words and the options say. `results`: the name of a result file."""
    if results is not None and replay:
        what = "--from and --replay cannot be combined"
        raise InvalidInput(Problem("BK508", what, "pass one"))
    selection = Selection(chosen.ids, chosen.tags, chosen.exclude_tags, chosen.expression)
    text = None
    if results is not None:
        text = (results, read_text("--from", results, "what compare -o results.json wrote"))
    return Wanted(words, selection, everything, text, replay, jobs)


def suggest_checks(
    project: Project, context: RunContext, applied: Applied, plans: Sequence[RefreshPlan]
) -> None:
    """Look at what was written, and see it pass."""
    if not applied.ids:
        return
    here = path_from_here(project)
    files = [here(rewritten.file) for rewritten in applied.files]
    shown = files if len(files) <= _MOST_NAMED else [os.path.commonpath(files) or "."]
    if version_of(project, context.clients) is not None:
        screen.next_commands([shlex.join(["git", "diff", *shown])])
    file_of = {plan.baseline.id: plan.baseline.source.file for plan in plans}
    written = [(id, file_of[id]) for id in applied.ids]
    screen.next_commands(check_commands(written, project.folders, project.eval_folders, place=here))
