"""The queue of what waits for people, and what they said: `.baselinekit/ratings.sqlite`, the one owner of it.

Each change is one transaction with a rollback journal: a process killed at any moment leaves the ratings as
they were before or after, and the next one to open the file tidies up. Several may enter at once."""

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace

from baselinekit.documents.jsontext import MAX_DEPTH, NotJson, decode, to_bytes
from baselinekit.errors import InvalidInput, NotRecorded, Problem, cannot
from baselinekit.model.grades import Queued, Rating, RatingItem, by_role, is_adjudicator, same_person
from baselinekit.model.values import Json
from baselinekit.schema.validate import NotPlain, reader
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write

FILE = os.path.join(atomic.STATE_FOLDER, "ratings.sqlite")
_VERSION = 1
_WAIT = 30.0
"""Seconds that a change waits for those of other processes."""

_one_of_us = threading.Lock()
"""The threads of a run wait for each other here: SQLite would let them sleep in turns."""

_DEEPER = 4
"""Levels of nesting around an output."""

_SCHEMA = """
CREATE TABLE items (
    key TEXT PRIMARY KEY, case_id TEXT NOT NULL, grader TEXT NOT NULL, opened_at TEXT NOT NULL,
    method TEXT NOT NULL, shown TEXT NOT NULL, claims TEXT NOT NULL
);
CREATE TABLE ratings (
    item TEXT NOT NULL REFERENCES items (key) ON DELETE CASCADE, who TEXT NOT NULL, rater TEXT NOT NULL,
    value TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL, seconds REAL,
    PRIMARY KEY (item, who)
);
"""


class Ratings:
    """The queue of one project."""

    def __init__(self, root: str):
        self._root = root

    def all(self) -> list[Queued]:
        """Every item with its ratings, in the order of the cases."""
        with self._reading() as db:
            return _queued(db, "1 = 1 ORDER BY case_id, grader, opened_at, key", ()) if db else []

    def find(self, key: str) -> Queued | None:
        with self._reading() as db:
            found = _queued(db, "key = ?", (key,)) if db else []
        return found[0] if found else None

    def enqueue(self, item: RatingItem) -> Queued:
        """Put an item into the queue, if it is not there. How many have to rate it is as stated last."""
        there = self.find(item.key)
        if there is not None and there.item.method == item.method:
            return there
        with self._writing() as db:
            _insert(db, item)
            method = (_text(asdict(item.method)), item.key)
            db.execute("UPDATE items SET method = ? WHERE key = ?", method)
            return _queued(db, "key = ?", (item.key,))[0]

    def rate(self, key: str, rating: Rating, again: bool = False) -> Queued:
        """Add a rating. One that a person gave before is only replaced `again`, and there are no more than
        are allowed."""
        with self._writing() as db:
            queued = _known(db, key)
            if problem := _problem(queued, rating, again):
                raise InvalidInput(problem)
            _insert_rating(db, key, rating)
            return _known(db, key)

    def withdraw(self, key: str, rater: str) -> bool:
        """Take back what a person said; whether there was anything."""
        with self._writing() as db:
            who = (key, same_person(rater))
            return db.execute("DELETE FROM ratings WHERE item = ? AND who = ?", who).rowcount > 0

    def drop(self, keys: Sequence[str]) -> int:
        """Take items out of the queue, with all that was said of them."""
        with self._writing() as db:
            return sum(db.execute("DELETE FROM items WHERE key = ?", (key,)).rowcount for key in keys)

    def merge(self, items: Sequence[Queued]) -> tuple[int, int]:
        """Add all of these, or none: how many items and how many ratings are new. A rating that is there
        already is no fault if it says the same. The error has each problem at (item, rating)."""
        new_items = new_ratings = 0
        problems: list[Problem] = []
        with self._writing() as db:
            for number, one in enumerate(items):
                new_items += _insert(db, one.item)
                for place, rating in enumerate(one.ratings):
                    queued = _known(db, one.item.key)
                    who, value = same_person(rating.rater), _text(rating.value)
                    if any(who == same_person(r.rater) and value == _text(r.value) for r in queued.ratings):
                        continue
                    problem = _problem(queued, rating)
                    if problem is None:
                        _insert_rating(db, one.item.key, rating)
                        new_ratings += 1
                    else:
                        problems.append(replace(problem, at=(number, place)))
            if problems:
                raise InvalidInput(*problems)
        return new_items, new_ratings

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """None where nothing was ever put there."""
        if not os.path.lexists(os.path.join(self._root, FILE)):
            yield None
            return
        with _told(), closing(self._connected()) as db:
            yield db if _version(db) else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing, and nobody else in between."""
        atomic.state_folder(self._root)
        with _told():
            path = os.path.join(self._root, FILE)
            try:  # for nobody else to read: what people say of outputs is nobody else's business
                os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            except OSError as error:
                raise NotRecorded(cannot_write(FILE, error)) from None
            with _one_of_us, closing(self._connected()) as db:
                db.execute("BEGIN IMMEDIATE")
                try:
                    if not _version(db):
                        for statement in _SCHEMA.split(";\n")[:-1]:
                            db.execute(statement)
                        db.execute(f"PRAGMA user_version = {_VERSION}")
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise

    def _connected(self) -> sqlite3.Connection:
        path = os.path.join(self._root, FILE)
        try:
            regular = stat.S_ISREG(os.lstat(path).st_mode)
        except OSError as error:
            raise NotRecorded(cannot_write(FILE, error)) from None
        if not regular:  # a checkout could bring a link that leads out of the project
            raise NotRecorded(Problem("BK120", f"{FILE} is a link, and should be a file", "remove it"))
        db = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
        db.execute("PRAGMA foreign_keys = ON")
        return db


@contextmanager
def _told() -> Iterator[None]:
    """What SQLite says, in our words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        what = f"{FILE} cannot be used: {error}"
        hint = "nothing was changed; let the others finish, make room, then run again"
        raise NotRecorded(Problem("BK743", what, hint)) from None
    except (sqlite3.DatabaseError, NotJson) as error:
        hint = "move it away, and import what was exported: baselinekit grade --import FILE"
        raise InvalidInput(Problem("BK743", f"{FILE} cannot be read: {error}", hint)) from None


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        hint = "install the version that wrote it, or move the file away"
        raise cannot("BK743", f"{FILE} was written by a newer version", hint)
    return version


def _problem(queued: Queued, rating: Rating, again: bool = False) -> Problem | None:
    """Why a rating cannot be added."""
    who = same_person(rating.rater)
    if not who:
        return Problem("BK744", "it is not known who rates", "give a name")
    case = queued.item.case
    if any(same_person(one.rater) == who for one in queued.ratings):
        what = f"{rating.rater} has already rated {case}"
        return None if again else Problem("BK744", what, "each person rates once; --change replaces it")
    most = queued.item.method.evaluators.max_allowed
    how = queued.item.method
    if not is_adjudicator(rating.rater, how) and len(by_role(queued.ratings, how)[0]) >= most:
        what = f"{case} has {len(queued.ratings)} ratings already"
        return Problem("BK744", what, f"no more than {most} are allowed (evaluators.max_allowed)")
    return None


def _insert(db: sqlite3.Connection, item: RatingItem) -> int:
    shown = asdict(item.shown)
    row = (item.key, item.case, item.grader, item.opened_at)
    texts = (_text(asdict(item.method)), _text(shown | {"items": list(shown["items"])}), _text(item.claims))
    added = db.execute("INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", row + texts)
    return added.rowcount


def _insert_rating(db: sqlite3.Connection, key: str, rating: Rating) -> None:
    row = (key, same_person(rating.rater), rating.rater, _text(rating.value))
    further = (rating.note, rating.at, rating.seconds)
    db.execute("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?, ?, ?)", row + further)


def _known(db: sqlite3.Connection, key: str) -> Queued:
    found = _queued(db, "key = ?", (key,))
    if not found:
        raise InvalidInput(Problem("BK745", f"nothing with the key {key} waits", "baselinekit grade --list"))
    return found[0]


def _queued(db: sqlite3.Connection, where: str, values: tuple[str, ...]) -> list[Queued]:
    """Items with their ratings. `where` is ours, `values` are not."""
    columns = "key, case_id, grader, opened_at, method, shown, claims"
    items = db.execute(f"SELECT {columns} FROM items WHERE {where}", values).fetchall()
    said: dict[str, list[Rating]] = {row[0]: [] for row in items}
    only, key = (" WHERE item = ?", (items[0][0],)) if len(items) == 1 else ("", ())
    rated = f"SELECT item, rater, value, at, note, seconds FROM ratings{only} ORDER BY at, who"
    for item, rater, value, at, note, seconds in db.execute(rated, key):
        if item in said:
            said[item].append(Rating(rater, _value(value), at, note, seconds))
    return [Queued(_item(row), tuple(said[row[0]])) for row in items]


def _item(row: tuple[str, ...]) -> RatingItem:
    texts = dict(zip(("key", "case", "grader", "opened_at"), row[:4], strict=True))
    values = zip(("method", "shown", "claims"), map(_value, row[4:]), strict=True)
    try:
        item: RatingItem = reader(RatingItem)({**texts, **dict(values)})
    except NotPlain:
        raise sqlite3.DatabaseError(f"the item {row[0]} is not as it was written") from None
    return item


def _text(value: Json) -> str:
    return to_bytes(value).decode("utf-8")


def _value(text: str) -> Json:
    return decode(text, MAX_DEPTH + _DEEPER)
