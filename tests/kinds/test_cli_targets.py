"""Targets that are programs: what goes into their command line, which are allowed, what they answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baselinekit.clients.trust import Trust
from baselinekit.errors import CannotReplay, InvalidInput, Refused, cannot_replay
from baselinekit.kinds.dispatch import batches, check, replay
from baselinekit.kinds.messages import ConversationInput
from baselinekit.kinds.programs import CliExecution, Healthcheck
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import Command, Observation, ProcessResult, ProcessSpec, Recipe, Usage
from baselinekit.model.traces import TraceMessage
from baselinekit.secrets.variables import Scope
from baselinekit.structs import replace

Execute = Callable[[ProcessSpec], ProcessResult]
EVIL = 'a\'b "c" $(touch pwned) `x` {PROMPT} {EVAL_ID}; rm -rf / &'


def conversation(text: str = "What is it?", **more: Any) -> ConversationInput:
    return ConversationInput([TraceMessage("user", text)], **more)


def cli(command: Any, question: ConversationInput | None = None, **more: Any) -> Recipe:
    return Recipe(question or conversation(case="one"), CliExecution("cli", command, target="local", **more))


def naming(setting: Setting, recipe: Recipe) -> Setting:
    """The setting with this target in its configuration."""
    around = replace(setting.surroundings, targets={"local": recipe.execution})
    return replace(setting, surroundings=around)


class Programs:
    """Notes what is started, and answers."""

    def __init__(self, stdout: str = "", code: int = 0, writes: str | None = None):
        self.started: list[ProcessSpec] = []
        self.result = ProcessResult(code, stdout.encode(), b"", 1.5)
        self.writes = writes

    def execute(self, run: ProcessSpec) -> ProcessResult:
        self.started.append(run)
        if self.writes is not None:
            (path,) = (word for part in run.argv for word in part.split() if "/output." in word)
            Path(path.strip("'")).write_text(self.writes, "utf-8")
        return self.result


def replayed(setting: Setting, recipe: Recipe, programs: Programs) -> tuple[Observation, ProcessSpec]:
    there = naming(replace(setting, clients=replace(setting.clients, execute=programs.execute)), recipe)
    check(recipe, there)
    observation = replay(recipe, there)
    return observation, programs.started[-1]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["echo", "{PROMPT}"], [EVIL]),
        ("echo {PROMPT}", [EVIL]),
        ("echo \"{PROMPT}\" '{EVAL_ID}'", [EVIL, "one"]),
        ("echo --id={EVAL_ID} -n {ATTEMPT}", ["--id=one", "-n", "2"]),
        ("echo {FILES} end", ["--file", "/r/a b.txt", "--file", "/r/c.md", "end"]),
        ("echo {GUIDELINES}", ["=== r.md ===\nBe kind."]),
        ("echo {unknown} {}", ["{unknown}", "{}"]),
    ],
)
def test_a51_cli_placeholder_value_is_one_word(setting: Setting, command: Any, words: list[str]) -> None:
    question = conversation(EVIL, case="one", input_files=["/r/a b.txt", "/r/c.md", "/r/c.md"])
    if "GUIDELINES" in command:
        rules = [{"type": "file", "value": "r.md", "path": "/r/r.md", "text": "Be kind."}]
        question = ConversationInput([TraceMessage("user", rules)], ["/r/r.md"], case="one")
    if "unknown" in command:
        command = ["echo", "{unknown}", "{}"]
    recipe = cli(command, question, files_format="--file {path}")
    _, run = replayed(replace(setting, turn=2), recipe, Programs("x"))
    assert run.argv[0].endswith("/echo")
    assert [*run.argv[1:]] == words


def test_a51_cli_shell_command_quotes_every_value(real: Setting) -> None:
    recipe = cli(
        "printf '%s' {PROMPT} | cat; printf '%s' {FILES}", conversation(EVIL, input_files=["/a b/c"])
    )
    there = naming(real, recipe)
    check(recipe, there)
    assert replay(recipe, there).output == f"{EVIL}/a b/c"
    assert not (Path(real.surroundings.folder) / "pwned").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo {{evil}} {PROMPT}", [EVIL, "What is it?"]),
        ("echo x{{evil}}", [f"x{EVIL}"]),
        (["echo", "{{evil}}", "{PROMPT}"], [EVIL, "What is it?"]),
        ("{{program}} {{evil}}", [EVIL]),
    ],
)
def test_x4_cli_variable_value_is_one_word_and_not_expanded_again(
    setting: Setting, command: Any, words: list[str]
) -> None:
    scope = Scope({"evil": EVIL, "program": "echo"})
    _, run = replayed(replace(setting, scope=scope), cli(command), Programs("x"))
    assert run.argv[0].endswith("/echo")
    assert [*run.argv[1:]] == words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run '{PROMPT}' | tee log", "{PROMPT} is between quotes of a shell"),
        ('run "x {PROMPT}" > log', "{PROMPT} is between quotes of a shell"),
        ('run "$HOME {EVAL_ID}"', "{EVAL_ID} is between quotes of a shell"),
        ("run 'x", "ends within quotes"),
    ],
)
def test_cli_placeholder_between_shell_quotes_is_refused(setting: Setting, command: str, words: str) -> None:
    with pytest.raises(InvalidInput, match="BK791") as raised:
        check(cli(command), naming(setting, cli(command)))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "command", ["A=1 run", "run | cat", "run > x", "run $HOME", "run *.md", 'run "$X"', "a && b", "a\nb"]
)
def test_cli_shell_syntax_runs_in_a_shell(setting: Setting, command: str) -> None:
    assert replayed(setting, cli(command), Programs("42"))[1].argv == ("/bin/sh", "-c", command)


def test_a51_cli_answer_is_output_file_or_stdout(setting: Setting) -> None:
    written = '{"output_messages": [{"role": "assistant", "content": "42"}], "token_usage": {"input": 3}}'
    observation, _ = replayed(setting, cli("echo {OUTPUT_FILE}"), Programs("noise", writes=written))
    assert (observation.output, observation.usage, observation.seconds) == ("42", Usage(3), 1.5)
    observation, run = replayed(setting, cli("echo hi"), Programs("hi\n"))
    assert (observation.output, run.timeout, run.cwd) == ("hi", 120.0, setting.surroundings.folder)
    with pytest.raises(CannotReplay, match=r"BK323.*wrote nothing into \{OUTPUT_FILE\}"):
        replayed(setting, cli("echo {OUTPUT_FILE}"), Programs("noise"))


def test_a51_cli_prompt_too_long_for_command_line_needs_prompt_file(real: Setting) -> None:
    long = conversation("x" * 200_000)
    recipe = cli("cat {PROMPT}", long)
    with pytest.raises(CannotReplay, match=r"BK791.*does not fit into a command line"):
        replay(recipe, naming(real, recipe))
    recipe = cli("cat {PROMPT_FILE}", long)
    assert replay(recipe, naming(real, recipe)).output == "x" * 200_000


# Which programs are allowed.


def test_cli_program_not_in_configuration_is_refused(setting: Setting) -> None:
    for command in ("echo {PROMPT}", "echo {PROMPT} | cat"):
        with pytest.raises(Refused, match=r"BK403.*is not named in the configuration"):
            check(cli(command), setting)
        check(cli(command), replace(setting, trust=Trust(allow_exec=True)))
        check(cli(command), naming(setting, cli(command)))


def test_cli_target_name_with_other_program_is_refused(setting: Setting) -> None:
    there = naming(setting, cli("echo {PROMPT}"))
    with pytest.raises(Refused):
        check(cli("printf {PROMPT}"), there)
    with pytest.raises(Refused):
        check(cli("echo {PROMPT}", env=["SECRET"]), there)
    short = replace(cli("echo {PROMPT}").execution, timeout=1)
    check(Recipe(conversation(), short), there)


def test_cli_configured_command_is_allowed_with_its_variables(setting: Setting) -> None:
    around = replace(setting.surroundings, commands={"agent": Command(["echo", "-n"], env=["MODE"])})
    there = replace(setting, surroundings=around)
    check(cli("agent {PROMPT}", env=["MODE"]), there)
    with pytest.raises(Refused, match=r"BK340.*to set TOKEN for"):
        check(cli("agent {PROMPT}", env=["MODE", "TOKEN"]), there)
    with pytest.raises(Refused):
        check(cli("agent {PROMPT} | cat"), there)


def test_cli_cwd_outside_project_needs_configuration(setting: Setting, tmp_path: Path) -> None:
    outside = cli("echo x", cwd=str(tmp_path))
    check(outside, naming(setting, outside))
    with pytest.raises(Refused):
        check(outside, replace(setting, trust=Trust(allow_exec=True)))


# Retries, health checks and batches.


def test_a52_cli_is_retried_only_after_timeout(setting: Setting) -> None:
    tries: list[str] = []

    def late(run: ProcessSpec) -> ProcessResult:
        tries.append("x")
        if len(tries) < 3:
            raise cannot_replay("BK321", "did not end within 1 s")
        return ProcessResult(0, b"at last", b"", 0.1)

    recipe = cli("echo", retries=2)
    there = naming(replace(setting, clients=replace(setting.clients, execute=late)), recipe)
    assert (replay(recipe, there).attempts, len(tries)) == (3, 3)
    tries.clear()
    recipe = cli("echo", retries=1)
    with pytest.raises(CannotReplay, match="BK321"):
        replay(recipe, naming(there, recipe))
    failing = Programs("x", code=1)
    with pytest.raises(CannotReplay, match="BK323"):
        replayed(setting, cli("echo", retries=5), failing)
    assert len(failing.started) == 1


def test_a51_cli_healthcheck_runs_once_per_run(setting: Setting) -> None:
    programs = Programs("x")
    recipe = cli("echo {PROMPT}", healthcheck=Healthcheck(command="printf {EVAL_ID}"))
    there = naming(replace(setting, clients=replace(setting.clients, execute=programs.execute)), recipe)
    replay(recipe, there)
    replay(recipe, there)
    assert [run.argv[-1] for run in programs.started] == ["healthcheck", "What is it?", "What is it?"]
    sick = cli("echo {PROMPT}", healthcheck=Healthcheck(command="printf x"))
    failing = Programs("x", code=2)
    for _ in range(2):
        with pytest.raises(CannotReplay, match=r"BK323.*healthcheck failed: .* exit code 2"):
            replayed(replace(setting, clients=there.clients), sick, failing)
    assert len(failing.started) == 1


def in_batch(setting: Setting, written: str) -> Callable[[str, int], Observation]:
    """How each of three cases is answered by one start of a program."""
    programs = Programs("", writes=written)
    recipes = {
        f"set/{name}": cli("echo {OUTPUT_FILE}", conversation(name, case=name), batch=True) for name in "abc"
    }
    clients = replace(setting.clients, execute=programs.execute, batches=batches(recipes.items()))

    def answer(name: str, turn: int = 0) -> Observation:
        recipe = recipes[f"set/{name}"]
        there = naming(replace(setting, clients=clients, asker=f"set/{name}", turn=turn), recipe)
        return replay(recipe, there)

    answer.__dict__["programs"] = programs
    return answer


def test_a51_cli_batch_answers_all_cases_by_id(setting: Setting) -> None:
    message = '{"id": "a", "output_messages": [{"role": "assistant", "content": "A"}]}'
    lines = f'{{"id": "b", "text": "B"}}\n\n{message}\n'
    answer = in_batch(setting, lines)
    assert (answer("a", 0).output, answer("b", 0).output) == ("A", "B")
    assert answer("a", 0).seconds == 0.5
    (run,) = answer.__dict__["programs"].started
    assert [line[:35] for line in run.stdin.decode().splitlines()] == [
        '{"id":"a","question":"a","messages"',
        '{"id":"b","question":"b","messages"',
        '{"id":"c","question":"c","messages"',
    ]
    with pytest.raises(CannotReplay, match="BK354 cli local gave no answer for c"):
        answer("c", 0)
    answer("a", 1)
    assert len(answer.__dict__["programs"].started) == 2


@pytest.mark.parametrize(
    ("lines", "words", "others"),
    [
        ('{"id": "a", "text": "1"}\n{"id": "a", "text": "2"}\n{"id": "b", "text": "B"}', "answered a twice",
         "B"),
        ('{"id": "a", "output": "1"}\n{"id": "b", "text": "B"}', "gave a no `text`", "B"),
        ('{"id": "a", "text": "1"}\n{"text": "B"}', "line 2 of its answer is not JSON with an `id`", None),
        ('{"id": "a", "text": "1"}\n{"id": 3}', "line 2 of its answer is not JSON with an `id`", None),
        ('{"id": "a", "text": "1"}\nnot json', "line 2 of its answer is not JSON with an `id`", None),
        ("", "gave no answer for a", None),
    ],
)  # fmt: skip
def test_a51_cli_batch_ambiguous_answer_is_an_error(
    setting: Setting, lines: str, words: str, others: str | None
) -> None:
    answer = in_batch(setting, lines)
    with pytest.raises(CannotReplay, match="BK354") as raised:
        answer("a", 0)
    assert words in str(raised.value)
    if others is None:
        with pytest.raises(CannotReplay, match="BK354"):
            answer("b", 0)
    else:
        assert answer("b", 0).output == others
