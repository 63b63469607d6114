"""A report without secrets, wherever in it a text of the world outside has come to stand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from baselinekit.model.results import Against, Earlier, Report, Result, Spot
from baselinekit.variables import Redactor

if TYPE_CHECKING:
    from baselinekit.model.changes import Change, RefreshProposal


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
        earlier=_earlier(report.earlier, redactor),
    )


def _earlier(earlier: Earlier | None, redactor: Redactor) -> Earlier | None:
    """An earlier run may come from a file of anybody's."""
    if earlier is None:
        return None
    mask = redactor.mask_value
    cases = tuple(replace(case, why=mask(case.why)) for case in earlier.cases)
    return replace(earlier, run=mask(earlier.run), cases=cases)


def _against(against: Against | None, redactor: Redactor) -> Against | None:
    if against is None:
        return None
    changes = (replace(one, how=redactor.mask_value(one.how)) for one in against.changes)
    return replace(against, changes=tuple(changes))


_SAID = ("name", "reason", "target", "notes", "environment_drift")


def _result(result: Result, redactor: Redactor) -> Result:
    """Of nearly all nothing is to be masked, and to copy them for that would take as long as to look."""
    said: dict[str, Any] = {key: value for key in _SAID if (value := getattr(result, key))}
    changed = {key: one for key, value in said.items() if (one := redactor.mask_value(value)) is not value}
    if result.differences:
        changed["differences"] = tuple(_spot(spot, redactor) for spot in result.differences)
    return replace(result, **changed) if changed else result


def _spot(spot: Spot, redactor: Redactor) -> Spot:
    mask = redactor.mask_value
    return replace(
        spot,
        path=tuple(mask(key) if isinstance(key, str) else key for key in spot.path),
        rule=mask(spot.rule),
    )


def proposal_shown(proposal: RefreshProposal, redactor: Redactor) -> RefreshProposal:
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
