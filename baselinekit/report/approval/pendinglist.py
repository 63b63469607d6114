"""What waits for a decision, where nobody can be asked: the changes, and the commands that decide them. And
the same for programs."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from baselinekit.escape import log, one_line
from baselinekit.model.changes import Applied, Change, Plan, Proposal
from baselinekit.model.review import Member, Offer, Offers, Verb
from baselinekit.model.values import ABSENT, Json
from baselinekit.paths import render
from baselinekit.report.approval.refreshing import change_lines, counted, where
from baselinekit.report.terminal.style import Style

FORMAT = "baselinekit.review/1"
_MOST_CHANGES = 20
_MOST_PLANS = 40


def listing(proposal: Proposal, style: Style) -> str:
    """All that is pending, and what to type."""
    plans = proposal.plans
    if not plans:
        return "nothing is pending\n" if not proposal.refusals else ""
    total = sum(len(plan.changes) for plan in plans)
    lines = [f"pending: {counted(plans, [range(len(plan.changes)) for plan in plans])}", ""]
    for plan in plans[:_MOST_PLANS]:
        lines += [
            *_plan_lines(plan, style, total <= _MOST_CHANGES),
            *([""] if total <= _MOST_CHANGES else []),
        ]
    if len(plans) > _MOST_PLANS:
        lines.append(f"… and {len(plans) - _MOST_PLANS:,} more baselines")
    lines += [""] if lines[-1] else []
    for why, command in _for_all(plans):
        lines.append(f"{why}: {command}")
    return log("".join(f"{line}\n" for line in lines))


def _plan_lines(plan: Plan, style: Style, each: bool) -> Iterator[str]:
    """One baseline: with each of its changes and the command for it, or with the command for all of them."""
    baseline = plan.baseline
    file = style.paint(one_line(baseline.source.file), "cyan")
    number = f"   {len(plan.changes):,} changes" if len(plan.changes) > 1 and not each else ""
    yield f"{style.paint(one_line(baseline.id), 'bold')}   {file}{number}"
    for change in plan.changes if each else ():
        yield from change_lines(change, style, baseline.source.file)
        if len(plan.changes) > 1 and not change.blocked and change.part == "output":
            yield f"    {_shown(accepting(plan, (change,)))}"
    free = [change for change in plan.changes if not change.blocked]
    if len(free) == len(plan.changes):
        yield f"  {_shown(accepting(plan, None))}"


def accepting(plan: Plan, changes: Sequence[Change] | None) -> str:
    """The command that accepts these changes of a baseline, or all."""
    words = ["baselinekit", "refresh", plan.baseline.id, *_origin(plan)]
    for change in changes or ():
        words += ["--path", render(change.path)]
    meant = plan.changes if changes is None else changes
    words += ["--yes"]
    words += ["--allow-high-risk"] if any(change.risk == "high" for change in meant) else []
    words += ["--drop-placeholders"] if any(change.lost for change in meant) else []
    return shlex.join(words)


def _origin(plan: Plan) -> list[str]:
    """Where a refresh has the same answer from, unless it is kept here."""
    origin = plan.seen.origin
    return {"kept": [], "replay": ["--replay"]}.get(origin, ["--from", origin])


def _shown(command: str) -> str:
    return one_line(command)


def _for_all(plans: Sequence[Plan]) -> Iterator[tuple[str, str]]:
    changes = [change for plan in plans for change in plan.changes]
    if len(plans) > 1 and not any(c.blocked or c.risk == "high" or c.lost for c in changes):
        words = ["baselinekit", "refresh", *(_origin(plans[0]) or ["--all-failed"]), "--yes"]
        yield "all of it", _shown(shlex.join(words))
    yield "one by one", "baselinekit review (in a terminal)"
    yield "by a program", "baselinekit review --json, then baselinekit review --decide FILE"


def document(proposal: Proposal, offers: Mapping[Member, Offers]) -> dict[str, Json]:
    """For editors and agents. What can be chosen beside accepting stands in `offers`."""
    return {
        "format": FORMAT,
        "pending": [
            _change(proposal.plans[n], proposal.plans[n].changes[number], offers[n, number])
            for n, number in sorted(offers)
        ],
        "groups": [
            {
                "path": group.path,
                "kind": group.kind,
                "risk": group.risk,
                "members": [
                    {"id": proposal.plans[n].baseline.id, "number": number} for n, number in group.members
                ],
            }
            for group in proposal.groups
            if len(group.members) > 1
        ],
        "refused": _refused(proposal),
    }


def done(
    proposal: Proposal, applied: Applied, counts: Mapping[Verb, int], left: Sequence[Member]
) -> dict[str, Json]:
    """What became of the decisions, for those who sent them."""
    plans = proposal.plans
    return {
        "format": FORMAT,
        "decided": dict(counts),
        "written": [one.file for one in applied.files],
        "refreshed": list(applied.ids),
        "failures": [str(problem) for problem in applied.failures],
        "left": [
            {
                "id": plans[n].baseline.id,
                "number": number,
                "path": where(plans[n].changes[number]),
            }
            for n, number in left
        ],
        "refused": _refused(proposal),
    }


def _refused(proposal: Proposal) -> list[Json]:
    return [
        {"id": one.id, "file": one.file, **_problem(one.problem.code, one.problem.what, one.problem.mend)}
        for one in proposal.refusals
    ]


def _offered(offers: Sequence[Offer]) -> list[Json]:
    return [{"text": one.text, "reason": one.reason} for one in offers]


def _change(plan: Plan, change: Change, offers: Offers) -> dict[str, Json]:
    sides = {"before": change.before, "after": change.after}
    blocked = change.blocked
    accept = None if blocked or change.part != "output" else accepting(plan, (change,))
    return {
        "id": plan.baseline.id,
        "number": change.number,
        "file": plan.baseline.source.file,
        "path": where(change),
        "kind": change.kind,
        "risk": change.risk,
        **{name: value for name, value in sides.items() if value is not ABSENT},
        "loses": [
            {"path": render(one.path), "text": one.text, "file": one.file, "line": one.line}
            for one in change.lost
        ],
        "blocked": _problem(blocked.code, blocked.what, blocked.mend) if blocked else None,
        "note": change.note or None,
        "placeholders": _offered(offers.placeholders),
        "rules": _offered(offers.rules),
        "commands": {"accept": accept},
    }


def _problem(code: str, what: str, mend: str) -> dict[str, Json]:
    return {"code": code, "what": what, "mend": mend}
