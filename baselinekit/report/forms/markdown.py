"""Markdown for a comment on a pull request: what failed, where it differs, and how to go on.

A comment has a size limit, so whole parts are left out once it is reached, and counted. The summary of a step
is the same page with another limit."""

from collections.abc import Iterable, Iterator, Sequence

from baselinekit.escape import escape_ci_commands, markdown_block, markdown_code, markdown_html, markdown_text
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result
from baselinekit.report import blocks, wording
from baselinekit.report.blocks import LONGEST_NOTE, Block, Cell, Diffs, Folded, Heading, Note, Table
from baselinekit.report.details import page_blocks
from baselinekit.report.differences import share
from baselinekit.report.evalreport import recommendation_blocks
from baselinekit.report.next_commands import review_command, select_renewable, show_commands, typed_of
from baselinekit.report.sections import run_blocks, suite_title
from baselinekit.report.values import cut_line
from baselinekit.values.texts import count_noun

LONGEST = 60_000
"""Bytes of a comment."""

_RESERVED = 1_000
_MOST_OPEN = 3
_LONGEST_CELL = 200
_MOST_NAMED = 50
_SIZES = (50, 40, 30, 20, 10, 5, 2, 0)
"""How much of a result is shown, if it fits."""


def render(report: Report) -> str:
    return format_step_summary(report, LONGEST)


class _Page:
    """A text that takes parts until it is full. Room is reserved for the last one."""

    def __init__(self, longest: int):
        self.text, self.room = "", longest - _RESERVED

    def add(self, part: str, reserved: int = 0) -> bool:
        self.room += reserved
        size = len(part.encode("utf-8", "backslashreplace"))
        fits = 0 < size <= self.room
        if fits:
            self.text += part
            self.room -= size
        return fits


def format_step_summary(report: Report, room: int) -> str:
    """Format as much as fits into the given number of bytes."""
    page, report = _Page(room), wording.from_repository(report)
    page.add(f"## baselinekit: {wording.headline(report)}\n")
    if report.suite is not None:
        facts = (suite_title(report), report.id, report.started, report.environment.get("model"))
        page.add(f"\n{markdown_text(cut_line(', '.join(str(fact) for fact in facts if fact)))}\n")
    for warning in wording.collect_warnings(report)[:10]:
        page.add(f"\n> {markdown_text(cut_line(warning))}\n")
    for block in run_blocks(report):
        page.add(format_blocks([block]))
    notable = [result for outcome in OUTCOMES[:-1] for result in report.results if result.outcome == outcome]
    shared, unshared_results = share(notable)
    paired = zip(notable, unshared_results, strict=True)
    pairs = [(result, unshared) for result, unshared in paired if unshared is not None]
    if notable:
        page.add(format_blocks([_table([result for result, _ in pairs], len(notable) - len(pairs))]))
    page.add(format_blocks(recommendation_blocks(report)))
    for number, change in enumerate(shared):
        path = markdown_html(cut_line(change.diff.path, _LONGEST_CELL))
        title = f"<b>{change.headline}</b> <code>{path}</code>"
        if not page.add(_folded(title, change.blocks(_MOST_NAMED), number < _MOST_OPEN)):
            break
    count = 0
    for result, unshared in pairs:
        name = f" {markdown_html(cut_line(result.name, _LONGEST_CELL))}" if result.name else ""
        id = markdown_html(cut_line(result.id, _LONGEST_CELL))
        title = f"<b>{result.outcome}</b> <code>{id}</code>{name}"
        is_open = len(pairs) + len(shared) <= _MOST_OPEN
        # each time shorter
        sections = (_folded(title, page_blocks(result, unshared, size), is_open) for size in _SIZES)
        if result.outcome != "skipped" and not any(map(page.add, sections)):
            break
        count += 1
    ending = ""
    if count < len(pairs):
        ending = f"\n*{len(pairs) - count:,} more are not shown here, because a comment has a size limit.*\n"
    page.add(ending + format_blocks(_commands(report)), _RESERVED)
    return page.text


def _commands(report: Report) -> Iterator[Note]:
    """Yield how to go on after a failure."""
    failed = [result for result in report.results if result.outcome == "failed"]
    typed = typed_of(report)
    if failed:
        yield from (Note("To see it:", code=command) for command in show_commands(failed, typed=typed))
        if renewable := select_renewable(failed):
            yield Note("Is the new answer right?", code=review_command(renewable, typed))
        yield from (Note("Written by this job:", code=file) for file in typed.results)


def _table(results: list[Result], shared_count: int) -> Table:
    """Return the table of results. `shared_count`: the results with only shared changes, which are shown
    below."""
    kind = "case" if all(result.case is not None for result in results) else "baseline"
    rows: list[tuple[str | Cell, ...]] = []
    for result in results:
        number, reason = wording.count_differences(result), wording.describe_reason(result).partition("\n")[0]
        summary = count_noun(number, "difference") if number else cut_line(reason, 160)
        place = Cell(wording.format_place(result), is_code=True)
        rows.append((result.outcome, Cell(result.id, is_code=True), result.criticality or "", summary, place))
    if shared_count:
        what = "only what several baselines have in common, below"
        rows.insert(0, ("failed", f"{shared_count:,} {kind}s", "", what, ""))
    return blocks.table(("outcome", kind, "criticality", "what", "where"), rows)


def _folded(title: str, blocks: Iterable[Block], is_open: bool) -> str:
    head = f"\n<details{' open' * is_open}><summary>{title}</summary>\n"
    return f"{head}{format_blocks(blocks)}\n</details>\n"


# Blocks as Markdown.


def format_blocks(blocks: Iterable[Block]) -> str:
    """Format blocks with an empty line before each. What only some readers want to see is left out."""
    return "".join(f"\n{_format_block(block)}\n" for block in blocks if not isinstance(block, Folded))


def _format_block(block: Block) -> str:
    match block:
        case Heading():
            return f"### {markdown_text(cut_line(block.text))}"
        case Note():
            words = markdown_text(cut_line(block.text, LONGEST_NOTE)) if block.text else ""
            code = markdown_code(cut_line(block.code)) if block.code else ""
            return escape_ci_commands(" ".join(filter(None, (words, code))))
        case Diffs():
            lines = []
            for diff in block.diffs:
                lines.append(f"@@ {'  '.join(filter(None, (diff.path, diff.remark, diff.place)))} @@")
                lines += [line.text if line.tone != "dim" else f"  {line.text}" for line in diff.lines]
            return markdown_block("\n".join(lines), "diff")
        case Table() if not any(block.heads):
            numbered = enumerate(block.rows[: blocks.MOST_ROWS], 1)
            lines = [f"{n}. {' '.join(filter(None, map(_format_cell, row)))}" for n, row in numbered]
            return "\n".join([*lines, *_more(block.rows)])
        case Table():
            lines = [f"| {' | '.join(map(markdown_text, block.heads))} |"]
            lines.append("|---|" + ("---:|" if block.figures else "---|") * (len(block.heads) - 1))
            lines += [f"| {' | '.join(map(_format_cell, row))} |" for row in block.rows[: blocks.MOST_ROWS]]
            return "\n".join([*lines, *_more(block.rows)])
    raise AssertionError(block)


def _format_cell(cell: Cell) -> str:
    if cell.is_code and cell.text:
        return markdown_code(cut_line(cell.text, _LONGEST_CELL))
    return "<br>".join(markdown_text(cut_line(line)) for line in cell.text.split("\n"))


def _more(parts: Sequence[object]) -> list[str]:
    return [f"\n… and {len(parts) - blocks.MOST_ROWS:,} more"] if len(parts) > blocks.MOST_ROWS else []
