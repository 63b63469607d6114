"""What was decided in a review, and what follows from it for each baseline: what is written, what is ignored
from now on, and what stays open."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from baselinekit.model.changes import Approval, Plan, Seen
from baselinekit.model.review import Decision, Member
from baselinekit.model.values import Json, Path
from baselinekit.paths import children
from baselinekit.refresh.merging import merged, with_after
from baselinekit.variables import MASK

_SETTLING = ("accept", "placeholder")


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of one plan. `rest`: what stays kept of what was seen, None if nothing is left open."""

    approval: Approval
    rest: Seen | None

    @property
    def writes(self) -> bool:
        return bool(self.approval.accepted or self.approval.ignored)


def settled(plans: Sequence[Plan], decisions: Mapping[Member, Decision]) -> list[Settled]:
    """Of each plan in which anything was decided, skips aside, what follows."""
    of_plan: dict[int, dict[int, Decision]] = {}
    for (n, number), decision in decisions.items():
        if decision.verb != "skip":
            of_plan.setdefault(n, {})[number] = decision
    return [_settled(plans[n], few) for n, few in sorted(of_plan.items())]


def _settled(plan: Plan, decided: Mapping[int, Decision]) -> Settled:
    for number, decision in decided.items():
        if decision.verb == "placeholder":
            plan = with_after(plan, number, decision.text)
    accepted = frozenset(n for n, decision in decided.items() if decision.verb in _SETTLING)
    covered = frozenset(n for n, decision in decided.items() if decision.verb == "ignore")
    ignored = tuple(dict.fromkeys(decided[n].text for n in sorted(covered)))
    approval = Approval(plan, accepted, ignored, covered)
    left = len(decided) < len(plan.changes)
    return Settled(approval, _rest(plan, decided, accepted) if left else None)


def _rest(plan: Plan, decided: Mapping[int, Decision], accepted: frozenset[int]) -> Seen:
    """What was seen, without what nobody is to be asked again."""
    open_ones = [change for change in plan.changes if change.number not in decided]
    output = merged(plan.shape, plan.changes, accepted | {change.number for change in open_ones})
    noted = {change.note for change in open_ones if change.part == "observed"}
    return replace(
        plan.seen,
        resolved=output,
        masked=tuple(_masked(output, ())) if plan.seen.masked else (),
        settled=tuple(text for text in plan.seen.settled if text in noted),
    )


def _masked(value: Json, path: Path) -> Iterator[Path]:
    """Where something is not shown: what went away may have moved it."""
    if isinstance(value, str) and MASK in value:
        yield path
    for key, child in children(value):
        if isinstance(key, str) and MASK in key:
            yield path
        yield from _masked(child, (*path, key))
