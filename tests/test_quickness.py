"""What runs on every save is quick, and a test that is not is told."""

import subprocess
import sys
from pathlib import Path

import pytest
from quickness import MOST_OF_ALL, MOST_OF_ONE, too_dear

CONFTEST = """\
import quickness

def pytest_configure(config):
    config.addinivalue_line("markers", "slow: x")
    config.pluginmanager.register(quickness.Quickness(most_of_one=0.1))
"""
TESTS = """\
import pytest

def burn(seconds):
    import time
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass

def test_quick():
    pass

@pytest.mark.slow
def test_marked():
    raise AssertionError

"""
DEAR = "def test_dear():\n    burn(0.5)\n"
STARTS = """\
def test_starts():
    import subprocess, sys
    code = "import time\\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
"""


def test_quick_tests_are_not_told() -> None:
    assert too_dear({}, 1.0) == []
    assert too_dear({"a": MOST_OF_ONE, "b": 0.1}, 1.0) == []
    assert too_dear({"a": MOST_OF_ONE * 1.5}, 2.0) == [], "the machine is half as fast"


def test_one_that_is_dear_is_told_alone() -> None:
    told = too_dear({"a": MOST_OF_ONE + 0.01, "b": 0.1}, 1.0)
    assert told[0] == "Too slow for every save: 3.0 s of processor time at most."
    assert told[1:-1] == ["    3.01 s  a"]
    assert "@pytest.mark.slow" in told[-1]


def test_many_that_are_cheap_are_too_much_together() -> None:
    told = too_dear({f"t{n}": MOST_OF_ALL / 100 + n / 1000 for n in range(100)}, 1.0)
    taken = f"The quick tests take {MOST_OF_ALL + 4.95:.0f} s of processor time"
    assert told[0] == f"{taken}, {MOST_OF_ALL:.0f} s at most."
    assert [line.split()[-1] for line in told[1:-1]] == [f"t{n}" for n in range(99, 89, -1)]


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "more", "exit_code"), [("0", DEAR, 1), ("2", "", 0), ("2", STARTS, 1)])
def test_a_run_of_quick_tests_holds_them_to_it(
    tmp_path: Path, processes: str, more: str, exit_code: int
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_them.py").write_text(TESTS + more)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", processes, "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == exit_code, ran.stdout
    assert f"{1 + bool(more)} passed" in ran.stdout, "what is marked did not run"
    assert ("Too slow for every save" in ran.stdout) == bool(exit_code), ran.stdout
