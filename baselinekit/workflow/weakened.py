"""--base: what a change does to the baselines themselves. A pull request that edits what is expected is
green, and should still be seen: what was added, removed, or lets pass what failed before."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields, replace

from baselinekit.compare.weakened import weakened
from baselinekit.errors import InvalidInput
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Config
from baselinekit.model.results import Against, Revised
from baselinekit.model.values import Path
from baselinekit.programs.git import Git
from baselinekit.store import at_revision
from baselinekit.store.project import CONFIG_NAME
from baselinekit.store.reading import locate
from baselinekit.workflow.loading import load_partly
from baselinekit.workflow.project import Project
from baselinekit.workflow.since import request_files

_MOST_TOLD = 20
"""Ways in which one baseline was loosened, of which each is told."""

_BEARS = (
    *("base_url", "baselines", "environments", "variables", "placeholders", "http"),
    *("allow_hosts", "skills", "commands", "models"),
)


def against(project: Project, git: Git, ref: str, strict: bool) -> Against:
    """The baselines of the whole project beside those at the commit where the work of this checkout left
    `ref`. `strict`: what was weakened is to fail the run."""
    commit = git.commit(ref, "--base")
    fork = git.fork(commit)
    start = fork or commit
    notes = [] if fork else [f"git sees no common ancestor with {ref} here: compared with {ref} itself"]
    before, old = _config_then(project, git, start)
    folders = list(dict.fromkeys([*project.folders, *_folders(old)]))
    stood, unread = at_revision.baselines(git, start, folders)
    notes += [f"{name} could not be read as it was at {ref}: what it held counts as added" for name in unread]
    found, _ = load_partly(project, ())
    changes = [*before, *_revised(project, stood, found, old, git.changed_since(start))]
    return Against(ref, start, tuple(changes), tuple(notes), strict)


def _config_then(project: Project, git: Git, commit: str) -> tuple[list[Revised], Config]:
    """What the configuration says otherwise now, and what it said."""
    name = project.config_file or CONFIG_NAME
    try:
        old = at_revision.config(git, commit, name)
    except InvalidInput:
        return [Revised(name, name, None, "loosened", ("it could not be read then",))], Config()
    if old is None:
        return [], Config()
    pairs = {
        field.name: (getattr(old, field.name), getattr(project.config, field.name))
        for field in fields(Config)
    }
    how = [
        f"{key} is now a different one" + (f": {', '.join(named)}" if (named := _named(*pairs[key])) else "")
        for key in _BEARS
        if pairs[key][0] != pairs[key][1]
    ]
    return [Revised(name, name, None, "loosened", tuple(how))] if how else [], old


def _named(old: object, new: object) -> list[str]:
    """Which of the names below a key are others."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return []
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


def _folders(config: Config) -> list[str]:
    return [config.baselines] if isinstance(config.baselines, str) else list(config.baselines)


def _revised(
    project: Project,
    stood: Iterable[Baseline],
    found: Iterable[Baseline],
    old: Config,
    changed: Collection[str],
) -> Iterator[Revised]:
    before, after = ({one.id: one for one in some} for some in (stood, found))
    words_then = replace(project.words, own=old.placeholders)
    for id in sorted({**before, **after}):
        one, other = before.get(id), after.get(id)
        if other is None and one is not None:
            yield Revised(id, one.source.file, None, "removed")
        elif other is not None and one is None:
            line = locate(other.source, ("id",), project.root).line
            yield Revised(id, other.source.file, line, "added")
        elif one is not None and other is not None:
            ways = [(way.at, way.what) for way in weakened(one, other, words_then, project.words)]
            ways += _other_files(other, project, changed)
            if ways:
                where = locate(other.source, ways[0][0], project.root)
                told = [_shown(at, what) for at, what in ways[:_MOST_TOLD]]
                more = len(ways) - len(told)
                told += [f"and {more:,} more"] if more else []
                yield Revised(id, where.file, where.line, "loosened", tuple(told))


def _other_files(baseline: Baseline, project: Project, changed: Collection[str]) -> list[tuple[Path, str]]:
    """Files that it asks with and that are others now: another question, though its own file is the same."""
    if not changed:
        return []
    found = {name: at for at, name in request_files(baseline, project) if name in changed}
    return [(at, f"another request is sent: {name} changed") for name, at in found.items()]


def _shown(at: tuple[str | int, ...], what: str) -> str:
    """With the place, where the words do not name it."""
    from baselinekit.tree.paths import render

    return f"{render(at)}: {what}" if at[0] in ("baseline", "current") else what
