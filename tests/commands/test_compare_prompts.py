"""Prompts from end to end, over real sockets: captured, compared, scored, limited, recorded, resumed."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from counted_model import CountedModel
from started import start

from baselinekit.errors import InvalidInput, Place, Problem

pytestmark = pytest.mark.slow

KEY = "a-key-of-some-length"
CONFIG = """\
models:
  default: {{openai: demo, base_url: "{url}", key: key, prices: {{input: 1, output: 2}}}}
  judge: {{anthropic: demo, base_url: "{url}", key: key, prices: {{input: 1, output: 2}}}}
variables: {{key: {{from_env: DEMO_KEY, secret: true}}}}
"""
BASELINE = """\
id: p{n}
baseline: {{output: The number is {n}.}}
current: {{input: {{text: "Summarise:\\n\\nThe number is {n}."}}, execution: {{type: prompt}}}}
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


def project(here: Console, url: str, count: int = 0) -> None:
    (here.folder / "baselinekit.yaml").write_text(CONFIG.format(url=url))
    (here.folder / "baselines").mkdir(exist_ok=True)
    for n in range(count):
        (here.folder / "baselines" / f"p{n}.yaml").write_text(BASELINE.format(n=n))


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"DEMO_KEY={KEY} baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    assert KEY not in ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def results(here: Console, words: str, exit_code: int) -> dict[str, Any]:
    run(here, f"{words} -o out.json", exit_code)
    return dict(json.loads((here.folder / "out.json").read_text()))


COSTLY = """\
id: c
{baseline}current: {{input: {{text: "Summarise:\\n\\nThe number is 1."}}, execution: {{type: prompt}}}}
comparison: {{cost: {cost}}}
"""


def test_what_an_answer_may_cost(here: Console) -> None:
    file = here.folder / "baselines" / "c.yaml"
    with CountedModel() as model:
        project(here, model.url)
        file.write_text(COSTLY.format(baseline="", cost="{max_ratio: 1.5}"))
        run(here, "capture baselines", 0)
        observed = file.read_text().split("  observed:\n")[1]
        assert observed.startswith("    cost_usd: 1.5e-05\n    tokens_in: 7\n    tokens_out: 4\n")
        run(here, "compare", 0)
        config = here.folder / "baselinekit.yaml"
        config.write_text(config.read_text().replace("input: 1", "input: 3"))
        said = run(here, "compare", 1)
        assert "cost  outside its tolerance" in said
        assert "cost 0.000029 dollars, at most 1.5 times the 0.000015 of the capture are allowed" in said
        known = "baseline: {output: The number is 1.}\n"
        for most, code in (("0.000029", 0), ("0.0000289", 1)):
            file.write_text(COSTLY.format(baseline=known, cost=f"{{max_usd: {most}}}"))
            run(here, "compare --no-record", code)
        config.write_text(config.read_text().replace("prices", "settings").replace("{input", "{n"))
        assert "BK605" in run(here, "compare --no-record", 3), "nobody said what it cost: no pass"


def test_a_judge_says_whether_it_means_the_same(here: Console) -> None:
    with CountedModel() as model:
        project(here, model.url)
        (here.folder / "baselines/j.yaml").write_text(
            "id: j\nbaseline: {output: It is a quite fine day.}\n"
            'current: {input: {text: "Summarise:\\n\\nIt is a fine day."}, execution: {type: prompt}}\n'
            "comparison: {type: semantic, method: judge, min_similarity: 0.8}\n"
        )
        run(here, "compare", 0)
        assert len(model.asked) == 2
        text = (here.folder / "baselines/j.yaml").read_text()
        (here.folder / "baselines/j.yaml").write_text(text.replace("0.8", "0.9"))
        failed = run(here, "compare", 1)
        assert (
            "similarity 0.83, at least 0.9 is required (judge: missing: quite; 5 words in common)" in failed
        )
        config = here.folder / "baselinekit.yaml"
        config.write_text(config.read_text().replace("  judge:", "  juge:"))
        before = len(model.asked)
        assert "did you mean 'juge'?" in run(here, "compare", 2)
        assert "did you mean 'juge'?" in run(here, "doctor", 2)
        assert len(model.asked) == before, "it is found before anybody is asked"


def test_recorded_answers_need_neither_service_nor_key(here: Console) -> None:
    with CountedModel() as model:
        project(here, model.url, 3)
        run(here, "compare --record-calls cassettes", 0)
        assert len(model.asked) == 3
    ran = here.run("baselinekit compare --offline cassettes")
    assert (ran.exit_code, "3 passed" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    below = here.folder / "below"
    below.mkdir()
    assert here.run("cd below && baselinekit compare --offline ../cassettes").exit_code == 0
    file = here.folder / "baselines/p1.yaml"
    file.write_text(file.read_text().replace("Summarise:", "Summarise, please:"))
    missed = run(here, "compare --offline cassettes", 3)
    assert "BK630" in missed
    assert "the nearest one differs in message 1 of 1" in missed
    assert "2 passed" in missed
    for path in here.folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def stopped(here: Console, model: CountedModel, count: int, jobs: int, answered: int) -> tuple[Any, float]:
    """A compare that is interrupted when only slow answers are still to come."""
    process = start(here, "compare", "-j", str(jobs), "--json", DEMO_KEY=KEY)
    model.until(min(count, answered + jobs))
    time.sleep(0.5)
    told = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    took = time.monotonic() - told
    assert process.returncode == 130, err
    return json.loads(out), took


def test_a_run_that_was_stopped_goes_on_without_asking_again(here: Console) -> None:
    slow = [True]
    with CountedModel(lambda number: 30.0 if slow[0] and number > 6 else 0.0) as model:
        project(here, model.url, 12)
        first, _ = stopped(here, model, 12, 3, 6)
        assert first["summary"]["passed"] == 6
        before = len(model.asked)
        slow[0] = False
        run(here, "doctor", 0)  # another command in between loses nothing
        found = results(here, "compare --resume", 0)
        assert found["summary"]["passed"] == 12
        assert len(model.asked) - before == 6, "the six that were answered are not asked again"
        run(here, "compare --resume", 0)
        assert len(model.asked) - before == 18, "a run that came to its end is nothing to go on with"


@pytest.mark.parametrize("words", [["compare", "--no-record"], ["run", "cases.yaml"]])
def test_a_run_that_was_killed_pays_for_no_answer_twice(here: Console, words: list[str]) -> None:
    """But for those that were on their way, and again when the second one is killed as well."""
    count, jobs = 24, 3
    with CountedModel(lambda number: 0.02) as model:
        project(here, model.url, count)
        cases = [
            {
                "id": f"c{n}",
                "input": {"type": "prompt", "content": f"Summarise:\n\nThe number is {n}."},
                "expected": {"type": "exact", "value": f"The number is {n}."},
                "grader": {"type": "code", "config": {"method": "exact_match"}},
            }
            for n in range(count)
        ]
        config = {"execution": {"type": "prompt", "model": "default"}}
        suite = {"metadata": {"id": "many"}, "config": config, "test_cases": cases}
        (here.folder / "cases.yaml").write_text(json.dumps(suite))
        for number, answered in enumerate((5, 14)):
            again = ["--resume"] if number else []
            killed = start(here, *words, "-j", str(jobs), *again, DEMO_KEY=KEY)
            model.until(answered)
            killed.kill()
            killed.communicate(timeout=20)
        found = results(here, f"{' '.join(words)} --resume", 0)
        assert found["summary"]["passed"] == count
        assert len(model.asked) <= count + 2 * jobs
    assert list((here.folder / ".baselinekit" / "journal").iterdir()) == []


def test_64_slow_questions_at_once_end_with_a_ctrl_c_at_once(here: Console) -> None:
    with CountedModel(lambda number: 30.0 if number > 16 else 0.0) as model:
        project(here, model.url, 80)
        found, took = stopped(here, model, 80, 64, 16)
        most = model.most_at_once
    assert took < 3.0, "a tenth of a second as a rule"
    assert most == 64, "-j says how many, as nothing else does"
    assert found["summary"]["passed"] == 16
    passed = [path for path in (here.folder / "baselines").iterdir() if "last_passed" in path.read_text()]
    assert len(passed) == 16, "what was answered is kept"


@pytest.mark.parametrize(("code", "lines"), [("BK605", 4), ("BK105", 9)])
def test_what_is_mended_in_one_place_is_told_a_few_times_and_counted(code: str, lines: int) -> None:
    problems = [Problem(code, "it is wrong", "fix it", Place(f"{number}.yaml")) for number in range(9)]
    said = str(InvalidInput(*problems)).splitlines()
    assert len(said) == lines
    assert (said[-1] == f"{code} it is wrong: in 6 more places") is (lines == 4)


def test_compare_without_the_key_of_a_model_names_it_once_and_asks_nothing(here: Console) -> None:
    with CountedModel() as model:
        project(here, model.url, 9)
        ran = here.run("baselinekit compare")
        assert ran.exit_code == 3
        assert ran.stdout.count("DEMO_KEY, which is not set: set it, or pass --var key=…") == 1
        assert model.asked == []
        assert here.run(f"baselinekit compare --var key={KEY}").exit_code == 0
        assert not [line for line in model.asked if KEY in str(line)]


def test_what_nobody_answers_is_given_up_soon(here: Console) -> None:
    """The first questions are asked five times each; when nobody was there all the time, others are not."""
    with CountedModel() as model:
        project(here, model.url, 20)
    started = time.monotonic()
    said = run(here, "compare -j 2 -v", 3)
    assert time.monotonic() - started < 25, "twenty of them, two at once, took a minute and a half"
    assert "20 errors" in said
    assert said.count("the model 'default': POST ") == 20
