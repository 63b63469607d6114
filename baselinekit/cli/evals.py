"""The options of `baselinekit run`, `gate` and `grade`."""

from dataclasses import dataclass
from typing import Literal

import click
from click.shell_completion import CompletionItem

from baselinekit.cli.options import (
    Number,
    ProjectOptions,
    ReadingOptions,
    RecordingOptions,
    argument,
    color_option,
    flag,
    including,
    jobs_option,
    option,
    processes_option,
    project_of_files,
    several,
)
from baselinekit.metrics import PRESETS
from baselinekit.model.evals import ALLOWABLE

_PLANS = (".yaml", ".yml")


def complete_cases(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete case names from the files typed so far. Files that cannot be read offer nothing."""
    from baselinekit.errors import BaselinekitError
    from baselinekit.escape import one_line
    from baselinekit.evals.selection import load, name_of_case

    params = ctx.params  # while the name is incomplete, the arguments are in ctx.args
    try:
        project = project_of_files(config=params.get("config"), environment=params.get("environment"))
        suite = load(project, params.get("paths") or ctx.args, params.get("suite"))
    except (BaselinekitError, OSError):
        return []
    names = {case: None for case in map(name_of_case, suite.cases) if case is not None}
    return [CompletionItem(name) for name in names if name.startswith(incomplete) and one_line(name) == name]


@dataclass(eq=False, repr=False)
class RunOptions:
    """Run the eval cases below PATHS, or of a suite: ask, grade, and compute metrics.

    The reports of a suite are kept in results/ beside it, unless it names another folder.

    \b
    Exit code: 0 all passed, or enough of them; 1 too few, or a regression; 2 usage or an
    invalid file; 3 could not run or judge; 4 refused; 5 nothing selected; 130 interrupted.
    """

    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    suite: str | None = option(
        metavar="FILE", help="Run this suite; the default is PATHS, or everything below evals/."
    )
    target: str | None = option(
        metavar="NAME", help="Ask this target instead of those that the files name (not: default)."
    )
    targets: str | None = option(
        metavar="FILE", help="The targets file; the default is `targets:`, then .agentv/targets.yaml."
    )
    save_answers: str | None = option(
        metavar="FILE", help="Write what was answered, a line of JSON each, for a target of stored answers."
    )
    categories: tuple[str, ...] = several("--category", help="capability, regression, or a category.")
    ids: tuple[str, ...] = several("--id", metavar="GLOB", help="Only these ids.")
    cases: tuple[str, ...] = several(
        "--case",
        metavar="NAME",
        shell_complete=complete_cases,
        help="Only these cases, by their names; then no triggering is tested.",
    )
    tags: tuple[str, ...] = several("--tag", help="Only those with one of these tags.")
    exclude_tags: tuple[str, ...] = several("--exclude-tag", help="Leave out those with one of these tags.")
    expression: str | None = option(
        "-k", metavar="EXPR", help='Expression on words of id, name or tag: "strings and not slow".'
    )
    last_failed: bool = flag("--lf", "--last-failed", help="Only what did not pass last time.")
    only_list: bool = flag(
        "--list", help="List what would run (-v: with which criteria), without asking a model."
    )
    first: bool = flag("-x", "--exitfirst", help="Stop at the first that does not pass.")
    keep_going: bool = flag(help="Run the other files if some cannot be read; the exit code is still 2.")
    grader_type: Literal["code", "model", "human"] | None = option(
        type=click.Choice(["code", "model", "human"]), help="Use only graders of this type."
    )
    attempts: int | None = option(
        type=click.IntRange(1, 1000), metavar="N", help="Make N attempts of each case; all must pass."
    )
    borderline: Literal["pass", "fail"] | None = option(
        type=click.Choice(["pass", "fail"]),
        help="Whether a borderline case passes; the default is what its pass_rule says, else fail.",
    )
    jobs: int | None = jobs_option("How many at once; the default is set by the suite.")
    processes: int = processes_option("Run in N processes, for more than one core.")
    dask: str | None = option(
        metavar="ADDRESS", help="Run on a Dask cluster; local:4 starts four workers here."
    )
    resume: bool = flag(help="Continue where the last run stopped or was killed.")
    fail_under: float | None = option(
        type=Number(0, 1),
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
    across: tuple[str, ...] = several(
        metavar="PART",
        help="With --compare-to: compare even if the model, judge, files, grader or case differs.",
    )
    fail_on_regressed: bool = flag(help="With --compare-to: exit 1 if any case regressed.")
    base: str | None = option(
        metavar="REV", help="Also list the cases added, removed, loosened or changed since this commit."
    )
    fail_on_weakened: bool = flag(help="With --base: exit 1 if any was removed or loosened.")
    record: bool | None = option(
        "--record/--no-record",
        default=None,
        help="Write last_passed and failure_count of regression records; in CI the default is not to.",
    )
    outputs: tuple[str, ...] = several(
        "-o", metavar="PATH", help="Write a report: x.html, x.eval.md, x.json."
    )
    as_json: bool = flag("--json", help="Print the result file (JSON) instead of text.")
    quiet: bool = flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = flag("-v", "--verbose", help="Also print what passed, every grader and every metric.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()


@dataclass(eq=False, repr=False)
class GateOptions:
    """Judge RESULTS, the files that `run -o x.json` or `compare -o x.json` wrote; - is standard input.

    A gate of a plan (--phase, --trigger) runs its suite, unless RESULTS are given. A value equal to its
    threshold meets it; a metric that is not available does not. A failing regression is never covered by a
    rate, unless it is medium or low and --allow-regressions names that.

    \b
    Exit code: 0 met, or not blocking; 1 not met; 2 usage or an invalid file; 3 undecided: something
    could not run or be judged; 4 refused; 5 nothing to judge; 130 interrupted.
    """

    results: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    preset: str | None = option(
        type=click.Choice(list(PRESETS)), help="The usual thresholds of pass@1, pass@3, pass^3."
    )
    required: tuple[str, ...] = several(
        "--require", metavar="METRIC>=X", help="Such as 'pass@1>=0.85'; can be repeated."
    )
    required_pass_rate: float | None = option(
        type=Number(0, 1), metavar="X", help="The share of cases that must pass."
    )
    allow_regressions: tuple[str, ...] = several(
        type=click.Choice(ALLOWABLE),
        help="Let the rates cover failing regressions of this criticality; can be repeated.",
    )
    named_plans: tuple[str, ...] = several(
        "--phase",
        also={"--trigger": "An eval_trigger."},
        metavar="FILE",
        help="The eval steps of a phase: a plan.",
    )
    phase_id: str | None = option(
        metavar="ID", help="The {phase_id} in the path of a report; the default is the id of the run."
    )
    categories: tuple[str, ...] = several("--category", help="Only capability, regression, or a category.")
    tags: tuple[str, ...] = several("--tag", help="Only cases with one of these tags.")
    partial: bool = flag(help="Judge a narrowed run (-k, --id, --lf) as if it were complete.")
    warn: bool = flag(help="Only warn: exit 0 even if a gate is not met.")
    attempts: int | None = option(
        type=click.IntRange(1, 1000), help="When it runs a suite: attempts per case."
    )
    jobs: int | None = jobs_option("When it runs a suite: how many at once.")
    resume: bool = flag(help="When it runs a suite: continue where the last run stopped.")
    outputs: tuple[str, ...] = several("-o", metavar="PATH", help="Write a report: x.md, x.json.")
    as_json: bool = flag("--json", help="Print it as JSON instead of text.")
    quiet: bool = flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = flag("-v", "--verbose", help="Also print every case that did not pass.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()

    @property
    def plans(self) -> list[str]:
        return [
            *self.named_plans,
            *(path for path in self.results if path.lower().endswith(_PLANS)),
        ]

    @property
    def files(self) -> list[str]:
        return [path for path in self.results if path not in self.plans]


@dataclass(eq=False, repr=False)
class GradeOptions:
    """Go through the outputs that wait for a person, one by one. Each rating is saved immediately.

    A run does not wait for people: a case is unscored until enough of them have rated it and agree.

    \b
    baselinekit grade                                 everything that waits for you
    baselinekit grade --list                          what waits, with its ratings so far
    baselinekit grade greeting --as ada --value 4     one rating, without questions
    baselinekit grade --export ada.yaml --as ada      a form to send to somebody
    baselinekit grade --import ada.yaml
    baselinekit grade --finish results.json           complete the run with the ratings

    \b
    Exit code: 0 done, 2 usage or an invalid file, 3 something still waits, 5 nothing selected,
    130 interrupted; with --finish that of the run.
    """

    cases: tuple[str, ...] = argument(nargs=-1, metavar="[CASE|KEY]...")
    rater: str | None = option(
        "--as", metavar="NAME", help="Who rates; the default is BASELINEKIT_RATER, or your login name."
    )
    value: str | None = option(metavar="VALUE", help="Enter this rating: 4, Pass, '4 5 3', '2 > 1 > 3'.")
    note: str = option(metavar="TEXT", default="", help="With --value: why.")
    change: bool = flag(help="With --value: replace your earlier rating.")
    listed: bool = flag("--list", help="List the queue, including what is settled.")
    as_json: bool = flag("--json", help="The queue as JSON.")
    export: str | None = option(
        metavar="FILE", help="Write the queue to a file; with --as, a form to fill in."
    )
    imported: str | None = option(
        "--import", metavar="FILE", help="Import a file of ratings; - reads standard input."
    )
    finish: str | None = option(
        metavar="RESULTS", help="Complete a result file with the ratings given since."
    )
    outputs: tuple[str, ...] = several(
        "-o", metavar="PATH", help="With --finish: write to this file instead of back to the same one."
    )
    drop: bool = flag(help="Remove unrated items from the queue.")
    project: ReadingOptions = including(ReadingOptions)
    color: str = color_option()
