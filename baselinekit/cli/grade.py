"""What `baselinekit grade` does: list, export, import, finish; or ask for one rating after the other."""

import getpass
import os
import shlex
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass

from baselinekit.cli import delivery, screen
from baselinekit.cli.entry import clock
from baselinekit.cli.keys import Keyboard, Region, keyboard
from baselinekit.cli.options import (
    READING,
    ProjectOptions,
    argument,
    command,
    flag,
    option,
    project_of,
    project_options,
    read_text,
    several,
)
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.evals import rating as ratingfiles
from baselinekit.evals.finishing import finish
from baselinekit.evals.rating import (
    Queue,
    check_rater,
    describe_choices,
    describe_rating,
    is_late,
    option_value,
    parse_typed,
    rated_by,
    sheet,
)
from baselinekit.model.grades import ItemStatus, Rating, Sheet
from baselinekit.model.values import Json
from baselinekit.report import resultfile
from baselinekit.report.evals.terminal import (
    describe_count,
    format_note,
    format_question,
    format_queue,
    format_queue_json,
    format_sheet,
)
from baselinekit.report.forms.table import render_report
from baselinekit.report.wording import Style
from baselinekit.store.results import write_text
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.texts import count_noun


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
    130 interrupted; with --finish the exit code of the run.
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
    project: ProjectOptions = project_options(READING)


# `baselinekit grade`.


_PENDING = 3
_MOST_NAMED = 5


@command(GradeOptions)
def grade(options: GradeOptions) -> int:
    actions = [
        name
        for name in ("value", "export", "imported", "finish", "listed", "drop")
        if getattr(options, name) not in (None, False)
    ]
    if len(actions) > 1 or (options.as_json and actions not in ([], ["listed"])):
        raise InvalidInput(
            Problem("BK508", "these options cannot be combined", "run the command once for each")
        )
    grading = Grading(Queue(project_of(options.project), clock()), options)
    if not actions and not options.as_json and screen.can_ask():
        return grading.ask()
    if options.drop:
        return grading.drop()
    work = {
        "value": grading.enter,
        "export": grading.export,
        "imported": grading.import_ratings,
        "finish": grading.finish,
    }
    for option_name, action in work.items():
        if (text := getattr(options, option_name)) is not None:
            return action(text)
    return grading.list_queue()


class Grading(MutableStruct):
    queue: Queue
    options: GradeOptions

    def name_rater(self) -> str:
        name = self.options.rater or os.environ.get("BASELINEKIT_RATER")
        try:
            return check_rater(name if name is not None else getpass.getuser())
        except (KeyError, OSError):  # in a container the user may have no name
            raise InvalidInput(Problem("BK744", "it is not known who rates", "add --as NAME")) from None

    def list_queue(self) -> int:
        """Without a terminal: print what waits, and how to enter a rating."""
        options = self.options
        standings = self.queue.standings(options.cases)
        waiting = [standing for standing in standings if standing.grade.outcome == "unscored"]
        agreements = self.queue.agreements(standings)
        if options.as_json:
            choices = [describe_choices(standing.queued.item) for standing in standings]
            screen.show_json(format_queue_json(standings, choices, agreements))
            return _PENDING if waiting else 0
        screen.show(format_queue(standings if options.listed else waiting, screen.style_of()))
        for agreement in agreements if options.listed else ():
            values = (f"{name} {'not defined' if v is None else v}" for name, v in agreement.items())
            screen.line(screen.safe_line(f"agreement  {', '.join(values)}"))
        if not waiting:
            screen.line("nothing waits for people")
            return 0
        items = [standing.queued.item for standing in waiting if standing.is_open]
        screen.next_commands(
            f"baselinekit grade {shlex.quote(item.case)} --as NAME --value VALUE   ({describe_choices(item)})"
            for item in items[:1]
        )
        return _PENDING

    def enter(self, value: str) -> int:
        """Enter one rating, for scripts."""
        options = self.options
        if not (options.rater or os.environ.get("BASELINEKIT_RATER")):
            raise InvalidInput(Problem("BK744", "it is not known who rates", "add --as NAME"))
        rater = self.name_rater()
        if len(options.cases) != 1:
            raise InvalidInput(Problem("BK508", "--value is for one case", "name it: baselinekit grade CASE"))
        item = self.select_standing(rater).queued.item
        rating = Rating(rater, parse_typed(item, value), self.queue.stamp(), options.note)
        standing = self.queue.rate(item, rating, options.change)
        state = standing.grade.verdict or standing.grade.outcome
        required = item.method.evaluators.min_required
        progress = f"{describe_count(len(standing.queued.ratings), required)} it"
        line = f"{rating.rater} rates {item.case} {describe_rating(item, rating.value)}: {state}, {progress}"
        screen.line(screen.safe_line(line))
        return 0

    def select_standing(self, rater: str) -> ItemStatus:
        """The item to rate: if several match, the one that this person can still rate."""
        standings = self.queue.standings(self.options.cases)
        if len(standings) > 1:
            own_standings = [
                standing
                for standing in standings
                if rated_by(standing, rater) == self.options.change and standing.is_open
            ]
            if len(own_standings) != 1:
                keys = ", ".join(
                    standing.queued.item.key[:8] for standing in (own_standings or standings)[:_MOST_NAMED]
                )
                message = (
                    f"{len(own_standings or standings)} outputs of {self.options.cases[0]} are in the queue"
                )
                raise InvalidInput(Problem("BK745", message, f"name one by its key: {keys}"))
            standings = own_standings
        return standings[0]

    def export(self, name: str) -> int:
        rater = None if self.options.rater is None else self.name_rater()
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
        write_text(name, text)
        count = count_noun(len(standings), "item")
        screen.line(f"wrote {screen.safe_line(name)}: {count}")
        if rater is not None:
            screen.next_commands(
                [f"fill in each `value:`, then baselinekit grade --import {shlex.quote(name)}"]
            )
        return 0

    def import_ratings(self, name: str) -> int:
        text = read_text("--import", name, "what baselinekit grade --export wrote")
        imported = ratingfiles.import_ratings(self.queue, text, "standard input" if name == "-" else name)
        parts = [count_noun(imported.ratings, "new rating")]
        parts += [f"{imported.known:,} known already"] if imported.known else []
        parts += [f"{imported.empty:,} not filled in"] if imported.empty else []
        parts += [count_noun(imported.items, "new item")] if imported.items else []
        screen.line(", ".join(parts))
        return 0

    def finish(self, name: str) -> int:
        delivery.check(self.options.outputs)
        text = read_text("--finish", name, "what baselinekit run -o results.json wrote")
        outcome = finish(resultfile.read(text, name), self.queue)
        root = self.queue.project.root
        report = outcome.report
        if self.options.outputs:
            report = delivery.deliver(report, self.options.outputs, root)
        elif outcome.decided and name != "-":
            write_text(name, render_report(report, ".json"))
        screen.line(f"{outcome.decided:,} decided by people, {outcome.left:,} still wait")
        for result in outcome.report.results:
            if result.outcome not in ("passed", "skipped"):
                screen.line(screen.safe_line(f"{result.outcome}  {result.id}  {result.reason}"))
        delivery.tell_lost(report)
        return report.exit_code

    def drop(self) -> int:
        standings = self.queue.standings(self.options.cases)
        unrated = [standing.queued.item.key for standing in standings if not standing.queued.ratings]
        dropped = self.queue.ratings.drop(unrated) if unrated else 0
        kept_count = len(standings) - len(unrated)
        note = f", {kept_count:,} kept: they have ratings" if kept_count else ""
        screen.line(f"{dropped:,} dropped{note}")
        return 0

    def ask(self) -> int:

        rater = self.name_rater()
        waiting = self.queue.waiting(self.options.cases, rater)
        if not waiting:
            screen.line(screen.safe_line(f"nothing waits for {rater}"))
            return (
                _PENDING
                if any(standing.is_open for standing in self.queue.standings(self.options.cases))
                else 0
            )
        return Session(self.queue, rater, waiting, screen.style_of()).run()


# Ratings one after the other in a terminal: each takes one key or a few, and is saved at once.


_RATING_PENDING = 3
_INTERRUPTED = 130
_ENTER, _ERASE, _ESCAPE = ("\r", "\n"), ("\x7f", "\x08"), "\x1b"


class RaterLeft(Exception):
    """The rater quits."""


class TypedAnswer(MutableStruct):
    """What was entered so far for the item on the screen."""

    typed: str = ""
    values: list[int] = field(default_factory=list)
    note: str = ""
    message: str = ""


class Session(MutableStruct):
    """One person's ratings in a terminal. The last one can be undone."""

    queue: Queue
    rater: str
    waiting: Sequence[ItemStatus]
    style: Style
    region: Region = field(default_factory=Region)
    rated: list[int] = field(default_factory=list)

    def run(self) -> int:
        number = 0
        try:
            with keyboard() as keys:
                while number < len(self.waiting):
                    number = self.rate_next(keys, number)
            self.region.say()
        except RaterLeft:
            self.region.say("\n")
        except (KeyboardInterrupt, EOFError):
            self.region.say("\n")
            screen.line(f"interrupted: {self.describe_rated()}", err=True)
            return _INTERRUPTED
        screen.line(self.describe_rated())
        return _RATING_PENDING if len({*self.rated}) < len(self.waiting) else 0

    def describe_rated(self) -> str:
        remaining = len(self.waiting) - len(self.rated)
        summary = f"{count_noun(len(self.rated), 'rating')} kept"
        return (
            f"{summary}, {remaining:,} still wait for {screen.safe_line(self.rater)}"
            if remaining
            else summary
        )

    def rate_next(self, keys: Keyboard, number: int) -> int:
        """Ask about one item; return the number of the next one."""
        standing = self.waiting[number]
        if number in self.rated:
            return number + 1
        rating_sheet, answer = sheet(standing), TypedAnswer()
        self.show_item(rating_sheet, number)
        began = time.monotonic()
        while True:
            self.draw_question(rating_sheet, answer)
            key = keys.key()
            answer.message = ""
            if key == "s":
                self.region.say(f"skipped  {screen.safe_line(standing.queued.item.case)}\n")
                return number + 1
            elif key == "q":
                raise RaterLeft
            elif key == "v":
                self.show_item(rating_sheet, number)
            elif key == "n":
                answer.note = self._note(keys, standing.queued.item.case, answer.note)
            elif key == "N":
                answer.message = self.note_last(keys)
            elif key == "u" and not (answer.values or answer.typed) and self.rated:
                return self.withdraw_last()
            else:
                value = enter_key(key, rating_sheet, answer)
                if value is not None and self.save_rating(number, value, answer, time.monotonic() - began):
                    return number + 1

    def show_item(self, rating_sheet: Sheet, number: int) -> None:
        place = f"{number + 1} of {len(self.waiting)}"
        self.region.say(format_sheet(rating_sheet, place, self._style()))

    def draw_question(self, rating_sheet: Sheet, answer: TypedAnswer) -> None:
        number = min(len(answer.values), len(rating_sheet.questions) - 1)
        ranked = " > ".join(map(str, answer.values)) if rating_sheet.item.shown.items else ""
        entered = f"{ranked} > {answer.typed}" if ranked else answer.typed
        lines = format_question(
            rating_sheet,
            0 if rating_sheet.item.shown.items else number,
            entered,
            answer.message,
            self._style(),
        )
        self.region.draw(lines)

    def _style(self) -> Style:
        return replace(self.style, width=shutil.get_terminal_size((80, 24)).columns)

    def save_rating(self, number: int, value: Json, answer: TypedAnswer, seconds: float) -> bool:
        """Save a rating. If that fails, the error is shown and the question stays."""
        item = self.waiting[number].queued.item
        rating = Rating(self.rater, value, self.queue.stamp(), answer.note, round(seconds, 3))
        try:
            self.queue.rate(item, rating)
        except BaselinekitError as error:
            answer.message = error.problems[0].message
            answer.values.clear()
            answer.typed = ""
            return False
        self.rated.append(number)
        late = "  (took longer than the limit: marked)" if is_late(item, rating) else ""
        note = "  with a note" if answer.note else ""
        self.region.say(
            screen.safe_line(f"kept     {item.case}  {describe_rating(item, value)}{note}{late}") + "\n"
        )
        return True

    def withdraw_last(self) -> int:
        number = self.rated.pop()
        item = self.waiting[number].queued.item
        self.queue.ratings.withdraw(item.key, self.rater)
        self.region.say(f"undone      {screen.safe_line(item.case)}\n")
        return number

    def note_last(self, keys: Keyboard) -> str:
        """Add a note to the last rating; return the message to show."""
        if not self.rated:
            return "nothing has been rated yet"
        item = self.waiting[self.rated[-1]].queued.item
        queued = self.queue.ratings.find(item.key)
        own_ratings = (
            (own_rating for own_rating in queued.ratings if own_rating.rater == self.rater)
            if queued
            else iter(())
        )
        rating = next(own_ratings, None)
        if rating is None:
            return f"your rating of {item.case} no longer exists"
        note = self._note(keys, item.case, rating.note)
        try:
            self.queue.rate(item, replace(rating, note=note), again=True)
        except BaselinekitError as error:
            return error.problems[0].message
        return f"note added to {item.case}"

    def _note(self, keys: Keyboard, case: str, note: str) -> str:
        """Read a line; Escape keeps the previous note."""
        text = note
        while True:
            self.region.draw(format_note(case, text, self._style()))
            key = keys.key()
            if key in _ENTER:
                return text.strip()
            if key == _ESCAPE:
                return note
            if key in _ERASE:
                text = text[:-1]
            elif key == "\x15":
                text = ""
            elif len(key) == 1 and key.isprintable():
                text += key


def enter_key(key: str, rating_sheet: Sheet, answer: TypedAnswer) -> Json:
    """Apply a key to the answer; return the value as soon as it is complete."""
    item = rating_sheet.item
    scale = item.method.rating_scale
    if key in _ERASE or key == "u":
        if answer.typed:
            answer.typed = answer.typed[:-1]
        elif answer.values:
            answer.values.pop()
        return None
    if key in _ENTER and not answer.typed:  # after a number that needed only one key
        return None
    if scale.type == "ranking":
        return enter_rank(key, rating_sheet, answer)
    if scale.type == "binary":
        if key in ("1", "2"):
            return option_value(item, int(key))
        answer.message = "1 or 2"
        return None
    low, high = scale.range
    if key.isdecimal() or (key == "-" and low < 0 and not answer.typed):
        answer.typed += key
        if high > 9 or low < 0:
            return None
    elif key not in _ENTER:
        answer.message = f"a number from {low} to {high}"
        return None
    try:
        number = int(answer.typed)
    except ValueError:
        number = low - 1
    answer.typed = ""
    if not low <= number <= high:
        answer.message = f"a number from {low} to {high}"
        return None
    answer.values.append(number)
    if len(answer.values) < len(rating_sheet.questions):
        return None
    return list(answer.values) if scale.criteria else number


def enter_rank(key: str, rating_sheet: Sheet, answer: TypedAnswer) -> Json:
    """Apply a key to a ranking, which grows key by key. If ties are allowed it is typed, and Enter ends
    it."""
    item, count = rating_sheet.item, len(rating_sheet.item.shown.items)
    if item.method.rating_scale.tie_allowed:
        if key in _ENTER:
            try:
                return parse_typed(item, answer.typed)
            except BaselinekitError as error:
                answer.message = error.problems[0].hint
        elif key.isdecimal() or key in ("=", ">", " ", ","):
            answer.typed += key
        return None
    if not key.isdecimal() or not 1 <= int(key) <= count or int(key) in answer.values:
        remaining = [str(number) for number in range(1, count + 1) if number not in answer.values]
        answer.message = f"one of {', '.join(remaining)}"
        return None
    answer.values.append(int(key))
    if len(answer.values) < count - 1:
        return None
    last = ({*range(1, count + 1)} - {*answer.values}).pop()
    return [*answer.values, last]
