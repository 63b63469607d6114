"""`compare --watch`: round after round, until Ctrl-C."""

import gc
import os
import time
from collections.abc import Callable

from baselinekit.cli import screen
from baselinekit.cli.compare import CompareOptions
from baselinekit.cli.entry import clock
from baselinekit.cli.options import project_of
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem
from baselinekit.model.results import Report
from baselinekit.texts import many
from baselinekit.trust import in_ci
from baselinekit.workflow import watching
from baselinekit.workflow.watching import View

_PAUSE = 0.3
_SETTLING = 0.1
_MOST_STEPS = 20
_MOST_SHOWN = 3
_BAD = ("failed", "error", "unscored")

Round = Callable[[frozenset[str] | None, frozenset[str]], Report]
"""One compare: among these ids (None: all that are selected), these first."""


class Watch:
    """What is known from one round to the next."""

    def __init__(self, options: CompareOptions, run: Round):
        if options.as_json:
            what = "--json is one document, and --watch never ends"
            raise InvalidInput(Problem("BK508", what, "leave out one"))
        if in_ci(os.environ):
            what = "--watch would never end here: CI is set"
            raise InvalidInput(Problem("BK508", what, "leave it out in CI"))
        self._options = options
        self._settings = [os.path.abspath(path) for path in options.project.env_files]
        self._run = run
        self._style = screen.style_of(options.color)
        self._bad: frozenset[str] = frozenset()
        self._code = 0

    def until_stopped(self) -> int:
        """Ctrl-C between two rounds is how a watch ends: its exit code is that of the last round. In the
        middle of a round it is an interruption as always."""
        view: View | None = self._look()
        if self._round(None, frozenset()):
            return self._code
        try:
            while view is not None:
                text = f"watching {many(len(view.records), 'baseline')}; Ctrl-C stops"
                screen.line(self._style.paint(text, "dim"), err=True)
                view = self._round_due(view)
        except KeyboardInterrupt:
            screen.line(err=True)
        return self._code

    def _round_due(self, before: View) -> View | None:
        """Wait for a change that matters and compare what it touches. None: that was interrupted."""
        while True:
            _wait(before)
            now = self._look()
            touched = watching.changed_baselines(before, now, self._settings)
            if now.problems and now.problems != before.problems:
                screen.line(screen.safe("\n".join(map(str, now.problems))), err=True)
            names = [
                os.path.basename(file) for file in watching.changed_files(before, now) if os.path.isfile(file)
            ]
            before = now
            if not touched or now.problems:
                continue
            again = touched | watching.existing(self._bad, now)
            shown = ", ".join(names[:_MOST_SHOWN]) + (
                f" and {len(names) - _MOST_SHOWN} more" if names[3:] else ""
            )
            at = time.strftime("%H:%M:%S", time.localtime(clock()()))
            title = f"-- {at} {screen.safe_line(shown) or 'the files'} changed"
            screen.line(self._style.paint(title, "bold"))
            return None if self._round(again, touched) else now

    def _round(self, among: frozenset[str] | None, first: frozenset[str]) -> bool:
        """Whether it was interrupted. What cannot be read, or is not selected, is said: the next change may
        mend it."""
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
        finally:
            gc.unfreeze()
        covered = {result.id for result in report.results}
        bad = {result.id for result in report.results if result.outcome in _BAD}
        self._bad = (self._bad - covered) | bad
        self._code = report.exit_code
        return report.interrupted

    def _look(self) -> View:
        """A configuration that cannot be read is looked at until it can."""
        options = self._options
        try:
            return watching.look(project_of(options.project), options.paths, self._settings)
        except BaselinekitError as error:
            config = os.path.abspath(options.project.config or "baselinekit.yaml")
            return watching.view_files([config], error.problems)


def _wait(view: View) -> None:
    """Until something is written, and then until nothing more is: an editor writes in several steps."""
    while not view.is_stale():
        time.sleep(_PAUSE)
    latest = view.again()
    for _ in range(_MOST_STEPS):
        time.sleep(_SETTLING)
        if not latest.is_stale():
            return
        latest = latest.again()
