"""Learns from several answers to one recipe what varies: a placeholder for each place, a rule for each list,
and what can get neither.

`learn_new` learns for a capture, whose first answer is stored; `learn_again` for `refresh --learn`, where the
stored output and the answers may differ by a change as well."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Self

from baselinekit.changes.rows import Rows, Unlike, by_shape, keys_naming, order_rule, placeholder_for, unify
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.learning.links import bind_links
from baselinekit.learning.templating import OutputTemplater, arrays_to_order, single_element_arrays
from baselinekit.learning.varying import (
    ReplayView,
    TextPart,
    UnlearnablePlace,
    Volatile,
    evidence_below,
    evidence_for,
    fill_placeholders,
    ignoring,
    is_handwritten,
    judge_parts,
    learn_places,
)
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, Comparison, Difference, Known
from baselinekit.model.changes import KeptOutput
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path, json_type, parse_time
from baselinekit.placeholders.formats import NEAR, holds_now, is_of_now
from baselinekit.placeholders.grammar import escape_value, has_marker, is_template, texts_in, unescaped
from baselinekit.placeholders.narrowest import (
    PlaceholderProposal,
    accepts_all,
    is_alone,
    narrowest,
    proposals_from_table,
    template_around_varying_parts,
)
from baselinekit.placeholders.nature import SinceCapture, is_hash, looks_like_id, moment_of, nature_of_change
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.report.values import short, short_words
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import canonical, same_json
from baselinekit.values.paths import of_any_row, render
from baselinekit.values.places import name_of, places, value_at, value_or_absent, with_values


class LearningCase(Struct):
    """What the learner is given: a baseline, compiled; the answers, and how each of them compares with it.
    `compare` compares an answer under other rules. `now`: when the answers came, in seconds since 1970.

    For `refresh --learn` also: `kept`, the answer of an earlier compare; `mask`, which hides the secrets in a
    value that is shown; `is_unchanged`: the user states that nothing was changed on the service, so that
    whatever differs varies; `replaces_handwritten`: also replace a placeholder that a person wrote, if it
    proves too narrow. `lists`: the rules that were found for its lists, which `baseline` has already."""

    baseline: Baseline
    matcher: Matcher
    observations: Sequence[Observation]
    settled: Sequence[Comparison]
    words: PlaceholderContext
    now: float
    compare: Callable[[Matcher, Observation], Comparison]
    kept: KeptOutput | None = None
    mask: Callable[[Json, Path], Json] = lambda value, path: value
    is_unchanged: bool = False
    replaces_handwritten: bool = False
    lists: tuple["ListRule", ...] = ()

    @property
    def kind(self) -> RecipeKind:
        return kind_of(self.baseline.current)

    @property
    def stored(self) -> Json:
        return self.baseline.baseline.output if self.baseline.baseline else None

    @property
    def learnt(self) -> Mapping[str, str]:
        """The evidence for the placeholders that were learnt before."""
        return self.baseline.baseline.learnt if self.baseline.baseline else {}

    @property
    def outputs(self) -> list[Json]:
        return [observation.output for observation in self.observations]

    def under(self, baseline: Baseline) -> Self:
        """Return the same answers, compared with another output or under other rules."""
        matcher = compile_baseline(baseline, self.words)
        settled = [self.compare(matcher, observation) for observation in self.observations]
        return replace(self, baseline=baseline, matcher=matcher, settled=settled)

    def is_definition(self, path: Path) -> bool:
        return self.kind.is_definition(self.baseline.current, path)

    def is_rewritten(self, path: Path) -> bool:
        """Whether a place is in a list whose stored rows are new."""
        return any(rule.rows is not None and path[: len(rule.path)] == rule.path for rule in self.lists)


# Lists whose rows come and go, or change their order: the rule by which they are compared from then on, and
# the one row that describes the others.
#
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
"""Forms that a few names may have by chance, but not many names: digits, and hexadecimal texts longer than a
word."""


Lists = Sequence[Rows]


class ListRule(Struct):
    """How a list is compared from now on. `rows`: what is stored where rows come and go: the rows that are
    always there, or one that describes all; `volatile`: the placeholders of that one; `sizes`: the fewest and
    the most rows that were seen."""

    path: Path
    mode: ArrayMode
    sizes: tuple[int, int]
    rows: tuple[Json, ...] | None = None
    volatile: tuple[Volatile, ...] = ()


def _list_rules(case: LearningCase) -> list[ListRule]:
    """Return rules for the lists in which the answers differ from the stored output. For a list that is known
    to vary, the stored output and the answer of a compare are answers of the same service."""
    rules: list[ListRule] = []
    earlier = [case.stored, *([case.kept.resolved] if case.kept and not case.kept.masked else [])]
    differences = [spot for settled in case.settled for spot in settled.differences]
    resolved = [settled.resolved for settled in case.settled]
    for path in sorted({*lists_above(case.stored, differences), *_lists_of_varying_length(earlier)}, key=len):
        if _is_ruled(case, path) or any(path[: len(rule.path)] == rule.path for rule in rules):
            continue
        try:
            raw_lists = [value_at(output, path) for output in case.outputs]
            filled_lists = [value_at(output, path) for output in resolved]
            known = [value_at(output, path) for output in earlier]
        except (LookupError, TypeError):
            continue
        if all(isinstance(rows, list) for rows in (*known, *raw_lists, *filled_lists)):
            known = known if case.is_unchanged else known[:1]
            service = [*known, *filled_lists] if case.is_unchanged else filled_lists
            rule = _find_rule(case, path, known, raw_lists, service)
            rules += [rule] if rule else []
    return rules


def lists_above(stored: Json, differences: Sequence[Difference]) -> Iterator[Path]:
    """Yield the outermost lists that hold a difference. Within rows it is not known which row
    is which."""
    for difference in differences:
        at = difference.at
        ends = [end for end, key in enumerate(at) if isinstance(key, int)]
        if ends or isinstance(value_or_absent(stored, at), list):
            yield at[: ends[0]] if ends else at


def _lists_of_varying_length(outputs: Sequence[Json], path: Path = ()) -> Iterator[Path]:
    """Yield the outermost lists whose length is not the same in all outputs."""
    if all(isinstance(output, list) for output in outputs):
        if len({len(output) for output in outputs}) > 1:
            yield path
    elif all(isinstance(output, dict) for output in outputs):
        for key in outputs[0]:
            if all(key in output for output in outputs):
                yield from _lists_of_varying_length([output[key] for output in outputs], (*path, key))


def _find_rule(case: LearningCase, path: Path, known: Lists, came: Lists, service: Lists) -> ListRule | None:
    """Return the rule for one list. `known`: the stored list, and the earlier answer that could be stored;
    `service`: the lists that all come from one service."""
    stored, sizes = known[0], (min(map(len, (*known, *came))), max(map(len, (*known, *came))))
    if not _has_varying_rows(service):
        order = order_rule(service)
        return ListRule(path, order, sizes) if order is not None else None
    if not sizes[0]:
        return None  # no row to describe
    steady, gone = _always_there(stored, service)
    literal = not all(any(map(is_template, texts_in(stored[n]))) for n in steady)
    names_rows = len({canonical(row) for row in stored}) == len(steady) > 1
    if literal or names_rows or len(steady) >= max(_FEWEST_NAMED, _MOST_STEADY * sizes[1]):
        # one row that describes all would accept any other value in place of what never varied
        core = tuple(row for n, row in enumerate(stored) if n in steady or n in gone)
        return ListRule(path, "subset", sizes, core)
    new_rows = (escape_value(row) for rows in came for row in rows)
    try:
        row = _describing_row(case, [*chain(*known), *new_rows], (*path, 0))
    except Unlike:
        return None
    return ListRule(path, "each", sizes, (row,), tuple(_volatile_places(path, row, came)))


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
    """Whether the rows of the lists differ: in their number, or in some of their names while others stay.
    Where one key names the same rows in all lists, only their values differ."""
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


def _describing_row(case: LearningCase, rows: Sequence[Json], place: Path) -> Json:
    """Return one row that describes rows as they are stored, at this path. Raises Unlike if they have no form
    in common."""

    def accepts(text: str, value: Json) -> bool:
        return accepts_all(text, [value], case.words)

    def choose(values: Sequence[Json], place: Path) -> Json:
        if all(same_json(value, values[0]) for value in values):
            return values[0]
        if all(isinstance(value, list) for value in values):
            if not all(values):
                return "<<any_array>>"
            return [unify([item for value in values for item in value], choose, accepts, (*place, 0))]
        if any(isinstance(value, dict | list) for value in values):
            raise Unlike
        templates = [value for value in values if is_template(value)]
        literals = [value for value in values if not is_template(value)]
        plain_values = [unescaped(value) for value in literals]
        for text in dict.fromkeys(templates):
            if accepts_all(text, plain_values, case.words):
                return text
        if templates and evidence_for(place, case.learnt) is None:
            raise Unlike  # a person decided on this placeholder
        return _narrowest_sure(plain_values, case.words) or placeholder_for(literals, accepts)

    return unify(rows, choose, accepts, place)


def _narrowest_sure(values: Sequence[Json], words: PlaceholderContext) -> str | None:
    """Return a form that no text has by chance, or that numbers of one kind have."""
    non_null = [value for value in values if value is not None]
    types = {json_type(value) for value in non_null}
    texts: list[str] = []
    if types == {"number"}:
        texts = [proposal.text for proposal in narrowest(non_null, words=words)]
    elif types == {"string"}:
        texts = [proposal.text for proposal in proposals_from_table(non_null, "string", "sure", words)]
        likely = (proposal.text for proposal in proposals_from_table(non_null, "string", "likely", words))
        texts += filter(_LIKELY.fullmatch, likely)
    if not texts:
        return None
    return f"{texts[0][:-2]}|null>>" if len(non_null) < len(values) else texts[0]


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


def with_list_rules(case: LearningCase) -> LearningCase:
    """Return the case under the rules that are found for its lists."""
    baseline, stored = case.baseline, case.baseline.baseline
    is_structural = baseline.source.form == "native" and case.matcher.type == "structural"
    if stored is None or stored.variants or not is_structural:
        return case
    for _ in range(_MOST_ROUNDS):
        new_rules = _list_rules(case)
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
        case = replace(case.under(written), lists=(*case.lists, *new_rules))
    return case


def _is_ruled(case: LearningCase, path: Path) -> bool:
    """Whether a person, or the form of the answer, has decided how a list is compared. `ordered` does not
    count if placeholders were learnt below: then a capture has written it, to keep one row one row."""
    mode = case.matcher.arrays.get(path)
    is_written = mode is not None and not (mode == "ordered" and evidence_below(path, case.learnt))
    return is_written or case.is_definition(path)


class Lesson(Struct):
    """What is to be written: the baseline with its placeholders and rules; the places that vary, and those
    that can get neither; the arrays of one element whose length a rule keeps from now on; how lists that vary
    are compared; and the lookalikes, which look like ids and were the same each time."""

    baseline: Baseline
    volatile: tuple[Volatile, ...] = ()
    refusals: tuple[UnlearnablePlace, ...] = ()
    singles: tuple[str, ...] = ()
    lists: tuple[ListRule, ...] = ()
    lookalikes: tuple[Volatile, ...] = ()

    @property
    def output(self) -> Json:
        return self.baseline.baseline.output if self.baseline.baseline else None

    def storing(self, output: Json) -> Self:
        """Return the lesson with another output to be written."""
        return replace(self, baseline=replace(self.baseline, baseline=Known(output=output)))


def _finished(
    case: LearningCase,
    volatile: Sequence[Volatile],
    refusals: Sequence[UnlearnablePlace],
    known_singles: Iterable[Path] = (),
) -> Lesson:
    """Return what was learnt of the answers, and add to the refusals what the baseline would still reject. An
    array of one element that now holds a placeholder would describe arrays of any length: a rule keeps it
    `ordered`."""
    stored = case.baseline.baseline or Known(output=None)
    texts = {place: item.proposal.text for item in volatile for place in item.places}
    output, rules = with_values(case.stored, texts), case.baseline.comparison
    ruled = (path for path, mode in case.matcher.arrays.items() if mode != "each")
    known = [*known_singles, *ruled]
    singles = {} if case.matcher.type == "exact" else arrays_to_order(rules, known, output)
    rules = replace(rules, arrays={**singles, **rules.arrays})
    written = replace(case.baseline, baseline=replace(stored, output=output), comparison=rules)
    if texts or refusals or singles:
        case = case.under(written)
    found, seen = [*refusals], {place.path for place in refusals}
    for spot in (spot for comparison in case.settled for spot in comparison.differences):
        at = spot.at
        if not any(at[: len(path)] == path or path[: len(at)] == at or spot.path == path for path in seen):
            seen.add(at)
            message = "no placeholder was found that the rules accept in every replay"
            found.append(UnlearnablePlace(at, "unresolved", message, "write a rule for it by hand"))
    return Lesson(written, tuple(volatile), tuple(found), tuple(singles))


def _view(case: LearningCase, agreed: Callable[[Path], bool] = lambda path: False) -> ReplayView:
    recipe = case.baseline.current
    return ReplayView(
        outcomes=case.kind.outcomes(recipe),
        wholes=case.kind.answers(recipe),
        numeric=case.matcher.type == "numeric",
        agreed=agreed,
        arrays=case.matcher.arrays,
        write=OutputTemplater(case.words.scope).text,
        words=case.words,
    )


# A new baseline: the first answer is stored, so whatever differs in another one varies.


def learn_new(case: LearningCase) -> Lesson:
    """Learn from the answers to a new recipe. The first answer is stored."""
    recipe, outputs, view = case.baseline.current, case.outputs, _view(case, _agreed(case.settled[1:]))
    volatile: list[Volatile] = []
    refusals: list[UnlearnablePlace] = []
    if not all(comparison.passed for comparison in case.settled[1:]):
        found = learn_places(outputs, view)
        volatile, refusals = list(found.volatile), list(found.refusals)
    known = {place for item in volatile for place in item.places} | {place.path for place in refusals}
    steady = _steady_values(case, known)
    new = [*moments_of_now(steady.items(), case.now, view)]
    if len(outputs) == 1 and case.kind.writes(recipe):
        free = steady.keys() - {item.places[0] for item in new}
        made = made_by_write(outputs[0], recipe.input, view)
        new += [item for item in made if item.places[0] in free]
    compared = _compared(case, [item.places[0] for item in new])
    volatile += [item for item in new if item.places[0] in compared]
    saved = [observation.saved for observation in case.observations]
    is_made = len(saved) == 1 and bool(saved[0])  # by a flow that writes, and was replayed once

    def literal(paths: Collection[Path]) -> Collection[Path]:
        return _compared(case, [path for path in paths if path in steady])

    linking = replace(view, saved=saved, is_made=is_made, literal=literal)
    volatile = bind_links(volatile, outputs, linking)
    taken = {place for item in volatile for place in item.places}
    created = created_id_path(outputs[0])
    ids = {
        path: value
        for path, value in steady.items()
        if path not in taken and (path == created or looks_like_id(value, path))
    }
    same = lookalikes({path: ids[path] for path in _compared(case, [*ids])}, view)
    return replace(_finished(case, volatile, refusals), lookalikes=tuple(same))


def with_lookalikes(lesson: Lesson) -> Lesson:
    """Return the lesson with placeholders for the lookalikes as well."""
    texts = {place: item.proposal.text for item in lesson.lookalikes for place in item.places}
    lesson = replace(lesson, volatile=(*lesson.volatile, *lesson.lookalikes), lookalikes=())
    return lesson.storing(with_values(lesson.output, texts))


def _agreed(comparisons: Sequence[Comparison]) -> Callable[[Path], bool]:
    """Return whether the rules of the baseline accept a place, and all in it, as it is in every answer."""
    differing = {difference.at for comparison in comparisons for difference in comparison.differences}
    above = {at[:end] for at in differing for end in range(len(at))}
    all_kept = all(comparison.count == len(comparison.differences) for comparison in comparisons)

    def agreed(path: Path) -> bool:
        is_inside = any(path[:end] in differing for end in range(len(path) + 1))
        return all_kept and not is_inside and path not in above

    return agreed


_NO_VALUE = "\0"


def _steady_values(case: LearningCase, known: Collection[Path]) -> dict[Path, Json]:
    """Return the values that were the same in all answers and are in the stored output as they came, outside
    of the places that are known to vary. A whole answer is none, and the hash of a body of bytes is none:
    another one means another body."""
    output, stored = case.outputs[0], case.stored
    others = [other for other in case.outputs[1:] if not same_json(other, output)]
    wholes = {(), *case.kind.answers(case.baseline.current)}
    steady: dict[Path, Json] = {}
    for path, value in places(output):
        written = value_or_absent(stored, path)
        if isinstance(value, dict | list) or path in wholes or written != value:
            continue
        is_known = any(path[:end] in known for end in range(len(path) + 1))
        if is_known or (isinstance(written, str) and has_marker(written)):
            continue
        if path[-1] == "sha256" and value_at(stored, path[:-1]).keys() == {"sha256", "size"}:
            continue
        if all(same_json(value_or_absent(other, path), value) for other in others):
            steady[path] = value
    return steady


def _compared(case: LearningCase, paths: Collection[Path]) -> list[Path]:
    """Return those paths at which another value would be a difference."""
    if case.matcher.is_plain or not paths:
        return [*paths]
    changed = with_values(case.outputs[0], dict.fromkeys(paths, _NO_VALUE))
    differences = case.matcher.compare(Observation(changed, 0.0)).differences
    differing = {difference.at for difference in differences}
    return [path for path in paths if path in differing]


# Values that were the same in every answer and may still differ in the next one: moments of now, and what a
# write that was sent once has made. What only looks like an id is reported, and stays. Only certain cases
# count; the error rate is measured in tests/learning/test_made.py.


def moments_of_now(steady: Iterable[tuple[Path, Json]], now: float, view: ReplayView) -> Iterator[Volatile]:
    """Yield the values that are a moment within minutes of now or the day of today, or texts that hold
    one."""
    words = replace(view.words, now=now)
    for path, value in steady:
        proposal: PlaceholderProposal | None = None
        is_text, when = isinstance(value, str), moment_of(value)
        is_whole = is_of_now(value, now) if is_text else when is not None and abs(when - now) <= NEAR
        if is_whole:
            proposal = narrowest([value], view.write, words)[0]
        elif is_text and holds_now(value, now):
            proposal = template_around_varying_parts([value, value], view.write, words)
        if proposal is not None and not proposal.says_little:
            reason = f"{proposal.reason}, of now" if is_whole else "a moment of now in it"
            yield Volatile(path, (path,), (value,), PlaceholderProposal(proposal.text, reason))


def lookalikes(values_by_path: Mapping[Path, Json], view: ReplayView) -> Iterator[Volatile]:
    """Yield what looks like an id, with the placeholder that could stand there: one for all rows if each of
    them has one."""
    for shape, paths in by_shape((path, path) for path in values_by_path).items():
        values = tuple(values_by_path[path] for path in paths)
        proposal = narrowest(values, view.write, view.words)[0]
        yield Volatile(shape if len(paths) > 1 else paths[0], tuple(paths), values, proposal)


# What a write has made: the object that it created, by the status, and the id of the request, by its name.

_REQUEST_NAME = lazy_pattern(
    r"(?:x[-_])?(?:amzn?[-_]?)?(?:request|trace|span|correlation|invocation)[-_]?id", re.IGNORECASE
)
_ID_NAME = lazy_pattern(r"_?(?:id|uid|uuid|guid)", re.IGNORECASE)
_WORDS_OR_NUMBER = lazy_pattern(r"[a-z]+(?:[ _-][a-z]+)*|[A-Z][a-z]+|[A-Z]+|-?[0-9]+|")
_CREATED = 201


def created_id_path(output: Json) -> Path | None:
    """Return the path of the id of the object that a request has created, if that is its status: the id of
    the topmost object that has one."""
    if not isinstance(output, dict) or output.get("status") != _CREATED:
        return None
    paths = [
        path
        for path, value in places(output.get("body"), ("body",))
        if isinstance(path[-1], str) and _ID_NAME.fullmatch(path[-1]) and isinstance(value, str | int)
        if not any(isinstance(key, int) for key in path)
    ]
    least_depth = min(map(len, paths), default=0)
    topmost = [path for path in paths if len(path) == least_depth]
    return topmost[0] if len(topmost) == 1 else None


def made_by_write(output: Json, request: Json, view: ReplayView) -> Iterator[Volatile]:
    """Yield the places whose value the write has made; none of them is part of the request."""
    request_text = json.dumps(request, default=str, ensure_ascii=False)
    created = created_id_path(output)
    for path, value in places(output):
        if isinstance(value, dict | list) or str(value) in request_text:
            continue
        is_of_request = _REQUEST_NAME.fullmatch(name_of(path)) and looks_like_id(value, path)
        if is_of_request or (path == created and not _WORDS_OR_NUMBER.fullmatch(str(value))):
            proposal = narrowest([value], view.write, view.words)[0]
            origin = "of this request, by its name" if is_of_request else "of what was created"
            made = PlaceholderProposal(proposal.text, f"{proposal.reason}, {origin}")
            yield Volatile(path, (path,), (value,), made)


# A stored baseline: what differs from it varies, or has changed. A value on which all answers agree, but not
# the stored output, is a change, unless by its nature it differs after a while.

ACCEPT = "if it is right: baselinekit compare, then baselinekit refresh"
_DEFINITION = "what the metrics are called and divided by is not a value: if it is right, baselinekit refresh"
_REPLACE = "widen it, or have it replaced: --learn --drop-placeholders"
_MOST_VALUES = 3
_LONGEST_PART = 40
_SEPARATOR = lazy_pattern(r"\S\s+\S|[,;&?]")
_MESSAGES: Mapping[str, str] = {
    "missing": "it is gone",
    "extra": "it is new",
    "order": "its elements come in another order",
    "count": "it has another number of elements",
    "type": "it is of another type",
    "tolerance": "it is further off than its tolerance",
    "similarity": "it means something else",
}


def is_learnable_if_unchanged(place: UnlearnablePlace) -> bool:
    """Whether a difference that stays would be learnt if the service is known to be unchanged: all but a key
    that is gone or new."""
    is_key = bool(place.path) and isinstance(place.path[-1], str)
    return place.hint == ACCEPT and not (
        is_key and place.message in (_MESSAGES["missing"], _MESSAGES["extra"])
    )


def learn_again(case: LearningCase) -> Lesson:
    """Learn from the stored output and new answers."""
    ruled = with_list_rules(case)
    if case.kept is None and not ruled.lists and all(comparison.passed for comparison in ruled.settled):
        return Lesson(case.baseline)
    answers = _Answers(ruled)
    volatile, refusals = answers.learn()
    volatile = [*(item for rule in ruled.lists for item in rule.volatile), *volatile]
    known = [
        *single_element_arrays(case.stored),
        *(path for path in single_element_arrays(ruled.stored) if ruled.is_rewritten(path)),
    ]
    lesson = _finished(ruled, volatile, [*answers.stays, *refusals], known)
    return replace(lesson, lists=ruled.lists)


class _Answers:
    """The values that the answers have at each place where they differ from the stored output, and what stays
    as it is there (`stays`)."""

    def __init__(self, case: LearningCase):
        self._case, self._stored, self._count = case, case.stored, len(case.observations)
        self._all_answers = "the answer" if self._count == 1 else f"all {self._count} answers"
        self._templater = OutputTemplater(case.words.scope)
        self._span = since_capture(case.baseline, case.now)
        self._kept = {
            path: value
            for path, value in (case.kept.differing if case.kept else ())
            if self._is_leaf(path) and not (case.is_rewritten(path) or case.is_definition(path))
        }
        self._values: dict[Path, dict[int, Json]] = {}
        """The new values at each place, each by the number of its answer."""
        self._changed_parts: list[UnlearnablePlace] = []
        differing: list[UnlearnablePlace] = []
        for number, comparison in enumerate(case.settled):
            for spot in comparison.differences:
                is_leaf = spot.kind in ("value", "type") and not isinstance(spot.actual, dict | list)
                message = _MESSAGES.get(spot.kind, "it differs")
                if case.is_definition(spot.at):
                    differing.append(UnlearnablePlace(spot.path, "structural", message, _DEFINITION))
                elif is_leaf and self._is_leaf(spot.at):
                    self._values.setdefault(spot.at, {})[number] = spot.actual
                elif all(place.path != spot.path for place in differing):
                    differing.append(UnlearnablePlace(spot.path, "structural", message, ACCEPT))
        self.stays = [*map(self._coming_and_going, differing)]

    def _is_leaf(self, path: Path) -> bool:
        value = value_or_absent(self._stored, path)
        return value is not ABSENT and not isinstance(value, dict | list)

    def _coming_and_going(self, place: UnlearnablePlace) -> UnlearnablePlace:
        """Return the place of a key that only some of the answers have with the rule that settles it."""
        path, settled = place.path, self._case.settled
        number = sum(any(spot.path == path for spot in one.differences) for one in settled)
        if not (path and isinstance(path[-1], str)) or place.hint != ACCEPT or number == self._count:
            return place
        message = f"{place.message} in {number} of {self._count} answers"
        known = (self._stored, *([self._case.kept.resolved] if self._case.kept else []))
        is_known = any(value_or_absent(output, path) is not ABSENT for output in known)
        rule = ("--ignore", render(path)) if is_known else ()  # a path that leads to nothing is refused
        return UnlearnablePlace(path, "structural", message, ignoring(path), rule)

    def learn(self) -> tuple[list[Volatile], list[UnlearnablePlace]]:
        """Return the placeholders, and the places that vary and cannot be learnt."""
        differing = dict.fromkeys((*self._kept, *self._values))
        learnt = {path: values for path in differing if (values := self._values_at(path))}
        outputs = [
            with_values(self._stored, {path: values[n] for path, values in learnt.items()})
            for n in range(1 + bool(self._case.kept) + self._count)
        ]
        found = learn_places(outputs, _view(self._case))
        # a row may be covered by what others taught
        self.stays = [place for place in self.stays if place.path not in found.placeholders]
        self.stays += self._changed_parts
        return list(found.volatile), list(found.refusals)

    def _stay(self, path: Path, message: str, hint: str = ACCEPT, *rule: str) -> list[Json]:
        self.stays.append(UnlearnablePlace(path, "unresolved", message, hint, rule))
        return []

    def _values_at(self, path: Path) -> list[Json]:
        """Return the stored value of a place, and the value of each answer, the one of the compare first.
        Empty if nothing is to be learnt: a change is reported."""
        case, new, written = self._case, self._values.get(path, {}), value_at(self._stored, path)
        if not case.replaces_handwritten and is_handwritten(written, path, case.learnt):
            shown = list(dict.fromkeys(short(case.mask(value, path)) for value in new.values()))
            values = ", ".join(shown[:_MOST_VALUES]) + (", …" if len(shown) > _MOST_VALUES else "")
            message = f"{written}, written by hand, does not accept {values}"
            return self._stay(path, message, _REPLACE) if new else []
        stored = self._plain(written)
        is_literal = stored != written or not (isinstance(written, str) and has_marker(written))
        default = stored if is_literal else ABSENT
        seen = [new.get(number, default) for number in range(self._count)]
        if not new and not is_literal:
            return []
        if not new and not self._varies(path, stored, [self._kept[path]]):
            value = short(case.mask(self._kept[path], path))
            message = f"it was {value} in the answer of the compare, and is as stored in {self._all_answers}"
            hint = f"ask more often: --repeat 10; {ignoring(path)}"
            return self._stay(path, message, hint, "--ignore", render(path))
        varies = not new or self._varies(path, stored, seen)
        if case.kept:
            seen.insert(0, self._kept.get(path, default))
        present = [value for value in seen if value is not ABSENT]
        seen = [present[0] if value is ABSENT else value for value in seen]
        if new and not case.is_unchanged and isinstance(written, str) and _are_in_parts(written, seen):
            return self._judge_text(path, written, is_literal, seen[-self._count :])
        if varies:
            return [stored if is_literal else present[0], *seen]
        sides = [case.mask(value, path) for value in (stored, seen[-1])]
        before, after = map(short, sides)
        if before == after:  # 29 and "29"
            before, after = (f"{short(side)} ({json_type(side)})" for side in sides)
        return self._stay(path, f"it changed from {before} (as stored) to {after} (in {self._all_answers})")

    def _judge_text(self, path: Path, written: str, is_literal: bool, values: list[Json]) -> list[Json]:
        """Do the same for a text, part by part: a part on which all answers agree stays as it is stored,
        however much varies beside it, unless by nature it changes after a while."""
        texts, words = [str(value) for value in values], self._case.words
        stored = str(self._plain(written)) if is_literal else fill_placeholders(written, texts[0], words)

        def is_natural(part: TextPart) -> bool:
            place = (*path, part.name) if part.name else path
            nature = nature_of_change(place, part.before, part.after, self._span)
            return nature is not None and not (nature == "id" and is_hash(path, stored))

        answers, changes = judge_parts(stored, texts, is_natural, words, is_template=not is_literal)
        for part in changes:
            before, after = (
                short_words(str(self._case.mask(text, path)), _LONGEST_PART)
                for text in (part.before, part.after)
            )
            name = f'the part after "{part.name}"' if part.name else "a part of it"
            message = f'{name} changed from "{before}" (as stored) to "{after}" (in {self._all_answers})'
            self._changed_parts.append(UnlearnablePlace(path, "unresolved", message, ACCEPT))
        kept = answers[:1] if self._case.kept else []
        if is_literal:
            return [stored, *kept, *answers] if any(text != stored for text in answers) else []
        if any(has_marker(part.before) for part in changes):
            return []  # words have changed beside a placeholder: its place in the answers is unknown
        return [] if accepts_all(written, answers, words) else [answers[0], *kept, *answers]

    def _plain(self, written: Json) -> Json:
        """Return a stored value without its escapes, and with the values of its variables. One with another
        placeholder stays as it is."""
        if not (isinstance(written, str) and has_marker(written)):
            return written
        expanded = self._templater.expanded(written)
        return unescaped(written) if expanded is None else expanded

    def _varies(self, path: Path, stored: Json, values: Sequence[Json]) -> bool:
        is_agreed = all(value is not ABSENT and same_json(value, values[0]) for value in values)
        if not is_agreed or self._case.is_unchanged:
            return True
        return nature_of_change(path, stored, values[0], self._span) is not None


def _are_in_parts(written: str, values: Sequence[Json]) -> bool:
    """Whether these are texts of several words or lines, and not single values."""
    if is_alone(written) or not all(isinstance(value, str) for value in values):
        return False
    return any(map(_SEPARATOR.search, map(str, values)))


def since_capture(baseline: Baseline, now: float) -> SinceCapture:
    """Return the time since a baseline was captured."""
    captured = parse_time(baseline.baseline.captured_at) if baseline.baseline else None
    return SinceCapture(captured.timestamp() if captured else None, now)
