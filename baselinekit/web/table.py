"""What each request of the page is answered with."""

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b

from baselinekit.commands.context import RunContext
from baselinekit.commands.project import Project
from baselinekit.commands.refresh import RefreshScope
from baselinekit.errors import BaselinekitError
from baselinekit.evals.rating import Queue
from baselinekit.model.values import Json
from baselinekit.web.rate import RateDesk
from baselinekit.web.review import ReviewDesk
from baselinekit.web.runs import RunsDesk
from baselinekit.web.server import Download, Endpoint, Person, Table


class Desks:
    """The parts of the page, for one project. `people`: the operator, and the raters with a link."""

    def __init__(
        self,
        project: Project,
        scope: RefreshScope,
        context: RunContext,
        now: Callable[[], float],
        people: Sequence[str],
        overlap: int | None,
    ):
        self.project, (self._operator, *raters) = project, people
        self.review = ReviewDesk(project, scope, context)
        self.rate = RateDesk(project, Queue(project, now), raters, overlap)
        self.runs = RunsDesk(
            project.root, [name for name, _ in scope.results], project.cwd, project.redactor.mask_said
        )

    def counts(self) -> dict[str, int]:
        """How much there is in each part."""
        try:
            changes = sum(len(plan.changes) for plan in self.review.propose().plans)
        except BaselinekitError:  # the page shows it
            changes = 0
        return {"review": changes, "rate": self.rate.waiting(self._operator), "runs": len(self.runs.names())}

    def about(self, person: Person, given: dict[str, Json]) -> Json:
        name = os.path.basename(os.path.realpath(self.project.root))
        return {
            "project": name,
            "id": blake2b(os.path.realpath(self.project.root).encode(), digest_size=6).hexdigest(),
            "name": person.name,
            "is_operator": person.is_operator,
            "counts": self.counts() if person.is_operator else {"rate": self.rate.waiting(person.name)},
        }


def table_of(desks: Desks) -> Table:
    review, rate, runs = desks.review, desks.rate, desks.runs

    def by_name(work: Callable[[str, dict[str, Json]], Json]) -> Endpoint:
        return Endpoint(lambda person, given: work(person.name, given), for_raters=True)

    return {
        ("GET", "about"): Endpoint(desks.about, for_raters=True),
        ("GET", "review"): Endpoint(lambda person, given: review.document(review.propose())),
        ("POST", "review/diff"): Endpoint(lambda person, given: review.preview(given)),
        ("POST", "review/write"): Endpoint(lambda person, given: review.write(given)),
        ("GET", "rate"): by_name(lambda name, given: rate.queue(name)),
        ("GET", "rate/item"): Endpoint(
            lambda person, given: rate.item(person.name, given, person.is_operator), for_raters=True
        ),
        ("POST", "rate/rating"): Endpoint(
            lambda person, given: rate.rate(person.name, given, person.is_operator), for_raters=True
        ),
        ("POST", "rate/skip"): by_name(rate.skip),
        ("POST", "rate/undo"): by_name(rate.undo),
        ("GET", "rate/agreement"): Endpoint(
            lambda person, given: rate.agreement(person.name, person.is_operator), for_raters=True
        ),
        ("POST", "rate/gold"): Endpoint(lambda person, given: rate.make_gold(given)),
        ("GET", "rate/ratings.csv"): Endpoint(
            lambda person, given: Download("ratings.csv", rate.table(), "text/csv")
        ),
        ("GET", "rate/labels.yaml"): Endpoint(
            lambda person, given: Download("labels.yaml", rate.labels(), "application/yaml")
        ),
        ("GET", "runs"): Endpoint(lambda person, given: runs.list()),
        ("GET", "runs/rows"): Endpoint(lambda person, given: runs.rows(given)),
        ("GET", "runs/case"): Endpoint(lambda person, given: runs.case(given)),
        ("GET", "runs/compare"): Endpoint(lambda person, given: runs.compare(given)),
        ("POST", "rate/import"): Endpoint(lambda person, given: rate.take(given), takes_file=True),
    }
