"""Two stored outputs of one baseline: where the later one lets pass what the earlier one would not have.

Whatever was ignored already says nothing new. A placeholder that became a value, or one that takes less, asks
for more; every other change of what is expected lets something else pass."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from baselinekit.compare.rules import State
from baselinekit.compare.settings import Form
from baselinekit.documents.jsontext import compact
from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.accepts import Extent, of_types
from baselinekit.placeholders.contained import takes_all, takes_known
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import Inline, Placeholder, compile_text
from baselinekit.texts import already_masked, clipped, many
from baselinekit.tree.equality import is_number, same_json

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Loosened:
    """One way in which a baseline lets more pass. `at` leads to it in the record."""

    at: Path
    what: str


@dataclass(frozen=True, slots=True)
class Sides:
    """What both outputs need to be read: the words then and now, whether further keys pass now, and whether
    the order of keys and the type of a number counted. `literal`: the types of which a value takes nothing
    but itself now; None: it may take one of another type."""

    before: Words
    after: Words
    form: Form
    further_keys: bool
    literal: frozenset[str] | None
    order_counted: bool
    typed: bool


def loosened(old: Json, new: Json, state: State, sides: Sides, path: Path = ()) -> Iterator[Loosened]:
    """Where the new output lets pass what the old one did not. `state`: of the rules as they were."""
    if state.here is not None and state.here.ignore is not None:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _objects(old, new, state, sides, path)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            below = state.step(number, one, len(old))
            yield from loosened(one, other, below, sides, (*path, number))
    elif isinstance(old, list) and isinstance(new, list):
        yield Loosened(path, f"expects {many(len(new), 'element')} instead of {len(old)}")
    elif not _same(old, new, sides.typed):
        yield from _values(old, new, sides, path)


def _objects(
    old: dict[str, Json], new: dict[str, Json], state: State, sides: Sides, path: Path
) -> Iterator[Loosened]:
    more_asks_more = sides.further_keys or path in sides.form  # of parts and headers only those stated count
    if sides.order_counted and [key for key in old if key in new] != [key for key in new if key in old]:
        yield Loosened(path, "expects its keys in another order")
    for key, value in old.items():
        below = state.step(key, value, len(old))
        if key in new:
            yield from loosened(value, new[key], below, sides, (*path, key))
        elif below.here is None or below.here.ignore is None or below.here.ignore.kind != "ignore_fields":
            yield Loosened((*path, key), f"is no longer expected: {_short(value)}")
    for key, value in new.items():
        if key not in old and not more_asks_more:
            below = state.step(key, value, len(new))
            if below.here is None or below.here.ignore is None:
                yield Loosened((*path, key), f"is expected now: {_short(value)}")


def _values(old: Json, new: Json, sides: Sides, path: Path) -> Iterator[Loosened]:
    before, after = _read(old, sides.before), _read(new, sides.after)
    if isinstance(after, Placeholder | Inline):
        if isinstance(before, Placeholder | Inline):
            if not takes_all(before, after):
                yield Loosened(path, f"another placeholder: {_short(old)} -> {_short(new)}")
        elif not _means(before, after):
            yield Loosened(path, f"a value became a placeholder: {_short(old)} -> {_short(new)}")
    elif isinstance(before, Placeholder | Inline):
        if not takes_known(before, _known(after, sides)):
            yield Loosened(path, f"another expectation: {_short(old)} -> {_short(new)}")
    elif not _same(before, after, sides.typed):
        yield Loosened(path, f"another expectation: {_short(old)} -> {_short(new)}")


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


def _short(value: Json) -> str:
    return clipped(compact(value), _LONGEST, already_masked, counted=False)
