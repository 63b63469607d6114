"""The options of `compare` and of `run`, which `gate` and `compare --watch` need as well."""

from dataclasses import dataclass
from typing import Literal

import click

from baselinekit.cli.options import (
    ProjectOptions,
    RecordingOptions,
    SelectionOptions,
    argument,
    color_option,
    including,
    jobs_option,
    option,
)
from baselinekit.metrics import PRESETS


@dataclass(frozen=True)
class CompareOptions:
    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    selection: SelectionOptions = including(SelectionOptions)
    last_failed: bool = option("--lf", is_flag=True, help="Only those that did not pass last time.")
    failed_first: bool = option("--ff", is_flag=True, help="First those that did not pass last time.")
    changed_since: str | None = option(
        metavar="REV", help="Only those that a change since this commit touches."
    )
    shard: str | None = option(metavar="N/OF", help="One of several parts; `merge` makes one report of all.")
    jobs: int = jobs_option("How many at once.", 8)
    first: bool = option("-x", is_flag=True, help="Stop at the first that does not pass.")
    maxfail: int | None = option(type=click.IntRange(1), help="Stop after so many.")
    repeat: int = option(
        type=click.IntRange(1, 1000), default=1, metavar="N", help="Replay each N times: is it flaky?"
    )
    min_pass_rate: float = option(
        type=click.FloatRange(0, 1, min_open=True),
        default=1.0,
        metavar="RATE",
        help="With --repeat, the share of replays that has to pass: 0.8. The default is all.",
    )
    record: bool | None = option(
        "--record/--no-record",
        default=None,
        help="Write last_passed and failure_count; in CI the default is not to.",
    )
    base: str | None = option(
        metavar="REV", help="Also list the baselines added, removed or loosened since this commit."
    )
    fail_on_weakened: bool = option(is_flag=True, help="With --base: exit 1 if any was removed or loosened.")
    strict_rules: bool = option(is_flag=True, help="A rule that matches nothing is an error.")
    outputs: tuple[str, ...] = option(
        "-o", metavar="PATH", multiple=True, help="Write a report: x.json, x.html, x.md, x.junit.xml."
    )
    as_json: bool = option("--json", is_flag=True, help="Print the result file instead of text.")
    quiet: bool = option("-q", "--quiet", is_flag=True, help="Only the last line.")
    verbose: bool = option(
        "-v", "--verbose", is_flag=True, help="Also what passed, and the differences in words."
    )
    watch: bool = option("-w", "--watch", is_flag=True, help="Again when a file changes, until Ctrl-C.")
    resume: bool = option(is_flag=True, help="Go on where the last run was stopped: ask no model again.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()


@dataclass(frozen=True)
class RunOptions:
    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    suite: str | None = option(metavar="FILE", help="A suite; else PATHS, else all below evals/.")
    categories: tuple[str, ...] = option(
        "--category", multiple=True, help="capability, regression, or a category."
    )
    ids: tuple[str, ...] = option("--id", metavar="GLOB", multiple=True, help="Only these ids.")
    tags: tuple[str, ...] = option("--tag", multiple=True, help="Only with one of these tags.")
    exclude_tags: tuple[str, ...] = option("--exclude-tag", multiple=True, help="Without these tags.")
    expression: str | None = option(
        "-k", metavar="EXPR", help='Words of id, name or tag: "strings and not slow".'
    )
    last_failed: bool = option(
        "--lf", "--last-failed", is_flag=True, help="Only what did not pass last time."
    )
    only_list: bool = option(
        "--list", is_flag=True, help="Say what would be run (-v: by which criteria), and ask nobody."
    )
    first: bool = option("-x", "--exitfirst", is_flag=True, help="Stop at the first that does not pass.")
    grader_type: Literal["code", "model", "human"] | None = option(
        type=click.Choice(["code", "model", "human"]), help="Only such graders."
    )
    attempts: int | None = option(
        type=click.IntRange(1, 1000), metavar="N", help="Make N of each case; all have to pass."
    )
    jobs: int | None = jobs_option("How many at once; else as the suite says.")
    resume: bool = option(is_flag=True, help="Go on where the last run was stopped or killed.")
    fail_under: float | None = option(
        type=click.FloatRange(0, 1),
        metavar="RATE",
        help="The share of the cases that has to pass; else all.",
    )
    preset: str | None = option(
        type=click.Choice(list(PRESETS)),
        help="Thresholds of pass@1, pass@3 and pass^3; three attempts unless --attempts says more.",
    )
    compare_to: str | None = option(
        metavar="RUN", help="Each case beside an earlier run: a result file, or last."
    )
    across: tuple[str, ...] = option(
        multiple=True,
        metavar="PART",
        help="With --compare-to: compare although the model, judge, files, grader or case differs.",
    )
    fail_on_regressed: bool = option(is_flag=True, help="With --compare-to: exit 1 if any case regressed.")
    record: bool | None = option(
        "--record/--no-record",
        default=None,
        help="Write last_passed and failure_count of regression records; in CI the default is not to.",
    )
    outputs: tuple[str, ...] = option(
        "-o", metavar="PATH", multiple=True, help="Write a report: x.html, x.eval.md, x.json."
    )
    as_json: bool = option("--json", is_flag=True, help="Print the result file instead of text.")
    quiet: bool = option("-q", "--quiet", is_flag=True, help="Only the last line.")
    verbose: bool = option(
        "-v", "--verbose", is_flag=True, help="Also what passed, every grader and every metric."
    )
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()
