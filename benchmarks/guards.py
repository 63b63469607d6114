"""What the guards cost in a run of 1,000 ordinary baselines. Each guarded step beside the same step bare,
on the data of that run; then all of it together, as a part of what the whole run costs.

Bare: a file is opened and read; libyaml's events become values with no limit on depth, aliases, nodes, tags
and repeated keys; the answer is json.loads; a request is sent by httpx, with no limit of size and no deadline
for all of it. So some of what is counted as a guard is a feature: the cost that is told is the most that it
can be."""

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import yaml

from baselinekit.clients.http import Client
from baselinekit.files.jsontext import decode
from baselinekit.files.languages import YAML
from baselinekit.model.recipes import Request
from baselinekit.store.project import read
from benchmarks import data
from benchmarks.measure import Engine, Say, Times, about, in_turn, inside, median
from benchmarks.replay import comparing
from benchmarks.results import Found, Note, Row, Scale, Versus
from benchmarks.server import serving

WHOLE = "compare --no-record"
PARSER: Any = vars(yaml.cyaml)["CParser"]
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_WORDS = {"null": None, "true": True, "false": False}
STEPS = {
    "open and read the files": "plain open",
    "YAML to values": "bare events to values",
    "JSON of the answers": "json.loads",
    "the requests": "bare httpx client",
}


def rows(scale: Scale, say: Say) -> Found:
    count = scale.pick(20, 1_000)
    with TemporaryDirectory() as folder:
        made = data.project(Path(folder), count)
        Path(folder).chmod(0o755)
        with serving(made.answers) as server:
            data.configure(made, server.url)
            engines = [comparing(WHOLE, made, ["--no-record"], lambda: None), *_pairs(made, server.url)]
            times = in_turn(engines, scale.rounds, about(say, f"{count:,} baselines"))
    for step, peer in STEPS.items():
        yield Versus(times).row(f"{step}, {count:,} times", step, peer)
    yield _together(times, count, scale)
    yield Note("What is quicker than its bare peer counts as no cost, not as a gain.")


def _together(times: Times, count: int, scale: Scale) -> Row:
    run = median(times[WHOLE])
    cost = sum(max(0.0, median(times[step]) - median(times[peer])) for step, peer in STEPS.items())
    what = f"all guards, in a run of {count:,}"
    short = f"All guards together, in a run of {count:,} baselines"
    ratio = run / (run - cost)
    rounds = scale.rounds
    return Row(what, run, "the same run without", run - cost, ratio, rounds=rounds, goal=1.15, short=short)


def _pairs(made: data.Project, url: str) -> Sequence[Engine]:
    root, names = str(made.root), made.files
    paths = [os.path.join(root, name) for name in names]
    texts = [Path(path).read_text("utf-8") for path in paths]
    plain = [data.baseline(n, loose=True) for n in range(made.count)]
    answers = [(made.answers / f"{n}.json").read_text("utf-8") for n in range(made.count)]
    values = [json.loads(answer) for answer in answers]
    raw = [text.encode() for text in texts]
    bodies = [answer.encode() for answer in answers]
    addresses = [f"{url}/{n}.json" for n in range(made.count)]
    return [
        _each("open and read the files", lambda name: read(root, name), names, raw),
        _each("plain open", _opened, paths, raw),
        _each("YAML to values", lambda text: YAML.load(text, "x")[0], texts, plain),
        _each("bare events to values", _bare, texts, plain),
        _each("JSON of the answers", decode, answers, values),
        _each("json.loads", json.loads, answers, values),
        _through_our_door(addresses, bodies),
        _through_bare_httpx(addresses, bodies),
    ]


def _each(name: str, step: Callable[[str], Any], given: Sequence[str], wanted: list[Any]) -> Engine:
    return inside(
        name, lambda _: [step(one) for one in given], lambda found: bool(found == wanted), at_most=1e9
    )


def _through_our_door(addresses: Sequence[str], bodies: list[bytes]) -> Engine:
    def run(_: Any) -> list[bytes]:
        client = Client()
        try:
            return [client.send(Request("GET", address)).body for address in addresses]
        finally:
            client.close()

    return inside("the requests", run, lambda found: bool(found == bodies), at_most=1e9)


def _through_bare_httpx(addresses: Sequence[str], bodies: list[bytes]) -> Engine:
    def run(_: Any) -> list[bytes]:
        with httpx.Client() as client:
            return [client.get(address).content for address in addresses]

    return inside("bare httpx client", run, lambda found: bool(found == bodies), at_most=1e9)


def _opened(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _bare(text: str) -> Any:
    """Events to values as a hand would write it: the same types, and no guard at all."""
    get = PARSER(text).get_event
    stack: list[tuple[Any, Any]] = []
    box: Any = []
    key: Any = None
    while True:
        event = get()
        kind = event.__class__
        if kind is yaml.ScalarEvent:
            value = event.value
            if not event.style:
                if value in _WORDS:
                    value = _WORDS[value]
                elif value[0] in "-0123456789" and _NUMBER.fullmatch(value):
                    value = float(value) if "." in value else int(value)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            stack.append((box, key))
            box, key = ({} if kind is yaml.MappingStartEvent else []), None
            continue
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            value = box
            box, key = stack.pop()
        elif kind is yaml.StreamEndEvent:
            return box[0]
        else:
            continue
        if box.__class__ is list:
            box.append(value)
        elif key is None:
            key = value
        else:
            box[key] = value
            key = None
