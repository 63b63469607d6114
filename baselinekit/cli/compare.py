"""`baselinekit compare`. What it does is in comparing.py, which `--help` does not import."""

import click

from baselinekit.cli.options import takes
from baselinekit.cli.run_options import CompareOptions


@click.command(short_help="Replay baselines and report what differs.")
@takes(CompareOptions, "comparing")
def compare(options: CompareOptions) -> int:
    """Replay the baselines below PATHS (default: all of the project) and compare the outputs.

    A pass updates last_passed in the file, a failure raises failure_count. In CI nothing is written.

    \b
    Exit code: 0 all passed, 1 a regression, 2 usage or an invalid file, 3 could not replay,
    4 refused, 5 nothing selected, 130 interrupted.
    """
    from baselinekit.cli.comparing import compare_or_watch

    return compare_or_watch(options)
