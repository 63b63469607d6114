"""An OpenAPI document as a whole: the files that it refers to, taken into it; its operations, where its
references lead, and the examples in it."""

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote, unquote

from baselinekit.errors import BaselinekitError
from baselinekit.importers.answers import CannotAskError
from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path

_ELSEWHERE = lazy_pattern(r"""\$ref["']?\s*:\s*["']?(?![#"'\s])""")
_ADDRESS = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_VALUES = frozenset(("example", "default", "const", "enum", "value"))
"""Below these stand values of the service: what looks like a reference there is none."""
_FILES = "\0files"
_MOST = 1000


class Bundle:
    """`root`: the document with its files; `unreached`: of a reference that leads nowhere, why, and what to
    do about it."""

    def __init__(self, source: SourceText, choices: ImportChoices):
        self._source, self._beside = source, choices.beside
        self._name = posixpath.basename(source.name)
        self._files: dict[str, SourceText] = {}
        self._broken: dict[str, tuple[str, str]] = {}
        self.unreached: dict[str, tuple[str, str]] = {}
        self.root: dict[str, Json] = source.value
        if _ELSEWHERE.search(source.text):
            self.root = self._taken_in(source.value, self._name)
            taken: dict[str, Json] = {}
            while left := [name for name in self._files if name not in taken]:
                for name in left:
                    taken[name] = self._taken_in(self._files[name].value, name)
            self.root[_FILES] = taken

    def _taken_in(self, value: Json, name: str) -> Json:
        """What stands in a file, with its references as the whole has them."""
        if isinstance(value, list):
            return [self._taken_in(item, name) for item in value]
        if not isinstance(value, dict):
            return value
        taken = {key: item if key in _VALUES else self._taken_in(item, name) for key, item in value.items()}
        if isinstance(reference := value.get("$ref"), str):
            taken["$ref"] = self._within(reference, name)
        return taken

    def _within(self, reference: str, name: str) -> str:
        """The same reference, of a file, from the root of the whole."""
        path, _, fragment = reference.partition("#")
        if _ADDRESS.match(path):
            hint = "save it beside the document, and refer to it by its name"
            self.unreached[reference] = (f"refers to {reference}, which is not fetched", hint)
            return reference
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
        if path == self._name:  # a fragment of the document itself is judged where it is followed
            return f"#{fragment}"
        if fragment and not fragment.startswith("/"):
            what, hint = (
                f"refers to {reference}, which is no path",
                "refer to it as in #/components/schemas/Name",
            )
            self.unreached[reference] = (what, hint)
            return reference
        if not self._is_loaded(path):
            self.unreached[f"{path}#{fragment}"] = self._broken[path]
            return f"{path}#{fragment}"
        return f"#/{_FILES}/{quote(path.replace('~', '~0').replace('/', '~1'), safe='~')}{fragment}"

    def _is_loaded(self, path: str) -> bool:
        if path in self._files or path in self._broken:
            return path in self._files
        try:
            if len(self._files) >= _MOST:
                self._broken[path] = (f"refers to more than {_MOST:,} files", "bundle the document into one")
                return False
            called = posixpath.normpath(posixpath.join(posixpath.dirname(self._source.name), path))
            source = SourceText(called, self._beside(self._source.name, path))
            if source.value is None:
                self._broken[path] = (f"refers to {path}, in which nothing stands", "mend the reference")
                return False
        except BaselinekitError as error:
            first = error.problems[0]
            where = f"{first.place}: " if first.place else ""
            self._broken[path] = (
                f"refers to {path}, which cannot be used: {where}{first.message}",
                first.hint,
            )
            return False
        self._files[path] = source
        return True

    def places(self, paths: Sequence[Path]) -> list[tuple[str, int]]:
        """Where each path leads: a file and a line."""
        found: dict[int, tuple[str, int]] = {}
        for name in {self._file_of(path) for path in paths}:
            source = self._files[name] if name else self._source
            numbers = [number for number, path in enumerate(paths) if self._file_of(path) == name]
            lines = source.lines([paths[number][2 if name else 0 :] for number in numbers])
            found |= {number: (source.name, line) for number, line in zip(numbers, lines, strict=True)}
        return [found[number] for number in range(len(paths))]

    @staticmethod
    def _file_of(path: Path) -> str:
        return str(path[1]) if path[:1] == (_FILES,) and len(path) > 1 else ""


def shown(reference: str) -> str:
    """A reference as its file has it, as far as that can be told."""
    if not reference.startswith(f"#/{_FILES}/"):
        return reference
    name, slash, rest = reference.removeprefix(f"#/{_FILES}/").partition("/")
    return f"{unquote(name).replace('~1', '/').replace('~0', '~')}{'#/' if slash else ''}{rest}"


_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_MOST_REFERENCES = 32
_DEEPEST = 24


class OpenApiDocument:
    """The document, with its references followed."""

    def __init__(self, root: dict[str, Json], unreached: Mapping[str, tuple[str, str]]):
        self.root, self._unreached = root, unreached
        self.is_swagger = "swagger" in root

    def resolve(self, node: Json, at: Path) -> tuple[Json, Path]:
        """What a node is, or refers to, and where that stands."""
        for _ in range(_MOST_REFERENCES):
            if not isinstance(node, dict) or not isinstance(reference := node.get("$ref"), str):
                return node, at
            if reference in self._unreached:
                raise CannotAskError(at, *self._unreached[reference])
            if not re.match(r"#(/|$)", reference):
                what = f"refers to {shown(reference)}, which is no path"
                raise CannotAskError(at, what, "refer to it as in #/components/schemas/Name")
            steps = [_unescaped(step) for step in reference.removeprefix("#").split("/")[1:]]
            node, at = self._reach(steps, at, reference)
        raise CannotAskError(at, "a reference that leads back to itself", "mend the document")

    def _reach(self, steps: list[str], at: Path, reference: str) -> tuple[Json, Path]:
        node: Json = self.root
        way: list[str | int] = []
        for step in steps:
            if isinstance(node, list) and step.isdecimal() and int(step) < len(node):
                way.append(int(step))
            elif isinstance(node, dict) and step in node:
                way.append(step)
            else:
                what = f"refers to {shown(reference)}, which is not there"
                raise CannotAskError(at, what, "mend the reference")
            node = cast(Any, node)[way[-1]]
        return node, tuple(way)

    def operations(self, path: str) -> list[tuple[Path, str, dict[str, Json], dict[str, Json]]]:
        """Those of a path, each with its place, its method, and the path item that it stands in."""
        written = self.root["paths"][path]
        item, _ = self.resolve(written, ("paths", path))
        if not isinstance(item, dict) or not path.startswith("/"):
            return []
        whole = "$ref" in written
        return [
            (("paths", path) if whole else ("paths", path, method), method, item[method], item)
            for method in _METHODS
            if isinstance(item.get(method), dict)
        ]

    def server(self, operation: dict[str, Json], item: dict[str, Json], params: Mapping[str, str]) -> str:
        """The address that an operation is below; empty where the document names none."""
        if self.is_swagger:
            host = self.root.get("host")
            schemes = [*operation.get("schemes", ()), *self.root.get("schemes", ())] or ["https"]
            scheme = "https" if "https" in schemes else schemes[0]
            prefix = str(self.root.get("basePath") or "").rstrip("/")
            return f"{scheme}://{host}{prefix}" if host else prefix
        for holder in (operation, item, self.root):
            servers = holder.get("servers")
            if isinstance(servers, list) and servers and isinstance(servers[0], dict):
                url = str(servers[0].get("url", ""))
                for name, variable in (servers[0].get("variables") or {}).items():
                    url = url.replace(f"{{{name}}}", str(params.get(name, variable.get("default", ""))))
                return url.rstrip("/")
        return ""

    def schemes(self) -> dict[str, Json]:
        if self.is_swagger:
            return self.root.get("securityDefinitions") or {}
        return (self.root.get("components") or {}).get("securitySchemes") or {}

    def example(self, node: Json, at: Path, deep: int = 0) -> Json:
        """A value that the document gives for a parameter or a schema; ABSENT where it gives none."""
        node, at = self.resolve(node, at)
        if not isinstance(node, dict) or deep > _DEEPEST:
            return ABSENT
        for key in ("example", "x-example"):
            if node.get(key) is not None:
                return node[key]
        if (found := self._first_of(node.get("examples"), at)) is not ABSENT:
            return found
        for key in ("default", "const"):
            if node.get(key) is not None:
                return node[key]
        if isinstance(node.get("enum"), list) and node["enum"]:
            return node["enum"][0]
        if node.get("type") == "array" and (inner := self._inside(node, "items", at, deep)) is not ABSENT:
            return [inner]
        for key in ("schema", "allOf", "oneOf", "anyOf"):
            if (inner := self._inside(node, key, at, deep)) is not ABSENT:
                return inner
        media = next(iter((node.get("content") or {}).values()), None) if "content" in node else None
        return ABSENT if media is None else self.example(media, (*at, "content"), deep + 1)

    def _first_of(self, examples: Json, at: Path) -> Json:
        """`examples` is a list of values in a schema, and a mapping of described ones elsewhere."""
        if isinstance(examples, list) and examples:
            return examples[0]
        if isinstance(examples, dict):
            for named in examples.values():
                node, _ = self.resolve(named, at)
                if isinstance(node, dict) and node.get("value") is not None:
                    return node["value"]
        return ABSENT

    def _inside(self, node: dict[str, Json], key: str, at: Path, deep: int) -> Json:
        choices = node.get(key)
        for choice in choices if isinstance(choices, list) else [choices]:
            if (found := self.example(choice, (*at, key), deep + 1)) is not ABSENT:
                return found
        return ABSENT

    def members(self, node: Json, at: Path) -> tuple[dict[str, Json], list[str]]:
        """The properties of an object, its own and those of its parts, and which are required."""
        node, at = self.resolve(node, at)
        if not isinstance(node, dict):
            return {}, []
        properties, required = dict(node.get("properties") or {}), list(node.get("required") or ())
        for part in node.get("allOf") or ():
            inner, _ = self.resolve(part, at)
            if isinstance(inner, dict):
                properties |= inner.get("properties") or {}
                required += inner.get("required") or ()
        return properties, required

    def is_file(self, node: Json, at: Path) -> bool:
        """Whether a field of a form is a file, or several."""
        node, at = self.resolve(node, at)
        if not isinstance(node, dict):
            return False
        if node.get("type") == "array":
            return self.is_file(node.get("items"), at)
        return node.get("format") == "binary" or (
            "contentMediaType" in node and "contentEncoding" not in node
        )

    def body_value(self, node: Json, at: Path, deep: int = 0, without: Collection[str] = ()) -> Json:
        """A value for a body: the example, else made of those of its required properties."""
        if (found := self.example(node, at)) is not ABSENT:
            return found
        node, at = self.resolve(node, at)
        if not isinstance(node, dict) or deep > _DEEPEST:
            raise CannotAskError(at, "the body has no example", "write `example:` there")
        properties, required = self.members(node, at)
        if not properties and node.get("type") != "object":
            raise CannotAskError(at, "the body has no example", "write `example:` there")
        return {
            name: self.body_value(properties.get(name), (*at, "properties", name), deep + 1)
            for name in properties
            if name not in without
            if name in required or self.example(properties[name], at) is not ABSENT
        }


def _unescaped(step: str) -> str:
    """A step of a JSON pointer in a fragment."""
    return unquote(step).replace("~1", "/").replace("~0", "~")
