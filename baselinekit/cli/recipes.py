"""What is typed after `capture`, as a recipe: the `current:` of the new file."""

import json
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from baselinekit.cli.capture_options import (
    CommandOptions,
    HttpOptions,
    PromptOptions,
    SkillOptions,
    execution_of,
)
from baselinekit.cli.options import parse_lists, parse_pairs
from baselinekit.documents.languages import YAML
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused
from baselinekit.kinds.http import HttpExecution
from baselinekit.model.recipes import Command, HttpRequest, Recipe
from baselinekit.model.values import Json, json_type
from baselinekit.secrets.finding import is_secret_header
from baselinekit.trust import origin
from baselinekit.variables import names_in
from baselinekit.workflow.learning import with_names
from baselinekit.workflow.project import Project


def http(options: HttpOptions, project: Project) -> dict[str, Any]:
    """`[METHOD] URL` and the options of a request."""
    words = options.words
    *method, url = words
    if len(method) > 1:
        raise InvalidInput(
            Problem("BK508", f"{' '.join(words)!r} is not [METHOD] URL", "put a URL with spaces in quotes")
        )
    request: dict[str, Any] = {}
    body = _body(options)
    chosen = options.method or (method[0] if method else ("POST" if body else "GET"))
    request["method"] = chosen.upper()
    execution: dict[str, Any] = {"type": "http"}
    request["endpoint"] = _endpoint(url, execution, project)
    if options.headers:
        request["headers"] = _headers(options.headers, project)
    if options.params:
        request["params"] = parse_lists("--param", options.params, "NAME=VALUE")
    request |= body
    execution |= _stated(timeout=options.timeout, redirects=options.redirects)
    if options.keep_headers:
        execution["keep_headers"] = ["content-type", *(name.lower() for name in options.keep_headers)]
    return {"input": request, "execution": execution}


def http_recipe(current: dict[str, Any]) -> Recipe:
    """As far as it says where its request goes."""
    execution = HttpExecution("http", base_url=current["execution"].get("base_url"))
    return Recipe(HttpRequest(endpoint=current["input"].get("endpoint")), execution)


def _endpoint(url: str, execution: dict[str, Any], project: Project) -> str:
    """The part of the URL below the base; a base that the project does not know goes into the file."""
    base = project.override_base_url or project.base_url
    if url.startswith("/"):
        if base is None:
            what = f"{url} has no base_url"
            hint = "pass --base-url http://…, or set base_url: in baselinekit.yaml"
            raise InvalidInput(Problem("BK508", what, hint))
        return url
    if "://" not in url:
        if not re.search(r"[.:/]|^localhost$", url):
            what = f"{url!r} is not a URL"
            raise InvalidInput(Problem("BK508", what, "as in: capture http GET http://127.0.0.1:8000/users"))
        url = f"http://{url}"
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise Refused(Problem("BK525", "the URL contains credentials", "pass --secret and a header instead"))
    if base is not None and (url == base or url.startswith(base.rstrip("/") + "/")):
        return url[len(base.rstrip("/")) :] or "/"
    if project.base_url is None or origin(project.base_url) != origin(url):
        execution["base_url"] = f"{parts.scheme}://{parts.netloc}"
    query = f"?{parts.query}" if parts.query else ""
    return (parts.path or "/") + query


def _headers(texts: tuple[str, ...], project: Project) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in (_header(text, project) for text in texts):
        if name in headers:
            what = f"the header {name} is given twice"
            raise InvalidInput(Problem("BK508", what, "join the values: -H 'Accept: a, b'"))
        headers[name] = value
    return headers


def _header(text: str, project: Project) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name:
        raise InvalidInput(
            Problem("BK508", f"-H {text!r} is not 'NAME: VALUE'", "as in -H 'Accept: text/html'")
        )
    value = with_names(value, project.scope)
    if is_secret_header(name) and not any(names_in(value)):
        variable = re.sub(r"\W+", "_", name.lower())
        hint = f"pass --secret {variable}=… and -H '{name}: {{{{{variable}}}}}' to keep them out of the file"
        raise Refused(Problem("BK525", f"the header {name} carries credentials", hint))
    return name, value


def _body(options: HttpOptions) -> dict[str, Any]:
    if options.form and options.data is not None:
        raise InvalidInput(Problem("BK508", "-d and --form both set the body", "keep one of them"))
    if options.form:
        return {"form": parse_lists("--form", options.form, "NAME=VALUE")}
    if options.data is None:
        return {}
    text = content(options.data)
    parsed = json_or_text(text)
    return {"body": text} if isinstance(parsed, str) else {"json": parsed}


def prompt(options: PromptOptions, group: str, project: Project) -> dict[str, Any]:
    """A template and what goes into it. Its path leads there from the new file's folder."""
    if not os.path.isfile(os.path.join(project.cwd, options.file)):
        hint = "name a template: a text with {{names}}, or a list of messages in YAML or JSON"
        raise InvalidInput(Problem("BK508", f"there is no file {options.file!r}", hint))
    asked: dict[str, Any] = {"prompt": project.way_back(group, options.file)}
    if options.inputs:
        pairs = parse_pairs("--input", options.inputs, "NAME=VALUE")
        asked["inputs"] = {name: _input(text, group, project) for name, text in pairs.items()}
    if options.inputs_from:
        asked["inputs_from"] = project.way_back(group, options.inputs_from)
    execution: dict[str, Any] = {"type": "prompt", "model": options.model}
    if options.system is not None:
        execution["system"] = content(options.system)
    execution |= _stated(max_tokens=options.max_answer, json=options.json_mode or None)
    execution |= _stated(temperature=options.temperature, parse=options.parse, timeout=options.timeout)
    if options.tools is not None:
        asked["tools"] = _tools(options.tools)
    graded = execution_of(options.grading, options.collect, group, project)
    return {"input": asked, "execution": execution | graded}


def skill(options: SkillOptions, group: str, project: Project) -> dict[str, Any]:
    """A skill by its name, and what it is given."""
    execution: dict[str, Any] = {"type": "skill", "skill_name": options.skill_name}
    if options.params:
        pairs = parse_pairs("--param", options.params, "NAME=VALUE")
        execution["parameters"] = {key: json_or_text(value) for key, value in pairs.items()}
    execution |= _stated(timeout=options.timeout)
    asked = json_or_text(content(options.input))
    graded = execution_of(options.grading, options.collect, group, project)
    return {"input": asked, "execution": execution | graded}


def _stated(**values: Json) -> dict[str, Json]:
    """Those that the command line says."""
    return {name: value for name, value in values.items() if value is not None}


def _tools(file: str) -> list[Json]:
    """The tools as a recipe has them; in a file they may stand as either wire form wants them."""
    try:
        listed = YAML.load(content(f"@{file}"), file)
    except BaselinekitError as error:
        raise InvalidInput(*(replace(problem, code="BK508") for problem in error.problems)) from None
    tools = listed[0] if len(listed) == 1 and isinstance(listed[0], list) else listed
    return [_tool(tool, file) for tool in tools]


def _tool(tool: Json, file: str) -> Json:
    if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
        tool = tool["function"]
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        hint = "a list of {name, description, parameters}"
        raise InvalidInput(Problem("BK508", f"{file} contains something that is not a tool", hint))
    told = {"name": tool["name"], "description": tool.get("description")}
    told["parameters"] = tool.get("parameters", tool.get("input_schema"))
    return {key: value for key, value in told.items() if value}


def _input(text: str, group: str, project: Project) -> Json:
    """A value, JSON where it is JSON; or the file that it comes from."""
    if text.startswith("@"):
        if not os.path.isfile(os.path.join(project.cwd, text[1:])):
            hint = "name a file after the @, or leave it out"
            raise InvalidInput(Problem("BK508", f"there is no file {text[1:]!r}", hint))
        return {"file": project.way_back(group, text[1:])}
    return json_or_text(text)


def command(options: CommandOptions, cwd: str) -> dict[str, Any]:
    """The program as it was typed, run where it was typed: `cwd` leads there from the new file's folder."""
    asked: dict[str, Any] = {"argv": list(options.argv), "cwd": cwd}
    if options.stdin is not None:
        asked["stdin"] = content(options.stdin)
    if options.env:
        asked["env"] = parse_pairs("--env", options.env, "NAME=VALUE")
    if options.files:
        asked["files"] = list(options.files)
    execution = {"type": "command"} | _stated(timeout=options.timeout, parse=options.parse)
    return {"input": asked, "execution": execution}


def how_to_allow(program: str, known: Command | None, env: Iterable[str]) -> str | None:
    """A program that the operator has typed runs now, with the variables that were typed; for later runs the
    configuration has to name it, and list them. None: it does."""
    missing = [name for name in env if known is None or name not in known.env]
    if known is not None and not missing:
        return None
    name, argv = (program, known.argv) if known else (slug(os.path.basename(program)), [program])
    listed = [*(known.env if known else ()), *missing]
    words = f"[{', '.join(argv)}]"
    entry = f"{{argv: {words}, env: [{', '.join(listed)}]}}" if listed else words
    verb, where = ("set", "in") if known else ("add", "to")
    line = f"`commands: {{{name}: {entry}}}`"
    return f"to compare it, {verb} {line} {where} baselinekit.yaml, or pass --allow-exec"


def content(text: str) -> str:
    """The text, or with @ what a file (`@-`: standard input) holds."""
    if not text.startswith("@"):
        return text
    try:
        if text == "@-":
            return sys.stdin.read()
        with open(text[1:], encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        raise InvalidInput(Problem("BK508", f"{text[1:]} is not UTF-8 text", "name a text")) from None
    except OSError as error:
        what = f"{text[1:]} cannot be read: {(error.strerror or str(error)).lower()}"
        raise InvalidInput(Problem("BK508", what, "check the name after the @")) from None


def json_or_text(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text


def http_id(current: dict[str, Any]) -> str:
    request = current["input"]
    return slug(f"{request['method']} {urlsplit(request['endpoint']).path}")


def slug(text: str) -> str:
    """A name for a file: lower case, words joined by `-`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "baseline"


def describe_output(output: Json) -> str:
    """A captured output in a few words."""
    if isinstance(output, dict) and "status" in output:
        return f"{output['status']}, {_describe_body(output.get('body'))}"
    if isinstance(output, dict) and "exit_code" in output:
        return f"exit code {output['exit_code']}"
    return _describe_body(output)


def _describe_body(body: Json) -> str:
    if isinstance(body, dict) and body.keys() == {"sha256", "size"}:  # of bytes that are no text
        return f"{body['size']:,} bytes"
    if isinstance(body, dict) and not body:
        return "an empty object"
    if isinstance(body, dict):
        return f"an object with {', '.join(list(body)[:5])}{', …' if len(body) > 5 else ''}"
    if isinstance(body, list):
        return f"an array of {len(body)}" if body else "an empty array"
    if isinstance(body, str):
        return f"a text of {len(body):,} characters" if body else "nothing in the body"
    return json_type(body)
