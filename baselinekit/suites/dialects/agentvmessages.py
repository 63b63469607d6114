"""Messages as AgentV's eval files write them, and the files that they name: where these are searched, their
content, and which of them are guidelines."""

import dataclasses
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from re import escape
from typing import Literal, get_args

from baselinekit.clients.programs.gitfiles import FetchedFile, is_remote
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, suggest
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.kinds.messages import is_parts
from baselinekit.lazy import lazy_pattern
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import describe_value, prefix_paths, read_as
from baselinekit.store.project import MAX_OUTPUT_BYTES, in_repository, name_in_project, read, resolve
from baselinekit.structs import Name, NotNegative, Struct, replace

_ROLES: tuple[Role, ...] = get_args(Role)
ROLES: tuple[str, ...] = _ROLES
SETTINGS = (".agentv/config.yaml", ".agentv/config.yml")
GUIDELINES = "guideline_patterns"

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


class MessageCall(Struct):
    """A tool call of a message. What a recorded call has besides is ignored in an expected one."""

    tool: Name
    input: Json = None
    output: Json = ABSENT
    id: str | None = None
    error: str | None = None
    duration_ms: NotNegative | None = None
    timestamp: Json = None
    start_time: Json = None
    end_time: Json = None
    token_usage: Json = None
    metadata: Json = None

    def as_call(self) -> ToolCall:
        seconds = None if self.duration_ms is None else self.duration_ms / 1000
        return ToolCall(self.tool, self.input, self.output, self.id, seconds, self.error)


class StatedMessage(Struct):
    """A message. What a recorded one has besides is ignored in an expected one."""

    role: Role
    content: Json = None
    tool_calls: list[MessageCall] | None = None
    name: str | None = None
    timestamp: Json = None
    start_time: Json = None
    end_time: Json = None
    duration_ms: Json = None
    token_usage: Json = None
    metadata: Json = None


class StatedPart(Struct):
    """A part of a content: a text, or the path of a file."""

    type: Literal["text", "file"]
    value: str


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
    return has_role(raw) and raw["role"] in _ROLES and raw.keys() <= {*StatedMessage.__struct_fields__}


def read_message(raw: Json, files: NamedFiles) -> tuple[TraceMessage | None, list[Problem]]:
    """Return a message, or its problems with paths below it."""
    message, problems = read_as(StatedMessage, raw)
    stated_content = raw.get("content") if isinstance(raw, dict) else None
    content, content_problems = content_of("" if stated_content is None else stated_content, files, True)
    problems += prefix_paths(content_problems, ("content",))
    if message is not None and message.content is None and not message.tool_calls:
        problems.append(Problem("BK781", "a message without content", "add `content:`", at=()))
    if message is None or problems:
        return None, problems
    calls = tuple(call.as_call() for call in message.tool_calls or ())
    return TraceMessage(message.role, content, calls, message.name), []


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
        isinstance(item, dict) and item.get("type") in ("text", "file") and "value" in item for item in raw
    )


def _has_form_of_parts(raw: Json) -> bool:
    """Whether the content of a message is a list of parts, whatever their types."""
    return (
        bool(raw)
        and isinstance(raw, list)
        and all(
            isinstance(item, dict)
            and item.keys() == {"type", "value"}
            and all(isinstance(value, str) for value in item.values())
            for item in raw
        )
    )


def read_part(raw: Json, files: NamedFiles) -> tuple[Json, list[Problem]]:
    """Return a text as it is, or a file with its content."""
    if isinstance(raw, str):
        return {"type": "text", "value": raw}, []
    part, problems = read_as(StatedPart, raw)
    if part is None or part.type == "text":
        return raw, problems
    try:
        loaded = files.load(part.value)
    except BaselinekitError as error:
        return None, [replace(problem, place=None, at=("value",)) for problem in error.problems]
    named: dict[str, Json] = {"type": "file", "value": part.value, "path": loaded.path}
    return (named if loaded.text is None else {**named, "text": loaded.text}), []


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
