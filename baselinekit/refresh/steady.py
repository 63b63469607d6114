"""What was the same in every replay of a recipe, and yet is not the service's word for ever: a moment of now,
which is learnt as if it had varied, and what looks like an id, which is only told."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.moments import NEAR, days_in, is_of_now, moments_in
from baselinekit.placeholders.narrowest import PlaceholderProposal, around_what_varies, narrowest
from baselinekit.placeholders.nature import looks_like_id, moment_of, named
from baselinekit.placeholders.pieces import Write
from baselinekit.placeholders.table import Words
from baselinekit.refresh.learning import Shape, Volatile
from baselinekit.tree.equality import same_json
from baselinekit.tree.paths import of_any_row
from baselinekit.tree.places import places, value_at


def steady_places(outputs: Sequence[Json], known: Collection[Path]) -> Iterator[tuple[Path, Json]]:
    """Each value that is the same in all outputs, beside and below the places that are `known` already."""
    for path, value in places(outputs[0]):
        if not isinstance(value, str | int | float) and json_type(value) != "number":
            continue
        if any(path[:end] in known for end in range(len(path) + 1)):
            continue
        with suppress(LookupError, TypeError):
            if all(same_json(value_at(output, path), value) for output in outputs[1:]):
                yield path, value


def looks_volatile(value: Json, path: Path) -> bool:
    """Whether a moment, a day or what looks like an id is in a value."""
    if looks_like_id(value, path) or moment_of(value) is not None:
        return True
    return isinstance(value, str) and (any(moments_in(value)) or any(days_in(value)))


def moments_of_now(
    steady: Iterable[tuple[Path, Json]], now: float, write: Write, words: Words
) -> Iterator[Volatile]:
    """The values that are a moment within minutes of now or the day of today, or texts with one in them."""
    words = replace(words, now=now)
    for path, value in steady:
        if isinstance(value, str) and not is_of_now(value, now):
            template = around_what_varies([value, value], write, words)
            if template is not None and not template.says_little:
                proposal = PlaceholderProposal(template.text, "a moment of now in it")
                yield Volatile(path, (path,), (value,), proposal)
            continue
        when = moment_of(value)
        if isinstance(value, str) or (when is not None and abs(when - now) <= NEAR):
            proposal = narrowest([value], write, words)[0]
            if not proposal.says_little:
                reason = f"{proposal.reason}, of now"
                yield Volatile(path, (path,), (value,), PlaceholderProposal(proposal.text, reason))


def lookalikes(
    steady: Iterable[tuple[Path, Json]],
    output: Json,
    is_compared: Callable[[Sequence[Path]], Collection[Path]],
    write: Write,
    words: Words,
) -> Iterator[Volatile]:
    """What looks like an id, with the placeholder that could stand there: one for all rows where each of them
    has one. `is_compared` tells which of some places the rules look at."""
    found = {path: value for path, value in steady if looks_like_id(value, named(path, output))}
    compared = is_compared(list(found)) if found else ()
    by_shape: dict[Shape, list[Path]] = {}
    for path in found:
        if path in compared:
            by_shape.setdefault(of_any_row(path), []).append(path)
    for shape, paths in by_shape.items():
        values = tuple(found[path] for path in paths)
        proposal = narrowest(values, write, words)[0]
        if proposal.says_little and len(paths) > 1:
            yield from (
                Volatile(path, (path,), (found[path],), narrowest([found[path]], write, words)[0])
                for path in paths
            )
        else:
            yield Volatile(shape if len(paths) > 1 else paths[0], tuple(paths), values, proposal)
