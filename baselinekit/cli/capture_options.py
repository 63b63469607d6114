"""The options of `baselinekit capture`: the request, and how its baseline is named, compared and graded."""

from dataclasses import dataclass
from typing import Any

import click

from baselinekit.cli.options import (
    ASKING,
    Number,
    PathRuleOptions,
    ProjectOptions,
    RecordingOptions,
    argument,
    flag,
    including,
    jobs_option,
    option,
    project_options,
    several,
)
from baselinekit.kinds.bodies import FORMS
from baselinekit.model.values import Json


@dataclass(eq=False, repr=False)
class NewBaselineOptions:
    """The name of a new baseline, and how it is compared."""

    id: str | None = option(metavar="ID", help="Its id; the default is made from the recipe.")
    group: str | None = option(metavar="FOLDER", help="The folder below baselines/ to write it to.")
    name: str | None = option(help="A title for people.")
    tags: tuple[str, ...] = several("--tag", help="A tag, to select it by.")
    rules: PathRuleOptions = including(PathRuleOptions)

    def record(self, default_id: str, current: dict[str, Any], rules: dict[str, Json]) -> dict[str, Any]:
        """The new record as given on the command line: everything but the output."""
        return {
            "id": self.id or default_id,
            **({"name": self.name} if self.name else {}),
            "current": current,
            "comparison": rules,
            "metadata": {"tags": list(self.tags)} if self.tags else {},
        }


@dataclass(eq=False, repr=False)
class StoringOptions:
    """How often the request is sent, what may be stored, and what is printed."""

    placeholders: tuple[str, ...] = several(
        "--placeholder", metavar="PATH=TEXT", help="Store a placeholder, such as <<any_uuid>>, at a path."
    )
    repeat: int | None = option(
        type=click.IntRange(1, 1000),
        metavar="N",
        help="Replay N times and store placeholders for what varies; the default is 2 for GET, HEAD and"
        " OPTIONS, else 1.",
    )
    like: tuple[str, ...] = several(
        "--placeholder-like",
        type=click.Choice(["ids", "secrets"]),
        help="Store placeholders also for what looks like an id and was the same each time; or for what looks"
        " like a secret, which is refused else.",
    )
    exact: bool = flag(help="Store everything as it came: no placeholder is learnt.")
    version: str | None = option(metavar="TEXT", help="The version of the target.")
    allow_error_status: bool = flag(help="Store a 5xx answer as known-good.")
    allow_empty: bool = flag(help="Store an empty answer of a model.")
    allow_failing: bool = flag(help="Store an answer that fails its checks, or scores too low.")
    allow_secrets: bool = flag(help="Store what looks like a secret.")
    as_json: bool = flag("--json", help="Print what was captured as JSON.")
    quiet: bool = flag("-q", "--quiet", help="Print nothing on success.")

    @property
    def is_silent(self) -> bool:
        return self.quiet or self.as_json


@dataclass(eq=False, repr=False)
class GradingOptions:
    """Grades for the answer of a model."""

    scores: tuple[str, ...] = several(
        metavar="RUBRIC",
        help="Have a model grade the answer: NAME=MEANING (can be repeated), or a FILE with the rubric.",
    )
    scored_by: str | None = option(metavar="MODEL", help="The model that grades; the default is `judge`.")


def collect_option(*parts: str) -> Any:
    return option(
        type=click.Choice(parts),
        multiple=True,
        help="Store these parts, by name, instead of the bare answer.",
    )


@dataclass(eq=False, repr=False)
class ManyOptions:
    """Options for several requests that are captured at once."""

    dry_run: bool = flag(help="Show what would be asked, and write nothing.")
    write_config: bool = flag(
        help="Put the base_url that several new baselines share into baselinekit.yaml, and declare secrets."
    )
    allow: bool = flag(help="Add their hosts to baselinekit.yaml, so that CI may send requests there too.")
    jobs: int = jobs_option("How many requests may be under way at once.", default=8)


@dataclass(eq=False, repr=False)
class RequestOptions:
    """What a request has beside the options of curl."""

    params: tuple[str, ...] = several("--param", metavar="NAME=VALUE", help="A query parameter.")
    keep_headers: tuple[str, ...] = several(
        "--keep-header", metavar="NAME", help="A response header to store as well."
    )
    parse: str | None = option(
        type=click.Choice(list(FORMS)), help="What the body is, where its content type does not say it."
    )
    take: int | None = option(
        type=click.IntRange(1), metavar="N", help="Read the first N rows of a stream, and hang up."
    )
    redirects: int | None = option(
        type=click.IntRange(0, 20), help="How many redirects to follow; the default is none."
    )
    timeout: float | None = option(type=Number(), metavar="SECONDS")
    many: ManyOptions = including(ManyOptions)
    new: NewBaselineOptions = including(NewBaselineOptions)
    storing: StoringOptions = including(StoringOptions)
    project: ProjectOptions = project_options()


@dataclass(eq=False, repr=False)
class HttpOptions(RequestOptions):
    """Send a request and record status, content-type and body of the answer.

    URL is absolute, or begins with / if the project has a base_url. -X -H -d -F -u -b -L -k are curl's.
    """

    words: tuple[str, ...] = argument(nargs=-1, required=True, metavar="[METHOD] URL")
    verb: str | None = option("-X", "--request", metavar="METHOD", help="The method.")
    headers: tuple[str, ...] = several("-H", "--header", metavar="'NAME: VALUE'", help="A header to send.")
    data: tuple[str, ...] = several(
        "-d",
        "--data",
        metavar="TEXT",
        help="The body: JSON if it is valid JSON, else a form; @FILE or @- reads it.",
    )
    form: tuple[str, ...] = several(
        "-F", "--form", metavar="NAME=VALUE", help="A part of a multipart form; NAME=@FILE sends a file."
    )
    user: str | None = option("-u", "--user", metavar="NAME:PASSWORD", help="Basic credentials.")
    cookies: tuple[str, ...] = several("-b", "--cookie", metavar="NAME=VALUE", help="Cookies to send.")
    insecure: bool = flag("-k", "--insecure", help="Accept any certificate, for this capture.")
    follow: bool = flag("-L", "--location", help="Follow redirects, 10 at most.")


@dataclass(eq=False, repr=False)
class CurlOptions(RequestOptions):
    """Send the request of a curl line, as it is typed or copied from a browser. Our own options may stand
    anywhere in it; short ones, and those that curl has too, are curl's.

    \b
    baselinekit capture curl 'https://api.example.com/users' -H 'Accept: application/json'
    baselinekit capture curl -          (the line comes from standard input)
    """

    words: tuple[str, ...] = argument(nargs=-1, type=click.UNPROCESSED, metavar="LINE")


@dataclass(eq=False, repr=False)
class AskingOptions:
    """What to collect of a model's answer."""

    grading: GradingOptions = including(GradingOptions)
    collect: tuple[str, ...] = collect_option("output", "tool_calls")
    new: NewBaselineOptions = including(NewBaselineOptions)
    storing: StoringOptions = including(StoringOptions)
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = project_options(ASKING)


@dataclass(eq=False, repr=False)
class SkillOptions(AskingOptions):
    """Run a skill and record its output."""

    skill_name: str = argument(metavar="NAME")
    params: tuple[str, ...] = several(
        "--param", metavar="NAME=VALUE", help="A parameter: read as JSON if it is valid JSON."
    )
    inputs: tuple[str, ...] = several(
        "--input",
        metavar="NAME=VALUE",
        help="A key of the input; @FILE reads it. Or the whole input: JSON, @FILE or @-.",
    )
    input_text: str | None = option(metavar="TEXT", help="The whole input, as it is.")
    timeout: float | None = option(type=Number(), metavar="SECONDS")


@dataclass(eq=False, repr=False)
class PromptOptions(AskingOptions):
    """Send the prompt in FILE (a template with {{names}}) to a model and record its answer."""

    file: str = argument(metavar="FILE")
    inputs: tuple[str, ...] = several("--input", metavar="NAME=VALUE", help="For {{NAME}}; @FILE reads it.")
    inputs_from: str | None = option(metavar="FILE", help="A YAML or JSON file of inputs.")
    model: str = option(default="default", show_default=True, help="A name under `models:`.")
    system: str | None = option(metavar="TEXT", help="The system prompt; @FILE reads it.")
    temperature: float | None = option(type=Number())
    max_answer: int | None = option(
        type=click.IntRange(1), metavar="TOKENS", help="How long the answer may be."
    )
    parse: str | None = option(type=click.Choice(["text", "json"]), help="Read the answer as JSON.")
    json_mode: bool = flag(help="Ask the server for JSON mode, if it has one.")
    tools: str | None = option(metavar="FILE", help="The tools that the model may call, in YAML or JSON.")
    timeout: float | None = option(type=Number(), metavar="SECONDS")
    collect: tuple[str, ...] = collect_option("text", "tool_calls")


@dataclass(eq=False, repr=False)
class CommandOptions:
    """Run a program (after --) and record its exit code and what it prints."""

    argv: tuple[str, ...] = argument(nargs=-1, required=True, type=click.UNPROCESSED)
    stdin: str | None = option(metavar="TEXT", help="Its standard input: text, or @FILE, or @-.")
    env: tuple[str, ...] = several(metavar="NAME=VALUE", help="An environment variable of the program.")
    files: tuple[str, ...] = several(
        "--file", metavar="PATH", help="A file that it writes, compared as well."
    )
    parse: str | None = option(type=click.Choice(["text", "json"]), help="Read its output as JSON.")
    timeout: float | None = option(type=Number(), metavar="SECONDS")
    new: NewBaselineOptions = including(NewBaselineOptions)
    storing: StoringOptions = including(StoringOptions)
    project: ProjectOptions = project_options(ASKING)


@dataclass(eq=False, repr=False)
class DraftOptions:
    """Capture what files ask for. Their content tells what they are: an OpenAPI or Swagger document, a HAR
    file, a list of URLs or of curl lines, or baseline files with a `current:` and no `baseline:` yet. Of a
    prompt folder (by its path, its id or an alias) each case becomes a baseline.

    Of requests, only those that read are sent; --unsafe sends all.
    """

    paths: tuple[str, ...] = argument(nargs=-1, required=True, type=click.Path())
    cases: tuple[str, ...] = several("--case", metavar="NAME", help="Of a prompt folder, only this case.")
    unsafe: bool = flag(help="Also send requests that may write (POST, PUT, PATCH, DELETE).")
    params: tuple[str, ...] = several(
        "--param", metavar="NAME=VALUE", help="A parameter that the document gives no example for."
    )
    hosts: tuple[str, ...] = several("--host", metavar="HOST", help="Of a HAR file, only this host.")
    types: tuple[str, ...] = several(
        "--type", metavar="TEXT", help="Of a HAR file, answers of this type; the default is JSON and XML."
    )
    group: str | None = option(metavar="FOLDER", help="The folder below baselines/ to write to.")
    tags: tuple[str, ...] = several("--tag", help="A tag, to select them by.")
    many: ManyOptions = including(ManyOptions)
    storing: StoringOptions = including(StoringOptions)
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = project_options()
