"""What a run leaves in the folder of a prompt: one row for each run, whatever came of it."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from evalcases import World, case, suite
from scripted import CASE, Scripted

from baselinekit.errors import InvalidInput, NothingSelected, cannot_replay
from baselinekit.eva.folders import content_digest
from baselinekit.eva.logs import note_use
from baselinekit.evals.attempts import PlanJournals
from baselinekit.evals.selection import Choice
from baselinekit.kinds.given import EchoExecution
from baselinekit.model.evals import Case
from baselinekit.model.grades import Attempt, Grader, HumanRating
from baselinekit.model.prompts import PromptFolder, PromptMeta
from baselinekit.model.recipes import Recipe
from baselinekit.model.results import Report

NOW = "2024-01-20T14:30:52Z"
CONTENT = content_digest("/nonexistent", "prompts/p", None, None)
"""Of a folder without files."""


def folder(id: str = "p") -> PromptFolder:
    path = f"prompts/{id}"
    return PromptFolder(path, PromptMeta(id), f"{path}/meta.yml", f"{path}/prompt.xml", content=CONTENT)


def of(id: str, name: str, says: Any = "yes", **more: Any) -> Case:
    return case(f"{id}/{name}", says, name=name, folder=folder(id), **more)


def query(id: str, number: int, text: str) -> Case:
    """Nobody is asked: the query is the output."""
    recipe = Recipe(text, EchoExecution("echo"))
    made = of(id, text)
    return Case(
        f"{id}/triggering/should-match-{number}", recipe, made.graders, name=text, folder=made.folder,
        expected=made.expected,
    )  # fmt: skip


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


def test_e6_a_run_leaves_one_row_that_counts_queries_as_well(world: Prompts) -> None:
    cases = [query("p", 1, "yes"), query("p", 2, "no"), of("p", "small"), of("p", "large", "no")]
    report = world.run(suite(*cases))
    assert report.warnings == ()
    assert world.rows() == [
        {
            "ts": NOW,
            "all_passed": False,
            "total": 4,
            "passed": 2,
            "failed_cases": ["triggering: no", "large"],
            "scope": "all",
            "content": CONTENT,
            "attempts": 1,
        }
    ]


def test_e6_each_folder_of_a_run_has_a_row_of_its_own(world: Prompts) -> None:
    world.run(suite(of("p", "a"), of("q", "a", "no"), of("p", "b"), case("loose")))
    assert [(row["total"], row["all_passed"]) for row in world.rows("p") + world.rows("q")] == [
        (2, True),
        (1, False),
    ]
    assert sorted(path.name for path in world.root.glob("**/.eval.jsonl")) == [".eval.jsonl"] * 2


def test_e7_a_run_of_some_cases_says_which(world: Prompts) -> None:
    cases = suite(query("p", 1, "yes"), of("p", "a"), of("p", "b"))
    world.run(cases, Choice(ids=["p/a"]))
    world.run(cases, Choice(among=frozenset(["p/b"])))
    world.run(cases, Choice(exclude_tags=["none"]))
    assert [row["scope"] for row in world.rows()] == [["a"], ["b"], "all"]
    assert all(row["all_passed"] for row in world.rows())


def test_e7_a_run_of_one_kind_of_grader_is_no_run_of_all(world: Prompts) -> None:
    world.run(suite(of("p", "a")), Choice(grader="code"))
    (row,) = world.rows()
    assert (row["scope"], row["graders"], row["total"]) == (["a"], "code", 1)


def test_e6_after_the_first_that_fails_the_row_says_what_was_run(world: Prompts) -> None:
    cases = suite(of("p", "a"), of("p", "b", "no"), of("p", "c"), of("q", "a"))
    world.run(cases, first=True, jobs=1)
    (row,) = world.rows()
    assert (row["all_passed"], row["total"], row["passed"]) == (False, 2, 1)
    assert (row["scope"], row["failed_cases"]) == (["a", "b"], ["b"])
    assert world.rows("q") == [], "nothing of it was run"


def stopping_after(world: Prompts, number: int) -> Report:
    def answer(given: Any, turn: int) -> str:
        if len(world.calls) == number:
            world.stop.ask()
        return str(given)

    world.answers = answer
    return world.run(suite(*(of("p", name) for name in "abcd")), jobs=1)


def test_e6_a_run_that_is_interrupted_leaves_a_row_that_never_says_all(world: Prompts) -> None:
    assert stopping_after(world, 2).interrupted
    (row,) = world.rows()
    assert (row["all_passed"], row["interrupted"], row["total"]) == (False, True, len(row["scope"]))
    assert row["scope"] == ["a", "b"][: row["total"]]


def test_e6_run_that_is_interrupted_before_any_case_ends_leaves_a_row(world: Prompts) -> None:
    world.stop.ask()
    assert world.run(suite(of("p", "a"), of("p", "b"))).interrupted
    (row,) = world.rows()
    assert (row["all_passed"], row["interrupted"], row["total"], row["scope"]) == (False, True, 0, [])


def test_e6_the_time_limit_of_a_suite_ends_a_run_early(world: Prompts) -> None:
    over = threading.Event()

    def slow(given: Any, turn: int) -> str:
        if given != "yes":
            over.wait(0.4)
        return "yes"

    world.answers = slow
    world.run(suite(of("p", "a"), of("p", "b", "slow"), of("p", "c"), timeout_global=0.2), jobs=1)
    (row,) = world.rows()
    assert (row["all_passed"], row["interrupted"]) == (False, True)
    assert "c" not in row["scope"]


def test_e6_what_broke_and_what_waits_for_people_did_not_pass(world: Prompts) -> None:
    def gone(given: Any, turn: int) -> str:
        if given == "gone":
            raise cannot_replay("BK323", "it ended with an error")
        return str(given)

    world.answers = gone
    rated = Case(
        "p/rated",
        of("p", "rated").recipe,
        (Grader("people", "human", HumanRating()),),
        name="rated",
        folder=folder(),
    )
    world.run(suite(of("p", "a"), of("p", "b", "gone"), rated))
    (row,) = world.rows()
    assert (row["total"], row["passed"], row["failed_cases"]) == (3, 1, ["b", "rated"])
    assert (row["scope"], row["all_passed"]) == ("all", False)


def test_e6_where_no_case_is_run_there_is_no_row(world: Prompts) -> None:
    with pytest.raises(NothingSelected):
        world.run(suite(of("p", "a")), Choice(ids=["other"]))
    assert world.run(suite(of("p", "a", skip="not now"))).summary.skipped == 1
    assert world.rows() == []


def test_e6_what_is_wrong_with_the_cases_is_told_and_leaves_no_row(world: Prompts) -> None:
    broken = Case(
        "p/a", Recipe("{{missing}}", of("p", "a").recipe.execution), of("p", "a").graders, folder=folder()
    )
    with pytest.raises(InvalidInput):
        world.run(suite(broken))
    assert world.rows() == []


def killed(world: Prompts, cases: Any, **policy: Any) -> None:
    """As a kill leaves it: what was finished is in the journal, and nobody has come to the end."""

    def dies(given: Any, turn: int) -> str:
        if len(world.calls) == 2:
            raise KeyboardInterrupt
        return str(given)

    world.answers = dies
    with pytest.raises(KeyboardInterrupt):
        world.run(cases, jobs=1, **policy)
    world.answers = lambda given, turn: str(given)


def test_e6_a_run_that_goes_on_after_a_kill_leaves_one_row_of_all(world: Prompts) -> None:
    cases = suite(of("p", "a"), of("p", "b"), of("p", "c"))
    killed(world, cases)
    assert world.rows() == []
    world.calls.clear()
    world.run(cases, jobs=1, resume=True)
    assert len(world.calls) == 2
    (row,) = world.rows()
    assert (row["scope"], row["total"], row["all_passed"]) == ("all", 3, True)


def test_e6_a_run_of_a_plan_that_was_finished_before_is_noted_once(world: Prompts) -> None:
    """Whoever goes on with a plan asks nothing of what is done: it is the same run."""
    cases = suite(of("p", "a"))
    world.run(cases, lasting=PlanJournals())
    again = PlanJournals()
    again.resumed = True
    world.run(cases, lasting=again, resume=True)
    assert again.taken
    assert len(world.rows()) == 1


def test_e6_a_folder_that_nobody_may_write_is_a_warning_and_no_lost_run(world: Prompts) -> None:
    (world.root / "prompts/p/.eval.jsonl").mkdir()
    report = world.run(suite(of("p", "a"), of("q", "a")))
    assert report.exit_code == 0
    assert report.warnings == (
        "this run of prompts/p is not noted: prompts/p/.eval.jsonl is a link, or no regular file (remove it)",
    )
    assert len(world.rows("q")) == 1


def test_e6_a_secret_that_is_the_name_of_a_case_stands_in_no_row(tmp_path: Path) -> None:
    (tmp_path / "prompts/p").mkdir(parents=True)
    config = "skills: {echo: {command: [echo]}}\nvariables: {token: {value: s3cr3t-and-long, secret: true}}\n"
    (tmp_path / "baselinekit.yaml").write_text(config)
    world = Prompts(tmp_path)
    world.run(suite(of("p", "says s3cr3t-and-long", "no"), of("p", "b")), Choice(ids=["p/s*"]))
    assert b"s3cr3t" not in (tmp_path / "prompts/p/.eval.jsonl").read_bytes()
    assert len(world.rows()[0]["failed_cases"]) == 1


def test_e23_each_attempt_that_was_sent_leaves_a_row(world: Prompts) -> None:
    made = of("p", "small")
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


def test_e7_files_that_change_while_cases_run_leave_a_row_of_neither(world: Prompts) -> None:
    def edits(given: Any, turn: int) -> str:
        (world.root / "prompts/p/prompt.xml").write_text("another one")
        return str(given)

    world.answers = edits
    report = world.run(suite(of("p", "a"), of("q", "a")))
    assert report.warnings == ("the files of prompts/p were changed while its cases ran: run them again",)
    assert [row["content"] for row in world.rows("p") + world.rows("q")] == [None, CONTENT]


def used(world: Scripted) -> list[dict[str, Any]]:
    log = world.folder / ".usage.jsonl"
    return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []


@pytest.mark.parametrize(
    ("verify", "verified"), [("exit 0", True), ("exit 1", False), ("echo no; exit 7", False), (None, None)]
)
def test_e23_what_the_script_after_an_attempt_said_stands_in_the_row_of_the_use(
    tmp_path: Path, verify: str | None, verified: bool | None
) -> None:
    world = Scripted(tmp_path / "project", verify=verify)
    world.go(attempts=2)
    (row, _) = used(world)
    assert (row["sent"], row["verified"], row["case"], row["model"]) == (True, verified, "one", "default")
    (noted,) = [json.loads(line) for line in (world.folder / ".eval.jsonl").read_bytes().splitlines()]
    assert row["content"] == noted["content"]
    assert (noted["scope"], noted["all_passed"], noted["attempts"]) == ("all", True, 2)


def test_e23_a_query_is_no_use_of_the_prompt(tmp_path: Path) -> None:
    world = Scripted(tmp_path / "project", evals=f"{CASE}triggering: {{should_match: [refactor this]}}\n")
    world.go()
    assert [row["case"] for row in used(world)] == ["one"]


def test_e23_an_answer_that_is_kept_of_an_earlier_run_is_no_use(tmp_path: Path) -> None:
    world = Scripted(tmp_path / "project")
    world.recorded = True
    assert world.go().summary.passed == 1
    assert used(world) == []


def test_e23_an_input_that_is_typed_and_misspelt_is_told(tmp_path: Path) -> None:
    world = Scripted(tmp_path / "project")
    world.operator = {"variables": {"constraint": "keep all", "unrelated": "x", "file": "a"}}
    report = world.go()
    assert report.warnings == ("no prompt has an input 'constraint': did you mean 'constraints'?",)
    assert report.summary.passed == 1


def test_e7_a_run_with_other_inputs_says_which_were_typed(tmp_path: Path) -> None:
    world = Scripted(tmp_path / "project")
    world.operator = {"variables": {"constraints": "keep all", "unrelated": "x"}}
    world.go()
    (row,) = [json.loads(line) for line in (world.folder / ".eval.jsonl").read_bytes().splitlines()]
    assert (row["inputs"], row["all_passed"]) == (["constraints"], True)
