"""What `baselinekit refresh --learn` does: replay, show what varies, and ask whether to store
placeholders."""

import json
import shlex
from collections.abc import Sequence

import click

from baselinekit.cli import approving, screen
from baselinekit.cli.approve import RefreshOptions
from baselinekit.cli.approving import complain, parse_scope, suggest_checks
from baselinekit.cli.capturing import describe_learnt, learnt_as_json
from baselinekit.cli.clients import ONCE_MORE, real_context, with_models, with_progress
from baselinekit.cli.options import project_of, repeat_command, typed_command
from baselinekit.commands.context import RunContext
from baselinekit.commands.project import Project
from baselinekit.commands.refresh import (
    REPLAYS,
    LearnPlan,
    LearnProposal,
    apply_learning,
    compare_command,
    propose_learning,
)
from baselinekit.errors import InvalidInput, Problem
from baselinekit.learning.lesson import ACCEPT, is_learnable_if_unchanged
from baselinekit.learning.lists import ListRule
from baselinekit.model.changes import Applied
from baselinekit.model.values import Json
from baselinekit.report.next_commands import rule_commands
from baselinekit.report.reviewing import format_file_diff
from baselinekit.structs import MutableStruct
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun

FORMAT = "baselinekit.learn/1"
_MOST_PATHS = 40
_MOST_STAYS = 10
_LEFT = 3


def refresh(options: RefreshOptions) -> int:
    """Run `refresh`, with or without --learn."""
    options.check()
    return refresh_by_learning(options) if options.learn else approving.refresh(options)


def refresh_by_learning(options: RefreshOptions) -> int:
    scope = parse_scope(options, options.all_failed)
    project = project_of(options.project)
    with real_context() as context:
        context = with_models(context, project, options.recording)
        with with_progress(context, "" if options.as_json else "asking", options.color, ONCE_MORE) as asking:
            proposal = propose_learning(
                project,
                scope,
                options.repeat or REPLAYS,
                asking,
                options.drop_placeholders,
                options.unchanged,
            )
        return LearningScreen(project, context, options, proposal).run()


class LearningScreen(MutableStruct):
    """One `refresh --learn` as the user sees it."""

    project: Project
    context: RunContext
    options: RefreshOptions
    proposal: LearnProposal

    def run(self) -> int:
        options, plans = self.options, [plan for plan in self.proposal.plans if plan.renewal]
        stamp = options.approved.stamp(None)
        applied: Applied | None = None
        if options.as_json:
            if options.yes and not options.dry_run:
                applied = apply_learning(self.project, plans, stamp)
            self.print_json(applied)
        else:
            self.show()
            if plans and options.dry_run:
                style = screen.style_of(options.color)
                for rewritten in apply_learning(self.project, plans, stamp, dry_run=True).files:
                    screen.show(format_file_diff(rewritten, style) + "\n")
                screen.line(f"{count(plans)}; nothing was written")
                screen.next_commands([self.repeat_command()])
            elif plans and (options.yes or self.is_confirmed(plans)):
                applied = apply_learning(self.project, plans, stamp)
                screen.line(f"wrote {count(plans)} in {count_noun(len(applied.files), 'file')}")
                suggest_checks(self.project, self.context, applied, [plan.baseline for plan in plans])
            elif plans:
                screen.line("nothing was written")
        complain(self.proposal.failures)
        complain(applied.failures if applied else ())
        rules = {
            plan.baseline.id: [place.rule for place in plan.stays if place.rule]
            for plan in self.proposal.plans
        }
        commands = rule_commands(rules, typed_command().operator)
        if commands and not options.as_json:
            screen.next_commands(commands)
        elif not (applied and applied.ids):
            self.suggest_refresh()
        return self.exit_code(applied)

    def show(self) -> None:
        """Print what varies, and which differences stay."""
        for plan in self.proposal.plans:
            for line in describe(plan):
                screen.line(line)
        stays = [place for plan in self.proposal.plans for place in plan.stays]
        if any(map(is_learnable_if_unchanged, stays)) and not self.options.unchanged:
            screen.line("if the service was only restarted, and nothing on it was changed: add --unchanged")

    def is_confirmed(self, plans: Sequence[LearnPlan]) -> bool:
        if not screen.can_ask():
            message = f"{count(plans)}; nothing was written: there is no terminal to ask in"
            raise InvalidInput(Problem("BK508", message, f"{self.repeat_command('--yes')} (or --dry-run)"))
        return bool(click.confirm(f"store {count(plans)}?", default=False))

    def repeat_command(self, *arguments: str) -> str:
        more = arguments or ("--yes",)
        words = repeat_command(*more, without=("dry_run", "as_json", "yes"))
        return screen.safe_line(shlex.join(["baselinekit", *words]))

    def suggest_refresh(self) -> None:
        """Suggest a compare for the differences that stay, to be followed by a refresh."""
        undecided = [plan for plan in self.proposal.plans if plan.stays]
        if undecided and not self.options.as_json:
            screen.next_commands(
                [compare_command(self.project, undecided[0].baseline)]
                if len(undecided) == 1
                else ["baselinekit compare"]
            )

    def exit_code(self, applied: Applied | None) -> int:
        has_failures = self.proposal.failures or (applied and applied.failures)
        return _LEFT if has_failures or any(plan.stays for plan in self.proposal.plans) else 0

    def print_json(self, applied: Applied | None) -> None:
        written_ids = set(applied.ids) if applied else set()
        document: dict[str, Json] = {
            "format": FORMAT,
            "baselines": [
                {
                    "id": plan.baseline.id,
                    "file": plan.baseline.source.file,
                    "replays": plan.replays,
                    "kept": plan.kept,
                    "learnt": [learnt_as_json(volatile) for volatile in plan.volatile],
                    "ordered": list(plan.lesson.singles),
                    "lists": [
                        {"path": render(rule.path), "rule": str(rule.mode)} for rule in plan.lesson.lists
                    ],
                    "stays": [
                        {
                            "path": render(difference.path),
                            "kind": difference.kind,
                            "what": difference.message,
                            "hint": difference.hint,
                        }
                        for difference in plan.stays
                    ],
                    "written": plan.baseline.id in written_ids,
                }
                for plan in self.proposal.plans
            ],
        }
        screen.show_json(json.dumps(document, default=str) + "\n")


def count(plans: Sequence[LearnPlan]) -> str:
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


def describe(plan: LearnPlan) -> list[str]:
    """The lines about one baseline: the paths that vary, with their placeholders, and the differences that
    stay."""
    replays = count_noun(plan.replays, "replay")
    if plan.kept:
        replays += f" and the answer of the compare of {plan.kept}"
    if not (plan.volatile or plan.stays or plan.lesson.lists):
        return [screen.safe_line(f"{plan.baseline.id}   {replays}: as on file, there is nothing to learn")]
    paths = count_noun(len(plan.volatile), "path")
    facts = f"{paths} var{'ies' if len(plan.volatile) == 1 else 'y'}"
    differences = f", {count_noun(len(plan.stays), 'difference')} of another kind" if plan.stays else ""
    lines = [
        screen.safe_line(
            f"{plan.baseline.id}   {plan.baseline.source.file}   {replays}: {facts}{differences}"
        )
    ]
    for volatile in plan.volatile[:_MOST_PATHS]:
        lines += describe_learnt(volatile, None)
    if len(plan.volatile) > _MOST_PATHS:
        lines.append(f"  … and {len(plan.volatile) - _MOST_PATHS:,} more")
    lines += [
        f"  note: {screen.safe(path)} holds one element and stays `ordered`" for path in plan.lesson.singles
    ]
    lines += [screen.safe_line(line) for rule in plan.lesson.lists for line in describe_rule(rule)]
    for difference in plan.stays[:_MOST_STAYS]:
        hint = "" if difference.hint == ACCEPT else f": {difference.hint}"
        lines.append(screen.safe_line(f"  stays: {render(difference.path)}: {difference.message}{hint}"))
    if len(plan.stays) > _MOST_STAYS:
        lines.append(f"  … and {len(plan.stays) - _MOST_STAYS:,} more that stay")
    return lines
