"""The differences of a result as plain lines, as they are shown in a terminal; of an eval case without any,
why it did not pass."""

from collections.abc import Iterator

from baselinekit.model.results import Result
from baselinekit.report.differences.blocks import blocks
from baselinekit.report.wording.words import unshown


def lines(result: Result) -> Iterator[str]:
    shown, left_out = blocks(result)
    for block in shown:
        yield "  ".join(part for part in (block.path, block.remark, block.place) if part)
        yield from (f"  {line.text}" for line in block.lines)
    if left_out:
        yield unshown(left_out)
    if result.case is not None and not shown:
        yield from result.explanation
