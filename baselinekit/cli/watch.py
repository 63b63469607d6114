"""`compare --watch`: round after round, until Ctrl-C.

The stamp of a file (size and time) only shows that something was written: a compare writes its verdicts into
the very files that are watched. So a baseline counts as changed only when its record has changed, apart from
the two values of its verdict, or a file that it uses."""

import os
import time
from collections.abc import Callable, Iterator, Sequence

from baselinekit.cli import screen
from baselinekit.cli.options import ProjectOptions, misuse, project_of
from baselinekit.clients.trust import in_ci
from baselinekit.commands.loading import load_partly, relative_to_root
from baselinekit.commands.project import Project
from baselinekit.commands.since import used_by
from baselinekit.errors import BaselinekitError, NothingSelected
from baselinekit.model.baselines import Baseline
from baselinekit.model.results import Report
from baselinekit.store.project import CONFIG_NAME
from baselinekit.store.records import case_digest
from baselinekit.store.results import load_not_passed
from baselinekit.structs import Struct
from baselinekit.values.texts import count_noun, list_first

_POLL_SECONDS = 0.3
_SETTLE_SECONDS = 0.2
"""An editor writes in several steps."""

_MOST_SHOWN = 3

Round = Callable[[frozenset[str] | None], Report]
"""One compare: among these ids (None: all that are selected)."""

Stamp = tuple[int, int, int] | None
"""The time, size and number of a file; None if there is none."""


class View(Struct):
    """The state of a project at one moment. `stamps`: of all files and folders that are watched; `uses`: for
    each baseline what its verdict depends on; `error`: what could not be read."""

    root: str
    stamps: dict[str, Stamp]
    uses: dict[str, object]
    error: str

    def is_stale(self) -> bool:
        return any(_stamp(file) != known for file, known in self.stamps.items())

    def changed_baselines(self, seen: "View") -> frozenset[str]:
        return frozenset(id for id, used in self.uses.items() if seen.uses.get(id) != used)


class Watch:
    def __init__(self, options: ProjectOptions, paths: Sequence[str], run: Round):
        if in_ci(os.environ):
            raise misuse("--watch would never end here: CI is set", "leave it out in CI")
        self._options, self._paths, self._run = options, paths, run
        self._style = screen.style_of()
        self._code = 0

    def until_stopped(self) -> int:
        """Watch until Ctrl-C. Between two rounds it ends the watch with the exit code of the last round;
        during a round it is an interruption as usual."""
        seen = view_of(self._options, self._paths)
        is_over = self._run_round(None)
        try:
            while not is_over:
                text = f"watching {count_noun(len(seen.uses), 'baseline')}; Ctrl-C stops"
                screen.line(self._style.paint(text, "dim"), err=True)
                view = self._next_change(seen)
                touched, seen = view.changed_baselines(seen), view
                ids = screen.safe_line(list_first(sorted(touched), _MOST_SHOWN))
                screen.line(self._style.paint(f"-- changed: {ids}", "bold"))
                is_over = self._run_round(touched | load_not_passed(view.root))
        except KeyboardInterrupt:
            screen.line(err=True)
        return self._code

    def _next_change(self, seen: View) -> View:
        """Wait for a change that concerns a baseline. What cannot be read is reported when it changes."""
        view = seen
        while view.error or not view.changed_baselines(seen):
            while not view.is_stale():
                time.sleep(_POLL_SECONDS)
            time.sleep(_SETTLE_SECONDS)
            known_error, view = view.error, view_of(self._options, self._paths)
            if view.error not in ("", known_error):
                screen.complain(view.error)
        return view

    def _run_round(self, among: frozenset[str] | None) -> bool:
        """Run one compare; return whether it was interrupted. Errors are printed and the watch goes on, as
        the next change may fix them."""
        try:
            report = self._run(among)
        except BaselinekitError as error:
            if among is None or not isinstance(error, NothingSelected):
                screen.complain(error)
            self._code = error.exit_code
            return False
        self._code = report.exit_code
        return report.interrupted


def view_of(options: ProjectOptions, paths: Sequence[str]) -> View:
    """Return the present state; only of the configuration, as long as that cannot be read."""
    config = os.path.abspath(options.config or CONFIG_NAME)
    try:
        project = project_of(options)
        baselines, broken = load_partly(project, paths)
    except BaselinekitError as error:
        return View("", {config: _stamp(config)}, {}, str(error))
    config = os.path.join(project.root, project.config_file or CONFIG_NAME)
    common = {path: _stamp(path) for path in (config, *map(os.path.abspath, options.env_files))}
    tops = [relative_to_root(os.path.join(project.cwd, path), project.root) for path in paths]
    places = (os.path.join(project.root, top) for top in tops or project.folders)
    stamps = common | {path: _stamp(path) for place in places for path in _paths_below(place)}
    own_files = {os.path.join(project.root, baseline.source.file) for baseline in baselines}
    uses: dict[str, object] = {}
    for baseline in baselines:
        used = {path: _stamp(path) for path in _used_paths(baseline, project) if path not in own_files}
        stamps |= used
        uses[baseline.id] = case_digest(baseline.source.digest), common, used
    return View(project.root, stamps, uses, str(broken or ""))


def _used_paths(baseline: Baseline, project: Project) -> Iterator[str]:
    try:
        files, folders = used_by(baseline, project)
    except BaselinekitError:
        return
    yield from (os.path.join(project.root, file) for file in files)
    for folder in folders:
        yield from _paths_below(os.path.join(project.root, folder))


def _paths_below(top: str) -> Iterator[str]:
    """Yield a path, and of a folder all that is below it: the time of a folder shows what was added."""
    yield top
    for path, inside, files in os.walk(top):
        inside[:] = sorted(name for name in inside if not name.startswith(".") and name != "__pycache__")
        yield from (os.path.join(path, name) for name in (*inside, *files))


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
