"""An OpenAPI 3 or Swagger 2 document: a request for each operation that only reads, with parameters from the
document's examples, placeholders from the formats of the schemas, and credentials as variables."""

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.importers import drafts as imports
from baselinekit.importers.credentials import variable_name
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.narrowest import accepts_all
from baselinekit.schema import describe_value
from baselinekit.secrets.finding import is_secret_key
from baselinekit.secrets.variables import as_text, escape_variables_in
from baselinekit.structs import replace
from baselinekit.values.places import value_or_absent
from baselinekit.values.texts import count_noun

FORM = "an OpenAPI document"

_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_KEY = lazy_pattern(r"""^["']?(openapi|swagger)["']?\s*:\s*["']?[23]\.""", re.MULTILINE)
_ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_MULTIPART = "multipart/form-data"
_FORMS = (imports.FORM_TYPE, _MULTIPART)
_PLACES = ("path", "query", "header", "cookie", "body", "formData")


def recognises(source: imports.SourceText) -> bool:
    if source.is_json:
        return isinstance(source.value, dict) and bool({"openapi", "swagger"} & source.value.keys())
    return bool(_KEY.search(source.text)) and isinstance(source.value, dict)


def read(source: imports.SourceText, choices: imports.ImportChoices) -> imports.ImportedFile:
    files = Documents(source, choices)
    root = Node(files, source.value, ())
    paths = root.value.get("paths", {})
    if not isinstance(paths, dict):
        raise InvalidInput(Problem("BK550", "`paths` is not a mapping", "", Place(source.name)))
    drafts: list[tuple[imports.DraftRecipe, Path]] = []
    errors: list[tuple[CannotAskError, str]] = []
    unsafe = 0
    for path in [path for path, stated in paths.items() if stated is not None and not path.startswith("x-")]:
        try:
            item = root.below("paths").below(path)
            item.check(isinstance(item.value, dict), f"the path is {describe_value(item.value)}", _A_MAPPING)
            item.check(path.startswith("/"), "a path without a leading /", "write it as in /users/{id}")
        except CannotAskError as error:
            errors.append((error, path))
            continue
        for key, value in item.value.items():
            is_right = key in _METHODS and isinstance(value, dict)
            if key.lower() in _METHODS and value is not None and not is_right:
                hint = "name it in small letters, with a mapping"
                errors.append((CannotAskError((*item.at, key), f"`{key}` is no operation", hint), path))
        for method in _METHODS:
            if not isinstance(item.value.get(method), dict):
                continue
            if method.upper() not in imports.SAFE and not choices.unsafe:
                unsafe += 1
                continue
            try:
                draft = _Operation(root, path, method, item, choices).draft()
                drafts.append((draft, ("paths", path, method)))
            except CannotAskError as error:
                errors.append((error, f"{method.upper()} {path}"))
    counts = Counter((error.at, error.message) for error, _ in errors)  # operations may share a reason
    first = {(error.at, error.message): (error, operation) for error, operation in reversed(errors)}
    reasons = [(*first[key], count) for key, count in counts.items()]
    places = files.places([*(at for _, at in drafts), *(reason.at for reason, *_ in reasons)])
    placed = [replace(draft, line=line) for (draft, _), (_, line) in zip(drafts, places, strict=False)]
    left_out = []
    for (reason, operation, count), (file, line) in zip(reasons, places[len(drafts) :], strict=True):
        label = operation if count == 1 else count_noun(count, "operation")
        left_out.append(imports.LeftOut(line, f"{label}: {reason.message}", reason.hint, file, count))
    return imports.ImportedFile(tuple(placed), tuple(left_out), unsafe)


# The document as a whole: its nodes, and the files that it refers to.


class CannotAskError(Exception):
    """An operation that cannot be turned into a request. `at`: the place in the document that is the
    reason."""

    def __init__(self, at: Path, message: str, hint: str = ""):
        super().__init__(message)
        self.at, self.message, self.hint = at, message, hint


_ADDRESS = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_FILES = "\0files"
"""A path in another file begins with this and the name of the file."""
_MOST_FILES = 1000
_MOST_REFERENCES = 32
_DEEPEST = 24
_A_MAPPING, _A_LIST = "write a mapping there", "write a list there"
_AN_EXAMPLE = "write `example:` there"


class Documents:
    """A document and the files that it refers to; each is read when a reference leads there."""

    def __init__(self, source: imports.SourceText, choices: imports.ImportChoices):
        self._source, self._beside = source, choices.beside
        self._files: dict[str, imports.SourceText | tuple[str, str]] = {"": source}
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
        if not isinstance(found, imports.SourceText):
            raise CannotAskError(at, *found)
        node, path = found.value, list[str | int]()
        for step in fragment.split("/")[1:]:
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            path.append(int(step) if isinstance(node, list) and step.isdecimal() else step)
            try:
                node = node[path[-1]]
            except (LookupError, TypeError):
                message = f"refers to {reference}, which is not there"
                raise CannotAskError(at, message, "correct the reference") from None
        return node, (_FILES, file, *path) if file else tuple(path)

    def _read(self, file: str) -> imports.SourceText | tuple[str, str]:
        found: imports.SourceText | tuple[str, str]
        try:
            name = posixpath.normpath(posixpath.join(posixpath.dirname(self._source.name), file))
            if len(self._files) > _MOST_FILES:
                found = (f"refers to more than {_MOST_FILES:,} files", "bundle the document into one")
            elif (found := imports.SourceText(name, self._beside(self._source.name, file))).value is None:
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
            assert isinstance(source, imports.SourceText)  # a path leads only to what was read
            numbers = [number for number, path in enumerate(paths) if _file_of(path) == name]
            lines = source.lines([paths[number][2 if name else 0 :] for number in numbers])
            by_number |= {number: (source.name, line) for number, line in zip(numbers, lines, strict=True)}
        return [by_number[number] for number in range(len(paths))]


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

    def mapping(self, key: str) -> "Node":
        """The mapping at a key, empty if there is none."""
        node = self.below(key)
        node.check(isinstance(node.value or {}, dict), f"`{key}` is {describe_value(node.value)}", _A_MAPPING)
        return node._replace(value=node.value or {})

    def listed(self, key: str) -> list["Node"]:
        """The nodes of the list at a key."""
        node = self.below(key)
        node.check(isinstance(node.value or [], list), f"`{key}` is {describe_value(node.value)}", _A_LIST)
        return [node.below(number) for number in range(len(node.value or []))]

    def check(self, is_right: bool, message: str, hint: str) -> None:
        if not is_right:
            raise CannotAskError(self.at, message, hint)

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
        elif isinstance(examples.value, dict):
            given += [_mapping(examples.below(name).value).get("value") for name in examples.value]
        given += [node.get("default"), node.get("const"), *_listed(node.get("enum"))[:1]]
        if (value := next((value for value in given if value is not None), ABSENT)) is not ABSENT:
            return value
        if node.get("type") == "array" and (inner := self.below("items").example(seen)) is not ABSENT:
            return [inner]
        for key in ("schema", "allOf", "oneOf", "anyOf"):
            part = self.below(key)
            numbers = range(len(part.value)) if isinstance(part.value, list) else ()
            for choice in (part, *map(part.below, numbers)):
                if (inner := choice.example(seen)) is not ABSENT:
                    return inner
        return self.below("content").first().example(seen)

    def members(self) -> tuple[dict[str, "Node"], list[str]]:
        """The properties of an object, its own and those of its parts; and which are required."""
        properties: dict[str, Node] = {}
        required: list[str] = []
        remaining, seen = [self], set[int]()
        while remaining:
            part = remaining.pop(0)
            if isinstance(part.value, dict) and id(part.value) not in seen:
                seen.add(id(part.value))
                own = part.mapping("properties")
                properties |= {name: own.below(name) for name in own.value}
                required += [name for name in _listed(part.value.get("required")) if isinstance(name, str)]
                remaining += part.listed("allOf")
        return properties, required

    def is_file(self) -> bool:
        """Whether a field of a form is a file, or several."""
        node = self
        for _ in range(_DEEPEST):
            if not isinstance(node.value, dict):
                return False
            if node.value.get("type") != "array":
                is_text = "contentMediaType" not in node.value or "contentEncoding" in node.value
                return node.value.get("format") == "binary" or not is_text
            node = node.below("items")
        return False

    def body(self, depth: int = 0, without: Collection[str] = (), field: str = "") -> Json:
        """A value for a body: its example, else one made of the examples of its properties. `field`: the
        field of the body for which it is."""
        if (example := self.example()) is not ABSENT:
            return example
        what = f"the required field {field} of the body" if field else "the body"
        hint = "write `example:` for the whole body"
        self.check(depth <= _DEEPEST, "the body has no example, and its schema contains itself", hint)
        self.check(isinstance(self.value, dict), f"{what} has no example", _AN_EXAMPLE)
        properties, required = self.members()
        is_object = bool(properties) or self.value.get("type") == "object"
        self.check(is_object, f"{what} has no example", _AN_EXAMPLE)
        return {
            name: inner.body(depth + 1, field=f"{field}.{name}" if field else name)
            for name, inner in properties.items()
            if name not in without
            if name in required or inner.example() is not ABSENT
        }

    def checked(self, value: Json, schema: Json, what: str) -> Json:
        """An example; refused if it is of another kind than its schema states, and cannot be sent as that
        one."""
        types = _listed(_mapping(schema).get("type"))
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
        known = [type for type in types if isinstance(type, str)]
        if known and kind not in known and (kind or {"object", "array"} >= set(known) - {"null"}):
            message = f"{what} is {describe_value(value)}, where the schema says {' or '.join(known)}"
            raise CannotAskError(self.at, message, "correct the example")
        return value


def _mapping(value: Json) -> dict[str, Json]:
    """A mapping, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _listed(value: Json) -> list[Json]:
    """A list, or a single value as a list of one, as people write it."""
    return value if isinstance(value, list) else [] if value is None else [value]


# One operation as a request.


class _Operation:
    def __init__(self, root: Node, path: str, method: str, item: Node, choices: imports.ImportChoices):
        self.root, self.path, self.method, self.item, self.choices = root, path, method, item, choices
        self.node = Node(root.files, item.value[method], (*item.at, method))
        self.is_swagger = "swagger" in root.value
        self.id = str(self.node.value.get("operationId") or "")
        self.parts: dict[str, dict[str, Json]] = {"headers": {}, "params": {}, "form": {}, "cookies": {}}
        self.files: dict[str, Json] | None = None
        self.body: dict[str, Json] = {}
        self.needs: list[str] = []

    def draft(self) -> imports.DraftRecipe:
        base_url, prefix = self.base()
        path, operation = self.path, self.node.value
        for parameter in self.parameters():
            self.take(parameter)
        if missing := re.search(r"\{([^{}]*)\}", self.path):
            raise _no_value(self.node, "path", missing[1])
        self.take_body()
        auth = self.take_security()
        cookies = self.parts.pop("cookies")
        request: dict[str, Json] = {"method": self.method.upper(), "endpoint": f"{prefix}{self.path}"}
        request |= {name: part for name, part in self.parts.items() if part} | self.body
        request |= {} if self.files is None else {"files": self.files}
        request |= {name: part for name, part in (("auth", auth), ("cookies", cookies)) if part}
        return imports.DraftRecipe(
            id=self.id if _ID.fullmatch(self.id) else imports.slug(self.id or f"{self.method} {path}"),
            current={
                "input": request,
                "execution": {"type": "http"} | ({"base_url": base_url} if base_url else {}),
            },
            line=0,
            name=" ".join(str(operation.get("summary") or "").split()) or None,
            tags=tuple(tag for tag in _listed(operation.get("tags")) if isinstance(tag, str)),
            needs=tuple(self.needs),
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
                what = f"a server that is {describe_value(server.value)}"
                server.check(isinstance(server.value, dict), what, "write `url:` there, or pass --base-url")
                url = str(server.value.get("url") or "")
                variables = _mapping(server.value.get("variables"))
                for name in dict.fromkeys(re.findall(r"\{([^{}/]*)\}", url)):
                    value = self.choices.params.get(name, _mapping(variables.get(name)).get("default"))
                    if value is not None and not isinstance(value, dict | list):
                        url = url.replace(f"{{{name}}}", str(value))
                return url.rstrip("/"), server.at
        return "", ("servers",)

    def parameters(self) -> Collection[Node]:
        """The parameters. Those of the operation take precedence over those of its path."""
        by_name: dict[tuple[Json, Json], Node] = {}
        for parameter in (*self.item.listed("parameters"), *self.node.listed("parameters")):
            message = f"a parameter that is {describe_value(parameter.value)}"
            is_mapping = isinstance(parameter.value, dict)
            parameter.check(is_mapping, message, "write a mapping with `name` and `in` there")
            key = (parameter.value.get("name"), parameter.value.get("in"))
            are_texts = all(isinstance(part, str) for part in key)
            parameter.check(are_texts, "a parameter whose `name` or `in` is no text", "correct the document")
            by_name[key] = parameter
        return by_name.values()

    def take(self, parameter: Node) -> None:
        """Add a parameter to the request. One that is not required is left out, unless the operator gives
        it."""
        stated = parameter.value
        name, where = str(stated.get("name")), stated.get("in")
        given = self.given(name)
        if given is ABSENT and not stated.get("required") and where != "path":
            return
        hint = f"a parameter is in {', '.join(_PLACES)}: correct the document"
        parameter.check(where in _PLACES, f"the parameter {name} is in {where!r}", hint)
        if where == "body":
            schema = parameter.below("schema")
            value = schema.checked(schema.body(), schema.value, "the example of the body")
            self.body = {"json": escape_variables_in(value)}
            return
        if given is ABSENT and is_secret_key(name) and where in ("query", "header"):
            self.needs.append(variable_name(name))
            self.parts["params" if where == "query" else "headers"][name] = f"{{{{{variable_name(name)}}}}}"
            return
        if where == "formData" and stated.get("type") == "file":
            if given is ABSENT:
                raise _no_file(parameter, name)
            self.files = {**(self.files or {}), name: given}
            return
        value = given
        if given is ABSENT:
            value = parameter.example()
            if value is ABSENT:
                raise _no_value(parameter, where, name)
            schema = parameter if self.is_swagger else parameter.below("schema")
            parameter.checked(value, schema.value, f"the example of the parameter {name}")
        if where == "path":
            text = quote(_joined(value, ","), safe=",:@", errors="replace")
            self.path = self.path.replace(f"{{{name}}}", text)
        elif where == "query":
            self.parts["params"] |= self.in_query(name, stated, value)
        elif where == "cookie":
            self.parts["cookies"][name] = escape_variables_in(_joined(value, ","))
        elif where == "formData":
            self.parts["form"][name] = _field(value)
            media_types = _listed(self.node.value.get("consumes") or self.root.value.get("consumes"))
            if _MULTIPART in media_types and imports.FORM_TYPE not in media_types:
                self.files = self.files or {}
        elif name.lower() not in ("accept", "content-type", "authorization"):
            self.parts["headers"][name] = escape_variables_in(_joined(value, ","))

    def given(self, name: str) -> Any:
        """The value that the operator gives for a parameter or a field, of this operation or of all."""
        params = self.choices.params
        return params.get(f"{self.id}.{name}", params.get(name, ABSENT))

    def in_query(self, name: str, parameter: dict[str, Json], value: Json) -> dict[str, Json]:
        separators = {"csv": ",", "ssv": " ", "tsv": "\t", "pipes": "|", "spaceDelimited": " "}
        separators |= {"pipeDelimited": "|"}
        style = parameter.get("collectionFormat", "csv") if self.is_swagger else parameter.get("style")
        explodes = style == "multi" or parameter.get("explode", style in (None, "form"))
        if isinstance(value, dict) and parameter.get("style") == "deepObject":
            return {f"{name}[{key}]": escape_variables_in(inner) for key, inner in value.items()}
        if isinstance(value, dict) and explodes:
            return {key: escape_variables_in(inner) for key, inner in value.items()}
        if isinstance(value, list) and explodes and not (self.is_swagger and style != "multi"):
            return {name: [escape_variables_in(item) for item in value]}
        return {name: escape_variables_in(_joined(value, separators.get(str(style), ",")))}

    def take_body(self) -> None:
        if self.node.value.get("requestBody") is None:
            return
        body = self.node.below("requestBody")
        what = f"`requestBody` is {describe_value(body.value)}"
        body.check(isinstance(body.value, dict), what, _A_MAPPING)
        if self.method.upper() in imports.SAFE and not body.value.get("required"):
            return
        content = body.mapping("content")
        body.check(bool(content.value), "a request body without `content`", "write its media type there")
        forms = [name for name in _FORMS if name in content.value]
        media = [*(name for name in content.value if "json" in name), *forms, *content.value][0]
        described = content.mapping(media)
        if media in _FORMS:
            self.take_form(described, media)
            return
        value, schema = described.example(), described.below("schema")
        value = schema.body() if value is ABSENT else value
        described.checked(value, schema.value, "the example of the body")
        if "json" in media:
            self.body = {"json": escape_variables_in(value)}
        else:
            hint = "write a curl line for it: baselinekit capture curl --data-binary …"
            described.check(isinstance(value, str), f"a body of {media} is not made from a schema", hint)
            self.body = {"body": escape_variables_in(value)}
        if media != "application/json":
            self.parts["headers"]["Content-Type"] = media

    def take_form(self, described: Node, media: str) -> None:
        """Add the fields of a form that are required or have an example. The operator has to name its
        files."""
        schema = described.below("schema")
        properties, required = schema.members()
        files = {name for name, part in properties.items() if part.is_file()}
        given = {name: text for name in properties if (text := self.given(name)) is not ABSENT}
        value = described.example()
        value = schema.body(without=files | given.keys()) if value is ABSENT else value
        described.check(isinstance(value, dict), "a form that is no object", "write a curl line for it")
        for name in sorted(files & set(required) - given.keys()):
            raise _no_file(schema, name)
        fields = {name: part for name, part in value.items() if name not in files and part is not None}
        fields |= {name: text for name, text in given.items() if name not in files}
        self.parts["form"] = {name: _field(part) for name, part in fields.items()}
        if media == _MULTIPART:
            self.files = {name: given[name] for name in files & given.keys()}

    def take_security(self) -> dict[str, Json]:
        """Add the first security requirement whose variables are all known, else the first one; none if the
        document also allows a request without credentials. Return what goes into `auth`."""
        holder = self.node if "security" in self.node.value else self.root
        requirements = holder.listed("security")
        if not all(isinstance(requirement.value, dict) for requirement in requirements):
            message = "a security requirement that is no mapping"
            raise CannotAskError((*holder.at, "security"), message, "write it as in - name: []")
        choices = [self.credentials(requirement.value) for requirement in requirements]
        available = [choice for choice in choices if choice[1] and set(choice[1]) <= self.choices.known]
        is_free = any(not requirement.value for requirement in requirements)
        if not choices or (not available and is_free):
            return {}
        parts, needs = available[0] if available else choices[0]
        self.needs += needs
        auth: dict[str, Json] = {}
        for where, name, value in parts:
            if where == "auth":
                auth = value
            else:
                self.parts[{"header": "headers", "query": "params", "cookie": "cookies"}[where]][name] = value
        return auth

    def credentials(self, requirement: dict[str, Json]) -> tuple[list[tuple[str, str, Json]], list[str]]:
        """The credentials that a security requirement asks for, and the variables in them."""
        parts: list[tuple[str, str, Json]] = []
        needs: list[str] = []
        keys = ("securityDefinitions",) if self.is_swagger else ("components", "securitySchemes")
        for name in requirement:
            schemes = self.root
            for key in keys:
                schemes = schemes.below(key)
            scheme = schemes.below(name)
            if not isinstance(scheme.value, dict):
                message = f"the security scheme {name} is not described"
                raise CannotAskError(self.node.at, message, "correct the document")
            variable, where = variable_name(name), scheme.value.get("in")
            scheme_type = scheme.value.get("type")
            way = str(scheme.value.get("scheme", "basic")).lower()
            has_login = way in ("basic", "digest") and "scheme" in scheme.value
            if scheme_type == "basic" or (scheme_type == "http" and has_login):
                user, password = f"{variable}_USERNAME", f"{variable}_PASSWORD"
                names = {"username": f"{{{{{user}}}}}", "password": f"{{{{{password}}}}}"}
                parts.append(("auth", "", {"type": way, **names}))
                needs += [user, password]
            elif scheme_type == "apiKey" and where in ("header", "query", "cookie"):
                parts.append((where, str(scheme.value.get("name")), f"{{{{{variable}}}}}"))
                needs.append(variable)
            elif scheme_type in ("http", "oauth2", "openIdConnect"):
                parts.append(("auth", "", {"type": "bearer", "token": f"{{{{{variable}}}}}"}))
                needs.append(variable)
            elif scheme_type != "mutualTLS":
                message = f"the security scheme {name} does not say how it is sent"
                raise CannotAskError(scheme.at, message, "fix its `type` and `in`")
        return parts, needs


def _no_value(node: Node, where: Json, name: str) -> CannotAskError:
    message = f"the required {where} parameter {name} has no example"
    return CannotAskError(node.at, message, f"{_AN_EXAMPLE}, or pass --param {name}=…")


def _no_file(node: Node, name: str) -> CannotAskError:
    message = f"the required field {name} is a file, and no document holds one"
    return CannotAskError(node.at, message, f"pass --param {name}=FILE")


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
    "datetime": "<<any_iso_datetime>>",
    "date": "<<any_iso_date>>",
    "time": "<<any_time>>",
}
"""Formats of values that are new in each answer, or written by a clock."""

_STEADY: Mapping[str, str] = {
    "duration": "<<any_duration>>",
    "email": "<<any_email>>",
    "uri": "<<any_url>>",
    "url": "<<any_url>>",
    "hostname": "<<any_hostname>>",
    **dict.fromkeys(("ipv4", "ipv6", "ip"), "<<any_ip>>"),
}
"""Formats that say what a text looks like, not that it varies: an address is the same tomorrow."""


def _formats_of(operation: Node, outputs: Sequence[Json]) -> Mapping[Path, str]:
    """Placeholders for the texts in the first of the outputs that vary by nature, and for those that did."""
    output, *others = outputs
    found: dict[Path, str] = {}
    with suppress(CannotAskError):  # where the document is broken
        responses = operation.below("responses")
        if isinstance(responses.value, dict) and isinstance(output, dict):
            status = str(output.get("status"))
            keys = {str(key).upper(): key for key in responses.value}
            key = next((keys[one] for one in (status, f"{status[:1]}XX", "DEFAULT") if one in keys), "")
            response = responses.below(key)
            is_of_swagger = _mapping(response.value).get("schema")
            holder = response if is_of_swagger else response.below("content").first()
            _find(holder.below("schema"), output.get("body"), ("body",), found, set())

    def varied(path: Path) -> bool:
        values = [value_or_absent(other, path) for other in others]  # a missing text does not count
        return any(isinstance(value, str) and value != value_or_absent(output, path) for value in values)

    return {path: text for path, text in found.items() if text in _VARYING.values() or varied(path)}


def _find(schema: Node, value: Json, path: Path, found: dict[Path, str], seen: set[tuple[int, Path]]) -> None:
    """Find the formats that a schema states for the texts of a value. Parts of a schema may contain it."""
    stated = schema.value
    if not isinstance(stated, dict) or (id(stated), path) in seen or len(path) > _DEEPEST:
        return
    seen.add((id(stated), path))
    for key in ("allOf", "oneOf", "anyOf"):
        parts = schema.below(key)
        for number in range(len(parts.value)) if isinstance(parts.value, list) else ():
            _find(parts.below(number), value, path, found, seen)
    if isinstance(value, str) and len(path) > 1 and not {"enum", "const"} & stated.keys():
        text = {**_VARYING, **_STEADY}.get(str(stated.get("format")))
        if text is not None and accepts_all(text, [value]):
            found.setdefault(path, text)
    elif isinstance(value, dict):
        properties = schema.below("properties")
        for key, item in value.items():
            is_stated = key in _mapping(properties.value)
            inner = properties.below(key) if is_stated else schema.below("additionalProperties")
            _find(inner, item, (*path, key), found, seen)
    elif isinstance(value, list) and isinstance(stated.get("items"), dict):
        for number, item in enumerate(value):
            _find(schema.below("items"), item, (*path, number), found, seen)
