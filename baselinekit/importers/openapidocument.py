"""An OpenAPI document as a whole: with the files that it refers to taken into it; its operations, references
and examples."""

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
from baselinekit.schema import describe_value

_ELSEWHERE = lazy_pattern(r"""\$ref["']?\s*:\s*["']?(?![#"'\s])""")
_IN_BRACES = lazy_pattern(r"\{([^{}/]*)\}")
_ADDRESS = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_VALUES = frozenset(("example", "default", "const", "enum", "value"))
"""Below these keys are values of the service: what looks like a reference there is none."""
_FILES = "\0files"
_MOST = 1000


class Bundle:
    """`root`: the document with its files; `unreached`: for each reference that leads nowhere, why, and what
    to do about it."""

    def __init__(self, source: SourceText, choices: ImportChoices):
        self._source, self._beside = source, choices.beside
        self._name = posixpath.basename(source.name)
        self._files: dict[str, SourceText] = {}
        self._broken: dict[str, tuple[str, str]] = {}
        self.unreached: dict[str, tuple[str, str]] = {}
        self.root: dict[str, Json] = source.value
        if _ELSEWHERE.search(source.text):
            self.root = self._rebase_references(source.value, self._name)
            included: dict[str, Json] = {}
            while remaining := [name for name in self._files if name not in included]:
                for name in remaining:
                    included[name] = self._rebase_references(self._files[name].value, name)
            self.root[_FILES] = included

    def _rebase_references(self, value: Json, name: str) -> Json:
        """The value of a file, with its references made relative to the root of the whole."""
        if isinstance(value, list):
            return [self._rebase_references(item, name) for item in value]
        if not isinstance(value, dict):
            return value
        included = {
            key: item if key in _VALUES else self._rebase_references(item, name)
            for key, item in value.items()
        }
        if isinstance(reference := value.get("$ref"), str):
            included["$ref"] = self._rebase(reference, name)
        return included

    def _rebase(self, reference: str, name: str) -> str:
        """A reference of a file as one from the root of the whole."""
        path, _, fragment = reference.partition("#")
        if _ADDRESS.match(path):
            hint = "save it beside the document, and refer to it by its name"
            self.unreached[reference] = (f"refers to {reference}, which is not fetched", hint)
            return reference
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
        if path == self._name:  # a fragment of the document itself is judged where it is followed
            return f"#{fragment}"
        if fragment and not fragment.startswith("/"):
            message, hint = (
                f"refers to {reference}, which is no path",
                "refer to it as in #/components/schemas/Name",
            )
            self.unreached[reference] = (message, hint)
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
            file_name = posixpath.normpath(posixpath.join(posixpath.dirname(self._source.name), path))
            source = SourceText(file_name, self._beside(self._source.name, path))
            if source.value is None:
                self._broken[path] = (f"refers to {path}, in which nothing stands", "mend the reference")
                return False
        except BaselinekitError as error:
            problem = error.problems[0]
            place = f"{problem.place}: " if problem.place else ""
            self._broken[path] = (
                f"refers to {path}, which cannot be used: {place}{problem.message}",
                problem.hint,
            )
            return False
        self._files[path] = source
        return True

    def places(self, paths: Sequence[Path]) -> list[tuple[str, int]]:
        """The file and the line of each path."""
        by_number: dict[int, tuple[str, int]] = {}
        for name in {self._file_of(path) for path in paths}:
            source = self._files[name] if name else self._source
            numbers = [number for number, path in enumerate(paths) if self._file_of(path) == name]
            lines = source.lines([paths[number][2 if name else 0 :] for number in numbers])
            by_number |= {number: (source.name, line) for number, line in zip(numbers, lines, strict=True)}
        return [by_number[number] for number in range(len(paths))]

    @staticmethod
    def _file_of(path: Path) -> str:
        return str(path[1]) if path[:1] == (_FILES,) and len(path) > 1 else ""


def original_reference(reference: str) -> str:
    """A reference as its file states it, as far as that can be told."""
    if not reference.startswith(f"#/{_FILES}/"):
        return reference
    name, slash, remaining = reference.removeprefix(f"#/{_FILES}/").partition("/")
    return f"{unquote(name).replace('~1', '/').replace('~0', '~')}{'#/' if slash else ''}{remaining}"


def mapping(value: Json) -> dict[str, Json]:
    """A mapping, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def listed(value: Json) -> list[Json]:
    """A list, or a single value as a list of one, as people write it."""
    return value if isinstance(value, list) else [] if value is None else [value]


def mapping_below(node: Mapping[str, Json], key: str, at: Path) -> dict[str, Json]:
    """The mapping at a key of a node, empty if the key is absent; CannotAskError for another value."""
    if not isinstance(value := node.get(key) or {}, dict):
        raise CannotAskError((*at, key), f"`{key}` is {describe_value(value)}", "write a mapping there")
    return value


def list_below(node: Mapping[str, Json], key: str, at: Path) -> list[Json]:
    """The list at a key of a node, empty if the key is absent; CannotAskError for another value."""
    if not isinstance(value := node.get(key) or [], list):
        raise CannotAskError((*at, key), f"`{key}` is {describe_value(value)}", "write a list there")
    return value


_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_MOST_REFERENCES = 32
_DEEPEST = 24


class OpenApiDocument:
    """The document, with its references followed."""

    def __init__(self, root: dict[str, Json], unreached: Mapping[str, tuple[str, str]]):
        self.root, self._unreached = root, unreached
        self.is_swagger = "swagger" in root

    def resolve(self, node: Json, at: Path) -> tuple[Json, Path]:
        """The node itself, or the one that it refers to, and its place."""
        for _ in range(_MOST_REFERENCES):
            if not isinstance(node, dict) or not isinstance(reference := node.get("$ref"), str):
                return node, at
            if reference in self._unreached:
                raise CannotAskError(at, *self._unreached[reference])
            if not re.match(r"#(/|$)", reference):
                message = f"refers to {original_reference(reference)}, which is no path"
                raise CannotAskError(at, message, "refer to it as in #/components/schemas/Name")
            steps = [_unescaped(step) for step in reference.removeprefix("#").split("/")[1:]]
            node, at = self._reach(steps, at, reference)
        raise CannotAskError(at, "a reference that leads back to itself", "mend the document")

    def _reach(self, steps: list[str], at: Path, reference: str) -> tuple[Json, Path]:
        node: Json = self.root
        path: list[str | int] = []
        for step in steps:
            if isinstance(node, list) and step.isdecimal() and int(step) < len(node):
                path.append(int(step))
            elif isinstance(node, dict) and step in node:
                path.append(step)
            else:
                message = f"refers to {original_reference(reference)}, which is not there"
                raise CannotAskError(at, message, "mend the reference")
            node = cast(Any, node)[path[-1]]
        return node, tuple(path)

    def operations(self, path: str) -> list[tuple[Path, str, dict[str, Json], dict[str, Json]]]:
        """The operations of a path, each with its place, its method, and its path item."""
        node = self.root["paths"][path]
        if node is None or path.startswith("x-"):
            return []
        item, at = self.resolve(node, ("paths", path))
        if not isinstance(item, dict):
            raise CannotAskError(at, f"the path is {describe_value(item)}", "write a mapping there")
        if not path.startswith("/"):
            raise CannotAskError(at, "a path that does not begin with /", "write it as in /users/{id}")
        is_reference = "$ref" in node
        return [
            (("paths", path) if is_reference else ("paths", path, method), method, item[method], item)
            for method in _METHODS
            if isinstance(item.get(method), dict)
        ]

    def flaws(self, path: str) -> list[CannotAskError]:
        """What looks like an operation of a path that can be read, and is none."""
        item, at = self.resolve(self.root["paths"][path], ("paths", path))
        return [
            CannotAskError((*at, key), f"`{key}` is no operation", "name it in small letters, with a mapping")
            for key, value in mapping(item).items()
            if key.lower() in _METHODS and value is not None
            if key not in _METHODS or not isinstance(value, dict)
        ]

    def server(
        self, operation: tuple[dict[str, Json], Path], item: dict[str, Json], params: Mapping[str, str]
    ) -> tuple[str, Path]:
        """The base address of an operation, empty if the document names none; and its place. A variable
        without a value stays as it is."""
        if self.is_swagger:
            host = self.root.get("host")
            schemes = [*listed(operation[0].get("schemes")), *listed(self.root.get("schemes"))] or ["https"]
            scheme = "https" if "https" in schemes else schemes[0]
            prefix = str(self.root.get("basePath") or "").rstrip("/")
            return (f"{scheme}://{host}{prefix}" if host else prefix), ("host",)
        for holder, at in (operation, (item, operation[1][:2]), (self.root, ())):
            if not (servers := list_below(holder, "servers", at)):
                continue
            server, server_at = servers[0], (*at, "servers", 0)
            if not isinstance(server, dict):
                message = f"a server that is {describe_value(server)}"
                raise CannotAskError(server_at, message, "write `url:` there, or pass --base-url http://…")
            url = str(server.get("url") or "")
            variables = mapping(server.get("variables"))
            for name in dict.fromkeys(_IN_BRACES.findall(url)):
                value = params.get(name, mapping(variables.get(name)).get("default"))
                if value is not None and not isinstance(value, dict | list):
                    url = url.replace(f"{{{name}}}", str(value))
            return url.rstrip("/"), server_at
        return "", ("servers",)

    def schemes(self) -> dict[str, Json]:
        if self.is_swagger:
            return mapping(self.root.get("securityDefinitions"))
        return mapping(mapping(self.root.get("components")).get("securitySchemes"))

    def example(self, node: Json, at: Path, seen: set[int] | None = None) -> Json:
        """A value that the document gives for a parameter or a schema; ABSENT if it gives none. `seen`: the
        nodes already searched, because schemas may contain each other."""
        node, at = self.resolve(node, at)
        seen = set() if seen is None else seen
        if not isinstance(node, dict) or id(node) in seen:
            return ABSENT
        seen.add(id(node))
        for key in ("example", "x-example"):
            if node.get(key) is not None:
                return node[key]
        if (example := self._first_of(node.get("examples"), at)) is not ABSENT:
            return example
        for key in ("default", "const"):
            if node.get(key) is not None:
                return node[key]
        if isinstance(node.get("enum"), list) and node["enum"]:
            return node["enum"][0]
        if node.get("type") == "array" and (inner := self._inside(node, "items", at, seen)) is not ABSENT:
            return [inner]
        for key in ("schema", "allOf", "oneOf", "anyOf"):
            if (inner := self._inside(node, key, at, seen)) is not ABSENT:
                return inner
        media = next(iter(mapping(node.get("content")).values()), None)
        return ABSENT if media is None else self.example(media, (*at, "content"), seen)

    def _first_of(self, examples: Json, at: Path) -> Json:
        """`examples` is a list of values in a schema, and a mapping of described ones elsewhere."""
        if isinstance(examples, list) and examples:
            return examples[0]
        if isinstance(examples, dict):
            for described in examples.values():
                node, _ = self.resolve(described, at)
                if isinstance(node, dict) and node.get("value") is not None:
                    return node["value"]
        return ABSENT

    def _inside(self, node: dict[str, Json], key: str, at: Path, seen: set[int]) -> Json:
        choices = node.get(key)
        for choice in choices if isinstance(choices, list) else [choices]:
            if (example := self.example(choice, (*at, key), seen)) is not ABSENT:
                return example
        return ABSENT

    def members(self, node: Json, at: Path) -> tuple[dict[str, Json], list[str]]:
        """The properties of an object, its own and those of its parts, and which are required."""
        properties: dict[str, Json] = {}
        required: list[str] = []
        remaining, seen = [(node, at)], set[int]()
        while remaining:
            part, part_at = self.resolve(*remaining.pop(0))
            if isinstance(part, dict) and id(part) not in seen:
                seen.add(id(part))
                properties |= mapping_below(part, "properties", part_at)
                required += [name for name in listed(part.get("required")) if isinstance(name, str)]
                parts = enumerate(list_below(part, "allOf", part_at))
                remaining += [(inner, (*part_at, "allOf", number)) for number, inner in parts]
        return properties, required

    def is_file(self, node: Json, at: Path) -> bool:
        """Whether a field of a form is a file, or several."""
        for _ in range(_DEEPEST):
            node, at = self.resolve(node, at)
            if not isinstance(node, dict):
                return False
            if node.get("type") != "array":
                break
            node, at = node.get("items"), (*at, "items")
        else:
            return False
        return node.get("format") == "binary" or (
            "contentMediaType" in node and "contentEncoding" not in node
        )

    def check_kind(self, value: Json, schema: Json, at: Path, what: str) -> None:
        """Refuse an example of another kind than its schema states, if it could not be sent as that one."""
        schema, _ = self.resolve(schema, at)
        types = listed(mapping(schema).get("type"))
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
        known = [type for type in types if isinstance(type, str)]
        if known and kind not in known and (kind or {"object", "array"} >= set(known) - {"null"}):
            message = f"{what} is {describe_value(value)}, where the schema says {' or '.join(known)}"
            raise CannotAskError(at, message, "mend the example")

    def body_value(
        self, node: Json, at: Path, depth: int = 0, without: Collection[str] = (), field: str = ""
    ) -> Json:
        """A value for a body: its example, else one made of the examples of its properties. `field`: the
        field of the body for which it is."""
        if (example := self.example(node, at)) is not ABSENT:
            return example
        node, at = self.resolve(node, at)
        what = f"the required field {field} of the body" if field else "the body"
        if depth > _DEEPEST:
            message = "the body has no example, and its schema contains itself"
            raise CannotAskError(at, message, "write `example:` for the whole body")
        if not isinstance(node, dict):
            raise CannotAskError(at, f"{what} has no example", "write `example:` there")
        properties, required = self.members(node, at)
        if not properties and node.get("type") != "object":
            raise CannotAskError(at, f"{what} has no example", "write `example:` there")
        return {
            name: self.body_value(
                properties[name],
                (*at, "properties", name),
                depth + 1,
                field=f"{field}.{name}" if field else name,
            )
            for name in properties
            if name not in without
            if name in required or self.example(properties[name], at) is not ABSENT
        }


def _unescaped(step: str) -> str:
    """A step of a JSON pointer in a fragment."""
    return unquote(step).replace("~1", "/").replace("~0", "~")
