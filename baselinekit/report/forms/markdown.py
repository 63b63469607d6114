"""Markdown for a comment on a pull request: what failed, where it differs, and how to go on.

A comment has a size limit, so whole parts are left out once it is reached, and counted. The summary of a step
is the same page with another limit, counted in bytes."""

from collections.abc import Callable

from baselinekit.escape import markdown_block, markdown_code, markdown_html, markdown_text
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result
from baselinekit.report import beside
from baselinekit.report.differences import SharedChange, blocks, format_counts, share
from baselinekit.report.evals import markdown as evalmarkdown
from baselinekit.report.evals.evalreport import describe_parts, evidence
from baselinekit.report.next_commands import refresh_command, select_renewable, show_commands, typed_of
from baselinekit.report.values import cut_line, first_lines, short
from baselinekit.report.wording import (
    collect_warnings,
    count_differences,
    describe_drift,
    describe_reason,
    describe_unshown,
    format_place,
    headline,
    in_repository,
)
from baselinekit.structs import replace
from baselinekit.values.texts import count_noun

LONGEST = 60_000
_RESERVED = 1_000
_MOST_ROWS = 100
_MOST_OPEN = 3
_LONGEST_CELL = 200
_MOST_CASES = 20
_MOST_PARTS = 20
_MOST_LINES = 20
_MOST_NAMED = 50
_SIGNS = {"Expected": "-", "Actual": "+"}


def render(report: Report) -> str:
    return _page(report, _Page(LONGEST, len))


def format_step_summary(report: Report, room: int) -> str:
    """Format the summary of a step: as much as fits into so many bytes."""
    return _page(report, _Page(room, lambda text: len(text.encode("utf-8", "backslashreplace"))))


class _Page:
    """A text that takes parts until it is full."""

    def __init__(self, longest: int, size: Callable[[str], int]):
        self.text, self.room, self._size = "", longest - _RESERVED, size

    def fits(self, part: str) -> bool:
        return self._size(part) <= self.room

    def add(self, part: str) -> bool:
        fits = bool(part) and self.fits(part)
        if fits:
            self.text += part
            self.room -= self._size(part)
        return fits

    def close(self, part: str) -> str:
        """Add the last part, for which room is reserved, and return the text."""
        self.room += _RESERVED
        self.add(part)
        return self.text


def _page(report: Report, page: _Page) -> str:
    page.add(f"## baselinekit: {headline(report)}\n")
    for warning in collect_warnings(report)[:10]:
        page.add(f"\n> {markdown_text(cut_line(warning))}\n")
    page.add(beside.weakened_markdown(report.against, report.folder))
    page.add(evalmarkdown.overview(report, _MOST_CASES, "###"))
    notable = sorted(
        (_from_repository(report.folder, result) for result in report.results if result.outcome != "passed"),
        key=lambda result: OUTCOMES.index(result.outcome),
    )
    shared, unshared_results = share(notable)
    pairs = [
        (result, unshared)
        for result, unshared in zip(notable, unshared_results, strict=True)
        if unshared is not None
    ]
    if notable:
        page.add(_table([result for result, _ in pairs], len(notable) - len(pairs)))
    for number, change in enumerate(shared):
        if not page.add(shared_section(change, number < _MOST_OPEN)):
            break
    count = 0
    for result, unshared in pairs:
        section = _section(result, unshared, page, len(pairs) + len(shared) <= _MOST_OPEN)
        if result.outcome != "skipped" and not page.add(section):
            break
        count += 1
    ending = ""
    if count < len(pairs):
        ending = f"\n*{len(pairs) - count:,} more are not shown here, because a comment has a size limit.*\n"
    if failed := [result for result in report.results if result.outcome == "failed"]:
        renewable = select_renewable(failed)
        typed = typed_of(report)
        ending += f"\nTo see it: {', '.join(map(markdown_code, show_commands(failed, typed=typed)))}."
        ending += (
            f" Is the new answer right? {markdown_code(refresh_command(renewable, typed))}"
            if renewable
            else ""
        )
        ending += (
            f" ({', '.join(map(markdown_code, typed.results))} is what this job has written.)\n"
            if typed.results
            else "\n"
        )
    return page.close(ending)


def _from_repository(folder: str, result: Result) -> Result:
    """Return a result whose files are named from the root of the repository, as a reviewer finds them."""
    differences = [
        replace(spot, file=in_repository(folder, spot.file) if spot.file else "")
        for spot in result.differences
    ]
    return replace(result, file=in_repository(folder, result.file), differences=tuple(differences))


def _table(results: list[Result], shared_count: int) -> str:
    """Return the table of results. `shared_count`: the results with only shared changes, which are shown
    below."""
    if not results:
        return ""
    kind = "case" if all(result.case is not None for result in results) else "baseline"
    lines = ["", f"| outcome | {kind} | what | where |", "|---|---|---|---|"]
    for result in results[:_MOST_ROWS]:
        number, reason = count_differences(result), describe_reason(result).partition("\n")[0]
        summary = count_noun(number, "difference") if number else markdown_text(cut_line(reason, 160))
        baseline = markdown_code(cut_line(result.id, _LONGEST_CELL))
        if result.criticality:
            baseline += f" ({markdown_text(result.criticality)})"
        place = markdown_code(cut_line(format_place(result), _LONGEST_CELL))
        lines.append(f"| {result.outcome} | {baseline} | {summary} | {place} |")
    if len(results) > _MOST_ROWS:
        lines.append(f"| | | and {len(results) - _MOST_ROWS:,} more | |")
    if shared_count:
        lines.append(
            f"| failed | {shared_count:,} more | only what several baselines have in common, below | |"
        )
    return "\n".join(lines) + "\n"


def shared_section(change: SharedChange, is_open: bool) -> str:
    """Return a change that several baselines share, and their names."""
    path = f"<code>{markdown_html(cut_line(change.path, _LONGEST_CELL))}</code>"
    head = f"\n<details{' open' * is_open}><summary><b>{change.headline}</b> {path}</summary>\n\n"
    texts = [f"@@ {'  '.join(part for part in (change.path, change.remark) if part)} @@"]
    texts += [line.text if line.tone != "dim" else f"  {line.text}" for line in change.lines]
    body = markdown_block("\n".join(texts), "diff")
    return f"{head}{body}\n\n{markdown_text(cut_line(change.names(_MOST_NAMED), 4_000))}\n\n</details>\n"


def _section(full_result: Result, result: Result, page: _Page, is_open: bool) -> str:
    """Return one result, folded, with as much as fits; nothing if not even its head fits. Some differences of
    the `full_result` may be shown above."""
    name = f" {markdown_html(cut_line(result.name, _LONGEST_CELL))}" if result.name else ""
    id = markdown_html(cut_line(result.id, _LONGEST_CELL))
    title = f"<b>{result.outcome}</b> <code>{id}</code>{name}"
    head = f"\n<details{' open' * is_open}><summary>{title}</summary>\n\n"
    if result.target:
        head += f"{markdown_code(cut_line(result.target))}\n\n"
    if full_result is not result:
        head += f"{format_counts(full_result, result)}\n\n"
    if reason := [markdown_text(cut_line(line)) for line in describe_reason(result).splitlines()[:20]]:
        head += "  \n".join(reason) + "\n\n"
    parts = describe_parts(result)
    if lines := [f"- {markdown_text(cut_line(line))}" for line in parts[:_MOST_PARTS]]:
        head += "\n".join(lines) + "\n\n"
    changed, commits = describe_drift(result)
    drift = [
        f"{markdown_text(short(name))} {markdown_code(short(was))} → {markdown_code(short(now))}"
        for name, was, now in changed[:10]
    ]
    drift += [markdown_text(commits)] if commits else []
    head += f"Changed since capture: {', '.join(drift)}\n\n" if drift else ""
    tail = "".join(f"\n> {markdown_text(cut_line(note))}\n" for note in result.notes[:5])
    tail += "\n</details>\n"
    if not page.fits(head + tail):
        return ""
    return head + _differences(result, page, head + tail) + tail


def _differences(result: Result, page: _Page, around: str) -> str:
    """Return as many blocks as fit, and how many differences are left out."""
    shown_blocks, left_out = blocks(result)
    texts = [
        "\n".join(
            [
                f"@@ {'  '.join(part for part in (block.path, block.remark, block.place) if part)} @@",
                *(line.text if line.tone != "dim" else f"  {line.text}" for line in block.lines),
            ]
        )
        for block in shown_blocks
    ] or _side_texts(result)
    fitting = len(texts)
    while True:
        hidden_count = left_out + sum(block.count for block in shown_blocks[fitting:])
        text = f"{markdown_block(chr(10).join(texts[:fitting]), 'diff')}\n" if fitting else ""
        text += f"\n{describe_unshown(hidden_count)}\n" if hidden_count else ""
        if page.fits(around + text):
            return text
        if not fitting:
            return ""
        fitting = fitting * 3 // 4


def _side_texts(result: Result) -> list[str]:
    """Return the expected and actual texts of an eval case, shortened."""
    evidence_texts = evidence(result) if result.case is not None and result.outcome != "passed" else []
    sides = []
    for label, text in evidence_texts:
        sign = _SIGNS.get(label, " ")
        lines = first_lines(text, _MOST_LINES, 300) or [""]
        side = [f"{sign} {line}" for line in lines[:_MOST_LINES]]
        side += [f"  {line}" for line in lines[_MOST_LINES:]]
        sides.append("\n".join([f"@@ {cut_line(label)} @@", *side]))
    return sides
