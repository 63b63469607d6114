"""The few sentences that every form for people shares."""

from baselinekit.model.results import OUTCOMES, Outcome, Report, Result


def counts(report: Report) -> list[tuple[Outcome, str]]:
    """Each outcome that occurred with its own count, the worst first: `1 failed`, `2 errors`, `5 passed`."""
    summary = report.summary
    found = []
    for outcome in OUTCOMES:
        number: int = getattr(summary, outcome)
        if number:
            word = "errors" if outcome == "error" and number > 1 else outcome
            found.append((outcome, f"{number:,} {word}"))
    return found


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest:02}s"


def incomplete(report: Report) -> str:
    """What to say of a run that did not do all it was asked."""
    if report.interrupted:
        return "interrupted"
    return "" if report.complete else "not all of them ran"


def warnings(report: Report) -> list[str]:
    """What the run as a whole should be looked at for."""
    return [*report.warnings, *(f"not recorded: {text}" for text in report.not_recorded)]


def place(result: Result) -> str:
    return f"{result.file}:{result.line}" if result.line is not None else result.file


def headline(report: Report) -> str:
    """`1 failed, 2 passed in 0.21s`, without colours."""
    counted = ", ".join(text for _, text in counts(report)) or "nothing ran"
    note = incomplete(report)
    return f"{counted} in {duration(report.seconds)}" + (f" ({note})" if note else "")


def why(result: Result) -> str:
    """The reason with its code, once. Differences speak for themselves."""
    if result.differences:
        return ""
    if result.code and not result.reason.startswith(result.code):
        return f"{result.code} {result.reason}".rstrip()
    return result.reason
