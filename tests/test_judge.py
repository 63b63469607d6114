"""The Python side of a program that judges: what its function gets, and what of its result is printed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from baselinekit.clients.models.proxy import Proxy
from baselinekit.errors import CannotReplay
from baselinekit.graders.by_program import verdict_in
from baselinekit.judge import (
    Target,
    TargetError,
    Told,
    answer,
    judge,
    prompt,
    prompt_template,
    target,
    verdict,
)
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.values.texts import no_mask

CASE = {"candidate_answer": "42", "config": None, "sidecar": {"camelCase": 1}}


def printed_by(check: Any, stdin: bytes = json.dumps(CASE).encode()) -> tuple[Any, int]:
    printed, code = answer(check, stdin, verdict)
    assert printed.endswith("\n")
    return json.loads(printed), code


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        (True, {"score": 1.0}),
        (False, {"score": 0.0}),
        (0.25, {"score": 0.25}),
        (1, {"score": 1}),
        ({"score": True, "misses": ("a", "b")}, {"score": 1.0, "misses": ["a", "b"]}),
        ({"score": 0.5, "hits": None, "recall": 3}, {"score": 0.5, "hits": None, "recall": 3}),
        ({"score": 0.5, "reasoning": "ü"}, {"score": 0.5, "reasoning": "ü"}),
    ],
)
def test_a21_judge_function_result_is_a_verdict(made: Any, printed: Any) -> None:
    assert printed_by(lambda case: made) == (printed, 0)
    assert verdict_in(verdict(made).encode(), no_mask).score == printed["score"]


@pytest.mark.parametrize("made", [None, "0.5", 2, -0.1, {}, {"score": "1"}, [1]])
def test_a22_judge_invalid_verdict_is_an_error(made: Any) -> None:
    with pytest.raises(CannotReplay):
        verdict_in(verdict(made).encode(), no_mask)
    assert printed_by(lambda case: float("nan"))[1] == 1


def test_a22_judge_function_that_raises_scores_0(capsys: pytest.CaptureFixture[str]) -> None:
    printed, code = printed_by(lambda case: case.nothing)
    assert (printed["score"], code) == (0, 1)
    assert printed["misses"] == [
        "AttributeError: there is no 'nothing', but candidate_answer, config, sidecar"
    ]
    assert "Traceback" in capsys.readouterr().err
    for stdin in (b"", b"[]", b"{", b"\xff"):
        assert printed_by(lambda case: 1, stdin)[1] == 1


def test_a20_judge_case_is_read_by_attribute_or_key() -> None:
    case = Told(CASE)
    assert (case.candidate_answer, case["candidate_answer"], case.config) == ("42", "42", None)
    assert case.sidecar == {"camelCase": 1}
    with pytest.raises(AttributeError):
        _ = case.question


def test_judge_prints_of_function_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    def check(case: Told) -> bool:
        sys.stdout.write("a log\n")
        return True

    assert printed_by(check) == ({"score": 1.0}, 0)
    assert capsys.readouterr() == ("", "a log\n")


def test_a30_prompt_template_function_gives_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(lambda case: f"Is {case.candidate_answer} right?", json.dumps(CASE).encode(), prompt) == (
        "Is 42 right?",
        0,
    )
    for made in (None, "", "  \n", 5):
        assert answer(lambda case, made=made: made, b"{}", prompt) == ("", 1)


def test_judge_imported_file_runs_nothing() -> None:
    def check(case: Told) -> bool:
        return True

    assert judge(check) is check
    assert prompt_template(check) is check


def test_a25_target_without_proxy_is_none() -> None:
    assert target() is None


def test_a25_target_asks_through_proxy_within_limit() -> None:
    def ask(question: ModelQuestion) -> Answer:
        return Answer(" / ".join(message.content for message in question.messages))

    with Proxy(ask, "judge", 3, 60.0) as proxy:
        found = proxy.environment
        client = Target(found["BASELINEKIT_TARGET_PROXY_URL"], found["BASELINEKIT_TARGET_PROXY_TOKEN"])
        assert client.ask("q") == "q"
        assert client.ask_all(["a", "b"], "s") == ["s / a", "s / b"]
        assert client.info()["callCount"] == 3
        with pytest.raises(TargetError, match="no more than 3 calls") as caught:
            client.ask("q")
        assert caught.value.status == 429
    with pytest.raises(TargetError, match="gave no answer"):
        client.ask("q")


@pytest.mark.slow
def test_a21_documented_judge_runs_as_a_program(tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text(
        "from baselinekit.judge import judge\n"
        "@judge\n"
        "def check(case):\n"
        '    missing = [word for word in ("async", "await") if word not in case.candidate_answer]\n'
        '    return {"score": 1 - len(missing) / 2, "misses": missing}\n'
        "raise AssertionError('never reached')\n"
    )
    stdin = json.dumps({"candidate_answer": "async"})
    ran = subprocess.run([sys.executable, script], input=stdin, capture_output=True, text=True, check=True)
    assert (json.loads(ran.stdout), ran.stderr) == ({"score": 0.5, "misses": ["await"]}, "")
    code = "import sys, baselinekit.judge; print(*(name for name in sys.modules if '.' in name))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = [name for name in loaded.stdout.split() if name.startswith("baselinekit.")]
    assert ours == ["baselinekit.judge"]
