"""Queries that a model puts into classes, attempted several times; the lines of checks that failed."""

import threading
from pathlib import Path

from evalcases import World, suite
from promptfiles import FOLDER, prompt_folder

from baselinekit.model.evals import Case
from baselinekit.model.recipes import Answer, ModelQuestion, Usage
from baselinekit.report.confusion import classifications
from baselinekit.report.forms import render_report
from baselinekit.report.resultfile import read
from baselinekit.structs import replace
from baselinekit.suites.loading import load_cases

QUERIES = """\
triggering:
  should_match: ["steady", "wavering"]
  should_not_match: ["silent", "wrong"]
"""
REPLIES = {"steady": ["YES"], "wavering": ["YES", "NO"], "silent": ["NO", "perhaps"], "wrong": ["YES"]}


class Judge(World):
    """Replies to each query by turns."""

    def __init__(self, root: Path):
        super().__init__(root)
        self.turns: dict[str, int] = {}
        self.lock = threading.Lock()

    def ask(self, ask: ModelQuestion) -> Answer:
        query = next(word for word in REPLIES if f">>>\n{word}\n<<<" in ask.messages[-1].content)
        with self.lock:
            self.asked.append(ask)
            turn = self.turns[query] = self.turns.get(query, -1) + 1
        decision = REPLIES[query][turn % len(REPLIES[query])]
        return Answer(f"DECISION={decision} REASON=So it is.", usage=Usage(10, 5))


def cases(root: Path, evals: str) -> list[Case]:
    prompt_folder(root, evals)
    return load_cases([f"{FOLDER}/eval.yml"], str(root))


def test_e10_e12_run_counts_classes_over_attempts(tmp_path: Path) -> None:
    report = Judge(tmp_path).run(suite(*cases(tmp_path, QUERIES)), attempts=4)
    (table,) = classifications(report)
    assert (table.group, table.wanted, table.classes) == ("refactor", ["YES", "NO"], ["YES", "NO"])
    assert {case.name: dict(case.given) for case in table.cases} == {
        "steady": {"YES": 4},
        "wavering": {"YES": 2, "NO": 2},
        "silent": {"NO": 2, None: 2},
        "wrong": {"YES": 4},
    }
    assert [case.name for case in table.flipping] == ["wavering"]
    assert (table.right, table.decided, table.undecided) == (8, 14, 2)
    outcomes = {result.name: result.outcome for result in report.results}
    assert outcomes == {"steady": "passed", "wavering": "failed", "silent": "error", "wrong": "failed"}
    text = render_report(report, "x.json")
    assert render_report(read(text, "x.json"), "x.json") == text


def test_e11_e12_run_of_queries_sends_no_prompt_and_counts_no_retries(tmp_path: Path) -> None:
    world, queries = Judge(tmp_path), cases(tmp_path, QUERIES)
    report = world.run(suite(*(replace(case, retries=2) for case in queries if case.name == "wrong")))
    assert report.results[0].attempts == 3
    assert [table.decided for table in classifications(report)] == [1]
    whole = "\n".join(message.content for ask in world.asked for message in ask.messages)
    for text in ("Refactors code. Use when", "- refactor this file", "- questions about code"):
        assert text in whole
    assert "<constraints>" not in whole
    assert "Refactor {{" not in whole
