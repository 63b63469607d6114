"""Starting up: one compare beside the imports of the libraries that it stands on."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import data
from benchmarks.compare import UNRECORDED, comparing
from benchmarks.measure import Say, in_turn, whole
from benchmarks.results import Found, Scale, beside
from benchmarks.server import serving

LIBRARIES = "import click, yaml, httpx"


def rows(scale: Scale, say: Say) -> Found:
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), 1)
        Path(folder).chmod(0o755)
        with serving(made.answers) as server:
            data.configure(made, server.url)
            imports = [sys.executable, "-c", LIBRARIES]
            engines = [
                comparing("ours", made.root, 1, UNRECORDED),
                whole("imports", imports, lambda ended: ended.exit_code == 0),
            ]
            times = in_turn(engines, scale.pick(1, 15), say)
    called = f'python -c "{LIBRARIES}"'
    yield beside(times, "`compare` of one HTTP baseline", "ours", "imports", 1.8, called=called)
