"""merge of many results: the files of all shards are read side by side, and what has passed goes from file to
file by its bytes. Where anything is not as a compare writes it, the whole files are read (history.py)."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import merge as in_turn

from baselinekit.errors import BaselinekitError
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result, Summary
from baselinekit.report.resultstream import (
    NotStreamableError,
    StreamedFile,
    StreamedResult,
    head_text,
    whole,
)
from baselinekit.store.project import MAX_OUTPUT_BYTES, read_pieces
from baselinekit.workflow.history import combined, refuse_apart


class StreamedMerge:
    """One report of several files. NotStreamableError, at any time: somebody has to look at all of them."""

    def __init__(self, paths: Sequence[str], cwd: str, different: Collection[str]):
        try:
            self._files = [
                StreamedFile(read_pieces(os.path.abspath(os.path.join(cwd, path)), MAX_OUTPUT_BYTES), path)
                for path in paths
            ]
            parts = [(path, file.head) for path, file in zip(paths, self._files, strict=True)]
            refuse_apart(parts, different)
        except BaselinekitError:  # told of the whole files, with all that is wrong
            raise NotStreamableError from None
        self._counts: dict[str, int] = {
            outcome: sum(file.counts[outcome] for file in self._files) for outcome in OUTCOMES
        }
        self._report = combined(parts, different, sum(self._counts.values()))
        self._more: list[Result] = []

    def pieces(self) -> Iterator[bytes]:
        """The result file of them all."""
        head = head_text(self._report, Summary(**self._counts, complete=self._report.complete))
        return whole(head, self._texts())

    def report(self) -> Report:
        """What is to be told of it, when its pieces are through: of what passed only the number."""
        passed = self._counts["passed"] - sum(result.outcome == "passed" for result in self._more)
        return replace(self._report, results=tuple(self._more), more_passed=passed)

    def _texts(self) -> Iterator[bytes]:
        """Each result once, in the order of a run without shards."""
        ids: set[str] = set()
        last = -1
        for one in self._in_order():
            position = len(ids) if one.position is None else one.position
            ids.add(one.id)
            if position <= last:
                raise NotStreamableError
            last = position
            if one.result is not None:
                self._more.append(one.result)
            yield one.text
        if len(ids) != sum(self._counts.values()):
            raise NotStreamableError

    def _in_order(self) -> Iterable[StreamedResult]:
        if all(file.head.shard is not None for file in self._files):
            return in_turn(*map(_placed, self._files), key=lambda one: one.position or 0)
        return (one for file in self._files for one in _unplaced(file))


def _placed(file: StreamedFile) -> Iterator[StreamedResult]:
    last = -1
    for one in file.results():
        if one.position is None or one.position <= last:
            raise NotStreamableError
        last = one.position
        yield one


def _unplaced(file: StreamedFile) -> Iterator[StreamedResult]:
    for one in file.results():
        if one.position is not None:
            raise NotStreamableError
        yield one
