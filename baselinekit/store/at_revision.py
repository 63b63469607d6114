"""The project as it stood at a commit, read from what git keeps and never from the disk."""

import os
import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from baselinekit.documents.languages import SUFFIXES
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.model.baselines import Baseline, Known, Variant
from baselinekit.model.recipes import Config
from baselinekit.programs.git import CommitFile, Git
from baselinekit.store import reading, records
from baselinekit.store.discovery import looks_like_baselines
from baselinekit.store.project import (
    CONFIG_NAME,
    EVALS,
    MAX_OUTPUT_BYTES,
    METAS,
    TEMPLATE,
    USUAL,
    is_prompt_folder,
    limits_of,
    read_config,
)

_MOST_LINKS = 8


def find_config(git: Git, commit: str, stated: str | None) -> tuple[str, Config] | None:
    """The configuration that counted in a folder, and its whole path, although nothing need be there now: the
    nearest one upward, or the one that the operator states."""
    top = os.fsdecode(git.ask("rev-parse", "--show-toplevel").removesuffix(b"\n"))
    inside = os.path.relpath(os.path.realpath(git.folder), os.path.realpath(top))
    names = [CONFIG_NAME]
    if stated is not None:
        names = [os.path.relpath(os.path.realpath(os.path.join(git.folder, stated)), os.path.realpath(top))]
    elif inside != ".":
        parts = inside.split(os.sep)
        names = ["/".join((*parts[:count], CONFIG_NAME)) for count in range(len(parts), 0, -1)] + names
    whole = Git(git.execute, top)
    tree = whole.tree(commit)
    found = next((name for name in names if name in tree), None)
    if found is None and stated is not None:
        raise InvalidInput(
            Problem("BK111", f"does not exist at {commit[:12]}", "check the name", Place(stated))
        )
    stood = config(whole, commit, found) if found else None
    return (os.path.join(top, found), stood) if found and stood else None


def config(git: Git, commit: str, name: str) -> Config | None:
    """The configuration at a commit, by its name from git's folder; None where there was none."""
    tree = git.tree(commit)
    if name not in tree:
        return None
    data = git.contents({name: tree[name]})[name]
    if len(data) > USUAL.file_size:
        raise InvalidInput(Problem("BK106", f"larger than {USUAL.file_size:,} bytes", "", Place(name)))
    return read_config(data, f"{name} at {commit[:12]}")


def baselines(git: Git, commit: str, folders: Sequence[str]) -> tuple[list[Baseline], list[str]]:
    """The baselines that stood in these folders, and the files that could not be read."""
    return _baselines(git, git.tree(commit), folders)


def left_out(git: Git, folders: Sequence[str]) -> list[Baseline]:
    """The baselines of a sparse checkout that are not on the disk, as far as they can be read."""
    return _baselines(git, git.left_out(), folders)[0]


def _baselines(
    git: Git, tree: Mapping[str, CommitFile], folders: Sequence[str]
) -> tuple[list[Baseline], list[str]]:
    names = [name for name in tree if is_baseline(name, folders)]
    contents = _contents(git, tree, names, limits_of(git.folder).file_size)
    found: list[Baseline] = []
    unread = [name for name in names if name not in contents]
    prompts = _prompt_folders(tree)
    for name, data in contents.items():
        try:
            found += reading.parse(data, name)
        except BaselinekitError:
            if not _is_below(name, prompts) or looks_like_baselines(name, data):
                unread.append(name)
    return list(with_outputs(git, tree, found)), sorted(unread)


def _prompt_folders(tree: Iterable[str]) -> set[str]:
    names: dict[str, set[str]] = {}
    for name in tree:
        folder, _, last = name.rpartition("/")
        if last == TEMPLATE or last in METAS or last in EVALS:
            names.setdefault(folder, set()).add(last)
    return {folder for folder, known in names.items() if is_prompt_folder(known)}


def _is_below(name: str, folders: Collection[str]) -> bool:
    while folders and name:
        name = posixpath.dirname(name)
        if name in folders:
            return True
    return False


def cases(git: Git, commit: str, files: Iterable[str]) -> dict[tuple[str, str], str]:
    """What identified the baselines of these files, by file and id: all but their records."""
    tree = git.tree(commit)
    found: dict[tuple[str, str], str] = {}
    most = limits_of(git.folder).file_size
    for name, data in _contents(git, tree, [name for name in files if name in tree], most).items():
        with suppress(BaselinekitError):
            found.update(
                {(name, one.id): records.case_digest(one.source.digest) for one in reading.parse(data, name)}
            )
    return found


def with_outputs(git: Git, tree: Mapping[str, CommitFile], found: Sequence[Baseline]) -> Iterator[Baseline]:
    """With what stood in the files beside. One that was not there leaves its baseline without that output."""
    beside: set[str] = set()
    for one in found:
        stated: list[Known | Variant] = [one.baseline, *one.baseline.variants] if one.baseline else []
        beside |= {_beside(one, known.output_file) for known in stated if known.output_file is not None}
    contents = _contents(git, tree, [name for name in beside if name in tree], MAX_OUTPUT_BYTES)
    for one in found:
        if one.baseline is None:
            yield one
            continue
        variants = [_filled(variant, one, contents) for variant in one.baseline.variants]
        yield replace(one, baseline=replace(_filled(one.baseline, one, contents), variants=variants))


def _beside(baseline: Baseline, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(baseline.source.file), name))


def _filled(stated: records.T, baseline: Baseline, contents: Mapping[str, bytes]) -> records.T:
    name = _beside(baseline, stated.output_file) if stated.output_file is not None else ""
    if name not in contents:
        return stated
    try:
        return replace(stated, output=records.parse(contents[name], name))
    except InvalidInput:
        return stated


def _contents(git: Git, tree: Mapping[str, CommitFile], names: Sequence[str], most: int) -> dict[str, bytes]:
    """What files held, links followed as far as they stay in the tree."""
    ends = {name: end for name in names if (end := _followed(git, tree, name)) is not None}
    contents = git.contents({end: tree[end] for end in ends.values()})
    return {name: contents[end] for name, end in ends.items() if len(contents.get(end, b"")) <= most}


def _followed(git: Git, tree: Mapping[str, CommitFile], name: str) -> str | None:
    for _ in range(_MOST_LINKS):
        if name not in tree:
            return None
        if not tree[name].is_link:
            return name
        target = os.fsdecode(git.contents({name: tree[name]}).get(name, b""))
        name = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return None


def is_baseline(name: str, folders: Sequence[str]) -> bool:
    """As they are found on the disk: by the ending, outside of hidden folders, outputs left out."""
    if not name.endswith(SUFFIXES) or records.MARK in posixpath.basename(name):
        return False
    for folder in folders:
        start = "" if os.path.normpath(folder) == "." else f"{os.path.normpath(folder)}/"
        if name.startswith(start):
            rest = name.removeprefix(start).split("/")
            return rest[-1] != CONFIG_NAME and not any(part.startswith(".") for part in rest)
    return False
