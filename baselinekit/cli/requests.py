"""A request as it is typed after `capture http`: with the options of curl, or as a whole curl line. Both are
read by the same rules, so that what curl would send is what is sent and stored."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from baselinekit.cli.capture import HttpOptions, is_curl
from baselinekit.cli.options import ProjectOptions, parse_lists, project_of
from baselinekit.cli.recipes import content, json_or_text, stated
from baselinekit.errors import InvalidInput, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.importers.credentials import Credential, assign, credentials_in, with_one_cookie
from baselinekit.importers.curl import CurlRequest, Read, parse_words
from baselinekit.importers.shell import refuse_expansions, split_commands
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.model.values import Json
from baselinekit.store.writing import declare_variables
from baselinekit.trust import origin
from baselinekit.variables import names_in
from baselinekit.workflow.learning import with_names
from baselinekit.workflow.naming import slug
from baselinekit.workflow.project import Project

_ONCE = (
    ("verb", "-X"),
    ("user", "-u"),
    ("bearer", "--oauth2-bearer"),
    ("user_agent", "-A"),
    ("referer", "-e"),
)
_OFTEN = (
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


@frozen
class TypedRequest:
    """`current`: of the new file; `dropped`: what of the line has no counterpart; `is_insecure`: whether any
    certificate will do, which no file may say."""

    current: dict[str, Any]
    dropped: tuple[str, ...]
    is_insecure: bool


def open_typed(options: HttpOptions) -> tuple[Project, TypedRequest]:
    """The project, and the request with a variable in the place of each credential. A secret that is named
    and has no value in the environment has the one that was typed."""
    names = [text for text in options.project.secrets if "=" not in text]
    unset = [name for name in names if not os.environ.get(name)]
    given = [text for text in options.project.secrets if text not in unset]
    project = project_of(replace(options.project, secrets=tuple(given)))
    read = cache(lambda name: content(f"@{name}"))
    request = typed_request(options, project, read)
    is_allowed = options.storing.allow_secrets
    found = [one for one in credentials_in(request.current) if one.is_declared or not is_allowed]
    values, left = assign(found, names, os.environ)
    if left:
        raise Refused(*(_refused(one, names, request.current, project) for one in left))
    given += [f"{name}={values[name]}" if name in values else name for name in unset]
    project = project_of(replace(options.project, secrets=tuple(given)))
    current = with_names(request.current, project.scope)
    return project, replace(request, current=current)


def _refused(one: Credential, names: Sequence[str], current: Mapping[str, Any], project: Project) -> Problem:
    code = "BK525" if one.is_declared else "BK522"
    if one.name in names:
        what = f"{one.message}, and not that of the environment variable {one.name}"
        return Problem(code, what, f"unset {one.name}, or type {{{{{one.name}}}}} in its place")
    host = host_asked(current, project)
    entry = f"{{from_env: {one.name}, secret: true{f', hosts: [{host}]' if host else ''}}}"
    hint = (
        f"add --secret {one.name}: {{{{{one.name}}}}} is stored instead, and baselinekit.yaml gets "
        f"`variables: {{{one.name}: {entry}}}`"
    )
    insist = "" if one.is_declared else "; or pass --allow-secrets"
    return Problem(code, one.message, hint + insist)


def host_asked(current: Mapping[str, Any], project: Project) -> str:
    """The host, and its port, that a secret in a request goes to."""
    recipe = http_recipe(current)
    base = kind_of(recipe).base_url(recipe, project.override_base_url, project.base_url)
    return urlsplit(str(project.scope.expand(base, ()) or "")).netloc


def declare_secrets(project: Project, options: ProjectOptions, current: Mapping[str, Any]) -> list[str]:
    """Secrets that the operator has named and the recipe uses, written into the configuration as variables,
    so that the environment alone is enough from now on. Their names."""
    named = [text for text in options.secrets if "=" not in text]
    used = set(names_in(dict(current)))
    names = [name for name in named if name in used and name not in project.config.variables]
    if not names or project.config_from is not None:
        return []
    asks_address = KINDS[current["execution"]["type"]].asks_address
    host = host_asked(current, project) if asks_address else ""
    entry: dict[str, Json] = {"secret": True, **({"hosts": [host]} if host else {})}
    variables: dict[str, Json] = {name: {"from_env": re.sub(r"\W", "_", name), **entry} for name in names}
    declare_variables(project.root, project.config_file, variables)
    return names


def typed_request(options: HttpOptions, project: Project, read: Read) -> TypedRequest:
    """`[METHOD] URL` and the options of a request, or `curl` and its line."""
    line = list(_as_curl(options, read))
    if is_curl(options.words[0]):
        typed = list(options.words[1:])
        line += _pasted(read) if typed == ["-"] else typed
    else:
        *method, url = options.words
        if len(method) > 1:
            what = f"{' '.join(options.words)!r} is not [METHOD] URL"
            raise InvalidInput(Problem("BK508", what, "put a URL with spaces in quotes"))
        line = [*(["-X", *method] if method and not options.verb else []), *line, _absolute(url, project)]
    asked = parse_words(line, read)
    execution = {"type": "http", **asked.execution}
    if is_insecure := execution.get("verify") is False:
        del execution["verify"]
    request = _request(asked, execution, options, project)
    execution |= stated(timeout=options.timeout, redirects=options.redirects)
    execution |= stated(parse=options.parse, take=options.take)
    if options.keep_headers:
        execution["keep_headers"] = ["content-type", *(name.lower() for name in options.keep_headers)]
    current = {"input": request, "execution": execution}
    return TypedRequest(current, asked.dropped, is_insecure)


def _request(
    asked: CurlRequest, execution: dict[str, Any], options: HttpOptions, project: Project
) -> dict[str, Json]:
    rest = dict(asked.request)
    request: dict[str, Json] = {"method": rest.pop("method")}
    request["endpoint"] = _endpoint(str(rest.pop("url")), execution, project)
    request |= stated(headers=rest.pop("headers", None))
    if options.params:
        request |= {"params": parse_lists("--param", options.params, "NAME=VALUE")}
    named: dict[str, Json] = with_names(request | rest, project.scope)
    return with_one_cookie(named)


def _pasted(read: Read) -> list[str]:
    """The line on standard input."""
    text = read("-")
    commands = [words for _, words in split_commands(text) if is_curl(words[0])]
    if len(commands) != 1:
        what = f"there are {len(commands) or 'no'} curl lines on standard input"
        raise InvalidInput(Problem("BK508", what, "paste one"))
    refuse_expansions(text, max(0, text.find(commands[0][0])))
    return commands[0][1:]


def _as_curl(options: HttpOptions, read: Read) -> Iterator[str]:
    """The options as curl has them. What is JSON is sent as JSON, where nobody says otherwise."""
    for name, flag in _ONCE:
        if (value := getattr(options, name)) is not None:
            yield from (flag, value)
    for name, flag in _OFTEN:
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
    """As far as it says where its request goes."""
    execution = HttpExecution("http", base_url=current["execution"].get("base_url"))
    return Recipe(HttpRequest(endpoint=current["input"].get("endpoint")), execution)


def with_files(current: dict[str, Any], group: str, project: Project) -> dict[str, Any]:
    """The recipe with the way from its file's folder to each file that was named."""
    request, execution = current["input"], current["execution"]
    if files := request.get("files"):
        for path in files.values():
            if not os.path.isfile(os.path.join(project.cwd, path)):
                hint = "name a file behind the @, or use --form-string"
                raise InvalidInput(Problem("BK508", f"there is no file {path!r}", hint))
        request = {**request, "files": {name: project.way_back(group, path) for name, path in files.items()}}
    named = {key: execution[key] for key in ("verify", "cert") if isinstance(execution.get(key), str)}
    ways = {key: project.way_back(group, path) for key, path in named.items()}
    return {"input": request, "execution": {**execution, **ways}}


def http_id(current: Mapping[str, Any]) -> str:
    request = current["input"]
    return slug(f"{request['method']} {urlsplit(request['endpoint']).path}")


def _absolute(url: str, project: Project) -> str:
    """What was typed with its host, as curl asks for it."""
    if url.startswith("/"):
        base = project.override_base_url or project.base_url
        if base is None:
            what = f"{url} has no base_url"
            hint = "pass --base-url http://…, or set base_url: in baselinekit.yaml"
            raise InvalidInput(Problem("BK508", what, hint))
        return base.rstrip("/") + url
    if "://" not in url and not re.search(r"[.:/]|^localhost$", url):
        what = f"{url!r} is not a URL"
        raise InvalidInput(Problem("BK508", what, "as in: capture http GET http://127.0.0.1:8000/users"))
    return url


def _endpoint(url: str, execution: dict[str, Any], project: Project) -> str:
    """The part of the URL below the base; a base that the project does not know goes into the file."""
    base = project.override_base_url or project.base_url
    if base is not None and (url == base or url.startswith(base.rstrip("/") + "/")):
        return url[len(base.rstrip("/")) :] or "/"
    parts = urlsplit(url)
    if project.base_url is None or origin(project.base_url) != origin(url):
        execution["base_url"] = f"{parts.scheme}://{parts.netloc}"
    query = f"?{parts.query}" if parts.query else ""
    return (parts.path or "/") + query
