"""An OpenAPI 3 or Swagger 2 document: a request for each operation that only reads, with parameters from the
document's examples, placeholders from the formats of the schemas, and credentials as variables."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.importers.answers import CannotAskError, formats_of
from baselinekit.importers.credentials import variable_name
from baselinekit.importers.drafts import (
    FORM_TYPE,
    SAFE,
    DraftRecipe,
    ImportChoices,
    ImportedFile,
    LeftOut,
    SourceText,
    flaw_of_url,
    slug,
)
from baselinekit.importers.openapidocument import METHODS, OpenApiDocument, list_below, listed, mapping_below
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import describe_value
from baselinekit.secrets.finding import is_secret_key
from baselinekit.secrets.variables import as_text, escape_variables_in
from baselinekit.structs import replace
from baselinekit.values.texts import count_noun

FORM = "an OpenAPI document"

_KEY = lazy_pattern(r"""^["']?(openapi|swagger)["']?\s*:\s*["']?[23]\.""", re.MULTILINE)
_ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_MULTIPART = "multipart/form-data"
_FORMS = (FORM_TYPE, _MULTIPART)
_PLACES = ("path", "query", "header", "cookie", "body", "formData")


def recognises(source: SourceText) -> bool:
    if source.is_json:
        return isinstance(source.value, dict) and bool({"openapi", "swagger"} & source.value.keys())
    return bool(_KEY.search(source.text)) and isinstance(source.value, dict)


def read(source: SourceText, choices: ImportChoices) -> ImportedFile:
    document = OpenApiDocument(source, choices)
    paths = document.root.get("paths", {})
    if not isinstance(paths, dict):
        raise InvalidInput(Problem("BK550", "`paths` is not a mapping", "", Place(source.name)))
    drafts: list[tuple[DraftRecipe, Path]] = []
    errors: list[tuple[CannotAskError, str]] = []
    unsafe = 0
    for path in [path for path, node in paths.items() if node is not None and not path.startswith("x-")]:
        try:
            item = document.path_item(path)
        except CannotAskError as error:
            errors.append((error, path))
            continue
        errors += [(error, path) for error in document.flaws(*item)]
        for method in METHODS:
            if not isinstance(item[0].get(method), dict):
                continue
            if method.upper() not in SAFE and not choices.unsafe:
                unsafe += 1
                continue
            try:
                draft = _Operation(document, path, method, item, choices).draft()
            except CannotAskError as error:
                errors.append((error, f"{method.upper()} {path}"))
            else:
                drafts.append((draft, ("paths", path, method)))
    reasons = _without_repeats(errors)
    places = document.files.places([*(at for _, at in drafts), *(error.at for error, _, _ in reasons)])
    placed = [replace(draft, line=line) for (draft, _), (_, line) in zip(drafts, places, strict=False)]
    left_out = [
        LeftOut(line, f"{operation}: {error.message}", error.hint, file, count)
        for (error, operation, count), (file, line) in zip(reasons, places[len(drafts) :], strict=True)
    ]
    return ImportedFile(tuple(placed), tuple(left_out), unsafe)


def _without_repeats(
    errors: list[tuple[CannotAskError, str]],
) -> list[tuple[CannotAskError, str, int]]:
    """The errors, with those of several operations that have the same reason and place as one; and of how
    many operations each is."""
    counts = Counter((error.at, error.message) for error, _ in errors)
    first = {(error.at, error.message): (error, operation) for error, operation in reversed(errors)}
    return [
        (error, operation if counts[key] == 1 else count_noun(counts[key], "operation"), counts[key])
        for key, (error, operation) in reversed(first.items())
    ]


class _Operation:
    """One operation as a request."""

    def __init__(
        self,
        document: OpenApiDocument,
        path: str,
        method: str,
        item: tuple[dict[str, Json], Path],
        choices: ImportChoices,
    ):
        self.document, self.path, self.method = document, path, method
        self.item, self.choices = item, choices
        self.operation: dict[str, Json] = item[0][method]
        self.at: Path = (*item[1], method)
        self.id = str(self.operation.get("operationId") or "")
        self.query: dict[str, Json] = {}
        self.headers: dict[str, Json] = {}
        self.cookies: dict[str, Json] = {}
        self.form: dict[str, Json] = {}
        self.files: dict[str, Json] | None = None
        self.body: dict[str, Json] = {}
        self.auth: dict[str, Json] = {}
        self.needs: list[str] = []

    def draft(self) -> DraftRecipe:
        base_url, prefix = self.base()
        path = self.path
        for parameter, at in self.parameters():
            self.take(parameter, at)
        if missing := re.search(r"\{([^{}]*)\}", self.path):
            raise CannotAskError(self.at, *_no_value("path", missing[1]))
        self.take_body()
        self.take_security()
        request: dict[str, Json] = {"method": self.method.upper(), "endpoint": f"{prefix}{self.path}"}
        parts = {"headers": self.headers, "params": self.query, "form": self.form}
        request |= {name: part for name, part in parts.items() if part} | self.body
        request |= {} if self.files is None else {"files": self.files}
        request |= {"auth": self.auth} if self.auth else {}
        request |= {"cookies": self.cookies} if self.cookies else {}
        execution = {"type": "http"} | ({"base_url": base_url} if base_url else {})
        return DraftRecipe(
            id=self.id if _ID.fullmatch(self.id) else slug(self.id or f"{self.method} {path}"),
            current={"input": request, "execution": execution},
            line=0,
            name=" ".join(str(self.operation.get("summary") or "").split()) or None,
            tags=tuple(tag for tag in listed(self.operation.get("tags")) if isinstance(tag, str)),
            needs=tuple(self.needs),
            formats=self.formats,
            is_vouched=False,
        )

    def base(self) -> tuple[str | None, str]:
        """The base_url to state, and the prefix of each path. A base_url of the project without a path
        replaces the server's origin; one with a path, even `/`, replaces the whole server."""
        server, at = self.document.server((self.operation, self.at), self.item, self.choices.params)
        if flaw := flaw_of_url(server):
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

    def parameters(self) -> list[tuple[dict[str, Json], Path]]:
        """The parameters. Those of the operation take precedence over those of its path."""
        by_name: dict[tuple[Json, Json], tuple[dict[str, Json], Path]] = {}
        for holder, at in (self.item, (self.operation, self.at)):
            for number, node in enumerate(list_below(holder, "parameters", at)):
                parameter, parameter_at = self.document.resolve(node, (*at, "parameters", number))
                if not isinstance(parameter, dict):
                    message = f"a parameter that is {describe_value(parameter)}"
                    raise CannotAskError(parameter_at, message, "write a mapping with `name` and `in` there")
                key = (parameter.get("name"), parameter.get("in"))
                if not all(isinstance(part, str) for part in key):
                    message = "a parameter whose `name` or `in` is no text"
                    raise CannotAskError(parameter_at, message, "correct the document")
                by_name[key] = (parameter, parameter_at)
        return list(by_name.values())

    def take(self, parameter: dict[str, Json], at: Path) -> None:
        """Add a parameter to the request. One that is not required is left out, unless the operator gives
        it."""
        name, where = str(parameter.get("name")), parameter.get("in")
        given = self.given(name)
        if given is ABSENT and not parameter.get("required") and where != "path":
            return
        if where not in _PLACES:
            hint = f"a parameter is in {', '.join(_PLACES)}: correct the document"
            raise CannotAskError(at, f"the parameter {name} is in {where!r}", hint)
        if where == "body":
            schema = parameter.get("schema")
            value = self.document.body_value(schema, (*at, "schema"))
            self.document.check_kind(value, schema, (*at, "schema"), "the example of the body")
            self.body = {"json": escape_variables_in(value)}
            return
        if given is ABSENT and is_secret_key(name) and where in ("query", "header"):
            self.needs.append(variable_name(name))
            parts = self.query if where == "query" else self.headers
            parts[name] = f"{{{{{variable_name(name)}}}}}"
            return
        if where == "formData" and parameter.get("type") == "file":
            if given is ABSENT:
                raise CannotAskError(at, *_no_file(name))
            self.files = {**(self.files or {}), name: given}
            return
        value = self.document.example(parameter, at) if given is ABSENT else given
        if value is ABSENT:
            raise CannotAskError(at, *_no_value(where, name))
        if given is ABSENT:
            schema = parameter if self.document.is_swagger else parameter.get("schema")
            self.document.check_kind(value, schema, at, f"the example of the parameter {name}")
        if where == "path":
            self.path = self.path.replace(
                f"{{{name}}}", quote(_joined(value, ","), safe=",:@", errors="replace")
            )
        elif where == "query":
            self.query |= self.in_query(name, parameter, value)
        elif where == "header" and name.lower() not in ("accept", "content-type", "authorization"):
            self.headers[name] = escape_variables_in(_joined(value, ","))
        elif where == "cookie":
            self.cookies[name] = escape_variables_in(_joined(value, ","))
        elif where == "formData":
            self.form[name] = _field(value)
            media_types = listed(self.operation.get("consumes") or self.document.root.get("consumes"))
            if _MULTIPART in media_types and FORM_TYPE not in media_types:
                self.files = self.files or {}

    def given(self, name: str) -> Any:
        """The value that the operator gives for a parameter or a field, of this operation or of all."""
        params = self.choices.params
        return params.get(f"{self.id}.{name}", params.get(name, ABSENT))

    def in_query(self, name: str, parameter: dict[str, Json], value: Json) -> dict[str, Json]:
        separators = {"csv": ",", "ssv": " ", "tsv": "\t", "pipes": "|", "spaceDelimited": " "}
        separators |= {"pipeDelimited": "|"}
        style = (
            parameter.get("collectionFormat", "csv") if self.document.is_swagger else parameter.get("style")
        )
        explodes = style == "multi" or parameter.get("explode", style in (None, "form"))
        if isinstance(value, dict) and parameter.get("style") == "deepObject":
            return {f"{name}[{key}]": escape_variables_in(inner) for key, inner in value.items()}
        if isinstance(value, dict) and explodes:
            return {key: escape_variables_in(inner) for key, inner in value.items()}
        if isinstance(value, list) and explodes and not (self.document.is_swagger and style != "multi"):
            return {name: [escape_variables_in(item) for item in value]}
        return {name: escape_variables_in(_joined(value, separators.get(str(style), ",")))}

    def take_body(self) -> None:
        node = self.operation.get("requestBody")
        if node is None:
            return
        body, at = self.document.resolve(node, (*self.at, "requestBody"))
        if not isinstance(body, dict):
            message = f"`requestBody` is {describe_value(body)}"
            raise CannotAskError(at, message, "write a mapping there")
        if self.method.upper() in SAFE and not body.get("required"):
            return
        content = mapping_below(body, "content", at)
        if not content:
            raise CannotAskError(at, "a request body without `content`", "write its media type there")
        preferred = [name for name in content if "json" in name] + [
            name for name in _FORMS if name in content
        ]
        media = next(iter((*preferred, *content)))
        media_at = (*at, "content", media)
        described = mapping_below(content, media, (*at, "content"))
        if media in _FORMS:
            self.take_form(described, media_at, media)
            return
        value = self.document.example(described, media_at)
        if value is ABSENT:
            value = self.document.body_value(described.get("schema"), (*media_at, "schema"))
        self.document.check_kind(value, described.get("schema"), media_at, "the example of the body")
        if "json" in media:
            self.body = {"json": escape_variables_in(value)}
            if media != "application/json":
                self.headers["Content-Type"] = media
        elif isinstance(value, str):
            self.headers["Content-Type"] = media
            self.body = {"body": escape_variables_in(value)}
        else:
            hint = "write a curl line for it: baselinekit capture curl --data-binary …"
            raise CannotAskError(media_at, f"a body of {media} is not made from a schema", hint)

    def take_form(self, content: dict[str, Json], at: Path, media: str) -> None:
        """Add the fields of a form that are required or have an example. The operator has to name its
        files."""
        schema_at = (*at, "schema")
        properties, required = self.document.members(content.get("schema"), schema_at)
        files = {name for name, part in properties.items() if self.document.is_file(*part)}
        given = {name: text for name in properties if (text := self.given(name)) is not ABSENT}
        value = self.document.example(content, at)
        if value is ABSENT:
            value = self.document.body_value(content.get("schema"), schema_at, without=files | given.keys())
        if not isinstance(value, dict):
            raise CannotAskError(at, "a form that is no object", "write a curl line for it")
        for name in sorted(files & set(required) - given.keys()):
            raise CannotAskError(schema_at, *_no_file(name))
        fields = {name: part for name, part in value.items() if name not in files and part is not None}
        fields |= {name: text for name, text in given.items() if name not in files}
        self.form = {name: _field(part) for name, part in fields.items()}
        if media == _MULTIPART:
            self.files = {name: given[name] for name in files & given.keys()}

    def take_security(self) -> None:
        """Add the first security requirement whose variables are all known, else the first one; none if the
        document also allows a request without credentials."""
        is_own = "security" in self.operation
        holder, at = (self.operation, self.at) if is_own else (self.document.root, ())
        security = list_below(holder, "security", at)
        requirements = [requirement for requirement in security if isinstance(requirement, dict)]
        if len(requirements) < len(security):
            message = "a security requirement that is no mapping"
            raise CannotAskError((*at, "security"), message, "write it as in - name: []")
        choices = [self.credentials(requirement) for requirement in requirements]
        available = [choice for choice in choices if choice[1] and set(choice[1]) <= self.choices.known]
        if not choices or (not available and {} in requirements):
            return
        parts, needs = available[0] if available else choices[0]
        self.needs += needs
        for where, name, value in parts:
            if where == "auth":
                self.auth = value
            else:
                {"header": self.headers, "query": self.query, "cookie": self.cookies}[where][name] = value

    def credentials(self, requirement: dict[str, Json]) -> tuple[list[tuple[str, str, Json]], list[str]]:
        """The credentials that a security requirement asks for, and the variables in them."""
        parts: list[tuple[str, str, Json]] = []
        needs: list[str] = []
        for scheme in requirement:
            at: Path = ("components", "securitySchemes", scheme)
            at = ("securityDefinitions", scheme) if self.document.is_swagger else at
            description, described_at = self.document.resolve(self.document.schemes().get(scheme), at)
            if not isinstance(description, dict):
                raise CannotAskError(
                    self.at, f"the security scheme {scheme} is not described", "correct the document"
                )
            variable, scheme_type = variable_name(scheme), description.get("type")
            if scheme_type == "basic" or (
                scheme_type == "http" and str(description.get("scheme")).lower() in ("basic", "digest")
            ):
                names = [f"{variable}_USERNAME", f"{variable}_PASSWORD"]
                auth = {
                    "type": str(description.get("scheme", "basic")).lower(),
                    "username": f"{{{{{names[0]}}}}}",
                    "password": f"{{{{{names[1]}}}}}",
                }
                parts.append(("auth", "", auth))
                needs += names
            elif scheme_type == "apiKey" and description.get("in") in ("header", "query", "cookie"):
                parts.append((str(description["in"]), str(description.get("name")), f"{{{{{variable}}}}}"))
                needs.append(variable)
            elif scheme_type not in ("http", "oauth2", "openIdConnect", "mutualTLS"):
                message = f"the security scheme {scheme} does not say how it is sent"
                raise CannotAskError(described_at, message, "fix its `type` and `in`")
            elif scheme_type != "mutualTLS":
                parts.append(("auth", "", {"type": "bearer", "token": f"{{{{{variable}}}}}"}))
                needs.append(variable)
        return parts, needs

    def formats(self, outputs: Sequence[Json]) -> Mapping[Path, str]:
        responses = self.operation.get("responses")
        return formats_of(outputs, responses, (*self.at, "responses"), self.document.resolve)


def _no_value(where: Json, name: str) -> tuple[str, str]:
    hint = f"write `example:` there, or pass --param {name}=…"
    return f"the required {where} parameter {name} has no example", hint


def _no_file(name: str) -> tuple[str, str]:
    return f"the required field {name} is a file, and no document holds one", f"pass --param {name}=FILE"


def _field(value: Json) -> Json:
    """A field of a form: what is neither a text nor a list of texts is sent as JSON."""
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return [_field(item) for item in value]
    return escape_variables_in(as_text(value) if isinstance(value, dict | list) else value)


def _joined(value: Json, separator: str) -> str:
    return separator.join(map(as_text, value)) if isinstance(value, list) else as_text(value)
