"""From the results on file to the tables of README.md here, and to the lines that docs/performance.md quotes.

python -m benchmarks.table       render both again
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import SUBJECTS
from benchmarks.results import Row

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
READMES = (HERE / "README.md", HERE.parent / "docs/performance.md")
FEWER = 5

Results = dict[str, Any]


def brief(results: Results) -> str:
    """What matters most to a reader: what docs/performance.md quotes."""
    lines = [f"| {row.short} | {_beside(row)} |" for row in _rows(results) if row.short]
    return "\n".join(["| | |", "|---|---|", *lines])


def glance(results: Results) -> str:
    """What matters most beside what it should reach, and how many goals are met."""
    lines = ["| | ours | goal |", "|---|---|---|"]
    for row in _rows(results):
        if row.short:
            lines.append(f"| {row.short} | {_beside(row)} | {_goal(row)} |")
    return "\n".join([*lines, "", _score(list(_rows(results)))])


def _score(rows: Sequence[Row]) -> str:
    goals = [row for row in rows if row.goal is not None]
    missed = [f"{row.what} ({row.of}){f' ÷ {row.peer}' if row.peer else ''}" for row in goals if not row.met]
    if not missed:
        return f"All {len(goals)} goals are met."
    return f"{len(goals) - len(missed)} of {len(goals)} goals are met. Missed: {'; '.join(missed)}."


def _beside(row: Row) -> str:
    return f"{times(row)} {row.peer}" if row.ratio is not None else figure(row.ours, row.of)


def times(row: Row) -> str:
    """`1.31 ×`, or `1/240 of` what the peer takes."""
    number = ratio(row.ratio or 0, row.stopped)
    return f"{number} of" if "/" in number else f"{number} ×"


def ratio(number: float, stopped: bool = False) -> str:
    less = "< " if stopped else ""
    if number >= 100:
        return f"{less}{number:,.0f}"
    if number >= 0.1:
        return f"{less}{number:.3g}"
    return f"{less}1/{1 / number:,.0f}" if number else "0"


def _goal(row: Row) -> str:
    if row.goal is None:
        return ""
    most = ratio(row.goal) if row.ratio is not None else figure(row.goal, row.of)
    wish = f", better {ratio(row.wish)}" if row.wish else ""
    return f"≤ {most}{wish}" + ("" if row.met else ", **missed**")


def figure(number: float, of: str) -> str:
    """Seconds or bytes in the unit that suits them."""
    if of in ("cpu", "wall"):
        for unit, size in (("s", 1.0), ("ms", 1e-3)):
            if abs(number) >= size:
                return f"{number / size:.3g} {unit}"
        return f"{number / 1e-6:.3g} µs"
    for unit, size in (("MB", 1e6), ("KB", 1e3)):
        if abs(number) >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f} B"


def tables(results: Results) -> str:
    """A table a subject: a line for what is measured, a column for each peer."""
    parts = []
    for name, title in SUBJECTS.items():
        if name in results["subjects"]:
            parts.append(_subject(name, title, results["subjects"][name]))
    return "\n\n".join([_about(results), *parts])


def _subject(name: str, title: str, found: dict[str, Any]) -> str:
    rows = [Row(**row) for row in found["rows"]]
    peers = list(dict.fromkeys(row.peer for row in rows if row.peer))
    lines = [f"### `{name}`: {title}", "", _line(["", "ours", *(f"÷ {peer}" for peer in peers)])]
    lines.append("|" + "---|" * (len(peers) + 2))
    for what, of in dict.fromkeys((row.what, row.of) for row in rows):
        same = [row for row in rows if (row.what, row.of) == (what, of)]
        lines.append(_line([what + (" (wall)" if of == "wall" else ""), *_cells(same, peers)]))
    elsewhere = [f"Measured apart: {_about(found)}."] if "about" in found else []
    if notes := [*found["notes"], *_marks(rows), *elsewhere]:
        lines += ["", *(f"- {note}" for note in notes)]
    return "\n".join(lines)


def _cells(rows: Sequence[Row], peers: Sequence[str]) -> Iterator[str]:
    first = rows[0]
    alone = first.goal is not None and first.ratio is None
    yield figure(first.ours, first.of) + (f" ({_goal(first)})" if alone else "")
    for peer in peers:
        row = next((row for row in rows if row.peer == peer), None)
        yield _cell(row) if row and row.ratio is not None else ""


def _cell(row: Row) -> str:
    mark = "\\*" if _has_few_rounds(row) else ""
    return ratio(row.ratio or 0, row.stopped) + mark + (f" ({_goal(row)})" if row.goal else "")


def _has_few_rounds(row: Row) -> bool:
    """Memory needs no second look."""
    return row.ratio is not None and row.rounds < FEWER and row.of != "bytes"


def _marks(rows: Sequence[Row]) -> Iterator[str]:
    if any(map(_has_few_rounds, rows)):
        yield f"\\*: fewer than {FEWER} rounds, since the peer takes long."
    if any(row.stopped for row in rows):
        yield "<: the peer had not finished when it was stopped."


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _about(results: Results) -> str:
    about = results["about"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return f"{about['date']} · {about['machine']} · {versions}"


def _rows(results: Results) -> Iterator[Row]:
    for name in SUBJECTS:
        for row in results["subjects"].get(name, {"rows": []})["rows"]:
            yield Row(**row)


def rendered(readme: str, results: Results) -> str:
    """A README with its generated parts made anew. What has no such part stays as it is."""
    for part, text in (("brief", brief(results)), ("glance", glance(results)), ("tables", tables(results))):
        begin, end = f"<!-- {part}: make bench -->", f"<!-- /{part} -->"
        if begin in readme:
            head, _, rest = readme.partition(f"{begin}\n")
            readme = f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
    return readme


def write(results: Results) -> None:
    for readme in READMES:
        readme.write_text(rendered(readme.read_text("utf-8"), results), "utf-8")


if __name__ == "__main__":
    write(json.loads(RESULTS.read_text("utf-8")))
