"""What tests compare with snapshots, and the cassettes of pytest plugins, as baselines."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property

from baselinekit.cli import screen
from baselinekit.cli.clients import open_clients
from baselinekit.cli.convert_options import ConvertOptions
from baselinekit.cli.entry import clock
from baselinekit.cli.options import project_of
from baselinekit.clients.programs.process import deny_inspection, signal_group
from baselinekit.clients.trust import check_inside
from baselinekit.commands.context import Stop
from baselinekit.commands.movingin import (
    PYTEST,
    VCR,
    MovedIn,
    moved_cassettes,
    moved_values,
    write_moved,
)
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.languages import dump_yaml
from baselinekit.importers import vcr
from baselinekit.importers.drafts import ImportChoices
from baselinekit.importers.snapshots import OPTION, PLUGIN, TakenTest
from baselinekit.model.values import Json
from baselinekit.secrets.variables import names_in
from baselinekit.store.project import MAX_OUTPUT_BYTES, limits_of, read
from baselinekit.structs import convert
from baselinekit.values.texts import count_noun

_SKIPPED_FOLDERS = frozenset(
    (
        ".git",
        ".hg",
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".tox",
        ".nox",
        ".baselinekit",
        ".mypy_cache",
    )
)
_MAX_SHOWN = 10

_MOST_LAST_LINES = 3

_EXIT_CODES = {
    2: "it was interrupted, or a file of tests cannot be imported",
    3: "an error within pytest or a plugin",
    4: "an option or a path that it does not take",
    5: "there is no test",
}
"""Why pytest ran no tests, by its exit code."""


def move_in(options: ConvertOptions) -> int:
    """Take over what tests compare with snapshots, or cassettes, as baselines."""
    project = project_of(options.project)
    moment = datetime.fromtimestamp(clock()(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if options.tool == PYTEST:
        moved = moved_values(project, run_tests(project, options.paths), moment)
        is_empty = not moved.new and not moved.known and not moved.left_out
        what = "no test compares a snapshot of syrupy, inline-snapshot or pytest-regressions"
    else:
        moved, seen_count = _Cassettes(project, options.paths).read_all(moment)
        is_empty, what = not seen_count, "nothing of vcr there"
    if is_empty:
        raise InvalidInput(Problem("BK776", f"{' '.join(options.paths)}: {what}", _hint_of(options.tool)))
    return MovedDelivery(options, moved).deliver()


def _hint_of(tool: str | None) -> str:
    if tool == PYTEST:
        return "name tests that do, as for pytest: a folder, a file or FILE::TEST"
    return "name a folder with cassettes, such as tests/cassettes"


def run_tests(project: Project, paths: Sequence[str]) -> list[TakenTest]:
    """Run the user's tests with the plugin that records what they compare; their output goes to standard
    error. It holds the values in clear text, so they are kept in a folder of ours, and removed."""
    root = os.path.realpath(project.root)
    named = []
    for path in paths:
        file, colons, test = path.partition("::")
        check_inside(root, os.path.realpath(file), file)
        if not os.path.exists(file):
            raise InvalidInput(Problem("BK776", f"there is no {file}", _hint_of(PYTEST)))
        named.append(f"{os.path.realpath(file)}{colons}{test}")
    with tempfile.TemporaryDirectory() as folder:
        taken = os.path.join(folder, "taken.json")
        exit_code, last_lines = _run_pytest([*named, "-p", PLUGIN, f"{OPTION}={taken}"], root)
        if exit_code not in (0, 1) or not os.path.exists(taken):
            reason = _EXIT_CODES.get(exit_code, "it ended before the tests did")
            said = "; ".join(line.strip("=!_- ") for line in last_lines)
            message = f"pytest did not run the tests (exit code {exit_code}, {reason}): {said}"
            raise InvalidInput(Problem("BK776", message, "make them run with pytest first"))
        with open(taken, encoding="utf-8") as text:
            return convert(json.load(text), list[TakenTest])


def _run_pytest(words: Sequence[str], root: str) -> tuple[int, list[str]]:
    """Return its exit code and the last lines that it wrote. A Ctrl-C ends it with all that it started."""
    deny_inspection()
    lines = deque[str](maxlen=_MOST_LAST_LINES)
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "pytest", *words],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            for data in process.stdout or ():
                line = data.decode("utf-8", "replace").rstrip()
                screen.line(screen.safe(line), err=True)
                lines += [line.strip()] if line else []
        except BaseException:
            signal_group(process, signal.SIGKILL)
            raise
    return process.returncode, [*lines]


class _Cassettes:
    """The cassettes below some paths."""

    def __init__(self, project: Project, paths: Sequence[str]):
        self._project, self._paths = project, paths

    def read_all(self, moment: str) -> tuple[MovedIn, int]:
        project, texts = self._project, dict[str, str]()
        for file in self.files:
            try:
                text = self.read(file).decode("utf-8-sig")
            except (UnicodeDecodeError, BaselinekitError):
                continue  # not a text, or a link that leads out of the project
            if vcr.recognises(file, text):
                texts[file] = text
        choices = ImportChoices(
            base_url=project.override_base_url or project.base_url,
            unsafe=True,
            known=frozenset((*project.scope.values, *project.scope.secrets)),
        )
        with open_clients(clock(), None, Stop()) as context:
            return moved_cassettes(project, texts, choices, context.clients, moment)

    def read(self, file: str) -> bytes:
        return read(self._project.root, file, MAX_OUTPUT_BYTES)

    @cached_property
    def files(self) -> list[str]:
        """All files below the paths, relative to the project's root. Links to folders are not followed."""
        root = os.path.realpath(self._project.root)
        files: dict[str, None] = {}
        limit = limits_of(root).files
        for path in self._paths:
            full_path = os.path.realpath(path)
            check_inside(root, full_path, path)
            if os.path.isfile(full_path):
                files[os.path.relpath(full_path, root)] = None
                continue
            if not os.path.isdir(full_path):
                message = f"there is no {path}"
                raise InvalidInput(Problem("BK776", message, _hint_of(VCR)))
            for file in _walk_files(full_path):
                files[os.path.relpath(file, root)] = None
                if len(files) > limit:
                    message = f"more than {limit:,} files below {path}"
                    raise InvalidInput(Problem("BK106", message, "name a folder with fewer"))
        return [*files]


def _walk_files(folder: str) -> Iterator[str]:
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        yield from (os.path.join(above, name) for name in sorted(names))


class MovedDelivery:
    """Writes the imported baselines, and prints what was done."""

    def __init__(self, options: ConvertOptions, moved: MovedIn):
        self._options, self._moved = options, moved
        left_out = sorted(moved.left_out, key=lambda item: (item.file, item.line))
        self._lost = [(str(Place(item.file, item.line or None)), item) for item in left_out]

    def deliver(self) -> int:
        options, moved = self._options, self._moved
        files = [*moved.new.values()] if options.partial or not self._lost else []
        existing = [baseline.file for baseline in files if baseline.file in moved.there]
        if existing and not (options.overwrite or options.dry_run):
            hint = "it holds another value: keep it, or replace it with --overwrite"
            raise InvalidInput(
                *(Problem("BK775", "it is there already", hint, Place(name)) for name in existing)
            )
        written = [baseline.file for baseline in files]
        if not options.dry_run:
            written = [*write_moved(moved, files, options.overwrite)]
        if options.as_json:
            screen.show_json(json.dumps(self._document(written)) + "\n")
        else:
            self._print(written)
        is_written = not self._lost or (options.partial and (moved.new or moved.known))
        return 0 if is_written else 2

    def _print(self, written: Sequence[str]) -> None:
        moved, options = self._moved, self._options
        if options.dry_run:
            for baseline in moved.new.values() if written else ():
                screen.line(screen.safe_line(f"--- {baseline.file}"))
                screen.line(screen.safe(dump_yaml(baseline.record).removesuffix("\n")))
        else:
            for text in _describe_files(written):
                screen.line(screen.safe_line(f"wrote {text}"))
        is_stopped = bool(self._lost) and not options.partial
        if not is_stopped:
            verb = "would be carried over" if options.dry_run else "carried over"
            noun = "answer" if self._options.tool == VCR else "value"
            parts = [f"{count_noun(len(written), noun)} {verb}"]
            parts += [f"{moved.known:,} there already"] if moved.known else []
            parts += [f"{moved.again:,} recorded again"] if moved.again else []
            screen.line(", ".join(parts))
        for note in self._notes() if written else ():
            screen.line(screen.safe_line(f"note: {note}"))
        if self._lost:
            screen.line(f"{count_noun(len(self._lost), 'thing')} not carried over:", err=is_stopped)
            for text in screen.first_lines([*self._lost_lines()]):
                screen.line(f"  {text}", err=is_stopped)
        if is_stopped:
            hint = ": --partial writes the rest" if moved.new else ""
            screen.line(f"nothing was written{hint}", err=True)
            return
        self._print_changes()
        if written and not options.dry_run:
            screen.next_commands([self._next(written)])

    def _notes(self) -> Iterator[str]:
        moved = self._moved
        yield from moved.notes
        if moved.writes:
            message = (
                f"{count_noun(moved.writes, 'request')} may write: compare sends them, as it sends the others"
            )
            yield message
        names = sorted(
            {name for baseline in moved.new.values() for name in names_in(baseline.record["current"])}
            & {*moved.project.scope.secrets} - {*moved.project.config.variables}
        )
        if names:
            placeholders = ", ".join(f"{{{{{name}}}}}" for name in names)
            verb = "stands" if len(names) == 1 else "stand"
            yield (
                f"{placeholders} {verb} for what was a credential: "
                f"baselinekit compare --secret {names[0]} gives it"
            )

    def _lost_lines(self) -> Iterator[str]:
        for place, item in self._lost:
            hint = f" ({item.hint})" if item.hint else ""
            yield screen.safe_line(f"{place}: {item.message}{hint}")

    def _print_changes(self) -> None:
        """Print how each form of comparison changes, and each place that needs more than that."""
        for code in dict.fromkeys(change.code for change in self._moved.changes):
            screen.line(f"in the tests, {_usual_change(code)}")
        named = [change for change in self._moved.changes if change.name is not None]
        for change in named[:_MAX_SHOWN]:
            screen.line(screen.safe_line(f"  {change.place}: {change.code} → {change.baseline}"))
        if len(named) > _MAX_SHOWN:
            screen.line(f"  … and {len(named) - _MAX_SHOWN:,} more: --dry-run --json lists all")

    def _next(self, written: Sequence[str]) -> str:
        if self._options.tool == VCR:
            folder = os.path.commonpath([os.path.dirname(name) for name in written])
            return f"baselinekit compare {folder}"
        files = dict.fromkeys(change.place.file for change in self._moved.changes)
        return f"pytest {' '.join([*files][:3])}"

    def _document(self, written: Sequence[str]) -> dict[str, Json]:
        lost: list[Json] = [
            {"what": item.message, "hint": item.hint, "at": place} for place, item in self._lost
        ]
        changes: list[Json] = [
            {"at": str(change.place), "old": change.code, "new": change.baseline}
            for change in self._moved.changes
        ]
        return {
            "from": self._options.tool,
            "written": [] if self._options.dry_run else [*written],
            "would_write": [*self._moved.new] if self._options.dry_run else [],
            "there_already": self._moved.known,
            "lost": lost,
            "notes": [*self._notes()],
            "changes": changes,
        }


def _usual_change(code: str) -> str:
    if code.startswith("snapshot"):
        return f"`== {code}` becomes `== baseline`"
    return f"`{code.replace('…', 'value')}` becomes `assert value == baseline`"


def _describe_files(files: Sequence[str]) -> Iterator[str]:
    """List a few files by their names, many by their folders."""
    if len(files) <= _MAX_SHOWN:
        yield from files
        return
    by_folder: dict[str, int] = {}
    for file in files:
        folder = os.path.dirname(file)
        by_folder[folder] = by_folder.get(folder, 0) + 1
    for folder, count in by_folder.items():
        yield f"{count_noun(count, 'file')} in {folder}"
