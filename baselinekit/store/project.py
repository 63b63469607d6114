"""The files of a project (regular files inside it, up to a size limit) and its configuration."""

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePath

from baselinekit.clients.trust import check_inside, follow_links
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.files.languages import YAML
from baselinekit.files.text import decode
from baselinekit.kinds.files import link_at, without_following
from baselinekit.kinds.http import check_base, check_url
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Config, Limits, Notify, Variable
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import TABLE
from baselinekit.schema import place_problems, prefix_paths, read_as
from baselinekit.secrets.variables import NAME as VARIABLE_NAME
from baselinekit.structs import Struct, replace

MAX_OUTPUT_BYTES = 64_000_000


class FileLimits(Struct):
    """How many files are read at once, and how many bytes a file may have: more than an ordinary project
    needs, and few enough that a hostile project cannot exhaust the machine."""

    files: int = 200_000
    file_size: int = 20_000_000


USUAL = FileLimits()
_LIMITS: dict[str, FileLimits] = {}


def limits_of(root: str) -> FileLimits:
    """Return the limits of the project at this root."""
    return _LIMITS.get(root, USUAL)


def set_limits(root: str, limits: Limits | FileLimits) -> None:
    """Set the limits for the files of a project. They are kept by root, which everything that reads files
    knows."""
    _LIMITS[root] = FileLimits(limits.files or USUAL.files, limits.file_size or USUAL.file_size)


def read(root: str, file: str, limit: int | None = None) -> bytes:
    """Return the bytes of a file, named relative to the root."""
    limit = limits_of(root).file_size if limit is None else limit
    path = resolve(root, file)
    try:
        with open(path, "rb", opener=without_following) as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                message = "cannot be read: it is not a regular file"
                raise InvalidInput(Problem("BK111", message, "name a file", Place(file)))
            check_open_file(root, opened.fileno(), path, file)
            data = opened.read(min(status.st_size, limit) + 1)
    except OSError as error:
        raise InvalidInput(unreadable(file, error)) from None
    if len(data) > limit:
        hint = "split it, or keep the output in a file beside it"
        raise InvalidInput(Problem("BK106", f"larger than {limit:,} bytes", hint, Place(file)))
    return data


def check_open_file(root: str, handle: int, path: str, file: str) -> None:
    """Check that an open file is inside the project: a link on its path may have changed since it was
    resolved, so the system is asked for the real path. A file that the user named by an absolute path may be
    elsewhere."""
    if not os.path.isabs(file):
        try:
            real_path = os.readlink(f"/proc/self/fd/{handle}")
        except OSError:
            real_path = os.path.realpath(path)
        check_inside(_real_root(root), real_path, file)


def resolve(root: str, file: str) -> str:
    """Return the real path of a file, which must be inside the project. A file that the user named by an
    absolute path may be elsewhere."""
    try:
        if os.path.isabs(file):
            return os.path.realpath(file)
        return follow_links(_real_root(root), _real_root(root), file, link_at)
    except ValueError as error:  # a name with a zero byte in it
        raise InvalidInput(unreadable(file, error)) from None


@lru_cache(maxsize=64)
def _real_root(root: str) -> str:
    return os.path.realpath(root)


def name_in_project(root: str, path: str) -> str:
    """Return the name of a file for a Source or a Place: relative to the root, with `/`; the absolute path
    for a file outside."""
    name = os.path.relpath(os.path.abspath(path), os.path.abspath(root))
    return os.path.abspath(path) if name.startswith("..") else PurePath(name).as_posix()


def unreadable(file: str, error: OSError | ValueError) -> Problem:
    reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    return Problem(
        "BK111",
        f"cannot be read: {reason.lower()}",
        "check its name, and whether you may read it",
        Place(file),
    )


_HASH = lazy_pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def head_commit(root: str) -> str | None:
    """Return the commit that is checked out, from git's own files: starting git takes as long as many
    baselines. None if they do not simply name it."""
    git = os.path.join(project_root(None, root), ".git")
    if os.path.isfile(git):  # an additional worktree, or a submodule
        git = os.path.join(os.path.dirname(git), _content(git).removeprefix("gitdir: "))
    head = _content(os.path.join(git, "HEAD"))
    if head.startswith("ref: "):
        name = head.removeprefix("ref: ")
        common = os.path.join(git, _content(os.path.join(git, "commondir")))
        packed = _content(os.path.join(common, "packed-refs")).splitlines()
        named = (line.partition(" ")[0] for line in packed if line.endswith(f" {name}"))
        head = _content(os.path.join(common, name)) or next(named, "")
    return head if _HASH.fullmatch(head) else None


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


CONFIG_NAME = "baselinekit.yaml"

_HOST = lazy_pattern(r"(?:https?://)?(?:\*\.)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]|::1)(?::\d{1,5})?/?")
_PLACEHOLDER_NAME = lazy_pattern(r"[a-z][a-z0-9_]*")
_DECLARATION_KEYS = frozenset(Variable.__struct_fields__)


def nearest_config(start: str) -> str | None:
    """Return the path of the configuration that applies to a folder, if there is one."""
    paths = (os.path.join(folder, CONFIG_NAME) for folder in _upward(start))
    return next(filter(os.path.isfile, paths), None)


def project_root(config_path: str | None, start: str) -> str:
    """Return the configuration's folder, else the git root, else the folder itself."""
    if config_path is not None:
        return os.path.dirname(os.path.abspath(config_path))
    repositories = (folder for folder in _upward(start) if os.path.exists(os.path.join(folder, ".git")))
    return next(repositories, os.path.abspath(start))


def _upward(start: str) -> Iterator[str]:
    """Yield a folder and those above it."""
    path = PurePath(os.path.abspath(start))
    return map(str, (path, *path.parents))


def repository_of(root: str, file: str) -> str:
    """Return the folder that the paths of an eval file must stay inside: the project; for a file that the
    user named elsewhere, its git repository, or its own folder if it is in none."""
    return project_root(None, os.path.dirname(file)) if os.path.isabs(file) else root


def in_repository(root: str, file: str) -> tuple[str, str]:
    """Return the folder that a file's paths must stay inside, and the file's name relative to it."""
    folder = repository_of(root, file)
    return folder, os.path.relpath(file, folder) if os.path.isabs(file) else file


def load_config(path: str) -> Config:
    """Load the configuration in a file. InvalidInput with everything that is wrong with it."""
    label = os.path.relpath(path)
    label = path if label.startswith("..") else label
    return read_config(read(os.path.dirname(os.path.abspath(path)), os.path.abspath(path)), label)


def read_config(data: bytes, label: str) -> Config:
    """Load a configuration from bytes. Messages call the file `label`."""
    body = decode(data, label).body
    documents = [document for document in YAML.load(body, label) if document is not None]
    if not documents:
        return Config()
    raw = documents[0]
    if isinstance(raw, dict):  # a key without a value means the default
        raw = {key: value for key, value in raw.items() if value is not None}
    config, problems = read_as(Config, raw)
    if config is not None:
        problems = list(_find_problems(config))
    if len(documents) > 1:
        problems.append(Problem("BK110", "more than one document", "keep one", at=()))
    if config is None or problems:
        raise InvalidInput(*place_problems(body, label, {0: problems}))
    environments = {
        name: replace(environment, variables=_load_variables(environment.variables))
        for name, environment in config.environments.items()
    }
    return replace(config, variables=_load_variables(config.variables), environments=environments)


def place_in_config(root: str, file: str, problems: Sequence[Problem]) -> list[Problem]:
    """Add to each problem of a readable configuration its place in the file."""
    body = decode(read(root, os.path.join(root, file)), file).body
    return place_problems(body, file, {0: list(problems)})


def _load_variables(variables: dict[str, Json]) -> dict[str, Json]:
    """Load declarations such as `{from_env: TOKEN, secret: true}` as Variable; other values stay."""
    return {key: read_as(Variable, one)[0] if is_declaration(one) else one for key, one in variables.items()}


def is_declaration(value: Json) -> bool:
    """Whether a value declares a variable: a mapping that has only the keys of a declaration."""
    return isinstance(value, dict) and bool(value) and value.keys() <= _DECLARATION_KEYS


def _find_problems(config: Config) -> Iterator[Problem]:
    yield from check_base(config.base_url, ("base_url",))
    yield from variable_problems(config.variables, ("variables",))
    for name, environment in config.environments.items():
        yield from check_base(environment.base_url, ("environments", name, "base_url"))
        yield from variable_problems(environment.variables, ("environments", name, "variables"))
    yield from placeholder_problems(config.placeholders)
    for number, host in enumerate(config.allow_hosts or ()):
        if not _HOST.fullmatch(host):
            message = f"{host!r} is not a host: it can never match"
            hint = "such as api.example.com or 127.0.0.1:8080"
            yield Problem("BK108", message, hint, at=("allow_hosts", number))
    for name, skill in config.skills.items():
        if sum(kind is not None for kind in (skill.command, skill.python, skill.http, skill.folder)) != 1:
            message = "a skill is a `command`, a `python` callable, an `http` request or a `folder`"
            yield Problem("BK108", message, "state one of them", at=("skills", name))
        if skill.command == []:
            hint = "such as [python, -m, it]"
            yield Problem("BK108", "`command` names no program", hint, at=("skills", name))
    for name, command in config.commands.items():
        if not (command if isinstance(command, list) else command.argv):
            yield Problem("BK108", "the command names no program", "such as [mytool]", at=("commands", name))
    yield from notify_problems(config.notify)


def notify_problems(notify: Notify | None) -> Iterator[Problem]:
    if notify is None:
        return
    if (notify.command is None) == (notify.webhook is None):
        message = "a notification needs a `command` or a `webhook`"
        yield Problem("BK108", message, "state one of them", at=("notify",))
    elif notify.command == []:
        yield Problem("BK108", "`command` names no program", "such as [./tell.sh]", at=("notify", "command"))
    elif notify.webhook is not None and "{{" not in notify.webhook:
        yield from check_url(notify.webhook, ("notify", "webhook"))


def placeholder_problems(patterns: dict[str, str]) -> Iterator[Problem]:
    if not patterns:
        return
    from baselinekit.placeholders.table import compiled  # imports the regex package

    for name, pattern in patterns.items():
        path = ("placeholders", name)
        if not _PLACEHOLDER_NAME.fullmatch(name):
            hint = "small letters, digits and `_`, the first a letter"
            yield Problem("BK108", f"{name!r} is not a placeholder name", hint, at=path)
        elif name in TABLE:
            yield Problem("BK108", f"{name!r} is a built-in placeholder", "choose another name", at=path)
        try:
            compiled(pattern)
        except InvalidInput as error:
            yield from (replace(problem, at=path) for problem in error.problems)


def variable_problems(variables: dict[str, Json], at: Path) -> Iterator[Problem]:
    for name, value in variables.items():
        path = (*at, name)
        if not VARIABLE_NAME.fullmatch(name):
            hint = "letters, digits, `_`, `.` and `-`, the first a letter or `_`"
            yield Problem("BK108", f"{name!r} is not a variable name", hint, at=path)
        if name.startswith("any_"):
            message = f"{name!r} cannot be a variable: names with any_ are placeholders"
            yield Problem("BK108", message, "rename it", at=path)
        if not is_declaration(value):
            continue
        yield from prefix_paths(read_as(Variable, value)[1], path)
        if ("value" in value) == ("from_env" in value):
            message = "a declared variable has a `value` or a `from_env`"
            yield Problem("BK108", message, "state one of the two", at=path)


# The folders of prompts in a project.

TEMPLATE = "prompt.xml"
METAS = ("meta.yml", "meta.yaml")
EVALS = ("eval.yml", "eval.yaml", "evals.yml", "evals.yaml")
INPUTS = "inputs.yml"
PROMPT_FILES = (TEMPLATE, *METAS, *EVALS)


def is_prompt_folder(names: Collection[str]) -> bool:
    """Whether the names in a folder are those of a prompt folder."""
    return TEMPLATE in names or all(any(name in names for name in known) for known in (METAS, EVALS))
