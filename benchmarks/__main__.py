"""Everything beside its peer: `make bench`, or `make bench ONLY=matcher`, or

python -m benchmarks [--only NAME]… [--quick | --long] [--rounds N] [--results FILE]
"""

import argparse
import compileall
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import table
from benchmarks.child import SUBJECTS
from benchmarks.disk import file_system

LIBRARIES = ("click", "PyYAML", "httpx", "msgspec", "deepdiff", "jsondiff", "pytest")
PROJECT = Path(__file__).parent.parent


def main(args: Sequence[str] | None = None) -> int:
    """Measure, show, and, after a run of real size, write it down. 1: something could not be measured."""
    given = _options(args)
    began = time.monotonic()
    compileall.compile_dir(PROJECT / "baselinekit", quiet=1)  # as pip does when it installs
    names = given.only or list(SUBJECTS)
    measured = {name: _measured(name, given) for name in names}
    found = {name: one for name, one in measured.items() if one is not None}
    results: table.Results = {"about": _about(), "subjects": found}
    sys.stdout.write(f"{table.tables(results)}\n\n{table.glance(results)}\n")
    sys.stdout.write(f"\n{time.monotonic() - began:.0f} s\n")
    sys.stdout.flush()
    kept = given.results or (None if given.quick else table.RESULTS)
    if kept and found:
        results = with_others(results, kept)
        kept.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if kept == table.RESULTS and found:
        table.write(results)
    broken = [name for name in names if name not in found]
    sys.stderr.write(f"not measured: {', '.join(broken)}\n" if broken else "")
    return 1 if broken else 0


def _options(args: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Everything beside its peer.")
    parser.add_argument("--only", action="append", choices=SUBJECTS, help="a subject; may be repeated")
    parser.add_argument("--results", type=Path, metavar="FILE", help="where the figures are kept")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", action="store_true", help="shows that all works, and measures nothing of worth"
    )
    size.add_argument("--long", action="store_true", help="also what takes many minutes")
    rounds = "how often each is measured (default: 5, with --quick once)"
    parser.add_argument("--rounds", type=int, metavar="N", help=rounds)
    return parser.parse_args(args)


def _measured(name: str, given: argparse.Namespace) -> dict[str, object] | None:
    """One subject, in a fresh process: nobody's memory or imports disturb another's. None: it broke."""
    scale = "quick" if given.quick else "long" if given.long else ""
    rounds = given.rounds or (1 if given.quick else 5)
    argv = [sys.executable, "-m", "benchmarks.child", name, str(rounds), scale]
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    ran = subprocess.run(argv, cwd=PROJECT, env=env, stdout=subprocess.PIPE, check=False)
    sys.stderr.write("\r\x1b[K" if sys.stderr.isatty() else "")
    if ran.returncode:
        return None
    found: dict[str, object] = json.loads(ran.stdout)
    return {"date": _now(), **found}


def with_others(results: table.Results, kept: Path) -> table.Results:
    """The subjects that were not measured now stay as they are on file. Where that was on another machine, or
    with other versions, what was measured now says where: each figure is beside a peer of its own run."""
    if not kept.exists():
        return results
    before: table.Results = json.loads(kept.read_text("utf-8"))
    if set(results["subjects"]) == set(SUBJECTS):
        return results
    about, measured = results["about"], results["subjects"]
    if any(before["about"][key] != about[key] for key in ("machine", "versions")):
        measured = {name: {**found, "about": about} for name, found in measured.items()}
        about = before["about"]
    subjects = {**before["subjects"], **measured}
    return {"about": about, "subjects": {name: subjects[name] for name in SUBJECTS if name in subjects}}


def _about() -> dict[str, object]:
    system = f"{platform.system()} {platform.machine()}"
    return {
        "date": _now(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {system}, files on {file_system()}",
        "versions": {"Python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown processor"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


if __name__ == "__main__":
    sys.exit(main())
