"""Ratings of people: the queue of what waits for them, files of ratings, and calibration files."""

import os
import posixpath
import sqlite3
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import MISSING, asdict, field, fields, is_dataclass, replace
from typing import Any, Literal

from baselinekit.documents.jsontext import MAX_DEPTH, NotJson, decode, dump_json, load_json, pretty, to_bytes
from baselinekit.documents.languages import dump_yaml, language
from baselinekit.documents.text import decode as decode_text
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem, cannot
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Number
from baselinekit.model.grades import (
    Agreement,
    HumanRating,
    Label,
    Queued,
    Rating,
    RatingItem,
    by_role,
    is_adjudicator,
    same_person,
)
from baselinekit.model.values import Json, Path
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import NotPlain, check, place_problems, reader
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write
from baselinekit.store.project import read

# The queue of what waits for people, and what they said: `.baselinekit/ratings.sqlite`, the one owner of
# it. Each change is one transaction with a rollback journal: a process killed at any moment leaves the
# ratings as they were before or after, and the next one to open the file tidies up. Several may enter at
# once.


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

    def contents(self) -> bytes:
        with self._reading() as db:  # as a file, for whoever reads it elsewhere
            return db.serialize() if db else b""

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
        """Add a rating, if more are allowed. What a person said before is only replaced `again`."""
        with self._writing() as db:
            queued = _known(db, key)
            if problem := _problem(queued, rating, again):
                raise InvalidInput(problem)
            insert_rating(db, key, rating)
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
                        insert_rating(db, one.item.key, rating)
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


def insert_rating(db: sqlite3.Connection, key: str, rating: Rating) -> None:
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
    queued = []
    for row in items:
        texts = dict(zip(("key", "case", "grader", "opened_at"), row[:4], strict=True))
        parts = zip(("method", "shown", "claims"), map(_value, row[4:]), strict=True)
        try:
            stated: RatingItem = reader(RatingItem)({**texts, **dict(parts)})
        except NotPlain:
            raise sqlite3.DatabaseError(f"the item {row[0]} is not as it was written") from None
        queued.append(Queued(stated, tuple(said[row[0]])))
    return queued


def _text(value: Json) -> str:
    return to_bytes(value).decode("utf-8")


def _value(text: str) -> Json:
    return decode(text, MAX_DEPTH + _DEEPER)


# Ratings on their way from one machine to another, and calibration files.


FORMAT = "baselinekit.ratings/1"
_EMPTY: tuple[Json, ...] = ("", [], {}, None)


@frozen
class StatedRating:
    """A rating in a file. One without a value is still to be filled in."""

    rater: str
    value: Json = None
    note: str = ""
    at: str | None = None
    seconds: Number | None = None


@frozen
class StatedShown:
    title: str
    input: str = ""
    rubric: str = ""
    output: Json = None
    expected: str = ""
    items: list[Json] = field(default_factory=list)
    about: dict[str, Json] = field(default_factory=dict)


@frozen
class StatedItem:
    """An item in a file. What is shown, and how it is graded, is only needed where it is not known yet.
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


@frozen
class StatedRatings:
    """A whole file of ratings."""

    format: Literal["baselinekit.ratings/1"]
    items: list[StatedItem] = field(default_factory=list)


def load_ratings(text: str, name: str) -> StatedRatings:
    """What a file states; InvalidInput with the place of whatever is wrong in it."""
    documents = language(name).load(text, name)
    if len(documents) != 1:
        what = f"{name} holds {len(documents)} documents"
        raise InvalidInput(
            Problem("BK746", what, "a file of ratings is a single document, as --export writes it")
        )
    document = documents[0]
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        document = {**document, "items": [_labelled(item) for item in document["items"]]}
    stated, problems = check(StatedRatings, document)
    if problems or stated is None:
        raise refused_ratings(text, name, problems)
    return stated


def refused_ratings(text: str, name: str, problems: Sequence[Problem]) -> InvalidInput:
    """The error, with places in the file for paths into it."""
    return InvalidInput(*place_problems(text, name, {0: problems}))


def _labelled(item: Json) -> Json:
    grading = item.get("grading") if isinstance(item, dict) else None
    scale = grading.get("rating_scale") if isinstance(grading, dict) else None
    labels = scale.get("labels") if isinstance(scale, dict) else None
    if not isinstance(grading, dict) or not isinstance(scale, dict) or not isinstance(labels, dict):
        return item
    numbered = {int(key) if key.lstrip("-").isdecimal() else key: label for key, label in labels.items()}
    return {**item, "grading": {**grading, "rating_scale": {**scale, "labels": numbered}}}


def dump_ratings(queued: Sequence[Queued], name: str) -> str:
    """All that is known of these items."""
    items = []
    for one in queued:
        ratings = []
        for rating in one.ratings:
            told = {"rater": rating.rater, "value": rating.value, "note": rating.note, "at": rating.at}
            told["seconds"] = None if rating.seconds is None else round(rating.seconds, 3)
            ratings.append({key: value for key, value in told.items() if value not in ("", None)})
        items.append({**_item(one), "ratings": ratings})
    return _written(items, name)


def rating_form(queued: Sequence[Queued], rater: str, wanted: Mapping[str, str], name: str) -> str:
    """For one person to fill in: nothing of what others said, and of a blind evaluation nothing of where it
    comes from."""
    items = []
    for one in queued:
        stated = _item(one)
        for hidden in ("grading", "claims", "opened_at"):
            stated.pop(hidden, None)
        if one.item.method.blind_evaluation:
            stated["shown"].pop("about", None)
        scale = _brief(one.item.method.rating_scale)
        asked = {"wanted": wanted[one.item.key], **({"scale": scale} if scale else {})}
        items.append({**stated, **asked, "ratings": [{"rater": rater, "value": None}]})
    return _written(items, name)


def _written(items: list[dict[str, Json]], name: str) -> str:
    document = {"format": FORMAT, "items": items}
    return dump_json(document) if name.endswith(".json") else dump_yaml(document)


def _item(queued: Queued) -> dict[str, Json]:
    item, shown = queued.item, asdict(queued.item.shown)
    shown["items"] = list(shown["items"])
    needed = ("title", "items" if shown["items"] else "output")
    return {
        "item": item.key,
        "case": item.case,
        "grader": item.grader,
        "opened_at": item.opened_at,
        "grading": _brief(item.method),
        "shown": {key: shown[key] for key in shown if key in needed or shown[key] not in _EMPTY},
        **({"claims": [list(pair) for pair in item.claims]} if item.claims else {}),
    }


def _brief(stated: Any) -> dict[str, Json]:
    """A dataclass without what is as it would be anyway."""
    brief: dict[str, Json] = {}
    for one in fields(stated):
        value = getattr(stated, one.name)
        default = one.default if one.default is not MISSING else None
        if one.default_factory is not MISSING:
            default = one.default_factory()
        if value != default or one.default is one.default_factory is MISSING:
            brief[one.name] = _plain(value)
    return brief


def _plain(value: Any) -> Json:
    if is_dataclass(value):
        return _brief(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


# Calibration files: the labels that people wrote, and beside them what was measured with them.


CALIBRATION_FORMAT = "baselinekit.calibration/1"
_KEYS = ("both", "only_judge", "only_human", "neither", "undecided")


def load_labels(root: str, file: str) -> list[Label]:
    """Every label of a file: a list of them."""
    body = decode_text(read(root, file), file).body
    documents = [one for one in language(file).load(body, file) if one is not None]
    stated = documents[0] if documents else []
    before: Path = ()
    if isinstance(stated, dict) and isinstance(stated.get("labels"), list):
        stated, before = stated["labels"], ("labels",)
    labels: list[Label] = []
    problems: list[Problem] = []
    for number, raw in enumerate(stated if isinstance(stated, list) else ()):
        label, more = check(Label, raw)
        labels += [label] if label is not None else []
        problems += [replace(one, at=(*before, number, *(one.at or ()))) for one in more]
    if not isinstance(stated, list):
        problems.append(
            Problem("BK736", f"expected a list of labels, found {describe_value(stated)}", _MEND, at=())
        )
    if problems:
        raise InvalidInput(*place_problems(body, file, {0: problems}))
    if not labels:
        raise InvalidInput(Problem("BK736", "no label here", _MEND, Place(file, 1, 1)))
    return labels


_MEND = "each with an output and a person's verdict: {output: …, human: passed}"


def measured_file(file: str) -> str:
    """Where what was measured stands: beside the labels, to be committed with them."""
    return f"{posixpath.splitext(file)[0]}.measured.json"


def load_measured(root: str, file: str) -> list[Agreement]:
    """What was measured with a file of labels; nothing where nobody has, or where it cannot be read."""
    name = measured_file(file)
    try:
        raw = load_json(decode_text(read(root, name), name).body, name)
        entries = raw["agreements"] if raw["format"] == CALIBRATION_FORMAT else []
        found = []
        for entry in entries:
            both, judge, people, neither, undecided = (int(entry[key]) for key in _KEYS)
            kappa = None if entry["kappa"] is None else float(entry["kappa"])
            names = str(entry["model"]), str(entry["rubric"]), str(entry["labels"])
            found.append(Agreement(*names, both, judge, people, neither, undecided, kappa))
        return found
    except (BaselinekitError, KeyError, TypeError, ValueError):
        return []


def keep_measured(root: str, file: str, agreements: list[Agreement]) -> str:
    """Write them, and with them those of other judges and rubrics that are still of these labels."""
    new = {(one.model, one.rubric): one for one in agreements}
    labels = {one.labels for one in agreements}
    kept = [one for one in load_measured(root, file) if one.labels in labels]
    merged = {**{(one.model, one.rubric): one for one in kept}, **new}
    entries = [{**asdict(one), "accuracy": one.accuracy} for one in merged.values()]
    name = measured_file(file)
    text = pretty({"format": CALIBRATION_FORMAT, "agreements": entries}, "  ")
    atomic.replace_file(root, name, f"{text}\n".encode())
    return name
