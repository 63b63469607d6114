"""An earlier run beside this one (`--compare-to`), in each form."""

from collections.abc import Iterator

from baselinekit.escape import markdown_code, markdown_text, one_line
from baselinekit.model.results import VERDICTS, CaseChange, Earlier, MetricChange, Share
from baselinekit.report.values import cut_line

_MOST = 100
_FEW = 20
_WIDEST = 50
_TOLD = ("regressed", "improved", "insufficient evidence")
_COLOURS = {"regressed": "bold red", "improved": "green", "insufficient evidence": "yellow"}


def headline(earlier: Earlier) -> str:
    """`compared to eval-20240120-143052: 1 regressed, 2 improved, 10 unchanged`."""
    told = [f"{number:,} {verdict}" for verdict, number in counts(earlier) if number]
    told += [f"{len(ids):,} {word}" for ids, word in ((earlier.added, "new"), (earlier.gone, "gone")) if ids]
    return f"compared to {one_line(earlier.run)}: {', '.join(told) or 'no case in common'}"


def counts(earlier: Earlier) -> list[tuple[str, int]]:
    """How many cases there are of each verdict."""
    return [(verdict, len(earlier.those(verdict))) for verdict in VERDICTS]


def format_earlier(earlier: Earlier, verbose: bool = False) -> Iterator[tuple[str, str]]:
    """For the terminal, each line with its colour: what changed, and whether all together did."""
    yield headline(earlier), "bold"
    shown = notable(earlier)
    most = len(shown) if verbose else _FEW
    widest = max((len(case.verdict) for case in shown[:most]), default=0)
    ids = min(_WIDEST, max((len(one_line(case.id)) for case in shown[:most]), default=0))
    for case in shown[:most]:
        named = f"  {case.verdict:<{widest}}  {one_line(case.id):<{ids}}"
        yield f"{named}   {_said(case)}", _COLOURS[case.verdict]
    if len(shown) > most:
        yield f"  … and {len(shown) - most:,} more", "dim"
    for why, number in incomparable(earlier).items():
        yield f"  {number:,} not comparable: {cut_line(why)}", ""
    yield from ((f"  {_metric(metric)}", "") for metric in earlier.metrics)
    yield from ((f"  {hint}", "dim") for hint in hints(earlier))


def notable(earlier: Earlier) -> list[CaseChange]:
    """The cases that there is something to say of, one by one, the worst first."""
    return [case for verdict in _TOLD for case in earlier.cases if case.verdict == verdict]


def _said(case: CaseChange) -> str:
    said = f"{_share(case.before)} -> {_share(case.now)}"
    if case.chance is not None:
        said += f"  p={case.chance:.3g}"
    return f"{said}  {cut_line(case.why)}" if case.why else said


def _share(share: Share) -> str:
    return f"{share[0]}/{share[1]}"


def incomparable(earlier: Earlier) -> dict[str, int]:
    """Why cases could not be compared, each reason with the number of them."""
    found: dict[str, int] = {}
    for case in earlier.those("not comparable"):
        found[case.why] = found.get(case.why, 0) + 1
    return found


def _metric(metric: MetricChange) -> str:
    said = f"{metric.name:<8} {metric.before:.3f} -> {metric.now:.3f}  {metric.verdict}"
    tested = f"{metric.lost:,} lost, {metric.won:,} won of {metric.pairs:,} pairs, p={metric.chance:.3g}"
    tested += f", {metric.adjusted:.3g} after Holm" if metric.adjusted != metric.chance else ""
    return f"{said}  ({tested})"


def hints(earlier: Earlier) -> Iterator[str]:
    """What would tell more."""
    parts = [
        part
        for part in ("model", "judge", "files", "grader", "case")
        if any(part in c for c in incomparable(earlier))
    ]
    if parts:
        yield f"compare them anyway: {' '.join(f'--across {part}' for part in parts)}"
    if any(case.chance is not None for case in earlier.those("insufficient evidence")):
        yield "more attempts tell more: --attempts 5, in both runs"


def describe_failing(earlier: Earlier | None) -> str:
    """Why a run fails in which as many passed as have to."""
    if earlier is None or not earlier.strict:
        return ""
    if earlier.regressed:
        return "regressed: --fail-on-regressed"
    return "nothing could be compared: --fail-on-regressed" if earlier.tells_nothing else ""


def markdown(earlier: Earlier | None, most: int = _MOST, mark: str = "##") -> str:
    """For a report that people pass on, or for a comment, which has less room."""
    if earlier is None:
        return ""
    rows = ["", f"{mark} {markdown_text(headline(earlier)[0].upper() + headline(earlier)[1:])}", ""]
    if earlier.metrics:
        rows += [
            "| Metric | Before | Now | Lost | Won | p (exact McNemar, Holm) | Verdict |",
            "|---|---|---|---|---|---|---|",
        ]
        rows += [
            f"| {markdown_code(cut_line(one.name))} | {one.before:.3f} | {one.now:.3f} "
            f"| {one.lost} | {one.won} | {one.adjusted:.3g} | {one.verdict} |"
            for one in earlier.metrics
        ]
        rows.append("")
    told = notable(earlier)
    if told:
        rows += ["| Case | Before | Now | p (Fisher) | Verdict |", "|---|---|---|---|---|"]
    for case in told[:most]:
        chance = "" if case.chance is None else f"{case.chance:.3g}"
        why = f": {markdown_text(cut_line(case.why))}" if case.why else ""
        rows.append(
            f"| {markdown_code(cut_line(case.id))} | {_share(case.before)} | {_share(case.now)} | {chance} "
            f"| {case.verdict}{why} |"
        )
    rows += [f"\n… and {len(told) - most:,} more"] if len(told) > most else []
    rows += [
        f"\n{number:,} not comparable: {markdown_text(why)}" for why, number in incomparable(earlier).items()
    ]
    return "\n".join(rows) + "\n"
