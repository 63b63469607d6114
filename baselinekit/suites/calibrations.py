"""Calibration files: the labels that people wrote, and beside them what was measured with them."""

import posixpath
from dataclasses import asdict, replace

from baselinekit.documents import jsonfile
from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.model.calibration import Agreement, Label
from baselinekit.model.values import Json, Path
from baselinekit.store import atomic
from baselinekit.store.complaints import found
from baselinekit.store.files import MAX_BYTES, read
from baselinekit.store.locating import place_problems
from baselinekit.store.validate import check

FORMAT = "baselinekit.calibration/1"
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
        problems.append(Problem("BK736", f"expected a list of labels, found {found(stated)}", _MEND, at=()))
    if problems:
        raise InvalidInput(*place_problems(body, file, {0: problems}))
    if not labels:
        raise InvalidInput(Problem("BK736", "no label here", _MEND, Place(file, 1, 1)))
    return labels


_MEND = "each with an output, and what a person says of it: {output: …, human: passed}"


def measured_file(file: str) -> str:
    """Where what was measured stands: beside the labels, to be committed with them."""
    return f"{posixpath.splitext(file)[0]}.measured.json"


def load_measured(root: str, file: str) -> list[Agreement]:
    """What was measured with a file of labels; nothing where nobody has, or where it cannot be read."""
    name = measured_file(file)
    try:
        raw = jsonfile.load(decode(read(root, name, MAX_BYTES), name).body, name)
        entries = raw["agreements"] if raw["format"] == FORMAT else []
        return list(map(_agreement, entries))
    except (BaselinekitError, KeyError, TypeError, ValueError):
        return []


def _agreement(raw: Json) -> Agreement:
    both, judge, people, neither, undecided = (int(raw[key]) for key in _KEYS)
    kappa = None if raw["kappa"] is None else float(raw["kappa"])
    named = str(raw["model"]), str(raw["rubric"]), str(raw["labels"])
    return Agreement(*named, both, judge, people, neither, undecided, kappa)


def keep_measured(root: str, file: str, agreements: list[Agreement]) -> str:
    """Write them, and with them those of other judges and rubrics that are still of these labels."""
    new = {(one.model, one.rubric): one for one in agreements}
    labels = {one.labels for one in agreements}
    kept = [one for one in load_measured(root, file) if one.labels in labels]
    merged = {**{(one.model, one.rubric): one for one in kept}, **new}
    entries = [{**asdict(one), "accuracy": one.accuracy} for one in merged.values()]
    name = measured_file(file)
    text = jsonfile.pretty({"format": FORMAT, "agreements": entries}, "  ")
    atomic.replace_file(root, name, f"{text}\n".encode())
    return name
