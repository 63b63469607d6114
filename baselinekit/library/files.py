"""Baselines from files, for scripts and notebooks: read, replayed, and set against what comes back."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypedDict, Unpack

from baselinekit.cli.clients import open_clients, with_models
from baselinekit.cli.entry import clock
from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.library.verdicts import Verdict
from baselinekit.model import baselines as model
from baselinekit.model.values import ABSENT, Json
from baselinekit.replaying.settings import Setting
from baselinekit.store import reading
from baselinekit.store.project import nearest_config, project_root
from baselinekit.workflow.context import Stop
from baselinekit.workflow.judging import compare_settled, observe
from baselinekit.workflow.loading import prepare
from baselinekit.workflow.project import CaptureEnvironment, Operator, open_project

_NAMED = 8


@dataclass(frozen=True)
class Baseline:
    """A baseline as it stands in a file of a project. `output`: the known-good one, with its placeholders as
    their texts; None where there is none yet."""

    id: str
    name: str | None
    output: Json
    file: str
    root: str
    stated: model.Baseline

    def __repr__(self) -> str:
        return f"<Baseline {self.id} of {os.path.join(self.root, self.file)}>"


class Asking(TypedDict, total=False):
    """Whom to ask, and with what: as --base-url, --environment, --var and --allow-exec."""

    base_url: str
    environment: str
    variables: Mapping[str, Json]
    allow_exec: bool


def load(path: str | os.PathLike[str], id: str | None = None) -> Baseline:
    """The baseline of a file; of one that holds several the one with this id."""
    full = os.path.abspath(os.fspath(path))
    folder = os.path.dirname(full)
    root = os.path.realpath(project_root(nearest_config(folder), folder))
    name = os.path.relpath(os.path.realpath(full), root)
    found = {one.id: one for one in reading.load([name], root)}
    if id is None and len(found) == 1:
        (id,) = found
    if id is None or id not in found:
        ids = ", ".join(list(found)[:_NAMED])
        what = f"{name} holds {len(found)} baselines" if id is None else f"there is no {id!r} in {name}"
        raise InvalidInput(Problem("BK509", what, nearest(id or "", found) or f"name one of them: {ids}"))
    stated = found[id]
    known = stated.baseline
    output = None if known is None or known.output is ABSENT else known.output
    return Baseline(id, stated.name, output, name, root, stated)


def replay(baseline: Baseline, **asking: Unpack[Asking]) -> Json:
    """What comes back now, as a capture would store it before anything is learnt of it."""
    with _place(baseline, asking) as (setting, _):
        return observe(baseline.stated.current, setting).output


def check(baseline: Baseline, **asking: Unpack[Asking]) -> Verdict:
    """Replayed and compared. What could not be asked is an error, never a verdict; nothing is recorded."""
    with _place(baseline, asking) as (setting, here):
        ((stated, matcher),) = prepare(here, [baseline.stated])
        if matcher is None:
            what = f"{baseline.id} has no stored output"
            raise InvalidInput(Problem("BK223", what, f"baselinekit capture from {baseline.file}"))
        observation = observe(stated.current, setting)
        return Verdict(stated, compare_settled(matcher, observation, setting))


@contextmanager
def _place(baseline: object, asking: Asking) -> Iterator[tuple[Setting, CaptureEnvironment]]:
    """The project of a baseline, with clients that are open until this ends."""
    if not isinstance(baseline, Baseline):
        what = f"expected a baseline, found a {type(baseline).__name__}"
        raise InvalidInput(Problem("BK105", what, "what load(…) gives: check(load('baselines/users.yaml'))"))
    operator = Operator(cwd=baseline.root, environ=os.environ, now=clock()(), work=time.thread_time, **asking)
    with open_clients(clock(), None, Stop()) as context:
        project = open_project(operator)
        context = with_models(context, project)
        yield (
            project.setting_of(baseline.stated, context.clients),
            CaptureEnvironment(project, context.clients),
        )
