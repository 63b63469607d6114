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
    failed_first: bool = option("--ff", is_flag=True, help="Start with those that did not pass last time.")
    changed_since: str | None = option(
        metavar="REV", help="Only those affected by the changes since this commit."
    )
    shard: str | None = option(
        metavar="N/OF", help="Compare one part of several; `merge` combines the reports."
    )
    jobs: int = jobs_option("How many at once.", 8)
    first: bool = option("-x", is_flag=True, help="Stop at the first that does not pass.")
    maxfail: int | None = option(type=click.IntRange(1), help="Stop after this many that did not pass.")
    repeat: int = option(
        type=click.IntRange(1, 1000), default=1, metavar="N", help="Replay each N times: is it flaky?"
    )
    min_pass_rate: float = option(
        type=click.FloatRange(0, 1, min_open=True),
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
        metavar="REV", help="Also list the baselines added, removed or loosened since this commit."
    )
    fail_on_weakened: bool = option(is_flag=True, help="With --base: exit 1 if any was removed or loosened.")
    strict_rules: bool = option(is_flag=True, help="A rule that matches nothing is an error.")
    outputs: tuple[str, ...] = option(
        "-o", metavar="PATH", multiple=True, help="Write a report: x.json, x.html, x.md, x.junit.xml."
    )
    as_json: bool = option("--json", is_flag=True, help="Print the result file (JSON) instead of text.")
    quiet: bool = option("-q", "--quiet", is_flag=True, help="Print only the last line.")
    verbose: bool = option(
        "-v", "--verbose", is_flag=True, help="Also print what passed, and explain the differences in words."
    )
    watch: bool = option(
        "-w", "--watch", is_flag=True, help="Compare again whenever a file changes, until Ctrl-C."
    )
    resume: bool = option(
        is_flag=True, help="Continue where the last run stopped, without asking any model again."
    )
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()


@dataclass(frozen=True)
class RunOptions:
    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    suite: str | None = option(
        metavar="FILE", help="Run this suite; the default is PATHS, or everything below evals/."
    )
    categories: tuple[str, ...] = option(
        "--category", multiple=True, help="capability, regression, or a category."
    )
    ids: tuple[str, ...] = option("--id", metavar="GLOB", multiple=True, help="Only these ids.")
    tags: tuple[str, ...] = option("--tag", multiple=True, help="Only those with one of these tags.")
    exclude_tags: tuple[str, ...] = option(
        "--exclude-tag", multiple=True, help="Leave out those with one of these tags."
    )
    expression: str | None = option(
        "-k", metavar="EXPR", help='Expression on words of id, name or tag: "strings and not slow".'
    )
    last_failed: bool = option(
        "--lf", "--last-failed", is_flag=True, help="Only what did not pass last time."
    )
    only_list: bool = option(
        "--list", is_flag=True, help="List what would run (-v: with which criteria), without asking a model."
    )
    first: bool = option("-x", "--exitfirst", is_flag=True, help="Stop at the first that does not pass.")
    grader_type: Literal["code", "model", "human"] | None = option(
        type=click.Choice(["code", "model", "human"]), help="Use only graders of this type."
    )
    attempts: int | None = option(
        type=click.IntRange(1, 1000), metavar="N", help="Make N attempts of each case; all must pass."
    )
    jobs: int | None = jobs_option("How many at once; the default is set by the suite.")
    resume: bool = option(is_flag=True, help="Continue where the last run stopped or was killed.")
    fail_under: float | None = option(
        type=click.FloatRange(0, 1),
        metavar="RATE",
        help="The share of cases that must pass; the default is all.",
    )
    preset: str | None = option(
        type=click.Choice(list(PRESETS)),
        help="Thresholds of pass@1, pass@3 and pass^3; three attempts unless --attempts says more.",
    )
    compare_to: str | None = option(
        metavar="RUN", help="Compare each case with an earlier run: a result file, or last."
    )
    across: tuple[str, ...] = option(
        multiple=True,
        metavar="PART",
        help="With --compare-to: compare even if the model, judge, files, grader or case differs.",
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
    as_json: bool = option("--json", is_flag=True, help="Print the result file (JSON) instead of text.")
    quiet: bool = option("-q", "--quiet", is_flag=True, help="Print only the last line.")
    verbose: bool = option(
        "-v", "--verbose", is_flag=True, help="Also print what passed, every grader and every metric."
    )
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()
