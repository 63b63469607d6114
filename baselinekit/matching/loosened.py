"""Two stored outputs of one baseline: where the later one lets pass what the earlier one would not have.

Whatever was ignored already says nothing new. A placeholder that became a value which it accepts, or one that
takes less, asks for more; every other change of what is expected lets something else pass. Of these a refresh
makes only some: another value, another row or key, another text around a placeholder. They are told apart as
`honest`: a placeholder in the place of a value, or one that takes more, is never one of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from baselinekit.documents.jsontext import compact
from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.matching.rules import Form, State
from baselinekit.model.baselines import ArrayMode
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.grammar import (
    Extent,
    describes_many,
    has_marker,
    of_types,
    texts_in,
)
from baselinekit.placeholders.narrowest import takes_all, takes_known
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import Inline, Part, Placeholder, Slot, binds, compile_text
from baselinekit.texts import already_masked, clipped, many
from baselinekit.tree.changes import partners
from baselinekit.tree.equality import identical, is_number, same_json

_LONGEST = 60


@frozen
class Loosened:
    """One way in which a baseline lets more pass. `at` leads to it in the record. `honest`: it expects
    something else, as after a refresh, and asks for no less."""

    at: Path
    what: str
    honest: bool = False


@frozen
class Sides:
    """What both outputs need to be read: the words then and now, whether further keys pass now, whether all
    of an answer is compared and not its numbers or its meaning alone, and whether the order of keys and the
    type of a number counted. `literal`: the types of which a value takes nothing but itself now; None: it may
    take one of another type. `templates`: a single element with a placeholder describes them all, then and
    now."""

    before: Words
    after: Words
    form: Form
    further_keys: bool
    whole: bool
    literal: frozenset[str] | None
    order_counted: bool
    typed: bool
    templates: tuple[bool, bool]


class OutputPlace(NamedTuple):
    """A place in both outputs: its path in the later one, and the rules that were, and are, in play there."""

    path: Path
    then: State
    now: State

    def below(self, before: tuple[str | int, Json, int], after: tuple[str | int, Json, int]) -> "OutputPlace":
        """A part of it, each side with its key, its value and how many there are."""
        return OutputPlace((*self.path, after[0]), self.then.step(*before), self.now.step(*after))


def loosened(old: Json, new: Json, place: OutputPlace, sides: Sides) -> Iterator[Loosened]:
    """Where the new output lets pass what the old one did not."""
    if place.then.here is not None and place.then.here.ignore is not None:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _objects(old, new, place, sides)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _arrays(old, new, place, sides)
    elif not _same(old, new, sides.typed):
        yield from _values(old, new, sides, place.path)


def _objects(
    old: dict[str, Json], new: dict[str, Json], place: OutputPlace, sides: Sides
) -> Iterator[Loosened]:
    path = place.path
    in_form = path in sides.form  # of parts and headers only those stated count
    more_asks_more = sides.further_keys or in_form
    if sides.order_counted and [key for key in old if key in new] != [key for key in new if key in old]:
        yield Loosened(path, "expects its keys in another order", honest=True)
    for key, value in old.items():
        if key in new:
            below = place.below((key, value, len(old)), (key, new[key], len(new)))
            yield from loosened(value, new[key], below, sides)
            continue
        here = place.then.step(key, value, len(old)).here
        if here is None or here.ignore is None or here.ignore.kind != "ignore_fields":
            honest = sides.whole and not more_asks_more
            yield Loosened((*path, key), f"is no longer expected: {short(value)}", honest)
    for key, value in new.items():
        if key not in old and not more_asks_more:
            here = place.then.step(key, value, len(new)).here
            if here is None or here.ignore is None:
                yield Loosened((*path, key), f"is expected now: {short(value)}", honest=True)


# Rows: each beside the one that it continues. What all rows of its kind have may be in a new one too.


def _arrays(old: list[Json], new: list[Json], place: OutputPlace, sides: Sides) -> Iterator[Loosened]:
    path = place.path
    how = _how(place.now)
    described, describes = (
        is_template(rows, _how(state), single)
        for rows, state, single in zip((old, new), (place.then, place.now), sides.templates, strict=True)
    )
    if describes and not described:
        yield Loosened(path, f"one element describes every element now: {short(new[0])}")
        return
    if described:
        continued: list[int | None] = [0] * len(new)
    elif identical(old, new, ordered=False):
        continued = list(range(len(old)))
    else:
        continued = partners(old, new)
    if len(old) != len(new):
        told = f"expects {many(len(new), 'element')} instead of {len(old)}"
        yield Loosened(path, told, honest=len(new) > len(old) or (sides.whole and how != "subset"))
    known = [before for before in continued if before is not None]
    if not described and known != sorted(known):
        yield Loosened(path, "expects its elements in another order", honest=True)
    for number, (before, row) in enumerate(zip(continued, new, strict=True)):
        if before is None:
            what = f"is expected now: {short(row)}"
            yield Loosened((*path, number), what, honest=is_like_siblings(row, old, sides))
        else:
            below = place.below((before, old[before], len(old)), (number, row, len(new)))
            yield from loosened(old[before], row, below, sides)


def _how(state: State) -> ArrayMode | None:
    return state.here.arrays.arrays if state.here is not None and state.here.arrays is not None else None


def is_template(rows: Sequence[Json], how: ArrayMode | None, single: bool) -> bool:
    described = how == "each" or (how is None and single and len(rows) == 1 and describes_many(rows[0]))
    return described and len(rows) > 0


def is_like_siblings(row: Json, siblings: Sequence[Json], sides: Sides) -> bool:
    """Whether each placeholder of a new row is one that a row had at the same place."""
    if isinstance(row, dict):
        rows = [one for one in siblings if isinstance(one, dict)]
        return all(
            is_like_siblings(value, [one[key] for one in rows if key in one], sides)
            for key, value in row.items()
        )
    if isinstance(row, list):
        inner = [value for one in siblings if isinstance(one, list) for value in one]
        return all(is_like_siblings(value, inner, sides) for value in row)
    after = _read(row, sides.after)
    if not isinstance(after, Placeholder | Inline):
        return True
    others = (_read(one, sides.before) for one in siblings)
    return any(isinstance(one, Placeholder | Inline) and takes_all(one, after) for one in others)


def _values(old: Json, new: Json, sides: Sides, path: Path) -> Iterator[Loosened]:
    before, after = _read(old, sides.before), _read(new, sides.after)
    if isinstance(after, Placeholder | Inline):
        if isinstance(before, Placeholder | Inline):
            if not takes_all(before, after):
                what = f"another placeholder: {short(old)} -> {short(new)}"
                if honest := is_only_other_text(before, after):
                    what = f"another expectation: {short(old)} -> {short(new)}"
                yield Loosened(path, what, honest)
        elif not _means(before, after):
            yield Loosened(path, f"a value became a placeholder: {short(old)} -> {short(new)}")
        return
    what = f"another expectation: {short(old)} -> {short(new)}"
    if isinstance(before, Placeholder | Inline):
        if not takes_known(before, _known(after, sides)):
            yield Loosened(path, what, honest=not binds(before) and not holds_any(new))
    elif not _same(before, after, sides.typed):
        same_type = sides.whole or json_type(old) == json_type(new)
        yield Loosened(path, what, honest=same_type and not holds_any(new))


def holds_any(value: Json) -> bool:
    """Whether there is a placeholder in what has taken the place of a value of another type."""
    return isinstance(value, dict | list) and any(map(has_marker, texts_in(value)))


def is_only_other_text(before: Placeholder | Inline, after: Placeholder | Inline) -> bool:
    """Whether the placeholders in a text are those that were there, and none of them took in what stood
    beside it."""
    if not isinstance(before, Inline) or not isinstance(after, Inline):
        return False
    at = 0
    for number, part in enumerate(after.parts):
        if isinstance(part, Slot):
            found = (
                n for n in range(at, len(before.parts)) if _is_still(before.parts, n, after.parts, number)
            )
            at = next(found, -1) + 1
            if not at:
                return False
    return True


def _is_still(old: Sequence[Part], place: int, new: Sequence[Part], number: int) -> bool:
    """Whether a placeholder is one that was there, and beside it stands no part of what stood there."""
    before, after = old[place], new[number]
    if not isinstance(before, Slot) or not isinstance(after, Slot):
        return False
    texts = ((_text(old, place + step), _text(new, number + step)) for step in (-1, 1))
    same = before.token == after.token and before.kind.extent == after.kind.extent
    return same and all(now == then or now not in then for then, now in texts)


def _text(parts: Sequence[Part], number: int) -> str:
    part = parts[number] if 0 <= number < len(parts) else ""
    return part if isinstance(part, str) else ""


def _read(value: Json, words: Words) -> Json:
    if not isinstance(value, str) or not has_marker(value):
        return value
    try:
        return compile_text(value, words)
    except BaselinekitError:
        return value


def _known(value: Json, sides: Sides) -> Extent:
    """What is known of all that a value accepts which is no placeholder."""
    if sides.literal is None:
        return Extent()
    kind = json_type(value)
    breaks = isinstance(value, str) and "\n" in value  # which may be other line breaks
    return replace(of_types(kind), values=(value,) if kind in sides.literal and not breaks else None)


def _means(value: Json, template: Placeholder | Inline) -> bool:
    """Whether a placeholder stands for this one value, no number: of those a literal may take others."""
    if not isinstance(template, Placeholder) or template.token.optional or template.token.nullable:
        return False
    values = template.kind.extent.values
    return bool(values) and not is_number(value) and all(same_json(one, value) for one in values or ())


def _same(old: Json, new: Json, typed: bool) -> bool:
    """`typed`: 5 and 5.0 were two things."""
    return same_json(old, new) and not (typed and isinstance(old, int) != isinstance(new, int))


def short(value: Json) -> str:
    return clipped(compact(value), _LONGEST, already_masked, counted=False)
