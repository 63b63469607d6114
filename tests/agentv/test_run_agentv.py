"""`run` on AgentV's files: what may be listed without permission, how problems of targets and judges are
reported, and which other files in a folder are passed over."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import storehelp
from console import Console, console

pytestmark = pytest.mark.slow

CASE = "evalcases:\n- {id: %s, expected_outcome: Right., input: Hi%s}\n"
MOCK = "targets:\n- {name: default, provider: mock, response: '42'%s}\n"
PROGRAM = ", evaluators: [{name: own, type: code_judge, script: [%s, judge.py]}]"
QUICK = ", evaluators: [{name: f, type: latency, threshold: 9000%s}]"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as opened:
        yield opened


def write(terminal: Console, files: dict[str, str]) -> None:
    for name, text in files.items():
        storehelp.write(terminal.folder, name, text)


def test_run_list_needs_neither_permission_nor_programs(terminal: Console) -> None:
    agent = "targets:\n- {name: default, provider: cli, command_template: 'no-such-agent {PROMPT}'}\n"
    write(terminal, {".agentv/targets.yaml": agent, "evals/a.yaml": CASE % ("a", PROGRAM % "no-such-judge")})
    listed = terminal.run("baselinekit run --list")
    assert (listed.exit_code, listed.stderr, "by own (code)" in listed.stdout) == (0, "", True)
    refused = terminal.run("baselinekit run")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "BK403" in refused.stderr


JUDGED = MOCK % ", judge_target: judge_llm"
JUDGE = "- {name: judge_llm, provider: openai, model: m, base_url: 'http://127.0.0.1:9'%s}\n"


def test_a8_run_reports_problems_of_a_judge_target_at_their_place(terminal: Console) -> None:
    problems = {
        JUDGED
        + JUDGE % ", api_key: '${{ NO_SUCH_KEY }}'": "BK798 t.yaml:3:90: the variable NO_SUCH_KEY is not set",
        MOCK % ", judge_target: '${{ NO_SUCH_NAME }}'": "BK798 t.yaml:2:65: the variable NO_SUCH_NAME is",
        JUDGED: "BK601 evals/a.yaml:2:57: no model is called 'judge_llm'",
    }
    for targets, words in problems.items():
        write(terminal, {"t.yaml": targets, "evals/a.yaml": CASE % ("a", ", rubrics: [Is polite]")})
        ran = terminal.run("baselinekit run --targets t.yaml")
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert ran.stderr.startswith(words)
        write(terminal, {"evals/a.yaml": CASE % ("a", QUICK % "")})
        ran = terminal.run("baselinekit run --targets t.yaml")  # a judge that is not asked is not looked at
        assert ran.exit_code == (2 if "NO_SUCH_NAME" in targets else 0)
    targets = MOCK % ", judge_target: '${{ JUDGE }}'" + JUDGE % ""
    write(terminal, {"t.yaml": targets, ".env": "JUDGE=judge_llm\n"})
    write(terminal, {"evals/a.yaml": CASE % ("a", ", rubrics: [Is polite]")})
    listed = terminal.run("baselinekit run --list --targets t.yaml --env-file .env")
    assert (listed.exit_code, listed.stderr) == (0, "")


def test_a45_run_refuses_a_mean_of_nothing(terminal: Console) -> None:
    write(terminal, {"evals/a.yaml": CASE % ("a", QUICK % ", weight: 0"), ".agentv/targets.yaml": MOCK % ""})
    ran = terminal.run("baselinekit run")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "no grader has any weight" in ran.stderr


def test_f41_run_of_a_file_elsewhere_stays_in_its_repository(terminal: Console) -> None:
    judges = (
        "{name: in_folder, type: code_judge, script: [python3, judge.py], cwd: ../scripts}",
        "{name: by_path, type: code_judge, script: [python3, ../scripts/judge.py]}",
        "{name: in_shell, type: code_judge, script: 'python3 ../scripts/judge.py | cat'}",
    )
    agent = "{name: default, provider: cli, command_template: 'python3 agent.py {PROMPT}', cwd: ../scripts}"
    question = "[{type: file, value: ../docs/rules.md}, {type: file, value: /docs/rules.md}]"
    case = f"{{id: a, expected_outcome: x, input: [{{role: user, content: {question}}}], evaluators: [%s]}}"
    judge = "import json\nprint(json.dumps({'score': 1}))\n"
    write(
        terminal,
        {
            "../other/.git/HEAD": "",
            "../other/.agentv/targets.yaml": f"targets: [{agent}]",
            "../other/scripts/judge.py": judge,
            "../other/scripts/agent.py": "import sys\nprint(sys.argv)\n",
            "../other/docs/rules.md": "Be kind.\n",
            "../other/evals/a.yaml": f"evalcases: [{case % ', '.join(judges)}]",
            "../outside/judge.py": judge,
        },
    )
    for path in ("../other/evals/a.yaml", "../other/evals"):
        ran = terminal.run(f"baselinekit run {path} --allow-exec")
        assert (ran.exit_code, "1 passed" in ran.stdout) == (0, True), ran.stderr + ran.stdout
    out = "{name: out, type: code_judge, script: [python3, judge.py], cwd: ../../outside}"
    write(terminal, {"../other/evals/a.yaml": f"evalcases: [{case % out}]"})
    ran = terminal.run("baselinekit run ../other/evals/a.yaml --allow-exec")
    assert (ran.exit_code, "leads out of the project" in ran.stderr) == (4, True)


FOREIGN = {
    "package.json": '{"name": "evals", "version": "1", "types": "x",  "scripts": {"test": "x"}}',
    "tsconfig.json": '{\n  // strict\n  "compilerOptions": {"strict": true},\n  "include": ["."],\n}',
    "person.schema.json": '{"$schema": "x", "type": "object", "properties": {"input": {}}}',
    "rows.json": '[{"name": "Ada", "age": 36}, {"name": "Bob", "age": 2}]',
}
MEANT = {
    "cases.json": '{"evalcase": []}',
    "testcases.json": '{"testCases": []}',
    "half.json": '{"evalcases": [',
    "empty.json": "{}",
    "odd.yaml": "name: x\nversion: 1\n",
}


def test_run_passes_over_foreign_json_in_a_folder(terminal: Console) -> None:
    files = {f"evals/{name}": text for name, text in FOREIGN.items()}
    write(terminal, {".agentv/targets.yaml": MOCK % "", "evals/a.yaml": CASE % ("a", QUICK % ""), **files})
    ran, listed = terminal.run("baselinekit run evals"), terminal.run("baselinekit run evals --list")
    assert (ran.exit_code, listed.exit_code, terminal.run("baselinekit doctor evals").exit_code) == (0, 0, 0)
    for name in files:
        assert f"{name} was passed over: nothing in it belongs to an eval file" in ran.stdout
        assert f"note: {name} was passed over" in listed.stdout
        assert terminal.run(f"baselinekit run {name}").exit_code == 2  # who names it wants it run
    write(terminal, {f"evals/{name}": text for name, text in MEANT.items()})
    ran = terminal.run("baselinekit run evals")
    assert ran.exit_code == 2
    assert [name for name in MEANT if f"evals/{name}" not in ran.stderr] == []
