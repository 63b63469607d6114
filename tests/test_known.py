"""What a test may count on is so, however careless whoever starts the run is."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import known
import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent

CARELESS = """\
import os, signal, sys
for name in ("HUP", "INT", "QUIT", "TERM", "ALRM", "CHLD", "USR1", "USR2"):
    signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
os.umask(0o777)
os.execv(sys.executable, [sys.executable, "-P", *sys.argv[1:]])
"""
SETTLED = """\
import os, signal, subprocess, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import known
known.settle("XXX-14")
os.kill(os.getpid(), signal.SIGHUP)  # the run itself is not ended by a hang-up that it was told to pass over
child = "import json, os, re, time; status = open('/proc/self/status').read();"
child += "print(json.dumps({'env': dict(os.environ), 'umask': os.umask(0),"
child += "'offset': time.localtime().tm_gmtoff,'signals': re.findall('Sig(?:Ign|Blk):.*', status)}))"
print(subprocess.run([sys.executable, "-c", child], stdout=subprocess.PIPE, check=True, text=True).stdout)
"""
OF_THE_DEVELOPER = {
    **dict.fromkeys(("http_proxy", "HTTPS_PROXY", "all_proxy", "NO_PROXY"), "http://127.0.0.1:9"),
    **dict.fromkeys(("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "BUILDKITE", "JENKINS_URL"), "true"),
    **dict.fromkeys(("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "PYTHONDONTWRITEBYTECODE"), "1"),
    **dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "GIT_DIR", "GIT_CONFIG_GLOBAL"), "/nonexistent"),
    "TZ": "America/New_York",
    "LC_ALL": "C",
    "LANG": "tr_TR.UTF-8",
    "TERM": "xterm",
    "COLUMNS": "7",
    "GIT_AUTHOR_DATE": "1999-01-01",
    "BASELINEKIT_CONFIG": "x",
    "BASELINEKIT_BASE_URL": "y",
    "PYTHONWARNINGS": "ignore",
}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a child passes over")
def test_environment_umask_and_signals_are_known_in_the_tests_and_in_what_they_start() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", CARELESS, "-c", SETTLED, str(HERE / "known.py")],
        env={**OF_THE_DEVELOPER, "PATH": os.environ["PATH"], "BASELINEKIT_PAIRS": "7"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ours = {name for name in found["env"] if name != "LC_CTYPE"}  # Python sets that one itself
    assert ours == {"PATH", "LANG", "TERM", "COLUMNS", "TZ", "HOME", "BASELINEKIT_PAIRS", *known.GIT}
    assert found["env"]["HOME"] not in ("/nonexistent", "")
    assert (found["umask"], found["offset"]) == (known.UMASK, 14 * 3600)
    held = {line.split(":")[0]: int(line.split()[1], 16) for line in found["signals"]}
    pythons_own = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    named = (1 << 31) - 1  # the others are the C library's own, or for real time: nobody's to reset
    assert {name: mask & named for name, mask in held.items()} == {"SigBlk": 0, "SigIgn": pythons_own}


def test_a_locale_that_is_not_utf8_is_left_before_any_test_is_read(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pathlib, sys\n"
        "def test_it(tmp_path):\n"
        "    (tmp_path / 'Zo\u00eb').write_text('\u6f22')\n"
        "    assert (tmp_path / 'Zo\u00eb').read_bytes() == '\u6f22'.encode()\n",
        "utf-8",
    )
    (tmp_path / "conftest.py").write_bytes((HERE.parent / "conftest.py").read_bytes())
    strict = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-o",
            f"pythonpath={HERE}",
            "test_it.py",
        ],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(HERE), **strict},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
