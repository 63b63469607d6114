"""`baselinekit run`. What it does is in running.py, which `--help` does not import."""

import click

from baselinekit.cli.options import takes
from baselinekit.cli.run_options import RunOptions


@click.command(short_help="Run eval cases: grade the answers, and compute metrics.")
@takes(RunOptions, "running")
def run(options: RunOptions) -> int:
    """Run the eval cases below PATHS, or of a suite: ask, grade, and compute metrics.

    The reports of a suite are kept in results/ beside it, unless it names another folder.

    \b
    Exit code: 0 all passed, or enough of them; 1 too few, or a regression; 2 usage or an
    invalid file; 3 could not run or judge; 4 refused; 5 nothing selected; 130 interrupted.
    """
    from baselinekit.cli.running import run_or_list

    return run_or_list(options)
