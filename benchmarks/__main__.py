"""Everything beside its peer: `make bench`, or `make bench ONLY=matcher`, or

python -m benchmarks [--only NAME]… [--quick] [--rounds N] [--results FILE]

The results are kept in results.json, and the table of them in README.md here."""

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
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.child import SUBJECTS
from benchmarks.results import Row

LIBRARIES = ("click", "PyYAML", "httpx", "msgspec", "deepdiff", "pytest")
HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE / "README.md"
BEGIN, END = "<!-- table: make bench -->\n", "<!-- /table -->"

Results = dict[str, Any]


def main(args: Sequence[str] | None = None) -> int:
    """Measure, show, and, after a run of real size, write it down. 1: something could not be measured."""
    given = _options(args)
    began = time.monotonic()
    compileall.compile_dir(HERE.parent / "baselinekit", quiet=1)  # as pip does when it installs
    names = given.only or list(SUBJECTS)
    measured = {name: _measured(name, given) for name in names}
    found = {name: one for name, one in measured.items() if one is not None}
    sys.stdout.write(f"{table({'subjects': found})}\n\n{time.monotonic() - began:.0f} s\n")
    kept = given.results or (None if given.quick else RESULTS)
    if kept and found:
        results = with_others({"subjects": found}, kept)
        kept.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
        if kept == RESULTS:
            PAGE.write_text(rendered(PAGE.read_text("utf-8"), results), "utf-8")
    broken = [name for name in names if name not in found]
    sys.stderr.write(f"not measured: {', '.join(broken)}\n" if broken else "")
    return 1 if broken else 0


def _options(args: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Everything beside its peer.")
    parser.add_argument("--only", action="append", choices=SUBJECTS, help="a subject; may be repeated")
    parser.add_argument("--results", type=Path, metavar="FILE", help="where the figures are kept")
    parser.add_argument("--quick", action="store_true", help="show that all works; the figures mean nothing")
    rounds = "how often each is measured (default: 5, with --quick once)"
    parser.add_argument("--rounds", type=int, metavar="N", help=rounds)
    return parser.parse_args(args)


def _measured(name: str, given: argparse.Namespace) -> dict[str, object] | None:
    """Measure one subject in a fresh process, where the memory and the imports of others disturb nothing.
    None if it broke."""
    rounds = given.rounds or (1 if given.quick else 5)
    argv = [sys.executable, "-m", "benchmarks.child", name, str(rounds), "quick" if given.quick else ""]
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    ran = subprocess.run(argv, cwd=HERE.parent, env=env, stdout=subprocess.PIPE, check=False)
    sys.stderr.write("\r\x1b[K" if sys.stderr.isatty() else "")
    if ran.returncode:
        return None
    found: dict[str, object] = json.loads(ran.stdout)
    return {"about": _about(), **found}


def with_others(results: Results, kept: Path) -> Results:
    """Return the results with the subjects that were measured before and are not measured now."""
    before: Results = json.loads(kept.read_text("utf-8")) if kept.exists() else {"subjects": {}}
    subjects = {**before["subjects"], **results["subjects"]}
    return {"subjects": {name: subjects[name] for name in SUBJECTS if name in subjects}}


def _about() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d} on {_processor()}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, with Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown processor"


def table(results: Results) -> str:
    """Return every figure beside what it should reach, how many goals are met, and the notes."""
    subjects = results["subjects"]
    rows = [Row(**row) for found in subjects.values() for row in found["rows"]]
    missed = sum(not row.met for row in rows)
    score = f"{len(rows) - missed} of {len(rows)} goals are met."
    measured: dict[str, list[str]] = {}
    for name, found in subjects.items():
        measured.setdefault(found["about"], []).append(name)
    places = [f"Measured {about}: {', '.join(names)}." for about, names in measured.items()]
    notes = [note for found in subjects.values() for note in found["notes"]]
    return "\n".join(
        [
            "| | ours | goal |",
            "|---|---|---|",
            *map(_line, rows),
            "",
            score,
            "",
            *(f"- {note}" for note in [*notes, *places]),
        ]
    )


def _line(row: Row) -> str:
    if row.ratio is None:
        ours, most = figure(row.ours, row.of), figure(row.goal or 0, row.of)
    else:
        number = ratio(row.ratio)
        ours = f"{number} of {row.peer}" if "/" in number else f"{number} × {row.peer}"
        most = ratio(row.goal or 0)
    wish = f", better {ratio(row.wish)}" if row.wish else ""
    return f"| {row.what} | {ours} | ≤ {most}{wish}{'' if row.met else ', **missed**'} |"


def ratio(number: float) -> str:
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}" if number >= 0.1 else f"1/{1 / number:,.0f}"


def figure(number: float, of: str) -> str:
    """Return seconds or bytes in the unit that suits them."""
    if of == "bytes":
        return f"{number / 1e6:,.0f} MB"
    return f"{number:.3g} s" if number >= 1 else f"{number * 1e3:.3g} ms"


def rendered(page: str, results: Results) -> str:
    """Return a page with its table made anew."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}{table(results)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    sys.exit(main())
