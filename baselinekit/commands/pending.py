"""What is kept of a replay that failed, and which of its differences are expected by nature."""

from collections import Counter
from contextlib import suppress
from hashlib import blake2b

from baselinekit.commands.project import CaptureEnvironment, environment_of, observed_for
from baselinekit.errors import BaselinekitError
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.kinds.table import kind_of
from baselinekit.learning.lesson import since_capture
from baselinekit.learning.templating import with_declared_names, with_masked_parts
from baselinekit.model.baselines import SETTLED_BY_REFRESH, Baseline, Comparison, is_settled_by_refresh
from baselinekit.model.changes import KeptOutput
from baselinekit.model.recipes import Observation
from baselinekit.model.results import PARTLY_VOLATILE, VOLATILE
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import texts_in
from baselinekit.placeholders.nature import Nature, nature_of_change
from baselinekit.secrets.variables import Redactor
from baselinekit.values.equality import canonical
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun, list_first

# What is kept of a replay that failed: all that a refresh needs, and no secrets.


def kept_output_of(
    here: CaptureEnvironment, baseline: Baseline, comparison: Comparison, observation: Observation, now: str
) -> KeptOutput:
    """Return what a refresh would approve. An environment that cannot be detected is left out."""
    with suppress(BaselinekitError):
        here.environment()
    project, around = here.project, here.seen
    redactor = project.redactor.knowing(observation.output)
    stored = baseline.baseline
    hidden = redactor.mask_value(comparison.resolved)
    named = with_declared_names(comparison.resolved, hidden, project.words_of(baseline).scope)
    resolved, masked = without_secrets(named, stored.output if stored else None, redactor)
    unsettled = [  # what no other stored output would settle
        f"{difference.rule}: {difference.note or 'the limit is passed'}"
        for difference in comparison.differences
        if not is_settled_by_refresh(difference.rule)
    ]
    return KeptOutput(
        id=baseline.id,
        recipe_hash=recipe_hash(baseline.current),
        resolved=resolved,
        captured_at=now,
        environment=environment_of(project, baseline, observation, around),
        observed=observed_for(baseline.comparison, observation),
        compared_with=compared_with(baseline),
        masked=masked,
        flaw=observation.reason_not_to_store,
        troubles=tuple(
            trouble.message
            for trouble in kind_of(baseline.current).troubles(baseline.current, observation)
            if not trouble.visible
        ),
        unsettled=tuple(redactor.mask_value(unsettled)),
        settled=tuple(
            f"{difference.rule}: {difference.note}"
            for difference in comparison.differences
            if difference.rule in SETTLED_BY_REFRESH
        ),
        variant=baseline.variant,
        differing=tuple(
            (one.at, one.actual)
            for one in comparison.differences
            if one.kind in ("value", "type") and not isinstance(one.actual, dict | list)
            if redactor.mask_value(one.actual, one.at) == one.actual  # masked, it would be another value
        ),
    )


def compared_with(baseline: Baseline) -> str:
    """Return a short hash of the output and the rules of a baseline. The order of keys in an object does not
    matter."""
    output = baseline.baseline.output if baseline.baseline else None
    return short_hash(f"{canonical(output)}\n{baseline.comparison!r}")


def expected_hash(output: Json) -> str:
    """Return a short hash of a stored output alone, which a result file has beside the new one."""
    return short_hash(canonical(output))


def short_hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def without_secrets(resolved: Json, expected: Json, redactor: Redactor) -> tuple[Json, tuple[Path, ...]]:
    """Return the output without its secrets, and where they were. A text that is in the file anyway stays:
    its author wrote it, and a refresh must not report it as a change."""
    known_texts = frozenset(texts_in(expected))
    places: list[Path] = []

    def visible(value: Json, masked: Json, path: Path) -> Json:
        if isinstance(value, str) and value in known_texts:
            return value
        places.append(path)
        return masked

    return with_masked_parts(resolved, redactor.mask_value(resolved), visible), tuple(places)


# Differences that are expected by nature: another id, a later time, a counter that moved.


def natures_of(baseline: Baseline, comparison: Comparison, now: float) -> Counter[Nature]:
    """Count the differences of each nature; none at all if one of them is a change."""
    span = since_capture(baseline, now)
    writes = kind_of(baseline.current).writes(baseline.current)
    counts: Counter[Nature] = Counter()
    for difference in comparison.differences:
        nature: Nature | None = None
        if difference.kind == "value" and not isinstance(difference.actual, dict | list):
            sides = (difference.at, difference.expected, difference.actual)
            nature = nature_of_change(*sides, span, writes=writes)
        if nature is None or comparison.count > len(comparison.differences):
            return Counter()
        counts[nature] += 1
    return counts


def verdict_on_varying(
    baseline: Baseline, comparison: Comparison, now: float, kept: KeptOutput | None, was_accepted: bool
) -> tuple[str | None, str]:
    """Return the verdict on differences that are learnt, as accepting them would not help for long, and a
    note on them. `was_accepted`: whether the stored output was accepted since the last compare."""
    if natures := natures_of(baseline, comparison, now):
        counts = ", ".join(count_noun(number, nature) for nature, number in natures.items())
        return VOLATILE, f"all that differs varies by nature ({counts}): refresh --learn stores placeholders"
    if kept is None:
        note = "the answer accepted last has not come again: refresh --learn stores what varies"
        return (PARTLY_VOLATILE, note) if was_accepted else (None, "")
    earlier = dict(kept.differing) if kept.compared_with == compared_with(baseline) else {}
    outcomes = kind_of(baseline.current).outcomes(baseline.current)
    varying = [
        render(spot.at)
        for spot in comparison.differences
        if spot.at in earlier and spot.at not in outcomes and earlier[spot.at] != spot.actual
    ]
    if not varying:
        return None, ""
    note = f"{list_first(varying, 1)} differed in another way last time"
    return PARTLY_VOLATILE, f"{note}: refresh --learn stores placeholders for what varies"
