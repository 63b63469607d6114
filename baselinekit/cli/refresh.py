"""`baselinekit refresh`."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import click

from baselinekit.approval.planning import Permit, apply, forbidden, preview, version_of
from baselinekit.approval.refresh import accepted_by, propose
from baselinekit.cli import screen
from baselinekit.cli.approving import StampOptions, parse_wanted, suggest_checks
from baselinekit.cli.clients import real_context, with_progress
from baselinekit.cli.models import with_models
from baselinekit.cli.options import (
    ProjectOptions,
    RecordingOptions,
    SelectionOptions,
    argument,
    color_option,
    complete_ids,
    including,
    jobs_option,
    option,
    project_of,
    takes,
)
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.model.changes import Applied, Approval, RefreshProposal
from baselinekit.model.values import Json
from baselinekit.report.refreshing import count_changes, format_file_diff, format_refresh, format_refresh_json
from baselinekit.report.style import Style
from baselinekit.texts import many
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.history import mask_proposal
from baselinekit.workflow.project import Project

_NOTHING_KEPT = "BK530"
_COULD_NOT = 3
_MOST_NAMED = 4
_MOST_TOLD = 20


@dataclass(frozen=True)
class RefreshOptions:
    words: tuple[str, ...] = argument(nargs=-1, metavar="[ID|PATH]...", shell_complete=complete_ids)
    all_failed: bool = option(is_flag=True, help="All baselines of which an answer is kept.")
    selection: SelectionOptions = including(SelectionOptions)
    paths: tuple[str, ...] = option(
        "--path", metavar="PATH", multiple=True, help="Accept only what changes there."
    )
    results: str | None = option(
        "--from",
        metavar="RESULTS",
        help="Accept the answers of a CI job: its results.json; - reads standard input.",
    )
    replay: bool = option(is_flag=True, help="Send the requests again.")
    dry_run: bool = option(is_flag=True, help="Show the files as they would become, and write nothing.")
    yes: bool = option("-y", "--yes", is_flag=True, help="Do not ask.")
    allow_high_risk: bool = option(is_flag=True, help="Also accept removed keys and values of another type.")
    drop_placeholders: bool = option(is_flag=True, help="Also accept changes that lose a placeholder.")
    approved: StampOptions = including(StampOptions)
    jobs: int = jobs_option("With --replay: how many at once.", 8)
    as_json: bool = option("--json", is_flag=True, help="Print the changes as JSON; writes only with --yes.")
    verbose: bool = option("-v", "--verbose", is_flag=True, help="Show every change of every baseline.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()

    @property
    def is_of_pending(self) -> bool:
        """Whether it is about answers that compares here have kept: those a review is about as well."""
        return not self.replay and self.results is None


@click.command(short_help="Accept the new output of a failing compare.")
@takes(RefreshOptions)
def refresh(options: RefreshOptions) -> int:
    """Accept the outputs that a failing compare received as the new known-good outputs of the baselines
    that ID or PATH names.

    No request is sent: the outputs of that compare are used. Only what differs is rewritten; what still
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
    wanted = parse_wanted(
        options.words, options.selection, options.all_failed, options.results, options.replay, options.jobs
    )
    project = project_of(options.project)
    with real_context() as context:
        context = with_models(context, project, options.recording) if wanted.replay else context
        with with_progress(context, "" if options.as_json else "asking", options.color) as asking:
            proposal = propose(project, wanted, asking)
        accepted = accepted_by(proposal.plans, options.paths)
        style = screen.style_of(options.color, options.verbose)
        return _Refresh(project, context, options, style, proposal, accepted).run()


@dataclass(slots=True)
class _Refresh:
    """One refresh, as its user sees it: what would change, the question, what was done, what comes next."""

    project: Project
    context: RunContext
    options: RefreshOptions
    style: Style
    proposal: RefreshProposal
    accepted: list[frozenset[int]]
    held: dict[str, Problem] = field(default_factory=dict)

    def run(self) -> int:
        options = self.options
        approvals = self._approvals()
        stamp = options.approved.stamp(version_of(self.project, self.context.clients))
        if options.as_json:
            applied = apply(self.project, approvals, stamp) if options.yes and not options.dry_run else None
            self._print_json(applied)
            return self._code(applied)
        shown = mask_proposal(self.proposal, self.project.redactor)
        screen.show(format_refresh(shown, self.accepted, self.style))
        if options.dry_run or options.results is not None:
            for rewritten in preview(self.project, approvals, stamp):
                screen.show(format_file_diff(rewritten, self.style) + "\n")
        self._tell_held()
        if not approvals:
            self._tell_nothing()
            return self._code(None)
        if options.dry_run:
            screen.line(f"{self._counted(approvals)}; nothing was written")
            screen.next_commands(self._after_a_look(approvals))
            return self._code(None)
        if not options.yes and not self._may(approvals):
            return self._code(None)
        applied = apply(self.project, approvals, stamp)
        self._tell_done(applied)
        return self._code(applied)

    def _approvals(self) -> list[Approval]:
        """What may be written; what may not is held back, with the reason. Who can be asked is asked about
        the risk, but a placeholder is never lost by a mere yes."""
        options = self.options
        permit = Permit(
            options.allow_high_risk or options.dry_run or (self._can_ask() and not options.yes),
            options.drop_placeholders or options.dry_run,
        )
        approvals = []
        for plan, few in zip(self.proposal.plans, self.accepted, strict=True):
            why = forbidden(plan, few, permit)
            if why is not None:
                self.held[plan.baseline.id] = why
            elif few:
                approvals.append(Approval(plan, few))
            if options.dry_run and why is None:
                flagged = forbidden(plan, few, Permit(options.allow_high_risk, options.drop_placeholders))
                if flagged is not None:
                    self.held[plan.baseline.id] = flagged
        return approvals

    def _can_ask(self) -> bool:
        return screen.can_ask() and not self.options.as_json

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
            screen.line(f"{many(len(self.proposal.passing), 'baseline')} already as in the file")

    def _tell_nothing(self) -> None:
        """All of it needs a word of its own: one by one a review asks for it."""
        if not self.held:
            return
        screen.line("nothing was written")
        if self.options.is_of_pending:
            screen.next_commands(self._after_a_look(()))

    def _tell_done(self, applied: Applied) -> None:
        self._complain(applied.failures)
        if not applied.ids:
            return
        screen.line(f"refreshed {many(len(applied.ids), 'baseline')} in {many(len(applied.files), 'file')}")
        suggest_checks(self.project, self.context, applied, self.proposal.plans)

    def _counted(self, approvals: Sequence[Approval]) -> str:
        return count_changes([one.plan for one in approvals], [one.accepted for one in approvals])

    def _after_a_look(self, approvals: Sequence[Approval]) -> list[str]:
        """The same with `--yes` where that does something; what needs more is asked about by a review."""
        commands = []
        if any(one.plan.baseline.id not in self.held for one in approvals):
            commands.append(self._again("--yes"))
        if self.held and self.options.is_of_pending:
            named = list(self.held) if len(self.held) <= _MOST_NAMED else []
            commands.append(screen.safe_line(shlex.join(["baselinekit", "review", *named])))
        return commands or [self._again()]

    def _again(self, *more: str) -> str:
        """The same command, with more words."""
        words = [word for word in sys.argv[1:] if word not in ("--dry-run", "--json")]
        return screen.safe_line(shlex.join(["baselinekit", *words, *more]))

    def _print_json(self, applied: Applied | None) -> None:
        why: dict[str, Json] = {id: str(problem) for id, problem in self.held.items()}
        shown = mask_proposal(self.proposal, self.project.redactor)
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
        only_looks = self.options.dry_run or (self.options.as_json and not self.options.yes)
        held = {} if only_looks else self.held
        failed = applied is not None and applied.failures
        return _COULD_NOT if refusals or held or failed else 0
