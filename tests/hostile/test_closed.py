"""What a program finds out about the process that runs it: nothing that is secret."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="/proc is a thing of Linux"),
]

DROP = 24
CAPABILITIES = 41
PARENT = """
import os
for name in ("environ", "mem"):
    try:
        with open(f"/proc/{os.getppid()}/{name}", "rb") as file:
            print(name, "is open", file.read(100))
    except OSError as error:
        print(name, type(error).__name__)
print(*(name for name in sorted(os.environ) if "TOKEN" in name))
"""


def test_f40_program_cannot_read_the_environment_of_its_parent(tmp_path: Path) -> None:
    (tmp_path / "baselinekit.yaml").write_text("version: 1\ncommands: {look: [python, look.py]}\n")
    (tmp_path / "look.py").write_text(PARENT)
    libc = ctypes.CDLL(None)

    def as_an_ordinary_user() -> None:
        """Root without what makes it one, where root runs this."""
        for capability in range(CAPABILITIES):
            libc.prctl(DROP, capability, 0, 0, 0)

    ran = subprocess.run(
        [sys.executable, "-P", "-m", "baselinekit", "capture", "command", "--id", "look", "--", "look"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DEPLOY_TOKEN": "t0p-s3cr3t-of-the-operator"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=as_an_ordinary_user,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    stored = (tmp_path / "baselines/look/look.yaml").read_text()
    assert "environ PermissionError\n" in stored
    assert "mem is open" not in stored
    assert "TOKEN" not in stored
