"""Messages as AgentV's eval files write them, and the files that they name: where these are searched, their
content, and which of them are guidelines."""

import dataclasses
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from re import escape
from typing import get_args

from baselinekit.clients.programs.gitfiles import FetchedFile, is_remote
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, suggest
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.kinds.messages import is_parts
from baselinekit.lazy import lazy_pattern
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import describe_value, prefix_paths
from baselinekit.store.project import MAX_OUTPUT_BYTES, in_repository, name_in_project, read, resolve
from baselinekit.structs import Struct, replace

_ROLES: tuple[Role, ...] = get_args(Role)
ROLES: tuple[str, ...] = _ROLES
SETTINGS = (".agentv/config.yaml", ".agentv/config.yml")
GUIDELINES = "guideline_patterns"

_MESSAGE_KEYS = ("role", "content", "tool_calls", "name")
_RECORDED_KEYS = ("timestamp", "start_time", "end_time", "duration_ms", "token_usage", "metadata")
"""Further keys of recorded messages and calls, which are ignored in expected ones."""

_CALL_KEYS = ("tool", "input", "output", "id", "error")
_PART_KEYS = ("type", "value")
_PART_TYPES = ("text", "file")

ReadMessages = tuple[tuple[TraceMessage, ...], list[Problem]]


# The files that an eval file names.


class LoadedFile(Struct):
    """A file by its absolute path, and its text with line feeds as line ends, or None if it is not text."""

    path: str
    text: str | None


@dataclasses.dataclass(slots=True)
class NamedFiles:
    """Finds the files that an eval file names: in its own folder, then in each folder above up to the root of
    the repository, then in the working folder. `/name` starts at the root. `root`: the folder that no path
    may leave; `patterns`: of the files that are guidelines; `fetch`: reads a file of a git repository by its
    address."""

    root: str
    file: str
    patterns: tuple[str, ...] = ()
    fetch: Callable[[str], FetchedFile] | None = None
    problems: list[Problem] = dataclasses.field(default_factory=list)
    loaded: dict[str, LoadedFile] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, root: str, file: str, fetch: Callable[[str], FetchedFile] | None = None) -> "NamedFiles":
        """Create it for an eval file of the project, or one outside of it, which has its own repository."""
        files = cls(*in_repository(root, file), fetch=fetch)
        files.patterns = files._find_patterns()
        return files

    @property
    def folders(self) -> list[str]:
        """The folders in which a path may start, in order; "" is the root."""
        folders, folder = [posixpath.dirname(self.file)], posixpath.dirname(self.file)
        while folder:
            folder = posixpath.dirname(folder)
            folders.append(folder)
        working_folder = name_in_project(self.root, os.getcwd())
        if not posixpath.isabs(working_folder):
            folders.append("" if working_folder == "." else working_folder)
        return list(dict.fromkeys(folders))

    def find(self, name: str, folders: bool = False) -> str:
        """Return the path of a file, or with `folders` of a folder, relative to the root. The error lists all
        places that were searched. A name that only leads out of the repository is refused, and so is one
        whose first match is a link out."""
        tried: list[str] = []
        refused: Refused | None = None
        for start in [""] if name.startswith("/") else self.folders:
            path = posixpath.normpath(posixpath.join(start, name.lstrip("/")))
            try:
                full_path = resolve(self.root, path)
            except Refused as error:
                if path.split("/")[0] != "..":
                    raise
                refused = refused or error
                continue
            if os.path.isdir(full_path) if folders else os.path.isfile(full_path):
                return path
            tried.append(path)
        if refused is not None and not tried:
            raise refused
        kind, other_kind = ("folder", "file") if folders else ("file", "folder")
        message = f"there is no {kind} {name!r}: looked for {', '.join(tried)}"
        existing = [path for path in tried if os.path.exists(os.path.join(self.root, path))]
        hint = f"{existing[0]} is a {other_kind}" if existing else self._suggestion(tried) or "check the name"
        raise InvalidInput(Problem("BK782", message, hint))

    def _suggestion(self, tried: Sequence[str]) -> str:
        for path in tried:
            folder = os.path.join(self.root, posixpath.dirname(path))
            if os.path.isdir(folder) and (
                suggestion := suggest(posixpath.basename(path), os.listdir(folder))
            ):
                return suggestion
        return ""

    def load(self, name: str) -> LoadedFile:
        """Load a file by its path or address."""
        if name not in self.loaded:
            if self.fetch is not None and is_remote(name):
                fetched = self.fetch(name)
                path, data = fetched.path, fetched.data
            else:
                relative = self.find(name)
                path, data = os.path.join(self.root, relative), read(self.root, relative, MAX_OUTPUT_BYTES)
            try:
                text = data.decode("utf-8-sig").replace("\r\n", "\n")
            except UnicodeDecodeError:
                text = None
            self.loaded[name] = LoadedFile(path, text)
        return self.loaded[name]

    def from_file(self, path: str) -> str:
        """Turn a path relative to the root into one relative to the folder of the eval file."""
        return posixpath.relpath(path or ".", posixpath.dirname(self.file) or ".")

    def is_guideline(self, path: str) -> bool:
        return any(re.fullmatch(path_pattern(pattern), path) for pattern in self.patterns)

    def _find_patterns(self) -> tuple[str, ...]:
        """Return the patterns of the nearest `.agentv/config.yaml` upward."""
        for folder in self.folders:
            for name in SETTINGS:
                path = posixpath.join(folder, name)
                if os.path.isfile(os.path.join(self.root, path)):
                    return self._read_patterns(path)
        return ()

    def _read_patterns(self, path: str) -> tuple[str, ...]:
        try:
            documents = language(path).load(decode(read(self.root, path), path).body, path)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(path)) for problem in error.problems]
            return ()
        raw = documents[0] if documents else None
        patterns = raw.get(GUIDELINES, []) if isinstance(raw, dict) else []
        if isinstance(patterns, list) and all(isinstance(pattern, str) for pattern in patterns):
            return tuple(patterns)
        message = f"{GUIDELINES}: expected a list of patterns, found {describe_value(patterns)}"
        self.problems.append(Problem("BK782", message, 'such as ["**/*.instructions.md"]', Place(path, 1, 1)))
        return ()


def path_pattern(pattern: str) -> str:
    """Return the regular expression of a glob: `*` stays within a folder, `**/` matches any number of them,
    `{a,b}` either."""
    pieces = _GLOB.split(pattern.removeprefix("./").removeprefix("/"))
    return "".join(_GLOB_PATTERNS.get(piece) or escape(piece) for piece in pieces)


_GLOB = lazy_pattern(r"(\*\*/|\*\*|[*?{},])")
_GLOB_PATTERNS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}


# Messages.


ASSISTANT = "assistant"
USER = "user"


def read_messages(raw: Json, role: str, files: NamedFiles) -> ReadMessages:
    """Read a question (`role`: user) or an expected answer (assistant) as messages: a list of messages is
    taken as it is, any other value is the content of a message. Problems have paths below it."""
    if isinstance(raw, list) and any(has_role(item) for item in raw):
        messages: list[TraceMessage] = []
        problems: list[Problem] = []
        for number, item in enumerate(raw):
            message, new_problems = read_message(item, files)
            problems += prefix_paths(new_problems, (number,))
            messages += [message] if message else []
        return tuple(messages), problems
    if is_message(raw):
        message, problems = read_message(raw, files)
        return ((message,) if message else ()), problems
    if isinstance(raw, list) and not raw:
        return (), [Problem("BK781", "an empty list of messages", "add a message, or remove the key", at=())]
    if role == USER and not isinstance(raw, str | dict) and not is_parts(raw):
        hint = "put a text in quotes; a message is {role: user, content: …}"
        text = f"expected a text, a mapping or a list of messages, found {describe_value(raw)}"
        return (), [Problem("BK781", text, hint, at=())]
    content, problems = content_of(raw, files)
    return (TraceMessage(_as_role(role), content),), problems


def _as_role(name: str) -> Role:
    return next(role for role in _ROLES if role == name)


def has_role(raw: Json) -> bool:
    """Whether it is meant as a message, even if it is not a valid one."""
    if not isinstance(raw, dict) or "role" not in raw:
        return False
    return raw["role"] in _ROLES or "content" in raw or "tool_calls" in raw


def is_message(raw: Json) -> bool:
    """Whether it is a message, rather than a value that happens to have a role."""
    return has_role(raw) and raw["role"] in _ROLES and raw.keys() <= {*_MESSAGE_KEYS, *_RECORDED_KEYS}


def read_message(raw: Json, files: NamedFiles) -> tuple[TraceMessage | None, list[Problem]]:
    """Return a message, or its problems with paths below it."""
    if not isinstance(raw, dict):
        message = f"expected a message, found {describe_value(raw)}"
        return None, [Problem("BK781", message, "such as {role: user, content: …}", at=())]
    problems = list(unknown_keys(raw, (*_MESSAGE_KEYS, *_RECORDED_KEYS), "message"))
    role, name, content = raw.get("role"), raw.get("name"), raw.get("content")
    if not isinstance(role, str) or role not in ROLES:
        hint = suggest(str(role), ROLES) if role is not None else ""
        message = "a message without a role" if role is None else f"unknown role {describe_value(role)}"
        at = ("role",) if role is not None else ()
        problems.append(Problem("BK781", message, hint or f"one of {', '.join(ROLES)}", at=at))
    if name is not None and not isinstance(name, str):
        problems.append(Problem("BK781", f"expected a text, found {describe_value(name)}", at=("name",)))
    calls, new_problems = read_calls(raw.get("tool_calls"))
    problems += prefix_paths(new_problems, ("tool_calls",))
    if content is None and not calls and not new_problems:
        problems.append(Problem("BK781", "a message without content", "add `content:`", at=()))
    read_content, new_problems = content_of("" if content is None else content, files, of_message=True)
    problems += prefix_paths(new_problems, ("content",))
    if problems:
        return None, problems
    return TraceMessage(_as_role(str(role)), read_content, calls, name if isinstance(name, str) else None), []


def unknown_keys(raw: dict[str, Json], known_keys: Sequence[str], noun: str) -> Iterator[Problem]:
    """Report each key that is not one of the known ones."""
    for key in raw:
        if key not in known_keys:
            hint = suggest(key, known_keys) or f"a {noun} has {', '.join(known_keys[:5])}"
            yield Problem("BK103", f"unknown key {key!r}", hint, at=(key,))


def read_calls(raw: Json) -> tuple[tuple[ToolCall, ...], list[Problem]]:
    """Return the tool calls of a message."""
    if raw is None:
        return (), []
    if not isinstance(raw, list):
        message = f"expected a list of calls, found {describe_value(raw)}"
        return (), [Problem("BK781", message, "such as [{tool: search, input: {…}}]", at=())]
    calls: list[ToolCall] = []
    problems: list[Problem] = []
    for number, item in enumerate(raw):
        call, new_problems = read_call(item)
        problems += prefix_paths(new_problems, (number,))
        calls += [call] if call else []
    return tuple(calls), problems


def read_call(raw: Json) -> tuple[ToolCall | None, list[Problem]]:
    """Return a tool call: its tool, input and output."""
    if not isinstance(raw, dict) or not isinstance(raw.get("tool"), str) or not raw["tool"].strip():
        description = describe_value(raw.get("tool") if isinstance(raw, dict) else raw)
        at = ("tool",) if isinstance(raw, dict) and "tool" in raw else ()
        message = f"expected a call with the name of its tool, found {description}"
        return None, [Problem("BK781", message, "such as {tool: search, input: {…}}", at=at)]
    problems = list(unknown_keys(raw, (*_CALL_KEYS, *_RECORDED_KEYS), "call of a tool"))
    for key in ("id", "error"):
        if raw.get(key) is not None and not isinstance(raw[key], str):
            message = f"expected a text, found {describe_value(raw[key])}"
            problems.append(Problem("BK781", message, at=(key,)))
    duration_ms = raw.get("duration_ms")
    if duration_ms is not None and (
        isinstance(duration_ms, bool) or not isinstance(duration_ms, int | float) or duration_ms < 0
    ):
        message = f"expected a number of milliseconds, found {describe_value(duration_ms)}"
        problems.append(Problem("BK781", message, at=("duration_ms",)))
    if problems:
        return None, problems
    seconds = None if duration_ms is None else duration_ms / 1000
    call = ToolCall(
        raw["tool"], raw.get("input"), raw.get("output", ABSENT), raw.get("id"), seconds, raw.get("error")
    )
    return call, []


# Their contents.


def content_of(raw: Json, files: NamedFiles, of_message: bool = False) -> tuple[Json, list[Problem]]:
    """Return a text or value as it is, or parts with the content of the files that they name."""
    if not looks_like_parts(raw) and not (of_message and _has_form_of_parts(raw)):
        return raw, []
    parts: list[Json] = []
    problems: list[Problem] = []
    for number, item in enumerate(raw):
        part, new_problems = read_part(item, files)
        problems += prefix_paths(new_problems, (number,))
        parts.append(part)
    return parts, problems


def looks_like_parts(raw: Json) -> bool:
    """Whether a list is meant as texts and files, even if one of them is not valid."""
    if not isinstance(raw, list) or not raw:
        return False
    return is_parts(raw) or any(
        isinstance(item, dict) and item.get("type") in _PART_TYPES and "value" in item for item in raw
    )


def _has_form_of_parts(raw: Json) -> bool:
    """Whether the content of a message is a list of parts, whatever their types."""
    return (
        bool(raw)
        and isinstance(raw, list)
        and all(
            isinstance(item, dict)
            and item.keys() == {*_PART_KEYS}
            and all(isinstance(item[key], str) for key in _PART_KEYS)
            for item in raw
        )
    )


def read_part(raw: Json, files: NamedFiles) -> tuple[Json, list[Problem]]:
    """Return a text as it is, or a file with its content."""
    if isinstance(raw, str):
        return {"type": "text", "value": raw}, []
    if not isinstance(raw, dict):
        message = f"expected a text or a file, found {describe_value(raw)}"
        return None, [Problem("BK781", message, "{type: text, value: …}", at=())]
    problems = list(unknown_keys(raw, _PART_KEYS, "part"))
    type, value = raw.get("type"), raw.get("value")
    if type not in _PART_TYPES:
        hint = suggest(str(type), _PART_TYPES) or "text or file"
        at = ("type",) if "type" in raw else ()
        problems.append(Problem("BK781", f"unknown type of content {describe_value(type)}", hint, at=at))
    if not isinstance(value, str) or (type == "file" and not value.strip()):
        expected = "the path of a file" if type == "file" else "a text"
        message = f"expected {expected}, found {describe_value(value)}"
        problems.append(Problem("BK781", message, at=("value",) if "value" in raw else ()))
    if problems or type == "text" or not isinstance(value, str):
        return raw, problems
    try:
        loaded = files.load(value)
    except BaselinekitError as error:
        return None, [replace(problem, place=None, at=("value",)) for problem in error.problems]
    part: dict[str, Json] = {"type": "file", "value": value, "path": loaded.path}
    return (part if loaded.text is None else {**part, "text": loaded.text}), []


def files_in(messages: Sequence[TraceMessage]) -> Iterator[dict[str, Json]]:
    """Return the files that messages name, in order."""
    for message in messages:
        if is_parts(message.content):
            yield from (part for part in message.content if part["type"] == "file")


def split_files(
    messages: Sequence[TraceMessage], files: NamedFiles
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that are guidelines, and all others, by their absolute paths, each once."""
    paths = list(dict.fromkeys(str(part["path"]) for part in files_in(messages)))
    guidelines = [path for path in paths if files.is_guideline(posixpath.relpath(path, files.root))]
    return tuple(guidelines), tuple(path for path in paths if path not in guidelines)
