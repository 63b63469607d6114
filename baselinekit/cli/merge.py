"""`baselinekit merge`."""

import os
from dataclasses import dataclass

import click

from baselinekit.cli import delivery, redaction, screen
from baselinekit.cli.options import argument, color_option, option, takes
from baselinekit.report import terminal
from baselinekit.report.beside import describe_weakened
from baselinekit.report.style import format_lines
from baselinekit.variables import Redactor
from baselinekit.workflow import resultfiles


@dataclass(frozen=True)
class MergeOptions:
    results: tuple[str, ...] = argument(nargs=-1, required=True, type=click.Path())
    outputs: tuple[str, ...] = option(
        "-o", metavar="PATH", multiple=True, help="Write the report: as compare -o does."
    )
    as_json: bool = option("--json", is_flag=True, help="Print the result file (JSON) instead of text.")
    different: tuple[str, ...] = option(
        "--allow-different",
        multiple=True,
        type=click.Choice(resultfiles.MAY_DIFFER),
        help="Merge shards even if they differ in this; the report says so.",
    )
    quiet: bool = option("-q", "--quiet", is_flag=True, help="Print only the last line.")
    verbose: bool = option(
        "-v", "--verbose", is_flag=True, help="Also print what passed, and explain the differences in words."
    )
    color: str = color_option()


@click.command(short_help="Combine the result files of several shards into one report.")
@takes(MergeOptions)
def merge(options: MergeOptions) -> int:
    """Combine RESULTS, the files that `compare --shard 1/4 -o 1.json` and the other shards wrote.

    The report is that of one run without shards. A missing shard makes it incomplete; files of different
    runs, targets, configurations or versions are refused. The exit code is that of one compare of them all.
    """
    delivery.check(options.outputs)
    report = resultfiles.merge(resultfiles.load(options.results, os.getcwd()), options.different)
    redactor = Redactor({})
    for result in report.results:  # what looks random and is no secret where it stands is shown: an id, a tag
        redactor.mask_value(result.resolved)
        for spot in result.differences:
            redactor.mask_value(spot.expected, spot.path)
            redactor.mask_value(spot.actual, spot.path)
    redaction.install(redactor.mask_said)
    report = delivery.deliver(report, options.outputs, os.getcwd())
    if not delivery.show_json(report, options.as_json):
        style = screen.style_of(options.color, options.verbose)
        if options.verbose:
            screen.show(terminal.format_passed(report, style))
        if not options.quiet:
            screen.show(terminal.format_failures(report, style))
            screen.show(format_lines(describe_weakened(report.against, style)))
            screen.show(terminal.format_warnings(report, style))
        screen.line(terminal.format_summary(report, style))
        if options.quiet:
            delivery.tell_lost(report)
    delivery.annotate(report, options.outputs, os.getcwd(), err=options.as_json)
    return report.exit_code
