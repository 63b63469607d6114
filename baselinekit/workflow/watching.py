"""watch: which baselines have to be compared again, because they or what they lead to is not as it was.

A file's stamp (size and time) says that something was written, and nothing more: a compare writes its
verdicts into the very files that are watched. So a baseline counts as changed only when its record is another
one, the two values of its verdict aside."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from baselinekit.errors import BaselinekitError, Problem
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Baseline
from baselinekit.store.records import case_digest
from baselinekit.workflow.loading import from_root, load_partly
from baselinekit.workflow.project import Project
from baselinekit.workflow.since import used_files

MOST_FILES = 20_000
"""Files that are looked at each time. Of more, those that come first."""

Stamp = tuple[int, int, int] | None
"""Of a file: its time, its size and its number; None where there is none."""


@frozen
class View:
    """A project as it stood when somebody looked. `uses`: by file the baselines that lead to it."""

    stamps: dict[str, Stamp]
    records: Mapping[str, str] = field(default_factory=dict)
    uses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    config: str | None = None
    problems: tuple[Problem, ...] = ()

    def is_stale(self) -> bool:
        """Whether anything was written since, came or went: asked often, so that nothing is read for it."""
        return any(_stamp(file) != known for file, known in self.stamps.items())

    def again(self) -> "View":
        """The same files as they are now."""
        return replace(self, stamps={file: _stamp(file) for file in self.stamps})


def view_files(files: Sequence[str], problems: Sequence[Problem]) -> View:
    """All that can be looked at while a configuration cannot be read."""
    return View({file: _stamp(file) for file in files}, problems=tuple(problems))


def look(project: Project, paths: Sequence[str], settings: Sequence[str] = ()) -> View:
    """What is there now. `settings`: files that everything hangs on, besides the configuration."""
    config = os.path.join(project.root, project.config_file or "baselinekit.yaml")
    stamps: dict[str, Stamp] = {file: _stamp(file) for file in (config, *settings)}
    baselines, broken = load_partly(project, paths)
    for file in _places(project, paths):
        stamps[file] = _stamp(file)
    uses: dict[str, set[str]] = {}
    for baseline in baselines:
        for file in _led_to(baseline, project):
            if file in stamps or len(stamps) < MOST_FILES:
                stamps.setdefault(file, _stamp(file))
                uses.setdefault(file, set()).add(baseline.id)
    own = {os.path.join(project.root, baseline.source.file) for baseline in baselines}
    return View(
        stamps,
        {baseline.id: case_digest(baseline.source.digest) for baseline in baselines},
        {file: frozenset(ids) for file, ids in uses.items() if file not in own},
        config,
        broken.problems if broken else (),
    )


def changed_baselines(before: View, now: View, settings: Sequence[str] = ()) -> frozenset[str]:
    """The baselines that are new, or of which anything that bears on them is another."""
    differing = {
        file for file in before.stamps | now.stamps if before.stamps.get(file) != now.stamps.get(file)
    }
    if before.config is None or differing & {now.config, *settings}:
        return frozenset(now.records)
    found = {id for id, record in now.records.items() if before.records.get(id) != record}
    for file in differing:
        found |= now.uses.get(file, frozenset()) | (before.uses.get(file, frozenset()) & now.records.keys())
    return frozenset(found)


def changed_files(before: View, now: View) -> list[str]:
    """The files that are not as they were."""
    both = before.stamps | now.stamps
    return sorted(file for file in both if before.stamps.get(file) != now.stamps.get(file))


def _places(project: Project, paths: Sequence[str]) -> Iterator[str]:
    """The files of the baselines, and their folders: the time of a folder tells what came and what went."""
    named = [from_root(os.path.join(project.cwd, path), project.root) for path in paths] or project.folders
    for name in named:
        top = os.path.join(project.root, name)
        yield top
        yield from _below(top)


def _led_to(baseline: Baseline, project: Project) -> Iterator[str]:
    try:
        files, folders = used_files(baseline, project)
    except BaselinekitError:
        return
    for file in files:
        path = os.path.join(project.root, file)
        if "." in os.path.basename(file) or os.path.isfile(path):
            yield path
    for folder in folders:
        yield from _below(os.path.join(project.root, folder))


def _below(folder: str) -> Iterator[str]:
    for path, inside, files in os.walk(folder):
        inside[:] = sorted(name for name in inside if not name.startswith(".") and name != "__pycache__")
        yield path
        yield from (os.path.join(path, file) for file in sorted(files))


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def existing(ids: Iterable[str], view: View) -> frozenset[str]:
    """Those that are still there."""
    return frozenset(ids) & view.records.keys()
