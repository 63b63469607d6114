"""What `baselinekit refresh` and `review` do: show changes, ask, write what is accepted, suggest checks."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from baselinekit.approval import review as reviewing
from baselinekit.approval.planning import (
    Permit,
    apply,
    forbidden,
    is_in_git,
    mask_proposal,
    preview,
    version_of,
)
from baselinekit.approval.refresh import RefreshScope, accepted_by, propose
from baselinekit.approval.review import decisions_in, undecided
from baselinekit.cli import screen
from baselinekit.cli.approve import RefreshOptions, ReviewOptions
from baselinekit.cli.clients import real_context, with_models, with_progress
from baselinekit.cli.keys import AGAIN, REDRAW, Region, keyboard
from baselinekit.cli.options import (
    path_from_here,
    project_of,
    read_text,
)
from baselinekit.errors import InvalidInput, NothingSelected, Place, Problem
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.model.changes import Applied, Approval, Decision, Member, RefreshProposal
from baselinekit.model.values import Json
from baselinekit.refresh.reviewing import Review
from baselinekit.report.next_commands import check_commands
from baselinekit.report.refreshing import count_changes, format_file_diff, format_refresh, format_refresh_json
from baselinekit.report.reviewing import (
    count_decisions,
    describe_decision,
    format_decisions_json,
    format_pending,
    format_screen,
)
from baselinekit.report.typed import Typed, read_typed, without_secrets
from baselinekit.report.wording import Style
from baselinekit.texts import many
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.project import Project
from baselinekit.workflow.selection import Selection

# What `refresh` and `review` share: which answers they are about, who approves, and what comes after.


_MOST_NAMED = 3


def parse_wanted(options: RefreshOptions | ReviewOptions, everything: bool) -> RefreshScope:
    """What the words and the options say."""
    chosen, results = options.selection, options.results
    if results is not None and options.replay:
        what = "--from and --replay cannot be combined"
        raise InvalidInput(Problem("BK508", what, "pass one"))
    selection = Selection(chosen.ids, chosen.tags, chosen.exclude_tags, chosen.expression)
    text = None
    if results is not None:
        text = (results, read_text("--from", results, "what compare -o results.json wrote"))
    return RefreshScope(options.words, selection, everything, text, options.replay, options.jobs)


def suggest_checks(
    project: Project, context: RunContext, applied: Applied, baselines: Iterable[Baseline]
) -> None:
    """Look at what was written, and see it pass."""
    if not applied.ids:
        return
    here = path_from_here(project)
    files = [here(rewritten.file) for rewritten in applied.files]
    shown = files if len(files) <= _MOST_NAMED else [os.path.commonpath(files) or "."]
    if is_in_git(project, context.clients):
        screen.next_commands([shlex.join(["git", "diff", *shown])])
    written = [baseline for baseline in baselines if baseline.id in applied.ids]
    own = {one.id: kind_of(one.current).own_command(one.current) for one in written}
    replayed = [(one.id, one.source.file) for one in written if not own[one.id]]
    more = (*typed_here().asking, *typed_here().operator)
    screen.next_commands(check_commands(replayed, project.folders, project.eval_folders, more, here))
    screen.next_commands([shlex.join(one) for one in own.values() if one][:_MOST_NAMED])


def typed_here() -> Typed:
    """What was typed for this command."""
    return read_typed(shlex.join(["baselinekit", *sys.argv[1:]]))


def complain(problems: Sequence[Problem], most: int | None = None) -> None:
    for problem in problems[:most]:
        screen.line(screen.safe(str(problem)), err=True)
    if most is not None and len(problems) > most:
        screen.line(f"… and {len(problems) - most:,} more like these", err=True)


# `baselinekit refresh`.


_NOTHING_KEPT = "BK530"
_PENDING = 3
_MOST_IN_A_COMMAND = 4
_MOST_TOLD = 20


def refresh(options: RefreshOptions) -> int:
    wanted = parse_wanted(options, options.all_failed)
    project = project_of(options.project)
    with real_context() as context:
        context = with_models(context, project, options.recording) if wanted.replay else context
        with with_progress(context, "" if options.as_json else "asking", options.color) as asking:
            proposal = propose(project, wanted, asking)
        accepted = accepted_by(proposal.plans, options.paths)
        style = screen.style_of(options.color, options.verbose)
        return RefreshSession(project, context, options, style, proposal, accepted).run()


def is_nothing_kept(proposal: RefreshProposal) -> bool:
    """Whether all that was named has no answer to look at."""
    refusals = proposal.refusals
    return not proposal.plans and bool(refusals) and all(r.problem.code == _NOTHING_KEPT for r in refusals)


@dataclass(slots=True)
class RefreshSession:
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
        approvals = self.collect_approvals()
        stamp = options.approved.stamp(version_of(self.project, self.context.clients))
        if options.as_json:
            applied = apply(self.project, approvals, stamp) if options.yes and not options.dry_run else None
            self.print_json(applied)
            return self.exit_code(applied)
        shown = mask_proposal(self.proposal, self.project.redactor)
        screen.show(format_refresh(shown, self.accepted, self.style))
        if options.dry_run or options.results is not None:
            for rewritten in preview(self.project, approvals, stamp):
                screen.show(format_file_diff(rewritten, self.style) + "\n")
        self.show_held()
        if not approvals:
            if self.held:  # all of it needs a word of its own
                screen.line("nothing was written")
                screen.next_commands(self.commands_to_apply(()))
            return self.exit_code(None)
        if options.dry_run:
            screen.line(f"{self.describe_count(approvals)}; nothing was written")
            screen.next_commands(self.commands_to_apply(approvals))
            return self.exit_code(None)
        if not options.yes and not self.confirm(approvals):
            return self.exit_code(None)
        applied = apply(self.project, approvals, stamp)
        complain(applied.failures, _MOST_TOLD)
        if applied.ids:
            baselines, files = many(len(applied.ids), "baseline"), many(len(applied.files), "file")
            screen.line(f"refreshed {baselines} in {files}")
            suggest_checks(self.project, self.context, applied, [one.baseline for one in self.proposal.plans])
        return self.exit_code(applied)

    def collect_approvals(self) -> list[Approval]:
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

    def confirm(self, approvals: Sequence[Approval]) -> bool:
        if not self._can_ask():
            what = f"{self.describe_count(approvals)}; nothing was written: there is no terminal to ask in"
            raise InvalidInput(Problem("BK508", what, f"{self.repeat_command('--yes')} (or --dry-run)"))
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

    def show_held(self) -> None:
        complain([refusal.problem for refusal in self.proposal.refusals], _MOST_TOLD)
        files = {plan.baseline.id: plan.baseline.source.file for plan in self.proposal.plans}
        complain([problem.placed(Place(files[id])) for id, problem in self.held.items()], _MOST_TOLD)
        if self.proposal.passing:
            screen.line(f"{many(len(self.proposal.passing), 'baseline')} already as in the file")

    def describe_count(self, approvals: Sequence[Approval]) -> str:
        return count_changes([one.plan for one in approvals], [one.accepted for one in approvals])

    def commands_to_apply(self, approvals: Sequence[Approval]) -> list[str]:
        """The same with `--yes` where that does something. What needs more is asked about by a review, one by
        one, or is permitted as a whole."""
        commands = []
        if any(one.plan.baseline.id not in self.held for one in approvals):
            commands.append(self.repeat_command("--yes"))
        if self.held and self.options.results != "-":
            few = list(self.held) if len(self.held) <= _MOST_IN_A_COMMAND else self.options.words
            kept = ["--from", self.options.results] if self.options.results else []
            kept += ["--replay"] if self.options.replay else []
            words = ["baselinekit", "review", *kept, *few, *self.operator]
            commands.append(screen.safe_line(shlex.join(words)))
        if permissions := self.missing_permissions():
            commands.append(self.repeat_command("--yes", *permissions))
        return commands or [self.repeat_command()]

    def missing_permissions(self) -> list[str]:
        """The flags with which all that is held back would be accepted; none where something never is."""
        needed = {"--allow-high-risk": False, "--drop-placeholders": False}
        for plan, few in zip(self.proposal.plans, self.accepted, strict=True):
            if plan.baseline.id in self.held:
                if forbidden(plan, few, Permit(True, True)):
                    return []
                needed["--allow-high-risk"] |= forbidden(plan, few, Permit(False, True)) is not None
                needed["--drop-placeholders"] |= forbidden(plan, few, Permit(True, False)) is not None
        return [word for word, is_needed in needed.items() if is_needed]

    @property
    def operator(self) -> tuple[str, ...]:
        """What was said of the project, for the next command to say it again."""
        return typed_here().operator

    def repeat_command(self, *more: str) -> str:
        """The same command, with more words."""
        left_out = ("--dry-run", "--json", "--yes", "-y", *more)
        words = [word for word in without_secrets(sys.argv[1:]) if word not in left_out]
        return screen.safe_line(shlex.join(["baselinekit", *words, *more]))

    def print_json(self, applied: Applied | None) -> None:
        why: dict[str, Json] = {id: str(problem) for id, problem in self.held.items()}
        shown = mask_proposal(self.proposal, self.project.redactor)
        done = applied.ids if applied else ()
        screen.show_json(format_refresh_json(shown, self.accepted, done, why))
        complain(applied.failures if applied else (), _MOST_TOLD)

    def exit_code(self, applied: Applied | None) -> int:
        refusals = self.proposal.refusals
        if is_nothing_kept(self.proposal):
            return 5
        only_looks = self.options.dry_run or (self.options.as_json and not self.options.yes)
        held = {} if only_looks else self.held
        failed = applied is not None and applied.failures
        return _PENDING if refusals or held or failed else 0


# `baselinekit review`.


_INTERRUPTED = 130
_MOST_DIFFS = 20
_MOST_FILES = 10


def review(options: ReviewOptions) -> int:
    wanted = parse_wanted(options, everything=True)
    project = project_of(options.project)
    with real_context() as context:
        context = with_models(context, project, options.recording) if wanted.replay else context
        try:
            proposal = propose(project, wanted, context)
        except NothingSelected as nothing:
            if options.words or nothing.problems[0].code != _NOTHING_KEPT:
                raise
            proposal = RefreshProposal(())
        proposal = select_paths(proposal, options.paths)
        return ReviewSession(project, context, options, screen.style_of(options.color), proposal).run()


def select_paths(proposal: RefreshProposal, paths: Sequence[str]) -> RefreshProposal:
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
class ReviewSession:
    """One review, as its user sees it."""

    project: Project
    context: RunContext
    options: ReviewOptions
    style: Style
    proposal: RefreshProposal

    def run(self) -> int:
        if self.options.decide is not None:
            return self.decide_from_file(self.options.decide)
        if self.options.as_json:
            screen.show_json(reviewing.as_json(self.project, self.proposal))
        elif not self.proposal.groups or not screen.can_ask():
            screen.show(format_pending(mask_proposal(self.proposal, self.project.redactor), self.style))
            complain([refusal.problem for refusal in self.proposal.refusals])
        else:
            complain([refusal.problem for refusal in self.proposal.refusals])
            return self.ask()
        if is_nothing_kept(self.proposal):
            return 5
        return _PENDING if self.proposal.plans or self.proposal.refusals else 0

    def ask(self) -> int:
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
                        region.say(self.format_diff(review, style))
                    elif key == AGAIN:
                        region.leave()
                    elif key != REDRAW:
                        self.press_key(review, key, region, style)
                region.say()
        except (KeyboardInterrupt, EOFError):
            region.say("\n")
            screen.line("interrupted: nothing was written, and everything is still pending", err=True)
            return _INTERRUPTED
        if review.ended != "write":
            screen.line("nothing was written, and everything is still pending")
            return _PENDING
        return self.finish(review.ledger.decided)

    def press_key(self, review: Review, key: str, region: Region, style: Style) -> None:
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

    def format_diff(self, review: Review, style: Style) -> str:
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

    def decide_from_file(self, name: str) -> int:
        text = read_text("--decide", name, "a file with decisions in JSON")
        permit = Permit(self.options.allow_high_risk, self.options.drop_placeholders)
        knows = reviewing.Knows(self.project)
        decided = decisions_in(
            text, "standard input" if name == "-" else name, self.proposal.plans, knows, permit
        )
        if self.options.dry_run:
            # What is no secret where it stands stays in sight.
            mask_proposal(self.proposal, self.project.redactor)
            for one in reviewing.preview_decisions(
                self.project, self.proposal.plans, decided, self.options.approved.stamp(None)
            ):
                screen.show(format_file_diff(one, self.style) + "\n")
            screen.line("nothing was written")
            return 0
        return self.finish(decided)

    def finish(self, decided: dict[Member, Decision]) -> int:
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
            for one in applied.files[:_MOST_FILES]:
                screen.line(f"wrote {screen.safe_line(one.file)}")
            if len(applied.files) > _MOST_FILES:
                more = len(applied.files) - _MOST_FILES
                screen.line(f"… and {many(more, 'more file')}")
        complain(failures)
        complain([refusal.problem for refusal in self.proposal.refusals])
        if not self.options.as_json:
            suggest_checks(self.project, self.context, applied, [one.baseline for one in self.proposal.plans])
        return _PENDING if left or failures or self.proposal.refusals else 0
