"""`baselinekit calibrate`."""

import json
from dataclasses import asdict
from typing import Any

import click

from baselinekit.cli import models, options, screen
from baselinekit.cli.clients import real_context
from baselinekit.evals import selection
from baselinekit.evals.judges import calibrate as measure, judges_of
from baselinekit.report.judges import describe_agreement
from baselinekit.suites.ratingfile import measured_file


@click.command(short_help="Measure how far judges agree with people.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--suite", metavar="FILE", help="A suite; else PATHS, else the one in evals/.")
@click.option("--json", "as_json", is_flag=True, help="Print what was measured as JSON.")
@models.model_options
@options.project_options
def calibrate(paths: tuple[str, ...], suite: str | None, as_json: bool, **given: Any) -> int:
    """Ask each judge that has a calibration file about the outputs in it, which people have judged.

    What comes of it is written beside the file, as x.measured.json, and every run says it from then on.
    """
    project, wanted = options.project_of(given), models.kept(given)
    judges = judges_of(project.root, selection.load(project, paths, suite).cases)
    with real_context() as context:
        found = measure(project.root, judges, models.with_models(context, project, wanted).clients.models.ask)
    if as_json:
        told = [{"file": judge.file, **asdict(one), "accuracy": one.accuracy} for judge, one in found]
        screen.show_json(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
        return 0
    for judge, one in found:
        screen.line(screen.safe_line(f"{one.model}: {describe_agreement(one)}"))
        screen.line(screen.safe_line(f"  kept: {measured_file(judge.file)}"))
    return 0
