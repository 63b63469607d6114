"""The project at a commit, read from git's objects and never from the disk."""

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from baselinekit.clients.programs.git import CommitFile, Git
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.languages import SUFFIXES
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Config
from baselinekit.model.values import Json
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
from baselinekit.structs import replace


def find_config(git: Git, commit: str, config_path: str | None) -> tuple[str, Config] | None:
    """Return the configuration that applied to a folder at a commit, and its absolute path: the nearest one
    upward, or `config_path` if it is given. The folder need not exist now."""
    top = os.fsdecode(git.ask("rev-parse", "--show-toplevel").removesuffix(b"\n"))
    relative_folder = os.path.relpath(os.path.realpath(git.folder), os.path.realpath(top))
    names = [CONFIG_NAME]
    if config_path is not None:
        names = [
            os.path.relpath(os.path.realpath(os.path.join(git.folder, config_path)), os.path.realpath(top))
        ]
    elif relative_folder != ".":
        parts = relative_folder.split(os.sep)
        names = ["/".join((*parts[:depth], CONFIG_NAME)) for depth in range(len(parts), 0, -1)] + names
    repository = Git(git.execute, top)
    tree = repository.tree(commit)
    nearest = next((name for name in names if name in tree), None)
    if nearest is None and config_path is not None:
        raise InvalidInput(
            Problem("BK111", f"does not exist at {commit[:12]}", "check the name", Place(config_path))
        )
    nearest_config = config(repository, commit, nearest) if nearest else None
    return (os.path.join(top, nearest), nearest_config) if nearest and nearest_config else None


def config(git: Git, commit: str, name: str) -> Config | None:
    """Return the configuration at a commit, by its name relative to git's folder; None if there was none."""
    tree = git.tree(commit)
    if name not in tree:
        return None
    data = git.contents({name: tree[name]})[name]
    if len(data) > USUAL.file_size:
        raise InvalidInput(Problem("BK106", f"larger than {USUAL.file_size:,} bytes", "", Place(name)))
    return read_config(data, f"{name} at {commit[:12]}")


def baselines(git: Git, commit: str, folders: Sequence[str]) -> tuple[list[Baseline], list[str]]:
    """Return the baselines in these folders at a commit, and the files that could not be read."""
    tree = git.tree(commit)
    names = [name for name in tree if is_baseline(name, folders)]
    contents = _read_contents(git, tree, names, limits_of(git.folder).file_size)
    baselines: list[Baseline] = []
    unreadable = [name for name in names if name not in contents]
    for name, data in contents.items():
        try:
            baselines += reading.parse(data, name)
        except BaselinekitError:
            if not _is_below_a_prompt(name, tree) or looks_like_baselines(name, data):
                unreadable.append(name)
    return list(with_outputs(git, tree, baselines)), sorted(unreadable)


def _is_below_a_prompt(name: str, tree: Mapping[str, CommitFile]) -> bool:
    """Whether one of the folders above a file is a prompt folder."""
    return any(
        is_prompt_folder([last for last in (TEMPLATE, *METAS, *EVALS) if f"{name[:end]}/{last}" in tree])
        for end, character in enumerate(name)
        if character == "/"
    )


def case_digests(git: Git, commit: str, files: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return a digest of each baseline in these files, by file and id: of everything but its records."""
    tree = git.tree(commit)
    digests: dict[tuple[str, str], str] = {}
    max_bytes = limits_of(git.folder).file_size
    for name, data in _read_contents(git, tree, files, max_bytes).items():
        with suppress(BaselinekitError):
            digests.update(
                {
                    (name, baseline.id): records.case_digest(baseline.source.digest)
                    for baseline in reading.parse(data, name)
                }
            )
    return digests


def with_outputs(
    git: Git, tree: Mapping[str, CommitFile], baselines: Sequence[Baseline]
) -> Iterator[Baseline]:
    """Fill in the outputs that are stored in files of their own. If such a file is missing, its baseline
    stays without that output."""
    names = {
        _output_path(baseline, known.output_file)
        for baseline in baselines
        for known in (baseline.baseline, *(baseline.baseline.variants if baseline.baseline else ()))
        if known is not None and known.output_file is not None
    }
    contents = _read_contents(git, tree, names, MAX_OUTPUT_BYTES)
    for baseline in baselines:

        def load(name: str, baseline: Baseline = baseline) -> Json:
            path = _output_path(baseline, name)
            if path not in contents:
                raise InvalidInput(Problem("BK111", f"{path} is not in that commit", "capture it again"))
            return records.parse(contents[path], path)

        yield replace(baseline, baseline=records.fill_outputs(baseline.baseline, load)[0])


def _output_path(baseline: Baseline, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(baseline.source.file), name))


def _read_contents(
    git: Git, tree: Mapping[str, CommitFile], names: Iterable[str], max_bytes: int
) -> dict[str, bytes]:
    """Return the contents of files that are in the tree and no links."""
    chosen = {name: tree[name] for name in names if name in tree and not tree[name].is_link}
    return {name: data for name, data in git.contents(chosen).items() if len(data) <= max_bytes}


def is_baseline(name: str, folders: Sequence[str]) -> bool:
    """Whether a name is that of a baseline file, by the same rules as on the disk: the suffix fits, no folder
    is hidden, and it is neither an output file nor the configuration."""
    if not name.endswith(SUFFIXES) or records.MARK in posixpath.basename(name):
        return False
    for folder in folders:
        start = "" if os.path.normpath(folder) == "." else f"{os.path.normpath(folder)}/"
        if name.startswith(start):
            parts = name.removeprefix(start).split("/")
            return parts[-1] != CONFIG_NAME and not any(part.startswith(".") for part in parts)
    return False
