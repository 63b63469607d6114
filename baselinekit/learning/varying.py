"""Several replays of one recipe -> the places that vary, and the narrowest placeholder for each."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from baselinekit.changes.rows import Shape, by_shape, order_rule, sort_rows_alike
from baselinekit.kinds.bodies import is_byte_hash
from baselinekit.lazy import lazy_pattern
from baselinekit.learning.templating import VARIABLE, secrets_in
from baselinekit.model.baselines import By
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.grammar import Token, escape, has_marker, split, tokens_in
from baselinekit.placeholders.lines import with_values as values_in_template
from baselinekit.placeholders.narrowest import (
    WIDE,
    Column,
    PlaceholderProposal,
    TextPieces,
    Write,
    accepts_all,
    is_alone,
    narrowest,
    proposals_from_table,
    split_into_pieces,
)
from baselinekit.placeholders.table import TABLE, PlaceholderContext
from baselinekit.report.values import short
from baselinekit.secrets.variables import Redactor
from baselinekit.structs import Struct, field, replace
from baselinekit.values.equality import same_json
from baselinekit.values.paths import render
from baselinekit.values.places import places, value_at

# The replays are compared place by place. Where that would be a guess (rows in another order, a key that
# comes and goes) nothing is learnt, and the reason is reported.

RefusalKind = Literal[
    "structural",
    "type",
    "array_length",
    "root_value",
    "order_ambiguous",
    "too_broad",
    "outcome",
    "numeric",
    "unresolved",
]
Saved = Sequence[tuple[str, str, Json]]
"""What the steps of a flow save: the name, the path of the value, and the value."""

_SCALARS = ("string", "number", "boolean")


class UnlearnablePlace(Struct):
    """A place that varies and may not get a placeholder. `message` is the reason, `hint` what its owner can
    do; `rule` is the option that states it, for `refresh`."""

    path: Path
    kind: RefusalKind
    message: str
    hint: str
    rule: tuple[str, ...] = ()


def ignoring(path: Path) -> str:
    return f"if it does not matter: --ignore '{render(path)}'"


class ReplayView(Struct):
    """How the replays are compared. `agreed`: whether the rules of the baseline accept a place as it is in
    every replay; `arrays`: how an array is compared, by its path; `numeric`: only numbers are compared.
    `outcomes`: the paths that say whether the run succeeded; `wholes`: the paths that hold a whole answer.
    `write` and `words` are for the texts that are stored.

    For links: what each replay `saved`; `is_made`: a writing flow was replayed once, so what it saves was
    made by this replay and will differ in the next; `literal` selects the paths whose values are stored as
    they came and that the rules compare."""

    outcomes: Collection[Path] = ()
    wholes: Collection[Path] = ()
    numeric: bool = False
    agreed: Callable[[Path], bool] = lambda path: False
    arrays: Mapping[Path, str] = field(default_factory=dict)
    write: Write = escape
    words: PlaceholderContext = field(default_factory=PlaceholderContext)
    saved: Sequence[Saved] = ()
    is_made: bool = False
    literal: Callable[[Collection[Path]], Collection[Path]] = lambda paths: ()


class _ReplayDifferences:
    """Collects every place where the replays differ, in the order of the first replay."""

    def __init__(self, view: ReplayView):
        self._view = view
        self.leaves: dict[Path, Sequence[Json]] = {}
        """The values of each place that held one in every replay, but not always the same."""
        self.refusals: list[UnlearnablePlace] = []

    def compare(self, path: Path, values: Sequence[Json]) -> None:
        types = {json_type(value) for value in values}
        if types == {"object"}:
            self.compare_objects(path, values)
        elif types == {"array"}:
            self.compare_arrays(path, values)
        elif not all(same_json(value, values[0]) for value in values[1:]) and not self._view.agreed(path):
            self.compare_scalars(path, values, types)

    def compare_objects(self, path: Path, values: Sequence[Json]) -> None:
        for key in dict.fromkeys(key for value in values for key in value):
            present = sum(key in value for value in values)
            member_path = (*path, key)
            if present == len(values):
                self.compare(member_path, [value[key] for value in values])
            elif not self._view.agreed(member_path):
                reason = f"it is present in {present} of {len(values)} replays"
                rule = ("--ignore", render(member_path)) if key in values[0] else ()  # which is stored
                self.refuse(member_path, "structural", reason, ignoring(member_path), *rule)

    def compare_arrays(self, path: Path, values: Sequence[Json]) -> None:
        lengths = {len(value) for value in values}
        if len(lengths) > 1:
            if not self._view.agreed(path):
                reason = f"{min(lengths)} to {max(lengths)} elements: a placeholder would hide how many"
                hint = f"request the same ones each time; {ignoring(path)}"
                self.refuse(path, "array_length", reason, hint, "--ignore", render(path))
            return
        values = sort_rows_alike(values, self._view.arrays.get(path, ""))
        order = order_rule(values)
        if order is None:
            for index in range(lengths.pop()):
                self.compare((*path, index), [value[index] for value in values])
        elif not self._view.agreed(path):
            rule = f"{render(path)}={f'by:{order.by}' if isinstance(order, By) else order}"
            reason, hint = "the same elements in another order", f"if it does not matter: --array '{rule}'"
            self.refuse(path, "order_ambiguous", reason, hint, "--array", rule)

    def compare_scalars(self, path: Path, values: Sequence[Json], types: set[str]) -> None:
        value_types = types - {"null"}
        if path in self._view.outcomes:
            outcomes = ", ".join(map(str, dict.fromkeys(values)))
            reason = f"it is {outcomes}: success or failure is never treated as noise"
            self.refuse(path, "outcome", reason, "find out why; `compare --repeat` shows how often")
        elif len(value_types) > 1 or not value_types <= set(_SCALARS):
            type_names = " or ".join(sorted(types))
            hint = f"make it answer with one type; {ignoring(path)}"
            self.refuse(path, "type", f"it is {type_names}", hint, "--ignore", render(path))
        elif self._view.numeric and value_types == {"number"}:
            numbers = [value for value in values if value is not None]
            width = max(numbers) - min(numbers)
            rule = f"{render(path)}={width}"
            reason = "with `type: numeric` a number has a tolerance"
            self.refuse(path, "numeric", reason, f"--tolerance '{rule}' or more", "--tolerance", rule)
        else:
            self.leaves[path] = values

    def refuse(self, path: Path, kind: RefusalKind, reason: str, hint: str, *rule: str) -> None:
        self.refusals.append(UnlearnablePlace(path, kind, reason, hint, rule if path else ()))


# A varying place gets the narrowest placeholder that accepts every value seen, or a refusal. A leaf that
# varies in most rows of an array is taken to vary in all of them. Each row keeps its own lines: one row that
# describes all the others would accept any number of them.

SURE = frozenset(
    row.name
    for row in TABLE.values()
    if row.learnt and row.learnt.when == "sure" and row.learnt.of in ("string", "number")
)
"""Forms that no text has by chance: a text made of them is recognizable even where all of it varies."""

_LONGEST_UNKNOWN = 100
"""Characters of a text if only its length is checked: in a longer one, the content matters."""


class Volatile(Struct):
    """What is learnt of one place, or of the same place in many rows: `path` then has a `*` for the row.
    `values`: the distinct values that were seen."""

    path: Shape
    places: tuple[Path, ...]
    values: tuple[Json, ...]
    proposal: PlaceholderProposal


class LearntPlaces(Struct):
    volatile: tuple[Volatile, ...]
    refusals: tuple[UnlearnablePlace, ...]

    @property
    def placeholders(self) -> dict[Path, str]:
        return {place: volatile.proposal.text for volatile in self.volatile for place in volatile.places}


def learn_places(outputs: Sequence[Json], view: ReplayView) -> LearntPlaces:
    """Learn from several outputs of one recipe; the first of them is the one that is stored."""
    differences = _ReplayDifferences(view)
    differences.compare((), outputs)
    volatile: list[Volatile] = []
    refusals = list(differences.refusals)
    rows = by_shape((path, path) for path, _ in places(outputs[0])) if differences.leaves else {}
    for shape, paths in by_shape((path, path) for path in differences.leaves).items():
        leaves = {path: differences.leaves[path] for path in paths}
        for place in _volatile_places_of(shape, leaves, rows[shape], outputs, view):
            refusal = _find_refusal(place, view.wholes, outputs[0])
            if refusal is None:
                volatile.append(place)
            else:
                refusals.append(refusal)
    return LearntPlaces(tuple(volatile), tuple(refusals))


def _volatile_places_of(
    shape: Shape,
    leaves: Mapping[Path, Sequence[Json]],
    rows: Sequence[Path],
    outputs: Sequence[Json],
    view: ReplayView,
) -> Iterator[Volatile]:
    """Yield one volatile place for all rows if most of them vary in the same way, else one for each that
    varies."""
    proposals = {path: narrowest(values, view.write, view.words)[0] for path, values in leaves.items()}
    first = next(iter(proposals.values()))
    if len({proposal.text for proposal in proposals.values()}) == 1 and 1 < len(rows) < 2 * len(leaves):
        values = [value_at(output, path) for path in set(rows) - leaves.keys() for output in outputs]
        if accepts_all(first.text, values, view.words):
            seen = _distinct(value for values in leaves.values() for value in values)
            yield Volatile(shape, tuple(rows), seen, first)
            return
    for path, proposal in proposals.items():
        yield Volatile(path, (path,), _distinct(leaves[path]), proposal)


def _distinct(values: Iterable[Json]) -> tuple[Json, ...]:
    return tuple({f"{type(value)}{value}": value for value in values}.values())


def _find_refusal(volatile: Volatile, wholes: Collection[Path], output: Json) -> UnlearnablePlace | None:
    """Return the refusal of a placeholder that would hide too much: a whole output, or the content of a long
    text."""
    path, text = volatile.places[0], volatile.proposal.text
    path_text = render(volatile.path)
    meaning = f"compare its meaning, by `type: semantic, method: judge`; {ignoring(volatile.places[0])}"
    is_root = path == () or path in wholes
    fixed_length = sum(len("".join(part.split())) for part in split(text) if isinstance(part, str))
    is_wide = any(wide in text for wide in WIDE)
    share = 2 if is_wide else 3  # of a text that must stay: half, or a third
    is_sure = not is_wide and any(part.name in SURE for part in split(text) if isinstance(part, Token))
    keeps_enough = not is_alone(text) and share * fixed_length >= min(map(len, map(str, volatile.values)))
    if is_root and not (is_sure or keeps_enough):
        reason = "all of it varies: a placeholder would accept anything"
        hint = f"request something stable, or {meaning}"
        return UnlearnablePlace(path, "root_value", reason, hint, ("--ignore", path_text) if path else ())
    parent = path[:-1]
    if parent in wholes and path[-1:] == ("sha256",) and is_byte_hash(value_at(output, parent)):
        reason = "its bytes vary: a placeholder would accept any others of this size"
        hint = f"request something stable; {ignoring(path)}"
        return UnlearnablePlace(path, "root_value", reason, hint, ("--ignore", path_text))
    is_long = any(isinstance(v, str) and (len(v) > _LONGEST_UNKNOWN or "\n" in v) for v in volatile.values)
    if volatile.proposal.says_little and is_long:
        reason = "only the length of the text would be checked"
        return UnlearnablePlace(path, "too_broad", reason, meaning, ("--ignore", path_text))
    return None


def masked_places(
    places: Iterable[Volatile], mask: Callable[[Json, Path], Json], most: int | None = None
) -> tuple[Volatile, ...]:
    """Return the places with their first values, masked."""
    return tuple(
        replace(place, values=tuple(mask(value, place.places[0]) for value in place.values[:most]))
        for place in places
    )


# A text is judged part by part where some part differs in each answer. A part on which all answers agree, but
# not the stored text, has changed, however much varies beside it.

_LONGEST_TEXT = 200_000
_LINE = 200
_NAME = lazy_pattern(r"(?P<name>[A-Za-z_][\w.-]*)(?:\{[^{}\n]*\})?[\s\"':=|>-]{1,6}$")


class TextPart(Struct):
    """A part of a stored text and what all answers have in its place, with the text before it on its line."""

    line: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """The word that names the part: `pid: 7`, `pid=7`, `pid{host="a"} 7`."""
        match = _NAME.search(self.line)
        return match["name"] if match else ""


def judge_parts(
    stored: str,
    texts: Sequence[str],
    is_natural: Callable[[TextPart], bool],
    words: PlaceholderContext,
    *,
    is_template: bool = False,
) -> tuple[Sequence[str], list[TextPart]]:
    """Judge each part of a stored text against the answers (`texts`). Return the answers, with the stored
    text wherever they only differ from it by a change, and these changes. `is_natural`: whether a part may
    differ after a while, though the answers agree on it. `is_template`: whether the stored text may hold
    placeholders that match nothing."""
    changes: list[TextPart] = []
    if max(map(len, (stored, *texts))) > _LONGEST_TEXT:
        return texts, changes
    answers, line = [""] * len(texts), ""
    for column, _ in TextPieces([stored, *texts], words).columns:
        before, *new = column
        part = TextPart(line[-_LINE:], before, new[0])
        if is_template and has_marker(before):  # it accepts none of them; alone, it is replaced
            has_changed = not is_alone(before.strip())
        else:
            is_agreed = len(set(new)) == 1
            has_changed = _differs(before, new, words) and not (is_agreed and is_natural(part))
        changes += [part] if has_changed else []
        answers = [
            answer + (before if has_changed else text) for answer, text in zip(answers, new, strict=True)
        ]
        line = f"{line}{before}".rpartition("\n")[2]
    return answers, changes


def _differs(stored: str, new: Column, words: PlaceholderContext) -> bool:
    """Whether a stored part differs from all answers: in its value, or, where the answers vary without a
    recognizable form, in its number of words and signs."""
    if len(set(new)) == 1:
        return stored != new[0]
    counts = {len(split_into_pieces(text, words)) for text in new}
    is_of_form = any(proposals_from_table([stored, *new], "string", "sure", words))
    return not is_of_form and len(counts) == 1 and len(split_into_pieces(stored, words)) not in counts


def fill_placeholders(template: str, text: str, words: PlaceholderContext) -> str:
    """Return the stored text with what its placeholders match in an answer: compared with this text, the
    answer differs only by changes."""
    parts = split(values_in_template(template, text, words))
    return "".join(part.text if isinstance(part, Token) else part for part in parts)


# The evidence for each placeholder that was learnt, one line for each place: how many replays, and which
# values. A placeholder without a line was written by a person.

MOST_VALUES = 3
"""How many values of each place are shown as examples."""

_LONGEST_VALUE = 40
_HIDDEN = "***"


def evidence_of(volatile: Iterable[Volatile], replays: int, redactor: Redactor) -> dict[str, str]:
    """Return one line for each place, as the file holds it: paths to texts. The values are masked already; as
    these lines are stored, values that merely look like secrets are hidden as well."""
    lines, times = {}, f"{replays} replay{'s' * (replays != 1)}"
    for item in volatile:
        values = [
            _HIDDEN if any(secrets_in(value, redactor, item.places[0])) else short(value, _LONGEST_VALUE)
            for value in item.values[:MOST_VALUES]
        ]
        further = ", …" if len(item.values) > MOST_VALUES else ""
        rows = f" of {len(item.places)} rows" if len(item.places) > 1 else ""
        lines[render(item.path)] = f"{times}{rows}: {', '.join(values)}{further}"
    return lines


_INDEX = lazy_pattern(r"\[[0-9]+\]")


def evidence_for(path: Path, learnt: Mapping[str, str]) -> str | None:
    """Return the line about a place in any row: from one row a refresh gives others its placeholder."""
    shape = _shape_of(render(path))
    return next((line for key, line in learnt.items() if _shape_of(key) == shape), None)


def evidence_below(path: Path, learnt: Mapping[str, str]) -> bool:
    """Whether any line is about a place in the rows of an array."""
    rows = f"{_shape_of(render(path))}.*".removeprefix("$.")
    return any(_shape_of(key).startswith(rows) for key in learnt)


def _shape_of(key: str) -> str:
    """Return the key of a line with `*` for each row."""
    return _INDEX.sub(".*", key).removeprefix(".")


def is_handwritten(value: Json, path: Path, learnt: Mapping[str, str]) -> bool:
    """Whether a person wrote the placeholder at a place."""
    return bool(_placeholders_of(value)) and evidence_for(path, learnt) is None


def select_valid_evidence(learnt: Mapping[str, str], before: Json, after: Json) -> dict[str, str]:
    """Return the lines whose placeholder is still at the same place: a refreshed output may have lost or
    replaced it."""
    old, new = _placeholders_by_shape(before), _placeholders_by_shape(after)
    shapes = {key: _shape_of(key) for key in learnt}
    return {
        key: learnt[key] for key, shape in shapes.items() if old.get(shape, set()) & new.get(shape, set())
    }


def _placeholders_by_shape(output: Json) -> dict[str, set[str]]:
    placeholders: dict[str, set[str]] = {}
    for path, value in places(output):
        if found := _placeholders_of(value):
            placeholders.setdefault(_shape_of(render(path)), set()).update(found)
    return placeholders


def _placeholders_of(value: Json) -> set[str]:
    tokens = tokens_in(value) if isinstance(value, str) else ()
    return {token.text for token in tokens if token.name != VARIABLE}
