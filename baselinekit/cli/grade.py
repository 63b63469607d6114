"""`baselinekit grade`."""

import getpass
import os
import shlex
from collections.abc import Sequence
from typing import Any

import click

from baselinekit.cli import delivery, options, pending_options, screen
from baselinekit.cli.clock import clock
from baselinekit.errors import InvalidInput, Problem
from baselinekit.evals import rating as ratingfiles
from baselinekit.evals.finishing import finish
from baselinekit.evals.rating import Queue, check_rater, in_words, rated_by, typed, wanted
from baselinekit.model.ratings import Rating, Standing
from baselinekit.report import resultfile
from baselinekit.report.evals.rating import format_queue, format_queue_json
from baselinekit.report.forms.table import render_report
from baselinekit.store.results import write_text
from baselinekit.texts import many

_PENDING = 3
_MOST_NAMED = 5
_DEEDS = ("value", "export", "import_", "finish", "listed", "drop")


@click.command(short_help="Rate outputs that wait for people.")
@click.argument("cases", nargs=-1, metavar="[CASE|KEY]...")
@click.option("--as", "rater", metavar="NAME", help="Who rates; else BASELINEKIT_RATER, or your login name.")
@click.option("--value", metavar="VALUE", help="Enter this rating: 4, Pass, '4 5 3', '2 > 1 > 3'.")
@click.option("--note", metavar="TEXT", default="", help="With --value: why.")
@click.option("--change", is_flag=True, help="With --value: in place of what you said before.")
@click.option("--list", "listed", is_flag=True, help="What is in the queue, also what is settled.")
@click.option("--json", "as_json", is_flag=True, help="The queue as JSON.")
@click.option("--export", metavar="FILE", help="Write the queue to a file; with --as a form to fill in.")
@click.option("--import", "import_", metavar="FILE", help="Take in a file of ratings; - reads it.")
@click.option("--finish", metavar="RESULTS", help="Complete a result file by what people said since.")
@click.option("-o", "outputs", metavar="PATH", multiple=True, help="With --finish: write there, not back.")
@click.option("--drop", is_flag=True, help="Take items out of the queue that nobody has rated.")
@options.project_options
@screen.color_option
def grade(cases: tuple[str, ...], color: str, **given: Any) -> int:
    """Go through the outputs that wait for a person, one after the other. Each rating is kept at once.

    A run does not wait for people: the case is unscored until enough of them have rated it, and agree.

    \b
    baselinekit grade                                 all that waits for you
    baselinekit grade --list                          what waits, and how far it is
    baselinekit grade greeting --as ada --value 4     one rating, without questions
    baselinekit grade --export ada.yaml --as ada      a form to send to somebody
    baselinekit grade --import ada.yaml
    baselinekit grade --finish results.json           the run, with what was said since

    \b
    Exit code: 0 done, 2 usage or an invalid file, 3 something still waits, 5 nothing selected,
    130 interrupted; with --finish that of the run.
    """
    deeds = [name for name in _DEEDS if given[name] not in (None, False)]
    if len(deeds) > 1 or (given["as_json"] and deeds not in ([], ["listed"])):
        raise InvalidInput(Problem("BK508", "these options are two things to do", "do one after the other"))
    project = options.project_of(given)
    return _Grading(Queue(project, clock()), cases, given, color).do(deeds[0] if deeds else "")


class _Grading:
    def __init__(self, queue: Queue, cases: Sequence[str], given: dict[str, Any], color: str):
        self.queue, self.cases, self.given = queue, cases, given
        self.style = screen.style_of(color)

    def do(self, deed: str) -> int:
        if not deed and not self.given["as_json"] and screen.can_ask():
            return self._ask()
        deeds = {
            "value": self._enter,
            "export": self._export,
            "import_": self._import,
            "finish": self._finish,
            "drop": self._drop,
        }
        return deeds.get(deed, self._list)()

    def _rater(self) -> str:
        given = self.given["rater"] or os.environ.get("BASELINEKIT_RATER")
        return check_rater(given if given is not None else _login())

    def _list(self) -> int:
        """Without a terminal nobody can be asked: what waits, and how to enter it."""
        standings = self.queue.standings(self.cases)
        waits = [one for one in standings if one.grade.outcome == "unscored"]
        agreements = self.queue.agreements(standings)
        if self.given["as_json"]:
            words = [wanted(one.queued.item) for one in standings]
            screen.show_json(format_queue_json(standings, words, agreements))
            return _PENDING if waits else 0
        shown = standings if self.given["listed"] else waits
        screen.show(format_queue(shown, self.style))
        for one in agreements if self.given["listed"] else ():
            told = ", ".join(f"{name} {'not defined' if v is None else v}" for name, v in one.items())
            screen.line(screen.safe_line(f"agreement  {told}"))
        if not waits:
            screen.line("nothing waits for people")
            return 0
        rateable = [one for one in waits if one.is_open]
        if rateable:
            item = rateable[0].queued.item
            name = shlex.quote(item.case)
            screen.line(
                screen.safe_line(f"next: baselinekit grade {name} --as NAME --value VALUE   ({wanted(item)})")
            )
        return _PENDING

    def _enter(self) -> int:
        """One rating, as a script gives it."""
        if not (self.given["rater"] or os.environ.get("BASELINEKIT_RATER")):
            raise InvalidInput(Problem("BK744", "nobody has said who rates", "add --as NAME"))
        rater = self._rater()
        if len(self.cases) != 1:
            raise InvalidInput(Problem("BK508", "--value is for one case", "name it: baselinekit grade CASE"))
        one = self._only(rater)
        item = one.queued.item
        rating = Rating(rater, typed(item, self.given["value"]), self.queue.stamp(), self.given["note"])
        now = self.queue.rate(item, rating, self.given["change"])
        self._told(rating, now)
        return 0

    def _only(self, rater: str) -> Standing:
        """The one that is meant: of several, that which this person can still rate."""
        found = self.queue.standings(self.cases)
        if len(found) > 1:
            mine = [one for one in found if rated_by(one, rater) == self.given["change"] and one.is_open]
            if len(mine) != 1:
                keys = ", ".join(one.queued.item.key[:8] for one in (mine or found)[:_MOST_NAMED])
                what = f"{len(mine or found)} outputs of {self.cases[0]} are in the queue"
                raise InvalidInput(Problem("BK745", what, f"name one by its key: {keys}"))
            found = mine
        return found[0]

    def _told(self, rating: Rating, now: Standing) -> None:
        item = now.queued.item
        state = now.grade.verdict or now.grade.outcome
        least = item.method.evaluators.min_required
        count = len(now.queued.ratings)
        rated = f"{count} of {least} have rated it" if count <= least else f"{count} have rated it"
        said = f"{rating.rater} rates {item.case} {in_words(item, rating.value)}: {state}, {rated}"
        screen.line(screen.safe_line(said))

    def _export(self) -> int:
        name = self.given["export"]
        rater = None if self.given["rater"] is None else self._rater()
        if rater is None:
            standings = self.queue.standings(self.cases)
            text = ratingfiles.exported(standings, name)
        else:
            standings = self.queue.waiting(self.cases, rater)
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
        screen.line(f"written {screen.safe_line(name)}: {count}")
        if rater is not None:
            quoted = shlex.quote(name)
            screen.line(
                screen.safe_line(f"next: fill in each `value:`, then baselinekit grade --import {quoted}")
            )
        return 0

    def _import(self) -> int:
        name = self.given["import_"]
        text = pending_options.read_text("--import", name, "what baselinekit grade --export wrote")
        done = ratingfiles.imported(self.queue, text, "standard input" if name == "-" else name)
        parts = [many(done.ratings, "new rating")]
        parts += [f"{done.known:,} known already"] if done.known else []
        parts += [f"{done.empty:,} not filled in"] if done.empty else []
        parts += [many(done.items, "new item")] if done.items else []
        screen.line(", ".join(parts))
        return 0

    def _finish(self) -> int:
        name = self.given["finish"]
        delivery.check(self.given["outputs"])
        text = pending_options.read_text("--finish", name, "what baselinekit run -o results.json wrote")
        done = finish(resultfile.read(text, name), self.queue)
        root = self.queue.project.root
        report = done.report
        if self.given["outputs"]:
            report = delivery.deliver(report, self.given["outputs"], root)
        elif done.decided and name != "-":
            write_text(name, render_report(report, ".json"), root)
        screen.line(f"{done.decided:,} decided by people, {done.left:,} still wait")
        for result in done.report.results:
            if result.outcome not in ("passed", "skipped"):
                screen.line(screen.safe_line(f"{result.outcome}  {result.id}  {result.reason}"))
        delivery.tell_lost(report)
        return report.exit_code

    def _drop(self) -> int:
        standings = self.queue.standings(self.cases)
        unrated = [one.queued.item.key for one in standings if not one.queued.ratings]
        gone = self.queue.ratings.drop(unrated) if unrated else 0
        left = len(standings) - len(unrated)
        more = f", {left:,} kept: they have ratings" if left else ""
        screen.line(f"{gone:,} dropped{more}")
        return 0

    def _ask(self) -> int:
        from baselinekit.cli.rating import Session

        rater = self._rater()
        waiting = self.queue.waiting(self.cases, rater)
        if not waiting:
            screen.line(screen.safe_line(f"nothing waits for {rater}"))
            return _PENDING if any(one.is_open for one in self.queue.standings(self.cases)) else 0
        return Session(self.queue, rater, waiting, self.style).run()


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container nobody may have a name
        raise InvalidInput(Problem("BK744", "nobody has said who rates", "add --as NAME")) from None
