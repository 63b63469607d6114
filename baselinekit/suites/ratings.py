"""Ratings by people: the queue of items to rate, files of ratings, and calibration files."""

import os
import posixpath
import sqlite3
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Literal

from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem, cannot_replay
from baselinekit.files.jsontext import MAX_DEPTH, NotJson, decode, dump_json, load_json, pretty, to_bytes
from baselinekit.files.languages import dump_yaml, language
from baselinekit.files.text import decode as decode_text
from baselinekit.model.baselines import Number
from baselinekit.model.grades import (
    Agreement,
    HumanRating,
    Label,
    Queued,
    Rating,
    RatingItem,
    is_adjudicator,
    same_person,
    split_by_role,
)
from baselinekit.model.values import Json, Path
from baselinekit.schema import describe_value, place_problems, read_as
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write
from baselinekit.store.project import read
from baselinekit.structs import Struct, asdict, field, plain, replace

# The queue of items to rate, with their ratings: `.baselinekit/ratings.sqlite`, which only this module opens.
# Each change is one transaction with a rollback journal: a process killed at any moment leaves the ratings as
# they were before or after, and the next process to open the file cleans up. Several processes may write.


FILE = os.path.join(atomic.STATE_FOLDER, "ratings.sqlite")
_VERSION = 1
_LOCK_TIMEOUT = 30.0
"""Seconds that a change waits for changes of other processes."""

_writer_lock = threading.Lock()
"""Serialises the threads of a run, which SQLite would make sleep and retry."""

_EXTRA_DEPTH = 4
"""Levels of nesting that an item adds around an output."""

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
        """Return all items with their ratings, in the order of the cases."""
        with self._open_for_reading() as db:
            return _select_queued(db, "1 = 1 ORDER BY case_id, grader, opened_at, key", ()) if db else []

    def find(self, key: str) -> Queued | None:
        with self._open_for_reading() as db:
            queued = _select_queued(db, "key = ?", (key,)) if db else []
        return queued[0] if queued else None

    def contents(self) -> bytes:
        with self._open_for_reading() as db:  # as the bytes of a file, to be read elsewhere
            return db.serialize() if db else b""

    def enqueue(self, item: RatingItem) -> Queued:
        """Add an item to the queue if it is missing, else update its method: how many must rate it."""
        existing = self.find(item.key)
        if existing is not None and existing.item.method == item.method:
            return existing
        with self._open_for_writing() as db:
            _insert_item(db, item)
            parameters = (_encode(plain(item.method)), item.key)
            db.execute("UPDATE items SET method = ? WHERE key = ?", parameters)
            return _select_queued(db, "key = ?", (item.key,))[0]

    def rate(self, key: str, rating: Rating, again: bool = False) -> Queued:
        """Add a rating, if more are allowed. Only `again` replaces an earlier one by the same person."""
        with self._open_for_writing() as db:
            queued = _get_queued(db, key)
            if problem := _why_refused(queued, rating, again):
                raise InvalidInput(problem)
            insert_rating(db, key, rating)
            return _get_queued(db, key)

    def withdraw(self, key: str, rater: str) -> bool:
        """Remove a person's rating. Return whether there was one."""
        with self._open_for_writing() as db:
            who = (key, same_person(rater))
            return db.execute("DELETE FROM ratings WHERE item = ? AND who = ?", who).rowcount > 0

    def drop(self, keys: Sequence[str]) -> int:
        """Remove items from the queue, with their ratings. Return how many there were."""
        with self._open_for_writing() as db:
            return sum(db.execute("DELETE FROM items WHERE key = ?", (key,)).rowcount for key in keys)

    def merge(self, items: Sequence[Queued]) -> tuple[int, int]:
        """Add all of these, or none. Return how many items and ratings are new. An equal rating that exists
        already is fine. The error has each problem at (item, rating)."""
        new_items = new_ratings = 0
        problems: list[Problem] = []
        with self._open_for_writing() as db:
            for item_number, queued_item in enumerate(items):
                new_items += _insert_item(db, queued_item.item)
                for rating_number, rating in enumerate(queued_item.ratings):
                    queued = _get_queued(db, queued_item.item.key)
                    who, value = same_person(rating.rater), _encode(rating.value)
                    if any(who == same_person(r.rater) and value == _encode(r.value) for r in queued.ratings):
                        continue
                    problem = _why_refused(queued, rating)
                    if problem is None:
                        insert_rating(db, queued_item.item.key, rating)
                        new_ratings += 1
                    else:
                        problems.append(replace(problem, at=(item_number, rating_number)))
            if problems:
                raise InvalidInput(*problems)
        return new_items, new_ratings

    @contextmanager
    def _open_for_reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open the queue to read; None if nothing was ever added."""
        if not os.path.lexists(os.path.join(self._root, FILE)):
            yield None
            return
        with _database_errors_as_problems(), closing(self._connect()) as db:
            yield db if _check_version(db) else None

    @contextmanager
    def _open_for_writing(self) -> Iterator[sqlite3.Connection]:
        """Open the queue for one transaction: everything in the block is written, or nothing."""
        atomic.state_folder(self._root)
        with _database_errors_as_problems():
            path = os.path.join(self._root, FILE)
            try:  # readable only by the user: ratings are private
                os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            except OSError as error:
                raise NotRecorded(cannot_write(FILE, error)) from None
            with _writer_lock, closing(self._connect()) as db:
                db.execute("BEGIN IMMEDIATE")
                try:
                    if not _check_version(db):
                        for statement in _SCHEMA.split(";\n")[:-1]:
                            db.execute(statement)
                        db.execute(f"PRAGMA user_version = {_VERSION}")
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise

    def _connect(self) -> sqlite3.Connection:
        path = os.path.join(self._root, FILE)
        try:
            is_regular = stat.S_ISREG(os.lstat(path).st_mode)
        except OSError as error:
            raise NotRecorded(cannot_write(FILE, error)) from None
        if not is_regular:  # a checkout could contain a link that leads out of the project
            raise NotRecorded(Problem("BK120", f"{FILE} is a link, and should be a file", "remove it"))
        db = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, isolation_level=None)
        db.execute("PRAGMA foreign_keys = ON")
        return db


@contextmanager
def _database_errors_as_problems() -> Iterator[None]:
    """Raise errors of SQLite as problems in our own words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        message = f"{FILE} cannot be used: {error}"
        hint = "nothing was changed; let the others finish, make room, then run again"
        raise NotRecorded(Problem("BK743", message, hint)) from None
    except (sqlite3.DatabaseError, NotJson) as error:
        hint = "move it away, and import what was exported: baselinekit grade --import FILE"
        raise InvalidInput(Problem("BK743", f"{FILE} cannot be read: {error}", hint)) from None


def _check_version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        hint = "install the version that wrote it, or move the file away"
        raise cannot_replay("BK743", f"{FILE} was written by a newer version", hint)
    return version


def _why_refused(queued: Queued, rating: Rating, again: bool = False) -> Problem | None:
    """Return why a rating cannot be added, or None."""
    who = same_person(rating.rater)
    if not who:
        return Problem("BK744", "it is not known who rates", "give a name")
    case = queued.item.case
    if any(same_person(earlier.rater) == who for earlier in queued.ratings):
        message = f"{rating.rater} has already rated {case}"
        return None if again else Problem("BK744", message, "each person rates once; --change replaces it")
    most = queued.item.method.evaluators.max_allowed
    method = queued.item.method
    if not is_adjudicator(rating.rater, method) and len(split_by_role(queued.ratings, method)[0]) >= most:
        message = f"{case} has {len(queued.ratings)} ratings already"
        return Problem("BK744", message, f"no more than {most} are allowed (evaluators.max_allowed)")
    return None


def _insert_item(db: sqlite3.Connection, item: RatingItem) -> int:
    shown = asdict(item.shown)
    shown["items"] = list(shown["items"])
    row = (item.key, item.case, item.grader, item.opened_at)
    texts = (_encode(plain(item.method)), _encode(shown), _encode(item.claims))
    added = db.execute("INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", row + texts)
    return added.rowcount


def insert_rating(db: sqlite3.Connection, key: str, rating: Rating) -> None:
    row = (key, same_person(rating.rater), rating.rater, _encode(rating.value))
    other_values = (rating.note, rating.at, rating.seconds)
    db.execute("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?, ?, ?)", row + other_values)


def _get_queued(db: sqlite3.Connection, key: str) -> Queued:
    queued = _select_queued(db, "key = ?", (key,))
    if not queued:
        raise InvalidInput(Problem("BK745", f"nothing with the key {key} waits", "baselinekit grade --list"))
    return queued[0]


def _select_queued(db: sqlite3.Connection, where: str, values: tuple[str, ...]) -> list[Queued]:
    """Return items with their ratings. `where` is SQL of this module, `values` may come from outside."""
    columns = "key, case_id, grader, opened_at, method, shown, claims"
    items = db.execute(f"SELECT {columns} FROM items WHERE {where}", values).fetchall()
    ratings: dict[str, list[Rating]] = {row[0]: [] for row in items}
    condition, parameters = (" WHERE item = ?", (items[0][0],)) if len(items) == 1 else ("", ())
    query = f"SELECT item, rater, value, at, note, seconds FROM ratings{condition} ORDER BY at, who"
    for item, rater, value, at, note, seconds in db.execute(query, parameters):
        if item in ratings:
            ratings[item].append(Rating(rater, _decode(value), at, note, seconds))
    queued = []
    for row in items:
        texts = dict(zip(("key", "case", "grader", "opened_at"), row[:4], strict=True))
        parts = zip(("method", "shown", "claims"), map(_decode, row[4:]), strict=True)
        rating_item, problems = read_as(RatingItem, {**texts, **dict(parts)})
        if rating_item is None:
            raise sqlite3.DatabaseError(f"the item {row[0]} is not as it was written: {problems[0].message}")
        queued.append(Queued(rating_item, tuple(ratings[row[0]])))
    return queued


def _encode(value: Json) -> str:
    return to_bytes(value).decode("utf-8")


def _decode(text: str) -> Json:
    return decode(text, MAX_DEPTH + _EXTRA_DEPTH)


# Ratings files, which carry ratings from one machine to another.


FORMAT = "baselinekit.ratings/1"
_EMPTY_VALUES: tuple[Json, ...] = ("", [], {}, None)


class StatedRating(Struct):
    """A rating in a file. One without a value is not filled in yet."""

    rater: str
    value: Json = None
    note: str = ""
    at: str | None = None
    seconds: Number | None = None


class StatedShown(Struct):
    title: str
    input: str = ""
    rubric: str = ""
    output: Json = None
    expected: str = ""
    items: list[Json] = field(default_factory=list)
    about: dict[str, Json] = field(default_factory=dict)


class StatedItem(Struct):
    """An item in a file. `shown` and `grading` are only needed for an item that the queue does not have.
    `wanted` and `scale` are for the reader."""

    item: str
    case: str
    grader: str = "human"
    opened_at: str | None = None
    grading: HumanRating | None = None
    shown: StatedShown | None = None
    claims: list[list[int]] = field(default_factory=list)
    wanted: str = ""
    scale: dict[str, Json] = field(default_factory=dict)
    ratings: list[StatedRating] = field(default_factory=list)


class StatedRatings(Struct):
    """A whole file of ratings."""

    format: Literal["baselinekit.ratings/1"]
    items: list[StatedItem] = field(default_factory=list)


def load_ratings(text: str, name: str) -> StatedRatings:
    """Return the contents of a file, or raise InvalidInput with the place of each problem."""
    documents = language(name).load(text, name)
    if len(documents) != 1:
        message = f"{name} holds {len(documents)} documents"
        raise InvalidInput(
            Problem("BK746", message, "a file of ratings is a single document, as --export writes it")
        )
    document = documents[0]
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        document = {**document, "items": [_with_numbered_labels(item) for item in document["items"]]}
    ratings_file, problems = read_as(StatedRatings, document)
    if problems or ratings_file is None:
        raise refused_ratings(text, name, problems)
    return ratings_file


def refused_ratings(text: str, name: str, problems: Sequence[Problem]) -> InvalidInput:
    """Return the error, with paths turned into places in the file."""
    return InvalidInput(*place_problems(text, name, {0: problems}))


def _with_numbered_labels(item: Json) -> Json:
    grading = item.get("grading") if isinstance(item, dict) else None
    scale = grading.get("rating_scale") if isinstance(grading, dict) else None
    labels = scale.get("labels") if isinstance(scale, dict) else None
    if not isinstance(grading, dict) or not isinstance(scale, dict) or not isinstance(labels, dict):
        return item
    numbered = {int(key) if key.lstrip("-").isdecimal() else key: label for key, label in labels.items()}
    return {**item, "grading": {**grading, "rating_scale": {**scale, "labels": numbered}}}


def dump_ratings(queued: Sequence[Queued], name: str) -> str:
    """Return all that is known of these items, as the text of a file."""
    items = []
    for queued_item in queued:
        ratings = []
        for rating in queued_item.ratings:
            fields = {"rater": rating.rater, "value": rating.value, "note": rating.note, "at": rating.at}
            fields["seconds"] = None if rating.seconds is None else round(rating.seconds, 3)
            ratings.append({key: value for key, value in fields.items() if value not in ("", None)})
        items.append({**_item_entry(queued_item), "ratings": ratings})
    return _format_items(items, name)


def rating_form(queued: Sequence[Queued], rater: str, wanted: Mapping[str, str], name: str) -> str:
    """Return a form for one person to fill in: without the ratings of others, and in a blind evaluation
    without the origin of the output."""
    items = []
    for queued_item in queued:
        entry = _item_entry(queued_item)
        for key in ("grading", "claims", "opened_at"):
            entry.pop(key, None)
        if queued_item.item.method.blind_evaluation:
            entry["shown"].pop("about", None)
        scale = plain(queued_item.item.method.rating_scale)
        instructions = {"wanted": wanted[queued_item.item.key], **({"scale": scale} if scale else {})}
        items.append({**entry, **instructions, "ratings": [{"rater": rater, "value": None}]})
    return _format_items(items, name)


def _format_items(items: list[dict[str, Json]], name: str) -> str:
    document = {"format": FORMAT, "items": items}
    return dump_json(document) if name.endswith(".json") else dump_yaml(document)


def _item_entry(queued: Queued) -> dict[str, Json]:
    item, shown = queued.item, asdict(queued.item.shown)
    shown["items"] = list(shown["items"])
    needed = ("title", "items" if shown["items"] else "output")
    return {
        "item": item.key,
        "case": item.case,
        "grader": item.grader,
        "opened_at": item.opened_at,
        "grading": plain(item.method),
        "shown": {key: shown[key] for key in shown if key in needed or shown[key] not in _EMPTY_VALUES},
        **({"claims": [list(pair) for pair in item.claims]} if item.claims else {}),
    }


# Calibration files: labels written by people, and next to them the agreement measured with them.


CALIBRATION_FORMAT = "baselinekit.calibration/1"
_COUNT_KEYS = ("both", "only_judge", "only_human", "neither", "undecided")


def load_labels(root: str, file: str) -> list[Label]:
    """Return the labels in a file, which is a list of labels or has them in `labels`."""
    body = decode_text(read(root, file), file).body
    documents = [document for document in language(file).load(body, file) if document is not None]
    entries = documents[0] if documents else []
    prefix: Path = ()
    if isinstance(entries, dict) and isinstance(entries.get("labels"), list):
        entries, prefix = entries["labels"], ("labels",)
    labels: list[Label] = []
    problems: list[Problem] = []
    for number, raw in enumerate(entries if isinstance(entries, list) else ()):
        label, wrong = read_as(Label, raw)
        labels += [label] if label is not None else []
        problems += [replace(problem, at=(*prefix, number, *(problem.at or ()))) for problem in wrong]
    if not isinstance(entries, list):
        message = f"expected a list of labels, found {describe_value(entries)}"
        problems.append(Problem("BK736", message, _LABEL_HINT, at=()))
    if problems:
        raise InvalidInput(*place_problems(body, file, {0: problems}))
    if not labels:
        raise InvalidInput(Problem("BK736", "no label here", _LABEL_HINT, Place(file, 1, 1)))
    return labels


_LABEL_HINT = "each with an output and a person's verdict: {output: …, human: passed}"


def measured_file(file: str) -> str:
    """Return the file of the measurements: next to the labels, to be committed with them."""
    return f"{posixpath.splitext(file)[0]}.measured.json"


def load_measured(root: str, file: str) -> list[Agreement]:
    """Return the measurements for a file of labels; none if there are none, or they cannot be read."""
    name = measured_file(file)
    try:
        raw = load_json(decode_text(read(root, name), name).body, name)
        entries = raw["agreements"] if raw["format"] == CALIBRATION_FORMAT else []
        agreements = []
        for entry in entries:
            both, judge, people, neither, undecided = (int(entry[key]) for key in _COUNT_KEYS)
            kappa = None if entry["kappa"] is None else float(entry["kappa"])
            names = str(entry["model"]), str(entry["rubric"]), str(entry["labels"])
            agreements.append(Agreement(*names, both, judge, people, neither, undecided, kappa))
        return agreements
    except (BaselinekitError, KeyError, TypeError, ValueError):
        return []


def store_measured(root: str, file: str, agreements: list[Agreement]) -> str:
    """Write these measurements, and keep those of other judges and rubrics that have the same labels."""
    new = {(agreement.model, agreement.rubric): agreement for agreement in agreements}
    labels = {agreement.labels for agreement in agreements}
    earlier = [agreement for agreement in load_measured(root, file) if agreement.labels in labels]
    merged = {**{(agreement.model, agreement.rubric): agreement for agreement in earlier}, **new}
    entries = [{**asdict(agreement), "accuracy": agreement.accuracy} for agreement in merged.values()]
    name = measured_file(file)
    text = pretty({"format": CALIBRATION_FORMAT, "agreements": entries}, "  ")
    atomic.replace_file(root, name, f"{text}\n".encode())
    return name
