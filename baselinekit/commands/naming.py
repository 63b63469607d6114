"""The id of a new baseline: no other baseline has it, and it shows what the baseline asks.

The id is made of the target alone (`get-orders`) unless another recipe has it. Then what distinguishes the
two is added (`get-orders-page-2`), or a hash of the recipe if nothing readable does: the same recipe gets the
same id beside the same others."""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest

from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.kinds.dispatch import digest, recipe_hash
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.store.reading import locate, records_by_id
from baselinekit.store.records import id_of, read_record

LONGEST = 60
_HASH = 6
_UNLIMITED = 1_000


def slug(text: str, longest: int = LONGEST) -> str:
    """A name for a file: lower case, words joined by `-`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:longest] or "baseline"


def name_new(draft: Baseline, project: Project, is_chosen: bool) -> str:
    """Return the id of a new baseline. `is_chosen`: the operator has chosen its id, which is used or refused
    as it is."""
    taken = records_by_id(project.root, project.folders)
    if draft.id.casefold() not in taken:
        return draft.id
    source, raw = taken[draft.id.casefold()]
    first, _ = read_record(raw, source)
    for candidate in (draft.id, *longer_ids(draft, first, project)):
        if candidate.casefold() not in taken:
            break
        owner_source, owner_raw = taken[candidate.casefold()]
        existing, _ = read_record(owner_raw, owner_source)
        counts = not is_chosen or candidate == draft.id
        if counts and existing is not None and is_same(draft, existing, project):
            accept = f"accept its new answer: baselinekit refresh {existing.id} --replay"
            hint, place = f"choose another --id, or {accept}", locate(owner_source, ("id",), project.root)
            raise _taken(candidate, existing.id, "the same recipe", hint, place)
    if not is_chosen:
        return candidate
    owner = "another baseline"
    if first is not None:
        owner = kind_of(first.current).target(first.current, project.redactor.mask, _base_url(first, project))
    hint, place = f"choose another --id, such as {candidate}", locate(source, ("id",), project.root)
    raise _taken(draft.id, str(id_of(raw)), owner, hint, place)


def _taken(id: str, existing_id: str, owner: str, hint: str, place: Place) -> InvalidInput:
    is_other = f" is {existing_id!r} in different case, which" if existing_id != id else ""
    return InvalidInput(Problem("BK113", f"the id {id!r}{is_other} is taken by {owner}", hint, place))


def free_id(draft: Baseline, taken: Mapping[str, Baseline | None], project: Project) -> str:
    """Return its id, or a longer one where another baseline has that. `taken`: baselines by their ids, in
    lower case; None for one that cannot be read."""
    longer = longer_ids(draft, taken.get(draft.id.casefold()), project)
    return next(id for id in (draft.id, *longer) if id.casefold() not in taken)


def longer_ids(draft: Baseline, other: Baseline | None, project: Project) -> Iterator[str]:
    """Yield the id with what distinguishes its recipe from the other one, a word more each time, and finally
    with a hash."""
    words = slug(draft.id)
    own_parts, other_parts = _distinctions(draft, project), _distinctions(other, project) if other else []
    for part, other_part in zip_longest(own_parts, other_parts, fillvalue=""):
        if part and slug(part, _UNLIMITED) != slug(other_part, _UNLIMITED):
            longer = f"{words}-{slug(part, _UNLIMITED)}"
            if len(longer) <= LONGEST:
                words = longer
                yield words
    digits = recipe_hash(draft.current)
    for length in range(_HASH, len(digits) + 1):
        yield f"{slug(words, LONGEST - length - 1).rstrip('-')}-{digits[:length]}"


def _distinctions(baseline: Baseline, project: Project) -> list[str]:
    return kind_of(baseline.current).distinctions(baseline.current, _base_url(baseline, project))


def _base_url(baseline: Baseline, project: Project) -> str:
    """Return the base_url, as long as the operator does not override it."""
    kind = kind_of(baseline.current)
    return str(kind.base_url(baseline.current, None, project.base_url) or "").rstrip("/")


def is_same(draft: Baseline, other: Baseline, project: Project) -> bool:
    """Whether both send the same request to the same address. Timeouts are not compared for requests."""
    recipe, other_recipe = draft.current, other.current
    if recipe.kind != other_recipe.kind or _base_url(draft, project) != _base_url(other, project):
        return False
    if kind_of(recipe).asks_address:
        return digest(recipe.input) == digest(other_recipe.input)
    return recipe_hash(recipe) == recipe_hash(other_recipe)
