"""init --git: telling git how baselines are merged and shown; first a plan to look at, then the writing."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from baselinekit.documents.languages import SUFFIXES
from baselinekit.documents.text import BOM, newline
from baselinekit.errors import InvalidInput, NotRecorded, Problem
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.programs.git import Git
from baselinekit.store import atomic
from baselinekit.store.atomic import STATE_FOLDER, cannot_write
from baselinekit.store.project import read

ATTRIBUTES, IGNORE = ".gitattributes", ".gitignore"
DRIVER = "baselinekit"

_BEGIN = "# baselinekit (these lines: `baselinekit init --git`; without them: `baselinekit init --undo-git`)"
_END = "# baselinekit: end"
_BLOCK = lazy_pattern(rf"^{re.escape(_BEGIN)}\r?\n(?:.*\n)*?{re.escape(_END)}(?:\r?\n|\Z)", re.MULTILINE)
_SPECIAL = lazy_pattern(r"([\\*?\[\]])")
_IGNORED = (f"/{STATE_FOLDER}/", f".{DRIVER}-*.tmp")

_MERGE, _DIFF = f"merge.{DRIVER}", f"diff.{DRIVER}"
_DRIVER = f"{_MERGE}.driver"
_KEYS = (f"{_MERGE}.name", _DRIVER, f"{_DIFF}.textconv")


@frozen
class GitSetupPlan:
    """What changes: texts of files by their names, None for one that goes; settings of this clone, None for
    one that is taken out. `before` holds the texts as they are."""

    before: dict[str, str] = field(default_factory=dict)
    files: dict[str, str | None] = field(default_factory=dict)
    settings: dict[str, str | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.files or self.settings)

    def lines(self) -> Iterator[str]:
        """Every line that comes or goes."""
        for name, text in self.files.items():
            old, new = self.before[name].splitlines(), (text or "").splitlines()
            yield name + ("" if text is not None else " (it contains nothing else, so it is removed)")
            yield from (f"  - {line}" for line in old if line not in new)
            yield from (f"  + {line}" for line in new if line not in old)
        if self.settings:
            yield "git config of this clone"
            yield from (
                f"  - {key}" if value is None else f"  + {key} = {value}"
                for key, value in self.settings.items()
            )


def is_repository(git: Git) -> bool:
    return git.run("rev-parse", "--is-inside-work-tree").stdout.strip() == b"true"


def plan_setup(git: Git, folders: Sequence[str], program: Sequence[str]) -> GitSetupPlan:
    """What is still to be done in the project that git stands in. `program`: how git is to call us."""
    _check(git)
    before = {name: _text(git.folder, name) for name in (ATTRIBUTES, IGNORE)}
    old_attributes, ignore = before[ATTRIBUTES], before[IGNORE]
    after = {
        ATTRIBUTES: with_block(old_attributes, attribute_lines(folders)),
        IGNORE: with_block(ignore, ignore_lines(ignore)),
    }
    settings = _settings(program)
    return GitSetupPlan(
        before,
        {name: text for name, text in after.items() if text != before[name]},
        {key: value for key, value in settings.items() if git.setting(key) != value},
    )


def plan_removal(git: Git) -> GitSetupPlan:
    """What is there of it, to be taken out again."""
    _check(git)
    before = {name: _text(git.folder, name) for name in (ATTRIBUTES, IGNORE)}
    after = {name: without_block(text) for name, text in before.items()}
    return GitSetupPlan(
        before,
        {name: text or None for name, text in after.items() if text != before[name]},
        {key: None for key in _KEYS if git.setting(key) is not None},
    )


def carry_out(plan: GitSetupPlan, git: Git) -> None:
    """Each file is replaced whole or not at all; the clone's settings come last."""
    for name, text in plan.files.items():
        if text is not None:
            atomic.replace_file(git.folder, name, text.encode("utf-8", "surrogateescape"))
            continue
        try:
            os.unlink(os.path.join(git.folder, name))
        except OSError as error:
            raise NotRecorded(cannot_write(name, error)) from None
    for key, value in plan.settings.items():
        git.ask(
            "config", "--local", *(("--unset-all", key) if value is None else ("--replace-all", key, value))
        )


def list_overrides(git: Git, folders: Sequence[str]) -> list[str]:
    """Where lines of the user's own go before ours, so that git never asks us."""
    names = [os.path.join(folder, "x.yaml") for folder in folders]
    found = git.attributes(names, "merge", "diff")
    return sorted({f"{key}={value}" for (_, key), value in found.items() if value != DRIVER})


def missing_driver(git: Git) -> Problem | None:
    """A clone whose files name the driver, and that was never told what it is: there git merges texts."""
    try:
        if f"merge={DRIVER}" not in _text(git.folder, ATTRIBUTES) or git.setting(_DRIVER):
            return None
        if not is_repository(git):
            return None
    except InvalidInput:
        return None
    message = f"{ATTRIBUTES} names a merge driver that this clone does not have"
    return Problem("BK543", message, "run this once in each clone: baselinekit init --git")


def _settings(words: Sequence[str]) -> dict[str, str]:
    """Git runs both by a shell. Where the tool is gone, it does what it would have done without."""
    there = f"if command -v {shlex.quote(words[0])} >/dev/null 2>&1"
    program = shlex.join(words)
    merge = f"{program} git-merge".replace("%", "%%") + " %O %A %B %L %P %S %X %Y"
    return {
        f"{_MERGE}.name": "baselines: their record and provenance merge by themselves",
        _DRIVER: there.replace("%", "%%")
        + f"; then {merge}; else git merge-file -q --marker-size=%L %A %O %B; fi",
        f"{_DIFF}.textconv": f'f() {{ {there}; then {program} git-textconv "$1"; else cat "$1"; fi; }}; f',
    }


def _text(root: str, name: str) -> str:
    if not os.path.lexists(os.path.join(root, name)):
        return ""
    return read(root, name).decode("utf-8", "surrogateescape")


def _check(git: Git) -> None:
    if not is_repository(git):
        git.ask("rev-parse", "--git-dir")
        raise InvalidInput(Problem("BK540", f"{git.folder} is not a git working tree", "work in a clone"))


# Our lines in `.gitattributes` and `.gitignore`: between two comments, on top, so that what people wrote
# below comes later, wins, and is byte for byte the same once ours are gone.


def attribute_lines(folders: Iterable[str]) -> list[str]:
    """The lines by which git knows the files with baselines in these folders (from the root)."""
    return [
        f"{_pattern(folder, ending)} merge={DRIVER} diff={DRIVER}"
        for folder in folders
        for ending in SUFFIXES
    ]


def ignore_lines(text: str) -> list[str]:
    """What git is not to see, unless the file says so already in lines of its own."""
    own = {line.strip().strip("/") for line in without_block(text).splitlines()}
    return [line for line in _IGNORED if line.strip("/") not in own]


def with_block(text: str, lines: Sequence[str]) -> str:
    """The text with these lines of ours, in the place of those that were there."""
    rest = without_block(text)
    bom = BOM if rest.startswith(BOM) else ""
    end = newline(rest)
    block = "".join(f"{line}{end}" for line in (_BEGIN, *lines, _END)) if lines else ""
    return bom + block + rest.removeprefix(bom)


def without_block(text: str) -> str:
    bom = BOM if text.startswith(BOM) else ""
    return bom + _BLOCK.sub("", text.removeprefix(bom), count=1)


def _pattern(folder: str, ending: str) -> str:
    """Every file with this ending in a folder, as git wants it written."""
    inside = os.path.normpath(folder).replace(os.sep, "/")
    escaped = _SPECIAL.sub(r"\\\1", inside)
    pattern = f"*{ending}" if inside == "." else f"/{escaped}/**/*{ending}"
    if not re.search(r'[\s"]', pattern):
        return pattern
    return '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'
