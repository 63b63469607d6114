"""A report without secrets, wherever in it a text of the world outside has come to stand."""

from dataclasses import replace

from baselinekit.model.results import Report, Result, Spot
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
    )


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
