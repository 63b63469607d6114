"""What a record must hold beyond its types: names, addresses, times, and what excludes what."""

import re
from collections.abc import Iterator

from baselinekit.errors import Problem, nearest
from baselinekit.model.baselines import (
    BOUNDS,
    FLAGS,
    Age,
    Known,
    Metadata,
    Rules,
    Tolerance,
    Variant,
    method_problems,
)
from baselinekit.model.values import ABSENT, Path, parse_time
from baselinekit.placeholders.grammar import seconds

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_id(text: str, at: Path = ("id",)) -> Iterator[Problem]:
    if not ID.fullmatch(text):
        what = f"{text!r} is not a valid id"
        hint = "letters, digits, `.`, `_` and `-`, the first a letter or a digit, at most 128"
        yield Problem("BK108", what, hint, at=at)


def check_known(known: Known | None) -> Iterator[Problem]:
    if known is None:
        return
    if known.output is ABSENT and known.output_file is None and not known.variants:
        what = "`baseline` has no output"
        yield Problem(
            "BK104", what, "add `output`, or capture it: baselinekit capture from", at=("baseline",)
        )
    if known.output is not ABSENT and known.output_file is not None:
        what = "both `output` and `output_file` are given"
        yield Problem("BK108", what, "keep one of them", at=("baseline", "output_file"))
    if known.captured_at is not None:
        yield from check_time(known.captured_at, ("baseline", "captured_at"))
    for number, variant in enumerate(known.variants):
        yield from check_variant(variant, ("baseline", "variants", number))


def check_variant(variant: Variant, at: Path) -> Iterator[Problem]:
    if (variant.output is ABSENT) == (variant.output_file is None):
        hint = "add `output`" if variant.output is ABSENT else "keep one of `output` and `output_file`"
        yield Problem("BK108", "a variant has one output", hint, at=at)
    if not variant.when:
        what = "a variant that applies everywhere is the output itself"
        yield Problem("BK108", what, "say where it applies: when: {environment: staging}", at=(*at, "when"))
    if variant.captured_at is not None:
        yield from check_time(variant.captured_at, (*at, "captured_at"))


def check_metadata(metadata: Metadata) -> Iterator[Problem]:
    if metadata.last_passed is not None:
        yield from check_time(metadata.last_passed, ("metadata", "last_passed"))
    if metadata.failure_count < 0:
        what = f"failure_count is {metadata.failure_count}, but it counts failures"
        yield Problem("BK108", what, "0 or more", at=("metadata", "failure_count"))


def check_rules(rules: Rules) -> Iterator[Problem]:
    at: Path = ("comparison",)
    for name, bound in rules.tolerance.items():
        if isinstance(bound, bool):
            yield from check_flag(name, (*at, "tolerance", name))
    if rules.type == "semantic" or rules.fields:
        yield from method_problems(rules)
    yield from check_similarity(rules.min_similarity, (*at, "min_similarity"))
    age = rules.max_age
    limits = {"warn": age.warn, "fail": age.fail} if isinstance(age, Age) else {"": age}
    for name, limit in limits.items():
        if limit is not None and seconds(limit) is None:
            place = (*at, "max_age", name) if name else (*at, "max_age")
            yield Problem("BK108", f"{limit!r} is not a length of time", "such as 90d, 12h or 2.5d", at=place)
    for path, rule in rules.fields.items():
        here = (*at, "fields", path)
        yield from check_similarity(rule.min_similarity, (*here, "min_similarity"))
        for name, value in rule.tolerance.items():
            if isinstance(value, bool):
                yield from check_flag(name, (*here, "tolerance", name))
            elif not isinstance(value, Tolerance) and name not in BOUNDS:
                hint = nearest(name, BOUNDS) or f"one of {', '.join(BOUNDS)}"
                yield Problem("BK108", f"{name!r} is not a bound", hint, at=(*here, "tolerance", name))


def check_lists(rules: Rules) -> Iterator[Problem]:
    """Two lists may stand in the comparison or in its options, and not in both."""
    for name in ("ignore_values", "require_keys"):
        if getattr(rules, name) and rules.options and getattr(rules.options, name):
            what = f"`{name}` is given here and under `options`"
            yield Problem("BK108", what, "keep one of the two lists", at=("comparison", name))


def check_flag(name: str, at: Path) -> Iterator[Problem]:
    if name not in FLAGS:
        what = f"{name!r} is not an option, and a path takes a mapping"
        hint = nearest(name, FLAGS) or f"{name}: {{min_delta: …, max_delta: …}}"
        yield Problem("BK103", what, hint, at=at)


def check_similarity(value: "int | float | None", at: Path) -> Iterator[Problem]:
    if value is not None and not 0 <= value <= 1:
        yield Problem("BK108", f"min_similarity is {value}", "between 0 and 1", at=at)


def check_time(text: str, at: Path) -> Iterator[Problem]:
    if parse_time(text) is None:
        what = f"{text!r} is not an ISO 8601 time"
        yield Problem("BK108", what, "such as 2024-01-20T14:00:00Z", at=at)
