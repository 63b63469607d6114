"""Our own baselines: `baselines/` is replayed against the demo service and our own command line."""

import shlex
from pathlib import Path

import pytest
from console import ROOT, console

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "command",
    [
        "doctor --var demo_url={url}",
        "compare --base-url {url} --var demo_url={url} --no-record -o results.json",
    ],
)
def test_own_baselines_pass(command: str, tmp_path: Path) -> None:
    with console(tmp_path / "x", "demo") as terminal:
        filled = command.replace("results.json", shlex.quote(str(terminal.folder / "results.json")))
        ran = terminal.run(f"cd {shlex.quote(str(ROOT))} && CI=true baselinekit {filled}", together=True)
    assert ran.exit_code == 0, ran.stdout
