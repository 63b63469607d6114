"""The options of `capture` that say how the new baseline is named, compared and graded."""

import os
import re
from collections.abc import Callable
from typing import Any

import click

from baselinekit.cli import options
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.comparison import OLD_NAMES, PURPOSE
from baselinekit.model.values import Json
from baselinekit.workflow.capture import Wishes
from baselinekit.workflow.project import Project

# How a new baseline is to be compared, as it is typed after `capture`: its `comparison:`.


_TYPES = ("exact", "structural", "numeric", "semantic")
_MODES = ("ordered", "unordered", "subset", "each")
_METHODS = "; ".join(f"{name} ({purpose})" for name, purpose in PURPOSE.items())
_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<digits>\d+(?:\.\d+)?)(?P<percent>%?)")


def rule_options(command: click.decorators.FC) -> click.decorators.FC:
    """What counts as the same."""
    for option in reversed(
        [
            click.option("--type", "type", type=click.Choice(_TYPES)),
            click.option(
                "--ignore", "ignore", metavar="PATH", multiple=True, help="Leave this out of the comparison."
            ),
            click.option(
                "--tolerance",
                "tolerance",
                metavar="PATH=NUMBER",
                multiple=True,
                help="How far a number may move; -0.3: only so far down, +2: only so far up, 5%: by a part.",
            ),
            click.option(
                "--field",
                "fields",
                metavar="PATH=TYPE",
                multiple=True,
                help="Another type below a path; semantic:METHOD for texts.",
            ),
            click.option(
                "--array",
                "arrays",
                metavar="PATH=MODE",
                multiple=True,
                help=f"How the rows of an array are paired: {', '.join(_MODES)}, by:KEY.",
            ),
            click.option(
                "--method",
                type=click.Choice(["judge", "words", "embedding", "lexical"]),
                help="Texts by what they say: judge (facts), words (near-verbatim), embedding (topic).",
            ),
            click.option(
                "--min-similarity",
                type=click.FloatRange(0, 1),
                metavar="0..1",
                help="How alike they must be at least; makes the type semantic.",
            ),
            click.option(
                "--latency",
                metavar="LIMIT",
                multiple=True,
                help="Fail over so many seconds (2.5), or times what the capture took (3x).",
            ),
        ]
    ):
        command = option(command)
    return command


def cost_option(command: click.decorators.FC) -> click.decorators.FC:
    """Only what asks a model costs anything."""
    what = "Fail over so many dollars (0.01), or times what the capture cost (2x)."
    return click.option("--cost", metavar="LIMIT", multiple=True, help=what)(command)


def rules_of(given: dict[str, Any]) -> dict[str, Json]:
    """The `comparison:` as far as the command line says it."""
    rules: dict[str, Json] = {}
    if kind := _type(given):
        rules["type"] = kind
    if given["method"] is not None:
        rules["method"] = OLD_NAMES.get(given["method"], given["method"])
    elif kind == "semantic":
        raise InvalidInput(Problem("BK206", "nothing says how texts are compared", f"--method: {_METHODS}"))
    if given["min_similarity"] is not None:
        rules["min_similarity"] = given["min_similarity"]
    if given["ignore"]:
        rules["ignore_fields"] = list(given["ignore"])
    if given["tolerance"]:
        bounds = options.pairs("--tolerance", given["tolerance"], "PATH=NUMBER")
        rules["tolerance"] = {path: _bound(text) for path, text in bounds.items()}
    if given["fields"]:
        pairs = options.pairs("--field", given["fields"], "PATH=TYPE")
        rules["fields"] = {path: _field(text, given["method"]) for path, text in pairs.items()}
    if given["arrays"]:
        modes = options.pairs("--array", given["arrays"], "PATH=MODE")
        rules["arrays"] = {path: _mode(text) for path, text in modes.items()}
    for option, absolute in (("latency", "max_seconds"), ("cost", "max_usd")):
        if given.get(option):
            rules[option] = dict(_limit(f"--{option}", text, absolute) for text in given[option])
    return rules


def _type(given: dict[str, Any]) -> str | None:
    """Who says how texts are compared wants them compared so; who wants scores wants numbers compared."""
    stated: str | None = given["type"]
    semantic = given["method"] is not None or given["min_similarity"] is not None
    if semantic and stated not in (None, "semantic"):
        what = f"--type {stated} compares no texts by what they say"
        raise InvalidInput(Problem("BK508", what, "leave out --type, or --method and --min-similarity"))
    return stated or ("semantic" if semantic else "numeric" if given.get("scores") else None)


def _bound(text: str) -> dict[str, Json]:
    found = _NUMBER.fullmatch(text.strip())
    if found is None or (found["sign"] and found["percent"]):
        hint = "as in price=0.05, score=-0.3 or total=5%"
        raise InvalidInput(Problem("BK508", f"--tolerance {text!r} is no number", hint))
    if found["percent"]:
        return {"rel": _number(found["digits"], lambda digits: float(digits) / 100)}
    name = {"-": "min_delta", "+": "max_delta", "": "abs"}[found["sign"]]
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
        raise InvalidInput(Problem("BK508", f"--field: {text!r} is no type", f"one of {', '.join(_TYPES)}"))
    if kind != "semantic":
        return {"type": kind}
    how = OLD_NAMES.get(how, how)
    if how and how not in PURPOSE:
        hint = f"one of {', '.join(PURPOSE)}"
        raise InvalidInput(Problem("BK508", f"--field: there is no method {how!r}", hint))
    if not how and method is None:
        what = "--field: nothing says how texts are compared"
        raise InvalidInput(Problem("BK206", what, f"semantic:METHOD, one of {_METHODS}"))
    return {"type": kind, "method": how} if how else {"type": kind}


def _limit(option: str, text: str, absolute: str) -> tuple[str, Json]:
    """`2.5` or `3x`."""
    digits, name = (text[:-1], "max_ratio") if text.endswith("x") else (text, absolute)
    if not re.fullmatch(r"\d+(\.\d+)?", digits):
        raise InvalidInput(Problem("BK508", f"{option} {text!r} is no limit", "a number, or times: 2x"))
    return name, _number(digits)


# What one who captures wants of the new baseline: its name, its rules, its placeholders.


def new_baseline_options(command: click.decorators.FC) -> click.decorators.FC:
    """What a new baseline is called, and how it is to be compared."""
    command = rule_options(command)
    for option in reversed(
        [
            click.option("--id", "id", metavar="ID", help="Its name; else made from what is asked."),
            click.option("--group", metavar="FOLDER", help="The folder below baselines/ that it goes to."),
            click.option("--name", help="A title for people."),
            click.option("--description", help="What it protects."),
            click.option("--tag", "tags", multiple=True, help="A tag to select it by."),
            click.option("--criticality", type=click.Choice(["critical", "high", "medium", "low"])),
        ]
    ):
        command = option(command)
    return command


def wish_options(command: click.decorators.FC) -> click.decorators.FC:
    for option in reversed(
        [
            click.option(
                "--placeholder",
                "placeholders",
                metavar="PATH=TEXT",
                multiple=True,
                help="Store <<any_uuid>> or the like at a path.",
            ),
            click.option(
                "--repeat",
                type=click.IntRange(1, 1000),
                default=1,
                show_default=True,
                metavar="N",
                help="Replay N times and store placeholders for what varies.",
            ),
            click.option("--version", "version", metavar="TEXT", help="The version of what is captured."),
            click.option("--allow-error-status", is_flag=True, help="Store a 5xx answer as known-good."),
            click.option("--allow-empty", is_flag=True, help="Store an empty answer of a model."),
            click.option("--allow-secrets", is_flag=True, help="Store what looks like a secret."),
            click.option("--json", "as_json", is_flag=True, help="Say what was captured as JSON."),
            click.option("-q", "--quiet", is_flag=True, help="Say nothing when all is well."),
        ]
    ):
        command = option(command)
    return command


def allow_option(command: click.decorators.FC) -> click.decorators.FC:
    help = "Name the hosts that it asks in baselinekit.yaml, so that CI asks them too."
    return click.option("--allow", is_flag=True, help=help)(command)


def record_of(given: dict[str, Any], default_id: str, current: dict[str, Any]) -> dict[str, Any]:
    """The new record as far as the command line says it: everything but the output."""
    record: dict[str, Any] = {"id": given["id"] or default_id}
    record |= {key: given[key] for key in ("name", "description") if given[key]}
    record["current"] = current
    record["comparison"] = rules_of(given)
    record["metadata"] = {key: given[key] for key in ("criticality",) if given[key]}
    if given["tags"]:
        record["metadata"]["tags"] = list(given["tags"])
    return record


def of(given: dict[str, Any]) -> Wishes:
    return Wishes(
        placeholders=options.pairs("--placeholder", given["placeholders"], "PATH=TEXT"),
        version=given["version"],
        group=given.get("group"),
        allow_error_status=given["allow_error_status"],
        allow_empty=given["allow_empty"],
        allow_secrets=given["allow_secrets"],
        repeat=given["repeat"],
    )


# What else is wanted of an answer, as it is typed after `capture prompt` and `capture skill`: grades for
# it, and its calls of tools.


def scores_option(command: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--scores",
        metavar="RUBRIC",
        multiple=True,
        help="Have a model grade the answer: NAME=WHAT IS MEANT, again and again, or a FILE that says so.",
    )(click.option("--scored-by", metavar="MODEL", help="The model that grades; else `judge`.")(command))


def collect_option(*parts: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    return click.option(
        "--collect",
        type=click.Choice(parts),
        multiple=True,
        help="Store these, by their names, instead of the bare answer.",
    )


def graded(given: dict[str, Any], group: str, project: Project) -> dict[str, Json]:
    """The part of `execution:` that these options make."""
    wanted: dict[str, Json] = {}
    if given["collect"]:
        wanted["collect"] = list(dict.fromkeys(given["collect"]))
    if given["scores"]:
        wanted["scores"] = {"rubric": _rubric(given["scores"], group, project)}
        if given["scored_by"]:
            wanted["scores"]["model"] = given["scored_by"]
    elif given["scored_by"]:
        raise InvalidInput(Problem("BK508", "--scored-by grades nothing", "say by what: --scores RUBRIC"))
    return wanted


def _rubric(texts: tuple[str, ...], group: str, project: Project) -> Json:
    if len(texts) == 1 and os.path.isfile(os.path.join(project.cwd, texts[0])):
        return project.way_back(group, texts[0])
    if len(texts) == 1 and "=" not in texts[0]:
        hint = "name a file of criteria, or --scores 'clarity=Can a newcomer follow it?'"
        raise InvalidInput(Problem("BK508", f"there is no file {texts[0]!r}", hint))
    return options.pairs("--scores", texts, "NAME=WHAT IS MEANT")
