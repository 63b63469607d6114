"""What a new baseline is called: an id that no other baseline has, and that tells what it asks.

The id is made of the target alone (`get-orders`) as long as no other recipe has it. Where one has, the id
takes in what tells the two apart (`get-orders-page-2`), and where nothing readable does, a hash of the
recipe: the same recipe gets the same id beside the same others."""

import re
from collections.abc import Iterator
from itertools import zip_longest

from baselinekit.errors import InvalidInput, Problem
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.values import Json
from baselinekit.replaying.dispatch import digest, recipe_hash
from baselinekit.store.reading import locate, taken_ids
from baselinekit.store.records import id_of, read_record
from baselinekit.workflow.project import Project

LONGEST = 60
_HASH = 6
_UNLIMITED = 1_000


def slug(text: str, longest: int = LONGEST) -> str:
    """A name for a file: lower case, words joined by `-`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:longest] or "baseline"


def name_new(draft: Baseline, project: Project, is_chosen: bool) -> str:
    """The id of a new baseline. `is_chosen`: the operator has chosen the one that it has, which is taken or
    refused as it is."""
    taken = taken_ids(project.root, project.folders)
    if draft.id.casefold() not in taken:
        return draft.id
    source, raw = taken[draft.id.casefold()]
    other, _ = read_record(raw, source)
    free = draft.id
    for free in (draft.id, *longer_ids(draft, other, project)):
        if free.casefold() not in taken:
            break
        if not is_chosen or free == draft.id:
            refuse_same(draft, free, *taken[free.casefold()], project)
    if not is_chosen:
        return free
    mask, by = project.redactor.mask, "another baseline"
    if other is not None:
        by = kind_of(other.current).target(other.current, mask, _base(other, project))
    hint = f"choose another --id, such as {free}"
    raise InvalidInput(_taken(draft.id, str(id_of(raw, source)), by, hint, source, project))


def refuse_same(draft: Baseline, id: str, source: Source, raw: dict[str, Json], project: Project) -> None:
    other, _ = read_record(raw, source)
    if other is not None and is_same(draft, other, project):
        hint = f"choose another --id, or accept its new answer: baselinekit refresh {other.id} --replay"
        raise InvalidInput(_taken(id, other.id, "the same recipe", hint, source, project))


def _taken(id: str, known: str, by: str, hint: str, source: Source, project: Project) -> Problem:
    message = f"the id {id!r} is taken by {by}"
    if known != id:
        message = f"the id {id!r} is {known!r} in different case, which is taken by {by}"
    return Problem("BK113", message, hint, locate(source, ("id",), project.root))


def longer_ids(draft: Baseline, other: Baseline | None, project: Project) -> Iterator[str]:
    """The id with what tells its recipe from the one that has it, a word more each time, and in the end with
    a hash."""
    words = slug(draft.id)
    own, its = _distinctions(draft, project), _distinctions(other, project) if other else []
    for mine, theirs in zip_longest(own, its, fillvalue=""):
        if mine and slug(mine, _UNLIMITED) != slug(theirs, _UNLIMITED):
            longer = f"{words}-{slug(mine, _UNLIMITED)}"
            if len(longer) <= LONGEST:
                words = longer
                yield words
    digits = recipe_hash(draft.current)
    for length in range(_HASH, len(digits) + 1):
        yield f"{slug(words, LONGEST - length - 1).rstrip('-')}-{digits[:length]}"


def _distinctions(baseline: Baseline, project: Project) -> list[str]:
    return kind_of(baseline.current).distinctions(baseline.current, _base(baseline, project))


def _base(baseline: Baseline, project: Project) -> str:
    """The address that it asks as long as the operator gives no other one."""
    kind = kind_of(baseline.current)
    return str(kind.base_url(baseline.current, None, project.base_url) or "").rstrip("/")


def is_same(draft: Baseline, other: Baseline, project: Project) -> bool:
    """Whether both ask the same of the same. How long a request may take makes no other one of it."""
    mine, its = draft.current, other.current
    if mine.kind != its.kind or _base(draft, project) != _base(other, project):
        return False
    if kind_of(mine).asks_address:
        return digest(mine.input) == digest(its.input)
    return recipe_hash(mine) == recipe_hash(its)
