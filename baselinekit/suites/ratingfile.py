"""Ratings on their way from one machine to another, and calibration files."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from baselinekit.documents.jsontext import dump_json, load_json, pretty
from baselinekit.documents.languages import dump_yaml, language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.model.baselines import Number
from baselinekit.model.grades import Agreement, HumanRating, Label, Queued
from baselinekit.model.values import Json, Path
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.validate import check, place_problems
from baselinekit.store import atomic
from baselinekit.store.project import MAX_BYTES, read

FORMAT = "baselinekit.ratings/1"
_EMPTY: tuple[Json, ...] = ("", [], {}, None)


@dataclass(frozen=True, slots=True)
class StatedRating:
    """A rating in a file. One without a value is still to be filled in."""

    rater: str
    value: Json = None
    note: str = ""
    at: str | None = None
    seconds: Number | None = None


@dataclass(frozen=True, slots=True)
class StatedShown:
    title: str
    input: str = ""
    rubric: str = ""
    output: Json = None
    expected: str = ""
    items: list[Json] = field(default_factory=list)
    about: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class StatedRatings:
    """A whole file of ratings."""

    format: Literal["baselinekit.ratings/1"]
    items: list[StatedItem] = field(default_factory=list)


def load(text: str, name: str) -> StatedRatings:
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
        raise refused(text, name, problems)
    return stated


def refused(text: str, name: str, problems: Sequence[Problem]) -> InvalidInput:
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


def dump(queued: Sequence[Queued], name: str) -> str:
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


def form(queued: Sequence[Queued], rater: str, wanted: Mapping[str, str], name: str) -> str:
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
    body = decode(read(root, file, MAX_BYTES), file).body
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
        raw = load_json(decode(read(root, name, MAX_BYTES), name).body, name)
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
