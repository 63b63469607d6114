"""Prompts over sockets: what an answer may cost, recorded answers, and runs that are stopped and go on."""

import json
import signal
import time

import pytest
from commandline import finish, run, start
from console import Console
from little_api import CountedModel

pytestmark = pytest.mark.slow

KEY = "a-key-of-some-length"
CONFIG = """\
models: {{default: {{openai: demo, base_url: "{url}", key: key, prices: {{input: 1, output: 2}}}}}}
variables: {{key: {{from_env: DEMO_KEY, secret: true}}}}
"""
BASELINE = """\
id: p{n}
baseline: {{output: The number is {n}.}}
current: {{input: {{text: "Summarise:\\n\\nThe number is {n}."}}, execution: {{type: prompt}}}}
"""


def lay(project: Console, url: str, count: int = 0) -> None:
    (project.folder / "baselinekit.yaml").write_text(CONFIG.format(url=url))
    for n in range(count):
        (project.folder / f"baselines/p{n}.yaml").write_text(BASELINE.format(n=n))


def run_with_key(project: Console, words: str, exit_code: int = 0) -> str:
    printed = run(project, words, exit_code, f"DEMO_KEY={KEY}")
    assert KEY not in printed
    return printed


def test_compare_with_cost_reports_an_answer_that_costs_more(project: Console) -> None:
    file, config = project.folder / "baselines/p1.yaml", project.folder / "baselinekit.yaml"
    recipe = BASELINE.format(n=1) + "comparison: {cost: {max_ratio: 1.5}}\n"
    with CountedModel() as model:
        lay(project, model.url)
        file.write_text(recipe.replace("baseline: {output: The number is 1.}\n", ""))
        run_with_key(project, "capture baselines")
        observed = file.read_text().split("  observed:\n")[1]
        assert observed.startswith("    cost_usd: 1.5e-05\n    tokens_in: 7\n    tokens_out: 4\n")
        run_with_key(project, "compare")
        config.write_text(config.read_text().replace("input: 1", "input: 3"))
        printed = run_with_key(project, "compare", 1)
        assert "cost  outside its tolerance" in printed
        assert "cost 0.000029 dollars, at most 0.0000225 are allowed, rule cost.max_ratio" in printed
        for most, exit_code in (("0.000029", 0), ("0.0000289", 1)):
            file.write_text(recipe.replace("max_ratio: 1.5", f"max_usd: {most}"))
            run_with_key(project, "compare --no-record", exit_code)
        config.write_text(config.read_text().replace("prices", "settings").replace("{input", "{n"))
        assert "BK605" in run_with_key(project, "compare --no-record", 3), "an unknown cost is no pass"


def test_compare_offline_uses_recorded_answers_and_names_a_changed_question(project: Console) -> None:
    with CountedModel() as model:
        lay(project, model.url, 3)
        run_with_key(project, "compare --record-calls cassettes")
    assert "3 passed" in run(project, "compare --offline cassettes")
    file = project.folder / "baselines/p1.yaml"
    file.write_text(file.read_text().replace("Summarise:", "Summarise, please:"))
    printed = run(project, "compare --offline cassettes", 3)
    assert "BK630" in printed
    assert "2 passed" in printed
    for path in project.folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_compare_resume_after_ctrl_c_asks_no_question_again(project: Console) -> None:
    is_slow = [True]
    with CountedModel(lambda number: 30.0 if is_slow[0] and number > 16 else 0.0) as model:
        lay(project, model.url, 80)
        process = start(project.folder, "compare", "-j", "64", "--json", DEMO_KEY=KEY)
        model.wait_for(80)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        first = json.loads(finish(process, 130)[0])
        assert time.monotonic() - began < 3, "a tenth of a second as a rule"
        assert (model.most_at_once, first["summary"]["passed"]) == (64, 16)
        is_slow[0] = False
        run_with_key(project, "doctor")  # another command in between loses nothing
        assert "80 passed" in run_with_key(project, "compare --resume")
        assert len(model.questions) == 80 + 64
        run_with_key(project, "compare --resume")
        assert len(model.questions) == 80 + 64 + 80, "a finished run is nothing to go on with"


def test_compare_resume_after_kills_pays_for_no_answer_twice(project: Console) -> None:
    """Except those that were on their way."""
    with CountedModel(lambda number: 0.02) as model:
        lay(project, model.url, 24)
        for answered, resume in ((5, ()), (14, ("--resume",))):
            process = start(project.folder, "compare", "--no-record", "-j", "3", *resume, DEMO_KEY=KEY)
            model.wait_for(answered)
            process.kill()
            process.communicate(timeout=20)
        assert "24 passed" in run_with_key(project, "compare --no-record --resume")
        assert len(model.questions) <= 24 + 2 * 3
    assert list((project.folder / ".baselinekit/journal").iterdir()) == []


def test_compare_gives_up_soon_where_no_model_answers(project: Console) -> None:
    """The first questions are retried; once none was answered, the others are not."""
    with CountedModel() as model:
        lay(project, model.url, 20)
    began = time.monotonic()
    printed = run_with_key(project, "compare -j 2 -v", 3)
    assert time.monotonic() - began < 25, "twenty of them, two at once, took a minute and a half"
    assert "20 errors" in printed
    assert printed.count("the model 'default': POST ") == 20
