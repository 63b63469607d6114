"""The queue of each rater, what a rating keeps, and how far raters agree."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import InvalidInput
from baselinekit.evals import agreement
from baselinekit.evals.rating import Queue, import_ratings
from baselinekit.metrics import krippendorff_alpha
from baselinekit.model.grades import Evaluators, HumanRating, RatingScale
from baselinekit.model.ratings import Gold, Rating, RatingItem, RatingView
from baselinekit.structs import replace
from baselinekit.suites.ratingtables import COLUMNS, dump_table
from baselinekit.web.rate import RateDesk

SCALES = {
    "likert": RatingScale(criteria=["warm", "short: in one line"]),
    "binary": RatingScale(type="binary"),
    "ranking": RatingScale(type="ranking", tie_allowed=True),
}


def item(number: int, scale: str = "likert", **more: Any) -> RatingItem:
    people = Evaluators(min_required=2, adjudicator="carol")
    shown = RatingView(
        f"Case {number}", "ask", output="# Hello *you*", items=("x", "y") if scale == "ranking" else ()
    )
    claims = ((1, 2),) if scale == "ranking" else ()
    method = HumanRating(rating_scale=SCALES[scale], evaluators=people)
    key, opened = f"{number:016x}", "2026-01-01T00:00:00Z"
    return RatingItem(key, f"case-{number}", scale, method, shown, opened, claims, **more)


class Office:
    """A queue in a folder, and its page for some raters."""

    def __init__(
        self, folder: Path, *items: RatingItem, raters: tuple[str, ...] = ("ada", "ben"), **more: Any
    ):
        (folder / "baselinekit.yaml").write_text("version: 1\n")
        self.queue = Queue(open_project(Operator(cwd=str(folder))), lambda: 1_700_000_000.0)
        for one in items:
            self.queue.ratings.enqueue(one)
        self.desk = RateDesk(self.queue.project, self.queue, raters, more.get("overlap"))

    def states(self, rater: str) -> dict[str, str]:
        return {row["case"]: row["state"] for row in self.desk.queue(rater)["items"]}

    def rate(self, rater: str, number: int, value: Any, **more: Any) -> Any:
        return self.desk.rate(rater, {"key": f"{number:016x}", "value": value, **more})


def test_queue_order_is_random_for_each_rater_and_stays(tmp_path: Path) -> None:
    office = Office(tmp_path, *map(item, range(20)))
    orders = {name: [*office.states(name)] for name in ("ada", "ben", "Ada ")}
    assert orders["ada"] == orders["Ada "] != orders["ben"]
    assert sorted(orders["ada"]) == sorted(orders["ben"])
    office.rate("ada", 7, [1, 1])
    assert [*office.states("ada")] == orders["ada"]


@pytest.mark.parametrize(("raters", "overlap"), [(3, 1), (3, 2), (5, 2), (2, 2)])
def test_overlap_gives_each_item_to_as_many_raters(tmp_path: Path, raters: int, overlap: int) -> None:
    names = tuple(f"rater {n}" for n in range(raters))
    items = [*map(item, range(60)), item(99, gold=Gold([1, 1]))]
    office = Office(tmp_path, *items, raters=(*names, "carol"), overlap=overlap)
    seen = [case for name in names for case in office.states(name)]
    assert {seen.count(f"case-{n}") for n in range(60)} == {overlap}
    assert (seen.count("case-99"), office.states("carol")) == (raters, {}), "carol adjudicates"
    share = 60 * overlap / raters
    assert all(share / 2 < len(office.states(name)) < share * 2 for name in names)


def test_ratings_of_others_are_hidden_until_the_own_one_is_kept(tmp_path: Path) -> None:
    office = Office(tmp_path, item(1))
    office.rate("ada", 1, [1, 2], note="cold")
    before = office.desk.item("ben", {"key": f"{1:016x}"})
    assert before["others"] == []
    assert "verdict" not in before
    assert office.desk.agreement("ben", False)["items"] == 0
    after = office.rate("ben", 1, [5, 5])
    assert after["others"] == [{"rater": "ada", "words": "1, 2", "note": "cold"}]
    assert office.desk.agreement("ben", False)["items"] == 1


def test_rating_with_notes_and_marks_is_kept_once_however_often_it_is_sent(tmp_path: Path) -> None:
    office = Office(tmp_path, item(1))
    mark = {"part": "output", "start": 2, "end": 7, "text": "Hello", "note": "good"}
    for _ in range(3):
        office.rate("ada", 1, [4, 5], notes={"warm": "very"}, marks=[mark], seconds=2.5)
    (status,) = office.queue.standings()
    (rating,) = status.item.ratings
    assert (rating.value, rating.notes, rating.marks[0].text) == ([4, 5], {"warm": "very"}, "Hello")
    with pytest.raises(InvalidInput, match="ada has already rated case-1: look at that rating"):
        office.rate("ada", 1, [1, 1])
    assert office.rate("ada", 1, [1, 1], again=True)["own"]["value"] == [1, 1]


def test_skip_needs_a_reason_and_undo_takes_back_what_was_done(tmp_path: Path) -> None:
    office = Office(tmp_path, item(1), item(2))
    key = f"{1:016x}"
    with pytest.raises(InvalidInput, match="without a reason"):
        office.desk.skip("ada", {"key": key, "reason": " "})
    office.desk.skip("ada", {"key": key, "reason": "no context"})
    assert [*office.states("ada").items()][-1] == ("case-1", "skipped")
    assert office.states("ben")["case-1"] == "open"
    office.desk.undo("ada", {"key": key, "skip": True})
    assert office.states("ada")["case-1"] == "open"
    office.rate("ada", 1, [1, 1])
    office.desk.undo("ada", {"key": key, "skip": True})
    assert office.states("ada")["case-1"] == "rated"
    office.desk.undo("ada", {"key": key})
    assert office.states("ada")["case-1"] == "open"


def test_rating_after_a_look_at_the_right_one_does_not_count_for_the_rater(tmp_path: Path) -> None:
    office = Office(tmp_path, item(1, gold=Gold([5, 5], practice=True)), item(2, gold=Gold([5, 5])))
    for number in (1, 2):
        office.rate("ada", number, [1, 1])
    office.desk.undo("ada", {"key": f"{1:016x}"})
    office.rate("ada", 1, [5, 5])
    office.rate("ada", 2, [5, 5], again=True)
    (row,) = office.desk.agreement("ada", True)["raters"]
    assert (row["right"], row["gold"]) == (0, 0)


def test_secret_that_was_declared_later_is_hidden_in_what_is_rated(tmp_path: Path) -> None:
    office = Office(tmp_path, item(1))
    project = open_project(Operator(cwd=str(tmp_path), secrets={"WORD": "Hello *you*"}))
    desk = RateDesk(project, Queue(project, lambda: 0.0), ("ada",), None)
    assert office.desk.item("ada", {"key": f"{1:016x}"})["outputs"][0]["raw"] == "# Hello *you*"
    assert "Hello" not in json.dumps(desk.item("ada", {"key": f"{1:016x}"}))


def test_secret_in_what_a_rater_writes_is_masked_however_it_comes(tmp_path: Path) -> None:
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    project = open_project(Operator(cwd=str(tmp_path), secrets={"WORD": "hunter-2-hunter"}))
    queue = Queue(project, lambda: 0.0)
    queue.ratings.enqueue(item(1))
    written = {"note": "a hunter-2-hunter", "notes": {"warm": "b hunter-2-hunter"}}
    for _ in range(2):  # the answer to the first one got lost
        RateDesk(project, queue, ("ada",), None).rate("ada", {"key": f"{1:016x}", "value": [1, 2], **written})
    cells = '"[1,2]",a hunter-2-hunter,,,"{""warm"": ""b hunter-2-hunter""}",'
    row = f"{1:016x},case-1,likert,ben,{cells}"
    assert import_ratings(queue, "\n".join([",".join(COLUMNS), row]), "x.csv").ratings == 1
    (status,) = queue.standings()
    for rating in status.item.ratings:
        assert (rating.note, rating.notes) == ("a ***", {"warm": "b ***"})


def test_gold_item_for_practice_comes_first_and_shows_the_right_rating(tmp_path: Path) -> None:
    practice = item(3, gold=Gold([5, 5], "it says *you*", practice=True))
    office = Office(tmp_path, item(1), item(2), practice, item(4, gold=Gold([1, 1])))
    for rater in ("ada", "ben", "eve"):
        assert next(iter(office.states(rater))) == "case-3"
    assert "gold" not in office.desk.item("ada", {"key": practice.key})
    assert office.rate("ada", 3, [5, 4])["gold"] == {"right": False, "words": "5, 5", "why": "it says *you*"}
    assert "gold" not in office.rate("ada", 4, [1, 1])
    grades = {one.item.case: (one.grade.outcome, one.grade.verdict) for one in office.queue.standings()}
    assert (grades["case-3"], grades["case-4"]) == (("passed", "gold"), ("failed", "gold"))
    (row,) = [one for one in office.desk.agreement("ada", True)["raters"] if one["rater"] == "ada"]
    assert (row["right"], row["gold"]) == (1, 2)


def test_adjudicator_is_asked_about_disputes_and_ends_them(tmp_path: Path) -> None:
    office = Office(tmp_path, item(1, "binary"))
    assert office.states("carol") == {}
    office.rate("ada", 1, True)
    office.rate("ben", 1, False)
    (row,) = office.desk.queue("carol")["items"]
    assert row["dispute"]
    assert [one["words"] for one in office.desk.item("carol", {"key": row["key"]})["others"]] == [
        "Pass",
        "Fail",
    ]
    assert office.rate("carol", 1, False)["verdict"] == "adjudicated"
    assert office.desk.agreement("carol", False)["disagreements"][0]["settled"]


def test_agreement_by_criterion_and_rater_of_known_ratings() -> None:
    def rated(number: int, *values: Any, scale: str = "likert") -> RatingItem:
        ratings = (Rating(name, value, seconds=2.0) for name, value in zip("abc", values, strict=False))
        return item(number, scale, ratings=tuple(ratings))

    items = [
        rated(1, [5, 1], [5, 5]),
        rated(2, [1, 3], [1, 3]),
        rated(3, [1, 1]),
        rated(4, True, False, scale="binary"),
    ]
    rows = {(row.grader, row.criterion): row for row in agreement.by_criterion(items)}
    warm, short, binary = rows["likert", "warm"], rows["likert", "short"], rows["binary", "overall"]
    assert (warm.items, warm.agreement, warm.alpha) == (2, 1.0, 1.0)
    assert (short.items, short.agreement) == (2, 0.5)
    assert (binary.agreement, binary.alpha) == (0.0, 0.0)
    by_rater = {row.rater: row for row in agreement.by_rater(items)}
    assert (by_rater["a"].rated, by_rater["b"].rated) == (4, 3)
    assert by_rater["a"].agreement == by_rater["b"].agreement == pytest.approx((0.5 + 1 + 0) / 3)
    assert [one.item.case for one in agreement.disagreements(items)] == ["case-4", "case-1"]
    renamed = [replace(one, grader="human") for one in items]
    names = {(row.grader, row.criterion): row.agreement for row in agreement.by_criterion(renamed)}
    likert = "human (likert 1 to 5)"
    assert names == {(likert, "warm"): 1.0, (likert, "short"): 0.5, ("human (binary)", "overall"): 0.0}


def test_alpha_of_krippendorffs_own_example() -> None:
    """Twelve units, four observers, as in "Computing Krippendorff's Alpha-Reliability" (2011): 0.849."""
    observers = [
        "123321412...",
        "12332241 25.3".replace(" ", ""),
        ".33323422 51.".replace(" ", ""),
        "12332441251.",
    ]
    units = [[float(c) for c in unit if c != "."] for unit in zip(*observers, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.849, abs=0.0005)
    assert krippendorff_alpha([[1.0, 1.0], [1.0, 1.0]]) is None


words = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
values = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(list)


@given(st.lists(st.tuples(values, words), min_size=1, max_size=4))
def test_table_of_ratings_reads_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[list[int], str]]
) -> None:
    """A note may begin as a formula does, which the table shows as a text."""
    ratings = tuple(
        Rating(f"r{n}", value, "2026-01-01T00:00:00Z", note) for n, (value, note) in enumerate(rows)
    )
    office = Office(tmp_path_factory.mktemp("office"), item(1))
    text = dump_table([replace(item(1), ratings=ratings)])
    assert not any(line.split(",")[5][:1] in ("=", "+", "-", "@") for line in text.splitlines()[1:])
    imported = import_ratings(office.queue, text, "x.csv")
    assert imported.ratings == len(rows)
    (status,) = office.queue.standings()
    assert status.item.ratings == ratings


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("0000000000000009,case-9,likert,ada,5,,,", "BK509 x.csv:2: '0000000000000009' is not in the queue"),
        ("0000000000000001,case-1,likert,ada,9,,,", "BK741 x.csv:2: 9 is not a rating here"),
        ('0000000000000001,case-1,likert,,"[1,2]",,,', "BK741 x.csv:2: '' is not the name of a rater"),
        ('0000000000000001,case-1,likert,ada,"[1,2]",,,-1', "BK105 x.csv:2: seconds"),
        ('0000000000000001,case-1,likert,ada,"[1,2]",,,1e308', "BK105 x.csv:2: seconds"),
        ('0000000000000001,case-1,likert,ada,"[1,2]",,,soon', "BK105 x.csv:2: seconds"),
        ('0000000000000001,case-1,likert,ada,"[1,2]",,yesterday,', "BK105 x.csv:2: at: expected a time"),
        ('0000000000000001,case-1,likert,ada,"[1,2]",,,,{', "BK741 x.csv:2: "),
    ],
)
def test_table_with_a_mistake_imports_nothing_and_names_the_line(tmp_path: Path, row: str, why: str) -> None:
    office = Office(tmp_path, item(1))
    good = '0000000000000001,case-1,likert,ben,"[1, 2]",,,'
    with pytest.raises(InvalidInput) as wrong:
        import_ratings(office.queue, "\n".join([",".join(COLUMNS), row, good]), "x.csv")
    assert str(wrong.value).startswith(why)
    assert office.queue.standings()[0].item.ratings == ()


def test_labels_are_what_people_have_settled(tmp_path: Path) -> None:
    office = Office(tmp_path, item(1), item(2), item(3, "ranking"))
    for rater in ("ada", "ben"):
        office.rate(rater, 1, [5, 5], note="kind")
    office.rate("ada", 2, [1, 1])
    labels = agreement.labels_of([one.item for one in office.queue.standings()])
    assert labels == [{"output": "# Hello *you*", "human": True, "input": "ask", "note": "kind / kind"}]
    assert json.dumps(labels)
