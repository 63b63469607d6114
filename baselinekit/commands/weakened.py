"""What a change does to a baseline or an eval case. What is in a closed table weakens it; what is known to
ask for more is not reported; any other change is only listed."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.files.jsontext import compact
from baselinekit.kinds.kind import CHECKS, FAILED, SCORES
from baselinekit.kinds.settings import EXECUTION
from baselinekit.matching.dispatch import base_mode, form_of
from baselinekit.model.baselines import (
    BOUNDS,
    FLAGS,
    Baseline,
    By,
    FieldRule,
    Metadata,
    Rules,
    Tolerance,
    known_path,
)
from baselinekit.model.recipes import Recipe, Scores
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import describes_many, has_marker, texts_in
from baselinekit.placeholders.narrowest import takes_all
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, Slot, binds, compile_text
from baselinekit.structs import Struct, plain
from baselinekit.values.changes import match_elements
from baselinekit.values.equality import canonical, identical, is_number
from baselinekit.values.paths import iterate_places, parse, roots
from baselinekit.values.texts import count_noun, mask_and_clip, no_mask

CHECKS_AT, SCORES_AT = (*EXECUTION, CHECKS), (*EXECUTION, "scores")

_TYPES = {"exact": 0, "structural": 1, "numeric": 2, "semantic": 2}
_ARRAYS = {"ordered": 0, "by": 1, "unordered": 2, "subset": 3, "each": 3}
_CRITICALITY = (None, "low", "medium", "high", "critical")

_MORE_IS_STRICTER = {
    "pass_at",
    "borderline_at",
    "threshold",
    "pass_threshold",
    "min",
    "min_similarity",
    "at_least",
}
_MORE_IS_STRICTER |= {"minimums", "min_tokens", "min_length", "min_score"}
_LESS_IS_STRICTER = {"max", "max_seconds", "max_usd", "max_ratio", "max_total", "max_input", "max_output"}
_LESS_IS_STRICTER |= {"max_tokens", "max_length", "tolerance", "retries"}
_TRUE_IS_STRICTER = {"required", "case_sensitive", "strict"}
_FALSE_IS_STRICTER = {"trim_whitespace", "normalize_newlines", "borderline_passes", "allow_field_reordering"}
_FALSE_IS_STRICTER |= {"allow_additional_fields", "allow_missing_fields", "allow_empty_arrays"}
_MORE_TEXTS_ARE_STRICTER = {"all", "none", "contains_all", "not_contains", "require_keys"}
_FEWER_TEXTS_ARE_STRICTER = {"any", "alternatives", "contains_any"}
"""What a number, a switch or a list of texts asks for, by the name of its key."""

_EXPECTATIONS = ("value", "wanted", "context")
"""Keys of an eval case whose new value is another expectation, as after a refresh."""

_MOST_CHARACTERS = 60


class Way(Struct):
    """One change of a baseline or case. `at` leads to it in the record. `weakens`: more passes."""

    at: Path
    message: str
    weakens: bool = True


def weakened(
    before: Baseline, after: Baseline, words_before: PlaceholderContext, words: PlaceholderContext
) -> list[Way]:
    """All the ways in which the baseline has changed, in the order of the file."""
    return [
        *_Outputs(before, after, words_before, words).ways(),
        *compare_recipes(before.current, after.current, ("current",)),
        *(
            _compare_checks(before.current, after.current)
            if before.current.kind == after.current.kind
            else ()
        ),
        *_compare_rules(before, after),
        *compare_metadata(before.metadata, after.metadata),
    ]


class _Outputs:
    """The stored outputs before and after."""

    def __init__(
        self, before: Baseline, after: Baseline, words_before: PlaceholderContext, words: PlaceholderContext
    ):
        self.before, self.after = before, after
        self.words = words_before, words
        self.form = form_of(after.current)
        output = after.baseline.output if after.baseline else None
        mode = base_mode(after.comparison, output, after.current.kind, [])
        types = (mode.type, *(rule.type for rule in after.comparison.fields.values() if rule.type))
        self.whole = {*types} <= {"exact", "structural"}  # not only its numbers, or the meaning of its texts
        self.further_keys = mode.allow_additional_fields or not self.whole
        self.subset = "subset" in after.comparison.arrays.values()
        self.at: Path = ()
        self.ignored: set[Path] = set()

    def ways(self) -> Iterator[Way]:
        old, new = self.before.baseline, self.after.baseline
        if old is None or old.output is ABSENT:
            return
        if new is None or new.output is ABSENT:
            yield Way(("baseline",), "no longer has a stored output: nothing is compared")
            return
        yield from self._outputs(old.output, new.output, None)
        for name in ("seconds", "cost_usd"):  # rules may allow a multiple of these
            then, now = (getattr(known.observed, name, None) for known in (old, new))
            if then is not None and (now is None or now > then):
                message = f"{name}: {then} -> {'nothing' if now is None else now}"
                yield Way(("baseline", "observed"), message, now is None)
        variants = {repr(sorted(variant.when.items())): variant for variant in old.variants}
        for number, variant in enumerate(new.variants):
            stored = variants.pop(repr(sorted(variant.when.items())), None)
            if stored is None:
                yield Way(known_path(number), "a new variant: another output is right in some places")
            else:
                yield from self._outputs(stored.output, variant.output, number)
        if variants:
            yield Way(
                ("baseline", "variants"), "a variant was removed: another output is right in some places"
            )

    def _outputs(self, old: Json, new: Json, variant: int | None) -> Iterator[Way]:
        self.at = (*known_path(variant), "output")
        rules = self.before.comparison
        self.ignored = {
            (*root, *path)
            for text in (*rules.ignore_fields, *_ignored_values(rules))
            for root in roots(parse(text), old)
            for path, _ in iterate_places(parse(text), old["body"] if root else old)
        }
        yield from self._values(old, new, ())

    def _way(self, path: Path, message: str, weakens: bool) -> Way:
        return Way((*self.at, *path), message, weakens)

    def _values(self, old: Json, new: Json, path: Path) -> Iterator[Way]:
        if path in self.ignored:
            return
        if isinstance(old, dict) and isinstance(new, dict):
            optional = (
                self.further_keys or path in self.form
            )  # only the stated headers and parts are compared
            for key in {**old, **new}:
                if key not in new:
                    if (*path, key) not in self.ignored:
                        yield self._way((*path, key), f"is no longer expected: {short(old[key])}", optional)
                elif key not in old:
                    if not optional:
                        yield self._way((*path, key), f"is expected now: {short(new[key])}", False)
                else:
                    yield from self._values(old[key], new[key], (*path, key))
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._rows(old, new, path)
        elif old is not new and not is_same(old, new):
            yield from self._leaves(old, new, path)

    def _rows(self, old: list[Json], new: list[Json], path: Path) -> Iterator[Way]:
        described, was_described = (len(rows) == 1 and describes_many(rows[0]) for rows in (new, old))
        if described and not was_described:
            yield self._way(path, f"one element describes every element now: {short(new[0])}", True)
            return
        if was_described:
            continued: list[int | None] = [0] * len(new)
        elif identical(old, new, ordered=False):
            continued = list(range(len(old)))
        else:
            continued = match_elements(old, new)
        if len(old) != len(new):
            message = f"expects {count_noun(len(new), 'element')} instead of {len(old)}"
            yield self._way(path, message, len(new) < len(old) and self.subset)
        positions = [before for before in continued if before is not None]
        if not was_described and positions != sorted(positions):
            yield self._way(path, "expects its elements in another order", False)
        for number, (before, row) in enumerate(zip(continued, new, strict=True)):
            if before is None:
                foreign = set(filter(has_marker, texts_in(row))) - set(texts_in(old))
                yield self._way((*path, number), f"is expected now: {short(row)}", bool(foreign))
            else:
                yield from self._values(old[before], row, (*path, number))

    def _leaves(self, old: Json, new: Json, path: Path) -> Iterator[Way]:
        before, after = _compile(old, self.words[0]), _compile(new, self.words[1])
        change = f"{short(old)} -> {short(new)}"
        if not isinstance(after, Placeholder | Inline):
            gone = isinstance(before, Placeholder | Inline) and binds(before)
            falls = _is_unmet(self.after.current, path, new) and not _is_unmet(self.before.current, path, old)
            unseen = not self.whole and json_type(old) != json_type(new)
            weakens = gone or falls or unseen or _holds_placeholder(new)
            yield self._way(path, f"another expectation: {change}", weakens)
        elif not isinstance(before, Placeholder | Inline):
            yield self._way(path, f"a value became a placeholder: {change}", True)
        elif _is_only_other_text(before, after):
            yield self._way(path, f"another expectation: {change}", False)
        elif not takes_all(before, after):
            yield self._way(path, f"another placeholder: {change}", True)


def _ignored_values(rules: Rules) -> Sequence[str]:
    return (*rules.ignore_values, *((rules.options.ignore_values if rules.options else None) or ()))


def _holds_placeholder(value: Json) -> bool:
    return any(map(has_marker, texts_in(value)))


def _compile(value: Json, words: PlaceholderContext) -> Json:
    if not isinstance(value, str) or not has_marker(value):
        return value
    try:
        return compile_text(value, words)
    except BaselinekitError:
        return value


def _is_only_other_text(before: Placeholder | Inline, after: Placeholder | Inline) -> bool:
    """Whether a text has only placeholders that it had, and none of them took the place of text beside it."""
    if not isinstance(before, Inline) or not isinstance(after, Inline):
        return False
    old = iter(_slots(before))
    return all(
        any(
            slot.token == known.token
            and slot.kind.extent == known.kind.extent
            and all(text == then or text not in then for text, then in zip(beside, beside_known, strict=True))
            for known, beside_known in old
        )
        for slot, beside in _slots(after)
    )


def _slots(text: Inline) -> Iterator[tuple[Slot, tuple[str, str]]]:
    """Each placeholder in a text, with the text before and after it."""
    parts = ("", *text.parts, "")
    for left, part, right in zip(parts, parts[1:], parts[2:], strict=False):
        if isinstance(part, Slot):
            yield part, (left if isinstance(left, str) else "", right if isinstance(right, str) else "")


def _is_unmet(recipe: Recipe, at: Path, stored: Json) -> bool:
    """Whether a stored value is a failed check, or a score below the minimum."""
    if at[:1] == (CHECKS,):
        return bool(recipe.checks) and stored == FAILED
    least = recipe.scores.at_least if recipe.scores is not None else None
    return at[:1] == (SCORES,) and least is not None and is_number(stored) and stored < least


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
    if old.__class__ is not new.__class__ or old != new:
        return False
    if isinstance(old, dict):
        return all(is_same(value, new[key]) for key, value in old.items())
    if isinstance(old, list | tuple):
        return all(map(is_same, old, new))
    if isinstance(old, Struct):
        return all(is_same(getattr(old, name), getattr(new, name)) for name in old.__struct_fields__)
    return True


def compare_values(old: Json, new: Json, path: Path) -> Iterator[Way]:
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


def _compare_checks(before: Recipe, after: Recipe) -> Iterator[Way]:
    then, now = ([canonical(check) for check in recipe.checks] for recipe in (before, after))
    added = [(number, check) for number, check in enumerate(after.checks) if now[number] not in then]
    for check in before.checks:
        if canonical(check) in now:
            continue
        name = next(iter(check), "")
        known = next((one for one in added if name in one[1]), None)
        if known is None:
            yield Way(CHECKS_AT, f"is no longer checked: {short(check)}")
        else:
            added.remove(known)
            for way in compare_values(check[name], known[1][name], (*CHECKS_AT, known[0], name)):
                yield Way(way.at[:-1], f"{name}: {way.message}", way.weakens)
    yield from (
        Way((*CHECKS_AT, number), f"is checked now: {short(check)}", False) for number, check in added
    )
    if before.scores is not None and after.scores is None:
        yield Way(SCORES_AT, "the text is no longer scored")
    elif before.scores is not None and after.scores is not None:
        for name in Scores.__struct_fields__:
            then, now = getattr(before.scores, name), getattr(after.scores, name)
            yield from compare_values(then, now, (*SCORES_AT, name))


def _compare_rules(before: Baseline, after: Baseline) -> Iterator[Way]:
    old, new = before.comparison, after.comparison
    if after.baseline is None or after.baseline.output is ABSENT or old == new:
        return
    was, mode = (
        base_mode(one.comparison, one.baseline.output if one.baseline else None, one.current.kind, [])
        for one in (before, after)
    )
    at: Path = ("comparison",)
    yield from _compare_types(was.type, mode.type, at)
    for name in FLAGS - (
        {"normalize_newlines"} if was.type != mode.type else set()
    ):  # its default goes with the type
        yield from _reworded(getattr(was, name), getattr(mode, name), (*at, "options", name))
    if was.type == mode.type == "semantic":
        yield from _reworded(was.min_similarity, mode.min_similarity, (*at, "min_similarity"))
        if was.method != mode.method:
            yield Way((*at, "method"), f"method: {was.method} -> {mode.method}", False)
    ignored = {
        "ignore_fields": old.ignore_fields,
        "ignore_values": (*old.ignore_fields, *_ignored_values(old)),
    }
    for kind, texts in (("ignore_fields", new.ignore_fields), ("ignore_values", _ignored_values(new))):
        for text in texts:
            if text not in ignored[kind]:
                yield Way((*at, kind), f"{kind}: {text} is new")
    for text in old.require_keys:
        if text not in new.require_keys:
            yield Way((*at, "require_keys"), f"{text} is no longer required")
    yield from _compare_tolerances(old, new)
    for path in {**new.arrays, **old.arrays}:
        then, now = old.arrays.get(path), new.arrays.get(path)
        was_removed = then == "ordered" and now is None  # without it, one element may describe every element
        if was_removed or (now is not None and now != then and _rank(now) >= max(_rank(then), 1)):
            message = f"arrays: {path}: {then or 'as they are'} -> {now or 'as they are'}"
            yield Way((*at, "arrays", path) if now is not None else (*at, "arrays"), message)
    yield from _compare_fields(old, new, was.type, mode.type)
    yield from _find_uncovered(old, new)
    for name in ("latency", "cost"):
        limits, limits_now = getattr(old, name), getattr(new, name)
        for field in limits.__struct_fields__ if limits is not None else ():
            then, now = getattr(limits, field), getattr(limits_now, field, None)
            if then is not None and (now is None or now > then):
                shown = "no limit" if now is None else now
                yield Way((*at, name), f"{name}: {field}: {then} -> {shown}")
    if old.max_age is not None and new.max_age != old.max_age:
        yield Way((*at, "max_age"), "max_age is another")


def _compare_types(old: str, new: str, at: Path, prefix: str = "") -> Iterator[Way]:
    if old != new and _TYPES[new] >= _TYPES[old]:
        yield Way((*at, "type"), f"{prefix}type: {old} -> {new}")


def _reworded(old: Json, new: Json, at: Path) -> Iterator[Way]:
    """Name a switch or a number that changed by its key."""
    for way in compare_values(old, new, at):
        is_switch = isinstance(new, bool)
        message = f"{at[-1]} is {str(new).lower()} now" if is_switch else f"{at[-1]}: {old:g} -> {new:g}"
        yield Way(at, message, way.weakens)


def _rank(mode: Json) -> int:
    return _ARRAYS["by"] if isinstance(mode, By) else _ARRAYS[mode or "ordered"]


def _compare_tolerances(old: Rules, new: Rules) -> Iterator[Way]:
    """A path without bounds of its own has those of `*`; other paths with a wildcard may hold for it too."""
    then, now = (
        {text: bounds for text, bounds in rules.tolerance.items() if isinstance(bounds, Tolerance)}
        for rules in (old, new)
    )
    for text in {**now, **then}:
        was, is_now = then.get(text, then.get("*")), now.get(text, now.get("*"))
        if text not in now and (
            wide := [one for name, one in now.items() if "*" in name and _is_wider(was, one)]
        ):
            is_now = wide[0]
        if was != is_now:
            at: Path = ("comparison", "tolerance", text) if text in now else ("comparison", "tolerance")
            message = f"tolerance of {text}: {_format_bounds(was)} -> {_format_bounds(is_now)}"
            if _is_wider(was, is_now):
                yield Way(at, message)


def _is_wider(old: Tolerance | None, new: Tolerance | None) -> bool:
    old, new = old or Tolerance(abs=0), new or Tolerance(abs=0)
    for name, sign in (("min_delta", -1), ("max_delta", 1)):
        then, now = _limit_towards(old, name, sign), _limit_towards(new, name, sign)
        if then is not None and (now is None or now > then):
            return True
    if new.rel is None:
        return old.rel is not None and (new.abs is None or _to_decimal(new.abs) > _to_decimal(old.abs))
    if old.rel is None:
        return old.abs is not None
    return _to_decimal(new.rel) > _to_decimal(old.rel) or _to_decimal(new.abs) > _to_decimal(old.abs)


def _limit_towards(tolerance: Tolerance, name: str, sign: int) -> Decimal | None:
    """How far a number may move in one direction, where that does not depend on its size."""
    limit = getattr(tolerance, name)
    bounds = [] if limit is None else [sign * _to_decimal(limit)]
    if tolerance.abs is not None and tolerance.rel is None:
        bounds.append(_to_decimal(tolerance.abs))
    return min(bounds) if bounds else None


def _to_decimal(number: float | None) -> Decimal:
    return Decimal(str(number or 0))


def _format_bounds(tolerance: Tolerance | None) -> str:
    if tolerance is None:
        return "none"
    bounds = ((name, getattr(tolerance, name)) for name in tolerance.__struct_fields__)
    return ", ".join(f"{name} {value}" for name, value in bounds if value is not None) or "any"


def _compare_fields(old: Rules, new: Rules, base_then: str, base_now: str) -> Iterator[Way]:
    for text in {**new.fields, **old.fields}:
        at: Path = ("comparison", "fields", text) if text in new.fields else ("comparison", "fields")
        was, now = _field_rule(old, text), _field_rule(new, text)
        then_type, now_type = was.type or base_then, now.type or base_now
        yield from _compare_types(then_type, now_type, at, f"fields: {text}: ")
        if now_type == "exact" or (now == FieldRule() and was.type is not None):
            continue
        bounds = [_bounds_of(rule) for rule in (was, now)]
        if _is_wider(*bounds):
            change = " -> ".join(map(_format_bounds, bounds))
            yield Way(at, f"fields: {text}: tolerance {change}")
        for name in ("options", "min_similarity"):
            for way in compare_values(getattr(was, name), getattr(now, name), (*at, name)):
                yield Way(at, f"fields: {text}: {name}: {way.message}", way.weakens)


def _bounds_of(rule: FieldRule) -> Tolerance | None:
    stated: dict[str, Any] = {name: rule.tolerance[name] for name in BOUNDS if name in rule.tolerance}
    return Tolerance(**stated) if stated else None


def _field_rule(rules: Rules, text: str) -> FieldRule:
    """The rule of a path, or one with a wildcard that may hold for it."""
    wild = (rule for name, rule in rules.fields.items() if "*" in name)
    return rules.fields.get(text) or next(wild, FieldRule())


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
        yield Way(("metadata", "skip"), f"skip: {new.skip}")
    weights = [_CRITICALITY.index(level) for level in (old.criticality, new.criticality)]
    if weights[1] < weights[0]:
        message = f"criticality: {old.criticality} -> {new.criticality or 'none'}"
        yield Way(("metadata", "criticality"), message)
    removed, added = sorted({*old.tags} - {*new.tags}), sorted({*new.tags} - {*old.tags})
    if removed or added:
        signed = [*(f"-{tag}" for tag in removed), *(f"+{tag}" for tag in added)]
        yield Way(("metadata", "tags"), f"tags select what is run: {' '.join(signed)}")


def short(value: Json) -> str:
    return mask_and_clip(compact(plain(value)), _MOST_CHARACTERS, no_mask, counted=False)
