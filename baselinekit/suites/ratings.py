"""Ratings by people: the queue of items to rate, files of ratings, and calibration files."""

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.jsontext import MAX_DEPTH, decode, dump_json, load_json, pretty, to_bytes
from baselinekit.files.languages import dump_yaml, language
from baselinekit.files.text import decode as decode_text
from baselinekit.graders.by_human import checked_rating, describe_choices, scale_problems
from baselinekit.model.grades import Agreement, Label
from baselinekit.model.ratings import Rating, RatingItem, is_adjudicator, same_person
from baselinekit.model.values import Json, Path
from baselinekit.schema import describe_value, place_problems, prefix_paths, read_as
from baselinekit.store import atomic
from baselinekit.store.project import read
from baselinekit.structs import Struct, asdict, convert, fields, plain, replace
from baselinekit.suites.settings import load_documents
from baselinekit.values.equality import canonical

FORMAT = "baselinekit.ratings/1"
FOLDER = os.path.join(atomic.STATE_FOLDER, "ratings")
_KEY = re.compile("[0-9a-f]{16}")
_EXTRA_DEPTH = 6
"""Levels of nesting that a file of ratings adds around an output."""


class RatingsFile(Struct):
    """A file of ratings, which carries items and ratings from one machine to another."""

    format: Literal["baselinekit.ratings/1"]
    items: list[RatingItem]


class Ratings:
    """The queue of one project: for each item a file of ratings in a folder that only the user can read. One
    lock keeps changes apart, and each file is replaced whole, so that a killed process loses no rating that
    was confirmed."""

    def __init__(self, root: str):
        self._root = root

    def contents(self) -> dict[str, bytes]:
        """Return the files of the queue by their names."""
        folder = os.path.join(self._root, FOLDER)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        files = [f"{FOLDER}/{name}" for name in sorted(names) if name.endswith(".json")]
        return {file: read(self._root, file) for file in files}

    def all(self) -> list[RatingItem]:
        """Return all items with their ratings, in the order of the cases."""
        items = [_item_in(file, data) for file, data in self.contents().items()]
        return sorted(items, key=lambda item: (item.case, item.grader, item.opened_at, item.key))

    def find(self, key: str) -> RatingItem | None:
        if not _KEY.fullmatch(key):  # it may come from a browser, and becomes the name of a file
            return None
        file = f"{FOLDER}/{key}.json"
        is_queued = os.path.lexists(os.path.join(self._root, file))
        return _item_in(file, read(self._root, file)) if is_queued else None

    def enqueue(self, item: RatingItem) -> RatingItem:
        """Add an item to the queue if it is missing, else update its method: how many must rate it."""
        existing = self.find(item.key)
        if existing is not None and existing.method == item.method:
            return existing
        with self._only_writer():
            existing = self.find(item.key)
            return self._write(item if existing is None else replace(existing, method=item.method))

    def rate(self, key: str, rating: Rating, again: bool = False) -> RatingItem:
        """Add a rating, if more are allowed. Only `again` replaces an earlier one by the same person."""
        return self.change(key, lambda item: with_rating(item, rating, again))

    def change(self, key: str, how: Callable[[RatingItem], RatingItem]) -> RatingItem:
        """Replace an item by what `how` makes of it, with no other writer in between."""
        with self._only_writer():
            item = self.find(key)
            if item is None:
                message = f"nothing with the key {key} waits"
                raise InvalidInput(Problem("BK509", message, "baselinekit grade --list"))
            return self._write(how(item))

    def withdraw(self, key: str, rater: str) -> bool:
        """Remove a person's rating. Return whether there was one."""
        with self._only_writer():
            item = self.find(key)
            if item is None or not item.rated_by(rater):
                return False
            others = [rating for rating in item.ratings if same_person(rating.rater) != same_person(rater)]
            self._write(replace(item, ratings=tuple(others)))
            return True

    def drop(self, keys: Sequence[str]) -> None:
        """Remove items from the queue, with their ratings."""
        with self._only_writer():
            for key in keys:
                atomic.remove(self._root, f"{FOLDER}/{key}.json")

    def merge(self, items: Mapping[int, RatingItem], problems: Sequence[Problem] = ()) -> tuple[int, int]:
        """Add all of these items of a file, or none if there are problems. Return how many items and ratings
        are new. A rating that exists already, or that has no value yet, is fine. The error has the path of
        each problem in the file."""
        merged: dict[str, RatingItem] = {}
        problems = list(problems)
        new_items = new_ratings = 0
        with self._only_writer():
            for number, item in items.items():
                queued = merged.get(item.key) or self.find(item.key)
                new_items += queued is None
                queued = queued or replace(item, ratings=())
                for place, rating in enumerate(item.ratings):
                    if rating.value is None or any(_is_same(rating, earlier) for earlier in queued.ratings):
                        continue
                    try:
                        queued = with_rating(queued, rating)
                        new_ratings += 1
                    except InvalidInput as error:
                        at = ("items", number, "ratings", place)
                        problems += [replace(problem, at=at) for problem in error.problems]
                merged[item.key] = queued
            if problems:
                raise InvalidInput(*problems)
            for item in merged.values():
                self._write(item)
        return new_items, new_ratings

    @contextmanager
    def _only_writer(self) -> Iterator[None]:
        folder = atomic.state_folder(self._root, "ratings")
        with atomic.reporting(FOLDER):
            os.chmod(folder, 0o700)
        with atomic.lock(self._root, FOLDER):
            yield

    def _write(self, item: RatingItem) -> RatingItem:
        file, data = f"{FOLDER}/{item.key}.json", to_bytes(_document([plain(item)]))
        _item_in(file, data)  # what could not be read again is not written
        atomic.replace_file(self._root, file, data)
        return item


def _item_in(file: str, data: bytes) -> RatingItem:
    """Return the item in a file of the queue, which a person could have edited."""
    try:
        (item,) = convert(decode(data.decode("utf-8"), MAX_DEPTH + _EXTRA_DEPTH), RatingsFile).items
        for rating in item.ratings:
            checked_rating(rating.value, item.method.rating_scale, len(item.shown.items))
        return item
    except (ValueError, BaselinekitError) as error:
        hint = "move it away, and import what was exported: baselinekit grade --import FILE"
        raise InvalidInput(Problem("BK111", f"{file} cannot be read: {error}", hint)) from None


def _is_same(rating: Rating, other: Rating) -> bool:
    is_same_person = same_person(rating.rater) == same_person(other.rater)
    return is_same_person and canonical(rating.value) == canonical(other.value)


def check_rater(name: str) -> str:
    """Return the name of a rater, with single blanks; InvalidInput for one that cannot be shown in a list."""
    name = " ".join(name.split())
    if not name or not name.isprintable():
        raise InvalidInput(Problem("BK741", f"{name!r} is not the name of a rater", "as in --as ada"))
    return name


def with_rating(item: RatingItem, rating: Rating, again: bool = False) -> RatingItem:
    """Return the item with one rating more; InvalidInput where it cannot be added."""
    value = checked_rating(rating.value, item.method.rating_scale, len(item.shown.items))
    rating = replace(rating, rater=check_rater(rating.rater), value=value)
    who, most = same_person(rating.rater), item.method.evaluators.max_allowed
    is_repeated = item.rated_by(rating.rater)
    if is_repeated and not again:
        message = f"{rating.rater} has already rated {item.case}"
        raise InvalidInput(Problem("BK741", message, "each person rates once; --change replaces it"))
    is_full = len(item.raters) >= most and item.gold is None
    if not is_repeated and is_full and not is_adjudicator(rating.rater, item.method):
        message = f"{item.case} has {len(item.ratings)} ratings already"
        hint = f"no more than {most} are allowed (evaluators.max_allowed)"
        raise InvalidInput(Problem("BK741", message, hint))
    others = [earlier for earlier in item.ratings if same_person(earlier.rater) != who]
    ratings = sorted((*others, rating), key=lambda rating: (rating.at, same_person(rating.rater)))
    return replace(item, ratings=tuple(ratings))


# Files of ratings.


def _document(items: list[Json]) -> dict[str, Json]:
    return {"format": FORMAT, "items": items}


def dump_ratings(items: Sequence[RatingItem], name: str, rater: str | None = None) -> str:
    """Return all that is known of these items, as the text of a file; or a form for one person to fill in:
    without the ratings of others, and in a blind evaluation without the origin of the output."""
    entries = [plain(item) if rater is None else _form_entry(item, rater) for item in items]
    return dump_json(_document(entries)) if name.endswith(".json") else dump_yaml(_document(entries))


def _form_entry(item: RatingItem, rater: str) -> dict[str, Json]:
    scale = item.method.rating_scale
    shown = {**plain(item.shown), **({"about": {}} if item.method.blind_evaluation else {})}
    return {
        "item": item.key,
        "case": item.case,
        "grader": item.grader,
        "shown": {key: value for key, value in shown.items() if key != "about" or value},
        "wanted": describe_choices(scale, len(item.shown.items)),
        "scale": plain(scale),
        "ratings": [{"rater": rater, "value": None}],
    }


def load_ratings(
    text: str, name: str, queued: Sequence[RatingItem]
) -> tuple[dict[int, RatingItem], list[Problem]]:
    """Return the items of a file by their numbers, and what is wrong with the others. What a form does not
    state of an item is taken from the queue."""
    documents = language(name).load(text, name)
    document = documents[0] if len(documents) == 1 else None
    stated = document.get("items") if isinstance(document, dict) else None
    whole = {**document, "items": []} if isinstance(document, dict) and isinstance(stated, list) else document
    problems = read_as(RatingsFile, whole)[1]
    known = {item.key: plain(replace(item, ratings=())) for item in queued}
    items: dict[int, RatingItem] = {}
    for number, entry in enumerate(stated if isinstance(stated, list) else ()):
        entry = entry if isinstance(entry, dict) else {"item": entry}
        entry = {key: value for key, value in entry.items() if key not in ("wanted", "scale")}
        key, case, wrong = str(entry.get("item")), entry.get("case"), []
        if key not in known and not ("grading" in entry and "shown" in entry):
            hint = "run the suite first, or export it there without --as"
            message = f"{case} ({key}) is not in the queue, and the file does not say what it is"
            wrong = [Problem("BK509", message, hint, at=("item",))]
        elif key in known and case != known[key]["case"]:
            message = f"{key} is of the case {known[key]['case']}"
            wrong = [Problem("BK741", message, "do not change `item` or `case`", at=("case",))]
        else:
            item, wrong = read_as(RatingItem, {**entry, **known.get(key, {})})
            if item is not None:
                wrong = [*_item_problems(item)]
                items[number] = item
        problems += prefix_paths(wrong, ("items", number))
    return items, problems


def _item_problems(item: RatingItem) -> Iterator[Problem]:
    """The problems of an item that its form does not show."""
    for problem in scale_problems(item.method):
        yield replace(problem, at=("grading", *(problem.at or ())[1:]))
    places = {place for claim in item.claims for place in claim}
    if item.gold is not None and not any(scale_problems(item.method)):
        try:
            checked_rating(item.gold.value, item.method.rating_scale, len(item.shown.items))
        except InvalidInput as error:
            yield from (replace(problem, at=("gold", "value")) for problem in error.problems)
    is_ranking = item.method.rating_scale.type == "ranking"
    if is_ranking and not (places and places <= {*range(1, len(item.shown.items) + 1)}):
        yield Problem("BK741", "a ranking without its claim", "export it again", at=())


# Calibration files: labels written by people, and next to them the agreement measured with them.


CALIBRATION_FORMAT = "baselinekit.calibration/1"


def load_labels(root: str, file: str) -> list[Label]:
    """Return the labels in a file, which is a list of labels or has them in `labels`."""
    body, documents = load_documents(root, file)
    entries: Json = next((document for document in documents if document is not None), [])
    at: Path = ()
    if isinstance(entries, dict) and isinstance(entries.get("labels"), list):
        entries, at = entries["labels"], ("labels",)
    labels, problems = read_as(list[Label], entries)
    if not isinstance(entries, list):
        message = f"expected a list of labels, found {describe_value(entries)}"
        problems = [Problem("BK736", message, _LABEL_HINT, at=())]
    if problems:
        raise InvalidInput(*place_problems(body, file, {0: prefix_paths(problems, at)}))
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
        keys = {field.name: field.encode_name for field in fields(Agreement)}
        rows = [
            {keys.get(key, key): value for key, value in one.items() if key != "accuracy"} for one in entries
        ]
        return [convert(row, Agreement) for row in rows]
    except (BaselinekitError, AttributeError, KeyError, TypeError, ValueError):
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
