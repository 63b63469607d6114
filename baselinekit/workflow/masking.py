"""A report without secrets, wherever in it a text of the world outside has come to stand."""

from dataclasses import replace

from baselinekit.model.changes import Change, Proposal
from baselinekit.model.results import Report, Result, Spot
from baselinekit.model.revisions import Against
from baselinekit.variables import Redactor


def masked(report: Report, redactor: Redactor) -> Report:
    """Ids and file names stay: by them everything is found. What came back is masked where it is judged."""
    mask = redactor.mask_value
    return replace(
        report,
        results=tuple(_result(result, redactor) for result in report.results),
        command=mask(report.command),
        environment=mask(report.environment),
        warnings=mask(report.warnings),
        not_recorded=mask(report.not_recorded),
        coverage=replace(report.coverage, chosen=mask(report.coverage.chosen)),
        against=_against(report.against, redactor),
    )


def _against(against: Against | None, redactor: Redactor) -> Against | None:
    if against is None:
        return None
    changes = (replace(one, how=redactor.mask_value(one.how)) for one in against.changes)
    return replace(against, changes=tuple(changes))


def _result(result: Result, redactor: Redactor) -> Result:
    mask = redactor.mask_value
    return replace(
        result,
        name=mask(result.name),
        reason=mask(result.reason),
        target=mask(result.target),
        differences=tuple(_spot(spot, redactor) for spot in result.differences),
        notes=mask(result.notes),
        environment_drift=mask(result.environment_drift),
    )


def _spot(spot: Spot, redactor: Redactor) -> Spot:
    mask = redactor.mask_value
    return replace(
        spot,
        path=tuple(mask(key) if isinstance(key, str) else key for key in spot.path),
        rule=mask(spot.rule),
    )


def proposal_shown(proposal: Proposal, redactor: Redactor) -> Proposal:
    """What a refresh would change, to be looked at: what stands in a file may be a secret as well."""
    plans = tuple(
        replace(plan, changes=tuple(_change(change, redactor) for change in plan.changes))
        for plan in proposal.plans
    )
    return replace(proposal, plans=plans)


def _change(change: Change, redactor: Redactor) -> Change:
    before = redactor.mask_value(change.before, change.at)
    after = redactor.mask_value(change.after, change.path)
    if before is change.before and after is change.after:
        return change
    return replace(change, before=before, after=after)
