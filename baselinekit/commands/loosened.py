"""Compares two stored outputs of one baseline: where the later one lets pass what the earlier one would not.

Values that were ignored before do not count. A placeholder that became a value which it accepts, or a
narrower placeholder, asks for more; every other change of an expected value lets something else pass. A
refresh makes only some of these: another value, another row or key, another text around a placeholder. They
are marked as `honest`; a placeholder in the place of a value, or a wider placeholder, never is."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from baselinekit.errors import BaselinekitError
from baselinekit.files.jsontext import compact
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
from baselinekit.placeholders.narrowest import takes_all, takes_extent
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Part, Placeholder, Slot, binds, compile_text
from baselinekit.values.changes import match_elements
from baselinekit.values.equality import identical, is_number, same_json
from baselinekit.values.texts import count_noun, mask_and_clip, no_mask

_MOST_CHARACTERS = 60


@frozen
class Loosened:
    """One way in which a baseline lets more pass. `at` leads to it in the record. `honest`: the baseline
    expects something else, as after a refresh, but asks for no less."""

    at: Path
    message: str
    honest: bool = False


@frozen
class Sides:
    """What is needed to read both outputs: the words before and after, whether further keys pass now, whether
    the whole output is compared and not only its numbers or its meaning, and whether the order of keys and
    the type of a number counted. `literal`: the types whose values match only themselves now; None: a value
    may match one of another type. `templates`: whether a single element with a placeholder describes all
    elements, before and after."""

    before: PlaceholderContext
    after: PlaceholderContext
    form: Form
    further_keys: bool
    whole: bool
    literal: frozenset[str] | None
    order_counted: bool
    typed: bool
    templates: tuple[bool, bool]


class OutputPlace(NamedTuple):
    """A place in both outputs: its path in the later one, and the states of the rules there before and
    now."""

    path: Path
    then: State
    now: State

    def below(self, before: tuple[str | int, Json, int], after: tuple[str | int, Json, int]) -> "OutputPlace":
        """The place of a child; each side gives its key, its value and the number of children."""
        return OutputPlace((*self.path, after[0]), self.then.step(*before), self.now.step(*after))


def loosened(old: Json, new: Json, place: OutputPlace, sides: Sides) -> Iterator[Loosened]:
    """The ways in which the new output lets pass what the old one did not."""
    if place.then.here is not None and place.then.here.ignore is not None:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _compare_objects(old, new, place, sides)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _compare_arrays(old, new, place, sides)
    elif not _is_same_value(old, new, sides.typed):
        yield from _compare_values(old, new, sides, place.path)


def _compare_objects(
    old: dict[str, Json], new: dict[str, Json], place: OutputPlace, sides: Sides
) -> Iterator[Loosened]:
    path = place.path
    in_form = path in sides.form  # only the parts and headers that the baseline states are compared
    further_keys_pass = sides.further_keys or in_form
    if sides.order_counted and [key for key in old if key in new] != [key for key in new if key in old]:
        yield Loosened(path, "expects its keys in another order", honest=True)
    for key, value in old.items():
        if key in new:
            below = place.below((key, value, len(old)), (key, new[key], len(new)))
            yield from loosened(value, new[key], below, sides)
            continue
        here = place.then.step(key, value, len(old)).here
        if here is None or here.ignore is None or here.ignore.kind != "ignore_fields":
            honest = sides.whole and not further_keys_pass
            yield Loosened((*path, key), f"is no longer expected: {short(value)}", honest)
    for key, value in new.items():
        if key not in old and not further_keys_pass:
            here = place.then.step(key, value, len(new)).here
            if here is None or here.ignore is None:
                yield Loosened((*path, key), f"is expected now: {short(value)}", honest=True)


# Arrays: each new row is compared with the old row that it continues. A placeholder that such rows have may
# be in a new row too.


def _compare_arrays(old: list[Json], new: list[Json], place: OutputPlace, sides: Sides) -> Iterator[Loosened]:
    path = place.path
    array_mode = _array_mode(place.now)
    was_described, is_described = (
        is_template(rows, _array_mode(state), single)
        for rows, state, single in zip((old, new), (place.then, place.now), sides.templates, strict=True)
    )
    if is_described and not was_described:
        yield Loosened(path, f"one element describes every element now: {short(new[0])}")
        return
    if was_described:
        continued: list[int | None] = [0] * len(new)
    elif identical(old, new, ordered=False):
        continued = list(range(len(old)))
    else:
        continued = match_elements(old, new)
    if len(old) != len(new):
        message = f"expects {count_noun(len(new), 'element')} instead of {len(old)}"
        yield Loosened(path, message, honest=len(new) > len(old) or (sides.whole and array_mode != "subset"))
    positions = [before for before in continued if before is not None]
    if not was_described and positions != sorted(positions):
        yield Loosened(path, "expects its elements in another order", honest=True)
    for number, (before, row) in enumerate(zip(continued, new, strict=True)):
        if before is None:
            message = f"is expected now: {short(row)}"
            yield Loosened((*path, number), message, honest=is_like_siblings(row, old, sides))
        else:
            below = place.below((before, old[before], len(old)), (number, row, len(new)))
            yield from loosened(old[before], row, below, sides)


def _array_mode(state: State) -> ArrayMode | None:
    return state.here.arrays.arrays if state.here is not None and state.here.arrays is not None else None


def is_template(rows: Sequence[Json], how: ArrayMode | None, single: bool) -> bool:
    described = how == "each" or (how is None and single and len(rows) == 1 and describes_many(rows[0]))
    return described and len(rows) > 0


def is_like_siblings(row: Json, siblings: Sequence[Json], sides: Sides) -> bool:
    """Whether each placeholder of a new row is no wider than one that an old row had at the same place."""
    if isinstance(row, dict):
        rows = [sibling for sibling in siblings if isinstance(sibling, dict)]
        return all(
            is_like_siblings(value, [sibling[key] for sibling in rows if key in sibling], sides)
            for key, value in row.items()
        )
    if isinstance(row, list):
        inner = [value for sibling in siblings if isinstance(sibling, list) for value in sibling]
        return all(is_like_siblings(value, inner, sides) for value in row)
    after = _compile(row, sides.after)
    if not isinstance(after, Placeholder | Inline):
        return True
    templates = (_compile(sibling, sides.before) for sibling in siblings)
    return any(
        isinstance(template, Placeholder | Inline) and takes_all(template, after) for template in templates
    )


def _compare_values(old: Json, new: Json, sides: Sides, path: Path) -> Iterator[Loosened]:
    before, after = _compile(old, sides.before), _compile(new, sides.after)
    if isinstance(after, Placeholder | Inline):
        if isinstance(before, Placeholder | Inline):
            if not takes_all(before, after):
                message = f"another placeholder: {short(old)} -> {short(new)}"
                if honest := is_only_other_text(before, after):
                    message = f"another expectation: {short(old)} -> {short(new)}"
                yield Loosened(path, message, honest)
        elif not _stands_for_only(before, after):
            yield Loosened(path, f"a value became a placeholder: {short(old)} -> {short(new)}")
        return
    message = f"another expectation: {short(old)} -> {short(new)}"
    if isinstance(before, Placeholder | Inline):
        if not takes_extent(before, _known_extent(after, sides)):
            yield Loosened(path, message, honest=not binds(before) and not holds_placeholder(new))
    elif not _is_same_value(before, after, sides.typed):
        same_type = sides.whole or json_type(old) == json_type(new)
        yield Loosened(path, message, honest=same_type and not holds_placeholder(new))


def holds_placeholder(value: Json) -> bool:
    """Whether an object or array holds a placeholder."""
    return isinstance(value, dict | list) and any(map(has_marker, texts_in(value)))


def is_only_other_text(before: Placeholder | Inline, after: Placeholder | Inline) -> bool:
    """Whether a text still has only placeholders that it had before, and none of them replaced the text
    beside it."""
    if not isinstance(before, Inline) or not isinstance(after, Inline):
        return False
    at = 0
    for number, part in enumerate(after.parts):
        if isinstance(part, Slot):
            matching = (
                n for n in range(at, len(before.parts)) if _is_same_slot(before.parts, n, after.parts, number)
            )
            at = next(matching, -1) + 1
            if not at:
                return False
    return True


def _is_same_slot(old: Sequence[Part], place: int, new: Sequence[Part], number: int) -> bool:
    """Whether two slots hold the same placeholder, and the text beside it is unchanged or not a part of the
    old text."""
    before, after = old[place], new[number]
    if not isinstance(before, Slot) or not isinstance(after, Slot):
        return False
    texts = ((_text_at(old, place + step), _text_at(new, number + step)) for step in (-1, 1))
    same = before.token == after.token and before.kind.extent == after.kind.extent
    return same and all(now == then or now not in then for then, now in texts)


def _text_at(parts: Sequence[Part], number: int) -> str:
    part = parts[number] if 0 <= number < len(parts) else ""
    return part if isinstance(part, str) else ""


def _compile(value: Json, words: PlaceholderContext) -> Json:
    if not isinstance(value, str) or not has_marker(value):
        return value
    try:
        return compile_text(value, words)
    except BaselinekitError:
        return value


def _known_extent(value: Json, sides: Sides) -> Extent:
    """The extent of the values that a literal value accepts."""
    if sides.literal is None:
        return Extent()
    kind = json_type(value)
    breaks = isinstance(value, str) and "\n" in value  # these may match other line breaks
    return replace(of_types(kind), values=(value,) if kind in sides.literal and not breaks else None)


def _stands_for_only(value: Json, template: Placeholder | Inline) -> bool:
    """Whether a placeholder stands for this one value only, and it is no number: a literal number may accept
    others."""
    if not isinstance(template, Placeholder) or template.token.optional or template.token.nullable:
        return False
    values = template.kind.extent.values
    return (
        bool(values) and not is_number(value) and all(same_json(allowed, value) for allowed in values or ())
    )


def _is_same_value(old: Json, new: Json, typed: bool) -> bool:
    """Whether two values are the same. `typed`: 5 and 5.0 differ."""
    return same_json(old, new) and not (typed and isinstance(old, int) != isinstance(new, int))


def short(value: Json) -> str:
    return mask_and_clip(compact(value), _MOST_CHARACTERS, no_mask, counted=False)
