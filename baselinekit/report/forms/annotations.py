"""GitHub annotations: the differences, at the line of the expected value in the changed files of a pull
request.

A runner shows ten of a kind for each step and drops further ones silently, so those are counted here, in one
notice. Every result has its first annotation before any has its second."""

from collections.abc import Iterator, Sequence
from itertools import islice

from baselinekit.errors import Problem
from baselinekit.escape import runner_message, runner_property
from baselinekit.model.results import Report, Result
from baselinekit.report.blocks import Diff
from baselinekit.report.differences import diffs
from baselinekit.report.evals.evalreport import describe_grades, evidence, line_of
from baselinekit.report.next_commands import refresh_command, select_renewable, typed_of
from baselinekit.report.sections import describe_revised
from baselinekit.report.values import cut_line
from baselinekit.report.wording import count_differences, describe_reason, headline, in_repository
from baselinekit.structs import Struct
from baselinekit.values.texts import mask_and_clip, no_mask

MOST = 10
"""Annotations of a kind that a runner shows for a step."""

_LONGEST = 3_000
_LONGEST_TITLE = 200
_LONGEST_SIDE = 500


class _Remark(Struct):
    level: str
    file: str
    line: int | None
    title: str
    text: str


def render(report: Report) -> str:
    """Return the commands, one per line; nothing if all is well."""
    return "".join(f"{command}\n" for command in _commands(report))


def format_problems(problems: Sequence[Problem], folder: str = "") -> str:
    """Format the problems of the files themselves, each at its place."""
    remarks = []
    for problem in problems:
        if place := problem.place:
            text, file = f"{problem.message}: {problem.hint}", in_repository(folder, place.file)
            remarks.append(_Remark("error", file, place.line, problem.code, text))
    commands = [_command(remark) for remark in remarks[:MOST]]
    if len(remarks) > MOST:
        commands.append(_notice(f"{len(remarks) - MOST:,} more problems are in the log of this step"))
    return "".join(f"{command}\n" for command in commands)


def _commands(report: Report) -> Iterator[str]:
    failed = [result for result in report.results if result.outcome in ("failed", "error")]
    undecided = [result for result in report.results if result.outcome == "unscored"]
    hidden_count = 0
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
        annotated = sorted(islice(_take_turns(results), MOST), key=lambda pair: pair[0])
        for number, diff in annotated:
            yield _command(_remark(report, level, results[number], diff))
        shown_count = sum(diff.count if diff else 1 for _, diff in annotated)
        hidden_count += sum(max(1, count_differences(result)) for result in results) - shown_count
        remarks = [remark for remark in weakened if remark.level == level]
        yield from map(_command, remarks[: MOST - len(annotated)])
        hidden_count += len(remarks[MOST - len(annotated) :])
    if hidden_count > 0:
        yield _notice(f"{hidden_count:,} more are not annotated: {headline(report)}")


def _take_turns(results: Sequence[Result]) -> Iterator[tuple[int, Diff | None]]:
    """Yield the first difference of each result, then the second of each, and so on. A result without any
    yields None once."""
    # with more results, none would have a second diff
    diffs_of_results = [diffs(result)[0] for result in results[:MOST]]
    for turn in range(max(map(len, diffs_of_results), default=0) or 1):
        for number, result_diffs in enumerate(diffs_of_results):
            if turn < max(1, len(result_diffs)):
                yield number, result_diffs[turn] if result_diffs else None


def _remark(report: Report, level: str, result: Result, diff: Diff | None) -> _Remark:
    folder = report.folder
    if diff is None:
        sides = evidence(result) if result.case is not None else []
        details = [f"{label.lower()}: {cut_line(text, _LONGEST_SIDE)}" for label, text in sides]
        details = [*describe_grades(result), *details]
        text = "\n".join([describe_reason(result) or result.outcome, *details])
        title = f"{result.id}: {result.outcome}"
        if result.verdict and result.outcome != "failed":
            title += f", {result.verdict}"
        return _Remark(level, in_repository(folder, result.file), line_of(result), title, text)
    lines = [line.text for line in diff.lines]
    if select_renewable([result]):
        lines.append(f"Is the new answer right? {refresh_command([result], typed_of(report))}")
    title = f"{result.id}: {diff.path}" + (f" {diff.remark}" if diff.remark else "")
    file, line = (diff.file, diff.line) if diff.line else (result.file, result.line)
    return _Remark(level, in_repository(folder, file), line, title, "\n".join(lines))


def _command(remark: _Remark) -> str:
    text = mask_and_clip(remark.text, _LONGEST, no_mask, counted=False)
    values = {
        "file": remark.file,
        "line": str(remark.line or 1),
        "title": cut_line(remark.title, _LONGEST_TITLE),
    }
    properties = ",".join(f"{name}={runner_property(value)}" for name, value in values.items())
    return f"::{remark.level} {properties}::{runner_message(text)}"


def _notice(text: str) -> str:
    return f"::notice title=baselinekit::{runner_message(text)}"
