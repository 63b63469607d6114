"""`baselinekit run`."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click

from baselinekit.cli import (
    delivery,
    delivery as keptreports,
    delivery as telling,
    gate_hints,
    models,
    options,
    screen,
)
from baselinekit.cli.clients import real_context
from baselinekit.cli.clock import clock
from baselinekit.cli.progress import show_progress
from baselinekit.errors import InvalidInput, Problem
from baselinekit.evals.attempts import Outside
from baselinekit.evals.earlier import check_parts, compared, load_earlier
from baselinekit.evals.finishing import keep_reports
from baselinekit.evals.measuring import RATE
from baselinekit.evals.rating import Queue
from baselinekit.evals.run import Planned, RunPolicy, planned, run as evaluate
from baselinekit.evals.selection import Choice, load
from baselinekit.metrics import PRESETS
from baselinekit.model.evals import Suite
from baselinekit.model.graders import FunctionOutput
from baselinekit.model.observation import Ran
from baselinekit.model.results import Outcome, Report
from baselinekit.programs.sandbox import Execute, Sandbox
from baselinekit.report import terminal as terminal
from baselinekit.report.evals.terms import format_failures, format_metrics, format_passed, format_skipped
from baselinekit.report.forms.table import render_report
from baselinekit.report.style import Style
from baselinekit.report.wording import command_line, renewable, seeing
from baselinekit.store import results
from baselinekit.texts import many
from baselinekit.workflow import history
from baselinekit.workflow.masking import masked
from baselinekit.workflow.project import Project

# `run --list`: what would be run, by whom it would be graded, and how often models would be asked.


def show(
    project: Project, suite: Suite, wanted: Choice, policy: RunPolicy, as_json: bool, verbose: bool = False
) -> int:
    found = looked_at(project, suite, wanted, policy, models.RecordingOptions())
    if as_json:
        screen.show_json(json.dumps([_document(one) for one in found], indent=2, default=str) + "\n")
    else:
        _print_list(found, len(suite.cases), verbose)
    return 0


def looked_at(
    project: Project, suite: Suite, wanted: Choice, policy: RunPolicy, kept: models.RecordingOptions
) -> list[Planned]:
    """Everything as a run would, and nobody is asked."""
    with real_context() as context:
        context = models.LazyModels(project, context.clients, kept).added_to(context)
        sandbox = Sandbox(context.clients.execute, project.trust.allow_exec)
        return planned(project, suite, wanted, policy, context.clients, Outside(check=sandbox.check))


def _print_list(found: Sequence[Planned], of: int, verbose: bool) -> None:
    widest = max(len(one.case.id) for one in found)
    for one in found:
        graders = ", ".join(f"{each.name} ({each.kind})" for each in one.case.graders)
        told = [f"{one.case.id:<{widest}}", f"{one.case.recipe.kind:<7}", one.place]
        told.append(f"skipped: {one.case.skip}" if one.case.skip is not None else f"by {graders}")
        screen.line(screen.safe_line("  ".join(told)))
        for name, criteria in one.criteria.items() if verbose else ():
            for line in criteria:
                screen.line(screen.safe_line(f"    {name}: {line}"))
    calls, attempts = sum(one.calls for one in found), sum(one.attempts for one in found)
    cases = f"{len(found):,} of {of:,} cases" if len(found) < of else many(len(found), "case")
    more = ", and more where an attempt is tried again" if calls else ""
    screen.line(
        f"{cases}, {many(attempts, 'attempt')}, {many(calls, 'call')} of models{more}; nothing was run"
    )


def _document(one: Planned) -> dict[str, Any]:
    case = one.case
    return {
        "id": case.id,
        "place": one.place,
        "kind": case.recipe.kind,
        "eval_type": case.kind,
        "tags": list(case.tags),
        "graders": [
            {
                "name": each.name,
                "kind": each.kind,
                "required": each.required,
                **({"criteria": one.criteria[each.name]} if each.name in one.criteria else {}),
            }
            for each in case.graders
        ],
        "skip": case.skip,
        "attempts": one.attempts,
        "model_calls": one.calls,
    }


# `baselinekit run`.


@click.command(short_help="Run eval cases: grade what comes back, and count.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--suite", metavar="FILE", help="A suite; else PATHS, else all below evals/.")
@click.option("--category", "categories", multiple=True, help="capability, regression, or a category.")
@click.option("--id", "ids", metavar="GLOB", multiple=True, help="Only these ids.")
@click.option("--tag", "tags", multiple=True, help="Only with one of these tags.")
@click.option("--exclude-tag", "exclude_tags", multiple=True, help="Without these tags.")
@click.option("-k", "expression", metavar="EXPR", help='Words of id, name or tag: "strings and not slow".')
@click.option("--lf", "--last-failed", "last_failed", is_flag=True, help="Only what did not pass last time.")
@click.option(
    "--list", "only_list", is_flag=True, help="Say what would be run (-v: by which criteria), and ask nobody."
)
@click.option("-x", "--exitfirst", "first", is_flag=True, help="Stop at the first that does not pass.")
@click.option("--grader-type", type=click.Choice(["code", "model", "human"]), help="Only such graders.")
@click.option(
    "--attempts", type=click.IntRange(1, 1000), metavar="N", help="Make N of each case; all have to pass."
)
@click.option("-j", "--jobs", type=click.IntRange(1, 512), help="How many at once; else as the suite says.")
@click.option("--resume", is_flag=True, help="Go on where the last run was stopped or killed.")
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 1),
    metavar="RATE",
    help="The share of the cases that has to pass; else all.",
)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="Thresholds of pass@1, pass@3 and pass^3; three attempts unless --attempts says more.",
)
@click.option("--compare-to", metavar="RUN", help="Each case beside an earlier run: a result file, or last.")
@click.option(
    "--across",
    multiple=True,
    metavar="PART",
    help="With --compare-to: compare although the model, judge, files, grader or case differs.",
)
@click.option("--fail-on-regressed", is_flag=True, help="With --compare-to: exit 1 if any case regressed.")
@click.option(
    "--record/--no-record",
    default=None,
    help="Write last_passed and failure_count of regression records; in CI the default is not to.",
)
@click.option(
    "-o", "outputs", metavar="PATH", multiple=True, help="Write a report: x.html, x.eval.md, x.json."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result file instead of text.")
@click.option("-q", "--quiet", is_flag=True, help="Only the last line.")
@click.option("-v", "--verbose", is_flag=True, help="Also what passed, every grader and every metric.")
@models.model_options
@options.project_options
@screen.color_option
def run(paths: tuple[str, ...], color: str, **given: Any) -> int:
    """Run the eval cases below PATHS, or of a suite: ask, grade, count.

    A suite's reports are kept in results/ beside it, unless it says where else.

    \b
    Exit code: 0 all passed, or as many as have to; 1 too few, or a regression; 2 usage or an
    invalid file; 3 could not run or judge; 4 refused; 5 nothing selected; 130 interrupted.
    """
    delivery.check(given["outputs"])
    project, own = options.project_of(given), {"resume": given["resume"], "paths": paths}
    wanted = models.kept(given)
    given |= own
    suite = load(project, paths, given["suite"])
    if given["only_list"]:
        chosen, policy = choice_of(project, given), policy_of(project, given)
        return show(project, suite, chosen, policy, given["as_json"], given["verbose"])
    before = _earlier(project, suite, given)
    report = executed(project, suite, wanted, given)
    if before is not None:
        strict = given["fail_on_regressed"]
        report = replace(report, earlier=compared(report, before, given["across"], strict))
    report = masked(report, project.redactor)
    remember(project, report)
    history.keep(project.root, report)
    kept, why = keep_reports(project, suite, report)
    if why:
        report = replace(report, warnings=(*report.warnings, why))
    report = delivery.deliver(report, given["outputs"], project.root)
    if given["as_json"]:
        screen.show_json(render_report(report, ".json"))
        delivery.tell_lost(report)
    else:
        _print(project, report, kept, screen.style_of(color), given)
    delivery.annotate(report, given["outputs"], project.root, err=given["as_json"])
    telling.tell(project, report, report.exit_code, by_suite=suite.reporting.notify_on_failure)
    return report.exit_code


def _earlier(project: Project, suite: Suite, given: dict[str, Any]) -> Report | None:
    """The run to compare with; one that is not there is told before anything is asked."""
    check_parts(given["across"])
    if given["compare_to"] is not None:
        return load_earlier(project, given["compare_to"], suite.name)
    if given["fail_on_regressed"] or given["across"]:
        what = "there is nothing to be compared with"
        raise InvalidInput(Problem("BK508", what, "add --compare-to last, or a result file"))
    return None


def executed(
    project: Project, suite: Suite, wanted: models.RecordingOptions, given: dict[str, Any]
) -> Report:
    """The run itself, with real doors."""
    with ExitStack() as stack:
        advance = None if given["quiet"] or given["as_json"] else _progress(stack)
        context = stack.enter_context(real_context(advance))
        asked = models.LazyModels(project, context.clients, wanted)
        context = asked.added_to(context)
        sandbox = Sandbox(context.clients.execute, project.trust.allow_exec)

        def in_sandbox(method: FunctionOutput, code: str, execute: Execute) -> Ran:
            return Sandbox(execute, project.trust.allow_exec).run(method, code)

        report = evaluate(
            project,
            suite,
            choice_of(project, given),
            policy_of(project, given),
            context,
            Outside(in_sandbox, Queue(project, clock()).rated, sandbox.check),
            options.command_line(project),
        )
        report = replace(report, spent=asked.spent)
        if report.complete and not (report.interrupted or report.summary.error):
            asked.forget()
    return report


def remember(project: Project, report: Report) -> None:
    """What did not pass, for --lf; of what compare knows as well, for its --lf too."""
    results.remember(project.root, report, results.TRIED)
    known = (one for one in report.results if one.case is not None and one.case.eval_type == "regression")
    results.remember(project.root, replace(report, results=tuple(known)))


def _progress(stack: ExitStack) -> Callable[[int], Callable[[Outcome], None]]:
    def begin(total: int) -> Callable[[Outcome], None]:
        return stack.enter_context(show_progress(total, sys.stderr, "running"))

    return begin


def choice_of(project: Project, given: dict[str, Any]) -> Choice:
    return Choice(
        given["categories"],
        given["tags"],
        given["expression"],
        given["grader_type"],
        given["ids"],
        given["exclude_tags"],
        results.not_passed(project.root, results.TRIED) if given["last_failed"] else None,
    )


def policy_of(project: Project, given: dict[str, Any]) -> RunPolicy:
    record = options.record_of(project, given["record"])
    thresholds = dict(PRESETS[given["preset"]]) if given["preset"] else {}
    if given["fail_under"] is not None:
        thresholds[RATE] = given["fail_under"]
    attempts = given["attempts"] or (3 if given["preset"] else None)
    if given["preset"] and (attempts or 0) < 3:
        what = "a preset asks for pass@3, which fewer than three attempts cannot tell"
        raise InvalidInput(Problem("BK508", what, "leave out --attempts, or make it 3 or more"))
    lasting = given.get("lasting")
    return RunPolicy(record, given["jobs"], attempts, given["resume"], given["first"], thresholds, lasting)


def _print(project: Project, report: Report, kept: list[str], style: Style, given: dict[str, Any]) -> None:
    """Only what did not pass; then the metrics, the count, and what to type next."""
    verbose, quiet = given["verbose"], given["quiet"]
    if verbose:
        screen.show(format_passed(report, style))
    if not quiet:
        screen.show(format_failures(report, style, verbose))
        screen.show(terminal.format_warnings(report, style))
        screen.show(format_skipped(report, style, verbose))
        screen.show(format_metrics(report, style, verbose))
        screen.show(terminal.format_judges(report, style))
        screen.show(terminal.format_earlier(report, style, verbose))
    screen.line(terminal.format_summary(report, style))
    if quiet:
        delivery.tell_lost(report)
        return
    if kept:
        screen.line(style.paint(f"kept: {keptreports.told(kept)}", "dim"))
    for command in _next(project, report, kept, given) or _to_judge(report, kept):
        screen.line(f"next: {command}")


def _to_judge(report: Report, kept: list[str]) -> list[str]:
    """A gate, for who asked so often that there is something to judge, and said nowhere what is enough."""
    metrics = report.suite.metrics if report.suite else ()
    file = keptreports.result_file(kept)
    several = any(one.name == "pass@3" and one.value is not None for one in metrics)
    if (
        file is None
        or not several
        or report.coverage.left_out
        or any(one.threshold is not None for one in metrics)
    ):
        return []
    return [command_line("gate", file, "--preset", "staging")]


def _next(project: Project, report: Report, kept: list[str], given: dict[str, Any]) -> list[str]:
    """What to type next, the most useful first."""
    named = ["--suite", given["suite"]] if given["suite"] else given["paths"]
    failed = [result for result in report.results if result.outcome == "failed"]
    commands = []
    if not report.complete:
        words = [word for word in sys.argv[1:] if word not in ("--resume", "-x", "--exitfirst")]
        commands.append(command_line(*words, "--resume"))
    if failed and not given["verbose"]:
        commands += seeing(failed[:1], named)
    changed = renewable(failed)
    if changed:
        file = os.path.relpath(os.path.join(project.root, changed[0].file), project.cwd)
        commands.append(command_line("refresh", file, "--dry-run"))
    if any(result.verdict in gate_hints.WAITING for result in report.results):
        commands.append("baselinekit grade")
        waiting = keptreports.result_file([*given["outputs"], *kept])
        commands += [command_line("grade", "--finish", waiting)] if waiting else []
    codes = {result.code: None for result in report.results if result.outcome == "error" and result.code}
    return [*commands, *(f"baselinekit explain {code}" for code in codes)][:4]
