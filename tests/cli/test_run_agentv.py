"""`run` on AgentV's files as it is typed: what may be listed without permission, what is told of targets and
of the files around."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console

pytestmark = pytest.mark.slow

CASE = "evalcases:\n- {id: %s, expected_outcome: Right., input: Hi%s}\n"
MOCK = "targets:\n- {name: default, provider: mock, response: '42'%s}\n"
PROGRAM = ", evaluators: [{name: own, type: code_judge, script: [%s, judge.py]}]"
SCORED = "import json, os\nprint(json.dumps({'score': 1, 'reasoning': os.path.basename(os.getcwd())}))\n"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


def write(here: Console, files: dict[str, str]) -> None:
    for name, text in files.items():
        (here.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (here.folder / name).write_text(text)


def test_a_list_needs_neither_permission_nor_programs(here: Console) -> None:
    agent = "targets:\n- {name: default, provider: cli, command_template: 'no-such-agent {PROMPT}'}\n"
    write(here, {".agentv/targets.yaml": agent, "evals/a.yaml": CASE % ("a", PROGRAM % "no-such-judge")})
    for listed in (here.run("baselinekit run --list"), here.run("baselinekit run --list --allow-exec")):
        assert (listed.exit_code, listed.stderr) == (0, "")
        assert "by own (code)" in listed.stdout
    refused = here.run("baselinekit run")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "BK403" in refused.stderr
    write(here, {"evals/a.yaml": CASE % ("a", PROGRAM % "python3" + ", sidecars: 1")})
    wrong = here.run("baselinekit run --list")
    assert (wrong.exit_code, "unknown key 'sidecars'" in wrong.stderr) == (2, True)


JUDGED = MOCK % ", judge_target: judge_llm"
JUDGE = "- {name: judge_llm, provider: openai, model: m, api_key: '${{ NO_SUCH_KEY }}'}\n"


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (JUDGED + JUDGE, "BK799 t.yaml:3:58: the variable NO_SUCH_KEY is not set: export NO_SUCH_KEY=…"),
        (MOCK % ", judge_target: '${{ NO_SUCH_NAME }}'", "BK799 t.yaml:2:65: the variable NO_SUCH_NAME is"),
        (
            JUDGED + "- {name: judge_llm, provider: mock}\n",
            "BK798 t.yaml:3:3: the target 'judge_llm' is a mock",
        ),
        (JUDGED, "BK601 evals/a.yaml:2:57: no model is called 'judge_llm'"),
    ],
)
def test_a8_what_is_wrong_with_a_judge_target_is_told_where_that_stands(
    here: Console, targets: str, words: str
) -> None:
    write(here, {"t.yaml": targets, "evals/a.yaml": CASE % ("a", ", rubrics: [Is polite]")})
    ran = here.run("baselinekit run --targets t.yaml")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith(words)
    write(here, {"evals/a.yaml": CASE % ("a", ", evaluators: [{name: f, type: latency, threshold: 9000}]")})
    unasked = here.run("baselinekit run --targets t.yaml").exit_code
    assert unasked == (2 if "NO_SUCH_NAME" in targets else 0), "a judge whom nobody asks is not looked at"


def test_a8_the_name_of_a_judge_may_be_a_variable(here: Console) -> None:
    judge = "- {name: judge_llm, provider: openai, model: m, base_url: 'http://127.0.0.1:9'}\n"
    write(here, {"t.yaml": MOCK % ", judge_target: '${{ JUDGE }}'" + judge, ".env": "JUDGE=judge_llm\n"})
    write(here, {"evals/a.yaml": CASE % ("a", ", rubrics: [Is polite]")})
    listed = here.run("baselinekit run --list --targets t.yaml --env-file .env")
    assert (listed.exit_code, listed.stderr) == (0, "")


def test_a4_a_wrong_key_of_a_file_hides_nothing_else(here: Console) -> None:
    head = "desription: x\ntarget: nobody\ndataset: sums\nexecution: {targt: y, evaluator: nonsense}\n"
    case = CASE % ("a", "") + "- {id: a, outcome: Right., input: Hi, conversation: 1, rubrics: [{id: x}]}\n"
    write(here, {".agentv/targets.yaml": MOCK % "", "evals/a.yaml": head + case})
    told = here.run("baselinekit run").stderr
    for words in ("'desription'", "'targt'", "there is no target 'nobody'", "'conversation'", "evaluator"):
        assert words in told, told
    assert "6:" in told, "the cases too"


def test_a45_a_mean_of_nothing_is_told_before_anybody_is_asked(here: Console) -> None:
    judged = "{name: fast, type: latency, threshold: 900, weight: 0}"
    write(here, {"evals/a.yaml": CASE % ("a", f", execution: {{evaluators: [{judged}]}}")})
    write(here, {".agentv/targets.yaml": MOCK % ""})
    ran = here.run("baselinekit run")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "no grader has any weight" in ran.stderr


def test_a_file_elsewhere_has_its_own_repository_for_all_that_it_names(here: Console) -> None:
    judges = (
        "{name: in_folder, type: code_judge, script: [python3, judge.py], cwd: ../scripts}",
        "{name: by_path, type: code_judge, script: [python3, ../scripts/judge.py]}",
        "{name: in_shell, type: code_judge, script: 'python3 ../scripts/judge.py | cat'}",
    )
    agent = "{name: default, provider: cli, command_template: 'python3 agent.py {PROMPT}', cwd: ../scripts}"
    asked = "[{type: file, value: ../docs/rules.md}, {type: file, value: /docs/rules.md}]"
    case = f"{{id: a, expected_outcome: x, input: [{{role: user, content: {asked}}}], evaluators: [%s]}}"
    write(
        here,
        {
            "../other/.git/HEAD": "",
            "../other/.agentv/targets.yaml": f"targets: [{agent}]",
            "../other/scripts/judge.py": SCORED,
            "../other/scripts/agent.py": "import sys\nprint(sys.argv)\n",
            "../other/docs/rules.md": "Be kind.\n",
            "../other/evals/a.yaml": f"evalcases: [{case % ', '.join(judges)}]",
            "../outside/judge.py": SCORED,
        },
    )
    for path in ("../other/evals/a.yaml", "../other/evals"):
        ran = here.run(f"baselinekit run {path} --allow-exec")
        assert (ran.exit_code, "1 passed" in ran.stdout) == (0, True), ran.stderr + ran.stdout
    out = "{name: out, type: code_judge, script: [python3, judge.py], cwd: ../../outside}"
    write(here, {"../other/evals/a.yaml": f"evalcases: [{case % out}]"})
    ran = here.run("baselinekit run ../other/evals/a.yaml --allow-exec")
    assert (ran.exit_code, "leads out of the project" in ran.stderr) == (4, True)


FOREIGN = {
    "package.json": '{"name": "evals", "version": "1", "types": "x",  "scripts": {"test": "x"}}',
    "tsconfig.json": '{\n  // strict\n  "compilerOptions": {"strict": true},\n  "include": ["."],\n}',
    "person.schema.json": '{"$schema": "x", "type": "object", "properties": {"input": {}}}',
    "rows.json": '[{"name": "Ada", "age": 36}, {"name": "Bob", "age": 2}]',
}
MEANT = {
    "cases.json": '{"evalcase": []}',
    "inputs.json": '{"id": "a", "inputs": "Hi"}',
    "testcases.json": '{"testCases": []}',
    "half.json": '{"evalcases": [',
    "empty.json": "{}",
    "text.json": '"evalcases"',
    "odd.yaml": "name: x\nversion: 1\n",
}


def test_what_is_plainly_no_eval_file_is_passed_over_in_a_folder(here: Console) -> None:
    own = CASE % ("a", ", evaluators: [{name: f, type: latency, threshold: 9000}]")
    files = {f"evals/{name}": text for name, text in FOREIGN.items()}
    write(here, {".agentv/targets.yaml": MOCK % "", "evals/a.yaml": own, **files})
    ran, listed = here.run("baselinekit run evals"), here.run("baselinekit run evals --list")
    assert (ran.exit_code, listed.exit_code, here.run("baselinekit doctor evals").exit_code) == (0, 0, 0)
    for name in files:
        assert f"{name} was passed over: nothing in it belongs to an eval file" in ran.stdout
        assert f"note: {name} was passed over" in listed.stdout
        assert here.run(f"baselinekit run {name}").exit_code == 2, "who names it wants it run"


@pytest.mark.parametrize("name", MEANT)
def test_what_could_be_meant_as_an_eval_file_is_not_passed_over(here: Console, name: str) -> None:
    own = CASE % ("a", ", evaluators: [{name: f, type: latency, threshold: 9000}]")
    write(here, {".agentv/targets.yaml": MOCK % "", "evals/a.yaml": own, f"evals/{name}": MEANT[name]})
    ran = here.run("baselinekit run evals")
    assert (ran.exit_code, f"evals/{name}" in ran.stderr) == (2, True), ran.stdout
