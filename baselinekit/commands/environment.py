"""Where a baseline was captured: the tool, the platform and the commit."""

import platform
import sys
from collections.abc import Iterable, Mapping

from baselinekit import __version__
from baselinekit.clients.programs.children import child_environment, configured_argv
from baselinekit.clients.programs.git import Git
from baselinekit.errors import CannotReplay, InvalidInput, cannot_replay
from baselinekit.kinds.settings import Execute
from baselinekit.model.recipes import ProcessSpec
from baselinekit.model.values import Json

_STATUS = ("status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=all")
_TIMEOUT = 20.0


def capture_environment(
    root: str, declared: Mapping[str, Json], execute: Execute, baselines: Iterable[str] = ()
) -> dict[str, Json]:
    """`baselines`: the folders, relative to the root, in which changes do not make the checkout dirty."""
    environment: dict[str, Json] = {
        "tool": f"baselinekit {__version__}",
        "platform": f"{sys.platform}-{platform.machine()}",
    }
    git = _git_state(root, execute, baselines)
    if git:
        environment["git"] = git
    return environment | {name: _evaluate(name, value, root, execute) for name, value in declared.items()}


def _git_state(root: str, execute: Execute, baselines: Iterable[str]) -> dict[str, Json]:
    excluded = [f":(exclude){folder}" for folder in baselines]
    try:
        text = Git(execute, root).looked(*_STATUS, "--", ".", *excluded).decode("utf-8", "replace")
    except (CannotReplay, InvalidInput):
        return {}  # no git, or no repository
    lines = text.splitlines()
    facts = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch."))
    commit, branch = facts.get("branch.oid", "(initial)"), facts.get("branch.head", "(detached)")
    if commit == "(initial)":
        return {}
    is_dirty = any(not line.startswith("#") for line in lines)
    return {"commit": commit, **({} if branch == "(detached)" else {"branch": branch}), "dirty": is_dirty}


def _evaluate(name: str, value: Json, root: str, execute: Execute) -> Json:
    """Return a value, or the first line that `{command: [argv]}` prints."""
    if not (isinstance(value, dict) and value.keys() == {"command"}):
        return value
    argv = value["command"] if isinstance(value["command"], list) else str(value["command"]).split()
    try:
        words = configured_argv([str(word) for word in argv], root, "")
        finished = execute(ProcessSpec(tuple(words), env=child_environment(), cwd=root, timeout=_TIMEOUT))
        if finished.exit_code:
            raise cannot_replay("BK320", f"{words[0]} ended with exit code {finished.exit_code}")
        return finished.stdout.decode("utf-8", "replace").partition("\n")[0].strip()
    except CannotReplay as error:
        reason = error.problems[0].message
        raise cannot_replay(
            "BK320", f"environment.{name}: {reason}", "correct it in baselinekit.yaml"
        ) from None
