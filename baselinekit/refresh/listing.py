"""Lists whose rows come and go, or stand in another order each time: the rule by which they are compared from
then on, and the one row that describes the others."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import ArrayMode, By, Difference
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import escape_value, has_marker
from baselinekit.placeholders.narrowest import PlaceholderProposal, accepts_all, learnt_as, narrowest
from baselinekit.placeholders.table import Words
from baselinekit.refresh.alternatives import unescaped
from baselinekit.refresh.learning import Volatile
from baselinekit.refresh.rows import BY, Rows, Unlike, keys_naming, optional, order_rule, placeholder_for
from baselinekit.tree.equality import canonical, same_json
from baselinekit.tree.paths import of_any_row
from baselinekit.tree.places import places, value_at

# Which lists. That a row is new, or gone, is a change as long as all answers agree on it. Answers that differ
# from each other within seconds show a list that moves by itself.

_FEWEST_NAMED = 3
_MOST_STEADY = 0.75
"""Of the rows, the part that has to be always there so that the others are the exception."""

_COMMON = 3
"""Of the names of rows, a third stays: else each row has other values, and no row has come."""


_LIKELY = lazy_pattern(r"<<any_(?:digits|numeric|hex\((?:1[6-9]|[2-9][0-9]|[0-9]{3,})\))>>")
"""Forms that names have by chance only if they are few: digits, and hexadecimal ones longer than a word."""


@frozen
class ListRule:
    """How a list is compared from now on. `rows`: what is stored of it where rows come and go, those that are
    always there or one that describes all; `volatile`: the placeholders of that one; `sizes`: the fewest and
    the most rows that were seen."""

    path: Path
    mode: ArrayMode
    sizes: tuple[int, int]
    rows: tuple[Json, ...] | None = None
    volatile: tuple[Volatile, ...] = ()


@frozen
class ListView:
    """How lists are looked at. `earlier`: answers of the same service, as they are seen through the output on
    file, and that output itself, where somebody says that nothing was changed since; `is_ruled`: whether
    somebody has said how a list is compared; `is_learnt`: whether a placeholder is none of a person."""

    earlier: Sequence[Json]
    is_ruled: Callable[[Path], bool]
    is_learnt: Callable[[Path], bool]
    words: Words


def list_rules(
    stored: Json, answers: Sequence[tuple[Json, Json]], differences: Sequence[Difference], look: ListView
) -> list[ListRule]:
    """What the answers to one recipe say of the lists in which they differ from the output on file. An answer
    is as it came, and as it is seen through the output on file."""
    found: list[ListRule] = []
    for path in sorted({*_lists_above(stored, differences), *_lists_unlike(look.earlier)}, key=len):
        if look.is_ruled(path) or any(path[: len(rule.path)] == rule.path for rule in found):
            continue
        try:
            came, seen = ([value_at(answer[n], path) for answer in answers] for n in (0, 1))
            earlier = [value_at(output, path) for output in look.earlier]
        except (LookupError, TypeError):
            continue
        if all(isinstance(rows, list) for rows in (*came, *seen, *earlier)):
            rule = _rule(path, [value_at(stored, path), *earlier], came, [*earlier, *seen], look)
            found += [rule] if rule else []
    return found


def _lists_above(stored: Json, differences: Sequence[Difference]) -> Iterator[Path]:
    """The outermost lists that hold a difference. Of one in rows nobody knows which is which."""
    for difference in differences:
        at = difference.at
        ends = [end for end, key in enumerate(at) if isinstance(key, int)]
        if ends or isinstance(_at(stored, at), list):
            yield at[: ends[0]] if ends else at


def _lists_unlike(outputs: Sequence[Json], path: Path = ()) -> Iterator[Path]:
    """The outermost lists that are not of one length in all outputs."""
    if len(outputs) > 1 and all(isinstance(output, list) for output in outputs):
        if len({len(output) for output in outputs}) > 1:
            yield path
    elif all(isinstance(output, dict) for output in outputs):
        for key in outputs[0] if outputs else ():
            if all(key in output for output in outputs):
                yield from _lists_unlike([output[key] for output in outputs], (*path, key))


def _at(stored: Json, path: Path) -> Json:
    try:
        return value_at(stored, path)
    except (LookupError, TypeError):
        return ABSENT


def _rule(
    path: Path, known: Sequence[Rows], came: Sequence[Rows], seen: Sequence[Rows], look: ListView
) -> ListRule | None:
    """`known`: the lists as they are stored or could be; `seen`: those that are all of one service."""
    sizes = min(map(len, (*known, *came))), max(map(len, (*known, *came)))
    if not _comes_and_goes(seen):
        order = order_rule(seen)
        if order is None:
            return None
        return ListRule(path, By(order.removeprefix(BY)) if order.startswith(BY) else "unordered", sizes)
    if not sizes[0]:
        return None  # one row describes rows that are there
    steady, gone = _always_there(known[0], seen)
    if len(steady) >= max(_FEWEST_NAMED, _MOST_STEADY * sizes[1]):
        core = tuple(row for n, row in enumerate(known[0]) if n in steady or n in gone)
        return ListRule(path, "subset", sizes, core)
    rows = [row for some in known for row in some]
    try:
        row = _Shape(look).of([*rows, *(escape_value(row) for some in came for row in some)], (*path, 0))
    except Unlike:
        return None
    return ListRule(path, "each", sizes, (row,), tuple(_volatile(path, row, came)))


def _always_there(stored: Rows, seen: Sequence[Rows]) -> tuple[set[int], set[int]]:
    """Which rows on file are in all lists as they are, and which in none: that one has gone is told."""
    counts = [Counter(map(canonical, rows)) for rows in seen]
    steady, gone = set(), set()
    for n, row in enumerate(stored):
        text = canonical(row)
        there = [count[text] > 0 for count in counts]
        if all(there):
            steady.add(n)
        elif not any(there):
            gone.add(n)
        for count in counts:
            count[text] -= 1
    return steady, gone


def _comes_and_goes(lists: Sequence[Rows]) -> bool:
    """Whether the lists have other rows: another number of them, or other names of which a part stays. Where
    one key names the same rows in all of them, their values are others."""
    if len({len(rows) for rows in lists}) > 1:
        return True
    if not lists or len(lists[0]) < _FEWEST_NAMED:
        return False
    shares = []
    for key in keys_naming(lists):
        names = [{canonical(row[key]) for row in rows} for rows in lists]
        common = set.intersection(*names)
        if all(len(common) == len(one) for one in names):
            return False
        if all(isinstance(row[key], str) for rows in lists for row in rows):
            shares.append(len(common) * _COMMON >= len(lists[0]))
    return any(shares)


# One row that describes all: what is the same in each of them stays, and the rest gets the narrowest form of
# which a row that nobody has seen yet may be as well.


class _Shape:
    """One value for all, those on file and those that came. Unlike: they have no form in common."""

    def __init__(self, look: ListView):
        self._look, self._words = look, look.words

    def of(self, values: Sequence[Json], place: Path) -> Json:
        """Of values as they are stored, at this place of each row."""
        first = values[0]
        if all(isinstance(value, dict) for value in values):
            return self.of_objects(values, place)
        if all(same_json(value, first) for value in values):
            return first
        if all(isinstance(value, list) for value in values):
            if not all(values):
                return "<<any_array>>"
            return [self.of([one for value in values for one in value], (*place, 0))]
        if any(isinstance(value, dict | list) for value in values):
            raise Unlike
        texts = [value for value in values if is_template(value)]
        plain = [value for value in values if not is_template(value)]
        stated = [unescaped(value) for value in plain]
        for text in dict.fromkeys(texts):
            if accepts_all(text, stated, self._words):
                return text
        if texts and not self._look.is_learnt(place):
            raise Unlike  # what a person wrote is a decision
        return self.narrowest(stated) or placeholder_for(plain, self.accepts)

    def narrowest(self, values: Sequence[Json]) -> str | None:
        """A form that no text has by chance, or that numbers of one kind have."""
        stated = [value for value in values if value is not None]
        types = {json_type(value) for value in stated}
        if types == {"number"}:
            found = [one.text for one in narrowest(stated, words=self._words)]
        elif types == {"string"}:
            found = [one.text for one in learnt_as(stated, "string", "sure", self._words)]
            likely = [one.text for one in learnt_as(stated, "string", "likely", self._words)]
            found += [text for text in likely if _LIKELY.fullmatch(text)]
        else:
            return None
        return f"{found[0][:-2]}|null>>" if found and len(stated) < len(values) else next(iter(found), None)

    def of_objects(self, rows: Sequence[dict[str, Json]], place: Path) -> dict[str, Json]:
        shaped: dict[str, Json] = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            values = [row[name] for row in rows if name in row]
            value = self.of(values, (*place, name))
            shaped[name] = value if len(values) == len(rows) else optional(value, self.accepts)
        return shaped

    def accepts(self, text: str, value: Json) -> bool:
        return accepts_all(text, [value], self._words)


def is_template(value: Json) -> bool:
    """Whether a stored value is a text with a placeholder in it."""
    return isinstance(value, str) and has_marker(value) and unescaped(value) == value


def _volatile(path: Path, row: Json, came: Sequence[Rows]) -> Iterator[Volatile]:
    """The placeholders of the row that describes all."""
    for inner, text in places(row):
        if not is_template(text):
            continue
        place = (*path, 0, *inner)
        values = [_at(one, inner) for rows in came for one in rows]
        seen = {canonical(value): value for value in values if value is not ABSENT}
        proposal = PlaceholderProposal(text, "rows that come and go")
        yield Volatile(of_any_row(place), (place,), tuple(seen.values()), proposal)
