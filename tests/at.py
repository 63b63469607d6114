"""`baselinekit` at another time: at.py SECONDS FILE PROGRAM WORDS…, that many seconds ahead of the machine.
Sleeping moves the time on, in that file; without a file name it really waits."""

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from clocks import Slept

from baselinekit.cli.entry import main


def by_clock(ahead: float, file: str) -> dict[str, Any]:
    """What the console script is handed, to go by the clock of a test."""
    if not file:
        return {"now": lambda: time.time() + ahead}
    slept = Slept(Path(file))
    return {"now": lambda: time.time() + ahead + slept.seconds(), "sleep": slept.sleep}


if __name__ == "__main__":
    ahead, file = float(sys.argv[1]), sys.argv[2]
    sys.argv = sys.argv[3:]
    main(**by_clock(ahead, file))
