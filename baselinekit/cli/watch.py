"""`compare --watch`: round after round, until Ctrl-C."""

import os
import time
from collections.abc import Callable

from baselinekit.cli import screen
from baselinekit.cli.compare import CompareOptions
from baselinekit.cli.entry import clock
from baselinekit.cli.options import project_of
from baselinekit.clients.trust import in_ci
from baselinekit.commands import watching
from baselinekit.commands.watching import ProjectSnapshot
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem
from baselinekit.model.results import Report
from baselinekit.report.wording import list_first
from baselinekit.values.texts import count_noun

_POLL_SECONDS = 0.3
_SETTLE_SECONDS = 0.2
_MOST_SHOWN = 3
_FAILING_OUTCOMES = ("failed", "error", "unscored")

Round = Callable[[frozenset[str] | None, frozenset[str]], Report]
"""One compare: among these ids (None: all that are selected), these first."""


class Watch:
    """The watch loop, and what it remembers from one round to the next."""

    def __init__(self, options: CompareOptions, run: Round):
        if options.as_json:
            message = "--json is one document, and --watch never ends"
            raise InvalidInput(Problem("BK508", message, "leave out one"))
        if in_ci(os.environ):
            message = "--watch would never end here: CI is set"
            raise InvalidInput(Problem("BK508", message, "leave it out in CI"))
        self._options = options
        self._settings = [os.path.abspath(path) for path in options.project.env_files]
        self._run = run
        self._style = screen.style_of(options.color)
        self._failing_ids: frozenset[str] = frozenset()
        self._code = 0

    def until_stopped(self) -> int:
        """Watch until Ctrl-C. Between two rounds it ends the watch with the exit code of the last round;
        during a round it is an interruption as usual."""
        view: ProjectSnapshot | None = self._take_view()
        if self._run_round(None, frozenset()):
            return self._code
        try:
            while view is not None:
                text = f"watching {count_noun(len(view.baselines), 'baseline')}; Ctrl-C stops"
                screen.line(self._style.paint(text, "dim"), err=True)
                view = self._compare_next_change(view)
        except KeyboardInterrupt:
            screen.line(err=True)
        return self._code

    def _compare_next_change(self, before: ProjectSnapshot) -> ProjectSnapshot | None:
        """Wait for a relevant change and compare the baselines it touches. None if the compare was
        interrupted."""
        while True:
            _wait(before)
            now = self._take_view()
            touched = watching.changed_baselines(before, now)
            if now.problems and now.problems != before.problems:
                screen.line(screen.safe("\n".join(map(str, now.problems))), err=True)
            names = [
                os.path.basename(file) for file in watching.changed_files(before, now) if os.path.isfile(file)
            ]
            before = now
            if not touched or now.problems:
                continue
            ids = touched | (self._failing_ids & now.baselines.keys())
            listed = list_first(names, _MOST_SHOWN)
            time_of_day = time.strftime("%H:%M:%S", time.localtime(clock()()))
            title = f"-- {time_of_day} {screen.safe_line(listed) or 'the files'} changed"
            screen.line(self._style.paint(title, "bold"))
            return None if self._run_round(ids, touched) else now

    def _run_round(self, among: frozenset[str] | None, first: frozenset[str]) -> bool:
        """Run one compare; return whether it was interrupted. Errors are printed and the watch goes on, as
        the next change may fix them."""
        try:
            report = self._run(among, first)
        except NothingSelected as error:
            self._code = error.exit_code
            if among is None:
                screen.line(screen.safe(str(error)), err=True)
            return False
        except BaselinekitError as error:
            screen.line(screen.safe(str(error)), err=True)
            self._code = error.exit_code
            return False
        covered = {result.id for result in report.results}
        bad = {result.id for result in report.results if result.outcome in _FAILING_OUTCOMES}
        self._failing_ids = (self._failing_ids - covered) | bad
        self._code = report.exit_code
        return report.interrupted

    def _take_view(self) -> ProjectSnapshot:
        """The state of the project's files; only of the configuration, as long as that cannot be read."""
        options = self._options
        try:
            return watching.take_snapshot(project_of(options.project), options.paths, self._settings)
        except BaselinekitError as error:
            config = os.path.abspath(options.project.config or "baselinekit.yaml")
            return watching.view_files([config], error.problems)


def _wait(view: ProjectSnapshot) -> None:
    """Wait until a file changes, and then a moment: an editor writes in several steps."""
    while not view.is_stale():
        time.sleep(_POLL_SECONDS)
    time.sleep(_SETTLE_SECONDS)
