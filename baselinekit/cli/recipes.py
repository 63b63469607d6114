"""The options of `baselinekit capture`, and what they make: a recipe (the `current:` of the new file) and
rules of comparison.

The request of `capture http` is given by curl's options or as a whole curl line. Both are parsed by the same
rules, so that the request that curl would send is sent and stored."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import click

from baselinekit.cli import options as cli
from baselinekit.cli.screen import Output
from baselinekit.commands.capture import group_of, slug
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.files.languages import YAML
from baselinekit.importers.credentials import Credential, assign_variables, credentials_in, with_one_cookie
from baselinekit.importers.curl import Read, is_curl, parse_words
from baselinekit.importers.drafts import addressed, path_of
from baselinekit.importers.shell import split_commands
from baselinekit.kinds.bodies import FORMS
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.learning.templating import with_names
from baselinekit.model.recipes import Recipe, Tool
from baselinekit.model.values import Json, json_type
from baselinekit.schema import read_as
from baselinekit.store.reading import parse_record
from baselinekit.structs import Struct, replace
from baselinekit.values.texts import list_first


@dataclass
class NewBaselineOptions:
    """The name of a new baseline, and how it is compared."""

    id: str | None = cli.option("ID", help="Its id; the default is made from the recipe.")
    group: str | None = cli.option("FOLDER", help="The folder below baselines/ to write it to.")
    name: str | None = cli.option(help="A title for people.")
    tags: tuple[str, ...] = cli.several("--tag", help="A tag, to select it by.")
    rules: cli.PathRuleOptions = cli.including(cli.PathRuleOptions)

    def record(self, default_id: str, current: dict[str, Any], rules: dict[str, Json]) -> dict[str, Any]:
        """The new record as given on the command line."""
        return new_record(self.id or default_id, current, rules, self.name, self.tags)


def new_record(
    id: str, current: dict[str, Any], rules: dict[str, Json], name: str | None, tags: Iterable[str]
) -> dict[str, Any]:
    """The record of a new baseline: everything but the output."""
    metadata = {"tags": [*tags]} if tags else {}
    named = {"name": name} if name else {}
    return {"id": id, **named, "current": current, "comparison": rules, "metadata": metadata}


@dataclass
class StoringOptions:
    """How often the request is sent, what may be stored, and what is printed."""

    placeholders: tuple[str, ...] = cli.several(
        "--placeholder", "PATH=TEXT", help="Store a placeholder, such as <<any_uuid>>, at a path."
    )
    repeat: int | None = cli.count(
        "N", most=1000, help="Replay N times, to learn what varies [default: 2 for GET, HEAD, OPTIONS; or 1]."
    )
    like: tuple[str, ...] = cli.several(
        "--placeholder-like",
        type=click.Choice(["ids", "secrets"]),
        help="Placeholders for what looks like an id but stayed the same, or like a secret (else refused).",
    )
    exact: bool = cli.flag(
        excludes=("repeat",), help="Store everything as it came: no placeholder is learnt."
    )
    version: str | None = cli.option("TEXT", help="The version of the target.")
    allow_error_status: bool = cli.flag(help="Store a 5xx answer as known-good.")
    allow_empty: bool = cli.flag(help="Store an empty answer of a model.")
    allow_failing: bool = cli.flag(help="Store an answer that fails its checks, or scores too low.")
    allow_secrets: bool = cli.flag(help="Store what looks like a secret.")
    as_json: bool = cli.flag("--json", help="Print what was captured as JSON.")
    quiet: bool = cli.flag("-q", "--quiet", help="Print nothing on success.")

    @property
    def output(self) -> Output:
        return Output(self.as_json, self.quiet)


@dataclass
class GradingOptions:
    """Grades for the answer of a model."""

    scores: tuple[str, ...] = cli.several(
        "RUBRIC", help="Have a model grade the answer: NAME=MEANING (can be repeated), or a FILE of them."
    )
    scored_by: str | None = cli.option(
        "MODEL", needs="scores", help="The model that grades; the default is `judge`."
    )


def collect_option(*parts: str) -> Any:
    return cli.option(
        type=click.Choice(parts), multiple=True, help="Store these parts, by name, not the bare answer."
    )


@dataclass
class ManyOptions:
    """Options for several requests that are captured at once."""

    dry_run: bool = cli.flag(help="Show what would be asked, and write nothing.")
    write_config: bool = cli.flag(help="Declare secrets in baselinekit.yaml, from the environment.")
    allow: bool = cli.flag(help="Add their hosts to baselinekit.yaml: CI may send requests there too.")
    jobs: int = cli.jobs_option("How many requests may be under way at once.", default=8)


@dataclass
class RequestOptions:
    """The options of a request that curl does not have."""

    params: tuple[str, ...] = cli.several("--param", "NAME=VALUE", help="A query parameter.")
    keep_headers: tuple[str, ...] = cli.several("--keep-header", "NAME", help="A response header to store.")
    parse: str | None = cli.option(
        type=click.Choice(list(FORMS)), help="What the body is, where its content type does not say it."
    )
    take: int | None = cli.count("N", help="Read the first N rows of a stream, and hang up.")
    redirects: int | None = cli.option(type=click.IntRange(0, 20), help="Redirects to follow [default: 0].")
    timeout: float | None = cli.option("SECONDS", type=cli.Number())
    many: ManyOptions = cli.including(ManyOptions)
    new: NewBaselineOptions = cli.including(NewBaselineOptions)
    storing: StoringOptions = cli.including(StoringOptions)
    project: cli.ProjectOptions = cli.project_options()


@dataclass
class HttpOptions(RequestOptions):
    """Send a request and record status, content-type and body of the answer.

    URL is absolute, or begins with / if the project has a base_url. -X -H -d -F -u -b -L -k are curl's.
    """

    words: tuple[str, ...] = cli.argument(nargs=-1, required=True, metavar="[METHOD] URL")
    verb: str | None = cli.option("-X", "--request", "METHOD", help="The method.")
    headers: tuple[str, ...] = cli.several("-H", "--header", "'NAME: VALUE'", help="A header to send.")
    data: tuple[str, ...] = cli.several(
        "-d", "--data", "TEXT", help="The body: JSON if it is valid JSON, else a form; @FILE or @- reads it."
    )
    form: tuple[str, ...] = cli.several(
        "-F", "--form", "NAME=VALUE", help="A part of a multipart form; NAME=@FILE sends a file."
    )
    user: str | None = cli.option("-u", "--user", "NAME:PASSWORD", help="Basic credentials.")
    cookies: tuple[str, ...] = cli.several("-b", "--cookie", "NAME=VALUE", help="Cookies to send.")
    insecure: bool = cli.flag("-k", "--insecure", help="Accept any certificate, for this capture.")
    follow: bool = cli.flag("-L", "--location", help="Follow redirects, 10 at most.")


@dataclass
class CurlOptions(RequestOptions):
    """Send the request of a curl line, as it is typed or copied from a browser. Our own options may stand
    anywhere in it; short ones, and those that curl has too, are curl's.

    \b
    baselinekit capture curl 'https://api.example.com/users' -H 'Accept: application/json'
    baselinekit capture curl -          (the line comes from standard input)
    """

    words: tuple[str, ...] = cli.argument(nargs=-1, type=click.UNPROCESSED, metavar="LINE")


@dataclass
class AskingOptions:
    """What to collect of a model's answer."""

    grading: GradingOptions = cli.including(GradingOptions)
    collect: tuple[str, ...] = collect_option("output", "tool_calls")
    new: NewBaselineOptions = cli.including(NewBaselineOptions)
    storing: StoringOptions = cli.including(StoringOptions)
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options(cli.ASKING)


@dataclass
class SkillOptions(AskingOptions):
    """Run a skill and record its output."""

    skill_name: str = cli.argument(metavar="NAME")
    params: tuple[str, ...] = cli.several("--param", "NAME=VALUE", help="A parameter: JSON, or else a text.")
    inputs: tuple[str, ...] = cli.several(
        "--input", "NAME=VALUE", help="A key of the input; @FILE reads it. Or all of it: JSON, @FILE or @-."
    )
    input_text: str | None = cli.option("TEXT", help="The whole input, as it is.")
    timeout: float | None = cli.option("SECONDS", type=cli.Number())


@dataclass
class PromptOptions(AskingOptions):
    """Send the prompt in FILE (a template with {{names}}) to a model and record its answer."""

    file: str = cli.argument(metavar="FILE")
    inputs: tuple[str, ...] = cli.several("--input", "NAME=VALUE", help="For {{NAME}}; @FILE reads it.")
    inputs_from: str | None = cli.option("FILE", help="A YAML or JSON file of inputs.")
    model: str = cli.option(default="default", show_default=True, help="A name under `models:`.")
    system: str | None = cli.option("TEXT", help="The system prompt; @FILE reads it.")
    temperature: float | None = cli.option(type=cli.Number())
    max_answer: int | None = cli.count("TOKENS", help="How long the answer may be.")
    parse: str | None = cli.option(type=click.Choice(["text", "json"]), help="Read the answer as JSON.")
    json_mode: bool = cli.flag(help="Ask the server for JSON mode, if it has one.")
    tools: str | None = cli.option("FILE", help="The tools that the model may call, in YAML or JSON.")
    timeout: float | None = cli.option("SECONDS", type=cli.Number())
    collect: tuple[str, ...] = collect_option("text", "tool_calls")


@dataclass
class CommandOptions:
    """Run a program (after --) and record its exit code and what it prints."""

    argv: tuple[str, ...] = cli.argument(nargs=-1, required=True, type=click.UNPROCESSED)
    stdin: str | None = cli.option("TEXT", help="Its standard input: text, or @FILE, or @-.")
    env: tuple[str, ...] = cli.several("NAME=VALUE", help="An environment variable of the program.")
    files: tuple[str, ...] = cli.several("--file", "PATH", help="A file that it writes, compared as well.")
    parse: str | None = cli.option(type=click.Choice(["text", "json"]), help="Read its output as JSON.")
    timeout: float | None = cli.option("SECONDS", type=cli.Number())
    new: NewBaselineOptions = cli.including(NewBaselineOptions)
    storing: StoringOptions = cli.including(StoringOptions)
    project: cli.ProjectOptions = cli.project_options(cli.ASKING)


@dataclass
class DraftOptions:
    """Capture what files ask for. Their content tells what they are: an OpenAPI or Swagger document, a HAR
    file, a list of URLs or of curl lines, or baseline files with a `current:` and no `baseline:` yet. Of a
    prompt folder (by its path, its id or an alias) each case becomes a baseline.

    Of requests, only those that read are sent; --unsafe sends all.
    """

    paths: tuple[str, ...] = cli.argument(nargs=-1, required=True, type=click.Path())
    cases: tuple[str, ...] = cli.several("--case", "NAME", help="Of a prompt folder, only this case.")
    unsafe: bool = cli.flag(help="Also send requests that may write (POST, PUT, PATCH, DELETE).")
    params: tuple[str, ...] = cli.several("--param", "NAME=VALUE", help="A value that the document lacks.")
    hosts: tuple[str, ...] = cli.several("--host", "HOST", help="Of a HAR file, only this host.")
    types: tuple[str, ...] = cli.several("--type", "TEXT", help="Of a HAR: this type [default: JSON, XML].")
    group: str | None = cli.option("FOLDER", help="The folder below baselines/ to write to.")
    tags: tuple[str, ...] = cli.several("--tag", help="A tag, to select them by.")
    many: ManyOptions = cli.including(ManyOptions)
    storing: StoringOptions = cli.including(StoringOptions)
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options()


# The options of `capture` as rules: how the new baseline is compared and graded.

_KEY = lazy_pattern(r"[A-Za-z_][\w.-]*=")
_NUMBER = lazy_pattern(r"(?P<sign>[+-]?)\d+(?:\.\d+)?(?P<percent>%?)")
_MODE = lazy_pattern(r"ordered|unordered|subset|each|by:(?P<key>.+)", re.DOTALL)


def parse_path_rules(options: cli.PathRuleOptions) -> dict[str, Json]:
    """The rules about paths that `capture` and `refresh` share."""
    bounds = cli.parse_pairs("--tolerance", options.tolerance, "PATH=NUMBER")
    modes = cli.parse_pairs("--array", options.arrays, "PATH=MODE")
    rules: dict[str, Json] = {
        "ignore_fields": list(options.ignore),
        "tolerance": {path: _tolerance_rule(text.strip()) for path, text in bounds.items()},
        "arrays": {path: _array_mode(text) for path, text in modes.items()},
    }
    return {name: rule for name, rule in rules.items() if rule}


def _tolerance_rule(text: str) -> dict[str, Json]:
    number = _NUMBER.fullmatch(text)
    if number is None or (number["sign"] and number["percent"]):
        hint = "as in price=0.05, score=-0.3 or total=5%"
        raise cli.misuse(f"--tolerance {text!r} is not a number", hint)
    if number["percent"]:
        return {"rel": float(text[:-1]) / 100}
    name = {"-": "min_delta", "+": "max_delta", "": "abs"}[number["sign"]]
    return {name: float(text) if "." in text else int(text)}


def _array_mode(text: str) -> Json:
    mode = _MODE.fullmatch(text)
    if mode is None:
        hint = "one of ordered, unordered, subset, each, by:KEY"
        raise cli.misuse(f"--array: there is no mode {text!r}", hint)
    return {"by": mode["key"]} if mode["key"] else text


def _graded(options: GradingOptions, collect: Sequence[str], group: str, project: Project) -> dict[str, Json]:
    """The part of `execution:` about what is stored of the answer and how it is graded."""
    execution: dict[str, Json] = {"collect": list(dict.fromkeys(collect))} if collect else {}
    texts = options.scores
    if len(texts) == 1 and os.path.isfile(os.path.join(project.cwd, texts[0])):
        execution["scores"] = {"rubric": project.way_back(group, texts[0])}
    elif len(texts) == 1 and "=" not in texts[0]:
        hint = "name a file of criteria, or --scores 'clarity=Can a newcomer follow it?'"
        raise cli.misuse(f"there is no file {texts[0]!r}", hint)
    elif texts:
        execution["scores"] = {"rubric": cli.parse_pairs("--scores", texts, "NAME=WHAT IS MEANT")}
    if options.scored_by:
        execution["scores"]["model"] = options.scored_by
    return execution


# The options of `capture` as a recipe: the `current:` of the new file.


def prompt(options: PromptOptions, group: str, project: Project) -> dict[str, Any]:
    """The recipe of a prompt: its template and inputs. Paths are relative to the new file's folder."""
    request: dict[str, Any] = {"prompt": _way_back(group, options.file, project)}
    if options.inputs:
        request["inputs"] = _inputs(options.inputs, group, project)
    if options.inputs_from:
        request["inputs_from"] = project.way_back(group, options.inputs_from)
    if options.tools is not None:
        request["tools"] = _tools(options.tools)
    execution: dict[str, Any] = {"type": "prompt", "model": options.model}
    system = None if options.system is None else content(options.system)
    execution |= drop_unset(system=system, max_tokens=options.max_answer, json=options.json_mode or None)
    execution |= drop_unset(temperature=options.temperature, parse=options.parse, timeout=options.timeout)
    execution |= _graded(options.grading, options.collect, group, project)
    return {"input": request, "execution": execution}


def _way_back(group: str, file: str, project: Project) -> str:
    """The path of a typed file from the folder of the new file; refused if there is none."""
    if not os.path.isfile(os.path.join(project.cwd, file)):
        raise cli.misuse(f"there is no file {file!r}", "check the name")
    return project.way_back(group, file)


def skill(options: SkillOptions, group: str, project: Project) -> dict[str, Any]:
    """The recipe of a skill: its name, parameters and input."""
    execution: dict[str, Any] = {"type": "skill", "skill_name": options.skill_name}
    if options.params:
        pairs = cli.parse_pairs("--param", options.params, "NAME=VALUE")
        execution["parameters"] = {key: json_or_text(value) for key, value in pairs.items()}
    execution |= drop_unset(timeout=options.timeout)
    request = _skill_input(options, group, project)
    execution |= _graded(options.grading, options.collect, group, project)
    return {"input": request, "execution": execution}


def _skill_input(options: SkillOptions, group: str, project: Project) -> Json:
    """The input of a skill: its keys, or the whole of it. Paths in it start where the command is typed."""
    whole = [text for text in options.inputs if not _KEY.match(text)]
    if whole or options.input_text is not None:
        if len(options.inputs) + (options.input_text is not None) > 1:
            message = "the whole input is given beside other parts of it"
            raise cli.misuse(message, "keys (--input NAME=VALUE), or the whole input once")
        if options.input_text is not None:
            return options.input_text
        value = json_or_text(content(whole[0]))
        if isinstance(value, str) and not whole[0].startswith("@"):
            hint = "NAME=VALUE, JSON or @FILE; a text is --input-text"
            raise cli.misuse(f"--input {whole[0]!r} is neither a key nor JSON", hint)
        return value
    request = _inputs(options.inputs, group, project)
    skill = project.config.skills.get(options.skill_name)
    for name in skill.files if skill else ():  # its own code reads these files
        given = request.get(name)
        if isinstance(given, dict) and given.keys() == {"file"}:
            request[name] = given["file"]
        elif isinstance(given, str):
            request[name] = project.way_back(group, given)
    return request


def _inputs(texts: tuple[str, ...], group: str, project: Project) -> dict[str, Json]:
    """The keys of an input: each a value, parsed if it is JSON, or with @ a file."""
    inputs: dict[str, Json] = {}
    for name, text in cli.parse_pairs("--input", texts, "NAME=VALUE").items():
        if text.startswith("@"):
            inputs[name] = {"file": _way_back(group, text[1:], project)}
        else:
            inputs[name] = json_or_text(text)
    return inputs


def drop_unset(**values: Json) -> dict[str, Json]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _tools(file: str) -> list[Json]:
    """The tools in the form of a recipe; the file may have them in either wire form."""
    try:
        documents = YAML.load(content(f"@{file}"), file)
    except BaselinekitError as error:
        raise InvalidInput(*(replace(problem, code="BK508") for problem in error.problems)) from None
    tools = documents[0] if len(documents) == 1 and isinstance(documents[0], list) else documents
    tools = [_tool(tool) if isinstance(tool, dict) else tool for tool in tools]
    problems = [problem.placed(Place(file)) for tool in tools for problem in read_as(Tool, tool)[1]]
    if problems:  # keys that would not be sent, among others
        raise InvalidInput(*problems)
    return tools


def _tool(stated: dict[str, Json]) -> Json:
    """A tool in the form of a recipe."""
    function = stated.get("function")
    keys = {**stated, **function} if isinstance(function, dict) else stated
    return {
        "parameters" if key in ("input_schema", "inputSchema") else key: value
        for key, value in keys.items()
        if key != "function" and (key, value) != ("type", "function")
    }


def command(options: CommandOptions, cwd: str) -> dict[str, Any]:
    """The recipe of a program as typed, run in the current folder: `cwd` is the path there from the new
    file's folder."""
    stdin = None if options.stdin is None else content(options.stdin)
    env = cli.parse_pairs("--env", options.env, "NAME=VALUE") or None
    request: dict[str, Any] = {"argv": list(options.argv), "cwd": cwd}
    request |= drop_unset(stdin=stdin, env=env, files=list(options.files) or None)
    execution = {"type": "command"} | drop_unset(timeout=options.timeout, parse=options.parse)
    return {"input": request, "execution": execution}


def how_to_allow(program: str, env: Iterable[str]) -> str:
    """How to allow a typed program and its variables in later runs."""
    variables = ", ".join(env)
    entry = f"{{argv: [{program}], env: [{variables}]}}" if variables else f"[{program}]"
    line = f"`commands: {{{slug(os.path.basename(program))}: {entry}}}`"
    return f"to compare it, add {line} to baselinekit.yaml, or pass --allow-exec"


def content(text: str) -> str:
    """The text itself, or with @ the content of a file (`@-`: standard input)."""
    return cli.read_text("the file", text[1:], "a text") if text.startswith("@") else text


def json_or_text(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text


def describe_output(output: Json) -> str:
    """Describe a captured output in a few words."""
    if isinstance(output, dict) and "status" in output:
        return f"{output['status']}, {describe_body(output.get('body'))}"
    if isinstance(output, dict) and "exit_code" in output:
        return f"exit code {output['exit_code']}"
    return describe_body(output)


def describe_body(body: Json) -> str:
    if isinstance(body, dict) and body.keys() == {"sha256", "size"}:  # stored for a binary body
        return f"{body['size']:,} bytes"
    if isinstance(body, dict):
        return f"an object with {list_first([*body], 5) or 'no keys'}"
    if isinstance(body, list):
        return f"an array of {len(body)}"
    return f"a text of {len(body):,} characters" if isinstance(body, str) else json_type(body)


# The request of `capture http`.


class TypedRequest(Struct):
    """`current`: the recipe of the new file; `dropped`: notes on the parts of the line without a counterpart;
    `is_insecure`: whether certificates are not verified, which no file may ask for."""

    current: dict[str, Any]
    dropped: tuple[str, ...]
    is_insecure: bool


def open_request(options: HttpOptions | CurlOptions) -> tuple[Project, TypedRequest]:
    """Open the project, and parse the request, with a variable in place of each credential. A named secret
    that is not set in the environment gets the value that was typed in the request."""
    names = [text for text in options.project.secrets if "=" not in text]
    unset = [name for name in names if not os.environ.get(name)]
    secrets = [text for text in options.project.secrets if text not in unset]
    project = cli.project_of(replace(options.project, secrets=tuple(secrets)))
    read = cache(lambda name: content(f"@{name}"))
    request = typed_request(options, project, read)
    is_allowed, found = options.storing.allow_secrets, credentials_in(request.current)
    credentials = [credential for credential in found if credential.is_declared or not is_allowed]
    values, unassigned = assign_variables(credentials, names, os.environ)
    if unassigned:
        raise Refused(*(_undeclared(credential, names) for credential in unassigned))
    secrets += [f"{name}={values[name]}" if name in values else name for name in unset]
    project = cli.project_of(replace(options.project, secrets=tuple(secrets)))
    current = with_names(request.current, project.scope)
    return project, replace(request, current=current)


def _undeclared(credential: Credential, names: Sequence[str]) -> Problem:
    name = credential.name
    if name in names:
        message = f"{credential.message}, but {name} in the environment differs"
        return Problem("BK522", message, f"unset {name}, or type {{{{{name}}}}} in its place")
    hint = f"add --secret {name}: {{{{{name}}}}} is stored instead, and baselinekit.yaml declares it"
    hint += "" if credential.is_declared else "; or pass --allow-secrets"
    return Problem("BK522", credential.message, hint)


def host_of(recipe: Recipe, project: Project) -> str:
    """The host and port that the secrets in a request are sent to."""
    base = kind_of(recipe).base_url(recipe, project.override_base_url, project.base_url)
    return urlsplit(str(project.scope.expand(base or "", ()) or "")).netloc


def with_typed(project: Project, current: Mapping[str, Any], is_insecure: bool) -> tuple[Project, list[str]]:
    """The project that may also do what the operator typed for this capture, and a note on what a compare
    needs for it, as no file may ask for that."""
    execution = current["execution"]
    asking = replace(
        project,
        trust=project.trust.naming(str(execution.get("base_url", ""))),
        ceilings=project.ceilings.granting(execution.get("timeout")),
    )
    if not (is_insecure and asking.ceilings.verify):
        return asking, []
    note = "to compare it, add `http: {verify: false}` to baselinekit.yaml: no file may say so"
    return asking.trusting_any_certificate(), [note]


def typed_record(options: RequestOptions, current: dict[str, Any], project: Project) -> dict[str, Any]:
    """The new record of a typed request."""
    record = options.new.record(http_id(current), current, parse_path_rules(options.new.rules))
    group = options.new.group or group_of(parse_record(record), project)
    return record | {"current": with_files(current, group, project)}


def typed_request(options: HttpOptions | CurlOptions, project: Project, read: Read) -> TypedRequest:
    """Parse `[METHOD] URL` with the options of a request, or the words of a curl line."""
    if isinstance(options, HttpOptions):
        line = _curl_words(options, project, read)
    else:
        line = _pasted_words(read) if options.words == ("-",) else list(options.words)
    parsed = parse_words(line, read)
    execution = {"type": "http", **parsed.execution}
    if is_insecure := execution.get("verify") is False:
        del execution["verify"]
    fields = dict(parsed.request)
    request: dict[str, Json] = {"method": fields.pop("method")}
    base_url = project.override_base_url or project.base_url
    request["endpoint"], base = addressed(str(fields.pop("url")), base_url)
    if base is not None and base != (project.base_url or "").rstrip("/"):
        execution["base_url"] = base
    request |= drop_unset(headers=fields.pop("headers", None))
    if options.params:
        request |= {"params": cli.parse_lists("--param", options.params, "NAME=VALUE")}
    request = with_one_cookie(with_names(request | fields, project.scope))
    execution |= drop_unset(timeout=options.timeout, redirects=options.redirects)
    execution |= drop_unset(parse=options.parse, take=options.take)
    if options.keep_headers:
        execution["keep_headers"] = ["content-type", *(name.lower() for name in options.keep_headers)]
    dropped = tuple(f"left out: {part}" for part in parsed.dropped)
    return TypedRequest({"input": request, "execution": execution}, dropped, is_insecure)


def _pasted_words(read: Read) -> list[str]:
    """The words of the curl line on standard input."""
    commands = [words for words in split_commands(read("-")) if is_curl(words[0])]
    if len(commands) != 1:
        message = f"there are {len(commands) or 'no'} curl lines on standard input"
        raise cli.misuse(message, "paste one")
    return commands[0][1:]


_OF_CURL = ("verb", "headers", "data", "form", "user", "cookies", "insecure", "follow")


def _curl_words(options: HttpOptions, project: Project, read: Read) -> list[str]:
    """`[METHOD] URL` and the options as words of a curl line. JSON data is sent as JSON unless a header has
    another type."""
    *method, url = options.words
    if method and is_curl(method[0]):
        hint = "baselinekit capture curl URL, with curl's own options"
        raise cli.misuse("a curl line is not a method and a URL", hint)
    if len(method) > 1:
        message = f"{' '.join(options.words)!r} is not [METHOD] URL"
        raise cli.misuse(message, "put a URL with spaces in quotes")
    line = ["-X", *method] if method else []
    line += cli.typed_options(_OF_CURL)
    has_type = any(header.lower().startswith("content-type:") for header in options.headers)
    if len(options.data) == 1 and not has_type:
        (text,) = options.data
        if not isinstance(json_or_text(read(text[1:]) if text.startswith("@") else text), str):
            line += ["-H", "Content-Type: application/json"]
    return [*line, _absolute_url(url, project)]


def with_files(current: dict[str, Any], group: str, project: Project) -> dict[str, Any]:
    """The recipe with the paths of its files relative to its own file's folder."""
    request, execution = current["input"], current["execution"]
    if files := request.get("files"):
        request = {
            **request,
            "files": {name: _way_back(group, path, project) for name, path in files.items()},
        }
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
            raise cli.misuse(message, hint)
        return base.rstrip("/") + url
    if "://" not in url and not re.search(r"[.:/]|^localhost$", url):
        message = f"{url!r} is not a URL"
        raise cli.misuse(message, "as in: capture http GET http://127.0.0.1:8000/users")
    return url
