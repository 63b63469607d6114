"""How a new baseline is to be compared, as it is typed after `capture`: its `comparison:`."""

import re
from collections.abc import Callable
from typing import Any

import click

from baselinekit.cli import options
from baselinekit.errors import InvalidInput, Problem
from baselinekit.methods import OLD_NAMES, PURPOSE
from baselinekit.model.values import Json

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
        mend = "as in price=0.05, score=-0.3 or total=5%"
        raise InvalidInput(Problem("BK508", f"--tolerance {text!r} is no number", mend))
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
        mend = f"one of {', '.join(_MODES)}, by:KEY"
        raise InvalidInput(Problem("BK508", f"--array: there is no mode {text!r}", mend))
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
        mend = f"one of {', '.join(PURPOSE)}"
        raise InvalidInput(Problem("BK508", f"--field: there is no method {how!r}", mend))
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
