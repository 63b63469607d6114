"""Ten thousand generated programs, a few of them at once: nothing of them is left, and whoever runs them does
not grow. BASELINEKIT_THOROUGH=1 runs all, else it is forty."""

import gc
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from baselinekit.clients.programs.process import Processes
from baselinekit.graders.by_function import judge_calls
from baselinekit.model.grades import Call, FunctionOutput
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.placeholders.table import RegexBudget
from baselinekit.sandbox.sandbox import Sandbox, bubblewrap_here
from baselinekit.values.texts import no_mask

pytestmark = pytest.mark.slow

COUNT = 10_000 if os.environ.get("BASELINEKIT_THOROUGH") else 40
METHOD = FunctionOutput("f", [Call(2, [1])])
HONEST = "def f(n): return n + 1"
OTHERS = (
    HONEST,
    "import os, time\ndef f(n):\n    if not os.fork(): time.sleep(600)\n    return n + 1",
    "import tempfile\ndef f(n): tempfile.mkstemp(); print('x' * 100_000); return n + 1",
    "import os\ndef f(n): os._exit(0)",
    "def f(n): return 'x' * 900_000",
)


def state() -> dict[str, object]:
    """What would grow."""
    gc.collect()
    resident = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    assert resident is not None
    me = os.getpid()
    children = Path(f"/proc/self/task/{me}/children").read_text().split()
    return {
        "megabytes": int(resident[1]) / 1024,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "children": sorted(int(pid) for pid in children),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="what is counted is told by /proc")
@pytest.mark.parametrize("walled", [True, False], ids=["walls", "plain"])
def test_f38_ten_thousand_programs_leave_nothing_behind(walled: bool, tmp_path: Path) -> None:
    if walled and bubblewrap_here() is None:
        pytest.skip("there is no bubblewrap here")
    processes = Processes()
    folders: set[str] = set()

    def execute(run: ProcessSpec) -> ProcessResult:
        folders.add(run.cwd)
        return processes.execute(run)

    sandbox = Sandbox(execute) if walled else Sandbox(execute, allowed=True, walls=lambda: None)

    def one(number: int) -> bool:
        code = OTHERS[number // 10 % len(OTHERS)] if number % 10 == 0 else HONEST
        return not judge_calls(METHOD, sandbox.run(METHOD, code), RegexBudget(), no_mask)[1]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(COUNT // 10)))
        before = state()
        passed = [
            right  # a hundred at a time: what waits to be run would be counted as well
            for begin in range(0, COUNT, 100)
            for right in pool.map(one, range(begin, min(begin + 100, COUNT)))
        ]
        after = state()
    assert all(right for number, right in enumerate(passed) if number % 10), "the honest ones"
    assert after["children"] == before["children"]
    assert after["descriptors"] == before["descriptors"]
    assert [folder for folder in folders if folder != "/" and os.path.exists(folder)] == []
    assert float(after["megabytes"]) - float(before["megabytes"]) < 8  # type: ignore[arg-type]
    (tmp_path / "figures").write_text(f"{before}\n{after}\n")
