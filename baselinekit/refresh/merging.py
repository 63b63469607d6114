"""The output with some of the changes in it: those that were accepted, and nothing of the others."""

from collections.abc import Container, Sequence
from dataclasses import replace

from baselinekit.model.changes import Branch, Change, Kept, Leaf, Part, Plan
from baselinekit.model.values import ABSENT, Json
from baselinekit.refresh.changes import finished
from baselinekit.responses import outcome_places


def merged(shape: Part, changes: Sequence[Change], accepted: Container[int]) -> Json:
    """The old output with the accepted changes. With none it is the old one, with all the new one."""
    if isinstance(shape, Kept):
        return shape.value
    if isinstance(shape, Leaf):
        change = changes[shape.number]
        return change.after if shape.number in accepted else change.before
    values = [merged(part, changes, accepted) for part in shape.parts]
    positions = [n for n in _arranged(shape, accepted) if values[n] is not ABSENT]
    if shape.names is None:
        return [values[n] for n in positions]
    return {shape.names[n]: values[n] for n in positions}


def _arranged(branch: Branch, accepted: Container[int]) -> list[int]:
    """The parts of a branch in the order in which they are to stand. What one of the two orders does not know
    comes after what it follows in the other."""
    takes_new = branch.order is None or branch.order in accepted
    first, second = (branch.after, branch.before) if takes_new else (branch.before, branch.after)
    placed, known = list(first), set(first)
    previous: int | None = None
    for n in second:
        if n not in known:
            placed.insert(0 if previous is None else placed.index(previous) + 1, n)
        previous = n
    return placed


def with_after(plan: Plan, number: int, after: Json) -> Plan:
    """The plan with something else in the place of one change: a placeholder, say, that its reader chose.
    What was in the way of the change itself is so no longer."""
    change = plan.changes[number]
    changed = finished(replace(change, after=after, blocked=None), outcome_places(plan.baseline.current))
    if plan.troubles:
        changed = replace(changed, risk="high")
    return replace(plan, changes=tuple(changed if one is change else one for one in plan.changes))
