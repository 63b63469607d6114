"""One subject, measured in a process of its own: rows to standard output, progress to standard error."""

import importlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

from benchmarks.results import Note, Scale, Subject

SUBJECTS = {
    "matcher": "one document",
    "unordered": "arrays without order",
    "shapes": "documents of hard shapes",
    "files": "baseline files",
    "replay": "`compare` as a whole",
    "engines": "`compare` in several processes",
    "outputs": "large outputs",
    "projects": "large projects",
    "models": "slow questions to a model",
    "evals": "`run` as a whole",
    "peers": "the same checks by other tools",
    "pytest": "the pytest plugin",
    "beside_pytest": "items and imports",
    "startup": "starting up",
    "guards": "what the guards cost",
    "judges": "eval cases that programs judge",
}
"""The files of this folder that measure, in the order of the table."""


def main(name: str, scale: Scale) -> None:
    subject: Subject = importlib.import_module(f"benchmarks.{name}").rows
    found = list(subject(scale, progress(name)))
    rows = [asdict(one) for one in found if not isinstance(one, Note)]
    notes = [one.text for one in found if isinstance(one, Note)]
    json.dump({"rows": rows, "notes": notes}, sys.stdout)


def progress(name: str) -> Callable[[str], None]:
    """One line that changes on a terminal; elsewhere a line now and then."""
    told = 0.0

    def say(text: str) -> None:
        nonlocal told
        line = f"{name:10}{text}"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line[:100]}")
        elif time.monotonic() - told > 5:
            told = time.monotonic()
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    return say


if __name__ == "__main__":
    subject, rounds, size = sys.argv[1:]
    main(subject, Scale(int(rounds), size == "quick", size == "long"))
