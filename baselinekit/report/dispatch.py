"""All that is rendered and read: reports in every form (forms/table.py), and what commands print besides.

A module is imported when it is asked for: a run that only prints pays for none of them. Nor for the words
that it has no use for, which here are types only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.report.forms.table import ANNOTATIONS, form_of
from baselinekit.report.style import Style
from baselinekit.report.wording import checking, lies_in, renewable, seeing, typed

if TYPE_CHECKING:
    from baselinekit.model.changes import (
        Applied,
        Change,
        Decision,
        Member,
        Offers,
        RefreshPlan,
        RefreshProposal,
        Rewritten,
        Scene,
        Verb,
    )
    from baselinekit.model.evals import Judged
    from baselinekit.model.grades import Attempt
    from baselinekit.model.history import History
    from baselinekit.model.ratings import Agreement, Sheet, Standing

__all__ = ["ANNOTATIONS", "checking", "form_of", "lies_in", "renewable", "seeing", "typed"]


def render(report: Report, path: str) -> str:
    """The report in the form that the path asks for."""
    return form_of(path)(report)


def read(text: str, file: str) -> Report:
    """The report that a result file holds; InvalidInput with the place of whatever is wrong in it."""
    from baselinekit.report import resultreader

    return resultreader.read(text, file)


def compact(report: Report) -> bytes:
    """The result file as a run keeps it for the next ones: without the outputs."""
    from baselinekit.report import resultfile

    return resultfile.compact(report)


def attempt_document(attempt: Attempt) -> dict[str, Json]:
    """An attempt at an eval case, as the result file has it."""
    from baselinekit.report import attempts

    return attempts.attempt_document(attempt)


def read_attempt(raw: Json) -> Attempt:
    """The same read back; InvalidInput where it is no such thing."""
    from baselinekit.report import attempts
    from baselinekit.report.fields import Reader

    wants = Reader()
    attempt = attempts.read_attempt(raw, (), wants)
    if attempt is None or wants.problems:
        raise InvalidInput(*wants.problems)
    return attempt


def without_details(report: Report) -> Report:
    """Without what graders noted and what came back."""
    from baselinekit.report.evals import terms

    return terms.without_details(report)


def eval_passed(report: Report, style: Style) -> str:
    """The eval cases that passed, each with what its graders say, for the terminal."""
    from baselinekit.report.evals import terms as gradelines

    return gradelines.passed(report, style)


def eval_skipped(report: Report, style: Style, verbose: bool) -> str:
    """Why eval cases were not run, for the terminal."""
    from baselinekit.report.evals import terms as skips

    return skips.skipped(report, style, verbose)


def eval_failures(report: Report, style: Style, verbose: bool) -> str:
    """The eval cases that did not pass, for the terminal."""
    from baselinekit.report.evals import terms

    return terms.all_failing(report, style, verbose)


def eval_metrics(report: Report, style: Style, verbose: bool) -> str:
    """The metrics of a run, a line each, for the terminal."""
    from baselinekit.report.evals import terms

    return terms.metric_lines(report, style, verbose)


def agreement_counted(one: Agreement) -> str:
    """How far a judge agrees with people, in a line."""
    from baselinekit.report import judges

    return judges.counted(one)


def gate_lines(judged: Judged, style: Style, verbose: bool) -> str:
    """What became of a gate, for the terminal."""
    from baselinekit.report.evals import phase

    return phase.lines(judged, style, verbose)


def gate_page(judged: Sequence[Judged]) -> str:
    """The same for the report of a phase, as Markdown."""
    from baselinekit.report.evals import phase

    return phase.markdown(judged)


def gate_json(judged: Sequence[Judged]) -> str:
    """The same for programs."""
    from baselinekit.report.evals import phase

    return phase.document(judged)


def complaints(problems: Sequence[Problem], folder: str) -> str:
    """What is wrong with the files, for the runner."""
    from baselinekit.report.forms import annotations

    return annotations.complaints(problems, folder)


def step_summary(report: Report, room: int) -> str:
    """The page for the summary of a step, in so many bytes."""
    from baselinekit.report.forms import markdown

    return markdown.summary(report, room)


def history_lines(history: History, style: Style, bars: bool, everything: bool) -> str:
    """Earlier runs, for the terminal."""
    from baselinekit.report import history as past

    return past.lines(history, style, bars, everything)


def history_json(history: History) -> str:
    """Earlier runs, for programs."""
    from baselinekit.report import history as past, values

    return values.page(past.document(history))


def history_page(history: History) -> str:
    """Earlier runs, for a browser."""
    from baselinekit.report.html import history as page

    return page.render(history)


def refresh_told(
    proposal: RefreshProposal, accepted: Sequence[Collection[int]], style: Style, verbose: bool
) -> str:
    """What a refresh would change, for the terminal."""
    from baselinekit.report import refreshing

    return refreshing.told(proposal, accepted, style, verbose)


def refresh_counted(plans: Sequence[RefreshPlan], accepted: Sequence[Collection[int]]) -> str:
    """How much that is, in one line."""
    from baselinekit.report import refreshing

    return refreshing.counted(plans, accepted)


def refresh_json(
    proposal: RefreshProposal,
    accepted: Sequence[Collection[int]],
    done: Collection[str],
    why: dict[str, Json],
) -> str:
    """The same for programs."""
    from baselinekit.report import refreshing, values

    return values.page(refreshing.document(proposal, accepted, done, why))


def change_lines(change: Change, style: Style, file: str) -> list[str]:
    """One change, for the terminal."""
    from baselinekit.report import refreshing

    return list(refreshing.change_lines(change, style, file))


def file_diff(rewritten: Rewritten, style: Style) -> str:
    """A file before and after, as a unified diff."""
    from baselinekit.report import refreshing as filediff

    return filediff.painted(rewritten, style)


def review_screen(scene: Scene, style: Style, rows: int) -> list[str]:
    """One question of a review, for a terminal of so many rows."""
    from baselinekit.report import reviewing

    return reviewing.screen(scene, style, rows)


def review_decided(members: Sequence[tuple[RefreshPlan, Change]], decision: Decision, style: Style) -> str:
    """What was just decided, in one line."""
    from baselinekit.report import reviewing

    return reviewing.decided(members, decision, style)


def review_counted(counts: Mapping[Verb, int], left: int, style: Style) -> str:
    """What became of everything, in one line."""
    from baselinekit.report import reviewing

    return reviewing.counted_verbs(counts, left, style)


def review_listing(proposal: RefreshProposal, style: Style) -> str:
    """What is pending, and the commands that decide it."""
    from baselinekit.report import reviewing as pendinglist

    return pendinglist.listing(proposal, style)


def review_json(proposal: RefreshProposal, offers: Mapping[Member, Offers]) -> str:
    """The same for programs."""
    from baselinekit.report import reviewing as pendinglist, values

    return values.page(pendinglist.document(proposal, offers))


def review_done_json(
    proposal: RefreshProposal, applied: Applied, counts: Mapping[Verb, int], left: Sequence[Member]
) -> str:
    """What became of the decisions, for programs."""
    from baselinekit.report import reviewing as pendinglist, values

    return values.page(pendinglist.done(proposal, applied, counts, left))


def rating_sheet(sheet: Sheet, place: str, style: Style) -> str:
    """One output that waits for a rating, with all that belongs to it."""
    from baselinekit.report.evals import rating

    return rating.sheet(sheet, place, style)


def rating_question(sheet: Sheet, number: int, typed: str, said: str, style: Style) -> list[str]:
    """What the rater is asked, and the keys."""
    from baselinekit.report.evals import rating

    return rating.question(sheet, number, typed, said, style)


def rating_note(about: str, typed: str, style: Style) -> list[str]:
    """A note that is being typed."""
    from baselinekit.report.evals import rating

    return rating.note(about, typed, style)


def rating_listing(standings: Sequence[Standing], style: Style) -> str:
    """What waits for people."""
    from baselinekit.report.evals import rating

    return rating.listing(standings, style)


def rating_json(standings: Sequence[Standing], wanted: Sequence[str], agreements: Sequence[Json]) -> str:
    """The same for programs."""
    from baselinekit.report import values
    from baselinekit.report.evals import rating

    document = {"items": rating.document(standings, wanted), "agreement": list(agreements)}
    return values.page(document)
