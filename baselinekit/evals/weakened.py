"""What a change does to the eval cases (`run --base`): which are removed, ask for less, or expect something
else. Where it is unknown which of two values asks for more, the change is listed."""

import os
from collections.abc import Iterator, Sequence

from baselinekit.clients.programs.git import Git
from baselinekit.commands.project import Project
from baselinekit.commands.since import (
    Way,
    branched_at,
    changes_between,
    compare_recipes,
    compare_values,
    config_then,
    files_named,
    selecting,
    short,
    weakened,
)
from baselinekit.errors import Place
from baselinekit.evals.selection import PROMPTS, folders
from baselinekit.model.evals import Case, Expected, Suite
from baselinekit.model.results import BaselineChange, BaselineChanges
from baselinekit.model.values import Json
from baselinekit.store.at_revision import laid_out
from baselinekit.structs import replace
from baselinekit.suites.loading import load_everything

_MOST_FILES = 5_000
"""With more files in a commit, only those in the folders of evals are read."""

_OF_A_CASE = ("expected", "pass_rule", "retries", "weight", "scripts", "wanted", "context")


def find_weakened_cases(project: Project, git: Git, ref: str, strict: bool) -> BaselineChanges:
    """Compare the eval cases of the whole project with those at the commit where this checkout branched off
    `ref`. `strict`: a weakened case makes the run fail."""
    start, notes = branched_at(git, ref, "--base")
    config_changes, old_config = config_then(project, git, start)
    then, starts = replace(project, config=old_config), tuple[str, ...](("",))
    if len(git.tree(start)) > _MOST_FILES:
        eval_folders = (*then.eval_folders, *project.eval_folders, PROMPTS)
        starts = tuple(f"{os.path.normpath(folder)}/" for folder in eval_folders)
    with laid_out(git, start, lambda name: name.startswith(starts)) as root:
        then = replace(then, root=root)
        _, old = load_everything(folders(then), root, targets=project.targets)
        unread = old.all_problems()
    notes += [f"at {ref}: {problem}: what it held counts as added" for problem in unread]
    _, new = load_everything(folders(project), project.root, targets=project.targets)
    changed = git.changed_since(start)
    case_changes = changes_between(
        old.cases,
        new.cases,
        lambda before, after: [
            *_compare_case(before, after, project),
            *_other_files(after, changed, project),
        ],
        lambda case, at: Place(case.source.file),
    )
    changes = [*config_changes, *_compare_suites(old.suites, new.suites), *case_changes]
    return BaselineChanges(ref=ref, commit=start, strict=strict, notes=tuple(notes), changes=tuple(changes))


def _compare_suites(old: Sequence[Suite], new: Sequence[Suite]) -> Iterator[BaselineChange]:
    now = {suite.file: suite for suite in new}
    for before in old:
        file = before.file or before.name
        if (after := now.get(before.file)) is None:
            yield BaselineChange(before.name, "removed", file, None)
            continue
        ways = []
        for name, least in before.thresholds.items():
            now_least = after.thresholds.get(name)
            if now_least is None or now_least < least:
                shown = "none" if now_least is None else f"{now_least:g}"
                ways.append(f"threshold of {name}: {least:g} -> {shown}")
        for key in ("attempts", "retry_failed", "retry_count"):
            was, is_now = getattr(before.config, key), getattr(after.config, key)
            if was != is_now:
                ways.append(f"{key}: {short(was)} -> {short(is_now)}")
        if ways:
            yield BaselineChange(after.name, "loosened", file, None, tuple(ways))


def _compare_case(old: Case, new: Case, project: Project) -> Iterator[Way]:
    yield from compare_recipes(old.recipe, new.recipe)
    if old.kind == "regression" and new.kind != "regression":
        yield Way(("eval_type",), "regression -> capability")
    for key in _OF_A_CASE:
        for way in compare_values(getattr(old, key), getattr(new, key), (key,)):
            is_weaker = way.at == ("expected", "value") and _asks_less(old.expected, new.expected)
            yield replace(way, weakens=True) if is_weaker else way
    now = {grader.name: grader for grader in new.graders}
    for before in old.graders:
        after = now.pop(before.name, None)
        if after is None:
            yield Way(("graders",), f"is no longer graded by {before.name}")
        elif type(before.method) is not type(after.method):
            yield Way((before.name,), "grades by another method")
        else:
            yield from compare_values(before.method, after.method, (before.name,))
            for key in ("weight", "required"):
                yield from compare_values(getattr(before, key), getattr(after, key), (before.name, key))
    if new.pass_rule.by == "mean":
        yield from (Way(("graders",), f"{name} counts in the mean now") for name in now)
    if old.baseline is not None and new.baseline is None:
        yield Way(("baseline",), "is no longer compared")
    elif old.baseline is not None and new.baseline is not None:
        yield from weakened(old.baseline, new.baseline, project.words, project.words)
    yield from compare_values(selecting(old), selecting(new), ("metadata",))


def _asks_less(old: Expected | None, new: Expected | None) -> bool:
    """Whether a changed expected value asks for less, and is not just another one, as after a refresh:
    another pattern, or texts and calls that the old ones include."""
    if old is None or new is None or old.type != new.type or old.type == "pattern":
        return old is not None and new is not None and old.type == new.type
    before, after = ([value] if isinstance(value, str) else value for value in (old.value, new.value))
    are_lists = isinstance(before, list) and isinstance(after, list)
    if old.type not in ("contains", "functional") or not are_lists:
        return False

    def includes(other: Json, one: Json) -> bool:
        return one == other or (isinstance(one, str) and isinstance(other, str) and one in other)

    return all(any(includes(other, one) for other in before) for one in after)


def _other_files(case: Case, changed: set[str], project: Project) -> Iterator[Way]:
    """Yield the changed files that a case names: another rubric, another question."""
    starts = (os.path.dirname(case.source.file), "")
    parts = ((case.recipe, "current"), *((grader.method, grader.name) for grader in case.graders))
    for part, name in parts:
        named = {*files_named(part, starts, project)}
        yield from (Way((name,), f"{file} changed") for file in sorted(named & changed))
