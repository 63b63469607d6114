"""A form of report of its own, for the test that adds one: what did not pass, a line each."""

from baselinekit.model.results import Report


def render(report: Report) -> str:
    wrong = (result for result in report.results if result.outcome in ("failed", "error"))
    return "".join(f"{result.id} {result.outcome}\n" for result in wrong)
