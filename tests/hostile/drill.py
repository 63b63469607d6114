"""A project for drills: four baselines in three files, of which every byte and every count is known, and the
look at it afterwards."""

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from steady import Steady

ROOT = Path(__file__).parents[2]
THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
"""Everything instead of a fair part of it: minutes instead of seconds."""

_RECORD = """\
{dash}id: {id}   # what {id} says, since the first day
{indent}name: "The number of {id}"
{indent}baseline: {{output: {{status: 200, body: {{n: {n}}}}}}}
{indent}current:
{indent}  input: {{method: GET, endpoint: /n}}
{indent}  execution: {{type: http}}
{indent}metadata:
{indent}  tags: [ 'one',   two ]
{indent}  last_passed: null
{indent}  failure_count: 0   # counts since the last refresh
"""
_DRAFT = """\
id: draft
# what it should say is not known yet
current: {input: {endpoint: /n}, execution: {type: http}}
metadata: {failure_count: 0, last_passed: null}
"""
_STATE = re.compile(
    r"\.gitignore|locks/\d\d\.lock|pending/\w+\.json|last-run\.json|baseline\.schema\.json"
    r"|results/\d{8}T\d{6}Z-\d{4}-[0-9a-f]{12}\.json"
)
PASSING, FAILING = ("a", "c"), ("b", "d")


def record(id: str, n: int, dash: str = "", indent: str = "") -> str:
    return _RECORD.format(id=id, n=n, dash=dash, indent=indent)


FILES = {
    "baselines/a.yaml": record("a", 1),
    "baselines/b.yaml": record("b", 2).replace("\n", "\r\n"),
    "baselines/deeper/two.yaml": f"# two\n\n{record('c', 1, '- ', '  ')}{record('d', 4, '- ', '  ')}",
}


class Standing(NamedTuple):
    passed: bool
    count: int


@dataclass(frozen=True, slots=True)
class Drill:
    folder: Path
    service: Steady

    @property
    def slept(self) -> str:
        """The file for what a command sleeps: nobody waits for a clock that ticks."""
        return f"{self.folder}-slept"

    def asked(self, number: object) -> int:
        """How many requests of that command the service has answered, or was about to."""
        return self.service.paths[f"/{number}/n"]

    def lay(self, files: Mapping[str, str] = FILES) -> None:
        """The files as they are in the beginning, and nothing else."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for name, text in {"baselinekit.yaml": f"base_url: {self.service.url}\n", **files}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())

    def standing(self, files: Mapping[str, str] = FILES) -> dict[str, Standing]:
        """The record of every baseline. A file in which any other byte changed is torn."""
        found: dict[str, Standing] = {}
        for name, text in files.items():
            now = (self.folder / name).read_bytes().decode()
            match = _pattern(text).fullmatch(now)
            assert match, f"{name} is torn:\n{now}"
            values = match.groups()
            ids = re.findall(r"id: (\w+) ", text)
            for id, last, count in zip(ids, values[::2], values[1::2], strict=True):
                found[id] = Standing(last != "null", int(count))
        return found

    def litter(self) -> list[str]:
        """What is there and should not be."""
        odd = []
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder).as_posix()
            state = name.removeprefix(".baselinekit/")
            if path.is_dir():
                continue
            if "baselinekit-" in path.name or (state != name and not _STATE.fullmatch(state)):
                odd.append(name)
        return odd

    def is_hidden(self) -> bool:
        """Whether git is told to pass over the state folder."""
        return (self.folder / ".baselinekit/.gitignore").read_text() == "*\n"


def _pattern(text: str) -> re.Pattern[str]:
    pattern = re.escape(text)
    pattern = pattern.replace(r"last_passed:\ null", r"last_passed:\ (null|'?\"?[-0-9]{10}T[:0-9]{8}Z'?\"?)")
    return re.compile(pattern.replace(r"failure_count:\ 0", r"failure_count:\ (\d+)"))


DRAFT = {"baselines/draft.yaml": _DRAFT}


def in_a_process(
    folder: Path, *words: str, before: Callable[[], None] | None = None
) -> "subprocess.CompletedProcess[str]":
    """`baselinekit WORDS` in a process of its own. Whatever happens, the user is spoken to in sentences."""
    done = subprocess.run(
        [sys.executable, "-B", "-P", "-m", "baselinekit", *words],  # no half a .pyc either
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=before,
    )
    assert "Traceback" not in done.stdout + done.stderr, done
    assert "BK399" not in done.stderr, done
    return done


def limit_files(size: int) -> None:
    """A limit of the shell (ulimit -f), which is what a quota looks like."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


HOLD = """
import sys, time
from baselinekit.store.atomic import lock
with lock(sys.argv[1], "baselines/b.yaml"):
    print("held", flush=True)
    time.sleep(60)
"""
"""Who holds the lock of one file, for as long as it lives."""


@contextmanager
def drill(folder: Path) -> Iterator[Drill]:
    folder.mkdir()
    with Steady({"n": 1}) as service:
        yield Drill(folder.resolve(), service)
