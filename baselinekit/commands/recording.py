"""What a run writes down: the verdicts on baselines, new outputs for a refresh, and its report. A checkout
that cannot be written does not make the run fail."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from baselinekit.errors import BaselinekitError, internal_error
from baselinekit.model.baselines import Source
from baselinekit.model.results import Report, Result
from baselinekit.report.resultfile import compact
from baselinekit.secrets.variables import Redactor
from baselinekit.store.record import Mark, Recorded, record_all
from baselinekit.store.results import drop_accepted, drop_pending, keep_results, save_pending
from baselinekit.structs import Struct, replace

if TYPE_CHECKING:  # only needed when something fails
    from baselinekit.model.changes import KeptOutput

Masked = TypeVar("Masked", bound=Struct)


class Recorder:
    """Takes a verdict on each of the baselines, or none. Those on a file are written together when all its
    baselines are judged, or when the run ends; little is left to write then."""

    def __init__(
        self,
        root: str,
        now: Callable[[], str],
        daily: bool,
        sources: Iterable[Source],
        wait: Callable[[], float],
    ):
        self._record = lambda marks: record_all(marks, root, now(), daily, wait)
        self._open = Counter(source.file for source in sources)
        self._marks: dict[str, list[Mark]] = {}
        # several threads: a file that another process has locked does not keep the others waiting
        self._writers = ThreadPoolExecutor(4, "record")
        self._written: list[Future[Recorded]] = []

    def add(self, source: Source, passed: bool | None) -> None:
        self._open[source.file] -= 1
        marks = self._marks.setdefault(source.file, [])
        if passed is not None:
            marks.append(Mark(source, passed))
        if not self._open[source.file]:
            self._write(self._marks.pop(source.file))

    def close(self) -> tuple[list[str], tuple[str, ...]]:
        """Write the rest. Return notes, and what could not be written, each with what to do about it; the
        run does not fail for it."""
        for marks in self._marks.values():
            self._write(marks)
        self._writers.shutdown()
        done = [future.result() for future in self._written]
        problems = [problem for one in done for error in one.failures for problem in error.problems]
        advice = ", or leave it: --no-record writes nothing"
        not_recorded = (f"{problem}{advice if problem.code == 'BK120' else ''}" for problem in problems)
        return [note for one in done for note in one.notes], tuple(not_recorded)

    def _write(self, marks: Sequence[Mark]) -> None:
        if marks:
            self._written.append(self._writers.submit(self._record, marks))


def keep_seen(root: str, pending: "KeptOutput | None", settled: str, reason: str = "") -> str:
    """Keep the new output for a refresh, or drop the kept one of the id that is `settled`. Return a warning
    if that fails: a checkout that cannot be written does not make the run fail."""
    try:
        if pending is not None:
            save_pending(root, pending)
        elif settled:
            drop_pending(root, settled)
        if id := pending.id if pending is not None else settled:
            drop_accepted(root, id)
    except Exception as error:
        reason = internal_error(error).problems[0].message
    return f"the new output could not be kept for a refresh: {reason}" if reason else ""


def mask_report(report: Report, redactor: Redactor) -> Report:
    """Mask a report, except ids and file names: everything is found by them. Outputs are masked already."""
    against, earlier = report.against, report.earlier
    if against is not None:
        changes = (_masked(redactor, one, "how", "approved_by", "reason") for one in against.changes)
        against = replace(against, changes=tuple(changes))
    if earlier is not None:  # it may come from any file
        cases = tuple(_masked(redactor, case, "why") for case in earlier.cases)
        earlier = replace(_masked(redactor, earlier, "run"), cases=cases)
    return replace(
        _masked(redactor, report, "command", "environment", "warnings", "not_recorded"),
        results=tuple(mask_result(result, redactor) for result in report.results),
        typed=_masked(redactor, report.typed, "operator", "asking", "selection", "paths"),
        coverage=_masked(redactor, report.coverage, "chosen"),
        against=against,
        earlier=earlier,
    )


def mask_result(result: Result, redactor: Redactor) -> Result:
    """Mask a result."""
    differences = []
    for spot in result.differences:
        path = tuple(redactor.mask(key) if isinstance(key, str) else key for key in spot.path)
        differences.append(replace(spot, path=path, rule=redactor.mask_value(spot.rule)))
    masked = _masked(redactor, result, "name", "reason", "target", "notes", "environment_drift")
    return replace(masked, differences=tuple(differences))


def _masked(redactor: Redactor, item: Masked, *names: str) -> Masked:
    return replace(item, **{name: redactor.mask_value(getattr(item, name)) for name in names})


def keep_report(root: str, report: Report) -> bool:
    """Keep the results of a run, without the outputs: those that failed are pending anyway. An empty run is
    not kept, and a checkout that cannot be written does not make the run fail."""
    with suppress(BaselinekitError):
        return bool(report.results) and keep_results(root, report.started, compact(report))
    return False
