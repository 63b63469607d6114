"""The few sentences that every form for people shares."""

from baselinekit.model.asking import Usage
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


def spent(report: Report) -> str:
    """`3 calls of models (1,204 tokens, $0.0012)`, or nothing where no model was asked."""
    if report.spent is None or not report.spent.calls:
        return ""
    calls, took = report.spent.calls, [f"{report.spent.tokens:,} tokens"]
    if report.spent.usd:
        took.append(f"${report.spent.usd:.4f}")
    return f"{calls:,} call{'s' * (calls != 1)} of models ({', '.join(took)})"


def took(usage: Usage) -> str:
    """`120 tokens in, 30 out, $0.0012`, as far as anybody said."""
    told = [] if usage.tokens_in is None else [f"{usage.tokens_in:,} tokens in"]
    told += [] if usage.tokens_out is None else [f"{usage.tokens_out:,} out"]
    told += [f"${usage.cost_usd:.4f}"] if usage.cost_usd else []
    return ", ".join(told)


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
