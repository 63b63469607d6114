"""GitHub annotations: the differences, at the line of the expected value in the changed files of a pull
request.

A runner shows ten of a kind for each step and drops further ones silently, so those are counted here, in one
notice. Every result has its first annotation before any has its second."""

from collections.abc import Iterator, Sequence
from posixpath import join, normpath

from baselinekit.errors import Problem
from baselinekit.escape import runner_message, runner_property
from baselinekit.model.results import Report, Result
from baselinekit.report.blocks import Diff
from baselinekit.report.details import line_of, plain_text
from baselinekit.report.differences import diffs
from baselinekit.report.next_commands import review_command, select_renewable, typed_of
from baselinekit.report.sections import weakened_results
from baselinekit.report.values import cut_line
from baselinekit.report.wording import count_differences, from_repository, headline
from baselinekit.values.texts import mask_and_clip, no_mask

MOST = 10
"""Annotations of a kind that a runner shows for a step."""

_LONGEST = 3_000
_LONGEST_TITLE = 200


def render(report: Report) -> str:
    """Return the commands, one per line; nothing if all is well."""
    return "".join(f"{command}\n" for command in _commands(from_repository(report)))


def format_problems(problems: Sequence[Problem], folder: str = "") -> str:
    """Format the problems of the files themselves, each at its place."""
    commands = []
    for problem in problems:
        if place := problem.place:
            text, file = f"{problem.message}: {problem.hint}", normpath(join(folder, place.file))
            commands.append(_command("error", file, place.line, problem.code, text))
    if left_out := len(commands[MOST:]):
        commands[MOST:] = [_notice(f"{left_out:,} more problems are in the log of this step")]
    return "".join(f"{command}\n" for command in commands)


def _commands(report: Report) -> Iterator[str]:
    results = [*report.results, *weakened_results(report)]
    hidden_count = 0
    for outcomes, level in ((("failed", "error"), "error"), (("unscored",), "warning")):
        chosen = [result for result in results if result.outcome in outcomes]
        # with more results, none would have a second diff
        parts: list[list[Diff | None]] = [[*diffs(result)[0]] or [None] for result in chosen[:MOST]]
        turns = sorted((turn, number) for number, part in enumerate(parts) for turn in range(len(part)))
        hidden_count += sum(max(1, count_differences(result)) for result in chosen)
        for number, turn in sorted((number, turn) for turn, number in turns[:MOST]):
            diff = parts[number][turn]
            hidden_count -= diff.count if diff else 1
            yield _annotation(report, level, chosen[number], diff)
    if hidden_count > 0:
        yield _notice(f"{hidden_count:,} more are not annotated: {headline(report)}")


def _annotation(report: Report, level: str, result: Result, diff: Diff | None) -> str:
    if diff is None:
        title = f"{result.id}: {result.outcome}"
        if result.verdict and result.outcome != "failed":
            title += f", {result.verdict}"
        return _command(level, result.file, line_of(result), title, plain_text(result) or result.outcome)
    lines = [line.text for line in diff.lines]
    if select_renewable([result]):
        lines.append(f"Is the new answer right? {review_command([result], typed_of(report))}")
    title = f"{result.id}: {diff.path} {diff.remark}".rstrip()
    file, line = (diff.file, diff.line) if diff.line else (result.file, result.line)
    return _command(level, file, line, title, "\n".join(lines))


def _command(level: str, file: str, line: int | None, title: str, text: str) -> str:
    values = {"file": file, "line": str(line or 1), "title": cut_line(title, _LONGEST_TITLE)}
    properties = ",".join(f"{name}={runner_property(value)}" for name, value in values.items())
    text = mask_and_clip(text, _LONGEST, no_mask, counted=False)
    return f"::{level} {properties}::{runner_message(text)}"


def _notice(text: str) -> str:
    return f"::notice title=baselinekit::{runner_message(text)}"
