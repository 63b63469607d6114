"""The snapshots and cassettes of pytest plugins as baselines."""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import islice

from baselinekit.cli import screen
from baselinekit.cli.clients import open_clients
from baselinekit.cli.convert_options import ConvertOptions
from baselinekit.cli.entry import clock
from baselinekit.cli.options import project_of
from baselinekit.clients.trust import check_inside
from baselinekit.commands.context import Stop
from baselinekit.commands.movingin import (
    OUTSIDE,
    TOOLS,
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
from baselinekit.importers.testcode import CodeChange, SnapshotImport, SnapshotSources
from baselinekit.model.values import Json
from baselinekit.secrets.variables import names_in
from baselinekit.store.project import MAX_OUTPUT_BYTES, limits_of, read
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

_USUAL_CHANGE = ("baseline", "assert … == baseline")
"""The usual change, which the line in _IN_TESTS describes for all tests."""

_IN_TESTS = {
    "syrupy": "in the tests, `== snapshot` becomes `== baseline`",
    "inline-snapshot": "in the tests, `== snapshot(…)` becomes `== baseline`",
    "pytest-regressions": "in the tests, `data_regression.check(value)` becomes `assert value == baseline`",
}


def move_snapshots(options: ConvertOptions, tool: str) -> int:
    """Take over the snapshots or cassettes of a tool below the paths as baselines."""
    return _Import(options, tool, options.paths).run()


class _Import:
    """One import, from the paths to the output."""

    def __init__(self, options: ConvertOptions, tool: str, paths: Sequence[str]):
        self._options, self._tool, self._paths = options, tool, paths
        self._project: Project = project_of(options.project)
        self._changes: Sequence[CodeChange] = ()

    def run(self) -> int:
        moment = datetime.fromtimestamp(clock()(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        moved, seen_count = self.cassettes(moment) if self._tool == VCR else self.values(moment)
        if not seen_count:
            message = f"{' '.join(self._paths)}: nothing of {self._tool} there"
            hint = f"name {_EXPECTED_FILES[self._tool]}"
            raise InvalidInput(Problem("BK776", message, hint))
        return MovedDelivery(self._options, self._tool, moved, self._changes).deliver()

    def values(self, moment: str) -> tuple[MovedIn, int]:
        moving = SnapshotImport()
        files = SnapshotSources(
            self.files, self.read, partial(_files_in_folders, self._project.root, OUTSIDE)
        )
        TOOLS[self._tool](files, moving)
        self._changes = moving.changes
        return moved_values(self._project, moving, moment), moving.seen + len(moving.left_out)

    def cassettes(self, moment: str) -> tuple[MovedIn, int]:
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
                raise InvalidInput(Problem("BK776", message, f"name {_EXPECTED_FILES[self._tool]}"))
            for file in _walk_files(full_path):
                files[os.path.relpath(file, root)] = None
                if len(files) > limit:
                    message = f"more than {limit:,} files below {path}"
                    raise InvalidInput(Problem("BK106", message, "name a folder with fewer"))
        return [*files]


_EXPECTED_FILES = {
    "syrupy": "a test folder with __snapshots__ in it, such as tests",
    "pytest-regressions": "a folder of test files with their data folders, such as tests",
    "inline-snapshot": "test files with `snapshot(…)` in them, such as tests",
    VCR: "a folder with cassettes, such as tests/cassettes",
}


def _walk_files(folder: str) -> Iterator[str]:
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        yield from (os.path.join(above, name) for name in sorted(names))


def _files_in_folders(root: str, folders: Sequence[str]) -> list[str]:
    """The files of a project in folders with these names."""
    return [
        os.path.relpath(file, root)
        for file in _walk_files(root)
        if {*folders} & {*os.path.relpath(file, root).split(os.sep)}
    ]


class MovedDelivery:
    """Writes the imported baselines, and prints what was done."""

    def __init__(self, options: ConvertOptions, tool: str, moved: MovedIn, changes: Sequence[CodeChange]):
        self._options, self._tool, self._moved, self._changes = options, tool, moved, changes
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
            noun = "answer" if self._tool == VCR else "value"
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
        if self._tool not in _IN_TESTS:
            return
        screen.line(_IN_TESTS[self._tool])
        unusual = [change for change in self._changes if change.new not in _USUAL_CHANGE]
        for change in islice(unusual, _MAX_SHOWN):
            screen.line(screen.safe_line(f"  {change.place}: {change.old} → {change.new}"))
        if len(unusual) > _MAX_SHOWN:
            screen.line(f"  … and {len(unusual) - _MAX_SHOWN:,} more: --dry-run --json lists all")

    def _next(self, written: Sequence[str]) -> str:
        if self._tool == VCR:
            folder = os.path.commonpath([os.path.dirname(name) for name in written])
            return f"baselinekit compare {folder}"
        return f"pytest {' '.join(self._moved.tests[:3])}"

    def _document(self, written: Sequence[str]) -> dict[str, Json]:
        lost: list[Json] = [
            {"what": item.message, "hint": item.hint, "at": place} for place, item in self._lost
        ]
        changes: list[Json] = [
            {"at": str(change.place), "old": change.old, "new": change.new} for change in self._changes
        ]
        return {
            "from": self._tool,
            "written": [] if self._options.dry_run else [*written],
            "would_write": [*self._moved.new] if self._options.dry_run else [],
            "there_already": self._moved.known,
            "lost": lost,
            "notes": [*self._notes()],
            "changes": changes,
        }


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
