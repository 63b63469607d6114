"""What is kept of a replay that did not match, and what of it varies by nature."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b

from baselinekit.errors import BaselinekitError
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import (
    SETTLED_BY_REFRESH,
    Baseline,
    Comparison,
    Difference,
    settled_by_refresh,
)
from baselinekit.model.changes import Seen
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path, parse_time
from baselinekit.placeholders.grammar import texts_in
from baselinekit.placeholders.nature import Nature, SinceCapture, nature_of_change
from baselinekit.replaying.dispatch import recipe_hash
from baselinekit.texts import many
from baselinekit.tree.equality import canonical
from baselinekit.tree.paths import render
from baselinekit.tree.places import children
from baselinekit.variables import Redactor
from baselinekit.workflow.project import CaptureEnvironment, Project, environment_of, observed_for

# What is kept of a replay that did not match: all that a refresh needs, and no secret.


def seen_of(
    here: CaptureEnvironment, baseline: Baseline, comparison: Comparison, observation: Observation, now: str
) -> Seen:
    """What a refresh would approve. An environment that cannot be found out is left out."""
    around: dict[str, Json] = {}
    with suppress(BaselinekitError):
        here.environment()
        around = here.seen
    return seen_around(here.project, baseline, comparison, observation, now, around)


def seen_around(
    project: Project,
    baseline: Baseline,
    comparison: Comparison,
    observation: Observation,
    now: str,
    around: dict[str, Json],
) -> Seen:
    """The same, of who knows what was around it."""
    redactor = project.redactor.knowing(observation.output)
    known = baseline.baseline
    resolved, masked = without_secrets(comparison.resolved, known.output if known else None, redactor)
    return Seen(
        id=baseline.id,
        recipe_hash=recipe_hash(baseline.current),
        resolved=resolved,
        captured_at=now,
        environment=environment_of(project, baseline, observation, around),
        observed=observed_for(baseline.comparison, observation),
        compared_with=compared_with(baseline),
        masked=masked,
        flaw=observation.flaw,
        troubles=tuple(
            one.message
            for one in kind_of(baseline.current).troubles(baseline.current, observation)
            if not one.visible
        ),
        unsettled=tuple(redactor.mask_value(list(_unsettled(comparison.differences)))),
        settled=tuple(f"{d.rule}: {d.note}" for d in comparison.differences if d.rule in SETTLED_BY_REFRESH),
        variant=baseline.variant,
        differing=tuple(_differing_leaves(comparison.differences, redactor)),
    )


def compared_with(baseline: Baseline) -> str:
    """A short name for the output and the rules of a baseline: of any others it is another one. In which
    order the keys of an object stand does not matter."""
    output = baseline.baseline.output if baseline.baseline else None
    text = f"{canonical(output)}\n{baseline.comparison!r}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _unsettled(differences: tuple[Difference, ...]) -> Iterator[str]:
    """What no other output on file would make right."""
    for difference in differences:
        if settled_by_refresh(rule := difference.rule or ""):
            continue
        if rule.startswith("require_keys"):
            yield f"{render(difference.path)} is not there, but {rule} requires it"
        else:
            yield f"{rule}: {difference.note or 'the limit is passed'}"


def _differing_leaves(differences: tuple[Difference, ...], redactor: Redactor) -> Iterator[tuple[Path, Json]]:
    """For whoever learns of this answer later. A value with a secret in it is left out: masked, it would be
    another one."""
    for one in differences:
        is_leaf = one.kind in ("value", "type") and not isinstance(one.actual, dict | list)
        if is_leaf and redactor.mask_value(one.actual, one.at) == one.actual:
            yield one.at, one.actual


def without_secrets(resolved: Json, expected: Json, redactor: Redactor) -> tuple[Json, tuple[Path, ...]]:
    """What came back without its secrets, and where they were. A text that is in the file anyway stays: it is
    its author's, and a refresh must not take it for a change."""
    masked = redactor.mask_value(resolved)
    if masked is resolved:
        return resolved, ()
    known = frozenset(texts_in(expected))
    return _restored(resolved, masked, known), tuple(_differing(resolved, masked, known, ()))


def _restored(value: Json, masked: Json, known: frozenset[str]) -> Json:
    if value is masked or (isinstance(value, str) and value in known):
        return value
    if isinstance(value, list):
        return [_restored(one, other, known) for one, other in zip(value, masked, strict=True)]
    if isinstance(value, dict) and len(value) == len(masked):
        pairs = zip(value.items(), masked.items(), strict=True)
        return {name: _restored(one, other, known) for (_, one), (name, other) in pairs}
    return masked


def _differing(value: Json, masked: Json, known: frozenset[str], path: Path) -> Iterator[Path]:
    if value is masked or (isinstance(value, str) and value in known):
        return
    if isinstance(value, dict) and value.keys() != masked.keys():
        yield path
    elif isinstance(value, dict | list):
        for (key, one), (_, other) in zip(children(value), children(masked), strict=True):
            yield from _differing(one, other, known, (*path, key))
    else:
        yield path


# What of a failed comparison varies by nature: an id for an id, a moment for a later one, a counter.


def span_of(baseline: Baseline, now: float) -> SinceCapture:
    """The time since a baseline was captured."""
    captured = parse_time(baseline.baseline.captured_at) if baseline.baseline else None
    return SinceCapture(captured.timestamp() if captured else None, now)


def natures_of(comparison: Comparison, span: SinceCapture, stored: Json) -> Counter[Nature]:
    """How many differences there are of each nature; none at all if one of them is a change."""
    found: Counter[Nature] = Counter()
    for one in comparison.differences:
        is_value = one.kind == "value" and not isinstance(one.actual, dict | list)
        nature = nature_of_change(one.at, one.expected, one.actual, span, stored) if is_value else None
        if nature is None or comparison.count > len(comparison.differences):
            return Counter()
        found[nature] += 1
    return found


def note_of_natures(baseline: Baseline, comparison: Comparison, now: float) -> str:
    """What is said where nothing else differs; empty where something does."""
    stored = baseline.baseline.output if baseline.baseline else None
    natures = natures_of(comparison, span_of(baseline, now), stored)
    counted = ", ".join(many(number, nature) for nature, number in natures.items())
    return (
        f"all that differs varies by nature ({counted}): refresh --learn stores placeholders"
        if natures
        else ""
    )
