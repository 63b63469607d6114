"""The configuration: the nearest baselinekit.yaml upward, no other place, nothing merged."""

import os
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from urllib.parse import urlsplit

from baselinekit.documents.languages import YAML, yaml_scalar
from baselinekit.documents.splice import apply
from baselinekit.documents.text import decode, encode, mark, newline
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem
from baselinekit.kinds.http import check_base, check_url
from baselinekit.kinds.kind import check_limits
from baselinekit.model.baselines import Edit
from baselinekit.model.recipes import Config, Notify, Variable
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import TABLE
from baselinekit.schema.validate import check, place_problems
from baselinekit.store.atomic import edit_text
from baselinekit.store.files import MAX_BYTES, read
from baselinekit.tree.equality import canonical
from baselinekit.variables import NAME as VARIABLE_NAME

# The configuration: the nearest baselinekit.yaml upward, no other place, nothing merged.

NAME = "baselinekit.yaml"

_HOST = re.compile(r"(?:https?://)?(?:\*\.)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]|::1)(?::\d{1,5})?/?")
_PLACEHOLDER_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DECLARATION = frozenset(field.name for field in fields(Variable))
_LATER = ("thresholds",)


def find(start: str) -> str | None:
    """The configuration that counts in a folder, if there is one."""
    folder = os.path.abspath(start)
    while True:
        path = os.path.join(folder, NAME)
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


def load_config(path: str) -> Config:
    """The configuration in a file, or everything that is wrong with it."""
    shown = os.path.relpath(path)
    shown = path if shown.startswith("..") else shown
    return read_config(read(os.path.dirname(os.path.abspath(path)), os.path.abspath(path), MAX_BYTES), shown)


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
        raise InvalidInput(*place_problems(body, shown, {0: [_later(problem) for problem in problems]}))
    return _with_variables(config)


def _with_variables(config: Config) -> Config:
    """The configuration with declared variables as such: `{from_env: TOKEN, secret: true}`."""
    environments = {
        name: replace(environment, variables=_variables(environment.variables))
        for name, environment in config.environments.items()
    }
    return replace(config, variables=_variables(config.variables), environments=environments)


def _variables(stated: dict[str, Json]) -> dict[str, Json]:
    return {
        name: check(Variable, value)[0] if _is_declaration(value) else value for name, value in stated.items()
    }


def _is_declaration(value: Json) -> bool:
    """A mapping with these keys alone declares a variable; any other is a value."""
    return isinstance(value, dict) and bool(value) and value.keys() <= _DECLARATION


def _problems(config: Config) -> Iterator[Problem]:
    yield from check_base(config.base_url, ("base_url",))
    yield from _variable_problems(config.variables, ("variables",))
    for name, environment in config.environments.items():
        yield from check_base(environment.base_url, ("environments", name, "base_url"))
        yield from _variable_problems(environment.variables, ("environments", name, "variables"))
    yield from _placeholder_problems(config.placeholders)
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
    yield from check_limits(config.limits, ("limits",))
    yield from _notify_problems(config.notify)
    if config.inline_limit < 0:
        yield Problem("BK108", "inline_limit is below 0", "a number of bytes", at=("inline_limit",))


def _notify_problems(notify: Notify | None) -> Iterator[Problem]:
    if notify is None:
        return
    if (notify.command is None) == (notify.webhook is None):
        what = "a notification needs a `command` or a `webhook`"
        yield Problem("BK108", what, "state one of them", at=("notify",))
    elif notify.command == []:
        yield Problem("BK108", "`command` names no program", "such as [./tell.sh]", at=("notify", "command"))
    elif notify.webhook is not None and "{{" not in notify.webhook:
        yield from check_url(notify.webhook, ("notify", "webhook"))


def _placeholder_problems(stated: dict[str, str]) -> Iterator[Problem]:
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


def _variable_problems(stated: dict[str, Json], at: Path) -> Iterator[Problem]:
    for name, value in stated.items():
        here = (*at, name)
        if not VARIABLE_NAME.fullmatch(name):
            hint = "letters, digits, `_`, `.` and `-`, the first a letter or `_`"
            yield Problem("BK108", f"{name!r} is not a variable name", hint, at=here)
        if name.startswith("any_"):
            what = f"{name!r} cannot be a variable: names with any_ are placeholders"
            yield Problem("BK108", what, "rename it", at=here)
        if not _is_declaration(value):
            continue
        _, problems = check(Variable, value)
        yield from (replace(problem, at=(*here, *(problem.at or ()))) for problem in problems)
        if ("value" in value) == ("from_env" in value):
            what = "a declared variable has a `value` or a `from_env`"
            yield Problem("BK108", what, "state one of the two", at=here)


def _later(problem: Problem) -> Problem:
    """The keys that a later version will know are no typing mistakes."""
    if problem.code == "BK103" and problem.at and problem.at[0] in _LATER and len(problem.at) == 1:
        return replace(
            problem, message=f"this version does not read {problem.at[0]!r} yet", hint="remove it for now"
        )
    return problem


# A host that is named in the configuration: one line more, every other byte as it was.

_SIBLINGS = ("base_url", "baselines", "evals", "variables", "environments", "placeholders", "http")


def name_origin(root: str, config_file: str | None, origin: str) -> str:
    """Name an origin in the configuration, which is made if there is none. What was written, in a line."""
    file, line = config_file or NAME, ""

    def edit(body: str) -> str:
        nonlocal line
        text, line = named(body, file, origin)
        read_config(encode(text, False), file)
        return text

    edit_text(root, file, edit, missing="version: 1\n")
    return f"{line} in {file}"


def named(body: str, file: str, origin: str) -> tuple[str, str]:
    """The text in which an origin is named, and how. `allow_hosts` takes it where there is one, as nothing
    else is asked then. Else it becomes the `base_url` of a project without one, and else a variable:
    neither keeps anybody from asking other hosts."""
    documents = [one for one in YAML.load(body, file) if one is not None]
    config: dict[str, Json] = documents[0] if documents and isinstance(documents[0], dict) else {}
    if not config:
        return _appended(body, f"base_url: {origin}"), f"base_url: {origin}"
    hosts = config.get("allow_hosts")
    if isinstance(hosts, list):
        host = urlsplit(origin).netloc
        return _in_list(body, file, hosts, host), f"allow_hosts: {host}"
    if not config.get("base_url"):
        return _set(body, "base_url", origin), f"base_url: {origin}"
    known = config.get("variables") or {}
    name = _variable(origin, known)
    return _set(body, "variables", origin, name), f"variables: {name}: {origin}"


def _set(body: str, key: str, value: str, name: str | None = None) -> str:
    path = (key,) if name is None else (key, name)
    return apply(body, [Edit(path, value)], 0, YAML, _SIBLINGS)


def _variable(origin: str, known: dict[str, Json]) -> str:
    """`orders_internal_url` for http://orders.internal."""
    parts = urlsplit(origin)
    words = re.sub(r"\W+", "_", parts.netloc).strip("_").lower()
    name = f"{words}_url" if re.match(r"[a-z]", words) and not words.startswith("any_") else f"url_{words}"
    number = 2
    chosen = name
    while chosen in known:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def _in_list(body: str, file: str, hosts: list[Json], host: str) -> str:
    """One more entry, written as the last one is; where that does not come out right, the list anew."""
    wanted = [*hosts, host]
    text = yaml_scalar(host)
    if hosts:
        last = mark(YAML.events(body), 0, [("allow_hosts", len(hosts) - 1)])
        node = last.reach(("allow_hosts", len(hosts) - 1))[0][-1]
        start = body.rfind("\n", 0, node.start) + 1
        end = body.find("\n", node.end)
        lead = re.match(r"[ \t]*-[ \t]+", body[start : node.start])
        if lead and lead.end() == node.start - start:
            at = len(body) if end < 0 else end + 1
            before = newline(body) if end < 0 else ""
            tried = f"{body[:at]}{before}{lead[0]}{text}{newline(body)}{body[at:]}"
        else:
            tried = f"{body[: node.end]}, {text}{body[node.end :]}"
        if _reads(tried, file, wanted):
            return tried
    return apply(body, [Edit(("allow_hosts",), wanted)], 0, YAML, _SIBLINGS)


def _reads(body: str, file: str, hosts: list[Json]) -> bool:
    try:
        return canonical(YAML.load(body, file)[0]["allow_hosts"]) == canonical(hosts)
    except (BaselinekitError, LookupError, TypeError):
        return False


def _appended(body: str, line: str) -> str:
    if body and not body.endswith(("\n", "\r")):
        body += newline(body)
    if any(text.strip() in ("...", "---") for text in body.splitlines()):
        what = "a host cannot be named there: the file holds no setting yet, and marks of a document"
        raise NotRecorded(Problem("BK122", what, f"write `{line}` into it"))
    return f"{body}{line}{newline(body)}"
