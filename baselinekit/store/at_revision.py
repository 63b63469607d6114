"""The project at a commit: its configuration, read from git, and its files, laid out in a folder."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath

from baselinekit.clients.programs.git import Git
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.model.recipes import Config
from baselinekit.store import project
from baselinekit.store.atomic import reporting


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


@contextmanager
def laid_out(git: Git, commit: str, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield a temporary folder with the wanted files of a commit; links are left out."""
    named = ((name, one) for name, one in git.tree(commit).items() if wanted(name) and not one.is_link)
    tree = {name: one for name, one in named if ".." not in name.split("/")}
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.realpath(folder)
        project.set_limits(root, project.limits_of(git.folder))
        for name, data in git.contents(tree).items():
            path = os.path.join(root, name)
            with reporting("the temporary folder"):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(data)
        yield root
