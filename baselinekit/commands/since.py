"""What a change touches (--changed-since), and which baselines it loosens (--base)."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal

from baselinekit.clients.programs.git import Git
from baselinekit.commands.loading import load_partly
from baselinekit.commands.project import Project
from baselinekit.commands.weakened import Way, weakened
from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.kinds.settings import EXECUTION, INPUT
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Config, Recipe, Skill
from baselinekit.model.results import BaselineChange, BaselineChanges
from baselinekit.model.values import Json, Path
from baselinekit.store import at_revision, records
from baselinekit.store.project import CONFIG_NAME, read
from baselinekit.store.reading import locate
from baselinekit.structs import Struct, asdict, replace

# --changed-since: the baselines that a change touches. A baseline counts as touched when its own file
# has changed, or any file that its recipe uses: every file that a text in it names, the folder of its
# skill, the program behind a name of the configuration, and the entries of the configuration for these.
# Git lists the files that differ. Which of them a baseline uses is not looked up in the file system, so
# that deleted files count as well.


_IRRELEVANT_KEYS = {"version", "record", "inline_limit", "evals", "limits"}
_BY_NAME = ("skills", "commands", "models")
_SKILL_FOLDERS = ("skills", ".claude/skills")
_LONGEST_NAME = 1_024
_MODULE = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def select_touched(
    project: Project, git: Git, rev: str, chosen: list[Baseline]
) -> tuple[list[Baseline], tuple[str, ...]]:
    """Return those of the chosen baselines that have changed, or that use something changed, since the commit
    at which this checkout branched off `rev`; and notes on how that was determined."""
    if not chosen:
        return [], ()
    commit = git.commit(rev, "--changed-since")
    start = git.fork(commit)
    notes = (
        []
        if start
        else [f"git sees no common ancestor with {rev} here: everything since {rev} itself counts"]
    )
    names = _ChangedFiles(git.changed_since(start or commit))
    changed = settings_changed(project, git, start or commit)
    general = sorted(changed.keys() - set(_BY_NAME))
    if general:
        message = f"{project.config_file or CONFIG_NAME}: {', '.join(general)} changed since {rev}"
        return chosen, (*notes, f"{message}, so that all baselines are compared")
    candidates = [
        baseline
        for baseline in chosen
        if not os.path.isabs(baseline.source.file) and _may_have_changed(baseline, project, names)
    ]
    before = at_revision.case_digests(git, start or commit, {baseline.source.file for baseline in candidates})
    edited = {
        baseline.id
        for baseline in candidates
        if before.get((baseline.source.file, baseline.id)) != records.case_digest(baseline.source.digest)
    }
    touched = [
        baseline
        for baseline in chosen
        if baseline.id in edited or leads_to(baseline, project, names, changed)
    ]
    return touched, tuple(notes)


def _may_have_changed(baseline: Baseline, project: Project, names: "_ChangedFiles") -> bool:
    """Whether its own file is among the changed ones. Only its record may have changed, which does not
    count."""
    file, root = baseline.source.file, os.path.realpath(project.root)
    return names.has(file) or names.has(os.path.relpath(os.path.realpath(os.path.join(root, file)), root))


class _ChangedFiles:
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


def leads_to(
    baseline: Baseline, project: Project, names: _ChangedFiles, changed: dict[str, set[str]]
) -> bool:
    """Whether anything that it uses has changed. A file outside of the project, unknown to git, always
    counts."""
    used = _UsedSettings(baseline, project.config)
    if os.path.isabs(baseline.source.file):
        return True
    if any(used.names[kind] & changed.get(kind, set()) for kind in _BY_NAME):
        return True
    files, folders = _find_used(baseline, project, used)
    return any(map(names.has, files)) or any(map(names.below, folders))


def used_files(baseline: Baseline, project: Project) -> tuple[list[str], list[str]]:
    """Return the files, and the folders with all their content, that a baseline may use: relative to the
    root, whether they exist or not."""
    files, folders = _find_used(baseline, project, _UsedSettings(baseline, project.config))
    return list(files), list(folders)


def models_used(baseline: Baseline, project: Project) -> set[str]:
    """Return the names of the models that a baseline uses, for its recipe or its comparison."""
    return _UsedSettings(baseline, project.config).names["models"]


def _find_used(
    baseline: Baseline, project: Project, used: "_UsedSettings"
) -> tuple[Iterator[str], Iterator[str]]:
    folder = os.path.dirname(baseline.source.file)
    from_folder = [*used.outputs, *_expanded(_texts(baseline.current), project)]
    candidates = (
        name for text in from_folder for name in possible_files(text, (folder, *used.starts(folder), ""))
    )
    from_root = (name for text in _texts(used.entries) for name in possible_files(text, ("",)))
    return chain(candidates, from_root, used.modules()), used.folders()


def request_files(baseline: Baseline, project: Project) -> Iterator[tuple[Path, str]]:
    """Yield the files that may be part of what it sends, relative to the root, with the place that names
    each: uploads, templates, inputs and the files these name, rubrics, words of a command. The program that
    is run, and a SKILL.md, are what is tested."""
    recipe, folder = baseline.current, os.path.dirname(baseline.source.file)
    starts = (folder, *_UsedSettings(baseline, project.config).starts(folder))
    question: Json = kind_of(recipe).question(recipe)
    parts = ((question, INPUT), (recipe.scores, (*EXECUTION, "scores")))
    for part, at in parts:
        for path, text in texts_at(part, at):
            for value in _expanded([text], project):
                yield from ((path, name) for name in possible_files(value, starts))
    for name in names_in_inputs(recipe, project, folder):
        yield ("current", "input", "inputs_from"), name


def names_in_inputs(recipe: Recipe, project: Project, folder: str) -> Iterator[str]:
    """Yield the files that the input file of a prompt names. One that cannot be read is reported
    elsewhere."""
    _, inputs_file = kind_of(recipe).inputs(recipe)
    for path in _expanded([inputs_file] if inputs_file else [], project):
        try:
            data = read(project.root, os.path.normpath(os.path.join(folder, path)))
            inputs = language(path).load(decode(data, path).body, path)
        except BaselinekitError:
            continue
        yield from (name for text in _texts(inputs) for name in possible_files(text, (folder,)))


def texts_at(value: Json, at: Path) -> Iterator[tuple[Path, str]]:
    """Yield every text in a part of a recipe, with its place as far as the record has a key for it."""
    if isinstance(value, Struct):
        for name, item in asdict(value).items():
            yield from texts_at(item, (*at, name))
    elif isinstance(value, list) and any(isinstance(item, Struct) for item in value):
        for number, item in enumerate(value):
            yield from texts_at(item, (*at, number))
    else:
        yield from ((at, text) for text in _texts(value))


class _UsedSettings:
    """The entries of the configuration that a baseline uses, by name."""

    def __init__(self, baseline: Baseline, config: Config):
        recipe: Recipe = baseline.current
        rules = baseline.comparison
        stored = baseline.baseline
        output_files = (
            (stored.output_file, *(variant.output_file for variant in stored.variants)) if stored else ()
        )
        self.outputs = [name for name in output_files if name is not None]
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
        """Return other folders that file names may be relative to: where the program is run."""
        return [os.path.join(folder, self._cwd)] if self._cwd else []

    def folders(self) -> Iterator[str]:
        """Yield the folders of which everything is used."""
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
            if target := getattr(entry, "python", None):
                yield target.partition(":")[0]
            argv = (
                entry
                if isinstance(entry, list)
                else getattr(entry, "argv", None) or getattr(entry, "command", None)
            )
            for flag, word in zip(argv or [], (argv or [])[1:], strict=False):
                if flag == "-m" and _MODULE.fullmatch(word):
                    yield word


def settings_changed(project: Project, git: Git, commit: str) -> dict[str, set[str]]:
    """Return the keys of the configuration that affect results and have changed, with the names below
    them."""
    name = project.config_file or CONFIG_NAME
    try:
        before = at_revision.config(git, commit, name) or Config()
    except InvalidInput:
        return {"what could not be read then": set()}
    changed: dict[str, set[str]] = {}
    for field, old in asdict(before).items():
        new = getattr(project.config, field)
        if old == new or field in _IRRELEVANT_KEYS:
            continue
        names = old.keys() | new.keys() if field in _BY_NAME else ()
        changed[field] = {key for key in names if old.get(key) != new.get(key)}
    return changed


def _expanded(texts: Iterable[str], project: Project) -> Iterator[str]:
    """Expand the project's variables in texts; a text with values that only a run has names no file."""
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
    elif isinstance(value, Struct):
        yield from _texts(asdict(value))


def possible_files(text: str, starts: Sequence[str]) -> Iterator[str]:
    """Yield the files that a text may mean: `list.txt`, or what follows the `=` in `--config=list.txt`."""
    for word in dict.fromkeys((text, text.partition("=")[2])):
        if word and not os.path.isabs(word):
            yield from (os.path.normpath(os.path.join(start, word)) for start in starts)


# --base: what a change does to the baselines themselves. A pull request that edits the expectations passes,
# and its changes should still be visible: baselines added, removed, or loosened so that more passes.


_MOST_LISTED = 20
"""How many of the ways in which one baseline was loosened are listed."""

_RELEVANT_KEYS = (
    *("base_url", "baselines", "environments", "variables", "placeholders", "http"),
    *("allow_hosts", "skills", "commands", "models"),
)


def find_weakened(project: Project, git: Git, ref: str, strict: bool) -> BaselineChanges:
    """Compare the baselines of the whole project with those at the commit where this checkout branched off
    `ref`. `strict`: a weakened baseline makes the run fail."""
    commit = git.commit(ref, "--base")
    fork = git.fork(commit)
    start = fork or commit
    notes = [] if fork else [f"git sees no common ancestor with {ref} here: compared with {ref} itself"]
    config_changes, old = config_then(project, git, start)
    old_folders = [old.baselines] if isinstance(old.baselines, str) else old.baselines
    folders = list(dict.fromkeys([*project.folders, *old_folders]))
    old_baselines, unread = at_revision.baselines(git, start, folders)
    notes += [f"{name} could not be read as it was at {ref}: what it held counts as added" for name in unread]
    baselines, _ = load_partly(project, ())
    baselines += at_revision.sparse_baselines(git, folders)  # a sparse checkout removes nothing
    changes = [
        *config_changes,
        *_compare_baselines(project, old_baselines, baselines, old, git.changed_since(start)),
    ]
    return BaselineChanges(ref, start, tuple(changes), tuple(notes), strict)


def config_then(project: Project, git: Git, commit: str) -> tuple[list[BaselineChange], Config]:
    """Return what has changed in the configuration, and the old configuration."""
    name = project.config_file or CONFIG_NAME
    try:
        old = at_revision.config(git, commit, name)
    except InvalidInput:
        return [BaselineChange(name, name, None, "loosened", ("it could not be read then",))], Config()
    if old is None:
        return [], Config()
    pairs = {field: (then, getattr(project.config, field)) for field, then in asdict(old).items()}
    changes = [
        f"{key} is now a different one"
        + (f": {', '.join(names)}" if (names := rows_weakened_by_name(*pairs[key])) else "")
        for key in _RELEVANT_KEYS
        if pairs[key][0] != pairs[key][1]
    ]
    return [BaselineChange(name, name, None, "loosened", tuple(changes))] if changes else [], old


def rows_weakened_by_name(old: object, new: object) -> list[str]:
    """Return which of the names below a key have changed."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return []
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


def _compare_baselines(
    project: Project,
    old_baselines: Iterable[Baseline],
    baselines: Iterable[Baseline],
    old: Config,
    changed: Collection[str],
) -> Iterator[BaselineChange]:
    before, after = ({baseline.id: baseline for baseline in group} for group in (old_baselines, baselines))
    words_then = replace(project.words, own=old.placeholders)
    for id in sorted({**before, **after}):
        old_baseline, new_baseline = before.get(id), after.get(id)
        if new_baseline is None and old_baseline is not None:
            yield BaselineChange(id, old_baseline.source.file, None, "removed")
        elif new_baseline is not None and old_baseline is None:
            line = locate(new_baseline.source, ("id",), project.root).line
            yield BaselineChange(
                id, new_baseline.source.file, line, "added", (), *_approval(None, new_baseline)
            )
        elif old_baseline is not None and new_baseline is not None:
            ways = weakened(old_baseline, new_baseline, words_then, project.words)
            ways += other_files(new_baseline, project, changed)
            loosening = [way for way in ways if way.weakens]
            honest = [way for way in ways if not way.weakens]
            if loosening:
                yield _describe_revision(old_baseline, new_baseline, "loosened", loosening, project)
            if honest:
                yield _describe_revision(old_baseline, new_baseline, "changed", honest, project)


def _describe_revision(
    before: Baseline,
    after: Baseline,
    change: Literal["loosened", "changed"],
    ways: Sequence[Way],
    project: Project,
) -> BaselineChange:
    where = locate(after.source, ways[0].at, project.root)
    lines = [_with_path(way.at, way.message) for way in ways[:_MOST_LISTED]]
    remaining = len(ways) - len(lines)
    lines += [f"and {remaining:,} more"] if remaining else []
    approver, reason = _approval(before, after)
    return BaselineChange(after.id, where.file, where.line, change, tuple(lines), approver, reason)


def _approval(before: Baseline | None, after: Baseline) -> tuple[str | None, str | None]:
    """Return who approved the present output, and why; nothing if that is the same approval as before."""
    stored = after.baseline
    if stored is None or (
        before is not None
        and before.baseline is not None
        and (before.baseline.captured_at, before.baseline.approved_by, before.baseline.reason)
        == (stored.captured_at, stored.approved_by, stored.reason)
    ):
        return None, None
    return stored.approved_by, stored.reason


def other_files(baseline: Baseline, project: Project, changed: Collection[str]) -> list[Way]:
    """Return the changed files that are part of its request: another request is sent, though its own file is
    the same."""
    if not changed:
        return []
    places = {name: at for at, name in request_files(baseline, project) if name in changed}
    return [Way(at, f"another request is sent: {name} changed") for name, at in places.items()]


def _with_path(at: tuple[str | int, ...], message: str) -> str:
    """Add the place to a message that does not name it."""
    from baselinekit.values.paths import render

    return f"{render(at)}: {message}" if at[0] in ("baseline", "current") else message
