"""The Python side of a program that judges: what its function is told, and what of its answer is printed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from baselinekit.clients.models.proxy import Proxy
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


def said_by(check: Any, stdin: bytes = json.dumps(CASE).encode()) -> tuple[Any, int]:
    printed, code = answer(check, stdin, verdict)
    assert printed.endswith("\n")
    return json.loads(printed), code


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (True, {"score": 1.0}),
        (False, {"score": 0.0}),
        (0.25, {"score": 0.25}),
        (1, {"score": 1}),
        ({"score": True, "misses": ("a", 5)}, {"score": 1.0, "misses": ["a", "5"]}),
        ({"score": 0.5, "hits": None, "recall": 3}, {"score": 0.5, "hits": None, "recall": 3}),
        ({"score": 0.5, "reasoning": "ü"}, {"score": 0.5, "reasoning": "ü"}),
    ],
)
def test_a21_what_a_function_returns_is_a_verdict(made: Any, said: Any) -> None:
    assert said_by(lambda case: made) == (said, 0)
    assert verdict_in(verdict(made).encode(), no_mask).score == said["score"]


@pytest.mark.parametrize(
    "made", [None, "0.5", 2, -0.1, float("nan"), {}, {"score": "1"}, [1], {"score": 1, "hits": "a"}]
)
def test_a22_what_is_no_verdict_is_an_error_with_its_miss(made: Any) -> None:
    said, code = said_by(lambda case: made)
    assert (said["score"], len(said["misses"]), code) == (0, 1, 1)


def test_a22_a_function_that_raises_could_not_judge(capsys: pytest.CaptureFixture[str]) -> None:
    said, code = said_by(lambda case: case.nothing)
    assert (said["score"], code) == (0, 1)
    assert said["misses"] == ["AttributeError: there is no 'nothing', but candidate_answer, config, sidecar"]
    assert "Traceback" in capsys.readouterr().err
    for stdin in (b"", b"[]", b"{", b"\xff"):
        assert said_by(lambda case: 1, stdin)[1] == 1


def test_a20_the_case_is_read_by_name_or_by_key_and_its_own_keys_stay() -> None:
    case = Told(CASE)
    assert (case.candidate_answer, case["candidate_answer"], case.config) == ("42", "42", None)
    assert case.sidecar == {"camelCase": 1}
    with pytest.raises(AttributeError):
        _ = case.question


def test_what_a_function_prints_is_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    def check(case: Told) -> bool:
        sys.stdout.write("a log\n")
        return True

    assert said_by(check) == ({"score": 1.0}, 0)
    assert capsys.readouterr() == ("", "a log\n")


def test_a_function_may_wait_for_something() -> None:
    async def check(case: Told) -> float:
        return 0.5

    assert said_by(check) == ({"score": 0.5}, 0)


def test_a30_a_template_returns_the_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(lambda case: f"Is {case.candidate_answer} right?", json.dumps(CASE).encode(), prompt) == (
        "Is 42 right?",
        0,
    )
    for made in (None, "", "  \n", 5):
        assert answer(lambda case, made=made: made, b"{}", prompt) == ("", 1)


def test_of_a_file_that_is_imported_nothing_is_run() -> None:
    def check(case: Told) -> bool:
        return True

    assert judge(check) is check
    assert prompt_template(check) is check


def test_a25_a_program_that_may_ask_nobody_has_no_target() -> None:
    assert target() is None


def test_a25_it_asks_through_the_proxy_and_is_told_what_it_may_not() -> None:
    def ask(asked: ModelQuestion) -> Answer:
        return Answer(" / ".join(message.content for message in asked.messages))

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
def test_a21_the_documented_judge_runs_as_a_program_and_is_loaded_at_once(tmp_path: Path) -> None:
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
