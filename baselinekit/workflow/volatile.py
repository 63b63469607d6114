"""What of a failed comparison varies by nature: an id for an id, a moment for a later one, a counter."""

from collections import Counter

from baselinekit.model.baselines import Baseline, Comparison
from baselinekit.model.values import parse_time
from baselinekit.placeholders.nature import Nature, SinceCapture, nature_of_change
from baselinekit.texts import many


def span_of(baseline: Baseline, now: float) -> SinceCapture:
    """The time since a baseline was captured."""
    captured = parse_time(baseline.baseline.captured_at) if baseline.baseline else None
    return SinceCapture(captured.timestamp() if captured else None, now)


def natures_of(comparison: Comparison, span: SinceCapture) -> Counter[Nature]:
    """How many differences there are of each nature; none at all if one of them is a change."""
    found: Counter[Nature] = Counter()
    for one in comparison.differences:
        is_value = one.kind == "value" and not isinstance(one.actual, dict | list)
        nature = nature_of_change(one.path, one.expected, one.actual, span) if is_value else None
        if nature is None or comparison.count > len(comparison.differences):
            return Counter()
        found[nature] += 1
    return found


def note_of_natures(baseline: Baseline, comparison: Comparison, now: float) -> str:
    """What is said where nothing else differs; empty where something does."""
    natures = natures_of(comparison, span_of(baseline, now))
    counted = ", ".join(many(number, nature) for nature, number in natures.items())
    return (
        f"all that differs varies by nature ({counted}): refresh --learn stores placeholders"
        if natures
        else ""
    )
