"""The project at a commit, read from git's objects and never from the disk."""

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath

from baselinekit.clients.programs.git import CommitFile, Git
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.languages import SUFFIXES
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Config
from baselinekit.model.values import Json
from baselinekit.store import project, reading, records
from baselinekit.store.reading import looks_like_baselines
from baselinekit.structs import replace

Tree = Mapping[str, CommitFile]


def find_config(git: Git, commit: str, config_path: str | None) -> tuple[str, Config] | None:
    """Return the configuration that applied to a folder at a commit, and its absolute path: the nearest one
    upward, or `config_path` if it is given. The folder need not exist now."""
    top = os.path.realpath(os.fsdecode(git.ask("rev-parse", "--show-toplevel").removesuffix(b"\n")))
    folder = PurePath(os.path.relpath(os.path.realpath(git.folder), top))
    names = [str(parent / project.CONFIG_NAME) for parent in (folder, *folder.parents)]
    if config_path is not None:
        names = [os.path.relpath(os.path.realpath(os.path.join(git.folder, config_path)), top)]
    for name in names:
        if (found := config(Git(git.execute, top), commit, name)) is not None:
            return os.path.join(top, name), found
    if config_path is not None:
        message = f"does not exist at {commit[:12]}"
        raise InvalidInput(Problem("BK111", message, "check the name", Place(config_path)))
    return None


def config(git: Git, commit: str, name: str) -> Config | None:
    """Return the configuration at a commit, by its name relative to git's folder; None if there was none."""
    tree = git.tree(commit)
    if name not in tree:
        return None
    data = git.contents({name: tree[name]})[name]
    if len(data) > (most := project.USUAL.file_size):
        raise InvalidInput(Problem("BK106", f"larger than {most:,} bytes", "", Place(name)))
    return project.read_config(data, f"{name} at {commit[:12]}")


def baselines(git: Git, commit: str, folders: Sequence[str]) -> tuple[list[Baseline], list[str]]:
    """Return the baselines in these folders at a commit, and the files that could not be read."""
    tree = git.tree(commit)
    names = [name for name in tree if is_baseline(name, folders)]
    contents = _read_contents(git, tree, names, project.limits_of(git.folder).file_size)
    found: list[Baseline] = []
    unreadable = [name for name in names if name not in contents]
    for name, data in contents.items():
        try:
            found += reading.parse(data, name)
        except BaselinekitError:
            if not _is_below_a_prompt(name, tree) or looks_like_baselines(name, data):
                unreadable.append(name)
    return list(_with_outputs(git, tree, found)), sorted(unreadable)


def _is_below_a_prompt(name: str, tree: Tree) -> bool:
    """Whether one of the folders above a file is a prompt folder."""
    return any(
        project.is_prompt_folder([last for last in project.PROMPT_FILES if str(folder / last) in tree])
        for folder in PurePath(name).parents[:-1]
    )


def case_digests(git: Git, commit: str, files: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return a digest of each baseline in these files, by file and id: of everything but its records."""
    digests: dict[tuple[str, str], str] = {}
    max_bytes = project.limits_of(git.folder).file_size
    for name, data in _read_contents(git, git.tree(commit), files, max_bytes).items():
        with suppress(BaselinekitError):
            for baseline in reading.parse(data, name):
                digests[name, baseline.id] = records.case_digest(baseline.source.digest)
    return digests


def _with_outputs(git: Git, tree: Tree, baselines: Sequence[Baseline]) -> Iterator[Baseline]:
    """Fill in the outputs that are stored in files of their own. If such a file is missing, its baseline
    stays without that output."""
    names = {_beside(one, name) for one in baselines for name in one.output_files}
    contents = _read_contents(git, tree, names, project.MAX_OUTPUT_BYTES)
    for baseline in baselines:

        def load(name: str, baseline: Baseline = baseline) -> Json:
            path = _beside(baseline, name)
            if path not in contents:
                raise InvalidInput(Problem("BK111", f"{path} is not in that commit", "capture it again"))
            return records.parse(contents[path], path)

        yield replace(baseline, baseline=records.fill_outputs(baseline.baseline, load)[0])


def _beside(baseline: Baseline, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(baseline.source.file), name))


def _read_contents(git: Git, tree: Tree, names: Iterable[str], max_bytes: int) -> dict[str, bytes]:
    """Return the contents of files that are in the tree and no links."""
    chosen = {name: tree[name] for name in names if name in tree and not tree[name].is_link}
    return {name: data for name, data in git.contents(chosen).items() if len(data) <= max_bytes}


def is_baseline(name: str, folders: Sequence[str]) -> bool:
    """Whether a file of this name holds baselines, by the same rules as on the disk: the suffix fits, no
    folder is hidden, and it is neither an output file nor the configuration."""
    if not name.endswith(SUFFIXES) or records.MARK in posixpath.basename(name):
        return False
    for folder in folders:
        start = "" if os.path.normpath(folder) == "." else f"{os.path.normpath(folder)}/"
        if name.startswith(start):
            parts = name.removeprefix(start).split("/")
            return parts[-1] != project.CONFIG_NAME and not any(part.startswith(".") for part in parts)
    return False
