"""An OpenAPI document as a whole: with the files that it refers to taken into it; its operations, references
and examples."""

import posixpath
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import unquote

from baselinekit.errors import BaselinekitError
from baselinekit.importers.answers import CannotAskError
from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import describe_value

_IN_BRACES = lazy_pattern(r"\{([^{}/]*)\}")
_ADDRESS = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_FILES = "\0files"
"""A path in another file begins with this and the name of the file."""
_MOST = 1000


class Documents:
    """A document and the files that it refers to; each is read when a reference leads there."""

    def __init__(self, source: SourceText, choices: ImportChoices):
        self._source, self._beside = source, choices.beside
        self._files: dict[str, SourceText | tuple[str, str]] = {"": source}
        """Each file by its path from the folder of the document, or why it cannot be used and what to do."""

    def follow(self, reference: str, at: Path) -> tuple[Json, Path]:
        """What a reference leads to, and its place. `at`: the place of the reference."""
        name, _, fragment = reference.partition("#")
        if _ADDRESS.match(name):
            hint = "save it beside the document, and refer to it by its name"
            raise CannotAskError(at, f"refers to {reference}, which is not fetched", hint)
        if fragment and not fragment.startswith("/"):
            hint = "refer to it as in #/components/schemas/Name"
            raise CannotAskError(at, f"refers to {reference}, which is no path", hint)
        file = _file_of(at)
        if name:
            file = posixpath.normpath(posixpath.join(posixpath.dirname(file), unquote(name)))
            file = "" if file == posixpath.basename(self._source.name) else file
        found = self._files.get(file) or self._read(file)
        if not isinstance(found, SourceText):
            raise CannotAskError(at, *found)
        node, path = found.value, list[str | int]()
        for step in fragment.split("/")[1:]:
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            key = int(step) if isinstance(node, list) and step.isdecimal() else step
            try:
                node = node[key]
            except (LookupError, TypeError):
                message = f"refers to {reference}, which is not there"
                raise CannotAskError(at, message, "correct the reference") from None
            path.append(key)
        return node, (_FILES, file, *path) if file else tuple(path)

    def _read(self, file: str) -> SourceText | tuple[str, str]:
        found: SourceText | tuple[str, str]
        try:
            name = posixpath.normpath(posixpath.join(posixpath.dirname(self._source.name), file))
            if len(self._files) > _MOST:
                found = (f"refers to more than {_MOST:,} files", "bundle the document into one")
            elif (found := SourceText(name, self._beside(self._source.name, file))).value is None:
                found = (f"refers to {file}, which is empty", "correct the reference")
        except BaselinekitError as error:
            problem = error.problems[0]
            place = f"{problem.place}: " if problem.place else ""
            found = (f"refers to {file}, which cannot be used: {place}{problem.message}", problem.hint)
        self._files[file] = found
        return found

    def places(self, paths: Sequence[Path]) -> list[tuple[str, int]]:
        """The file and the line of each path."""
        by_number: dict[int, tuple[str, int]] = {}
        for name in {_file_of(path) for path in paths}:
            source = self._files[name]
            assert isinstance(source, SourceText)  # a path leads only to what was read
            numbers = [number for number, path in enumerate(paths) if _file_of(path) == name]
            lines = source.lines([paths[number][2 if name else 0 :] for number in numbers])
            by_number |= {number: (source.name, line) for number, line in zip(numbers, lines, strict=True)}
        return [by_number[number] for number in range(len(paths))]


def _file_of(path: Path) -> str:
    """The file that a path is in, by its path from the folder of the document; empty for the document."""
    return str(path[1]) if path[:1] == (_FILES,) else ""


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


METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_MOST_REFERENCES = 32
_DEEPEST = 24


class OpenApiDocument:
    """The document, with its references followed."""

    def __init__(self, source: SourceText, choices: ImportChoices):
        self.files = Documents(source, choices)
        self.root: dict[str, Json] = source.value
        self.is_swagger = "swagger" in self.root

    def resolve(self, node: Json, at: Path) -> tuple[Json, Path]:
        """The node itself, or the one that it refers to, and its place."""
        for _ in range(_MOST_REFERENCES):
            if not isinstance(node, dict) or not isinstance(reference := node.get("$ref"), str):
                return node, at
            node, at = self.files.follow(reference, at)
        raise CannotAskError(at, "a reference that leads back to itself", "correct the document")

    def path_item(self, path: str) -> tuple[dict[str, Json], Path]:
        """What a path holds, its operations among it, and its place."""
        item, at = self.resolve(self.root["paths"][path], ("paths", path))
        if not isinstance(item, dict):
            raise CannotAskError(at, f"the path is {describe_value(item)}", "write a mapping there")
        if not path.startswith("/"):
            raise CannotAskError(at, "a path that does not begin with /", "write it as in /users/{id}")
        return item, at

    def flaws(self, item: dict[str, Json], at: Path) -> list[CannotAskError]:
        """What looks like an operation of a path, and is none."""
        return [
            CannotAskError((*at, key), f"`{key}` is no operation", "name it in small letters, with a mapping")
            for key, value in item.items()
            if key.lower() in METHODS and value is not None
            if key not in METHODS or not isinstance(value, dict)
        ]

    def server(
        self,
        operation: tuple[dict[str, Json], Path],
        item: tuple[dict[str, Json], Path],
        params: Mapping[str, str],
    ) -> tuple[str, Path]:
        """The base address of an operation, empty if the document names none; and its place. A variable
        without a value stays as it is."""
        if self.is_swagger:
            host = self.root.get("host")
            schemes = [*listed(operation[0].get("schemes")), *listed(self.root.get("schemes"))] or ["https"]
            scheme = "https" if "https" in schemes else schemes[0]
            prefix = str(self.root.get("basePath") or "").rstrip("/")
            return (f"{scheme}://{host}{prefix}" if host else prefix), ("host",)
        for holder, at in (operation, item, (self.root, ())):
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

    def members(self, node: Json, at: Path) -> tuple[dict[str, tuple[Json, Path]], list[str]]:
        """The properties of an object, its own and those of its parts, with their places; and which are
        required."""
        properties: dict[str, tuple[Json, Path]] = {}
        required: list[str] = []
        remaining, seen = [(node, at)], set[int]()
        while remaining:
            part, part_at = self.resolve(*remaining.pop(0))
            if isinstance(part, dict) and id(part) not in seen:
                seen.add(id(part))
                own = mapping_below(part, "properties", part_at)
                properties |= {name: (inner, (*part_at, "properties", name)) for name, inner in own.items()}
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
            raise CannotAskError(at, message, "correct the example")

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
            name: self.body_value(inner, inner_at, depth + 1, field=f"{field}.{name}" if field else name)
            for name, (inner, inner_at) in properties.items()
            if name not in without
            if name in required or self.example(inner, inner_at) is not ABSENT
        }
