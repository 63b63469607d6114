"""The options of `baselinekit refresh` and `review`."""

from dataclasses import dataclass

import click

from baselinekit.cli.options import (
    ProjectOptions,
    RecordingOptions,
    SelectionOptions,
    argument,
    color_option,
    complete_ids,
    flag,
    including,
    jobs_option,
    option,
    several,
)
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.changes import ApprovalNote


@dataclass(eq=False, repr=False)
class StampOptions:
    """What is noted in the file about the approval."""

    version: str | None = option(
        metavar="TEXT", help="The version of the target; the default is git's last tag."
    )
    by: str | None = option(metavar="WHO", help="Record who approved it.")
    reason: str | None = option(metavar="TEXT", help="Note why.")

    def stamp(self, described: str | None) -> ApprovalNote:
        """The stamp; `described` is the version from `git describe`."""
        return ApprovalNote(self.version or described, self.by, self.reason)


@dataclass(eq=False, repr=False)
class RefreshOptions:
    """Accept the outputs that a failing compare received as the new known-good outputs of the baselines
    that ID or PATH names.

    No request is sent: the outputs of that compare are used. Only what differs is rewritten; what still
    matches keeps its placeholders, and the file its comments.

    \b
    baselinekit refresh users --dry-run
    baselinekit refresh users --path body.users[0].name
    baselinekit refresh --all-failed --yes --by ada --reason "new names since 2.4"
    baselinekit refresh --from results.json
    baselinekit refresh users --ignore body.took --placeholder 'body.users.*.id=<<any_uuid>>'
    baselinekit refresh users --learn            placeholders for what varies, and nothing else

    \b
    Exit code: 0 done, 2 usage or an invalid file, 3 something could not be refreshed,
    5 there is nothing to refresh.
    """

    words: tuple[str, ...] = argument(nargs=-1, metavar="[ID|PATH]...", shell_complete=complete_ids)
    all_failed: bool = flag(help="All baselines with a kept answer.")
    selection: SelectionOptions = including(SelectionOptions)
    paths: tuple[str, ...] = several("--path", metavar="PATH", help="Accept only what changes there.")
    placeholders: tuple[str, ...] = several(
        "--placeholder",
        metavar="PATH=TEXT",
        help="Store a placeholder at a path, or inside the text there, and accept nothing more.",
    )
    ignore: tuple[str, ...] = several(
        metavar="PATH", help="Leave this out of the comparison, and accept nothing more."
    )
    tolerance: tuple[str, ...] = several(
        metavar="PATH=NUMBER", help="How far a number may move, as at a capture: 0.05, -0.3, +2 or 5%."
    )
    arrays: tuple[str, ...] = several(
        "--array", metavar="PATH=MODE", help="How the rows of an array are paired, as at a capture: subset."
    )
    results: tuple[str, ...] = several(
        "--from",
        metavar="RESULTS",
        help="Accept the answers of a CI job: its results.json (or several); - reads standard input.",
    )
    replay: bool = flag(help="Send the requests again.")
    learn: bool = flag(
        help="Ask again, several times, and store placeholders where the answers vary, and nothing else."
    )
    repeat: int | None = option(
        type=click.IntRange(1, 1000), metavar="N", help="With --learn: ask N times; the default is 3."
    )
    unchanged: bool = flag(
        help="With --learn: the service was restarted and nothing else; whatever is not as on file varies."
    )
    dry_run: bool = flag(help="Show the files as they would become, and write nothing.")
    yes: bool = flag("-y", "--yes", help="Do not ask.")
    allow_high_risk: bool = flag(help="Also accept removed keys and values of another type.")
    drop_placeholders: bool = flag(
        help="Also accept changes that lose a placeholder; with --learn, replace one written by hand."
    )
    approved: StampOptions = including(StampOptions)
    jobs: int = jobs_option("With --replay or --learn: how many at once.", 8)
    as_json: bool = flag("--json", help="Print the changes as JSON; writes only with --yes.")
    verbose: bool = flag("-v", "--verbose", help="Show every change of every baseline.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()

    @property
    def is_of_pending(self) -> bool:
        """Whether it accepts the answers that local compares have stored, which `review` shows as well."""
        return not (self.replay or self.results)

    def check(self) -> None:
        """Refuse options that cannot be combined."""
        incompatible = {
            "--from": bool(self.results),
            "--replay": self.replay,
            "--path": bool(self.paths),
            "--placeholder": bool(self.placeholders),
            "--ignore": bool(self.ignore),
            "--tolerance": bool(self.tolerance),
            "--array": bool(self.arrays),
            "--allow-high-risk": self.allow_high_risk,
        }
        conflict = next((name for name, is_given in incompatible.items() if is_given), None)
        if self.learn and conflict:
            hint = "--learn asks again, and writes placeholders only"
            raise InvalidInput(Problem("BK508", f"--learn and {conflict} cannot be combined", hint))
        if self.repeat is not None and not self.learn:
            raise InvalidInput(Problem("BK508", "--repeat is of refresh --learn", "add --learn"))
        if self.unchanged and not self.learn:
            raise InvalidInput(Problem("BK508", "--unchanged is of refresh --learn", "add --learn"))


@dataclass(eq=False, repr=False)
class ReviewOptions:
    """Go through the changes that failing compares found, and decide each with one key: accept, reject, skip,
    put a placeholder there, ignore the path. Nothing is written before the end.

    Without a terminal it prints what is pending, and the commands to decide it.

    \b
    baselinekit review                          everything that is pending
    baselinekit review users --path body.name   a part of it
    baselinekit review --json                   for editors and agents
    baselinekit review --decide decisions.json

    \b
    Exit code: 0 nothing is pending any more, 2 usage or an invalid file, 3 something still is,
    5 nothing was selected, 130 interrupted: nothing was written.
    """

    words: tuple[str, ...] = argument(nargs=-1, metavar="[ID|PATH]...", shell_complete=complete_ids)
    selection: SelectionOptions = including(SelectionOptions)
    paths: tuple[str, ...] = several("--path", metavar="PATH", help="Only what changes there.")
    results: tuple[str, ...] = several(
        "--from",
        metavar="RESULTS",
        help="The answers of a CI job: its results.json (or several); - reads standard input.",
    )
    replay: bool = flag(help="Send the requests again.")
    as_json: bool = flag("--json", help="Print everything pending as JSON, and ask nothing.")
    decide: str | None = option(
        metavar="FILE", help="Read the decisions from a JSON file; - is standard input."
    )
    dry_run: bool = flag(help="With --decide: show the files as they would become.")
    allow_high_risk: bool = flag(help="With --decide: also accept changes of high risk.")
    drop_placeholders: bool = flag(help="With --decide: also accept losing a placeholder.")
    approved: StampOptions = including(StampOptions)
    jobs: int = jobs_option("With --replay: how many at once.", 8)
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()
