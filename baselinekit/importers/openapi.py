"""An OpenAPI 3 or Swagger 2 document: a request for each operation that only reads, with parameters from the
document's examples, placeholders from the formats of the schemas, and credentials as variables."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.importers import drafts as imports
from baselinekit.importers.credentials import variable_name
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.narrowest import accepts_all
from baselinekit.secrets.finding import is_secret_key
from baselinekit.secrets.variables import as_text, escape_variables_in, names_in
from baselinekit.structs import replace
from baselinekit.values.places import value_or_absent
from baselinekit.values.texts import count_noun

FORM = "an OpenAPI document"

_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_KEY = lazy_pattern(r"""^["']?(openapi|swagger)["']?\s*:\s*["']?[23]\.""", re.MULTILINE)
_ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_MULTIPART = "multipart/form-data"
_FORMS = (imports.FORM_TYPE, _MULTIPART)
_PLACES = ("path", "query", "header", "cookie", "body")
_MALFORMED = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What reading a part raises that has another form than the documents of this kind."""


def recognises(source: imports.SourceText) -> bool:
    if source.is_json:
        return isinstance(source.value, dict) and bool({"openapi", "swagger"} & source.value.keys())
    return bool(_KEY.search(source.text)) and isinstance(source.value, dict)


def read(source: imports.SourceText, choices: imports.ImportChoices) -> imports.ImportedFile:
    documents = Documents(source, choices)
    root = Node(documents, source.value, ())
    paths = root.value.get("paths", {})
    if not isinstance(paths, dict):
        raise InvalidInput(Problem("BK550", "`paths` is not a mapping", "", Place(source.name)))
    drafts: list[imports.DraftRecipe] = []
    operations_by_reason: dict[tuple[Path, str, str], list[str]] = {}
    unsafe = 0

    @contextmanager
    def listing(operation: str, at: Path) -> Iterator[None]:
        """List why an operation cannot be asked. Several may share a reason."""
        try:
            yield
        except CannotAskError as error:
            operations_by_reason.setdefault(error.reason, []).append(operation)
        except _MALFORMED:
            reason = (at, "it cannot be read", "correct the document")
            operations_by_reason.setdefault(reason, []).append(operation)

    for path, stated in paths.items():
        if stated is None or path.startswith("x-"):
            continue
        with listing(path, ("paths", path)):
            item = root.below("paths").below(path)
            if not path.startswith("/"):
                raise CannotAskError(item.at, "a path without a leading /", "write it as in /users/{id}")
            for key in item.value:
                method = key.upper()
                if key.lower() not in _METHODS:
                    continue
                if method not in imports.SAFE and not choices.unsafe:
                    unsafe += 1
                    continue
                with listing(f"{method} {path}", (*item.at, key)):
                    draft = _Operation(root, path, method, item, item.below(key), choices).draft()
                    drafts.append(replace(draft, line=source.line(("paths", path, key))))
    left_out = []
    for (at, message, hint), operations in operations_by_reason.items():
        file, line = documents.place_of(at)
        label = operations[0] if len(operations) == 1 else count_noun(len(operations), "operation")
        left_out.append(imports.LeftOut(line, f"{label}: {message}", hint, file, len(operations)))
    return imports.ImportedFile(tuple(drafts), tuple(left_out), unsafe)


# The document as a whole: its nodes, and the files that it refers to.


class CannotAskError(Exception):
    """An operation that cannot be turned into a request. `reason`: the place in the document, what is wrong,
    and what to do about it."""

    def __init__(self, at: Path, message: str, hint: str = ""):
        super().__init__(message)
        self.reason = (at, message, hint)


_ADDRESS = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_FILES = "\0files"
"""A path in another file begins with this and the name of the file."""
_MOST_REFERENCES = 32
_DEEPEST = 24
_AN_EXAMPLE = "write `example:` there"


class Documents:
    """A document and the files that it refers to; each is read when a reference leads there."""

    def __init__(self, source: imports.SourceText, choices: imports.ImportChoices):
        self._source, self._beside = source, choices.beside
        self._files = {"": source}
        """Each file by its path from the folder of the document."""

    def follow(self, reference: str, at: Path) -> tuple[Json, Path]:
        """What a reference leads to, and its place. `at`: the place of the reference."""
        name, _, fragment = reference.partition("#")
        if _ADDRESS.match(name) or not f"{fragment}/".startswith("/"):
            hint = "refer to a file beside the document, as in common.yaml#/components/schemas/Name"
            raise CannotAskError(at, f"refers to {reference}, which is not followed", hint)
        file = _file_of(at)
        if name:
            file = posixpath.normpath(posixpath.join(posixpath.dirname(file), unquote(name)))
            file = "" if file == posixpath.basename(self._source.name) else file
        node, path = self._read(file, at).value, list[str | int]()
        try:
            for step in fragment.split("/")[1:]:
                step = unquote(step).replace("~1", "/").replace("~0", "~")
                path.append(int(step) if isinstance(node, list) else step)
                node = node[path[-1]]
        except (LookupError, TypeError, ValueError):
            message = f"refers to {reference}, which is not there"
            raise CannotAskError(at, message, "correct the reference") from None
        return node, (_FILES, file, *path) if file else tuple(path)

    def _read(self, file: str, at: Path) -> imports.SourceText:
        if file not in self._files:
            try:
                name = posixpath.normpath(posixpath.join(posixpath.dirname(self._source.name), file))
                source = imports.SourceText(name, self._beside(self._source.name, file))
                _ = source.value  # raises if it cannot be read
            except BaselinekitError as error:
                problem = error.problems[0]
                place = f"{problem.place}: " if problem.place else ""
                message = f"refers to {file}, which cannot be used: {place}{problem.message}"
                raise CannotAskError(at, message, problem.hint) from None
            self._files[file] = source
        return self._files[file]

    def place_of(self, path: Path) -> tuple[str, int]:
        """The file and the line of a path."""
        file = _file_of(path)
        return self._files[file].name, self._files[file].line(path[2:] if file else path)


def _file_of(path: Path) -> str:
    """The file that a path is in, by its path from the folder of the document; empty for the document."""
    return str(path[1]) if path[:1] == (_FILES,) else ""


class Node(NamedTuple):
    """A value of the document, no reference any more, with its place."""

    files: Documents
    value: Json
    at: Path

    def below(self, key: str | int) -> "Node":
        """The node at a key, or the one that it refers to; its value is None if there is none."""
        inner, at = value_or_absent(self.value, (key,)), (*self.at, key)
        inner = None if inner is ABSENT else inner
        for _ in range(_MOST_REFERENCES):
            if not isinstance(inner, dict) or not isinstance(reference := inner.get("$ref"), str):
                return Node(self.files, inner, at)
            inner, at = self.files.follow(reference, at)
        raise CannotAskError(at, "a reference that leads back to itself", "correct the document")

    def listed(self, key: str) -> list["Node"]:
        """The nodes of the list at a key."""
        node = self.below(key)
        return [node.below(number) for number in range(len(node.value or []))]

    def first(self) -> "Node":
        """The first member of a mapping."""
        return self.below(next(iter(_mapping(self.value)), ""))

    # What it states about a parameter, a body or a schema.

    def example(self, seen: set[int] | None = None) -> Json:
        """A value that the document gives for a parameter or a schema; ABSENT if it gives none. `seen`: the
        nodes already searched, because schemas may contain each other."""
        node, seen = self.value, set() if seen is None else seen
        if not isinstance(node, dict) or id(node) in seen:
            return ABSENT
        seen.add(id(node))
        given = [node.get("example"), node.get("x-example")]
        examples = self.below("examples")  # a list of values in a schema, described ones elsewhere
        if isinstance(examples.value, list):
            given += examples.value[:1]
        given += [_mapping(examples.below(name).value).get("value") for name in _mapping(examples.value)]
        given += [node.get("default"), node.get("const"), *_listed(node.get("enum"))[:1]]
        if (value := next((value for value in given if value is not None), ABSENT)) is not ABSENT:
            return value
        if node.get("type") == "array" and (inner := self.below("items").example(seen)) is not ABSENT:
            return [inner]
        found = (part.example(seen) for part in self._parts())
        return next((value for value in found if value is not ABSENT), ABSENT)

    def _parts(self) -> Iterator["Node"]:
        yield self.below("schema")
        for key in ("allOf", "oneOf", "anyOf"):
            yield from self.listed(key)
        yield self.below("content").first()

    def members(self) -> tuple[dict[str, "Node"], list[str]]:
        """The properties of an object, its own and those of its parts; and which are required."""
        properties: dict[str, Node] = {}
        required: list[str] = []
        remaining, seen = [self], set[int]()
        while remaining:
            part = remaining.pop(0)
            if isinstance(part.value, dict) and id(part.value) not in seen:
                seen.add(id(part.value))
                own = part.below("properties")
                properties |= {name: own.below(name) for name in own.value or {}}
                required += _listed(part.value.get("required"))
                remaining += part.listed("allOf")
        return properties, required

    def is_file(self) -> bool:
        """Whether a field of a form is a file, or several."""
        is_list = _mapping(self.value).get("type") == "array"
        stated = _mapping(self.below("items").value if is_list else self.value)
        is_bytes = "contentMediaType" in stated and "contentEncoding" not in stated
        return is_bytes or stated.get("format") == "binary"

    def body(self, field: str = "", without: Collection[str] = ()) -> Json:
        """A value for a body: its example, else one made of the examples of its properties. `field`: the
        field of the body for which it is."""
        if (example := self.example()) is not ABSENT:
            return example
        if field.count(".") > _DEEPEST:
            message = "the body has no example, and its schema contains itself"
            raise CannotAskError(self.at, message, "write `example:` for the whole body")
        properties, required = self.members()
        if not properties and _mapping(self.value).get("type") != "object":
            what = f"the required field {field} of the body" if field else "the body"
            raise CannotAskError(self.at, f"{what} has no example", _AN_EXAMPLE)
        return {
            name: inner.body(f"{field}.{name}" if field else name)
            for name, inner in properties.items()
            if name not in without
            if name in required or inner.example() is not ABSENT
        }


def _mapping(value: Json) -> dict[str, Json]:
    """A mapping, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _listed(value: Json) -> list[Json]:
    """A list, or a single value as a list of one, as people write it."""
    return value if isinstance(value, list) else [] if value is None else [value]


# One operation as a request.

_KEYS_BY_PLACE = {"header": "headers", "query": "params", "cookie": "cookies"}
_SEPARATORS = {"ssv": " ", "spaceDelimited": " ", "tsv": "\t", "pipes": "|", "pipeDelimited": "|"}
_EVEN_IF_EMPTY = ("json", "body", "files")


class _Operation:
    def __init__(
        self, root: Node, path: str, method: str, item: Node, node: Node, choices: imports.ImportChoices
    ):
        self.root, self.path, self.method, self.item, self.node = root, path, method, item, node
        self.choices = choices
        self.is_swagger = "swagger" in root.value
        self.id = str(node.value.get("operationId") or f"{method} {path}")
        self.parts: dict[str, Any] = {"headers": {}, "params": {}, "form": {}, "cookies": {}}

    def draft(self) -> imports.DraftRecipe:
        base_url, prefix = self.base()
        for parameter in self.parameters():
            self.take(parameter)
        if missing := re.search(r"\{([^{}]*)\}", self.path):
            raise _no_value(self.node, "path", missing[1])
        self.take_body()
        for key, part in self.credentials().items():
            self.parts[key] = self.parts.get(key, {}) | part
        request: dict[str, Json] = {"method": self.method, "endpoint": f"{prefix}{self.path}"}
        request |= {key: part for key, part in self.parts.items() if part or key in _EVEN_IF_EMPTY}
        return imports.DraftRecipe(
            id=self.id if _ID.fullmatch(self.id) else imports.slug(self.id),
            current={
                "input": request,
                "execution": {"type": "http"} | ({"base_url": base_url} if base_url else {}),
            },
            line=0,
            name=" ".join(str(self.node.value.get("summary") or "").split()) or None,
            tags=tuple(map(str, _listed(self.node.value.get("tags")))),
            needs=tuple(dict.fromkeys(names_in(request))),
            formats=partial(_formats_of, self.node),
            is_vouched=False,
        )

    def base(self) -> tuple[str | None, str]:
        """The base_url to state, and the prefix of each path. A base_url of the project without a path
        replaces the server's origin; one with a path, even `/`, replaces the whole server."""
        server, at = self.server()
        if flaw := imports.flaw_of_url(server):
            raise CannotAskError(at, flaw, "correct it, or pass --base-url http://…")
        parts = urlsplit(server)
        base_url = self.choices.base_url
        if base_url is not None and urlsplit(base_url).path:
            return None, ""
        if unknown := re.search(r"\{([^{}/]*)\}", parts.path if base_url is not None else server):
            hint = f"write `default:` there, or pass --param {unknown[1]}=… or --base-url http://…/"
            raise CannotAskError(at, f"the variable {unknown[1]} of the server has no value", hint)
        if base_url is not None:
            return None, parts.path
        if not parts.netloc:
            message = "the document names no address to ask" + (f", but {server}" if server else "")
            raise CannotAskError(at, message, "pass --base-url http://…")
        return f"{parts.scheme}://{parts.netloc}", parts.path

    def server(self) -> tuple[str, Path]:
        """The base address, empty if the document names none; and its place. A variable without a value stays
        as it is."""
        root = self.root.value
        if self.is_swagger:
            host, prefix = root.get("host"), str(root.get("basePath") or "").rstrip("/")
            schemes = [*_listed(self.node.value.get("schemes")), *_listed(root.get("schemes"))] or ["https"]
            scheme = "https" if "https" in schemes else schemes[0]
            return (f"{scheme}://{host}{prefix}" if host else prefix), ("host",)
        for holder in (self.node, self.item, self.root):
            for server in holder.listed("servers")[:1]:
                url = str(server.value.get("url") or "")
                variables = _mapping(server.value.get("variables"))
                for name in re.findall(r"\{([^{}/]*)\}", url):
                    value = self.choices.params.get(name, _mapping(variables.get(name)).get("default"))
                    url = url if value is None else url.replace(f"{{{name}}}", as_text(value))
                return url.rstrip("/"), server.at
        return "", ("servers",)

    def parameters(self) -> Collection[Node]:
        """The parameters. Those of the operation take precedence over those of its path."""
        both = (*self.item.listed("parameters"), *self.node.listed("parameters"))
        return {(one.value["name"], one.value["in"]): one for one in both}.values()

    def take(self, parameter: Node) -> None:
        """Add a parameter to the request. One that is not required is left out, unless the operator gives
        it."""
        stated, name, where = parameter.value, str(parameter.value["name"]), parameter.value["in"]
        value = self.given(name)
        if value is ABSENT and not stated.get("required") and where != "path":
            return
        if where not in _PLACES:
            message = f"the parameter {name} is in {where!r}, not in {', '.join(_PLACES)}"
            raise CannotAskError(parameter.at, message, "write a curl line for it")
        if where == "body":
            self.parts["json"] = escape_variables_in(parameter.below("schema").body())
        elif value is ABSENT and is_secret_key(name) and where in ("query", "header"):
            self.parts[_KEYS_BY_PLACE[where]][name] = _variable(variable_name(name))
        else:
            value = parameter.example() if value is ABSENT else value
            if value is ABSENT:
                raise _no_value(parameter, where, name)
            self.add_value(name, where, stated, value)

    def add_value(self, name: str, where: str, stated: dict[str, Json], value: Json) -> None:
        if where == "path":
            text = quote(_joined(value, ","), safe=",:@", errors="replace")
            self.path = self.path.replace(f"{{{name}}}", text)
        elif where == "query":
            self.parts["params"] |= escape_variables_in(self.in_query(name, stated, value))
        elif where == "cookie" or name.lower() not in ("accept", "content-type", "authorization"):
            self.parts[_KEYS_BY_PLACE[where]][name] = escape_variables_in(_joined(value, ","))

    def given(self, name: str) -> Any:
        """The value that the operator gives for a parameter or a field, of this operation or of all."""
        params = self.choices.params
        return params.get(f"{self.id}.{name}", params.get(name, ABSENT))

    def in_query(self, name: str, stated: dict[str, Json], value: Json) -> dict[str, Json]:
        if self.is_swagger:
            style = stated.get("collectionFormat", "csv")
            explodes = style == "multi"
        else:
            style = stated.get("style", "form")
            explodes = stated.get("explode", style == "form")
        if isinstance(value, dict) and style == "deepObject":
            return {f"{name}[{key}]": inner for key, inner in value.items()}
        if isinstance(value, dict) and explodes:
            return value
        is_whole = isinstance(value, list) and explodes
        return {name: value if is_whole else _joined(value, _SEPARATORS.get(style, ","))}

    def take_body(self) -> None:
        body = self.node.below("requestBody")
        if body.value is None or (self.method in imports.SAFE and not body.value.get("required")):
            return
        content = body.below("content")
        forms = [name for name in _FORMS if name in content.value]
        media = [*(name for name in content.value if "json" in name), *forms, *content.value][0]
        described = content.below(media)
        if media in _FORMS:
            self.take_form(described, media)
            return
        value = described.example()
        value = escape_variables_in(described.below("schema").body() if value is ABSENT else value)
        if "json" not in media and not isinstance(value, str):
            hint = "write a curl line for it: baselinekit capture curl --data-binary …"
            raise CannotAskError(described.at, f"a body of {media} is not made from a schema", hint)
        self.parts["json" if "json" in media else "body"] = value
        if media != "application/json":
            self.parts["headers"]["Content-Type"] = media

    def take_form(self, described: Node, media: str) -> None:
        """Add the fields of a form that are required or have an example. The operator has to name its
        files."""
        schema = described.below("schema")
        properties, required = schema.members()
        files = {name for name, part in properties.items() if part.is_file()}
        given = {name: text for name in properties if (text := self.given(name)) is not ABSENT}
        for name in sorted(files & set(required) - given.keys()):
            message = f"the required field {name} is a file, and no document holds one"
            raise CannotAskError(schema.at, message, f"pass --param {name}=FILE")
        value = described.example()
        fields = schema.body(without=files | given.keys()) if value is ABSENT else value
        fields = {name: part for name, part in (fields | given).items() if name not in files}
        self.parts["form"] = {name: _field(part) for name, part in fields.items() if part is not None}
        if media == _MULTIPART:
            self.parts["files"] = {name: given[name] for name in files & given.keys()}

    def credentials(self) -> dict[str, dict[str, Json]]:
        """The parts of the request for the first security requirement whose variables are all known, else for
        the first one; none if the document also allows a request without credentials."""
        holder = self.node if "security" in self.node.value else self.root
        choices = [self.credentials_of(requirement.value) for requirement in holder.listed("security")]
        known = [parts for parts in choices if parts and {*names_in(parts)} <= self.choices.known]
        if not known and {} in choices:
            return {}
        return (known or choices or [{}])[0]

    def credentials_of(self, requirement: dict[str, Json]) -> dict[str, dict[str, Json]]:
        parts: dict[str, dict[str, Json]] = {}
        schemes = self.root.below("components").below("securitySchemes")
        schemes = self.root.below("securityDefinitions") if self.is_swagger else schemes
        for name in requirement:
            scheme = schemes.below(name)
            if scheme.value is None:
                message = f"the security scheme {name} is not described"
                raise CannotAskError(self.node.at, message, "correct the document")
            variable, stated = variable_name(name), scheme.value
            where, scheme_type = stated.get("in"), stated.get("type")
            way = "basic" if scheme_type == "basic" else str(stated.get("scheme", "")).lower()
            if way in ("basic", "digest"):
                login = {key: _variable(f"{variable}_{key.upper()}") for key in ("username", "password")}
                parts["auth"] = {"type": way, **login}
            elif scheme_type == "apiKey" and where in _KEYS_BY_PLACE:
                key = str(stated.get("name"))
                parts.setdefault(_KEYS_BY_PLACE[where], {})[key] = _variable(variable)
            elif scheme_type in ("http", "oauth2", "openIdConnect"):
                parts["auth"] = {"type": "bearer", "token": _variable(variable)}
            elif scheme_type != "mutualTLS":
                message = f"the security scheme {name} does not say how it is sent"
                raise CannotAskError(scheme.at, message, "fix its `type` and `in`")
        return parts


def _variable(name: str) -> str:
    return f"{{{{{name}}}}}"


def _no_value(node: Node, where: Json, name: str) -> CannotAskError:
    message = f"the required {where} parameter {name} has no example"
    return CannotAskError(node.at, message, f"{_AN_EXAMPLE}, or pass --param {name}=…")


def _field(value: Json) -> Json:
    """A field of a form: what is neither a text nor a list of texts is sent as JSON."""
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return [_field(item) for item in value]
    return escape_variables_in(as_text(value) if isinstance(value, dict | list) else value)


def _joined(value: Json, separator: str) -> str:
    return separator.join(map(as_text, value)) if isinstance(value, list) else as_text(value)


# The formats that the document states for the texts in an answer, as placeholders.

_VARYING: Mapping[str, str] = {
    "uuid": "<<any_uuid>>",
    "date-time": "<<any_iso_datetime>>",
    "date": "<<any_iso_date>>",
    "time": "<<any_time>>",
}
"""Formats of values that are new in each answer, or written by a clock."""


def _formats_of(operation: Node, output: Json) -> Mapping[Path, str]:
    """Placeholders for the texts of an output that vary by nature."""
    found: dict[Path, str] = {}
    with suppress(CannotAskError, *_MALFORMED):  # where the document is broken
        responses = operation.below("responses")
        status = str(output.get("status"))
        keys = {str(key).upper(): key for key in responses.value}
        key = next((keys[one] for one in (status, f"{status[:1]}XX", "DEFAULT") if one in keys), "")
        response = responses.below(key)
        holder = response if "schema" in response.value else response.below("content").first()
        _find(holder.below("schema"), output.get("body"), ("body",), found, set())
    return found


def _find(schema: Node, value: Json, path: Path, found: dict[Path, str], seen: set[tuple[int, Path]]) -> None:
    """Find the formats that a schema states for the texts of a value. Parts of a schema may contain it."""
    stated = schema.value
    if not isinstance(stated, dict) or (id(stated), path) in seen or len(path) > _DEEPEST:
        return
    seen.add((id(stated), path))
    for key in ("allOf", "oneOf", "anyOf"):
        for part in schema.listed(key):
            _find(part, value, path, found, seen)
    if isinstance(value, str) and len(path) > 1 and not {"enum", "const"} & stated.keys():
        text = _VARYING.get(str(stated.get("format")))
        if text is not None and accepts_all(text, [value]):
            found.setdefault(path, text)
    elif isinstance(value, dict):
        properties = schema.below("properties")
        for key, item in value.items():
            is_stated = key in _mapping(properties.value)
            inner = properties.below(key) if is_stated else schema.below("additionalProperties")
            _find(inner, item, (*path, key), found, seen)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _find(schema.below("items"), item, (*path, number), found, seen)
