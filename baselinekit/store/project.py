"""What a project holds: regular files inside it, within a size, and its configuration."""

import errno
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import PurePath

from baselinekit.documents.languages import YAML
from baselinekit.documents.text import decode
from baselinekit.errors import InvalidInput, Place, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.kinds.http import check_base, check_url
from baselinekit.kinds.kind import check_limits
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Config, Limits, Notify, Variable
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import TABLE
from baselinekit.schema.records import check, place_problems
from baselinekit.trust import check_inside, followed
from baselinekit.variables import NAME as VARIABLE_NAME

MAX_OUTPUT_BYTES = 64_000_000


@frozen
class FileLimits:
    """How many files are read at once, and how many bytes one of them may have: more than any project needs
    that nobody has thought about, and few enough that a hostile one stops nobody's machine."""

    files: int = 200_000
    file_size: int = 20_000_000


USUAL = FileLimits()
HIGHEST = FileLimits(1_000_000, 100_000_000)
"""What a configuration may state at most."""

_LIMITS: dict[str, FileLimits] = {}


def limits_of(root: str) -> FileLimits:
    """What the configuration of the project at this root states."""
    return _LIMITS.get(root, USUAL)


def set_limits(root: str, stated: Limits) -> None:
    """From now on these count for the files of a project: everything that reads them knows its root."""
    usual = {name: getattr(stated, name) or getattr(USUAL, name) for name in ("files", "file_size")}
    _LIMITS[root] = FileLimits(**usual)


_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not keep us waiting
_OPENED = "/proc/self/fd/"


def read(root: str, file: str, limit: int | None = None) -> bytes:
    """The bytes of a file, named relative to the root."""
    limit = limits_of(root).file_size if limit is None else limit
    try:
        path, handle = _open(root, file)
    except (OSError, ValueError) as error:  # a name with a zero byte in it
        raise InvalidInput(unreadable(file, error)) from None
    try:
        if not os.path.isabs(file):
            try:  # links followed: asked of the system, so that nobody can change a link in between
                opened = os.readlink(f"{_OPENED}{handle}")
            except OSError:
                opened = os.path.realpath(path)
            _check(_real(root), opened, file)
        return _content(handle, file, limit)
    except OSError as error:
        raise InvalidInput(unreadable(file, error)) from None
    finally:
        os.close(handle)


def read_pieces(path: str, limit: int, size: int = 1 << 18) -> Iterator[bytes]:
    """The bytes of a file that the operator named, a piece at a time."""
    try:
        handle = os.open(os.path.realpath(path), _FLAGS)
    except (OSError, ValueError) as error:
        raise InvalidInput(unreadable(path, error)) from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            yield _content(handle, path, limit)  # which says so
        while piece := os.read(handle, size):
            yield piece
    except OSError as error:
        raise InvalidInput(unreadable(path, error)) from None
    finally:
        os.close(handle)


def _open(root: str, file: str) -> tuple[str, int]:
    """Links on the way to a file's folder are followed once for all files in it. A file that is a link is
    rare: what it leads to is looked at only where that is inside."""
    folder, name = os.path.split(file)
    if os.path.isabs(file) or name in ("", os.curdir, os.pardir):
        path = resolve(root, file)
        return path, os.open(path, _FLAGS)
    try:
        path = os.path.join(_folder(root, folder), name)
    except Refused:  # told of the file, not of its folder
        path = resolve(root, file)
    try:
        return path, os.open(path, _FLAGS | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    path = resolve(root, file)
    return path, os.open(path, _FLAGS | os.O_NOFOLLOW)


@lru_cache(maxsize=4096)
def _folder(root: str, folder: str) -> str:
    return resolve(root, folder)


def resolve(root: str, file: str) -> str:
    """The path that a file's name leads to, which must stay inside the project. A file that the operator
    named by an absolute path may stand elsewhere."""
    try:
        if os.path.isabs(file):
            return os.path.realpath(file)
        return followed(_real(root), _real(root), file, link_at)
    except ValueError as error:  # a name with a zero byte in it
        raise InvalidInput(unreadable(file, error)) from None


def link_at(path: str) -> str | None:
    """What a link holds; None where there is none."""
    try:
        return os.readlink(path)
    except OSError:
        return None


class Resolving:
    """`resolve` for many files at once: the links on the way to a folder are followed only once."""

    def __init__(self, root: str):
        self._root = root
        self._folders: dict[str, str] = {}

    def path(self, file: str) -> str:
        folder, name = os.path.split(os.path.join(self._root, file))
        if os.path.isabs(file) or name in ("", ".", "..") or os.path.islink(os.path.join(folder, name)):
            return resolve(self._root, file)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        path = os.path.join(self._folders[folder], name)
        _check(_real(self._root), path, file)
        return path


def _check(root: str, path: str, file: str) -> None:
    if not path.startswith(f"{root}/") or "/.git" in path:  # nearly every file is inside: ask no further
        check_inside(root, path, file)


@lru_cache(maxsize=64)
def _real(root: str) -> str:
    return os.path.realpath(root)


def name_in_project(root: str, path: str) -> str:
    """How a file is named in a Source and in a Place: relative to the root, with `/`; a file elsewhere by
    its absolute path."""
    name = os.path.relpath(os.path.abspath(path), os.path.abspath(root))
    return os.path.abspath(path) if name.startswith("..") else PurePath(name).as_posix()


def unreadable(file: str, error: OSError | ValueError) -> Problem:
    hints = {
        errno.ENOENT: "check the name",
        errno.EACCES: "make it readable: chmod u+r",
        errno.ELOOP: "name the file that the link leads to",
    }
    number = error.errno if isinstance(error, OSError) else None
    words = (os.strerror(number) if number else str(error)).lower()
    return Problem("BK111", f"cannot be read: {words}", hints.get(number or 0, ""), Place(file))


def _content(handle: int, file: str, limit: int) -> bytes:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        what = "cannot be read: it is not a regular file"
        raise InvalidInput(Problem("BK111", what, "name a file", Place(file)))
    if status.st_size <= limit:
        data = os.read(handle, status.st_size + 1)  # as much room as the limit allows takes longer to be had
        while len(data) != status.st_size and len(data) <= limit:
            more = os.read(handle, limit + 1 - len(data))
            if not more:
                break
            data += more
        if len(data) <= limit:
            return data
    hint = "split it, or keep the output in a file beside it"
    raise InvalidInput(Problem("BK106", f"larger than {limit:,} bytes", hint, Place(file)))


# The commit that is checked out, as git's own files say it: a run needs it each time, and to start git takes
# as long as many baselines.

_HASH = lazy_pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = lazy_pattern(r"ref: (refs/[\w./+@-]+)")
_MOST = 4_000_000


def head_commit(root: str) -> str | None:
    """The commit that is checked out where the project is; None where git cannot be asked so plainly."""
    git = find_git_folder(os.path.abspath(root))
    if git is None:
        return None
    text = text_of(os.path.join(git, "HEAD")).strip()
    reference = _REF.fullmatch(text)
    if reference is not None and ".." not in text:
        text = commit_of(reference[1], git)
    return text if _HASH.fullmatch(text) else None


def find_git_folder(folder: str) -> str | None:
    while True:
        path = os.path.join(folder, ".git")
        if os.path.isdir(path):
            return path
        if os.path.isfile(path):  # a further worktree, or a submodule
            where = text_of(path).removeprefix("gitdir:").strip()
            return os.path.normpath(os.path.join(folder, where))
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def commit_of(reference: str, git: str) -> str:
    """A branch's commit: in a file of its own, or in the list of those that are packed; both may be the main
    worktree's."""
    common = text_of(os.path.join(git, "commondir")).strip()
    for folder in (git, os.path.join(git, common)) if common else (git,):
        text = text_of(os.path.join(folder, reference)).strip()
        if text:
            return text
        for line in text_of(os.path.join(folder, "packed-refs")).splitlines():
            if line.endswith(f" {reference}"):
                return line.split(" ", 1)[0]
    return ""


def text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST)
    except OSError:
        return ""


CONFIG_NAME = "baselinekit.yaml"

_HOST = lazy_pattern(r"(?:https?://)?(?:\*\.)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]|::1)(?::\d{1,5})?/?")
_PLACEHOLDER_NAME = lazy_pattern(r"[a-z][a-z0-9_]*")
_DECLARATION = frozenset(field.name for field in fields(Variable))
_LATER = ("thresholds",)


def nearest_config(start: str) -> str | None:
    """The configuration that counts in a folder, if there is one."""
    folder = os.path.abspath(start)
    while True:
        path = os.path.join(folder, CONFIG_NAME)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def project_root(config_path: str | None, start: str) -> str:
    """The configuration's folder, else the git root, else the folder itself."""
    if config_path is not None:
        return os.path.dirname(os.path.abspath(config_path))
    folder = start = os.path.abspath(start)
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return start
        folder = above
    return folder


def repository_of(root: str, file: str) -> str:
    """What the paths of an eval file stay inside of: the project; for one that the operator named elsewhere,
    its own repository, or its folder where it is in none."""
    return project_root(None, os.path.dirname(file)) if os.path.isabs(file) else root


def in_repository(root: str, file: str) -> tuple[str, str]:
    """The folder that a file's paths stay inside of, and its name from there."""
    own = repository_of(root, file)
    return own, os.path.relpath(file, own) if os.path.isabs(file) else file


def load_config(path: str) -> Config:
    """The configuration in a file, or everything that is wrong with it."""
    shown = os.path.relpath(path)
    shown = path if shown.startswith("..") else shown
    return read_config(read(os.path.dirname(os.path.abspath(path)), os.path.abspath(path)), shown)


def read_config(data: bytes, shown: str) -> Config:
    """The same of a text that messages call `shown`."""
    body = decode(data, shown).body
    documents = [document for document in YAML.load(body, shown) if document is not None]
    if not documents:
        return Config()
    raw = documents[0]
    if isinstance(raw, dict):  # a key with nothing behind it: the default
        raw = {key: value for key, value in raw.items() if value is not None}
    config, problems = check(Config, raw)
    if config is not None:
        problems = list(_problems(config))
    if len(documents) > 1:
        problems.append(Problem("BK110", "more than one document", "keep one", at=()))
    if config is None or problems:
        raise InvalidInput(*place_problems(body, shown, {0: [_known_later(problem) for problem in problems]}))
    environments = {
        name: replace(environment, variables=_variables(environment.variables))
        for name, environment in config.environments.items()
    }
    return replace(config, variables=_variables(config.variables), environments=environments)


def place_in_config(root: str, file: str, problems: Sequence[Problem]) -> list[Problem]:
    """Problems of a configuration that can be read, each with its place in the file."""
    body = decode(read(root, os.path.join(root, file)), file).body
    return place_problems(body, file, {0: list(problems)})


def _variables(stated: dict[str, Json]) -> dict[str, Json]:
    """Declared variables as such: `{from_env: TOKEN, secret: true}`."""
    return {
        name: check(Variable, value)[0] if is_declaration(value) else value for name, value in stated.items()
    }


def is_declaration(value: Json) -> bool:
    """A mapping with these keys alone declares a variable; any other is a value."""
    return isinstance(value, dict) and bool(value) and value.keys() <= _DECLARATION


def _problems(config: Config) -> Iterator[Problem]:
    yield from check_base(config.base_url, ("base_url",))
    yield from variable_problems(config.variables, ("variables",))
    for name, environment in config.environments.items():
        yield from check_base(environment.base_url, ("environments", name, "base_url"))
        yield from variable_problems(environment.variables, ("environments", name, "variables"))
    yield from placeholder_problems(config.placeholders)
    for number, host in enumerate(config.allow_hosts or ()):
        if not _HOST.fullmatch(host):
            what = f"{host!r} is not a host: it can never match"
            yield Problem(
                "BK108", what, "such as api.example.com or 127.0.0.1:8080", at=("allow_hosts", number)
            )
    yield from check_limits(config.http, ("http",))
    for name, skill in config.skills.items():
        if sum(way is not None for way in (skill.command, skill.python, skill.http, skill.folder)) != 1:
            what = "a skill is a `command`, a `python` callable, an `http` request or a `folder`"
            yield Problem("BK108", what, "state one of them", at=("skills", name))
        if skill.command == []:
            yield Problem(
                "BK108", "`command` names no program", "such as [python, -m, it]", at=("skills", name)
            )
    for name, command in config.commands.items():
        if not (command if isinstance(command, list) else command.argv):
            yield Problem("BK108", "the command names no program", "such as [mytool]", at=("commands", name))
    for name in ("calls", "tokens", "usd"):
        most = getattr(config.limits, name)
        if most is not None and most < 0:
            yield Problem("BK108", f"{name} is below 0", "the most that a run may take", at=("limits", name))
    for name in ("files", "file_size"):
        most, highest = getattr(config.limits, name), getattr(HIGHEST, name)
        if most is not None and not 1 <= most <= highest:
            yield Problem("BK108", f"{name} is {most:,}", f"from 1 to {highest:,}", at=("limits", name))
    yield from check_limits(config.limits, ("limits",))
    yield from notify_problems(config.notify)
    if config.inline_limit < 0:
        yield Problem("BK108", "inline_limit is below 0", "a number of bytes", at=("inline_limit",))


def notify_problems(notify: Notify | None) -> Iterator[Problem]:
    if notify is None:
        return
    if (notify.command is None) == (notify.webhook is None):
        what = "a notification needs a `command` or a `webhook`"
        yield Problem("BK108", what, "state one of them", at=("notify",))
    elif notify.command == []:
        yield Problem("BK108", "`command` names no program", "such as [./tell.sh]", at=("notify", "command"))
    elif notify.webhook is not None and "{{" not in notify.webhook:
        yield from check_url(notify.webhook, ("notify", "webhook"))


def placeholder_problems(stated: dict[str, str]) -> Iterator[Problem]:
    if not stated:
        return
    from baselinekit.placeholders.table import compiled  # it brings the regex package along

    for name, pattern in stated.items():
        here = ("placeholders", name)
        if not _PLACEHOLDER_NAME.fullmatch(name):
            hint = "small letters, digits and `_`, the first a letter"
            yield Problem("BK108", f"{name!r} is not a placeholder name", hint, at=here)
        elif name in TABLE:
            yield Problem("BK217", f"{name!r} is a built-in placeholder", "choose another name", at=here)
        try:
            compiled(pattern)
        except InvalidInput as error:
            yield from (replace(problem, at=here) for problem in error.problems)


def variable_problems(stated: dict[str, Json], at: Path) -> Iterator[Problem]:
    for name, value in stated.items():
        here = (*at, name)
        if not VARIABLE_NAME.fullmatch(name):
            hint = "letters, digits, `_`, `.` and `-`, the first a letter or `_`"
            yield Problem("BK108", f"{name!r} is not a variable name", hint, at=here)
        if name.startswith("any_"):
            what = f"{name!r} cannot be a variable: names with any_ are placeholders"
            yield Problem("BK108", what, "rename it", at=here)
        if not is_declaration(value):
            continue
        _, problems = check(Variable, value)
        yield from (replace(problem, at=(*here, *(problem.at or ()))) for problem in problems)
        if ("value" in value) == ("from_env" in value):
            what = "a declared variable has a `value` or a `from_env`"
            yield Problem("BK108", what, "state one of the two", at=here)


def _known_later(problem: Problem) -> Problem:
    """The keys that a later version will know are no typing mistakes."""
    if problem.code == "BK103" and problem.at and problem.at[0] in _LATER and len(problem.at) == 1:
        return replace(
            problem, message=f"this version does not read {problem.at[0]!r} yet", hint="remove it for now"
        )
    return problem


# The folders of prompts in a project.

TEMPLATE = "prompt.xml"
METAS = ("meta.yml", "meta.yaml")
EVALS = ("eval.yml", "eval.yaml", "evals.yml", "evals.yaml")
INPUTS = "inputs.yml"


def is_prompt_folder(names: Collection[str]) -> bool:
    """By the names of what lies in it."""
    return TEMPLATE in names or (any(meta in names for meta in METAS) and any(one in names for one in EVALS))
