"""init --git: tell git how to merge and show baselines; first a plan to look at, then the writing."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from baselinekit.clients.programs.git import Git
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.files.languages import SUFFIXES
from baselinekit.files.text import newline
from baselinekit.lazy import lazy_pattern
from baselinekit.store import atomic
from baselinekit.store.atomic import STATE_FOLDER
from baselinekit.store.project import read
from baselinekit.structs import Struct

ATTRIBUTES, IGNORE = ".gitattributes", ".gitignore"
DRIVER = "baselinekit"

_BEGIN = "# baselinekit (these lines: `baselinekit init --git`; without them: `baselinekit init --undo-git`)"
_END = "# baselinekit: end"
_BLOCK = lazy_pattern(rf"^{re.escape(_BEGIN)}\r?\n(?:.*\n)*?{re.escape(_END)}(?:\r?\n|\Z)", re.MULTILINE)
_SPECIAL = lazy_pattern(r'[\\*?\[\]\s"]')
_IGNORED = (f"/{STATE_FOLDER}/", f".{DRIVER}-*.tmp", "results.json")

_MERGE, _DIFF = f"merge.{DRIVER}", f"diff.{DRIVER}"
_DRIVER = f"{_MERGE}.driver"
_KEYS = (f"{_MERGE}.name", _DRIVER, f"{_DIFF}.textconv")


class GitSetupPlan(Struct):
    """What changes: the present and the new text of files, an empty one if the file is removed; settings of
    this clone, None for one that is unset."""

    files: dict[str, tuple[str, str]]
    settings: dict[str, str | None]

    def __bool__(self) -> bool:
        return bool(self.files or self.settings)

    def lines(self) -> Iterator[str]:
        """Yield every line that is added or removed."""
        for name, texts in self.files.items():
            old, new = map(str.splitlines, texts)
            yield name
            yield from (f"  - {line}" for line in old if line not in new)
            yield from (f"  + {line}" for line in new if line not in old)
        if self.settings:
            yield "git config of this clone"
            for key, value in self.settings.items():
                yield f"  - {key}" if value is None else f"  + {key} = {value}"


def is_repository(git: Git) -> bool:
    try:
        return git.run("rev-parse", "--is-inside-work-tree").stdout.strip() == b"true"
    except BaselinekitError:  # there is no git
        return False


def plan_setup(git: Git, folders: Sequence[str], program: Sequence[str]) -> GitSetupPlan:
    """Return what is still to be done in the project of this clone. `program`: how git is to call us."""
    return _plan(git, attribute_lines(folders), _git_settings(program))


def plan_removal(git: Git) -> GitSetupPlan:
    """Return what is set up and has to be removed."""
    return _plan(git, [], dict.fromkeys(_KEYS))


def _plan(git: Git, attributes: Sequence[str], settings: Mapping[str, str | None]) -> GitSetupPlan:
    git.ask("rev-parse", "--show-toplevel")  # which fails outside of a working tree
    files: dict[str, tuple[str, str]] = {}
    for name, lines in ((ATTRIBUTES, attributes), (IGNORE, _IGNORED if attributes else ())):
        text = _read_text(git.folder, name)
        end = newline(text)
        block = "".join(f"{line}{end}" for line in (_BEGIN, *lines, _END)) if lines else ""
        if (new_text := block + _BLOCK.sub("", text, count=1)) != text:
            files[name] = text, new_text
    return GitSetupPlan(files, {key: value for key, value in settings.items() if git.setting(key) != value})


def carry_out(plan: GitSetupPlan, git: Git) -> None:
    """Write the plan. Each file is replaced whole or not at all; the settings of the clone come last."""
    for name, (_, text) in plan.files.items():
        if text:
            atomic.replace_file(git.folder, name, text.encode("utf-8", "surrogateescape"))
        else:
            with atomic.reporting(name):
                os.unlink(os.path.join(git.folder, name))
    for key, value in plan.settings.items():
        words = ("--unset-all", key) if value is None else ("--replace-all", key, value)
        git.ask("config", "--local", *words)


def missing_driver(git: Git) -> Problem | None:
    """Report a clone whose files name the driver but that does not have it: there git merges as texts."""
    try:
        is_named = f"merge={DRIVER}" in _read_text(git.folder, ATTRIBUTES)
        if not is_named or git.setting(_DRIVER) or not is_repository(git):
            return None
    except InvalidInput:
        return None
    message = f"{ATTRIBUTES} names a merge driver that this clone does not have"
    return Problem("BK542", message, "run this once in each clone: baselinekit init --git")


def _git_settings(words: Sequence[str]) -> dict[str, str]:
    """Return the settings. Git runs both commands in a shell; without our program they do what git does by
    default."""
    exists = f"if command -v {shlex.quote(words[0])} >/dev/null 2>&1"
    program = shlex.join(words)
    merge = f"{program} git-merge".replace("%", "%%") + " %O %A %B %L %P %S %X %Y"
    return {
        f"{_MERGE}.name": "baselines: their record and provenance merge by themselves",
        _DRIVER: exists.replace("%", "%%")
        + f"; then {merge}; else git merge-file -q --marker-size=%L %A %O %B; fi",
        f"{_DIFF}.textconv": f'f() {{ {exists}; then {program} git-textconv "$1"; else cat "$1"; fi; }}; f',
    }


def _read_text(root: str, name: str) -> str:
    if not os.path.lexists(os.path.join(root, name)):
        return ""
    return read(root, name).decode("utf-8", "surrogateescape")


# Our lines in `.gitattributes` and `.gitignore`: between two comments, at the top, so that the user's lines
# below come later, win, and stay byte for byte the same when ours are removed.


def attribute_lines(folders: Iterable[str]) -> list[str]:
    """Return the lines that tell git which files in these folders (from the root) hold baselines, with `?` in
    place of each character that git would need quotes for."""
    lines: list[str] = []
    for folder in folders:
        inside = _SPECIAL.sub("?", os.path.normpath(folder).replace(os.sep, "/"))
        below = "" if inside == "." else f"/{inside}/**/"
        lines += [f"{below}*{ending} merge={DRIVER} diff={DRIVER}" for ending in SUFFIXES]
    return lines
