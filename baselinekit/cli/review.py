"""`baselinekit review`."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from baselinekit.approval import review as reviewing
from baselinekit.approval.approving import Permit, version_of
from baselinekit.approval.decisions import decisions_in, undecided
from baselinekit.approval.refresh import accepted_by, propose
from baselinekit.cli import models, options, options as completion, pending_options, screen
from baselinekit.cli.clients import real_context
from baselinekit.errors import NothingSelected, Problem
from baselinekit.model.changes import Decision, Member, RefreshProposal, Stamp
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


@click.command(short_help="Decide what changed, one change after the other.")
@click.argument("words", nargs=-1, metavar="[ID|PATH]...", shell_complete=completion.ids)
@pending_options.selecting
@click.option("--path", "paths", metavar="PATH", multiple=True, help="Only what changes there.")
@click.option("--from", "results", metavar="RESULTS", help="What a CI job saw: its results.json; - reads it.")
@click.option("--replay", is_flag=True, help="Ask the targets again.")
@click.option("--json", "as_json", is_flag=True, help="Print all that is pending as JSON, and ask nothing.")
@click.option("--decide", metavar="FILE", help="Take the decisions from a JSON file; - reads them.")
@click.option("--dry-run", is_flag=True, help="With --decide: show the files as they would be.")
@click.option("--allow-high-risk", is_flag=True, help="With --decide: also where the risk is high.")
@click.option("--drop-placeholders", is_flag=True, help="With --decide: also where a placeholder is lost.")
@click.option("--version", metavar="TEXT", help="The version of what answered; else what git describes.")
@click.option("--by", metavar="WHO", help="Note who approved it.")
@click.option("--reason", metavar="TEXT", help="Note why.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 512), default=8, show_default=True, help="With --replay: at once."
)
@models.model_options
@options.project_options
@screen.color_option
def review(words: tuple[str, ...], color: str, **given: Any) -> int:
    """Go through what failing compares saw, and decide each change by one key: accept, reject, skip, put a
    placeholder there, ignore the path. Nothing is written before the end.

    Without a terminal it prints what is pending, and the commands that decide it.

    \b
    baselinekit review                          all that is pending
    baselinekit review users --path body.name   a part of it
    baselinekit review --json                   for editors and agents
    baselinekit review --decide decisions.json

    \b
    Exit code: 0 nothing is pending any more, 2 usage or an invalid file, 3 something still is,
    5 nothing was selected, 130 interrupted: nothing was written.
    """
    wanted, asking = pending_options.wanted_of(words, given, True), models.kept(given)
    project = options.project_of(given)
    with real_context() as context:
        context = (
            models.LazyModels(project, context.clients, asking).added_to(context)
            if wanted.replay
            else context
        )
        try:
            proposal = propose(project, wanted, context)
        except NothingSelected as nothing:
            if words or nothing.problems[0].code != _NOTHING_KEPT:
                raise
            proposal = RefreshProposal(())
        proposal = _only_at(proposal, given["paths"])
        return _Session(project, context, given, screen.style_of(color), proposal).run()


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
    given: dict[str, Any]
    style: Style
    proposal: RefreshProposal

    def run(self) -> int:
        if self.given["decide"] is not None:
            return self._from_file(self.given["decide"])
        if self.given["as_json"]:
            screen.show_json(reviewing.as_json(self.project, self.proposal))
        elif not self.proposal.groups or not screen.can_ask():
            screen.show(format_pending(reviewing.shown(self.project, self.proposal), self.style))
            self._tell_refused()
        else:
            self._tell_refused()
            return self._ask()
        return _PENDING if self.proposal.plans or self._refused() else 0

    def _ask(self) -> int:
        """Keys in, screens out, until all is decided or somebody leaves."""
        from baselinekit.cli.keys import AGAIN, REDRAW, Region, keyboard

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

    def _press(self, review: Review, key: str, region: Any, style: Style) -> None:
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
        files = reviewing.diffs(self.project, self.proposal.plans, wanted, self._stamp(None))
        shown = "\n".join(format_file_diff(one, style) for one in files)
        more = len(review.ledger.in_sight) - len(members)
        rest = f"… and {more:,} more\n" if more else ""
        return f"\n{shown or 'no file would change'}\n{rest}" if shown else "no file would change\n"

    def _from_file(self, name: str) -> int:
        text = pending_options.read_text("--decide", name, "a file with decisions in JSON")
        permit = Permit(self.given["allow_high_risk"], self.given["drop_placeholders"])
        knows = reviewing.Knows(self.project)
        decided = decisions_in(
            text, "standard input" if name == "-" else name, self.proposal.plans, knows, permit
        )
        if self.given["dry_run"]:
            reviewing.shown(self.project, self.proposal)  # what is no secret where it stands stays in sight
            for one in reviewing.diffs(self.project, self.proposal.plans, decided, self._stamp(None)):
                screen.show(format_file_diff(one, self.style) + "\n")
            screen.line("nothing was written")
            return 0
        return self._finish(decided)

    def _finish(self, decided: dict[Member, Decision]) -> int:
        """Write it down, and say what became of everything."""
        version = version_of(self.project, self.context.clients)
        applied = reviewing.finish(self.project, self.proposal.plans, decided, self._stamp(version))
        left = list(undecided(self.proposal.plans, decided))
        counts = reviewing.counted(decided)
        failures = applied.failures
        if self.given["as_json"]:
            screen.show_json(format_decisions_json(self.proposal, applied, counts, left))
        else:
            screen.line(count_decisions(counts, len(left), self.style))
            for one in applied.files[:_MOST_NAMED]:
                screen.line(f"written {screen.safe_line(one.file)}")
            if len(applied.files) > _MOST_NAMED:
                more = len(applied.files) - _MOST_NAMED
                screen.line(f"… and {many(more, 'more file')}")
        self._complain(failures)
        self._tell_refused()
        if not self.given["as_json"]:
            for command in pending_options.next_commands(
                self.project, self.context, applied, self.proposal.plans
            ):
                screen.line(f"next: {screen.safe_line(command)}")
        return _PENDING if left or failures or self._refused() else 0

    def _stamp(self, version: str | None) -> Stamp:
        return Stamp(self.given["version"] or version, self.given["by"], self.given["reason"])

    def _refused(self) -> bool:
        return bool(self.proposal.refusals)

    def _tell_refused(self) -> None:
        self._complain([refusal.problem for refusal in self.proposal.refusals])

    def _complain(self, problems: Sequence[Problem]) -> None:
        for problem in problems:
            screen.line(screen.safe(str(problem)), err=True)
