"""What a change touches (--changed-since), and which baselines it loosens (--base)."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar

from baselinekit.clients.programs.git import Git
from baselinekit.commands.loading import load_partly
from baselinekit.commands.project import Project
from baselinekit.commands.weakened import Way, weakened
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.kinds.settings import EXECUTION, INPUT
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Baseline
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Config, Skill
from baselinekit.model.results import BaselineChange, BaselineChanges
from baselinekit.model.values import Json, Path
from baselinekit.store import at_revision, records
from baselinekit.store.project import CONFIG_NAME
from baselinekit.store.reading import locate
from baselinekit.structs import Struct, asdict, replace

# --changed-since: the baselines that a change touches. A baseline counts as touched when its own file
# has changed, or any file that its recipe uses: every file that a text in it names, the folder of its
# skill, the program behind a name of the configuration. A change of the configuration touches all.
# Git lists the files that differ. Which of them a baseline uses is not looked up in the file system, so
# that deleted files count as well.


_IRRELEVANT_KEYS = {"version", "record", "inline_limit", "evals", "limits"}
_SKILL_FOLDERS = ("skills", ".claude/skills")
_LONGEST_NAME = 1_024
_MODULE = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def select_touched(
    project: Project, git: Git, rev: str, chosen: list[Baseline]
) -> tuple[list[Baseline], list[str]]:
    """Return those of the chosen baselines that have changed, or that use something changed, since the commit
    at which this checkout branched off `rev`; and notes on how that was determined."""
    if not chosen:
        return [], []
    start, notes = branched_at(git, rev, "--changed-since")
    settings = settings_changed(project, git, start)
    if general := sorted(settings.keys() - _IRRELEVANT_KEYS):
        message = f"{project.config_file or CONFIG_NAME}: {', '.join(general)} changed since {rev}"
        return chosen, [*notes, f"{message}, so that all baselines are compared"]
    files = git.changed_since(start)
    folders = {str(folder) for name in files for folder in PurePosixPath(name).parents}
    root = os.path.realpath(project.root)
    in_changed_files = [  # only the record may have changed, which does not count
        baseline
        for baseline in chosen
        for file in [baseline.source.file]
        if not files.isdisjoint([file, os.path.relpath(os.path.realpath(os.path.join(root, file)), root)])
    ]
    before = at_revision.case_digests(git, start, {baseline.source.file for baseline in in_changed_files})
    edited = {
        baseline.id
        for baseline in in_changed_files
        if before.get((baseline.source.file, baseline.id)) != records.case_digest(baseline.source.digest)
    }

    def is_touched(baseline: Baseline) -> bool:
        if baseline.id in edited or os.path.isabs(baseline.source.file):  # one outside is unknown to git
            return True
        used_files, used_folders = used_by(baseline, project)
        return not (files.isdisjoint(used_files) and folders.isdisjoint(used_folders))

    return list(filter(is_touched, chosen)), notes


def branched_at(git: Git, rev: str, option: str) -> tuple[str, list[str]]:
    """Return the commit at which this checkout branched off `rev`; `rev` itself, and a note, if git sees
    none."""
    commit = git.commit(rev, option)
    if (fork := git.fork(commit)) is not None:
        return fork, []
    return commit, [f"git sees no common ancestor with {rev} here: compared with {rev} itself"]


def used_by(baseline: Baseline, project: Project) -> tuple[list[str], list[str]]:
    """Return what a baseline may use: files, and folders with all their content, relative to the root; they
    need not exist. Each word of its recipe may be the name of a file."""
    recipe, config = baseline.current, project.config
    family, name = kind_of(recipe).asks(recipe)
    words, folders = {name, *_texts([recipe, baseline.comparison])}, []
    if family == "skills":
        folders = [f"{folder}/{name}" for folder in _SKILL_FOLDERS]
    entries = [
        entry
        for group in (config.commands, config.skills, config.models)
        for word, entry in group.items()
        if word in words
    ]
    folders += [os.path.normpath(one.folder) for one in entries if isinstance(one, Skill) and one.folder]
    modules = [module.split(".")[0] for entry in entries for module in _modules(entry)]
    starts = (*_starts(baseline), "")
    files = [
        *(
            name
            for text in (*baseline.output_files, *_expanded(_texts(recipe), project))
            for name in possible_files(text, starts)
        ),
        *(name for text in _texts(entries) for name in possible_files(text, ("",))),
        *(f"{module}.py" for module in modules),
    ]
    return files, [*folders, *modules]  # of a package any part may be imported


def _starts(baseline: Baseline) -> tuple[str, ...]:
    """Return the folders that file names may be relative to: its own, and where the program runs."""
    folder = os.path.dirname(baseline.source.file)
    cwd = getattr(baseline.current.input, "cwd", None)
    return (folder, os.path.join(folder, cwd)) if cwd else (folder,)


def _modules(one: Any) -> Iterator[str]:
    """Yield the Python modules that an one of the configuration runs."""
    if target := getattr(one, "python", None):
        yield target.partition(":")[0]
    argv = one if isinstance(one, list) else getattr(one, "argv", None) or getattr(one, "command", None)
    for flag, word in pairwise(argv or []):
        if flag == "-m" and _MODULE.fullmatch(word):
            yield word


def texts_at(value: Json, at: Path) -> Iterator[tuple[Path, str]]:
    """Yield every text in a part of a recipe or of the configuration that may name a file, with its place as
    far as the record has a key for it."""
    if isinstance(value, str):
        if 0 < len(value) <= _LONGEST_NAME and "\n" not in value and "\0" not in value:
            yield at, value
    elif isinstance(value, Struct):
        for name, item in asdict(value).items():
            yield from texts_at(item, (*at, name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_at(item, at)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from texts_at(item, (*at, number) if isinstance(item, Struct) else at)


def _texts(value: Json) -> Iterator[str]:
    return (text for _, text in texts_at(value, ()))


def settings_changed(project: Project, git: Git, commit: str) -> dict[str, set[str]]:
    """Return the keys of the configuration that have changed, with the names below them."""
    try:
        before = at_revision.config(git, commit, project.config_file or CONFIG_NAME) or Config()
    except InvalidInput:
        return {"what could not be read then": set()}
    changed = {}
    for key, old in asdict(before).items():
        new = getattr(project.config, key)
        if old != new:
            both = isinstance(old, dict) and isinstance(new, dict)
            changed[key] = {one for one in {**old, **new} if old.get(one) != new.get(one)} if both else set()
    return changed


def _expanded(texts: Iterable[str], project: Project) -> Iterator[str]:
    """Expand the project's variables in texts; a text with values that only a run has names no file."""
    for text in texts:
        with suppress(BaselinekitError):
            value = project.scope.expand(text, ()) if "{{" in text else text
            if isinstance(value, str):
                yield value


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
    start, notes = branched_at(git, ref, "--base")
    config_changes, old = config_then(project, git, start)
    old_folders = [old.baselines] if isinstance(old.baselines, str) else old.baselines
    folders = list(dict.fromkeys([*project.folders, *old_folders]))
    before, unread = at_revision.baselines(git, start, folders)
    notes += [f"{name} could not be read as it was at {ref}: what it held counts as added" for name in unread]
    after, _ = load_partly(project, ())
    if any(at_revision.is_baseline(name, folders) for name in git.left_out()):
        message = "--base compares all baselines, and this sparse checkout leaves some out"
        raise InvalidInput(Problem("BK508", message, "git sparse-checkout disable"))
    words_then, changed = replace(project.words, own=old.placeholders), git.changed_since(start)

    def ways_of(old: Baseline, new: Baseline) -> list[Way]:
        ways = weakened(old, new, words_then, project.words)
        return ways + _changed_files(new, project, changed) if changed else ways

    def place_of(baseline: Baseline, at: Path) -> Place:
        return locate(baseline.source, at, project.root)

    former, present = ({one.id: _approval(one) for one in group} for group in (before, after))
    changes = config_changes
    for change in changes_between(before, after, ways_of, place_of):
        approval = present.get(change.id)
        if approval is not None and approval != former.get(change.id):
            change = replace(change, approved_by=approval[1], reason=approval[2])
        changes.append(change)
    return BaselineChanges(ref=ref, commit=start, strict=strict, notes=tuple(notes), changes=tuple(changes))


def _approval(baseline: Baseline) -> tuple[str | None, str | None, str | None] | None:
    known = baseline.baseline
    return (known.captured_at, known.approved_by, known.reason) if known else None


def config_then(project: Project, git: Git, commit: str) -> tuple[list[BaselineChange], Config]:
    """Return what has changed in the configuration, and the old configuration."""
    name = project.config_file or CONFIG_NAME
    try:
        old = at_revision.config(git, commit, name)
    except InvalidInput:
        return [BaselineChange(name, "loosened", name, None, ("it could not be read then",))], Config()
    changed = settings_changed(project, git, commit) if old else {}
    ways = [
        f"{key} is now a different one" + (f": {', '.join(sorted(changed[key]))}" if changed[key] else "")
        for key in _RELEVANT_KEYS
        if key in changed
    ]
    change = BaselineChange(name, "loosened", name, None, tuple(ways))
    return [change] if ways else [], old or Config()


T = TypeVar("T", Baseline, Case)
CHANGES: tuple[Literal["loosened"], Literal["changed"]] = ("loosened", "changed")


def changes_between(
    before: Iterable[T],
    after: Iterable[T],
    ways_of: Callable[[T, T], Sequence[Way]],
    place_of: Callable[[T, Path], Place],
) -> Iterator[BaselineChange]:
    """Yield what was removed, added, loosened and changed, by id."""
    then, now = ({one.id: one for one in group} for group in (before, after))
    for id in sorted({**then, **now}):
        old, new = then.get(id), now.get(id)
        if new is None:
            yield BaselineChange(id, "removed", then[id].source.file, None)
        elif old is None:
            yield BaselineChange(id, "added", new.source.file, place_of(new, ("id",)).line)
        else:
            ways = ways_of(old, new)
            for change in CHANGES:
                if chosen := [way for way in ways if way.weakens is (change == "loosened")]:
                    place, rest = place_of(new, chosen[0].at), len(chosen) - _MOST_LISTED
                    lines = tuple(map(str, chosen[:_MOST_LISTED]))
                    lines += (f"and {rest:,} more",) if rest > 0 else ()
                    yield BaselineChange(id, change, place.file, place.line, lines)


def _changed_files(baseline: Baseline, project: Project, changed: Collection[str]) -> list[Way]:
    """Return the changed files that may be part of its request: uploads, templates, inputs, rubrics, words of
    a command. The program that is run, and a SKILL.md, are what is tested."""
    recipe = baseline.current
    question: Json = kind_of(recipe).question(recipe)
    parts = ((question, INPUT), (recipe.scores, (*EXECUTION, "scores")))
    places = {
        name: path
        for part, at in parts
        for path, text in texts_at(part, at)
        for value in _expanded([text], project)
        for name in possible_files(value, _starts(baseline))
    }
    named = ((name, at) for name, at in places.items() if name in changed)
    return [Way(at, f"another request is sent: {name} changed") for name, at in named]
