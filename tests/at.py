"""`baselinekit` at another time: at.py SECONDS PROGRAM WORDS…, so many seconds ahead of the machine."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from baselinekit.cli.entry import main

ahead = float(sys.argv[1])
sys.argv = sys.argv[2:]

if __name__ == "__main__":
    main(now=lambda: time.time() + ahead)
