"""What `baselinekit refresh` and `review` do: show changes, ask, write what is accepted, suggest checks."""

import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import click

from baselinekit.changes.reviewing import Review, count_verbs, settle_plans
from baselinekit.cli import screen
from baselinekit.cli.approve import RefreshOptions, ReviewOptions
from baselinekit.cli.capturing import describe_learnt, learnt_as_json
from baselinekit.cli.clients import real_context, with_models, with_progress
from baselinekit.cli.keys import Region, keyboard
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
from baselinekit.commands import refresh as refreshing, review as reviewing
from baselinekit.commands.context import RunContext
from baselinekit.commands.gitsetup import is_repository
from baselinekit.commands.project import Project
from baselinekit.commands.refresh import LearnPlan, LearnProposal, Permit, RefreshScope, mask_proposal
from baselinekit.commands.selection import Selection
from baselinekit.errors import InvalidInput, NothingSelected, Place, Problem
from baselinekit.kinds.table import kind_of
from baselinekit.learning.lesson import ACCEPT, ListRule, is_learnable_if_unchanged
from baselinekit.model import changes as model
from baselinekit.model.changes import Applied, Approval, Decision, Member, RefreshProposal
from baselinekit.model.values import Json
from baselinekit.report import reviewing as texts
from baselinekit.report.next_commands import check_commands, rule_commands
from baselinekit.report.wording import Style, first_of
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun

_MOST_NAMED = 3
_MOST_IN_A_COMMAND = 4
_MOST_TOLD = 20
_MOST_PATHS = 40
_MOST_STAYS = 10
_MOST_DIFFS = 20
_MOST_FILES = 10
_NO_ANSWERS = "BK530"
_PENDING = 3
_INTERRUPTED = 130


def parse_scope(options: RefreshOptions | ReviewOptions, everything: bool) -> RefreshScope:
    """The scope that the arguments and the options select."""
    criteria, results = options.selection, options.results
    if results and options.replay:
        message = "--from and --replay cannot be combined"
        raise InvalidInput(Problem("BK508", message, "pass one"))
    selection = Selection(criteria.ids, criteria.tags, criteria.exclude_tags, criteria.expression)
    files = tuple((name, read_text("--from", name, "what compare -o results.json wrote")) for name in results)
    rules = model.NO_RULES
    if isinstance(options, RefreshOptions):
        placeholders = parse_pairs("--placeholder", options.placeholders, "PATH=TEXT")
        rules = model.NewRules(placeholders, parse_path_rules(options))
    return RefreshScope(options.words, selection, everything, files, options.replay, options.jobs, rules)


def complain(problems: Sequence[Problem], max_count: int | None = None) -> None:
    for line in first_of([screen.safe(str(problem)) for problem in problems], max_count):
        screen.line(line, err=True)


def show_diffs(applied: Applied, style: Style) -> None:
    for rewritten in applied.files:
        screen.show(texts.format_file_diff(rewritten, style) + "\n")


def again(*more: str) -> str:
    """The same command, with further arguments, to write something."""
    words = repeat_command(*more, without=("dry_run", "as_json", "yes"))
    return screen.safe_line(shlex.join(["baselinekit", *words]))


def write_if_wanted(
    options: RefreshOptions, verb: str, counted: str, write: Callable[[], Applied], commands: Sequence[str]
) -> Applied | None:
    """Write what is counted, at once with --yes or after a question; `commands` would write what is only
    shown."""
    if options.as_json:
        return write() if options.yes and not options.dry_run else None
    if options.dry_run:
        screen.line(f"{counted}; nothing was written")
        screen.next_commands(commands)
        return None
    if not options.yes and not screen.can_ask():
        message = f"{counted}; nothing was written: there is no terminal to ask in"
        raise InvalidInput(Problem("BK508", message, f"{again('--yes')} (or --dry-run)"))
    if options.yes or click.confirm(f"{verb} {counted}?", default=False):
        return write()
    screen.line("nothing was written")
    return None


def suggest_checks(session: "RefreshSession | LearningSession | ReviewSession", applied: Applied) -> None:
    """Suggest the commands that show what was written, and that check that it passes."""
    if not applied.ids:
        return
    project, from_here = session.project, path_from_here(session.project)
    files = [from_here(rewritten.file) for rewritten in applied.files]
    diff_paths = files if len(files) <= _MOST_NAMED else [os.path.commonpath(files) or "."]
    if is_repository(Git(session.context.clients.execute, project.root)):
        screen.next_commands([shlex.join(["git", "diff", *diff_paths])])
    written = [plan.baseline for plan in session.proposal.plans if plan.baseline.id in applied.ids]
    own = {one.id: kind_of(one.current).own_command(one.current) for one in written}
    replayed = [(one.id, one.source.file) for one in written if not own[one.id]]
    arguments = (*typed_command().asking, *typed_command().operator)
    screen.next_commands(
        check_commands(replayed, project.folders, project.eval_folders, arguments, from_here)
    )
    screen.next_commands([shlex.join(command) for command in own.values() if command][:_MOST_NAMED])


# `baselinekit refresh`.


def refresh(options: RefreshOptions) -> int:
    options.check()
    scope = parse_scope(options, options.all_failed)
    project = project_of(options.project)
    style = screen.style_of(options.color, options.verbose)
    with real_context() as context:
        if scope.replay or options.learn:
            context = with_models(context, project, options.recording)
        with with_progress(context, "" if options.as_json else "asking", options.color) as asking:
            if options.learn:
                times, drop = options.repeat or refreshing.REPLAYS, options.drop_placeholders
                lessons = refreshing.propose_learning(project, scope, times, asking, drop, options.unchanged)
            else:
                proposal = refreshing.propose(project, scope, asking)
        if options.learn:
            return LearningSession(project, context, options, style, lessons).run()
        accepted = refreshing.accepted_by(proposal.plans, options.paths)
        return RefreshSession(project, context, options, style, proposal, accepted).run()


def has_no_answers(proposal: RefreshProposal) -> bool:
    """Whether none of the named baselines has a stored answer."""
    codes = {refusal.problem.code for refusal in proposal.refusals}
    return not proposal.plans and codes == {_NO_ANSWERS}


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
        options, approvals = self.options, self.collect_approvals()
        stamp = options.approved.stamp(refreshing.version_of(self.project, self.context.clients))
        write = partial(refreshing.apply, self.project, approvals, stamp)
        masked = mask_proposal(self.proposal, self.project.redactor)
        if not options.as_json:
            screen.show(texts.format_refresh(masked, self.accepted, self.style))
            if options.dry_run or options.results:
                show_diffs(write(dry_run=True), self.style)
            self.show_held()
        applied = None
        if approvals or options.as_json:
            plans = [approval.plan for approval in approvals]
            counted = texts.count_changes(plans, [approval.accepted for approval in approvals])
            commands = self.commands_to_apply(approvals)
            applied = write_if_wanted(options, "apply", counted, write, commands)
        elif self.held:  # everything needs an explicit permission
            screen.line("nothing was written")
            screen.next_commands(self.commands_to_apply(()))
        if options.as_json:
            reasons: dict[str, Json] = {id: str(problem) for id, problem in self.held.items()}
            written_ids = applied.ids if applied else ()
            screen.show_json(texts.format_refresh_json(masked, self.accepted, written_ids, reasons))
        complain(applied.failures if applied else (), _MOST_TOLD)
        if applied and applied.ids and not options.as_json:
            files = count_noun(len(applied.files), "file")
            screen.line(f"refreshed {count_noun(len(applied.ids), 'baseline')} in {files}")
            suggest_checks(self, applied)
            self.show_pending(approvals)
        if has_no_answers(self.proposal):
            return 5
        only_looks = options.dry_run or (options.as_json and not options.yes)
        failed = (self.held and not only_looks) or (applied is not None and applied.failures)
        return _PENDING if self.proposal.refusals or failed else 0

    def show_pending(self, approvals: Sequence[Approval]) -> None:
        """After rules were written: say what they do not settle, and name the review of it."""
        open_ = [approval for approval in approvals if approval.plan.ruled and not approval.is_whole]
        if open_:
            number = sum(len(approval.plan.changes) - len(approval.accepted) for approval in open_)
            screen.line(f"{count_noun(number, 'change')} {'stay' if number > 1 else 'stays'} pending")
            ids = [approval.plan.baseline.id for approval in open_]
            screen.next_commands([shlex.join(["baselinekit", "review", *ids, *typed_command().operator])])

    def collect_approvals(self) -> list[Approval]:
        """Approve what may be written and hold back the rest, with the reason. At a terminal, risky changes
        are left to the question, but a placeholder is never dropped by a mere yes."""
        options = self.options
        is_asked = screen.can_ask() and not (options.as_json or options.yes or options.dry_run)
        permit = Permit(options.allow_high_risk or is_asked, options.drop_placeholders)
        approvals = []
        for plan, accepted in zip(self.proposal.plans, self.accepted, strict=True):
            reason = refreshing.reason_against(plan, accepted, permit)
            if reason is not None:
                self.held[plan.baseline.id] = reason
            if reason is not None and options.dry_run:  # it is shown with what needs a permission
                reason = refreshing.reason_against(plan, accepted, Permit(True, True))
            if reason is None and (accepted or plan.ruled):
                approvals.append(Approval(plan, accepted))
        return approvals

    def show_held(self) -> None:
        complain([refusal.problem for refusal in self.proposal.refusals], _MOST_TOLD)
        files = {plan.baseline.id: plan.baseline.source.file for plan in self.proposal.plans}
        complain([problem.placed(Place(files[id])) for id, problem in self.held.items()], _MOST_TOLD)
        if self.proposal.passing:
            screen.line(f"{count_noun(len(self.proposal.passing), 'baseline')} already as in the file")

    def commands_to_apply(self, approvals: Sequence[Approval]) -> list[str]:
        """The same command with `--yes` for what needs no permission, unless it would name too many, and a
        review of the rest."""
        free = [
            approval.plan.baseline.id for approval in approvals if approval.plan.baseline.id not in self.held
        ]
        is_part = bool(self.held or self.proposal.refusals) and not self.options.selection.ids
        named = (
            [word for id in free for word in ("--id", id)]
            if len(free) <= _MOST_IN_A_COMMAND and is_part
            else []
        )
        commands = [again("--yes", *named)] if free else []
        if self.held and "-" not in self.options.results:
            typed = typed_command()
            held = list(self.held) if len(self.held) <= _MOST_IN_A_COMMAND else typed.paths
            source = [word for name in self.options.results for word in ("--from", name)]
            source += ["--replay"] if self.options.replay else []
            words = ["baselinekit", "review", *source, *held, *typed.operator]
            commands.append(screen.safe_line(shlex.join(words)))
        return commands or [again()]


# `baselinekit refresh --learn`.


class LearningSession(MutableStruct):
    """One `refresh --learn` as the user sees it."""

    project: Project
    context: RunContext
    options: RefreshOptions
    style: Style
    proposal: LearnProposal

    def run(self) -> int:
        options, plans = self.options, [plan for plan in self.proposal.plans if plan.renewal]
        write = partial(refreshing.apply_learning, self.project, plans, options.approved.stamp(None))
        counted, applied = count_learnt(plans), None
        if not options.as_json:
            self.show()
        if plans and options.dry_run and not options.as_json:
            show_diffs(write(dry_run=True), self.style)
        if plans or options.as_json:
            applied = write_if_wanted(options, "store", counted, write, [again("--yes")])
        if options.as_json:
            self.print_json(applied)
        elif applied:
            screen.line(f"wrote {counted} in {count_noun(len(applied.files), 'file')}")
            suggest_checks(self, applied)
        complain((*self.proposal.failures, *(applied.failures if applied else ())))
        if not options.as_json:
            self.suggest_rest(applied)
        has_failures = self.proposal.failures or (applied and applied.failures)
        return _PENDING if has_failures or any(plan.stays for plan in self.proposal.plans) else 0

    def show(self) -> None:
        """Print what varies, and which differences stay."""
        for plan in self.proposal.plans:
            for line in describe_lesson(plan):
                screen.line(line)
        stays = [place for plan in self.proposal.plans for place in plan.stays]
        if any(map(is_learnable_if_unchanged, stays)) and not self.options.unchanged:
            screen.line("if the service was only restarted, and nothing on it was changed: add --unchanged")

    def suggest_rest(self, applied: Applied | None) -> None:
        """Suggest the rules for what varies without a placeholder; or a compare for the differences that
        stay, to be followed by a refresh."""
        plans = [plan for plan in self.proposal.plans if plan.stays]
        rules = {plan.baseline.id: [place.rule for place in plan.stays if place.rule] for plan in plans}
        if commands := rule_commands(rules, typed_command().operator):
            screen.next_commands(commands)
        elif plans and not (applied and applied.ids):
            compare = refreshing.compare_command(self.project, plans[0].baseline)
            screen.next_commands([compare if len(plans) == 1 else "baselinekit compare"])

    def print_json(self, applied: Applied | None) -> None:
        written_ids = applied.ids if applied else ()
        baselines: list[Json] = [
            {
                "id": plan.baseline.id,
                "file": plan.baseline.source.file,
                "replays": plan.replays,
                "kept": plan.kept,
                "learnt": [learnt_as_json(volatile) for volatile in plan.volatile],
                "ordered": list(plan.lesson.singles),
                "lists": [{"path": render(rule.path), "rule": str(rule.mode)} for rule in plan.lesson.lists],
                "stays": [
                    {"path": render(stay.path), "kind": stay.kind, "what": stay.message, "hint": stay.hint}
                    for stay in plan.stays
                ],
                "written": plan.baseline.id in written_ids,
            }
            for plan in self.proposal.plans
        ]
        document = {"format": "baselinekit.learn/1", "baselines": baselines}
        screen.show_json(json.dumps(document, default=str) + "\n")


def count_learnt(plans: Sequence[LearnPlan]) -> str:
    number = sum(len(volatile.places) for plan in plans for volatile in plan.volatile)
    rules = sum(len(plan.lesson.lists) for plan in plans)
    lists = f" and {count_noun(rules, 'rule')} for lists" if rules else ""
    return f"{count_noun(number, 'placeholder')}{lists} of {count_noun(len(plans), 'baseline')}"


def describe_rule(rule: ListRule) -> tuple[str, str]:
    """Describe how a list is compared from now on, and why."""
    least, most = rule.sizes
    rows = f"{least} to {most} rows" if least < most else f"{count_noun(least, 'row')}, not always the same"
    description = "the same rows in another order: their order does not count"
    if rule.mode == "subset":
        description = f"{rows}: {len(rule.rows or ())} are always there, and any others may be"
    elif rule.rows is not None:
        description = f"{rows}: one row describes all, and there may be any number of them but none"
    return f"  {render(rule.path)}  arrays: {rule.mode}", f"    {description}"


def describe_lesson(plan: LearnPlan) -> Iterator[str]:
    """The lines about one baseline: the paths that vary, with their placeholders, and the differences that
    stay."""
    id, replays = plan.baseline.id, count_noun(plan.replays, "replay")
    replays += f" and the answer of the compare of {plan.kept}" if plan.kept else ""
    if not (plan.volatile or plan.stays or plan.lesson.lists):
        yield screen.safe_line(f"{id}   {replays}: as stored, so there is nothing to learn")
        return
    facts = f"{count_noun(len(plan.volatile), 'path')} var{'ies' if len(plan.volatile) == 1 else 'y'}"
    facts += f", {count_noun(len(plan.stays), 'difference')} of another kind" if plan.stays else ""
    yield screen.safe_line(f"{id}   {plan.baseline.source.file}   {replays}: {facts}")
    for volatile in plan.volatile[:_MOST_PATHS]:
        yield from describe_learnt(volatile, None)
    if len(plan.volatile) > _MOST_PATHS:
        yield f"  … and {len(plan.volatile) - _MOST_PATHS:,} more"
    for path in plan.lesson.singles:
        yield f"  note: {screen.safe(path)} holds one element and stays `ordered`"
    yield from (screen.safe_line(line) for rule in plan.lesson.lists for line in describe_rule(rule))
    stays = [
        f"  stays: {render(stay.path)}: {stay.message}" + ("" if stay.hint == ACCEPT else f": {stay.hint}")
        for stay in plan.stays
    ]
    yield from map(screen.safe_line, first_of(stays, _MOST_STAYS))


# `baselinekit review`.


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
        return ReviewSession(project, context, options, screen.style_of(options.color), proposal).run()


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
        try:
            with keyboard() as keys:
                while not review.ended:
                    scene = review.scene
                    size = shutil.get_terminal_size((80, 24))
                    style = replace(self.style, width=size.columns)
                    if scene.dialog is not None and scene.dialog.keys:
                        keys.forget()
                    region.draw(texts.format_screen(scene, style, size.lines))
                    key = keys.key()
                    if key == "d" and scene.members and scene.dialog is None:
                        region.say(self.format_diff(review, style))
                    else:
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
            suggest_checks(self, applied)
        return _PENDING if remaining or applied.failures or self.proposal.refusals else 0
