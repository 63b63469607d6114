"""What of an attempt goes into the journal of a run, so that a later run can tell of it as its own."""

import dataclasses
from collections.abc import Sequence
from contextlib import suppress

from baselinekit import __version__
from baselinekit.errors import InvalidInput, NotRecorded
from baselinekit.evals.casechecks import Prepared
from baselinekit.evals.caseresults import Told, fingerprint
from baselinekit.model.evals import Case
from baselinekit.model.results import Spot
from baselinekit.model.values import ABSENT, Json
from baselinekit.report import dispatch as reports
from baselinekit.suites.journal import Journal, name_of
from baselinekit.workflow.project import Project

Key = tuple[str, int]
"""A case by its id, and the number of the attempt."""

_SIDES = ("expected", "actual")
_FINISHED = {"finished": True}


def key_of(
    project: Project, suite: str, cases: Sequence[Prepared], attempts: int, retries: Sequence[int]
) -> str:
    """The same for two runs that would make the same attempts: of the same cases, by the same graders, with
    the same settings and files. What a run records in a file is not among them."""
    told = [(one.case.id, fingerprint(one)) for one in cases]
    around = (
        project.override_base_url,
        project.base_url,
        project.environment,
        sorted(map(repr, project.scope.values.items())),
        sorted(map(repr, project.models.items())),
        sorted(map(repr, project.config.skills.items())),
    )
    return name_of(__version__, suite, repr(told), repr(around), str(attempts), repr(list(retries)))


class Memory:
    """What was finished before, and what is finished now. `was_finished`: all of it, as a run of a plan that
    goes on."""

    def __init__(self, journal: Journal | None, go_on: bool):
        self._journal = journal
        self._known: dict[Key, tuple[Told, int | None]] = {}
        self.was_finished = False
        for entry in journal.begin(go_on) if journal else ():
            if entry == _FINISHED:
                self.was_finished = True
                continue
            with suppress(InvalidInput, KeyError, TypeError, ValueError):  # not ours: then it is made again
                key = (entry["id"], entry["attempt"]["number"])
                self._known[key] = (_told(entry), entry.get("failures"))

    def __len__(self) -> int:
        return len(self._known)

    def known(self, case: Case, number: int) -> Told | None:
        """The attempt, where it was finished before."""
        found = self._known.get((case.id, number))
        return found[0] if found else None

    def is_recorded(self, case: Case) -> bool:
        """Whether the earlier run has already written a failure into the file of the case."""
        found = self._known.get((case.id, 1))
        known = case.baseline
        return found is not None and known is not None and known.metadata.failure_count != found[1]

    def add(self, case: Case, told: Told) -> None:
        if self._journal is not None:
            self._journal.add(_entry(case, told))

    def finish(self) -> None:
        """The run is done, and what it belongs to is not: whoever goes on with that has it from here."""
        if self._journal is not None and not self.was_finished:
            with suppress(NotRecorded):  # then it is made again
                self._journal.add(_FINISHED)

    def forget(self) -> None:
        if self._journal is not None:
            self._journal.forget()

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()


class Lasting:
    """The journals of the runs of one plan. They stay until all of it is done, so that whoever goes on with
    it asks nothing of the runs that have come to their end. `taken`: the last run was had from its journal;
    `resumed`: something of the plan was."""

    def __init__(self) -> None:
        self.taken = self.resumed = False
        self._finished: list[Memory] = []

    def begun(self, memory: Memory) -> None:
        self.taken = memory.was_finished
        self.resumed |= len(memory) > 0

    def finished(self, memory: Memory) -> None:
        memory.finish()
        self._finished.append(memory)

    def forget(self) -> None:
        """All of the plan is done."""
        for memory in self._finished:
            memory.forget()


def _entry(case: Case, told: Told) -> dict[str, Json]:
    entry: dict[str, Json] = {"id": case.id, "attempt": reports.attempt_document(told.attempt)}
    if case.baseline is not None:
        entry["failures"] = case.baseline.metadata.failure_count
    if told.spots:
        entry |= {"spots": [_spot(spot) for spot in told.spots], "count": told.count}
    if told.drift:
        entry["drift"] = {name: list(sides) for name, sides in told.drift.items()}
    return entry


def _told(entry: dict[str, Json]) -> Told:
    spots = tuple(_read_spot(one) for one in entry.get("spots", ()))
    drift = {name: (was, now) for name, (was, now) in entry.get("drift", {}).items()}
    return Told(reports.read_attempt(entry["attempt"]), spots, entry.get("count", 0), drift)


def _spot(spot: Spot) -> dict[str, Json]:
    raw = {field.name: getattr(spot, field.name) for field in dataclasses.fields(spot)}
    raw |= {"path": list(spot.path), "at": list(spot.at)}
    return {name: value for name, value in raw.items() if value is not ABSENT}


def _read_spot(raw: dict[str, Json]) -> Spot:
    sides = {side: raw.get(side, ABSENT) for side in _SIDES}
    return Spot(**{**raw, **sides, "path": tuple(raw["path"]), "at": tuple(raw["at"])})
