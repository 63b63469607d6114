"""The row that a run leaves in the folder of a prompt, whatever its outcome."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from evalcases import World, case, suite
from scripted import CASE, Scripted

from baselinekit.errors import InvalidInput, NothingSelected, cannot_replay
from baselinekit.eva.folders import DataFile, content_digest
from baselinekit.eva.logs import note_use
from baselinekit.evals.selection import Choice
from baselinekit.kinds.given import EchoExecution
from baselinekit.model.evals import Case
from baselinekit.model.grades import Attempt, Grader, HumanRating
from baselinekit.model.prompts import PromptFolder, PromptMeta
from baselinekit.model.recipes import Recipe
from baselinekit.structs import replace

NOW = "2024-01-20T14:30:52Z"
CONTENT = content_digest("/nonexistent", "prompts/p", None, DataFile("meta.yml"))
"""Of a folder without files."""


def folder(id: str = "p") -> PromptFolder:
    path = f"prompts/{id}"
    return PromptFolder(path, PromptMeta(id), f"{path}/meta.yml", f"{path}/prompt.xml", content=CONTENT)


def in_folder(id: str, name: str, says: Any = "yes", **more: Any) -> Case:
    return case(f"{id}/{name}", says, name=name, folder=folder(id), **more)


def query(id: str, number: int, text: str) -> Case:
    """The query is the output, and no program is run."""
    made, recipe = in_folder(id, text), Recipe(text, EchoExecution("echo"))
    return replace(made, id=f"{id}/triggering/should-match-{number}", recipe=recipe)


class Prompts(World):
    """A world with the folders of prompts in it."""

    def rows(self, id: str = "p") -> list[dict[str, Any]]:
        log = self.root / f"prompts/{id}/.eval.jsonl"
        return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []


@pytest.fixture
def world(tmp_path: Path) -> Prompts:
    for id in ("p", "q"):
        (tmp_path / "prompts" / id).mkdir(parents=True)
    return Prompts(tmp_path)


def test_e6_run_leaves_one_row_for_each_folder(world: Prompts) -> None:
    queries = query("p", 1, "yes"), query("p", 2, "no")
    report = world.run(suite(*queries, in_folder("p", "small"), in_folder("p", "large", "no")))
    assert report.warnings == ()
    counts = {"all_passed": False, "total": 4, "passed": 2, "failed_cases": ["triggering: no", "large"]}
    assert world.rows() == [{"ts": NOW, **counts, "scope": "all", "content": CONTENT, "attempts": 1}]
    world.run(suite(in_folder("p", "a"), in_folder("q", "a", "no"), in_folder("p", "b"), case("loose")))
    rows = (world.rows()[-1], *world.rows("q"))
    assert [(row["total"], row["all_passed"]) for row in rows] == [(2, True), (1, False)]


def test_e7_run_of_some_cases_or_graders_names_them_in_its_row(world: Prompts) -> None:
    cases = suite(query("p", 1, "yes"), in_folder("p", "a"), in_folder("p", "b"))
    world.run(cases, Choice(ids=["p/a"]))
    world.run(cases, Choice(among=frozenset(["p/b"])))
    world.run(cases, Choice(exclude_tags=["none"]))
    world.run(suite(in_folder("p", "a")), Choice(grader="code"))
    assert [row["scope"] for row in world.rows()] == [["a"], ["b"], "all", ["a"]]
    assert all(row["all_passed"] for row in world.rows())
    assert [row.get("graders") for row in world.rows()] == [None, None, None, "code"]


def test_e6_run_up_to_the_first_failure_names_its_cases_in_the_row(world: Prompts) -> None:
    cases = suite(in_folder("p", "a"), in_folder("p", "b", "no"), in_folder("p", "c"), in_folder("q", "a"))
    world.run(cases, first=True, jobs=1)
    (row,) = world.rows()
    assert (row["all_passed"], row["scope"], row["failed_cases"]) == (False, ["a", "b"], ["b"])
    assert world.rows("q") == [], "nothing of it was run"


@pytest.mark.parametrize("number", [0, 2])
def test_e6_run_that_is_interrupted_leaves_a_row_without_all(world: Prompts, number: int) -> None:
    def answer(given: Any, turn: int) -> str:
        if len(world.calls) == number:
            world.stop.ask()
        return str(given)

    world.answers = answer
    if number == 0:
        world.stop.ask()
    assert world.run(suite(*(in_folder("p", name) for name in "abcd")), jobs=1).interrupted
    (row,) = world.rows()
    assert (row["all_passed"], row["interrupted"], row["total"]) == (False, True, len(row["scope"]))
    assert row["scope"] == ["a", "b"][:number][: row["total"]]


def test_e6_run_that_reaches_the_time_limit_of_its_suite_leaves_a_row_without_all(world: Prompts) -> None:
    over = threading.Event()

    def slow(given: Any, turn: int) -> str:
        if given != "yes":
            over.wait(0.4)
        return "yes"

    world.answers = slow
    cases = in_folder("p", "a"), in_folder("p", "b", "slow"), in_folder("p", "c")
    world.run(suite(*cases, timeout_global=0.2), jobs=1)
    (row,) = world.rows()
    assert (row["all_passed"], row["interrupted"]) == (False, True)
    assert "c" not in row["scope"]


def test_e6_error_and_unscored_case_did_not_pass_in_the_row(world: Prompts) -> None:
    def gone(given: Any, turn: int) -> str:
        if given == "gone":
            raise cannot_replay("BK323", "it ended with an error")
        return str(given)

    world.answers = gone
    rated = replace(in_folder("p", "rated"), graders=(Grader("people", "human", HumanRating()),))
    world.run(suite(in_folder("p", "a"), in_folder("p", "b", "gone"), rated))
    (row,) = world.rows()
    assert (row["total"], row["passed"], row["failed_cases"]) == (3, 1, ["b", "rated"])
    assert (row["scope"], row["all_passed"]) == ("all", False)


def test_e6_run_without_a_case_or_with_a_problem_leaves_no_row(world: Prompts) -> None:
    with pytest.raises(NothingSelected):
        world.run(suite(in_folder("p", "a")), Choice(ids=["other"]))
    assert world.run(suite(in_folder("p", "a", skip="not now"))).summary.skipped == 1
    broken = replace(in_folder("p", "a"), expected=None)
    with pytest.raises(InvalidInput):
        world.run(suite(broken))
    assert world.rows() == []


def test_e6_run_that_resumes_after_a_kill_leaves_one_row(world: Prompts) -> None:
    cases = suite(in_folder("p", "a"), in_folder("p", "b"), in_folder("p", "c"))

    def dies(given: Any, turn: int) -> str:
        if len(world.calls) == 2:
            raise KeyboardInterrupt
        return str(given)

    world.answers = dies
    with pytest.raises(KeyboardInterrupt):
        world.run(cases, jobs=1)
    assert world.rows() == []
    world.answers = lambda given, turn: str(given)
    world.calls.clear()
    world.run(cases, jobs=1, resume=True)
    assert len(world.calls) == 2
    (row,) = world.rows()
    assert (row["scope"], row["total"], row["all_passed"]) == ("all", 3, True)


def test_e6_secret_in_the_name_of_a_case_is_masked_in_the_row(tmp_path: Path) -> None:
    (tmp_path / "prompts/p").mkdir(parents=True)
    config = "skills: {echo: {command: [echo]}}\nvariables: {token: {value: s3cr3t-and-long, secret: true}}\n"
    (tmp_path / "baselinekit.yaml").write_text(config)
    world = Prompts(tmp_path)
    world.run(suite(in_folder("p", "says s3cr3t-and-long", "no"), in_folder("p", "b")), Choice(ids=["p/s*"]))
    assert b"s3cr3t" not in (tmp_path / "prompts/p/.eval.jsonl").read_bytes()
    assert len(world.rows()[0]["failed_cases"]) == 1


def test_e23_attempt_that_was_sent_leaves_a_row_of_use(world: Prompts) -> None:
    made = in_folder("p", "small")
    for attempt in (
        Attempt(1, "passed", 1.0, sent=True, verified=True, environment={"model": "m-1"}),
        Attempt(2, "failed", 0.0, sent=True, verified=False),
        Attempt(3, "passed", 1.0, sent=True),
        Attempt(4, "error", None, sent=False, verified=None),
    ):
        assert note_use(world.project(), made, attempt, NOW) == []
    assert note_use(world.project(), case("loose"), Attempt(1, "passed", 1.0, sent=True), NOW) == []
    found = [json.loads(line) for line in (world.root / "prompts/p/.usage.jsonl").read_bytes().splitlines()]
    same = {"ts": NOW, "sent": True, "case": "small", "content": CONTENT}
    assert found == [
        {**same, "verified": True, "model": "m-1"},
        {**same, "verified": False, "model": None},
        {**same, "verified": None, "model": None},
    ]


def test_e7_run_whose_files_change_leaves_a_row_without_content(world: Prompts) -> None:
    def edits(given: Any, turn: int) -> str:
        (world.root / "prompts/p/prompt.xml").write_text("another one")
        return str(given)

    world.answers = edits
    report = world.run(suite(in_folder("p", "a"), in_folder("q", "a")))
    assert report.warnings == ("the files of prompts/p were changed while its cases ran: run them again",)
    assert [row["content"] for row in world.rows("p") + world.rows("q")] == [None, CONTENT]


def used(world: Scripted) -> list[dict[str, Any]]:
    log = world.folder / ".usage.jsonl"
    return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []


def test_e7_e23_run_with_typed_inputs_has_their_names_in_its_row(tmp_path: Path) -> None:
    """A query and a recorded answer are no use of the prompt."""
    world = Scripted(tmp_path / "project", evals=f"{CASE}triggering: {{should_match: [refactor this]}}\n")
    world.operator = {"variables": {"constraints": "keep all", "unrelated": "x"}}
    report = world.go()
    assert report.warnings == ()
    assert [row["case"] for row in used(world)] == ["one"]
    (row,) = [json.loads(line) for line in (world.folder / ".eval.jsonl").read_bytes().splitlines()]
    assert (row["inputs"], row["all_passed"]) == (["constraints"], True)
    world.recorded = True
    assert world.go().summary.passed == 2
    assert len(used(world)) == 1
