"""`baselinekit review`."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from baselinekit.approval import review as reviewing
from baselinekit.approval.planning import Permit, version_of
from baselinekit.approval.refresh import accepted_by, propose
from baselinekit.approval.review import decisions_in, undecided
from baselinekit.cli import screen
from baselinekit.cli.approving import StampOptions, parse_wanted, suggest_checks
from baselinekit.cli.clients import real_context
from baselinekit.cli.keys import AGAIN, REDRAW, Region, keyboard
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
    read_text,
    takes,
)
from baselinekit.errors import NothingSelected, Problem
from baselinekit.model.changes import Decision, Member, RefreshProposal
from baselinekit.refresh.reviewing import Review
from baselinekit.report.refreshing import format_file_diff
from baselinekit.report.reviewing import (
    count_decisions,
    describe_decision,
    format_decisions_json,
    format_pending,
    format_screen,
)
from baselinekit.report.style import Style
from baselinekit.texts import many
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.project import Project

_NOTHING_KEPT = "BK530"
_PENDING = 3
_INTERRUPTED = 130
_MOST_DIFFS = 20
_MOST_NAMED = 10


@dataclass(frozen=True)
class ReviewOptions:
    words: tuple[str, ...] = argument(nargs=-1, metavar="[ID|PATH]...", shell_complete=complete_ids)
    selection: SelectionOptions = including(SelectionOptions)
    paths: tuple[str, ...] = option("--path", metavar="PATH", multiple=True, help="Only what changes there.")
    results: str | None = option(
        "--from", metavar="RESULTS", help="The answers of a CI job: its results.json; - reads standard input."
    )
    replay: bool = option(is_flag=True, help="Send the requests again.")
    as_json: bool = option("--json", is_flag=True, help="Print everything pending as JSON, and ask nothing.")
    decide: str | None = option(
        metavar="FILE", help="Read the decisions from a JSON file; - is standard input."
    )
    dry_run: bool = option(is_flag=True, help="With --decide: show the files as they would become.")
    allow_high_risk: bool = option(is_flag=True, help="With --decide: also accept changes of high risk.")
    drop_placeholders: bool = option(is_flag=True, help="With --decide: also accept losing a placeholder.")
    approved: StampOptions = including(StampOptions)
    jobs: int = jobs_option("With --replay: how many at once.", 8)
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()


@click.command(short_help="Accept or reject changes one at a time.")
@takes(ReviewOptions)
def review(options: ReviewOptions) -> int:
    """Go through the changes that failing compares found, and decide each with one key: accept, reject, skip,
    put a placeholder there, ignore the path. Nothing is written before the end.

    Without a terminal it prints what is pending, and the commands to decide it.

    \b
    baselinekit review                          everything that is pending
    baselinekit review users --path body.name   a part of it
    baselinekit review --json                   for editors and agents
    baselinekit review --decide decisions.json

    \b
    Exit code: 0 nothing is pending any more, 2 usage or an invalid file, 3 something still is,
    5 nothing was selected, 130 interrupted: nothing was written.
    """
    wanted = parse_wanted(
        options.words, options.selection, True, options.results, options.replay, options.jobs
    )
    project = project_of(options.project)
    with real_context() as context:
        context = with_models(context, project, options.recording) if wanted.replay else context
        try:
            proposal = propose(project, wanted, context)
        except NothingSelected as nothing:
            if options.words or nothing.problems[0].code != _NOTHING_KEPT:
                raise
            proposal = RefreshProposal(())
        proposal = _only_at(proposal, options.paths)
        return _Session(project, context, options, screen.style_of(options.color), proposal).run()


def _only_at(proposal: RefreshProposal, paths: Sequence[str]) -> RefreshProposal:
    """Without the questions about other paths."""
    if not paths:
        return proposal
    meant = accepted_by(proposal.plans, paths)
    groups = [
        replace(group, members=tuple((n, number) for n, number in group.members if number in meant[n]))
        for group in proposal.groups
    ]
    return replace(proposal, groups=tuple(group for group in groups if group.members))


@dataclass(slots=True)
class _Session:
    """One review, as its user sees it."""

    project: Project
    context: RunContext
    options: ReviewOptions
    style: Style
    proposal: RefreshProposal

    def run(self) -> int:
        if self.options.decide is not None:
            return self._from_file(self.options.decide)
        if self.options.as_json:
            screen.show_json(reviewing.as_json(self.project, self.proposal))
        elif not self.proposal.groups or not screen.can_ask():
            screen.show(format_pending(reviewing.shown(self.project, self.proposal), self.style))
            self._tell_refused()
        else:
            self._tell_refused()
            return self._ask()
        return _PENDING if self.proposal.plans or self.proposal.refusals else 0

    def _ask(self) -> int:
        """Keys in, screens out, until all is decided or somebody leaves."""
        review, region = reviewing.begin(self.project, self.proposal), Region()
        try:
            with keyboard() as keys:
                while not review.ended:
                    scene = review.scene
                    size = shutil.get_terminal_size((80, 24))
                    style = replace(self.style, width=size.columns)
                    if scene.dialog is not None and scene.dialog.keys:
                        keys.forget()
                    region.draw(format_screen(scene, style, size.lines))
                    key = keys.key()
                    if key == "d" and scene.members and scene.dialog is None:
                        region.say(self._diff(review, style))
                    elif key == AGAIN:
                        region.leave()
                    elif key != REDRAW:
                        self._press(review, key, region, style)
                region.say()
        except (KeyboardInterrupt, EOFError):
            region.say("\n")
            screen.line("interrupted: nothing was written, and everything is still pending", err=True)
            return _INTERRUPTED
        if review.ended != "write":
            screen.line("nothing was written, and everything is still pending")
            return _PENDING
        return self._finish(review.ledger.decided)

    def _press(self, review: Review, key: str, region: Region, style: Style) -> None:
        """What a key decided is said in a line that stays."""
        steps = len(review.ledger.steps)
        review.press(key)
        if len(review.ledger.steps) > steps and review.ledger.last:
            by_verb: dict[Decision, list[Member]] = {}
            for member in review.ledger.last:
                by_verb.setdefault(review.ledger.decided[member], []).append(member)
            for decision, members in by_verb.items():
                told = [(review.shown[n], review.shown[n].changes[number]) for n, number in members]
                region.say(describe_decision(told, decision, style) + "\n")
        elif len(review.ledger.steps) < steps:
            region.say(style.paint("undone", "dim") + "\n")

    def _diff(self, review: Review, style: Style) -> str:
        """The files as they would be with this change, and with what was decided of them before."""
        members = review.ledger.in_sight[:_MOST_DIFFS]
        plans = {n for n, _ in members}
        decided = {member: one for member, one in review.ledger.decided.items() if member[0] in plans}
        wanted = {**decided, **dict.fromkeys(members, Decision("accept"))}
        files = reviewing.preview_decisions(
            self.project, self.proposal.plans, wanted, self.options.approved.stamp(None)
        )
        shown = "\n".join(format_file_diff(one, style) for one in files)
        more = len(review.ledger.in_sight) - len(members)
        rest = f"… and {more:,} more\n" if more else ""
        return f"\n{shown or 'no file would change'}\n{rest}" if shown else "no file would change\n"

    def _from_file(self, name: str) -> int:
        text = read_text("--decide", name, "a file with decisions in JSON")
        permit = Permit(self.options.allow_high_risk, self.options.drop_placeholders)
        knows = reviewing.Knows(self.project)
        decided = decisions_in(
            text, "standard input" if name == "-" else name, self.proposal.plans, knows, permit
        )
        if self.options.dry_run:
            reviewing.shown(self.project, self.proposal)  # what is no secret where it stands stays in sight
            for one in reviewing.preview_decisions(
                self.project, self.proposal.plans, decided, self.options.approved.stamp(None)
            ):
                screen.show(format_file_diff(one, self.style) + "\n")
            screen.line("nothing was written")
            return 0
        return self._finish(decided)

    def _finish(self, decided: dict[Member, Decision]) -> int:
        """Write it down, and say what became of everything."""
        version = version_of(self.project, self.context.clients)
        applied = reviewing.finish(
            self.project, self.proposal.plans, decided, self.options.approved.stamp(version)
        )
        left = list(undecided(self.proposal.plans, decided))
        counts = reviewing.count_verbs(decided)
        failures = applied.failures
        if self.options.as_json:
            screen.show_json(format_decisions_json(self.proposal, applied, counts, left))
        else:
            screen.line(count_decisions(counts, len(left), self.style))
            for one in applied.files[:_MOST_NAMED]:
                screen.line(f"wrote {screen.safe_line(one.file)}")
            if len(applied.files) > _MOST_NAMED:
                more = len(applied.files) - _MOST_NAMED
                screen.line(f"… and {many(more, 'more file')}")
        self._complain(failures)
        self._tell_refused()
        if not self.options.as_json:
            suggest_checks(self.project, self.context, applied, self.proposal.plans)
        return _PENDING if left or failures or self.proposal.refusals else 0

    def _tell_refused(self) -> None:
        self._complain([refusal.problem for refusal in self.proposal.refusals])

    def _complain(self, problems: Sequence[Problem]) -> None:
        for problem in problems:
            screen.line(screen.safe(str(problem)), err=True)
