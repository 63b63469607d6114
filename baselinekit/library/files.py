"""Load baselines from files, replay them and compare the output with them, for scripts and notebooks."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypedDict, Unpack

from baselinekit.cli.clients import open_clients, with_models
from baselinekit.cli.entry import clock
from baselinekit.commands.context import Stop
from baselinekit.commands.judging import compare_settled, observe, prepare
from baselinekit.commands.project import CaptureEnvironment, Operator, open_project
from baselinekit.errors import InvalidInput, Problem, suggest
from baselinekit.kinds.settings import Setting
from baselinekit.library.verdicts import Verdict
from baselinekit.model import baselines as model
from baselinekit.model.values import ABSENT, Json
from baselinekit.store import reading
from baselinekit.store.project import nearest_config, project_root
from baselinekit.structs import Struct

_MOST_IDS_NAMED = 8


class Baseline(Struct):
    """A baseline read from a file of a project. `output`: the known-good output, with placeholders as their
    texts; None if there is none yet."""

    id: str
    name: str | None
    output: Json
    file: str
    root: str
    stated: model.Baseline

    def __repr__(self) -> str:
        return f"<Baseline {self.id} of {os.path.join(self.root, self.file)}>"


class Asking(TypedDict, total=False):
    """Options of a replay, the same as --base-url, --environment, --var and --allow-exec."""

    base_url: str
    environment: str
    variables: Mapping[str, Json]
    allow_exec: bool


def load(path: str | os.PathLike[str], id: str | None = None) -> Baseline:
    """Return the baseline in a file, or the one with this id if the file holds several."""
    full = os.path.abspath(os.fspath(path))
    folder = os.path.dirname(full)
    root = os.path.realpath(project_root(nearest_config(folder), folder))
    name = os.path.relpath(os.path.realpath(full), root)
    baselines = {baseline.id: baseline for baseline in reading.load([name], root)}
    if id is None and len(baselines) == 1:
        (id,) = baselines
    if id is None or id not in baselines:
        ids = ", ".join(list(baselines)[:_MOST_IDS_NAMED])
        message = f"there is no {id!r} in {name}" if id else f"{name} holds {len(baselines)} baselines"
        hint = suggest(id or "", baselines) or f"name one of them: {ids}"
        raise InvalidInput(Problem("BK509", message, hint))
    baseline = baselines[id]
    stored = baseline.baseline
    output = None if stored is None or stored.output is ABSENT else stored.output
    return Baseline(id, baseline.name, output, name, root, baseline)


def replay(baseline: Baseline, **asking: Unpack[Asking]) -> Json:
    """Return the current output, as a capture would store it before learning from further responses."""
    with _open_setting(baseline, asking) as (setting, _):
        return observe(baseline.stated.current, setting).output


def check(baseline: Baseline, **asking: Unpack[Asking]) -> Verdict:
    """Replay and compare. A replay that fails raises an error and gives no verdict; nothing is recorded."""
    with _open_setting(baseline, asking) as (setting, environment):
        prepared, matcher = prepare(environment, baseline.stated)
        observation = observe(prepared.current, setting)
        return Verdict(prepared, compare_settled(matcher, observation, setting))


@contextmanager
def _open_setting(baseline: object, asking: Asking) -> Iterator[tuple[Setting, CaptureEnvironment]]:
    """Open the project of a baseline, with clients that stay open inside the `with` block."""
    if not isinstance(baseline, Baseline):
        message = f"expected a baseline, found a {type(baseline).__name__}"
        hint = "what load(…) gives: check(load('baselines/users.yaml'))"
        raise InvalidInput(Problem("BK105", message, hint))
    operator = Operator(cwd=baseline.root, environ=os.environ, now=clock()(), work=time.thread_time, **asking)
    with open_clients(clock(), None, Stop()) as context:
        project = open_project(operator)
        context = with_models(context, project)
        environment = CaptureEnvironment(project, context.clients)
        yield project.setting_of(baseline.stated, context.clients), environment
