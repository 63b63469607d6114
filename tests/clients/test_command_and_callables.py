"""Models that are programs and callables: what they are given, and what is read of what they write."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from model_server import failure, models, question, world

from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.programs.process import Processes
from baselinekit.errors import InvalidInput
from baselinekit.model.recipes import Message, Model, ModelQuestion, Prices, ProcessResult, ProcessSpec, Tool
from baselinekit.model.traces import ToolCall

ROOT = Path(__file__).parent.parent.parent


class Program:
    """What a program would write, and what it was given."""

    def __init__(self, stdout: Any = "", code: int = 0, stderr: str = ""):
        written = stdout if isinstance(stdout, str | bytes) else json.dumps(stdout)
        self.raw = written if isinstance(written, bytes) else written.encode()
        self.code, self.stderr = code, stderr.encode()
        self.runs: list[ProcessSpec] = []

    def execute(self, run: ProcessSpec) -> ProcessResult:
        self.runs.append(run)
        return ProcessResult(self.code, self.raw, self.stderr, 0.5)

    def within(self, **entry: Any) -> Models:
        return models(Model(command=["cat"], **entry), world(execute=self.execute, root="/"))


def test_command_model_gets_conversation_as_one_text() -> None:
    program = Program("fine\n")
    model = program.within(system="Be brief.")
    answer = model.ask(
        ModelQuestion("m", (Message("user", "Ö?"), Message("assistant", "2."), Message("user", "3?")))
    )
    assert (answer.text, answer.usage.cost_usd, answer.served, model.spent.calls) == ("fine", None, None, 1)
    rendered = "[system]\nBe brief.\n\n[user]\nÖ?\n\n[assistant]\n2.\n\n[user]\n3?"
    assert program.runs[0].stdin.decode() == rendered
    model.ask(question("Grüezi {{x}}"))


FULL = {
    "text": "fine",
    "tool_calls": [{"name": "f", "input": {"a": 1}, "output": "b"}, {"name": "g"}],
    "usage": {"tokens_in": 5, "tokens_out": 2, "cost_usd": 0.25},
    "model": "own-1",
}
CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "It works.",
    "total_cost_usd": 0.0123,
    "usage": {"input_tokens": 4, "cache_creation_input_tokens": 100, "output_tokens": 9},
    "modelUsage": {"claude-x": {}},
}


def test_command_model_reports_calls_usage_and_cost() -> None:
    model = Program(FULL).within(output="json", prices=Prices(1, 1))
    answer = model.ask(question())
    assert (answer.text, answer.served) == ("fine", "own-1")
    assert answer.tool_calls == (ToolCall("f", {"a": 1}, "b"), ToolCall("g", {}))
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (5, 2)
    assert answer.usage.cost_usd == model.spent.usd == Decimal("0.25"), "its own cost goes before the prices"
    answer = Program(CLAUDE).within(output="claude").ask(question())
    assert (answer.text, answer.served) == ("It works.", "claude-x")
    assert (answer.usage.tokens_in, answer.usage.tokens_out, answer.usage.cost_usd) == (
        104,
        9,
        Decimal("0.0123"),
    )


@pytest.mark.parametrize(
    ("program", "output", "code", "word"),
    [
        (Program('As JSON:\n```\n{"a": 1}\n```'), "json", "BK612", "one JSON object with its text: 'As JSON"),
        (Program('{"type": "start"}\n{"text": "fine"}\n'), "json", "BK612", "did not write one JSON object"),
        (Program('INFO: loaded\n{"text": "fine"}\n'), "json", "BK612", "its text: 'INFO: l"),
        (Program("just words"), "json", "BK612", "its text: 'just words'"),
        (Program({"type": "result", "result": "fine"}), "json", "BK612", "did not write one JSON object"),
        (Program({"text": 5}), "json", "BK612", "got `int` - at `$.text`"),
        (Program({"tool_calls": [{"input": 1}]}), "json", "BK612", "field `name` - at `$.tool_calls[0]`"),
        (Program({"text": "a", "cost": 3}), "json", "BK612", "unknown field `cost`"),
        (Program({**CLAUDE, "is_error": True, "result": "Too low"}), "claude", "BK323", "Too low"),
        (Program({**CLAUDE, "result": None, "subtype": "max_turns"}), "claude", "BK612", "wrote no `result`"),
        (Program({**CLAUDE, "stop_reason": "max_tokens"}), "claude", "BK613", "cut off (max_tokens)"),
        (Program({**CLAUDE, "stop_reason": "refusal"}), "claude", "BK614", "declined to answer"),
        (Program("no json"), "claude", "BK612", "--output-format json"),
        (Program({"is_error": True, "result": "not logged in"}, 1), "claude", "BK323", "not logged in"),
        (Program("half", 1, "no licence"), "text", "BK323", "exit code 1; its last output was: no licence"),
        (Program(b"\xff\xfe"), "text", "BK612", "UTF-8"),
    ],
)
def test_command_model_invalid_output_is_an_error(
    program: Program, output: str, code: str, word: str
) -> None:
    error = failure(program.within(output=output))
    assert error.problems[0].code == code
    assert word in str(error)


def test_command_model_with_tools_is_an_error() -> None:
    assert failure(Program().within(), question(tools=(Tool("f"),))).problems[0].code == "BK617"


# With real processes.


@pytest.fixture
def processes() -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.cancel()


def models_with(processes: Processes, root: Path, **entry: Any) -> Models:
    return models(Model(**entry), world(execute=processes.execute, root=str(root)))


def test_check_command_model_missing_program_is_an_error(tmp_path: Path, processes: Processes) -> None:
    model = models_with(processes, tmp_path, command=["no-such-program-anywhere"])
    for attempt in (lambda: model.check("m"), lambda: model.ask(question())):
        with pytest.raises(Exception, match="BK320"):
            attempt()
    with pytest.raises(InvalidInput, match="BK602"):
        models_with(processes, tmp_path, command=[]).check("m")


def callable_of(root: Path, processes: Processes, source: str, **entry: Any) -> Models:
    (root / "my").mkdir(exist_ok=True)
    (root / "my" / "model.py").write_text(textwrap.dedent(source), "utf-8")
    return models_with(processes, root, python="my.model:answer", **entry)


def test_python_model_gets_prompt_and_settings(tmp_path: Path, processes: Processes) -> None:
    source = f"""
        import http.client  # which a module beside the child's program must not hide
        def answer(prompt, *, tone):
            print("noise")
            return {FULL!r} if tone == "full" else f"{{prompt}} ({{tone}})"
    """
    model = callable_of(tmp_path, processes, source, settings={"tone": "kind"})
    assert model.ask(question("Hello")).text == "Hello (kind)"
    answer = callable_of(tmp_path, processes, source, settings={"tone": "full"}).ask(question())
    assert (answer.text, answer.served, answer.usage.cost_usd) == ("fine", "own-1", Decimal("0.25"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "code", "word"),
    [
        ("def answer(prompt):\n    return 5", "BK612", "no text"),
        ("def answer(prompt):\n    return {'text': None, 'x': 1}", "BK612", "unknown field `x`"),
        ("import os\ndef answer(prompt):\n    os._exit(3)", "BK323", "exit code 3"),
        ("x = 1\ndef answer(prompt:", "BK323", "at my/model.py:2"),
    ],
)
def test_python_model_failure_is_an_error(
    tmp_path: Path, processes: Processes, source: str, code: str, word: str
) -> None:
    error = failure(callable_of(tmp_path, processes, source))
    assert error.problems[0].code == code
    assert word in str(error)


def ran(code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join(map(str, (*paths, ROOT, Path(__file__).parent)))
    words = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(
        words, env={**os.environ, "PYTHONPATH": places}, capture_output=True, text=True, timeout=30
    )


LLM = """
import sys
if "boom" in sys.argv[-1]:
    sys.exit("Error: Unknown model")
print(*sys.argv[1:], sys.stdin.read())
print("Token usage: 1,204 input, 5 output, {}", file=sys.stderr)
"""


@pytest.mark.slow
def test_llm_model_uses_command_line_of_llm(tmp_path: Path) -> None:
    """In a process of its own, which finds a package that is not installed here."""
    (tmp_path / "llm.py").write_text(LLM, "utf-8")
    done = ran(
        """
        from model_server import failure, models, question, world
        from baselinekit.model.recipes import Model
        from baselinekit.clients.programs.process import Processes
        around = world(execute=Processes().execute, root="/")
        entry = Model(llm="mini", system="-s", settings={"top_p": 0.5}, temperature=0, env=["PYTHONPATH"])
        answer = models(entry, around).ask(question("Hi"))
        print(answer.text, answer.usage.tokens_in, answer.usage.tokens_out)
        print(failure(models(Model(llm="mini", settings={"x": "boom"}, env=["PYTHONPATH"]), around)))
        """,
        tmp_path,
    )
    first, second = done.stdout.splitlines()
    words = "--no-stream --no-log --usage --model=mini --system=-s --option temperature 0 --option top_p 0.5"
    assert first == f"prompt {words} Hi 1204 5", done.stderr
    assert "its last output was: Error: Unknown model" in second


@pytest.mark.slow
def test_llm_model_without_package_names_the_extra() -> None:
    stderr = ran("""
        import sys
        sys.modules["llm"] = None
        from model_server import models, world
        from baselinekit.model.recipes import Model
        models(Model(llm="mini"), world()).check("m")
    """).stderr
    assert "BK602" in stderr
    assert "pip install 'baselinekit[llm]'" in stderr


@pytest.mark.slow
def test_model_form_of_entry_point_is_used(tmp_path: Path) -> None:
    information = tmp_path / "plugin-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1\n")
    (information / "entry_points.txt").write_text(
        "[baselinekit.models]\necho = plugin:FORM\nbroken = plugin:NONE\nother = plugin:LIMIT\n"
    )
    (tmp_path / "plugin.py").write_text(
        textwrap.dedent("""
        from baselinekit.model.recipes import Answer
        from baselinekit.clients.models.post import Form, Question, Reply
        def ask(question: Question) -> Reply:
            return Reply(Answer(question.ask.messages[-1].content[::-1]))
        FORM, LIMIT = Form(ask), 5
        """)
    )
    done = ran(
        """
        from baselinekit.errors import InvalidInput
        from baselinekit.model.recipes import Model
        from model_server import models, question, world
        print(models(Model(form="echo"), world()).ask(question("abc")).text)
        for name in ("broken", "other"):
            try:
                models(Model(form=name), world()).check("m")
            except InvalidInput as error:
                print(error)
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    words = ("cba", "cannot be loaded: AttributeError", "no installed package provides the form 'other'")
    assert all(word in line for word, line in zip(words, lines, strict=True))
