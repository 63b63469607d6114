"""`baselinekit calibrate`."""

import json
from dataclasses import asdict, dataclass

import click

from baselinekit.cli import screen
from baselinekit.cli.clients import real_context
from baselinekit.cli.models import with_models
from baselinekit.cli.options import (
    ProjectOptions,
    RecordingOptions,
    argument,
    including,
    option,
    project_of,
    takes,
)
from baselinekit.evals import selection
from baselinekit.evals.judges import calibrate as measure, judges_of
from baselinekit.report.beside import describe_agreement
from baselinekit.suites.ratingfile import measured_file


@dataclass(frozen=True)
class CalibrateOptions:
    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    suite: str | None = option(
        metavar="FILE", help="Use this suite; the default is PATHS, or the suite in evals/."
    )
    as_json: bool = option("--json", is_flag=True, help="Print what was measured as JSON.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)


@click.command(short_help="Measure how well judges agree with people.")
@takes(CalibrateOptions)
def calibrate(options: CalibrateOptions) -> int:
    """Ask each judge that has a calibration file about the outputs in it, which people have judged.

    The result is written beside the file, as x.measured.json, and every run shows it from then on.
    """
    project = project_of(options.project)
    judges = judges_of(project.root, selection.load(project, options.paths, options.suite).cases)
    with real_context() as context:
        models = with_models(context, project, options.recording).clients.models
        measured = measure(project.root, judges, models.ask)
    if options.as_json:
        documents = [
            {"file": judge.file, **asdict(agreement), "accuracy": agreement.accuracy}
            for judge, agreement in measured
        ]
        screen.show_json(json.dumps(documents, indent=2, ensure_ascii=False) + "\n")
        return 0
    for judge, agreement in measured:
        screen.line(screen.safe_line(f"{agreement.model}: {describe_agreement(agreement)}"))
        screen.line(screen.safe_line(f"  kept: {measured_file(judge.file)}"))
    return 0
