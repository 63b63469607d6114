"""The request of `capture http`: given by curl's options or as a whole curl line. Both are parsed by the same
rules, so that the request that curl would send is sent and stored."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from baselinekit.cli.capture import HttpOptions, is_curl
from baselinekit.cli.options import ReadingOptions, parse_lists, project_of
from baselinekit.cli.recipes import content, drop_unset, json_or_text
from baselinekit.clients.trust import origin
from baselinekit.commands.naming import slug
from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, Problem, Refused
from baselinekit.importers.credentials import Credential, assign_variables, credentials_in, with_one_cookie
from baselinekit.importers.curl import CurlRequest, Read, parse_words
from baselinekit.importers.drafts import path_of
from baselinekit.importers.shell import refuse_expansions, split_commands
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.learning.templating import with_names
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.model.values import Edit, Json
from baselinekit.secrets.variables import names_in
from baselinekit.store.writing import edit_config
from baselinekit.structs import Struct, replace

_SINGLE_OPTIONS = (
    ("verb", "-X"),
    ("user", "-u"),
    ("bearer", "--oauth2-bearer"),
    ("user_agent", "-A"),
    ("referer", "-e"),
)
_REPEATABLE_OPTIONS = (
    ("headers", "-H"),
    ("data", "-d"),
    ("data_raw", "--data-raw"),
    ("data_binary", "--data-binary"),
    ("data_urlencode", "--data-urlencode"),
    ("json_body", "--json"),
    ("form", "-F"),
    ("form_string", "--form-string"),
    ("cookies", "-b"),
)
_FLAGS = (("get", "-G"), ("head", "-I"), ("digest", "--digest"), ("insecure", "-k"), ("follow", "-L"))
_JSON = "application/json"


class TypedRequest(Struct):
    """`current`: that of the new file; `dropped`: the parts of the line without a counterpart; `is_insecure`:
    whether certificates are not verified, which no file may ask for."""

    current: dict[str, Any]
    dropped: tuple[str, ...]
    is_insecure: bool


def open_request(options: HttpOptions) -> tuple[Project, TypedRequest]:
    """Open the project, and parse the request, with a variable in place of each credential. A named secret
    that is not set in the environment gets the value that was typed in the request."""
    names = [text for text in options.project.secrets if "=" not in text]
    unset = [name for name in names if not os.environ.get(name)]
    secrets = [text for text in options.project.secrets if text not in unset]
    project = project_of(replace(options.project, secrets=tuple(secrets)))
    read = cache(lambda name: content(f"@{name}"))
    request = typed_request(options, project, read)
    is_allowed = options.storing.allow_secrets
    credentials = [
        credential
        for credential in credentials_in(request.current)
        if credential.is_declared or not is_allowed
    ]
    values, unassigned = assign_variables(credentials, names, os.environ)
    if unassigned:
        raise Refused(*(_refusal(credential, names, request.current, project) for credential in unassigned))
    secrets += [f"{name}={values[name]}" if name in values else name for name in unset]
    project = project_of(replace(options.project, secrets=tuple(secrets)))
    current = with_names(request.current, project.scope)
    return project, replace(request, current=current)


def _refusal(
    credential: Credential, names: Sequence[str], current: Mapping[str, Any], project: Project
) -> Problem:
    code = "BK525" if credential.is_declared else "BK522"
    if credential.name in names:
        message = f"{credential.message}, and not that of the environment variable {credential.name}"
        return Problem(
            code, message, f"unset {credential.name}, or type {{{{{credential.name}}}}} in its place"
        )
    host = request_host(current, project)
    entry = f"{{from_env: {credential.name}, secret: true{f', hosts: [{host}]' if host else ''}}}"
    hint = (
        f"add --secret {credential.name}: {{{{{credential.name}}}}} is stored instead, "
        f"and baselinekit.yaml gets `variables: {{{credential.name}: {entry}}}`"
    )
    override_hint = "" if credential.is_declared else "; or pass --allow-secrets"
    return Problem(code, credential.message, hint + override_hint)


def request_host(current: Mapping[str, Any], project: Project) -> str:
    """The host and port that the secrets in a request are sent to."""
    recipe = http_recipe(current)
    base = kind_of(recipe).base_url(recipe, project.override_base_url, project.base_url)
    return urlsplit(str(project.scope.expand(base, ()) or "")).netloc


def declare_secrets(project: Project, options: ReadingOptions, current: Mapping[str, Any]) -> list[str]:
    """Write the secrets that the operator gave and the recipe uses into the configuration as variables, so
    that from now on only the environment has to provide them. Return their names."""
    secret_names = dict.fromkeys(name for name, *_ in (text.split("=", 1) for text in options.secrets))
    used = set(names_in(dict(current)))
    names = [name for name in secret_names if name in used and name not in project.config.variables]
    if not names or project.operator.config_from is not None:
        return []
    asks_address = KINDS[current["execution"]["type"]].asks_address
    host = request_host(current, project) if asks_address else ""
    entry: dict[str, Json] = {"secret": True, **({"hosts": [host]} if host else {})}
    edits = [Edit(("variables", name), {"from_env": re.sub(r"\W", "_", name), **entry}) for name in names]
    edit_config(project.root, project.config_file, edits)
    return names


def typed_request(options: HttpOptions, project: Project, read: Read) -> TypedRequest:
    """Parse `[METHOD] URL` with the options of a request, or `curl` with its line."""
    line = list(_curl_words(options, read))
    if is_curl(options.words[0]):
        words = list(options.words[1:])
        line += _pasted_words(read) if words == ["-"] else words
    else:
        *method, url = options.words
        if len(method) > 1:
            message = f"{' '.join(options.words)!r} is not [METHOD] URL"
            raise InvalidInput(Problem("BK508", message, "put a URL with spaces in quotes"))
        line = [*(["-X", *method] if method and not options.verb else []), *line, _absolute_url(url, project)]
    parsed = parse_words(line, read)
    execution = {"type": "http", **parsed.execution}
    if is_insecure := execution.get("verify") is False:
        del execution["verify"]
    request = _request(parsed, execution, options, project)
    execution |= drop_unset(timeout=options.timeout, redirects=options.redirects)
    execution |= drop_unset(parse=options.parse, take=options.take)
    if options.keep_headers:
        execution["keep_headers"] = ["content-type", *(name.lower() for name in options.keep_headers)]
    current = {"input": request, "execution": execution}
    return TypedRequest(current, parsed.dropped, is_insecure)


def _request(
    parsed: CurlRequest, execution: dict[str, Any], options: HttpOptions, project: Project
) -> dict[str, Json]:
    fields = dict(parsed.request)
    request: dict[str, Json] = {"method": fields.pop("method")}
    request["endpoint"] = _endpoint(str(fields.pop("url")), execution, project)
    request |= drop_unset(headers=fields.pop("headers", None))
    if options.params:
        request |= {"params": parse_lists("--param", options.params, "NAME=VALUE")}
    request_with_names: dict[str, Json] = with_names(request | fields, project.scope)
    return with_one_cookie(request_with_names)


def _pasted_words(read: Read) -> list[str]:
    """The words of the curl line on standard input."""
    text = read("-")
    commands = [words for _, words in split_commands(text) if is_curl(words[0])]
    if len(commands) != 1:
        message = f"there are {len(commands) or 'no'} curl lines on standard input"
        raise InvalidInput(Problem("BK508", message, "paste one"))
    refuse_expansions(text, max(0, text.find(commands[0][0])))
    return commands[0][1:]


def _curl_words(options: HttpOptions, read: Read) -> Iterator[str]:
    """The options as words of a curl line. JSON data is sent as JSON unless a header says otherwise."""
    for name, flag in _SINGLE_OPTIONS:
        if (value := getattr(options, name)) is not None:
            yield from (flag, value)
    for name, flag in _REPEATABLE_OPTIONS:
        for value in getattr(options, name):
            yield from (flag, value)
    yield from (flag for name, flag in _FLAGS if getattr(options, name))
    data = [*options.data, *options.data_binary, *options.data_raw]
    if len(data) == 1 and not options.data_urlencode and not options.get:
        is_file = data[0].startswith("@") and not options.data_raw
        text = read(data[0][1:]) if is_file else data[0]
        has_type = any(header.lower().startswith("content-type:") for header in options.headers)
        if not has_type and not isinstance(json_or_text(text), str):
            yield from ("-H", f"Content-Type: {_JSON}")


def http_recipe(current: Mapping[str, Any]) -> Recipe:
    """A recipe with only the parts that decide where the request goes."""
    execution = HttpExecution("http", base_url=current["execution"].get("base_url"))
    return Recipe(HttpRequest(endpoint=current["input"].get("endpoint")), execution)


def with_files(current: dict[str, Any], group: str, project: Project) -> dict[str, Any]:
    """The recipe with the paths of its files relative to its own file's folder."""
    request, execution = current["input"], current["execution"]
    if files := request.get("files"):
        for path in files.values():
            if not os.path.isfile(os.path.join(project.cwd, path)):
                hint = "name a file behind the @, or use --form-string"
                raise InvalidInput(Problem("BK508", f"there is no file {path!r}", hint))
        request = {**request, "files": {name: project.way_back(group, path) for name, path in files.items()}}
    tls_files = {key: execution[key] for key in ("verify", "cert") if isinstance(execution.get(key), str)}
    relative_paths = {key: project.way_back(group, path) for key, path in tls_files.items()}
    return {"input": request, "execution": {**execution, **relative_paths}}


def http_id(current: Mapping[str, Any]) -> str:
    request = current["input"]
    return slug(f"{request['method']} {path_of(request['endpoint'])}")


def _absolute_url(url: str, project: Project) -> str:
    """The typed URL with its host, which curl requires."""
    if url.startswith("/"):
        base = project.override_base_url or project.base_url
        if base is None:
            message = f"{url} has no base_url"
            hint = "pass --base-url http://…, or set base_url: in baselinekit.yaml"
            raise InvalidInput(Problem("BK508", message, hint))
        return base.rstrip("/") + url
    if "://" not in url and not re.search(r"[.:/]|^localhost$", url):
        message = f"{url!r} is not a URL"
        raise InvalidInput(Problem("BK508", message, "as in: capture http GET http://127.0.0.1:8000/users"))
    return url


def _endpoint(url: str, execution: dict[str, Any], project: Project) -> str:
    """The part of the URL below the base; a base other than the project's is added to `execution`."""
    base = project.override_base_url or project.base_url
    if base is not None and (url == base or url.startswith(base.rstrip("/") + "/")):
        return url[len(base.rstrip("/")) :] or "/"
    parts = urlsplit(url)
    if project.base_url is None or origin(project.base_url) != origin(url):
        execution["base_url"] = f"{parts.scheme}://{parts.netloc}"
    query = f"?{parts.query}" if parts.query else ""
    return (parts.path or "/") + query
