"""Finds what a change to a baseline lets pass that failed before: wider rules, a weaker type, another
expected output, another request, or none at all. A change that only asks for more is not reported."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from baselinekit.commands.loosened import Loosened, OutputPlace, Sides, loosened, short
from baselinekit.graders.checks import CheckRequirements
from baselinekit.kinds.kind import CHECKS, EXECUTION, FAILED, PASSED, SCORES
from baselinekit.matching.dispatch import base_mode, form_of, path_rules
from baselinekit.matching.rules import Mode, Rule, automaton_of, field_mode
from baselinekit.model.baselines import Baseline, By, Metadata, Rules, Tolerance, known_path
from baselinekit.model.recipes import Recipe, Scores
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import texts_in
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.structs import Struct, asdict, replace
from baselinekit.values.equality import canonical, is_number
from baselinekit.values.paths import Pattern, covers, meets, overlap

_TYPES = {"exact": 0, "structural": 1, "numeric": 2, "semantic": 2}
_TEMPLATED = ("structural", "semantic")
_ARRAYS = {"ordered": 0, "by": 1, "unordered": 2, "subset": 3, "each": 3}
_CRITICALITY = ("low", "medium", "high", "critical")
_SWITCHES = {
    "allow_additional_fields": True,
    "allow_missing_fields": True,
    "allow_field_reordering": True,
    "allow_empty_arrays": True,
    "case_sensitive": False,
    "trim_whitespace": True,
    "normalize_newlines": True,
}
"""Each switch with the value that lets more pass."""


def weakened(
    before: Baseline, after: Baseline, words_before: PlaceholderContext, words: PlaceholderContext
) -> list[Loosened]:
    """All the ways in which the baseline lets more pass, in the order of the file."""
    return [
        *_compare_outputs(before, after, words_before, words),
        *compare_recipes(before.current, after.current, ("current",)),
        *(regraded(before, after) if before.current.kind == after.current.kind else ()),
        *_compare_rules(before, after),
        *_compare_limits(before.comparison, after.comparison),
        *compare_metadata(before.metadata, after.metadata),
    ]


def _compare_outputs(
    before: Baseline, after: Baseline, words_before: PlaceholderContext, words: PlaceholderContext
) -> Iterator[Loosened]:
    old, new = before.baseline, after.baseline
    if old is None or old.output is ABSENT:
        return
    if new is None or new.output is ABSENT:
        yield Loosened(("baseline",), "no longer has a stored output: nothing is compared")
        return
    old_mode, rules = read_rules(before, before)
    mode = base_mode(after.comparison, new.output, after.current.kind, [])
    field_rules = before.comparison.fields.values()
    reordering = [rule.tolerance.get("allow_field_reordering") for rule in field_rules]
    now = automaton_of(read_rules(after, after)[1]).start
    start = OutputPlace((), automaton_of(rules).start, now)
    sides = Sides(
        words_before,
        words,
        form_of(before.current),
        mode.allow_additional_fields,
        _is_whole(after.comparison, mode),
        literal_types(after.comparison, mode),
        order_counted=not old_mode.allow_field_reordering or False in reordering,
        templates=(old_mode.type in _TEMPLATED, mode.type in _TEMPLATED),
        typed="exact" in (before.comparison.type, *(rule.type for rule in field_rules)),
    )

    def compared(stored: Json, answer: Json, variant: int | None) -> Iterator[Loosened]:
        for change in loosened(stored, answer, start, sides):
            at: Path = (*known_path(variant), "output", *change.at)
            falls = is_unmet(after.current, change.at, answer) and not is_unmet(
                before.current, change.at, stored
            )
            yield replace(change, at=at, honest=change.honest and not falls)

    yield from compared(old.output, new.output, None)
    for name in ("seconds", "cost_usd"):  # rules may allow a multiple of these
        old_value, new_value = (getattr(known.observed, name, None) for known in (old, new))
        if old_value is not None and (new_value is None or new_value > old_value):
            message = f"{name}: {old_value} -> {'nothing' if new_value is None else new_value}"
            yield Loosened(("baseline", "observed"), message, honest=new_value is not None)
    old_variants = {repr(sorted(variant.when.items())): variant for variant in old.variants}
    for number, variant in enumerate(new.variants):
        stored = old_variants.pop(repr(sorted(variant.when.items())), None)
        if stored is None:
            yield Loosened(known_path(number), "a new variant: another output is right in some places")
        else:
            yield from compared(stored.output, variant.output, number)
    if old_variants:
        yield Loosened(
            ("baseline", "variants"), "a variant was removed: another output is right in some places"
        )


def _is_whole(rules: Rules, mode: Mode) -> bool:
    """Whether the whole output is compared: some types compare only its numbers, or the meaning of its
    texts."""
    types = (mode.type, *(rule.type for rule in rules.fields.values() if rule.type is not None))
    return all(type in ("exact", "structural") for type in types)


def literal_types(rules: Rules, mode: Mode) -> frozenset[str] | None:
    """The types whose stored values match only themselves; None where a value may match another type."""
    if mode.type not in ("exact", "structural") or rules.fields:
        return None
    types = {"boolean", "null"}
    if mode.case_sensitive and not mode.trim_whitespace:
        types.add("string")
    if not any(isinstance(bound, Tolerance) for bound in rules.tolerance.values()):
        types.add("number")
    return frozenset(types)


def compare_recipes(old: Json, new: Json, path: Path) -> Iterator[Loosened]:
    """Where two parts of a recipe differ, down to the fields of its structs."""
    if is_same(old, new):
        return
    if isinstance(old, Struct) and old.__class__ is new.__class__:
        for name in old.__struct_fields__:
            at: Path = (*path, name)
            if at not in (CHECKS_AT, SCORES_AT):
                yield from compare_recipes(getattr(old, name), getattr(new, name), at)
    else:
        yield Loosened(path, "another request is sent")


def is_same(old: Any, new: Any) -> bool:
    """Whether two values are equal down to the types: true is not 1, and 5.0 is sent differently from 5."""
    if old.__class__ is not new.__class__ or old != new:
        return False
    if isinstance(old, dict):
        return all(is_same(value, new[key]) for key, value in old.items())
    if isinstance(old, list | tuple):
        return all(map(is_same, old, new))
    if isinstance(old, Struct):
        return is_same(asdict(old), asdict(new))
    return True


def _compare_rules(before: Baseline, after: Baseline) -> Iterator[Loosened]:
    if after.baseline is None or after.baseline.output is ABSENT:
        return
    (old_mode, old), (new_mode, new) = read_rules(before, before), read_rules(after, after)
    old += read_rules(before, after)[
        1
    ]  # where a path starts is decided on the output, which may be another now
    breaks = any("\n" in text for text in texts_in(after.baseline.output))
    yield from _compare_modes(old_mode, new_mode, ("comparison",), breaks)
    yield from _find_newly_ignored(old, new)
    yield from _find_uncovered(old, new)
    required = set(after.comparison.require_keys)
    for text in before.comparison.require_keys:
        if text not in required:
            yield Loosened(("comparison", "require_keys"), f"{text} is no longer required")
    yield from _compare_tolerances(old, new)
    was_arrays, now_arrays = before.comparison.arrays, after.comparison.arrays
    for path in {**now_arrays, **was_arrays}:
        was, now = was_arrays.get(path), now_arrays.get(path)
        was_removed = was == "ordered" and now is None  # without it, one element may describe every element
        if was_removed or (now is not None and now != was and _rank(now) >= max(_rank(was), 1)):
            at: Path = ("comparison", "arrays", path) if now is not None else ("comparison", "arrays")
            yield Loosened(at, f"arrays: {path}: {was or 'as they are'} -> {now or 'as they are'}")
    yield from _compare_fields((old_mode, old), (new_mode, new), breaks)


def read_rules(baseline: Baseline, stored: Baseline) -> tuple[Mode, list[Rule]]:
    """The mode at the root and the path rules, for the output of `stored`. Problems are reported
    elsewhere."""
    output = stored.baseline.output if stored.baseline else None
    form = form_of(baseline.current)
    mode = base_mode(baseline.comparison, output, baseline.current.kind, [])
    return mode, path_rules(baseline.comparison, output, form, [])[0]


def _compare_modes(old: Mode, new: Mode, at: Path, breaks: bool) -> Iterator[Loosened]:
    """Compare two modes. `breaks`: a stored text has a line break, which may now match other line breaks."""
    if old.type != new.type and _TYPES[new.type] >= _TYPES[old.type]:
        yield Loosened((*at, "type"), f"type: {old.type} -> {new.type}")
    for name, loose in _SWITCHES.items():
        # its default goes with the type
        follows = name == "normalize_newlines" and old.type != new.type and not breaks
        if getattr(old, name) != getattr(new, name) == loose and not follows:
            yield Loosened((*at, "options", name), f"{name} is {str(loose).lower()} now")
    if old.type == new.type == "semantic":
        if new.min_similarity < old.min_similarity:
            message = f"min_similarity: {old.min_similarity:g} -> {new.min_similarity:g}"
            yield Loosened((*at, "min_similarity"), message)
        if new.method != old.method:
            yield Loosened((*at, "method"), f"method: {old.method} -> {new.method}")


def _find_newly_ignored(old: list[Rule], new: list[Rule]) -> Iterator[Loosened]:
    kinds = ("ignore_fields", "ignore_values")
    old_ignoring = [rule for rule in old if rule.kind in kinds]
    reported = set()
    for rule in (rule for rule in new if rule.kind in kinds):
        covered = any(
            known.kind in (rule.kind, "ignore_fields") and covers(known.pattern, rule.pattern)
            for known in old_ignoring
        )
        if not covered and rule.at not in reported:
            reported.add(rule.at)
            yield Loosened(rule.at, f"{rule.kind}: {rule.text} is new")


def _find_uncovered(old: list[Rule], new: list[Rule]) -> Iterator[Loosened]:
    """Find what is ignored now but was compared. A comparing rule wins against an ignore rule that is less
    exact; the ignore rule wins once the comparing rule is gone, or a more exact ignore rule is there."""
    ignoring = [rule for rule in old if rule.ignores]
    still = {(rule.kind, rule.text) for rule in new if not rule.ignores}
    reported = set()
    for rule in (rule for rule in new if rule.ignores and rule.at not in reported):
        for comparing in (
            comparing for comparing in old if not comparing.ignores and meets(rule.pattern, comparing.pattern)
        ):
            specificity = comparing.pattern.specificity
            wins = (comparing.kind, comparing.text) in still and specificity > rule.pattern.specificity
            covering = [ignored for ignored in ignoring if covers(ignored.pattern, rule.pattern)]
            if (
                covering
                and not wins
                and all(specificity > ignored.pattern.specificity for ignored in covering)
            ):
                reported.add(rule.at)
                yield Loosened(
                    rule.at,
                    f"{rule.kind}: {rule.text} now applies where {comparing.kind}: {comparing.text} did",
                )
                break


def _compare_tolerances(old: list[Rule], new: list[Rule]) -> Iterator[Loosened]:
    """Compare what each path with a tolerance, before or now, allowed and allows."""
    old, new = ([rule for rule in rules if rule.kind == "tolerance"] for rules in (old, new))
    reported = set()
    for rule in [*new, *old]:
        if rule.text in reported:
            continue
        reported.add(rule.text)
        was, now = _find_tolerances(old, rule.pattern), _find_tolerances(new, rule.pattern)
        if any(all(_is_wider(before, after) for after in now) for before in was):
            change = " -> ".join(" and ".join(map(_format_bounds, bounds)) for bounds in (was, now))
            yield Loosened(rule.at, f"tolerance of {rule.text}: {change}")
    yield from find_wider_crossing(old, new)


def _find_tolerances(rules: list[Rule], pattern: Pattern) -> list[Tolerance | None]:
    """The tolerances at a path: those of the most exact rules that cover it. All of them hold."""
    covering = [rule for rule in rules if covers(rule.pattern, pattern)]
    highest = max((rule.pattern.specificity for rule in covering), default=None)
    best = [rule.tolerance for rule in covering if rule.pattern.specificity == highest]
    return [bounds for n, bounds in enumerate(best) if bounds not in best[:n]] or [None]


def find_wider_crossing(old: list[Rule], new: list[Rule]) -> Iterator[Loosened]:
    """Find where two paths share some places and neither covers the other, and a narrower tolerance gave way
    to a wider one."""
    reported = set()
    for rule, wide in ((rule, wide) for rule in old for wide in new):
        if covers(rule.pattern, wide.pattern) or covers(wide.pattern, rule.pattern):
            continue
        if not _is_wider(rule.tolerance, wide.tolerance) or not overlap(rule.pattern, wide.pattern):
            continue
        specificity, specificity_now = rule.pattern.specificity, wide.pattern.specificity
        if (specificity_now > specificity and is_kept_in(old, wide)) or (
            specificity >= specificity_now and is_kept_in(new, rule)
        ):
            continue
        if wide.at not in reported:
            reported.add(wide.at)
            message = f"tolerance of {wide.text}: {_format_bounds(wide.tolerance)} where {rule.text} had"
            yield Loosened(wide.at, f"{message} {_format_bounds(rule.tolerance)}")


def is_kept_in(rules: list[Rule], rule: Rule) -> bool:
    """Whether these rules have a tolerance for the same path that is no wider."""
    here = rule.pattern.segments, rule.pattern.last
    same = (candidate for candidate in rules if (candidate.pattern.segments, candidate.pattern.last) == here)
    return any(not _is_wider(rule.tolerance, known.tolerance) for known in same)


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
    """How far a number may move in one direction, as far as the tolerance states that independently of its
    size."""
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
    bounds = asdict(tolerance).items()
    return ", ".join(f"{name} {value}" for name, value in bounds if value is not None) or "any"


def _rank(mode: Json) -> int:
    return _ARRAYS["by"] if isinstance(mode, By) else _ARRAYS[mode or "ordered"]


def _compare_fields(
    old: tuple[Mode, list[Rule]], new: tuple[Mode, list[Rule]], breaks: bool
) -> Iterator[Loosened]:
    then, now = ({rule.text: rule for rule in rules if rule.kind == "fields"} for _, rules in (old, new))
    for text, rule in {**now, **then}.items():
        before, after = field_at(then, rule), field_at(now, rule)
        if before and after and before.fields == after.fields:
            continue
        was, mode = mode_at(old[0], before), mode_at(new[0], after)
        at: Path = ("comparison", "fields", text) if after else ("comparison", "fields")
        for change in _compare_modes(was, mode, at, breaks):
            yield Loosened(at, f"fields: {text}: {change.message}")
        if _is_wider(was.tolerance, mode.tolerance) and mode.type != "semantic":
            then_bounds, now_bounds = _format_bounds(was.tolerance), _format_bounds(mode.tolerance)
            yield Loosened(at, f"fields: {text}: tolerance {then_bounds} -> {now_bounds}")


def field_at(rules: dict[str, Rule], rule: Rule) -> Rule | None:
    """The rule with the same path, or else the most exact rule that covers it."""
    covering = [candidate for candidate in rules.values() if covers(candidate.pattern, rule.pattern)]
    return rules.get(rule.text) or max(
        covering, key=lambda candidate: candidate.pattern.specificity, default=None
    )


def mode_at(outer: Mode, rule: Rule | None) -> Mode:
    return field_mode(rule.fields, rule, outer) if rule and rule.fields else outer


def _compare_limits(old: Rules, new: Rules) -> Iterator[Loosened]:
    for name in ("latency", "cost"):
        was, now = getattr(old, name), getattr(new, name)
        for field, then in asdict(was).items() if was is not None else ():
            limit = getattr(now, field, None)
            if then is not None and (limit is None or limit > then):
                new_limit = "no limit" if limit is None else limit
                yield Loosened(("comparison", name), f"{name}: {field}: {then} -> {new_limit}")
    if old.max_age is not None and new.max_age != old.max_age:
        yield Loosened(("comparison", "max_age"), "max_age is another")


def compare_metadata(old: Metadata, new: Metadata) -> Iterator[Loosened]:
    if new.skip is not None and old.skip is None:
        yield Loosened(("metadata", "skip"), f"skip: {new.skip}")
    weights = [
        _CRITICALITY.index(level) if level in _CRITICALITY else -1
        for level in (old.criticality, new.criticality)
    ]
    if weights[1] < weights[0]:
        message = f"criticality: {old.criticality} -> {new.criticality or 'none'}"
        yield Loosened(("metadata", "criticality"), message)
    removed, added = sorted({*old.tags} - {*new.tags}), sorted({*new.tags} - {*old.tags})
    if removed or added:
        signed = [*(f"-{tag}" for tag in removed), *(f"+{tag}" for tag in added)]
        yield Loosened(("metadata", "tags"), f"tags select what is run: {' '.join(signed)}")


CHECKS_AT, SCORES_AT = (*EXECUTION, CHECKS), (*EXECUTION, "scores")

_LISTS = {"contains_all": "-", "contains_any": "+"}
"""Checks with a list of texts: whether a removed text (-) or an added text (+) asks for less."""


def regraded(before: Baseline, after: Baseline) -> Iterator[Loosened]:
    """Compare the checks and scores of two recipes of one kind."""
    yield from _compare_checks(before, after)
    yield from _compare_scores(before.current.scores, after.current.scores)


def _compare_checks(before: Baseline, after: Baseline) -> Iterator[Loosened]:
    old, new = before.current.checks, after.current.checks
    if canonical(old) == canonical(new):
        return
    asked_for, old_checks = CheckRequirements(new), set(map(canonical, old))
    removed = [check for check in old if not asked_for.includes(check)]
    altered = [number for number, check in enumerate(new) if canonical(check) not in old_checks]
    for check in removed:
        name = next(iter(check), "")
        number = next((number for number in altered if name in new[number]), None)
        if number is None:
            yield Loosened(CHECKS_AT, f"is no longer checked: {short(check)}")
        else:
            altered.remove(number)
            message = f"{name}: {_describe_difference(name, check[name], new[number][name])}"
            yield Loosened((*CHECKS_AT, number), message)
    if old and not removed and not _all_passed(before):
        yield Loosened(CHECKS_AT, "other checks, and an answer is expected that fails one of them")


def _describe_difference(name: str, old: Json, new: Json) -> str:
    if name in _LISTS and isinstance(old, list) and isinstance(new, list):
        (shorter, longer), sign = ((old, new) if _LISTS[name] == "+" else (new, old)), _LISTS[name]
        signed = [f"{sign}{short(text)}" for text in longer if text not in shorter]
        if signed:
            return " ".join(signed)
    then, now = short(old), short(new)
    return f"{then} -> {now}" if then != now else f"another one: {now}"


def _all_passed(baseline: Baseline) -> bool:
    """Whether every check is expected to pass: where one is expected to fail, a stricter check lets more
    pass."""
    known = baseline.baseline
    outputs = [known.output, *(variant.output for variant in known.variants)] if known is not None else []
    graded = (output.get(CHECKS) for output in outputs if isinstance(output, dict))
    return all(
        result == PASSED for checks in graded if isinstance(checks, dict) for result in checks.values()
    )


def _compare_scores(old: Scores | None, new: Scores | None) -> Iterator[Loosened]:
    if old is None or old == new:
        return
    if new is None:
        yield Loosened(SCORES_AT, "the text is no longer scored")
        return
    for field, then in asdict(old).items():
        at: Path = (*SCORES_AT, field)
        now = getattr(new, field)
        if field == "at_least":
            if then is not None and (now is None or now < then):
                yield Loosened(at, f"{then:g} -> {'nothing' if now is None else f'{now:g}'}")
        elif isinstance(then, dict) and isinstance(now, dict):
            yield from _compare_criteria(then, now, at)
        elif then != now:
            yield Loosened(at, f"scored otherwise: {short(then)} -> {short(now)}")


def _compare_criteria(old: Mapping[str, str], new: Mapping[str, str], at: Path) -> Iterator[Loosened]:
    """Compare criteria. A judge reads all of them at once, so a new one may change its scores for the
    others."""
    for name in {**old, **new}:
        if name not in new:
            yield Loosened(at, f"is no longer scored: {name}")
        elif name not in old:
            yield Loosened((*at, name), f"is scored now: {short(new[name])}")
        elif old[name] != new[name]:
            yield Loosened((*at, name), f"scored otherwise: {short(old[name])} -> {short(new[name])}")


def is_unmet(recipe: Recipe, at: Sequence[str | int], stored: Json) -> bool:
    """Whether the stored value at a path of an output is a failed check, or a score below the minimum."""
    value: Json = stored
    for key in at:
        value = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
    if at[:1] == (CHECKS,):
        return bool(recipe.checks) and value == FAILED
    least = recipe.scores.at_least if recipe.scores is not None else None
    return at[:1] == (SCORES,) and least is not None and is_number(value) and value < least
