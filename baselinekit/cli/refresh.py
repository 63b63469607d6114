"""`baselinekit refresh` and `review`: show changes, ask, write what is accepted, suggest checks."""

import shlex
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import click

from baselinekit.changes.reviewing import Review, count_verbs, settle_plans
from baselinekit.cli import options as cli, screen
from baselinekit.cli.capture import describe_learnt, learnt_as_json, unlearnt_as_json
from baselinekit.cli.clients import asking
from baselinekit.cli.drawing import Keyboard, Region, run_session
from baselinekit.cli.entry import INTERRUPTED
from baselinekit.cli.recipes import parse_path_rules
from baselinekit.commands import refresh as refreshing, review as reviewing
from baselinekit.commands.context import RunContext
from baselinekit.commands.project import Project
from baselinekit.commands.refresh import (
    NO_ANSWERS,
    LearnPlan,
    LearnProposal,
    Permit,
    RefreshScope,
    mask_proposal,
)
from baselinekit.errors import NothingSelected, Place, Problem
from baselinekit.kinds.table import kind_of
from baselinekit.learning.lesson import ACCEPT, is_learnable_if_unchanged
from baselinekit.model import changes as model
from baselinekit.model.values import Json
from baselinekit.report import reviewing as texts
from baselinekit.report.next_commands import check_commands, rule_commands
from baselinekit.report.wording import Style, first_of
from baselinekit.store.results import write_text
from baselinekit.structs import MutableStruct, replace
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun

_MOST_NAMED = 3
_MOST_IN_A_COMMAND = 4
_MOST_PROBLEMS = 20

_MOST_STAYS = 10
_PENDING = 3


@dataclass
class StampOptions:
    """What is noted in the file about the approval."""

    version: str | None = cli.option("TEXT", help="The version of the target [default: git's last tag].")
    by: str | None = cli.option("WHO", help="Record who approved it.")
    reason: str | None = cli.option("TEXT", help="Note why.")

    def stamp(self, described: str | None) -> model.ApprovalNote:
        """The stamp; `described` is the version from `git describe`."""
        return model.ApprovalNote(self.version or described, self.by, self.reason)


@dataclass
class ScopeOptions:
    """Which changes are shown, and where the new outputs come from."""

    words: tuple[str, ...] = cli.argument(nargs=-1, metavar="[ID|PATH]...")
    selection: cli.SelectionOptions = cli.including(cli.SelectionOptions)
    paths: tuple[str, ...] = cli.several("--path", "PATH", help="Only what changes there.")
    results: tuple[str, ...] = cli.several(
        "--from", "RESULTS", help="Answers of a CI job: its results.json (or several); - is standard input."
    )
    replay: bool = cli.flag(excludes=("results",), help="Send the requests again.")
    jobs: int = cli.jobs_option("Of the requests that are sent again: how many at once.", 8)
    approved: StampOptions = cli.including(StampOptions)
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options()


@dataclass
class RefreshOptions(ScopeOptions):
    """Accept the outputs that a failing compare received as the new known-good outputs of the baselines
    that ID or PATH names.

    No request is sent: the outputs of that compare are used. Only what differs is rewritten; what still
    matches keeps its placeholders, and the file its comments.

    \b
    baselinekit refresh users --dry-run
    baselinekit refresh users --path body.users[0].name
    baselinekit refresh --all-failed --yes --by ada --reason "new names since 2.4"
    baselinekit refresh --from results.json
    baselinekit refresh users --ignore body.took --placeholder 'body.users.*.id=<<any_uuid>>'
    baselinekit refresh users --learn            placeholders for what varies, and nothing else

    \b
    Exit code: 0 done, 2 usage or an invalid file, 3 something could not be refreshed,
    5 there is nothing to refresh.
    """

    all_failed: bool = cli.flag(help="All baselines with a kept answer.")
    placeholders: tuple[str, ...] = cli.several(
        "--placeholder", "PATH=TEXT", help="Store it at a path, or inside the text there, and nothing more."
    )
    rules: cli.PathRuleOptions = cli.including(cli.PathRuleOptions)
    learn: bool = cli.flag(
        excludes=(
            "results",
            "replay",
            "paths",
            "placeholders",
            "ignore",
            "tolerance",
            "arrays",
            "allow_high_risk",
        ),
        help="Ask several times, and store placeholders for what varies, nothing else.",
    )
    repeat: int | None = cli.count(
        "N", most=1000, needs="learn", help="With --learn: ask N times; the default is 3."
    )
    unchanged: bool = cli.flag(
        needs="learn", help="With --learn: the service was only restarted: every difference varies."
    )
    dry_run: bool = cli.flag(help="Show the files as they would become, and write nothing.")
    yes: bool = cli.flag("-y", "--yes", help="Do not ask.")
    allow_high_risk: bool = cli.flag(
        excludes=("learn",), help="Also accept removed keys and values of another type."
    )
    drop_placeholders: bool = cli.flag(
        help="Also accept changes that lose a placeholder; with --learn, replace one written by hand."
    )
    as_json: bool = cli.flag("--json", help="Print the changes as JSON; writes only with --yes.")
    verbose: bool = cli.flag("-v", "--verbose", help="Show every change of every baseline.")


def parse_scope(options: ScopeOptions, every: bool, rules: model.NewRules = model.NO_RULES) -> RefreshScope:
    """The scope that the arguments and the options select."""
    what = "what compare -o results.json wrote"
    files = tuple((name, cli.read_text("--from", name, what)) for name in options.results)
    selection = options.selection.selection
    return RefreshScope(options.words, selection, every, files, options.replay, options.jobs, rules)


def complain(problems: Sequence[Problem], max_count: int | None = None) -> None:
    screen.complain(*first_of([str(problem) for problem in problems], max_count))


def format_diffs(applied: model.Applied, style: Style) -> str:
    return "".join(f"{texts.format_file_diff(rewritten, style)}\n" for rewritten in applied.files)


def again(*more: str) -> str:
    """The same command, with further arguments, to write something."""
    words = cli.repeat_command(*more, without=("dry_run", "as_json", "yes"))
    return screen.safe_line(shlex.join(["baselinekit", *words]))


def write_if_wanted(
    options: RefreshOptions,
    verb: str,
    counted: str,
    write: Callable[[], model.Applied],
    commands: Sequence[str],
) -> model.Applied | None:
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
        raise cli.misuse(message, f"{again('--yes')} (or --dry-run)")
    if options.yes or click.confirm(f"{verb} {counted}?", default=False):
        return write()
    screen.line("nothing was written")
    return None


def suggest_checks(
    project: Project, plans: Sequence[model.RefreshPlan | LearnPlan], ids: Collection[str]
) -> None:
    """Suggest the commands that check that what was written passes."""
    written = [plan.baseline for plan in plans if plan.baseline.id in ids]
    own = {one.id: kind_of(one.current).own_command(one.current) for one in written}
    replayed = [(one.id, one.source.file) for one in written if not own[one.id]]
    typed, from_here = cli.typed_command(), cli.path_from_here(project)
    arguments = (*typed.asking, *typed.operator)
    screen.next_commands(
        check_commands(replayed, project.folders, project.eval_folders, arguments, from_here)
    )
    screen.next_commands([shlex.join(command) for command in own.values() if command][:_MOST_NAMED])


# `baselinekit refresh`.


@cli.command(RefreshOptions)
def refresh(options: RefreshOptions) -> int:
    placeholders = cli.parse_pairs("--placeholder", options.placeholders, "PATH=TEXT")
    rules = model.NewRules(placeholders, parse_path_rules(options.rules))
    scope = parse_scope(options, options.all_failed, rules)
    project = cli.project_of(options.project)
    with asking(project, options.recording, "" if options.as_json else "asking") as context:
        if options.learn:
            times, drop = options.repeat or refreshing.REPLAYS, options.drop_placeholders
            lessons = refreshing.propose_learning(project, scope, times, context, drop, options.unchanged)
        else:
            proposal = refreshing.propose(project, scope, context)
            version = refreshing.version_of(project, context.clients)
    if options.learn:
        return learn(project, options, lessons)
    return accept_changes(project, version, options, proposal)


def has_no_answers(proposal: model.RefreshProposal) -> bool:
    """Whether none of the named baselines has a stored answer."""
    codes = {refusal.problem.code for refusal in proposal.refusals}
    return not proposal.plans and codes == {NO_ANSWERS}


def accept_changes(
    project: Project, version: str | None, options: RefreshOptions, proposal: model.RefreshProposal
) -> int:
    """Show the changes, ask, write what is accepted, and suggest the next commands. `version`: of git."""
    out, style = screen.Output(options.as_json), screen.style_of(options.verbose)
    accepted = refreshing.accepted_by(proposal.plans, options.paths)
    approvals, held = permitted(options, proposal.plans, accepted)
    write = partial(refreshing.apply, project, approvals, options.approved.stamp(version))
    masked = mask_proposal(proposal, project.redactor)
    out.show(texts.format_refresh(masked, accepted, style))
    if options.dry_run or options.results:
        out.show(format_diffs(write(dry_run=True), style))
    files = {plan.baseline.id: plan.baseline.source.file for plan in proposal.plans}
    complain([refusal.problem for refusal in proposal.refusals], _MOST_PROBLEMS)
    complain([problem.placed(Place(files[id])) for id, problem in held.items()], _MOST_PROBLEMS)
    if proposal.passing:
        out.say(f"{count_noun(len(proposal.passing), 'baseline')} already as in the file")
    commands = commands_to_apply(options, approvals, held)
    applied = None
    if approvals or options.as_json:
        plans = [approval.plan for approval in approvals]
        counted = texts.count_changes(plans, [approval.accepted for approval in approvals])
        applied = write_if_wanted(options, "apply", counted, write, commands)
    elif held:  # everything needs an explicit permission
        screen.line("nothing was written")
        screen.next_commands(commands)
    ids = applied.ids if applied else ()
    if options.as_json:
        reasons: dict[str, Json] = {id: str(problem) for id, problem in held.items()}
        screen.show_json(texts.format_refresh_json(masked, accepted, ids, reasons))
    complain(applied.failures if applied else (), _MOST_PROBLEMS)
    if applied and ids and not options.as_json:
        screen.line(
            f"refreshed {count_noun(len(ids), 'baseline')} in {count_noun(len(applied.files), 'file')}"
        )
        suggest_checks(project, proposal.plans, ids)
    if has_no_answers(proposal):
        return 5
    only_looks = options.dry_run or (options.as_json and not options.yes)
    failed = (held and not only_looks) or (applied is not None and applied.failures)
    return _PENDING if proposal.refusals or failed else 0


def permitted(
    options: RefreshOptions, plans: Sequence[model.RefreshPlan], accepted: Sequence[frozenset[int]]
) -> tuple[list[model.Approval], dict[str, Problem]]:
    """Approve what may be written and hold back the rest, with the reason. At a terminal, risky changes are
    left to the question, but a placeholder is never dropped by a mere yes."""
    is_asked = screen.can_ask() and not (options.as_json or options.yes or options.dry_run)
    permit = Permit(options.allow_high_risk or is_asked, options.drop_placeholders)
    approvals: list[model.Approval] = []
    held: dict[str, Problem] = {}
    for plan, numbers in zip(plans, accepted, strict=True):
        reason = refreshing.reason_against(plan, numbers, permit)
        if reason is not None:
            held[plan.baseline.id] = reason
        if reason is not None and options.dry_run:  # it is shown with what needs a permission
            reason = refreshing.reason_against(plan, numbers, Permit(True, True))
        if reason is None and (numbers or plan.ruled):
            approvals.append(model.Approval(plan, numbers))
    return approvals, held


def commands_to_apply(
    options: RefreshOptions, approvals: Sequence[model.Approval], held: Collection[str]
) -> list[str]:
    """The same command with `--yes` for what needs no permission, and a review of the rest."""
    is_free = any(approval.plan.baseline.id not in held for approval in approvals)
    commands = [again("--yes")] if is_free else []
    if held and "-" not in options.results:
        typed = cli.typed_command()
        source = [word for name in options.results for word in ("--from", name)]
        source += ["--replay"] if options.replay else []
        named = list(held) if len(held) <= _MOST_IN_A_COMMAND else typed.paths
        words = ["baselinekit", "review", *source, *named, *typed.operator]
        commands.append(screen.safe_line(shlex.join(words)))
    return commands or [again()]


# `baselinekit refresh --learn`.


def learn(project: Project, options: RefreshOptions, proposal: LearnProposal) -> int:
    """Show what varies and which differences stay, ask, write the placeholders, and suggest the rest."""
    plans = [plan for plan in proposal.plans if plan.renewal]
    staying = [plan for plan in proposal.plans if plan.lesson.refusals]
    number = sum(len(volatile.places) for plan in plans for volatile in plan.lesson.volatile)
    rules = sum(len(plan.lesson.lists) for plan in plans)
    lists = f" and {count_noun(rules, 'rule')} for lists" if rules else ""
    counted = f"{count_noun(number, 'placeholder')}{lists} of {count_noun(len(plans), 'baseline')}"
    write = partial(refreshing.apply_learning, project, plans, options.approved.stamp(None))
    applied = None
    out = screen.Output(options.as_json)
    out.say(*(line for plan in proposal.plans for line in describe_lesson(plan)))
    stays = [place for plan in staying for place in plan.lesson.refusals]
    if any(map(is_learnable_if_unchanged, stays)) and not options.unchanged:
        out.say("if the service was only restarted, and nothing on it was changed: add --unchanged")
    if plans and options.dry_run:
        out.show(format_diffs(write(dry_run=True), screen.style_of(options.verbose)))
    if plans or options.as_json:
        applied = write_if_wanted(options, "store", counted, write, [again("--yes")])
    ids = applied.ids if applied else ()
    out.document(lessons_as_json(proposal.plans, ids))
    if applied and not options.as_json:
        screen.line(f"wrote {counted} in {count_noun(len(applied.files), 'file')}")
        suggest_checks(project, proposal.plans, ids)
    complain((*proposal.failures, *(applied.failures if applied else ())))
    # for what varies without a placeholder
    rest = {plan.baseline.id: [one.rule for one in plan.lesson.refusals if one.rule] for plan in staying}
    commands = rule_commands(rest, cli.typed_command().operator)
    if staying and not (commands or ids):
        compare = refreshing.compare_command(project, staying[0].baseline)
        commands = [compare if len(staying) == 1 else "baselinekit compare"]
    out.next_commands(commands)
    return _PENDING if staying or proposal.failures or (applied and applied.failures) else 0


def lessons_as_json(plans: Sequence[LearnPlan], written_ids: Collection[str]) -> dict[str, Json]:
    baselines: list[Json] = [
        {
            "id": plan.baseline.id,
            "file": plan.baseline.source.file,
            "replays": plan.replays,
            "kept": plan.kept,
            "learnt": [*map(learnt_as_json, plan.lesson.volatile)],
            "ordered": list(plan.lesson.singles),
            "lists": [{"path": render(rule.path), "rule": str(rule.mode)} for rule in plan.lesson.lists],
            "stays": [*map(unlearnt_as_json, plan.lesson.refusals)],
            "written": plan.baseline.id in written_ids,
        }
        for plan in plans
    ]
    return {"format": "baselinekit.learn/1", "baselines": baselines}


def describe_lesson(plan: LearnPlan) -> Iterator[str]:
    """The lines about one baseline: the paths that vary, with their placeholders, and the differences that
    stay."""
    id, lesson, replays = plan.baseline.id, plan.lesson, count_noun(plan.replays, "replay")
    replays += f" and the answer of the compare of {plan.kept}" if plan.kept else ""
    facts = count_noun(len(lesson.volatile), "varying path")
    facts += f", {count_noun(len(lesson.refusals), 'difference')} of another kind" if lesson.refusals else ""
    yield f"{id}   {plan.baseline.source.file}   {replays}: {facts}"
    yield from describe_learnt((volatile, None) for volatile in lesson.volatile)
    for path in lesson.singles:
        yield f"  note: {path} holds one element and stays `ordered`"
    for rule in lesson.lists:
        least, most = rule.sizes
        yield f"  {render(rule.path)}  arrays: {rule.mode}, for {least} to {most} rows"
    stays = [
        f"  stays: {render(stay.path)}: {stay.message}" + ("" if stay.hint == ACCEPT else f": {stay.hint}")
        for stay in lesson.refusals
    ]
    yield from first_of(stays, _MOST_STAYS)


# `baselinekit review`.

_MOST_DIFFS = 20
_MOST_FILES = 10


@dataclass
class ReviewOptions(ScopeOptions):
    """Go through the changes that failing compares found, and decide each with one key: accept, reject, skip,
    put a placeholder there, ignore the path. Nothing is written before the end.

    Without a terminal it prints what is pending, and the commands to decide it.

    \b
    baselinekit review                          everything that is pending
    baselinekit review users --path body.name   a part of it
    baselinekit review --json                   for editors and agents
    baselinekit review --decide decisions.json
    baselinekit review --from results.json -o review.html    for somebody without this checkout

    \b
    Exit code: 0 nothing is pending any more, 2 usage or an invalid file, 3 something still is,
    5 nothing was selected, 130 interrupted: nothing was written.
    """

    as_json: bool = cli.flag("--json", help="Print everything pending as JSON, and ask nothing.")
    decide: str | None = cli.option("FILE", help="Read the decisions from a JSON file; - is standard input.")
    output: str | None = cli.option(
        "-o",
        "PATH",
        excludes=("as_json", "decide"),
        help="Write a page to decide on elsewhere: review.html. It exports the decisions.",
    )
    dry_run: bool = cli.flag(needs="decide", help="With --decide: show the files as they would become.")
    allow_high_risk: bool = cli.flag(needs="decide", help="With --decide: also accept changes of high risk.")
    drop_placeholders: bool = cli.flag(
        needs="decide", help="With --decide: also accept losing a placeholder."
    )


@cli.command(ReviewOptions)
def review(options: ReviewOptions) -> int:
    scope = parse_scope(options, every=True)
    project = cli.project_of(options.project)
    with asking(project, options.recording) as context:
        try:
            proposal = refreshing.propose(project, scope, context)
        except NothingSelected as nothing:
            if options.words or nothing.problems[0].code != NO_ANSWERS:
                raise
            proposal = model.RefreshProposal(())
        proposal = select_paths(proposal, options.paths)
        return ReviewSession(project, context, options, screen.style_of(), proposal, scope).run()


def select_paths(proposal: model.RefreshProposal, paths: Sequence[str]) -> model.RefreshProposal:
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
    proposal: model.RefreshProposal
    scope: RefreshScope

    def run(self) -> int:
        if self.options.decide is not None:
            return self.decide_from_file(self.options.decide)
        if self.options.output is not None:
            self.write_page(self.options.output)
        elif self.options.as_json:
            screen.show_json(reviewing.as_json(self.project, self.proposal, cli.typed_command().operator))
        elif not self.proposal.groups or not screen.can_ask():
            masked = mask_proposal(self.proposal, self.project.redactor)
            operator = cli.typed_command().operator
            words = cli.repeat_command(without=("as_json", "color"))[1:]
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
        return self.finish(review.ledger.decided, self.options.approved)

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
        files = self.preview({**decided, **dict.fromkeys(members, model.Decision("accept"))})
        diffs = [texts.format_file_diff(file, style) for file in files.files]
        return "\n" + "\n".join(diffs) + "\n" if diffs else "no file would change\n"

    def preview(self, decided: dict[model.Member, model.Decision]) -> model.Applied:
        approvals = settle_plans(self.proposal.plans, decided)
        return refreshing.apply(self.project, approvals, self.options.approved.stamp(None), dry_run=True)

    def write_page(self, path: str) -> None:
        """Write the page, and how its decisions come back."""
        from baselinekit.web.pages import static_page  # the page is not needed otherwise
        from baselinekit.web.review import ReviewDesk

        results, operator = self.options.results, cli.typed_command().operator
        source = [word for name in results for word in ("--from", name)]
        command = shlex.join(["baselinekit", "review", *source, *operator, "--decide", "decisions.json"])
        desk = ReviewDesk(self.project, self.scope, self.context)
        write_text(path, static_page(desk.document(self.proposal, with_diffs=True) | {"command": command}))
        complain([refusal.problem for refusal in self.proposal.refusals])
        screen.say(f"wrote {path}: {count_noun(len(self.proposal.groups), 'decision')}")
        screen.next_commands([screen.safe_line(command)])

    def decide_from_file(self, name: str) -> int:
        text = cli.read_text("--decide", name, "a file with decisions in JSON")
        permit = Permit(self.options.allow_high_risk, self.options.drop_placeholders)
        file = "standard input" if name == "-" else name
        read = reviewing.decisions_in(text, file, self.proposal, self.project, permit)
        if self.options.dry_run:
            # Called so that the redactor learns which random-looking values are not secrets and stay visible.
            mask_proposal(self.proposal, self.project.redactor)
            screen.show(format_diffs(self.preview(read.decided), self.style))
            screen.line("nothing was written")
            return 0
        approved = self.options.approved
        by, reason = approved.by or read.by, approved.reason or read.reason
        return self.finish(read.decided, replace(approved, by=by, reason=reason))

    def finish(self, decided: Mapping[model.Member, model.Decision], approved: StampOptions) -> int:
        """Write the decisions, and print the outcome of everything."""
        version = refreshing.version_of(self.project, self.context.clients)
        approvals = settle_plans(self.proposal.plans, decided)
        applied = refreshing.apply(self.project, approvals, approved.stamp(version))
        remaining = list(reviewing.undecided(self.proposal.plans, decided))
        counts = count_verbs(decision for decision in decided.values() if decision.verb != "skip")
        problems = (*applied.failures, *(refusal.problem for refusal in self.proposal.refusals))
        complain(problems)
        if self.options.as_json:
            screen.show_json(texts.format_decisions_json(self.proposal, applied, counts, remaining))
        else:
            left = f", {len(remaining):,} left" if remaining else ""
            screen.line(texts.count_verbs(counts, self.style) + left)
            screen.say(*first_of([f"wrote {file.file}" for file in applied.files], _MOST_FILES, "file"))
            suggest_checks(self.project, self.proposal.plans, applied.ids)
        return _PENDING if remaining or problems else 0
