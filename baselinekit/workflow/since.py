"""What a change touches (--changed-since), and which baselines it loosens (--base)."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import Any, Literal

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.weakened import Loosened, weakened
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Config, Recipe, Skill
from baselinekit.model.results import Against, Revised
from baselinekit.model.values import Json, Path
from baselinekit.programs.git import Git
from baselinekit.store import at_revision, records
from baselinekit.store.project import CONFIG_NAME, read
from baselinekit.store.reading import locate
from baselinekit.workflow.loading import load_partly
from baselinekit.workflow.project import Project

# --changed-since: the baselines that a change touches. A baseline counts as touched when its own file
# has changed, or any file that its recipe leads to: whatever a text of it names, the folder of its
# skill, the program behind a name of the configuration, and what the configuration itself says of these.
# Git knows the files that differ. Which of them a baseline uses is not looked up in the file system, so
# that a file that is gone counts as well.


_BEARS_ON_NOTHING = {"version", "record", "inline_limit", "evals", "limits"}
_BY_NAME = ("skills", "commands", "models")
_SKILL_FOLDERS = ("skills", ".claude/skills")
_LONGEST_NAME = 1_024
_MODULE = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def select_touched(
    project: Project, git: Git, rev: str, chosen: list[Baseline]
) -> tuple[list[Baseline], tuple[str, ...]]:
    """Of the chosen baselines those that differ, or lead to what differs, from the commit at which the work
    of this checkout left `rev`; and what is to be said about how that was found out."""
    if not chosen:
        return [], ()
    commit = git.commit(rev, "--changed-since")
    start = git.fork(commit)
    notes = (
        []
        if start
        else [f"git sees no common ancestor with {rev} here: everything since {rev} itself counts"]
    )
    names = _Names(git.changed_since(start or commit))
    changed = settings_changed(project, git, start or commit)
    general = sorted(changed.keys() - set(_BY_NAME))
    if general:
        message = f"{project.config_file or CONFIG_NAME}: {', '.join(general)} changed since {rev}"
        return chosen, (*notes, f"{message}, so that all baselines are compared")
    suspects = [one for one in chosen if not os.path.isabs(one.source.file) and _own(one, project, names)]
    before = at_revision.cases(git, start or commit, {one.source.file for one in suspects})
    edited = {
        one.id
        for one in suspects
        if before.get((one.source.file, one.id)) != records.case_digest(one.source.digest)
    }
    found = [one for one in chosen if one.id in edited or leads_to(one, project, names, changed)]
    return found, tuple(notes)


def _own(baseline: Baseline, project: Project, names: "_Names") -> bool:
    """Whether its own file is among those that differ. That may be the record alone, which is no change."""
    file, root = baseline.source.file, os.path.realpath(project.root)
    return names.has(file) or names.has(os.path.relpath(os.path.realpath(os.path.join(root, file)), root))


class _Names:
    """The files that differ, by name and by the folders that they are in."""

    def __init__(self, files: set[str]):
        self._files = files
        self._folders: set[str] = set()
        for name in files:
            while (name := os.path.dirname(name)) and name not in self._folders:
                self._folders.add(name)

    def has(self, name: str) -> bool:
        return name in self._files

    def below(self, folder: str) -> bool:
        return folder in self._folders or folder in self._files


def leads_to(baseline: Baseline, project: Project, names: _Names, changed: dict[str, set[str]]) -> bool:
    """Whether anything that it uses differs. Of a file outside of the project git says nothing: it counts."""
    used = _Used(baseline, project.config)
    if os.path.isabs(baseline.source.file):
        return True
    if any(used.names[kind] & changed.get(kind, set()) for kind in _BY_NAME):
        return True
    files, folders = _led_to(baseline, project, used)
    return any(map(names.has, files)) or any(map(names.below, folders))


def used_files(baseline: Baseline, project: Project) -> tuple[list[str], list[str]]:
    """The files, and the folders with all that is in them, that a baseline may use: named from the root,
    whether they are there or not."""
    files, folders = _led_to(baseline, project, _Used(baseline, project.config))
    return list(files), list(folders)


def models_used(baseline: Baseline, project: Project) -> set[str]:
    """The models that a baseline asks, or has asked, by name."""
    return _Used(baseline, project.config).names["models"]


def _led_to(baseline: Baseline, project: Project, used: "_Used") -> tuple[Iterator[str], Iterator[str]]:
    folder = os.path.dirname(baseline.source.file)
    from_folder = [*used.outputs, *_expanded(_texts(baseline.current), project)]
    candidates = (name for text in from_folder for name in _named(text, (folder, *used.starts(folder), "")))
    from_root = (name for text in _texts(used.entries) for name in _named(text, ("",)))
    return chain(candidates, from_root, used.modules()), used.folders()


def request_files(baseline: Baseline, project: Project) -> Iterator[tuple[Path, str]]:
    """The files that may be part of what it asks, from the root on, with the place that names each: uploads,
    templates, inputs and what these name, rubrics, words of a command. The program that is run, and a
    SKILL.md, are what is tested."""
    recipe, folder = baseline.current, os.path.dirname(baseline.source.file)
    starts = (folder, *_Used(baseline, project.config).starts(folder))
    question: Json = kind_of(recipe).question(recipe)
    parts = ((question, INPUT), (recipe.scores, (*EXECUTION, "scores")))
    for part, at in parts:
        for path, text in texts_at(part, at):
            for value in _expanded([text], project):
                yield from ((path, name) for name in _named(value, starts))
    for name in names_in_inputs(recipe, project, folder):
        yield ("current", "input", "inputs_from"), name


def names_in_inputs(recipe: Recipe, project: Project, folder: str) -> Iterator[str]:
    """What the file of a prompt's inputs names in its turn. Of one that cannot be read others tell."""
    _, stated = kind_of(recipe).inputs(recipe)
    for path in _expanded([stated] if stated else [], project):
        try:
            data = read(project.root, os.path.normpath(os.path.join(folder, path)))
            found = language(path).load(decode(data, path).body, path)
        except BaselinekitError:
            continue
        yield from (name for text in _texts(found) for name in _named(text, (folder,)))


def texts_at(value: Json, at: Path) -> Iterator[tuple[Path, str]]:
    """Every text in a part of a recipe, with its place as far as a record has keys of its own there."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from texts_at(getattr(value, field.name), (*at, field.name))
    elif isinstance(value, list) and any(map(is_dataclass, value)):
        for number, item in enumerate(value):
            yield from texts_at(item, (*at, number))
    else:
        yield from ((at, text) for text in _texts(value))


class _Used:
    """What of the configuration a baseline uses, by name."""

    def __init__(self, baseline: Baseline, config: Config):
        recipe: Recipe = baseline.current
        rules = baseline.comparison
        known = baseline.baseline
        stated = (known.output_file, *(one.output_file for one in known.variants)) if known else ()
        self.outputs = [name for name in stated if name is not None]
        family, name = kind_of(recipe).asks(recipe)
        self._skill = name if family == "skills" else ""
        self._cwd = kind_of(recipe).working_folder(recipe)
        self.names: dict[str, set[str]] = {"commands": set(), "skills": set(), "models": set()}
        models: set[str | None] = {rules.method, *(rule.method for rule in rules.fields.values())}
        if recipe.scores:
            models.add(recipe.scores.model)
        entry = config.skills.get(self._skill)
        if self._skill and (entry is None or entry.folder):
            models.add((entry or Skill()).model)
        self.names["models"] |= {model for model in models if model}
        if name:
            self.names[family].add(name)
        entries: dict[str, dict[str, Any]] = {
            "commands": dict(config.commands),
            "skills": dict(config.skills),
            "models": dict(config.models),
        }
        self.entries = [
            mapping[name]
            for kind, mapping in entries.items()
            for name in sorted(self.names[kind])
            if name in mapping
        ]

    def starts(self, folder: str) -> list[str]:
        """Where names of files may start besides: where the program is run."""
        return [os.path.join(folder, self._cwd)] if self._cwd else []

    def folders(self) -> Iterator[str]:
        """All that is in them is used."""
        if self._skill:
            yield from (f"{folder}/{self._skill}" for folder in _SKILL_FOLDERS)
        for entry in self.entries:
            if isinstance(entry, Skill) and entry.folder:
                yield os.path.normpath(entry.folder)
        for module in self.python():
            yield module.split(".")[0]  # a package: any part of it may be imported

    def modules(self) -> Iterator[str]:
        yield from (f"{module.split('.')[0]}.py" for module in self.python())

    def python(self) -> Iterator[str]:
        for entry in self.entries:
            if stated := getattr(entry, "python", None):
                yield stated.partition(":")[0]
            argv = (
                entry
                if isinstance(entry, list)
                else getattr(entry, "argv", None) or getattr(entry, "command", None)
            )
            for flag, word in zip(argv or [], (argv or [])[1:], strict=False):
                if flag == "-m" and _MODULE.fullmatch(word):
                    yield word


def settings_changed(project: Project, git: Git, commit: str) -> dict[str, set[str]]:
    """The keys of the configuration that bear on results and are others now, with the names below them."""
    name = project.config_file or CONFIG_NAME
    try:
        before = at_revision.config(git, commit, name) or Config()
    except InvalidInput:
        return {"what could not be read then": set()}
    changed: dict[str, set[str]] = {}
    for field in fields(Config):
        old, new = getattr(before, field.name), getattr(project.config, field.name)
        if old == new or field.name in _BEARS_ON_NOTHING:
            continue
        both = old.keys() | new.keys() if field.name in _BY_NAME else ()
        changed[field.name] = {key for key in both if old.get(key) != new.get(key)}
    return changed


def _expanded(texts: Iterable[str], project: Project) -> Iterator[str]:
    """With the project's variables; what only a run can know names no file."""
    for text in texts:
        try:
            value = project.scope.expand(text, ()) if "{{" in text else text
        except BaselinekitError:
            continue
        if isinstance(value, str):
            yield value


def _texts(value: Json) -> Iterator[str]:
    """Every text in a part of a recipe or of the configuration."""
    if isinstance(value, str):
        if 0 < len(value) <= _LONGEST_NAME and "\n" not in value and "\0" not in value:
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _texts(getattr(value, field.name))


def _named(text: str, starts: Sequence[str]) -> Iterator[str]:
    """The files that a text may mean: `list.txt`, and what stands behind the `=` of `--config=list.txt`."""
    for word in dict.fromkeys((text, text.partition("=")[2])):
        if word and not os.path.isabs(word):
            yield from (os.path.normpath(os.path.join(start, word)) for start in starts)


# --base: what a change does to the baselines themselves. A pull request that edits what is expected is
# green, and should still be seen: what was added, removed, or lets pass what failed before.


_MOST_TOLD = 20
"""Ways in which one baseline was loosened, of which each is told."""

_BEARS = (
    *("base_url", "baselines", "environments", "variables", "placeholders", "http"),
    *("allow_hosts", "skills", "commands", "models"),
)


def find_weakened(project: Project, git: Git, ref: str, strict: bool) -> Against:
    """The baselines of the whole project beside those at the commit where the work of this checkout left
    `ref`. `strict`: what was weakened is to fail the run."""
    commit = git.commit(ref, "--base")
    fork = git.fork(commit)
    start = fork or commit
    notes = [] if fork else [f"git sees no common ancestor with {ref} here: compared with {ref} itself"]
    before, old = config_then(project, git, start)
    stated = [old.baselines] if isinstance(old.baselines, str) else old.baselines
    folders = list(dict.fromkeys([*project.folders, *stated]))
    stood, unread = at_revision.baselines(git, start, folders)
    notes += [f"{name} could not be read as it was at {ref}: what it held counts as added" for name in unread]
    found, _ = load_partly(project, ())
    found += at_revision.left_out(git, folders)  # a sparse checkout removes nothing
    changes = [*before, *_revised(project, stood, found, old, git.changed_since(start))]
    return Against(ref, start, tuple(changes), tuple(notes), strict)


def config_then(project: Project, git: Git, commit: str) -> tuple[list[Revised], Config]:
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
        f"{key} is now a different one"
        + (f": {', '.join(named)}" if (named := rows_weakened_by_name(*pairs[key])) else "")
        for key in _BEARS
        if pairs[key][0] != pairs[key][1]
    ]
    return [Revised(name, name, None, "loosened", tuple(how))] if how else [], old


def rows_weakened_by_name(old: object, new: object) -> list[str]:
    """Which of the names below a key are others."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return []
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


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
            yield Revised(id, other.source.file, line, "added", (), *_approval(None, other))
        elif one is not None and other is not None:
            ways = weakened(one, other, words_then, project.words)
            ways += other_files(other, project, changed)
            loose = [way for way in ways if not way.honest]
            honest = [way for way in ways if way.honest]
            if loose:
                yield _told(one, other, "loosened", loose, project)
            if honest:
                yield _told(one, other, "changed", honest, project)


def _told(
    before: Baseline,
    after: Baseline,
    change: Literal["loosened", "changed"],
    ways: Sequence[Loosened],
    project: Project,
) -> Revised:
    where = locate(after.source, ways[0].at, project.root)
    told = [_shown(way.at, way.what) for way in ways[:_MOST_TOLD]]
    more = len(ways) - len(told)
    told += [f"and {more:,} more"] if more else []
    by, reason = _approval(before, after)
    return Revised(after.id, where.file, where.line, change, tuple(told), by, reason)


def _approval(before: Baseline | None, after: Baseline) -> tuple[str | None, str | None]:
    """Who approved what is expected now, and why; of an approval that stood there already, nothing."""
    stated = after.baseline
    if stated is None or (
        before is not None
        and before.baseline is not None
        and (before.baseline.captured_at, before.baseline.approved_by, before.baseline.reason)
        == (stated.captured_at, stated.approved_by, stated.reason)
    ):
        return None, None
    return stated.approved_by, stated.reason


def other_files(baseline: Baseline, project: Project, changed: Collection[str]) -> list[Loosened]:
    """Files that it asks with and that are others now: another question, though its own file is the same."""
    if not changed:
        return []
    found = {name: at for at, name in request_files(baseline, project) if name in changed}
    return [Loosened(at, f"another request is sent: {name} changed") for name, at in found.items()]


def _shown(at: tuple[str | int, ...], what: str) -> str:
    """With the place, where the words do not name it."""
    from baselinekit.tree.paths import render

    return f"{render(at)}: {what}" if at[0] in ("baseline", "current") else what
