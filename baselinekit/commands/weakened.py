"""What a change does to a baseline or an eval case. What is in a closed table weakens it; what is known to
ask for more is not reported; any other change is only listed."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.files.jsontext import compact
from baselinekit.kinds.kind import CHECKS
from baselinekit.kinds.settings import EXECUTION
from baselinekit.matching.dispatch import base_mode, form_of
from baselinekit.matching.rules import Mode
from baselinekit.model.baselines import (
    FLAGS,
    Baseline,
    By,
    Cost,
    FieldRule,
    Latency,
    Metadata,
    Rules,
    Tolerance,
    known_path,
)
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.formats import FORMATS
from baselinekit.placeholders.grammar import Token, describes_many, has_marker, texts_in
from baselinekit.placeholders.table import PlaceholderContext, types_of
from baselinekit.placeholders.template import Inline, Placeholder, Slot, binds, compile_text
from baselinekit.structs import Struct, convert, plain
from baselinekit.values.changes import match_elements
from baselinekit.values.equality import identical, is_number
from baselinekit.values.paths import iterate_places, parse, render, roots
from baselinekit.values.texts import count_noun, mask_and_clip, no_mask

CHECKS_AT, SCORES_AT = (*EXECUTION, CHECKS), (*EXECUTION, "scores")

_LOOSENESS: dict[str, dict[str | None, int]] = {
    "type": {"exact": 0, "structural": 1, "numeric": 2, "semantic": 2},
    "arrays": {"ordered": 0, "by": 1, "unordered": 2, "each": 3, "subset": 3},
    "criticality": {"critical": 0, "high": 1, "medium": 2, "low": 3, None: 4},
}
"""How much passes with a word, by its key."""
_MORE_IS_STRICTER = {"pass_at", "borderline_at", "threshold", "pass_threshold", "min", "min_similarity"}
_MORE_IS_STRICTER |= {"at_least", "minimums", "min_tokens", "min_length", "min_score"}
_LESS_IS_STRICTER = {"max", "max_seconds", "max_usd", "max_ratio", "max_total", "max_input", "max_output"}
_LESS_IS_STRICTER |= {"max_tokens", "max_length", "tolerance", "retries"}
_TRUE_IS_STRICTER = {"required", "case_sensitive", "strict"}
_FALSE_IS_STRICTER = FLAGS - _TRUE_IS_STRICTER | {"borderline_passes"}
_MORE_TEXTS_ARE_STRICTER = {"all", "none", "contains_all", "not_contains", "require_keys"}
_FEWER_TEXTS_ARE_STRICTER = {"any", "alternatives", "contains_any"}
"""What a number, a switch or a list of texts asks for, by the name of its key."""

_EXPECTATIONS = ("value", "wanted", "context", "method")
"""Keys whose new value is another expectation, as after a refresh."""

_MOST_CHARACTERS = 60


class Way(Struct):
    """One change of a baseline or case. `at` leads to it in the record. `weakens`: more passes."""

    at: Path
    message: str
    weakens: bool = True

    def __str__(self) -> str:
        return f"{render(self.at)}: {self.message}"


def weakened(
    before: Baseline, after: Baseline, words_before: PlaceholderContext, words: PlaceholderContext
) -> list[Way]:
    """All the ways in which the baseline has changed, in the order of the file."""
    old, new = before.baseline, after.baseline
    ways: list[Way] = []
    if old is not None and old.output is not ABSENT:
        if new is None or new.output is ABSENT:
            ways.append(Way(("baseline",), "no longer has a stored output: nothing is compared"))
        else:
            walk = _OutputWalk(before, after, words_before, words)
            ways += walk.outputs(old.output, new.output, known_path(None))
            variants = {repr(sorted(variant.when.items())): variant for variant in old.variants}
            for number, variant in enumerate(new.variants):
                stored = variants.pop(repr(sorted(variant.when.items())), None)
                if stored is None:
                    message = "a new variant: another output is right in some places"
                    ways.append(Way(known_path(number), message))
                else:
                    ways += walk.outputs(stored.output, variant.output, known_path(number))
            if variants:
                message = "a variant was removed: another output is right in some places"
                ways.append(Way(("baseline", "variants"), message))
            for name in ("seconds", "cost_usd"):  # rules may allow a multiple of these
                then, now = (getattr(known.observed, name, None) for known in (old, new))
                if then is not None and (now is None or now > then):
                    change = f"{then} -> {'nothing' if now is None else now}"
                    ways.append(Way(("baseline", "observed", name), change, now is None))
    ways += compare_recipes(before.current, after.current, ("current",))
    if before.current.kind == after.current.kind:
        ways += _compare_checks(before.current, after.current)
    if new is not None and new.output is not ABSENT:
        ways += _compare_rules(before, after)
    return [*ways, *compare_metadata(before.metadata, after.metadata)]


class _OutputWalk:
    """Compares the stored outputs before and after."""

    def __init__(
        self, before: Baseline, after: Baseline, words_before: PlaceholderContext, words: PlaceholderContext
    ):
        self.words = words_before, words
        self.before, self.form = before.comparison, form_of(after.current)
        mode, fields = _mode(after), after.comparison.fields.values()
        self.is_whole = {mode.type, *(rule.type for rule in fields)} <= {"exact", "structural", None}
        """Whether not only its numbers count, or the meaning of its texts."""
        self.further_keys = mode.allow_additional_fields or not self.is_whole
        self.subset = "subset" in after.comparison.arrays.values()
        self.at: Path = ()
        self.ignored: set[Path] = set()

    def outputs(self, old: Json, new: Json, known: Path) -> Iterator[Way]:
        self.at = (*known, "output")
        self.ignored = {
            (*root, *path)
            for text in (*self.before.ignore_fields, *_ignored_values(self.before))
            for root in roots(parse(text), old)
            for path, _ in iterate_places(parse(text), old["body"] if root else old)
        }
        yield from self.values(old, new, ())

    def way(self, path: Path, message: str, weakens: bool) -> Way:
        return Way((*self.at, *path), message, weakens)

    def values(self, old: Json, new: Json, path: Path) -> Iterator[Way]:
        if path in self.ignored:
            return
        if isinstance(old, dict) and isinstance(new, dict):
            optional = self.further_keys or path in self.form  # of headers and parts only those stated count
            for key in {**old, **new}:
                at = (*path, key)
                if key in old and key in new:
                    yield from self.values(old[key], new[key], at)
                elif key in old and at not in self.ignored:
                    yield self.way(at, f"is no longer expected: {short(old[key])}", optional)
                elif key in new and not optional:
                    yield self.way(at, f"is expected now: {short(new[key])}", False)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self.rows(old, new, path)
        elif not is_same(old, new):
            yield from self.leaves(old, new, path)

    def rows(self, old: list[Json], new: list[Json], path: Path) -> Iterator[Way]:
        described, was_described = (len(rows) == 1 and describes_many(rows[0]) for rows in (new, old))
        if described and not was_described:
            yield self.way(path, f"one element describes every element now: {short(new[0])}", True)
            return
        if was_described:
            continued: list[int | None] = [0] * len(new)
        elif identical(old, new, ordered=False):
            continued = list(range(len(old)))
        else:
            continued = match_elements(old, new)
        if len(old) != len(new):
            message = f"expects {count_noun(len(new), 'element')} instead of {len(old)}"
            yield self.way(path, message, len(new) < len(old) and self.subset)
        positions = [before for before in continued if before is not None]
        if not was_described and positions != sorted(positions):
            yield self.way(path, "expects its elements in another order", False)
        for number, (before, row) in enumerate(zip(continued, new, strict=True)):
            if before is None:
                is_foreign = not _placeholders_in(row) <= _placeholders_in(old)
                yield self.way((*path, number), f"is expected now: {short(row)}", is_foreign)
            else:
                yield from self.values(old[before], row, (*path, number))

    def leaves(self, old: Json, new: Json, path: Path) -> Iterator[Way]:
        before, after = _compile(old, self.words[0]), _compile(new, self.words[1])
        change = f"{short(old)} -> {short(new)}"
        if not isinstance(after, Placeholder | Inline):
            gone = isinstance(before, Placeholder | Inline) and binds(before)
            unseen = not self.is_whole and json_type(old) != json_type(new)
            weakens = gone or unseen or bool(_placeholders_in(new))
            yield self.way(path, f"another expectation: {change}", weakens)
        elif not isinstance(before, Placeholder | Inline):
            yield self.way(path, f"a value became a placeholder: {change}", True)
        elif _is_only_other_text(before, after):
            yield self.way(path, f"another expectation: {change}", False)
        elif not is_narrower(before, after):
            yield self.way(path, f"another placeholder: {change}", True)


def _mode(baseline: Baseline) -> Mode:
    output = baseline.baseline.output if baseline.baseline else None
    return base_mode(baseline.comparison, output, baseline.current.kind, [])


def _ignored_values(rules: Rules) -> list[str]:
    return [*rules.ignore_values, *((rules.options.ignore_values if rules.options else None) or ())]


def _placeholders_in(value: Json) -> set[str]:
    return set(filter(has_marker, texts_in(value)))


def _compile(value: Json, words: PlaceholderContext) -> Json:
    if not isinstance(value, str) or not has_marker(value):
        return value
    try:
        return compile_text(value, words)
    except BaselinekitError:
        return value


def _is_only_other_text(before: Placeholder | Inline, after: Placeholder | Inline) -> bool:
    """Whether a text has no new placeholder, and none that now takes the text beside it as well."""
    if not isinstance(before, Inline) or not isinstance(after, Inline):
        return False
    takes_text = any(isinstance(part, Slot) and part.kind.any_text for part in after.parts)
    return not takes_text and Counter(after.tokens) <= Counter(before.tokens)


_TEXTS = ("any", "any_string", "any_nonempty_string")
"""What accepts less than one of these does so within a text, too: 007 is an integer there, and no number."""

_FORMATS = {format.name for format in FORMATS}
_WIDE: dict[str, Callable[[str], bool]] = {
    "any": lambda name: True,
    "any_string": lambda name: name in _FORMATS or types_of(name) == frozenset({"string"}),
    "any_nonempty_string": lambda name: name in _FORMATS,
    "any_number": lambda name: name in ("any_integer", "any_float", "number"),
}
"""Which other placeholders accept less than one of these without arguments."""

_BETWEEN = ("any_integer", "any_number", "any_float", "any_string", "any_nonempty_string", "any_token")
"""Placeholders whose arguments are a least and a most."""


def is_narrower(before: Placeholder | Inline, after: Placeholder | Inline) -> bool:
    """Whether a placeholder, or those in a text, are known to accept no more than before."""
    if isinstance(before, Inline):
        return (
            isinstance(after, Inline)
            and len(before.parts) == len(after.parts)
            and all(
                old.token.name in (new.token.name, *_TEXTS) and _asks_as_much(old.token, new.token)
                if isinstance(old, Slot) and isinstance(new, Slot)
                else old == new
                for old, new in zip(before.parts, after.parts, strict=True)
            )
        )
    if isinstance(after, Inline):
        return before.token.name in _TEXTS[:2] and not (before.token.args or before.token.key)
    return _asks_as_much(before.token, after.token)


def _asks_as_much(old: Token, new: Token) -> bool:
    takes_null = old.nullable or old.name == "any"
    if (new.optional and not old.optional) or (new.nullable and not takes_null):
        return False
    if old.key not in (None, new.key):
        return False
    if old.name != new.name:
        return not old.args and old.name in _WIDE and _WIDE[old.name](new.name)
    if old.name == "one_of":
        return set(new.args) <= set(old.args)
    if old.name in _BETWEEN:
        (low, high), (least, most) = ((*token.args, None, None)[:2] for token in (old, new))
        is_above = low is None or (least is not None and least >= low)
        return is_above and (high is None or (most is not None and most <= high))
    return old.args in ((), new.args)


def compare_recipes(old: Json, new: Json, path: Path) -> Iterator[Way]:
    """Where two parts of a recipe differ, down to the fields of its structs."""
    if is_same(old, new):
        return
    if isinstance(old, Struct) and old.__class__ is new.__class__:
        for name in old.__struct_fields__:
            at: Path = (*path, name)
            if at not in (CHECKS_AT, SCORES_AT):
                yield from compare_recipes(getattr(old, name), getattr(new, name), at)
    else:
        yield Way(path, "another request is sent")


def is_same(old: Any, new: Any) -> bool:
    """Whether two values are equal down to the types: true is not 1, and 5.0 is sent differently from 5."""
    return identical(plain(old), plain(new), ordered=False)


def compare_values(old: Any, new: Any, path: Path) -> Iterator[Way]:
    """Compare two values down to the fields of their structs and the keys of their mappings. A change
    that the table does not know (a pattern, a schema, a rubric) may ask for anything: it weakens."""
    if is_same(old, new):
        return
    key = path[-1]
    if isinstance(old, Struct) and old.__class__ is new.__class__ and key != "wanted":
        for name in old.__struct_fields__:
            yield from compare_values(getattr(old, name), getattr(new, name), (*path, name))
    elif isinstance(old, Mapping) and isinstance(new, Mapping) and key not in (*_EXPECTATIONS, "json_schema"):
        for name in {**old, **new}:
            yield from compare_values(old.get(name), new.get(name), (*path, str(name)))
    elif not _is_stricter(path, old, new):
        change = " -> ".join("nothing" if value is None else short(value) for value in (old, new))
        if isinstance(old, list | tuple) and isinstance(new, list | tuple):
            signed = [f"-{short(one)}" for one in old if one not in new]
            change = " ".join([*signed, *(f"+{short(one)}" for one in new if one not in old)]) or change
        yield Way(path, change, key not in _EXPECTATIONS)


def _is_stricter(path: Path, old: Json, new: Json) -> bool:
    keys = {str(key) for key in path}
    if isinstance(old, bool | None) and isinstance(new, bool):
        return bool(keys & (_TRUE_IS_STRICTER if new else _FALSE_IS_STRICTER))
    if is_number(new) and (old is None or is_number(old)):
        if keys & _MORE_IS_STRICTER:
            return old is None or new > old
        return bool(keys & _LESS_IS_STRICTER) and (old is None or new < old)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        if path[-1] in _MORE_TEXTS_ARE_STRICTER:
            return all(text in new for text in old)
        return path[-1] in _FEWER_TEXTS_ARE_STRICTER and bool(new) and all(text in old for text in new)
    return False


def _compare_words(key: str, old: Json, new: Json, at: Path) -> Iterator[Way]:
    then, now = (_LOOSENESS[key]["by" if isinstance(word, By) else word] for word in (old, new))
    if old != new and then <= now:
        yield Way(at, f"{old} -> {new or 'none'}")


def _compare_checks(before: Recipe, after: Recipe) -> Iterator[Way]:
    then, now = list(before.checks), list(enumerate(after.checks))
    for check in before.checks:
        kept = next((pair for pair in now if is_same(pair[1], check)), None)
        if kept is not None:
            then.remove(check)
            now.remove(kept)
    for check in then:
        name = next(iter(check), "")
        known = next((pair for pair in now if name in pair[1]), None)
        if known is None:
            yield Way(CHECKS_AT, f"is no longer checked: {short(check)}")
        else:
            now.remove(known)
            for way in compare_values(check[name], known[1][name], (*CHECKS_AT, known[0], name)):
                yield Way(way.at[:-1], f"{name}: {way.message}", way.weakens)
    yield from (Way((*CHECKS_AT, number), f"is checked now: {short(check)}", False) for number, check in now)
    if before.scores is not None and after.scores is None:
        yield Way(SCORES_AT, "the text is no longer scored")
    elif before.scores is not None:
        yield from compare_values(before.scores, after.scores, SCORES_AT)


def _compare_rules(before: Baseline, after: Baseline) -> Iterator[Way]:
    old, new, at = before.comparison, after.comparison, ("comparison",)
    was, mode = _mode(before), _mode(after)
    yield from _compare_words("type", was.type, mode.type, (*at, "type"))
    for name in sorted(FLAGS):
        if name != "normalize_newlines" or was.type == mode.type:  # its default goes with the type
            yield from compare_values(getattr(was, name), getattr(mode, name), (*at, "options", name))
    if was.type == mode.type == "semantic":
        for name in ("min_similarity", "method"):
            yield from compare_values(getattr(was, name), getattr(mode, name), (*at, name))
    were_ignored = {*old.ignore_fields, *_ignored_values(old)}
    for text in new.ignore_fields:
        if text not in old.ignore_fields:
            yield Way((*at, "ignore_fields"), f"{text} is new")
    for text in _ignored_values(new):
        if text not in were_ignored:
            yield Way((*at, "ignore_values"), f"{text} is new")
    yield from _find_uncovered(old, new)
    for text in old.require_keys:
        if text not in new.require_keys:
            yield Way((*at, "require_keys"), f"{text} is no longer required")
    then, now = (
        {text: bounds for text, bounds in rules.tolerance.items() if isinstance(bounds, Tolerance)}
        for rules in (old, new)
    )
    for text in {**now, **then}:
        bounds = (then.get(text, then.get("*")), now.get(text, now.get("*")))
        yield from _compare_tolerances(*bounds, (*at, "tolerance", text))
    for path in {**new.arrays, **old.arrays}:
        array, array_now = old.arrays.get(path), new.arrays.get(path)
        if array_now is not None and array_now != "ordered":
            yield from _compare_words("arrays", array or "ordered", array_now, (*at, "arrays", path))
        elif array == "ordered" and array_now is None:
            yield Way((*at, "arrays", path), "ordered -> none: one element may describe every element")
    for text in {**new.fields, **old.fields}:
        rule, rule_now = old.fields.get(text, FieldRule()), new.fields.get(text, FieldRule())
        place: Path = (*at, "fields", text)
        types = rule.type or was.type, rule_now.type or mode.type
        yield from _compare_words("type", *types, (*place, "type"))
        if types[1] != "exact" and rule_now != FieldRule():
            yield from _compare_tolerances(_bounds_of(rule), _bounds_of(rule_now), (*place, "tolerance"))
            for name in ("options", "min_similarity"):
                yield from compare_values(getattr(rule, name), getattr(rule_now, name), (*place, name))
    yield from compare_values(old.latency or Latency(), new.latency or Latency(), (*at, "latency"))
    yield from compare_values(old.cost or Cost(), new.cost or Cost(), (*at, "cost"))
    if old.max_age is not None:
        yield from compare_values(old.max_age, new.max_age, (*at, "max_age"))


def _compare_tolerances(old: Tolerance | None, new: Tolerance | None, at: Path) -> Iterator[Way]:
    if any(now > then for then, now in zip(_reach(old), _reach(new), strict=True)):
        yield Way(at, " -> ".join("none" if bounds is None else short(bounds) for bounds in (old, new)))


def _reach(bounds: Tolerance | None) -> list[float]:
    """How far each bound lets a number move."""
    if bounds is None:
        return [0, 0, 0, 0]
    is_sized = bounds.abs is not None or bounds.rel is not None
    unbounded = float("inf")
    return [
        unbounded if bounds.min_delta is None else -bounds.min_delta,
        unbounded if bounds.max_delta is None else bounds.max_delta,
        (bounds.abs or 0) if is_sized else unbounded,
        (bounds.rel or 0) if is_sized else unbounded,
    ]


def _bounds_of(rule: FieldRule) -> Tolerance | None:
    stated = {name: value for name, value in rule.tolerance.items() if name in Tolerance.__struct_fields__}
    return convert(stated, Tolerance) if stated else None


def _find_uncovered(old: Rules, new: Rules) -> Iterator[Way]:
    """A comparing rule wins against a wider ignore rule: what it compared is ignored once it is gone."""
    ignoring = (*new.ignore_fields, *_ignored_values(new))
    for kind in ("tolerance", "fields"):
        for text in getattr(old, kind).keys() - getattr(new, kind).keys():
            last = parse(text).segments[-1:] if text not in FLAGS else ()
            for ignored in ignoring:
                if last and parse(ignored).segments[-1:] in (last, parse("*").segments, parse("**").segments):
                    yield Way(("comparison",), f"{ignored} is ignored where {kind}: {text} compared")
                    break


def compare_metadata(old: Metadata, new: Metadata) -> Iterator[Way]:
    if new.skip is not None and old.skip is None:
        yield Way(("metadata", "skip"), new.skip)
    yield from _compare_words("criticality", old.criticality, new.criticality, ("metadata", "criticality"))
    removed, added = sorted({*old.tags} - {*new.tags}), sorted({*new.tags} - {*old.tags})
    if removed or added:
        signed = [*(f"-{tag}" for tag in removed), *(f"+{tag}" for tag in added)]
        yield Way(("metadata", "tags"), f"{' '.join(signed)}: they select what is run")


def short(value: Json) -> str:
    return mask_and_clip(compact(plain(value)), _MOST_CHARACTERS, no_mask, counted=False)
