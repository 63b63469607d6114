"""What a capture has to tell: what was written where, and what it learnt of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from baselinekit.errors import Place, Problem
from baselinekit.model.values import Json, Path
from baselinekit.paths import render
from baselinekit.refresh.learning import Volatile
from baselinekit.refresh.volatile import Refusal
from baselinekit.store import baselines as store
from baselinekit.workflow.compare import load
from baselinekit.workflow.learning import Taught
from baselinekit.workflow.project import Project


@dataclass(frozen=True, slots=True)
class Learnt:
    """A path that varies, what stands there now, and where in the file."""

    found: Volatile
    place: Place | None


@dataclass(frozen=True, slots=True)
class Unlearnt:
    """A path that varies and that nothing stands for, so that a compare will fail there."""

    found: Refusal
    place: Place | None

    @property
    def problem(self) -> Problem:
        what = f"{render(self.found.path)} varies: {self.found.what}"
        return Problem("BK527", what, self.found.mend, self.place)


@dataclass(frozen=True, slots=True)
class Captured:
    """What was written."""

    id: str
    file: str
    output: Json
    seconds: float
    notes: tuple[str, ...] = ()
    replays: int = 1
    learnt: tuple[Learnt, ...] = ()
    unlearnt: tuple[Unlearnt, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What is to be written, and what there is to say of it."""

    output: Json
    mapping: dict[str, Json]
    seconds: float
    notes: tuple[str, ...]
    replays: int
    taught: Taught


def captured(project: Project, id: str, file: str, found: Found) -> Captured:
    """What there is to tell, each place with its line in the file that was written."""
    volatile, refusals = found.taught.volatile, found.taught.refusals
    paths = (*(one.places[0] for one in volatile), *(one.path for one in refusals))
    places = _places(project, id, file, paths)
    return Captured(
        id,
        file,
        found.output,
        found.seconds,
        found.notes,
        found.replays,
        tuple(map(Learnt, volatile, places)),
        tuple(map(Unlearnt, refusals, places[len(volatile) :])),
    )


def _places(project: Project, id: str, file: str, paths: Sequence[Path]) -> list[Place | None]:
    if not paths:
        return []
    written = next(one for one in load(project, [f"{project.root}/{file}"]) if one.id == id)
    wanted: list[Path] = [("baseline", "output", *path) for path in paths]
    return list(store.locate_each([(written.source, wanted)], project.root)[0])
