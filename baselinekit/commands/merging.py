"""merge of many results: the files of all shards are read at the same time, and results that passed are
copied byte by byte. If a file is not as a compare writes it, the whole files are read (history.py)."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import merge as merge_sorted

from baselinekit.commands.history import merge_heads, refuse_unmergeable
from baselinekit.errors import BaselinekitError
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result, Summary
from baselinekit.report.resultstream import (
    NotStreamableError,
    StreamedFile,
    StreamedResult,
    head_text,
    join_results,
)
from baselinekit.store.project import MAX_OUTPUT_BYTES, read_pieces
from baselinekit.structs import replace


class StreamedMerge:
    """One report of several files. Any method may raise NotStreamableError: then the whole files have to be
    read."""

    def __init__(self, paths: Sequence[str], cwd: str, different: Collection[str]):
        try:
            self._files = [
                StreamedFile(read_pieces(os.path.abspath(os.path.join(cwd, path)), MAX_OUTPUT_BYTES), path)
                for path in paths
            ]
            parts = [(path, file.head) for path, file in zip(paths, self._files, strict=True)]
            refuse_unmergeable(parts, different)
        except BaselinekitError:  # reported when the whole files are read, with all problems
            raise NotStreamableError from None
        self._counts: dict[str, int] = {
            outcome: sum(file.counts[outcome] for file in self._files) for outcome in OUTCOMES
        }
        self._report = merge_heads(parts, different, sum(self._counts.values()))
        self._not_passed: list[Result] = []

    def pieces(self) -> Iterator[bytes]:
        """Return the merged result file in pieces."""
        head = head_text(self._report, Summary(**self._counts, complete=self._report.complete))
        return join_results(head, self._texts())

    def report(self) -> Report:
        """Return the report, after its pieces have been read: of the results that passed only their
        number."""
        passed = self._counts["passed"] - sum(result.outcome == "passed" for result in self._not_passed)
        return replace(self._report, results=tuple(self._not_passed), more_passed=passed)

    def _texts(self) -> Iterator[bytes]:
        """Yield each result once, in the order of a run without shards."""
        ids: set[str] = set()
        last = -1
        for entry in self._in_order():
            position = len(ids) if entry.position is None else entry.position
            ids.add(entry.id)
            if position <= last:
                raise NotStreamableError
            last = position
            if entry.result is not None:
                self._not_passed.append(entry.result)
            yield entry.text
        if len(ids) != sum(self._counts.values()):
            raise NotStreamableError

    def _in_order(self) -> Iterable[StreamedResult]:
        if all(file.head.shard is not None for file in self._files):
            return merge_sorted(*map(_results_in_order, self._files), key=lambda entry: entry.position or 0)
        return (entry for file in self._files for entry in _results_without_positions(file))


def _results_in_order(file: StreamedFile) -> Iterator[StreamedResult]:
    last = -1
    for entry in file.results():
        if entry.position is None or entry.position <= last:
            raise NotStreamableError
        last = entry.position
        yield entry


def _results_without_positions(file: StreamedFile) -> Iterator[StreamedResult]:
    for entry in file.results():
        if entry.position is not None:
            raise NotStreamableError
        yield entry
