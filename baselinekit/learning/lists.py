"""Lists whose rows come and go, or change their order: the rule by which they are compared from then on, and
the one row that describes the others."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from baselinekit.changes.rows import BY, Rows, Unlike, keys_naming, optional, order_rule, placeholder_for
from baselinekit.lazy import lazy_pattern
from baselinekit.learning.case import LearningCase, value_or_absent
from baselinekit.learning.evidence import evidence_below, evidence_for
from baselinekit.learning.varying import Volatile
from baselinekit.model.baselines import ArrayMode, By, Difference
from baselinekit.model.changes import KeptOutput
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import escape_value, is_template, unescaped
from baselinekit.placeholders.narrowest import (
    PlaceholderProposal,
    accepts_all,
    narrowest,
    proposals_from_table,
)
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import canonical, same_json
from baselinekit.values.paths import of_any_row, render
from baselinekit.values.places import places, value_at, with_values

# Which lists. A new or missing row is a change as long as all answers agree on it. Answers within seconds
# that differ from each other show a list that changes by itself.

_FEWEST_NAMED = 3
_MOST_STEADY = 0.75
"""The part of the rows that has to be in every answer, so that the others are the exception, where each of
them holds a placeholder: without one, a single row is enough."""

_COMMON = 3
"""At least a third of the row names stays the same: otherwise the rows have other values, and none was
added."""


_LIKELY = lazy_pattern(r"<<any_(?:digits|numeric|hex\((?:1[6-9]|[2-9][0-9]|[0-9]{3,})\))>>")
"""Forms of which a few names may be by chance, but not many: digits, and hexadecimal forms longer than a
word."""


class ListRule(Struct):
    """How a list is compared from now on. `rows`: what is stored where rows come and go: the rows that are
    always there, or one that describes all; `volatile`: the placeholders of that one; `sizes`: the fewest and
    the most rows that were seen."""

    path: Path
    mode: ArrayMode
    sizes: tuple[int, int]
    rows: tuple[Json, ...] | None = None
    volatile: tuple[Volatile, ...] = ()


def _list_rules(
    case: LearningCase, earlier: Sequence[Json], varies: Callable[[Path], bool]
) -> list[ListRule]:
    """Return rules for the lists in which the answers differ from the stored output. `earlier`: answers of
    the same service, seen through the stored output, and that output itself, of the lists that are known to
    vary."""
    rules: list[ListRule] = []
    differences = [spot for settled in case.settled for spot in settled.differences]
    resolved = [settled.resolved for settled in case.settled]
    for path in sorted({*lists_above(case.stored, differences), *_lists_of_varying_length(earlier)}, key=len):
        if _is_ruled(case, path) or any(path[: len(rule.path)] == rule.path for rule in rules):
            continue
        try:
            raw_lists, filled_lists = (
                [value_at(output, path) for output in outputs] for outputs in (case.outputs, resolved)
            )
            known = [value_at(output, path) for output in earlier if varies(path)]
        except (LookupError, TypeError):
            continue
        if all(isinstance(rows, list) for rows in (*raw_lists, *filled_lists, *known)):
            stored_lists = [value_at(case.stored, path), *known]
            rule = _find_rule(case, path, stored_lists, raw_lists, [*known, *filled_lists])
            rules += [rule] if rule else []
    return rules


def lists_above(stored: Json, differences: Sequence[Difference]) -> Iterator[Path]:
    """Yield the outermost lists that hold a difference. For a difference within rows, nobody knows which row
    is which."""
    for difference in differences:
        at = difference.at
        ends = [end for end, key in enumerate(at) if isinstance(key, int)]
        if ends or isinstance(value_or_absent(stored, at), list):
            yield at[: ends[0]] if ends else at


def _lists_of_varying_length(outputs: Sequence[Json], path: Path = ()) -> Iterator[Path]:
    """Yield the outermost lists whose length is not the same in all outputs."""
    if len(outputs) > 1 and all(isinstance(output, list) for output in outputs):
        if len({len(output) for output in outputs}) > 1:
            yield path
    elif all(isinstance(output, dict) for output in outputs):
        for key in outputs[0] if outputs else ():
            if all(key in output for output in outputs):
                yield from _lists_of_varying_length([output[key] for output in outputs], (*path, key))


def _find_rule(
    case: LearningCase,
    path: Path,
    stored_lists: Sequence[Rows],
    raw_lists: Sequence[Rows],
    service_lists: Sequence[Rows],
) -> ListRule | None:
    """Return the rule for one list. `stored_lists`: the lists as they are or could be stored;
    `service_lists`: those that all come from one service."""
    sizes = min(map(len, (*stored_lists, *raw_lists))), max(map(len, (*stored_lists, *raw_lists)))
    if not _has_varying_rows(service_lists):
        order = order_rule(service_lists)
        if order is None:
            return None
        return ListRule(path, By(order.removeprefix(BY)) if order.startswith(BY) else "unordered", sizes)
    if not sizes[0]:
        return None  # no row to describe
    steady, gone = _always_there(stored_lists[0], service_lists)
    literal = any(not holds_template(stored_lists[0][n]) for n in steady)
    names_rows = len({canonical(row) for row in stored_lists[0]}) == len(steady) > 1
    if literal or names_rows or len(steady) >= max(_FEWEST_NAMED, _MOST_STEADY * sizes[1]):
        # one row that describes all would accept any other value in place of what never varied
        core = tuple(row for n, row in enumerate(stored_lists[0]) if n in steady or n in gone)
        return ListRule(path, "subset", sizes, core)
    rows = [row for rows in stored_lists for row in rows]
    try:
        row = _RowUnifier(case).unify(
            [*rows, *(escape_value(row) for rows in raw_lists for row in rows)], (*path, 0)
        )
    except Unlike:
        return None
    return ListRule(path, "each", sizes, (row,), tuple(_volatile_places(path, row, raw_lists)))


def _always_there(stored: Rows, lists: Sequence[Rows]) -> tuple[set[int], set[int]]:
    """Return which stored rows are in all lists unchanged, and which in none: a row that is gone is
    reported."""
    counts = [Counter(map(canonical, rows)) for rows in lists]
    steady, gone = set(), set()
    for n, row in enumerate(stored):
        text = canonical(row)
        present = [count[text] > 0 for count in counts]
        if all(present):
            steady.add(n)
        elif not any(present):
            gone.add(n)
        for count in counts:
            count[text] -= 1
    return steady, gone


def _has_varying_rows(lists: Sequence[Rows]) -> bool:
    """Whether the rows of the lists differ: in their number, or in their names of which some stay. Where one
    key names the same rows in all lists, only their values differ."""
    if len({len(rows) for rows in lists}) > 1:
        return True
    if not lists or len(lists[0]) < _FEWEST_NAMED:
        return False
    shares = []
    for key in keys_naming(lists):
        names = [{canonical(row[key]) for row in rows} for rows in lists]
        common = set.intersection(*names)
        if all(len(common) == len(name_set) for name_set in names):
            return False
        if all(isinstance(row[key], str) for rows in lists for row in rows):
            shares.append(len(common) * _COMMON >= len(lists[0]))
    return any(shares)


# One row that describes all: what is the same in each row stays, and everything else gets the narrowest form
# that a row not yet seen may have as well.


class _RowUnifier:
    """Builds one value that stands for all stored and new ones. Raises Unlike if they have no form in
    common."""

    def __init__(self, case: LearningCase):
        self._words, self._learnt = case.words, case.learnt

    def unify(self, values: Sequence[Json], place: Path) -> Json:
        """Return one value for values as they are stored, at this path of each row."""
        first_value = values[0]
        if all(isinstance(value, dict) for value in values):
            return self.unify_objects(values, place)
        if all(same_json(value, first_value) for value in values):
            return first_value
        if all(isinstance(value, list) for value in values):
            if not all(values):
                return "<<any_array>>"
            return [self.unify([item for value in values for item in value], (*place, 0))]
        if any(isinstance(value, dict | list) for value in values):
            raise Unlike
        templates = [value for value in values if is_template(value)]
        literals = [value for value in values if not is_template(value)]
        plain_values = [unescaped(value) for value in literals]
        for text in dict.fromkeys(templates):
            if accepts_all(text, plain_values, self._words):
                return text
        if templates and evidence_for(place, self._learnt) is None:
            raise Unlike  # a person decided on this placeholder
        return self.narrowest(plain_values) or placeholder_for(literals, self.accepts)

    def narrowest(self, values: Sequence[Json]) -> str | None:
        """Return a form that no text has by chance, or that numbers of one kind have."""
        non_null = [value for value in values if value is not None]
        types = {json_type(value) for value in non_null}
        if types == {"number"}:
            texts = [proposal.text for proposal in narrowest(non_null, words=self._words)]
        elif types == {"string"}:
            texts = [
                proposal.text for proposal in proposals_from_table(non_null, "string", "sure", self._words)
            ]
            likely = [
                proposal.text for proposal in proposals_from_table(non_null, "string", "likely", self._words)
            ]
            texts += [text for text in likely if _LIKELY.fullmatch(text)]
        else:
            return None
        return f"{texts[0][:-2]}|null>>" if texts and len(non_null) < len(values) else next(iter(texts), None)

    def unify_objects(self, rows: Sequence[dict[str, Json]], place: Path) -> dict[str, Json]:
        shaped: dict[str, Json] = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            values = [row[name] for row in rows if name in row]
            value = self.unify(values, (*place, name))
            shaped[name] = value if len(values) == len(rows) else optional(value, self.accepts)
        return shaped

    def accepts(self, text: str, value: Json) -> bool:
        return accepts_all(text, [value], self._words)


def holds_template(row: Json) -> bool:
    """Whether a stored row holds a text with a placeholder in it."""
    return any(is_template(value) for _, value in places(row))


def _volatile_places(path: Path, row: Json, raw_lists: Sequence[Rows]) -> Iterator[Volatile]:
    """Yield the placeholders of the row that describes all."""
    for inner, text in places(row):
        if not is_template(text):
            continue
        place = (*path, 0, *inner)
        values = [value_or_absent(raw_row, inner) for rows in raw_lists for raw_row in rows]
        distinct_values = {canonical(value): value for value in values if value is not ABSENT}
        proposal = PlaceholderProposal(text, "rows that come and go")
        yield Volatile(of_any_row(place), (place,), tuple(distinct_values.values()), proposal)


# The rules of one baseline. A list in the rows of another one can be compared once it is known which row is
# which, so there are several rounds.

_MOST_ROUNDS = 3


class Ruled(Struct):
    """A case under the rules that were found for its lists."""

    case: LearningCase
    rules: tuple[ListRule, ...] = ()

    def is_rewritten(self, path: Path) -> bool:
        """Whether a place is in a list whose stored rows are new."""
        return any(rule.rows is not None and path[: len(rule.path)] == rule.path for rule in self.rules)


def with_list_rules(case: LearningCase, kept: KeptOutput | None, is_unchanged: bool) -> Ruled:
    """Find rules for lists. `is_unchanged`: nothing was changed on the service since its capture, so that the
    stored output, and what a compare has `kept`, are answers of the same service. So they are for a list of
    which compares have shown that it varies."""
    baseline, stored, ruled = case.baseline, case.baseline.baseline, Ruled(case)
    if (
        stored is None
        or stored.variants
        or baseline.source.form != "native"
        or case.matcher.type != "structural"
    ):
        return ruled
    varied = kept.varied if kept else ()
    for _ in range(_MOST_ROUNDS):
        case = ruled.case
        earlier = [case.stored, *([kept.resolved] if kept and not kept.masked else [])]
        new_rules = _list_rules(case, earlier, lambda path: is_unchanged or path in varied)
        if not new_rules:
            break
        rows: dict[Path, Json] = {rule.path: [*rule.rows] for rule in new_rules if rule.rows is not None}
        modes = {render(rule.path): rule.mode for rule in new_rules}
        comparison = case.baseline.comparison
        written = replace(
            case.baseline,
            baseline=replace(stored, output=with_values(case.stored, rows)),
            comparison=replace(comparison, arrays={**comparison.arrays, **modes}),
        )
        ruled = Ruled(case.under(written), (*ruled.rules, *new_rules))
    return ruled


def _is_ruled(case: LearningCase, path: Path) -> bool:
    """Whether a person, or the form of the answer, has said how a list is compared. `ordered` does not count
    if placeholders were learnt below: then a capture has written it, to keep one row one row."""
    mode = case.matcher.arrays.get(path)
    is_written = mode is not None and not (mode == "ordered" and evidence_below(path, case.learnt))
    return is_written or case.is_definition(path)
