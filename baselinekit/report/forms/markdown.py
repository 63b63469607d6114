"""Markdown for a comment on a pull request: what failed, where it differs, and how to go on.

A comment has a size limit, so whole parts are left out once it is reached, and counted. The summary of a step
is the same page with another limit."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from baselinekit.escape import escape_ci_commands, markdown_block, markdown_code, markdown_html, markdown_text
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result
from baselinekit.report.blocks import (
    MOST_ROWS,
    Block,
    Cell,
    CodeLine,
    Diff,
    Heading,
    Items,
    Note,
    Table,
    table,
)
from baselinekit.report.details import result_blocks
from baselinekit.report.differences import Bounds, share
from baselinekit.report.evals.evalreport import check_lines, recommendation_blocks
from baselinekit.report.next_commands import refresh_command, select_renewable, show_commands, typed_of
from baselinekit.report.sections import page_blocks, suite_title
from baselinekit.report.values import cut_line
from baselinekit.report.wording import (
    collect_warnings,
    count_differences,
    describe_reason,
    format_place,
    headline,
    in_repository,
)
from baselinekit.structs import replace
from baselinekit.values.texts import count_noun

LONGEST = 60_000
"""Bytes of a comment."""

_RESERVED = 1_000
_MOST_OPEN = 3
_LONGEST_CELL = 200
_LONGEST_NOTE = 2_000
_MOST_NAMED = 50
_BOUNDS = [Bounds(number, number) for number in (50, 40, 30, 20, 10, 5, 2, 0)]
"""How much of a result is shown, if it fits."""


def render(report: Report) -> str:
    return format_step_summary(report, LONGEST)


class _Page:
    """A text that takes parts until it is full."""

    def __init__(self, longest: int):
        self.text, self.room = "", longest - _RESERVED

    def add(self, part: str) -> bool:
        size = len(part.encode("utf-8", "backslashreplace"))
        fits = 0 < size <= self.room
        if fits:
            self.text += part
            self.room -= size
        return fits

    def close(self, part: str) -> str:
        """Add the last part, for which room is reserved, and return the text."""
        self.room += _RESERVED
        self.add(part)
        return self.text


def format_step_summary(report: Report, room: int) -> str:
    """Format as much as fits into the given number of bytes."""
    page = _Page(room)
    report = _from_repository(report)
    page.add(f"## baselinekit: {headline(report)}\n")
    if report.suite is not None:
        facts = (suite_title(report), report.id, report.started, report.environment.get("model"))
        page.add(f"\n{markdown_text(cut_line(', '.join(str(fact) for fact in facts if fact)))}\n")
    for warning in collect_warnings(report)[:10]:
        page.add(f"\n> {markdown_text(cut_line(warning))}\n")
    for block in page_blocks(report):
        page.add(format_blocks([block]))
    notable = sorted(
        (result for result in report.results if result.outcome != "passed"),
        key=lambda result: OUTCOMES.index(result.outcome),
    )
    shared, unshared_results = share(notable)
    pairs = [
        (result, unshared)
        for result, unshared in zip(notable, unshared_results, strict=True)
        if unshared is not None
    ]
    if notable:
        page.add(format_blocks([_table([result for result, _ in pairs], len(notable) - len(pairs))]))
    for line in check_lines([result for result in report.results if result.case is not None], "###", 0):
        page.add(f"{line}\n")
    page.add(format_blocks(recommendation_blocks(report)))
    for number, change in enumerate(shared):
        path = markdown_html(cut_line(change.diff.path, _LONGEST_CELL))
        blocks = (change.diff, Note(change.names(_MOST_NAMED)))
        title = f"<b>{change.headline}</b> <code>{path}</code>"
        if not page.add(_folded(title, blocks, number < _MOST_OPEN)):
            break
    count = 0
    for result, unshared in pairs:
        is_open = len(pairs) + len(shared) <= _MOST_OPEN
        if result.outcome != "skipped" and not any(
            page.add(part) for part in _sections(result, unshared, is_open)
        ):
            break
        count += 1
    ending = ""
    if count < len(pairs):
        ending = f"\n*{len(pairs) - count:,} more are not shown here, because a comment has a size limit.*\n"
    return page.close(ending + format_blocks(_commands(report)))


def _commands(report: Report) -> Iterator[CodeLine]:
    """Yield how to go on after a failure."""
    failed = [result for result in report.results if result.outcome == "failed"]
    typed = typed_of(report)
    if failed:
        yield from (CodeLine(command, "To see it:") for command in show_commands(failed, typed=typed))
        if renewable := select_renewable(failed):
            yield CodeLine(refresh_command(renewable, typed), "Is the new answer right?")
        yield from (CodeLine(file, "Written by this job:") for file in typed.results)


def _from_repository(report: Report) -> Report:
    """Return the report with files named from the root of the repository, as a reviewer finds them."""

    def moved(result: Result) -> Result:
        differences = (
            replace(spot, file=in_repository(report.folder, spot.file) if spot.file else "")
            for spot in result.differences
        )
        file = in_repository(report.folder, result.file)
        return replace(result, file=file, differences=tuple(differences))

    against = report.against
    if against is not None:
        changes = (
            replace(change, file=in_repository(report.folder, change.file)) for change in against.changes
        )
        against = replace(against, changes=tuple(changes))
    return replace(report, results=tuple(map(moved, report.results)), against=against)


def _table(results: list[Result], shared_count: int) -> Table:
    """Return the table of results. `shared_count`: the results with only shared changes, which are shown
    below."""
    kind = "case" if all(result.case is not None for result in results) else "baseline"
    rows: list[tuple[str | Cell, ...]] = []
    for result in results:
        number, reason = count_differences(result), describe_reason(result).partition("\n")[0]
        summary = count_noun(number, "difference") if number else cut_line(reason, 160)
        place = Cell(format_place(result), is_code=True)
        rows.append((result.outcome, Cell(result.id, is_code=True), result.criticality or "", summary, place))
    if shared_count:
        what = "only what several baselines have in common, below"
        rows.insert(0, ("failed", f"{shared_count:,} {kind}s", "", what, ""))
    return table(("outcome", kind, "criticality", "what", "where"), rows)


def _sections(result: Result, unshared: Result, is_open: bool) -> Iterator[str]:
    """Yield the section of one result, each time shorter."""
    name = f" {markdown_html(cut_line(result.name, _LONGEST_CELL))}" if result.name else ""
    id = markdown_html(cut_line(result.id, _LONGEST_CELL))
    title = f"<b>{result.outcome}</b> <code>{id}</code>{name}"
    for bounds in _BOUNDS:
        yield _folded(title, result_blocks(result, unshared, bounds), is_open)


def _folded(title: str, blocks: Iterable[Block], is_open: bool) -> str:
    head = f"\n<details{' open' * is_open}><summary>{title}</summary>\n"
    return f"{head}{format_blocks(blocks)}\n</details>\n"


# Blocks as Markdown.


def format_blocks(blocks: Iterable[Block]) -> str:
    """Format blocks with an empty line before each. Differences one after the other share a fence."""
    text = ""
    for is_diff, group in groupby(blocks, key=lambda block: isinstance(block, Diff)):
        neighbours = [*group]
        parts = [_format_diffs(neighbours)] if is_diff else map(_format_block, neighbours)
        text += "".join(f"\n{part}\n" for part in parts)
    return text


def _format_diffs(diffs: Iterable[Block]) -> str:
    lines = []
    for diff in diffs:
        assert isinstance(diff, Diff)
        lines.append(f"@@ {'  '.join(filter(None, (diff.path, diff.remark, diff.place)))} @@")
        lines += [line.text if line.tone != "dim" else f"  {line.text}" for line in diff.lines]
    return markdown_block("\n".join(lines), "diff")


def _format_block(block: Block) -> str:
    match block:
        case Heading():
            return f"### {markdown_text(cut_line(block.text))}"
        case Note():
            return escape_ci_commands(markdown_text(cut_line(block.text, _LONGEST_NOTE)))
        case CodeLine():
            return _words_and_code(block.words, block.text)
        case Items():
            lines = [
                f"{number}. {_words_and_code(*item)}"
                for number, item in enumerate(block.items[:MOST_ROWS], 1)
            ]
            return "\n".join([*lines, *_more(block.items)])
        case Table():
            return _format_table(block)
    raise AssertionError(block)


def _words_and_code(words: str, code: str) -> str:
    parts = [markdown_text(cut_line(words)) if words else "", markdown_code(cut_line(code)) if code else ""]
    return " ".join(filter(None, parts))


def _format_table(table: Table) -> str:
    lines = [f"{markdown_text(table.caption)}\n"] if table.caption else []
    lines.append(f"| {' | '.join(map(markdown_text, table.heads))} |")
    lines.append("|---|" + ("---:|" if table.figures else "---|") * (len(table.heads) - 1))
    lines += [f"| {' | '.join(map(_format_cell, row))} |" for row in table.rows[:MOST_ROWS]]
    return "\n".join([*lines, *_more(table.rows)])


def _format_cell(cell: Cell) -> str:
    if cell.is_code and cell.text:
        return markdown_code(cut_line(cell.text, _LONGEST_CELL))
    return "<br>".join(markdown_text(cut_line(line)) for line in cell.text.split("\n"))


def _more(parts: Sequence[object]) -> list[str]:
    return [f"\n… and {len(parts) - MOST_ROWS:,} more"] if len(parts) > MOST_ROWS else []
