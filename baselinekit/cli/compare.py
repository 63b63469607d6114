"""The options of `baselinekit compare`."""

from dataclasses import dataclass

import click

from baselinekit.cli.options import (
    Number,
    ProjectOptions,
    RecordingOptions,
    SelectionOptions,
    argument,
    color_option,
    flag,
    including,
    jobs_option,
    option,
    processes_option,
    several,
)


@dataclass(eq=False, repr=False)
class CompareOptions:
    """Replay the baselines below PATHS (default: all of the project) and compare the outputs.

    A pass updates last_passed in the file, a failure raises failure_count. In CI nothing is written.

    \b
    Exit code: 0 all passed, 1 a regression, 2 usage or an invalid file, 3 could not replay,
    4 refused, 5 nothing selected, 130 interrupted.
    """

    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    selection: SelectionOptions = including(SelectionOptions)
    last_failed: bool = flag("--lf", help="Only those that did not pass last time.")
    failed_first: bool = flag("--ff", help="Start with those that did not pass last time.")
    changed_since: str | None = option(
        metavar="REV", help="Only those affected by the changes since this commit."
    )
    shard: str | None = option(
        metavar="N/OF", help="Compare one part of several; `merge` combines the reports."
    )
    jobs: int = jobs_option("How many at once.", 8)
    processes: int = processes_option("Compare in N processes, for more than one core.")
    dask: str | None = option(
        metavar="ADDRESS", help="Compare on a Dask cluster; local:4 starts four workers here."
    )
    first: bool = flag("-x", help="Stop at the first that does not pass.")
    maxfail: int | None = option(type=click.IntRange(1), help="Stop after this many that did not pass.")
    repeat: int = option(
        type=click.IntRange(1, 1000), default=1, metavar="N", help="Replay each N times: is it flaky?"
    )
    min_pass_rate: float = option(
        type=Number(0, 1, min_open=True),
        default=1.0,
        metavar="RATE",
        help="With --repeat: the share of replays that must pass, such as 0.8; the default is all.",
    )
    record: bool | None = option(
        "--record/--no-record",
        default=None,
        help="Write last_passed and failure_count; in CI the default is not to.",
    )
    base: str | None = option(
        metavar="REV", help="Also list the baselines added, removed, loosened or changed since this commit."
    )
    fail_on_weakened: bool = flag(help="With --base: exit 1 if any was removed or loosened.")
    strict_rules: bool = flag(help="A rule that matches nothing, or cannot be checked, is an error.")
    outputs: tuple[str, ...] = several(
        "-o", metavar="PATH", help="Write a report: x.json, x.html, x.md, x.junit.xml."
    )
    as_json: bool = flag("--json", help="Print the result file (JSON) instead of text.")
    quiet: bool = flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = flag(
        "-v", "--verbose", help="Also print what passed, and explain the differences in words."
    )
    watch: bool = flag("-w", "--watch", help="Compare again whenever a file changes, until Ctrl-C.")
    resume: bool = flag(help="Continue where the last run stopped, without asking any model again.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()
