"""What `baselinekit grade` does: list, export, import, finish; or ask for one rating after the other."""

import getpass
import os
import shlex
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass

from baselinekit.cli import delivery, options as cli, screen
from baselinekit.cli.drawing import Keyboard, Region, run_session
from baselinekit.cli.entry import INTERRUPTED, clock
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.evals.agreement import labels_of
from baselinekit.evals.rating import Queue, finish, import_ratings, sheet
from baselinekit.files.languages import dump_yaml
from baselinekit.graders.by_human import describe_choices, options_of, value_of, words_for
from baselinekit.model.ratings import Rating, RatingItem, Sheet
from baselinekit.model.values import Json
from baselinekit.report import rating as screens, resultfile
from baselinekit.report.forms import render_report
from baselinekit.report.wording import Style
from baselinekit.store.results import write_text
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.suites.ratings import check_rater, dump_ratings
from baselinekit.suites.ratingtables import dump_table
from baselinekit.values.texts import count_noun

_ACTIONS = ("value", "export", "imported", "labels", "finish", "drop", "listed")


@dataclass
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

    cases: tuple[str, ...] = cli.argument(nargs=-1, metavar="[CASE|KEY]...")
    rater: str | None = cli.option("--as", "NAME", help="Who rates [default: BASELINEKIT_RATER, else login].")
    value: str | None = cli.option(
        "VALUE", excludes=_ACTIONS, help="Enter this rating: 4, Pass, '4 5 3', '2 > 1 > 3'."
    )
    note: str = cli.option("TEXT", default="", needs="value", help="With --value: why.")
    change: bool = cli.flag(needs="value", help="With --value: replace your earlier rating.")
    listed: bool = cli.flag("--list", excludes=_ACTIONS, help="List the queue, including what is settled.")
    as_json: bool = cli.flag("--json", excludes=_ACTIONS[:-1], help="The queue as JSON.")
    export: str | None = cli.option(
        "FILE",
        excludes=_ACTIONS,
        help="Write the queue to a file (x.csv: a table); with --as, a form to fill in.",
    )
    labels: str | None = cli.option(
        "FILE", excludes=_ACTIONS, help="Write what people have settled as labels for `calibrate`."
    )
    imported: str | None = cli.option(
        "--import", "FILE", excludes=_ACTIONS, help="Import ratings; - reads standard input."
    )
    finish: str | None = cli.option(
        "RESULTS", excludes=_ACTIONS, help="Complete a result file with the ratings given since."
    )
    outputs: tuple[str, ...] = cli.several(
        "-o", "PATH", needs="finish", help="With --finish: write to this file instead."
    )
    drop: bool = cli.flag(excludes=_ACTIONS, help="Remove unrated items from the queue.")
    project: cli.ProjectOptions = cli.project_options(cli.READING)


# `baselinekit grade`.


_PENDING = 3
_MOST_NAMED = 5


@cli.command(GradeOptions)
def grade(options: GradeOptions) -> int:
    queue = Queue(cli.project_of(options.project), clock())
    if options.value is not None:
        return enter_rating(queue, options, options.value)
    if options.export is not None:
        return export_queue(queue, options, options.export)
    if options.labels is not None:
        return export_labels(queue, options, options.labels)
    if options.imported is not None:
        return import_file(queue, options.imported)
    if options.finish is not None:
        return finish_report(queue, options, options.finish)
    if options.drop:
        return drop_unrated(queue, options)
    if options.listed or options.as_json or not screen.can_ask():
        return list_queue(queue, options)
    rater = name_of_rater(options.rater)
    standings = queue.standings(options.cases)
    waiting = [standing.item for standing in standings if standing.wants(rater)]
    if waiting:
        return Session(queue, rater, waiting, screen.style_of()).run()
    screen.say(f"nothing waits for {rater}")
    return _PENDING if any(standing.is_open for standing in standings) else 0


def name_of_rater(stated: str | None, is_login_enough: bool = True) -> str:
    name = stated or os.environ.get("BASELINEKIT_RATER") or ""
    try:
        return check_rater(name or (getpass.getuser() if is_login_enough else ""))
    except (KeyError, OSError):  # in a container the user may have no name
        return check_rater("")


def describe_item_choices(item: RatingItem) -> str:
    return describe_choices(item.method.rating_scale, len(item.shown.items))


def list_queue(queue: Queue, options: GradeOptions) -> int:
    """Print what waits, and how to enter a rating."""
    standings = queue.standings(options.cases)
    waiting = [standing for standing in standings if standing.grade.outcome == "unscored"]
    if options.as_json:
        choices = [describe_item_choices(standing.item) for standing in standings]
        screen.show_json(screens.format_queue_json(standings, choices))
        return _PENDING if waiting else 0
    screen.show(screens.format_queue(standings if options.listed else waiting, screen.style_of()))
    if not waiting:
        screen.line("nothing waits for people")
        return 0
    if item := next((standing.item for standing in waiting if standing.is_open), None):
        words = f"--as NAME --value VALUE   ({describe_item_choices(item)})"
        screen.next_commands([f"baselinekit grade {shlex.quote(item.case)} {words}"])
    return _PENDING


def enter_rating(queue: Queue, options: GradeOptions, value: str) -> int:
    """Enter one rating, for scripts."""
    rater = name_of_rater(options.rater, is_login_enough=False)
    if len(options.cases) != 1:
        raise cli.misuse("--value is for one case", "name it: baselinekit grade CASE")
    items = [standing.item for standing in queue.standings(options.cases)]
    if len(items) > 1:
        keys = ", ".join(item.key[:8] for item in items[:_MOST_NAMED])
        message = f"{len(items)} outputs of {options.cases[0]} are in the queue"
        raise InvalidInput(Problem("BK509", message, f"name one by its key: {keys}"))
    (item,) = items
    scale = item.method.rating_scale
    rating = Rating(rater, value_of(value, scale, len(item.shown.items)), queue.stamp(), options.note)
    standing = queue.rate(item, rating, options.change)
    state = standing.grade.verdict or standing.grade.outcome
    progress = screens.describe_count(len(standing.item.ratings), item.method.evaluators.min_required)
    screen.say(f"{rater} rates {item.case} {words_for(rating.value, scale)}: {state}, {progress} it")
    return 0


def export_queue(queue: Queue, options: GradeOptions, name: str) -> int:
    rater = None if options.rater is None else name_of_rater(options.rater)
    standings = queue.standings(options.cases)
    items = [standing.item for standing in standings if rater is None or standing.wants(rater)]
    if not items:
        screen.line("nothing to export: nothing waits")
        return 0
    if name.lower().endswith(".csv"):
        form = () if rater is None else (Rating(rater),)
        text = dump_table(replace(item, ratings=form or item.ratings) for item in items)
    else:
        text = dump_ratings(items, name, rater)
    if name == "-":
        screen.show(text)
        return 0
    write_text(name, text)
    screen.say(f"wrote {name}: {count_noun(len(items), 'item')}")
    if rater is not None:
        screen.say(f"next: fill in each `value:`, then baselinekit grade --import {shlex.quote(name)}")
    return 0


def export_labels(queue: Queue, options: GradeOptions, name: str) -> int:
    labels = labels_of([standing.item for standing in queue.standings(options.cases)])
    if not labels:
        screen.line("nothing to export: people have settled nothing yet")
        return _PENDING
    write_text(name, dump_yaml(labels))
    screen.say(f"wrote {name}: {count_noun(len(labels), 'label')}")
    return 0


def import_file(queue: Queue, name: str) -> int:
    text = cli.read_text("--import", name, "what baselinekit grade --export wrote")
    imported = import_ratings(queue, text, "standard input" if name == "-" else name)
    ratings = f"{count_noun(imported.ratings, 'new rating')}, {imported.known:,} known already"
    screen.line(f"{ratings}, {imported.empty:,} not filled in, {count_noun(imported.items, 'new item')}")
    return 0


def finish_report(queue: Queue, options: GradeOptions, name: str) -> int:
    delivery.check(options.outputs)
    text = cli.read_text("--finish", name, "what baselinekit run -o results.json wrote")
    outcome = finish(resultfile.read(text, name), queue)
    report = outcome.report
    if options.outputs:
        report = delivery.deliver(report, options.outputs, queue.project.root)
    elif outcome.decided and name != "-":
        write_text(name, render_report(report, ".json"))
    screen.line(f"{outcome.decided:,} decided by people, {outcome.left:,} still wait")
    open_results = [one for one in report.results if one.outcome not in ("passed", "skipped")]
    screen.say(*(f"{one.outcome}  {one.id}  {one.reason}" for one in open_results))
    delivery.tell_lost(report)
    return report.exit_code


def drop_unrated(queue: Queue, options: GradeOptions) -> int:
    items = [standing.item for standing in queue.standings(options.cases)]
    unrated = [item.key for item in items if not item.ratings]
    queue.ratings.drop(unrated)
    screen.line(f"{len(unrated):,} dropped, {len(items) - len(unrated):,} with ratings kept")
    return 0


# Ratings one after the other in a terminal: each takes one key or a few, and is saved at once.


_ENTER, _ERASE = ("\r", "\n"), ("\x7f", "\x08")


class TypedAnswer(MutableStruct):
    """What was entered so far for the item on the screen: the values of criteria, and what is being typed."""

    began: float
    typed: str = ""
    values: list[int] = field(default_factory=list)
    message: str = ""


class Session(MutableStruct):
    """One person's ratings in a terminal. The last one can be undone. `at`: the number of the item on the
    screen; `rated`: those that were rated."""

    queue: Queue
    rater: str
    waiting: Sequence[RatingItem]
    style: Style
    region: Region = field(default_factory=Region)
    rated: list[int] = field(default_factory=list)
    at: int = -1
    answer: TypedAnswer = field(default_factory=lambda: TypedAnswer(0.0))
    has_left: bool = False

    def run(self) -> int:
        self.go_to(0)
        if not run_session(self.region, self.step):
            screen.line(f"interrupted: {self.describe_rated()}", err=True)
            return INTERRUPTED
        screen.line(self.describe_rated())
        return _PENDING if len(self.rated) < len(self.waiting) else 0

    def describe_rated(self) -> str:
        remaining = len(self.waiting) - len(self.rated)
        return f"{count_noun(len(self.rated), 'rating')} kept, {remaining:,} still wait"

    @property
    def sheet(self) -> Sheet:
        return sheet(self.waiting[self.at])

    def go_to(self, number: int) -> None:
        """Show this item, or the next one that is not rated."""
        while number in self.rated:
            number += 1
        self.at, self.answer = number, TypedAnswer(time.monotonic())
        self.has_left = self.has_left or number >= len(self.waiting)
        if not self.has_left:
            place = f"{self.at + 1} of {len(self.waiting)}"
            self.region.say(screens.format_sheet(self.sheet, place, self.wide))

    @property
    def wide(self) -> Style:
        return replace(self.style, width=shutil.get_terminal_size((80, 24)).columns)

    def step(self, keys: Keyboard) -> bool:
        """Draw the question and handle one key. Return whether the session goes on."""
        item, answer = self.waiting[self.at], self.answer
        nth = min(len(answer.values), len(self.sheet.questions) - 1)
        self.region.draw(screens.format_question(self.sheet, nth, answer.typed, answer.message, self.wide))
        key = keys.key()
        answer.message = ""
        if key == "s":
            self.say(f"skipped  {item.case}")
            self.go_to(self.at + 1)
        elif key == "q":
            self.has_left = True
        elif key == "u":
            self.withdraw_last()
        elif (value := enter_key(key, self.sheet, answer)) is not None:
            self.save_rating(item, value)
        return not self.has_left

    def save_rating(self, item: RatingItem, value: Json) -> None:
        """Save a rating, and go on. If that fails, the error is shown and the question stays."""
        answer, scale = self.answer, item.method.rating_scale
        seconds = round(time.monotonic() - answer.began, 3)
        rating = Rating(self.rater, value, self.queue.stamp(), seconds=seconds)
        try:
            self.queue.rate(item, rating)
        except BaselinekitError as error:
            self.answer = TypedAnswer(answer.began, message=error.problems[0].message)
            return
        self.rated.append(self.at)
        self.say(f"kept     {item.case}  {words_for(value, scale)}")
        self.go_to(self.at + 1)

    def withdraw_last(self) -> None:
        if not self.rated:
            return
        number = self.rated.pop()
        item = self.waiting[number]
        self.queue.ratings.withdraw(item.key, self.rater)
        self.say(f"undone   {item.case}")
        self.go_to(number)

    def say(self, text: str) -> None:
        self.region.say(f"{screen.safe_line(text)}\n")


def enter_key(key: str, rating_sheet: Sheet, answer: TypedAnswer) -> Json:
    """Apply a key to the answer; return the value as soon as it is complete. One key is enough for an option
    and for a scale of single digits; a ranking and a wider scale are typed, and Enter ends them."""
    item, scale = rating_sheet.item, rating_sheet.item.method.rating_scale
    low, high = scale.range if scale.type == "likert" else (1, 2)
    if key in _ERASE:
        if answer.typed:
            answer.typed = answer.typed[:-1]
        elif answer.values:
            answer.values.pop()
        return None
    if key not in _ENTER:
        answer.typed += key
        if scale.type == "ranking" or low < 0 or high > 9:
            return None
    text, answer.typed = answer.typed, ""
    if not text:  # Enter after a number that needed only one key is not a mistake
        return None
    if scale.type == "ranking":
        count = len(item.shown.items)
        try:
            return value_of(" ".join(text) if text.isdecimal() and count < 10 else text, scale, count)
        except BaselinekitError as error:
            answer.message = error.problems[0].hint
            return None
    if not text.removeprefix("-").isdecimal() or not low <= int(text) <= high:
        answer.message = f"a number from {low} to {high}" if scale.type == "likert" else "1 or 2"
        return None
    if scale.type == "binary":
        return options_of(scale)[int(text) - 1].value
    answer.values.append(int(text))
    if len(answer.values) < len(rating_sheet.questions):
        return None
    return list(answer.values) if scale.criteria else answer.values[0]
