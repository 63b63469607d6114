"""Reads result files piece by piece: plain passes are copied as bytes, and only the other results become a
`Result`. A file that is not formatted as we write it is left to `resultfile.read`."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from baselinekit.errors import BaselinekitError
from baselinekit.files.jsontext import load_json
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result, Summary
from baselinekit.recordform import RecordReader
from baselinekit.report.resultfile import (
    DEEPER,
    RESULT,
    SUMMARY,
    check_result,
    head_document,
    report_of,
    summary_document,
)
from baselinekit.report.values import encode, page
from baselinekit.structs import replace

RESULTS = b'\n  "results": [\n'
_LAST = b"  ]\n}\n"
_END = b"\n    }"
_TEXT = r'"(?:[ !$-\[\]-~])*"'
"""A text that can be written in this way only."""
_SOME_TEXT = _TEXT.replace("*", "+")
_COUNT = "(?:0|[1-9][0-9]{0,14})"
_SECONDS = r"(?!0\.0000)(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[0-9]{0,5}[1-9]))?"


class NotStreamableError(Exception):
    """The file is not necessarily wrong: it has to be read as a whole."""


class StreamedResult(NamedTuple):
    """One result that is copied from file to file: `text` without its position; `result` if it is more than a
    plain pass."""

    position: int | None
    id: str
    text: bytes
    result: Result | None


@cache
def plain_pass() -> re.Pattern[bytes]:
    """Return the pattern of a written result that passed without anything to add; its keys are those of a
    result."""
    lines = (
        r'"id": "(?P<id>[A-Za-z0-9][A-Za-z0-9._/-]{0,511})",',
        rf'"file": {_TEXT},',
        r'"line": (?:null|[1-9][0-9]{0,14}),',
        rf'"kind": {_TEXT},',
        r'"outcome": "passed",',
        r'"verdict": null,',
        r'"reason": "",',
        r'"code": null,',
        r'"difference_count": 0,',
        r'"differences": \[\],',
        rf'"attempts": {_COUNT},',
        rf'"observed": \{{\n        "seconds": {_SECONDS}\n      \}},',
        r'"environment_drift": \{\},',
        rf'"recipe_hash": {_TEXT}(?:,',
        rf'"name": {_SOME_TEXT})?(?:,',
        rf'"criticality": {_SOME_TEXT})?(?:,',
        rf'"target": {_SOME_TEXT})?(?P<placed>,',
        rf'"position": (?P<position>{_COUNT}))?',
    )
    body = "\n      ".join(lines)
    return re.compile(rf"    \{{\n      {body}(?P<end>\n    \}}),?\n".encode())


def read_head(text: str, file: str) -> tuple[Report, dict[str, int]]:
    """Read a file whose results were cut out: return the report without results, and how many there should be
    of each outcome."""
    raw = load_json(text, file, DEEPER)
    reader = RecordReader()
    summary = raw.get("summary") if isinstance(raw, dict) else None
    if isinstance(summary, dict) and reader.mapping(summary, SUMMARY, ("summary",)):
        report = report_of({**raw, "summary": {**summary, **dict.fromkeys(OUTCOMES, 0)}}, reader)
        if report is not None and not reader.problems:
            return report, {outcome: summary[outcome] for outcome in OUTCOMES}
    raise NotStreamableError


class StreamedFile:
    """A result file that arrives in pieces: first its `head`, a report without results, then the results."""

    def __init__(self, pieces: Iterable[bytes], file: str):
        self._pieces = iter(pieces)
        self._file = file
        self._buffer = b""
        while (end := self._buffer.find(RESULTS)) < 0:
            self._read_more()
        text = self._buffer[: end + len(RESULTS)] + b"]}"
        self._buffer = self._buffer[end + len(RESULTS) :]
        try:
            self.head, self.counts = read_head(text.decode("utf-8"), file)
        except (BaselinekitError, UnicodeDecodeError):
            raise NotStreamableError from None
        if self.head.suite is not None:
            raise NotStreamableError

    def _read_more(self) -> None:
        piece = next(self._pieces, b"")
        if not piece:
            raise NotStreamableError
        self._buffer += piece

    def results(self) -> Iterator[StreamedResult]:
        """Yield the results in order. Raises NotStreamableError at the end if the counts of the file are
        wrong."""
        match_pass, start, counts = plain_pass().match, 0, dict.fromkeys(self.counts, 0)
        while True:
            match = match_pass(self._buffer, start)
            if match:
                counts["passed"] += 1
                position, cut = match["position"], match.start("placed")
                text = match[0][: (cut if cut >= 0 else match.start("end")) - start] + _END
                yield StreamedResult(
                    None if position is None else int(position), match["id"].decode(), text, None
                )
                start = match.end()
                is_last = match[0][-2:-1] != b","
            else:
                end = self._buffer.find(_END, start) + len(_END)
                if end < len(_END) or len(self._buffer) < end + 2:
                    self._buffer, start = self._buffer[start:], 0
                    self._read_more()
                    continue
                is_last = self._buffer[end : end + 1] != b","
                streamed = self._parse(self._buffer[start:end])
                if streamed.result is not None:
                    counts[streamed.result.outcome] += 1
                yield streamed
                start = end + 2 - is_last
            if is_last:
                break
        rest = self._buffer[start:] + b"".join(self._pieces)
        if rest != _LAST or counts != self.counts:
            raise NotStreamableError

    def _parse(self, text: bytes) -> StreamedResult:
        """Parse one result; its text is written anew."""
        try:
            raw = load_json(text.decode("utf-8"), self._file, DEEPER)
        except (BaselinekitError, UnicodeDecodeError):
            raise NotStreamableError from None
        reader = RecordReader()
        result = RESULT.read(raw, ("results",), reader)
        if result is None or result.case is not None:
            raise NotStreamableError
        check_result(result, ("results",), reader)
        if reader.problems:
            raise NotStreamableError
        position, result = result.position, replace(result, position=None)
        return StreamedResult(position, result.id, encode_result(result), result)


def encode_result(result: Result) -> bytes:
    return f"    {encode(RESULT.write(result), 2, 2)}".encode("utf-8", "backslashreplace")


def head_text(report: Report, summary: Summary) -> bytes:
    """Return the beginning of a result file, up to its results."""
    text = page({**head_document(report), "summary": summary_document(summary)})
    return text.removesuffix("\n}\n").encode("utf-8", "backslashreplace") + b"," + RESULTS


def join_results(head: bytes, texts: Iterable[bytes], size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the pieces of a result file."""
    pieces, buffered = [head], len(head)
    between = b""
    for text in texts:
        pieces += (between, text)
        between = b",\n"
        buffered += len(text)
        if buffered > size:
            yield b"".join(pieces)
            pieces, buffered = [], 0
    yield b"".join([*pieces, b"\n", _LAST])
