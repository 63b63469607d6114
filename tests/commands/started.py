"""A command that runs beside a test."""

import os
import subprocess
import sys
from subprocess import PIPE

from console import Console


def start(here: Console, *words: str, **more: str) -> "subprocess.Popen[bytes]":
    environ = {"PATH": os.environ["PATH"], "HOME": str(here.folder), "LANG": "C.UTF-8", **more}
    argv = [sys.executable, "-P", "-m", "baselinekit", *words]
    return subprocess.Popen(argv, cwd=here.folder, env=environ, stdout=PIPE, stderr=PIPE)
