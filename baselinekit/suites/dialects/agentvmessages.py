"""Messages as AgentV's eval files write them, and the files that they name: where these are looked for, what
stands in them, and which of them are guidelines."""

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from re import escape
from typing import get_args

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, nearest
from baselinekit.frozen import frozen
from baselinekit.kinds.messages import is_parts
from baselinekit.lazy import lazy_pattern
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.programs.gitaddress import FetchedFile, is_remote
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below
from baselinekit.store.project import MAX_OUTPUT_BYTES, in_repository, name_in_project, read, resolve

_ROLES: tuple[Role, ...] = get_args(Role)
ROLES: tuple[str, ...] = _ROLES
SETTINGS = (".agentv/config.yaml", ".agentv/config.yml")
GUIDELINES = "guideline_patterns"

_MESSAGE = ("role", "content", "tool_calls", "name")
_TOLD = ("timestamp", "start_time", "end_time", "duration_ms", "token_usage", "metadata")
"""What a recorded message or call tells beside, and nobody looks at in one that is wanted."""

_CALL = ("tool", "input", "output", "id", "error")
_PART = ("type", "value")
_TYPES = ("text", "file")

ReadMessages = tuple[tuple[TraceMessage, ...], list[Problem]]


# The files that an eval file names.


@frozen
class LoadedFile:
    """A file by its absolute path, and what stands in it, with line feeds at the ends of its lines; None for
    what is no text."""

    path: str
    text: str | None


@dataclass(slots=True)
class NamedFiles:
    """Where the files are that an eval file names: from its own folder on, then each one above up to the root
    of the repository, then where the command runs. `/name` starts at the root. `root`: what no path leaves;
    `patterns`: of the files that are guidelines; `fetch`: reads one of a git repository by its address."""

    root: str
    file: str
    patterns: tuple[str, ...] = ()
    fetch: Callable[[str], FetchedFile] | None = None
    problems: list[Problem] = field(default_factory=list)
    loaded: dict[str, LoadedFile] = field(default_factory=dict)

    @classmethod
    def of(cls, root: str, file: str, fetch: Callable[[str], FetchedFile] | None = None) -> "NamedFiles":
        """Of an eval file in the project; one that the operator names elsewhere has its own repository."""
        found = cls(*in_repository(root, file), fetch=fetch)
        found.patterns = found._guidelines()
        return found

    @property
    def folders(self) -> list[str]:
        """Where a path may start, the first choice first; "" is the root."""
        found, folder = [posixpath.dirname(self.file)], posixpath.dirname(self.file)
        while folder:
            folder = posixpath.dirname(folder)
            found.append(folder)
        here = name_in_project(self.root, os.getcwd())
        if not posixpath.isabs(here):
            found.append("" if here == "." else here)
        return list(dict.fromkeys(found))

    def find(self, name: str, folders: bool = False) -> str:
        """The path of a file from the root; `folders`: of a folder. An error tells all places where it is
        not. One that only leads out of the repository is refused, and so is the first that is a link out."""
        tried: list[str] = []
        refused: Refused | None = None
        for start in [""] if name.startswith("/") else self.folders:
            path = posixpath.normpath(posixpath.join(start, name.lstrip("/")))
            try:
                there = resolve(self.root, path)
            except Refused as error:
                if path.split("/")[0] != "..":
                    raise
                refused = refused or error
                continue
            if os.path.isdir(there) if folders else os.path.isfile(there):
                return path
            tried.append(path)
        if refused is not None and not tried:
            raise refused
        kind, other = ("folder", "file") if folders else ("file", "folder")
        message = f"there is no {kind} {name!r}: looked for {', '.join(tried)}"
        others = [path for path in tried if os.path.exists(os.path.join(self.root, path))]
        hint = f"{others[0]} is a {other}" if others else self._near(tried) or "check the name"
        raise InvalidInput(Problem("BK782", message, hint))

    def _near(self, tried: Sequence[str]) -> str:
        for path in tried:
            folder = os.path.join(self.root, posixpath.dirname(path))
            if os.path.isdir(folder) and (near := nearest(posixpath.basename(path), os.listdir(folder))):
                return near
        return ""

    def load(self, name: str) -> LoadedFile:
        """A file by its path or address."""
        if name not in self.loaded:
            if self.fetch is not None and is_remote(name):
                fetched = self.fetch(name)
                path, data = fetched.path, fetched.data
            else:
                found = self.find(name)
                path, data = os.path.join(self.root, found), read(self.root, found, MAX_OUTPUT_BYTES)
            try:
                text = data.decode("utf-8-sig").replace("\r\n", "\n")
            except UnicodeDecodeError:
                text = None
            self.loaded[name] = LoadedFile(path, text)
        return self.loaded[name]

    def from_file(self, path: str) -> str:
        """A path from the root, as one from the folder of the eval file on."""
        return posixpath.relpath(path or ".", posixpath.dirname(self.file) or ".")

    def is_guideline(self, path: str) -> bool:
        return any(re.fullmatch(path_pattern(pattern), path) for pattern in self.patterns)

    def _guidelines(self) -> tuple[str, ...]:
        """The patterns of the nearest `.agentv/config.yaml` upward."""
        for folder in self.folders:
            for name in SETTINGS:
                path = posixpath.join(folder, name)
                if os.path.isfile(os.path.join(self.root, path)):
                    return self._stated(path)
        return ()

    def _stated(self, path: str) -> tuple[str, ...]:
        try:
            documents = language(path).load(decode(read(self.root, path), path).body, path)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(path)) for problem in error.problems]
            return ()
        raw = documents[0] if documents else None
        stated = raw.get(GUIDELINES, []) if isinstance(raw, dict) else []
        if isinstance(stated, list) and all(isinstance(one, str) for one in stated):
            return tuple(stated)
        message = f"{GUIDELINES}: expected a list of patterns, found {describe_value(stated)}"
        self.problems.append(Problem("BK782", message, 'such as ["**/*.instructions.md"]', Place(path, 1, 1)))
        return ()


def path_pattern(pattern: str) -> str:
    """A pattern of paths: `*` stays within a folder, `**/` stands for any number, `{a,b}` for either."""
    pieces = _GLOB.split(pattern.removeprefix("./").removeprefix("/"))
    return "".join(_MEANS.get(piece) or escape(piece) for piece in pieces)


_GLOB = lazy_pattern(r"(\*\*/|\*\*|[*?{},])")
_MEANS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}


# Messages.


ASSISTANT = "assistant"
USER = "user"


def read_messages(raw: Json, role: str, files: NamedFiles) -> ReadMessages:
    """What is asked (`role`: user) or wanted (assistant), as messages: a text is one, a list of messages is
    itself, and anything else is the content of one. What is wrong has paths below it."""
    if isinstance(raw, list) and any(has_role(item) for item in raw):
        messages: list[TraceMessage] = []
        problems: list[Problem] = []
        for number, item in enumerate(raw):
            message, wrong = read_message(item, files)
            problems += below(wrong, (number,))
            messages += [message] if message else []
        return tuple(messages), problems
    if is_message(raw):
        message, problems = read_message(raw, files)
        return ((message,) if message else ()), problems
    if isinstance(raw, list) and not raw:
        return (), [Problem("BK781", "an empty list of messages", "add a message, or remove the key", at=())]
    if role == USER and not isinstance(raw, str | dict) and not is_parts(raw):
        hint = "put a text in quotes; a message is {role: user, content: …}"
        what = f"expected a text, a mapping or a list of messages, found {describe_value(raw)}"
        return (), [Problem("BK781", what, hint, at=())]
    content, problems = content_of(raw, files)
    return (TraceMessage(_role(role), content),), problems


def _role(name: str) -> Role:
    return next(role for role in _ROLES if role == name)


def has_role(raw: Json) -> bool:
    """Whether it is meant as a message, even if it is written wrongly."""
    if not isinstance(raw, dict) or "role" not in raw:
        return False
    return raw["role"] in _ROLES or "content" in raw or "tool_calls" in raw


def is_message(raw: Json) -> bool:
    """Whether it is a message, and no value that happens to have a role."""
    return has_role(raw) and raw["role"] in _ROLES and raw.keys() <= {*_MESSAGE, *_TOLD}


def read_message(raw: Json, files: NamedFiles) -> tuple[TraceMessage | None, list[Problem]]:
    """One message, or what is wrong with it by paths below it."""
    if not isinstance(raw, dict):
        message = f"expected a message, found {describe_value(raw)}"
        return None, [Problem("BK781", message, "such as {role: user, content: …}", at=())]
    problems = list(unknown_keys(raw, (*_MESSAGE, *_TOLD), "message"))
    role, name, content = raw.get("role"), raw.get("name"), raw.get("content")
    if not isinstance(role, str) or role not in ROLES:
        hint = nearest(str(role), ROLES) if role is not None else ""
        message = "a message without a role" if role is None else f"unknown role {describe_value(role)}"
        at = ("role",) if role is not None else ()
        problems.append(Problem("BK781", message, hint or f"one of {', '.join(ROLES)}", at=at))
    if name is not None and not isinstance(name, str):
        problems.append(Problem("BK781", f"expected a text, found {describe_value(name)}", at=("name",)))
    calls, wrong = read_calls(raw.get("tool_calls"))
    problems += below(wrong, ("tool_calls",))
    if content is None and not calls and not wrong:
        problems.append(Problem("BK781", "a message without content", "add `content:`", at=()))
    read_content, wrong = content_of("" if content is None else content, files, of_message=True)
    problems += below(wrong, ("content",))
    if problems:
        return None, problems
    return TraceMessage(_role(str(role)), read_content, calls, name if isinstance(name, str) else None), []


def unknown_keys(raw: dict[str, Json], known: Sequence[str], message: str) -> Iterator[Problem]:
    """A problem for each key that is none of the known ones."""
    for key in raw:
        if key not in known:
            hint = nearest(key, known) or f"a {message} has {', '.join(known[:5])}"
            yield Problem("BK103", f"unknown key {key!r}", hint, at=(key,))


def read_calls(raw: Json) -> tuple[tuple[ToolCall, ...], list[Problem]]:
    """The tool calls of a message."""
    if raw is None:
        return (), []
    if not isinstance(raw, list):
        message = f"expected a list of calls, found {describe_value(raw)}"
        return (), [Problem("BK781", message, "such as [{tool: search, input: {…}}]", at=())]
    calls: list[ToolCall] = []
    problems: list[Problem] = []
    for number, item in enumerate(raw):
        call, wrong = read_call(item)
        problems += below(wrong, (number,))
        calls += [call] if call else []
    return tuple(calls), problems


def read_call(raw: Json) -> tuple[ToolCall | None, list[Problem]]:
    """One tool call: its tool, what that was given and what it gave back."""
    if not isinstance(raw, dict) or not isinstance(raw.get("tool"), str) or not raw["tool"].strip():
        found = describe_value(raw.get("tool") if isinstance(raw, dict) else raw)
        at = ("tool",) if isinstance(raw, dict) and "tool" in raw else ()
        message = f"expected a call with the name of its tool, found {found}"
        return None, [Problem("BK781", message, "such as {tool: search, input: {…}}", at=at)]
    problems = list(unknown_keys(raw, (*_CALL, *_TOLD), "call of a tool"))
    for key in ("id", "error"):
        if raw.get(key) is not None and not isinstance(raw[key], str):
            message = f"expected a text, found {describe_value(raw[key])}"
            problems.append(Problem("BK781", message, at=(key,)))
    took = raw.get("duration_ms")
    if took is not None and (isinstance(took, bool) or not isinstance(took, int | float) or took < 0):
        message = f"expected a number of milliseconds, found {describe_value(took)}"
        problems.append(Problem("BK781", message, at=("duration_ms",)))
    if problems:
        return None, problems
    seconds = None if took is None else took / 1000
    call = ToolCall(
        raw["tool"], raw.get("input"), raw.get("output", ABSENT), raw.get("id"), seconds, raw.get("error")
    )
    return call, []


# Their contents.


def content_of(raw: Json, files: NamedFiles, of_message: bool = False) -> tuple[Json, list[Problem]]:
    """A text, a value as it is, or parts with what stands in the files that they name."""
    if not looks_like_parts(raw) and not (of_message and _has_their_form(raw)):
        return raw, []
    parts: list[Json] = []
    problems: list[Problem] = []
    for number, item in enumerate(raw):
        part, wrong = read_part(item, files)
        problems += below(wrong, (number,))
        parts.append(part)
    return parts, problems


def looks_like_parts(raw: Json) -> bool:
    """Whether a list is meant as texts and files, even where one of them is written wrongly."""
    if not isinstance(raw, list) or not raw:
        return False
    return is_parts(raw) or any(
        isinstance(one, dict) and one.get("type") in _TYPES and "value" in one for one in raw
    )


def _has_their_form(raw: Json) -> bool:
    """Whether the content of a message is a list of parts by all but their types."""
    return (
        bool(raw)
        and isinstance(raw, list)
        and all(
            isinstance(one, dict)
            and one.keys() == {*_PART}
            and all(isinstance(one[key], str) for key in _PART)
            for one in raw
        )
    )


def read_part(raw: Json, files: NamedFiles) -> tuple[Json, list[Problem]]:
    """A text as it is, or a file with what stands in it."""
    if isinstance(raw, str):
        return {"type": "text", "value": raw}, []
    if not isinstance(raw, dict):
        message = f"expected a text or a file, found {describe_value(raw)}"
        return None, [Problem("BK781", message, "{type: text, value: …}", at=())]
    problems = list(unknown_keys(raw, _PART, "part"))
    type, value = raw.get("type"), raw.get("value")
    if type not in _TYPES:
        hint = nearest(str(type), _TYPES) or "text or file"
        at = ("type",) if "type" in raw else ()
        problems.append(Problem("BK781", f"unknown type of content {describe_value(type)}", hint, at=at))
    if not isinstance(value, str) or (type == "file" and not value.strip()):
        wanted = "the path of a file" if type == "file" else "a text"
        message = f"expected {wanted}, found {describe_value(value)}"
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
    """The files that messages name, in their order."""
    for message in messages:
        if is_parts(message.content):
            yield from (part for part in message.content if part["type"] == "file")


def split_files(
    messages: Sequence[TraceMessage], files: NamedFiles
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files that are guidelines, and all others, by their absolute paths, each once."""
    paths = list(dict.fromkeys(str(part["path"]) for part in files_in(messages)))
    guidelines = [path for path in paths if files.is_guideline(posixpath.relpath(path, files.root))]
    return tuple(guidelines), tuple(path for path in paths if path not in guidelines)
