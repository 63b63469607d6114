"""`baselinekit merge`."""

import os
from typing import Any

import click

from baselinekit.cli import delivery, redaction, screen
from baselinekit.model.results import Report
from baselinekit.report import terminal as terminal
from baselinekit.report.forms.table import render_report
from baselinekit.report.style import Style
from baselinekit.variables import Redactor
from baselinekit.workflow import resultfiles


@click.command(short_help="Make one report of the result files of several shards.")
@click.argument("results", nargs=-1, required=True, type=click.Path())
@click.option("-o", "outputs", metavar="PATH", multiple=True, help="Write the report: as compare -o does.")
@click.option("--json", "as_json", is_flag=True, help="Print the result file instead of text.")
@click.option(
    "--allow-different",
    "different",
    multiple=True,
    type=click.Choice(resultfiles.MAY_DIFFER),
    help="Merge shards although they differ in this; the report tells it.",
)
@click.option("-q", "--quiet", is_flag=True, help="Only the last line.")
@click.option("-v", "--verbose", is_flag=True, help="Also what passed, and the differences in words.")
@screen.color_option
def merge(
    results: tuple[str, ...], outputs: tuple[str, ...], different: tuple[str, ...], color: str, **given: Any
) -> int:
    """Put RESULTS together, the files that `compare --shard 1/4 -o 1.json` and its sisters wrote.

    The report is that of one run without shards. A shard that is missing makes it incomplete; files of
    different runs, targets, configurations or versions are refused. Exit code: that of the whole, as of
    compare.
    """
    delivery.check(outputs)
    report = resultfiles.merge(resultfiles.load(results, os.getcwd()), different)
    redaction.draw(_looked_at(report).mask_said)
    report = delivery.deliver(report, outputs, os.getcwd())
    if given["as_json"]:
        screen.show_json(render_report(report, ".json"))
        delivery.tell_lost(report)
    else:
        _print(report, screen.style_of(color), given["verbose"], given["quiet"])
    delivery.annotate(report, outputs, os.getcwd(), err=given["as_json"])
    return report.exit_code


def _looked_at(report: Report) -> Redactor:
    """What looks random and is no secret where it stands (an id, a tag) is shown, as the runs showed it."""
    redactor = Redactor({})
    for result in report.results:
        redactor.mask_value(result.resolved)
        for spot in result.differences:
            redactor.mask_value(spot.expected, spot.path)
            redactor.mask_value(spot.actual, spot.path)
    return redactor


def _print(report: Report, style: Style, verbose: bool, quiet: bool) -> None:
    if verbose:
        screen.show(terminal.format_passed(report, style))
    if not quiet:
        screen.show(terminal.format_failures(report, style, verbose))
        screen.show(terminal.format_weakened(report, style))
        screen.show(terminal.format_warnings(report, style))
    screen.line(terminal.format_summary(report, style))
    if quiet:
        delivery.tell_lost(report)
