"""The few sentences that every form for people shares."""

from decimal import Decimal

from baselinekit.model.asking import Usage
from baselinekit.model.results import OUTCOMES, Outcome, Report, Result

_SMALL = Decimal("0.1")


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


def spent(report: Report) -> str:
    """`3 calls of models (1,204 tokens, $0.00121)`, or nothing where no model was asked."""
    if report.spent is None or not report.spent.calls:
        return ""
    calls, took = report.spent.calls, [f"{report.spent.tokens:,} tokens"]
    if report.spent.usd:
        took.append(dollars(report.spent.usd))
    return f"{calls:,} call{'s' * (calls != 1)} of models ({', '.join(took)})"


def dollars(usd: Decimal) -> str:
    """To the cent, and small sums to three digits."""
    return f"${usd:,.{2 if not usd or usd >= _SMALL else 2 - usd.adjusted()}f}"


def took(usage: Usage) -> str:
    """`120 tokens in, 30 out, $0.00121`, as far as anybody said."""
    told = [] if usage.tokens_in is None else [f"{usage.tokens_in:,} tokens in"]
    told += [] if usage.tokens_out is None else [f"{usage.tokens_out:,} out"]
    told += [dollars(usage.cost_usd)] if usage.cost_usd else []
    return ", ".join(told)


def incomplete(report: Report) -> str:
    """What to say of a run that did not do all it was asked."""
    if report.interrupted:
        return "interrupted"
    return "" if report.complete else "not all of them ran"


def warnings(report: Report) -> list[str]:
    """What the run as a whole should be looked at for."""
    found = [*report.warnings, *(f"not recorded: {text}" for text in report.not_recorded)]
    unasked = [result for result in report.results if result.outcome == "skipped" and result.code]
    if unasked:
        found.append(f"{len(unasked):,} skipped: {unasked[0].code} {unasked[0].reason}")
    return found


def place(result: Result) -> str:
    return f"{result.file}:{result.line}" if result.line is not None else result.file


def headline(report: Report) -> str:
    """`1 failed, 2 passed in 0.21s`, without colours."""
    counted = ", ".join(text for _, text in counts(report)) or "nothing ran"
    note = incomplete(report)
    asked = f", {spent(report)}" if spent(report) else ""
    return f"{counted} in {duration(report.seconds)}{asked}" + (f" ({note})" if note else "")


def unshown(number: int) -> str:
    """Of how many differences nothing is shown."""
    return f"… and {number:,} more difference{'s' * (number != 1)}"


def why(result: Result) -> str:
    """The reason with its code, once. Differences speak for themselves."""
    if result.differences:
        return ""
    if result.code and not result.reason.startswith(result.code):
        return f"{result.code} {result.reason}".rstrip()
    return result.reason
