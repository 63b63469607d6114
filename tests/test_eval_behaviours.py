"""What evals promise, numbered: each promise has a test that bears its number, so that none is lost unseen.

`pytest -k h62` runs those of one."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NAME = re.compile(r"^\s*def test_((?:[a-z]\d+_)+)", re.MULTILINE)

PROMISED = {
    "h1": "a capability record, with all of its keys",
    "h2": "what would be right: exact, contains, pattern, semantic, functional",
    "h3": "an alternative passes as well, and is named",
    "h4": "an input from a file; the context goes to whoever is asked and to whoever judges",
    "h5": "lists of what has to be in it, and must not: told by name",
    "h6": "a regression record, with each type of comparison",
    "h7": "requests, skills, prompts: captured, compared, refreshed",
    "h8": "last_passed and failure_count follow what a run found",
    "h9": "records alone, in lists, in files of test cases",
    "h10": "the JSON form, whose paths begin at the body",
    "h11": "strict, ignored values and required keys; an address that is missing",
    "h12": "variables are resolved beforehand, and never kept",
    "h13": "matchers stand in quotes and tell types apart",
    "h14": "further fields, their order, arrays that are templates",
    "h15": "bounds of a change, by group",
    "h16": "arithmetic on the written digits",
    "h17": "everything that is wrong, at once, with its place, before anything runs",
    "h20": "exact match: what is trimmed, in which order",
    "h21": "regular expressions: search, flags, captures",
    "h22": "the score follows the verdict; what cannot work is found beforehand",
    "h23": "generated functions: all calls, and what each gave",
    "h24": "what such a program does beside that changes no verdict",
    "h25": "code in fences",
    "h26": "structural match, strict or not",
    "h30": "judges: settings, scales, examples",
    "h31": "slots are filled once, and never in the judged text",
    "h32": "a reply is read strictly",
    "h33": "weights are read from the rubric, and sums computed again",
    "h34": "several graders: all that are required have to pass",
    "h35": "one kind of grader alone: a case without one is an error",
    "h40": "people: scales, labels, blind evaluation",
    "h41": "likert, binary, ranking",
    "h42": "pending and disputed are no verdicts; nobody rates twice",
    "h43": "rubrics with slots; ratings out to a file and back",
    "h50": "pass@k without bias",
    "h51": "of fewer attempts than k nobody can tell",
    "h52": "pass^k, and the same without bias",
    "h53": "per case and pooled, each labelled",
    "h54": "presets, and the names of metrics",
    "h60": "suites: references, settings, who is notified",
    "h61": "the time of a case and of a suite",
    "h62": "what is tried again counts in no metric",
    "h63": "in order, at once or one by one, all checked first",
    "h64": "folders: config, results by day, graders by name",
    "h65": "a category is a kind or a word of the case's own",
    "h66": "the report for programs",
    "h67": "several forms in one run, details or none, escaped",
    "h70": "a step of a phase: blocking or not",
    "h71": "a trigger: filters, thresholds, what follows",
    "h72": "the report of a phase; as much as the threshold is enough",
    "x1": "scales become shares of their range, beside the raw score",
    "x2": "a file is known by what only its form has",
    "x3": "what another form expects is never an exact match",
    "x4": "braces of one kind are not expanded by another",
    "x5": "paths begin at the file that names them, and do not leave the project",
    "x6": "times that nobody states",
    "x7": "five outcomes, kept apart",
    "x8": "what YAML takes a word for",
    "x9": "a model is a name, and what it stands for is configured",
    "x10": "the verbs of baselines hold for these records too",
    "x11": "exit codes",
}


@cache
def borne() -> Counter[str]:
    """How many tests bear each number: `test_h20_h40_…` is a test of both."""
    found: Counter[str] = Counter()
    for file in TESTS.rglob("test_*.py"):
        for numbers in NAME.findall(file.read_text("utf-8")):
            found.update(number for number in numbers.split("_") if number[:1] in ("h", "x"))
    return found


@pytest.mark.parametrize("number", PROMISED)
def test_each_promise_has_a_test(number: str) -> None:
    assert borne()[number], f"{number}: {PROMISED[number]}"


def test_each_number_is_a_promise() -> None:
    assert borne().keys() <= PROMISED.keys()


def test_no_test_of_one_is_lost_unseen() -> None:
    """More may come; where one goes, its promise is to be tested elsewhere first."""
    assert sum(borne().values()) >= 200
