"""`baselinekit grade`."""

import getpass
import os
import shlex
from dataclasses import dataclass

import click

from baselinekit.cli import delivery, screen
from baselinekit.cli.clock import clock
from baselinekit.cli.options import (
    ProjectOptions,
    argument,
    color_option,
    including,
    option,
    project_of,
    read_text,
    takes,
)
from baselinekit.errors import InvalidInput, Problem
from baselinekit.evals import rating as ratingfiles
from baselinekit.evals.finishing import finish
from baselinekit.evals.rating import (
    Queue,
    check_rater,
    describe_choices,
    describe_rating,
    parse_typed,
    rated_by,
)
from baselinekit.model.grades import Rating, Standing
from baselinekit.report import resultfile
from baselinekit.report.evals.rating import describe_count, format_queue, format_queue_json
from baselinekit.report.forms.table import render_report
from baselinekit.store.results import write_text
from baselinekit.texts import many

_PENDING = 3
_MOST_NAMED = 5


@dataclass(frozen=True)
class GradeOptions:
    cases: tuple[str, ...] = argument(nargs=-1, metavar="[CASE|KEY]...")
    rater: str | None = option(
        "--as", metavar="NAME", help="Who rates; the default is BASELINEKIT_RATER, or your login name."
    )
    value: str | None = option(metavar="VALUE", help="Enter this rating: 4, Pass, '4 5 3', '2 > 1 > 3'.")
    note: str = option(metavar="TEXT", default="", help="With --value: why.")
    change: bool = option(is_flag=True, help="With --value: replace your earlier rating.")
    listed: bool = option("--list", is_flag=True, help="List the queue, including what is settled.")
    as_json: bool = option("--json", is_flag=True, help="The queue as JSON.")
    export: str | None = option(
        metavar="FILE", help="Write the queue to a file; with --as, a form to fill in."
    )
    imported: str | None = option(
        "--import", metavar="FILE", help="Import a file of ratings; - reads standard input."
    )
    finish: str | None = option(
        metavar="RESULTS", help="Complete a result file with the ratings given since."
    )
    outputs: tuple[str, ...] = option(
        "-o",
        metavar="PATH",
        multiple=True,
        help="With --finish: write to this file instead of back to the same one.",
    )
    drop: bool = option(is_flag=True, help="Remove items that nobody has rated from the queue.")
    project: ProjectOptions = including(ProjectOptions)
    color: str = color_option()


@click.command(short_help="Rate outputs that wait for human grading.")
@takes(GradeOptions)
def grade(options: GradeOptions) -> int:
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
    deeds = [
        name
        for name in ("value", "export", "imported", "finish", "listed", "drop")
        if getattr(options, name) not in (None, False)
    ]
    if len(deeds) > 1 or (options.as_json and deeds not in ([], ["listed"])):
        raise InvalidInput(
            Problem("BK508", "these options cannot be combined", "run the command once for each")
        )
    grading = _Grading(Queue(project_of(options.project), clock()), options)
    if not deeds and not options.as_json and screen.can_ask():
        return grading.ask()
    if options.drop:
        return grading.drop()
    work = {
        "value": grading.enter,
        "export": grading.export,
        "imported": grading.take_in,
        "finish": grading.finish,
    }
    for name, do in work.items():
        if (text := getattr(options, name)) is not None:
            return do(text)
    return grading.list_queue()


@dataclass(slots=True)
class _Grading:
    queue: Queue
    options: GradeOptions

    def _rater(self) -> str:
        name = self.options.rater or os.environ.get("BASELINEKIT_RATER")
        try:
            return check_rater(name if name is not None else getpass.getuser())
        except (KeyError, OSError):  # in a container nobody may have a name
            raise InvalidInput(Problem("BK744", "it is not known who rates", "add --as NAME")) from None

    def list_queue(self) -> int:
        """Without a terminal nobody can be asked: what waits, and how to enter it."""
        options = self.options
        standings = self.queue.standings(options.cases)
        waits = [one for one in standings if one.grade.outcome == "unscored"]
        agreements = self.queue.agreements(standings)
        if options.as_json:
            words = [describe_choices(one.queued.item) for one in standings]
            screen.show_json(format_queue_json(standings, words, agreements))
            return _PENDING if waits else 0
        screen.show(format_queue(standings if options.listed else waits, screen.style_of(options.color)))
        for agreement in agreements if options.listed else ():
            values = (f"{name} {'not defined' if v is None else v}" for name, v in agreement.items())
            screen.line(screen.safe_line(f"agreement  {', '.join(values)}"))
        if not waits:
            screen.line("nothing waits for people")
            return 0
        items = [one.queued.item for one in waits if one.is_open]
        screen.next_commands(
            f"baselinekit grade {shlex.quote(item.case)} --as NAME --value VALUE   ({describe_choices(item)})"
            for item in items[:1]
        )
        return _PENDING

    def enter(self, value: str) -> int:
        """One rating, as a script gives it."""
        options = self.options
        if not (options.rater or os.environ.get("BASELINEKIT_RATER")):
            raise InvalidInput(Problem("BK744", "it is not known who rates", "add --as NAME"))
        rater = self._rater()
        if len(options.cases) != 1:
            raise InvalidInput(Problem("BK508", "--value is for one case", "name it: baselinekit grade CASE"))
        item = self._only(rater).queued.item
        rating = Rating(rater, parse_typed(item, value), self.queue.stamp(), options.note)
        standing = self.queue.rate(item, rating, options.change)
        state = standing.grade.verdict or standing.grade.outcome
        least = item.method.evaluators.min_required
        rated = f"{describe_count(len(standing.queued.ratings), least)} it"
        line = f"{rating.rater} rates {item.case} {describe_rating(item, rating.value)}: {state}, {rated}"
        screen.line(screen.safe_line(line))
        return 0

    def _only(self, rater: str) -> Standing:
        """The one that is meant: of several, that which this person can still rate."""
        found = self.queue.standings(self.options.cases)
        if len(found) > 1:
            mine = [one for one in found if rated_by(one, rater) == self.options.change and one.is_open]
            if len(mine) != 1:
                keys = ", ".join(one.queued.item.key[:8] for one in (mine or found)[:_MOST_NAMED])
                what = f"{len(mine or found)} outputs of {self.options.cases[0]} are in the queue"
                raise InvalidInput(Problem("BK745", what, f"name one by its key: {keys}"))
            found = mine
        return found[0]

    def export(self, name: str) -> int:
        rater = None if self.options.rater is None else self._rater()
        if rater is None:
            standings = self.queue.standings(self.options.cases)
            text = ratingfiles.export_ratings(standings, name)
        else:
            standings = self.queue.waiting(self.options.cases, rater)
            text = ratingfiles.form_for(standings, rater, name)
        if not standings:
            screen.line(
                "nothing to export: nothing waits" + (f" for {screen.safe_line(rater)}" if rater else "")
            )
            return 0
        if name == "-":
            screen.show(text)
            return 0
        write_text(name, text, self.queue.project.root)
        count = many(len(standings), "item")
        screen.line(f"wrote {screen.safe_line(name)}: {count}")
        if rater is not None:
            screen.next_commands(
                [f"fill in each `value:`, then baselinekit grade --import {shlex.quote(name)}"]
            )
        return 0

    def take_in(self, name: str) -> int:
        text = read_text("--import", name, "what baselinekit grade --export wrote")
        done = ratingfiles.import_ratings(self.queue, text, "standard input" if name == "-" else name)
        parts = [many(done.ratings, "new rating")]
        parts += [f"{done.known:,} known already"] if done.known else []
        parts += [f"{done.empty:,} not filled in"] if done.empty else []
        parts += [many(done.items, "new item")] if done.items else []
        screen.line(", ".join(parts))
        return 0

    def finish(self, name: str) -> int:
        delivery.check(self.options.outputs)
        text = read_text("--finish", name, "what baselinekit run -o results.json wrote")
        done = finish(resultfile.read(text, name), self.queue)
        root = self.queue.project.root
        report = done.report
        if self.options.outputs:
            report = delivery.deliver(report, self.options.outputs, root)
        elif done.decided and name != "-":
            write_text(name, render_report(report, ".json"), root)
        screen.line(f"{done.decided:,} decided by people, {done.left:,} still wait")
        for result in done.report.results:
            if result.outcome not in ("passed", "skipped"):
                screen.line(screen.safe_line(f"{result.outcome}  {result.id}  {result.reason}"))
        delivery.tell_lost(report)
        return report.exit_code

    def drop(self) -> int:
        standings = self.queue.standings(self.options.cases)
        unrated = [one.queued.item.key for one in standings if not one.queued.ratings]
        gone = self.queue.ratings.drop(unrated) if unrated else 0
        left = len(standings) - len(unrated)
        more = f", {left:,} kept: they have ratings" if left else ""
        screen.line(f"{gone:,} dropped{more}")
        return 0

    def ask(self) -> int:
        from baselinekit.cli.rating import Session

        rater = self._rater()
        waiting = self.queue.waiting(self.options.cases, rater)
        if not waiting:
            screen.line(screen.safe_line(f"nothing waits for {rater}"))
            return _PENDING if any(one.is_open for one in self.queue.standings(self.options.cases)) else 0
        return Session(self.queue, rater, waiting, screen.style_of(self.options.color)).run()
