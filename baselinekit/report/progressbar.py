"""A bar while something long runs. rich draws it, and is imported only for that."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from baselinekit.model.results import Outcome
from baselinekit.report import wording


@contextmanager
def progress(
    total: int, stream: TextIO, doing: str = "comparing", color: str = "auto"
) -> Iterator[Callable[[Outcome], None]]:
    """A bar that goes away when all is done, on a terminal; in a pipe nothing at all. What it gives is to be
    called once a result, from any thread."""
    if total < 2 or not stream.isatty():
        yield lambda outcome: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(doing),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("[red]{task.fields[bad]}[/red]"),
        TimeRemainingColumn(compact=True),
    )
    console = Console(file=stream, no_color=True if color == "never" else None)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total, bad="")
        tally: dict[Outcome, int] = {}

        def advance(outcome: Outcome) -> None:
            tally[outcome] = tally.get(outcome, 0) + 1
            bad = ", ".join(
                wording.counted(word, number) for word, number in tally.items() if word != "passed"
            )
            bar.update(task, advance=1, bad=bad)

        yield advance
