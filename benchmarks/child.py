"""One subject, measured in a process of its own: rows to standard output, progress to standard error."""

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import asdict

from benchmarks.results import Note, Scale, Subject

SUBJECTS = ("matcher", "files", "compare", "peers", "startup")
"""The files of this folder that measure, in the order of the table."""


def main(name: str, scale: Scale) -> None:
    subject: Subject = importlib.import_module(f"benchmarks.{name}").rows
    found = list(subject(scale, progress(name)))
    rows = [asdict(one) for one in found if not isinstance(one, Note)]
    notes = [one.text for one in found if isinstance(one, Note)]
    json.dump({"rows": rows, "notes": notes}, sys.stdout)


def progress(name: str) -> Callable[[str], None]:
    """One line that changes on a terminal; elsewhere nothing."""

    def say(text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{name:10}{text}"[:100])
            sys.stderr.flush()

    return say


if __name__ == "__main__":
    subject, rounds, size = sys.argv[1:]
    main(subject, Scale(int(rounds), size == "quick"))
