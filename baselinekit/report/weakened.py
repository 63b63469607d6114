"""What a change does to the baselines themselves (`--base`), in each form."""

from collections.abc import Iterator

from baselinekit.escape import markdown_code, markdown_text, one_line
from baselinekit.model.results import Against, Revised
from baselinekit.report.values import cut_line

_MOST = 100
_SHORT = 12
_WIDEST = 50
_CHANGES = ("removed", "loosened", "added")
_COLOURS = {"removed": "red", "loosened": "yellow", "added": "green"}


def headline(against: Against) -> str:
    """`against main (96e676b1a2b3): 1 removed, 2 loosened, 1 added`."""
    counts = [(sum(one.change == kind for one in against.changes), kind) for kind in _CHANGES]
    told = ", ".join(f"{number:,} {kind}" for number, kind in counts if number)
    where = f"{one_line(against.ref)} ({one_line(against.commit[:_SHORT])})"
    return f"against {where}: {told or 'no baseline added, removed or loosened'}"


def describe_failing(against: Against | None) -> str:
    """Why a run fails in which everything passed."""
    if against is None or not against.strict or not against.weakened:
        return ""
    return f"{len(against.weakened):,} weakened since {one_line(against.ref)}: --fail-on-weakened"


def format_weakened(against: Against) -> Iterator[tuple[str, str]]:
    """For the terminal: each line with its colour."""
    yield headline(against), "bold"
    shown = worst_first(against)
    ids = min(_WIDEST, max((len(one_line(change.id)) for change in shown[:_MOST]), default=0))
    for change in shown[:_MOST]:
        place = f"{change.file}:{change.line}" if change.line is not None else change.file
        yield (
            f"  {change.change.upper():<8}  {one_line(change.id):<{ids}}   {one_line(place)}",
            _COLOURS[change.change],
        )
        yield from ((f"            {cut_line(way)}", "") for way in change.how)
    if len(shown) > _MOST:
        yield f"  … and {len(shown) - _MOST:,} more", "dim"


def markdown(against: Against | None) -> str:
    """A table, for whoever has to say yes to the change."""
    if against is None or not against.changes:
        return ""
    rows = [
        "",
        f"### {markdown_text(headline(against))}",
        "",
        "| baseline | | what passes now |",
        "|---|---|---|",
    ]
    shown = worst_first(against)
    for one in shown[:_MOST]:
        place = f"{one.file}:{one.line}" if one.line is not None else one.file
        how = "<br>".join(markdown_text(cut_line(way)) for way in one.how) or markdown_code(cut_line(place))
        rows.append(f"| {markdown_code(cut_line(one.id))} | {one.change} | {how} |")
    if len(shown) > _MOST:
        rows.append(f"| | | and {len(shown) - _MOST:,} more |")
    return "\n".join(rows) + "\n"


def worst_first(against: Against) -> list[Revised]:
    """What is worst first."""
    return sorted(against.changes, key=lambda one: (_CHANGES.index(one.change), one.id))
