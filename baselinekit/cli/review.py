"""`baselinekit review`: decide about each pending change."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from baselinekit.changes.reviewing import Review, count_verbs, settle_plans
from baselinekit.cli import screen
from baselinekit.cli.clients import real_context, with_models
from baselinekit.cli.entry import INTERRUPTED
from baselinekit.cli.keys import Keyboard, Region, run_session
from baselinekit.cli.options import (
    command,
    flag,
    option,
    project_of,
    read_text,
    repeat_command,
    typed_command,
)
from baselinekit.cli.refresh import (
    ScopeOptions,
    complain,
    has_no_answers,
    parse_scope,
    show_diffs,
    suggest_checks,
)
from baselinekit.commands import refresh as refreshing, review as reviewing
from baselinekit.commands.context import RunContext
from baselinekit.commands.project import Project
from baselinekit.commands.refresh import Permit, mask_proposal
from baselinekit.errors import NothingSelected
from baselinekit.model.changes import Applied, Decision, Member, RefreshProposal
from baselinekit.report import reviewing as texts
from baselinekit.report.wording import Style, first_of
from baselinekit.structs import MutableStruct, replace

_MOST_DIFFS = 20
_MOST_FILES = 10
_NO_ANSWERS = "BK530"
_PENDING = 3


@dataclass(eq=False, repr=False)
class ReviewOptions(ScopeOptions):
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

    as_json: bool = flag("--json", help="Print everything pending as JSON, and ask nothing.")
    decide: str | None = option(
        metavar="FILE", help="Read the decisions from a JSON file; - is standard input."
    )
    dry_run: bool = flag(help="With --decide: show the files as they would become.")
    allow_high_risk: bool = flag(help="With --decide: also accept changes of high risk.")
    drop_placeholders: bool = flag(help="With --decide: also accept losing a placeholder.")


# `baselinekit review`.


@command(ReviewOptions)
def review(options: ReviewOptions) -> int:
    scope = parse_scope(options, everything=True)
    project = project_of(options.project)
    with real_context() as context:
        context = with_models(context, project, options.recording) if scope.replay else context
        try:
            proposal = refreshing.propose(project, scope, context)
        except NothingSelected as nothing:
            if options.words or nothing.problems[0].code != _NO_ANSWERS:
                raise
            proposal = RefreshProposal(())
        proposal = select_paths(proposal, options.paths)
        return ReviewSession(project, context, options, screen.style_of(), proposal).run()


def select_paths(proposal: RefreshProposal, paths: Sequence[str]) -> RefreshProposal:
    """The proposal without the questions about other paths."""
    if not paths:
        return proposal
    accepted = refreshing.accepted_by(proposal.plans, paths)
    groups = [
        replace(group, members=tuple((n, number) for n, number in group.members if number in accepted[n]))
        for group in proposal.groups
    ]
    return replace(proposal, groups=tuple(group for group in groups if group.members))


class ReviewSession(MutableStruct):
    """One review as the user sees it."""

    project: Project
    context: RunContext
    options: ReviewOptions
    style: Style
    proposal: RefreshProposal

    def run(self) -> int:
        if self.options.decide is not None:
            return self.decide_from_file(self.options.decide)
        if self.options.as_json:
            screen.show_json(reviewing.as_json(self.project, self.proposal, typed_command().operator))
        elif not self.proposal.groups or not screen.can_ask():
            masked, operator = mask_proposal(self.proposal, self.project.redactor), typed_command().operator
            words = repeat_command(without=("as_json", "dry_run", "color"))[1:]
            screen.show(texts.format_pending(masked, self.style, words, operator))
            complain([refusal.problem for refusal in self.proposal.refusals])
        else:
            complain([refusal.problem for refusal in self.proposal.refusals])
            return self.ask()
        if has_no_answers(self.proposal):
            return 5
        return _PENDING if self.proposal.plans or self.proposal.refusals else 0

    def ask(self) -> int:
        """Read keys and draw screens until everything is decided or the user quits."""
        review, region = reviewing.begin_review(self.project, self.proposal), Region()

        def step(keys: Keyboard) -> bool:
            scene, size = review.scene, shutil.get_terminal_size((80, 24))
            style = replace(self.style, width=size.columns)
            if scene.dialog is not None and scene.dialog.keys:
                keys.forget()
            region.draw(texts.format_screen(scene, style, size.lines))
            key = keys.key()
            if key == "d" and scene.members and scene.dialog is None:
                region.say(self.format_diff(review, style))
            else:
                self.press_key(review, key, region, style)
            return not review.ended

        if not review.ended and not run_session(region, step):
            screen.line("interrupted: nothing was written, and everything is still pending", err=True)
            return INTERRUPTED
        if review.ended != "write":
            screen.line("nothing was written, and everything is still pending")
            return _PENDING
        return self.finish(review.ledger.decided)

    def press_key(self, review: Review, key: str, region: Region, style: Style) -> None:
        """Handle a key, and print its decision as a line that stays."""
        steps = len(review.ledger.steps)
        review.press(key)
        if len(review.ledger.steps) > steps:
            if members := review.ledger.last:
                changes = [(review.shown[n], review.shown[n].changes[number]) for n, number in members]
                region.say(texts.describe_decision(changes, review.ledger.decided[members[0]], style) + "\n")
        elif len(review.ledger.steps) < steps:
            region.say(style.paint("undone", "dim") + "\n")

    def format_diff(self, review: Review, style: Style) -> str:
        """The diffs of the files with this change and with earlier decisions about them."""
        members = review.ledger.in_sight[:_MOST_DIFFS]
        plans = {n for n, _ in members}
        decided = {member: verb for member, verb in review.ledger.decided.items() if member[0] in plans}
        files = self.preview({**decided, **dict.fromkeys(members, Decision("accept"))})
        diffs = [texts.format_file_diff(file, style) for file in files.files]
        omitted = len(review.ledger.in_sight) - len(members)
        note = f"… and {omitted:,} more\n" if omitted else ""
        return "\n" + "\n".join(diffs) + f"\n{note}" if diffs else "no file would change\n"

    def preview(self, decided: dict[Member, Decision]) -> Applied:
        approvals = settle_plans(self.proposal.plans, decided)
        return refreshing.apply(self.project, approvals, self.options.approved.stamp(None), dry_run=True)

    def decide_from_file(self, name: str) -> int:
        text = read_text("--decide", name, "a file with decisions in JSON")
        permit = Permit(self.options.allow_high_risk, self.options.drop_placeholders)
        advisor = reviewing.ChangeAdvisor(self.project)
        file = "standard input" if name == "-" else name
        decided = reviewing.decisions_in(text, file, self.proposal.plans, advisor, permit)
        if self.options.dry_run:
            # Called so that the redactor learns which random-looking values are not secrets and stay visible.
            mask_proposal(self.proposal, self.project.redactor)
            show_diffs(self.preview(decided), self.style)
            screen.line("nothing was written")
            return 0
        return self.finish(decided)

    def finish(self, decided: Mapping[Member, Decision]) -> int:
        """Write the decisions, and print the outcome of everything."""
        version = refreshing.version_of(self.project, self.context.clients)
        approvals = settle_plans(self.proposal.plans, decided)
        applied = refreshing.apply(self.project, approvals, self.options.approved.stamp(version))
        remaining = list(reviewing.undecided(self.proposal.plans, decided))
        counts = count_verbs(decision for decision in decided.values() if decision.verb != "skip")
        if self.options.as_json:
            screen.show_json(texts.format_decisions_json(self.proposal, applied, counts, remaining))
        else:
            left = f", {len(remaining):,} left" if remaining else ""
            screen.line(texts.count_verbs(counts, self.style) + left)
            wrote = [f"wrote {screen.safe_line(file.file)}" for file in applied.files]
            for line in first_of(wrote, _MOST_FILES, "file"):
                screen.line(line)
        complain((*applied.failures, *(refusal.problem for refusal in self.proposal.refusals)))
        if not self.options.as_json:
            baselines = [plan.baseline for plan in self.proposal.plans]
            suggest_checks(self.project, self.context, baselines, applied)
        return _PENDING if remaining or applied.failures or self.proposal.refusals else 0
