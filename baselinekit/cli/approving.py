"""What `baselinekit refresh` and `review` do: show changes, ask, write what is accepted, suggest checks."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence

from baselinekit.changes.reviewing import Review, count_verbs, settle_plans
from baselinekit.cli import screen
from baselinekit.cli.approve import RefreshOptions, ReviewOptions
from baselinekit.cli.clients import real_context, with_models, with_progress
from baselinekit.cli.keys import REDRAW, RESUMED, Region, keyboard
from baselinekit.cli.options import (
    parse_pairs,
    path_from_here,
    project_of,
    read_text,
    repeat_command,
    typed_command,
)
from baselinekit.cli.recipes import parse_path_rules
from baselinekit.clients.programs.git import Git
from baselinekit.commands import review as reviewing
from baselinekit.commands.context import RunContext
from baselinekit.commands.gitsetup import is_repository
from baselinekit.commands.project import Project
from baselinekit.commands.refresh import (
    Permit,
    RefreshScope,
    accepted_by,
    apply,
    mask_proposal,
    propose,
    reason_against,
    version_of,
)
from baselinekit.commands.review import decisions_in, undecided
from baselinekit.commands.selection import Selection
from baselinekit.errors import InvalidInput, NothingSelected, Place, Problem
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.model.changes import (
    NO_RULES,
    Applied,
    Approval,
    Decision,
    Member,
    NewRules,
    RefreshProposal,
)
from baselinekit.model.values import Json
from baselinekit.report.next_commands import check_commands
from baselinekit.report.refreshing import count_changes, format_file_diff, format_refresh, format_refresh_json
from baselinekit.report.reviewing import (
    count_decisions,
    describe_decision,
    format_decisions_json,
    format_pending,
    format_screen,
)
from baselinekit.report.wording import Style
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.texts import count_noun

# Shared by `refresh` and `review`: which answers they are about, who approves, and the next commands.


_MOST_NAMED = 3


def parse_scope(options: RefreshOptions | ReviewOptions, everything: bool) -> RefreshScope:
    """The scope that the arguments and the options select."""
    criteria, results = options.selection, options.results
    if results and options.replay:
        message = "--from and --replay cannot be combined"
        raise InvalidInput(Problem("BK508", message, "pass one"))
    selection = Selection(criteria.ids, criteria.tags, criteria.exclude_tags, criteria.expression)
    texts = [(name, read_text("--from", name, "what compare -o results.json wrote")) for name in results]
    rules = NO_RULES
    if isinstance(options, RefreshOptions):
        placeholders = parse_pairs("--placeholder", options.placeholders, "PATH=TEXT")
        rules = NewRules(placeholders, parse_path_rules(options))
    return RefreshScope(
        options.words, selection, everything, tuple(texts), options.replay, options.jobs, rules
    )


def suggest_checks(
    project: Project, context: RunContext, applied: Applied, baselines: Iterable[Baseline]
) -> None:
    """Suggest the commands that show what was written, and that check that it passes."""
    if not applied.ids:
        return
    from_here = path_from_here(project)
    files = [from_here(rewritten.file) for rewritten in applied.files]
    diff_paths = files if len(files) <= _MOST_NAMED else [os.path.commonpath(files) or "."]
    if is_repository(Git(context.clients.execute, project.root)):
        screen.next_commands([shlex.join(["git", "diff", *diff_paths])])
    written = [baseline for baseline in baselines if baseline.id in applied.ids]
    own_commands = {
        baseline.id: kind_of(baseline.current).own_command(baseline.current) for baseline in written
    }
    replayed = [(baseline.id, baseline.source.file) for baseline in written if not own_commands[baseline.id]]
    arguments = (*typed_command().asking, *typed_command().operator)
    screen.next_commands(
        check_commands(replayed, project.folders, project.eval_folders, arguments, from_here)
    )
    screen.next_commands([shlex.join(command) for command in own_commands.values() if command][:_MOST_NAMED])


def complain(problems: Sequence[Problem], max_count: int | None = None) -> None:
    for problem in problems[:max_count]:
        screen.line(screen.safe(str(problem)), err=True)
    if max_count is not None and len(problems) > max_count:
        screen.line(f"… and {len(problems) - max_count:,} more like these", err=True)


# `baselinekit refresh`.


_NO_ANSWERS = "BK530"
_PENDING = 3
_MOST_IN_A_COMMAND = 4
_MOST_TOLD = 20


def refresh(options: RefreshOptions) -> int:
    scope = parse_scope(options, options.all_failed)
    project = project_of(options.project)
    with real_context() as context:
        context = with_models(context, project, options.recording) if scope.replay else context
        with with_progress(context, "" if options.as_json else "asking", options.color) as asking:
            proposal = propose(project, scope, asking)
        accepted = accepted_by(proposal.plans, options.paths)
        style = screen.style_of(options.color, options.verbose)
        return RefreshSession(project, context, options, style, proposal, accepted).run()


def has_no_answers(proposal: RefreshProposal) -> bool:
    """Whether none of the named baselines has a stored answer."""
    refusals = proposal.refusals
    return not proposal.plans and bool(refusals) and all(r.problem.code == _NO_ANSWERS for r in refusals)


class RefreshSession(MutableStruct):
    """One refresh as the user sees it: the changes, the question, the result, and the next commands."""

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
        masked = mask_proposal(self.proposal, self.project.redactor)
        screen.show(format_refresh(masked, self.accepted, self.style))
        if options.dry_run or options.results:
            for rewritten in apply(self.project, approvals, stamp, dry_run=True).files:
                screen.show(format_file_diff(rewritten, self.style) + "\n")
        self.show_held()
        if not approvals:
            if self.held:  # everything needs an explicit permission
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
            baselines, files = (
                count_noun(len(applied.ids), "baseline"),
                count_noun(len(applied.files), "file"),
            )
            screen.line(f"refreshed {baselines} in {files}")
            suggest_checks(
                self.project, self.context, applied, [plan.baseline for plan in self.proposal.plans]
            )
            self.show_pending(approvals)
        return self.exit_code(applied)

    def show_pending(self, approvals: Sequence[Approval]) -> None:
        """After rules were written: say what they do not settle, and name the review of it."""
        open_ = [approval for approval in approvals if approval.plan.ruled and not approval.is_whole]
        if open_:
            number = sum(len(approval.plan.changes) - len(approval.accepted) for approval in open_)
            stay = f"{count_noun(number, 'change')} {'stay' if number > 1 else 'stays'} pending"
            ids = [approval.plan.baseline.id for approval in open_]
            screen.line(stay)
            screen.next_commands([shlex.join(["baselinekit", "review", *ids, *self.operator])])

    def collect_approvals(self) -> list[Approval]:
        """Approve what may be written and hold back the rest, with the reason. At a terminal, risky changes
        are left to the question, but a placeholder is never dropped by a mere yes."""
        options = self.options
        permit = Permit(
            options.allow_high_risk or options.dry_run or (self._can_ask() and not options.yes),
            options.drop_placeholders or options.dry_run,
        )
        approvals = []
        for plan, accepted in zip(self.proposal.plans, self.accepted, strict=True):
            reason = reason_against(plan, accepted, permit)
            if reason is not None:
                self.held[plan.baseline.id] = reason
            elif accepted or plan.ruled:
                approvals.append(Approval(plan, accepted))
            if options.dry_run and reason is None:
                flagged = reason_against(
                    plan, accepted, Permit(options.allow_high_risk, options.drop_placeholders)
                )
                if flagged is not None:
                    self.held[plan.baseline.id] = flagged
        return approvals

    def _can_ask(self) -> bool:
        return screen.can_ask() and not self.options.as_json

    def confirm(self, approvals: Sequence[Approval]) -> bool:
        if not self._can_ask():
            message = f"{self.describe_count(approvals)}; nothing was written: there is no terminal to ask in"
            raise InvalidInput(Problem("BK508", message, f"{self.repeat_command('--yes')} (or --dry-run)"))
        risky = sum(
            change.risk == "high" and change.number in approval.accepted
            for approval in approvals
            for change in approval.plan.changes
        )
        risk_note = f" ({risky} of high risk)" if risky else ""
        number = sum(len(approval.accepted) for approval in approvals)
        changes, baselines = count_noun(number, "change"), count_noun(len(approvals), "baseline")
        if rules := sum(len(approval.plan.ruled) for approval in approvals):
            changes = count_noun(rules, "rule") + (f" and {changes}" if number else "")
        question = f"apply {changes} to {baselines}?{risk_note} [y/N] "
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
            screen.line(f"{count_noun(len(self.proposal.passing), 'baseline')} already as in the file")

    def describe_count(self, approvals: Sequence[Approval]) -> str:
        return count_changes(
            [approval.plan for approval in approvals], [approval.accepted for approval in approvals]
        )

    def commands_to_apply(self, approvals: Sequence[Approval]) -> list[str]:
        """The same command with `--yes` for what needs no permission, and a review of the rest."""
        free = [approval.plan.baseline.id for approval in approvals]
        commands = self.commands_without_permission([id for id in free if id not in self.held])
        if self.held and "-" not in self.options.results:
            ids = list(self.held) if len(self.held) <= _MOST_IN_A_COMMAND else typed_command().paths
            source = [word for name in self.options.results for word in ("--from", name)]
            source += ["--replay"] if self.options.replay else []
            words = ["baselinekit", "review", *source, *ids, *self.operator]
            commands.append(screen.safe_line(shlex.join(words)))
        return commands or [self.repeat_command()]

    def commands_without_permission(self, ids: Sequence[str]) -> list[str]:
        """The same command for these baselines alone. It names none if nothing is held back, or if it would
        name too many."""
        if not ids:
            return []
        if not self.held and not self.proposal.refusals:
            return [self.repeat_command("--yes")]
        if len(ids) <= _MOST_IN_A_COMMAND and not self.options.selection.ids:
            return [self.repeat_command("--yes", *(word for id in ids for word in ("--id", id)))]
        return [self.repeat_command("--yes")]

    @property
    def operator(self) -> tuple[str, ...]:
        """The options about the project, to be repeated in the next command."""
        return typed_command().operator

    def repeat_command(self, *more: str) -> str:
        """The same command, with further arguments."""
        given = (word[2:].replace("-", "_") for word in more if word.startswith("--"))
        left_out = ("dry_run", "as_json", "yes", *given)
        words = repeat_command(*more, without=left_out)
        return screen.safe_line(shlex.join(["baselinekit", *words]))

    def print_json(self, applied: Applied | None) -> None:
        reasons: dict[str, Json] = {id: str(problem) for id, problem in self.held.items()}
        masked = mask_proposal(self.proposal, self.project.redactor)
        written_ids = applied.ids if applied else ()
        screen.show_json(format_refresh_json(masked, self.accepted, written_ids, reasons))
        complain(applied.failures if applied else (), _MOST_TOLD)

    def exit_code(self, applied: Applied | None) -> int:
        refusals = self.proposal.refusals
        if has_no_answers(self.proposal):
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
    scope = parse_scope(options, everything=True)
    project = project_of(options.project)
    with real_context() as context:
        context = with_models(context, project, options.recording) if scope.replay else context
        try:
            proposal = propose(project, scope, context)
        except NothingSelected as nothing:
            if options.words or nothing.problems[0].code != _NO_ANSWERS:
                raise
            proposal = RefreshProposal(())
        proposal = select_paths(proposal, options.paths)
        return ReviewSession(project, context, options, screen.style_of(options.color), proposal).run()


def select_paths(proposal: RefreshProposal, paths: Sequence[str]) -> RefreshProposal:
    """The proposal without the questions about other paths."""
    if not paths:
        return proposal
    accepted = accepted_by(proposal.plans, paths)
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
            again = repeat_command(without=("as_json", "dry_run", "color"))[1:]
            screen.show(format_pending(masked, self.style, again, operator))
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
                    elif key == RESUMED:
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
        """Handle a key, and print its decision as a line that stays."""
        steps = len(review.ledger.steps)
        review.press(key)
        if len(review.ledger.steps) > steps and review.ledger.last:
            by_verb: dict[Decision, list[Member]] = {}
            for member in review.ledger.last:
                by_verb.setdefault(review.ledger.decided[member], []).append(member)
            for decision, members in by_verb.items():
                changes = [(review.shown[n], review.shown[n].changes[number]) for n, number in members]
                region.say(describe_decision(changes, decision, style) + "\n")
        elif len(review.ledger.steps) < steps:
            region.say(style.paint("undone", "dim") + "\n")

    def format_diff(self, review: Review, style: Style) -> str:
        """The diffs of the files with this change and with earlier decisions about them."""
        members = review.ledger.in_sight[:_MOST_DIFFS]
        plans = {n for n, _ in members}
        decided = {
            member: decision for member, decision in review.ledger.decided.items() if member[0] in plans
        }
        decisions = {**decided, **dict.fromkeys(members, Decision("accept"))}
        approvals, stamp = settle_plans(self.proposal.plans, decisions), self.options.approved.stamp(None)
        files = apply(self.project, approvals, stamp, dry_run=True).files
        diff = "\n".join(format_file_diff(file, style) for file in files)
        omitted = len(review.ledger.in_sight) - len(members)
        note = f"… and {omitted:,} more\n" if omitted else ""
        return f"\n{diff or 'no file would change'}\n{note}" if diff else "no file would change\n"

    def decide_from_file(self, name: str) -> int:
        text = read_text("--decide", name, "a file with decisions in JSON")
        permit = Permit(self.options.allow_high_risk, self.options.drop_placeholders)
        knows = reviewing.ChangeAdvisor(self.project)
        decided = decisions_in(
            text, "standard input" if name == "-" else name, self.proposal.plans, knows, permit
        )
        if self.options.dry_run:
            # Called so that the redactor learns which random-looking values are not secrets and stay visible.
            mask_proposal(self.proposal, self.project.redactor)
            approvals = settle_plans(self.proposal.plans, decided)
            stamp = self.options.approved.stamp(None)
            for file in apply(self.project, approvals, stamp, dry_run=True).files:
                screen.show(format_file_diff(file, self.style) + "\n")
            screen.line("nothing was written")
            return 0
        return self.finish(decided)

    def finish(self, decided: Mapping[Member, Decision]) -> int:
        """Write the decisions, and print the outcome of everything."""
        version = version_of(self.project, self.context.clients)
        approvals = settle_plans(self.proposal.plans, decided)
        applied = apply(self.project, approvals, self.options.approved.stamp(version))
        remaining = list(undecided(self.proposal.plans, decided))
        counts = count_verbs(decision for decision in decided.values() if decision.verb != "skip")
        failures = applied.failures
        if self.options.as_json:
            screen.show_json(format_decisions_json(self.proposal, applied, counts, remaining))
        else:
            screen.line(count_decisions(counts, len(remaining), self.style))
            for file in applied.files[:_MOST_FILES]:
                screen.line(f"wrote {screen.safe_line(file.file)}")
            if len(applied.files) > _MOST_FILES:
                omitted = len(applied.files) - _MOST_FILES
                screen.line(f"… and {count_noun(omitted, 'more file')}")
        complain(failures)
        complain([refusal.problem for refusal in self.proposal.refusals])
        if not self.options.as_json:
            suggest_checks(
                self.project, self.context, applied, [plan.baseline for plan in self.proposal.plans]
            )
        return _PENDING if remaining or failures or self.proposal.refusals else 0
