"""Conversations in eval files: their messages, the files that these name, and the recipe that sends them."""

import os
import posixpath
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Literal, get_args

from baselinekit.clients.programs.gitfiles import FetchedFile, is_remote
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.kinds.messages import is_parts
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Execution, Recipe
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import Mistakes, Read, describe_value, place_problems, prefix_paths, read_as
from baselinekit.store.project import MAX_OUTPUT_BYTES, in_repository, name_in_project, read, resolve
from baselinekit.structs import MutableStruct, Name, NotNegative, Struct, field, replace
from baselinekit.suites.settings import NUMBERED, load_documents, nearest_upward

ROLES = get_args(Role)
ASSISTANT: Role = "assistant"
USER: Role = "user"

Messages = tuple[TraceMessage, ...]


# The files that an eval file names.


def first_document(root: str, path: str) -> tuple[str, Json, list[Problem]]:
    """Return the text of a file, its first document, and why it cannot be read."""
    try:
        body, documents = load_documents(root, path, NUMBERED)
        return body, next(iter(documents), None), []
    except BaselinekitError as error:
        return "", None, [problem.placed(Place(path)) for problem in error.problems]


class GuidelineSettings(Struct, forbid_unknown_fields=False):
    """What is used of `.agentv/config.yaml`: the patterns of files that are guidelines."""

    guideline_patterns: list[str] = field(default_factory=list)


class NamedFiles(MutableStruct):
    """Finds the files that an eval file names: in its own folder, then in each folder above up to the root of
    the repository, then in the working folder. `/name` starts at the root. `root`: the folder that no path
    may leave; `fetch`: reads a file of a git repository by its address; `guidelines`: patterns of paths."""

    root: str
    file: str
    fetch: Callable[[str], FetchedFile] | None = None
    guidelines: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @classmethod
    def of(cls, root: str, file: str, fetch: Callable[[str], FetchedFile] | None = None) -> "NamedFiles":
        """Create it for an eval file of the project, or one outside of it, which has its own repository."""
        files = cls(*in_repository(root, file), fetch)
        nearest = nearest_upward(files.root, files.file, ".agentv/config")
        if nearest is not None:
            body, raw, files.problems = first_document(files.root, nearest)
            stated, problems = read_as(GuidelineSettings, {} if raw is None else raw)
            files.problems += place_problems(body, nearest, {0: problems})
            files.guidelines = stated.guideline_patterns if stated else []
        return files

    @property
    def folders(self) -> list[str]:
        """The folders in which a path may start, in order."""
        working_folder = name_in_project(self.root, os.getcwd())
        others = [] if posixpath.isabs(working_folder) else [working_folder]
        return list(dict.fromkeys([*map(str, PurePosixPath(self.file).parents), *others]))

    def find(self, name: str, is_there: Callable[[str], bool] = os.path.isfile) -> str:
        """Return the path of a file relative to the root. The error lists all places that were searched. A
        name that only leads out of the repository is refused, and so is one whose first match is a link
        out."""
        starts = [""] if name.startswith("/") else self.folders
        paths = [posixpath.normpath(posixpath.join(start, name.lstrip("/"))) for start in starts]
        paths = [path for path in paths if path.split("/")[0] != ".."] or paths[:1]
        for path in paths:
            if is_there(resolve(self.root, path)):
                return path
        kind = "file" if is_there is os.path.isfile else "folder"
        message = f"there is no {kind} {name!r}: looked for {', '.join(paths)}"
        raise InvalidInput(Problem("BK111", message, "check the name"))

    def part(self, name: str) -> dict[str, Json]:
        """Return a file, by its path or address, as a part of a message: with its text, unless it is none."""
        if self.fetch is not None and is_remote(name):
            fetched = self.fetch(name)
            path, data = fetched.path, fetched.data
        else:
            found = self.find(name)
            path, data = os.path.join(self.root, found), read(self.root, found, MAX_OUTPUT_BYTES)
        part: dict[str, Json] = {"type": "file", "value": name, "path": path}
        with suppress(UnicodeDecodeError):
            part["text"] = data.decode("utf-8-sig").replace("\r\n", "\n")
        return part

    def split(self, messages: Sequence[TraceMessage]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the files in messages that are guidelines, and all others, by their absolute paths, each
        once."""
        parts = [part for message in messages if is_parts(message.content) for part in message.content]
        paths = dict.fromkeys(str(part["path"]) for part in parts if part["type"] == "file")
        names = {path: posixpath.relpath(path, self.root) for path in paths}
        patterns = [*map(path_pattern, self.guidelines)]
        guidelines = [path for path in paths if any(re.fullmatch(each, names[path]) for each in patterns)]
        return tuple(guidelines), tuple(path for path in paths if path not in guidelines)


def path_pattern(pattern: str) -> str:
    """Return the regular expression of a glob: `*` stays within a folder, `**/` matches any number of them,
    `{a,b}` either."""
    pieces = _GLOB.split(pattern.removeprefix("./").removeprefix("/"))
    return "".join(_GLOB_PATTERNS.get(piece) or re.escape(piece) for piece in pieces)


_GLOB = lazy_pattern(r"(\*\*/|\*\*|[*?{},])")
_GLOB_PATTERNS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}


# Messages.


class RecordedFacts(Struct, kw_only=True):
    """What a recorded message or tool call has besides, which is ignored."""

    timestamp: Json = None
    start_time: Json = None
    end_time: Json = None
    token_usage: Json = None
    metadata: Json = None


class MessageCall(RecordedFacts):
    """A tool call of a message."""

    tool: Name
    input: Json = None
    output: Json = ABSENT
    id: str | None = None
    error: str | None = None
    duration_ms: NotNegative | None = None


class StatedMessage(RecordedFacts):
    role: Role
    content: Json = None
    tool_calls: list[MessageCall] | None = None
    name: str | None = None
    duration_ms: Json = None


class StatedPart(Struct):
    """A part of a content: a text, or the path of a file."""

    type: Literal["text", "file"]
    value: str


def read_messages(raw: Json, role: Role, files: NamedFiles) -> tuple[Messages, list[Problem]]:
    """Read a question (`role`: user) or an expected answer (assistant) as messages: messages are taken as
    they are, any other value is the content of a message. Problems have paths below it."""
    items = raw if isinstance(raw, list) else [raw]
    if any(map(has_role, items)):
        messages: list[TraceMessage] = []
        problems = Mistakes()
        for number, item in enumerate(items):
            message = problems.take(_read_message(item, files), *((number,) if items is raw else ()))
            messages += [message] if message else []
        return tuple(messages), problems
    if raw == [] or (role == USER and not isinstance(raw, str | dict) and not is_parts(raw)):
        hint = "put a text in quotes; a message is {role: user, content: …}"
        text = f"expected a text, a mapping or a list of messages, found {describe_value(raw)}"
        return (), [Problem("BK780", text, hint, at=())]
    content, found = _read_content(raw, files)
    return (TraceMessage(role, content),), found


def has_role(raw: Json) -> bool:
    """Whether a value is meant as a message, even if it is not a valid one."""
    is_mapping = isinstance(raw, dict) and "role" in raw
    return is_mapping and (raw["role"] in ROLES or "content" in raw or "tool_calls" in raw)


def _read_message(raw: Json, files: NamedFiles) -> tuple[TraceMessage | None, list[Problem]]:
    problems = Mistakes()
    message = problems.take(read_as(StatedMessage, raw))
    stated = raw.get("content") if isinstance(raw, dict) else None
    content = problems.take(_read_content("" if stated is None else stated, files, True), "content")
    if message is not None and message.content is None and not message.tool_calls:
        problems.append(Problem("BK780", "a message without content", "add `content:`", at=()))
    if message is None or problems:
        return None, problems
    calls = []
    for call in message.tool_calls or ():
        seconds = None if call.duration_ms is None else call.duration_ms / 1000
        calls.append(ToolCall(call.tool, call.input, call.output, call.id, seconds, call.error))
    return TraceMessage(message.role, content, tuple(calls), message.name), []


def _read_content(raw: Json, files: NamedFiles, of_message: bool = False) -> tuple[Json, list[Problem]]:
    """Return a text or value as it is, or parts with the content of the files that they name."""
    if not _are_parts(raw, of_message):
        return raw, []
    parts: list[Json] = []
    problems: list[Problem] = []
    for number, item in enumerate(raw):
        item = {"type": "text", "value": item} if isinstance(item, str) else item
        part, new_problems = read_as(StatedPart, item)
        if part is not None and part.type == "file":
            try:
                item = files.part(part.value)
            except BaselinekitError as error:
                new_problems = [replace(problem, place=None, at=("value",)) for problem in error.problems]
        problems += prefix_paths(new_problems, (number,))
        parts.append(item)
    return parts, problems


def _are_parts(raw: Json, of_message: bool) -> bool:
    """Whether a content is meant as a list of texts and files, even if one of them is not valid."""
    items = raw if isinstance(raw, list) else []
    types = [item.get("type") for item in items if isinstance(item, dict) and "value" in item]
    return is_parts(raw) or any(of_message or type in ("text", "file") for type in types)


def recipe_of(messages: Messages, files: NamedFiles, target: Execution, case: str) -> Read[Recipe]:
    """Return what asks a target with these messages, or why it cannot be asked. `case`: the id that it gets,
    unless that is the id of the case."""
    kind = KINDS[target.type]
    question = kind.input_of_messages(messages, files.split(messages), case)
    if question is None:
        message = f"messages are for a model or an agent, not for {kind.name}"
        return None, [Problem("BK715", message, "name another target", at=())]
    hint = "a model is asked with texts: write it as a text, or name a text file"
    losses = [f"{loss} cannot be sent to a model" for loss in kind.unsent(messages)]
    problems = [Problem("BK780", loss, hint, at=()) for loss in losses]
    return (None if problems else Recipe(question, target)), problems
