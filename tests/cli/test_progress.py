"""The line of progress: what it shows, and that nothing of it is left."""

import re
import signal
from collections import Counter
from pathlib import Path

import pytest
from test_review import in_terminal

from baselinekit.cli.drawing import format_progress

LONG = {"quick": "echo", "slow": "sleep", "slower": "sleep"}
THREE = {"passes": "echo", "fails": "false", "passes-too": "echo"}
LINE = "comparing 3/3, 1 failed, 0:00:00 left"


def write_baselines(folder: Path, programs: dict[str, str]) -> None:
    for name, program in programs.items():
        (folder / f"{name}.yaml").write_text(
            f"id: {name}\ncurrent: {{input: {{argv: ['{program}', '60']}}, execution: {{type: command}}}}\n"
            f"baseline: {{output: {{exit_code: 0}}}}\n"
        )


def shown(sent: str) -> list[str]:
    """What is on a terminal that was sent this: a line may be drawn again from its start."""
    return [re.split(r"\r\x1b\[K", line)[-1].strip("\r") for line in sent.split("\n")]


@pytest.mark.slow
@pytest.mark.parametrize(("term", "is_drawn"), [("xterm", True), ("dumb", False)])
def test_progress_is_a_line_that_is_gone_at_the_end(tmp_path: Path, term: str, is_drawn: bool) -> None:
    write_baselines(tmp_path, THREE)
    with in_terminal(tmp_path, "--allow-exec", ".", command="compare", term=term) as tty:
        assert tty.end() == 1
    assert (f"\r\x1b[K{LINE}\r" in tty.output) is is_drawn, tty.output
    assert not any("comparing" in line for line in shown(tty.output))


def test_format_progress_extrapolates_the_time_that_is_left() -> None:
    line = format_progress("comparing", 10_000, Counter(passed=1_990, error=7, failed=3), 60.0)
    assert line == "comparing 2,000/10,000, 3 failed, 7 error, 0:04:00 left"


@pytest.mark.slow
def test_compare_interrupted_leaves_its_report_and_no_line(tmp_path: Path) -> None:
    write_baselines(tmp_path, LONG)
    with in_terminal(tmp_path, "--allow-exec", ".", command="compare") as tty:
        tty.until("1/3")
        tty.child.send_signal(signal.SIGINT)
        assert tty.end() == 130
    assert [line.split(" in ")[0] for line in shown(tty.output)] == [
        "2 skipped, 1 passed",
        "next: baselinekit compare . --lf --allow-exec",
        "",
    ]
