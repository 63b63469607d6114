"""GitHub annotations: what differs, at the line of the expected value in the changed files of a pull request.

A runner shows ten of a kind for each step and drops the rest without a word, so the rest is counted here, in
one notice. Every result has its first annotation before any has its second."""

from collections.abc import Iterator, Sequence
from itertools import islice

from baselinekit.errors import Problem
from baselinekit.escape import runner_message, runner_property
from baselinekit.frozen import frozen
from baselinekit.model.results import Report, Result
from baselinekit.report.beside import describe_revised
from baselinekit.report.differences import Block, blocks
from baselinekit.report.evals.evalreport import describe_grades, evidence, line_of
from baselinekit.report.next_commands import refresh_command, select_renewable, typed_of
from baselinekit.report.values import cut_line
from baselinekit.report.wording import count_differences, describe_reason, headline, in_repository
from baselinekit.texts import already_masked, clipped

MOST = 10
"""Annotations of a kind that a runner shows for a step."""

_LONGEST = 3_000
_LONGEST_TITLE = 200
_LONGEST_SIDE = 500


@frozen
class _Remark:
    level: str
    file: str
    line: int | None
    title: str
    text: str


def render(report: Report) -> str:
    """The commands, one a line; nothing where all is well."""
    return "".join(f"{command}\n" for command in _commands(report))


def format_problems(problems: Sequence[Problem], folder: str = "") -> str:
    """What is wrong with the files themselves, each at its place."""
    remarks = []
    for problem in problems:
        if place := problem.place:
            text, file = f"{problem.message}: {problem.hint}", in_repository(folder, place.file)
            remarks.append(_Remark("error", file, place.line, problem.code, text))
    told = [_command(remark) for remark in remarks[:MOST]]
    if len(remarks) > MOST:
        told.append(_notice(f"{len(remarks) - MOST:,} more problems are in the log of this step"))
    return "".join(f"{command}\n" for command in told)


def _commands(report: Report) -> Iterator[str]:
    failed = [result for result in report.results if result.outcome in ("failed", "error")]
    undecided = [result for result in report.results if result.outcome == "unscored"]
    left = 0
    against = report.against
    weakened = [
        _Remark(
            "error" if against and against.strict else "warning",
            in_repository(report.folder, revised.file),
            revised.line,
            f"{revised.id}: {describe_revised(report, revised)}",
            "\n".join(revised.how) or f"the baseline is {revised.change}",
        )
        for revised in (against.weakened if against else ())
    ]
    for results, level in ((failed, "error"), (undecided, "warning")):
        chosen = sorted(islice(_in_turn(results), MOST), key=lambda one: one[0])
        for number, block in chosen:
            yield _command(_remark(report, level, results[number], block))
        shown = sum(block.count if block else 1 for _, block in chosen)
        left += sum(max(1, count_differences(result)) for result in results) - shown
        also = [remark for remark in weakened if remark.level == level]
        yield from map(_command, also[: MOST - len(chosen)])
        left += len(also[MOST - len(chosen) :])
    if left > 0:
        yield _notice(f"{left:,} more are not annotated: {headline(report)}")


def _in_turn(results: Sequence[Result]) -> Iterator[tuple[int, Block | None]]:
    """The first of each result, then the second of each, and so on, as long as anybody asks. A result
    without differences has one remark all the same."""
    each = [blocks(result)[0] for result in results[:MOST]]  # of more, none would have a second
    for turn in range(max(map(len, each), default=0) or 1):
        for number, shown in enumerate(each):
            if turn < max(1, len(shown)):
                yield number, shown[turn] if shown else None


def _remark(report: Report, level: str, result: Result, block: Block | None) -> _Remark:
    folder = report.folder
    if block is None:
        sides = evidence(result) if result.case is not None else []
        told = [f"{label.lower()}: {cut_line(text, _LONGEST_SIDE)}" for label, text in sides]
        told = [*describe_grades(result), *told]
        text = "\n".join([describe_reason(result) or result.outcome, *told])
        title = f"{result.id}: {result.outcome}"
        if result.verdict and result.outcome != "failed":
            title += f", {result.verdict}"
        return _Remark(level, in_repository(folder, result.file), line_of(result), title, text)
    lines = [line.text for line in block.lines]
    if select_renewable([result]):
        lines.append(f"Is the new answer right? {refresh_command([result], typed_of(report))}")
    title = f"{result.id}: {block.path}" + (f" {block.remark}" if block.remark else "")
    file, line = (block.file, block.line) if block.line else (result.file, result.line)
    return _Remark(level, in_repository(folder, file), line, title, "\n".join(lines))


def _command(remark: _Remark) -> str:
    text = clipped(remark.text, _LONGEST, already_masked, counted=False)
    told = {
        "file": remark.file,
        "line": str(remark.line or 1),
        "title": cut_line(remark.title, _LONGEST_TITLE),
    }
    properties = ",".join(f"{name}={runner_property(value)}" for name, value in told.items())
    return f"::{remark.level} {properties}::{runner_message(text)}"


def _notice(text: str) -> str:
    return f"::notice title=baselinekit::{runner_message(text)}"
