"""watch: find the baselines that have to be compared again, because they or what they use has changed.

The stamp of a file (size and time) only says that something was written: a compare writes its verdicts into
the very files that are watched. So a baseline counts as changed only when its record has changed, apart from
the two values of its verdict."""

import os
from collections.abc import Iterator, Mapping, Sequence

from baselinekit.commands.loading import load_partly, relative_to_root
from baselinekit.commands.project import Project
from baselinekit.commands.since import used_by
from baselinekit.errors import BaselinekitError, Problem
from baselinekit.model.baselines import Baseline
from baselinekit.store.records import case_digest
from baselinekit.structs import Struct, field, replace

MOST_FILES = 20_000
"""How many files are watched at most; of more, the first ones."""

Stamp = tuple[int, int, int] | None
"""The time, size and number of a file; None if there is none."""


class ProjectSnapshot(Struct):
    """The state of a project at one moment: of files, and for each baseline all that it depends on, apart
    from its verdict."""

    stamps: dict[str, Stamp]
    baselines: Mapping[str, object] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def is_stale(self) -> bool:
        """Whether a file was written, added or removed since: this is called often, so that no file is
        read."""
        return any(_stamp(file) != known for file, known in self.stamps.items())

    def again(self) -> "ProjectSnapshot":
        """Return the state of the same files now."""
        return replace(self, stamps={file: _stamp(file) for file in self.stamps})


def view_files(files: Sequence[str], problems: Sequence[Problem]) -> ProjectSnapshot:
    """Return all that can be watched while the configuration cannot be read."""
    return ProjectSnapshot({file: _stamp(file) for file in files}, problems=tuple(problems))


def take_snapshot(project: Project, paths: Sequence[str], settings: Sequence[str] = ()) -> ProjectSnapshot:
    """Return the present state. `settings`: files that all baselines depend on, besides the configuration."""
    config = os.path.join(project.root, project.config_file or "baselinekit.yaml")
    common = {file: _stamp(file) for file in (config, *settings)}
    baselines, broken = load_partly(project, paths)
    stamps = common | {file: _stamp(file) for file in _places(project, paths)}
    own_files = {os.path.join(project.root, baseline.source.file) for baseline in baselines}
    depends: dict[str, object] = {}
    for baseline in baselines:
        used = [file for file in _used_paths(baseline, project) if file not in own_files]
        for file in used:
            if file not in stamps and len(stamps) < MOST_FILES:
                stamps[file] = _stamp(file)
        record = case_digest(baseline.source.digest)
        depends[baseline.id] = record, common, {file: stamps.get(file) for file in used}
    return ProjectSnapshot(stamps, depends, broken.problems if broken else ())


def changed_baselines(before: ProjectSnapshot, now: ProjectSnapshot) -> frozenset[str]:
    """Return the baselines that are new, or that use anything that has changed."""
    return frozenset(id for id, state in now.baselines.items() if before.baselines.get(id) != state)


def changed_files(before: ProjectSnapshot, now: ProjectSnapshot) -> list[str]:
    """Return the files that have changed."""
    stamps = before.stamps | now.stamps
    return sorted(file for file in stamps if before.stamps.get(file) != now.stamps.get(file))


def _places(project: Project, paths: Sequence[str]) -> Iterator[str]:
    """Yield the files of the baselines, and their folders: the time of a folder shows what was added or
    removed."""
    folders = [
        relative_to_root(os.path.join(project.cwd, path), project.root) for path in paths
    ] or project.folders
    for name in folders:
        top = os.path.join(project.root, name)
        yield top
        yield from _paths_below(top)


def _used_paths(baseline: Baseline, project: Project) -> Iterator[str]:
    try:
        used = used_by(baseline, project)
    except BaselinekitError:
        return
    for file in used.files:
        path = os.path.join(project.root, file)
        if "." in os.path.basename(file) or os.path.isfile(path):
            yield path
    for folder in used.folders:
        yield from _paths_below(os.path.join(project.root, folder))


def _paths_below(folder: str) -> Iterator[str]:
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
