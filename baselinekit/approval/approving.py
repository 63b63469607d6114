"""What somebody approved, written into the files: as much as was accepted, and with it where it came from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from baselinekit.approval.planning import with_output
from baselinekit.compare.dispatch import compile_baseline
from baselinekit.errors import BaselinekitError, Problem
from baselinekit.model.baselines import Baseline, known_path
from baselinekit.model.changes import Applied, Approval, Change, RefreshPlan, Rewritten, Stamp
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.programs.git import Git
from baselinekit.refresh.risk import compared_with
from baselinekit.replay.settings import Clients
from baselinekit.store.results import drop_pending, save_pending
from baselinekit.store.writing import Renewal, preview as previewed, renew
from baselinekit.tree.changes import Hints
from baselinekit.tree.paths import render
from baselinekit.workflow.loading import located
from baselinekit.workflow.project import Project


@dataclass(frozen=True, slots=True)
class Permit:
    """What may be done without another question."""

    high_risk: bool = False
    drop_placeholders: bool = False


def forbidden(plan: RefreshPlan, accepted: Collection[int], permit: Permit) -> Problem | None:
    """Why these changes cannot be accepted together, the gravest reason first."""
    chosen = [change for change in plan.changes if change.number in accepted]
    blocked = next((change.blocked for change in chosen if change.blocked), None)
    if blocked is not None:
        return blocked
    lost = [lost for change in chosen for lost in change.lost]
    if lost and not permit.drop_placeholders:
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        what = f"{lost[0].text} at {render(lost[0].path)} would be lost{more}"
        hint = "accept other parts (--path), edit the file by hand, or pass --drop-placeholders"
        return Problem("BK533", what, hint)
    risky = [change for change in chosen if change.risk == "high"]
    if risky and not permit.high_risk:
        more = f", and {len(risky) - 1} more" if len(risky) > 1 else ""
        what = f"{render(risky[0].path)} is a high-risk change ({_in_a_word(risky[0])}){more}"
        return Problem("BK532", what, "if it is meant, pass --allow-high-risk")
    return None


def _in_a_word(change: Change) -> str:
    return "another value" if change.kind == "value" else change.kind


def version_of(project: Project, clients: Clients) -> str | None:
    """What git calls the state that this was seen with; None where there is no git."""
    try:
        said = Git(clients.execute, project.root).ask("describe", "--tags", "--always")
    except BaselinekitError:
        return None
    return said.decode("utf-8", "replace").strip() or None


def preview(project: Project, approvals: Sequence[Approval], stamp: Stamp) -> tuple[Rewritten, ...]:
    """The files that would change. Nothing is written."""
    fit, _ = _renewals(project, approvals, stamp)
    return previewed([renewal for renewal, _ in fit], project.root).files


def apply(project: Project, approvals: Sequence[Approval], stamp: Stamp) -> Applied:
    """Write what was accepted, and forget what was kept of it. What was not accepted stays kept."""
    fit, failures = _renewals(project, approvals, stamp)
    applied = renew([renewal for renewal, _ in fit], project.root)
    done = set(applied.ids)
    for renewal, approval in fit:
        if renewal.id in done:
            _settle(project, approval)
    return replace(applied, failures=(*failures, *applied.failures))


def _renewals(
    project: Project, approvals: Sequence[Approval], stamp: Stamp
) -> tuple[list[tuple[Renewal, Approval]], list[Problem]]:
    """What is to be written. What would be no baseline any more is not."""
    fit: list[tuple[Renewal, Approval]] = []
    failures: list[Problem] = []
    for approval in approvals:
        if not approval.accepted and not approval.ignored:
            continue
        plan = approval.plan
        after = with_output(plan, approval.accepted, approval.ignored)
        try:
            compile_baseline(after, project.words_of(after))
        except BaselinekitError as error:
            failures += located(plan.baseline, error.problems, project.root)
        else:
            fit.append((_renewal(approval, after, stamp), approval))
    return fit, failures


def _renewal(approval: Approval, after: Baseline, stamp: Stamp) -> Renewal:
    plan, known = approval.plan, after.baseline
    assert known is not None
    seen, place = plan.seen, known_path(plan.baseline.variant)
    accepted = [change for change in plan.changes if change.number in approval.accepted]
    values: dict[Path, Json] = {}
    if accepted:
        values[(*place, "captured_at")] = seen.captured_at
        if seen.environment:
            values[(*place, "environment")] = seen.environment
        if seen.observed and (approval.is_whole or any(change.part == "observed" for change in accepted)):
            values[("baseline", "observed")] = seen.observed
        for key, value in (("approved_by", stamp.by), ("reason", stamp.reason)):
            if value is not None or getattr(known, key) is not None:  # an approval is of one output only
                values[("baseline", key)] = value
        if stamp.version is not None:
            values[("baseline_version",)] = stamp.version
    if approval.is_whole:
        values[("metadata", "failure_count")] = 0
    if approval.ignored:
        values[("comparison", "ignore_fields")] = after.comparison.ignore_fields
    changed = any(change.part == "output" for change in accepted)
    output = known.output if changed else ABSENT
    hints = Hints(plan.keys, ordered=any(change.kind == "order" for change in accepted))
    return Renewal(plan.baseline.id, plan.baseline.source, output, plan.baseline.variant, values, hints)


def _settle(project: Project, approval: Approval) -> None:
    """Of what was kept the rest stays, now set against the new output."""
    plan = approval.plan
    if approval.is_whole:
        drop_pending(project.root, plan.baseline.id)
        return
    after = with_output(plan, approval.accepted, approval.ignored)
    save_pending(project.root, replace(plan.seen, compared_with=compared_with(after)))
