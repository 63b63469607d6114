"""The product before its inside was rebuilt, as a wheel that new code is fuzzed against."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WHEEL = Path(__file__).parent / "old/baselinekit-0.1.0-py3-none-any.whl"
_LOOP = """
import json, sys
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
"""


@contextmanager
def old_product(program: str) -> Iterator[Callable[[Any], Any]]:
    """Give a function that hands a JSON value to `answer` and returns what that answers. The Python source
    `program` defines `answer`; in it, `import baselinekit` gives the old product."""
    with subprocess.Popen(
        [sys.executable, "-c", program + _LOOP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(WHEEL), "PYTHONSAFEPATH": "1"},
    ) as process:
        asked, answered = process.stdin, process.stdout
        assert asked is not None
        assert answered is not None

        def ask(value: Any) -> Any:
            asked.write(json.dumps(value) + "\n")
            asked.flush()
            return json.loads(answered.readline())

        yield ask
        asked.close()
