"""What `capture` tells at its end: placeholders learnt, and hosts that the configuration has to allow."""

import json
from collections.abc import Iterator, Sequence

import click

from baselinekit.cli import screen
from baselinekit.cli.capture_options import StoringOptions
from baselinekit.errors import BaselinekitError, CannotReplay
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json
from baselinekit.replay.client import addresses_soon
from baselinekit.store.writing import name_origin
from baselinekit.texts import already_masked, clipped
from baselinekit.tree.paths import render
from baselinekit.workflow import capture
from baselinekit.workflow.capture import Captured, Learnt
from baselinekit.workflow.project import Project

# What `capture --repeat` learnt, as it is shown: each path that varies, what stands for it now, and why.


_MOST_PATHS = 40
_MOST_VALUES = 3
_LONGEST_VALUE = 38


def lines(one: Captured) -> Iterator[str]:
    """What there is to say below the line of a baseline that was captured."""
    if one.replays == 1:
        return
    count = len(one.learnt) + len(one.unlearnt)
    varies = f"{count} path{'s' * (count != 1)} var{'y' if count != 1 else 'ies'}" if count else "they agree"
    unlearnt = f", {len(one.unlearnt)} of them without a placeholder" if one.unlearnt else ""
    yield f"  {one.replays} replays: {varies}{unlearnt}"
    for learnt in one.learnt[:_MOST_PATHS]:
        yield from _describe(learnt)
    if len(one.learnt) > _MOST_PATHS:
        yield f"  … and {len(one.learnt) - _MOST_PATHS:,} more"


def _describe(learnt: Learnt) -> Iterator[str]:
    found = learnt.found
    rows = f" in {len(found.places)} rows" if len(found.places) > 1 else ""
    place = f"   {learnt.place.file}:{learnt.place.line}" if learnt.place else ""
    yield screen.safe_line(f"  {render(found.path)}{rows}  {found.proposal.text}{place}")
    values = ", ".join(_short(value) for value in found.values[:_MOST_VALUES])
    more = ", …" if len(found.values) > _MOST_VALUES else ""
    yield screen.safe_line(f"    {found.proposal.reason}: {values}{more}")


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return clipped(text, _LONGEST_VALUE, already_masked, counted=False)


def refusals(captured: Sequence[Captured]) -> list[BaselinekitError]:
    """What varies and could not be learnt. The file is there, with a compare that will fail there."""
    problems = [unlearnt.problem for one in captured for unlearnt in one.unlearnt]
    return [CannotReplay(*problems)] if problems else []


def document(one: Captured) -> dict[str, Json]:
    """The same for programs."""
    about: dict[str, Json] = {"id": one.id, "file": one.file, "seconds": round(one.seconds, 3)}
    if one.replays == 1:
        return about
    return about | {
        "replays": one.replays,
        "volatile": [
            {
                "path": render(learnt.found.path),
                "placeholder": learnt.found.proposal.text,
                "reason": learnt.found.proposal.reason,
                "values": list(learnt.found.values[:_MOST_VALUES]),
                "places": [render(place) for place in learnt.found.places],
                "line": learnt.place.line if learnt.place else None,
            }
            for learnt in one.learnt
        ],
        "refused": [
            {
                "path": render(unlearnt.found.path),
                "kind": unlearnt.found.kind,
                "what": unlearnt.found.what,
                "mend": unlearnt.found.hint,
                "line": unlearnt.place.line if unlearnt.place else None,
            }
            for unlearnt in one.unlearnt
        ],
    }


# capture --allow: the configuration names the hosts of new baselines, or it is said what CI would refuse.


def unnamed_origins(project: Project, recipes: Sequence[Recipe]) -> list[str]:
    """Where they go, as far as the configuration does not name it."""
    return capture.unnamed_origins(project, recipes, addresses_soon)


def offer(project: Project, recipes: Sequence[Recipe], allow: bool, options: StoringOptions) -> None:
    """Name them where the operator says so, now or at the terminal; else say how."""
    for origin in unnamed_origins(project, recipes):
        if allow or (not options.is_silent and _is_confirmed(origin)):
            written = name_origin(project.root, project.config_file, origin)
            if not options.is_silent:
                screen.line(screen.safe_line(f"wrote {written}: CI may send requests there too"))
        elif not options.is_silent:
            what = f"note: in CI {origin} gets requests only if baselinekit.yaml names it"
            how = f"`variables: {{internal_url: {origin}}}`"
            screen.line(screen.safe_line(f"{what}: capture --allow writes that, such as {how}"))


def _is_confirmed(origin: str) -> bool:
    """One key, where somebody is there to press it."""
    question = f"in CI {origin} must be named in baselinekit.yaml: add it now?"
    return screen.can_ask() and click.confirm(screen.safe_line(question), default=True)
