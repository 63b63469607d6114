"""Which part of a reply is the program, measured by a table of replies with known answers."""

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from cases import graded
from hypothesis import given, strategies as st
from replies import BAD, KNOWN_WRONG, NOTHING, REPLIES, F, block

from baselinekit.graders.base import GradeClients
from baselinekit.graders.by_function import code_in
from baselinekit.model.grades import Call, FunctionOutput
from baselinekit.model.recipes import CallResult, SandboxResult


def value_of(reply: str) -> object:
    """f(3) of the program that is taken from a reply."""
    taken = code_in(reply, "f")
    if taken.problem:
        return NOTHING
    names: dict[str, Any] = {"__name__": "reply"}
    try:
        with redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(taken.code, names)
        return names["f"](3)
    except (Exception, SystemExit):
        return NOTHING


def test_h25_code_in_replies_with_known_answers_gives_the_error_rate_of_the_docs() -> None:
    assert len({name for name, _, _ in REPLIES}) == len(REPLIES) >= 80
    with redirect_stderr(io.StringIO()) as printed:
        values = {name: value_of(reply) for name, reply, _ in REPLIES}
    assert printed.getvalue() == ""
    wrong = {name for name, _, wanted in REPLIES if values[name] != wanted}
    assert wrong == {*KNOWN_WRONG}
    # the gravest fault: a program from a reply that has none, or that a reader would refuse
    assert [name for name, _, wanted in REPLIES if wanted == NOTHING and values[name] == 9] == []
    measured = (Path(__file__).parents[2] / "benchmarks" / "README.md").read_text("utf-8")
    assert f"| code in replies | {len(REPLIES)} | {len(wrong)}, " in measured


def test_reply_without_a_program_fails_and_runs_nothing() -> None:
    def run(method: FunctionOutput, code: str) -> SandboxResult:
        raise AssertionError(code)

    for reply in ("I cannot do that.", "", block("ls", "bash"), block("{}", "json") + block("ls", "sh")):
        found = graded(reply, FunctionOutput("f", [Call(9, [3])]), clients=GradeClients(run=run))
        assert (found.outcome, found.score) == ("failed", 0.0)
        assert found.reason.startswith("the reply contains no usable program: ")


@pytest.mark.parametrize(
    ("reply", "taken"),
    [
        (F, "the whole reply"),
        (block(F), "1 fenced block (lines 2 to 3)"),
        (block("ls", "bash") + block(F), "1 fenced block (lines 5 to 6) of 2"),
        (f"```python\n{F}", "1 fenced block (lines 2 to 3), not closed"),
        (f"Here:\n\n{F}\nDone.", "the code from line 3 on"),
    ],
)
def test_grade_names_the_part_of_the_reply_that_was_taken(reply: str, taken: str) -> None:
    def run(method: FunctionOutput, code: str) -> SandboxResult:
        return SandboxResult((CallResult(1),))

    found = graded(reply, FunctionOutput("f", [Call(9, [3])]), clients=GradeClients(run=run))
    assert found.details["taken"] == taken
    is_all = taken in ("the whole reply", "1 fenced block (lines 2 to 3)")
    assert found.reason.endswith(f" (taken from the reply: {taken})") is not is_all


PARTS = [
    *("```", "```python\n", "~~~", "````", "\n", "    ", "\t", '"""', "'''", ">>> ", "... ", "def f(n):"),
    *("return n", "> ", "- ", "1. ", "\\", "\\d", "(", ")", "[" * 50, "-" * 400, "\0", "\r", "é", "!ls"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=30))
def test_code_in_any_reply_ends(parts: list[str]) -> None:
    code_in("".join(parts), "f")
    assert code_in(block(BAD), "f").code == BAD  # it is run, so that its error is reported


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [
        "```python\n'''\n" + "```\n" * 50_000,
        "```python\n```\n" * 20_000,
        "```python\n" + "[" * 200_000,
        "```python\n" + "-" * 200_000 + "1\n```",
        "> " * 100_000 + "```python",
        ">>> x\n" * 10_000,
        "```python\n" + "x = 1\n\nWords\n" * 10_000,
        "def f(n): pass\n\n" + "Some words\n\n" * 10_000,
        "```python\ndef f(n): return n\n```\n```python\nf(1)\n```\n" * 3_000,
    ],
    ids=range(9),
)
def test_long_reply_is_read_in_little_time(reply: str) -> None:
    began = perf_counter()
    code_in(reply, "f")
    assert perf_counter() - began < 10
