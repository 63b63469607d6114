"""How long a command takes to start: one compare, against the libraries that it needs, and how much of
our code it loads. The goals are 1.8 times, 45 modules and 8,000 lines."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import size
from steady import Steady

ROOT = Path(__file__).parent.parent
LIBRARIES = "import click, yaml, httpx"
MOST_TIMES = 3
RUNS = 15

BASELINE = """\
id: one
baseline:
  output:
    status: 200
    body:
      n: 1
      at: <<any_iso_datetime>>
current:
  input:
    method: GET
    endpoint: /one
  execution:
    type: http
metadata:
  last_passed: null
  failure_count: 0
"""


ANSWER = {"n": 1, "at": "2026-01-01T10:00:00Z"}


def environment() -> dict[str, str]:
    """The environment without what would load more or keep Python from storing compiled modules."""
    unwanted = ("GITHUB_", "CI", "BASELINEKIT_", "PYTHONDONTWRITEBYTECODE")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return environ | {"PYTHONPATH": str(ROOT)}


def processor_time(folder: Path, *typed: str) -> float:
    """The processor time of one Python process, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, *typed], cwd=folder, env=environment(), capture_output=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def project(folder: Path) -> None:
    (folder / "baselines").mkdir()
    (folder / "baselines" / "one.yaml").write_text(BASELINE)
    (folder / "baselinekit.yaml").write_text("version: 1\n")


@pytest.mark.slow
def test_startup_compare_time_against_libraries(tmp_path: Path) -> None:
    """Both are run in turn, so that a busy machine slows both down; the least of each counts."""
    project(tmp_path)
    with Steady(ANSWER) as service:
        compare = ("-m", "baselinekit", "compare", "--base-url", service.url, "--record")
        pairs = [
            (processor_time(tmp_path, *compare), processor_time(tmp_path, "-c", LIBRARIES))
            for _ in range(RUNS)
        ]
    assert "last_passed: null" not in (tmp_path / "baselines" / "one.yaml").read_text()
    ours, libraries = (min(times) for times in zip(*pairs, strict=True))
    assert ours <= MOST_TIMES * libraries, f"{ours:.3f} s, the libraries {libraries:.3f} s"


LOADED = """
import json, sys
from baselinekit.cli.entry import main
try:
    main()
finally:
    ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "baselinekit"]
    print(json.dumps([module.__file__ for module in ours]))
"""


@pytest.mark.parametrize("name", ["modules", "lines"])
def test_startup_compare_loads_no_more_code_than_setup_cfg_allows(name: str, tmp_path: Path) -> None:
    project(tmp_path)
    with Steady(ANSWER) as service:
        typed = [sys.executable, "-c", LOADED, "compare", "--base-url", service.url, "--record"]
        ran = subprocess.run(
            typed, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
    loaded = [Path(file) for file in json.loads(ran.stdout.splitlines()[-1])]
    now = {"modules": len(loaded), "lines": sum(size.size_of(file).lines for file in loaded)}[name]
    most = size.section("baselinekit:startup")[name]
    assert now <= most
    assert most - now <= max(1, most // 50), f"write {name} = {now}"
