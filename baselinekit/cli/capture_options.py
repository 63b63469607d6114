"""The options of `capture`: what is asked, and how the new baseline is named, compared and graded."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from baselinekit.cli.options import (
    ProjectOptions,
    RecordingOptions,
    argument,
    including,
    option,
    parse_pairs,
)
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.baselines import OLD_NAMES, PURPOSE
from baselinekit.model.values import Json
from baselinekit.workflow.capture import CaptureOptions
from baselinekit.workflow.project import Project

_TYPES = ("exact", "structural", "numeric", "semantic")
_MODES = ("ordered", "unordered", "subset", "each")
_METHODS = "; ".join(f"{name} ({purpose})" for name, purpose in PURPOSE.items())
_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<digits>\d+(?:\.\d+)?)(?P<percent>%?)")


@dataclass(frozen=True)
class RuleOptions:
    """What counts as the same: the `comparison:` of the new baseline."""

    type: str | None = option(type=click.Choice(_TYPES))
    ignore: tuple[str, ...] = option(metavar="PATH", multiple=True, help="Leave this out of the comparison.")
    tolerance: tuple[str, ...] = option(
        metavar="PATH=NUMBER",
        multiple=True,
        help="How far a number may move: 0.05 either way, -0.3 only down, +2 only up, 5% relative.",
    )
    fields: tuple[str, ...] = option(
        "--field",
        metavar="PATH=TYPE",
        multiple=True,
        help="Another type of comparison below a path; semantic:METHOD for texts.",
    )
    arrays: tuple[str, ...] = option(
        "--array",
        metavar="PATH=MODE",
        multiple=True,
        help=f"How the rows of an array are paired: {', '.join(_MODES)}, by:KEY.",
    )
    method: str | None = option(
        type=click.Choice(["judge", "words", "embedding", "lexical"]),
        help="Compare texts by meaning: judge (facts), words (near-verbatim), embedding (topic).",
    )
    min_similarity: float | None = option(
        type=click.FloatRange(0, 1),
        metavar="0..1",
        help="The similarity that texts must reach; makes the type semantic.",
    )
    latency: tuple[str, ...] = option(
        metavar="LIMIT",
        multiple=True,
        help="Fail if it takes longer than this: seconds (2.5), or a multiple of the capture (3x).",
    )


@dataclass(frozen=True)
class NewBaselineOptions:
    """What a new baseline is called, and how it is to be compared."""

    id: str | None = option(metavar="ID", help="Its id; the default is made from the recipe.")
    group: str | None = option(metavar="FOLDER", help="The folder below baselines/ to write it to.")
    name: str | None = option(help="A title for people.")
    description: str | None = option(help="What it protects.")
    tags: tuple[str, ...] = option("--tag", multiple=True, help="A tag, to select it by.")
    criticality: str | None = option(type=click.Choice(["critical", "high", "medium", "low"]))
    rules: RuleOptions = including(RuleOptions)

    def record(self, default_id: str, current: dict[str, Any], rules: dict[str, Json]) -> dict[str, Any]:
        """The new record as far as the command line says it: everything but the output."""
        record: dict[str, Any] = {"id": self.id or default_id}
        titles = {"name": self.name, "description": self.description}
        record |= {key: value for key, value in titles.items() if value}
        record |= {"current": current, "comparison": rules}
        record["metadata"] = {"criticality": self.criticality} if self.criticality else {}
        if self.tags:
            record["metadata"]["tags"] = list(self.tags)
        return record


@dataclass(frozen=True)
class StoringOptions:
    """How often it is asked, what may be stored, and what is printed of it."""

    placeholders: tuple[str, ...] = option(
        "--placeholder",
        metavar="PATH=TEXT",
        multiple=True,
        help="Store a placeholder, such as <<any_uuid>>, at a path.",
    )
    repeat: int = option(
        type=click.IntRange(1, 1000),
        default=1,
        show_default=True,
        metavar="N",
        help="Replay N times and store placeholders for what varies.",
    )
    version: str | None = option(metavar="TEXT", help="The version of the target.")
    allow_error_status: bool = option(is_flag=True, help="Store a 5xx answer as known-good.")
    allow_empty: bool = option(is_flag=True, help="Store an empty answer of a model.")
    allow_secrets: bool = option(is_flag=True, help="Store what looks like a secret.")
    as_json: bool = option("--json", is_flag=True, help="Print what was captured as JSON.")
    quiet: bool = option("-q", "--quiet", is_flag=True, help="Print nothing on success.")

    @property
    def is_silent(self) -> bool:
        return self.quiet or self.as_json

    def wishes(self, group: str | None = None) -> CaptureOptions:
        return CaptureOptions(
            placeholders=parse_pairs("--placeholder", self.placeholders, "PATH=TEXT"),
            version=self.version,
            group=group,
            allow_error_status=self.allow_error_status,
            allow_empty=self.allow_empty,
            allow_secrets=self.allow_secrets,
            repeat=self.repeat,
        )


@dataclass(frozen=True)
class GradingOptions:
    """Grades for the answer of a model."""

    scores: tuple[str, ...] = option(
        metavar="RUBRIC",
        multiple=True,
        help="Have a model grade the answer: NAME=MEANING (can be repeated), or a FILE with the rubric.",
    )
    scored_by: str | None = option(metavar="MODEL", help="The model that grades; the default is `judge`.")


def allow_option() -> Any:
    help = "Add its hosts to baselinekit.yaml, so that CI may send requests there too."
    return option(is_flag=True, help=help)


def cost_option() -> Any:
    """Only what asks a model costs anything."""
    what = "Fail if it costs more than this: dollars (0.01), or a multiple of the capture (2x)."
    return option("--cost", metavar="LIMIT", multiple=True, help=what)


def collect_option(*parts: str) -> Any:
    return option(
        type=click.Choice(parts),
        multiple=True,
        help="Store these parts, by name, instead of the bare answer.",
    )


@dataclass(frozen=True)
class HttpOptions:
    words: tuple[str, ...] = argument(nargs=-1, required=True, metavar="[METHOD] URL")
    method: str | None = option("-X", "--request", metavar="METHOD")
    headers: tuple[str, ...] = option(
        "-H", "--header", metavar="'NAME: VALUE'", multiple=True, help="A header to send."
    )
    data: str | None = option(
        "-d",
        "--data",
        metavar="TEXT",
        help="The body: sent as JSON if it is valid JSON; @FILE or @- reads it.",
    )
    form: tuple[str, ...] = option(metavar="NAME=VALUE", multiple=True, help="A form field.")
    params: tuple[str, ...] = option(
        "--param", metavar="NAME=VALUE", multiple=True, help="A query parameter."
    )
    keep_headers: tuple[str, ...] = option(
        "--keep-header", metavar="NAME", multiple=True, help="A response header to store as well."
    )
    redirects: int | None = option(
        type=click.IntRange(0, 20), help="How many redirects to follow; the default is none."
    )
    timeout: float | None = option(type=float, metavar="SECONDS")
    allow: bool = allow_option()
    new: NewBaselineOptions = including(NewBaselineOptions)
    storing: StoringOptions = including(StoringOptions)
    project: ProjectOptions = including(ProjectOptions)


@dataclass(frozen=True)
class SkillOptions:
    skill_name: str = argument(metavar="NAME")
    params: tuple[str, ...] = option(
        "--param", metavar="NAME=VALUE", multiple=True, help="A parameter: read as JSON if it is valid JSON."
    )
    input: str = option(
        metavar="TEXT", default="{}", show_default=True, help="The input: JSON, or @FILE, or @-."
    )
    timeout: float | None = option(type=float, metavar="SECONDS")
    grading: GradingOptions = including(GradingOptions)
    collect: tuple[str, ...] = collect_option("output", "tool_calls")
    new: NewBaselineOptions = including(NewBaselineOptions)
    cost: tuple[str, ...] = cost_option()
    storing: StoringOptions = including(StoringOptions)
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)


@dataclass(frozen=True)
class PromptOptions:
    file: str = argument(metavar="FILE")
    inputs: tuple[str, ...] = option(
        "--input", metavar="NAME=VALUE", multiple=True, help="For {{NAME}}; @FILE reads it."
    )
    inputs_from: str | None = option(metavar="FILE", help="A YAML or JSON file of inputs.")
    model: str = option(default="default", show_default=True, help="A name under `models:`.")
    system: str | None = option(metavar="TEXT", help="The system prompt; @FILE reads it.")
    temperature: float | None = option(type=float)
    max_answer: int | None = option(
        type=click.IntRange(1), metavar="TOKENS", help="How long the answer may be."
    )
    parse: str | None = option(type=click.Choice(["text", "json"]), help="Read the answer as JSON.")
    json_mode: bool = option(is_flag=True, help="Ask the server for JSON mode, if it has one.")
    tools: str | None = option(metavar="FILE", help="The tools that the model may call, in YAML or JSON.")
    timeout: float | None = option(type=float, metavar="SECONDS")
    grading: GradingOptions = including(GradingOptions)
    collect: tuple[str, ...] = collect_option("text", "tool_calls")
    new: NewBaselineOptions = including(NewBaselineOptions)
    cost: tuple[str, ...] = cost_option()
    storing: StoringOptions = including(StoringOptions)
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)


@dataclass(frozen=True)
class CommandOptions:
    argv: tuple[str, ...] = argument(nargs=-1, required=True, type=click.UNPROCESSED)
    stdin: str | None = option(metavar="TEXT", help="Its standard input: text, or @FILE, or @-.")
    env: tuple[str, ...] = option(
        metavar="NAME=VALUE", multiple=True, help="An environment variable of the program."
    )
    files: tuple[str, ...] = option(
        "--file", metavar="PATH", multiple=True, help="A file that it writes, compared as well."
    )
    parse: str | None = option(type=click.Choice(["text", "json"]), help="Read its output as JSON.")
    timeout: float | None = option(type=float, metavar="SECONDS")
    new: NewBaselineOptions = including(NewBaselineOptions)
    storing: StoringOptions = including(StoringOptions)
    project: ProjectOptions = including(ProjectOptions)


@dataclass(frozen=True)
class DraftOptions:
    paths: tuple[str, ...] = argument(nargs=-1, required=True, type=click.Path())
    allow: bool = allow_option()
    storing: StoringOptions = including(StoringOptions)
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = including(ProjectOptions)


def parse_rules(options: RuleOptions, cost: Sequence[str] = (), has_scores: bool = False) -> dict[str, Json]:
    """The `comparison:` as far as the command line says it."""
    rules: dict[str, Json] = {}
    kind, method = _type(options, has_scores), options.method
    if kind:
        rules["type"] = kind
    if method is not None:
        rules["method"] = OLD_NAMES.get(method, method)
    elif kind == "semantic":
        raise InvalidInput(
            Problem("BK206", "it is not stated how texts are compared", f"--method: {_METHODS}")
        )
    if options.min_similarity is not None:
        rules["min_similarity"] = options.min_similarity
    if options.ignore:
        rules["ignore_fields"] = list(options.ignore)
    if options.tolerance:
        bounds = parse_pairs("--tolerance", options.tolerance, "PATH=NUMBER")
        rules["tolerance"] = {path: _bound(text) for path, text in bounds.items()}
    if options.fields:
        types = parse_pairs("--field", options.fields, "PATH=TYPE")
        rules["fields"] = {path: _field(text, method) for path, text in types.items()}
    if options.arrays:
        modes = parse_pairs("--array", options.arrays, "PATH=MODE")
        rules["arrays"] = {path: _mode(text) for path, text in modes.items()}
    for name, limits, absolute in (("latency", options.latency, "max_seconds"), ("cost", cost, "max_usd")):
        if limits:
            rules[name] = dict(_limit(f"--{name}", text, absolute) for text in limits)
    return rules


def _type(options: RuleOptions, has_scores: bool) -> str | None:
    """Who says how texts are compared wants them compared so; who wants scores wants numbers compared."""
    stated = options.type
    is_semantic = options.method is not None or options.min_similarity is not None
    if is_semantic and stated not in (None, "semantic"):
        what = f"--type {stated} does not compare texts by meaning"
        raise InvalidInput(Problem("BK508", what, "leave out --type, or --method and --min-similarity"))
    return stated or ("semantic" if is_semantic else "numeric" if has_scores else None)


def _bound(text: str) -> dict[str, Json]:
    number = _NUMBER.fullmatch(text.strip())
    if number is None or (number["sign"] and number["percent"]):
        hint = "as in price=0.05, score=-0.3 or total=5%"
        raise InvalidInput(Problem("BK508", f"--tolerance {text!r} is not a number", hint))
    if number["percent"]:
        return {"rel": _number(number["digits"], lambda digits: float(digits) / 100)}
    name = {"-": "min_delta", "+": "max_delta", "": "abs"}[number["sign"]]
    return {name: _number(text.strip())}


def _number(text: str, read: Callable[[str], float] = float) -> Json:
    number = read(text)
    return int(number) if number.is_integer() and "." not in text else number


def _mode(text: str) -> Json:
    word, _, key = text.partition(":")
    if word == "by" and key:
        return {"by": key}
    if text not in _MODES:
        hint = f"one of {', '.join(_MODES)}, by:KEY"
        raise InvalidInput(Problem("BK508", f"--array: there is no mode {text!r}", hint))
    return text


def _field(text: str, method: str | None) -> dict[str, Json]:
    """`exact`, or `semantic:judge`."""
    kind, _, how = text.partition(":")
    if kind not in _TYPES or (how and kind != "semantic"):
        raise InvalidInput(
            Problem("BK508", f"--field: {text!r} is not a type", f"one of {', '.join(_TYPES)}")
        )
    if kind != "semantic":
        return {"type": kind}
    how = OLD_NAMES.get(how, how)
    if how and how not in PURPOSE:
        hint = f"one of {', '.join(PURPOSE)}"
        raise InvalidInput(Problem("BK508", f"--field: there is no method {how!r}", hint))
    if not how and method is None:
        what = "--field: it is not stated how texts are compared"
        raise InvalidInput(Problem("BK206", what, f"semantic:METHOD, one of {_METHODS}"))
    return {"type": kind, "method": how} if how else {"type": kind}


def _limit(option: str, text: str, absolute: str) -> tuple[str, Json]:
    """`2.5` or `3x`."""
    digits, name = (text[:-1], "max_ratio") if text.endswith("x") else (text, absolute)
    if not re.fullmatch(r"\d+(\.\d+)?", digits):
        raise InvalidInput(
            Problem("BK508", f"{option} {text!r} is not a limit", "a number, or a multiple: 2x")
        )
    return name, _number(digits)


def execution_of(
    options: GradingOptions, collect: Sequence[str], group: str, project: Project
) -> dict[str, Json]:
    """The part of `execution:` that says what of the answer is stored, and how it is graded."""
    execution: dict[str, Json] = {}
    if collect:
        execution["collect"] = list(dict.fromkeys(collect))
    if options.scores:
        execution["scores"] = {"rubric": _rubric(options.scores, group, project)}
        if options.scored_by:
            execution["scores"]["model"] = options.scored_by
    elif options.scored_by:
        raise InvalidInput(Problem("BK508", "--scored-by needs something to grade by", "add --scores RUBRIC"))
    return execution


def _rubric(texts: tuple[str, ...], group: str, project: Project) -> Json:
    if len(texts) == 1 and os.path.isfile(os.path.join(project.cwd, texts[0])):
        return project.way_back(group, texts[0])
    if len(texts) == 1 and "=" not in texts[0]:
        hint = "name a file of criteria, or --scores 'clarity=Can a newcomer follow it?'"
        raise InvalidInput(Problem("BK508", f"there is no file {texts[0]!r}", hint))
    return parse_pairs("--scores", texts, "NAME=WHAT IS MEANT")
