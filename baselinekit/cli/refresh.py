"""`baselinekit refresh`."""

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import click

from baselinekit.approval.approving import Permit, apply, forbidden, preview, version_of
from baselinekit.approval.refresh import accepted_by, propose
from baselinekit.cli import models, options, options as completion, pending_options, screen
from baselinekit.cli.clients import real_context
from baselinekit.cli.progress import show_progress
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.model.changes import Applied, Approval, RefreshProposal, Stamp
from baselinekit.model.results import Outcome
from baselinekit.model.values import Json
from baselinekit.report.refreshing import count_changes, format_file_diff, format_refresh, format_refresh_json
from baselinekit.report.style import Style
from baselinekit.texts import many
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.masking import proposal_shown
from baselinekit.workflow.project import Project

_NOTHING_KEPT = "BK530"
_COULD_NOT = 3
_MOST_NAMED = 4
_MOST_TOLD = 20


@click.command(short_help="Take what a failing compare saw into the baseline.")
@click.argument("words", nargs=-1, metavar="[ID|PATH]...", shell_complete=completion.ids)
@click.option("--all-failed", is_flag=True, help="All of which an answer is kept.")
@pending_options.selecting
@click.option("--path", "paths", metavar="PATH", multiple=True, help="Accept only what changes there.")
@click.option(
    "--from", "results", metavar="RESULTS", help="Take what a CI job saw: its results.json; - reads it."
)
@click.option("--replay", is_flag=True, help="Ask the targets again.")
@click.option("--dry-run", is_flag=True, help="Show the files as they would be, and write nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--allow-high-risk", is_flag=True, help="Also keys that go away and values of another type.")
@click.option("--drop-placeholders", is_flag=True, help="Also where a placeholder would be lost.")
@click.option("--version", metavar="TEXT", help="The version of what answered; else what git describes.")
@click.option("--by", metavar="WHO", help="Note who approved it.")
@click.option("--reason", metavar="TEXT", help="Note why.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 512), default=8, show_default=True, help="With --replay: at once."
)
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON; writes only with --yes.")
@click.option("-v", "--verbose", is_flag=True, help="Every change of every baseline.")
@models.model_options
@options.project_options
@screen.color_option
def refresh(words: tuple[str, ...], color: str, **given: Any) -> int:
    """Make what a failing compare saw the known-good output of the baselines that ID or PATH names.

    Nothing is asked again: what is approved is what was seen. Only what differs is rewritten; what still
    matches keeps its placeholders, and the file its comments.

    \b
    baselinekit refresh users --dry-run
    baselinekit refresh users --path body.users[0].name
    baselinekit refresh --all-failed --yes --by ada --reason "new names since 2.4"
    baselinekit refresh --from results.json

    \b
    Exit code: 0 done, 2 usage or an invalid file, 3 something could not be refreshed,
    5 there is nothing to refresh.
    """
    wanted, asking = pending_options.wanted_of(words, given, given["all_failed"]), models.kept(given)
    project = options.project_of(given)
    bar = ExitStack()
    with real_context(None if given["as_json"] else _progress(bar, color)) as context:
        context = models.with_models(context, project, asking) if wanted.replay else context
        with bar:
            proposal = propose(project, wanted, context)
        accepted = accepted_by(proposal.plans, given["paths"])
        told = _Telling(project, context, given, screen.style_of(color), proposal, accepted)
        return told.run()


def _progress(bar: ExitStack, color: str) -> Callable[[int], Callable[[Outcome], None]]:
    def begin(total: int) -> Callable[[Outcome], None]:
        return bar.enter_context(show_progress(total, sys.stderr, "asking", color))

    return begin


@dataclass(slots=True)
class _Telling:
    """One refresh, as its user sees it: what would change, the question, what was done, what comes next."""

    project: Project
    context: RunContext
    given: dict[str, Any]
    style: Style
    proposal: RefreshProposal
    accepted: list[frozenset[int]]
    held: dict[str, Problem] = field(default_factory=dict)

    def run(self) -> int:
        given = self.given
        approvals = self._approvals()
        stamp = Stamp(
            given["version"] or version_of(self.project, self.context.clients), given["by"], given["reason"]
        )
        if given["as_json"]:
            applied = apply(self.project, approvals, stamp) if given["yes"] and not given["dry_run"] else None
            self._print_json(applied)
            return self._code(applied)
        shown = proposal_shown(self.proposal, self.project.redactor)
        screen.show(format_refresh(shown, self.accepted, self.style, given["verbose"]))
        if given["dry_run"] or given["results"] is not None:
            for rewritten in preview(self.project, approvals, stamp):
                screen.show(format_file_diff(rewritten, self.style) + "\n")
        self._tell_held()
        if not approvals:
            self._tell_nothing()
            return self._code(None)
        if given["dry_run"]:
            screen.line(f"{self._counted(approvals)}; nothing was written")
            for command in self._after_a_look(approvals):
                screen.line(f"next: {command}")
            return self._code(None)
        if not given["yes"] and not self._may(approvals):
            return self._code(None)
        applied = apply(self.project, approvals, stamp)
        self._tell_done(applied)
        return self._code(applied)

    def _approvals(self) -> list[Approval]:
        """What may be written; what may not is held back, with the reason. Who can be asked is asked about
        the risk, but a placeholder is never lost by a mere yes."""
        given = self.given
        permit = Permit(
            given["allow_high_risk"] or given["dry_run"] or (self._can_ask() and not given["yes"]),
            given["drop_placeholders"] or given["dry_run"],
        )
        approvals = []
        for plan, few in zip(self.proposal.plans, self.accepted, strict=True):
            why = forbidden(plan, few, permit)
            if why is not None:
                self.held[plan.baseline.id] = why
            elif few:
                approvals.append(Approval(plan, few))
            if given["dry_run"] and why is None:
                flagged = forbidden(plan, few, Permit(given["allow_high_risk"], given["drop_placeholders"]))
                if flagged is not None:
                    self.held[plan.baseline.id] = flagged
        return approvals

    def _can_ask(self) -> bool:
        return screen.can_ask() and not self.given["as_json"]

    def _may(self, approvals: Sequence[Approval]) -> bool:
        if not self._can_ask():
            what = f"{self._counted(approvals)}; nothing was written: there is no terminal to ask in"
            raise InvalidInput(Problem("BK508", what, f"{self._again('--yes')} (or --dry-run)"))
        risky = sum(
            change.risk == "high" and change.number in one.accepted
            for one in approvals
            for change in one.plan.changes
        )
        more = f" ({risky} of high risk)" if risky else ""
        number = sum(len(one.accepted) for one in approvals)
        question = f"apply {many(number, 'change')} to {many(len(approvals), 'baseline')}?{more} [y/N] "
        screen.show(question)
        answer = sys.stdin.readline().strip().lower()
        if answer in ("y", "yes"):
            return True
        screen.line("nothing was written")
        return False

    def _tell_held(self) -> None:
        self._complain([refusal.problem for refusal in self.proposal.refusals])
        files = {plan.baseline.id: plan.baseline.source.file for plan in self.proposal.plans}
        self._complain([problem.placed(Place(files[id])) for id, problem in self.held.items()])
        if self.proposal.passing:
            screen.line(f"{many(len(self.proposal.passing), 'baseline')} as on file already")

    def _tell_nothing(self) -> None:
        """All of it needs a word of its own: one by one a review asks for it."""
        if not self.held:
            return
        screen.line("nothing was written")
        if not self.given["replay"] and self.given["results"] is None:
            for command in self._after_a_look(()):
                screen.line(f"next: {command}")

    def _tell_done(self, applied: Applied) -> None:
        self._complain(applied.failures)
        if not applied.ids:
            return
        screen.line(f"refreshed {many(len(applied.ids), 'baseline')} in {many(len(applied.files), 'file')}")
        for command in pending_options.next_commands(
            self.project, self.context, applied, self.proposal.plans
        ):
            screen.line(f"next: {screen.safe_line(command)}")

    def _counted(self, approvals: Sequence[Approval]) -> str:
        return count_changes([one.plan for one in approvals], [one.accepted for one in approvals])

    def _after_a_look(self, approvals: Sequence[Approval]) -> list[str]:
        """The same with `--yes` where that does something; what needs more is asked about by a review."""
        commands = []
        if any(one.plan.baseline.id not in self.held for one in approvals):
            commands.append(self._again("--yes"))
        if self.held and not self.given["replay"] and self.given["results"] is None:
            named = list(self.held) if len(self.held) <= _MOST_NAMED else []
            commands.append(screen.safe_line(shlex.join(["baselinekit", "review", *named])))
        return commands or [self._again()]

    def _again(self, *more: str) -> str:
        """The same command, with more words."""
        words = [word for word in sys.argv[1:] if word not in ("--dry-run", "--json")]
        return screen.safe_line(shlex.join(["baselinekit", *words, *more]))

    def _print_json(self, applied: Applied | None) -> None:
        why: dict[str, Json] = {id: str(problem) for id, problem in self.held.items()}
        shown = proposal_shown(self.proposal, self.project.redactor)
        done = applied.ids if applied else ()
        screen.show_json(format_refresh_json(shown, self.accepted, done, why))
        self._complain(applied.failures if applied else ())

    def _complain(self, problems: Sequence[Problem]) -> None:
        for problem in problems[:_MOST_TOLD]:
            screen.line(screen.safe(str(problem)), err=True)
        if len(problems) > _MOST_TOLD:
            screen.line(f"… and {len(problems) - _MOST_TOLD:,} more like these", err=True)

    def _code(self, applied: Applied | None) -> int:
        refusals = self.proposal.refusals
        if not self.proposal.plans and refusals and all(r.problem.code == _NOTHING_KEPT for r in refusals):
            return 5
        only_looks = self.given["dry_run"] or (self.given["as_json"] and not self.given["yes"])
        held = {} if only_looks else self.held
        failed = applied is not None and applied.failures
        return _COULD_NOT if refusals or held or failed else 0
